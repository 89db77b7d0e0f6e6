# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Motions to goals, all in the same steps: solve, plan, prove, send, supervise.

The goal has been converted to the base link (node/goals/conversion.py).  Steps yield while a goal
has to wait, and what they raise is its answer (node/goals/queue.py).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from time import monotonic

import numpy as np

from ik_node.base.errors import GoalError, PathError, Reason, TrajectoryError
from ik_node.motion.change.active_trajectory import SAME_POSITION
from ik_node.motion.change.monitor import Monitor
from ik_node.motion.direct.point_to_point import require_free_goal, StartState
from ik_node.motion.joint_path.motion_sequence import SequencedMotion, SequenceError, SequencePlan
from ik_node.motion.joint_path.waypoints import Waypoints
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.execution.context import MotionContext
from ik_node.node.execution.outputs import Late
from ik_node.node.execution.ramps import Ramps
from ik_node.node.execution.supervisor import Supervisor
from ik_node.node.execution.trajectory_sender import SEND_SHARE
from ik_node.node.goals import plans
from ik_node.node.goals.conversion import GoalConversion, result_values
from ik_node.node.goals.goal import GoalTask, Planner, Steps
from ik_node.node.goals.preparation import Kernels, Preparation
from ik_node.node.robot.robot import Robot
from ik_node.node.state.arm_state import MeasuredState
from ik_node.ros.messages.status_messages import GoalState
from ik_node.ros.middleware.process import in_thread

MAX_LATE_PLANS = 2  # after which the arm is brought to rest first
LONG_PATH_POSES = 100  # from which on a path is planned beside the other callbacks, from rest


class Motion:
    """Moves the arm to one goal at a time."""

    def __init__(self, context: MotionContext, conversion: GoalConversion,
                 preparation: Preparation, ramps: Ramps, supervisor: Supervisor) -> None:
        self._robot_slot = context.robot_slot
        self._arm = context.arm
        self._output = context.output
        self._goals = context.goals
        self._sender = context.sender
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
        """
        Move the tip along a path.

        Parameters
        ----------
        way : sequence of (4, 4) arrays, or callable
            Poses to pass in straight lines; or a function that returns the poses of an arc from
            the start state.

        """
        yield from self._preparation.until_loaded(task, Kernels.PATHS)
        robot = self._robot_slot.require()
        if plans.path_options(task, robot).free_axes:
            yield from self._preparation.until_loaded(task, Kernels.FREE_AXES)
        planner = plans.along(task, robot, way)
        if not callable(way) and len(way) >= LONG_PATH_POSES:
            planner = yield from self._planned_beside(task, planner)
        yield from self.execute(task, planner)

    def in_sequence(self, task: GoalTask, motions: Sequence[SequencedMotion],
                    on_planned: Callable[[SequencePlan], None]) -> Steps:
        """
        Move through a sequence, all of which is planned before the arm moves.

        Parameters
        ----------
        on_planned : callable
            Called with each plan that is made, in any thread.

        """
        yield from self._preparation.until_loaded(task, Kernels.PATHS)
        planner = plans.in_sequence(task, self._robot_slot.require(), motions, on_planned)
        yield from self.execute(task, (yield from self._planned_beside(task, planner)))

    def through_joints(self, task: GoalTask, way: Waypoints) -> Steps:
        """Move the joints through waypoints."""
        yield from self._preparation.until_loaded(task, Kernels.PATHS)
        planner = plans.through_joints(task, self._robot_slot.require(), way)
        yield from self.execute(task, (yield from self._planned_beside(task, planner)))

    def execute(self, task: GoalTask, planner: Planner, detour: Planner | None = None,
                here: MeasuredState | None = None) -> Steps:
        """
        Plan from where the arm is, send the trajectory, and supervise it to the final answer.

        Waits for a controller that was just discovered.  If the motion would collide, `detour`
        is planned beside.  If the plan for a moving arm comes too late, or the arm does not
        follow, it is planned again.
        """
        execution, late = task.execution, 0
        execution.planner, execution.detour = planner, detour
        while not task.final:
            robot = self._robot_slot.require()
            here = here or self._arm.measured(robot)
            try:
                if not self._output.ready(monotonic()) \
                        or self._ramps.must_rest_first(task, robot, here.qd):
                    if not self._goals.gives_way(task):
                        yield
                else:
                    self._send(task, robot, here)
                    yield from self._supervisor.supervise(task)
            except Late:
                late += 1
                if not self._goals.gives_way(task) and late >= MAX_LATE_PLANS:
                    yield from self._ramps.come_to_rest(task)
                yield
            except (PathError, SequenceError) as error:
                self._refuse(task, error, robot, here.q)
                return
            except TrajectoryError as error:
                if execution.detour is None or error.reason is not Reason.COLLISION:
                    raise
                yield from self._preparation.until_loaded(task, Kernels.DETOURS)
                planner = plans.after_blocked(error, execution.detour)
                execution.planner = yield from self._planned_beside(task, planner)
                execution.detour = None
            here = None

    def _send(self, task: GoalTask, robot: Robot, here: MeasuredState) -> None:
        """Plan from where the arm is, which proves that the motion is free, and send it."""
        execution, settings = task.execution, robot.settings
        self._sender.detect_missed_join(robot, here.q)
        at = self._arm.instant()
        start = self._sender.start_state(robot, *here, at)
        # An arm that did not follow may still start to move.
        stands = start.initial.rests and not (start.states or robot.diverged)
        in_time = np.inf if stands else at.now + SEND_SHARE * self._sender.handover_time(robot)
        trajectory = execution.trajectory = self._sender.send(
            execution.planner(start), robot, start, at, settings.limits, in_time, task)
        execution.speed, execution.attempts = settings.speed, execution.attempts + 1
        execution.monitor = Monitor(robot.chain, trajectory, here.q, settings.monitor)
        task.values['duration_s'] = f'{trajectory.duration:.3f}'
        waited = task.values.get('began_at_rest_because')
        self._goals.under_way(task, f'on its way, {trajectory.duration:.2f} s' + (
            f'; it had to wait for rest, because {waited}' if waited else ''))

    def _refuse(self, task: GoalTask, error: PathError | SequenceError, robot: Robot,
                q: np.ndarray) -> None:
        """
        Refuse a goal once its remedies are known, or by raising the error of its plan.

        A path that is no motion is done: the arm, measured at `q` (n,), comes to rest there.
        """
        refused, task.plan.refused = task.plan.refused, None
        if isinstance(error, PathError):
            task.values['path_fraction'] = f'{error.fraction:.4f}'
        if error.reason is Reason.ALREADY_THERE and isinstance(error, PathError):
            if self._ramps.occupied(robot, q):
                self._ramps.ramp_down(robot)
            self._goals.supersede(task)
            self._goals.end(task, GoalState.REACHED, error.reason, str(error))
            return
        sought = refused is not None and refused.error is error and refused.may_have_remedies \
            and task.state is None and not (task.alternatives or task.refusals)
        if not sought or self._goals.others_wait:
            raise error
        self._goals.refuse(task, error, in_thread(
            refused.remedies, task.requests, lambda: task.final))

    def _planned_beside(self, task: GoalTask, planner: Planner) -> Generator[None, None, Planner]:
        """
        Plan a motion in another thread; return what then gives it, for an arm at rest.

        A moving arm goes on meanwhile.  If there is a motion, the arm is brought to rest, and
        the motion from there is planned.
        """
        task.plan.replan = None
        while True:
            robot = self._robot_slot.require()
            here, settings = self._arm.measured(robot), robot.settings
            occupied = self._ramps.occupied(robot, here.q)
            start = self._sender.start_state(robot, *here, self._arm.instant())
            planning = in_thread(planner, start)
            while not planning.done():
                yield
            if not occupied or planning.exception() is not None:
                break
            yield from self._ramps.come_to_rest(task)

        def planned(now: StartState) -> Trajectory:
            unchanged = self._robot_slot.robot is robot and robot.settings is settings \
                and _same_rest(start, now)
            kept = unchanged or planning.exception() is not None
            return planning.result() if kept else planner(now)

        return planned


def _same_rest(one: StartState, other: StartState) -> bool:
    """Return whether an arm rests at both, and they are the same."""
    rests = all(each.initial.rests and not each.states for each in (one, other))
    return rests and bool(np.abs(one.initial.q - other.initial.q).max() <= SAME_POSITION)
