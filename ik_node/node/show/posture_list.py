# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""All postures of the latest preview, each with what speaks for and against it."""

from __future__ import annotations

from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from rclpy.node import Node
from std_srvs.srv import Trigger

from ik_node.base.errors import GoalError
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.posture_report import PostureReport, postures_of, report_posture
from ik_node.node.execution.trajectory_sender import TrajectorySender
from ik_node.node.goals.answers import numbers
from ik_node.node.goals.conversion import GoalConversion
from ik_node.node.goals.preparation import Kernels, Preparation
from ik_node.node.goals.queue import WorkQueue
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.show.preview import Asked, COLOUR_LEVELS, Preview
from ik_node.ros.middleware.qos import LATCHED_QOS
from ik_node.solver.result import Posture

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
