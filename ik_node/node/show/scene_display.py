# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Display of the collision check: ~/scene_markers, ~/body_markers and ~/clearance_markers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
import traceback
from typing import Any

import numpy as np
from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.base.se3 import pose
from ik_node.collision.bodies.ground import GROUND_NAME
from ik_node.collision.distances.model import Clearance, CollisionModel
from ik_node.collision.distances.other_joints import OtherJoint
from ik_node.node.goals.preparation import Kernels, Preparation
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.state.arm_state import ArmState
from ik_node.ros.messages.conversion import fill_pose
from ik_node.ros.messages.markers import (
    BODY_ALPHA,
    BODY_COLOUR,
    BODY_GROWTH_M,
    body_markers,
    BODY_NAMESPACE,
    delete_all,
    GROUND_NAMESPACE,
    marker,
    MARKER_COLOURS,
    OBJECT_NAMESPACE,
    page_box_markers,
    paint,
    points_of_array,
    scale,
    text_marker,
)
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.qos import LATCHED_QOS
from ik_node.solver.unreachable import Colour

try:
    from rclpy.event_handler import PublisherEventCallbacks
except ImportError:  # Humble has no event for new subscribers
    PublisherEventCallbacks = None

DISPLAY_DELAY_S = 0.2  # after a change: a camera sends many, and the arm is braked first


class LatchedMarkers:
    """
    Publishes all markers of a topic together, some time after a change.

    Parameters
    ----------
    topic : str
    make : callable
        Returns the markers.

    """

    def __init__(self, node: Node, topic: str, make: Callable[[], list[Marker]]) -> None:
        self._node, self._make = node, make
        self._behind = False  # whether the latched message is older than the last change
        self._publisher = node.create_publisher(
            MarkerArray, topic, LATCHED_QOS, event_callbacks=PublisherEventCallbacks
            and PublisherEventCallbacks(matched=self._on_matched))
        self._timer = node.create_timer(DISPLAY_DELAY_S, self._publish, clock=steady_clock())
        self._timer.cancel()

    def show(self) -> None:
        """Show what there is, soon."""
        if self._timer.is_canceled():
            self._timer.reset()

    def _publish(self) -> None:
        self._timer.cancel()
        self._behind = bool(PublisherEventCallbacks) \
            and self._publisher.get_subscription_count() == 0
        if self._behind:
            return
        try:
            self._publisher.publish(MarkerArray(markers=self._make()))
        except Exception:  # noqa: BLE001  a display must not disturb goals
            self._node.get_logger().error(f'not shown: {traceback.format_exc()}',
                                          throttle_duration_sec=60.0)

    def _on_matched(self, _info: Any) -> None:
        if self._behind:
            self.show()


class SceneDisplay:
    """
    Shows the bodies of the links, the ground and the objects as they are checked.

    Each message has all of them.  Markers are only made while somebody subscribes.
    """

    def __init__(self, node: Node, robot_slot: RobotSlot, frame_prefix: str) -> None:
        self._robot_slot, self._prefix = robot_slot, frame_prefix
        self._scene = LatchedMarkers(node, '~/scene_markers', self._scene_markers)
        self._links = LatchedMarkers(node, '~/body_markers', self._link_markers)
        self._robot: Robot | None = None  # whose links are shown

    def show(self) -> None:
        """Show the present bodies soon."""
        self._scene.show()
        if self._robot is not self._robot_slot.robot:
            self._robot = self._robot_slot.robot
            self._links.show()

    def _scene_markers(self) -> list[Marker]:
        robot = self._robot_slot.robot
        if robot is None:
            return []
        base_link = robot.chain.base_link
        everything = delete_all(self._prefix + base_link)
        model = robot.settings.solver.collisions
        if model is None:
            return [everything]
        ground = [body for body in model.objects
                  if body.name == GROUND_NAME and body.name not in robot.scene]
        objects = [body for body in model.objects if body not in ground]
        boxes, others = page_box_markers(objects, base_link, self._prefix)
        return [everything, *body_markers(GROUND_NAMESPACE, ground, base_link, self._prefix),
                *boxes, *body_markers(OBJECT_NAMESPACE, others, base_link, self._prefix)]

    def _link_markers(self) -> list[Marker]:
        robot = self._robot_slot.robot
        if robot is None:
            return []
        base_link = robot.chain.base_link
        bodies = () if robot.collisions is None else robot.collisions.bodies
        return [delete_all(self._prefix + base_link), *body_markers(
            BODY_NAMESPACE, bodies, base_link, self._prefix, BODY_COLOUR, BODY_ALPHA,
            BODY_GROWTH_M)]


CLEARANCE_NAMESPACE = 'clearance'
LINE_WIDTH_M, POINT_WIDTH_M, TEXT_HEIGHT_M = 0.004, 0.012, 0.03
TEXT_LIFT_M = 0.04  # above the middle of the line


def clearance_markers(clearances: Iterable[Clearance], frame: str) -> list[Marker]:
    """
    Return for each clearance a line between the nearest points, both points, and a sentence.

    They are red if the two do not keep their margin.  Of bodies that are drawn into each other
    there is only the sentence, at the base.

    Parameters
    ----------
    frame : str
        The base link.

    """
    return [each for number, clearance in enumerate(clearances)
            for each in _of_one(clearance, 4 * number, frame)]


def _of_one(clearance: Clearance, number: int, frame: str) -> list[Marker]:
    points = clearance.points
    middle = np.zeros(3) if points is None else points.mean(axis=0)
    sentence = text_marker(CLEARANCE_NAMESPACE, number, clearance_text(clearance),
                           middle + [0.0, 0.0, TEXT_LIFT_M], frame, TEXT_HEIGHT_M)
    if points is None:
        return [sentence]
    line = marker(CLEARANCE_NAMESPACE, number + 1, frame, Marker.LINE_LIST)
    line.points = points_of_array(points)
    scale(line, LINE_WIDTH_M)
    ends = [marker(CLEARANCE_NAMESPACE, number + k, frame, Marker.SPHERE) for k in (2, 3)]
    for end, point in zip(ends, points):
        fill_pose(end.pose, pose(np.eye(3), point))
        scale(end, *[POINT_WIDTH_M] * 3)
    for each in (line, *ends):
        paint(each, MARKER_COLOURS[Colour.GREEN if clearance.kept else Colour.RED])
    return [sentence, line, *ends]


def clearance_text(clearance: Clearance) -> str:
    """Return which two are nearest to each other, and how near, as far as links are checked."""
    first, second = clearance.names
    if clearance.distance <= 0.0:
        return f'No clearance: {first} and {second} touch'
    return f'Clearance {1e3 * clearance.distance:.0f} mm: {first} and {second}' \
        + (f' ({clearance.unchecked.brief})' if clearance.unchecked else '')


def measured_now(model: CollisionModel, positions: Mapping[str, float]) -> dict[str, OtherJoint]:
    """Return where joints beside the arm are, without room; as the model has those not known."""
    return {**model.others, **{name: OtherJoint(positions[name])
                               for name in model.other_joints if name in positions}}


# In every second look at the arm a distance is asked for, in the others it is shown.
LOOK_PERIOD_S = 0.1


class ClearanceDisplay:
    """
    Shows which two links are nearest to each other, which link and object, where, and how near.

    The distance is computed in a thread of its own, only while somebody subscribes, and only
    after the arm has moved or the scene has changed.  Joints beside the arm are where they are
    measured, not where they will be.
    """

    def __init__(self, node: Node, robot_slot: RobotSlot, arm: ArmState, preparation: Preparation,
                 frame_prefix: str) -> None:
        self._node, self._robot_slot, self._arm = node, robot_slot, arm
        self._preparation, self._prefix = preparation, frame_prefix
        self._asked: tuple[Robot, CollisionModel | None, dict[str, OtherJoint],
                           np.ndarray | None] | None = None
        self._answer: Future | None = None
        self._publisher = node.create_publisher(
            MarkerArray, '~/clearance_markers', LATCHED_QOS, event_callbacks=
            PublisherEventCallbacks and PublisherEventCallbacks(matched=self._on_matched))
        self._timer = node.create_timer(LOOK_PERIOD_S, self._look, clock=steady_clock())
        if PublisherEventCallbacks:
            self._timer.cancel()

    def _on_matched(self, _info: Any) -> None:
        if self._timer.is_canceled():
            self._timer.reset()

    def _look(self) -> None:
        if not self._publisher.get_subscription_count():
            if PublisherEventCallbacks:
                self._timer.cancel()
            self._asked = None  # the next subscriber gets the present distances
            return
        robot = self._robot_slot.robot
        if robot is None or not self._preparation.is_ready(Kernels.CLEARANCES):
            return
        if self._answer is None:
            self._ask(robot)
        elif self._answer.done():
            answer, self._answer = self._answer, None
            try:
                self._show(robot, answer.result())
            except Exception:  # noqa: BLE001  a display must not disturb goals
                self._node.get_logger().error(f'not shown: {traceback.format_exc()}',
                                              throttle_duration_sec=60.0)

    def _ask(self, robot: Robot) -> None:
        """Have the distance computed, unless it is that of the last time."""
        model = robot.settings.solver.collisions
        q, age = self._arm.last(robot)
        if age > robot.settings.monitor.state_timeout:
            q = None
        others = {} if model is None else measured_now(model, self._arm.joints.positions)
        before = self._asked
        if before is not None and before[:3] == (robot, model, others) \
                and np.array_equal(before[3], q):
            return
        self._asked = robot, model, others, q
        if model is None or q is None:
            self._show(robot, ())
        else:
            thread = ThreadPoolExecutor(1, 'clearance')
            self._answer = thread.submit(
                lambda: (model.with_others(others) if others else model).clearances(q))
            thread.shutdown(wait=False)  # it ends with the answer

    def _show(self, robot: Robot, clearances: Iterable[Clearance]) -> None:
        frame = self._prefix + robot.chain.base_link
        self._publisher.publish(MarkerArray(markers=[delete_all(frame),
                                                     *clearance_markers(clearances, frame)]))
