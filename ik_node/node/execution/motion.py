# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Motions to goals, all in the same steps: solve, plan, prove, send, supervise.

The goal has been converted to the base link (node/goals/conversion.py).  Steps yield while a goal
has to wait, and what they raise is its answer (node/goals/queue.py).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from time import monotonic

import numpy as np

from ik_node.base.errors import GoalError, PathError, Reason, TrajectoryError
from ik_node.motion.change.monitor import Monitor
from ik_node.motion.direct.point_to_point import require_free_goal
from ik_node.motion.joint_path.motion_sequence import SequenceError
from ik_node.node.execution.beside import PlansBeside
from ik_node.node.execution.context import MotionContext
from ik_node.node.execution.outputs import Late
from ik_node.node.execution.ramps import Ramps
from ik_node.node.execution.supervisor import Supervisor
from ik_node.node.execution.trajectory_sender import SEND_SHARE
from ik_node.node.goals import plans
from ik_node.node.goals.conversion import GoalConversion, margin_values, result_values
from ik_node.node.goals.goal import GoalTask, Planner, Steps
from ik_node.node.goals.preparation import Kernels, Preparation
from ik_node.node.robot.robot import Robot
from ik_node.node.state.arm_state import MeasuredState
from ik_node.node.state.team import OtherArmError
from ik_node.ros.messages.status_messages import GoalState

MAX_LATE_PLANS = 2  # after which the arm is brought to rest first
OTHER_ARM_PERIOD_S = 0.05  # between two looks whether another arm has passed
LONG_PATH_POSES = 100  # from which on a path is planned beside the other callbacks, from rest


class Motion:
    """Moves the arm to one goal at a time."""

    def __init__(self, context: MotionContext, conversion: GoalConversion,
                 preparation: Preparation, ramps: Ramps, supervisor: Supervisor) -> None:
        self._beside = PlansBeside(context, ramps)
        self._robot_slot = context.robot_slot
        self._arm = context.arm
        self._output = context.output
        self._goals = context.goals
        self._sender = context.sender
        self._seat = context.seat
        self._conversion = conversion
        self._preparation = preparation
        self._ramps = ramps
        self._supervisor = supervisor

    def to_goal(self, task: GoalTask) -> Steps:
        """Solve for ``plan.goal``, and move there."""
        plan = task.plan
        if not plan.goal.is_exact:
            yield from self._preparation.until_loaded(task, Kernels.FREE_AXES)
        robot = self._robot_slot.require()
        yield from self._arm.until_taken(robot)
        here = self._arm.measured(robot)
        result = plan.result = self._conversion.solve(plan.goal, robot, here.q, task)
        task.values |= result_values(result)
        if task.alternatives and (plan.nearest or not result.success) \
                or task.refusals and not result.success:
            raise GoalError(result.message, result.status)  # of one pose of several
        if not result.success:
            sentence, remedies = self._conversion.refusal(result, robot, task)
            task.values |= remedies
            raise GoalError(sentence, result.status)
        task.values |= margin_values(result)
        robot.last_answer = plan.q_goal = result.q
        yield from self.to_joints(task, here)

    def to_joints(self, task: GoalTask, here: MeasuredState | None = None) -> Steps:
        """Move to ``plan.q_goal`` from where the arm is, at rest or in motion."""
        robot = self._robot_slot.require()
        here = here or self._arm.measured(robot)
        if not self._ramps.occupied(robot, here.q) and plans.is_there(task, robot, here.q):
            require_free_goal(robot.settings.solver.collisions, task.plan.q_goal)
            self._goals.supersede(task)
            self._supervisor.note_measured_error(task, robot, here.q)
            self._goals.end(task, GoalState.REACHED, Reason.ALREADY_THERE,
                            'the arm is there already')
            return
        detour = plans.around_obstacles(task, robot)
        task.plan.replan = plans.to_joints(task, robot)
        advice = plans.JOINT_ADVICE if detour is None else ''
        yield from self.execute(task, plans.to_joints(task, robot, advice), detour, here)

    def along(self, task: GoalTask, way: plans.Way) -> Steps:
        """Move the tip along a path."""
        yield from self._until_paths_load(task)
        robot = self._robot_slot.require()
        if plans.path_options(task, robot).free_axes:
            yield from self._preparation.until_loaded(task, Kernels.FREE_AXES)
        planner = plans.along(task, robot, way)
        if not callable(way) and len(way) >= LONG_PATH_POSES:
            planner = yield from self._beside.planned(task, planner)
        yield from self.execute(task, planner)

    def plan_beside(self, task: GoalTask, planner: Planner) -> Generator[None, None, Planner]:
        """Plan a motion from rest in another thread; return what then gives it."""
        return self._beside.planned(task, planner)

    def planned_beside(self, task: GoalTask, planner_for: Callable[[Robot], Planner]) -> Steps:
        """Move as is planned in another thread, because it takes long."""
        yield from self._until_paths_load(task)
        planner = planner_for(self._robot_slot.require())
        yield from self.execute(task, (yield from self._beside.planned(task, planner)))

    def _until_paths_load(self, task: GoalTask) -> Steps:
        for kernels in (Kernels.PATHS, *[Kernels.CONSTRAINTS] * task.plan.is_constrained):
            yield from self._preparation.until_loaded(task, kernels)

    def execute(self, task: GoalTask, planner: Planner, detour: Planner | None = None,
                here: MeasuredState | None = None) -> Steps:
        """
        Plan from where the arm is, send the trajectory, and supervise it to the final answer.

        If the motion would collide, or leave a path constraint, `detour` is planned beside.  If
        the plan for a moving arm comes too late, or the arm does not follow, it is planned again.
        """
        execution, late = task.execution, 0
        if task.plan.is_constrained and not self._preparation.is_ready(Kernels.CONSTRAINTS):
            yield from self._preparation.until_loaded(task, Kernels.CONSTRAINTS)
            here = None
        execution.planner, execution.detour = planner, detour
        while not task.final:
            if execution.is_to_stop:
                self._goals.end(task, GoalState.STOPPED, Reason.STOPPED, 'it was to stop, which '
                                'was not possible then; no other motion is sent for it')
                return
            robot = self._robot_slot.require()
            if here is None:
                yield from self._arm.until_taken(robot)
                here = self._arm.measured(robot)
            try:
                waits = not self._output.ready(monotonic()) \
                    or self._ramps.must_rest_first(task, robot, here.qd) \
                    or task.state is None and not robot.moves and self._seat.gives_way()
                if not waits:
                    self._send(task, robot, here)
            except OtherArmError as error:
                yield from self._until_it_has_passed(task, robot, error)
            except Late:
                late += 1
                if self._goals.gives_way(task):
                    return
                if late >= MAX_LATE_PLANS:
                    yield from self._ramps.come_to_rest(task)
                yield
            except (PathError, SequenceError) as error:
                self._supervisor.refuse(task, error, robot, here.q)
                return
            except TrajectoryError as error:
                if execution.detour is None or error.reason not in plans.SEARCHED_REASONS:
                    raise
                yield from self._preparation.until_loaded(task, Kernels.DETOURS)
                planner = plans.after_blocked(error, execution.detour)
                execution.planner = yield from self._beside.planned(task, planner)
                execution.detour, late = None, 0
                if self._goals.gives_way(task):
                    return
            else:
                if not waits:
                    late = 0
                    yield from self._supervisor.supervise(task)
                elif not self._goals.gives_way(task):
                    yield
            here = None

    def _until_it_has_passed(self, task: GoalTask, robot: Robot, error: OtherArmError) -> Steps:
        """Wait for some time, at rest, as another arm is in the way."""
        self._seat.waits(lambda: task.final)
        if 'waits_because' not in task.values:
            task.values['waits_because'] = str(error)
        if robot.moves:
            yield from self._ramps.come_to_rest(task)
        end = monotonic() + OTHER_ARM_PERIOD_S
        while monotonic() < end and not self._goals.gives_way(task):
            yield

    def _send(self, task: GoalTask, robot: Robot, here: MeasuredState) -> None:
        """Plan from where the arm is, which proves that the motion is free, and send it."""
        execution, settings = task.execution, robot.settings
        self._sender.detect_missed_join(robot, here.q)
        at = self._arm.instant()
        start = self._sender.start_state(robot, *here, at, execution.planning_time)
        # An arm that did not follow may still start to move.
        stands = start.initial.rests and not (start.states or robot.diverged)
        in_time = np.inf if stands else at.now + execution.planning_time \
            + SEND_SHARE * self._sender.handover_time(robot)
        trajectory = execution.trajectory = self._sender.send(
            execution.planner(start), robot, start, at, settings.limits, in_time, task)
        self._seat.begins()
        execution.speed, execution.attempts = settings.speed, execution.attempts + 1
        execution.monitor = Monitor(robot.chain, trajectory, here.q, settings.monitor)
        task.values['duration_s'] = f'{trajectory.duration:.3f}'
        waited = task.values.get('began_at_rest_because')
        self._goals.under_way(task, f'on its way, {trajectory.duration:.2f} s' + (
            f'; it had to wait for rest, because {waited}' if waited else ''))
