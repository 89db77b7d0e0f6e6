# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The planners of goals: from a start state to a trajectory, by requests that are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import thread_time

import numpy as np

from ik_node.base.errors import GoalError, PathError, TrajectoryError
from ik_node.base.text import quote
from ik_node.motion.change.path_pace import PathRate
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.joint_path.motion_sequence import SequencedMotion, SequenceError, SequencePlan
from ik_node.motion.joint_path.plan import JointPathPlan
from ik_node.motion.joint_path.waypoints import Waypoints
from ik_node.motion.requests import (
    ArcPoses,
    DetourRequest,
    DirectRequest,
    JointPathRequest,
    PathRequest,
    RateRequest,
    Rounds,
    SequenceRequest,
)
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.tool_path.plan import PathPlan
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.node.goals.goal_status import GoalTask, numbers, RefusedPlan
from ik_node.node.goals.preparation import Kernels, Preparation, within_torques
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.solver.goal import Goal
from ik_node.solver.remedy import with_best

JOINT_ADVICE = '; go there in several goals, set motion.detour_time, or lower collision.margin'

JOINTS_KIND = 'joints'  # of the goals that name joint positions
MAX_TURNS = 100  # of a joint in one motion
LEFT_OUT_TURNS = 'left_out_turns'  # in the values of an answer

Plan = Callable[[StartState], Trajectory]
Way = Sequence[np.ndarray] | Callable[[MotionState], ArcPoses]


class GoalPlans:
    """
    Makes the planner of each kind of motion to a goal.

    A planner takes the start state and returns the trajectory; it raises an IkNodeError if there
    is none.  What it learns is noted in the values of the goal.

    Parameters
    ----------
    preparation : Preparation
        Of what goals to poses do not need.

    """

    def __init__(self, robot_slot: RobotSlot, preparation: Preparation) -> None:
        self._robot_slot = robot_slot
        self._preparation = preparation

    def to_joints(self, task: GoalTask, advice: str = JOINT_ADVICE) -> Plan:
        """Return the planner of the fastest motion to ``task.q_goal``; advice if it collides."""
        robot = self._robot_slot.require()

        def plan(start_state: StartState) -> Trajectory:
            settings, start = robot.settings, start_state.splice
            q_goal = _end_of(task, robot, start.q)
            task.values |= {'q_start': partial(numbers, start.q),
                            'qd_start': partial(numbers, start.qd),
                            'q': partial(numbers, q_goal)}
            limits = task.limits or settings.planning
            try:
                return within_torques(robot, task, lambda share: settings.plan(DirectRequest(
                    start_state, q_goal, limits.slowed(share), settings.sample_period, advice),
                    task.requests))
            except GoalError as error:
                if task.goal is None:
                    raise
                # The scene has changed since it was solved; a detour may have another posture.
                raise TrajectoryError(str(error), error.reason) from None

        return plan

    def around_obstacles(self, task: GoalTask) -> Plan | None:
        """
        Return the planner of a motion around obstacles, to any posture that serves the goal.

        None if the settings want none.
        """
        robot = self._robot_slot.require()
        longest = robot.settings.detour_time if task.detour_time is None else task.detour_time
        if keeps_turns(task, robot):
            return None  # a detour ends at the same angles, a turn or none away
        if longest == 0.0 or robot.settings.solver.collisions is None:
            return None

        def plan(start_state: StartState) -> Trajectory:
            settings, end = robot.settings, thread_time() + longest
            limits = task.limits or settings.planning
            trajectory = within_torques(robot, task, lambda share: settings.plan(DetourRequest(
                start_state, task.q_goal, None if task.nearest else task.goal,
                limits.slowed(share), settings.sample_period,
                Rounds(lambda: not task.final and thread_time() < end)), task.requests))
            task.values |= {'q': numbers(trajectory.end), 'detour': 'true'}
            return trajectory

        return plan

    def along(self, task: GoalTask, way: Way, remedied: bool = False) -> Plan:
        """
        Return the planner of a motion of the tip along a path.

        If `remedied`, for another thread, its error says what would make the path possible.
        """
        self._preparation.require(Kernels.PATHS)
        robot = self._robot_slot.require()

        def plan(start_state: StartState) -> Trajectory:
            settings = robot.settings
            path = way(start_state.splice) if callable(way) else tuple(way)
            options = path_options(task, robot)
            request = PathRequest(start_state, path, task.limits or settings.planning, options)
            try:
                return _noted(task, within_torques(robot, task, lambda share: settings.plan(
                    replace(request, limits=request.limits.slowed(share)), task.requests),
                    _trajectory_of), options)
            except PathError as error:
                task.refused = RefusedPlan(settings, start_state, request, error)
                if not remedied or not task.refused.may_have_remedies:
                    raise
                remedies = task.refused.remedies(task.requests, lambda: task.final)
                raise PathError(with_best(str(error), remedies), error.reason,
                                error.fraction) from None

        return plan

    def in_sequence(self, task: GoalTask, motions: Sequence[SequencedMotion],
                    on_planned: Callable[[SequencePlan], None]) -> Plan:
        """
        Return the planner of a sequence of motions.

        Parameters
        ----------
        on_planned : callable
            Called with each plan that is made, in any thread.

        """
        robot = self._robot_slot.require()

        def plan(start_state: StartState) -> Trajectory:
            settings = robot.settings
            request = SequenceRequest(start_state, tuple(motions), settings.sample_period,
                                      settings.paths)
            try:
                planned = within_torques(robot, task, lambda share: settings.plan(replace(
                    request, motions=tuple(replace(each, limits=each.limits.slowed(share))
                                           for each in motions)), task.requests), _trajectory_of)
            except SequenceError as error:
                task.refused = RefusedPlan(settings, start_state, replace(
                    request, motions=error.motions, start=StartState.from_state(
                        MotionState.at_rest(error.q))), error, error.first)
                raise
            on_planned(planned)
            task.q_goal = planned.trajectory.end
            return planned.trajectory

        return plan

    def through_joints(self, task: GoalTask, way: Waypoints) -> Plan:
        """Return the planner of a motion of the joints through waypoints."""
        robot = self._robot_slot.require()

        def plan(start_state: StartState) -> Trajectory:
            settings = robot.settings
            limits = task.limits or settings.planning
            planned: JointPathPlan = within_torques(robot, task, lambda share: settings.plan(
                JointPathRequest(
                    start_state, way.q, None if way.times is None else way.times / share,
                    limits.slowed(share), settings.sample_period, settings.start_tolerance),
                task.requests), _trajectory_of)
            task.q_goal = planned.trajectory.end
            task.values['path_fraction'] = '1.0000'
            return planned.trajectory

        return plan

    def at_another_speed(self, task: GoalTask, robot: Robot, ratio: float) -> Plan:
        """Return the planner of the rest of the present motion at another speed."""
        active, settings = robot.active, robot.settings
        highest = ratio
        # While it slows down the arm is still faster than that.
        limits = replace(settings.planning, velocity=settings.limits.velocity)

        def plan(start_state: StartState) -> Trajectory:
            if robot.active is not active:  # asked for again, because it was not joined
                raise TrajectoryError('the motion whose speed was changed is not known any more')

            def at(share: float) -> PathRate:
                nonlocal highest
                changed = settings.plan(RateRequest(
                    start_state, active.trajectory, share * highest, limits,
                    settings.sample_period), task.requests)
                if share == 1.0:
                    highest = changed.ratio  # which may be less than was wanted
                return changed

            changed = within_torques(robot, task, at, _trajectory_of)
            task.speed *= changed.ratio
            return changed.trajectory

        return plan


def after_blocked(blocked: TrajectoryError, detour: Plan) -> Plan:
    """Return a planner whose error says why the direct motion is none, too."""
    def plan(start_state: StartState) -> Trajectory:
        try:
            return detour(start_state)
        except TrajectoryError as error:
            raise TrajectoryError(f'{blocked}, and {error}', error.reason) from None

    return plan


def _trajectory_of(planned: PathPlan | JointPathPlan | SequencePlan | PathRate) -> Trajectory:
    return planned.trajectory


def path_options(task: GoalTask, robot: Robot) -> PathOptions:
    """Return how the path of a goal is followed."""
    paths = robot.settings.paths
    return paths if task.free_axes is None else replace(paths, free_axes=task.free_axes)


def _noted(task: GoalTask, planned: PathPlan, options: PathOptions) -> Trajectory:
    """Note in a task what was planned for it."""
    end = planned.path.poses([planned.path.length * planned.fraction])[0]
    task.goal = Goal(end, options.tolerance) if options.free_axes else Goal(end)
    task.interruption = planned.interruption
    task.values |= {'path_m': f'{planned.path.length:.4f}',
                    'path_fraction': f'{planned.fraction:.4f}',
                    'path_deviation_m': f'{planned.deviation[0]:.2e}',
                    'path_deviation_rad': f'{planned.deviation[1]:.2e}'}
    return planned.trajectory


def keeps_turns(task: GoalTask, robot: Robot) -> bool:
    """Return whether a goal asks for whole turns of joints without limits, too."""
    return task.kind == JOINTS_KIND and robot.settings.whole_turns


def _end_of(task: GoalTask, robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return where (n,) a motion from `q` ends; note the turns that it leaves out."""
    nearest = robot.chain.nearest_turns(task.q_goal, q)
    turns = np.rint((task.q_goal - nearest) / (2.0 * np.pi))
    if not turns.any() or task.kind != JOINTS_KIND:
        return nearest
    if not keeps_turns(task, robot):
        task.values[LEFT_OUT_TURNS] = ', '.join(
            f'{turns[k]:g} of {quote(robot.chain.joint_names[k])}' for k in np.flatnonzero(turns))
        return nearest
    k = int(np.abs(turns).argmax())
    if abs(turns[k]) > MAX_TURNS:
        raise TrajectoryError(f'{quote(robot.chain.joint_names[k])} would make {abs(turns[k]):g} '
                              f'turns; at most {MAX_TURNS} are made in one motion')
    return np.where(turns != 0, task.q_goal, nearest)
