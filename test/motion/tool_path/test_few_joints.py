# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Tool paths of arms of five joints whose descriptions round right angles, judged by Pinocchio."""

from functools import lru_cache
import re

from motions import at_rest, limits_of
import numpy as np
import path_checker as checker
import pinocchio as pin
import pytest
import robots

import ik_node
from ik_node.base.errors import PathError, Reason
from ik_node.motion.tool_path.path import ToolPath
from ik_node.motion.tool_path.plan import plan_path

WITHIN = np.array([1e-4, 1e-4])  # m and rad, what a path promises
RIGHT_ANGLES = ('1.5707963267948966', '1.5708', '1.571')  # as files write right angles
# Name, origin and axis of each joint; H is a right angle.
FIVE_AXES = (('waist', '0 0 0.06', '0 0 0', '0 0 1', 2.0),
             ('lift', '0.03 0 0.05', 'H 0 0', '0 0 1', 1.7),
             ('elbow', '0.03 0.11 0', '0 0 -H', '0 0 1', 1.7),
             ('flex', '0.13 0 0', '-H 0 0', '0 1 0', 1.7),
             ('roll', '0.06 0 0', '0 H 0', '0 0 1', 2.8))
MIDDLE = np.array([0.3, 0.2, 0.4, 0.5, 0.6])
METRES_PER_RADIAN = 0.3  # of the solver's weighted distance
DOWN = np.array([0.0, 0.0, -0.03])


@lru_cache(maxsize=None)
def five_axes(right_angle):
    """Return an arm (waist, three parallel axes, roll), its solver, and Pinocchio's model."""
    links = ('base_link', 'a', 'b', 'c', 'd', 'tool0')
    text = '<robot name="five">' + ''.join(f'<link name="{name}"/>' for name in links) + ''.join(
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy.replace("H", right_angle)}"/><axis xyz="{axis}"/>'
        f'<limit lower="{-limit}" upper="{limit}" velocity="2" effort="10"/></joint>'
        for (name, xyz, rpy, axis, limit), parent, child in zip(FIVE_AXES, links, links[1:])
    ) + '</robot>'
    arm = ik_node.load_urdf(text)
    return arm, ik_node.Solver(arm), robots.Reference(text)


def starts(count):
    return [MIDDLE, *np.random.default_rng(1).uniform(MIDDLE - 0.3, MIDDLE + 0.3, (count, 5))]


def radial(T):
    """Return 3 cm away from the axis of the waist, (3,)."""
    return np.append(0.03 * T[:2, 3] / np.linalg.norm(T[:2, 3]), 0.0)


def shifted(T, by):
    T = T.copy()
    T[:3, 3] += by
    return T


@pytest.mark.parametrize('right_angle', RIGHT_ANGLES)
def test_lines_are_followed_within_the_promise(right_angle):
    arm, solver, reference = five_axes(right_angle)
    limits = limits_of(arm)
    for k, q in enumerate(starts(29)):
        T = arm.fk(q)
        end = shifted(T, (DOWN, -DOWN, radial(T))[k % 3])
        trajectory = plan_path(solver, at_rest(q), [end], limits).trajectory
        _, Q, _, _ = checker.check_limits(trajectory, limits)
        poses = checker.tip_poses(reference, arm, Q)
        assert (checker.off_line(poses, T, end) <= WITHIN).all()


def test_a_line_ends_where_that_of_the_exact_description_does():
    arm, solver, _ = five_axes('1.5708')
    planned = plan_path(solver, at_rest(MIDDLE), [shifted(arm.fk(MIDDLE), DOWN)], limits_of(arm))
    assert np.abs(planned.trajectory.end - (0.3, -0.1842, 0.4274, 0.1433, 0.6)).max() < 1e-4


@pytest.mark.parametrize('right_angle', RIGHT_ANGLES)
def test_corners_and_arcs_are_followed_within_the_promise(right_angle):
    arm, solver, reference = five_axes(right_angle)
    limits = limits_of(arm)
    for q in starts(5):
        T = arm.fk(q)
        aside = radial(T)
        paths = (ToolPath.lines([shifted(T, DOWN), shifted(T, DOWN + aside)], 0.01, start=T),
                 ToolPath.arc(T, shifted(T, 0.5 * DOWN + 0.2 * aside), shifted(T, DOWN)),
                 ToolPath.arc_about(T, np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.4))
        for path in paths:
            trajectory = plan_path(solver, at_rest(q), path, limits).trajectory
            _, Q, _, _ = checker.check_limits(trajectory, limits)
            ideal = path.sampled(2000)
            for pose in checker.tip_poses(reference, arm, Q[::8]):
                nearest = np.argmin(np.linalg.norm(ideal[:, :3, 3] - pose[:3, 3], axis=1))
                # Samples of the path are 0.04 mm apart.
                assert np.linalg.norm(ideal[nearest, :3, 3] - pose[:3, 3]) < WITHIN[0]
            last = checker.tip_poses(reference, arm, Q[-1:])[0]
            assert np.abs(last - ideal[-1])[:3].max() < WITHIN[0]


def test_a_six_axis_arm_with_a_locked_joint_counts_its_free_joints():
    """Locked off its plane by 2e-5 rad, it cannot keep the line exactly either."""
    chain = robots.chain('six_axis_arm')
    solver = ik_node.Solver(chain, locked=(chain.joint_names[3],))
    q = np.array([0.0, -0.5, 0.9, 2e-5, 0.9, 0.0])
    T = robots.reference('six_axis_arm').pose(chain.base_link, chain.tip_link,
                                              dict(zip(chain.joint_names, q.tolist())))
    limits = limits_of(chain, 1.0)
    end = shifted(T, (0.05, 0.0, 0.0))
    trajectory = plan_path(solver, at_rest(q), [end], limits).trajectory
    poses = checker.tip_poses(robots.reference('six_axis_arm'), chain, trajectory.q)
    assert (checker.off_line(poses, T, end) <= WITHIN).all()
    assert np.abs(trajectory.q[:, 3] - q[3]).max() < 1e-12


@pytest.mark.parametrize('right_angle', RIGHT_ANGLES)
def test_a_line_that_the_arm_cannot_keep_is_refused_with_how_far_it_would_be_off(right_angle):
    from scipy.optimize import least_squares
    arm, solver, reference = five_axes(right_angle)
    T = arm.fk(MIDDLE)
    aside = np.array([0.0, 0.03, 0.0])  # the tool would turn with the waist
    with pytest.raises(PathError, match='cannot keep the tip on it') as refused:
        plan_path(solver, at_rest(MIDDLE), [shifted(T, aside)], limits_of(arm))
    error = refused.value
    assert error.reason is Reason.PATH_INTERRUPTED
    assert error.fraction < 0.05
    ahead = shifted(T, aside * (error.fraction + 1e-3 / 0.03))

    def off(q):
        pose = checker.tip_poses(reference, arm, [q])[0]
        return np.append(pose[:3, 3] - ahead[:3, 3],
                         METRES_PER_RADIAN * pin.log3(ahead[:3, :3].T @ pose[:3, :3]))

    nearest = least_squares(off, MIDDLE, xtol=1e-14, ftol=1e-14, gtol=1e-14).fun
    said = [float(x) for x in re.search(r'would be (\S+) mm and (\S+) rad', str(error)).groups()]
    assert said[0] == pytest.approx(1e3 * np.linalg.norm(nearest[:3]), rel=1e-2)
    assert said[1] == pytest.approx(np.linalg.norm(nearest[3:]) / METRES_PER_RADIAN, rel=1e-2)
    assert said[1] > WITHIN[1]
