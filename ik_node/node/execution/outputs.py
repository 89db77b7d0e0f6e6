# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Outputs to the controller: trajectories by topic or action, positions, and commands.

Serialized trajectory_msgs/JointTrajectory, directly from the arrays of a trajectory.

In CDR, little endian, as every RMW of ROS 2 sends it (OMG, "DDS Interoperability Wire Protocol",
version 2.5, section 10; "Common Data Representation" in CORBA 3.3, part 2, section 9.3).  To fill
a message with Python numbers, which the middleware reads again, takes ten times as long: 0.15 ms
more for 30 points, 5 ms for 1,000.  A goal with a path of 600 points then waits 37 % longer, and
all else meanwhile; a node that streams takes 9 % more processor time (2026-11-29).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import pack
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Protocol

import numpy as np
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ik_node.base.errors import GoalError, ParameterError, Reason, TrajectoryError
from ik_node.base.text import shown
from ik_node.motion.change.monitor import Verdict
from ik_node.motion.trajectory import quintic
from ik_node.motion.trajectory.interpolation import segments
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.motion.trajectory.validate import MIN_TIME_STEP_S
from ik_node.node.goals.queue import ActiveFlag
from ik_node.node.robot.settings import StartOptions
from ik_node.ros.action_client import ACTION_NAME, TrajectoryAction
from ik_node.ros.controller_manager import ControllerManager, prefix_of
from ik_node.ros.messages.conversion import held_end, trajectory_message
from ik_node.ros.messages.joint_states import CDR_LITTLE_ENDIAN
from ik_node.ros.middleware.clocks import both_clocks
from ik_node.ros.middleware.qos import node_of


def serialized_trajectory(trajectory: Trajectory, stamp: int | None = None) -> bytes:
    """Return what ``trajectory_message`` of ``ros/messages`` returns, serialized."""
    n, count = len(trajectory.joint_names), len(trajectory.times)
    end = held_end(trajectory, stamp)
    points = np.zeros(count + (end is not None), _point_type(n))
    times = np.rint(1e9 * trajectory.times).astype(np.int64)
    for name, values in (('q', trajectory.q), ('qd', trajectory.qd), ('qdd', trajectory.qdd)):
        points[name][:count] = values
        points[f'{name}_size'] = n
    points['sec'][:count], points['nanosec'][:count] = np.divmod(times, 10**9)
    if end is not None:
        points[-1] = points[-2]
        points['sec'][-1], points['nanosec'][-1] = divmod(end, 10**9)
    names = _names(trajectory.joint_names)
    begin = pack('<iI', *divmod(stamp or 0, 10**9)) + names + pack('<I', len(points))
    body = points.tobytes()
    # Numbers of 8 bytes begin at a multiple of 8; all points but the first end at one plus 4.
    padding = bytes(4) if len(begin) % 8 == 0 else b''
    return b''.join((CDR_LITTLE_ENDIAN, begin, body[:4], padding, body[4:]))


@lru_cache(maxsize=1)
def middleware_reads_it() -> bool:
    """Return whether the middleware in use writes this encoding, and reads these bytes."""
    two = Trajectory(('a', 'joint'), MotionState.at_rest(np.zeros(2)), np.array([0.5, 1.25]),
                     *np.arange(12.0).reshape(3, 2, 2))
    message = trajectory_message(two, 1_500_000_000)
    return (serialize_message(message).startswith(CDR_LITTLE_ENDIAN)
            and deserialize_message(serialized_trajectory(two, 1_500_000_000),
                                    JointTrajectory) == message)


@lru_cache(maxsize=8)
def _point_type(n: int) -> np.dtype:
    """Return the layout of a point with n joints, if the one before ends at 8 k + 4."""
    number, size, padding = ('<f8', (n,)), '<u4', '<u4'
    return np.dtype([
        ('q_size', size), ('q', *number),
        ('qd_size', size), ('qd_padding', padding), ('qd', *number),
        ('qdd_size', size), ('qdd_padding', padding), ('qdd', *number),
        ('effort_size', size), ('sec', '<i4'), ('nanosec', '<u4')])


@lru_cache(maxsize=8)
def _names(names: tuple[str, ...]) -> bytes:
    """Return the empty frame and the names, from the byte after the stamp on."""
    text = _string('') + pack('<I', len(names))
    for name in names:
        text += _string(name)
    return text


def _string(text: str) -> bytes:
    """Return a string, filled up to a multiple of 4 bytes."""
    data = text.encode() + b'\0'
    return pack('<I', len(data)) + data + bytes(-len(data) % 4)


FEEDBACK_SUFFIX = '/_action/feedback'  # of a topic that the server of an action publishes
LISTENER_SETTLE_S = 0.2  # after discovery, in which messages may be lost
POSITION_PERIOD_S = 2e-3  # between positions for a forward command controller
MAX_POSITION_GAP_S = 0.05  # between positions; after a longer one the next would be a leap
REST_AFTER_GAP_S = 0.5  # until joint states have shown where the arm is


OnEnd = Callable[[Verdict], None]


class Late(Exception):
    """A trajectory was not ready in time; nothing was sent."""


class Output(Protocol):
    """Connection to one controller."""

    name: str     # name of the topic or action
    steady: bool  # whether trajectories may be streamed
    # That knows the state of the controller, if it does not do what it is sent.
    manager: ControllerManager

    def listeners(self) -> int:
        """Return the number of controllers that listen."""

    def ready(self, now: float) -> bool:
        """
        Return whether a controller listens and has had time to settle.

        Raises
        ------
        TrajectoryError
            NO_LISTENER if none listens.

        """

    def send(self, trajectory: Trajectory, stamp: int | None = None,
             before: float = np.inf) -> None:
        """
        Send a trajectory whose time 0 is `stamp` (ns) on the node's clock; None: on arrival.

        Raises
        ------
        IkNodeError
            If the node is inactive.
        TrajectoryError
            If the controller would refuse it, or is gone.
        Late
            If it could not be sent before that monotonic time (s).

        """

    def values(self) -> dict[str, str]:
        """Return values that the controller reports about the last motion, for the answer."""

    def flush(self, seconds: float) -> bool:
        """Wait at most `seconds` until all is acknowledged; return whether it is."""


def make_output(node: Node, options: StartOptions, active_flag: ActiveFlag,
                on_end: OnEnd = lambda _verdict: None) -> Output:
    """
    Return the output that is asked for, to the controller that is named ('' = without a name).

    Parameters
    ----------
    on_end : callable
        Called with the Verdict of the controller on the last trajectory, if it reports one.

    Raises
    ------
    ParameterError
        If there is no such output, or a package for it is not installed.

    """
    if options.output not in OUTPUT_KINDS:
        raise ParameterError(f'the parameter output is {shown(options.output)}; it must be one '
                             f'of {", ".join(OUTPUT_KINDS)}')
    return OUTPUT_KINDS[options.output](node, prefix_of(options.controller), active_flag,
                                        on_end)


class TopicOutput:
    """Publishes to ``joint_trajectory``; the controller says nothing."""

    steady = True
    message_type: type = JointTrajectory
    topic = 'joint_trajectory'

    def __init__(self, node: Node, prefix: str, active_flag: ActiveFlag,
                 on_end: OnEnd = lambda _verdict: None) -> None:
        self._active_flag = active_flag
        self._on_end = on_end
        # Depth 1: only the latest message matters, and Fast DDS requests an ACK immediately
        # when the history is full.
        self._publisher = node.create_publisher(self.message_type, f'{prefix}{self.topic}', 1)
        self._listener_seen: float | None = None
        self.name = self._publisher.topic_name
        self.manager = ControllerManager(node, prefix, lambda: map(
            node_of, node.get_subscriptions_info_by_topic(self.name)))

    def listeners(self) -> int:
        """As :meth:`Output.listeners`."""
        count = self._publisher.get_subscription_count()
        if not count:
            self._listener_seen = None
        return count

    def ready(self, now: float) -> bool:
        """As :meth:`Output.ready`."""
        self._require_listener()
        if self._listener_seen is None:
            self._listener_seen = now
        return now - self._listener_seen >= LISTENER_SETTLE_S

    def send(self, trajectory: Trajectory, stamp: int | None = None,
             before: float = np.inf) -> None:
        """As :meth:`Output.send`."""
        self._require_listener()
        self._active_flag.require()
        _require_acceptable(trajectory)
        message = (serialized_trajectory if middleware_reads_it() else trajectory_message)(
            trajectory, stamp)
        if monotonic() > before:
            raise Late
        self._publisher.publish(message)

    def _require_listener(self) -> None:
        if not self.listeners():
            raise TrajectoryError(
                f'nobody listens on {self.name}; start the controller, or name it by the '
                'parameter controller', Reason.NO_LISTENER)

    def values(self) -> dict[str, str]:
        """Return nothing: there is no feedback."""
        return {}

    def flush(self, seconds: float) -> bool:
        """As :meth:`Output.flush`."""
        return self._publisher.wait_for_all_acked(Duration(seconds=seconds))


class PositionOutput(TopicOutput):
    """
    Samples trajectories and publishes positions to ``commands`` of a forward command controller.

    A thread does it while the arm moves, so that a long solve does not delay the positions.
    The rest of a motion is not sent if the process was held up for MAX_POSITION_GAP_S.
    """

    message_type = Float64MultiArray
    topic = 'commands'

    def __init__(self, node: Node, prefix: str, active_flag: ActiveFlag, on_end: OnEnd) -> None:
        super().__init__(node, prefix, active_flag, on_end)
        self._node = node
        # The motion is answered by the thread of the other callbacks.
        self._end = node.create_guard_condition(
            lambda: self._on_end(Verdict(Reason.OFF_TRACK, self._given_up)))
        self._lock = Lock()  # of the attributes below
        self._given_up = ''  # why the rest of a motion was not sent
        self._rests_until = -np.inf  # monotonic, s
        self._motion: _SampledMotion | None = None
        self._thread: Thread | None = None

    def send(self, trajectory: Trajectory, stamp: int | None = None,
             before: float = np.inf) -> None:
        """As :meth:`Output.send`."""
        self._require_listener()
        self._active_flag.require()
        now, present = both_clocks(self._node.get_clock())
        motion = _SampledMotion(
            trajectory, now if stamp is None else now + 1e-9 * (stamp - present))
        if monotonic() > before:
            raise Late
        with self._lock:
            if monotonic() < self._rests_until:
                raise TrajectoryError(self._given_up, Reason.OFF_TRACK)
            self._motion = motion
            if self._thread is None:
                self._thread = Thread(target=self._publish_positions, daemon=True)
                self._thread.start()

    def flush(self, seconds: float) -> bool:
        """Wait for the end of the motion too, which depends on this process."""
        thread = self._thread
        if thread is not None:
            thread.join()
        return super().flush(seconds)

    def _publish_positions(self) -> None:
        now = monotonic()
        while True:
            with self._lock:
                before, now = now, monotonic()
                if now - before > MAX_POSITION_GAP_S:
                    self._give_up(
                        f'the node was held up for {now - before:.3f} s in a motion, and the next '
                        'position would be a leap; the arm stays where it was last sent')
                    return
                try:
                    self._publisher.publish(Float64MultiArray(data=self._motion.at(now).tolist()))
                except Exception as error:  # noqa: BLE001 - later motions start a new thread
                    self._give_up(f'the positions of a motion cannot be published ({error}); the '
                                  'arm stays where it was last sent')
                    return
                if now >= self._motion.end_time:
                    self._thread = None
                    return
            sleep(POSITION_PERIOD_S)

    def _give_up(self, why: str) -> None:
        """Answer the motion, and end the thread; with the lock."""
        self._given_up, self._thread = why, None
        self._rests_until = monotonic() + REST_AFTER_GAP_S
        self._end.trigger()


class _SampledMotion:
    """A trajectory that begins at a monotonic time (s), with the coefficients of its segments."""

    def __init__(self, trajectory: Trajectory, begin: float) -> None:
        self._trajectory, self._begin = trajectory, begin
        self._begins, _, self._coefficients = segments(trajectory)
        self.end_time = begin + trajectory.duration

    def at(self, time: float) -> np.ndarray:
        """Return the position (n,) at a monotonic time (s); it rests before and after."""
        if time >= self.end_time:
            return self._trajectory.end
        t = max(time - self._begin, 0.0)
        k = int(np.searchsorted(self._begins, t, side='right')) - 1
        return quintic.position(self._coefficients[:, k], t - self._begins[k])


class ActionOutput:
    """Sends goals of ``follow_joint_trajectory``; a new one takes the place of the last."""

    steady = False

    def __init__(self, node: Node, prefix: str, active_flag: ActiveFlag, on_end: OnEnd) -> None:
        self._active_flag = active_flag
        self._action = TrajectoryAction(node, f'{prefix}{ACTION_NAME}', on_end)
        self.name = self._action.name
        self.manager = ControllerManager(node, prefix, lambda: map(
            node_of, node.get_publishers_info_by_topic(f'{self.name}{FEEDBACK_SUFFIX}')))

    def listeners(self) -> int:
        """Return whether a server is there."""
        return int(self._action.server_is_ready())

    def ready(self, now: float) -> bool:
        """As :meth:`Output.ready`."""
        self._action.require_server()
        return True

    def send(self, trajectory: Trajectory, stamp: int | None = None,
             before: float = np.inf) -> None:
        """As :meth:`Output.send`."""
        self._active_flag.require()
        _require_acceptable(trajectory)
        message = trajectory_message(trajectory, stamp)
        if monotonic() > before:
            raise Late
        self._action.send(message)

    def values(self) -> dict[str, str]:
        """Return the largest tracking error of a joint (rad or m), by the feedback."""
        error = self._action.largest_error
        return {} if error is None else {'tracking_error': f'{error:.3e}'}

    def flush(self, seconds: float) -> bool:
        """Return True: nothing is queued here."""
        return True


class Commands:
    """Positions or velocities for ``commands`` of a forward command controller."""

    def __init__(self, node: Node, controller: str, active_flag: ActiveFlag) -> None:
        self._active_flag = active_flag
        self._publisher = node.create_publisher(
            Float64MultiArray, f'{prefix_of(controller)}commands', 1)

    def require_listener(self) -> None:
        """Raise a GoalError, NO_LISTENER, if nobody listens."""
        if not self._publisher.get_subscription_count():
            raise GoalError(f'nobody listens on {self._publisher.topic_name}; start the forward '
                            'command controller, or name it by the parameter controller',
                            Reason.NO_LISTENER)

    def send(self, values: np.ndarray) -> None:
        """Send a value for each joint (n,), to be carried out at once; as :meth:`Output.send`."""
        self._active_flag.require()
        self._publisher.publish(Float64MultiArray(data=values.tolist()))


OUTPUT_KINDS: dict[str, type] = {
    'topic': TopicOutput, 'action': ActionOutput, 'position': PositionOutput}


def _require_acceptable(trajectory: Trajectory) -> None:
    """Check what :func:`ik_node.motion.trajectory.validate.validate` does not see of a stream."""
    if not all(np.isfinite(values).all() for values in
               (trajectory.q, trajectory.qd, trajectory.qdd)):
        raise TrajectoryError('the trajectory has numbers that are not finite')
    times = trajectory.times
    if not (times[1:] - times[:-1] >= MIN_TIME_STEP_S).all() or np.isnan(times[0]):
        raise TrajectoryError('the controller would refuse the trajectory: its times do not '
                              f'increase by at least {MIN_TIME_STEP_S:g} s')
    if trajectory.qd[-1].any():
        raise TrajectoryError('the controller would refuse the trajectory: it does not end at '
                              'rest')
