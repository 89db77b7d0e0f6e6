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
    powers = lengths[:, None] ** np.arange(POWERS)
    sizes = np.abs(c)
    off = (sizes[1:] * powers.T[1:, :, None]).sum(axis=0)
    low, high = (c[0] - off).min(axis=0), (c[0] + off).max(axis=0)
    speed = (np.arange(1, POWERS)[:, None, None] * sizes[1:]
             * powers.T[:-1, :, None]).sum(axis=0).max(axis=0)
    return 0.5 * (low + high), 0.5 * (high - low) + motion.late * speed + motion.room


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
    for motion, own_begins, own_lengths, own in moving:
        time = begins + 0.5 * lengths - motion.begin
        k = np.clip(np.searchsorted(own_begins, time, 'right') - 1, 0, len(own_begins) - 1)
        shift = (begins - motion.begin - own_begins[k])[:, None]
        held = (time < 0.0) | (time > own_begins[-1] + own_lengths[-1])
        after = time > own_begins[-1]
        part = _shifted(own[:, k], np.where(held[:, None], 0.0, shift))
        ends_at = own[:, -1].T @ own_lengths[-1] ** np.arange(POWERS)
        part[1:, held] = 0.0
        part[0, held & after] = ends_at
        part[0, held & ~after] = own[0, 0]
        c[:, :, motion.joints] = part
        slack[:, motion.joints] += motion.late * _fastest_around(
            begins, lengths, _speeds(part, lengths), motion.late)
    first = int(np.searchsorted(begins, 0.0))
    return begins[first:], lengths[first:], np.ascontiguousarray(c[:, first:]), slack[first:]


def _shifted(c: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Return polynomials (6, k, m) in the time since `shift` (k, 1) after their begin."""
    c = c.copy()
    for end in range(1, POWERS):  # Horner's rule, again and again
        for k in range(POWERS - 2, end - 2, -1):
            c[k] += shift * c[k + 1]
    return c


def _speeds(c: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return a bound of the speed (k, m) on each interval, by the derivatives in its middle."""
    half = 0.5 * lengths[:, None]
    middle = _shifted(c, half)
    return sum((k * np.abs(middle[k]) * half ** (k - 1) for k in range(2, POWERS)),
               np.abs(middle[1]))


def _fastest_around(begins: np.ndarray, lengths: np.ndarray, speeds: np.ndarray,
                    late: float) -> np.ndarray:
    """Return the largest speed (k, m) within `late` (s) of each interval."""
    first = np.minimum(np.searchsorted(begins + lengths, begins - late, 'right'), len(begins) - 1)
    last = np.maximum(np.searchsorted(begins, begins + lengths + late, 'left'), first + 1)
    # The maxima of rows from first to before last; there has to be a row after the last.
    rows = np.vstack([speeds, speeds[-1:]])
    return np.maximum.reduceat(rows, np.column_stack([first, last]).ravel())[::2]
