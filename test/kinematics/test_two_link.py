# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A planar arm of two links, worked out by hand.

Links of length a and b, both axes along z; s1 = sin q1, c12 = cos(q1 + q2), ...

    x  = a c1 + b c12                  J = [-a s1 - b s12, -b s12]
    y  = a s1 + b s12                      [ a c1 + b c12,  b c12]
    det J = a b s2
    Jd = [-a c1 w1 - b c12 (w1 + w2), -b c12 (w1 + w2)]
         [-a s1 w1 - b s12 (w1 + w2), -b s12 (w1 + w2)]
"""

import numpy as np
import pytest

from ik_node.kinematics.arguments import COMPILED_FORM, JACOBIAN_FORMS
from ik_node.kinematics.arm import load_urdf

A, B = 0.5, 0.3
URDF = f"""
<robot name="two_link"><link name="base"/><link name="one"/><link name="two"/><link name="tip"/>
  <joint name="q1" type="continuous"><parent link="base"/><child link="one"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="q2" type="continuous"><parent link="one"/><child link="two"/>
    <origin xyz="{A} 0 0"/><axis xyz="0 0 1"/></joint>
  <joint name="end" type="fixed"><parent link="two"/><child link="tip"/>
    <origin xyz="{B} 0 0"/></joint>
</robot>"""
PLANE = ('x', 'y')
POSTURES = [(0.0, 0.5), (0.3, -1.2), (-2.0, 2.5), (1.0, np.pi / 2), (0.7, 3.0)]


@pytest.fixture(scope='module')
def arm():
    """Return the arm."""
    return load_urdf(URDF, 'base', 'tip')


def parts(q):
    """Return s1, c1, s12, c12."""
    return np.sin(q[0]), np.cos(q[0]), np.sin(q[0] + q[1]), np.cos(q[0] + q[1])


@pytest.mark.parametrize('q', POSTURES)
def test_pose(arm, q):
    """The tip lies in the plane, turned by the sum of the angles."""
    s1, c1, s12, c12 = parts(q)
    T = [[c12, -s12, 0, A * c1 + B * c12], [s12, c12, 0, A * s1 + B * s12], [0, 0, 1, 0],
         [0, 0, 0, 1]]
    assert np.abs(arm.fk(q) - T).max() < 1e-15
    elbow = arm.link_poses(q)['two'][:3, 3]
    assert np.abs(elbow - [A * c1, A * s1, 0.0]).max() < 1e-15


@pytest.mark.parametrize('q', POSTURES)
@pytest.mark.parametrize('form', [COMPILED_FORM, *JACOBIAN_FORMS])
def test_jacobian(arm, q, form):
    """By hand in base axes and in tool axes; the elbow does not see the second joint."""
    s1, c1, s12, c12 = parts(q)
    J = np.zeros((6, 2))
    J[:2] = [[-A * s1 - B * s12, -B * s12], [A * c1 + B * c12, B * c12]]
    J[5] = 1.0
    assert np.abs(arm.jacobian(q, form=form) - J).max() < 1e-15
    s2, c2 = np.sin(q[1]), np.cos(q[1])
    in_tool = [[A * s2, 0.0], [A * c2 + B, B]]
    assert np.abs(arm.jacobian(q, frame='tool', rows=PLANE, form=form) - in_tool).max() < 1e-15
    elbow = [[-A * s1, 0.0], [A * c1, 0.0]]
    assert np.abs(arm.jacobian(q, 'two', rows=PLANE, form=form)[:, :1]
                  - np.array(elbow)[:, :1]).max() < 1e-15
    assert np.abs(arm.jacobian(q, 'one', (A, 0, 0), rows=PLANE, form=form) - elbow).max() < 1e-15


@pytest.mark.parametrize('q', POSTURES)
def test_time_derivative_and_hessian(arm, q):
    """By hand in base axes and in tool axes."""
    s1, c1, s12, c12 = parts(q)
    w1, w2 = 0.8, -1.7
    both = w1 + w2
    Jd = [[-A * c1 * w1 - B * c12 * both, -B * c12 * both],
          [-A * s1 * w1 - B * s12 * both, -B * s12 * both]]
    assert np.abs(arm.jacobian_derivative(q, (w1, w2), rows=PLANE) - Jd).max() < 1e-15
    s2, c2 = np.sin(q[1]), np.cos(q[1])
    in_tool = [[A * c2 * w2, 0.0], [-A * s2 * w2, 0.0]]
    assert np.abs(arm.jacobian_derivative(q, (w1, w2), frame='tool', rows=PLANE)
                  - in_tool).max() < 1e-15
    H = arm.hessian(q, rows=PLANE)
    x = [[-A * c1 - B * c12, -B * c12], [-B * c12, -B * c12]]
    y = [[-A * s1 - B * s12, -B * s12], [-B * s12, -B * s12]]
    assert np.abs(H - [x, y]).max() < 1e-15


@pytest.mark.parametrize('q', POSTURES)
@pytest.mark.parametrize('frame', ['base', 'tool'])
def test_manipulability(arm, q, frame):
    """``a b |sin q2|`` in any axes, with the slope ``a b cos q2 sign(sin q2)``."""
    found = arm.singularity(q, rows=PLANE, frame=frame)
    s2, c2 = np.sin(q[1]), np.cos(q[1])
    assert found.manipulability == pytest.approx(A * B * abs(s2), abs=1e-15)
    assert found.gradient == pytest.approx([0.0, A * B * c2 * np.sign(s2)], abs=1e-14)


@pytest.mark.parametrize('q1, words', [
    (0.0, 'cannot move along base x'), (np.pi / 2, 'cannot move along base y'),
    (0.6, 'cannot move along (0.83, 0.56) in base axes')])
@pytest.mark.parametrize('q2', [0.0, np.pi])
def test_stretched_and_folded(arm, q1, q2, words):
    """It cannot move along its own line; manipulability grows at the rate a b to both sides."""
    found = arm.singularity((q1, q2), rows=PLANE)
    along = np.array([np.cos(q1), np.sin(q1), 0, 0, 0, 0])
    assert np.abs(found.direction - along).max() < 1e-9
    assert found.lost == 1 and found.manipulability < 1e-15
    assert np.abs(found.gradient) == pytest.approx([0.0, A * B], abs=1e-15)
    assert found.sentence == words.replace('0.56)', '0.56, 0.00)')
    assert arm.singularity((q1, q2), frame='tool', rows=PLANE).sentence \
        == 'cannot move along tool x'


def test_two_joints_in_six_rows(arm):
    """With fewer joints than rows it is ``sqrt(det(J^T J))``: here of the columns by hand."""
    q = (0.4, 1.1)
    s1, c1, s12, c12 = parts(q)
    first = np.array([-A * s1 - B * s12, A * c1 + B * c12, 1.0])
    second = np.array([-B * s12, B * c12, 1.0])
    area = np.linalg.norm(np.cross(first, second))
    assert arm.singularity(q).manipulability == pytest.approx(area, abs=1e-15)
