# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled proof that the motion of a cycle, and the stop after it, is free: the rest to prove.

Of each block of pairs a posture is kept at which its distance was found.  Until the joints have
moved far enough from there to bring the two together, it is not looked at again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_node.collision.distances.certificate import interval_work, IntervalWork
from ik_node.collision.distances.check import block_distance, pair_distance, place_parts
from ik_node.collision.distances.sweeps import approach
from ik_node.kinematics.kernels import compiled, inner
from ik_node.motion.following.brake import advance, bounds_of, state_after, stop_positions
from ik_node.motion.following.cycle import write_switches

LOOK_RANGE_M = 0.3      # beyond what a pair must keep, to which its distance is found exactly
LOOK_AGAIN_CYCLES = 10  # after which a block is looked at again that was too near to be dismissed
MIN_PIECE_S = 1e-9      # shorter ones have no motion


class PlanProof(NamedTuple):
    """Known bounds of each block, and workspace."""

    # (B,), how much farther (m) than it must be each block was apart, at least; -inf if unknown
    spare: np.ndarray
    postures: np.ndarray  # (B, n), at which posture
    waits: np.ndarray     # (B,) int, cycles until it is worth to look again
    near: np.ndarray      # (B,) int, first the blocks that are left to be proved
    # ends, lengths: (4 n,), end and duration (s) of the pieces of the motion, with one jerk each
    ends: np.ndarray
    lengths: np.ndarray
    # (6, 4 n, n), their polynomials, as :func:`ik_node.collision.distances.certificate.certify`
    # takes them
    c: np.ndarray
    # moved, deviation: (n,), how far each joint goes from the start of the motion, and from
    # another posture
    moved: np.ndarray
    deviation: np.ndarray
    # Workspace of :func:`ik_node.collision.distances.certificate.first_contact`.
    intervals: IntervalWork


def plan_proof(blocks: int, n: int) -> PlanProof:
    """Return that nothing is known of some blocks yet, for an arm of n joints."""
    return PlanProof(np.full(blocks, -np.inf), np.zeros((blocks, n)),
                     np.zeros(blocks, dtype=np.int64), np.zeros(blocks, dtype=np.int64),
                     np.zeros(4 * n), np.zeros(4 * n), np.zeros((6, 4 * n, n)), np.zeros(n),
                     np.zeros(n), interval_work(n))


@compiled
def unproved_blocks(check, limits, state, plan, least, proof, work):
    """
    Write the blocks that are not proved to be apart on all of a motion, and its pieces.

    Parameters
    ----------
    check : Pairs
    limits : LimitRows
    state : (3, n) array
        Begin of the motion.
    plan : CyclePlan
    least : (K,) array
        Distance (m) that each pair must keep; finite.
    proof : PlanProof, changed
        If some are left, its pieces are written.
    work : CheckWork

    Returns
    -------
    int
        How many blocks are left; they come first in ``proof.near``.

    """
    q, deviation, n = state[0], proof.deviation, state.shape[1]
    write_reach(limits, state, plan, proof.moved)
    left, placed = 0, False
    for block in range(check.blocks.shape[0]):
        a, b = check.blocks[block, 0], check.blocks[block, 1]
        frames = check.group_frames[a], check.group_frames[b]
        if proof.spare[block] > 0.0:
            for i in range(n):
                deviation[i] = abs(q[i] - proof.postures[block, i]) + proof.moved[i]
            if proof.spare[block] > approach(check, deviation, frames, (a, b)):
                continue
        if proof.waits[block] > 0:
            proof.waits[block] -= 1
            proof.near[left] = block
            left += 1
            continue
        if not placed:
            place_parts(check, q, work)
            placed = True
        spare = look_at(check, block, least, work)
        proof.spare[block] = spare
        for i in range(n):
            proof.postures[block, i] = q[i]
        if spare <= approach(check, proof.moved, frames, (a, b)):
            proof.waits[block] = LOOK_AGAIN_CYCLES
            proof.near[left] = block
            left += 1
    if left > 0:
        write_pieces(limits, state, plan, proof)
    return left


@inner
def look_at(check, block, least, work):
    """Return how much farther apart (m) than they must be all pairs of a block are, at least."""
    first, last = check.blocks[block, 2], check.blocks[block, 3]
    margin = -np.inf
    for k in range(first, last):
        margin = max(margin, least[k])
    apart = block_distance(check, block, margin + LOOK_RANGE_M, work)
    if apart > margin + LOOK_RANGE_M:
        return apart - margin
    spare = LOOK_RANGE_M
    for k in range(first, last):
        spare = min(spare, pair_distance(check, k, least[k] + spare, -np.inf, work) - least[k])
    return spare


@inner
def write_reach(limits, state, plan, moved):
    """Write how far each joint goes from its position at the start of a motion, at most, (n,)."""
    for k in range(state.shape[1]):
        t, bounds = plan.jerk_time[k], bounds_of(limits, k)
        begin = state[0, k], state[1, k], state[2, k]
        lowest, highest = stop_positions(advance(begin, plan.jerk[k], t), bounds)
        moved[k] = max(abs(lowest - begin[0]), abs(highest - begin[0]), t * (
            abs(begin[1]) + t * (0.5 * abs(begin[2]) + t / 6.0 * abs(plan.jerk[k]))))


@compiled
def write_all_pieces(limits, state, plan, proof):
    """Write the pieces of a motion."""
    write_pieces(limits, state, plan, proof)


@inner
def write_pieces(limits, state, plan, proof):
    """Write the pieces of a motion; those without duration are constant."""
    c, ends = proof.c, proof.ends
    write_switches(limits, state, plan, ends)
    begin = 0.0
    for i in range(ends.shape[0]):
        length = ends[i] - begin
        proof.lengths[i] = length if length > MIN_PIECE_S else 0.0
        for k in range(state.shape[1]):
            bounds, start = bounds_of(limits, k), (state[0, k], state[1, k], state[2, k])
            x, v, a = state_after(start, plan.jerk[k], plan.jerk_time[k], begin, bounds)
            c[0, i, k], c[1, i, k], c[2, i, k], c[3, i, k] = x, v, 0.5 * a, 0.0
            if length > MIN_PIECE_S:
                # The acceleration is linear in a piece; at its end it may be set to zero.
                middle = state_after(start, plan.jerk[k], plan.jerk_time[k],
                                     begin + 0.5 * length, bounds)
                c[3, i, k] = (middle[2] - a) / (3.0 * length)
        if length > MIN_PIECE_S:
            begin = ends[i]
