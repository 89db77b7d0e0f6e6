# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Rigid poses and twists: group axioms, and Pinocchio's second opinion."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pinocchio as pin
import pytest

from ik_node.base import se3

ANGLE = st.floats(-7.0, 7.0)
COORDINATE = st.floats(-1e3, 1e3)
NEAR = st.floats(-3.0, 3.0)
checked = settings(derandomize=True, max_examples=100, deadline=None)


@st.composite
def poses(draw, coordinate=COORDINATE):
    """Draw a rigid pose."""
    return se3.pose(se3.rotation_from_rpy(draw(ANGLE), draw(ANGLE), draw(ANGLE)),
                    np.array([draw(coordinate) for _ in range(3)]))


@st.composite
def axes(draw):
    """Draw a unit vector, the awkward ones too."""
    v = np.array([draw(st.floats(-1.0, 1.0)) for _ in range(3)])
    length = np.linalg.norm(v)
    return v / length if length > 1e-3 else np.array([0.0, 0.0, -1.0])


@st.composite
def twists(draw, largest=np.pi - 1e-3):
    """Draw a twist that turns by less than a half turn, the tiny ones too."""
    angle = draw(st.one_of(st.floats(0.0, largest), st.sampled_from(
        [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-5, 1e-4, 1e-3, largest])))
    return np.concatenate([[draw(NEAR) for _ in range(3)], draw(axes()) * angle])


def test_rotation_from_quaternion():
    """Against Pinocchio, one and many."""
    xyzw = np.random.default_rng(0).normal(size=(50, 4))
    xyzw /= np.linalg.norm(xyzw, axis=1)[:, None]
    expected = np.array([pin.Quaternion(row).matrix() for row in xyzw])
    assert np.abs(se3.rotation_from_quaternion(xyzw) - expected).max() < 1e-14
    assert np.array_equal(se3.rotation_from_quaternion(tuple(xyzw[0])),
                          se3.rotation_from_quaternion(xyzw)[0])


@checked
@given(poses(), poses())
def test_poses_are_a_group(a, b):
    """Products are poses, and inverses undo."""
    assert np.allclose(se3.inverse(a) @ a, np.eye(4), atol=1e-11)
    assert np.allclose(se3.inverse(a @ b), se3.inverse(b) @ se3.inverse(a), atol=1e-11)
    R = (a @ b)[:3, :3]
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(R) == pytest.approx(1.0)


@checked
@given(ANGLE, ANGLE, ANGLE)
def test_rpy_agrees_with_pinocchio(roll, pitch, yaw):
    """Roll, pitch, yaw are about the fixed axes x, y, z."""
    expected = pin.rpy.rpyToMatrix(roll, pitch, yaw)
    assert np.abs(se3.rotation_from_rpy(roll, pitch, yaw) - expected).max() < 1e-14


@checked
@given(axes(), ANGLE)
def test_rotation_about_agrees_with_pinocchio(axis, angle):
    """Rodrigues' formula is the exponential."""
    assert np.abs(se3.rotation_about(axis, angle) - pin.exp3(axis * angle)).max() < 1e-12


@checked
@given(axes())
def test_rotation_to_axis(axis):
    """A proper rotation of z to the axis, by the smallest angle."""
    for a in (axis, -axis, np.round(axis)):
        if np.linalg.norm(a) != pytest.approx(1.0):
            continue
        R = se3.rotation_to_axis(a)
        assert np.abs(R[:, 2] - a).max() < 1e-6
        assert np.abs(R @ R.T - np.eye(3)).max() < 1e-6
        assert np.linalg.det(R) == pytest.approx(1.0)
        shortest = np.arccos(np.clip(a[2], -1.0, 1.0))
        assert np.linalg.norm(pin.log3(R)) == pytest.approx(shortest, abs=1e-5)


@checked
@given(poses(), poses())
def test_distance_agrees_with_pinocchio(a, b):
    """Distances are the lengths of the translation and of the rotation vector."""
    position, angle = se3.distance(a, b)
    assert position == pytest.approx(np.linalg.norm(a[:3, 3] - b[:3, 3]), abs=1e-12)
    assert angle == pytest.approx(np.linalg.norm(pin.log3(a[:3, :3].T @ b[:3, :3])), abs=1e-6)
    assert se3.distance(b, a) == pytest.approx((position, angle), abs=1e-9)
    assert se3.distance(a, a)[0] == 0.0


# ---- twists -----------------------------------------------------------------

@checked
@given(axes(), NEAR, axes())
def test_hat_is_the_cross_product(v, scale, x):
    """The skew-symmetric matrix gives the cross product; vee inverts hat."""
    v = scale * v
    assert np.array_equal(se3.hat(v) @ x, np.cross(v, x)) \
        or np.abs(se3.hat(v) @ x - np.cross(v, x)).max() < 1e-15
    assert np.array_equal(se3.hat(v), -se3.hat(v).T)
    assert np.array_equal(se3.vee(se3.hat(v)), v)
    assert np.abs(se3.vee(se3.hat(v) + np.outer(x, x)) - v).max() < 1e-15


@checked
@given(twists(), poses(NEAR))
def test_exponential_agrees_with_pinocchio(twist, T):
    """Exponential, logarithm and adjoints are Pinocchio's."""
    assert np.abs(se3.twist_exp(twist) - pin.exp6(pin.Motion(twist)).homogeneous).max() < 1e-13
    M = pin.SE3(T)
    assert np.abs(se3.adjoint(T) - M.action).max() < 1e-13
    assert np.abs(se3.small_adjoint(twist) - pin.Motion(twist).action).max() == 0.0
    w = se3.rotation_log(T[:3, :3])
    assert np.abs(pin.exp3(w) - T[:3, :3]).max() < 1e-13
    if np.linalg.norm(w) < 3.1:
        assert np.abs(w - pin.log3(T[:3, :3])).max() < 1e-11
        assert np.abs(se3.twist_log(T) - pin.log6(M).vector).max() < 1e-10


@checked
@given(twists())
def test_logarithm_undoes_the_exponential(twist):
    """Below a half turn the twist is recovered; the opposite twist gives the inverse."""
    T = se3.twist_exp(twist)
    # Near a half turn p = V v nearly loses a direction, so v comes back less exactly.
    assert np.abs(se3.twist_log(T) - twist).max() < 1e-12
    assert np.abs(se3.twist_exp(-twist) - se3.inverse(T)).max() < 1e-13


@checked
@given(poses(NEAR))
def test_exponential_undoes_the_logarithm(T):
    """Every pose is recovered, also beyond a half turn of rpy."""
    twist = se3.twist_log(T)
    assert np.abs(se3.twist_exp(twist) - T).max() < 1e-13
    assert np.linalg.norm(twist[3:]) <= np.pi + 1e-15


@checked
@given(twists(largest=6.0), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_motions_with_one_twist_add_up(twist, a, b):
    """Exponentials of one twist form a one-parameter group."""
    both = se3.twist_exp(a * twist) @ se3.twist_exp(b * twist)
    assert np.abs(se3.twist_exp((a + b) * twist) - both).max() < 1e-12


@checked
@given(poses(NEAR), poses(NEAR), twists())
def test_adjoints_are_a_representation(a, b, twist):
    """Ad of products and inverses; moving in b equals moving in a by Ad."""
    assert np.abs(se3.adjoint(a @ b) - se3.adjoint(a) @ se3.adjoint(b)).max() < 1e-13
    assert np.abs(se3.adjoint(se3.inverse(a)) @ se3.adjoint(a) - np.eye(6)).max() < 1e-13
    moved = se3.twist_exp(se3.adjoint(a) @ twist) @ a
    assert np.abs(moved - a @ se3.twist_exp(twist)).max() < 1e-12


@checked
@given(twists(), twists(), twists())
def test_brackets_are_a_lie_algebra(x, y, z):
    """The bracket is antisymmetric, keeps Jacobi's identity, and is the rate of Ad."""
    ad = se3.small_adjoint
    assert np.abs(ad(x) @ y + ad(y) @ x).max() < 1e-14
    jacobi = ad(x) @ ad(y) @ z + ad(y) @ ad(z) @ x + ad(z) @ ad(x) @ y
    assert np.abs(jacobi).max() < 1e-12
    h = 1e-6
    rate = (se3.adjoint(se3.twist_exp(h * x)) - se3.adjoint(se3.twist_exp(-h * x))) / (2.0 * h)
    assert np.abs(rate - ad(x)).max() < 1e-8


@pytest.mark.parametrize('below', [0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize('axis', [(1, 0, 0), (0, -1, 0), (0, 0, -1), (-1, 1, 0), (0.3, -0.8, 0.5),
                                  (-0.1, 0.2, -0.9)])
def test_logarithm_near_half_a_turn(axis, below):
    """The axis is found where sin(angle) vanishes; at pi its sign is fixed."""
    axis = np.array(axis, dtype=float) / np.linalg.norm(axis)
    R = pin.exp3(axis * (np.pi - below))
    w = se3.rotation_log(R)
    assert np.linalg.norm(w) == pytest.approx(np.pi - below, abs=1e-15)
    assert np.abs(pin.exp3(w) - R).max() < 1e-14
    if below > 1e-14:
        assert np.abs(w - axis * (np.pi - below)).max() < 1e-14
    half_turn = 2.0 * np.outer(axis, axis) - np.eye(3)
    w = se3.rotation_log(half_turn)
    assert w[np.argmax(np.abs(w))] > 0.0
    assert np.abs(np.abs(w @ axis) - np.pi) < 1e-15
