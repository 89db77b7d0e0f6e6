# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions that are planned in another thread, because that takes long."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from ik_node.motion.change.active_trajectory import SAME_POSITION
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.execution.context import MotionContext
from ik_node.node.execution.ramps import Ramps
from ik_node.node.goals.goal import GoalTask, Planner
from ik_node.ros.middleware.process import in_thread

MAX_ATTEMPTS = 5  # of planning beside, while the arm has to come to rest or settings change


class PlansBeside:
    """Plans for an arm at rest, while the node goes on."""

    def __init__(self, context: MotionContext, ramps: Ramps) -> None:
        self._robot_slot = context.robot_slot
        self._arm = context.arm
        self._sender = context.sender
        self._ramps = ramps

    def planned(self, task: GoalTask, planner: Planner) -> Generator[None, None, Planner]:
        """
        Plan a motion in another thread; return what then gives it, for an arm at rest.

        A moving arm goes on meanwhile.  If there is a motion, the arm is brought to rest, and
        the motion from there is planned.
        """
        task.plan.replan = None
        for _ in range(MAX_ATTEMPTS):
            robot = self._robot_slot.require()
            yield from self._arm.until_taken(robot)
            here, settings = self._arm.measured(robot), robot.settings
            occupied = self._ramps.occupied(robot, here.q)
            start = self._sender.start_state(robot, *here, self._arm.instant())
            planning = in_thread(planner, start)
            while not planning.done():
                yield
            if planning.exception() is not None:
                break
            if occupied:
                yield from self._ramps.come_to_rest(task)
            elif robot.settings is settings:  # else it is planned again, such as for a new scene
                break

        def planned(now: StartState) -> Trajectory:
            failed = planning.exception() is not None
            holds = self._robot_slot.robot is robot and robot.settings is settings \
                and _same_rest(start, now)
            return planning.result() if failed or holds else planner(now)

        return planned


def _same_rest(one: StartState, other: StartState) -> bool:
    """Return whether an arm rests at both, and they are the same."""
    rests = all(each.initial.rests and not each.states for each in (one, other))
    return rests and bool(np.abs(one.initial.q - other.initial.q).max() <= SAME_POSITION)
