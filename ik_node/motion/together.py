# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Proof that arms of one robot, each on a motion of its own, keep apart from each other.

Their motions are laid over each other as the controllers interpolate them, from a common time on;
where one has ended it rests.  Each may be carried out somewhat late or early: by how much more a
joint may be elsewhere then is bounded by its largest speed around each interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ik_node.collision.distances.certificate import certify, Contact
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.kernels import compiled, inner
from ik_node.motion.trajectory.sampling import compiled_segments
from ik_node.motion.trajectory.trajectory import Trajectory

LAST_INTERVAL_S = 1e-6   # in which all rest
NARROW_RAD = 0.3         # or m; motions that go less far are first proved to be free at any time
POWERS = 6               # of a quintic


@dataclass(frozen=True, eq=False)
class ArmMotion:
    """What an arm does from some time on, at which it may be under way already."""

    joints: np.ndarray
    """(m,) int, the columns of its joints in the robot."""
    trajectory: Trajectory | np.ndarray
    """Or the posture (m,) in which it rests."""
    begin: float = 0.0
    """Of the trajectory, s after the common time; negative if it has begun before."""
    late: float = 0.0
    """By how much (s) it may be carried out later, or earlier, than by the common clock."""
    room: float | np.ndarray = 0.0
    """By how much its joints may be elsewhere besides, one number or (m,), rad or m."""


def contact_between(model: CollisionModel, motions: Sequence[ArmMotion]) -> Contact | None:
    """
    Prove that motions of several arms are free, in any order of who is late; None if they are.

    Parameters
    ----------
    model : CollisionModel
        Of all joints of the robot, such as :meth:`CollisionModel.between` the arms.
    motions : sequence of ArmMotion
        Of all arms.

    Returns
    -------
    Contact or None
        Its time is since the common time.

    """
    if not len(model.pairs.pairs):
        return None
    c, slack = np.zeros((POWERS, 1, model.chain.n)), np.zeros((1, model.chain.n))
    for motion in motions:
        c[0, 0, motion.joints], slack[0, motion.joints] = _place(motion)
    # Wherever each is on its way; the middle is no place that they have been to.
    if slack.max() < NARROW_RAD and certify(model, np.zeros(1), np.full(1, LAST_INTERVAL_S), c,
                                            model.margins, slack=slack) is None:
        return None
    *motion, slack = laid_over(model.chain.n, motions)
    return certify(model, *motion, slack=slack)


def _place(motion: ArmMotion) -> tuple[np.ndarray, np.ndarray | float]:
    """Return the middle (m,) of all places that an arm passes, and how far beside it may be."""
    if not isinstance(motion.trajectory, Trajectory):
        return motion.trajectory, motion.room
    _, lengths, c = compiled_segments(motion.trajectory)
    low, high, speed = bounds(lengths, c)
    return 0.5 * (low + high), 0.5 * (high - low) + motion.late * speed + motion.room


@compiled
def bounds(lengths, c):
    """Return the least and largest position, and the largest speed, (m,) each, of polynomials."""
    low, high = np.full(c.shape[2], np.inf), np.full(c.shape[2], -np.inf)
    fastest = np.zeros(c.shape[2])
    for k in range(c.shape[1]):
        for joint in range(c.shape[2]):
            off = speed = 0.0
            for power in range(POWERS - 1, 0, -1):
                off = (off + abs(c[power, k, joint])) * lengths[k]
                speed = speed * lengths[k] + power * abs(c[power, k, joint])
            low[joint] = min(low[joint], c[0, k, joint] - off)
            high[joint] = max(high[joint], c[0, k, joint] + off)
            fastest[joint] = max(fastest[joint], speed)
    return low, high, fastest


def laid_over(n: int, motions: Sequence[ArmMotion]) -> tuple[np.ndarray, ...]:
    """
    Return motions of arms as one of all n joints, from the common time until all rest.

    Returns
    -------
    begins, lengths : (k,) arrays
        s.
    c : (6, k, n) array
        Polynomials, as for :func:`ik_node.collision.distances.certificate.certify`.
    slack : (k, n) array
        By how much the joints may be elsewhere, rad or m.

    """
    moving = [(motion, *compiled_segments(motion.trajectory)) for motion in motions
              if isinstance(motion.trajectory, Trajectory)]
    ends = [motion.begin + begins[-1] + lengths[-1] for motion, begins, lengths, _ in moving]
    late = max(motion.late for motion in motions)
    instants = np.unique(np.concatenate([
        [-late, 0.0, max([*ends, 0.0]) + late + LAST_INTERVAL_S], *(
            motion.begin + np.append(begins, begins[-1] + lengths[-1])
            for motion, begins, lengths, _ in moving)]))
    # From before the common time on: who is late is where he was to be then.
    instants = instants[instants >= -late]
    begins, lengths = instants[:-1], np.diff(instants)
    c, slack = np.zeros((POWERS, len(begins), n)), np.zeros((len(begins), n))
    for motion in motions:
        slack[:, motion.joints] = motion.room
        if not isinstance(motion.trajectory, Trajectory):
            c[0][:, motion.joints] = motion.trajectory
    for motion, own_begins, *own in moving:
        lay_over(begins, lengths, (motion.begin + own_begins, *own), motion.late, motion.joints, c,
                 slack)
    first = int(np.searchsorted(begins, 0.0))
    return begins[first:], lengths[first:], np.ascontiguousarray(c[:, first:]), slack[first:]


@compiled
def lay_over(begins, lengths, motion, late, joints, c, slack):
    """
    Write a motion over intervals, in none of which it passes a point.

    Parameters
    ----------
    begins, lengths : (k,) arrays
        Of the intervals, s.
    motion : tuple of (o,), (o,), (6, o, m) arrays
        Its begins and lengths by the same time, s, and its polynomials.
    late : float
        As in :class:`ArmMotion`.
    joints : (m,) int array
        Columns of `c` and `slack` that it has.
    c : (6, k, n) array
        Polynomials, written.
    slack : (k, n) array
        By how much the joints are elsewhere if they are late, added.

    """
    own_begins, own_lengths, own = motion
    count, last = begins.shape[0], own_begins.shape[0] - 1
    speeds = np.empty(count)
    for m in range(joints.shape[0]):
        joint, k = joints[m], 0
        for i in range(count):
            middle = begins[i] + 0.5 * lengths[i]
            while k < last and own_begins[k + 1] <= middle:
                k += 1
            shift = begins[i] - own_begins[k]
            before, after = middle < own_begins[0], middle > own_begins[last] + own_lengths[last]
            if before or after:
                shift = own_lengths[last] if after else 0.0
            for power in range(POWERS):
                c[power, i, joint] = own[power, k, m]
            shift_polynomial(c, i, joint, shift)
            if before or after:
                for power in range(1, POWERS):
                    c[power, i, joint] = 0.0
            speeds[i] = largest_speed(c, i, joint, lengths[i])
        # The largest speed within `late` of each interval.
        start = 0
        for i in range(count):
            while start < count - 1 and begins[start] + lengths[start] <= begins[i] - late:
                start += 1
            fastest, near = speeds[start], start + 1
            while near < count and begins[near] < begins[i] + lengths[i] + late:
                fastest = max(fastest, speeds[near])
                near += 1
            slack[i, joint] += late * fastest


@inner
def shift_polynomial(c, i, joint, shift):
    """Change the polynomial c[:, i, joint] to be in the time since `shift` after its begin."""
    for end in range(1, POWERS):  # Horner's rule, again and again
        for power in range(POWERS - 2, end - 2, -1):
            c[power, i, joint] += shift * c[power + 1, i, joint]


@inner
def largest_speed(c, i, joint, length):
    """Return a bound of the speed on an interval, by the derivatives in its middle."""
    half, speed = 0.5 * length, 0.0
    for power in range(POWERS - 1, 0, -1):
        derivative = 0.0  # of that order in the middle, by its factorial
        for each in range(POWERS - 1, power - 1, -1):
            binomial = 1.0
            for step in range(power):
                binomial *= (each - step) / (step + 1.0)
            derivative = derivative * half + binomial * c[each, i, joint]
        speed = speed * half + power * abs(derivative)
    return speed
