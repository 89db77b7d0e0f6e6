# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled pose error, and the sine and cosine of the forward kinematics."""

from cached_kernels import compiled
import numpy as np
import pinocchio as pin
import pytest

from ik_node.kinematics import kernels
from ik_node.kinematics.kernels import pose_error, pose_row


def error_of(goal, tip):
    """Return the error twist and its two lengths."""
    e = np.empty(6)
    lengths = pose_error(pose_row(goal), pose_row(tip), e)
    return e, lengths


def random_pose(rng):
    """Return a random rigid pose, by Pinocchio."""
    v = rng.normal(size=3)
    return pin.SE3(pin.exp3(v / np.linalg.norm(v) * rng.uniform(0.0, np.pi)),
                   rng.normal(size=3)).homogeneous


ANGLES = (0.0, 1e-300, 1e-12, 1e-9, 1e-8, 1e-6, 1e-3, 0.5, 1.5, np.pi / 2, 2.5, 2.99, 3.0, 3.04,
          3.1, np.pi - 1e-3, np.pi - 1e-6, np.pi - 1e-8, np.pi - 1e-9, np.pi - 1e-12)


@pytest.mark.parametrize('angle', ANGLES)
def test_pose_error_is_the_logarithm(angle):
    """The rotation vector rotates the tip onto the goal, also near 0 and near pi."""
    rng = np.random.default_rng(7)
    for _ in range(100):
        tip = random_pose(rng)
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        goal = tip.copy()
        goal[:3, :3] = pin.exp3(axis * angle) @ tip[:3, :3]
        goal[:3, 3] += rng.normal(size=3)
        e, (position, orientation) = error_of(goal, tip)
        assert np.abs(e[:3] - (goal - tip)[:3, 3]).max() < 1e-15
        assert position == pytest.approx(np.linalg.norm(goal[:3, 3] - tip[:3, 3]), abs=1e-15)
        assert orientation == pytest.approx(angle, abs=2e-14)
        assert np.linalg.norm(e[3:]) == pytest.approx(orientation, abs=1e-14)
        # Both ways to the goal differ only at pi itself.
        assert np.abs(pin.exp3(e[3:]) @ tip[:3, :3] - goal[:3, :3]).max() < 1e-9
        if angle < np.pi - 1e-7:
            assert np.abs(e[3:] - axis * angle).max() < 1e-8
            logarithm = pin.log3(goal[:3, :3] @ tip[:3, :3].T)
            assert np.abs(e[3:] - logarithm).max() < 1e-7


@pytest.mark.parametrize('axis', [
    (1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1),
    (1, 1, 0), (0, 1, -1), (-1, 0, 1), (1, -1, 1), (0.2, -0.9, 0.3), (-0.1, 0.2, -0.9)])
def test_pose_error_at_half_a_turn(axis):
    """At exactly pi the error is a half turn, with the same sign for both axis directions."""
    axis = np.array(axis, dtype=float) / np.linalg.norm(axis)
    errors = []
    for a in (axis, -axis):
        goal = np.eye(4)
        goal[:3, :3] = 2.0 * np.outer(a, a) - np.eye(3)
        e, (_, orientation) = error_of(goal, np.eye(4))
        assert orientation == pytest.approx(np.pi, abs=1e-15)
        assert np.abs(np.abs(e[3:] @ axis) - np.pi) < 1e-14
        assert np.abs(pin.exp3(e[3:]) - goal[:3, :3]).max() < 1e-14
        errors.append(e)
    assert np.array_equal(*errors)
    # Of components that are equally large, rounding chooses.
    assert e[3:].max() > np.abs(e[3:]).max() - 1e-12


def test_pose_error_of_equal_poses_is_zero():
    """Equal poses have no error."""
    T = random_pose(np.random.default_rng(8))
    e, lengths = error_of(T, T)
    assert np.abs(e).max() < 1e-15 and max(lengths) < 1e-15


@compiled
def sines_cosines(x, out):
    for i in range(x.shape[0]):
        out[0, i], out[1, i] = kernels.sine_cosine(x[i])


def test_sine_and_cosine():
    """Within two units in the last place of numpy's, also at large angles and near pi / 4."""
    rng = np.random.default_rng(12)
    octants = np.arange(-200_000, 200_000, 37) * (np.pi / 4)
    x = np.concatenate([[0.0, -0.0, 1e-300, 1e-9], rng.uniform(-10.0, 10.0, 200_000), octants,
                        octants + rng.normal(scale=1e-8, size=len(octants)),
                        rng.uniform(-1e6, 1e6, 50_000), [1e6, -1e6, 1.1e6, 1e15, -1e300]])
    out = np.empty((2, len(x)))
    sines_cosines(x, out)
    for got, expected in zip(out, (np.sin(x), np.cos(x))):
        assert np.abs(got - expected).max() <= 2.3e-16
        assert (np.abs(got - expected) <= 5e-16 * np.abs(expected)).all()
    assert np.abs(out[0]**2 + out[1]**2 - 1.0).max() < 5e-16
