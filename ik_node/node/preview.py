# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Previews: solve and display a possible goal, and plan its motion; nothing moves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
import traceback

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import PointStamped, PoseStamped
import numpy as np
from rclpy.node import Node
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from ik_node.errors import GoalError, IkNodeError, Reason
from ik_node.node.arm_state import ArmState
from ik_node.node.display import contact_of, Display, Scene, under_way
from ik_node.node.frames import NotYet
from ik_node.node.goal_conversion import GoalConversion
from ik_node.node.goal_status import GoalTask, numbers
from ik_node.node.motion import Motion
from ik_node.node.preparation import Kernels
from ik_node.node.robot import RobotHolder
from ik_node.ros.goal_kinds import GOAL_KINDS
from ik_node.ros.qos import NEWEST_QOS
from ik_node.ros.status_messages import stamp_text
from ik_node.solver.goal import Goal
from ik_node.solver.reachability import Colour, judge

COLOUR_LEVELS = {Colour.GREEN: DiagnosticStatus.OK, Colour.AMBER: DiagnosticStatus.WARN,
          Colour.RED: DiagnosticStatus.ERROR}
PREVIEW_ADVICE = ('; unless motion.detour_time is 0, a way round is searched when the goal is '
                  'sent')
PREVIEW_FIGURES = 'q', 'limit_margin', 'smallest_singular_value', 'jump', 'limiting_joint'


class Preview:
    """Solves poses and positions as if they were goals, and shows the outcome; nothing moves."""

    def __init__(self, node: Node, holder: RobotHolder, arm: ArmState, targets: GoalConversion,
                 motion: Motion, display: Display) -> None:
        self._node = node
        self._holder = holder
        self._arm = arm
        self._targets = targets
        self._motion = motion
        self._display = display
        self._asked: tuple[str, Goal] | None = None
        self._publisher = node.create_publisher(DiagnosticStatus, '~/preview', NEWEST_QOS)
        for kind in GOAL_KINDS:
            if kind.preview:
                node.create_subscription(kind.message, f'~/preview_{kind.name}',
                                         partial(self._on_preview, kind.name), NEWEST_QOS)
        node.create_service(Trigger, '~/plan', self._on_plan)

    # ---- previews -----------------------------------------------------------

    def _on_preview(self, kind: str, message: PoseStamped | PointStamped) -> None:
        stamp, self._asked = stamp_text(message.header.stamp), None
        try:
            robot = self._holder.require()
            # With the latest transform; previews do not wait for TF.
            header = Header(frame_id=message.header.frame_id)
            goal = self._targets.goal(kind, header, message, robot)
            self._asked = kind, goal
            if not goal.is_exact:
                self._motion.preparation.require(Kernels.FREE_AXES)
            result = self._targets.solve(goal, robot)
            prospect = judge(result, robot.settings.thresholds)
        except Exception as error:  # noqa: BLE001 - a preview never goes without an answer
            reason, sentence = self._explained(error)
            self._answer(stamp, Colour.RED, reason, sentence)
            self._node.get_logger().warning(f'preview ({reason.value}): {sentence}',
                                            throttle_duration_sec=5.0)
            self._show_refusal(sentence)
            return
        self._answer(stamp, prospect.colour, prospect.reason, prospect.sentence, {
            'q': numbers(result.q), 'limit_margin': f'{prospect.limit_margin:.4f}',
            'smallest_singular_value': f'{prospect.smallest_singular_value:.4f}',
            'jump': f'{prospect.jump:.4f}', 'limiting_joint': prospect.limiting_joint})
        self._display.preview(replace(Scene.of(goal, prospect, result.q),
                                      contact=contact_of(result, robot)), robot)

    def _explained(self, error: Exception) -> tuple[Reason, str]:
        if isinstance(error, NotYet):
            return Reason.FRAME_UNKNOWN, str(error)
        if isinstance(error, IkNodeError):
            return error.reason, str(error)
        self._node.get_logger().error(traceback.format_exc())
        return Reason.INTERNAL, (f'internal error: {type(error).__name__}: {error}; please report '
                                 'it with the log')

    def _show_refusal(self, sentence: str) -> None:
        if self._holder.robot is not None:
            goal = None if self._asked is None else self._asked[1]
            self._display.preview(Scene(goal, Colour.RED, sentence), self._holder.robot)

    def _answer(self, stamp: str, colour: Colour, reason: Reason, sentence: str,
                figures: dict[str, str] | None = None) -> None:
        values = {'stamp': stamp, 'colour': colour.value, 'reason': reason.value,
                  **(figures or dict.fromkeys(PREVIEW_FIGURES, ''))}
        self._publisher.publish(DiagnosticStatus(
            level=COLOUR_LEVELS[colour], name=f'{self._node.get_fully_qualified_name()}: preview',
            message=sentence,
            values=[KeyValue(key=key, value=value) for key, value in values.items()]))

    # ---- plans --------------------------------------------------------------

    def _on_plan(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message = self._plan()
            response.success = True
        except Exception as error:  # noqa: BLE001 - a request never goes without an answer
            _, response.message = self._explained(error)
            response.success = False
            self._show_refusal(response.message)
        return response

    def _plan(self) -> str:
        """Plan the motion to the latest preview, display it, and return a description."""
        if self._asked is None:
            raise GoalError('there is no preview to plan for; publish one on '
                            f'{self._node.resolve_topic_name("~/preview_pose")} first',
                            Reason.PATH_INVALID)
        robot, (kind, goal) = self._holder.require(), self._asked
        task = GoalTask(0, Time(), kind, goal)
        if self._motion.is_there(task, robot, self._arm.measured(robot)[0]):
            raise GoalError('the arm is there already', Reason.ALREADY_THERE)
        if kind == 'pose' and robot.settings.straight:
            trajectory = self._motion.planned(
                self._motion.path_plan(task, [goal.T_base_tip]))
        else:
            result = task.result = self._targets.solve(goal, robot)
            if not result.success:
                raise GoalError(result.message, result.status)
            task.q_goal = result.q
            trajectory = self._motion.planned(self._motion.joint_plan(task, PREVIEW_ADVICE))
        scene = under_way(task, goal, trajectory, robot)
        self._display.preview(scene, robot)
        length = np.linalg.norm(np.diff(scene.path, axis=0), axis=1).sum()
        part = '' if task.interruption is None else f'; as far as it can: {task.interruption}'
        return f'{trajectory.duration:.2f} s, {length:.3f} m of the tip{part}'
