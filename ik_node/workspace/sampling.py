# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Where an arm reaches, and in how many orientations: a grid of cells, solved pose by pose.

The reachable workspace is where the tip can be put, the dexterous workspace where it can be
put in every orientation (Kumar and Waldron 1981, "The Workspaces of a Mechanical
Manipulator"); between them lies the share of orientations that are reached, as in the
capability maps of Zacharias, Borst and Hirzinger (2007).  A cell stands for the point in its
middle.  Joint limits are kept; collisions are not considered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import partial
from math import ceil
import os
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ik_node.errors import ParameterError
from ik_node.model.chain import Chain
from ik_node.solver.compiled.layout import JOINT_VALUES, SOLVED_FLAG
from ik_node.solver.goal import FREE_AXIS, Goal, goal_matrices
from ik_node.solver.solver import Solver
from ik_node.text import quote
from ik_node.workspace.orientations import even_orientations

VERSION = 1             # of the file
CELLS_PER_REACH = 12    # without a spacing
MOST_CELLS = 4_000_000
MOST_POSES = 20_000_000
ATTEMPTS = 12           # of a pose, before the solutions of the cells beside it are tried
CHUNK = 1000            # poses a task: some 20 ms

Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, eq=False)
class Workspace:
    """
    What :func:`sample_workspace` found, in the frame of the base link.

    Attributes
    ----------
    x, y, z : (X,), (Y,), (Z,) arrays
        Middles of the cells along each axis, m.
    reachable : (X, Y, Z) bool array
        Whether the tip reaches the middle of the cell in some orientation.
    share : (X, Y, Z) float array
        Share of `orientations` that it reaches there, 0 to 1.
    orientations : (K, 4) array
        Quaternions x y z w of the tip.
    pointing : bool
        Whether only the direction of the tip's z axis counts, not the turn about it.
    spacing : float
        Width of a cell, m.
    limit_margin : float
        So far inside their limits the joints stayed, rad or m.

    """

    base_link: str
    tip_link: str
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    reachable: np.ndarray
    share: np.ndarray
    orientations: np.ndarray
    pointing: bool
    spacing: float
    limit_margin: float

    @property
    def points(self) -> np.ndarray:
        """Return the middles of the cells in the order of ``share.ravel()``, (N, 3), m."""
        return _grid_points(self.x, self.y, self.z)

    @property
    def dexterous(self) -> np.ndarray:
        """Return which cells are reached in every orientation, (X, Y, Z) bool."""
        return self.share == 1.0

    def save(self, path: Path) -> None:
        """Write the arrays, and the points, to an .npz file."""
        with open(path, 'wb') as file:
            np.savez_compressed(file, version=VERSION, points=self.points,
                                **{field.name: getattr(self, field.name)
                                   for field in fields(self)})

    @classmethod
    def load(cls, path: Path) -> Workspace:
        """
        Read what :meth:`save` wrote.

        Raises
        ------
        ParameterError
            If the file cannot be read or is not such a file.

        """
        try:
            with np.load(path, allow_pickle=False) as stored:
                if stored['version'] != VERSION:
                    raise ParameterError(f'{quote(path, 300)} has version {stored["version"]} of '
                                         f'the workspace file, expected {VERSION}; sample again')
                values = {field.name: stored[field.name] for field in fields(cls)}
        except OSError as error:
            raise ParameterError(f'cannot read {quote(path, 300)}: '
                                 f'{error.strerror or "it is no .npz file"}') from None
        except (BadZipFile, EOFError, KeyError, ValueError):
            raise ParameterError(f'{quote(path, 300)} is no workspace; it must be an .npz file '
                                 'that the command workspace wrote') from None
        return cls(**{name: value.item() if value.ndim == 0 else value
                      for name, value in values.items()})


def sample_workspace(chain: Chain, box: Sequence[float] | None = None,
                     spacing: float | None = None, orientations: np.ndarray | None = None, *,
                     pointing: bool = False, limit_margin: float = 0.0,
                     progress: Progress | None = None, workers: int | None = None) -> Workspace:
    """
    Solve every cell of a box in every orientation.

    A pose is solved from the middle of the limits and from the postures of the solver's table
    that are nearest; what is not solved then is tried from the solutions of the cells
    beside it, until no more are found.  The answer to a pose does not depend on how the work
    is cut.

    Parameters
    ----------
    box : six numbers, optional
        x0, x1, y0, y1, z0, z1 in the base frame, m; a layer where two are equal.  By default all
        that the stretched arm could reach.
    spacing : float, optional
        Between the middles of cells, m; by default about a twelfth of the reach.
    orientations : (K, 4) array, optional
        Quaternions x y z w; by default 60 that are even.
    pointing : bool
        The turn about the tip's z axis is free.
    limit_margin : float
        The joints stay so far inside their limits, rad or m.
    progress : callable, optional
        Called in this thread with what is being solved, the poses done and of all.
    workers : int, optional
        Threads; one a core without it.

    Raises
    ------
    ParameterError
        If the box, the spacing or the margin makes no sense, or there are too many poses.
    GoalError
        If the orientations are no quaternions of norm 1.

    """
    solver = Solver(_inside(chain, limit_margin))
    spacing = _spacing(chain, spacing)
    axes = _axes(chain, box, spacing)
    shape = tuple(map(len, axes))
    points = _grid_points(*axes)
    if orientations is None:
        orientations = even_orientations(60)
    orientations = np.array(orientations, dtype=float).reshape(-1, 4)
    rotations = goal_matrices(np.hstack([np.zeros((len(orientations), 3)), orientations]))
    progress = progress or (lambda what, done, of_all: None)
    cores = workers or len(os.sched_getaffinity(0))

    first_joint = chain.offsets[0, 9:]
    near = np.flatnonzero(np.linalg.norm(points - first_joint, axis=1)
                          <= solver.chain.reach + solver.options.position_tolerance)
    with ThreadPoolExecutor(cores, 'workspace') as pool:
        # Cells that the tip does not reach at all are not tried in each orientation.
        anyhow = _Poses(solver, Goal.position(np.zeros(3)), points[near], np.eye(4)[None],
                        _neighbours(near, shape), pool, partial(progress, 'positions'))
        anyhow.solve()
        reached = near[anyhow.solved[:, 0]]
        if len(reached) * len(orientations) > MOST_POSES:
            raise ParameterError(f'{len(reached)} cells in {len(orientations)} orientations are '
                                 f'more than {MOST_POSES:g} poses; take a larger spacing, a '
                                 'smaller box or fewer orientations')
        tolerance = (0.0, 0.0, 0.0, 0.0, 0.0, FREE_AXIS if pointing else 0.0)
        poses = _Poses(solver, Goal(np.eye(4), tolerance), points[reached], rotations,
                       _neighbours(reached, shape), pool,
                       partial(progress, 'orientations'))
        poses.solve()
    reachable, share = np.zeros(len(points), dtype=bool), np.zeros(len(points))
    reachable[reached] = True
    share[reached] = poses.solved.mean(axis=1)
    return Workspace(chain.base_link, chain.tip_link, *axes, reachable.reshape(shape),
                     share.reshape(shape), orientations, pointing, spacing, limit_margin)


def _inside(chain: Chain, margin: float) -> Chain:
    """Return the chain with its limits drawn in."""
    if not 0.0 <= margin < np.inf:
        raise ParameterError(f'the limit margin is {margin}; it must not be negative')
    lower, upper = chain.lower + margin, chain.upper - margin
    if (lower > upper).any():
        k = int(np.argmax(lower - upper))
        raise ParameterError(f'the limit margin {margin:g} leaves the joint '
                             f'{quote(chain.joint_names[k])} no room between its limits '
                             f'{chain.lower[k]:g} and {chain.upper[k]:g}')
    return replace(chain, lower=lower, upper=upper)


def _spacing(chain: Chain, spacing: float | None) -> float:
    """Return the spacing; that of the reach, with one digit, if none is given."""
    if spacing is None:
        spacing = float(f'{chain.reach / CELLS_PER_REACH:.0e}')
    if not 1e-6 <= spacing < np.inf:
        raise ParameterError(f'the spacing is {spacing} m; it must be positive')
    return float(spacing)


def _axes(chain: Chain, box: Sequence[float] | None, spacing: float) -> list[np.ndarray]:
    """Return the middles of the cells along x, y, z."""
    if box is None:
        half = spacing * ceil(chain.reach / spacing)
        box = [middle + side for middle in chain.offsets[0, 9:] for side in (-half, half)]
    ends = np.array(box, dtype=float).reshape(-1)
    if len(ends) != 6 or not np.isfinite(ends).all() or (ends[::2] > ends[1::2]).any():
        raise ParameterError('the box is x0 x1 y0 y1 z0 z1 in m, each pair rising, got '
                             f'{" ".join(f"{end:g}" for end in ends)}')
    counts = np.floor((ends[1::2] - ends[::2]) / spacing + 1e-9) + 1.0
    if counts.prod() > MOST_CELLS:
        raise ParameterError(f'the box has {counts.prod():.3g} cells of {spacing:g} m, at most '
                             f'{MOST_CELLS:g} are sampled; take a larger spacing or a smaller box')
    return [low + spacing * np.arange(count) for low, count in zip(ends[::2], counts)]


def _grid_points(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.stack(np.meshgrid(x, y, z, indexing='ij'), axis=-1).reshape(-1, 3)


def _neighbours(cells: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """
    Return who is beside whom among some cells of a grid, (6, C).

    Indices into `cells` along -x, +x, -y, +y, -z, +z; the cell itself where there is none.
    """
    row = np.full(np.prod(shape), -1)
    row[cells] = np.arange(len(cells))
    row = row.reshape(shape)
    at = np.unravel_index(cells, shape)
    beside = []
    for axis in range(3):
        for step in (-1, 1):
            there = list(at)
            there[axis] = np.clip(at[axis] + step, 0, shape[axis] - 1)
            found = row[tuple(there)]
            beside.append(np.where(found < 0, np.arange(len(cells)), found))
    return np.array(beside)


class _Poses:
    """
    Every cell in every orientation, and the solutions so far.

    Attributes
    ----------
    solved : (C, K) bool array

    """

    def __init__(self, solver: Solver, kind: Goal, points: np.ndarray, rotations: np.ndarray,
                 neighbours: np.ndarray, pool: ThreadPoolExecutor,
                 progress: Callable[[int, int], object]) -> None:
        self._solver, self._settings = solver, solver.tables.of(kind)
        self._points, self._rotations = points, rotations[:, :3, :3]
        self._neighbours, self._pool, self._progress = neighbours, pool, progress
        self.solved = np.zeros((len(points), len(rotations)), dtype=bool)
        self._q = np.zeros((*self.solved.shape, solver.chain.n), dtype=np.float32)

    def solve(self) -> None:
        """Solve what can be solved."""
        chain = self._solver.chain
        middle = np.clip(chain.middle, chain.lower, chain.upper)
        self._attempt(np.arange(self.solved.size), lambda rows: middle, ATTEMPTS, self._progress)
        fresh = self.solved.copy()
        while fresh.any():
            before = self.solved.copy()
            for beside in self._neighbours:
                rows = np.flatnonzero(fresh[beside] & ~self.solved)
                self._attempt(rows, lambda rows, beside=beside: self._q[
                    beside[rows // len(self._rotations)], rows % len(self._rotations)], 0)
            fresh = self.solved & ~before

    def _attempt(self, rows: np.ndarray, seeds: Callable[[np.ndarray], np.ndarray], picks: int,
                 progress: Callable[[int, int], object] | None = None) -> None:
        """Attempt the poses of some rows of the flat (C * K) list, in chunks."""
        parts = [rows[first:first + CHUNK] for first in range(0, len(rows), CHUNK)]
        # What the seeds are taken from must not change before all are taken.
        tasks = {self._pool.submit(self._solved, part, seeds(part), picks): part
                 for part in parts}
        done = 0
        if progress is not None and len(rows):
            progress(0, len(rows))
        try:
            for task in as_completed(tasks):
                part, (good, q) = tasks.pop(task), task.result()
                self.solved.reshape(-1)[part[good]] = True
                self._q.reshape(-1, q.shape[1])[part[good]] = q[good]
                done += len(part)
                if progress is not None:
                    progress(done, len(rows))
        finally:
            for task in tasks:
                task.cancel()

    def _solved(self, rows: np.ndarray, seeds: np.ndarray,
                picks: int) -> tuple[np.ndarray, np.ndarray]:
        """Return which poses are solved, (N,) bool, and the postures (N, n)."""
        chain, tables = self._solver.chain, self._solver.tables
        T = np.zeros((len(rows), 4, 4))
        cells, turns = np.divmod(rows, len(self._rotations))
        T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = self._rotations[turns], self._points[cells], 1.0
        seeds = np.clip(np.broadcast_to(seeds, (len(rows), chain.n)).astype(float),
                        chain.lower, chain.upper)  # float32 may be beyond
        answers = tables.solve(T, seeds[:, None], 0, picks, settings=self._settings)
        return answers[:, SOLVED_FLAG] == 1.0, answers[:, JOINT_VALUES:].astype(np.float32)
