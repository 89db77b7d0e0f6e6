# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the check of a posture, and the proof of a direct motion, cost among 20 boxes."""

from __future__ import annotations

from itertools import islice, pairwise
from time import thread_time

import numpy as np

from benchmarks.collision.goals import GoalRobot
from benchmarks.collision.stream import free_scene
from ik_node.base.errors import TrajectoryError
from ik_node.motion.direct.point_to_point import plan_point_to_point, require_free, StartState
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState

POSTURES = 4000      # that are checked at once
SINGLE_POSTURES = 1000
MOTIONS = 300        # that are free
TRIES = 5            # of which the fastest counts


def checks_row(robot: GoalRobot, seed: int = 0) -> str:
    """Return the line of the table for an arm."""
    random = np.random.default_rng(seed)
    settings = robot.settings(free_scene(robot, random))
    model, chain = settings.solver.collisions, robot.chain
    lower = np.where(np.isfinite(chain.lower), chain.lower, -np.pi)
    upper = np.where(np.isfinite(chain.upper), chain.upper, np.pi)
    Q = random.uniform(lower, upper, (POSTURES, chain.n))
    free = Q[model.check_many(Q)]
    many = fastest(lambda: model.check_many(Q)) / POSTURES
    one = np.median([fastest(lambda q=q: model.check_many(q[None]))
                     for q in Q[:SINGLE_POSTURES]])
    proofs = list(islice(free_proofs(robot, settings.planning, settings.paths.period, model, free),
                         MOTIONS))
    middle, most = np.percentile(proofs, [50, 95])
    return (f'{robot.name:15s} {1e6 * many:7.1f} {1e6 * one:7.1f} {1e3 * middle:7.2f} '
            f'{1e3 * most:7.2f} {len(proofs):5d}')


def free_proofs(robot: GoalRobot, limits: MotionLimits, period: float, model, Q):
    """Yield the times (s) of the proofs of those direct motions between postures that are free."""
    for begin, end in pairwise(Q):
        trajectory = plan_point_to_point(
            robot.chain.joint_names, StartState.from_state(MotionState.at_rest(begin)), end,
            limits, period)
        began = thread_time()
        try:
            require_free(model, trajectory)
        except TrajectoryError:
            continue
        yield thread_time() - began


def fastest(call) -> float:
    """Return the shortest processor time (s) of several calls."""
    times = []
    for _ in range(TRIES):
        began = thread_time()
        call()
        times.append(thread_time() - began)
    return min(times)
