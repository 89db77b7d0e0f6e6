# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Previews: solve a possible goal, plan its motion, list its postures; nothing moves."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
import traceback
from typing import NamedTuple

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PointStamped, PoseStamped
import numpy as np
from rclpy.node import Node
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from ik_node.base.errors import GoalError, IkNodeError, Reason
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.constrained.constraint import described_excess, most_excess, SLACK
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.posture_report import PostureReport, postures_of, report_posture
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.execution.trajectory_sender import TrajectorySender
from ik_node.node.goals import plans
from ik_node.node.goals.answers import numbers
from ik_node.node.goals.conversion import GoalConversion
from ik_node.node.goals.goal import GoalTask, Plan
from ik_node.node.goals.preparation import Kernels, Preparation
from ik_node.node.goals.queue import WorkQueue
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.show.display import contact_of, Display, Scene, under_way
from ik_node.node.state.arm_state import ArmState
from ik_node.node.state.frames import NotYet
from ik_node.ros.messages.conversion import message_class
from ik_node.ros.messages.goal_kinds import GOAL_KINDS
from ik_node.ros.messages.status_messages import GoalState, stamp_text
from ik_node.ros.middleware.qos import LATCHED_QOS, NEWEST_QOS
from ik_node.solver.goal import Goal
from ik_node.solver.result import Posture
from ik_node.solver.unreachable import Colour, judge, ReachabilityReport

COLOUR_LEVELS = {Colour.GREEN: DiagnosticStatus.OK, Colour.AMBER: DiagnosticStatus.WARN,
                 Colour.RED: DiagnosticStatus.ERROR}
NO_REMEDIES: Mapping[str, str] = {}
PREVIEW_KEYS = 'q', 'limit_margin', 'smallest_singular_value', 'jump', 'limiting_joint'


class Asked(NamedTuple):
    """The latest preview: its time as it came and as text, the kind of the goal, and the goal."""

    time: Time
    stamp: str
    kind: str
    goal: Goal


class Search(NamedTuple):
    """A detour around obstacles that is being planned for a preview."""

    stamp: str
    task: GoalTask
    robot: Robot
    planning: Future


class Preview:
    """Solves poses and positions as if they were goals, and shows the outcome; nothing moves."""

    def __init__(self, node: Node, robot_slot: RobotSlot, arm: ArmState,
                 conversion: GoalConversion, preparation: Preparation,
                 sender: TrajectorySender, display: Display) -> None:
        self._node = node
        self._robot_slot = robot_slot
        self._arm = arm
        self._conversion = conversion
        self._preparation, self._sender = preparation, sender
        self._display = display
        self._asked: Asked | None = None
        self._search: Search | None = None
        self._bell = node.create_guard_condition(self._on_search_end)
        self._publisher = node.create_publisher(DiagnosticStatus, '~/preview', NEWEST_QOS)
        for kind in GOAL_KINDS:
            if kind.preview:
                node.create_subscription(message_class(kind.message), f'~/preview_{kind.name}',
                                         partial(self._on_preview, kind.name), NEWEST_QOS)
        node.create_service(Trigger, '~/plan', self._on_plan)

    # ---- previews -----------------------------------------------------------

    def _on_preview(self, kind: str, message: PoseStamped | PointStamped) -> None:
        stamp, self._asked = stamp_text(message.header.stamp), None
        self._end_search()
        try:
            robot = self._robot_slot.require()
            # With the latest transform; previews do not wait for TF.
            header = Header(frame_id=message.header.frame_id)
            goal = self._conversion.goal(kind, header, message, robot)
            self._asked = Asked(message.header.stamp, stamp, kind, goal)
            if not goal.is_exact:
                self._preparation.require(Kernels.FREE_AXES)
            result = self._conversion.solve(goal, robot, self._arm.measured(robot).q)
            report, remedies = judge(result, robot.settings.thresholds), {}
            if not result.success:
                sentence, remedies = self._conversion.refusal(result, robot)
                report = replace(report, sentence=sentence)
            elif goal.is_exact and (outside := self._outside(robot, result.q)):
                report = replace(report, colour=Colour.RED, reason=Reason.CONSTRAINT,
                                 sentence=outside)
        except Exception as error:  # noqa: BLE001 - a preview never goes without an answer
            reason, sentence = self.explained(error)
            self._answer(stamp, Colour.RED, reason, sentence)
            self._node.get_logger().warning(f'preview ({reason.value}): {sentence}',
                                            throttle_duration_sec=5.0)
            self._show_refusal(sentence)
            return
        self._answer_by(stamp, report, result.q, report.sentence, remedies)
        self._display.preview(replace(Scene.of(goal, report, result.q),
                                      contact=contact_of(result, robot)), robot)

    def _outside(self, robot: Robot, q: np.ndarray) -> str:
        """Return how far a posture (n,) is outside of what every motion keeps; '' if it is not."""
        plan = Plan()
        self._conversion.keep(plan, robot)
        constraints = plan.constraints_from(forward_kinematics(
            robot.chain, self._arm.measured(robot).q)) if plan.is_constrained else ()
        what, excess = most_excess(constraints, forward_kinematics(robot.chain, q))
        return f'the goal is outside of the path constraint: {described_excess(what, excess)}' \
            if excess > SLACK else ''

    def explained(self, error: Exception) -> tuple[Reason, str]:
        """Return the reason and the sentence of an error, which is logged if it is ours."""
        if isinstance(error, NotYet):
            return Reason.FRAME_UNKNOWN, str(error)
        if isinstance(error, IkNodeError):
            return error.reason, str(error)
        self._node.get_logger().error(traceback.format_exc())
        return Reason.INTERNAL, (f'internal error: {type(error).__name__}: {error}; please report '
                                 'it with the log')

    def _show_refusal(self, sentence: str) -> None:
        if self._robot_slot.robot is not None:
            goal = None if self._asked is None else self._asked.goal
            self._display.preview(Scene(goal, Colour.RED, sentence), self._robot_slot.robot)

    def _answer_by(self, stamp: str, report: ReachabilityReport, q: np.ndarray,
                   sentence: str, remedies: Mapping[str, str] = NO_REMEDIES) -> None:
        self._answer(stamp, report.colour, report.reason, sentence, {
            'q': numbers(q), 'limit_margin': f'{report.limit_margin:.4f}',
            'smallest_singular_value': f'{report.smallest_singular_value:.4f}',
            'jump': f'{report.jump:.4f}', 'limiting_joint': report.limiting_joint, **remedies})

    def _answer(self, stamp: str, colour: Colour, reason: Reason, sentence: str,
                values: dict[str, str] | None = None) -> None:
        values = {'stamp': stamp, 'colour': colour.value, 'reason': reason.value,
                  **(values or dict.fromkeys(PREVIEW_KEYS, ''))}
        self._publisher.publish(DiagnosticStatus(
            level=COLOUR_LEVELS[colour], name=f'{self._node.get_fully_qualified_name()}: preview',
            message=sentence,
            values=[KeyValue(key=key, value=value) for key, value in values.items()]))

    def asked(self) -> Asked:
        """Return the latest preview."""
        if self._asked is None:
            raise GoalError('there is no preview to plan for; publish one on '
                            f'{self._node.resolve_topic_name("~/preview_pose")} first',
                            Reason.PATH_INVALID)
        return self._asked

    # ---- plans --------------------------------------------------------------

    def _on_plan(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message = self._plan()
            response.success = True
        except Exception as error:  # noqa: BLE001 - a request never goes without an answer
            _, response.message = self.explained(error)
            response.success = False
            self._show_refusal(response.message)
        return response

    def _plan(self) -> str:
        """
        Plan the motion to the latest preview, display it, and return a description.

        If a detour around obstacles has to be searched for, that is told on ``~/preview`` later.
        """
        _, stamp, kind, goal = self.asked()
        self._end_search()
        robot = self._robot_slot.require()
        task = GoalTask(0, Time(), kind, plan=Plan(goal))
        here = self._arm.measured(robot)
        if plans.is_there(task, robot, here.q):
            raise GoalError('the arm is there already', Reason.ALREADY_THERE)
        self._conversion.keep(task.plan, robot)
        if kind == 'pose' and robot.settings.straight:
            self._preparation.require(Kernels.PATHS)
            if task.plan.is_constrained:
                self._preparation.require(Kernels.CONSTRAINTS)
            planner = plans.along(task, robot, [goal.T_base_tip])
            return self._show_plan(task, planner(self._sender.start_state_now()), robot)
        result = task.plan.result = self._conversion.solve(goal, robot, here.q)
        if not result.success:
            raise GoalError(self._conversion.refusal(result, robot)[0], result.status)
        task.plan.q_goal = result.q
        planning = plans.planned_to_joints(task, robot, self._sender.start_state_now(),
                                           self._preparation)
        if planning.done():
            return self._show_plan(task, planning.result(), robot)
        self._search = Search(stamp, task, robot, planning)
        planning.add_done_callback(lambda _: self._bell.trigger())
        leaves = ' or leave a path constraint' * task.plan.is_constrained
        return (f'the direct motion would collide{leaves}; a detour is planned, and '
                f'{self._node.resolve_topic_name("~/preview")} tells what came of it')

    def _show_plan(self, task: GoalTask, trajectory: Trajectory, robot: Robot) -> str:
        """Display a motion, and return a description."""
        scene = under_way(task, task.plan.goal, trajectory, robot)
        length = np.linalg.norm(np.diff(scene.path, axis=0), axis=1).sum()
        around = 'within path constraints' if task.plan.is_constrained else 'around obstacles'
        way = f', {around}' if 'detour' in task.values else ''
        part = f'; as far as it can: {task.plan.interruption}' if task.plan.interruption else ''
        plan = f'{trajectory.duration:.2f} s, {length:.3f} m of the tip{way}{part}'
        self._display.preview(replace(scene, sentence='; '.join(filter(None, (
            plan, scene.sentence)))), robot)
        return plan

    # ---- detours around obstacles -----------------------------------------------

    def _end_search(self) -> None:
        """End the search for the plan that was asked for last; a newer one takes its place."""
        if self._search is not None:
            self._search.task.state = GoalState.SUPERSEDED
            self._search = None

    def _on_search_end(self) -> None:
        if self._search is None or not self._search.planning.done():
            return
        (stamp, task, robot, planning), self._search = self._search, None
        try:
            trajectory = planning.result()
            if self._robot_slot.robot is not robot:
                raise GoalError('the robot description changed during the search; ask again',
                                Reason.MODEL_MISSING)
            task.plan.result = None  # another posture may have been easier to get to
            sentence = self._show_plan(task, trajectory, robot)
        except Exception as error:  # noqa: BLE001 - a search never goes without an answer
            reason, sentence = self.explained(error)
            self._answer(stamp, Colour.RED, reason, sentence)
            self._show_refusal(sentence)
            return
        report = judge(Posture(robot.chain, trajectory.end, trajectory.start.q),
                       robot.settings.thresholds)
        self._answer_by(stamp, report, trajectory.end, sentence)


MAX_LISTED_POSTURES = 64
SAME_POSTURE = 1e-3  # rad or m, by which the posture that a goal takes may differ from its entry


class Listing(NamedTuple):
    """A list that is being made: what was asked for, the postures that wait, and the reports."""

    asked: Asked
    robot: Robot
    start: StartState
    chosen: np.ndarray | None
    waiting: list[Posture]
    reports: list[PostureReport]


class PostureList:
    """
    Publishes all postures of the latest preview on ``~/postures``, when it is asked to.

    They are judged one by one, each in a round of the executor.
    """

    def __init__(self, node: Node, robot_slot: RobotSlot, conversion: GoalConversion,
                 preparation: Preparation, sender: TrajectorySender, preview: Preview,
                 work_queue: WorkQueue) -> None:
        self._node = node
        self._robot_slot = robot_slot
        self._conversion = conversion
        self._preparation, self._sender = preparation, sender
        self._preview = preview
        self._work_queue = work_queue
        self._listing: Listing | None = None
        self._publisher = node.create_publisher(DiagnosticArray, '~/postures', LATCHED_QOS)
        node.create_service(Trigger, '~/list_postures', self._on_list)

    def _on_list(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message = self._begin()
            response.success = True
        except Exception as error:  # noqa: BLE001 - a request never goes without an answer
            _, response.message = self._preview.explained(error)
            response.success = False
        return response

    def _begin(self) -> str:
        """Find the postures, and return how many there are; a newer list ends an older one."""
        asked, robot = self._preview.asked(), self._robot_slot.require()
        self._preparation.require(Kernels.POSTURES)
        start = self._sender.start_state_now()
        result = self._conversion.solve(asked.goal, robot, start.initial.q)
        postures = postures_of(robot.settings.solver, asked.goal, result.seed)
        if not postures:
            raise GoalError(self._conversion.refusal(result, robot)[0], result.status)
        listed = list(postures[:MAX_LISTED_POSTURES])
        self._listing = Listing(asked, robot, start, result.q if result.success else None, listed,
                                [])
        self._work_queue.later(self._judge_one)
        more = f', of which {len(listed)} are listed' if len(listed) < len(postures) else ''
        return (f'{len(postures)} posture{"s" * (len(postures) != 1)}{more}; '
                f'{self._node.resolve_topic_name("~/postures")} tells of each')

    def _judge_one(self) -> None:
        listing = self._listing
        if listing is None:
            return
        if listing.waiting:
            settings = listing.robot.settings
            listing.reports.append(report_posture(
                listing.waiting.pop(0), settings.solver.collisions, listing.start,
                settings.planning, settings.sample_period, settings.thresholds))
            self._work_queue.later(self._judge_one)
            return
        self._listing = None
        message = DiagnosticArray(status=[self._status(number, report, listing)
                                          for number, report in enumerate(listing.reports, 1)])
        message.header.frame_id = listing.robot.chain.base_link
        message.header.stamp = listing.asked.time
        self._publisher.publish(message)

    def _status(self, number: int, report: PostureReport, listing: Listing) -> DiagnosticStatus:
        posture = report.posture
        chosen = listing.chosen is not None \
            and np.abs(posture.q - listing.chosen).max() < SAME_POSTURE
        values = {
            'stamp': listing.asked.stamp, 'colour': report.colour.value, 'q': numbers(posture.q),
            'chosen': str(bool(chosen)).lower(),
            **{f'branch_{name}': side for name, side in posture.labels.items()},
            'jump': f'{posture.distance:.4f}', 'limit_margin': f'{posture.limit_margin:.4f}',
            'smallest_singular_value': f'{posture.smallest_singular_value:.4f}',
            'clearance_m': f'{report.clearance:.4f}' if np.isfinite(report.clearance) else '',
            'nearest': ' and '.join(report.nearest),
            'duration_s': '' if np.isnan(report.duration) else f'{report.duration:.3f}'}
        return DiagnosticStatus(
            level=COLOUR_LEVELS[report.colour],
            name=f'{self._node.get_fully_qualified_name()}: posture {number}',
            message=report.sentence,
            values=[KeyValue(key=key, value=value) for key, value in values.items()])
