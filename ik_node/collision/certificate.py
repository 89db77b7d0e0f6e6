# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Proof that a timed trajectory keeps its distance from collisions at every instant.

The joints move at most by so much within an interval of time, so each part moves at most by so
much, and a distance above the margin plus that much in its middle proves the whole interval
(the idea of Schwarzer, Saha and Latombe 2004, "Exact collision checking of robot paths").
Otherwise the interval is halved.  Nothing between two instants is skipped, whatever the speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ik_node.collision import check, distance, shapes
from ik_node.collision.check import check_work, pair_distance, place_parts
from ik_node.collision.model import CollisionModel
from ik_node.kinematics import kernels
from ik_node.kinematics.kernels import compiled, inner

FIRST_INTERVAL_S = 0.1        # longest interval that is looked at first
MAX_INTERVALS = 64            # that wait to be looked at; halving needs one for each level
CONTACT_TIME_S = 1e-3         # to within which the first contact is found
LEAST_DOUBT_M = 2.5e-4        # a distance this little above the margin counts as too near
START_SLACK_M = 1e-3          # by which a pair that is too near at the start may come nearer
INTERVAL_PROVED, PAIR_TOO_NEAR, INTERVAL_UNDECIDED = -1, 0, 1  # of an interval


@dataclass(frozen=True)
class Contact:
    """
    Where a trajectory first comes nearer than the margin.

    Attributes
    ----------
    time : float
        s since the trajectory began; until CONTACT_TIME_S before it, the trajectory is free.
    names : (str, str)
        The two links or objects.
    distance : float
        Of both at that time, m; 0 or less if they touch.

    """

    time: float
    names: tuple[str, str]
    distance: float


def certify(model: CollisionModel, begins: np.ndarray, lengths: np.ndarray,
            c: np.ndarray) -> Contact | None:
    """
    Prove that a trajectory keeps the margin of a model; None if it does.

    A pair that is nearer than the margin at the start may stay so, and move out, but come nearer
    by START_SLACK_M at most; one that touches at the start may do so until it is apart.

    Parameters
    ----------
    begins, lengths : (k,) arrays
        Begin and duration of each segment (s).
    c : (6, k, n) array
        Quintics of the joints in the time since the begin of the segment, lowest power first,
        as :func:`ik_node.motion.interpolation.segments` returns them.

    Returns
    -------
    Contact or None
        A refusal may be wrong only where the distance is less than LEAST_DOUBT_M above the margin.

    """
    forget_old_kernels()
    if not len(model.pairs.pairs):
        return None
    c = np.ascontiguousarray(c, dtype=float)
    least = np.full(len(model.pairs.pairs), model.margin)
    work = check_work(model.pairs)
    segment, t, k = first_contact(
        model.pairs, _reaches(model), np.ascontiguousarray(lengths, dtype=float), c, least,
        np.zeros((MAX_INTERVALS, 2)), np.zeros((3, c.shape[2])), work)
    if segment == INTERVAL_PROVED:
        return None
    q = (c[:, segment] * t ** np.arange(6)[:, None]).sum(axis=0)
    return Contact(float(begins[segment]) + t, model.names_of(k), model.distance_of(k, q))


def certify_edge(model: CollisionModel, q0: np.ndarray, q1: np.ndarray) -> Contact | None:
    """Prove the straight line in joint space from q0 to q1, (n,); its time runs from 0 to 1."""
    c = np.zeros((6, 1, len(q0)))
    c[0, 0], c[1, 0] = q0, np.subtract(q1, q0)
    return certify(model, np.zeros(1), np.ones(1), c)


@lru_cache(maxsize=None)
def forget_old_kernels() -> None:
    """Drop, once per process, compiled code that is older than its source."""
    kernels.forget_stale((first_contact,), (kernels, check, distance, shapes))


def _reaches(model: CollisionModel) -> np.ndarray:
    """
    Return how far (m per rad, or m per m) each part moves at most with each moving joint, (m, p).

    Of a revolute joint: the farthest that any point of the part can be from its axis.
    """
    chain, shapes = model.chain, model.pairs.shapes
    m = len(chain.table) - 1
    travel = np.zeros(m)
    for k, (prismatic, index) in enumerate(chain.joints):
        if prismatic:
            ends = chain.factors[k, 0] * np.array([chain.lower[index], chain.upper[index]]) \
                + chain.factors[k, 1]
            travel[k] = np.abs(ends).max()
    steps = np.linalg.norm(chain.offsets[:m, 9:], axis=1) + travel
    reaches = np.zeros((m, len(shapes.ints)))
    for part, (frame, ball) in enumerate(zip(shapes.ints[:, 1], shapes.balls)):
        own = np.linalg.norm(ball[:3]) + ball[3]
        for k in range(frame):
            reach = 1.0 if chain.joints[k, 0] else own + steps[k + 1:frame].sum()
            reaches[k, part] = abs(chain.factors[k, 0]) * reach
    return reaches


@compiled
def first_contact(check, reaches, lengths, c, least, stack, rows, work):
    """
    Find the first instant at which a pair of parts is too near.

    Parameters
    ----------
    check : Pairs
    reaches : (m, p) array
    lengths : (k,) array
    c : (6, k, n) array
    least : (K,) array, changed
        The distance (m) that each pair must keep.
    stack : (MAX_INTERVALS, 2) array
    rows : (3, n) array
        Workspace: position and largest deviation of the joints.
    work : CheckWork

    Returns
    -------
    (int, float, int)
        Segment (INTERVAL_PROVED if there is none), time in it (s), and pair.

    """
    q, deviation = rows[0], rows[1]
    positions_at(c, 0, 0.0, q)
    place_parts(check, q, work)
    for k in range(least.shape[0]):
        distance = pair_distance(check, k, least[k], -np.inf, work)
        if distance <= 0.0:
            least[k] = -np.inf
        elif distance <= least[k]:
            least[k] = max(distance - START_SLACK_M, 0.0)
    for segment in range(lengths.shape[0]):
        parts = int(np.ceil(lengths[segment] / FIRST_INTERVAL_S))
        for part in range(parts):
            h = 0.5 * lengths[segment] / parts
            stack[0, 0], stack[0, 1], count = (2 * part + 1) * h, h, 1
            while count > 0:
                count -= 1
                t, h = stack[count, 0], stack[count, 1]
                positions_at(c, segment, t, q)
                deviations(c, segment, t, h, deviation)
                place_parts(check, q, work)
                found, k = interval_verdict(check, reaches, deviation, least, work)
                if found == INTERVAL_PROVED:
                    continue
                if found == PAIR_TOO_NEAR and h < CONTACT_TIME_S or count + 2 > stack.shape[0]:
                    return segment, t, k
                h *= 0.5
                # The earlier half is looked at first.
                stack[count, 0], stack[count, 1] = t + h, h
                stack[count + 1, 0], stack[count + 1, 1] = t - h, h
                count += 2
    return INTERVAL_PROVED, 0.0, 0


@inner
def interval_verdict(check, reaches, deviation, least, work):
    """
    Return the verdict on an interval, and the pair that it is about.

    After :func:`place_parts` at its middle.
    """
    table, ints = check.table, check.shapes.ints
    verdict, worst = INTERVAL_PROVED, 0
    for k in range(least.shape[0]):
        a, b = check.pairs[k, 0], check.pairs[k, 1]
        low, high = ints[a, 1], ints[b, 1]
        part = b
        if low > high:
            low, high, part = high, low, a
        moved = 0.0
        for joint in range(low, high):
            moved += reaches[joint, part] * deviation[int(table[joint, 13])]
        if least[k] == -np.inf:
            if pair_distance(check, k, 0.0, 0.0, work) > 0.0:
                least[k] = 0.0  # it is apart from now on
            continue
        distance = pair_distance(check, k, least[k] + moved, least[k], work)
        if distance > least[k] + moved:
            continue
        if distance <= least[k] or moved < LEAST_DOUBT_M:
            return PAIR_TOO_NEAR, k
        verdict, worst = INTERVAL_UNDECIDED, k
    return verdict, worst


@inner
def positions_at(c, segment, t, q):
    """Write the positions (n,) at a time in a segment."""
    for i in range(q.shape[0]):
        q[i] = c[0, segment, i] + t * (c[1, segment, i] + t * (c[2, segment, i] + t * (
            c[3, segment, i] + t * (c[4, segment, i] + t * c[5, segment, i]))))


@inner
def deviations(c, segment, t, h, deviation):
    """Write by how much each joint leaves its position at t within h (s) before and after."""
    for i in range(deviation.shape[0]):
        c1, c2, c3 = c[1, segment, i], c[2, segment, i], c[3, segment, i]
        c4, c5 = c[4, segment, i], c[5, segment, i]
        # The Taylor series at t, which ends with the fifth power.
        d1 = c1 + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5)))
        d2 = c2 + t * (3.0 * c3 + t * (6.0 * c4 + t * 10.0 * c5))
        d3 = c3 + t * (4.0 * c4 + t * 10.0 * c5)
        d4 = c4 + t * 5.0 * c5
        deviation[i] = h * (abs(d1) + h * (abs(d2) + h * (abs(d3) + h * (
            abs(d4) + h * abs(c5)))))
