# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The two-link arm by the law of cosines, against Pinocchio and worked-out triangles."""

from math import acos, pi, sqrt

from hypothesis import given, strategies as st
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import ParameterError
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver
from ik_node.textbook.attempt import descend
from ik_node.textbook.two_link import two_link_angles

LENGTHS = st.floats(0.05, 2.0)
ARM = """<robot name="two"><link name="base"/><link name="upper"/><link name="lower"/>
<link name="tip"/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.7 1.1"/><axis xyz="{one}"/>
<limit lower="-3.1" upper="3.1" velocity="1" effort="1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
<origin xyz="0.5 0.1 0.2" rpy="{turn}"/><axis xyz="{two}"/>
<limit lower="-2.5" upper="2.9" velocity="1" effort="1"/></joint>
<joint name="hand" type="fixed"><parent link="lower"/><child link="tip"/>
<origin xyz="0.3 -0.2 0.05"/></joint></robot>"""


def two_links(axis, second='0 0 1'):
    """Return a chain of two links whose axes are parallel, or against one another."""
    text = ARM.format(one=axis, two=second, turn='0 0 0.6')
    return make_chain(parse_urdf(text.encode()), 'base', 'tip'), text


@given(LENGTHS, LENGTHS, st.floats(0.0, 1.0), st.floats(-pi, pi))
def test_both_elbows_reach(first, second, share, heading):
    """Any goal within reach, by the angles alone; the elbows are mirror images."""
    distance = abs(first - second) + share * (first + second - abs(first - second))
    x, y = distance * np.cos(heading), distance * np.sin(heading)
    found = two_link_angles(first, second, x, y)
    for shoulder, elbow in found:
        tip = first * np.array([np.cos(shoulder), np.sin(shoulder)]) \
            + second * np.array([np.cos(shoulder + elbow), np.sin(shoulder + elbow)])
        assert np.abs(tip - [x, y]).max() < 1e-6
    assert found[0, 1] == -found[1, 1]


def test_worked_out():
    """A right angle (3, 4, 5), an equilateral triangle, and goals that are out of reach."""
    assert two_link_angles(3.0, 4.0, 5.0, 0.0)[:, 1] == pytest.approx([pi / 2, -pi / 2])
    assert two_link_angles(3.0, 4.0, 5.0, 0.0)[:, 0] == pytest.approx(
        [-acos(3.0 / 5.0), acos(3.0 / 5.0)])
    assert two_link_angles(1.0, 1.0, 0.5, sqrt(0.75))[:, 1] == pytest.approx(
        [2.0 * pi / 3.0, -2.0 * pi / 3.0])
    assert two_link_angles(1.0, 0.5, 0.0, 9.0) == pytest.approx(
        np.array([[pi / 2, 0.0], [pi / 2, 0.0]]))
    assert two_link_angles(1.0, 0.5, 0.1, 0.0)[:, 1] == pytest.approx([pi, -pi])


@pytest.mark.parametrize('second', ['0 0 1', '0 0 -1'])
@pytest.mark.parametrize('axis', ['0 0 1', '0 0 -1'])
def test_any_chain_of_two_parallel_axes(axis, second):
    """By Pinocchio, wherever the base, the links and the tip are; with the nearer elbow."""
    chain, text = two_links(axis, second)
    model = pin.buildModelFromXML(text)
    data, rng = model.createData(), np.random.default_rng(1)
    for _ in range(30):
        q = rng.uniform(chain.lower, chain.upper)
        pin.framesForwardKinematics(model, data, q)
        place = data.oMf[model.getFrameId('tip')].translation.copy()
        attempt = descend('law_of_cosines', chain, Goal.position(place), q + 0.01)
        assert attempt.converged and attempt.iterations == 1
        assert np.abs(attempt.q - q).max() < 1e-6
        other = descend('law_of_cosines', chain, Goal.position(place), chain.lower)
        pin.framesForwardKinematics(model, data, other.q)
        assert np.abs(data.oMf[model.getFrameId('tip')].translation - place).max() < 1e-6


def test_as_the_method_of_a_solver():
    """With seeds and restarts as every other method, and the fault of another arm."""
    chain, _ = two_links('0 0 1')
    q = np.array([0.4, 1.1])
    place = Solver(chain).chain
    solver = Solver(chain, method='law_of_cosines')
    T = robots.Reference(two_links('0 0 1')[1]).pose('base', 'tip', dict(zip(
        place.joint_names, q)))
    result = solver.solve(Goal.position(T[:3, 3]), np.array([0.3, 1.0]))
    assert result.success and np.abs(result.q - q).max() < 1e-5
    with pytest.raises(ParameterError, match='two revolute joints; the chain has'):
        descend('law_of_cosines', robots.chain('ur5'), Goal(np.eye(4)), np.zeros(6))
    skew = make_chain(parse_urdf(ARM.format(one='0 0 1', two='0 1 0', turn='0 0 0').encode()),
                      'base', 'tip')
    with pytest.raises(ParameterError, match='parallel axes'):
        descend('law_of_cosines', skew, Goal.position((0.1, 0.2, 0.3)), np.zeros(2))
