# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Sample the workspace of an arm on a grid of cells, and the orientations reached in each.

The tip reaches the reachable workspace in at least one orientation, the dexterous workspace
in all orientations (Kumar and Waldron 1981, "The Workspaces of a Mechanical Manipulator").
In between, cells are rated by the share of orientations, as in the capability maps of
Zacharias, Borst and Hirzinger (2007).  A cell is represented by its centre.  Joint limits are
kept; with a collision model only postures count that are free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed, ThreadPoolExecutor
from dataclasses import dataclass, fields, MISSING, replace
from functools import partial
from math import ceil, pi, sqrt
import os
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote
from ik_node.collision.distances.model import CollisionModel
from ik_node.model.chain import Chain
from ik_node.solver.descent.layout import JOINT_VALUES, SOLVED_FLAG
from ik_node.solver.goal import FREE_AXIS, Goal, goal_matrices
from ik_node.solver.solver import Solver

SPIRAL_RATIO = 1.533751168755204288118041  # positive root of x^4 = x + 4


class Orientations(NamedTuple):
    """Orientations of the tip to try at each position."""

    quaternions: np.ndarray
    """(K, 4), quaternions x y z w of norm 1."""
    pointing: bool = False
    """Whether only the direction of the tip's z axis counts; the rotation about it is free."""


def even_orientations(count: int) -> np.ndarray:
    """
    Return unit quaternions x y z w, (count, 4): super-Fibonacci spirals.

    Alexa (2022), "Super-Fibonacci Spirals: Fast, Low-Discrepancy Sampling of SO(3)".
    """
    s = np.arange(count) + 0.5
    inner, outer = np.sqrt(s / count), np.sqrt(1.0 - s / count)
    a, b = 2.0 * pi * s / sqrt(2.0), 2.0 * pi * s / SPIRAL_RATIO
    return np.stack([inner * np.sin(a), inner * np.cos(a), outer * np.sin(b), outer * np.cos(b)],
                    axis=1)


def even_directions(count: int) -> np.ndarray:
    """
    Return unit quaternions x y z w, (count, 4), that rotate the z axis to even directions.

    The directions are a Fibonacci lattice (Gonzalez 2010, "Measurement of Areas on a Sphere
    Using Fibonacci and Latitude-Longitude Lattices"); the rotation to each is the shortest.
    """
    k = np.arange(count)
    z = 1.0 - (2.0 * k + 1.0) / count
    angle = pi * (3.0 - sqrt(5.0)) * k
    across = np.sqrt(1.0 - z * z)
    halves = np.stack([-across * np.sin(angle), across * np.cos(angle), np.zeros(count), 1.0 + z],
                      axis=1)
    return halves / np.linalg.norm(halves, axis=1, keepdims=True)


FILE_VERSION = 2
CELLS_PER_REACH = 12   # default spacing
MAX_CELLS = 4_000_000
MAX_POSES = 20_000_000
FIRST_ATTEMPTS = 12    # for a pose, before the solutions of neighbouring cells are tried
CHUNK_POSES = 1000     # poses per task, about 20 ms

Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, eq=False)
class Workspace:
    """Result of :func:`sample_workspace`, in the frame of the base link."""

    base_link: str
    tip_link: str
    x: np.ndarray
    """(X,), centres of the cells along x, m."""
    y: np.ndarray
    """(Y,), centres of the cells along y, m."""
    z: np.ndarray
    """(Z,), centres of the cells along z, m."""
    reachable: np.ndarray
    """(X, Y, Z) bool, whether the tip reaches the centre of the cell in some orientation."""
    share: np.ndarray
    """(X, Y, Z) float, share of `orientations` that the tip reaches there, 0 to 1."""
    orientations: np.ndarray
    """(K, 4), quaternions x y z w of the tip."""
    pointing: bool
    """Whether only the direction of the tip's z axis counts; the rotation about it is free."""
    spacing: float
    """Width of a cell, m."""
    limit_margin: float
    """Distance that the joints kept from their limits, rad or m."""
    collision_margin: float
    """Distance that the arm kept from itself and from objects, m; minus infinity if collisions
    were not considered."""
    not_checked: str = ''
    """Which links were not checked for collisions; '' if all were."""

    @property
    def points(self) -> np.ndarray:
        """Return the centres of the cells in the order of ``share.ravel()``, (N, 3), m."""
        return _grid_points(self.x, self.y, self.z)

    @property
    def collisions(self) -> str:
        """Return in words whether collisions were considered."""
        if self.collision_margin < 0.0:
            return 'collisions not considered'
        return f'free of collisions by {1e3 * self.collision_margin:g} mm' \
            + (f' as far as links are checked; {self.not_checked}' if self.not_checked else '')

    @property
    def dexterous(self) -> np.ndarray:
        """Return which cells are reached in all orientations, (X, Y, Z) bool."""
        return self.share == 1.0

    def save(self, path: Path) -> None:
        """Write the arrays, and the points, to an .npz file."""
        with open(path, 'wb') as file:
            np.savez_compressed(file, version=FILE_VERSION, points=self.points,
                                **{field.name: getattr(self, field.name)
                                   for field in fields(self)})

    @classmethod
    def load(cls, path: Path) -> Workspace:
        """
        Read a file written by :meth:`save`.

        Raises
        ------
        ParameterError
            If the file cannot be read or is not a workspace file.

        """
        try:
            with np.load(path, allow_pickle=False) as stored:
                if stored['version'] != FILE_VERSION:
                    raise ParameterError(f'{quote(path, 300)} has version {stored["version"]} of '
                                         f'the workspace file, expected {FILE_VERSION}; sample '
                                         'again')
                values = {field.name: stored[field.name] for field in fields(cls)
                          if field.name in stored or field.default is MISSING}
        except OSError as error:
            raise ParameterError(f'cannot read {quote(path, 300)}: '
                                 f'{error.strerror or "it is not an .npz file"}') from None
        except (BadZipFile, EOFError, KeyError, ValueError):
            raise ParameterError(f'{quote(path, 300)} is not a workspace; give an .npz file '
                                 'written by the command workspace') from None
        return cls(**{name: value.item() if value.ndim == 0 else value
                      for name, value in values.items()})


def sample_workspace(chain: Chain, box: Sequence[float] | None = None,
                     spacing: float | None = None,
                     orientations: Orientations | np.ndarray | None = None, *,
                     limit_margin: float = 0.0, collisions: CollisionModel | None = None,
                     progress: Progress | None = None,
                     workers: int | None = None) -> Workspace:
    """
    Solve all cells of a box in all orientations.

    A pose is solved from the middle of the joint ranges and from the nearest postures of the
    solver's table.  Unsolved poses are then tried from the solutions of the neighbouring
    cells, until no more are found.  The result does not depend on the number of workers.

    With a collision model a pose counts if one of its solutions is free, see
    :meth:`ik_node.solver.solver.Solver.solve_all`.

    Parameters
    ----------
    box : six numbers, optional
        x0, x1, y0, y1, z0, z1 in the base frame, m; two equal numbers give a single layer.
        By default the box that contains the reach of the stretched arm.
    spacing : float, optional
        Distance between the centres of cells, m; by default about a twelfth of the reach.
    orientations : Orientations or (K, 4) array, optional
        Quaternions x y z w; by default 60 even orientations.
    limit_margin : float
        Distance that the joints keep from their limits, rad or m.
    collisions : CollisionModel, optional
        Of the same arm.
    progress : callable, optional
        Called in this thread with the name of the current stage, the number of poses done
        and the number of all poses.
    workers : int, optional
        Number of threads; by default one per core.

    Raises
    ------
    ParameterError
        If the box, the spacing or the margin is not valid, or there are too many poses.
    GoalError
        If the orientations are not quaternions of norm 1.

    """
    solver = Solver(_inside(chain, limit_margin), collisions)
    spacing = _spacing(chain, spacing)
    axes = _axes(chain, box, spacing)
    shape = tuple(map(len, axes))
    points = _grid_points(*axes)
    if orientations is None:
        orientations = even_orientations(60)
    if not isinstance(orientations, Orientations):
        orientations = Orientations(orientations)
    pointing = orientations.pointing
    quaternions = np.array(orientations.quaternions, dtype=float).reshape(-1, 4)
    rotations = goal_matrices(np.hstack([np.zeros((len(quaternions), 3)), quaternions]))
    progress = progress or (lambda what, done, of_all: None)
    cores = workers or len(os.sched_getaffinity(0))

    first_joint = chain.offsets[0, 9:]
    near = np.flatnonzero(np.linalg.norm(points - first_joint, axis=1)
                          <= solver.chain.reach + solver.options.position_tolerance)
    with ThreadPoolExecutor(cores, 'workspace') as pool:
        # Cells out of reach are found first, with free orientation, and then left out.
        positions = _positions(Solver(solver.chain), points, near, shape, pool,
                               partial(progress, 'positions'))
        reached = near[positions.solved[:, 0]]
        if len(reached) * len(quaternions) > MAX_POSES:
            raise ParameterError(f'{len(reached)} cells in {len(quaternions)} orientations are '
                                 f'more than {MAX_POSES:g} poses; choose a larger spacing, a '
                                 'smaller box or fewer orientations')
        tolerance = (0.0, 0.0, 0.0, 0.0, 0.0, FREE_AXIS if pointing else 0.0)
        poses = _Poses(solver, Goal(np.eye(4), tolerance), points[reached], rotations,
                       _neighbours(reached, shape), pool,
                       partial(progress, 'orientations'))
        poses.solve()
        reachable, share = np.zeros(len(points), dtype=bool), np.zeros(len(points))
        reachable[reached] = True
        share[reached] = poses.solved.mean(axis=1)
        if collisions is not None:
            # Some may be reached in an orientation that is not among those.
            rest = reached[share[reached] == 0.0]
            reachable[rest] = _positions(solver, points, rest, shape, pool,
                                         partial(progress, 'rest')).solved[:, 0]
    return Workspace(chain.base_link, chain.tip_link, *axes, reachable.reshape(shape),
                     share.reshape(shape), quaternions, pointing, spacing, limit_margin,
                     -np.inf if collisions is None else collisions.margin,
                     '' if collisions is None else str(collisions.unchecked))


def _positions(solver: Solver, points: np.ndarray, cells: np.ndarray, shape: tuple[int, ...],
               pool: ThreadPoolExecutor, progress: Callable[[int, int], object]) -> _Poses:
    """Solve the positions of some cells, with free orientation."""
    positions = _Poses(solver, Goal.position(np.zeros(3)), points[cells], np.eye(4)[None],
                       _neighbours(cells, shape), pool, progress)
    positions.solve()
    return positions


def _inside(chain: Chain, margin: float) -> Chain:
    """Return the chain with its limits moved inwards by the margin."""
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
    """Return the spacing; by default a fraction of the reach, rounded to one digit."""
    if spacing is None:
        spacing = float(f'{chain.reach / CELLS_PER_REACH:.0e}')
    if not 1e-6 <= spacing < np.inf:
        raise ParameterError(f'the spacing is {spacing} m; it must be positive')
    return float(spacing)


def _axes(chain: Chain, box: Sequence[float] | None, spacing: float) -> list[np.ndarray]:
    """Return the centres of the cells along x, y and z."""
    if box is None:
        half = spacing * ceil(chain.reach / spacing)
        box = [middle + side for middle in chain.offsets[0, 9:] for side in (-half, half)]
    ends = np.array(box, dtype=float).reshape(-1)
    if len(ends) != 6 or not np.isfinite(ends).all() or (ends[::2] > ends[1::2]).any():
        raise ParameterError('the box is x0 x1 y0 y1 z0 z1 in m, each pair rising, got '
                             f'{" ".join(f"{end:g}" for end in ends)}')
    counts = np.floor((ends[1::2] - ends[::2]) / spacing + 1e-9) + 1.0
    if counts.prod() > MAX_CELLS:
        raise ParameterError(f'the box has {counts.prod():.3g} cells of {spacing:g} m; at most '
                             f'{MAX_CELLS:g} are possible; choose a larger spacing or a smaller '
                             'box')
    return [low + spacing * np.arange(count) for low, count in zip(ends[::2], counts)]


def _grid_points(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.stack(np.meshgrid(x, y, z, indexing='ij'), axis=-1).reshape(-1, 3)


def _neighbours(cells: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """
    Return the neighbours of some cells of a grid, (6, C).

    Indices into `cells` along -x, +x, -y, +y, -z, +z; the cell itself if there is no neighbour.
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
    """All cells in all orientations, and the solutions found, free if the solver checks that."""

    def __init__(self, solver: Solver, kind: Goal, points: np.ndarray, rotations: np.ndarray,
                 neighbours: np.ndarray, pool: ThreadPoolExecutor,
                 progress: Callable[[int, int], object]) -> None:
        self._solver, self._kind, self._settings = solver, kind, solver.tables.of(kind)
        self._points, self._rotations = points, rotations[:, :3, :3]
        self._neighbours, self._pool, self._progress = neighbours, pool, progress
        self.solved = np.zeros((len(points), len(rotations)), dtype=bool)  # (C, K) bool
        self._q = np.zeros((*self.solved.shape, solver.chain.n), dtype=np.float32)

    def solve(self) -> None:
        """Solve all poses that can be solved."""
        chain = self._solver.chain
        middle = chain.middle
        self._attempt(np.arange(self.solved.size), lambda rows: middle, FIRST_ATTEMPTS,
                      self._progress)
        fresh = self.solved.copy()
        while fresh.any():
            before = self.solved.copy()
            for beside in self._neighbours:
                rows = np.flatnonzero(fresh[beside] & ~self.solved)
                self._attempt(rows, lambda rows, beside=beside: self._q[
                    beside[rows // len(self._rotations)], rows % len(self._rotations)], 0)
            fresh = self.solved & ~before

    def _attempt(self, rows: np.ndarray, seeds: Callable[[np.ndarray], np.ndarray], restarts: int,
                 progress: Callable[[int, int], object] | None = None) -> None:
        """Attempt the poses of some rows of the flat (C * K) list, in chunks."""
        parts = [rows[first:first + CHUNK_POSES] for first in range(0, len(rows), CHUNK_POSES)]
        # All seeds are taken before the first solution is stored.
        tasks = {self._pool.submit(self._solved, part, seeds(part), restarts): part
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
                restarts: int) -> tuple[np.ndarray, np.ndarray]:
        """Return which poses are solved, (N,) bool, and their joint positions (N, n)."""
        chain, tables = self._solver.chain, self._solver.tables
        T = np.zeros((len(rows), 4, 4))
        cells, indices = np.divmod(rows, len(self._rotations))
        T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = self._rotations[indices], self._points[cells], 1.0
        seeds = np.clip(np.broadcast_to(seeds, (len(rows), chain.n)).astype(float),
                        chain.lower, chain.upper)  # rounding to float32 may pass a limit
        answers = tables.solve(T, seeds[:, None], 0, restarts, settings=self._settings)
        good, q = answers[:, SOLVED_FLAG] == 1.0, answers[:, JOINT_VALUES:]
        if self._solver.collisions is not None:
            self._only_free(T, good, q)
        return good, q.astype(np.float32)

    def _only_free(self, T: np.ndarray, good: np.ndarray, q: np.ndarray) -> None:
        """Replace the solutions q (N, n) that collide, and note where none is free, (N,) bool."""
        check, exact = self._solver.collisions, not any(self._kind.tolerance)
        solved = np.flatnonzero(good)
        for row in solved[~check.check_many(q[solved])]:
            if exact:
                free = self._solver.solve_all(T[row], q[row]) if check.tool_is_free(q[row]) else ()
            else:
                free = self._solver.solve_all(Goal(T[row], self._kind.tolerance), q[row])
            good[row] = bool(free)
            if free:
                q[row] = free[0].q
