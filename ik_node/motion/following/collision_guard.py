# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Guard of a stream: no motion is commanded from which the arm could not stop in time.

Each cycle commands a piece of motion and the fastest stop after it.  Only what is proved to be
free, to its end, is commanded; otherwise the arm stays on what was commanded before, which was.
The rates are chosen so that the arm slides along what it is near to (``rates.keep_away``), and the
slower the more often a decision was refused.
"""

from __future__ import annotations

import numpy as np

from ik_node.collision.distances.certificate import (
    certify,
    Contact,
    first_contact,
    LEAST_DOUBT_M,
    NO_SEGMENT,
    START_SLACK_M,
)
from ik_node.collision.distances.check import check_work
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.near_pairs import find_near_pairs, NEAR_GAP_M, near_pairs
from ik_node.motion.following.commanded import Segment
from ik_node.motion.following.plan_proof import (
    plan_proof,
    PlanProof,
    unproved_blocks,
    write_all_pieces,
)

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

    """

    def __init__(self, model: CollisionModel, q: np.ndarray) -> None:
        self._model, self._pairs = model, model.pairs_from(q[None])
        self._wanted = model.margins + LEAVING_ROOM_M
        self.near, self.pace = near_pairs(len(q)), 1.0
        self._work = check_work(model.pairs)
        self._found, self._found_near = np.empty(len(self._wanted)), near_pairs(len(q))
        # It finds the directions in which pairs that overlap come apart soonest.
        self._require(self._allowed_at(model.signed_distances(q, self._enough, self._work)))

    def _require(self, allowed: np.ndarray) -> None:
        """Take what pairs must keep from now on (m), (K,); nothing is known of them then."""
        self._allowed, self._farthest = allowed, float(allowed.max(initial=-np.inf))
        self._eased = bool((allowed < self._wanted).any())
        self._overlaps = bool((allowed < 0.0).any())
        self._least = np.empty_like(allowed)
        self._proof = plan_proof(len(self._model.pairs.blocks), self.near.gradients.shape[1])

    def warm_up(self, segment: Segment) -> None:
        """Load or compile all kernels of :meth:`contact`."""
        pairs, proof, state = self._pairs, self._proof, segment.state
        write_all_pieces(segment.limits, state, segment.plan, proof)
        unproved_blocks(pairs, segment.limits, state, segment.plan, self._allowed, proof,
                        self._work)
        first_contact(pairs, proof.lengths, proof.c, 0.0, self._least, self._least, False,
                      STREAM_DOUBT_M, proof.near[:0], proof.intervals, self._work)
        self._require(self._allowed)

    def look(self, q: np.ndarray) -> None:
        """Find what the arm is near to at q (n,), which is changed."""
        find_near_pairs(self._pairs, q, self._allowed + SLIDING_ROOM_M, self._found,
                        self.near, self._work)

    def held_by(self) -> Contact | None:
        """Return what the arm stands before or slides along, after a cycle; None if nothing."""
        for i in range(self.near.count[0]):
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
            raised = np.maximum(self._allowed,
                                self._allowed_at(self._distances(segment.state[0])))
            if (raised > self._allowed).any():
                self._require(raised)
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
        found = first_contact(pairs, proof.lengths, proof.c, self._farthest, self._least,
                              self._least, False, LEAST_DOUBT_M if self._eased else STREAM_DOUBT_M,
                              proof.near[:left], proof.intervals, self._work)
        if found[0] == NO_SEGMENT:
            return None
        piece, t, k = found
        q = (proof.c[:, piece] * t ** np.arange(6)[:, None]).sum(axis=0)
        return Contact(t + float(proof.ends[piece - 1] if piece else 0.0),
                       self._model.names_of(k), float(self._distances(q)[k]),
                       swept=bool(self._model.swept[k]))

    def _allowed_at(self, distances: np.ndarray) -> np.ndarray:
        """Return the distance (m) that pairs must keep which are that far apart now, (K,)."""
        return np.where(distances > self._wanted, self._wanted,
                        np.minimum(distances - START_SLACK_M, self._model.margins))

    @property
    def _enough(self) -> float:
        """Return up to which distance (m) it matters how far apart a pair is."""
        return self._model.widest_margin + LEAVING_ROOM_M + 2.0 * LEAVING_RANGE_M

    def _distances(self, q: np.ndarray) -> np.ndarray:
        distances = np.empty(len(self._wanted))
        # It skips distant groups: among 10,000 objects in a fifth of the time.
        find_near_pairs(self._pairs, q.copy(), np.full(len(distances), self._enough - NEAR_GAP_M),
                        distances, self._found_near, self._work)
        return distances

    def _allowed_on_leaving(self, segment: Segment) -> np.ndarray:
        """
        Return what pairs must keep (m), (K,), in a motion whose pieces are written.

        If it leads away from nearby objects, the distance cannot be proved while the arm leaves.
        Pairs that are so near may come nearer by LEAVING_DIP_M on the way, but not than the
        margin, and must be farther apart at the end.
        """
        _, lengths, c = _pieces(self._proof)
        end = self._distances((c[:, -1] * lengths[-1] ** np.arange(6)[:, None]).sum(axis=0))
        # Last, as a proof begins with the directions that it finds.
        distances = self._distances(segment.state[0])
        near = distances <= self._wanted + LEAVING_RANGE_M
        if not near.any() or (end[near] <= distances[near]).any():
            return self._allowed
        room = np.maximum(distances - LEAVING_DIP_M, self._model.margins)
        return np.where(near, np.minimum(room, self._allowed), self._allowed)


def _pieces(proof: PlanProof) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return begins (k,), lengths (k,) and polynomials (6, k, n) of the pieces of a motion."""
    return np.append(0.0, proof.ends[:-1]), proof.lengths, proof.c
