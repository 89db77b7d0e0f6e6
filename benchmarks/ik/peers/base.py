# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What every solver is wrapped in."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import numpy as np

from benchmarks.ik.model import Model

TOLERANCE = 1e-6  # m and rad
RESTARTS = 100    # for the loops that this benchmark writes itself
POSE, POSITION, MIDDLE, ALL, BATCH = 'pose', 'position', 'middle', 'all', 'batch'


class Refused(Exception):
    """The solver cannot serve this arm or task; the text says why."""


class Peer:
    """
    One solver for one arm and one task.

    Only :meth:`solve` is timed.  What it is given is prepared beforehand in the
    form that the solver takes without conversion, and what it returns is
    unpacked afterwards.

    Attributes
    ----------
    name : str
        Row in the tables.
    package : str
        The distribution whose version is reported; empty for none.
    kind : str
        'numerical', 'closed form' or 'no verdict'; the last are solvers that
        return joint positions without saying whether they reach the goal, so
        that whoever calls them takes each answer for a solution.
    call : str
        The call that is timed, in words.
    tasks : tuple of str
        `POSE`; `POSITION` leaves the orientation free; `MIDDLE` asks a redundant
        arm for a posture near the middle of its limits; `ALL` asks for every
        solution; `BATCH` is given many poses at once, (N, 4, 4), and seeds, (N, n),
        and its answers are one list for each pose.
    slow : bool
        Milliseconds per call: left out of the scenarios that add nothing new.

    """

    name = ''
    package = ''
    kind = 'numerical'
    call = ''
    tasks: tuple[str, ...] = (POSE, MIDDLE)
    slow = False

    def __init__(self, model: Model, task: str) -> None:
        self.model = model
        self.task = task

    def fk(self, q: np.ndarray) -> np.ndarray:
        """Return the solver's own pose of the tip in the base link, (4, 4)."""
        raise NotImplementedError

    def inputs(self, T: np.ndarray, seed: np.ndarray) -> tuple:
        """Return the arguments of :meth:`solve`."""
        return T, seed

    def solve(self, *inputs: object) -> object:
        """Call the solver; this is what is timed."""
        raise NotImplementedError

    def answers(self, returned: object) -> list[np.ndarray]:
        """Return what the solver claims to be solutions, each (n,); none if it gave up."""
        raise NotImplementedError

    def hints(self, returned: object) -> list[np.ndarray]:
        """
        Return joint positions, each (n,), that the solver itself calls approximate.

        A right one counts as an answer, a wrong one is no claim.
        """
        return []

    @classmethod
    def version(cls) -> str:
        """Return the installed version of the package."""
        try:
            return version(cls.package)
        except PackageNotFoundError:
            return 'not from pip'


def random_starts(model: Model, count: int = RESTARTS) -> np.ndarray:
    """Return starts inside the limits for the loops that restart, (count, n)."""
    return np.random.default_rng(1).uniform(model.lower, model.upper, (count, model.n))


def base_frame_axes(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the arm at q = 0 as products of exponentials have it.

    Returns
    -------
    (n, 3), (n + 1, 3), (3, 3) arrays
        Joint axes, a point of each axis and at last the tip, all in the base
        link; rotation of the tip in the base link.

    """
    T, axes, points = np.eye(4), [], []
    for frame, axis in zip(model.frames, model.axes):
        T = T @ frame
        axes.append(T[:3, :3] @ axis)
        points.append(T[:3, 3])
    T = T @ model.frames[-1]
    return np.array(axes), np.array(points + [T[:3, 3]]), T[:3, :3]
