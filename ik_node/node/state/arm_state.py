# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The measured state of the arm: checked joint positions and velocities, and the tip pose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import NamedTuple

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ik_node.base.errors import Reason, StateError
from ik_node.base.text import quote
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.other_joints import (
    OtherJoint,
    OtherJointTracker,
    REST_ROOM,
)
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.description.urdf import Tree
from ik_node.model.joint_space import JointSpace
from ik_node.motion.change.active_trajectory import ActiveTrajectory
from ik_node.motion.trajectory.controller_rules import UpdatePeriodEstimator
from ik_node.node.robot.collisions import assumed_positions
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.robot.settings import StartOptions
from ik_node.node.state.clocks import CallbackDelay, message_age, TimeJumps, waited_here
from ik_node.node.state.health_checks import Check
from ik_node.node.state.team import ALONE, Seat
from ik_node.ros.messages.conversion import pose_stamped
from ik_node.ros.messages.joint_states import JointStates, read_joint_state, ReadState
from ik_node.ros.middleware.clocks import both_clocks, MessageInfo, nanoseconds_of, seconds_of
from ik_node.ros.middleware.qos import STATES_QOS

CLOCK_TOLERANCE_S = 0.1  # joint states that take longer do not show that the clocks agree
MAX_DELIVERY_S = 0.25  # largest delivery time that is assumed
LATENESS_MEMORY_S = 60.0  # for which a late trajectory is remembered
SEND_TIME_S = 1e-3  # from publishing to the controller
CLOCK_DRIFT_S = 0.02  # between two clocks during one motion
SIMULATED_RATE_MARGIN = 0.5  # simulated time may be this fraction slower or faster
BACKDATING_S = 2e-3  # a stamped trajectory starts this long before it is sent
POINT_TIME_S = 2e-5  # to write and read each trajectory point
VELOCITY_MARGIN = 1.2  # times its limit: no joint is faster, so the state is invalid
STATE_DELAY_S = 0.1  # of a joint state, during which the joint moves on
LEAP_MEMORY_S = 1.0  # after a leap, until joint states are trusted again
MAX_STATE_BYTES = 2**18  # some thousand joints; longer joint states are not read


@dataclass(frozen=True)
class Instant:
    """One instant on both clocks."""

    now: float  # monotonic time (s)
    # Time of the node's clock (ns); None unless the controller is known to share it.
    stamp: int | None


class MeasuredState(NamedTuple):
    """Measured joint positions and velocities, (n,)."""

    q: np.ndarray
    qd: np.ndarray


class ArmState:
    """
    The measured state.

    Parameters
    ----------
    options : StartOptions
        tip_pose_rate and frame_prefix.

    """

    def __init__(self, node: Node, robot_slot: RobotSlot, options: StartOptions,
                 delay: CallbackDelay, clock_jumps: TimeJumps) -> None:
        self._node = node
        self._robot_slot = robot_slot
        self._delay = delay
        self._clock_jumps = clock_jumps
        self._tip_pose_period = 1.0 / options.tip_pose_rate
        self._prefix = options.frame_prefix
        self._last_tip_pose = 0.0
        self.joints = JointStates()
        self._update_period = UpdatePeriodEstimator()
        self._transit = 0.0  # s that the latest joint state took to us
        self._later = 0.0  # s that a trajectory was later than joint states are ...
        self._later_time = -np.inf  # ... and when
        self._leap = ''
        self._leap_time = -np.inf
        self._tip_poses = node.create_publisher(PoseStamped, '~/tip_pose', 10)
        self._subscription = node.create_subscription(
            JointState, 'joint_states', self._on_bytes, STATES_QOS, raw=True)

    def _on_bytes(self, data: bytes, info: MessageInfo) -> None:
        # Those of several controllers queue up while the node is busy.
        still, waited = self._delay.stood_still(), waited_here(info)
        now = monotonic() - (message_age(info, still) if still else waited)
        message = self._read(data, now)
        sound = message is not None and self._take(message, now)
        if message is not None:
            self._note(message, now, waited)
        if not sound:
            self._node.get_logger().warning(
                f'a message on {self._subscription.topic_name} is left out in whole or part: '
                f'{self.joints.complaint}', throttle_duration_sec=5.0)

    def _read(self, data: bytes, now: float) -> ReadState | None:
        """Return the message; None if it is too long to be read without delaying all else."""
        if len(data) > MAX_STATE_BYTES:
            self.joints.leave_out(
                f'it has {len(data)} bytes, at most {MAX_STATE_BYTES} are read', now)
            return None
        try:
            return read_joint_state(data)
        except RuntimeError:  # rclpy does not name the one of the middleware
            self.joints.leave_out('it cannot be read as a JointState', now)
            return None

    def _take(self, message: ReadState, now: float) -> bool:
        """Store positions and velocities; return whether the whole message was valid."""
        robot = self._robot_slot.robot
        names = () if robot is None else robot.chain.joint_names
        before = [self.joints.positions.get(name, 0.0) for name in names]
        # One that waited longer than that before may be older.
        age = max(self.joints.age(names, now), 0.0) if names else inf
        stamp = self.joints.oldest_stamp(names) if names else 0.0
        taken = self.joints.take(message, now, None if robot is None else robot.joint_names)
        if age < inf:
            # Messages that were held up arrive together; simulated time runs fast, or jumps.
            passed = seconds_of(message.header.stamp) - stamp
            if passed <= self._clock_jumps.longest(age):
                age = max(age, passed)
            self._look_for_leap(robot, before, age, now)
        return taken

    def _note(self, message: ReadState, now: float, waited: float) -> None:
        """Record the time of arrival, `waited` (s) ago, and publish the tip pose."""
        robot = self._robot_slot.robot
        if robot is None or self.joints.age(robot.chain.joint_names[:1], now) > 0.0:
            return  # the first joint of the arm is not in this message
        stamp, clock = seconds_of(message.header.stamp), self._node.get_clock()
        # How fast simulated time passed while it waited is not known.
        received = 1e-9 * clock.now().nanoseconds - waited * (not clock.ros_time_is_active) \
            - self._clock_jumps.since_stamp(nanoseconds_of(message.header.stamp))
        self._transit = received - stamp
        self._update_period.add(stamp, received)
        if now - self._last_tip_pose < self._tip_pose_period:
            return
        self._last_tip_pose = now
        if not self._tip_poses.get_subscription_count():
            return
        try:
            q, _ = self.joints.state(robot.chain.joint_names, now,
                                     robot.settings.monitor.state_timeout)
        except StateError:
            return
        pose = pose_stamped(forward_kinematics(robot.chain, q),
                            self._prefix + robot.chain.base_link)
        pose.header.stamp = Time(sec=message.header.stamp.sec,
                                 nanosec=message.header.stamp.nanosec)
        self._tip_poses.publish(pose)

    def renew_tip_pose(self) -> None:
        """Publish the tip pose with the next joint state, because it is another one now."""
        self._last_tip_pose = 0.0

    def _look_for_leap(self, robot: Robot, before: list[float], age: float, now: float) -> None:
        """Detect a joint that is farther from `before` (n,), `age` (s) ago, than it can move."""
        chain, positions = robot.chain, self.joints.positions
        longest = VELOCITY_MARGIN * (age + STATE_DELAY_S)  # s, at the limit of its velocity
        possible = (longest * robot.settings.limits.velocity).tolist()
        for k, name in enumerate(chain.joint_names):
            if abs(positions[name] - before[k]) <= possible[k]:
                continue
            moved = abs(chain.difference(self.last(robot)[0], np.array(before))[k])
            if moved <= longest * robot.fastest[k]:
                continue  # whole turns, or a motion with other limits
            self._leap = f'joint {quote(name)} leapt by {moved:.3g} within {age:.2g} s'
            self._leap_time = now
            self._node.get_logger().warning(str(self._leap_error()), throttle_duration_sec=5.0)

    def _leap_error(self) -> StateError:
        """Return the error for the last leap; a jump of time may be detected after it."""
        jump = self._clock_jumps.since(self._leap_time - LEAP_MEMORY_S)
        if jump:
            return StateError(f'simulated time jumped forward by {jump:.1f} s, and {self._leap}',
                              Reason.TIME_JUMPED)
        topic = self._subscription.topic_name
        return StateError(f'{self._leap}, faster than it can move; {self._publishers(topic)} on '
                          f'{topic}: do they contradict one another?', Reason.STATE_INVALID)

    def _publishers(self, topic: str) -> str:
        count = self._node.count_publishers(topic)
        return f'{count} publisher{"s" * (count != 1)}'

    def next_update(self, points: int = 0) -> float:
        """Return the monotonic time (s) at which the controller starts a trajectory sent now."""
        now = 1e-9 * self._node.get_clock().now().nanoseconds
        arrival = now + SEND_TIME_S + points * POINT_TIME_S
        return monotonic() + self._update_period.next_update(arrival, self._given()) - now

    def clocks_agree(self) -> bool:
        """Return whether the joint states show that controller and node share a clock."""
        return self._update_period.clocks_agree(CLOCK_TOLERANCE_S)

    def instant(self) -> Instant:
        """Return the present."""
        now, stamp = both_clocks(self._node.get_clock())
        return Instant(now, stamp if self.clocks_agree() else None)

    def elapsed(self, active: ActiveTrajectory, at: Instant) -> float | None:
        """
        Return the time (s) since the start of a motion, by its stamp.

        None if it has no stamp, the clocks disagree, or the node's clock was set since then.
        """
        if at.stamp is None or active.stamp is None:
            return None
        elapsed, steady = 1e-9 * (at.stamp - active.stamp), at.now - active.began
        # A simulation may run slower or faster than real time.
        room = CLOCK_DRIFT_S + (SIMULATED_RATE_MARGIN * steady
                                if self._node.get_clock().ros_time_is_active else 0.0)
        return elapsed if abs(elapsed - steady) <= room else None

    def stamp_of(self, time: float) -> int:
        """Return a monotonic time (s) by the clock of the node (ns)."""
        now, stamp = both_clocks(self._node.get_clock())
        return stamp + round(1e9 * (time - now))

    def delivery(self, points: int = 0) -> float:
        """Return the estimated longest delivery time (s) of a trajectory to the controller."""
        _, slow = self._update_period.delivery
        left = 1.0 - (monotonic() - self._later_time) / LATENESS_MEMORY_S
        return min(max(slow, 0.0) + self._later * max(left, 0.0), MAX_DELIVERY_S) \
            + SEND_TIME_S + points * POINT_TIME_S

    def was_late(self, seconds: float) -> None:
        """Record by how much (s) a trajectory exceeded the expected delivery time."""
        self._later, self._later_time = min(seconds, MAX_DELIVERY_S), monotonic()

    @property
    def past(self) -> float:
        """Return how far (s) in the past the controller may still be on its motion."""
        quick, _ = self._update_period.delivery
        return BACKDATING_S + max(quick, 0.0)

    @property
    def cycle(self) -> float:
        """Return the time (s) between two updates of the controller."""
        return self._given() or self._update_period.period

    def _given(self) -> float:
        return self._robot_slot.require().settings.controller_period

    def fresh(self, robot: Robot) -> MeasuredState:
        """
        Return fresh and possible q and qd of the chain.

        Raises
        ------
        StateError
            If a joint state is missing, old, or faster than its joint can be; NODE_LATE if it
            is old because this node could not take a newer one.

        """
        chain, settings = robot.chain, robot.settings
        try:
            q, qd = self.joints.state(chain.joint_names, monotonic(),
                                      settings.monitor.state_timeout)
        except StateError as error:
            late = self.own_delay(robot)
            if error.reason is Reason.STATE_STALE and late:
                raise StateError(
                    f'this node itself was late by {late:.1f} s: its process stood still, or had '
                    'no processor; the joint states of that time are still to be taken',
                    Reason.NODE_LATE) from None
            topic = self._subscription.topic_name
            raise StateError(f'{error}; {self._publishers(topic)} on {topic}',
                             error.reason) from None
        limits = robot.fastest
        share = np.abs(qd) / limits
        k = int(share.argmax())
        if share[k] > VELOCITY_MARGIN:
            raise StateError(f'joint {quote(chain.joint_names[k])} reports a velocity of '
                             f'{qd[k]:.4g}, its limit is {limits[k]:.4g}; '
                             'are the units of the joint states right?', Reason.STATE_INVALID)
        return MeasuredState(q, qd)

    def startable(self, robot: Robot) -> MeasuredState:
        """
        Return fresh q and qd of the chain, within (or just outside) its limits.

        The health of the node reports the same errors.

        Raises
        ------
        StateError
            As :meth:`fresh`, STATE_INVALID if a joint leapt just now, and
            START_OUT_OF_LIMITS.

        """
        chain, settings = robot.chain, robot.settings
        here = self.fresh(robot)
        q = here.q
        if monotonic() - self._leap_time < LEAP_MEMORY_S:
            raise self._leap_error()
        require_near_limits(chain, q, settings.start_tolerance)
        return here

    def measured(self, robot: Robot) -> MeasuredState:
        """Return :meth:`startable`, with a warning if a joint is just outside its limits."""
        chain, here = robot.chain, self.startable(robot)
        k, excess = _farthest_outside(chain, here.q)
        if excess > 0.0:
            self._node.get_logger().warning(
                f'joint {quote(chain.joint_names[k])} starts {excess:.2g} outside its limits; '
                'it moves inward', throttle_duration_sec=5.0)
        return here

    def measured_ago(self, robot: Robot) -> float:
        """Return the age (s) of the last q, including its transit time if known."""
        age = self.joints.age(robot.chain.joint_names, monotonic())
        return age + max(self._transit, 0.0) if self.clocks_agree() else age

    def own_delay(self, robot: Robot) -> float:
        """Return how late (s) this node was, if only that makes the joint states too old."""
        age, timeout = self.last(robot)[1], robot.settings.monitor.state_timeout
        if not timeout < age < np.inf:
            return 0.0
        late = self._delay.since(monotonic() - age)
        return late if age - late <= timeout else 0.0

    def until_taken(self, robot: Robot) -> Iterator[None]:
        """Yield until the joint states are taken that waited while this node was late."""
        while self.own_delay(robot):
            yield

    def jumped_since(self, time: float) -> float:
        """Return by how much (s) simulated time jumped forward after a monotonic time (s)."""
        return self._clock_jumps.since(time)

    def last(self, robot: Robot) -> tuple[np.ndarray | None, float]:
        """Return the last q of the chain, (n,), and its age (s); None if one is missing."""
        names = robot.chain.joint_names
        age = self.joints.age(names, monotonic())
        if not np.isfinite(age):
            return None, age
        return np.array([self.joints.positions[name] for name in names]), age


def require_near_limits(space: JointSpace, q: np.ndarray, tolerance: float) -> None:
    """Raise StateError, START_OUT_OF_LIMITS, if a joint of q (n,) is farther outside them."""
    k, excess = _farthest_outside(space, q)
    if excess > tolerance:
        unit = 'rad' if space.revolute[k] else 'm'
        raise StateError(
            f'joint {quote(space.joint_names[k])} stands at {q[k]:.4g}, {excess:.3g} {unit} '
            f'outside its limits [{space.lower[k]:.4g}, {space.upper[k]:.4g}], the threshold is '
            f'{tolerance:g} {unit}; bring it back by hand, or raise motion.start_tolerance',
            Reason.START_OUT_OF_LIMITS)


def _farthest_outside(chain: JointSpace, q: np.ndarray) -> tuple[int, float]:
    """Return the joint of q (n,) that is farthest outside its limits, and by how much."""
    excess = np.maximum(chain.lower - q, q - chain.upper)
    k = int(excess.argmax())
    return k, float(excess[k])


JOINT_LOOK_PERIOD_S = 0.02  # between two looks at joints beside the arm
IDLE_LOOK_PERIOD_S = 0.5    # between two looks whether there are any
WARN_PERIOD_S = 60.0


class OtherJoints:
    """
    Follows the joints beside the arm, or the arms, of a robot.

    Parameters
    ----------
    assumed : tuple of str
        The parameter collision.other_joints.
    seat : Seat
        What other arms of the robot do.

    """

    def __init__(self, node: Node, states: JointStates, assumed: tuple[str, ...],
                 seat: Seat = ALONE) -> None:
        self._logger, self._states, self._assumed = node.get_logger(), states, assumed
        self.seat = seat
        self._robot: object = None
        self._tracker: OtherJointTracker | None = None
        # Where they are by the joint states, and where they were said to be last.
        self._measured: dict[str, OtherJoint] = {}
        self._told: dict[str, OtherJoint] = {}
        self._said, self._said_at = '', -inf

    @property
    def period(self) -> float:
        """Return the time (s) until it is worth to look again."""
        return IDLE_LOOK_PERIOD_S if self._tracker is None else JOINT_LOOK_PERIOD_S

    @property
    def complaint(self) -> str:
        """Return of which of them it is not known where they are, in words; '' of none."""
        return '' if self._tracker is None else self._tracker.complaint

    def look(self, robot: object, tree: Tree, model: CollisionModel | None,
             streams: bool = False) -> CollisionModel | None:
        """
        Return a model with the joints where they are now; None if that changes nothing.

        Parameters
        ----------
        robot : object
            Another one has other joints.
        model : CollisionModel or None
            None: collisions are not checked.
        streams : bool
            Whether the arm follows a stream or a jog.

        """
        if robot is not self._robot:
            self._robot, self._tracker, self._measured, self._told = robot, None, {}, {}
            if model is not None and model.other_joints:
                self._tracker = OtherJointTracker(tree, model.other_joints,
                                                  assumed_positions(tree, self._assumed))
        if self._tracker is None:
            return None
        self._measured = self._tracker.look(self._states, monotonic()) or self._measured
        # What a stream does next is decided by what is measured.
        found = {**self._measured, **({} if streams else {
            name: OtherJoint(value, REST_ROOM) for name, value in self.seat.ends().items()
            if name in self._measured})}
        if found == self._told:
            return None
        self._told = found
        return model.with_others(found)

    def warn(self) -> None:
        """Say, now and then and when that changes, which joints are not known."""
        complaint, now = self.complaint, monotonic()
        if complaint and (complaint != self._said or now > self._said_at + WARN_PERIOD_S):
            self._said, self._said_at = complaint, now
            self._logger.warning(f'{complaint}; {Check.OTHER_JOINTS.advice}')
