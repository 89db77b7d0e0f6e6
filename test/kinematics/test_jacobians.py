# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Every form of the Jacobian and of its derivatives, at any point of any link, in any axes."""

import itertools

import numpy as np
import pinocchio as pin
import pytest

from ik_node.base import se3
from ik_node.kinematics import jacobians
from ik_node.kinematics.arguments import COMPILED_FORM, FRAME_NAMES, JACOBIAN_FORMS, TASK_ROWS
from ik_node.kinematics.arm import load_urdf

EXACT = 1e-12
POINT = np.array([0.1, -0.2, 0.3])


def some_links(subject):
    """Return links of all kinds: on the path, beyond the tip, beside and above the base."""
    arm = subject.arm
    links = [link for link in arm.tree.links if link != 'pallet']
    return {arm.tip_link, arm.base_link, arm.tree.root, *links[::max(1, len(links) // 8)]}


# ---- against Pinocchio ------------------------------------------------------

@pytest.mark.parametrize('form', [COMPILED_FORM, *JACOBIAN_FORMS])
def test_any_point_of_any_link_in_any_axes(subject, form):
    """Each form is Pinocchio's Jacobian of the point, in base, tool and link axes."""
    arm = subject.arm
    q, = subject.postures(1, 21)
    for link, frame in itertools.product(some_links(subject), FRAME_NAMES):
        J = arm.jacobian(q, link, POINT, frame, others=subject.others, form=form)
        expected = subject.jacobian(q, link, POINT, frame)
        assert np.abs(J - expected).max() < EXACT, (link, frame)


def test_all_forms_agree_in_many_postures(subject):
    """All forms agree to rounding over the whole range of the joints."""
    arm = subject.arm
    for q in subject.postures(20, 22):
        J = arm.jacobian(q)
        for form in JACOBIAN_FORMS:
            assert np.abs(arm.jacobian(q, form=form) - J).max() < EXACT


def test_a_view_can_be_used_repeatedly(branched):
    """Results do not depend on the order of calls."""
    q, qd = np.array([[0.4, -0.7], [1.0, 2.0]])
    where = 'rod', POINT, 'tool'
    for questions in itertools.permutations([
            lambda view: view.jacobian(), lambda view: view.jacobian('exponentials'),
            lambda view: view.derivative(qd), lambda view: view.hessian()]):
        view = branched.arm.view(q, *where)
        for ask in questions:
            assert np.array_equal(ask(view), ask(branched.arm.view(q, *where)))


@pytest.mark.parametrize('form', JACOBIAN_FORMS)
def test_each_form_calls_its_own_function(ur5, form, monkeypatch):
    """Each name selects its own function."""
    assert JACOBIAN_FORMS[form] is getattr(jacobians, form)
    monkeypatch.setitem(JACOBIAN_FORMS, form, lambda table, q: np.full((6, len(q)), 7.0))
    others = {COMPILED_FORM, *JACOBIAN_FORMS} - {form}
    assert (ur5.arm.jacobian(np.zeros(6), form=form) == 7.0).all()
    assert all((ur5.arm.jacobian(np.zeros(6), form=other) != 7.0).all() for other in others)


def test_joints_off_the_path_have_zero_columns(subject):
    """Only joints between the base and the link move it."""
    arm = subject.arm
    q, = subject.postures(1, 23)
    assert (arm.jacobian(q, arm.base_link) == 0.0).all()
    for k, name in enumerate(arm.joint_names):
        joint = subject.joints[name]
        assert (arm.jacobian(q, joint.parent)[:, k:] == 0.0).all()
        assert np.abs(arm.jacobian(q, joint.child)[:, k]).max() > 0.1


def test_links_beyond_other_joints(branched):
    """The chain moves the finger as if the joint of the finger were fixed."""
    arm, q = branched.arm, np.array([0.4, -0.7])
    near, far = (arm.jacobian(q, 'finger', others={'grip': at}) for at in (0.0, 0.1))
    offset = 0.1 * arm.fk(q)[:3, 1]
    assert np.abs(far - jacobians.at_point(near, offset)).max() < EXACT
    assert np.abs(far[:3] - near[:3]).max() > 0.01


def test_default_is_the_origin_of_the_tip_in_base_axes(subject):
    """The defaults may be spelled out; for the tip, tool and link axes are the same."""
    arm = subject.arm
    q, = subject.postures(1, 24)
    J = arm.jacobian(q)
    assert np.array_equal(J, arm.jacobian(q, arm.tip_link, (0, 0, 0), 'base'))
    assert np.array_equal(arm.jacobian(q, frame='tool'), arm.jacobian(q, frame='link'))
    assert np.array_equal(arm.jacobian(q, rows=TASK_ROWS), J)


@pytest.mark.parametrize('frame', FRAME_NAMES)
@pytest.mark.parametrize('rows', [('x',), ('x', 'y', 'z'), ('rx', 'ry', 'rz'),
                                  ('x', 'y', 'z', 'rx', 'ry'), ('rz', 'x')])
def test_selected_rows(branched, frame, rows):
    """Any rows in any order, of the Jacobian and of its derivatives."""
    arm, q, qd = branched.arm, np.array([0.4, -0.7]), np.array([1.0, 2.0])
    keep = [TASK_ROWS.index(row) for row in rows]
    assert np.array_equal(arm.jacobian(q, 'rod', POINT, frame, rows=rows),
                          arm.jacobian(q, 'rod', POINT, frame)[keep])
    assert np.array_equal(arm.jacobian_derivative(q, qd, 'rod', POINT, frame, rows=rows),
                          arm.jacobian_derivative(q, qd, 'rod', POINT, frame)[keep])
    assert np.array_equal(arm.hessian(q, 'rod', POINT, frame, rows=rows),
                          arm.hessian(q, 'rod', POINT, frame)[keep])


def test_locked_joints_have_zero_columns(ur5):
    """Locking two joints zeroes their columns and changes no other number."""
    arm, locked = ur5.arm, ('elbow_joint', 'wrist_3_joint')
    free = [0, 1, 3, 4]
    q, qd = ur5.postures(2, 25)
    qd[[2, 5]] = 0.0
    for whole, cut in ((arm.jacobian(q), arm.jacobian(q, locked=locked)),
                       (arm.jacobian(q, frame='tool'),
                        arm.jacobian(q, frame='tool', locked=locked)),
                       (arm.jacobian_derivative(q, qd),
                        arm.jacobian_derivative(q, qd, locked=locked))):
        assert (cut[:, [2, 5]] == 0.0).all() and np.array_equal(cut[:, free], whole[:, free])
    whole, cut = arm.hessian(q), arm.hessian(q, locked=locked)
    assert (cut[:, [2, 5]] == 0.0).all() and (cut[:, :, [2, 5]] == 0.0).all()
    assert np.array_equal(cut[np.ix_(range(6), free, free)], whole[np.ix_(range(6), free, free)])


# ---- textbook forms ---------------------------------------------------------

def test_body_and_spatial_jacobian(subject):
    """They are Pinocchio's local one, and the same moved to the base's origin by Ad."""
    arm = subject.arm
    for q in subject.postures(5, 26):
        T = subject.pose(arm.tip_link, q)
        body = jacobians.body_jacobian(arm.table, q)
        assert np.abs(body - subject.jacobian(q, arm.tip_link, np.zeros(3), 'link')).max() < EXACT
        spatial = jacobians.spatial_jacobian(arm.table, q)
        assert np.abs(spatial - pin.SE3(T).action @ body).max() < EXACT
        assert np.abs(jacobians.forward_product(arm.table, q) - T).max() < EXACT


def test_product_of_exponentials_is_the_forward_kinematics(subject):
    """``exp(z_1 q_1) ... exp(z_m q_m) g(0)`` is the pose, mimic joints among the factors."""
    arm = subject.arm
    q, = subject.postures(1, 27)
    twists, g = jacobians.home(arm.table)
    for twist, row in reversed(list(zip(twists, arm.table))):
        value = row[14] * q[int(row[13])] + row[15]
        g = pin.exp6(pin.Motion(twist * value)).homogeneous @ g
    assert np.abs(g - subject.pose(arm.tip_link, q)).max() < EXACT


AXES = {'x': (1, 0, 0), 'y': (0, 1, 0), 'z': (0, 0, 1)}


@pytest.mark.parametrize('order', ['zxy', 'xyz', 'zyx', 'yxz', 'zyz', 'xyx'])
def test_a_spherical_joint_as_three_revolute_axes(order):
    """In any Euler order: an axis is rotated by the axes before it and by no other."""
    joints = ''.join(
        f'<link name="l{k}"/><joint name="{k}" type="continuous"><parent link="l{k}"/>'
        f'<child link="l{k + 1}"/><axis xyz="{" ".join(map(str, AXES[axis]))}"/></joint>'
        for k, axis in enumerate(order))
    arm = load_urdf(f'<robot name="ball">{joints}<link name="l3"/></robot>', 'l0', 'l3')
    q = np.array([0.4, -1.1, 0.8])
    R = [pin.exp3(np.array(AXES[axis]) * angle) for axis, angle in zip(order, q)]
    p = np.array([0.2, 0.5, -0.3])
    assert np.abs(arm.fk(q)[:3, :3] - R[0] @ R[1] @ R[2]).max() < EXACT
    left = [np.eye(3), R[0], R[0] @ R[1]]
    turns = np.array([left[k] @ AXES[axis] for k, axis in enumerate(order)]).T
    arms = np.cross(turns, R[0] @ R[1] @ R[2] @ p, axis=0)
    for form in (COMPILED_FORM, *JACOBIAN_FORMS):
        J = arm.jacobian(q, point=p, form=form)
        assert np.abs(J - np.vstack([arms, turns])).max() < EXACT


def test_adjusted_adjoints_of_balls_among_other_joints():
    """Three axes with a common origin are one joint, a fourth begins another; by Pinocchio."""
    axes = ('0 0 1', '0 0 1', '1 0 0', '0 1 0', '0.6 0 0.8', '0 1 0', '1 0 0', '0 0 1', '0 1 0')
    kinds = ('continuous',) * 4 + ('prismatic',) + ('continuous',) * 4
    places = {0: '0.1 0 0.2', 1: '0.3 0.1 0', 4: '0 0 0.2', 5: '0 0.2 0.1'}
    joints = ''.join(
        f'<link name="l{k}"/><joint name="{k}" type="{kind}"><parent link="l{k}"/>'
        f'<child link="l{k + 1}"/><origin xyz="{places.get(k, "0 0 0")}" rpy="0 0.2 {0.1 * k}"/>'
        f'<axis xyz="{axis}"/><limit lower="-2" upper="2" velocity="1" effort="1"/></joint>'
        for k, (axis, kind) in enumerate(zip(axes, kinds)))
    text = (f'<robot name="balls">{joints}<link name="l9"/><link name="tip"/><joint name="t" '
            'type="fixed"><parent link="l9"/><child link="tip"/><origin xyz="0.1 -0.2 0.3"/>'
            '</joint></robot>')
    arm = load_urdf(text, 'l0', 'tip')
    model = pin.buildModelFromXML(text)
    data = model.createData()
    first_of = [jacobians._first_of_ball(arm.table, k) for k in range(arm.n)]
    assert first_of == [0, 1, 1, 1, 4, 5, 5, 5, 6]  # seen from each; of the last, from the tip
    for q in np.random.default_rng(6).uniform(-2.0, 2.0, (4, 9)):
        turned = np.concatenate([(np.cos(angle), np.sin(angle)) if kind == 'continuous'
                                 else (angle,) for angle, kind in zip(q, kinds)])
        expected = pin.computeFrameJacobian(model, data, turned, model.getFrameId('tip'),
                                            pin.LOCAL_WORLD_ALIGNED)
        assert np.abs(arm.jacobian(q, form='adjusted_adjoint') - expected).max() < EXACT


# ---- derivatives ------------------------------------------------------------

def central(function, q, qd, h=1e-5):
    """Return the derivative of a function of q along qd, by central differences of order 4."""
    far, near = (function(q + k * h * qd) - function(q - k * h * qd) for k in (2.0, 1.0))
    return (8.0 * near - far) / (12.0 * h)


def test_time_derivative_agrees_with_pinocchio(subject):
    """In base and link axes, at points of many links, where the base stands still."""
    arm = subject.arm
    q, qd = subject.postures(2, 28)
    # The base of the branched arm moves; finite differences judge it below.
    for link in some_links(subject) if arm.tree.name != 'branched' else ():
        aligned, local = subject.jacobian_rate(q, qd, link, POINT)
        for frame, expected in (('base', aligned), ('link', local)):
            rate = arm.jacobian_derivative(q, qd, link, POINT, frame, others=subject.others)
            assert np.abs(rate - expected).max() < EXACT * 10.0, (link, frame)


def test_derivatives_agree_with_finite_differences(subject):
    """The rate of the matrix that jacobian returns, in all axes, also from the Hessian."""
    arm = subject.arm
    q, qd = subject.postures(2, 29)
    for link, frame in itertools.product(some_links(subject), FRAME_NAMES):
        where = link, POINT, frame
        known = {'others': subject.others}
        expected = central(lambda at: arm.jacobian(at, *where, **known), q, qd)  # noqa: B023
        rate = arm.jacobian_derivative(q, qd, *where, **known)
        assert np.abs(rate - expected).max() < 1e-8, where
        H = arm.hessian(q, *where, **known)
        assert np.abs(H @ qd - rate).max() < EXACT * 10.0, where
        for j, step in enumerate(np.eye(arm.n)):
            column = central(lambda at: arm.jacobian(at, *where, **known), q, step)  # noqa: B023
            assert np.abs(H[:, :, j] - column).max() < 1e-8, where


def test_acceleration_of_a_point(subject):
    """``J qdd + Jd qd`` is the second derivative of the point's position along a motion."""
    arm = subject.arm
    q, qd, qdd = subject.postures(3, 30)
    p = np.append(POINT, 1.0)
    h = 1e-4

    def position(t):
        return (subject.pose(arm.tip_link, q + qd * t + 0.5 * qdd * t * t) @ p)[:3]
    expected = (-position(2 * h) + 16.0 * position(h) - 30.0 * position(0.0)
                + 16.0 * position(-h) - position(-2 * h)) / (12.0 * h * h)
    J = arm.jacobian(q, point=POINT)
    Jd = arm.jacobian_derivative(q, qd, point=POINT)
    assert np.abs((J @ qdd + Jd @ qd)[:3] - expected).max() < 1e-5


def test_hessian_angular_rows_and_symmetry(ur5):
    """Second derivatives of a position are symmetric; those of a rotation are not."""
    q, = ur5.postures(1, 31)
    H = ur5.arm.hessian(q)
    assert np.abs(H[:3] - H[:3].transpose(0, 2, 1)).max() < EXACT
    J = ur5.arm.jacobian(q)
    bracket = np.cross(J[3:, :, None], J[3:, None, :], axis=0)  # [:, i, j]: w_i x w_j
    assert np.abs((H[3:].transpose(0, 2, 1) - H[3:]) - bracket).max() < EXACT


def test_adjoint_moves_the_reference_to_a_point(ur5):
    """Body Jacobian -> any frame fixed to the link, by the adjoint of the frame's pose in it."""
    q, = ur5.postures(1, 32)
    T_tip_frame = se3.pose(pin.exp3(np.array([0.3, -1.0, 0.4])), POINT)
    J = se3.adjoint(se3.inverse(T_tip_frame)) @ jacobians.body_jacobian(ur5.arm.table, q)
    R = ur5.arm.fk(q)[:3, :3] @ T_tip_frame[:3, :3]
    expected = jacobians.in_axes(ur5.jacobian(q, 'tool0', POINT, 'base'), R)
    assert np.abs(J - expected).max() < EXACT
