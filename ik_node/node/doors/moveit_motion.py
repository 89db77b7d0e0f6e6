# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions by the services and actions of MoveIt."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from time import monotonic
import traceback
from typing import Any, NamedTuple

from builtin_interfaces.msg import Time
import numpy as np
from rclpy.action.server import ServerGoalHandle
from rclpy.task import Future as RosFuture
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_node.base.errors import GoalError, IkNodeError, PathError, Reason, TrajectoryError
from ik_node.base.text import quote
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.requests import ArcPoses, ReceivedRequest
from ik_node.motion.tool_path.path import MAX_PATH_POSES
from ik_node.motion.tool_path.plan import plan_path
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.node.doors.moveit_goals import (
    MoveItRequests,
    read_path_constraints,
    read_request,
    RequestError,
    scaled_limits,
    WantedMotion,
)
from ik_node.node.doors.pose_actions import AnsweredActionServer
from ik_node.node.goals import plans
from ik_node.node.goals.goal import GoalTask, Plan, Steps
from ik_node.node.goals.preparation import CompilingError, Kernels
from ik_node.node.intake.context import NodeContext
from ik_node.node.robot.robot import Robot
from ik_node.node.state.frames import NotYet
from ik_node.ros.messages.conversion import trajectory_from_message, trajectory_message
from ik_node.ros.messages.moveit_types import look_for_others, set_error_code
from ik_node.ros.middleware.process import in_thread
from ik_node.solver.goal import Goal

KIND_NAME = 'moveit'  # of the tasks, in their answers
CONTROLLER_REASONS = (
    Reason.NO_LISTENER, Reason.REFUSED, Reason.INTERRUPTED, Reason.NOT_MOVING, Reason.OFF_TRACK,
    Reason.OFF_TARGET, Reason.TIME_JUMPED, Reason.STATE_LOST)
CODES_BY_REASON = {
    Reason.REACHED: 'SUCCESS', Reason.ALREADY_THERE: 'SUCCESS',
    Reason.NEAREST: 'GOAL_CONSTRAINTS_VIOLATED',
    **dict.fromkeys((Reason.SUPERSEDED, Reason.STOPPED), 'PREEMPTED'),
    **dict.fromkeys(CONTROLLER_REASONS, 'CONTROL_FAILED'),
    **dict.fromkeys((Reason.COLLISION, Reason.CONSTRAINT, Reason.TOO_HEAVY,
                     Reason.TRAJECTORY_INVALID, Reason.PATH_INVALID, Reason.PATH_INTERRUPTED),
                    'PLANNING_FAILED'),
    **dict.fromkeys((Reason.OUT_OF_REACH, Reason.INNER_VOID, Reason.ORIENTATION_OUT_OF_REACH,
                     Reason.BEYOND_LIMIT, Reason.OTHER_BRANCH, Reason.NO_SOLUTION),
                    'NO_IK_SOLUTION'),
    **dict.fromkeys((Reason.STATE_MISSING, Reason.STATE_INCOMPLETE, Reason.STATE_OTHER_JOINTS,
                     Reason.STATE_STALE, Reason.STATE_INVALID, Reason.NODE_LATE),
                    'ROBOT_STATE_STALE'),
    **dict.fromkeys((Reason.FRAME_MISSING, Reason.FRAME_UNKNOWN), 'FRAME_TRANSFORM_FAILURE'),
    Reason.START_OUT_OF_LIMITS: 'START_STATE_INVALID', Reason.DEADLINE: 'TIMED_OUT'}
STOP_EVENT = 'stop'
PLANNING_STATE, MONITOR_STATE = 'PLANNING', 'MONITOR'


class Planned(NamedTuple):
    """A motion that was planned, and how long (s) that took."""

    trajectory: Trajectory
    seconds: float


class MoveItMotion:
    """
    Offers ``plan_kinematic_path``, ``compute_cartesian_path``, ``move_action`` and
    ``execute_trajectory``, and stops at ``trajectory_execution_event``.

    Parameters
    ----------
    action, srv : modules
        moveit_msgs.action and moveit_msgs.srv.

    """  # noqa: D205 - the names are what counts

    def __init__(self, context: NodeContext, requests: MoveItRequests, action: Any, srv: Any
                 ) -> None:
        self._node = node = context.node
        self._robot_slot = context.robot_slot
        self._requests = requests
        self._conversion = context.conversion
        self._goals = context.goals
        self._motion = context.motion
        self._preparation, self._sender = context.preparation, context.sender
        self._ramps = context.ramps
        self._action = action
        self._open: dict[bytes, GoalTask] = {}
        node.create_service(srv.GetMotionPlan, 'plan_kinematic_path', self._on_plan)
        node.create_service(srv.GetCartesianPath, 'compute_cartesian_path', self._on_path)
        self._moves = AnsweredActionServer(node, action.MoveGroup, 'move_action',
                                           self._on_move, self._on_cancel)
        self._executions = AnsweredActionServer(node, action.ExecuteTrajectory,
                                                'execute_trajectory', self._on_execute,
                                                self._on_cancel)
        node.create_subscription(String, 'trajectory_execution_event', self._on_event, 10)

    # ---- plans --------------------------------------------------------------

    async def _on_plan(self, request: Any, response: Any) -> Any:
        look_for_others(self._node, 'plan_kinematic_path')
        answer = response.motion_plan_response
        answer.group_name = request.motion_plan_request.group_name
        await self._requests.changes.settled()
        try:
            planned = await self._planned(read_request(self._requests,
                                                       request.motion_plan_request))
        except Exception as error:  # noqa: BLE001 - a request never goes without an answer
            self._refuse(answer.error_code, error)
            return response
        self._write(planned.trajectory, answer.trajectory_start, answer.trajectory)
        answer.planning_time = planned.seconds
        set_error_code(answer.error_code, 'SUCCESS')
        return response

    async def _planned(self, wanted: WantedMotion) -> Planned:
        """Return the motion to the first goal to which there is one."""
        began = monotonic()
        for k, goal in enumerate(wanted.goals, 1):
            try:
                trajectory = await self._planned_to(wanted, goal)
                return Planned(trajectory, monotonic() - began)
            except IkNodeError:
                if k == len(wanted.goals):
                    raise
        raise AssertionError('a request without goals is refused before')

    async def _planned_to(self, wanted: WantedMotion, goal: np.ndarray | Goal) -> Trajectory:
        """Return the motion to a goal, as soon as what it needs is compiled."""
        while True:
            start = self._start(wanted.robot, wanted.q_start)
            try:
                return await self._finished(self._planning(wanted, goal, start))
            except CompilingError as error:
                await self._finished(self._preparation.loaded(error.kernels))

    def _planning(self, wanted: WantedMotion, goal: np.ndarray | Goal,
                  start: StartState) -> Future:
        """Return the future motion to a goal; the error of a single one says what would help."""
        task = GoalTask(0, Time(), KIND_NAME, plan=plan_of(wanted))
        self._conversion.keep(task.plan, wanted.robot)
        single = len(wanted.goals) == 1
        if task.plan.is_constrained:
            self._preparation.require(Kernels.CONSTRAINTS)
        if wanted.follows_path(goal):
            self._preparation.require(Kernels.PATHS)
            return in_thread(plans.along(task, wanted.robot, self._way(wanted, goal),
                                         remedied=single), start)
        if isinstance(goal, Goal):
            if not goal.is_exact:
                self._preparation.require(Kernels.FREE_AXES)
            task.plan.goal = goal
            task.plan.result = wanted.robot.settings.solver.solve(goal, start.splice.q)
            if not task.plan.result.success:
                sentence = self._conversion.refusal(task.plan.result, wanted.robot)[0] if single \
                    else task.plan.result.message
                raise GoalError(sentence, task.plan.result.status)
            goal = task.plan.result.q
        task.plan.q_goal = goal
        return plans.planned_to_joints(task, wanted.robot, start, self._preparation)

    def _start(self, robot: Robot, q_start: np.ndarray) -> StartState:
        """Return the start state of a motion from `q_start` (n,), at rest, or from where it is."""
        here = self._requests.joint_vector(robot, self._requests.measured(robot))
        if np.abs(robot.chain.difference(here, q_start)).max() <= robot.settings.start_tolerance:
            return self._sender.start_state_now()
        lower, upper = robot.chain.lower, robot.chain.upper
        if (np.maximum(lower - q_start, q_start - upper) > robot.settings.start_tolerance).any():
            raise RequestError('START_STATE_INVALID',
                               'the start state is outside the joint limits')
        return StartState.from_state(MotionState.at_rest(q_start))

    @staticmethod
    def _way(wanted: WantedMotion, goal: Goal) -> Any:
        """Return the line or the arc to a goal."""
        if wanted.through is None:
            return [goal.T_base_tip]

        def arc(start: MotionState) -> ArcPoses:
            T_start = forward_kinematics(wanted.robot.chain, start.q)
            T_between = goal.T_base_tip.copy()
            T_between[:3, 3] = wanted.through
            return ArcPoses(T_start, T_between, goal.T_base_tip)

        return arc

    async def _finished(self, work: Future) -> Any:
        """Return the result of what is done in another thread; the node goes on meanwhile."""
        if not work.done():
            finished = RosFuture()
            work.add_done_callback(lambda _: finished.set_result(None))
            await finished
        return work.result()

    # ---- Cartesian paths ----------------------------------------------------

    async def _on_path(self, request: Any, response: Any) -> Any:
        """Plan as far as it goes; the fraction tells how far, as in MoveIt."""
        look_for_others(self._node, 'compute_cartesian_path')
        await self._requests.changes.settled()
        try:
            self._requests.robot(request.group_name)  # without one nothing is compiled
            await self._finished(self._preparation.loaded(Kernels.PATHS))
            robot = self._requests.robot(request.group_name)
            constraints = read_path_constraints(self._requests, robot, request.path_constraints)
            poses = self._waypoints(request, robot)
            q_start = self._requests.joint_vector(
                robot, self._requests.positions(robot, request.start_state))
            start = self._start(robot, q_start)
            settings, limits = robot.settings, scaled_limits(robot, request)
            if request.avoid_collisions and settings.solver.collisions is None:
                raise RequestError('COLLISION_CHECKING_UNAVAILABLE',
                                   'collisions are not checked; set collision.check')
            solver = settings.solver if request.avoid_collisions \
                else settings.solver.with_collisions(None)
            options = replace(settings.paths, partial=True)

            kept = Plan(keeps=constraints)
            self._conversion.keep(kept, robot)
            if kept.is_constrained:
                await self._finished(self._preparation.loaded(Kernels.CONSTRAINTS))

            def plan(start_state: StartState) -> Any:
                return plan_path(solver, start_state, poses, limits, options,
                                 kept.constraints_from(forward_kinematics(
                                     robot.chain, start_state.splice.q)))

            try:
                planned = await self._finished(in_thread(plan, start))
                response.fraction, trajectory = planned.fraction, planned.trajectory
                sentence = '' if planned.interruption is None else str(planned.interruption)
            except PathError as error:
                there = error.reason is Reason.ALREADY_THERE
                response.fraction, sentence = float(there), str(error)
                trajectory = _standing(robot, start.splice.q)
        except Exception as error:  # noqa: BLE001 - a request never goes without an answer
            self._refuse(response.error_code, error)
            return response
        self._write(trajectory, response.start_state, response.solution)
        set_error_code(response.error_code, 'SUCCESS', sentence)
        return response

    def _waypoints(self, request: Any, robot: Robot) -> list[np.ndarray]:
        if not 0 < len(request.waypoints) <= MAX_PATH_POSES:
            raise RequestError('INVALID_GOAL_CONSTRAINTS', f'the request has '
                               f'{len(request.waypoints)} waypoints; 1 to {MAX_PATH_POSES} are '
                               'taken')
        T_link_tip = self._requests.tip_in_link(request.link_name, robot)
        return [self._requests.pose(request.header, pose, robot) @ T_link_tip
                for pose in request.waypoints]

    # ---- motions ------------------------------------------------------------

    def _on_move(self, handle: ServerGoalHandle) -> None:
        """Plan and, unless only a plan is asked for, move."""
        look_for_others(self._node, 'move_action/_action/send_goal')
        result, options = self._action.MoveGroup.Result(), handle.request.planning_options
        try:
            diff = options.planning_scene_diff
            if diff.world.collision_objects or diff.robot_state.attached_collision_objects:
                raise RequestError('FAILURE', 'objects of planning_scene_diff are not read; '
                                   'send them to apply_planning_scene')
            wanted = read_request(self._requests, handle.request.request)
            self._moves.tell(handle, state=PLANNING_STATE)
            if options.plan_only:
                self._node.executor.create_task(self._plan_only, handle, wanted, result)
                return
            self._require_here(wanted)
        except Exception as error:  # noqa: BLE001 - a goal never goes without an answer
            self._refuse(result.error_code, error)
            self._moves.answer(handle, result, False)
            return
        self._begin(self._moves, handle, plan_of(wanted),
                    partial(self._start_motion, wanted))

    async def _plan_only(self, handle: ServerGoalHandle, wanted: WantedMotion,
                         result: Any) -> None:
        await self._requests.changes.settled()
        try:
            planned = await self._planned(wanted)
        except Exception as error:  # noqa: BLE001 - a goal never goes without an answer
            self._refuse(result.error_code, error)
            self._moves.answer(handle, result, False)
            return
        self._write(planned.trajectory, result.trajectory_start, result.planned_trajectory)
        result.planning_time = planned.seconds
        set_error_code(result.error_code, 'SUCCESS')
        self._moves.answer(handle, result, True)

    def _require_here(self, wanted: WantedMotion) -> None:
        """Refuse to move from a start state at which a resting arm is not."""
        robot = wanted.robot
        here = self._requests.joint_vector(robot, self._requests.measured(robot))
        away = np.abs(robot.chain.difference(here, wanted.q_start))
        if not robot.moves and away.max() > robot.settings.start_tolerance:
            k = int(away.argmax())
            raise RequestError(
                'START_STATE_INVALID', f'the start state has {quote(robot.chain.joint_names[k])} '
                f'{away[k]:.3g} from where it is; a motion starts where the arm is')

    def _start_motion(self, wanted: WantedMotion, task: GoalTask, robot: Robot) -> Steps:
        """Begin the motion to the first goal to which there is one."""
        begin, *task.alternatives = [partial(self._begin_to, wanted, goal, task)
                                     for goal in wanted.goals]
        return begin()

    def _begin_to(self, wanted: WantedMotion, goal: np.ndarray | Goal, task: GoalTask) -> Steps:
        robot = self._robot_slot.require()
        if robot is not wanted.robot:
            raise GoalError('the robot description has changed; send the goal again',
                            Reason.MODEL_MISSING)
        task.plan = plan_of(wanted)  # without what the goal before asked for
        self._conversion.keep(task.plan, robot)
        if wanted.follows_path(goal):
            return self._motion.along(task, self._way(wanted, goal))
        if isinstance(goal, Goal):
            task.plan.goal = goal
            return self._motion.to_goal(task)
        task.plan.q_goal = goal
        return self._motion.to_joints(task)

    def _on_execute(self, handle: ServerGoalHandle) -> None:
        """Check a trajectory that was planned before, and send it."""
        look_for_others(self._node, 'execute_trajectory/_action/send_goal')
        result = self._action.ExecuteTrajectory.Result()
        try:
            robot = self._requests.robot()
            given = handle.request.trajectory
            if given.multi_dof_joint_trajectory.points:
                raise RequestError('INVALID_MOTION_PLAN', 'the trajectory has joints of several '
                                   'axes, which are not moved')
            here = self._requests.joint_vector(robot, self._requests.measured(robot))
            try:
                trajectory = trajectory_from_message(given.joint_trajectory, robot.chain, here)
            except TrajectoryError as error:
                raise RequestError('INVALID_MOTION_PLAN', str(error)) from None
        except Exception as error:  # noqa: BLE001 - a goal never goes without an answer
            self._refuse(result.error_code, error)
            self._executions.answer(handle, result, False)
            return

        def start(task: GoalTask, robot: Robot) -> Steps:
            def plan(start_state: StartState) -> Trajectory:
                settings = robot.settings
                received = settings.plan(plans.kept(task, robot, ReceivedRequest(
                    start_state, trajectory, settings.start_tolerance, settings.limits)),
                    task.requests)
                if robot.torques is not None:
                    robot.torques.require(received)
                return received

            task.plan.q_goal = trajectory.end
            self._conversion.keep(task.plan, robot)
            return self._motion.execute(task, plan)

        self._begin(self._executions, handle, Plan(), start)

    def _begin(self, server: AnsweredActionServer, handle: ServerGoalHandle, plan: Plan,
               start: Callable[[GoalTask, Robot], Steps]) -> None:
        """Hand a goal to the goal queue; its final answer ends it."""
        key, began, seconds = bytes(handle.goal_id.uuid), monotonic(), 0.0

        def on_final(task: GoalTask, reason: Reason, sentence: str) -> None:
            del self._open[key]
            result = server.action_type.Result()
            code = CODES_BY_REASON.get(reason, 'INVALID_GOAL_CONSTRAINTS'
                                       if reason.value.startswith('GOAL_') else 'FAILURE')
            set_error_code(result.error_code, code, sentence)
            sent = task.execution.trajectory
            if sent is not None and hasattr(result, 'planned_trajectory'):
                self._write(sent, result.trajectory_start, result.planned_trajectory)
                if code == 'SUCCESS':
                    result.executed_trajectory = result.planned_trajectory
                result.planning_time = seconds
            server.answer(handle, result, code == 'SUCCESS')

        task = self._open[key] = self._goals.new(
            self._node.get_clock().now().to_msg(), KIND_NAME, plan=plan, on_final=on_final)
        self._goals.attempt(task, lambda: start(task, self._robot_slot.require()))
        seconds = monotonic() - began
        if not task.final:
            server.tell(handle, state=MONITOR_STATE)

    # ---- ends ---------------------------------------------------------------

    def _on_cancel(self, handle: ServerGoalHandle) -> None:
        """Bring the arm to rest, if it moves for this goal."""
        task = self._open.get(bytes(handle.goal_id.uuid))
        if task is not None:
            self._ramps.cancel(task, 'cancelled by its client')

    def _on_event(self, message: String) -> None:
        if message.data == STOP_EVENT:
            self._ramps.stop_if_possible('stopped by trajectory_execution_event')

    def _refuse(self, code: Any, error: Exception) -> None:
        """Write the error code of what went wrong."""
        if isinstance(error, RequestError):
            set_error_code(code, error.code, str(error))
        elif isinstance(error, NotYet):
            set_error_code(code, 'FRAME_TRANSFORM_FAILURE', str(error))
        elif isinstance(error, IkNodeError):
            set_error_code(code, CODES_BY_REASON.get(error.reason, 'FAILURE'), str(error))
        else:
            self._node.get_logger().error(traceback.format_exc())
            set_error_code(code, 'FAILURE', f'internal error: {type(error).__name__}: {error}; '
                           'please report it with the log')

    def _write(self, trajectory: Trajectory, start: Any, message: Any) -> None:
        """Write a moveit_msgs/RobotState and RobotTrajectory; the first point is the start."""
        made = trajectory_message(trajectory)
        state = trajectory.start
        made.header.frame_id = self._requests.prefix + self._requests.robot().chain.base_link
        made.points.insert(0, JointTrajectoryPoint(
            positions=state.q.tolist(), velocities=state.qd.tolist(),
            accelerations=state.qdd.tolist()))
        message.joint_trajectory = made
        start.joint_state.name = list(trajectory.joint_names)
        start.joint_state.position = state.q.tolist()
        start.joint_state.velocity = state.qd.tolist()


def plan_of(wanted: WantedMotion) -> Plan:
    """Return the plan of a goal with what a request asks of the planners."""
    return Plan(limits=wanted.limits, detour_time=wanted.detour_time, keeps=wanted.constraints)


def _standing(robot: Robot, q: np.ndarray) -> Trajectory:
    """Return a trajectory without points at `q` (n,): nothing of a path can be followed."""
    none = np.zeros((0, robot.chain.n))
    return Trajectory(robot.chain.joint_names, MotionState.at_rest(q), np.zeros(0), none, none,
                      none)
