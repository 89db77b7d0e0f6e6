# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the messages of users become: checked, brought into the base link, solved, begun."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from geometry_msgs.msg import PointStamped, PoseArray, PoseStamped
from nav_msgs.msg import Path
import numpy as np
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from ik_node.errors import GoalError, Reason
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.tool_path.path import MAX_PATH_POSES, ToolPath
from ik_node.motion.trajectory import MotionState
from ik_node.node.arm_state import ArmState
from ik_node.node.goal_conversion import Targets
from ik_node.node.goal_queue import Goals
from ik_node.node.goal_status import GoalTask
from ik_node.node.health import Health
from ik_node.node.motion import Motion
from ik_node.node.robot import Robot, RobotHolder
from ik_node.node.stamp_check import StampCheck
from ik_node.ros.messages import joints_from_state, KINDS
from ik_node.ros.qos import ALL
from ik_node.ros.status_messages import GoalState
from ik_node.solver.goal import Goal

try:
    from rclpy.event_handler import QoSMessageLostInfo, SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import QoSMessageLostInfo, SubscriptionEventCallbacks

# With a depth the oldest would be dropped, and nobody told.  So the sender's queue fills up
# instead, and what that loses is counted.
MOST_BYTES = 2**18  # of a path: MAX_PATH_POSES with names of 50 letters; more is not even read
SLICE = 0.01     # s, so long messages are taken in until others have their turn
LONGEST = 1.0    # s, so long messages are taken in before a stop is answered
PATIENCE = 0.5   # s after which a goal is looked at though more come faster than they are taken in

Take = Callable[[Any, GoalTask, Robot], None]
Read = Callable[[Any], tuple[Any, Take]]  # from what comes: the message, what to do with it
Info = dict[str, int]                     # what the middleware says of a message
Arrived = list[tuple[Info, Any, Take]]    # that, the message, what to do with it


class Intake:
    """Takes goals, each to its answer."""

    def __init__(self, node: Node, holder: RobotHolder, arm: ArmState, targets: Targets,
                 goals: Goals, motion: Motion, stamps: StampCheck, health: Health) -> None:
        self._node = node
        self._holder = holder
        self._arm = arm
        self._targets = targets
        self._goals = goals
        self._motion = motion
        self._stamps = stamps
        self._health = health
        self._behind_since = np.inf
        self._taken: Arrived = []
        self._subscriptions: dict[Subscription, Read] = {}
        for kind, message in KINDS.items():
            self._listen(message, f'goal_{kind}', as_it_is(partial(self._to_target, kind)))
        self._listen(JointState, 'goal_joints', as_it_is(self._to_joints))
        self._listen(Path, 'goal_path', if_short(Path, self._along_path), raw=True)
        self._listen(PoseArray, 'goal_arc', if_short(PoseArray, self._along_arc), raw=True)

    # ---- from the middleware ------------------------------------------------

    def _listen(self, kind: type, name: str, read: Read, raw: bool = False) -> None:
        def on_message(data: Any, info: dict[str, Any]) -> None:
            self._taken.append((info, *read(data)))
            self._goals.turns.now(self._go_on)

        subscription = self._node.create_subscription(
            kind, f'~/{name}', on_message, ALL, raw=raw,
            event_callbacks=SubscriptionEventCallbacks(message_lost=self._on_lost))
        self._subscriptions[subscription] = read

    def _go_on(self) -> None:
        """Take in what waits, and have the goals worked off."""
        drained = self.take_in(SLICE)
        if not drained:
            self._goals.turns.later(self._go_on)
            self._behind_since = min(self._behind_since, monotonic())
        if drained or monotonic() - self._behind_since > PATIENCE:
            self._behind_since = np.inf
            self._goals.work_off()

    def take_in(self, seconds: float) -> bool:
        """
        Make goals of the messages that wait, of whatever kind, in the order in which they came.

        The executor would bring one in each of its rounds, which take longer than that.

        Parameters
        ----------
        seconds : float
            At most so long.

        Returns
        -------
        bool
            Whether none is left.

        """
        end, drained = monotonic() + seconds, True
        for subscription, read in self._subscriptions.items():
            while (found := take_next(subscription)) is not None:
                data, info = found
                self._taken.append((info, *read(data)))
                if monotonic() > end:
                    drained = False
                    break
        for info, message, take in sorted(self._taken,
                                          key=lambda each: each[0]['received_timestamp']):
            task = self._goals.new(message.header.stamp)
            self._goals.arrived(task, partial(self._begin, take, message, task, info))
        self._taken.clear()
        return drained

    def _on_lost(self, info: QoSMessageLostInfo) -> None:
        self._health.lost += info.total_count_change
        self._node.get_logger().error(
            f'{self._health.lost} goals were lost so far: they were sent faster than they are '
            'taken, and the queue of their sender is too short; give it a greater depth',
            throttle_duration_sec=5.0)

    def stop(self, reason: Reason, sentence: str) -> None:
        """Answer the goals that have come until now and were not begun."""
        self.take_in(LONGEST)
        self._goals.dismiss(GoalState.STOPPED, reason, sentence, under_way=False)

    # ---- one kind of goal each ----------------------------------------------

    def _to_target(self, kind: str, message: PoseStamped | PointStamped, task: GoalTask,
                   robot: Robot) -> None:
        task.goal = self._targets.goal(kind, message.header, message, robot)
        if kind == 'pose' and robot.settings['motion.straight']:
            self._motion.along(task, [task.goal.T_base_tip])
            return
        self._solve(task)

    def _to_joints(self, message: JointState, task: GoalTask, robot: Robot) -> None:
        q, _ = self._arm.measured(robot)
        task.q_goal = joints_from_state(message, robot.chain, q)
        self._motion.to_joints(task)

    def _along_path(self, message: Path, task: GoalTask, robot: Robot) -> None:
        if len(message.poses) > MAX_PATH_POSES:
            raise GoalError(f'the path has {len(message.poses)} poses, at most {MAX_PATH_POSES} '
                            'are taken; send it in parts', Reason.PATH_INVALID)
        poses = [
            self._targets.pose(Header(
                frame_id=stamped.header.frame_id or message.header.frame_id,
                stamp=message.header.stamp), stamped.pose, robot)
            for stamped in message.poses]
        _note_end(task, poses)
        self._motion.along(task, poses)

    def _along_arc(self, message: PoseArray, task: GoalTask, robot: Robot) -> None:
        poses = [self._targets.pose(message.header, pose, robot) for pose in message.poses]
        _note_end(task, poses)

        def arc(start: MotionState) -> ToolPath:
            if len(poses) == 3:
                return ToolPath.arc(*poses)
            if len(poses) != 2:
                raise GoalError(f'the arc has {len(poses)} poses; it needs one on the way and '
                                'its end, before them its begin if it is not where the tip is',
                                Reason.PATH_INVALID)
            if not start.rests:
                raise GoalError('the arm moves, so it is not known where the arc would begin; '
                                'send its begin, too, or wait', Reason.PATH_INVALID)
            return ToolPath.arc(forward_kinematics(robot.chain, start.q), *poses)

        self._motion.along(task, arc)

    def home(self) -> GoalTask:
        """Go to the preferred posture; return the task, which may have ended already."""
        self.take_in(SLICE)  # those came before
        task = self._goals.new(self._node.get_clock().now().to_msg())

        def go() -> None:
            task.q_goal = self._holder.require().settings.solver.preferred.copy()
            self._motion.to_joints(task)

        self._goals.attempt(task, go)
        return task

    # ---- what they share ----------------------------------------------------

    def _begin(self, take: Take, message: Any, task: GoalTask, info: Info) -> None:
        robot = self._holder.require()
        self._stamps.checked(message.header.stamp, robot.settings['goal.max_age'], info)
        take(message, task, robot)

    def _solve(self, task: GoalTask) -> None:
        """Solve for ``task.goal`` and move there."""
        robot = self._holder.require()
        result = task.result = self._targets.solve(task.goal, robot)
        self._health.solved(result.time)
        task.figures |= {
            'solve_time_ms': f'{1e3 * result.time:.3f}', 'restarts': result.restarts,
            'iterations': result.iterations, 'solution': result.status.value,
            'position_error_m': f'{result.position_error:.3e}',
            'orientation_error_rad': f'{result.orientation_error:.3e}'}
        if not result.success:
            raise GoalError(result.message, result.status)
        task.figures |= {
            'limit_margin': f'{result.limit_margin:.4f}',
            'smallest_singular_value': f'{result.smallest_singular_value:.4f}'}
        robot.last_answer = task.q_goal = result.q
        self._motion.to_joints(task)


def as_it_is(take: Take) -> Read:
    """Return what reads messages that are read already."""
    return lambda message: (message, take)


def if_short(kind: type, take: Take) -> Read:
    """Return what reads bytes, unless that would take so long that all else would wait for it."""
    def read(data: bytes) -> tuple[Any, Take]:
        try:
            if len(data) <= MOST_BYTES:
                return deserialize_message(data, kind), take
            # With which it begins.
            return kind(header=deserialize_message(data, Header)), refusing(
                f'the goal has {len(data)} bytes, at most {MOST_BYTES} are taken '
                f'({MAX_PATH_POSES} poses); send it in parts')
        except RuntimeError:  # rclpy does not name the one of the middleware
            return kind(), refusing(f'the goal cannot be read as a {kind.__name__}; is its '
                                    'sender built for this version of the message?')

    return read


def refusing(sentence: str) -> Take:
    """Return what refuses a path."""
    def refuse(_message: Any, _task: GoalTask, _robot: Robot) -> None:
        raise GoalError(sentence, Reason.PATH_INVALID)

    return refuse


def take_next(subscription: Subscription) -> tuple[Any, dict[str, Any]] | None:
    """Return the next message that waits, and what is known of it, as an executor takes it."""
    with subscription.handle:
        return subscription.handle.take_message(subscription.msg_type, subscription.raw)


def _note_end(task: GoalTask, poses: list[np.ndarray]) -> None:
    """Note where a path ends, for those who draw it if it cannot be followed."""
    if poses:
        task.goal = Goal(poses[-1])
