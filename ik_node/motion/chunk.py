# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Chunks: poses of the tip at given times, as a learned policy sends them, one chunk after another.

A chunk replaces of the one before what comes from its own first time on.  The motion is that of a
follower that knows its target ahead: it keeps all limits, and comes to rest before what it would
touch; so it ends at rest whether or not another chunk follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ik_node.base.errors import GoalError, PathError, Reason
from ik_node.base.se3 import distance as pose_distance, rotation_quaternion
from ik_node.base.text import quote
from ik_node.collision.distances.certificate import Contact
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.arm import forward_kinematics, jacobian
from ik_node.model.chain import Chain
from ik_node.motion.constrained.constraint import (
    described_excess,
    most_excess,
    PathConstraint,
)
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.options import FollowOptions
from ik_node.motion.following.pose_stream import TargetState
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.timed_curve import curve_states
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.motion.trajectory.validate import validate

MAX_CHUNK_POSES = 500
MAX_CHUNK_S = 8.0         # from now to the last pose
MIN_POSE_SPACING_S = 2e-3  # between two poses
ROUNDED_SHARE = 1e-6  # of it, by which times may be nearer
KEPT_BEFORE = 3           # poses that shape the curve before the time from which it is followed
CHUNK_CYCLE_S = 0.02      # in which the motion is decided
SETTLING_S = 1.0          # after the last pose, to come to rest there
SLOWING_SHARE = 0.8       # of the limits, for the way to rest at the last pose
NEAR = 1e-4, 1e-3         # m, rad of the last pose, where the ramp to rest begins
MISSED = 2e-3, 2e-2       # m, rad from the last pose; an arm that rests farther away missed it


@dataclass(frozen=True, eq=False)
class TimedPoses:
    """Poses of the tip at given times."""

    times: np.ndarray  # (k,), s, increasing
    poses: np.ndarray  # (k, 4, 4), ``T_base_tip``, m

    @staticmethod
    def checked(times: Sequence[float], poses: np.ndarray) -> TimedPoses:
        """
        Return poses (k, 4, 4) that can be followed.

        Raises
        ------
        GoalError
            PATH_INVALID, if there are none, or too many, or the times do not increase.

        """
        given = np.array(times, dtype=float)
        if not 0 < len(given) <= MAX_CHUNK_POSES:
            raise GoalError(f'the chunk has {len(given)} poses; 1 to {MAX_CHUNK_POSES} are taken',
                            Reason.PATH_INVALID)
        k = int(np.diff(given, prepend=-np.inf).argmin())
        if k and given[k] - given[k - 1] < (1.0 - ROUNDED_SHARE) * MIN_POSE_SPACING_S:
            raise GoalError(f'pose {k + 1} of the chunk is {given[k] - given[k - 1]:.4g} s after '
                            f'pose {k}; the times must increase, by {MIN_POSE_SPACING_S:g} s at '
                            'least', Reason.PATH_INVALID)
        return TimedPoses(given, poses)

    def later(self, seconds: float) -> TimedPoses:
        """Return the same by another clock, which is ahead by so much."""
        return replace(self, times=self.times + seconds)

    def after(self, earlier: TimedPoses, now: float) -> TimedPoses:
        """Return the poses of a chunk, and of an earlier one those before; from `now` (s) on."""
        before = earlier.times < self.times[0] - MIN_POSE_SPACING_S
        times = np.concatenate([earlier.times[before], self.times])
        first = max(int(np.searchsorted(times, now)) - KEPT_BEFORE, 0)
        poses = np.concatenate([earlier.poses[before], self.poses])
        return TimedPoses(times[first:], poses[first:])


@dataclass(frozen=True)
class Slowdown:
    """How the target comes to rest at the last pose, where it would be at speed."""

    begin: float     # time (s) from which it is late
    duration: float  # s

    def passed(self, times: np.ndarray) -> np.ndarray:
        """Return what time is passed at each of `times` (m,), its rate, and that of it: (3, m)."""
        after = np.clip(times - self.begin, 0.0, None)
        s = np.minimum(after / self.duration, 1.0)
        slowed = self.begin + self.duration * s * (1.0 - s * s * (1.0 - 0.5 * s))
        return np.stack([np.where(after > 0.0, slowed, times), 1.0 - s * s * (3.0 - 2.0 * s),
                         -6.0 * s * (1.0 - s) / self.duration])


class ChunkCurve:
    """
    The smooth curve through the poses of a chunk: cubic splines of positions and quaternions.

    Parameters
    ----------
    chunk : TimedPoses
    twist : (6,) array, optional
        Of the tip at the first pose, m/s and rad/s in the axes of the base.

    """

    def __init__(self, chunk: TimedPoses, twist: np.ndarray | None = None) -> None:
        quaternions = np.array([rotation_quaternion(T[:3, :3]) for T in chunk.poses])
        turns = (quaternions[1:] * quaternions[:-1]).sum(axis=1) < 0.0
        quaternions[1:] *= np.where(np.cumsum(turns) % 2, -1.0, 1.0)[:, None]
        self._times = chunk.times
        self._channels = np.hstack([chunk.poses[:, :3, 3], quaternions])
        lines = np.diff(self._channels, axis=0) / np.diff(self._times)[:, None]
        self._ends = [*lines[:1], *lines[-1:]]  # velocities there; none of a single pose
        if twist is not None:
            w, v, omega = quaternions[0, 0], quaternions[0, 1:], twist[3:]
            self._ends[0] = np.concatenate([
                twist[:3], [-0.5 * omega @ v], 0.5 * (w * omega + np.cross(omega, v))])

    @property
    def last(self) -> float:
        """Return the time (s) of the last pose."""
        return float(self._times[-1])

    def targets(self, times: np.ndarray, slowdown: Slowdown | None = None) -> list[TargetState]:
        """Return the target at `times` (m,), s; it rests before the first and after the last."""
        passed, rate, change = np.stack([times, np.ones(len(times)), np.zeros(len(times))]) \
            if slowdown is None else slowdown.passed(times)
        inside = np.clip(passed, self._times[0], self.last)
        states = self._states(inside)
        states[inside != passed, 1:] = 0.0
        states[:, 2] = rate[:, None]**2 * states[:, 2] + change[:, None] * states[:, 1]
        states[:, 1] *= rate[:, None]
        rotations, angular = _rotations(states[:, :, 3:])
        return [TargetState(np.concatenate([R.ravel(), p]), np.concatenate([v, w]),
                            np.concatenate([a, dw]))
                for R, (p, v, a), (w, dw) in zip(rotations, states[:, :, :3], angular)]

    def _states(self, times: np.ndarray) -> np.ndarray:
        if len(self._times) > 1:
            return curve_states(self._times, self._channels, times, *self._ends)
        states = np.zeros((len(times), 3, self._channels.shape[1]))
        states[:, 0] = self._channels
        return states


def _rotations(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return rotations (m, 3, 3), and angular velocities and accelerations (m, 2, 3) in the base.

    Parameters
    ----------
    states : (m, 3, 4) array
        Quaternions w, x, y, z of any length, with first and second derivatives by time.

    """
    q, first, second = states.swapaxes(0, 1)
    length = np.linalg.norm(q, axis=1, keepdims=True)
    q = q / length
    rate = (q * first).sum(axis=1, keepdims=True)
    first = (first - rate * q) / length
    # Its part along q changes the length only.
    second = (second - 2.0 * rate * first) / length
    w, v = q[:, :1], q[:, 1:]
    angular = np.stack([2.0 * (w * d[:, 1:] - d[:, :1] * v - np.cross(d[:, 1:], v))
                        for d in (first, second)], axis=1)
    x, y, z = v.T
    w = w[:, 0]
    R = np.array([[1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
                  [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
                  [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)]])
    return R.transpose(2, 0, 1), angular


@dataclass(frozen=True, eq=False)
class ChunkPlan:
    """The motion along a chunk."""

    trajectory: Trajectory
    deviation: tuple[float, float]
    """Largest distance of the tip from the poses at their times, m and rad."""
    interruption: PathError | None
    """Why it does not come to the last pose."""


def plan_chunk(chain: Chain, collisions: CollisionModel | None, start: StartState,
               chunk: TimedPoses, limits: MotionLimits, options: FollowOptions = FollowOptions(),
               constraints: Sequence[PathConstraint] = ()) -> ChunkPlan:
    """
    Plan the motion along a chunk, from a state at rest or in motion, to rest.

    Parameters
    ----------
    chunk : TimedPoses
        By the time of the trajectory, which is 0 at its start.
    constraints : sequence of PathConstraint
        As for :class:`ik_node.motion.following.follower.Follower`.

    Raises
    ------
    ParameterError
        If a limit or an option does not suit the chain.
    TrajectoryError
        If a limit would not be kept.

    """
    follower = Follower(chain, limits, replace(options, look_ahead=CHUNK_CYCLE_S, joins=True),
                        collisions, constraints)
    begin, before = start.splice_time, start.splice
    follower.begin(before, begin)
    twist = None
    if begin < chunk.times[0] - MIN_POSE_SPACING_S:  # from where the tip is
        here, twist = forward_kinematics(chain, before.q), jacobian(chain, before.q) @ before.qd
        chunk = TimedPoses(np.append(begin, chunk.times), np.concatenate([here[None],
                                                                          chunk.poses]))
    curve = ChunkCurve(chunk, twist)
    count = int(np.ceil((max(curve.last - begin, 0.0) + SETTLING_S) / CHUNK_CYCLE_S))
    times = begin + CHUNK_CYCLE_S * np.arange(1, count + 1)
    targets, slowdown = curve.targets(times), None
    farthest, done = np.zeros(2), None
    for k, time in enumerate(times):
        if slowdown is None:
            slowdown = _slowdown(follower.commanded_qd, time - CHUNK_CYCLE_S, curve.last,
                                 limits)
            if slowdown is not None:
                targets[k:] = curve.targets(times[k:], slowdown)
        follower.lead(targets[k], time)
        done = follower.step(time - CHUNK_CYCLE_S)
        error = np.array([done.position_error, done.orientation_error])
        if slowdown is None:
            farthest = np.maximum(farthest, error)
        elif time > slowdown.begin + slowdown.duration and (error < NEAR).all():
            break
    trajectory = follower.motion_from(start)
    validate(trajectory, limits)
    return ChunkPlan(trajectory, (float(farthest[0]), float(farthest[1])), _interruption(
        forward_kinematics(chain, trajectory.end), chunk.poses[-1], done.contact,
        constraints))


def _slowdown(qd: np.ndarray, now: float, last: float, limits: MotionLimits) -> Slowdown | None:
    """Return how to come to rest from `qd` (n,) at a time (s), if it is time for that."""
    speed = np.abs(qd)
    needed = max(float((1.5 * speed / (SLOWING_SHARE * limits.acceleration)).max()),
                 float(np.sqrt(6.0 * speed / (SLOWING_SHARE * limits.jerk)).max()))
    left = last - now
    return Slowdown(now, max(2.0 * left, CHUNK_CYCLE_S)) \
        if 2.0 * (left - CHUNK_CYCLE_S) <= needed else None


def _interruption(T_base_end: np.ndarray, T_base_last: np.ndarray, contact: Contact | None,
                  constraints: Sequence[PathConstraint]) -> PathError | None:
    """Return why the tip comes to rest away from the last pose; None if it does not."""
    distance, angle = pose_distance(T_base_end, T_base_last)
    if distance <= MISSED[0] and angle <= MISSED[1]:
        return None
    why, reason = 'the joints cannot follow', Reason.PATH_INTERRUPTED
    excess = most_excess(constraints, T_base_last)
    if contact is not None:
        first, second = map(quote, contact.names)
        why, reason = f'{first} would come too near to {second}', Reason.COLLISION
    elif excess[1] > 0.0:
        why, reason = f'{described_excess(*excess)} there', Reason.CONSTRAINT
    return PathError(f'the tip rests {1e3 * distance:.1f} mm and {angle:.3f} rad from the last '
                     f'pose of the chunk, because {why}', reason)
