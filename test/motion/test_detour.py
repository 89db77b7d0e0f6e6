# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions around obstacles keep the limits and the margin, judged by code that shares none."""

from functools import cache

from geometry_oracle import bodies_of, model_of, Oracle
from motion_checker import Bounds, dense, faults, path_of
from motions import at_rest, limits_of
import numpy as np
from path_checker import fastest
import pytest
import robots

from ik_node.base.errors import Reason, TrajectoryError
from ik_node.collision.scene.scene import Scene
from ik_node.collision.search import path_search
from ik_node.motion import detour
from ik_node.motion.detour import plan_detour
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.motion.trajectory.validate import validate

NAME = 'six_axis_arm'
CHAIN = robots.chain(NAME)
MARGIN_M = 0.005
PERIOD_S = 0.1
LEFT = np.array([0.9, 0.6, 0.4, 0.0, 0.6, 0.0])
RIGHT = np.array([-0.9, 0.6, 0.4, 0.0, 0.6, 0.0])


def surroundings():
    """Return a post before the arm, and boxes around it."""
    scene = Scene(CHAIN.base_link, robots.tree(NAME).links)
    rng = np.random.default_rng(0)
    T = np.eye(4)
    T[:3, 3] = 0.45, 0.0, 0.7
    scene.add_box('post', (0.1, 0.1, 1.4), T)
    for k in range(4):
        T = np.eye(4)
        T[:3, 3] = *rng.uniform(-0.7, 0.7, 2), 1.1
        scene.add_box(f'box_{k}', (0.1, 0.1, 0.1), T)
    return scene


@cache
def model():
    """Return the collision model of the arm in these surroundings."""
    return model_of(NAME, margin=MARGIN_M).with_objects(surroundings().bodies)


@cache
def oracle():
    """Return Pinocchio and coal for the same."""
    return Oracle(NAME, model(), bodies_of(NAME), surroundings().bodies)


def limits(velocity=2.0, acceleration=4.0, jerk=40.0, **tip):
    """Return limits that are equal for all joints."""
    return limits_of(CHAIN, velocity, acceleration, jerk, **tip)


def assert_good(trajectory, limits, goal):
    """Check limits and distances between the points, too."""
    bounds = Bounds(limits.lower, limits.upper, limits.velocity, limits.acceleration, limits.jerk)
    assert not faults(trajectory, bounds, goal=goal)
    validate(trajectory, limits)
    times, values = dense(path_of(trajectory), 11)
    Q = values[0].reshape(times.size, -1)
    assert model().check_many(Q).all()
    for q in Q[::40]:
        assert oracle().distances(q).min() > MARGIN_M - 3e-6


@pytest.mark.parametrize('those', [
    limits(), limits(0.3, 0.5, 2.0), limits(3.0, 30.0, 1000.0), limits(speed=0.2)])
def test_from_rest_to_rest_round_a_post(those):
    """Within any limits, and without a stop on the way."""
    trajectory = plan_detour(model(), at_rest(LEFT), RIGHT[None], those, PERIOD_S)
    assert_good(trajectory, those, RIGHT)
    under_way = np.abs(trajectory.times / trajectory.duration - 0.5) < 0.45
    assert (np.abs(trajectory.qd[under_way]).max(axis=1) > 1e-3).all()
    if those.tip.limits_speed:
        J = [robots.reference(NAME).jacobian(CHAIN.base_link, CHAIN.tip_link,
                                             robots.positions(CHAIN, q)) for q in trajectory.q]
        speeds = [np.linalg.norm(row[:3] @ qd) for row, qd in zip(J, trajectory.qd)]
        assert 0.19 < max(speeds) < 0.2 * (1.0 + 1e-6)


def test_the_tip_keeps_its_limits():
    """Between the points, and where the curve of the joints bends the way of the tip."""
    Q = robots.random_postures(CHAIN, 24, 8)
    free = Q[model().check_many(Q)]
    those, shares = limits(speed=0.1, angular_speed=0.5), []
    for a, b in zip(free[:-1:2], free[1::2]):
        trajectory = plan_detour(model(), at_rest(a), b[None], those, PERIOD_S)
        shares.append((fastest(NAME, trajectory) / (0.1, 0.5)).max())
        assert_good(trajectory, those, b)
    assert 0.98 < min(shares) and max(shares) < 1.001 and len(shares) > 5


def test_random_goals():
    """All that are free and reached are good."""
    Q = robots.random_postures(CHAIN, 40, 8)
    free = Q[model().check_many(Q)]
    for a, b in zip(free[:-1:2], free[1::2]):
        trajectory = plan_detour(model(), at_rest(a), b[None], limits(), PERIOD_S)
        assert_good(trajectory, limits(), b)
    assert len(free) > 12


def test_a_moving_arm_is_brought_to_rest_first():
    """The motion joins its start state."""
    state = MotionState(LEFT, np.array([0.3, -0.2, 0.1, 0.0, 0.2, 0.0]), np.zeros(6))
    trajectory = plan_detour(model(), StartState.from_state(state), RIGHT[None], limits(),
                             PERIOD_S)
    assert np.array_equal(trajectory.start.qd, state.qd)
    assert_good(trajectory, limits(), RIGHT)


def test_corners_are_cut_less_where_there_is_no_room(monkeypatch):
    """If no blend is free the arm stops at the waypoints."""
    monkeypatch.setattr(detour, 'free_cuts', lambda model, way, *_: np.zeros(len(way) - 2))
    trajectory = plan_detour(model(), at_rest(LEFT), RIGHT[None], limits(), PERIOD_S)
    assert_good(trajectory, limits(), RIGHT)
    stops = np.flatnonzero(np.abs(trajectory.qd[:-1]).max(axis=1) == 0.0)
    assert len(stops) >= 1


def test_goals_that_cannot_be(monkeypatch):
    """In collision: with the pair.  Without a way: in words."""
    inside = np.array([0.0, 0.6, 0.4, 0.0, 0.6, 0.0])
    with pytest.raises(TrajectoryError, match="at the goal, .*'post'") as caught:
        plan_detour(model(), at_rest(LEFT), inside[None], limits(), PERIOD_S)
    assert caught.value.reason is Reason.COLLISION
    monkeypatch.setattr(path_search, 'BLOCK_ITERATIONS', 1)
    with pytest.raises(TrajectoryError, match='no detour was found') as caught:
        plan_detour(model(), at_rest(LEFT), RIGHT[None], limits(), PERIOD_S, lambda: False)
    assert caught.value.reason is Reason.COLLISION


def test_the_preferred_goal_is_reached():
    """Not another one that is nearer, unless it cannot be."""
    near = LEFT + 0.05
    goals = np.array([RIGHT, near])
    assert np.array_equal(plan_detour(model(), at_rest(LEFT), goals, limits(), PERIOD_S).end,
                          RIGHT)
    inside = np.array([0.0, 0.6, 0.4, 0.0, 0.6, 0.0])
    goals = np.array([inside, near])
    assert np.array_equal(plan_detour(model(), at_rest(LEFT), goals, limits(), PERIOD_S).end, near)
