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

from ik_node.collision.certificate import (
    certify,
    Contact,
    START_ROOM_M,
    START_SLACK_M,
)
from ik_node.collision.check import check_work
from ik_node.collision.model import CollisionModel
from ik_node.motion.following.commanded import Segment
from ik_node.motion.following.cycle import plan_states, plan_switches
from ik_node.motion.following.near_pairs import find_near_pairs, near_pairs

MIN_PIECE_S = 1e-9    # shorter ones have no motion
SLIDING_ROOM_M = 2e-3  # above what is proved; a stop does not go along what the arm slides on
SLOWER_SHARE = 0.7    # of the pace, after a refusal
FASTER_SHARE = 1.05   # of the pace, after a decision that is free
MIN_PACE = 0.02
HELD_GAP_M = 1e-3     # above SLIDING_ROOM_M; what is so near is told of


class CollisionGuard:
    """
    Checks the decisions of a follower.

    Parameters
    ----------
    model : CollisionModel
    q : (n,) array
        Where the arm is at the begin: pairs that are nearer there than the margin may stay so,
        but once they are farther apart they have to remain so.

    """

    def __init__(self, model: CollisionModel, q: np.ndarray) -> None:
        self._model = model
        # More than the margin, so that there is room on the way out.
        self._wanted = model.margins + START_SLACK_M
        self._allowed = self._allowed_at(q)
        self.near, self.pace = near_pairs(len(q)), 1.0
        self._work = check_work(model.pairs)
        self._found = np.empty(len(self._allowed))

    def look(self, q: np.ndarray) -> None:
        """Find what the arm is near to at q (n,), which is changed."""
        find_near_pairs(self._model.pairs, q, self._allowed + SLIDING_ROOM_M, self._found,
                        self.near, self._work)

    def held_by(self) -> Contact | None:
        """Return what the arm stands before or slides along, after a cycle; None if nothing."""
        for i in range(self.near.count[0]):
            if self.near.gaps[i] < HELD_GAP_M and self.near.multipliers[i] > 0.0:
                k = int(self.near.numbers[i])
                return Contact(0.0, self._model.names_of(k), float(self._found[k]))
        return None

    def contact(self, segment: Segment) -> Contact | None:
        """Return where a decision would come too near to something; None if nowhere."""
        contact = self._proved_contact(segment)
        self.pace = min(self.pace * FASTER_SHARE, 1.0) if contact is None \
            else max(self.pace * SLOWER_SHARE, MIN_PACE)
        return contact

    def _proved_contact(self, segment: Segment) -> Contact | None:
        if (self._allowed < self._wanted).any():
            self._allowed = np.maximum(self._allowed, self._allowed_at(segment.state[0]))
        pieces = _pieces(segment)
        contact = certify(self._model, *pieces, allowed=self._allowed)
        return None if contact is None or self._leads_out(segment, pieces) else contact

    def _allowed_at(self, q: np.ndarray) -> np.ndarray:
        """Return the distance (m) that each pair must keep from q (n,) on, (K,)."""
        distances = self._distances(q)
        nearer = np.minimum(np.maximum(distances - START_SLACK_M, 0.0), self._wanted)
        nearer[distances <= 0.0] = -np.inf
        return np.where(distances > self._wanted, self._wanted, nearer)

    def _distances(self, q: np.ndarray) -> np.ndarray:
        return self._model.distances(q, self._model.margin + START_SLACK_M + 2.0 * START_ROOM_M)

    def _leads_out(self, segment: Segment,
                   pieces: tuple[np.ndarray, np.ndarray, np.ndarray]) -> bool:
        """
        Return whether a motion leads away from what the arm has come near to.

        There the distance cannot be proved on the way out.  Pairs that are so near may come
        nearer by START_SLACK_M / 2 on the way, but not than the margin, and must be farther
        apart at the end.
        """
        distances = self._distances(segment.state[0])
        near = distances <= self._wanted + START_ROOM_M
        if not near.any():
            return False
        room = np.maximum(distances - 0.5 * START_SLACK_M, self._model.margins)
        allowed = np.where(near, np.minimum(room, self._allowed), self._allowed)
        _, lengths, c = pieces
        end = (c[:, -1] * lengths[-1] ** np.arange(6)[:, None]).sum(axis=0) if len(lengths) \
            else segment.state[0]
        return bool((self._distances(end)[near] > distances[near]).all()) \
            and certify(self._model, *pieces, allowed=allowed) is None


def _pieces(segment: Segment) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return begins (k,), lengths (k,) and polynomials (6, k, n), with one jerk each."""
    limits, state, plan = segment.limits, segment.state, segment.plan
    ends = plan_switches(limits, state, plan)
    begins = np.append(0.0, ends[:-1])
    kept = ends - begins > MIN_PIECE_S
    begins, lengths = begins[kept], (ends - begins)[kept]
    states = np.empty((len(begins) + 1, *state.shape))
    plan_states(limits, state, plan, np.append(begins, ends[-1]), states)
    c = np.zeros((6, len(begins), state.shape[1]))
    c[0], c[1], c[2] = states[:-1, 0], states[:-1, 1], 0.5 * states[:-1, 2]
    middles = np.empty_like(states[:-1])
    plan_states(limits, state, plan, begins + 0.5 * lengths, middles)
    # The acceleration is linear in a piece; at its end it may be set to zero.
    c[3] = (middles[:, 2] - states[:-1, 2]) / (3.0 * lengths[:, None])
    return begins, lengths, c
