# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Green, amber and red, checked by Pinocchio, each with its sentence."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from ik_node.base.errors import ParameterError, Reason
from ik_node.kinematics.arm import load_urdf
from ik_node.solver.goal import Goal
from ik_node.solver.result import Posture
from ik_node.solver.solver import Solver
from ik_node.solver.unreachable import Colour, judge, Thresholds

ARM = Path(__file__).parents[2] / 'urdf/six_axis_arm.urdf'
CHAIN = load_urdf(ARM)
MODEL = pin.buildModelFromUrdf(str(ARM))
DATA = MODEL.createData()
READY = np.array([0.0, 0.3, -0.4, 0.0, 1.0, 0.0])
THRESHOLDS = Thresholds()


def smallest(q):
    """Return the smallest singular value of the Jacobian, by Pinocchio."""
    J = pin.computeFrameJacobian(MODEL, DATA, q, MODEL.getFrameId('tool0'),
                                 pin.LOCAL_WORLD_ALIGNED)
    return np.linalg.svd(J, compute_uv=False)[-1]


def at(seed=READY, **joints):
    """Return the posture READY with some joints changed, seen from `seed`."""
    q = READY.copy()
    for name, value in joints.items():
        q[int(name[-1]) - 1] = value
    return Posture(CHAIN, q, np.array(seed))


def test_green_is_reachable_without_warnings():
    """Near, with margin to the limits and to singularities; the numbers are true."""
    found = judge(at(joint_1=0.5), THRESHOLDS)
    assert (found.colour, found.reason, found.sentence) == (Colour.GREEN, Reason.SOLVED,
                                                            'reachable')
    q = at(joint_1=0.5).q
    room = np.minimum(q - MODEL.lowerPositionLimit, MODEL.upperPositionLimit - q).min()
    assert found.limit_margin == pytest.approx(room)
    assert found.smallest_singular_value == pytest.approx(smallest(q))
    assert (found.jump, found.limiting_joint) == (pytest.approx(0.5), '')


def test_amber_on_a_far_branch():
    """Only beyond the threshold; the sentence names the joint and how far it would move."""
    assert judge(at(joint_1=1.59), THRESHOLDS).colour is Colour.GREEN
    found = judge(at(joint_1=-1.7), THRESHOLDS)
    assert found.colour is Colour.AMBER and found.reason is Reason.SOLVED
    assert found.sentence == ("reachable, but on a far branch: 'joint_1' would move by 1.7 rad")
    assert found.limiting_joint == ''


@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_amber_close_to_a_limit(side):
    """On either side; the joint is named."""
    limit = MODEL.upperPositionLimit[1] if side > 0.0 else MODEL.lowerPositionLimit[1]
    near, off = at(joint_2=limit - 0.02 * side), at(joint_2=limit - 0.06 * side)
    found = judge(Posture(CHAIN, near.q, near.q), THRESHOLDS)
    assert found.colour is Colour.AMBER and found.limiting_joint == 'joint_2'
    assert found.sentence == ("reachable, but close to a limit: 'joint_2' would stand 0.02 rad "
                              'from it')
    assert found.limit_margin == pytest.approx(0.02)
    assert 'limit' not in judge(Posture(CHAIN, off.q, off.q), THRESHOLDS).sentence


def test_amber_close_to_a_singularity():
    """With the fifth joint straight the wrist is singular."""
    posture = at(joint_5=0.05)
    assert smallest(posture.q) < THRESHOLDS.singular_value < smallest(at(joint_5=0.3).q)
    found = judge(posture, THRESHOLDS)
    assert found.colour is Colour.AMBER
    assert found.sentence.startswith('reachable, but close to a singularity: the smallest')
    assert judge(at(joint_5=0.3), THRESHOLDS).colour is Colour.GREEN


def test_all_warnings_are_in_one_sentence():
    """One sentence names all causes."""
    limit = MODEL.upperPositionLimit[5]
    found = judge(at(joint_1=2.0, joint_5=0.0, joint_6=limit), THRESHOLDS)
    assert found.sentence.count(' and ') == 2 and found.sentence.startswith('reachable, but on a')
    assert "'joint_6' would move" in found.sentence and 'stand 0 rad' in found.sentence


def test_thresholds_decide():
    """The thresholds are used; negative numbers and NaN are refused."""
    assert judge(at(joint_1=0.5), Thresholds(far=0.4)).colour is Colour.AMBER
    assert judge(at(joint_1=0.5), Thresholds(limit_margin=3.0)).colour is Colour.AMBER
    assert judge(at(joint_1=0.5), Thresholds(singular_value=0.5)).colour is Colour.AMBER
    for value in (-1.0, float('nan')):
        with pytest.raises(ParameterError, match='far'):
            Thresholds(far=value)


def test_red_has_the_message_of_the_solver():
    """Out of reach; the nearest pose is red, too."""
    solver = Solver(CHAIN)
    T = np.eye(4)
    T[:3, 3] = 2.0, 0.0, 0.5
    result = solver.solve(T, READY)
    found = judge(result, THRESHOLDS)
    assert (found.colour, found.reason) == (Colour.RED, Reason.OUT_OF_REACH)
    assert found.sentence == result.message and 'reaches at most' in found.sentence
    found = judge(solver.solve(T, READY, nearest=True), THRESHOLDS)
    assert (found.colour, found.reason) == (Colour.RED, Reason.NEAREST)


def test_red_names_the_joint_beyond_its_limit():
    """If several would, the one farthest beyond its limit."""
    q = READY.copy()
    q[4] = MODEL.upperPositionLimit[4] + 0.3
    pin.framesForwardKinematics(MODEL, DATA, q)
    T = DATA.oMf[MODEL.getFrameId('tool0')].homogeneous
    result = Solver(CHAIN).solve(T, READY)
    if result.success:
        pytest.fail('another posture reaches it; choose another')
    found = judge(result, THRESHOLDS)
    assert found.reason is Reason.BEYOND_LIMIT and len(result.excess) >= 1
    assert found.limiting_joint == max(result.excess, key=result.excess.get)


def test_a_pointing_goal_ignores_rotation_about_z():
    """The error of a goal ignores free axes; m and rad."""
    T = pin.SE3(pin.exp3(np.array([0.3, -0.4, 1.0])), np.array([0.4, 0.1, 0.5]))
    goal = Goal.pointing(T.homogeneous)
    for turn in (0.0, 1.0, -3.0, 3.14):
        turned = T * pin.SE3(pin.exp3(np.array([0.0, 0.0, turn])), np.zeros(3))
        assert goal.error(turned.homogeneous) == pytest.approx((0.0, 0.0), abs=1e-12)
        assert Goal(T.homogeneous).error(turned.homogeneous)[1] == pytest.approx(abs(turn))
    tilted = T * pin.SE3(pin.exp3(np.array([0.02, 0.0, 0.0])), np.array([0.0, 0.003, 0.004]))
    assert goal.error(tilted.homogeneous) == pytest.approx((0.005, 0.02))
    assert Goal.position(T.translation).error(tilted.homogeneous) == pytest.approx((0.005, 0.0))


def test_the_error_of_a_goal_is_that_of_the_solver():
    """For all tolerances and axes, near and far; the boxes of the solver are slightly smaller."""
    rng = np.random.default_rng(3)
    solver, errors = Solver(CHAIN), []
    for k in range(60):
        q = rng.uniform(MODEL.lowerPositionLimit, MODEL.upperPositionLimit)
        pin.framesForwardKinematics(MODEL, DATA, q)
        T = DATA.oMf[MODEL.getFrameId('tool0')].homogeneous.copy()
        T[:3, 3] *= (1.0, 1.4)[k % 3 == 0]
        tolerance = (*rng.choice([0.0, 0.02, np.inf], 5), 0.0)
        goal = Goal(T, tolerance, ('tip', 'base')[k % 2])
        result = solver.solve(goal, READY)
        error = goal.error(result.T_base_tip)
        assert error == pytest.approx((result.position_error, result.orientation_error), abs=2e-6)
        errors.append(max(error))
    assert sum(error < 1e-6 for error in errors) > 20
    assert sum(error > 1e-2 for error in errors) > 5
