# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled inverse kinematics along a tool path, and how far a motion is off it.

Each pose is solved from the answer to the one before it, by the damped steps of
the solver and without restarts, so that the arm stays on its branch; a step on
which a joint would move too far is halved.  With more joints than
a pose needs, each step is the least motion that serves, weighted so that a joint
gives way before it comes to a limit (after Chan and Dubey 1995).
"""

from __future__ import annotations

import numpy as np

from ik_node.kinematics.kernels import (
    compiled,
    copy,
    inner,
    joint_frames,
    pose_error,
)
from ik_node.motion.tool_path.segments import BEGIN, path_pose, path_poses
from ik_node.solver.compiled.damped import descend, farthest, LATE_STOP
from ik_node.solver.compiled.layout import (
    Attempt,
    GOAL_SIZE,
    joint_rows,
    SCALE_ROW,
    workspace,
)

EXACT = 1e-9         # m and rad, how near to the path an answer must be
SMALLEST_STEP = 1e-7 # m of the path; what still moves a joint too far there is another branch
SOFT = 0.1           # share of a joint's range within which it gives way to the others
SOFTEST = 0.1        # its weight at the limit
ITERATIONS = 30
BRIDGES = 1e-4, 3e-4, 1e-3  # m: so far before and behind a singularity it may be bridged,
BRIDGE_OFF = 2e-5    # m and rad: if the tip stays so near to the path
BRIDGE_LOOKS = 8


@inner
def give_way(joints, base_scale, q):
    """Write the roots of the joints' weights into ``joints.scale``: small near the limits."""
    for k in range(q.shape[0]):
        lower, upper = joints.lower[k], joints.upper[k]
        x = min(q[k] - lower, upper - q[k]) / (SOFT * (upper - lower)) \
            if upper - lower < np.inf else 1.0
        x = min(max(x, 0.0), 1.0)
        joints.scale[k] = base_scale[k] * (SOFTEST + (1.0 - SOFTEST) * x * x * (3.0 - 2.0 * x))


@inner
def solve_at(table, path, joints, settings, s, segment, longest, goal, base_scale, q, poses,
             work):
    """Move `q` from its place to the pose at s by short steps; say whether that was done."""
    path_pose(path, segment, s, poses[0], poses[1], poses[2])
    for i in range(12):
        goal[i] = poses[0, i]
    if q.shape[0] > 6:
        give_way(joints, base_scale, q)
    attempt = Attempt(LATE_STOP, longest, ITERATIONS, False)
    return descend(table, joints, settings, goal, attempt, q, work).solved


@compiled
def trace(table, joints, settings, path, targets, segments, longest, nodes, q):
    """
    Solve along the path, at least at the targets.

    Parameters
    ----------
    table, joints, settings : arrays
        As in :func:`ik_node.solver.compiled.entry.solve_rows`; the tolerances must be EXACT.
    path : (k, COLUMNS) array
    targets : (N,) array
        Increasing path coordinates, the first of which is that of the start.
    segments : (N,) int array
        On which segment of the path each target ends.
    longest : float
        Largest motion of a joint from one node to the next, rad or m.
    nodes : (M,) array, written
        Path coordinates, the targets among them.
    q : (M, n) array, written
        Joint positions there; row 0 is given.

    Returns
    -------
    (int, bool)
        How many nodes there are, and whether they go to the last target; if not,
        and there is room, the arm cannot go on.

    """
    n = q.shape[1]
    work = workspace(n, table.shape[0] - 1)
    goal, poses = np.zeros(GOAL_SIZE), np.empty((3, 12))
    rows, base_scale = joint_rows(joints.copy()), joints[SCALE_ROW]
    nodes[0] = s = targets[0]
    count = 1
    for target in range(1, targets.shape[0]):
        end, segment = targets[target], segments[target]
        step = end - s
        while s < end:
            if count == nodes.shape[0]:
                return count, False
            # No step is left over that is shorter than the smallest.
            there = s + step if s + step < end - SMALLEST_STEP else end
            copy(q[count - 1], q[count])
            if (solve_at(table, path, rows, settings, there, segment, longest, goal,
                         base_scale, q[count], poses, work)
                    and farthest(q[count - 1], q[count]) <= longest):
                step *= 2.0
            else:
                step = 0.5 * (there - s)
                if step >= SMALLEST_STEP:
                    continue
                count, there = bridge(table, path, rows, settings, s, end, segment, longest,
                                      goal, base_scale, nodes, q, count, poses, work)
                if there == s:
                    return count, False
                step = end - there
            nodes[count] = s = there
            count += 1
    return count, True


@inner
def bridge(table, path, joints, settings, s, end, segment, longest, goal, base_scale, nodes, q,
           count, poses, work):
    """
    Go through a singularity, at which no small step is solved, straight on in the joints.

    From a node some way before s to as far behind it, if in between the tip stays
    within BRIDGE_OFF of the path.

    Returns
    -------
    (int, float)
        How many nodes are kept, after which q has the one behind the singularity,
        and where that is; s if there is no way.

    """
    frames, e = work.frames, work.e
    for gap in BRIDGES:
        last = count - 1
        while last > 0 and nodes[last] > s - gap:
            last -= 1
        there = min(s + gap, end)
        if last < 1 or nodes[last] < path[segment, BEGIN] or there - s < 0.5 * gap:
            continue
        ahead = (there - nodes[last]) / (nodes[last] - nodes[last - 1])
        before, after = q[last], q[last + 1]
        for k in range(before.shape[0]):
            after[k] = min(max(before[k] + ahead * (before[k] - q[last - 1, k]),
                               joints.lower[k]), joints.upper[k])
        good = solve_at(table, path, joints, settings, there, segment, longest, goal,
                        base_scale, after, poses, work) and farthest(before, after) <= longest
        between = q[last + 2] if last + 2 < q.shape[0] else after
        for i in range(1, BRIDGE_LOOKS):
            share = i / BRIDGE_LOOKS
            at = nodes[last] + share * (there - nodes[last])
            good = good and last + 2 < q.shape[0]
            if good:
                for k in range(before.shape[0]):
                    between[k] = before[k] + share * (after[k] - before[k])
                joint_frames(table, between, frames)
                path_pose(path, segment, at, poses[0], poses[1], poses[2])
                position, angle = pose_error(poses[0], frames[-1], e)
                good = max(position, angle) <= BRIDGE_OFF
        if good:
            return last + 1, there
    return count, s


@compiled
def tip_channels(path, s, y, n):
    """
    Write how far the tip has gone, into channels n to n + 5 of y (N, n + 6).

    Its position (m), and the rotation vectors from node to node added up (rad),
    whose slope is its angular velocity by s.
    """
    poses, e = np.empty((s.shape[0], 12)), np.empty(6)
    path_poses(path, s, poses)
    y[0, n + 3:] = 0.0
    for i in range(s.shape[0]):
        for k in range(3):
            y[i, n + k] = poses[i, 9 + k]
        if i > 0:
            pose_error(poses[i], poses[i - 1], e)
            for k in range(3, 6):
                y[i, n + k] = y[i - 1, n + k] + e[k]


@compiled
def deviation(table, path, c, lengths, places, off):
    """
    Compare the tip, as the controller interpolates between points, with the path.

    Parameters
    ----------
    c : (6, k, n) array
        Quintics of :func:`ik_node.motion.interpolation.segments`, and
    lengths : (k,) array
        how long they last (s).
    places : (k, m) array
        Path coordinates where the tip should be, evenly from the begin of each on.
    off : (2,) array, written
        Largest distance, m and rad.

    """
    frames, e, q = np.empty((table.shape[0], 12)), np.empty(6), np.empty(c.shape[2])
    ideal = np.empty((places.shape[1], 12))
    off[:] = 0.0
    for i in range(places.shape[0]):
        path_poses(path, places[i], ideal)
        for m in range(places.shape[1]):
            t = lengths[i] * m / places.shape[1]
            for j in range(q.shape[0]):
                q[j] = c[0, i, j] + t * (c[1, i, j] + t * (c[2, i, j] + t * (
                    c[3, i, j] + t * (c[4, i, j] + t * c[5, i, j]))))
            joint_frames(table, q, frames)
            position, angle = pose_error(ideal[m], frames[-1], e)
            off[0], off[1] = max(off[0], position), max(off[1], angle)
