# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled search for what the arm is near to, and in which directions it would come nearer.

The derivative of a distance by each joint is the difference of two distances: of flat faces that
are parallel it is then the mean of both sides, where the derivative itself jumps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_node.collision.distances.check import (
    block_distance,
    place_frames,
    place_parts,
    signed_distance,
)
from ik_node.kinematics.kernels import compiled, inner

MAX_NEAR_PAIRS = 6
NEAR_GAP_M = 0.1           # of pairs that are looked at
JOINT_STEP = 1e-3          # rad or m, to each side


class NearPairs(NamedTuple):
    """The pairs that are nearest to their least distance, and workspace."""

    count: np.ndarray      # (1,) int, how many there are; the rest of each array is not used
    numbers: np.ndarray    # (R,) int, of the pairs in the collision model
    gaps: np.ndarray       # (R,), how much nearer they may come (m); ascending
    gradients: np.ndarray  # (R, n), of their distances, m per unit of q
    approach: np.ndarray   # (R,), how fast each pair may come nearer (m/s)
    responses: np.ndarray  # (R, n), change of the joint rates by a unit of each multiplier
    # (R,), change of the rate of each distance by a unit of its own multiplier
    strengths: np.ndarray
    multipliers: np.ndarray  # (R,), positive for pairs that are kept from coming nearer


def near_pairs(n: int) -> NearPairs:
    """Return room for the pairs of an arm of n joints; there are none yet."""
    return NearPairs(np.zeros(1, dtype=np.int64), np.zeros(MAX_NEAR_PAIRS, dtype=np.int64),
                     np.zeros(MAX_NEAR_PAIRS), np.zeros((MAX_NEAR_PAIRS, n)),
                     np.zeros(MAX_NEAR_PAIRS), np.zeros((MAX_NEAR_PAIRS, n)),
                     np.zeros(MAX_NEAR_PAIRS), np.zeros(MAX_NEAR_PAIRS))


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
    distances : (K,) array
        Workspace.
    near : NearPairs, written
    work : CheckWork

    """
    numbers, gaps, gradients = near.numbers, near.gaps, near.gradients
    farthest = -np.inf
    for k in range(least.shape[0]):
        farthest = max(farthest, least[k])
    place_parts(check, q, work)
    enough = farthest + NEAR_GAP_M
    for block in range(check.blocks.shape[0]):
        apart = block_distance(check, block, enough, work)
        for k in range(check.blocks[block, 2], check.blocks[block, 3]):
            distances[k] = apart if apart > enough \
                else signed_distance(check, k, enough, -np.inf, work)
    count = 0
    for k in range(least.shape[0]):
        gap = distances[k] - least[k]
        if gap > NEAR_GAP_M or count == gaps.shape[0] and gap >= gaps[count - 1]:
            continue
        i = min(count, gaps.shape[0] - 1)
        while i > 0 and gaps[i - 1] > gap:
            gaps[i], numbers[i] = gaps[i - 1], numbers[i - 1]
            i -= 1
        gaps[i], numbers[i] = gap, k
        count = min(count + 1, gaps.shape[0])
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
