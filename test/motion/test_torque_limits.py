# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions that keep the effort limits, judged by Pinocchio."""

from dataclasses import replace
import re

from motions import at_rest
import numpy as np
import pytest
import robots

from ik_node import Solver
from ik_node.base.errors import ParameterError, Reason, TrajectoryError
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.motion.direct.point_to_point import plan_point_to_point
from ik_node.motion.direct.torque_limits import effort_limits, TorqueLimits, TorqueOptions
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.tool_path.plan import plan_path
from ik_node.motion.trajectory.limits import MotionLimits, TipLimits
from ik_node.motion.trajectory.sampling import states_at

NAME = 'six_axis_arm'
CHAIN, TREE = robots.chain(NAME), robots.tree(NAME)
ONES = np.ones(6)
LIMITS = MotionLimits(CHAIN.lower, CHAIN.upper, CHAIN.velocity, 15.0 * ONES, 300.0 * ONES)
READY = np.array([0.0, 0.3, -0.4, 0.0, 1.0, 0.0])
REST = at_rest(READY)
FAR = np.array([1.5, 0.9, -0.2, 0.5, 0.4, 1.0])
CENTRE = 0.0, 0.03, 0.12


def limits_of(mass, **options):
    """Return the torque limits of the arm with a mass."""
    return TorqueLimits.of(CHAIN, TREE, TorqueOptions(mass, CENTRE, **options))


def peaks(trajectory, mass):
    """Return the largest torque of each joint over its limit, by Pinocchio, every ms, (n,)."""
    import pinocchio as pin
    model = pin.buildModelFromXML(robots.text(NAME).decode())
    tip = model.frames[model.getFrameId('tool0', pin.FrameType.BODY)]
    model.appendBodyToJoint(tip.parentJoint, pin.Inertia(mass, np.array(CENTRE),
                                                         np.zeros((3, 3))), tip.placement)
    data = model.createData()
    states = states_at(trajectory, np.arange(0.0, trajectory.duration, 1e-3))
    torques = np.array([pin.rnea(model, data, *state) for state in states])
    return np.abs(torques).max(axis=0) / model.upperEffortLimit


def direct(share):
    """Plan the motion to FAR at a share of the speed."""
    return plan_point_to_point(CHAIN.joint_names, REST, FAR, LIMITS.slowed(share), 0.02, CHAIN)


def line(share, tip=TipLimits()):
    """Plan a line of 25 cm at a share of the speed."""
    T = forward_kinematics(CHAIN, READY)
    T[:3, 3] += -0.1, 0.2, -0.1
    fast = replace(LIMITS, acceleration=60.0 * ONES, jerk=3000.0 * ONES, tip=tip)
    return plan_path(Solver(CHAIN), REST, (T,), fast.slowed(share), PathOptions())


def itself(planned):
    """Return the motion of a plan that is one."""
    return planned


@pytest.mark.parametrize('mass', [8.0, 14.0])
def test_a_motion_is_made_slower(mass):
    """It keeps the limits, which it did not before, and uses them; the same way, the same time."""
    assert peaks(direct(1.0), mass).max() > 1.05
    trajectory, share = limits_of(mass).kept(direct, itself)
    assert 0.05 < share < 1.0
    assert 0.97 < peaks(trajectory, mass).max() <= 1.0 + 1e-6
    assert trajectory.duration == pytest.approx(direct(1.0).duration / share, rel=1e-3)
    again, same = limits_of(mass).kept(direct, itself)
    assert same == share and np.array_equal(again.q, trajectory.q)


@pytest.mark.parametrize('tip', [TipLimits(), TipLimits(speed=1.0, acceleration=9.0)],
                         ids=['joints', 'tip'])
def test_a_line_is_made_slower(tip):
    """As a motion of the joints, also where the limits of the tip are what makes it slow."""
    mass = 15.0
    assert peaks(line(1.0, tip).trajectory, mass).max() > 1.05
    if np.isfinite(tip.speed):  # the joints alone would do it in less time
        assert line(1.0).trajectory.duration < 0.9 * line(1.0, tip).trajectory.duration
    planned, share = limits_of(mass).kept(lambda share: line(share, tip),
                                          lambda planned: planned.trajectory)
    assert share < 1.0 and 0.9 < peaks(planned.trajectory, mass).max() <= 1.0 + 1e-6


def test_without_need_nothing_changes():
    """A motion within the limits is planned once; without a mass nothing is looked at."""
    shares = []

    def plan(share):
        shares.append(share)
        return direct(0.3 * share)

    trajectory, share = limits_of(1.0).kept(plan, itself)
    assert share == 1.0 and shares == [1.0] and peaks(trajectory, 1.0).max() < 1.0
    limits_of(1.0).require(trajectory)
    assert TorqueLimits.of(CHAIN, TREE, TorqueOptions()) is None
    assert limits_of(0.0, always=True).load == 'the arm'


def test_a_load_that_cannot_be_held():
    """The joint, what it needs by Pinocchio, what it may, and the load are in the sentence."""
    with pytest.raises(TrajectoryError) as caught:
        limits_of(60.0).kept(direct, itself)
    assert caught.value.reason is Reason.TOO_HEAVY
    words = re.fullmatch(
        r"joint '(joint_\d)' would need ([\d.]+) N m of ([\d.]+) N m to hold the tool of 60 kg, "
        r'([\d.]+) s after the start of the motion of [\d.]+ s', str(caught.value))
    assert words, caught.value
    k = CHAIN.joint_names.index(words[1])
    assert float(words[3]) == effort_limits(CHAIN, TREE)[k] < float(words[2])


def test_a_load_that_cannot_be_moved():
    """It can just be held, and hardly more; no share of the speed is looked for for ever."""
    Q = states_at(direct(1.0), np.linspace(0.0, 5.0, 5000))[:, 0]
    holding = np.abs(limits_of(8.0).dynamics.holding_torques(Q)).max(axis=0)
    tight = replace(limits_of(8.0), effort=1.001 * np.maximum(holding, 1.0))
    shares = []

    def plan(share):
        shares.append(share)
        return direct(share)

    with pytest.raises(TrajectoryError, match='could not move the tool of 8 kg within .* 5 % of '
                       'the speed') as met:
        tight.kept(plan, itself)
    assert met.value.reason is Reason.TOO_HEAVY and len(shares) <= 4


def test_a_motion_that_is_only_checked():
    """It is refused as it is, with the share of the speed at which it would do."""
    with pytest.raises(TrajectoryError, match=r'to move the tool of 8 kg; at [\d.]+ % of') as met:
        limits_of(8.0).require(direct(1.0))
    assert met.value.reason is Reason.TOO_HEAVY


def test_limits_of_slower_motions():
    """Each by its power of the time; all of the speed is the same limits."""
    tip = TipLimits(1.0, 2.0, 3.0, 4.0)
    limits = replace(LIMITS, tip=tip)
    assert limits.slowed(1.0) is limits
    slow = limits.slowed(0.5)
    for name, factor in (('velocity', 0.5), ('acceleration', 0.25), ('jerk', 0.125)):
        assert np.allclose(getattr(slow, name), factor * getattr(limits, name))
    assert slow.tip == TipLimits(0.5, 1.0, 0.75, 1.0) and slow.upper is limits.upper


@pytest.mark.parametrize(('pattern', 'new', 'words'), [
    (r'<inertial>.*?</inertial>', '', 'the URDF has no masses of the links that move'),
    (r'effort="[\d.]+"', 'effort="0"', 'the URDF has no effort limits'),
    (r'<mass value="7.5"/>', '<mass value="-1"/>', 'the mass -1 kg')])
def test_missing_inertia_or_effort(pattern, new, words):
    """One sentence says why torques cannot be checked."""
    text = re.sub(pattern, new, robots.text(NAME).decode(), flags=re.DOTALL)
    tree = parse_urdf(text)
    with pytest.raises(Exception, match=words):
        TorqueLimits.of(make_chain(tree), tree, TorqueOptions(2.0))


def test_joints_without_a_limit():
    """They are not limited; the others are."""
    text = robots.text(NAME).decode()
    tree = parse_urdf(text.replace('effort="', 'effort="0" old="', 1))
    found = effort_limits(make_chain(tree), tree)
    assert np.isinf(found[0]) and np.isfinite(found[1:]).all()


@pytest.mark.parametrize('options', [
    {'mass': -1.0}, {'mass': np.nan}, {'center_of_mass': (0.0, 0.0)},
    {'gravity': (0.0, 0.0, np.inf)}])
def test_options_that_cannot_be(options):
    """A sentence names the parameter."""
    with pytest.raises(ParameterError, match='tool.mass|tool.center_of_mass|motion.gravity'):
        TorqueOptions(**options)
