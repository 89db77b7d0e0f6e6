# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Display of the latest goal or preview: ~/markers for RViz, ~/ghost for robot models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
import traceback
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.base.errors import Reason
from ik_node.base.se3 import pose, rotation_to_axis
from ik_node.base.text import quote
from ik_node.kinematics.arm import forward_kinematics
from ik_node.kinematics.links import elsewhere, link_poses, links_moved
from ik_node.model.description.shapes import link_shapes
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.trajectory.sampling import tip_path
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.goals.goal import GoalTask
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.show.scene_display import PublisherEventCallbacks
from ik_node.node.state.arm_state import ArmState
from ik_node.ros.messages.markers import (
    body_markers,
    constraint_markers,
    CONSTRAINT_NAMESPACE,
    CONTACT_ALPHA,
    CONTACT_COLOUR,
    CONTACT_NAMESPACE,
    Ghost,
    goal_markers,
    joint_markers,
    marker,
    path_marker,
    reason_marker,
    with_deleted,
)
from ik_node.ros.messages.status_messages import GoalState
from ik_node.ros.middleware.qos import LATCHED_QOS
from ik_node.solver.goal import Goal
from ik_node.solver.result import Posture, Result
from ik_node.solver.unreachable import Colour, judge, ReachabilityReport

CONTACT_GROWTH_M = 1e-3  # of an object, so that its colour covers that of the same object
ARROW_SIZE = 0.12  # times the reach of the arm
ARROW_SIZE_RANGE_M = 0.02, 0.3


@dataclass(frozen=True, eq=False)
class Scene:
    """Content of the display; empty by default."""

    goal: Goal | None = None
    colour: Colour = Colour.GREEN  # reachability
    # Shown at the goal: what a plan takes, and why it is not green; may be empty.
    sentence: str = ''
    path: np.ndarray | None = None  # (N, 3), tip positions along the motion, m
    q: np.ndarray | None = None     # (n,), joint positions of the ghost
    limiting_joint: str = ''        # joint that is marked; empty for none
    contact: tuple[str, ...] = ()   # links and objects that are marked, because they collide
    constraints: tuple[PathConstraint, ...] = ()  # that the motion keeps
    begin: np.ndarray | None = None  # (3,), where the tip was when it began, m; None without them

    @staticmethod
    def of(goal: Goal, report: ReachabilityReport, q: np.ndarray,
           path: np.ndarray | None = None) -> Scene:
        """Return the scene of a goal with its reachability."""
        return Scene(goal, report.colour,
                     '' if report.colour is Colour.GREEN else report.sentence, path, q,
                     report.limiting_joint)


class Display:
    """
    Shows the latest goal, updated by its answers, or the latest preview.

    Each message has the whole scene.  Markers are only made while somebody subscribes.
    """

    def __init__(self, node: Node, robot_slot: RobotSlot, arm: ArmState, frame_prefix: str
                 ) -> None:
        self._node = node
        self._robot_slot = robot_slot
        self._arm = arm
        self._prefix = frame_prefix
        self._task: GoalTask | None = None
        self._scene = Scene()
        self._robot: Robot | None = None
        self._published = True
        self._ghost: tuple[Robot | None, Ghost] = None, Ghost({}, '')
        # By namespace: of markers that are numbered from 0 on, how many have been shown.
        self._numbered: Counter[str] = Counter()
        self._ghosts = node.create_publisher(JointState, '~/ghost', LATCHED_QOS)
        self._markers = node.create_publisher(
            MarkerArray, '~/markers', LATCHED_QOS, event_callbacks=PublisherEventCallbacks and
            PublisherEventCallbacks(matched=self._on_matched))

    def preview(self, scene: Scene, robot: Robot) -> None:
        """Show a scene until the next goal or preview."""
        with self._aside():
            self._show(scene, robot)

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Log errors of the display; they must not disturb goals."""
        try:
            yield
        except Exception:  # noqa: BLE001
            self._node.get_logger().error(f'not shown: {traceback.format_exc()}',
                                          throttle_duration_sec=60.0)

    def _show(self, scene: Scene, robot: Robot, task: GoalTask | None = None) -> None:
        self._scene, self._robot, self._task = scene, robot, task
        ghost = JointState()
        if scene.q is not None:
            ghost.header.stamp = self._node.get_clock().now().to_msg()
            ghost.name, ghost.position = list(robot.chain.joint_names), scene.q.tolist()
        self._ghosts.publish(ghost)
        self._publish_markers()

    def _publish_markers(self) -> None:
        self._published = not PublisherEventCallbacks or \
            self._markers.get_subscription_count() > 0
        # Without subscribers: an empty message replaces the latched one.
        self._markers.publish(MarkerArray(
            markers=self._made(self._scene, self._robot) if self._published else []))

    def _on_matched(self, _info: Any) -> None:
        """Publish the markers for the first subscriber."""
        if not self._published:
            with self._aside():
                self._publish_markers()

    # ---- goals --------------------------------------------------------------

    def on_answer(self, _goal_id: str, task: GoalTask, _reason: Reason, sentence: str) -> None:
        """Show a goal that was answered."""
        robot = self._robot_slot.robot
        if robot is None or task.state is GoalState.SUPERSEDED:
            return  # the newer goal is shown
        with self._aside():
            self._follow(task, sentence, robot)

    def _follow(self, task: GoalTask, sentence: str, robot: Robot) -> None:
        goal = task.plan.goal
        if goal is None and task.plan.q_goal is not None:
            goal = Goal(forward_kinematics(robot.chain, task.plan.q_goal))
        if task.state is GoalState.ACCEPTED:
            self._show(self._of_stream(task, robot) if goal is None
                       else under_way(task, goal, robot.active.trajectory, robot), robot, task)
        elif task.execution.attempts and task is not self._task:
            return  # a newer goal is shown
        elif goal is None:
            if task is self._task and self._scene.constraints:
                self._show(Scene(), robot)  # it keeps them no longer
        elif task.state is not GoalState.REACHED:
            self._show(refused(task, goal, sentence, robot), robot, task)
        elif task is self._task:
            self._show(Scene(goal, self._scene.colour), robot, task)
        else:
            self._show(Scene(goal), robot, task)  # already there

    def _of_stream(self, task: GoalTask, robot: Robot) -> Scene:
        """Return the scene of a stream: only what it keeps is known."""
        kept = task.plan.constraints
        return Scene(constraints=kept, begin=forward_kinematics(
            robot.chain, self._arm.measured(robot).q)[:3, 3]) if kept else Scene()

    # ---- markers ------------------------------------------------------------

    def _made(self, scene: Scene, robot: Robot) -> list[Marker]:
        frame = self._prefix + robot.chain.base_link
        size = float(np.clip(ARROW_SIZE * robot.chain.reach, *ARROW_SIZE_RANGE_M))
        ghost = self._ghost_of(robot, frame)
        ghost.remove()
        made = []
        if scene.goal is not None:
            made += goal_markers(scene.goal, scene.colour, frame, size)
        if scene.goal is not None and scene.sentence:
            made.append(reason_marker(scene.sentence, scene.goal.T_base_tip[:3, 3], frame, size))
        if scene.path is not None:
            made.append(path_marker(scene.path, scene.colour, frame, size))
        if scene.q is not None:
            there, poses = (link_poses(robot.tree, robot.chain.base_link, {
                **self._arm.joints.positions, **positions}) for positions in (
                    {}, dict(zip(robot.chain.joint_names, scene.q))))
            # Links of the ghost that coincide with links of the arm would flicker.
            ghost.place({**elsewhere(poses, there), **{
                link: T for link, T in poses.items() if link in scene.contact}}, scene.colour,
                scene.contact)
            for joint in robot.tree.joints:
                if joint.name == scene.limiting_joint and joint.child in poses:
                    axis = pose(rotation_to_axis(joint.axis), np.zeros(3))
                    made += joint_markers(joint.name, poses[joint.child] @ axis, scene.colour,
                                          frame, size)
        kept = [] if scene.begin is None else constraint_markers(
            scene.constraints, scene.begin, frame, size)
        return [*with_deleted(made, frame),
                *self._with_gone(CONTACT_NAMESPACE, self._contact(scene, robot), frame),
                *self._with_gone(CONSTRAINT_NAMESPACE, kept, frame), *ghost.markers]

    def _contact(self, scene: Scene, robot: Robot) -> list[Marker]:
        """Return the markers of objects that collide."""
        model = robot.settings.solver.collisions
        return [] if model is None else body_markers(
            CONTACT_NAMESPACE, [body for body in model.objects if body.name in scene.contact],
            robot.chain.base_link, self._prefix, CONTACT_COLOUR, CONTACT_ALPHA, CONTACT_GROWTH_M)

    def _with_gone(self, ns: str, made: list[Marker], frame: str) -> list[Marker]:
        """Return markers that are numbered from 0 on, and the deletion of earlier ones."""
        gone = [marker(ns, k, frame, Marker.CUBE) for k in range(len(made), self._numbered[ns])]
        for each in gone:
            each.action = Marker.DELETE
        self._numbered[ns] = max(self._numbered[ns], len(made))
        return [*made, *gone]

    def _ghost_of(self, robot: Robot, frame: str) -> Ghost:
        """Return the ghost of a robot: only the links that the chain moves."""
        made_of, ghost = self._ghost
        if made_of is not robot:
            moved = links_moved(robot.tree, robot.chain.base_link, robot.chain.joint_names)
            shapes = {link: each for link, each in link_shapes(robot.tree, 'visual').items()
                      if link in moved}
            for link, fault in [(link, shape.fault) for link, each in shapes.items()
                                for shape in each if shape.fault]:
                self._node.get_logger().warning(
                    f'a visual of the link {quote(link)} is not drawn: {fault}')
            ghost = Ghost({link: [part for shape in each if not shape.fault
                                  for part in shape.primitives]
                           for link, each in shapes.items()}, frame,
                          at_least=len(ghost.markers))
            self._ghost = robot, ghost
        return ghost


def refused(task: GoalTask, goal: Goal, sentence: str, robot: Robot) -> Scene:
    """Return the scene of a goal that is not reached; if its posture collides, with that."""
    contact = () if task.plan.result is None else contact_of(task.plan.result, robot)
    return Scene(goal, Colour.RED, sentence, q=task.plan.result.q if contact else None,
                 contact=contact)


def contact_of(result: Result, robot: Robot) -> tuple[str, ...]:
    """Return the two links or objects because of which a goal is refused; none for others."""
    model = robot.settings.solver.collisions
    if model is None or result.status is not Reason.COLLISION:
        return ()
    worst = model.worst_pair(result.q)
    return () if worst is None else worst.names


def under_way(task: GoalTask, goal: Goal, trajectory: Trajectory, robot: Robot) -> Scene:
    """Return the scene of a goal with the motion that leads there."""
    found = task.plan.result or Posture(robot.chain, trajectory.end, trajectory.start.q)
    path = tip_path(robot.chain, trajectory)
    return replace(Scene.of(goal, judge(found, robot.settings.thresholds), trajectory.end, path),
                   constraints=task.plan.constraints, begin=path[0])
