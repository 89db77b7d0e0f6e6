# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Motion of the tip along a path: straight lines, blended corners, arcs.

The path is solved on one branch (:mod:`ik_node.motion.tool_path.tracing`), timed within every
limit and given points for the controller's quintics (:mod:`ik_node.motion.tool_path.timing`).
Between the points, too, the tip is compared with the path; where it is too far off, nodes and
points are taken closer together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ik_node.errors import IkNodeError, ParameterError, PathError, Reason
from ik_node.kinematics import kernels
from ik_node.kinematics.arm import forward_kinematics, singular_values
from ik_node.motion.interpolation import segments
from ik_node.motion.point_to_point import Departure, plan_stop
from ik_node.motion.tool_path import averaging, pacing, segments as path_segments, splines, tracing
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.tool_path.path import SAME, ToolPath
from ik_node.motion.tool_path.segments import BEGIN, CURVATURE, CUT_AFTER, CUT_BEFORE, LENGTH
from ik_node.motion.tool_path.timing import timed
from ik_node.motion.trajectory import MotionLimits, MotionState, Trajectory
from ik_node.motion.validate import validate
from ik_node.se3 import distance
from ik_node.solver.compiled import damped, layout, residual
from ik_node.solver.compiled.layout import (
    LOWER_ROW,
    ORIENTATION_TOLERANCE,
    POSITION_TOLERANCE,
    UPPER_ROW,
)
from ik_node.solver.solver import Solver
from ik_node.text import quote

CELL = 0.015         # m of the path: largest distance between targets
CELL_ANGLE = 0.075   # rad on an arc
LEAST_CELLS = 6      # of a line, or of half a blend
REFINEMENTS = 5
AIMED_AT = 0.5       # share of the deviation, which is measured at the same place of the path
BACK_OFF = 1e-3      # m: a part of a path ends so far before where the arm cannot go on
NEAR_SINGULAR = 0.02  # smallest singular value
LIMIT_ROOM = 2e-3    # rad or m that the solutions keep from the joint limits, for the spline
AT_LIMIT = 1e-4      # rad or m
MOST_NODES = 200_000


@dataclass(frozen=True, eq=False)
class PathPlan:
    """
    The motion along a path.

    Attributes
    ----------
    trajectory : Trajectory
    path : ToolPath
        From the pose of the tip at the start of the path on.
    fraction : float
        How much of the length of the path is followed, 0 to 1.
    interruption : PathError or None
        Why it ends before the end.
    deviation : (float, float)
        Largest distance of the tip from where it should be, between points too: m and rad.

    """

    trajectory: Trajectory
    path: ToolPath
    fraction: float
    interruption: PathError | None
    deviation: tuple[float, float]


def plan_path(solver: Solver, departure: Departure, path: ToolPath | Sequence[np.ndarray],
              limits: MotionLimits, options: PathOptions = PathOptions()) -> PathPlan:
    """
    Plan the motion of the tip along a path, from and to rest.

    An arm in motion is first brought to rest.

    Parameters
    ----------
    solver : Solver
        Its chain, weights and locked joints count.
    departure : Departure
        Where the arm is and how it moves.
    path : ToolPath or sequence of (4, 4) arrays
        Poses ``T_base_tip`` are followed by straight lines.  A path that does not
        begin where the tip is gets a line to its begin.
    limits : MotionLimits
        The timing keeps velocity, acceleration and jerk.

    Returns
    -------
    PathPlan
        Its trajectory is valid by :func:`ik_node.motion.validate.validate`.

    Raises
    ------
    PathError
        If the path makes no sense, or the arm cannot follow it to its end: with the
        fraction that it could, and the reason.
    ParameterError
        If a limit is not positive and finite.
    TrajectoryError
        If an arm in motion cannot be stopped within its limits.

    """
    forget_old_kernels()
    _check(limits)
    names, start, ramp = solver.chain.joint_names, departure.handover, None
    if len(departure.times) or not start.rests:
        ramp = plan_stop(names, departure, limits, options.period)
        start = MotionState.at_rest(ramp.end)
    limits = replace(limits, velocity=options.velocity_scale * limits.velocity,
                     acceleration=options.acceleration_scale * limits.acceleration)
    tool_path = _from_tip(forward_kinematics(solver.chain, start.q), path, options)
    # What the start breaks already may not be broken further.
    room = np.minimum(LIMIT_ROOM, 0.25 * (limits.upper - limits.lower))
    inside = replace(limits, lower=np.minimum(limits.lower + room, start.q),
                     upper=np.maximum(limits.upper - room, start.q))
    for refinement in range(REFINEMENTS):
        finer = 0.5**refinement
        nodes, q, interruption = _traced(solver, start.q, tool_path, inside, options, finer)
        fraction = float(nodes[-1]) / tool_path.length if interruption else 1.0
        trajectory, places = timed(names, tool_path, nodes, q, limits, options.tool,
                                   finer * options.period)
        off = _deviation(solver, tool_path, trajectory, places)
        if (off[0] <= AIMED_AT * options.position_deviation
                and off[1] <= AIMED_AT * options.orientation_deviation):
            break
    else:
        raise PathError(f'the tip would leave the path by {1e3 * off[0]:.3g} mm and '
                        f'{off[1]:.3g} rad; allow more, or lead the path farther from '
                        'singularities', Reason.PATH_INTERRUPTED)
    validate(trajectory, limits)
    if ramp is not None:
        trajectory = _after(ramp, trajectory)
    return PathPlan(trajectory, tool_path, fraction, interruption, off)


def warm_up(solver: Solver) -> None:
    """Load or compile what :func:`plan_path` needs, so that the first path is not late."""
    chain = solver.chain
    ones = np.ones(chain.n)
    q = np.clip(chain.middle, chain.lower, chain.upper)
    there = np.clip(q + 1e-3, chain.lower, chain.upper)
    try:
        planned = plan_path(solver, Departure.from_state(MotionState.at_rest(q)),
                            [forward_kinematics(chain, there)],
                            MotionLimits(chain.lower, chain.upper, ones, ones, 10.0 * ones))
        planned.path.poses([0.0])
    except IkNodeError:
        pass  # an arm that cannot go straight there will say so when it is asked to


def _check(limits: MotionLimits) -> None:
    """Refuse limits that would divide by zero."""
    for name in ('velocity', 'acceleration', 'jerk'):
        values = getattr(limits, name)
        if not (np.isfinite(values).all() and (values > 0.0).all()):
            raise ParameterError(f'the {name} limits are {list(values)}; they must be positive '
                                 'and finite')


def _from_tip(T_base_tip: np.ndarray, path: ToolPath | Sequence[np.ndarray],
              options: PathOptions) -> ToolPath:
    """Return the path from where the tip is."""
    if not isinstance(path, ToolPath):
        return ToolPath.lines(path, options.blend_radius, start=T_base_tip)
    begin = path.poses([0.0])[0]
    if max(distance(T_base_tip, begin)) <= SAME:
        return path
    return ToolPath.joined([ToolPath.lines([T_base_tip, begin]), path], options.blend_radius)


def _targets(path: ToolPath, finer: float) -> np.ndarray:
    """Return path coordinates at which the path is solved: ends, blends, and cells between."""
    table = path.table
    begin, end = table[:, BEGIN], table[:, BEGIN] + table[:, LENGTH]
    marks = np.unique(np.concatenate([
        begin, begin + table[:, CUT_BEFORE], end - table[:, CUT_AFTER], [path.length]]))
    marks = marks[np.append(True, np.diff(marks) > SAME * 1e-3)]
    marks[-1] = path.length
    lengths = np.diff(marks)
    k = np.clip(np.searchsorted(begin, 0.5 * (marks[1:] + marks[:-1])) - 1, 0, None)
    cells = np.maximum(LEAST_CELLS, np.ceil(np.maximum(
        lengths / CELL, lengths * table[k, CURVATURE] / CELL_ANGLE))) / finer
    cells = cells.astype(int)
    inside = np.arange(cells.sum()) - np.repeat(np.cumsum(cells) - cells, cells)
    return np.append(np.repeat(marks[:-1], cells) + inside * np.repeat(lengths / cells, cells),
                     path.length)


def _traced(solver: Solver, q_start: np.ndarray, path: ToolPath, limits: MotionLimits,
            options: PathOptions,
            finer: float) -> tuple[np.ndarray, np.ndarray, PathError | None]:
    """Return nodes (N,) along the path, joint positions (N, n) there, and why they end early."""
    chain, tables = solver.chain, solver.tables
    joints, settings = tables.joints.copy(), tables.settings.copy()
    joints[LOWER_ROW], joints[UPPER_ROW] = limits.lower, limits.upper
    for k in tables.locked:
        joints[LOWER_ROW, k] = joints[UPPER_ROW, k] = q_start[k]
    settings[POSITION_TOLERANCE] = settings[ORIENTATION_TOLERANCE] = tracing.EXACT
    targets = _targets(path, finer)
    middles = 0.5 * (targets[1:] + targets[:-1])
    which = np.append(0, np.searchsorted(path.table[:, BEGIN], middles) - 1)
    room = 8 * len(targets) + 1000
    while True:
        nodes, q = np.empty(room), np.empty((room, chain.n))
        q[0] = q_start
        count, whole = tracing.trace(chain.table, joints, settings, path.table, targets, which,
                                     options.max_joint_step * finer, nodes, q)
        if whole or count < room or room > MOST_NODES:
            break
        room *= 8
    nodes, q = nodes[:count], q[:count]
    if whole:
        return nodes, q, None
    error = _interruption(solver, path, nodes[-1], q[-1], limits)
    kept = nodes <= nodes[-1] - BACK_OFF
    if not options.partial or np.count_nonzero(kept) < 5:
        raise error
    return nodes[kept], q[kept], error


def _interruption(solver: Solver, path: ToolPath, s: float, q: np.ndarray,
                  limits: MotionLimits) -> PathError:
    """Say why the arm cannot go on along the path from s, where it stands at q."""
    chain = solver.chain
    fraction = s / path.length
    T, T_next = path.poses([s, min(s + BACK_OFF, path.length)])
    p = ', '.join(f'{x:.4g}' for x in T[:3, 3])
    where = f'the path can be followed for {100.0 * fraction:.1f} % of its length, to ({p}) m'
    ahead = solver.solve(T_next, q)
    margin = np.minimum(q - limits.lower, limits.upper - q)
    stuck = [quote(name) for name, room in zip(chain.joint_names, margin) if room < AT_LIMIT]
    if stuck:
        return PathError(f'{where}: there {", ".join(stuck)} is at its limit',
                         Reason.BEYOND_LIMIT, fraction)
    if not ahead.success:
        return PathError(f'{where}: {ahead.message}', ahead.status, fraction)
    least = singular_values(chain, q)[-1]
    why = f'the arm is singular there (smallest singular value {least:.2g})' \
        if least < NEAR_SINGULAR else 'its branch ends there'
    return PathError(f'{where}: {why}, and to go on it would have to change its posture',
                     Reason.PATH_INTERRUPTED, fraction)


def _deviation(solver: Solver, path: ToolPath, trajectory: Trajectory,
               places: np.ndarray) -> tuple[float, float]:
    """Return how far the tip gets off its places on the path (m, rad), between points too."""
    _, lengths, c = segments(trajectory)
    off = np.empty(2)
    tracing.deviation(solver.chain.table, path.table, c, lengths, places, off)
    return float(off[0]), float(off[1])


def _after(ramp: Trajectory, trajectory: Trajectory) -> Trajectory:
    """Return one motion after the other."""
    return replace(ramp, times=np.append(ramp.times, ramp.duration + trajectory.times),
                   **{name: np.vstack([getattr(ramp, name), getattr(trajectory, name)])
                      for name in ('q', 'qd', 'qdd')})


@lru_cache(maxsize=None)
def forget_old_kernels() -> None:
    """Have compiled anew, once in a process, what was compiled from older files."""
    kernels.forget_stale(
        (tracing.trace, tracing.tip_channels, tracing.deviation, averaging.sample,
         pacing.measure, path_segments.line_rows),
        (kernels, damped, layout, residual, path_segments, splines, averaging, tracing))
