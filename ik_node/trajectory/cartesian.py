# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Motion of the tip along a path: straight lines, blended corners, arcs.

The path is solved on one branch (:mod:`ik_node.trajectory.tracing`), timed within
every limit (:mod:`ik_node.trajectory.pacing`), and given points for the
controller's quintics.  Between the points, too, the tip is compared with the path;
where it is too far off, nodes and points are taken closer together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from numbers import Real

import numpy as np

from ik_node.errors import ParameterError, PathError, quote, Reason
from ik_node.kinematics.arm import forward_kinematics, singular_values
from ik_node.se3 import distance
from ik_node.solver.damped import LOWER, ORIENTATION, POSITION, UPPER
from ik_node.solver.solver import Solver
from ik_node.trajectory import pacing, tracing
from ik_node.trajectory.path import BEGIN, CURVATURE, CUT_AFTER, CUT_BEFORE, LENGTH, SAME, ToolPath
from ik_node.trajectory.point_to_point import Departure, plan_stop
from ik_node.trajectory.sampler import segments
from ik_node.trajectory.trajectory import MotionLimits, MotionState, Trajectory
from ik_node.trajectory.validate import validate

CELL = 0.03          # m of the path: largest distance between targets
CELL_ANGLE = 0.15    # rad on an arc
LEAST_CELLS = 3      # of a line, or of half a blend
GRID = 48            # nodes of the timing between two stops at least
ROOM = 0.95, 0.999, 0.998  # shares of jerk, velocity and acceleration that are planned with
SHORTEST_RAMP = 0.03  # s: the first box is as wide as a joint's ramp to full acceleration, and
NARROW = 0.2         # this at least; the second is this share of it, the points are as close
PHASES = 0.0, 0.5, 0.25, 0.75  # where the looks of a round are, of half a step
ROUNDS = 8           # of lowering limits
ENOUGH = 1.005       # a motion that need not be slower than this in time gets no more rounds
REFINEMENTS = 4
CHECKS = 2           # instants between two points at which the tip is compared with the path
BACK_OFF = 1e-3      # m: a part of a path ends so far before where the arm cannot go on
NEAR_SINGULAR = 0.02  # smallest singular value
LIMIT_ROOM = 2e-3    # rad or m that the solutions keep from the joint limits, for the spline
AT_LIMIT = 1e-4      # rad or m
MOST_NODES = 200_000


@dataclass(frozen=True)
class PathOptions:
    """
    How a path is followed.

    Attributes
    ----------
    velocity_scale, acceleration_scale : float
        Shares of the joints' limits that are used, above 0 to 1.
    tool_speed, tool_rotation_speed : float
        Largest speed of the tip, m/s and rad/s.
    tool_acceleration, tool_rotation_acceleration : float
        Largest acceleration of the tip, m/s^2 and rad/s^2.
    blend_radius : float
        So near to the corners the tip may leave the lines (m); 0 = it stops there.
    position_deviation, orientation_deviation : float
        How far the tip may be off the path, m and rad.
    max_joint_step : float
        Largest motion of a joint between two neighbouring solutions, rad or m.
    period : float
        Largest time between points, s.
    partial : bool
        Go as far as the arm can, instead of the whole path or nothing.

    Raises
    ------
    ParameterError
        If one is out of its range.

    """

    velocity_scale: float = 1.0
    acceleration_scale: float = 1.0
    tool_speed: float = inf
    tool_rotation_speed: float = inf
    tool_acceleration: float = inf
    tool_rotation_acceleration: float = inf
    blend_radius: float = 0.0
    position_deviation: float = 1e-4
    orientation_deviation: float = 1e-4
    max_joint_step: float = 0.05
    period: float = 0.02
    partial: bool = False

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == 'partial':
                continue
            if not isinstance(value, Real):
                raise ParameterError(f'{name} is {value!r}; it must be a number')
            if name.endswith('_scale'):
                if not 0.0 < value <= 1.0:
                    raise ParameterError(f'{name} is {value}; it must be above 0 and at most 1')
            elif name == 'blend_radius':
                if not 0.0 <= value < inf:
                    raise ParameterError(f'{name} is {value}; it must be a length in m, 0 = stop '
                                         'at corners')
            elif not value > 0.0 or (value == inf and not name.startswith('tool_')):
                raise ParameterError(f'{name} is {value}; it must be positive')

    @property
    def tool(self) -> np.ndarray:
        """Return the limits of the tool as :func:`pacing.limit_rows` takes them, (4,)."""
        return np.array([self.tool_speed, self.tool_rotation_speed, self.tool_acceleration,
                         self.tool_rotation_acceleration], dtype=float)


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


def plan_path(solver: Solver, departures: list[Departure], path: ToolPath | Sequence[np.ndarray],
              limits: MotionLimits, options: PathOptions = PathOptions()) -> PathPlan:
    """
    Plan the motion of the tip along a path, from and to rest.

    An arm in motion is first brought to rest.

    Parameters
    ----------
    solver : Solver
        Its chain, weights and locked joints count.
    departures : list of Departure
        Where the arm is, as :func:`plan_point_to_point` takes it.
    path : ToolPath or sequence of (4, 4) arrays
        Poses ``T_base_tip`` are followed by straight lines.  A path that does not
        begin where the tip is gets a line to its begin.
    limits : MotionLimits
        The timing keeps velocity, acceleration and jerk.

    Returns
    -------
    PathPlan
        Its trajectory is valid by :func:`ik_node.trajectory.validate.validate`.

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
    limits = _scaled(limits, options)
    names, start, ramp = solver.chain.joint_names, departures[0].handover, None
    if len(departures[0].times) or not start.rests:
        ramp = plan_stop(names, departures, limits, options.period)
        start = MotionState.at_rest(ramp.end)
    tool_path = _from_tip(forward_kinematics(solver.chain, start.q), path, options)
    # What the start breaks already may not be broken further.
    room = np.minimum(LIMIT_ROOM, 0.25 * (limits.upper - limits.lower))
    inside = replace(limits, lower=np.minimum(limits.lower + room, start.q),
                     upper=np.maximum(limits.upper - room, start.q))
    for refinement in range(REFINEMENTS):
        finer = 0.5**refinement
        nodes, q, interruption = _traced(solver, start.q, tool_path, inside, options, finer)
        fraction = float(nodes[-1]) / tool_path.length if interruption else 1.0
        trajectory, places = _timed(names, tool_path, nodes, q, limits, options,
                                   finer * options.period)
        off = _deviation(solver, tool_path, trajectory, places)
        if off[0] <= options.position_deviation and off[1] <= options.orientation_deviation:
            break
    else:
        raise PathError(f'the tip would leave the path by {1e3 * off[0]:.3g} mm and '
                        f'{off[1]:.3g} rad; allow more, or lead the path farther from '
                        'singularities', Reason.PATH_INTERRUPTED)
    validate(trajectory, limits)
    if ramp is not None:
        trajectory = _after(ramp, trajectory)
    return PathPlan(trajectory, tool_path, fraction, interruption, off)


def _scaled(limits: MotionLimits, options: PathOptions) -> MotionLimits:
    for name in ('velocity', 'acceleration', 'jerk'):
        values = getattr(limits, name)
        if not (np.isfinite(values).all() and (values > 0.0).all()):
            raise ParameterError(f'the {name} limits are {list(values)}; they must be positive '
                                 'and finite')
    return replace(limits, velocity=options.velocity_scale * limits.velocity,
                   acceleration=options.acceleration_scale * limits.acceleration)


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
    joints[LOWER], joints[UPPER] = limits.lower, limits.upper
    for k in tables.locked:
        joints[LOWER, k] = joints[UPPER, k] = q_start[k]
    settings[POSITION] = settings[ORIENTATION] = tracing.EXACT
    targets = _targets(path, finer)
    middles = 0.5 * (targets[1:] + targets[:-1])
    which = np.append(0, np.searchsorted(path.table[:, BEGIN], middles) - 1)
    room = 8 * len(targets) + 1000
    while True:
        nodes, q = np.empty(room), np.empty((room, chain.n))
        q[0] = q_start
        count, whole = tracing.trace(chain.table, joints, settings, path.table, targets, which,
                                     options.max_joint_step * finer, nodes, q)
        if whole or count + 2 <= room or room > MOST_NODES:
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


def _timed(names: tuple[str, ...], path: ToolPath, nodes: np.ndarray, q: np.ndarray,
           limits: MotionLimits, options: PathOptions,
           period: float) -> tuple[Trajectory, np.ndarray]:
    """Return the motion through the nodes, and its path coordinates at CHECKS instants a step."""
    n, tool = q.shape[1], options.tool
    # A node at a stop ends one part and begins the next.
    twice = np.ones(len(nodes), dtype=int)
    inner = path.stops[1:-1]
    at_stop = np.searchsorted(nodes, inner[inner < nodes[-1]])
    twice[at_stop] = 2
    s = np.repeat(nodes, twice)
    first = np.concatenate([[0], at_stop + np.arange(1, len(at_stop) + 1), [len(s)]])
    y = np.empty((len(s), n + 6))
    y[:, :n] = np.repeat(q, twice, axis=0)
    tracing.tip_channels(path.table, s, y, n)
    slopes, bends = np.empty_like(y), np.empty_like(y)
    tracing.fit(s, first, y, slopes, bends)
    grid, grid_slopes, grid_bends = _grid(s, slopes, bends, first)
    M = len(grid)
    A, B = np.empty((2, M, n + pacing.TOOL_ROWS))
    C, fastest = np.empty(n + pacing.TOOL_ROWS), np.empty(M)
    jerk, velocity, acceleration = (share * limit for share, limit in zip(
        ROOM, (limits.jerk, limits.velocity, limits.acceleration)))
    pacing.limit_rows(grid, grid_slopes, grid_bends, velocity, acceleration, jerk, tool, A, B, C,
                      fastest)
    wide = max(float((acceleration / jerk).max()), SHORTEST_RAMP)
    narrow = NARROW * wide
    period = min(period, narrow)
    ease = np.ones(M)
    x, K = np.empty((2, M))
    motion = np.empty((6, M))
    for looks in range(ROUNDS):
        pacing.fastest_motion(grid, A, B, C, fastest, ease, x, K)
        pacing.in_time(grid, x, wide + narrow, motion)
        shares = pacing.measure(motion, wide, narrow, s, y, bends, velocity, acceleration, jerk,
                                tool, 0.5 * period, PHASES[looks % len(PHASES)], fastest, ease)
        slower = max(1.0, shares[0], shares[1] ** 0.5, shares[2] ** (1.0 / 3.0))
        if slower <= ENOUGH:
            break
    times, rests = _instants(motion, grid, wide + narrow, period / slower)
    Q, Qd, Qdd = np.empty((3, len(times), n))
    pacing.sample(motion, wide, narrow, s, y, bends, times, Q, Qd, Qdd)
    Q[-1] = q[-1]
    Qd[rests] = Qdd[rests] = 0.0
    steps = np.diff(times, prepend=0.0)
    between = (np.append(0.0, times[:-1])[:, None]
               + steps[:, None] * (np.arange(CHECKS) / CHECKS)).ravel()
    places = np.empty(len(between))
    pacing.places(motion, wide, narrow, s, between, places)
    start = MotionState.at_rest(q[0])
    _, lengths, c = segments(Trajectory(names, start, times, Q, Qd, Qdd))
    shares = pacing.peaks(lengths, c, velocity, acceleration, limits.jerk)
    slower = max(slower, shares[0], shares[1] ** 0.5, shares[2] ** (1.0 / 3.0))
    return (Trajectory(names, start, slower * times, Q, Qd / slower, Qdd / slower**2),
            places.reshape(-1, CHECKS))


def _grid(s: np.ndarray, slopes: np.ndarray, bends: np.ndarray,
          first: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes of the timing, GRID between two stops at least, and the splines there."""
    counts = np.diff(first)
    cells = np.repeat(np.ceil(GRID / counts).astype(int), counts)[:-1]
    cells[first[1:-1] - 1] = 1  # of no length
    k = np.repeat(np.arange(len(cells)), cells)
    share = (np.arange(len(k)) - np.repeat(np.cumsum(cells) - cells, cells)) / cells[k]
    h, share = (s[k + 1] - s[k])[:, None], share[:, None]
    grid = s[k] + (share * h)[:, 0]
    rise = bends[k + 1] - bends[k]
    return (np.append(grid, s[-1]),
            np.vstack([slopes[k] + h * share * (bends[k] + 0.5 * share * rise), slopes[-1:]]),
            np.vstack([bends[k] + share * rise, bends[-1:]]))


def _instants(motion: np.ndarray, grid: np.ndarray, pause: float,
              period: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times of points (s), evenly between two rests, and which of them are at rest."""
    stops = np.flatnonzero(np.diff(grid) <= 0.0)
    marks = np.concatenate([[0.0], motion[pacing.TIME, stops] + pause,
                            [motion[pacing.TIME, -1] + pause]])
    counts = np.ceil(np.diff(marks) / period).astype(int)
    rests = np.cumsum(counts) - 1
    k = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(1, len(k) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
    times = marks[k] + number * (np.diff(marks) / counts)[k]
    times[rests] = marks[1:]
    return times, rests


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
