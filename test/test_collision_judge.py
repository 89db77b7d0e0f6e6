# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Goals among boxes, and what judges their motions by the raw meshes (benchmarks/collision)."""

from collections import Counter

from motions import at_rest
from nightly import usual_first
import numpy as np
import pytest

from benchmarks.collision import goals
from benchmarks.collision.goals import Count, GoalRobot, judged
from benchmarks.collision.judge import Judge
from ik_node.motion.direct.point_to_point import plan_point_to_point
from ik_node.motion.trajectory.interpolation import positions_at

GOALS = 20


@pytest.mark.parametrize('name', usual_first(1, ['parallel_axes', 'panda']))
def test_goals_among_boxes(name, monkeypatch):
    """Each is reached, some round something, and no motion collides by the raw meshes."""
    monkeypatch.setattr(goals.ompl_planner, 'plan', lambda *_: None)
    robot, random = GoalRobot(name), np.random.default_rng(6)
    sums = Count(Counter(), [], [])
    judged(robot, robot.random_scene(random), GOALS, random, sums)
    assert len(sums.refused) <= 1, sums.refused  # a busy machine may end a solve before its time
    assert sums.ends['direct'] + sums.ends['round something'] == GOALS - len(sums.refused)
    assert sums.ends['round something'] > 2
    assert sums.ends['postures'] > 500 * GOALS and sums.ends['postures in collision'] == 0


def test_the_judge_finds_what_collides():
    """In the same postures as a look at each of them with all pairs."""
    robot, random = GoalRobot('panda'), np.random.default_rng(2)
    scene = robot.random_scene(random)
    settings = robot.settings(scene)
    judge = Judge(robot, settings.solver.collisions.objects)
    is_free, touching = judge.free(), 0
    for _ in range(4):
        a, b = (robot.random_posture(random) for _ in range(2))
        trajectory = plan_point_to_point(
            robot.chain.joint_names, at_rest(a), b,
            settings.planning, settings.sample_period)
        found, looked = judge.collisions(trajectory)
        times = np.linspace(0.0, trajectory.duration, 400)
        share = np.mean([not is_free(q) for q in positions_at(trajectory, times)])
        assert looked > 1000
        assert (found > 0) == (share > 0.0)
        touching += found > 0
        # Slow parts have more of the 400 postures than of those that are 1 mm apart.
        assert abs(found / looked - share) < 0.15
    assert touching > 0
