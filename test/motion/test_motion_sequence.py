# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Sequences of joint motions, lines and arcs, judged by Pinocchio and the checker of motions."""

from dataclasses import replace
from functools import cache

from geometry_oracle import model_of
from motion_checker import Bounds, faults, path_of, states_at
from motions import at_rest, limits_of
import numpy as np
from path_checker import tip_poses
import pytest
import robots

from ik_node.base.errors import IkNodeError, PathError, Reason
from ik_node.collision.scene.scene import Scene
from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState
from ik_node.motion.joint_path.motion_sequence import plan_sequence, SequencedMotion
from ik_node.motion.trajectory.limits import TipLimits
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

NAME = 'six_axis_arm'
CHAIN = robots.chain(NAME)
Q = np.array([0.2, -0.5, 0.9, 0.3, 0.9, -0.2])
AWAY = Q + [0.4, 0.1, -0.2, 0.3, 0.1, 0.5]
LIMITS = limits_of(CHAIN)
PERIOD = 0.02
RADIUS = 0.03


def poses(Q):
    """Return the poses of the tip by Pinocchio, (N, 4, 4)."""
    return np.array(tip_poses(robots.reference(NAME), CHAIN, Q))


def tip(q):
    """Return the pose of the tip, (4, 4)."""
    return poses([q])[0]


HERE = tip(AWAY)


def shifted(*offset):
    """Return the pose at AWAY, shifted in the base frame, m."""
    T = HERE.copy()
    T[:3, 3] += offset
    return T


def line(T, **named):
    """Return a line to a pose."""
    return SequencedMotion(Goal(T), named.pop('limits', LIMITS), True, **named)


SQUARE = [line(shifted(0.0, -0.1, 0.0), blend_radius=RADIUS),
          line(shifted(0.0, -0.1, -0.1), blend_radius=0.5 * RADIUS),
          line(shifted(0.0, 0.0, -0.1)), line(HERE)]


@cache
def usual():
    """Return a solver for the arm."""
    return Solver(CHAIN)


def planned(motions, start=Q, solver=None):
    """Return the plan from rest."""
    start = at_rest(start)
    return plan_sequence(solver or usual(), start, motions, PERIOD)


def at(plan, k):
    """Return position and speed of the tip (m, m/s) where motion k ends."""
    times = plan.ends[k] + np.array([-1e-3, 0.0])
    before, there = poses(states_at(path_of(plan.trajectory), times)[:, 0])[:, :3, 3]
    return there, np.linalg.norm(there - before) / 1e-3


def tips(plan):
    """Return positions of the tip (N, 3), m, along the plan, with their times (N,), s."""
    times = np.linspace(0.0, plan.trajectory.duration, 2000)
    return times, poses(states_at(path_of(plan.trajectory), times)[:, 0])[:, :3, 3]


def test_one_after_another():
    """Each motion ends where it should, at rest or blended, and all limits are kept."""
    motions = [SequencedMotion(AWAY, LIMITS), *SQUARE,
               SequencedMotion(Goal(shifted(0.05, 0.05, 0.0)), LIMITS)]
    plan = planned(motions)
    assert not faults(plan.trajectory, Bounds(LIMITS.lower, LIMITS.upper, LIMITS.velocity,
                                              LIMITS.acceleration, LIMITS.jerk))
    assert (np.diff(plan.ends) > 0.0).all()
    assert plan.ends[-1] == plan.trajectory.duration
    for k, (motion, radius) in enumerate(zip(motions, (0, RADIUS, 0.5 * RADIUS, 0, 0, 0))):
        goal = HERE if k == 0 else motion.goal.T_base_tip
        p, speed = at(plan, k)
        off = np.linalg.norm(p - goal[:3, 3])
        if radius:
            assert 1e-3 < off < radius and speed > 0.02
        else:
            assert off < 1e-4 and speed < 1e-2
    assert np.allclose(tip(plan.trajectory.end), motions[-1].goal.T_base_tip, atol=1e-5)


def test_lines_and_arcs_are_kept():
    """The tip is on the line, and then on the circle through the three points."""
    arc = line(shifted(0.0, -0.2, 0.0), T_between=shifted(0.0, -0.1, 0.1))
    plan = planned([line(shifted(0.0, 0.0, -0.05)), line(HERE), arc], AWAY)
    times, p = tips(plan)
    p = p - HERE[:3, 3]
    on_lines = times < plan.ends[1]
    assert np.abs(p[on_lines][:, :2]).max() < 1e-4
    radius = np.linalg.norm(p[~on_lines][:, 1:] - [-0.1, 0.0], axis=1)
    assert np.abs(radius - 0.1).max() < 1e-4 and np.abs(p[:, 0]).max() < 1e-4
    assert p[:, 2].max() > 0.0999


def test_each_has_its_own_limits():
    """A slow line, then a fast one; of blended ones the lowest counts."""
    slow = replace(LIMITS, tip=TipLimits(speed=0.02))
    plan = planned([line(shifted(0.0, -0.05, 0.0), limits=slow), line(HERE)], AWAY)
    times, p = tips(plan)
    speed = np.linalg.norm(np.diff(p, axis=0), axis=1) / np.diff(times)
    first = times[1:] < plan.ends[0]
    assert 0.019 < speed[first].max() < 0.0201 < 0.1 < speed[~first].max()
    both = planned([line(shifted(0.0, -0.05, 0.0), limits=slow, blend_radius=0.01),
                    line(shifted(0.0, -0.05, 0.05))], AWAY)
    assert both.ends[-1] > 0.09 / 0.02
    joints = replace(LIMITS, velocity=np.full(6, 0.1))
    plan = planned([SequencedMotion(AWAY, joints)])
    assert 0.099 < np.abs(plan.trajectory.qd).max() < 0.1 + 1e-9


def test_joint_motions_that_are_blended():
    """The end of each but the last is passed in motion, exactly, and that takes less time."""
    steps = np.array([[0.2, 0.1, 0.0, 0.1, 0.0, 0.2], [0.4, 0.2, -0.1, 0.2, 0.1, 0.3],
                      [0.6, 0.2, -0.3, 0.3, 0.2, 0.3]])
    motions = [SequencedMotion(Q + step, LIMITS, blend_radius=0.1) for step in steps]
    motions.insert(2, SequencedMotion(Goal(tip(Q + steps[1])), LIMITS, blend_radius=0.1))
    plan = planned(motions)
    assert not faults(plan.trajectory, Bounds(LIMITS.lower, LIMITS.upper, LIMITS.velocity,
                                              LIMITS.acceleration, LIMITS.jerk))
    for k, q in ((0, Q + steps[0]), (1, Q + steps[1])):
        p, speed = at(plan, k)
        assert np.linalg.norm(p - tip(q)[:3, 3]) < 1e-4 and speed > 0.02
    assert np.allclose(plan.trajectory.end, Q + steps[-1])
    stopping = planned([replace(motion, blend_radius=0.0) for motion in motions])
    assert plan.ends[-1] < 0.93 * stopping.ends[-1]
    slow = replace(LIMITS, velocity=np.full(6, 0.1))
    motions[1] = replace(motions[1], limits=slow)
    assert np.abs(planned(motions).trajectory.qd).max() < 0.1 + 1e-9


def test_a_moving_arm_is_brought_to_rest_first():
    """Then the sequence begins there."""
    active = plan_point_to_point(CHAIN.joint_names, at_rest(Q), AWAY, LIMITS, PERIOD)
    start = StartState.from_motion(active, 0.4 * active.duration, 0.05)
    motions = [SequencedMotion(Q, LIMITS), SequencedMotion(AWAY, LIMITS)]
    plan = plan_sequence(usual(), start, motions, PERIOD)
    assert not faults(plan.trajectory, Bounds(LIMITS.lower, LIMITS.upper, LIMITS.velocity,
                                              LIMITS.acceleration, 1.5 * LIMITS.jerk))
    assert np.allclose(at(plan, 0)[0], tip(Q)[:3, 3], atol=1e-4)
    assert np.allclose(plan.trajectory.end, AWAY)


def test_motions_without_displacement():
    """It takes no time, between others; alone it is told."""
    plan = planned([SequencedMotion(AWAY, LIMITS), SequencedMotion(AWAY, LIMITS), line(HERE),
                    line(shifted(0.0, -0.05, 0.0), blend_radius=0.01),
                    line(shifted(0.0, -0.05, 0.0)), line(HERE)])
    assert plan.ends[0] == plan.ends[1] == plan.ends[2] < plan.ends[3]
    assert np.isclose(*plan.ends[3:5], atol=0.1) and plan.ends[4] < plan.ends[5]
    with pytest.raises(PathError) as found:
        planned([SequencedMotion(Q, LIMITS), line(tip(Q))])
    assert found.value.reason is Reason.ALREADY_THERE


@pytest.mark.parametrize('motions, words, reason', [
    ([*SQUARE, line(shifted(3.0, 0.0, 0.0))], 'motion 5 of 5: ', None),
    ([SequencedMotion(AWAY, LIMITS), SequencedMotion(Goal(shifted(3.0, 0.0, 0.0)), LIMITS)],
     'motion 2 of 2: out of reach', Reason.OUT_OF_REACH),
    ([SQUARE[0], SequencedMotion(AWAY, LIMITS)],
     'motion 2 moves the joints.*set blend_radius of motion 1 to 0', Reason.PATH_INVALID),
    ([SequencedMotion(AWAY, LIMITS, blend_radius=0.1), SQUARE[0]],
     'motion 1 moves the joints.*set blend_radius of motion 1 to 0', Reason.PATH_INVALID),
    ([SQUARE[0], SQUARE[1], line(shifted(0.0, 3.0, -0.1))], 'motions 1 to 3 of 3: ', None)])
def test_which_motion_is_wrong(motions, words, reason):
    """Its number is told, and nothing is planned."""
    with pytest.raises(IkNodeError, match=words) as found:
        planned(motions, AWAY)
    assert reason in (None, found.value.reason)


def test_nothing_collides():
    """A later motion that would is found before the first begins; others keep the margin."""
    scene = Scene('base_link')
    scene.add_box('wall', (0.1, 0.02, 0.1), shifted(0.0, 0.2, 0.0))
    model = model_of(NAME, margin=0.005).with_objects(scene.bodies)
    solver = Solver(CHAIN, model)
    motions = [SequencedMotion(AWAY, LIMITS), line(shifted(0.0, -0.05, 0.0)), line(HERE)]
    plan = planned(motions, solver=solver)
    times = np.linspace(0.0, plan.trajectory.duration, 2000)
    assert model.check_many(states_at(path_of(plan.trajectory), times)[:, 0]).all()
    for last in (line(shifted(0.0, 0.35, 0.0)), SequencedMotion(
            solver.solve(shifted(0.0, 0.4, 0.0), AWAY).q, LIMITS)):
        with pytest.raises(IkNodeError, match="motion 4 of 4: .*'wall'") as found:
            planned([*motions, last], solver=solver)
        assert found.value.reason is Reason.COLLISION
