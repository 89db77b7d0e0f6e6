# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""All that the node of several arms makes of one robot description and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import NamedTuple

import numpy as np

from ik_node.base.errors import GoalError, Reason, TrajectoryError
from ik_node.base.text import quote
from ik_node.collision.bodies.ground import ground_body
from ik_node.collision.bodies.links import CHECK_OFF_TEXT
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.tree.kinematic_tree import KinematicTree, make_tree
from ik_node.model.arms import given_arms, robot_arms, RobotArms
from ik_node.model.description.urdf import Tree
from ik_node.model.user_files.joint_limits_file import with_joint_limits
from ik_node.motion import detour
from ik_node.motion.change.monitor import MonitorOptions
from ik_node.motion.change.thinning import for_controller, levers_of, require_max_points
from ik_node.motion.direct.point_to_point import require_free
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.motion.tree_motion import checked_controllers, plan_tree_motion, tree_limits
from ik_node.node.robot.collisions import load_collisions, load_scene
from ik_node.node.robot.settings import positive_if_set, RobotOptions
from ik_node.solver.goal import Goal
from ik_node.solver.result import TreeResult
from ik_node.solver.solver import Solver, TreeSolver


@dataclass(frozen=True)
class MotionOptions:
    """What motions of several arms keep."""

    start_delay: float      # time (s) from sending until all controllers begin
    start_tolerance: float  # how far outside its limits a joint may be at the start, rad or m
    step_tolerance: float   # how far a joint may be from where it should be at the time, rad or m


@dataclass(frozen=True)
class ArmsOptions(RobotOptions):
    """The fields that the rows of ``ros.parameters.IK_ARMS`` fill, and are described in."""

    tip_links: tuple[str, ...]
    arms: tuple[str, ...]
    controllers: tuple[str, ...]
    controller_joints: tuple[str, ...]
    controller_max_points: int
    deadline: float
    max_restarts: int
    velocity_scale: float
    velocity_limits: tuple[float, ...]
    acceleration_limits: tuple[float, ...]
    jerk_limits: tuple[float, ...]
    detour_time: float
    collision_margin: float
    ground: bool
    ground_height: float
    max_goal_age: float
    motion: MotionOptions
    monitor: MonitorOptions


WARM_UP_STEP = 1e-3  # rad or m


class PlannedMotion(NamedTuple):
    """A motion to a goal, and the solution that it leads to."""

    trajectory: Trajectory
    result: TreeResult


@dataclass(frozen=True, eq=False)
class ArmsRobot:
    """All that depends on one robot description."""

    tree: KinematicTree
    solver: TreeSolver  # with the collision model, if collisions are checked
    limits: MotionLimits
    arms: RobotArms
    detour_time: float  # processor time (s) for the search of a detour
    max_points: int = 0  # of a trajectory that each controller takes; 0 = any number
    since: float = field(default_factory=monotonic)  # when it was made, monotonic clock (s)

    @property
    def controllers(self) -> dict[str, tuple[str, ...]]:
        """Return the joints of each controller."""
        return self.arms.controllers

    @property
    def collisions(self) -> CollisionModel | None:
        """Return the collision model, if collisions are checked."""
        return self.solver.collisions

    @property
    def not_checked(self) -> str:
        """Return which links are not checked for collisions; '' if all are."""
        return CHECK_OFF_TEXT if self.collisions is None else str(self.collisions.unchecked)

    def with_collisions(self, collisions: CollisionModel) -> ArmsRobot:
        """Return the same with another collision model."""
        return replace(self, solver=self.solver.with_collisions(collisions))

    def with_controllers(self, found: Mapping[str, str]) -> ArmsRobot:
        """Return the same with the controllers that were found for those that are supposed."""
        return replace(self, since=monotonic(), arms=self.arms._replace(supposed={}, controllers={
            found.get(name, name): joints for name, joints in self.controllers.items()}))

    def owner_of(self, joint: str) -> str:
        """Return the controller of a joint."""
        return next(name for name, joints in self.controllers.items() if joint in joints)

    def planned(self, goals: Mapping[str, Goal], q: np.ndarray) -> PlannedMotion:
        """Return a motion from rest at `q` (n,) that brings the tips to their goals."""
        result = self.solver.solve(goals, q)
        if not result.success:
            raise GoalError(result.message, result.status)
        motion = plan_tree_motion(self.tree, q, result.q, self.limits, self.collisions,
                                  self.detour_time,
                                  partial(self.solver.free_postures, goals, q))
        if not np.array_equal(motion.end, result.q):  # a detour to another posture
            result = replace(result, q=motion.end,
                             errors=self.solver.solve(goals, motion.end).errors)
        return PlannedMotion(self.for_controllers(motion, self.limits), result)

    def for_controllers(self, trajectory: Trajectory, limits: MotionLimits,
                        ramp: bool = False) -> Trajectory:
        """Return a trajectory with as many points as each controller takes."""
        reach = max(map(self.tree.reach, self.tree.tip_links))
        return for_controller(trajectory, self.max_points, levers_of(self.tree, reach),
                              PathOptions().least_deviation, limits,
                              None if ramp else partial(require_free, self.collisions))


def make_arms(tree: Tree, options: ArmsOptions, logger: object) -> ArmsRobot:
    """Return what a robot description and the parameters make, with all kernels loaded."""
    require_max_points(options.controller_max_points)
    tree = with_joint_limits(tree, options.joint_limits_file)
    found = robot_arms(tree, given_arms(vars(options)))
    arms = make_tree(tree, found.base_link, found.tip_links)
    checked_controllers(arms, found.controllers)
    limits = _limits(arms, options)
    collisions = _collisions(arms, options, logger)
    solver = Solver(arms, collisions, deadline=options.deadline,
                    max_restarts=options.max_restarts)
    robot = ArmsRobot(arms, solver, limits, found, options.detour_time,
                      options.controller_max_points)
    _warm_up(robot)
    return robot


def _limits(arms: KinematicTree, options: ArmsOptions) -> MotionLimits:
    def each(field: str) -> np.ndarray | None:
        return positive_if_set(arms, f'motion.{field}', getattr(options, field))

    return tree_limits(arms, each('acceleration_limits'), each('jerk_limits'),
                       each('velocity_limits'), bool(options.joint_limits_file)
                       ).scaled(velocity=options.velocity_scale)


def _collisions(arms: KinematicTree, options: ArmsOptions,
                logger: object) -> CollisionModel | None:
    model = load_collisions(arms.tree, arms, options, logger)
    if model is None:
        return None
    objects = load_scene(arms.tree, arms, options).bodies
    if options.ground:
        objects = *objects, ground_body(options.ground_height)
    return model.with_objects(objects, options.collision_margin)


def _warm_up(robot: ArmsRobot) -> None:
    """Load or compile what a goal needs, so that the first one is not late."""
    arms = robot.tree
    q = arms.middle
    robot.solver.solve(arms.fk(q), q)
    try:
        plan_tree_motion(arms, q, np.clip(q + WARM_UP_STEP, arms.lower, arms.upper),
                         robot.limits, robot.collisions, 0.0)
    except TrajectoryError:
        pass  # what is free does not matter here
    if robot.collisions is not None and robot.detour_time > 0.0:
        detour.warm_up(robot.collisions, robot.limits)


def require_frame_known(frame: str, tree: Tree) -> None:
    """Raise a GoalError, FRAME_MISSING or FRAME_UNKNOWN, unless a frame is a link."""
    if not frame:
        raise GoalError('the frame_id of the goal is empty; it is a link of the robot',
                        Reason.FRAME_MISSING)
    if frame not in tree.links:
        raise GoalError(f'the frame {quote(frame)} is not a link of the robot; goals of several '
                        'arms are not looked up in TF', Reason.FRAME_UNKNOWN)
