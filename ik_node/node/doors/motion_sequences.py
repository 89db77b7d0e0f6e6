# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Sequences of PTP, LIN and CIRC motions, by the action of ros2_controllers' motion primitives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node

from ik_node.base.errors import Reason
from ik_node.base.text import quote
from ik_node.model.joints import outside_limits
from ik_node.motion.joint_path.motion_sequence import SequencedMotion, SequencePlan
from ik_node.motion.trajectory.interpolation import positions_at
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.sampling import MAX_TIP_POINTS, passing_times
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.doors.pose_actions import AnsweredActionServer
from ik_node.node.execution.motion import Motion
from ik_node.node.execution.ramps import Ramps
from ik_node.node.goals import plans
from ik_node.node.goals.conversion import GoalConversion
from ik_node.node.goals.goal import GoalTask, Steps
from ik_node.node.goals.queue import GoalQueue
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.ros.messages.motion_primitives import (
    motion_error,
    PrimitiveType,
    require_blend_radius,
    require_count,
    require_limit,
    SEQUENCE_ACTION,
    SEQUENCE_KIND,
)
from ik_node.ros.messages.status_messages import ACTION_GOAL_KEY, action_goal_text, GoalState
from ik_node.ros.middleware.clocks import goal_origin, steady_clock
from ik_node.solver.goal import Goal

FEEDBACK_PERIOD_S = 0.05
NOT_DONE_CODE = -4  # the motion has begun and was not done to its end
TIME_ARGUMENT = 'move_time'


@dataclass(eq=False)
class OpenSequence:
    """A sequence without its result."""

    task: GoalTask
    handle: ServerGoalHandle
    plan: SequencePlan | None = None  # the latest; None until there is one
    told: int = -1                    # index of the motion that was told last; -1 before
    # The trajectory of which `passed` says when (s) the motions end on it, (k,).
    sent: Trajectory | None = None
    passed: np.ndarray | None = None

    def under_way(self, trajectory: Trajectory, time: float) -> int:
        """Return the index of the motion that is active `time` s after the start."""
        if trajectory is not self.sent:
            # Also of a motion that was paused, or whose speed was changed.
            times = np.linspace(0.0, trajectory.duration, MAX_TIP_POINTS)
            ends = positions_at(self.plan.trajectory, np.array(self.plan.ends))
            self.sent, self.passed = trajectory, passing_times(
                times, positions_at(trajectory, times), ends)
        return min(int(np.searchsorted(self.passed, time)), len(self.passed) - 1)


class MotionSequences:
    """
    Offers ``~/motion_sequence``, where control_msgs has ExecuteMotionPrimitiveSequence.

    All motions of a sequence are planned and checked before the arm moves.
    """

    def __init__(self, node: Node, robot_slot: RobotSlot, conversion: GoalConversion,
                 goals: GoalQueue, motion: Motion, ramps: Ramps) -> None:
        try:
            from control_msgs.action import ExecuteMotionPrimitiveSequence as kind
            from control_msgs.msg import MotionPrimitive
        except ImportError:  # not installed, or older
            node.get_logger().debug('no ~/motion_sequence: control_msgs lacks '
                                    'ExecuteMotionPrimitiveSequence')
            return
        self._node, self._kind, self._type = node, kind, MotionPrimitive
        self._robot_slot, self._conversion = robot_slot, conversion
        self._goals, self._motion, self._ramps = goals, motion, ramps
        self._open: dict[bytes, OpenSequence] = {}
        self._server = AnsweredActionServer(node, kind, f'~/{SEQUENCE_ACTION}', self._on_goal,
                                            self._on_cancel)
        self._timer = node.create_timer(FEEDBACK_PERIOD_S, self._tell, clock=steady_clock())
        self._timer.cancel()

    def _on_goal(self, handle: ServerGoalHandle) -> None:
        source, hosts = goal_origin(self._node, f'~/{SEQUENCE_ACTION}', handle.goal_id)
        sent_at = self._goals.precedence.of_request(source, hosts) if hosts else None
        key = bytes(handle.goal_id.uuid)

        def on_final(task: GoalTask, reason: Reason, sentence: str) -> None:
            self._tell()
            del self._open[key]
            done = task.state is GoalState.REACHED
            result = self._kind.Result(error_string=sentence)
            if not done:
                result.error_code = result.INVALID_GOAL if task.state is GoalState.REJECTED \
                    else NOT_DONE_CODE
            self._server.answer(handle, result, done)

        def start() -> Steps:
            robot = self._robot_slot.require()
            require_count(len(handle.request.trajectory.motions))
            motions = [self._read(number, each, robot)
                       for number, each in enumerate(handle.request.trajectory.motions, 1)]
            last = motions[-1].goal
            task.plan.goal = last if isinstance(last, Goal) else None
            self._conversion.keep(task.plan, robot)
            return self._motion.planned_beside(task, lambda robot: plans.in_sequence(
                task, robot, motions, partial(setattr, sequence, 'plan')))

        task = self._goals.new(self._node.get_clock().now().to_msg(), SEQUENCE_KIND, sent_at,
                               on_final=on_final)
        task.values[ACTION_GOAL_KEY] = action_goal_text(handle.goal_id)
        sequence = self._open[key] = OpenSequence(task, handle)
        self._timer.reset()
        self._goals.attempt(task, start)

    def _on_cancel(self, handle: ServerGoalHandle) -> None:
        """Bring the arm to rest, if it moves for this goal."""
        sequence = self._open.get(bytes(handle.goal_id.uuid))
        if sequence is not None:
            self._ramps.cancel(sequence.task, 'cancelled by its client')

    def _tell(self) -> None:
        """Publish which motion is active, when that changes."""
        robot = self._robot_slot.robot
        for sequence in self._open.values():
            if sequence.plan is None or sequence.task.execution.trajectory is None \
                    or robot is None or robot.active is None:
                continue
            index = sequence.under_way(robot.active.trajectory, monotonic() - robot.active.began)
            if index > sequence.told:
                sequence.told = index
                self._server.tell(sequence.handle, current_primitive_index=index)
        if not self._open:
            self._timer.cancel()

    # ---- the message --------------------------------------------------------

    def _read(self, number: int, message: Any, robot: Robot) -> SequencedMotion:
        """Return the motion of a control_msgs/MotionPrimitive."""
        refuse = partial(motion_error, number)
        kinds = {getattr(self._type, kind.value): kind for kind in PrimitiveType}
        kind = kinds.get(message.type)
        if kind is None:
            known = ', '.join(f'{each.value} ({value})' for value, each in kinds.items())
            raise refuse(f'its type is {message.type}; known are {known}')
        joint = kind is PrimitiveType.PTP
        radius = message.blend_radius
        require_blend_radius(number, radius)
        limits = self._limits(number, message.additional_arguments, joint,
                              robot.settings.planning)
        count, wanted = len(message.poses), 2 if kind is PrimitiveType.CIRC else 1
        if joint and message.joint_positions:
            q, n = np.array(message.joint_positions), robot.chain.n
            if len(q) != n or not np.isfinite(q).all():
                names = ', '.join(map(quote, robot.chain.joint_names))
                raise refuse(f'joint_positions are {len(q)} numbers; {n} finite ones are needed, '
                             f'for {names}')
            outside = (q < robot.chain.lower) | (q > robot.chain.upper)
            if outside.any():
                k = int(outside.argmax())
                raise refuse(f'{quote(robot.chain.joint_names[k])} cannot be at '
                             + outside_limits(robot.chain, k, q[k]))
            return SequencedMotion(q, limits, blend_radius=radius)
        if count != wanted:
            raise refuse(f'it has {count} poses; {kind.value} needs {wanted}'
                         + (', the end and then a pose on the way' if wanted == 2 else
                            ', or joint_positions' if joint else ''))
        end, *between = [self._conversion.pose(pose.header, pose.pose, robot)
                         for pose in message.poses]
        return SequencedMotion(Goal(end), limits, not joint, between[0] if between else None,
                               radius)

    @staticmethod
    def _limits(number: int, arguments: Any, joint: bool, limits: MotionLimits) -> MotionLimits:
        """Return the limits of a motion, lowered by its additional arguments."""
        for argument in arguments:
            name, value = argument.name, argument.value
            if name == TIME_ARGUMENT and value == 0.0:
                continue  # that is how others leave it out
            require_limit(number, name, value)
            if joint:
                limits = replace(limits, **{name: np.minimum(getattr(limits, name), value)})
            else:
                field = 'speed' if name == 'velocity' else name
                tip = replace(limits.tip, **{field: min(getattr(limits.tip, field), value)})
                limits = replace(limits, tip=tip)
        return limits
