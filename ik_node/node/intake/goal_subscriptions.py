# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions to goals: from what the middleware has to tasks in the goal queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from std_msgs.msg import Empty, Header, String
from std_srvs.srv import Trigger

from ik_node.base.errors import GoalError, IkNodeError, Reason
from ik_node.motion.tool_path.path import MAX_PATH_POSES
from ik_node.node.execution.ramps import Ramps
from ik_node.node.goals.goal import GoalTask, Steps
from ik_node.node.goals.queue import GoalQueue
from ik_node.node.intake.goal_starter import BeginGoal, GoalStarter
from ik_node.node.intake.health import Health
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.state.clocks import StampCheck
from ik_node.node.state.send_order import SendTime
from ik_node.node.state.team import Seat
from ik_node.ros.messages.conversion import message_class
from ik_node.ros.messages.goal_kinds import GOAL_KINDS, GoalKind, KEPT_KIND
from ik_node.ros.messages.kept_goals import read_kept_goal
from ik_node.ros.messages.status_messages import GoalState
from ik_node.ros.middleware.clocks import MessageInfo, request_origin, take_message, tell_origin
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS, KEEP_ALL_QOS

try:
    from rclpy.event_handler import QoSMessageLostInfo, SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import QoSMessageLostInfo, SubscriptionEventCallbacks

MAX_PATH_BYTES = 2**18       # MAX_PATH_POSES with frame names of 50 letters; more is not read
MAX_KEPT_BYTES = 2**18       # of a goal as text
INTAKE_SLICE_S = 0.01        # for which messages are taken before other callbacks run
INTAKE_BEFORE_STOP_S = 1.0   # for which messages are taken before a stop is answered
INTAKE_PATIENCE_S = 0.5      # after which goals are begun though more arrive faster

# From what arrives: the message, and what begins it.
ReadGoal = Callable[[Any], tuple[Any, BeginGoal]]


@dataclass(frozen=True)
class ArrivedGoal:
    """A goal message and what the middleware says of it."""

    kind: str
    info: MessageInfo
    message: Any
    begin: BeginGoal
    sent_at: SendTime


class GoalSubscriptions:
    """
    Takes goals of each kind and hands them to the goal queue.

    The subscriptions keep all messages: with a depth the oldest would be dropped without an
    answer.  So the queue of the sender fills up instead, and what that loses is counted.
    """

    def __init__(self, node: Node, robot_slot: RobotSlot, starter: GoalStarter, goals: GoalQueue,
                 stamps: StampCheck, health: Health) -> None:
        self._node = node
        self._robot_slot = robot_slot
        self._starter = starter
        self._goals = goals
        self._stamps = stamps
        self._health = health
        self._behind_since = np.inf
        self._arrived: list[ArrivedGoal] = []
        self._subscriptions: dict[Subscription, tuple[str, ReadGoal]] = {}
        for kind in GOAL_KINDS:
            if not kind.streamed:
                self._listen(kind)

    # ---- from the middleware ------------------------------------------------

    def _listen(self, kind: GoalKind) -> None:
        message_type, begin = message_class(kind.message), self._starter.begin
        read = read_kept(begin) if kind.name == KEPT_KIND \
            else read_if_short(message_type, begin[kind.name]) if kind.may_be_long \
            else lambda message: (message, begin[kind.name])

        def on_message(data: Any, info: MessageInfo) -> None:
            self._take(kind.name, info, read(data))
            self._goals.work_queue.now(self._go_on)

        subscription = tell_origin(self._node.create_subscription(
            message_type, f'~/goal_{kind.name}', on_message, KEEP_ALL_QOS, raw=kind.may_be_long,
            event_callbacks=SubscriptionEventCallbacks(message_lost=self._on_lost)))
        self._subscriptions[subscription] = kind.name, read

    def _take(self, kind: str, info: MessageInfo, read: tuple[Any, BeginGoal]) -> None:
        self._arrived.append(ArrivedGoal(kind, info, *read,
                                         self._goals.precedence.of_message(info)))

    def _go_on(self) -> None:
        """Take waiting messages, and have the goals worked off."""
        drained = self.drain(INTAKE_SLICE_S)
        if not drained:
            self._goals.work_queue.later(self._go_on)
            self._behind_since = min(self._behind_since, monotonic())
        if drained or monotonic() - self._behind_since > INTAKE_PATIENCE_S:
            self._behind_since = np.inf
            self._goals.process()

    def drain(self, seconds: float) -> bool:
        """
        Make goals of the messages that wait, of all kinds, in the order in which they were sent.

        The executor would take one in each of its rounds, which is slower.

        Parameters
        ----------
        seconds : float
            Maximum time.

        Returns
        -------
        bool
            Whether none is left.

        """
        end, drained = monotonic() + seconds, True
        for subscription, (kind, read) in self._subscriptions.items():
            while (found := take_message(subscription)) is not None:
                data, info = found
                self._take(kind, info, read(data))
                if monotonic() > end:
                    drained = False
                    break
        sent_at = self._goals.precedence.order.on_our_clock
        for goal in sorted(self._arrived, key=lambda each: sent_at(each.sent_at)):
            task = self._goals.new(goal.message.header.stamp, goal.kind, goal.sent_at)
            self._goals.arrived(task, partial(self._begin, goal, task))
        self._arrived.clear()
        return drained

    def _on_lost(self, info: QoSMessageLostInfo) -> None:
        self._health.lost += info.total_count_change
        self._node.get_logger().error(
            f'{self._health.lost} goals were lost so far: they were sent faster than they are '
            'taken, and the queue of their sender is too short; give it a greater depth',
            throttle_duration_sec=5.0)

    # ---- to the queue -------------------------------------------------------

    def stop(self, reason: Reason, sentence: str,
             stops: Callable[[GoalTask], bool] = lambda _task: True) -> None:
        """Answer the goals that have arrived, were not begun, and are to be stopped."""
        self.drain(INTAKE_BEFORE_STOP_S)
        self._goals.dismiss(
            GoalState.STOPPED, reason, sentence,
            lambda task: task is not self._goals.current and stops(task))

    def home(self, sent_at: SendTime) -> GoalTask:
        """Move to the preferred posture; return the task, which may have ended already."""
        self.drain(INTAKE_SLICE_S)  # those came before
        task = self._goals.new(self._node.get_clock().now().to_msg(), 'home', sent_at)
        self._goals.attempt(task, lambda: self._starter.home(task, self._robot_slot.require()))
        self._goals.work_queue.later(self._goals.process)
        return task

    def _begin(self, goal: ArrivedGoal, task: GoalTask) -> Steps:
        robot = self._robot_slot.require()
        self._stamps.checked(goal.message.header.stamp, robot.settings.max_goal_age, goal.info)
        return goal.begin(goal.message, task, robot)


def read_if_short(kind: type, begin: BeginGoal) -> ReadGoal:
    """Return what reads bytes, unless they are so long that reading would delay all else."""
    def read(data: bytes) -> tuple[Any, BeginGoal]:
        try:
            if len(data) <= MAX_PATH_BYTES:
                return deserialize_message(data, kind), begin
            # The message begins with its header.
            return kind(header=deserialize_message(data, Header)), refusing(GoalError(
                f'the goal has {len(data)} bytes, at most {MAX_PATH_BYTES} are taken '
                f'({MAX_PATH_POSES} poses or waypoints); send it in parts', Reason.PATH_INVALID))
        except RuntimeError:  # rclpy does not name the one of the middleware
            return kind(), refusing(unreadable(kind))

    return read


def read_kept(begins: Mapping[str, BeginGoal]) -> ReadGoal:
    """Return what reads goals within path constraints, as goals of their kinds."""
    def read(data: bytes) -> tuple[Any, BeginGoal]:
        try:
            if len(data) > MAX_KEPT_BYTES:
                raise GoalError(f'the goal has {len(data)} bytes, at most {MAX_KEPT_BYTES} are '
                                'taken; send it in parts', Reason.PATH_INVALID)
            goal = read_kept_goal(deserialize_message(data, String).data)
        except IkNodeError as error:
            return Stamped(Header()), refusing(error)
        except RuntimeError:
            return Stamped(Header()), refusing(unreadable(String))

        def begin(message: Any, task: GoalTask, robot: Robot) -> Steps:
            task.kind, task.plan.keeps = goal.kind, goal.keeps
            return begins[goal.kind](message, task, robot)

        return goal.message, begin

    return read


class Stamped(NamedTuple):
    """A message that cannot be read, without a stamp."""

    header: Header


def unreadable(kind: type) -> GoalError:
    """Return why bytes are no message of a kind."""
    return GoalError(f'the goal cannot be read as a {kind.__name__}; is its sender built for this '
                     'version of the message?', Reason.PATH_INVALID)


def refusing(error: IkNodeError) -> BeginGoal:
    """Return what refuses a goal."""
    def refuse(_message: Any, _task: GoalTask, _robot: Robot) -> Steps:
        raise error

    return refuse


STOP_SENTENCE = 'stopped by request'


class Stopping:
    """
    Brings the arm to rest, and answers the goals that were sent before the stop.

    What was sent after it goes on, so that a stop that comes late, or again, ends no goal that
    its sender did not know.  An arm that comes to rest already is left to it.
    """

    def __init__(self, node: Node, goals: GoalQueue, ramps: Ramps, intake: GoalSubscriptions,
                 seat: Seat) -> None:
        self._node = node
        self._seat = seat
        self._goals = goals
        self._ramps = ramps
        self._intake = intake
        # Lost ones are not sent again by the middleware, but by their sender, at once.
        tell_origin(node.create_subscription(Empty, '~/halt', self._on_halt, BEST_EFFORT_QOS))
        node.create_service(Trigger, '~/stop', self._on_stop)

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self.stop(
            self._goals.precedence.of_request(*request_origin(self._node, request)))
        return response

    def stop(self, sent_at: SendTime) -> tuple[bool, str]:
        """Stop what was sent before that; return whether it could be, and what was done."""
        stops, done = self._stops(sent_at), True
        try:
            said = self._to_rest(sent_at, stops)
        except IkNodeError as error:
            done, said = False, str(error)
            self._node.get_logger().error(f'stop: {error}', throttle_duration_sec=1.0)
        self._intake.stop(Reason.STOPPED, STOP_SENTENCE, stops)
        return done, said

    def _on_halt(self, _message: Empty, info: MessageInfo) -> None:
        sent_at = self._goals.precedence.of_message(info)
        stops = self._stops(sent_at)
        try:
            self._to_rest(sent_at, stops)
        except IkNodeError as error:
            self._node.get_logger().error(f'halt: {error}', throttle_duration_sec=1.0)

    def _to_rest(self, sent_at: SendTime, stops: Callable[[GoalTask], bool]) -> str:
        """Stop the arm, also if a motion of all arms cannot be stopped; return what was done."""
        try:
            in_step = self._seat.stop_in_step(sent_at)
        finally:
            done = self._ramps.stop(Reason.STOPPED, STOP_SENTENCE, stops)
        return f'{in_step}; {done}' if in_step else done

    def _stops(self, sent_at: SendTime) -> Callable[[GoalTask], bool]:
        """Note a stop; return whether it is for a goal."""
        precedence = self._goals.precedence
        precedence.stopped(sent_at)
        return lambda task: precedence.is_before(task.sent_at, sent_at)
