# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of a posture; with obstacles and against oracles: test/ros/test_posture_list.py."""

from motions import at_rest, limits_of
import numpy as np
import pytest
import robots

from ik_node import Goal, Solver
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.direct.point_to_point import plan_point_to_point
from ik_node.motion.posture_report import postures_of, report_posture
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.solver.result import Posture
from ik_node.solver.unreachable import Colour, Thresholds


@pytest.mark.parametrize('name', ['six_axis_arm', 'panda'])
def test_without_obstacles(name):
    """All postures are those of solve_all, with the duration of the motion to each."""
    chain = robots.chain(name)
    limits = limits_of(chain, acceleration=5.0, jerk=50.0)
    q, goal_q = robots.random_postures(chain, 2, 4)
    start = at_rest(q)
    goal, solver = Goal(forward_kinematics(chain, goal_q)), Solver(chain)
    postures = postures_of(solver, goal, q)
    assert [each.q.tolist() for each in postures] == [
        each.q.tolist() for each in solver.solve_all(goal, q)]
    for posture in postures[:8]:
        report = report_posture(posture, None, start, limits, 0.1, Thresholds(far=10.0))
        assert (report.clearance, report.nearest) == (np.inf, ())
        assert report.duration == plan_point_to_point(
            chain.joint_names, start, posture.q, limits, 0.1).duration
        assert report.colour is not Colour.RED
        assert f'{report.duration:.2f} s by the direct motion' in report.sentence
        assert 'mm' not in report.sentence
        far = report_posture(posture, None, start, limits, 0.1, Thresholds(far=0.01))
        assert far.colour is Colour.AMBER and 'far branch' in far.sentence


def test_where_no_motion_leads():
    """A posture beyond the limits of the motion is listed with the reason."""
    chain = robots.chain('six_axis_arm')
    q = np.clip(chain.middle, chain.lower, chain.upper)
    narrow = MotionLimits(q - 0.1, q + 0.1, chain.velocity, np.full(6, 5.0), np.full(6, 50.0))
    report = report_posture(Posture(chain, q + 0.2, q), None,
                            at_rest(q), narrow, 0.1,
                            Thresholds())
    assert report.colour is Colour.AMBER and np.isnan(report.duration)
    assert 'not by the direct motion: ' in report.sentence
