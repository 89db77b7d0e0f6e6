# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Branch labels: distinct for distinct solutions; they change where det J changes sign."""

from answers import PATIENT, reachable, solver, tip_jacobian
from nightly import usual_first
import numpy as np
import pytest
import robots

from ik_node.solver.result import branch_labels
from ik_node.solver.solver import Solver

LABELLED = ['ur3', 'ur5', 'ur10', 'z1', 'kinova', 'six_axis_arm', 'parallel_axes_arm']
SIGNS = {'left': 1, 'right': -1, 'up': 1, 'down': -1, 'plus': 1, 'minus': -1}


def determinant(name, q):
    """Return the determinant of Pinocchio's Jacobian."""
    return np.linalg.det(tip_jacobian(name, q))


@pytest.mark.parametrize('name', robots.cases(LABELLED))
def test_no_two_solutions_have_the_same_labels(name):
    """An arm with eight solutions has all eight combinations of labels."""
    full = 0
    for T in reachable(name, 60)[1]:
        labels = [tuple(posture.labels.values()) for posture in solver(name).solve_all(T)]
        assert len(set(labels)) == len(labels)
        full += len(labels) == 8
    assert full > 12 or name in ('z1', 'six_axis_arm')


@pytest.mark.parametrize('name', robots.cases(LABELLED))
def test_the_labels_give_the_sign_of_the_jacobian(name):
    """
    Elbow times wrist, everywhere: branches meet at singularities only.

    (Across the shoulder's, what was up is down, seen along the way out.)
    """
    signs = []
    for q in robots.random_postures(robots.chain(name), 250, 70):
        labels, value = branch_labels(robots.chain(name), q), determinant(name, q)
        if abs(value) > 1e-4:
            signs.append(np.sign(value) * SIGNS[labels['elbow']] * SIGNS[labels['wrist']])
    assert len(signs) > 125 and set(map(int, signs)) in ({1}, {-1})


@pytest.mark.parametrize('name', usual_first(3, LABELLED))
def test_labels_change_at_singularities_only(name):
    """Along straight motions no label changes between samples with the same sign of det J."""
    chain = robots.chain(name)
    changes = {'shoulder': 0, 'elbow': 0, 'wrist': 0}
    ends = robots.random_postures(chain, 16, 71)
    for a, b in zip(ends[::2], ends[1::2]):
        before = None
        for s in np.linspace(0.0, 1.0, 100):
            q = a + s * (b - a)
            labels, value = branch_labels(chain, q), determinant(name, q)
            if before is not None:
                changed = [key for key in labels if labels[key] != before[0][key]]
                for key in changed:
                    changes[key] += 1
                if value * before[1] > 0.0 and min(abs(value), abs(before[1])) > 5e-3:
                    assert not changed
            before = labels, value
    assert min(changes.values()) > 0 or name in ('z1', 'six_axis_arm')


@pytest.mark.parametrize('name', ['ur5', 'six_axis_arm'])
def test_the_wrist_label_flips_at_the_wrist_singularity(name):
    """Moving the fifth joint through zero flips the wrist label."""
    for q in robots.random_postures(robots.chain(name), 50, 72):
        sides = []
        for angle in (0.2, -0.2):
            q[4] = angle
            sides.append(branch_labels(robots.chain(name), q))
        assert sides[0]['wrist'] != sides[1]['wrist']
        if name == 'six_axis_arm':  # an arm with a spherical wrist
            assert sides[0]['elbow'] == sides[1]['elbow']
            assert sides[0]['shoulder'] == sides[1]['shoulder']


@pytest.mark.parametrize('name', ['ur3', 'ur5', 'ur10', 'parallel_axes_arm'])
def test_the_elbow_label_flips_at_the_straight_elbow(name):
    """Moving the third joint through zero changes only the elbow label."""
    for q in robots.random_postures(robots.chain(name), 50, 73):
        sides = []
        for angle in (1e-3, -1e-3):
            q[2] = angle
            sides.append(branch_labels(robots.chain(name), q))
        assert [key for key in sides[0] if sides[0][key] != sides[1][key]] == ['elbow']


def test_elbow_up_is_above_the_line_from_shoulder_to_wrist():
    """On a UR5 that reaches out to the front: the elbow above the line from shoulder to wrist."""
    chain, reference = robots.chain('ur5'), robots.reference('ur5')
    seen = set()
    for q in robots.random_postures(chain, 400, 74):
        shoulder, elbow, wrist = (
            reference.pose(chain.base_link, link, robots.positions(chain, q))[:3, 3]
            for link in ('upper_arm_link', 'forearm_link', 'wrist_1_link'))
        axis = tip_jacobian('ur5', q)[3:, 1]
        out = np.cross(axis, [0.0, 0.0, 1.0])  # in the plane of the arm, horizontal
        across = (wrist - shoulder) @ out
        tip = reference.pose(chain.base_link, 'wrist_3_link', robots.positions(chain, q))[:3, 3]
        if abs(across) < 0.3 or (tip - shoulder) @ out * across < 0.0:
            continue
        line = shoulder[2] + (elbow - shoulder) @ out / across * (wrist - shoulder)[2]
        if abs(elbow[2] - line) > 1e-3:
            label = 'up' if elbow[2] > line else 'down'
            assert branch_labels(chain, q)['elbow'] == label
            seen.add(label)
    assert seen == {'up', 'down'}


@pytest.mark.parametrize('name', robots.cases(['panda', 'xarm7', 'pr2', 'baxter']))
def test_arms_with_seven_axes_have_no_labels(name):
    """The labels are defined for six axes only."""
    for posture in solver(name).solve_all(reachable(name, 1)[1][0]):
        assert posture.labels == {}


def test_an_arm_of_another_shape_has_no_labels():
    """An arm with four joints, skew axes and a prismatic joint."""
    chain = robots.skew_chain()
    T = robots.Reference(robots.SKEW).pose('base', 'tip', robots.skew_positions(np.zeros(4)))
    result = Solver(chain, **PATIENT).solve(T)
    assert result.success and result.labels == {}
