# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Proof that a timed trajectory keeps its distance from collisions at every instant.

The joints move at most by so much within an interval of time, so each part moves at most by so
much, and a distance above the margin plus that much in its middle proves the whole interval
(the idea of Schwarzer, Saha and Latombe 2004, "Exact collision checking of robot paths").
Otherwise the interval is halved.  Nothing between two instants is skipped, whatever the shift.

A pair that is nearer at the start than the margin, or overlaps, may not come nearer or go deeper,
by more than START_SLACK_M; as it comes farther apart, that has to remain so, up to the margin.
Thus what is left of a proved motion is proved from wherever it begins.  A pair that joints beside
the arm may bring too near as they move is no such pair: of it nothing is proved until they rest
(streams may lead away from the middle of where these may be).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ik_node.base.errors import Reason
from ik_node.base.text import quote
from ik_node.collision.distances.check import (
    block_distance,
    centre_distance,
    check_work,
    CheckWork,
    pair_distance,
    place_parts,
    signed_distance,
)
from ik_node.collision.distances.model import CollisionModel, NEAR_LINKS_HINT
from ik_node.collision.distances.sweeps import (
    approach,
    most_of_block,
    relative_sweep,
    shift,
    shift_along,
    write_twists,
)
from ik_node.kinematics.kernels import compiled, inner, shared, small

FIRST_INTERVAL_S = 0.1        # longest interval that is looked at first
WINDOW_S = 0.1                # of segments, which are looked at together before
WIDE_WINDOW = 32              # segments, whose blocks are looked at by their balls before
MAX_INTERVALS = 64            # that wait to be looked at; halving needs one for each level
CONTACT_TIME_S = 1e-3         # to within which the first contact is found
LEAST_DOUBT_M = 2.5e-6        # a distance this little above the least counts as too near
START_SLACK_M = 1e-5          # by which a pair that is too near at the start may come nearer
NO_SEGMENT = -1
NO_SLACK = np.empty((0, 0))   # of joints that are just where a motion has them
PAIR_TOO_NEAR, INTERVAL_PROVED, INTERVAL_UNDECIDED = -1, 0, 1  # of an interval


class JointCurve(NamedTuple):
    """A motion of the joints, as :func:`certify` takes it."""

    lengths: np.ndarray
    """(k,), duration of each segment, s."""
    c: np.ndarray
    """(6, k, n), polynomials of the joints in the time since the start of the segment."""
    slack: np.ndarray = NO_SLACK
    """(k, n), by how much more the joints may be elsewhere in each segment, rad or m; or none."""


class Allowed(NamedTuple):
    """The distances (m) that pairs must keep."""

    least: np.ndarray
    """(K,), changed; below 0, minus the depth of an overlap."""
    wanted: np.ndarray
    """(K,), to which `least` rises, as the pairs come apart."""
    doubt: float
    """A distance this little above the least counts as too near."""


class IntervalWork(NamedTuple):
    """The arrays in which intervals of a motion are looked at."""

    stack: np.ndarray
    """(MAX_INTERVALS, 3), middle and half length (s) of the intervals that wait, and how many
    blocks are looked at."""
    margins: np.ndarray
    """(B,), the largest distance (m) that a pair of each block must keep; not negative."""
    near: np.ndarray
    """(B,) int, numbers of the blocks; those that are looked at come first."""
    rows: np.ndarray
    """(4, n), position in the middle of an interval; how far the joints go from there on a
    straight line, and at most; and position in a segment."""


def interval_work(n: int, blocks: int = 0) -> IntervalWork:
    """Return the workspace of :func:`first_contact` for n joints and some blocks of pairs."""
    return IntervalWork(np.zeros((MAX_INTERVALS, 3)), np.zeros(blocks), np.arange(blocks),
                        np.zeros((4, n)))


@dataclass(frozen=True)
class Contact:
    """Where a trajectory first comes nearer than the margin."""

    time: float
    """s since the trajectory began; until CONTACT_TIME_S before it, the trajectory is free."""
    names: tuple[str, str]
    """The two links or objects."""
    distance: float
    """Of both at that time, m; below 0, how deep they overlap."""
    at_start: float = np.inf
    """Of both at the start, m, if that is less than the margin; else infinite."""
    swept: bool = False
    """Whether joints beside the arm that move may bring them nearer."""
    by_design: bool = False
    """Whether both are links of one arm, which may pass each other so near by its design."""
    reason: ClassVar[Reason] = Reason.COLLISION

    @property
    def words(self) -> str:
        """Return what would happen."""
        first, second = map(quote, self.names)
        if self.distance <= self.at_start <= 0.0:
            return f'{first} and {second}, which overlap by {-1e3 * self.at_start:.2f} mm at ' \
                   f'the start, would overlap by {-1e3 * self.distance:.2f} mm (move them apart ' \
                   'first, or let them touch)'
        near = 'touch' if self.distance <= 0.0 else f'be only {1e3 * self.distance:.1f} mm apart'
        nearer = f', nearer than the {1e3 * self.at_start:.2f} mm at the start' \
            if self.distance <= self.at_start < np.inf else ''
        return f'{first} and {second} would {near}{nearer}' + (
            ', and may come nearer as joints beside the arm move (wait until these rest)'
            if self.swept else NEAR_LINKS_HINT if self.by_design and self.distance > 0.0 else '')


def allowed_distances(model: CollisionModel, q: np.ndarray, work: CheckWork | None = None,
                      swept: bool = False) -> np.ndarray:
    """
    Return the distance (m) that each pair must keep in a motion that starts at q (n,), (K,).

    That of the model; of a pair that is nearer at q, START_SLACK_M less than there: below 0 of one
    that overlaps.

    Parameters
    ----------
    work : CheckWork, optional
        A workspace for the pairs of the model, if there is one already, in which the directions
        are found in which pairs that overlap come apart soonest.
    swept : bool
        Whether this holds of pairs that joints beside the arm may bring nearer as they move, too:
        of an arm that has to be stopped, or to give way.

    """
    enough = model.widest_margin + START_SLACK_M
    distances = model.signed_distances(q, enough, work)
    if distances.min(initial=np.inf) > enough:
        return model.margins  # as nearly always
    allowed = np.minimum(distances - START_SLACK_M, model.margins)
    return allowed if swept else np.where(model.swept, model.margins, allowed)


def certify(model: CollisionModel, begins: np.ndarray, lengths: np.ndarray, c: np.ndarray,
            allowed: np.ndarray | None = None, work: CheckWork | None = None,
            slack: np.ndarray | None = None) -> Contact | None:
    """
    Prove that a trajectory keeps the margin of a model; None if it does.

    Parameters
    ----------
    begins, lengths : (k,) arrays
        Begin and duration of each segment (s).
    c : (6, k, n) array
        Polynomials of the joints in the time since the start of the segment, lowest power first,
        as :func:`ik_node.motion.trajectory.interpolation.segments` returns them.
    allowed : (K,) array, optional
        The distance (m) that each pair must keep.  Default: :func:`allowed_distances` at the
        begin.
    work : CheckWork, optional
        A workspace for the pairs of the model, in which the directions of pairs are kept.
    slack : (k, n) array, optional
        By how much more the joints may be elsewhere in each segment, rad or m.

    Returns
    -------
    Contact or None
        A refusal may be wrong only where the distance is less than LEAST_DOUBT_M above the margin.

    """
    if not len(model.pairs.pairs) or not len(lengths):
        return None
    c = np.ascontiguousarray(c, dtype=float)
    work = work or check_work(model.pairs)
    if allowed is None:
        allowed = allowed_distances(model, c[0, 0], work)
    rises = allowed is not model.margins and bool((allowed < model.margins).any())
    wanted = np.maximum(allowed, model.margins) if rises else allowed
    blocks = len(model.pairs.blocks)
    segment, t, k = first_contact(
        model.pairs_from(c[0, :1]), JointCurve(np.ascontiguousarray(lengths, dtype=float), c,
                                               NO_SLACK if slack is None else slack),
        Allowed(allowed.copy() if rises else allowed, wanted, LEAST_DOUBT_M), blocks,
        interval_work(c.shape[2], blocks), work)
    if segment == NO_SEGMENT:
        return None
    q = (c[:, segment] * t ** np.arange(6)[:, None]).sum(axis=0)
    return Contact(float(begins[segment]) + t, model.names_of(k), model.distance_of(k, q),
                   float(allowed[k]) + START_SLACK_M if allowed[k] < model.margins[k]
                   else np.inf, bool(model.swept[k]), model.one_carries_other(k))


def certify_edge(model: CollisionModel, q0: np.ndarray, q1: np.ndarray,
                 allowed: np.ndarray | None = None,
                 work: CheckWork | None = None) -> Contact | None:
    """Prove the line in joint space from q0 to q1, (n,), in a time of 1, as :func:`certify`."""
    c = np.zeros((6, 1, len(q0)))
    c[0, 0], c[1, 0] = q0, np.subtract(q1, q0)
    return certify(model, np.zeros(1), np.ones(1), c, allowed, work)


@compiled
def first_contact(check, curve, allowed, count, intervals, work):
    """
    Find the first instant at which a pair of parts is too near.

    Parameters
    ----------
    check : Pairs
    curve : JointCurve
    allowed : Allowed
    count : int
        How many blocks are looked at, the first of ``intervals.near``; they change places.
    intervals : IntervalWork
    work : CheckWork

    Returns
    -------
    (int, float, int)
        Segment (NO_SEGMENT if there is none), time in it (s), and pair.

    """
    return contact_on_way(check, curve, allowed, count, intervals, work)


@shared
def contact_on_way(check, curve, allowed, count, intervals, work):
    """As :func:`first_contact`, for compiled functions."""
    lengths, c, slack = curve.lengths, curve.c, curve.slack
    least, wanted, doubt = allowed.least, allowed.wanted, allowed.doubt
    stack, rows, margins = intervals.stack, intervals.rows, intervals.margins
    q, motion, middle, near = rows[0], rows[1:3], rows[3], intervals.near[:count]
    all_blocks = wide = left = count
    end, rises = 0, False
    for k in range(least.shape[0]):
        rises = rises or least[k] < wanted[k]
    for i in range(all_blocks):
        margins[near[i]] = max(0.0, most_of_block(check, near[i], wanted))
    for segment in range(lengths.shape[0]):
        if rises:
            left = all_blocks  # in a window it would not be seen when the pairs come apart
        else:
            if segment % WIDE_WINDOW == 0:
                last = min(segment + WIDE_WINDOW, lengths.shape[0])
                window_deviations(curve, segment, last, q, motion, middle)
                place_parts(check, q, work)
                wide = left = blocks_within(check, motion[1], margins, near, work)
            if segment % WIDE_WINDOW == 0 or segment == end:
                left, end, length = wide, segment + 1, lengths[segment]
                while end < lengths.shape[0] and length + lengths[end] <= WINDOW_S:
                    length, end = length + lengths[end], end + 1
                if left > 0 and end > segment + 1:
                    window_deviations(curve, segment, end, q, motion, middle)
                    place_parts(check, q, work)
                    left, _ = undecided_blocks(check, motion, margins, least, near[:wide], doubt,
                                               work)
                    left = wide if left < 0 else left
        if left == 0:
            continue
        parts = int(np.ceil(lengths[segment] / FIRST_INTERVAL_S))
        for part in range(parts):
            h = 0.5 * lengths[segment] / parts
            stack[0, 0], stack[0, 1], stack[0, 2] = (2 * part + 1) * h, h, left
            waiting = 1
            while waiting > 0:
                waiting -= 1
                t, h, candidates = stack[waiting, 0], stack[waiting, 1], int(stack[waiting, 2])
                positions_at(c, segment, t, q)
                deviations(c, segment, t, h, motion)
                if slack.shape[0] > 0:
                    for i in range(q.shape[0]):
                        motion[1, i] += slack[segment, i]
                place_parts(check, q, work)
                undecided, k = undecided_blocks(check, motion, margins, least, near[:candidates],
                                                doubt, work)
                if undecided == 0:
                    if rises:  # all that is left to be looked at is later
                        rises = raise_least(check, least, wanted, work)
                    continue
                # Shorter intervals would not decide more: the slack stays.
                if h < CONTACT_TIME_S and (undecided < 0 or slack.shape[0] > 0) \
                        or waiting + 2 > stack.shape[0]:
                    return segment, t, k
                h *= 0.5
                # The earlier half is looked at first.
                for sign in (1.0, -1.0):
                    stack[waiting, 0], stack[waiting, 1] = t + sign * h, h
                    stack[waiting, 2] = candidates if undecided < 0 else undecided
                    waiting += 1
    return NO_SEGMENT, 0.0, 0


@inner
def raise_least(check, least, wanted, work):
    """
    Let the least distances (K,) rise with the pairs, after :func:`place_parts`.

    Returns whether some are still below those that are wanted.
    """
    rises = False
    for k in range(least.shape[0]):
        if least[k] < wanted[k]:
            distance = signed_distance(check, k, wanted[k] + START_SLACK_M, -np.inf, work)
            least[k] = max(least[k], min(wanted[k], distance - START_SLACK_M))
            rises = rises or least[k] < wanted[k]
    return rises


@shared
def undecided_blocks(check, motion, margins, least, candidates, doubt, work):
    """
    Bring the blocks that are not proved to be apart on an interval to the front.

    After :func:`place_parts` at its middle.

    Parameters
    ----------
    motion : (2, n) array
        How far the joints go from the middle to the end on a straight line, with their signs; and
        how far they go from the middle at most.
    margins : (B,) array
        As in :class:`IntervalWork`.
    candidates : (b,) int array
        The blocks that are looked at, which change places.

    Returns
    -------
    (int, int)
        How many there are, or PAIR_TOO_NEAR; and a pair that it is about.

    """
    undecided, worst = 0, 0
    if candidates.shape[0] > 0:
        write_twists(check, motion[0], work)
    for i in range(candidates.shape[0]):
        block = candidates[i]
        verdict, k = block_verdict(check, motion, margins[block], least, block, doubt, work)
        if verdict == PAIR_TOO_NEAR:
            return PAIR_TOO_NEAR, k
        if verdict == INTERVAL_UNDECIDED:
            candidates[i], candidates[undecided] = candidates[undecided], block
            undecided, worst = undecided + 1, k
    return undecided, worst


@inner
def blocks_within(check, deviation, margins, candidates, work):
    """
    Bring the blocks that are not apart by their balls to the front; return how many there are.

    `deviation` (n,): how far the joints move at most.  In long intervals the distances of single
    pairs decide little: without them here, and with them in windows of WINDOW_S, the proof takes
    three quarters of the time (Panda, Fetch) or six tenths (UR5).
    """
    near = 0
    for i in range(candidates.shape[0]):
        block = candidates[i]
        a, b = check.blocks[block, 0], check.blocks[block, 1]
        enough = margins[block] + approach(
            check, deviation, (check.group_frames[a], check.group_frames[b]), (a, b))
        if block_distance(check, block, enough, work) <= enough:
            candidates[i], candidates[near] = candidates[near], block
            near += 1
    return near


@small
def block_verdict(check, motion, margin, least, block, doubt, work):
    """Return the verdict on a block of pairs on an interval, and the pair that it is about."""
    groups = check.blocks[block, 0], check.blocks[block, 1]
    frames = check.group_frames[groups[0]], check.group_frames[groups[1]]
    moved, remainder, common = relative_sweep(check, motion, frames, groups, work)
    enough = margin + moved
    if block_distance(check, block, enough, work) > enough:
        return INTERVAL_PROVED, 0
    balls = check.shapes.balls
    verdict, worst = INTERVAL_PROVED, 0
    for k in range(check.blocks[block, 2], check.blocks[block, 3]):
        one, other = check.pairs[k, 0], check.pairs[k, 1]
        centres, radii = (work.centres[one], work.centres[other]), (balls[one, 3], balls[other, 3])
        if centre_distance(centres[0], centres[1]) > enough + radii[0] + radii[1]:
            continue  # a part moves no farther than its group
        closer = min(moved, remainder + shift(work, frames, common, centres, radii))
        if least[k] < 0.0:
            distance = signed_distance(check, k, least[k] + closer, -np.inf, work)
        else:
            distance = pair_distance(check, k, least[k] + closer, least[k], work)
        if distance > least[k] + closer:
            continue
        if distance <= least[k]:
            return PAIR_TOO_NEAR, k
        # The gap is that of this pair, which was searched just now.
        if work.gjk.gap[0] > least[k] + remainder + shift_along(
                work, frames, common, centres, radii, work.directions[k]):
            continue
        if closer < doubt:
            return PAIR_TOO_NEAR, k
        verdict, worst = INTERVAL_UNDECIDED, k
    return verdict, worst


@inner
def window_deviations(curve, first, last, q, motion, middle):
    """
    Write positions amid segments `first` to `last`, and how far each joint is from them there.

    `middle` (n,): workspace.
    """
    lengths, c, slack = curve.lengths, curve.c, curve.slack
    positions_at(c, (first + last) // 2, 0.0, q)
    for i in range(q.shape[0]):
        motion[0, i] = motion[1, i] = 0.0  # no straight line is known
    for segment in range(first, last):
        h = 0.5 * lengths[segment]
        positions_at(c, segment, h, middle)
        for i in range(q.shape[0]):
            away = abs(middle[i] - q[i]) + deviation_of(c, segment, i, h, h)[1]
            if slack.shape[0] > 0:
                away += slack[segment, i]
            motion[1, i] = max(motion[1, i], away)


@inner
def positions_at(c, segment, t, q):
    """Write the positions (n,) at a time in a segment."""
    for i in range(q.shape[0]):
        q[i] = c[0, segment, i] + t * (c[1, segment, i] + t * (c[2, segment, i] + t * (
            c[3, segment, i] + t * (c[4, segment, i] + t * c[5, segment, i]))))


@inner
def deviations(c, segment, t, h, motion):
    """Write how the joints leave their positions at t within h (s), as `motion` (2, n)."""
    for i in range(motion.shape[1]):
        motion[0, i], motion[1, i] = deviation_of(c, segment, i, t, h)


@inner
def deviation_of(c, segment, i, t, h):
    """
    Return how joint i leaves its position at t within h (s) before and after.

    By its velocity at t; and by how much at most.
    """
    c1, c2, c3 = c[1, segment, i], c[2, segment, i], c[3, segment, i]
    c4, c5 = c[4, segment, i], c[5, segment, i]
    # The Taylor series at t, which ends with the fifth power.
    d1 = c1 + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5)))
    d2 = c2 + t * (3.0 * c3 + t * (6.0 * c4 + t * 10.0 * c5))
    d3 = c3 + t * (4.0 * c4 + t * 10.0 * c5)
    d4 = c4 + t * 5.0 * c5
    return h * d1, h * (abs(d1) + h * (abs(d2) + h * (abs(d3) + h * (abs(d4) + h * abs(c5)))))
