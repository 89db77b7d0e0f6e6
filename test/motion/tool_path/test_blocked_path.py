# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Paths on which the arm would collide."""

from geometry_oracle import bodies_of, model_of, Oracle
from motions import at_rest, limits_of
import numpy as np
import pytest
import robots

from ik_node.base.errors import PathError, Reason
from ik_node.collision.scene.scene import Scene
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.tool_path.plan import BACK_OFF_M, MAX_CELL_M, plan_path
from ik_node.motion.trajectory.sampling import states_at
from ik_node.solver.solver import Solver

NAME = 'six_axis_arm'
CHAIN = robots.chain(NAME)
READY = np.array([0.0, 0.3, -0.4, 0.0, 1.0, 0.0])
WAY_M = np.array([0.0, -0.3, 0.0])
BALL_SHARE, BALL_RADIUS_M, MARGIN_M = 0.6, 0.02, 0.005


@pytest.fixture(scope='module')
def bodies():
    """Return a ball in the way of the tip."""
    T = np.eye(4)
    T[:3, 3] = forward_kinematics(CHAIN, READY)[:3, 3] + BALL_SHARE * WAY_M
    scene = Scene(CHAIN.base_link, robots.tree(NAME).links)
    scene.add_sphere('ball', BALL_RADIUS_M, T)
    return scene.bodies


@pytest.fixture(scope='module')
def model(bodies):
    """Return the collision model of the arm and the ball."""
    return model_of(NAME, margin=MARGIN_M).with_objects(bodies)


def planned(model, way=WAY_M, **options):
    """Plan the line from READY."""
    goal = forward_kinematics(CHAIN, READY)
    goal[:3, 3] += way
    return plan_path(Solver(CHAIN, model), at_rest(READY), [goal],
                     limits_of(CHAIN, velocity=1.0), PathOptions(**options))


def test_a_blocked_line_is_refused_with_its_free_share(model):
    """What would collide, where, and how far the line is free."""
    with pytest.raises(PathError, match="% of its length, to .* there '.*ball' would") as refused:
        planned(model)
    assert refused.value.reason is Reason.COLLISION
    assert 0.2 < refused.value.fraction < BALL_SHARE
    assert planned(None).fraction == 1.0


def test_a_partial_line_ends_before_the_obstacle(model, bodies):
    """Free by coal at every instant, and near to where it is blocked."""
    with pytest.raises(PathError) as refused:
        planned(model)
    plan = planned(model, partial=True)
    length = np.linalg.norm(WAY_M)
    assert plan.interruption.reason is Reason.COLLISION
    assert 0.0 < (refused.value.fraction - plan.fraction) * length < MAX_CELL_M + BACK_OFF_M
    oracle = Oracle(NAME, model, bodies_of(NAME), bodies)
    times = np.linspace(0.0, plan.trajectory.duration, 200)
    distances = [oracle.distances(q).min() for q in states_at(plan.trajectory, times)[:, 0]]
    assert MARGIN_M - 1e-5 < min(distances) < MARGIN_M + MAX_CELL_M + BACK_OFF_M


def test_a_line_that_ends_before_the_obstacle_is_followed_whole(model):
    """The obstacle beyond its end does not count."""
    plan = planned(model, 0.2 * WAY_M)
    assert plan.fraction == 1.0 and plan.interruption is None
