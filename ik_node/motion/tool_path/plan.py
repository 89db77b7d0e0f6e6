# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Motion of the tip along a path: straight lines, blended corners, arcs.

The path is solved on one branch (:mod:`ik_node.motion.tool_path.tracing`), timed within the
limits and sampled for the controller's quintics (:mod:`ik_node.motion.tool_path.timing`).  The
tip is compared with the path at and between the points; if it deviates too much, nodes and
points are placed closer together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ik_node.base.errors import ConstraintError, IkNodeError, PathError, Reason
from ik_node.base.se3 import distance
from ik_node.base.text import length_text, quote
from ik_node.collision.distances.certificate import certify, Contact
from ik_node.kinematics.arm import forward_kinematics, singular_values
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.constrained.proof import certify_constraints, is_kept, Leaving
from ik_node.motion.direct.point_to_point import plan_stop, require_free, StartState
from ik_node.motion.tool_path import tracing
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.tool_path.path import SAME_POSE, ToolPath
from ik_node.motion.tool_path.segments import (
    SEG_BEGIN,
    SEG_CURVATURE,
    SEG_CUT_AFTER,
    SEG_CUT_BEFORE,
    SEG_LENGTH,
    SEG_TANGENT,
)
from ik_node.motion.tool_path.timing import COORDINATE_SLACK_M, JointPath, timed_trajectory
from ik_node.motion.trajectory.interpolation import segments
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.motion.trajectory.validate import validate
from ik_node.solver.branches import EXACT_AXES
from ik_node.solver.descent.layout import (
    EXACT_POSE,
    LOWER_ROW,
    ORIENTATION_TOLERANCE,
    POSITION_TOLERANCE,
    TIP_AXES,
    UPPER_ROW,
)
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

MAX_CELL_M = 0.015         # of the path, between targets
MAX_CELL_ANGLE_RAD = 0.075  # on an arc
MIN_CELLS = 6              # of a line, or of half a blend
MAX_REFINEMENTS = 5        # each halves cells, joint steps and point periods
DEVIATION_SHARE = 0.5      # of the allowed deviation; it is measured at equal path coordinates
SHORTFALL_SHARE = 0.99     # of it, that the solutions of an arm of few joints may be off
BACK_OFF_M = 1e-3          # a partial path ends this far before the point of interruption
NEAR_SINGULAR_VALUE = 0.02  # smallest singular value
LIMIT_MARGIN = 2e-3        # rad or m between solutions and joint limits, for the spline
AT_LIMIT_TOLERANCE = 1e-4  # rad or m
MAX_NODES = MAX_CELLS = 200_000  # of a path; of a line so many cells are 3 km
LONG_PATH_M = 300.0


@dataclass(frozen=True, eq=False)
class PathPlan:
    """The motion along a path."""

    trajectory: Trajectory
    path: ToolPath
    """The path, from the pose of the tip at its start."""
    fraction: float
    """Share of the path's length that is followed, 0 to 1."""
    interruption: PathError | None
    """Why the motion ends early."""
    deviation: tuple[float, float]
    """Largest deviation of the tip, at and between points: m and rad."""


def plan_path(solver: Solver, start: StartState, path: ToolPath | Sequence[np.ndarray],
              limits: MotionLimits, options: PathOptions = PathOptions(),
              constraints: Sequence[PathConstraint] = ()) -> PathPlan:
    """
    Plan the motion of the tip along a path, from rest to rest.

    A moving arm is first brought to rest.

    Parameters
    ----------
    solver : Solver
        Its chain, weights and locked joints are used; the motion keeps the margin of its collision
        model, if it has one.
    start : StartState
        Where the arm is and how it moves.
    path : ToolPath or sequence of (4, 4) arrays
        Poses ``T_base_tip`` are connected by lines.  If the path does not begin at the pose of
        the tip, a line to its start is added.
    limits : MotionLimits
    constraints : sequence of PathConstraint
        What the motion keeps besides; the path is not changed for them.

    Returns
    -------
    PathPlan
        Its trajectory is valid by :func:`ik_node.motion.trajectory.validate.validate`.

    Raises
    ------
    PathError
        If the path is invalid, or the arm cannot follow it to its end: with the fraction
        that it can follow, and the reason (COLLISION with what and how near, CONSTRAINT with how
        far outside).
    ParameterError
        If a limit is not positive and finite.
    TrajectoryError
        If a moving arm cannot be stopped within its limits, or would collide before it rests.

    """
    limits.require_positive()
    names, q_start, ramp = solver.chain.joint_names, start.splice.q, None
    if len(start.times) or not start.splice.rests:
        ramp = plan_stop(names, start, limits, options.period)
        q_start = ramp.end
    tool_path = _from_tip(forward_kinematics(solver.chain, q_start), path, options)
    if options.free_axes:
        tool_path = _without_still_lines(tool_path, options)
    # A limit that the start exceeds already may not be exceeded further.
    margin = np.minimum(LIMIT_MARGIN, 0.25 * (limits.upper - limits.lower))
    inside = replace(limits, lower=np.minimum(limits.lower + margin, q_start),
                     upper=np.maximum(limits.upper - margin, q_start))
    planned, coordinates = _followed(solver, q_start, tool_path, inside, limits, options)
    blocked = _first_block(solver, constraints, planned.trajectory)
    if blocked is not None:
        k = min(int(np.searchsorted(planned.trajectory.times, blocked.time)), len(coordinates) - 1)
        s = float(coordinates[k].min())
        error = PathError(f'{_where(tool_path, s)}: there {blocked.words}', blocked.reason,
                          s / tool_path.length, planned.trajectory.q[max(k - 1, 0)])
        if not options.partial:
            raise error
        planned, _ = _followed(solver, q_start, tool_path, inside, limits, options, error)
        if _first_block(solver, constraints, planned.trajectory) is not None:
            raise error
    if ramp is not None:
        require_free(solver.collisions, ramp, ', before the arm rests at the start of the path')
        planned = replace(planned, trajectory=ramp.followed_by(planned.trajectory))
        if not is_kept(solver.chain, constraints, planned.trajectory):
            raise ConstraintError('the arm would leave the path constraint before it rests at the '
                                  'start of the path; wait until it rests')
    return planned


def _first_block(solver: Solver, constraints: Sequence[PathConstraint],
                 trajectory: Trajectory) -> Contact | Leaving | None:
    """Return where a trajectory first collides, or leaves a constraint; None if nowhere."""
    motion = segments(trajectory)
    found = [None if solver.collisions is None else certify(solver.collisions, *motion),
             certify_constraints(solver.chain, constraints, *motion)]
    return min((each for each in found if each is not None), key=lambda each: each.time,
               default=None)


def _followed(solver: Solver, q_start: np.ndarray, path: ToolPath, inside: MotionLimits,
              limits: MotionLimits, options: PathOptions,
              blocked: PathError | None = None) -> tuple[PathPlan, np.ndarray]:
    """
    Return the motion from rest along a path, to where it is blocked, and its path coordinates.

    Solutions keep to the limits `inside`, so that the curve through them keeps `limits`.
    """
    for refinement in range(MAX_REFINEMENTS):
        scale = 0.5**refinement
        nodes, q, interruption = _traced(solver, q_start, path, inside, options, scale, blocked)
        fraction = float(nodes[-1]) / path.length if interruption else 1.0
        stops = path.stops[1:-1]
        joint_path = JointPath(nodes, q, _tips(solver, path, nodes, q, options),
                               stops[stops < nodes[-1] - COORDINATE_SLACK_M])
        trajectory, coordinates_of = timed_trajectory(
            joint_path, limits, scale * options.period, solver.chain)
        coordinates, (_, lengths, c) = coordinates_of(), segments(trajectory)
        deviation = tracing.largest_deviation(solver.chain.table, path.table, _box(options), c,
                                              lengths, coordinates)
        # What the tip is off at the solutions cannot be more in between; the rest can.
        at_nodes = _off_path(solver, path, nodes, q, options) if _is_short(solver, options) \
            else (0.0, 0.0)
        if all(off - known <= DEVIATION_SHARE * (allowed - known) for off, known, allowed in zip(
                deviation, at_nodes, (options.position_deviation, options.orientation_deviation))):
            validate(trajectory, limits)
            return PathPlan(trajectory, path, fraction, interruption, deviation), coordinates
    raise PathError(f'the tip would leave the path by {length_text(deviation[0])} and '
                    f'{deviation[1]:.3g} rad; allow more, or lead the path farther from '
                    'singularities', Reason.PATH_INTERRUPTED)


def warm_up(solver: Solver) -> None:
    """Load or compile all kernels of :func:`plan_path`, so that the first path is not late."""
    chain = solver.chain
    ones = np.ones(chain.n)
    q = chain.middle
    there = np.clip(q + 1e-3, chain.lower, chain.upper)
    try:
        planned = plan_path(solver, StartState.from_state(MotionState.at_rest(q)),
                            [forward_kinematics(chain, there)],
                            MotionLimits(chain.lower, chain.upper, ones, ones, 10.0 * ones))
        planned.path.poses([0.0])
    except IkNodeError:
        pass  # an arm that cannot follow this line has loaded what it can


def _from_tip(T_base_tip: np.ndarray, path: ToolPath | Sequence[np.ndarray],
              options: PathOptions) -> ToolPath:
    """Return the path from the pose of the tip."""
    if not isinstance(path, ToolPath):
        return ToolPath.lines(path, options.blend_radius, start=T_base_tip)
    begin = path.poses([0.0])[0]
    if max(distance(T_base_tip, begin)) <= SAME_POSE:
        return path
    return ToolPath.joined([ToolPath.lines([T_base_tip, begin]), path], options.blend_radius)


def _without_still_lines(path: ToolPath, options: PathOptions) -> ToolPath:
    """Return a path without lines that only turn about free axes, on which no joint would move."""
    table = path.table
    away = table[:, SEG_LENGTH] * np.linalg.norm(table[:, SEG_TANGENT:SEG_TANGENT + 3], axis=1)
    still = (away < SAME_POSE) & (table[:, SEG_CURVATURE] == 0.0)
    for k in np.flatnonzero(still):
        begin, end = ToolPath.joined([ToolPath(table[k:k + 1])]).poses([0.0, table[k, SEG_LENGTH]])
        still[k] = max(Goal(begin, options.tolerance).error(end)) < SAME_POSE
    if not still.any():
        return path
    if still.all():
        raise PathError('the path goes nowhere: its poses differ only about the axes that it '
                        'leaves free', Reason.ALREADY_THERE)
    table = table[~still]
    table[1:, SEG_BEGIN] = np.cumsum(table[:-1, SEG_LENGTH])
    table[0, SEG_BEGIN] = table[0, SEG_CUT_BEFORE] = table[-1, SEG_CUT_AFTER] = 0.0
    stops = np.flatnonzero(np.diff(np.flatnonzero(~still)) > 1)  # where such a line was
    table[stops, SEG_CUT_AFTER] = table[stops + 1, SEG_CUT_BEFORE] = 0.0
    return ToolPath(table)


def _targets(path: ToolPath, scale: float) -> np.ndarray:
    """Return the path coordinates to solve at: ends, borders of blends, and cells between them."""
    table = path.table
    begin, end = table[:, SEG_BEGIN], table[:, SEG_BEGIN] + table[:, SEG_LENGTH]
    marks = np.unique(np.concatenate([
        begin, begin + table[:, SEG_CUT_BEFORE], end - table[:, SEG_CUT_AFTER], [path.length]]))
    marks = marks[np.append(True, np.diff(marks) > SAME_POSE * 1e-3)]
    marks[-1] = path.length
    lengths = np.diff(marks)
    k = np.clip(np.searchsorted(begin, 0.5 * (marks[1:] + marks[:-1])) - 1, 0, None)
    cells = np.maximum(MIN_CELLS, np.ceil(np.maximum(
        lengths / MAX_CELL_M, lengths * table[k, SEG_CURVATURE] / MAX_CELL_ANGLE_RAD))) / scale
    if not cells.sum() <= MAX_CELLS:
        units = 'are its lengths in millimetres? Else ' if path.length > LONG_PATH_M else ''
        raise PathError(f'the path is {length_text(path.length)} long, too long to be planned at '
                        f'once; {units}send it in parts')
    cells = cells.astype(int)
    inside = np.arange(cells.sum()) - np.repeat(np.cumsum(cells) - cells, cells)
    return np.append(np.repeat(marks[:-1], cells) + inside * np.repeat(lengths / cells, cells),
                     path.length)


def _traced(solver: Solver, q_start: np.ndarray, path: ToolPath, limits: MotionLimits,
            options: PathOptions, scale: float,
            blocked: PathError | None) -> tuple[np.ndarray, np.ndarray, PathError | None]:
    """Return nodes (N,) along the path, joint positions (N, n) there, and why they end early."""
    chain, tables = solver.chain, solver.tables
    joints, settings = tables.joints.copy(), tables.settings.copy()
    joints[LOWER_ROW], joints[UPPER_ROW] = limits.lower, limits.upper
    for k in tables.locked:
        joints[LOWER_ROW, k] = joints[UPPER_ROW, k] = q_start[k]
    settings[POSITION_TOLERANCE] = settings[ORIENTATION_TOLERANCE] = tracing.TRACE_TOLERANCE
    share = SHORTFALL_SHARE if _is_short(solver, options) else 0.0
    slack = share * options.position_deviation, share * options.orientation_deviation
    arm = tracing.TracedArm(solver.tables.table, joints, settings,
                            float(options.max_joint_step * scale), slack, _box(options),
                            chain.n > EXACT_AXES - len(options.free_axes))
    targets = _targets(path, scale)
    middles = 0.5 * (targets[1:] + targets[:-1])
    which = np.append(0, np.searchsorted(path.table[:, SEG_BEGIN], middles) - 1)
    room = 8 * len(targets) + 1000
    while True:
        nodes, q = np.empty(room), np.empty((room, chain.n))
        q[0] = q_start
        count, whole = tracing.trace(arm, path.table, targets, which, nodes, q)
        if whole or count < room or room > MAX_NODES:
            break
        room *= 8
    nodes, q = nodes[:count], q[:count]
    if whole and blocked is None:
        return nodes, q, None
    error = blocked or _interruption(solver, path, nodes[-1], q[-1], limits, arm, options)
    kept = nodes <= error.fraction * path.length - BACK_OFF_M
    if not options.partial or np.count_nonzero(kept) < 5:
        raise error
    return nodes[kept], q[kept], error


def _is_short(solver: Solver, options: PathOptions) -> bool:
    """Return whether too few joints move to meet every pose near one that is met."""
    return solver.chain.n - len(solver.tables.locked) < EXACT_AXES - len(options.free_axes)


def _box(options: PathOptions) -> np.ndarray:
    """Return the free axes as compiled code takes them, (7,)."""
    return np.array([*options.tolerance, TIP_AXES if options.free_axes else EXACT_POSE], float)


def _tips(solver: Solver, path: ToolPath, nodes: np.ndarray, q: np.ndarray,
          options: PathOptions) -> np.ndarray:
    """Return the poses of the tip at nodes, as :meth:`ToolPath.pose_rows`."""
    rows = path.pose_rows(nodes)
    if options.free_axes:
        rows[:, :9] = [forward_kinematics(solver.chain, each)[:3, :3].ravel() for each in q]
    return rows


def _off_path(solver: Solver, path: ToolPath, nodes: np.ndarray, q: np.ndarray,
              options: PathOptions) -> tuple[float, float]:
    """Return how far (m, rad) the tip is from the path at most, where it is solved."""
    still = np.zeros((6, *q.shape))  # of quintics
    still[0] = q
    return tracing.largest_deviation(
        solver.chain.table, path.table, _box(options), still, np.zeros(len(nodes)),
        np.ascontiguousarray(nodes[:, None]))


def _least_deviation(solver: Solver, path: ToolPath, s: float, q: np.ndarray,
                     arm: tracing.TracedArm, options: PathOptions) -> tuple[float, float]:
    """Return how near (m, rad) an arm of few joints comes to the path shortly after s."""
    ahead = np.array([s, min(s + BACK_OFF_M, path.length)])
    which = np.searchsorted(path.table[:, SEG_BEGIN], np.array([s, 0.5 * ahead.sum()])) - 1
    nodes, postures = np.empty(3), np.empty((3, len(q)))
    postures[0] = q
    count, _ = tracing.trace(arm._replace(slack=(np.inf, np.inf)), path.table, ahead,
                             np.maximum(which, 0), nodes, postures)
    return _off_path(solver, path, nodes[count - 1:count], postures[count - 1:count], options)


def _where(path: ToolPath, s: float) -> str:
    """Return in words how far a path can be followed."""
    p = ', '.join(f'{x:.4g}' for x in path.poses([s])[0][:3, 3])
    share = 100.0 * s / path.length
    return f'the path can be followed for {share:.1f} % of its length, to ({p}) m'


def _interruption(solver: Solver, path: ToolPath, s: float, q: np.ndarray, limits: MotionLimits,
                  arm: tracing.TracedArm, options: PathOptions) -> PathError:
    """Return why the arm cannot follow the path beyond s, where it is at q."""
    chain = solver.chain
    fraction, where = s / path.length, _where(path, s)
    ahead = path.poses([min(s + BACK_OFF_M, path.length)])[0]
    ahead = solver.solve(Goal(ahead, options.tolerance) if options.free_axes else ahead, q)
    margin = np.minimum(q - limits.lower, limits.upper - q)
    stuck = [quote(name) for name, distance_left in zip(chain.joint_names, margin)
             if distance_left < AT_LIMIT_TOLERANCE]
    if stuck:
        return PathError(f'{where}: there {", ".join(stuck)} is at its limit',
                         Reason.BEYOND_LIMIT, fraction, q)
    if _is_short(solver, options):
        off = _least_deviation(solver, path, s, q, arm, options)
        if off[0] > arm.slack[0] or off[1] > arm.slack[1]:
            return PathError(
                f'{where}: from there on the joints that move, fewer than the path needs, cannot '
                f'keep the tip on it, unless path.free_axes frees it: it would be '
                f'{length_text(off[0])} and {off[1]:.3g} rad off {1e3 * BACK_OFF_M:g} mm later, '
                f'where {length_text(arm.slack[0])} and {arm.slack[1]:.3g} rad are allowed',
                Reason.PATH_INTERRUPTED, fraction, q)
    if not ahead.success:
        return PathError(f'{where}: {ahead.message}', ahead.status, fraction, q)
    least = singular_values(chain, q)[-1]
    why = f'the arm is singular there (smallest singular value {least:.2g})' \
        if least < NEAR_SINGULAR_VALUE else 'its branch ends there'
    return PathError(f'{where}: {why}, and it could only continue in another configuration',
                     Reason.PATH_INTERRUPTED, fraction, q)
