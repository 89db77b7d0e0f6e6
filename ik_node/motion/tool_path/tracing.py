# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled inverse kinematics along a tool path, and the deviation of a motion from it.

Each pose is solved from the previous solution, by the damped steps of the solver and without
restarts, so that the arm stays on its branch; a step on which a joint would move too far is
halved.  With more joints than a pose needs, each step is the smallest motion that serves,
weighted so that joints stay away from their limits (after Chan and Dubey 1995).  With fewer
joints than a pose needs, each pose is met as nearly as the arm can: a description with rounded
angles has no posture that meets the poses of a line exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import (
    compiled,
    copy,
    inner,
    joint_frames,
    pose_error,
)
from ik_node.motion.tool_path.segments import path_pose, path_poses, SEG_BEGIN
from ik_node.motion.trajectory import quintic
from ik_node.solver.descent.damped import descend, farthest, LATE_STOP
from ik_node.solver.descent.layout import (
    Attempt,
    GOAL_SIZE,
    HALF_WIDTHS,
    joint_rows,
    JointRows,
    SCALE_ROW,
    Work,
    workspace,
)
from ik_node.solver.descent.residual import residual

TRACE_TOLERANCE = 1e-9       # m and rad
MIN_STEP_M = 1e-7            # of the path; a jump within it leads to another branch
LIMIT_ZONE_SHARE = 0.1       # of a joint's range, near a limit, in which its weight falls
MIN_JOINT_WEIGHT = 0.1       # at the limit
MAX_TRACE_ITERATIONS = 30.0
BRIDGE_GAPS_M = 1e-4, 3e-4, 1e-3  # distances before and after a singularity that are bridged
MAX_BRIDGE_DEVIATION = 2e-5  # m and rad of the tip from the path, on a bridge
BRIDGE_SAMPLES = 8

position_at = inner(quintic.position)


class TracedArm(NamedTuple):
    """The arm, and how it follows the path."""

    table: np.ndarray  # (m + 1, 16), :attr:`ik_node.model.chain.Chain.table`
    # joints, settings: as in :func:`ik_node.solver.descent.entry.solve_rows`; the tolerances must
    # be TRACE_TOLERANCE
    joints: np.ndarray
    settings: np.ndarray
    max_step: float  # largest motion of a joint from one node to the next, rad or m
    # How far (m, rad) the tip may be from a pose where no posture nearby is nearer.
    slack: tuple[float, float]
    # (7,), which axes of the poses are free, as in a goal of the solver from HALF_WIDTHS on
    box: np.ndarray
    redundant: bool  # whether more joints move than the poses need


class TraceWork(NamedTuple):
    """What :func:`trace` works in."""

    goal: np.ndarray        # (GOAL_SIZE,)
    poses: np.ndarray       # (3, 12)
    joints: JointRows       # a copy: its scale is written
    base_scale: np.ndarray  # (n,), the scale that it had
    solver: Work


@inner
def write_weights(joints, base_scale, q):
    """Write the roots of the joints' weights into ``joints.scale``: small near the limits."""
    for k in range(q.shape[0]):
        lower, upper = joints.lower[k], joints.upper[k]
        x = min(q[k] - lower, upper - q[k]) / (LIMIT_ZONE_SHARE * (upper - lower)) \
            if upper - lower < np.inf else 1.0
        x = min(max(x, 0.0), 1.0)
        joints.scale[k] = base_scale[k] * (
            MIN_JOINT_WEIGHT + (1.0 - MIN_JOINT_WEIGHT) * x * x * (3.0 - 2.0 * x))


@inner
def write_goal(path, segment, s, box, poses, goal):
    """Write the goal that the path is at s on a segment; `poses` (3, 12) is worked in."""
    path_pose(path, segment, s, poses[0], poses[1], poses[2])
    for i in range(12):
        goal[i] = poses[0, i]
    for i in range(7):
        goal[HALF_WIDTHS + i] = box[i]


@inner
def solve_at(arm, path, segment, s, q, work):
    """Move `q` by short steps to the pose at s on a segment; return whether it is near enough."""
    goal = work.goal
    write_goal(path, segment, s, arm.box, work.poses, goal)
    if arm.redundant:
        write_weights(work.joints, work.base_scale, q)
    attempt = Attempt(LATE_STOP, arm.max_step, MAX_TRACE_ITERATIONS, False)
    ended = descend(arm.table, work.joints, arm.settings, goal, attempt, q, work.solver)
    return ended.solved or (ended.position_error <= arm.slack[0]
                            and ended.orientation_error <= arm.slack[1])


@compiled
def trace(arm, path, targets, segments, nodes, q):
    """
    Solve along the path, at least at the targets.

    Parameters
    ----------
    arm : TracedArm
    path : (k, SEGMENT_COLUMNS) array
    targets : (N,) array
        Increasing path coordinates; the first is that of the start.
    segments : (N,) int array
        On which segment of the path each target ends.
    nodes : (M,) array, written
        Path coordinates, the targets among them.
    q : (M, n) array, written
        Joint positions there; row 0 is given.

    Returns
    -------
    (int, bool)
        The number of nodes, and whether they go to the last target; if not, and there is
        room for more, the arm cannot continue.

    """
    n, max_step = q.shape[1], arm.max_step
    work = TraceWork(np.zeros(GOAL_SIZE), np.empty((3, 12)), joint_rows(arm.joints.copy()),
                     arm.joints[SCALE_ROW], workspace(n, arm.table.shape[0] - 1))
    nodes[0] = s = targets[0]
    count = 1
    for target in range(1, targets.shape[0]):
        end, segment = targets[target], segments[target]
        step = end - s
        while s < end:
            if count == nodes.shape[0]:
                return count, False
            # No rest shorter than the smallest step is left over.
            there = s + step if s + step < end - MIN_STEP_M else end
            copy(q[count - 1], q[count])
            if (solve_at(arm, path, segment, there, q[count], work)
                    and farthest(q[count - 1], q[count]) <= max_step):
                step *= 2.0
            else:
                step = 0.5 * (there - s)
                if step >= MIN_STEP_M:
                    continue
                count, there = bridge(arm, path, segment, (s, end), nodes[:count], q, work)
                if there == s:
                    return count, False
                step = end - there
            nodes[count] = s = there
            count += 1
    return count, True


@inner
def bridge(arm, path, segment, interval, nodes, q, work):
    """
    Cross a singularity, where no small step is solved, by a straight line in joint space.

    From a node shortly before s to a coordinate as far after it, if the tip stays within
    MAX_BRIDGE_DEVIATION of the path in between, and the slack of the arm.

    Parameters
    ----------
    interval : (float, float)
        s, and how far the bridge may go.
    nodes : (count,) array
        The nodes until s.

    Returns
    -------
    (int, float)
        How many nodes are kept, after which q has the one behind the singularity, and its
        coordinate; s if there is no bridge.

    """
    poses, joints = work.poses, work.joints
    frames, e, D = work.solver.frames, work.solver.e, work.solver.D
    s, end = interval
    count = nodes.shape[0]
    for gap in BRIDGE_GAPS_M:
        last = count - 1
        while last > 0 and nodes[last] > s - gap:
            last -= 1
        there = min(s + gap, end)
        if last < 1 or nodes[last] < path[segment, SEG_BEGIN] or there - s < 0.5 * gap:
            continue
        ahead = (there - nodes[last]) / (nodes[last] - nodes[last - 1])
        before, after = q[last], q[last + 1]
        for k in range(before.shape[0]):
            after[k] = min(max(before[k] + ahead * (before[k] - q[last - 1, k]),
                               joints.lower[k]), joints.upper[k])
        good = solve_at(arm, path, segment, there, after, work) \
            and farthest(before, after) <= arm.max_step
        between = q[last + 2] if last + 2 < q.shape[0] else after
        for i in range(1, BRIDGE_SAMPLES):
            share = i / BRIDGE_SAMPLES
            at = nodes[last] + share * (there - nodes[last])
            good = good and last + 2 < q.shape[0]
            if good:
                for k in range(before.shape[0]):
                    between[k] = before[k] + share * (after[k] - before[k])
                joint_frames(arm.table, between, frames)
                write_goal(path, segment, at, arm.box, poses, work.goal)
                position, angle = residual(work.goal, frames[-1], 1.0, e, D)
                good = (position <= MAX_BRIDGE_DEVIATION + arm.slack[0]
                        and angle <= MAX_BRIDGE_DEVIATION + arm.slack[1])
        if good:
            return last + 1, there
    return count, s


@compiled
def tip_channels(poses, y, n):
    """
    Write the motion of the tip through poses (N, 12) into channels n to n + 5 of y (N, n + 6).

    Its position (m), and the sum of the rotation vectors from node to node (rad), whose
    slope is its angular velocity by s.
    """
    e = np.empty(6)
    y[0, n + 3:] = 0.0
    for i in range(poses.shape[0]):
        for k in range(3):
            y[i, n + k] = poses[i, 9 + k]
        if i > 0:
            pose_error(poses[i], poses[i - 1], e)
            for k in range(3, 6):
                y[i, n + k] = y[i - 1, n + k] + e[k]


@compiled
def largest_deviation(table, path, box, c, lengths, coordinates):
    """
    Compare the tip with the path, as the controller interpolates between points.

    Parameters
    ----------
    box : (7,) array
        As in :class:`TracedArm`.
    c : (6, k, n) array
        Quintics of :func:`ik_node.motion.trajectory.interpolation.segments`.
    lengths : (k,) array
        Their durations (s).
    coordinates : (k, m) array
        Path coordinates where the tip should be, evenly in time from the start of each.

    Returns
    -------
    (float, float)
        Largest distance, m and rad.

    """
    frames, e, q = np.empty((table.shape[0], 12)), np.empty(6), np.empty(c.shape[2])
    ideal, goal, D = np.empty((coordinates.shape[1], 12)), np.zeros(GOAL_SIZE), np.empty((6, 3))
    for k in range(7):
        goal[HALF_WIDTHS + k] = box[k]
    worst_position = worst_angle = 0.0
    for i in range(coordinates.shape[0]):
        path_poses(path, coordinates[i], ideal)
        for m in range(coordinates.shape[1]):
            t = lengths[i] * m / coordinates.shape[1]
            for j in range(q.shape[0]):
                q[j] = position_at((c[0, i, j], c[1, i, j], c[2, i, j], c[3, i, j], c[4, i, j],
                                    c[5, i, j]), t)
            joint_frames(table, q, frames)
            for k in range(12):
                goal[k] = ideal[m, k]
            position, angle = residual(goal, frames[-1], 1.0, e, D)
            worst_position, worst_angle = max(worst_position, position), max(worst_angle, angle)
    return worst_position, worst_angle
