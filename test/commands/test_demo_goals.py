# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The goals that the demonstration makes for any arm, judged by Pinocchio and by the planner."""

from geometry_oracle import model_of
import numpy as np
import pinocchio as pin
import pytest
import robots
from robots import GANTRY

from ik_node.base.errors import ParameterError
from ik_node.collision.bodies.ground import ground_body
from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.arm import load_urdf
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.tools.demo.demo_goals import free_start, goals_for, on_ground

MARGIN_M = 0.01
NAMES = ('six_axis_arm', 'panda', 'xarm7', 'z1', 'kinova')


def arm(name):
    """Return the collision model of an arm on the ground, and Pinocchio's model of the arm."""
    if name != 'four_axes':
        return model_of(name).with_objects([ground_body(0.0)], MARGIN_M), robots.reference(name)
    tree = parse_urdf(robots.FOUR_AXES.encode())
    chain = make_chain(tree, 'foot', 'grip')
    return CollisionModel(chain, tree, ()), robots.Reference(robots.FOUR_AXES)


def nearest_error(reference, chain, T_goal, tries=60):
    """Return how near (m and rad, the larger) damped steps by the Jacobians of Pinocchio get."""
    random, best = np.random.default_rng(1), np.inf
    lower, upper = (np.where(np.isfinite(bound), bound, default) for bound, default in (
        (chain.lower, -np.pi), (chain.upper, np.pi)))
    for _ in range(tries):
        q = random.uniform(lower, upper)
        for _ in range(100):
            positions = dict(zip(chain.joint_names, q))
            T = reference.pose(chain.base_link, chain.tip_link, positions)
            error = np.concatenate([T_goal[:3, 3] - T[:3, 3],
                                    pin.log3(T_goal[:3, :3] @ T[:3, :3].T)])
            best = min(best, np.abs(error).max())
            if best < 1e-6:
                return best
            J = reference.jacobian(chain.base_link, chain.tip_link, positions)
            q = np.clip(q + J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), error), lower, upper)
    return best


@pytest.mark.parametrize('name', [*NAMES, 'four_axes'])
def test_goals_suit_the_arm(name):
    """Poses in its own base can be reached, by Pinocchio; the frames are its own."""
    model, reference = arm(name)
    chain, goals = model.chain, goals_for(model)
    assert goals == goals_for(model)
    expected = [goal['expect'] for goal in goals]
    assert expected.count('REACHED') >= 6
    assert {'ALREADY_THERE', 'OUT_OF_REACH', 'FRAME_UNKNOWN'} <= set(expected)
    assert {goal['frame'] for goal in goals} >= {chain.base_link, chain.tip_link}
    for goal in goals:
        T = pin.XYZQUATToSE3(np.array(goal['xyz'] + goal['quat'])).homogeneous
        if goal['expect'] == 'REACHED' and goal['frame'] == chain.base_link:
            assert nearest_error(reference, chain, T) < 2e-6, goal
        elif goal['expect'] == 'OUT_OF_REACH':
            assert np.linalg.norm(goal['xyz']) > 2.0 * chain.reach


@pytest.mark.parametrize('name', [*NAMES, 'four_axes'])
def test_lines_and_arcs(name):
    """Each arm gets one of each; their lengths suit its size, and the arc is a half circle."""
    model, _ = arm(name)
    chain, goals = model.chain, goals_for(model)
    k = next(k for k, goal in enumerate(goals) if goal.get('line'))
    length = np.linalg.norm(np.subtract(goals[k]['xyz'], goals[k - 1]['xyz']))
    assert 0.04 * chain.reach < length < 0.2 * chain.reach
    assert goals[k]['quat'] == pytest.approx(goals[k - 1]['quat'], abs=1e-5)
    k = next(k for k, goal in enumerate(goals) if 'through' in goal)
    start, through, end = map(np.array, (goals[k - 1]['xyz'], goals[k]['through'],
                                         goals[k]['xyz']))
    centre = 0.5 * (start + end)
    assert np.linalg.norm(through - centre) == pytest.approx(np.linalg.norm(start - centre),
                                                             rel=1e-3)
    assert (through - centre) @ (end - start) == pytest.approx(0.0, abs=1e-5)


def test_an_arm_that_is_free_around_the_middle_only():
    """It starts beside the middle, and gets goals there: all of the plate is beside the box."""
    arm = load_urdf(GANTRY.format('0.42 0.32 0.52'))
    model = CollisionModel.of(arm).with_objects([ground_body(-0.5)], MARGIN_M)
    assert not model.check_many(arm.middle[None])[0]
    start = free_start(model, arm.middle)
    goals = goals_for(model, start)
    assert [goal['expect'] for goal in goals].count('REACHED') >= 4
    half = 0.5 * np.array([0.42 + 0.1, 0.32 + 0.1, 0.52 + 0.04]) + MARGIN_M
    for xyz in [arm.fk(start)[:3, 3], *(goal['xyz'] for goal in goals
                                        if goal['expect'] == 'REACHED'
                                        and goal['frame'] == 'base_link')]:
        assert (np.abs(np.array(xyz) - [0.0, 0.0, 0.5]) > half).any(), xyz
    for goal in goals:
        if goal.get('line') or 'through' in goal:  # planners of paths keep off joint limits
            q = np.array(goal['xyz']) - [0.0, 0.0, 0.5]
            assert (np.abs(q) < [0.39, 0.29, 0.49]).all(), goal
    free = start + [1e-3, 0.0, 0.0]
    assert free_start(model, free) is free or not model.check_many(free[None])[0]


def test_an_arm_that_is_free_nowhere():
    """One sentence, with what collides."""
    arm = load_urdf(GANTRY.format('0.1 0.1 0.1'))
    model = CollisionModel.of(arm).with_objects([ground_body(2.0)], MARGIN_M)
    for ask in (goals_for, lambda model: free_start(model, arm.middle)):
        with pytest.raises(ParameterError, match="each of 300 postures .* 'z' and 'ground' "
                                                 'overlap by .* mm. Correct'):
            ask(model)


def test_the_ground_is_below_what_cannot_leave_it():
    """A turntable 3.5 mm above the ground is a margin above it then; other arms stand on it."""
    part = '<collision><origin xyz="0 0 {}"/><geometry><cylinder radius="{}" length="{}"/>' \
        '</geometry></collision>'
    text = f'''<robot name="r"><link name="base">{part.format(-0.01, 0.1, 0.02)}</link>
        <link name="table">{part.format(0.0135, 0.1, 0.02)}</link><link name="arm">
        {part.format(0.2, 0.03, 0.3)}</link>
        <joint name="turn" type="continuous"><parent link="base"/><child link="table"/>
        <axis xyz="0 0 1"/><limit velocity="1" effort="1"/></joint>
        <joint name="lift" type="revolute"><parent link="table"/><child link="arm"/>
        <axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'''
    tree = parse_urdf(text)
    model = CollisionModel(make_chain(tree, 'base', 'arm'), tree, arm_bodies(tree).bodies)
    among, height = on_ground(model, 0.0, MARGIN_M)
    assert height == pytest.approx(3.5e-3 - MARGIN_M - 1e-3)
    assert among.check_many(np.zeros((1, 2)))[0]
    assert on_ground(model_of('ur5'), 0.0, MARGIN_M)[1] == 0.0
