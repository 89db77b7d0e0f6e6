# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Singular values, manipulability with its gradient, and the name of the motion that is lost."""

from nightly import samples
import numpy as np
import pytest
import robots

from ik_node.kinematics.arguments import TASK_ROWS
from ik_node.kinematics.arm import load_urdf
from ik_node.kinematics.jacobians import name_motion

POSITION = ('x', 'y', 'z')


def yoshikawa(J):
    """Return Yoshikawa's manipulability by determinant."""
    return np.sqrt(max(0.0, np.linalg.det(J @ J.T if J.shape[0] <= J.shape[1] else J.T @ J)))


def slopes(function, q, h=1e-5):
    """Return the gradient of a function of q by central differences of order 4."""
    steps = h * np.eye(len(q))
    return np.array([(8.0 * (function(q + d) - function(q - d))
                      - (function(q + 2.0 * d) - function(q - 2.0 * d))) / (12.0 * h)
                     for d in steps])


@pytest.mark.parametrize('options', [
    {}, {'rows': POSITION}, {'frame': 'tool', 'rows': ('x', 'y', 'z', 'rx', 'ry')},
    {'metres_per_radian': 0.3}, {'point': (0.1, 0.2, 0.3)}, {'lock': (1,)},
    {'lock': (0, 2), 'rows': POSITION}], ids=str)
def test_manipulability_and_gradient(subject, options):
    """Yoshikawa's determinant over Pinocchio's Jacobian, and its finite differences."""
    arm = subject.arm
    options = dict(options)
    locked = [k for k in options.pop('lock', ()) if arm.n > 2]
    weight = options.get('metres_per_radian', 1.0)
    keep = [TASK_ROWS.index(row) for row in options.get('rows', TASK_ROWS)]
    free = [k for k in range(arm.n) if k not in locked]

    def measure(q):
        J = subject.jacobian(q, arm.tip_link, options.get('point', np.zeros(3)),
                             options.get('frame', 'base'))
        J[3:] *= weight
        return J[np.ix_(keep, free)]
    for q in subject.postures(3, samples(usual=4, nightly=40)):
        J = measure(q)
        found = arm.singularity(q, locked=[arm.joint_names[k] for k in locked], **options)
        assert found.manipulability == pytest.approx(yoshikawa(J), rel=1e-8, abs=1e-9)
        values = np.linalg.svd(J, compute_uv=False)
        assert np.abs(found.singular_values - values).max() < 1e-12
        assert found.smallest == found.singular_values[-1] and found.metres_per_radian == weight
        if lost := int((values < 1e-9).sum()):  # the PR2 with two joints locked
            assert found.lost == lost and found.sentence.startswith('cannot')
        else:
            assert found.condition == pytest.approx(np.linalg.cond(J), rel=1e-9)
            assert found.lost == 0 and found.sentence.startswith(('no motion', 'can hardly'))
        expected = slopes(lambda at: np.prod(np.linalg.svd(measure(at), compute_uv=False)), q)
        expected[locked] = 0.0
        assert np.abs(found.gradient - expected).max() < 1e-8 * max(1.0, values[0] ** 6)
        assert (found.gradient[locked] == 0.0).all()


def test_direction_needs_most_joint_motion(subject):
    """Of all twists of length 1 it needs the largest joint motion, 1 / smallest."""
    arm = subject.arm
    weights = np.array([1.0, 1.0, 1.0, 0.3, 0.3, 0.3])
    for q in subject.postures(3, 41):
        found = arm.singularity(q, metres_per_radian=0.3)
        u = found.direction * weights
        assert np.linalg.norm(u) == pytest.approx(1.0, abs=1e-12)
        WJ = weights[:, None] * arm.jacobian(q)
        assert np.linalg.norm(WJ.T @ u) == pytest.approx(found.smallest, abs=1e-12)
        assert found.direction[np.argmax(np.abs(found.direction))] > 0.0


# ---- singularities of real arms ---------------------------------------------

@pytest.fixture(scope='module')
def spherical():
    """Return the arm with a spherical wrist and the place of the wrist's centre in its tool."""
    arm = load_urdf(robots.ARMS['six_axis_arm'].path)
    q = np.zeros(6)
    fifth, = (joint for joint in arm.tree.joints if joint.name == arm.joint_names[4])
    T_tip_wrist = np.linalg.inv(arm.fk(q)) @ arm.link_pose(q, fifth.child)
    return arm, T_tip_wrist[:3, 3]


def test_straight_wrist_loses_a_rotation(spherical):
    """With axes 4 and 6 in line, the wrist cannot rotate about the axis normal to 4 and 5."""
    arm, centre = spherical
    q = np.array([0.2, -0.4, 0.9, 0.7, 0.0, 0.0])
    wrist = arm.singularity(q, frame='tool', rows=('rx', 'ry', 'rz'), locked=arm.joint_names[:3])
    # Axes 4 and 6 are z of tool0, axis 5 is its y.
    assert wrist.sentence == 'cannot rotate about tool x' and wrist.lost == 1
    assert np.abs(wrist.direction - [0, 0, 0, 1, 0, 0]).max() < 1e-12
    assert wrist.condition > 1e14
    # The whole arm cannot either; what it loses stands square to every column.
    found = arm.singularity(q, point=centre)
    assert found.lost == 1 and found.manipulability < 1e-15
    assert np.abs(arm.jacobian(q, point=centre).T @ found.direction).max() < 1e-15
    a4, a5 = arm.jacobian(q)[3:, 3:5].T
    assert np.abs(np.cross(found.direction[3:], np.cross(a4, a5))).max() < 1e-12


def test_the_gradient_leads_out_of_a_singularity(spherical):
    """Only axis 5 straightens the wrist; the manipulability grows equally to both sides."""
    arm, centre = spherical
    q = np.array([0.2, -0.4, 0.9, 0.7, 0.0, 0.0])
    gradient = arm.singularity(q, point=centre).gradient
    assert abs(gradient[4]) > 0.01 and np.abs(np.delete(gradient, 4)).max() < 1e-12
    for h in (-1e-6, 1e-6):
        bent = arm.singularity(q + h * np.eye(6)[4], point=centre).manipulability
        assert bent / 1e-6 == pytest.approx(abs(gradient[4]), rel=1e-5)


def test_a_stretched_elbow_loses_the_radial_motion(ur5):
    """With a straight elbow, shoulder and elbow move the wrist in two directions only."""
    q = np.array([0.0, -0.7, 0.0, 0.3, 1.0, 0.2])
    arm = ur5.arm
    found = arm.singularity(q, 'wrist_1_link', rows=POSITION)
    wrist, shoulder = (arm.link_pose(q, link)[:3, 3] for link in ('wrist_1_link', 'shoulder_link'))
    pan, lift = np.cross([0, 0, 1], wrist), np.cross([0, 1, 0], wrist - shoulder)
    square = np.cross(pan, lift)
    assert found.lost == 1 and found.direction[3:].tolist() == [0.0, 0.0, 0.0]
    assert np.abs(np.cross(found.direction[:3], square)).max() < 1e-12
    assert found.sentence.startswith('cannot move along (0.76, 0.02, 0.64) in base axes')


def test_several_motions_lost_at_once(spherical):
    """With elbow and wrist straight two motions are lost, and the sentence says so."""
    arm, _ = spherical
    stretched = -np.arctan2(0.132 + 0.293, 0.03)  # forearm and its offset, from the URDF
    found = arm.singularity(np.array([0.2, -0.4, stretched, 0.0, 0.0, 0.1]))
    assert found.lost == 2
    assert found.sentence.startswith('cannot ')
    assert found.sentence.endswith(', and 2 independent motions are lost together')


def test_weak_motions_near_a_singularity(ur5):
    """Near a singularity the sentence names the motion that needs much joint motion."""
    q = np.array([0.3, -1.0, 1.2, 0.4, 0.01, 0.7])
    found = ur5.arm.singularity(q)
    assert found.lost == 0 and found.condition > 50.0
    assert found.sentence.startswith('can hardly ')
    q[4] = 1.2
    assert ur5.arm.singularity(q).sentence.startswith('no motion is lost; the hardest is to ')


@pytest.mark.parametrize('twist, words', [
    ((0, 0, 1, 0, 0, 0), 'move along base z'),
    ((0, -1, 0, 0, 0, 0), 'move along base y'),
    ((0.05, 1, 0.05, 0, 0, 0.1), 'move along base y'),
    ((0, 0, 0, 1, 0, 0), 'rotate about base x'),
    ((0, 0, 0.01, 0, 0.5, 0), 'rotate about base y'),
    ((0.6, 0, 0.8, 0, 0, 0), 'move along (0.60, 0.00, 0.80) in base axes'),
    ((0, 0, 1, 1.5, 0, 0), 'move along base z and rotate about base x at once'),
    ((0, 0, 1, 2.5, 0, 0), 'rotate about base x and move along base z at once')])
def test_names_of_motions(twist, words):
    """The larger part comes first, a small part is left out; here a rad counts half a metre."""
    assert name_motion(np.array(twist, dtype=float), 'base', 0.5) == words
    assert name_motion(np.array(twist, dtype=float), 'tool', 0.5) == words.replace('base', 'tool')
