# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The torques of motions that are planned for goals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.goals.goal_status import GoalTask
from ik_node.node.robot.robot import Robot

SPEED_SHARE_KEY = 'torque_speed_share'  # of an answer


def _itself(planned: Any) -> Trajectory:
    return planned


def within_torques(robot: Robot, task: GoalTask, plan: Callable[[float], Any],
                   trajectory_of: Callable[[Any], Trajectory] = _itself) -> Any:
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
