# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled check of postures: the distances of all pairs of parts that may meet.

Parts that are far apart are dismissed by the balls around their groups and around themselves; for
the others the exact distance is computed until it is known whether it is above the limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain as chain_of
from math import sqrt
from typing import NamedTuple

import numpy as np

from ik_node.collision.bodies.shapes import (
    BOX_KIND,
    CYLINDER_KIND,
    HULL_KIND,
    PLANE_KIND,
    Shapes,
)
from ik_node.collision.distances.distance import (
    gjk_work,
    GjkWork,
    nearest_points,
    overlap_distance,
    part_distance,
)
from ik_node.kinematics.kernels import compiled, inner, joint_frames, small
from ik_node.kinematics.tree.kinematic_tree import MovingFrames
from ik_node.kinematics.tree.tree_kernels import tree_frames
from ik_node.model.chain import is_aligned
from ik_node.model.joint_space import JointSpace

# Of what joints beside the arm carry.
PLANE_REACH_M = 3.0  # that a plane on such a link has
SAME_AXIS = 1e-6     # m, and of the sine between them, to which two axes are one
REST_ROOM = 5e-4     # rad or m, of a joint at rest: its sensor is not exact


class Pairs(NamedTuple):
    """
    Collision pairs and their geometry, as arrays for the kernels.

    Parts that move together and belong to the links, and the parts of an object, are a group;
    pairs of parts of two groups are a block.
    """

    table: np.ndarray  # (m, 16), that of the chain or tree; moving frame k is that of row k - 1
    # (m,) int, row that carries each row, -1 = the base; empty if it is always the row before
    parents: np.ndarray
    shapes: Shapes            # first the parts of the links, then of the objects
    pairs: np.ndarray         # (K, 2) int, parts that may meet, block by block
    blocks: np.ndarray        # (B, 4) int, the two groups, first pair, and the pair after the last
    group_frames: np.ndarray  # (G,) int, index of the moving frame of each group, 0 = base
    # (G,) int, the part of a group that has only one, if it is no hull; else -1
    group_parts: np.ndarray
    # (G, 4), centre in the moving frame, and radius, of a ball that contains the group; infinite
    # if it has a plane
    group_balls: np.ndarray
    # (m, G), how far (m per rad, or m per m) each group moves at most with each row of the table
    group_reaches: np.ndarray


class CheckWork(NamedTuple):
    """Workspace of a check."""

    # (m + 1, 12), poses of the moving frames in the base, the first for the base itself
    frames: np.ndarray
    poses: np.ndarray  # (p, 12), poses of the parts in the base
    # (p + 1,) int, number of the posture for which each pose was computed, and the number of the
    # present one
    placed: np.ndarray
    centres: np.ndarray        # (p, 3), of the balls around the parts, in the base
    group_centres: np.ndarray  # (G, 3), of the balls around the groups, in the base
    directions: np.ndarray     # (K, 3), where the last search of each pair ended
    # (m + 1, 6), how far each moving frame turns (rad), and its point at the origin of the base
    # moves (m), in half of an interval that is looked at, in the base
    twists: np.ndarray
    # (G, 3), how far (m) each group moves at most from the base in that time, how far at most from
    # where its twist would bring it, and the number of the posture for which this was computed
    sweeps: np.ndarray
    gjk: GjkWork


def paired(moving: MovingFrames, shapes: Shapes, groups: Sequence[int],
           pairs: Iterable[tuple[int, int]]) -> Pairs:
    """
    Return the pairs to be checked.

    Parameters
    ----------
    groups : sequence of int
        Number of the group of each part, from 0 without gaps; its parts have one moving frame.
    pairs : iterable of (int, int)
        Parts that may meet.

    """
    table = np.fromiter(chain_of.from_iterable(pairs), np.int64).reshape(-1, 2)
    sides = np.array(groups, dtype=np.int64)[table]
    turned = sides[:, 0] > sides[:, 1]
    table[turned], sides[turned] = table[turned, ::-1], sides[turned, ::-1]
    # Block by block, in the order in which each is named first.
    # One number for both groups: sorting rows would hold all other threads of Python.
    keys = sides[:, 0] * (max(groups, default=0) + 1) + sides[:, 1]
    _, firsts, block = np.unique(keys, return_index=True, return_inverse=True)
    ranks = np.argsort(np.argsort(firsts))[block]
    order, ends = np.argsort(ranks, kind='stable'), np.cumsum(np.bincount(ranks))
    rows = np.column_stack([sides[np.sort(firsts)], np.append(0, ends[:-1])[:len(firsts)], ends])
    frames, balls = shapes.ints[:, 1], shapes.balls
    members = np.split(np.argsort(groups, kind='stable'),
                       np.cumsum(np.bincount(groups))[:-1]) if len(groups) else []
    group_frames = np.array([frames[parts[0]] for parts in members], dtype=np.int64)
    group_balls = np.array([_ball_round(balls[parts]) for parts in members]).reshape(-1, 4)
    return Pairs(
        moving.table, _branching_parents(moving), shapes,
        table[order], np.ascontiguousarray(rows), group_frames,
        np.array([parts[0] if len(parts) == 1 and shapes.ints[parts[0], 0] != HULL_KIND else -1
                  for parts in members], dtype=np.int64),
        group_balls, reaches(moving, group_frames, group_balls))


def _branching_parents(moving: MovingFrames) -> np.ndarray:
    """Return the parents of the rows; empty for a serial chain of aligned frames, for speed."""
    serial = np.array_equal(moving.parents, np.arange(-1, len(moving.parents) - 1)) \
        and is_aligned(moving.table)
    return moving.parents[:0 if serial else None]


def reaches(moving: MovingFrames, frames: np.ndarray, balls: np.ndarray) -> np.ndarray:
    """
    Return how far balls (k, 4) in moving frames (k,) move with each row of the table, (m, k).

    By a revolute joint: the farthest that a point of the ball can be from its axis, wherever the
    joints after it are.  What a joint sweeps with a ball is inside a larger ball.
    """
    table, parents = moving.table, moving.parents
    centres, radii, at = balls[:, :3].copy(), balls[:, 3].copy(), frames.copy()
    found = np.zeros((len(table), len(frames)))
    for k in reversed(range(len(table))):  # a row comes after the one that carries it
        row, carried = table[k], at == k + 1
        x, y, z = centres[carried].T
        if row[12] == 0.0:
            radii[carried] += np.hypot(x, y)
            found[k, carried] = abs(row[14]) * radii[carried]
            x, y = 0.0 * x, 0.0 * y
        else:
            z = z + row[15]
            if row[14] != 0.0:
                lower, upper = moving.lower[int(row[13])], moving.upper[int(row[13])]
                found[k, carried] = abs(row[14])
                radii[carried] += 0.5 * abs(row[14]) * (upper - lower)
                z = z + (0.5 * row[14] * (lower + upper) if upper - lower < np.inf else 0.0)
        centres[carried] = np.column_stack([x, y, z]) @ row[:9].reshape(3, 3).T + row[9:12]
        at[carried] = parents[k] + 1
    return found


def pairs_from(check: Pairs, chain: JointSpace, Q: np.ndarray) -> Pairs:
    """
    Return the pairs with reaches that hold for motions between postures Q (K, n) and the limits.

    A prismatic joint that is outside its limits brings groups farther from the joints before it.
    """
    outside = np.maximum(0.0, np.maximum(chain.lower - Q, Q - chain.upper).max(axis=0))
    slides = (check.table[:, 12] != 0.0) & (check.table[:, 14] != 0.0)
    farther = (np.abs(check.table[:, 14]) * outside[check.table[:, 13].astype(int)])[slides].sum()
    if farther == 0.0:
        return check
    turned = (check.group_reaches > 0.0) & (check.table[:, 12:13] == 0.0)
    return check._replace(group_reaches=check.group_reaches
                          + turned * np.abs(check.table[:, 14:15]) * farther)


def _ball_round(balls: np.ndarray) -> np.ndarray:
    """Return a ball (4,) that contains balls (k, 4)."""
    if len(balls) == 1:
        return balls[0]
    if not np.isfinite(balls[:, 3]).all():
        return np.append(balls[0, :3], np.inf)
    centre = 0.5 * ((balls[:, :3] - balls[:, 3:]).min(axis=0)
                    + (balls[:, :3] + balls[:, 3:]).max(axis=0))
    radius = (np.linalg.norm(balls[:, :3] - centre, axis=1) + balls[:, 3]).max()
    return np.append(centre, radius)


def check_work(pairs: Pairs) -> CheckWork:
    """Return a workspace, in which the parts that never move are placed."""
    shapes = pairs.shapes
    parts = len(shapes.ints)
    frames = np.zeros((len(pairs.table) + 1, 12))
    frames[0, [0, 4, 8]] = 1.0
    placed = np.zeros(parts + 1, dtype=np.int64)
    return CheckWork(frames, shapes.poses.copy(), placed, shapes.balls[:, :3].copy(),
                     pairs.group_balls[:, :3].copy(), np.zeros((len(pairs.pairs), 3)),
                     np.zeros((len(pairs.table) + 1, 6)), np.zeros((len(pairs.group_frames), 3)),
                     gjk_work())


@compiled
def check_postures(check, Q, margins, free, enough, distances, work):
    """
    Write the distances of all pairs, or whether each pair keeps its distance.

    Both are one kernel, as each would compile all that it calls.

    Parameters
    ----------
    check : Pairs
    Q : (N, n) array
    margins : (K,) array
        The distance (m) that each pair must keep.
    free : (N,) bool array, written
        Whether all pairs do; not of the first M postures.  May be empty if M = N.
    enough : float
        Distances above this may be lower bounds (m).
    distances : (M, K) array, written
        Distances (m) of all pairs in the first M postures, as :func:`signed_distance`.
    work : CheckWork

    """
    margin = 0.0
    for k in range(margins.shape[0]):
        margin = max(margin, margins[k])
    for row in range(Q.shape[0]):
        place_parts(check, Q[row], work)
        if row >= distances.shape[0]:
            free[row] = keeps(check, margin, margins, work)
            continue
        for k in range(check.pairs.shape[0]):
            distances[row, k] = signed_distance(check, k, enough, -np.inf, work)


@inner
def keeps(check, margin, margins, work):
    """Return whether all pairs keep their distances, `margin` at most, as placed."""
    for block in range(check.blocks.shape[0]):
        if block_distance(check, block, margin, work) > margin:
            continue
        for k in range(check.blocks[block, 2], check.blocks[block, 3]):
            if pair_distance(check, k, margins[k], margins[k], work) <= margins[k]:
                return False
    return True


@compiled
def nearest_pair(check, q, first, last, points, work):
    """
    Find the pair that is nearest at q (n,), and write its nearest points (2, 3) in the base, m.

    Parameters
    ----------
    first, last : int
        The first block in which it is looked for, and the one after the last; there is one.

    Returns
    -------
    (int, float, bool)
        The pair; its distance, m; whether there are points.

    """
    place_parts(check, q, work)
    # The two whose balls are nearest: the distance of most others need not be computed.
    found, least = check.blocks[first, 2], np.inf
    for k in range(check.blocks[first, 2], check.blocks[last - 1, 3]):
        a, b = check.pairs[k, 0], check.pairs[k, 1]
        apart = (centre_distance(work.centres[a], work.centres[b]) - check.shapes.balls[a, 3]
                 - check.shapes.balls[b, 3])
        if -np.inf < apart < least:
            found, least = k, apart
    least = pair_distance(check, found, np.inf, -np.inf, work)
    for block in range(first, last):
        if block_distance(check, block, least, work) >= least:
            continue
        for k in range(check.blocks[block, 2], check.blocks[block, 3]):
            apart = pair_distance(check, k, least, -np.inf, work)
            if apart < least:
                found, least = k, apart
    least = pair_distance(check, found, np.inf, -np.inf, work)
    a, b = check.pairs[found, 0], check.pairs[found, 1]
    there = nearest_points(check.shapes, a, b, least, work.gjk, points)
    A = work.poses[a]
    for row in range(2):
        x, y, z = points[row, 0], points[row, 1], points[row, 2]
        for i in range(3):
            points[row, i] = A[3 * i] * x + A[3 * i + 1] * y + A[3 * i + 2] * z + A[9 + i]
    return found, least, there


@inner
def place_parts(check, q, work):
    """Write the moving frames at q (n,), and the centres of the balls in them."""
    shapes = check.shapes
    place_frames(check, q, work)
    for part in range(shapes.ints.shape[0]):
        if shapes.ints[part, 1] > 0:
            place_centre(work.frames[shapes.ints[part, 1]], shapes.balls[part],
                         work.centres[part])
    for group in range(check.group_frames.shape[0]):
        if check.group_frames[group] > 0:
            place_centre(work.frames[check.group_frames[group]], check.group_balls[group],
                         work.group_centres[group])


@inner
def place_frames(check, q, work):
    """Write the moving frames at q (n,); the parts in them are not placed yet."""
    if check.parents.shape[0] == 0:
        joint_frames(check.table, q, work.frames[1:])
    else:
        tree_frames(check.table, check.parents, q, work.frames[1:])
    work.placed[-1] += 1


@small
def place_centre(F, ball, centre):
    """Write the centre of a ball in a frame, in the base."""
    x, y, z = ball[0], ball[1], ball[2]
    for i in range(3):
        centre[i] = F[3 * i] * x + F[3 * i + 1] * y + F[3 * i + 2] * z + F[9 + i]


@small
def place_part(shapes, part, work):
    """Write the pose of a part in the base, once for each posture."""
    if shapes.ints[part, 1] > 0 and work.placed[part] != work.placed[-1]:
        work.placed[part] = work.placed[-1]
        compose(work.frames[shapes.ints[part, 1]], shapes.poses[part], work.poses[part])


@inner
def compose(F, T, P):
    """Write the product of two poses, (12,)."""
    for i in range(3):
        a, b, c = F[3 * i], F[3 * i + 1], F[3 * i + 2]
        for j in range(3):
            P[3 * i + j] = a * T[j] + b * T[3 + j] + c * T[6 + j]
        P[9 + i] = a * T[9] + b * T[10] + c * T[11] + F[9 + i]


@small
def block_distance(check, block, enough, work):
    """
    Return a lower bound of the distance (m) of two groups, after :func:`place_parts`.

    As :func:`bound_of_pair`.
    """
    a, b = check.blocks[block, 0], check.blocks[block, 1]
    first, second = check.group_balls[a, 3], check.group_balls[b, 3]
    apart = centre_distance(work.group_centres[a], work.group_centres[b]) - first - second
    if apart > enough or check.group_parts[b] < 0:
        return apart
    return max(apart, point_distance(check.shapes, check.group_parts[b], work.group_centres[a],
                                     work) - first)


@small
def centre_distance(a, b):
    """Return the distance of two points."""
    return sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@small
def pair_distance(check, k, enough, contact, work):
    """
    Return a lower bound of the distance (m) of pair k, after :func:`place_parts`.

    It is the distance unless it is above `enough`; at most `contact` is one value that is.
    """
    apart = bound_of_pair(check.shapes, check.pairs[k, 0], check.pairs[k, 1], enough, work)
    if apart > enough:
        return apart
    return searched_distance(check, k, enough, contact, work)


@small
def signed_distance(check, k, enough, contact, work):
    """
    As :func:`pair_distance`; of parts that overlap, minus how far they must be shifted apart.

    The shift is the least along any direction near the one that was kept of the pair before.
    """
    shapes, a, b, kept = check.shapes, check.pairs[k, 0], check.pairs[k, 1], work.directions[k]
    x, y, z = kept[0], kept[1], kept[2]
    # The bounds that it looks at first are of no use below 0.
    apart = pair_distance(check, k, max(enough, 0.0), contact, work)
    if apart > -shapes.sizes[a, 3] - shapes.sizes[b, 3] \
            or shapes.ints[a, 0] == PLANE_KIND or shapes.ints[b, 0] == PLANE_KIND:
        return apart
    kept[0], kept[1], kept[2] = x, y, z
    return shift_distance(check, k, enough, work)


@inner
def shift_distance(check, k, enough, work):
    """Return :func:`signed_distance` of a pair whose cores overlap."""
    shapes, a, b = check.shapes, check.pairs[k, 0], check.pairs[k, 1]
    place_pair(shapes, a, b, work.directions[k], work)
    apart = overlap_distance(shapes, a, b, enough, work.gjk)
    keep_direction(work.poses[a], work.directions[k], work.gjk)
    return apart


@inner
def searched_distance(check, k, enough, contact, work):
    """As :func:`pair_distance`, without a look at the balls around the parts first."""
    shapes, a, b = check.shapes, check.pairs[k, 0], check.pairs[k, 1]
    kept = work.directions[k]
    place_pair(shapes, a, b, kept, work)
    lower, upper = part_distance(shapes, a, b, enough, contact, work.gjk)
    keep_direction(work.poses[a], kept, work.gjk)
    return min(lower, contact) if upper <= contact else lower


@small
def place_pair(shapes, a, b, kept, work):
    """Write where the parts of a pair are, and its last direction, for the search."""
    place_part(shapes, a, work)
    place_part(shapes, b, work)
    A, B, gjk = work.poses[a], work.poses[b], work.gjk
    dx, dy, dz = B[9] - A[9], B[10] - A[10], B[11] - A[11]
    for i in range(3):
        for j in range(3):
            gjk.R[3 * i + j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j]
        gjk.p[i] = A[i] * dx + A[3 + i] * dy + A[6 + i] * dz
    # The last direction is kept in the base, as it turns less there.
    for i in range(3):
        gjk.nearest[i] = A[i] * kept[0] + A[3 + i] * kept[1] + A[6 + i] * kept[2]


@small
def keep_direction(A, kept, gjk):
    """Write the direction (3,) that a search has found, from the frame A to the base."""
    v = gjk.nearest
    for i in range(3):
        kept[i] = A[3 * i] * v[0] + A[3 * i + 1] * v[1] + A[3 * i + 2] * v[2]


@small
def bound_of_pair(shapes, a, b, enough, work):
    """
    Return a lower bound of the distance (m) of two parts, after :func:`place_parts`.

    That of the balls around them; if it is not above `enough`, and one is no hull, the distance of
    the other's ball from it.
    """
    first, second = shapes.balls[a, 3], shapes.balls[b, 3]
    apart = centre_distance(work.centres[a], work.centres[b]) - first - second
    if apart > enough:
        return apart
    # Of the larger one, if that is possible: its ball says least.
    a_first = shapes.ints[a, 0] != HULL_KIND and (first >= second
                                                  or shapes.ints[b, 0] == HULL_KIND)
    if not a_first and shapes.ints[b, 0] == HULL_KIND:
        return apart
    part, point, radius = (a, work.centres[b], second) if a_first else (b, work.centres[a], first)
    return max(apart, point_distance(shapes, part, point, work) - radius)


@small
def point_distance(shapes, part, point, work):
    """Return the distance (m) of a point in the base from a part that is no hull."""
    place_part(shapes, part, work)
    return point_distance_at(shapes.ints[part, 0], shapes.sizes[part], work.poses[part], point)


@inner
def point_distance_at(kind, size, P, point):
    """Return the distance (m) of a point from a part that is no hull, both in the base."""
    dx, dy, dz = point[0] - P[9], point[1] - P[10], point[2] - P[11]
    z = P[2] * dx + P[5] * dy + P[8] * dz
    a, b, c, margin = size[0], size[1], size[2], size[3]
    if kind == PLANE_KIND:
        return z - margin
    x, y = P[0] * dx + P[3] * dy + P[6] * dz, P[1] * dx + P[4] * dy + P[7] * dz
    if kind == BOX_KIND:
        x, y, z = max(abs(x) - a, 0.0), max(abs(y) - b, 0.0), max(abs(z) - c, 0.0)
    elif kind == CYLINDER_KIND:
        x, y, z = max(sqrt(x * x + y * y) - a, 0.0), 0.0, max(abs(z) - b, 0.0)
    else:
        z = max(abs(z) - c, 0.0)
    return sqrt(x * x + y * y + z * z) - margin
