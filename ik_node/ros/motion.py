# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arm in motion: plan from where it is, send, watch, stop."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np
from rclpy.node import Node

from ik_node.errors import Reason, TrajectoryError
from ik_node.kinematics.arm import forward_kinematics
from ik_node.ros.arm_state import ArmState
from ik_node.ros.goals import Goals
from ik_node.ros.output import TopicOutput
from ik_node.ros.robot import Robot, RobotHolder
from ik_node.ros.status import GoalState, GoalTask
from ik_node.se3 import distance
from ik_node.trajectory.course import Course, depart, postponed, unhurried_lead
from ik_node.trajectory.monitor import Monitor, MonitorOptions
from ik_node.trajectory.point_to_point import Departure, plan_point_to_point, plan_stop
from ik_node.trajectory.trajectory import MotionLimits, Trajectory
from ik_node.trajectory.validate import validate

MOST_ATTEMPTS = 2  # trajectories sent for one goal if the arm does not begin to move

Plan = Callable[[list[Departure]], Trajectory]


class Motion:
    """One motion at a time; the answers go through the goals."""

    def __init__(self, node: Node, holder: RobotHolder, arm: ArmState, output: TopicOutput,
                 goals: Goals) -> None:
        self._node = node
        self._holder = holder
        self._arm = arm
        self._output = output
        self._goals = goals

    # ---- to a goal ----------------------------------------------------------

    def to_joints(self, task: GoalTask) -> None:
        """
        Move to ``task.q_goal`` from where the arm is now.

        Raises
        ------
        IkNodeError
            Why there is no motion.

        """
        robot = self._holder.require()
        q, _ = self._arm.measured(robot)
        if not robot.moves and self._is_there(task, robot, q):
            self._goals.supersede(task)
            self._note_measured_error(task, robot, q)
            self._goals.end(task, GoalState.REACHED, Reason.ALREADY_THERE,
                            'the arm is there already')
            return

        def plan(departures: list[Departure]) -> Trajectory:
            settings = robot.settings
            q_goal = robot.chain.nearest_turns(task.q_goal, departures[0].handover.q)
            return plan_point_to_point(robot.chain.joint_names, departures, q_goal,
                                       settings.planning, settings['motion.sample_period'],
                                       settings.tip_limits)

        self.begin(task, plan)

    def begin(self, task: GoalTask, plan: Plan) -> None:
        """
        Plan from where the arm is now, send the trajectory, and watch it.

        Waits for a controller that has just come.

        Raises
        ------
        IkNodeError
            Why there is no motion.

        """
        robot = self._holder.require()
        q, qd = self._arm.measured(robot)
        if not self._output.ready(monotonic()):
            self._goals.wait(task, lambda: self.begin(task, plan), np.inf)
            return
        settings = robot.settings
        now = monotonic()
        trajectory = self._send(plan(self._departures(robot, q, qd, now)), robot, now,
                                settings.limits)
        task.attempts += 1
        task.figures['duration_s'] = f'{trajectory.duration:.3f}'
        monitor = Monitor(robot.chain, trajectory, q, MonitorOptions(
            settings['watch.joint_tolerance'], settings['watch.start_timeout'],
            settings['watch.settle_timeout'], settings['state.timeout']))
        self._goals.under_way(task, lambda: self._judge(task, plan, monitor),
                              f'on its way, {trajectory.duration:.2f} s')

    def _departures(self, robot: Robot, q: np.ndarray, qd: np.ndarray,
                    now: float) -> list[Departure]:
        lead = robot.settings['motion.handover_time']
        if robot.course is not None:
            _, age = self._arm.last(robot)
            lead = unhurried_lead(robot.chain, robot.course, q, now - age, self._arm.cycle,
                                  lead)
        return depart(robot.chain, robot.course, q, qd, now, lead,
                      robot.settings['watch.joint_tolerance'])

    def _send(self, trajectory: Trajectory, robot: Robot, planned: float,
              limits: MotionLimits) -> Trajectory:
        """Send what was planned for the time `planned` (s), for the time at which it begins."""
        begin = self._arm.next_update()
        if robot.course is not None:
            later = postponed(trajectory, robot.course, planned, begin)
            try:
                validate(later, limits)
                trajectory = later
            except TrajectoryError:
                pass  # rather a few milliseconds beside the motion before
        self._output.send(trajectory)
        robot.course = Course(trajectory, begin, robot.settings.limits)
        return trajectory

    def _is_there(self, task: GoalTask, robot: Robot, q: np.ndarray) -> bool:
        if task.goal is None:
            return bool(np.abs(robot.chain.difference(q, task.q_goal)).max() <= 1e-6)
        position, angle = distance(forward_kinematics(robot.chain, q), task.goal.T_base_tip)
        return (position <= robot.settings['solver.position_tolerance']
                and angle <= robot.settings['solver.orientation_tolerance'])

    # ---- on the way ---------------------------------------------------------

    def _judge(self, task: GoalTask, plan: Plan, monitor: Monitor) -> None:
        robot = self._holder.require()
        q, age = self._arm.last(robot)
        if q is None:
            return
        verdict = monitor.observe(monotonic() - robot.course.began, q, age)
        if verdict is None:
            return
        if verdict.reason is Reason.NOT_MOVING and task.attempts < MOST_ATTEMPTS:
            self._node.get_logger().warning(
                f'goal {task.number}: {verdict.sentence} Sending it again')
            robot.course = None
            self.begin(task, plan)
            return
        self._note_measured_error(task, robot, q)
        if verdict.reason is Reason.REACHED:
            self._goals.end(task, GoalState.REACHED, Reason.REACHED, _reached_sentence(task))
        else:
            robot.course = None
            self._goals.end(task, GoalState.FAILED, verdict.reason, verdict.sentence)

    def _note_measured_error(self, task: GoalTask, robot: Robot, q: np.ndarray) -> None:
        T_goal = task.goal.T_base_tip if task.goal else forward_kinematics(
            robot.chain, task.q_goal)
        position, angle = distance(forward_kinematics(robot.chain, q), T_goal)
        task.figures |= {'measured_position_error_m': f'{position:.3e}',
                         'measured_orientation_error_rad': f'{angle:.3e}'}

    # ---- to rest ------------------------------------------------------------

    def stop(self, reason: Reason, sentence: str) -> str:
        """
        Ramp down what moves, answer what is open; return what was done.

        Raises
        ------
        StateError, TrajectoryError
            If it is not known how the arm moves, or no ramp keeps its limits; what
            is open stays open then.

        """
        done = 'nothing moves'
        robot = self._holder.robot
        if robot is not None and (robot.moves or self._goals.moving):
            settings = robot.settings
            now = monotonic()
            departures = self._departures(robot, *self._arm.fresh(robot), now)
            # An arm that stands away from its motion is told to hold: the controller may
            # still have that motion, and go on with it.
            if robot.moves or not departures[0].handover.rests:
                # Whatever was lowered since, the present motion can be stopped.
                limits = settings.limits if robot.course is None \
                    else settings.limits.widest(robot.course.limits)
                ramp = plan_stop(robot.chain.joint_names, departures, limits,
                                 settings['motion.sample_period'])
                ramp = self._send(ramp, robot, now, limits)
                done = f'at rest in {ramp.duration:.2f} s'
        for task in self._goals.open():
            self._goals.end(task, GoalState.STOPPED, reason, f'{sentence}; {done}')
        return done


def _reached_sentence(task: GoalTask) -> str:
    return (f'reached; the tip is measured {task.figures["measured_position_error_m"]} m and '
            f'{task.figures["measured_orientation_error_rad"]} rad from the goal')
