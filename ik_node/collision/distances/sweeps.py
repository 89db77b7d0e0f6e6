# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled bounds of how far parts move in an interval of a motion.

The twists of the moving frames in the middle of the interval tell how far two parts would move
towards each other until its end, in all and along the direction between them (Mirtich 1996,
"Impulse-based dynamic simulation of rigid body systems"; of articulated models with a Taylor
series, Zhang, Redon, Lee and Kim 2007, "Continuous collision detection for articulated models
using Taylor models and temporal culling").  By how much the motion differs from that, as the
joints turn on meanwhile, is bounded by the reaches of the groups.

Compiled search for what the arm is near to, and in which directions it would come nearer.

The derivative of a distance by each joint is the difference of two distances: of flat faces that
are parallel it is then the mean of both sides, where the derivative itself jumps.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ik_node.collision.distances.check import (
    block_distance,
    place_frames,
    place_parts,
    signed_distance,
)
from ik_node.kinematics.kernels import compiled, inner, shared, small


@small
def approach(check, deviation, frames, groups):
    """
    Return how far (m) two groups move at most towards each other.

    `frames`: their moving frames; `deviation` (n,): how far the joints move.  Joints that move
    both alike do not count.
    """
    low, high, farther, moved = frames[0], frames[1], groups[1], 0.0
    if check.parents.shape[0] == 0:
        if low > high:
            low, high, farther = high, low, groups[0]
        for joint in range(low, high):
            moved += check.group_reaches[joint, farther] * deviation[int(check.table[joint, 13])]
        return moved
    # Up from both to the frame that carries both: a row comes after the one that carries it.
    while low != high:
        row, moving = (low - 1, groups[0]) if low > high else (high - 1, groups[1])
        moved += check.group_reaches[row, moving] * deviation[int(check.table[row, 13])]
        if low > high:
            low = check.parents[row] + 1
        else:
            high = check.parents[row] + 1
    return moved


@inner
def write_twists(check, step, work):
    """
    Write the twists of the moving frames, as displacements (rad and m) in half of an interval.

    `step` (n,): how far the joints go in that time by their velocities.
    """
    table, serial = check.table, check.parents.shape[0] == 0
    for row in range(table.shape[0]):
        before = work.twists[row if serial else check.parents[row] + 1]
        twist, F = work.twists[row + 1], work.frames[row + 1]
        rate = table[row, 14] * step[int(table[row, 13])]
        x, y, z = rate * F[2], rate * F[5], rate * F[8]
        if table[row, 12] == 0.0:
            twist[0], twist[1], twist[2] = before[0] + x, before[1] + y, before[2] + z
            twist[3] = before[3] + F[10] * z - F[11] * y
            twist[4] = before[4] + F[11] * x - F[9] * z
            twist[5] = before[5] + F[9] * y - F[10] * x
        else:
            twist[0], twist[1], twist[2] = before[0], before[1], before[2]
            twist[3], twist[4], twist[5] = before[3] + x, before[4] + y, before[5] + z


@small
def relative_sweep(check, motion, frames, groups, work):
    """As :func:`sweep`; what a group does relative to the base is kept for the posture."""
    if frames[0] > 0 and frames[1] > 0:
        moving = -1
    else:
        moving = groups[0] if frames[0] > 0 else groups[1]
        kept = work.sweeps[moving]
        if kept[2] == work.placed[-1]:
            return kept[0], kept[1], 0
    moved, remainder, common = sweep(check, motion, frames, groups, work)
    if moving >= 0:
        kept = work.sweeps[moving]
        kept[0], kept[1], kept[2] = moved, remainder, work.placed[-1]
    return moved, remainder, common


@small
def sweep(check, motion, frames, groups, work):
    """
    Return how two groups move relative to each other in an interval.

    Returns
    -------
    (float, float, int)
        How far (m) they move at most towards each other; how far (m) at most from where the
        twists in the middle would bring them; and the frame that carries both, in which this is.

    """
    low, high = frames[0], frames[1]
    # Of both sides: the sum of the motions of the joints farther out.
    first = second = remainder = 0.0
    while low != high:
        below = low > high
        row = (low if below else high) - 1
        joint = int(check.table[row, 13])
        reach, most = check.group_reaches[row, groups[0] if below else groups[1]], motion[1, joint]
        remainder += reach * (most - abs(motion[0, joint]))
        if check.table[row, 12] == 0.0:
            # |d2 p / dq_i dq_j| is at most the reach of the joint farther out.
            remainder += abs(check.table[row, 14]) * most * (
                0.5 * reach * most + (first if below else second))
        carrier = row if check.parents.shape[0] == 0 else check.parents[row] + 1
        if below:
            low, first = carrier, first + reach * most
        else:
            high, second = carrier, second + reach * most
    moved = first + second
    if remainder < moved:
        a, b = groups[0], groups[1]
        moved = min(moved, remainder + shift(
            work, frames, low, (work.group_centres[a], work.group_centres[b]),
            (check.group_balls[a, 3], check.group_balls[b, 3])))
    return moved, remainder, low


@small
def shift(work, frames, common, centres, radii):
    """Return how far (m) two balls move towards each other by the twists, at most."""
    return ball_shift(work.twists[frames[0]], work.twists[frames[1]], work.twists[common],
                      centres, radii)


@inner
def ball_shift(first, second, other, centres, radii):
    """As :func:`shift`, with the twists of both balls and that of the frame that carries both."""
    ux, uy, uz = velocity_at(first, other, centres[0])
    vx, vy, vz = velocity_at(second, other, centres[1])
    ux, uy, uz = ux - vx, uy - vy, uz - vz
    return (ball_turn(turn(first, other), radii[0]) + ball_turn(turn(second, other), radii[1])
            + sqrt(ux * ux + uy * uy + uz * uz))


@small
def shift_along(work, frames, common, centres, radii, direction):
    """Return how far (m) two balls move along a direction (3,) by the twists, at most."""
    return ball_shift_along(work.twists[frames[0]], work.twists[frames[1]], work.twists[common],
                            centres, radii, direction)


@inner
def ball_shift_along(first, second, other, centres, radii, direction):
    """As :func:`shift_along`, with the twists as for :func:`ball_shift`."""
    x, y, z = direction[0], direction[1], direction[2]
    ux, uy, uz = velocity_at(first, other, centres[0])
    vx, vy, vz = velocity_at(second, other, centres[1])
    along = x * (ux - vx) + y * (uy - vy) + z * (uz - vz)
    return (ball_turn(turn_across(first, other, direction), radii[0])
            + ball_turn(turn_across(second, other, direction), radii[1])
            + abs(along)) / sqrt(x * x + y * y + z * z)


@small
def ball_turn(angle, radius):
    """Return how far (m) a ball that turns goes; 0 if it does not, also of an infinite one."""
    return angle * radius if angle > 0.0 else 0.0


@small
def velocity_at(twist, other, point):
    """Return how far (m) a twist moves a point relative to another twist, in the base."""
    x, y, z = twist[0] - other[0], twist[1] - other[1], twist[2] - other[2]
    return (twist[3] - other[3] + y * point[2] - z * point[1],
            twist[4] - other[4] + z * point[0] - x * point[2],
            twist[5] - other[5] + x * point[1] - y * point[0])


@small
def turn(twist, other):
    """Return by how much (rad) a twist turns relative to another."""
    return sqrt((twist[0] - other[0]) ** 2 + (twist[1] - other[1]) ** 2
                + (twist[2] - other[2]) ** 2)


@small
def turn_across(twist, other, direction):
    """Return the length of the cross product of a relative turn (rad) and a vector (3,)."""
    x, y, z = twist[0] - other[0], twist[1] - other[1], twist[2] - other[2]
    a, b, c = direction[0], direction[1], direction[2]
    return sqrt((y * c - z * b) ** 2 + (z * a - x * c) ** 2 + (x * b - y * a) ** 2)


MAX_NEAR_PAIRS = 6
NEAR_GAP_M = 0.1           # of pairs that are looked at
JOINT_STEP = 1e-3          # rad or m, to each side


class NearPairs(NamedTuple):
    """The pairs that are nearest to their least distance, and workspace."""

    count: np.ndarray      # (1,) int, how many there are; the rest of each array is not used
    numbers: np.ndarray    # (R,) int, of the pairs in the collision model
    gaps: np.ndarray       # (R,), how much nearer they may come (m)
    gradients: np.ndarray  # (R, n), of their distances, m per unit of q
    approach: np.ndarray   # (R,), how fast each pair may come nearer (m/s)
    responses: np.ndarray  # (R, n), change of the joint rates by a unit of each multiplier
    # (R,), change of the rate of each distance by a unit of its own multiplier
    strengths: np.ndarray
    multipliers: np.ndarray  # (R,), positive for pairs that are kept from coming nearer


def near_pairs(n: int, more: int = 0) -> NearPairs:
    """Return room for the pairs of an arm of n joints, and `more`; there are none yet."""
    room = MAX_NEAR_PAIRS + more
    return NearPairs(np.zeros(1, dtype=np.int64), np.zeros(room, dtype=np.int64), np.zeros(room),
                     np.zeros((room, n)), np.zeros(room), np.zeros((room, n)), np.zeros(room),
                     np.zeros(room))


@compiled
def find_near_pairs(check, q, least, distances, near, work):
    """
    Write the pairs that are nearest to their least distances at q (n,), and their gradients.

    Parameters
    ----------
    check : Pairs
    q : (n,) array
        Changed meanwhile.
    least : (K,) array
        Distance (m) below which each pair must not come.
    distances : (K,) array, written
        Of the pairs (m); lower bounds where they are more than NEAR_GAP_M above the least.
    near : NearPairs, written
    work : CheckWork

    """
    numbers, gaps, gradients = near.numbers, near.gaps, near.gradients
    write_distances(check, q, least, NEAR_GAP_M, distances, work)
    count = 0
    for k in range(least.shape[0]):
        gap = distances[k] - least[k]
        if gap > NEAR_GAP_M or count == MAX_NEAR_PAIRS and gap >= gaps[count - 1]:
            continue
        i = min(count, MAX_NEAR_PAIRS - 1)
        while i > 0 and gaps[i - 1] > gap:
            gaps[i], numbers[i] = gaps[i - 1], numbers[i - 1]
            i -= 1
        gaps[i], numbers[i] = gap, k
        count = min(count + 1, MAX_NEAR_PAIRS)
    near.count[0] = count
    if count == 0:
        return
    for joint in range(q.shape[0]):
        here = q[joint]
        for i in range(count):
            gradients[i, joint] = 0.0
        for side in range(2):
            q[joint] = here + JOINT_STEP * (1.0 - 2.0 * side)
            place_frames(check, q, work)
            for i in range(count):
                if not is_between(check, numbers[i], joint):
                    continue
                there = signed_distance(check, numbers[i], np.inf, -np.inf, work)
                if side == 0:
                    gradients[i, joint] = there
                else:
                    gradients[i, joint] = (gradients[i, joint] - there) / (2.0 * JOINT_STEP)
        q[joint] = here


@compiled
def distances_to(check, q, least, more, distances, work):
    """
    Write the distances (K,) of all pairs at q (n,), m, as :func:`signed_distance`.

    Lower bounds where they are `more` (m) above the least, (K,).
    """
    write_distances(check, q, least, more, distances, work)


@shared
def write_distances(check, q, least, more, distances, work):
    """As :func:`distances_to`; groups that are far apart are dismissed together."""
    place_parts(check, q, work)
    for block in range(check.blocks.shape[0]):
        enough = most_of_block(check, block, least) + more
        apart = block_distance(check, block, enough, work)
        for k in range(check.blocks[block, 2], check.blocks[block, 3]):
            distances[k] = apart if apart > enough \
                else signed_distance(check, k, least[k] + more, -np.inf, work)


@small
def most_of_block(check, block, values):
    """Return the largest of the values (K,) of the pairs of a block."""
    most = -np.inf
    for k in range(check.blocks[block, 2], check.blocks[block, 3]):
        most = max(most, values[k])
    return most


@inner
def is_between(check, k, joint):
    """Return whether a joint moves one part of pair k and not the other."""
    ints = check.shapes.ints
    one, other = ints[check.pairs[k, 0], 1], ints[check.pairs[k, 1], 1]
    while one != other:  # up to the frame that carries both: a row comes after its carrier
        row = max(one, other) - 1
        if int(check.table[row, 13]) == joint and check.table[row, 14] != 0.0:
            return True
        carrier = row if check.parents.shape[0] == 0 else check.parents[row] + 1
        if one > other:
            one = carrier
        else:
            other = carrier
    return False
