# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Guard of a stream: no motion is commanded from which the arm could not stop in time.

Each cycle commands a piece of motion and the fastest stop after it.  Only what is proved to be
free, to its end, is commanded; otherwise the arm stays on what was commanded before, which was.
The rates are chosen so that the arm slides along what it is near to (``rates.keep_away``), and the
slower the more often a decision was refused.

Compiled proof that the motion of a cycle, and the stop after it, is free: the rest to prove.

Of each block of pairs a posture is kept at which its distance was found.  Until the joints have
moved far enough from there to bring the two together, it is not looked at again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_node.collision.distances.certificate import (
    Allowed,
    certify,
    Contact,
    first_contact,
    interval_work,
    IntervalWork,
    JointCurve,
    LEAST_DOUBT_M,
    NO_SEGMENT,
    START_SLACK_M,
)
from ik_node.collision.distances.check import (
    block_distance,
    check_work,
    pair_distance,
    place_parts,
    signed_distance,
)
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.sweeps import (
    approach,
    distances_to,
    find_near_pairs,
    most_of_block,
    near_pairs,
    NearPairs,
)
from ik_node.kinematics.kernels import compiled, inner
from ik_node.motion.following.brake import advance, bounds_of, state_after, stop_positions
from ik_node.motion.following.commanded import Segment
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
    # Workspace of :func:`ik_node.collision.distances.certificate.first_contact`; the blocks that
    # are left to be proved come first in it
    intervals: IntervalWork


def plan_proof(blocks: int, n: int) -> PlanProof:
    """Return that nothing is known of some blocks yet, for an arm of n joints."""
    return PlanProof(np.full(blocks, -np.inf), np.zeros((blocks, n)),
                     np.zeros(blocks, dtype=np.int64), np.zeros(4 * n), np.zeros(4 * n),
                     np.zeros((6, 4 * n, n)), np.zeros(n), np.zeros(n), interval_work(n, blocks))


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
        How many blocks are left; they come first in ``proof.intervals.near``.

    """
    q, deviation, near = state[0], proof.deviation, proof.intervals.near
    n = state.shape[1]
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
            near[left] = block
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
            near[left] = block
            left += 1
    if left > 0:
        write_pieces(limits, state, plan, proof)
    return left


@inner
def look_at(check, block, least, work):
    """Return how much farther apart (m) than they must be all pairs of a block are, at least."""
    first, last = check.blocks[block, 2], check.blocks[block, 3]
    margin = most_of_block(check, block, least)
    apart = block_distance(check, block, margin + LOOK_RANGE_M, work)
    if apart > margin + LOOK_RANGE_M:
        return apart - margin
    spare = LOOK_RANGE_M
    for k in range(first, last):
        spare = min(spare, pair_distance(check, k, least[k] + spare, -np.inf, work) - least[k])
    return spare


@compiled
def raise_allowed(check, q, allowed, wanted, margins, proof, work):
    """
    Let what pairs are allowed (K,) rise with their distances at q (n,); as they are allowed at it.

    Of blocks in which one rises nothing is known any more.
    """
    place_parts(check, q, work)
    for block in range(check.blocks.shape[0]):
        for k in range(check.blocks[block, 2], check.blocks[block, 3]):
            if allowed[k] >= wanted[k]:
                continue
            distance = signed_distance(check, k, wanted[k], -np.inf, work)
            least = wanted[k] if distance > wanted[k] else min(distance - START_SLACK_M,
                                                               margins[k])
            if least > allowed[k]:
                allowed[k] = least
                proof.spare[block], proof.waits[block] = -np.inf, 0


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


LEAVING_ROOM_M = 1e-3   # above the margin, so that there is room to leave
LEAVING_DIP_M = 5e-4    # by which a pair in that room may come nearer on the way out
LEAVING_RANGE_M = 5e-4  # above that room, of pairs that must be farther apart after leaving
STREAM_DOUBT_M = 2.5e-4  # a distance this little above the least counts as too near
SLIDING_ROOM_M = 2e-3  # above what is proved; a stop does not go along what the arm slides on
SLOWER_SHARE = 0.7    # of the pace, after a refusal
FASTER_SHARE = 1.05   # of the pace, after a decision that is free
MIN_PACE = 0.02
HELD_GAP_M = 1e-3     # above SLIDING_ROOM_M; nearer pairs are reported


class CollisionGuard:
    """
    Checks the decisions of a follower.

    Parameters
    ----------
    model : CollisionModel
    q : (n,) array
        Where the arm is at the start: pairs that are nearer there than the margin, or overlap,
        may stay so, but once they are farther apart they have to remain so; also pairs that
        joints beside the arm may bring nearer as they move, so that the arm can give way.
    near : NearPairs, optional
        Written by :meth:`look`; others may add to it.

    """

    def __init__(self, model: CollisionModel, q: np.ndarray,
                 near: NearPairs | None = None) -> None:
        self._model, self._pairs = model, model.pairs_from(q[None])
        self._wanted = model.margins + LEAVING_ROOM_M
        self.near, self.pace, self._count = near or near_pairs(len(q)), 1.0, 0
        self._work = check_work(model.pairs)
        self._found = np.empty(len(self._wanted))
        # It finds the directions in which pairs that overlap come apart soonest.
        self._require(self._allowed_at(model.signed_distances(q, self._enough, self._work)))

    def _require(self, allowed: np.ndarray) -> None:
        """Take what pairs must keep from now on (m), (K,); nothing is known of them then."""
        self._allowed = allowed
        self._least = np.empty_like(allowed)
        self._proof = plan_proof(len(self._model.pairs.blocks), self.near.gradients.shape[1])
        self._note_eased()

    def _note_eased(self) -> None:
        self._eased = bool((self._allowed < self._wanted).any())
        self._overlaps = bool((self._allowed < 0.0).any())

    def warm_up(self, segment: Segment) -> None:
        """Load or compile all kernels of :meth:`contact`."""
        pairs, proof, state = self._pairs, self._proof, segment.state
        write_all_pieces(segment.limits, state, segment.plan, proof)
        unproved_blocks(pairs, segment.limits, state, segment.plan, self._allowed, proof,
                        self._work)
        first_contact(pairs, JointCurve(proof.lengths, proof.c),
                      Allowed(self._least, self._least, STREAM_DOUBT_M), 0, proof.intervals,
                      self._work)
        raise_allowed(pairs, state[0], self._allowed, self._wanted, self._model.margins, proof,
                      self._work)
        self._distances(state[0], np.zeros(len(self._wanted), dtype=bool))
        self._require(self._allowed)

    def look(self, q: np.ndarray) -> None:
        """Find what the arm is near to at q (n,), which is changed."""
        find_near_pairs(self._pairs, q, self._allowed + SLIDING_ROOM_M, self._found,
                        self.near, self._work)
        self._count = int(self.near.count[0])

    def held_by(self) -> Contact | None:
        """Return what the arm stands before or slides along, after a cycle; None if nothing."""
        for i in range(self._count):
            if self.near.gaps[i] < HELD_GAP_M and self.near.multipliers[i] > 0.0:
                k = int(self.near.numbers[i])
                return Contact(0.0, self._model.names_of(k), float(self._found[k]),
                               swept=bool(self._model.swept[k]))
        return None

    def contact(self, segment: Segment) -> Contact | None:
        """Return where a decision would come too near to something; None if nowhere."""
        contact = self._proved_contact(segment)
        self.pace = min(self.pace * FASTER_SHARE, 1.0) if contact is None \
            else max(self.pace * SLOWER_SHARE, MIN_PACE)
        return contact

    def _proved_contact(self, segment: Segment) -> Contact | None:
        if self._eased:
            raise_allowed(self._pairs, segment.state[0], self._allowed, self._wanted,
                          self._model.margins, self._proof, self._work)
            self._note_eased()
        contact = None
        if self._overlaps:
            write_all_pieces(segment.limits, segment.state, segment.plan, self._proof)
        else:
            contact = self._first_contact(segment)
            if contact is None:
                return None
        allowed = self._allowed_on_leaving(segment)
        if contact is not None and allowed is self._allowed:
            return contact
        return certify(self._model, *_pieces(self._proof), allowed, self._work)

    def _first_contact(self, segment: Segment) -> Contact | None:
        """Return where a decision comes nearer than it is allowed to; its pieces are written."""
        pairs, proof, state = self._pairs, self._proof, segment.state
        left = unproved_blocks(pairs, segment.limits, state, segment.plan, self._allowed, proof,
                               self._work)
        if left == 0:
            return None
        self._least[:] = self._allowed
        found = first_contact(pairs, JointCurve(proof.lengths, proof.c),
                              Allowed(self._least, self._least,
                                      LEAST_DOUBT_M if self._eased else STREAM_DOUBT_M),
                              left, proof.intervals, self._work)
        if found[0] == NO_SEGMENT:
            return None
        piece, t, k = found
        q = (proof.c[:, piece] * t ** np.arange(6)[:, None]).sum(axis=0)
        return Contact(t + float(proof.ends[piece - 1] if piece else 0.0),
                       self._model.names_of(k),
                       float(self._distances(q, np.arange(len(self._wanted)) == k)[k]),
                       swept=bool(self._model.swept[k]))

    def _allowed_at(self, distances: np.ndarray) -> np.ndarray:
        """Return the distance (m) that pairs must keep which are that far apart now, (K,)."""
        return np.where(distances > self._wanted, self._wanted,
                        np.minimum(distances - START_SLACK_M, self._model.margins))

    @property
    def _enough(self) -> float:
        """Return up to which distance (m) it matters how far apart a pair is."""
        return self._model.widest_margin + LEAVING_ROOM_M + 2.0 * LEAVING_RANGE_M

    def _distances(self, q: np.ndarray, those: np.ndarray) -> np.ndarray:
        """Return the distances (m) at q (n,), (K,); exact as far as they matter, of `those`."""
        distances = np.empty(len(self._wanted))
        distances_to(self._pairs, q, np.where(those, self._wanted, -np.inf),
                     2.0 * LEAVING_RANGE_M, distances, self._work)
        return distances

    def _allowed_on_leaving(self, segment: Segment) -> np.ndarray:
        """
        Return what pairs must keep (m), (K,), in a motion whose pieces are written.

        If it leads away from nearby objects, the distance cannot be proved while the arm leaves.
        Pairs that are so near may come nearer by LEAVING_DIP_M on the way, but not than the
        margin, and must be farther apart at the end.
        """
        _, lengths, c = _pieces(self._proof)
        distances = self._distances(segment.state[0], np.ones(len(self._wanted), dtype=bool))
        near = distances <= self._wanted + LEAVING_RANGE_M
        if not near.any():
            return self._allowed
        end = self._distances((c[:, -1] * lengths[-1] ** np.arange(6)[:, None]).sum(axis=0), near)
        if (end[near] <= distances[near]).any():
            return self._allowed
        # A proof begins with the directions that are found last.
        self._distances(segment.state[0], near)
        room = np.maximum(distances - LEAVING_DIP_M, self._model.margins)
        return np.where(near, np.minimum(room, self._allowed), self._allowed)


def _pieces(proof: PlanProof) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return begins (k,), lengths (k,) and polynomials (6, k, n) of the pieces of a motion."""
    return np.append(0.0, proof.ends[:-1]), proof.lengths, proof.c
