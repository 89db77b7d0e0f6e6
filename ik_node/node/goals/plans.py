# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The planners of each kind of motion to a goal, by requests that are recorded.

A planner takes the start state and returns the trajectory; it raises an IkNodeError if there is
none.  What it learns is noted in the goal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from time import thread_time
from typing import Any

import numpy as np

from ik_node.base.errors import GoalError, PathError, Reason, TrajectoryError
from ik_node.base.text import quote
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.change.path_pace import PathRate
from ik_node.motion.chunk import ChunkPlan, TimedPoses
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.joint_path.motion_sequence import SequencedMotion, SequenceError, SequencePlan
from ik_node.motion.joint_path.plan import JointPathPlan
from ik_node.motion.joint_path.waypoints import Waypoints
from ik_node.motion.requests import (
    ArcPoses,
    ChunkRequest,
    ConstrainableRequest,
    ConstrainedRequest,
    DetourRequest,
    DirectRequest,
    JointPathRequest,
    PathRequest,
    RateRequest,
    Rounds,
    SequenceRequest,
    WithinRequest,
)
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.tool_path.plan import PathPlan
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.node.goals.answers import numbers
from ik_node.node.goals.goal import GoalTask, Planner, RefusedPlan
from ik_node.node.goals.preparation import Kernels, Preparation
from ik_node.node.robot.robot import Robot
from ik_node.ros.middleware.process import in_thread
from ik_node.solver.goal import Goal
from ik_node.solver.remedies.remedy import with_best

JOINT_ADVICE = '; go there in several goals, set motion.detour_time, or lower collision.margin'

# Of a direct motion, after which another one is searched for.
SEARCHED_REASONS = Reason.COLLISION, Reason.CONSTRAINT
JOINTS_KIND = 'joints'  # of the goals that name joint positions
MAX_TURNS = 100  # of a joint in one motion
SPEED_SHARE_KEY = 'torque_speed_share'  # of an answer
LEFT_OUT_TURNS = 'left_out_turns'  # in the values of an answer

# Poses (4, 4) to pass in straight lines, or what returns those of an arc from the start state.
Way = Sequence[np.ndarray] | Callable[[MotionState], ArcPoses]


def to_joints(task: GoalTask, robot: Robot, advice: str = JOINT_ADVICE) -> Planner:
    """Return the planner of the fastest motion to ``plan.q_goal``; advice if it collides."""
    def plan(start_state: StartState) -> Trajectory:
        settings, start = robot.settings, start_state.splice
        q_goal = _end_of(task, robot, start.q)
        task.values |= {'q_start': partial(numbers, start.q),
                        'qd_start': partial(numbers, start.qd),
                        'q': partial(numbers, q_goal)}
        limits = task.plan.limits or settings.planning
        try:
            return within_torques(robot, task, lambda share: settings.plan(kept(
                task, robot, DirectRequest(start_state, q_goal, limits.slowed(share),
                                           settings.sample_period, advice)), task.requests))
        except GoalError as error:
            if task.plan.goal is None:
                raise
            # The scene has changed since it was solved; a detour may have another posture.
            raise TrajectoryError(str(error), error.reason) from None

    return plan


def around_obstacles(task: GoalTask, robot: Robot) -> Planner | None:
    """
    Return the planner of a motion around obstacles, to any posture that serves the goal.

    Of one within the path constraints, if there are some; None if the settings want none.
    """
    longest = task.plan.detour_time
    if longest is None:
        longest = robot.settings.detour_time
    if keeps_turns(task, robot):
        return None  # a detour ends at the same angles, a turn or none away
    if longest == 0.0 or robot.settings.solver.collisions is None \
            and not task.plan.is_constrained:
        return None

    def plan(start_state: StartState) -> Trajectory:
        settings, end = robot.settings, thread_time() + longest
        limits = task.plan.limits or settings.planning
        goal = None if task.plan.nearest else task.plan.goal

        def request(share: float) -> DetourRequest | ConstrainedRequest:
            rounds = Rounds(lambda: not task.final and thread_time() < end)
            if task.plan.is_constrained:
                return ConstrainedRequest(
                    start_state, task.plan.q_goal, goal, constraints_of(task, robot, start_state),
                    limits.slowed(share), settings.sample_period, rounds)
            return DetourRequest(start_state, task.plan.q_goal, goal, limits.slowed(share),
                                 settings.sample_period, rounds)

        trajectory = within_torques(robot, task, lambda share: settings.plan(
            request(share), task.requests))
        task.values |= {'q': numbers(trajectory.end), 'detour': 'true'}
        return trajectory

    return plan


def along(task: GoalTask, robot: Robot, way: Way, remedied: bool = False) -> Planner:
    """
    Return the planner of a motion of the tip along a path.

    If `remedied`, for another thread, its error says what would make the path possible.
    """
    def plan(start_state: StartState) -> Trajectory:
        settings = robot.settings
        path = way(start_state.splice) if callable(way) else tuple(way)
        options = path_options(task, robot)
        request = kept(task, robot, PathRequest(
            start_state, path, task.plan.limits or settings.planning, options))
        try:
            return _noted(task, within_torques(robot, task, lambda share: settings.plan(
                replace(request, limits=request.limits.slowed(share)), task.requests),
                _trajectory_of), options)
        except PathError as error:
            task.plan.refused = RefusedPlan(settings, start_state, request, error)
            if not remedied or not task.plan.refused.may_have_remedies:
                raise
            remedies = task.plan.refused.remedies(task.requests, lambda: task.final)
            raise PathError(with_best(str(error), remedies), error.reason,
                            error.fraction) from None

    return plan


def along_chunk(task: GoalTask, robot: Robot, chunk: TimedPoses,
                zero: Callable[[StartState], float]) -> Planner:
    """
    Return the planner of a motion along poses at monotonic times (s).

    Parameters
    ----------
    zero : callable
        Returns the monotonic time (s) of time 0 of a trajectory that begins at a start state.

    """
    def plan(start_state: StartState) -> Trajectory:
        settings = robot.settings
        timed = chunk.later(-zero(start_state))
        limits = task.plan.limits or settings.planning
        constraints = constraints_of(task, robot, start_state)
        planned: ChunkPlan = within_torques(robot, task, lambda share: settings.plan(ChunkRequest(
            start_state, timed, limits.slowed(share), settings.following, constraints),
            task.requests), _trajectory_of)
        task.plan.interruption = planned.interruption
        task.plan.q_goal = planned.trajectory.end
        task.values |= {'path_deviation_m': f'{planned.deviation[0]:.2e}',
                        'path_deviation_rad': f'{planned.deviation[1]:.2e}'}
        return planned.trajectory

    return plan


def in_sequence(task: GoalTask, robot: Robot, motions: Sequence[SequencedMotion],
                on_planned: Callable[[SequencePlan], None]) -> Planner:
    """
    Return the planner of a sequence of motions.

    Parameters
    ----------
    on_planned : callable
        Called with each plan that is made, in any thread.

    """
    def plan(start_state: StartState) -> Trajectory:
        settings = robot.settings
        request = SequenceRequest(start_state, tuple(motions), settings.sample_period,
                                  settings.paths)
        try:
            planned = within_torques(robot, task, lambda share: settings.plan(kept(
                task, robot, replace(request, motions=tuple(
                    replace(each, limits=each.limits.slowed(share)) for each in motions))),
                task.requests), _trajectory_of)
        except SequenceError as error:
            task.plan.refused = RefusedPlan(settings, start_state, replace(
                request, motions=error.motions, start=StartState.from_state(
                    MotionState.at_rest(error.q))), error, error.first)
            raise
        on_planned(planned)
        task.plan.q_goal = planned.trajectory.end
        return planned.trajectory

    return plan


def through_joints(task: GoalTask, robot: Robot, way: Waypoints) -> Planner:
    """Return the planner of a motion of the joints through waypoints."""
    def plan(start_state: StartState) -> Trajectory:
        settings = robot.settings
        limits = task.plan.limits or settings.planning
        planned: JointPathPlan = within_torques(robot, task, lambda share: settings.plan(
            kept(task, robot, JointPathRequest(
                start_state, way.q, None if way.times is None else way.times / share,
                limits.slowed(share), settings.sample_period, settings.start_tolerance)),
            task.requests), _trajectory_of)
        task.plan.q_goal = planned.trajectory.end
        task.values['path_fraction'] = '1.0000'
        return planned.trajectory

    return plan


def at_another_speed(task: GoalTask, robot: Robot, ratio: float) -> Planner:
    """Return the planner of the rest of the present motion at another speed."""
    active, settings = robot.active, robot.settings_under_way
    highest = ratio
    # While it slows down the arm is still faster than that.
    limits = replace(settings.planning, velocity=settings.limits.velocity)

    def plan(start_state: StartState) -> Trajectory:
        if robot.active is not active:  # asked for again, because it was not joined
            raise TrajectoryError('the motion whose speed was changed is not known any more')

        def at(share: float) -> PathRate:
            nonlocal highest
            changed = settings.plan(kept(task, robot, RateRequest(
                start_state, active.trajectory, share * highest, limits,
                settings.sample_period)), task.requests)
            if share == 1.0:
                highest = changed.ratio  # which may be less than was wanted
            return changed

        changed = within_torques(robot, task, at, _trajectory_of)
        task.execution.speed *= changed.ratio
        return changed.trajectory

    return plan


def after_blocked(blocked: TrajectoryError, detour: Planner) -> Planner:
    """Return a planner whose error says why the direct motion is none, too."""
    def plan(start_state: StartState) -> Trajectory:
        try:
            return detour(start_state)
        except TrajectoryError as error:
            if error.reason is Reason.CONSTRAINT:
                raise  # it says all
            raise TrajectoryError(f'{blocked}, and {error}', error.reason) from None

    return plan


def planned_to_joints(task: GoalTask, robot: Robot, start: StartState,
                      preparation: Preparation) -> Future:
    """
    Return the motion to ``plan.q_goal``, without sending it.

    It is there at once, or planned around obstacles in another thread until the task ends.

    Raises
    ------
    IkNodeError
        If there is none.

    """
    if task.plan.is_constrained:
        preparation.require(Kernels.CONSTRAINTS)
    detour, planned = around_obstacles(task, robot), Future()
    try:
        planned.set_result(
            to_joints(task, robot, JOINT_ADVICE if detour is None else '')(start))
    except TrajectoryError as error:
        if detour is None or error.reason not in SEARCHED_REASONS:
            raise
        preparation.require(Kernels.DETOURS)
        planned = in_thread(after_blocked(error, detour), start)
    return planned


def kept(task: GoalTask, robot: Robot, request: PathRequest | ConstrainableRequest) -> Any:
    """Return a request whose motion is to keep the path constraints of a goal."""
    constraints = constraints_of(task, robot, request.start)
    if not constraints:
        return request
    return replace(request, constraints=constraints) if isinstance(request, PathRequest) \
        else WithinRequest(request, constraints)


def constraints_of(task: GoalTask, robot: Robot, start: StartState) -> tuple[PathConstraint, ...]:
    """Return the path constraints of a goal whose motion begins at `start`, or began before."""
    return task.plan.constraints_from(forward_kinematics(robot.chain, start.splice.q)) \
        if task.plan.is_constrained else ()


def _trajectory_of(planned: PathPlan | ChunkPlan | JointPathPlan | SequencePlan | PathRate
                   ) -> Trajectory:
    return planned.trajectory


def within_torques(robot: Robot, task: GoalTask, plan: Callable[[float], Any],
                   trajectory_of: Callable[[Any], Trajectory] = lambda planned: planned) -> Any:
    """
    Return the plan at the highest share of the speed that keeps the effort limits.

    The share is noted in the task if it is below 1.  Without TorqueLimits it is 1.

    Parameters
    ----------
    plan : callable
        Plans at a share of the speed, as for :meth:`TorqueLimits.kept`.
    trajectory_of : callable
        Returns the motion of a plan.

    Raises
    ------
    TrajectoryError
        TOO_HEAVY, and what the plan raises.

    """
    if robot.torques is None:
        return plan(1.0)
    task.values.pop(SPEED_SHARE_KEY, None)  # of an earlier plan for the same goal
    planned, share = robot.torques.kept(plan, trajectory_of)
    if share < 1.0:
        task.values[SPEED_SHARE_KEY] = f'{share:.3f}'
    return planned


def path_options(task: GoalTask, robot: Robot) -> PathOptions:
    """Return how the path of a goal is followed."""
    paths = robot.settings.paths
    return paths if task.plan.free_axes is None else replace(paths, free_axes=task.plan.free_axes)


def _noted(task: GoalTask, planned: PathPlan, options: PathOptions) -> Trajectory:
    """Note in a task what was planned for it."""
    end = planned.path.poses([planned.path.length * planned.fraction])[0]
    task.plan.goal = Goal(end, options.tolerance) if options.free_axes else Goal(end)
    task.plan.interruption = planned.interruption
    task.values |= {'path_m': f'{planned.path.length:.4f}',
                    'path_fraction': f'{planned.fraction:.4f}',
                    'path_deviation_m': f'{planned.deviation[0]:.2e}',
                    'path_deviation_rad': f'{planned.deviation[1]:.2e}'}
    return planned.trajectory


def keeps_turns(task: GoalTask, robot: Robot) -> bool:
    """Return whether a goal asks for whole turns of joints without limits, too."""
    return task.kind == JOINTS_KIND and robot.settings.whole_turns


def is_there(task: GoalTask, robot: Robot, q: np.ndarray) -> bool:
    """Return whether an arm at `q` (n,) is at the goal."""
    if task.plan.goal is None:
        away = q - task.plan.q_goal if keeps_turns(task, robot) \
            else robot.chain.difference(q, task.plan.q_goal)
        return bool(np.abs(away).max() <= 1e-6)
    T_base_tip, options = forward_kinematics(robot.chain, q), robot.settings.solver.options
    away = np.abs(T_base_tip[:3, 3] - task.plan.goal.T_base_tip[:3, 3]).max()
    if task.plan.goal.is_exact and away > options.position_tolerance:
        return False  # as nearly always
    position, angle = task.plan.goal.error(T_base_tip)
    return position <= options.position_tolerance and angle <= options.orientation_tolerance


def _end_of(task: GoalTask, robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return where (n,) a motion from `q` ends; note the turns that it leaves out."""
    nearest = robot.chain.nearest_turns(task.plan.q_goal, q)
    turns = np.rint((task.plan.q_goal - nearest) / (2.0 * np.pi))
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
    return np.where(turns != 0, task.plan.q_goal, nearest)
