# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The joint_trajectory_controller's rules, one by one, in its order."""

import copy
from itertools import combinations
import math
from types import SimpleNamespace

import pytest

from ik_node.motion.trajectory.controller_rules import AcceptanceOptions, refusal, seconds

JOINTS = ('a', 'b', 'c')
NOW = 100.0


def stamp(time):
    """Return a builtin_interfaces Time or Duration."""
    whole = math.floor(time)
    return SimpleNamespace(sec=whole, nanosec=round(1e9 * (time - whole)))


def point(time, positions=(0.0, 0.0, 0.0), velocities=(), accelerations=(), effort=()):
    """Return a JointTrajectoryPoint."""
    return SimpleNamespace(time_from_start=stamp(time), positions=list(positions),
                           velocities=list(velocities), accelerations=list(accelerations),
                           effort=list(effort))


def good():
    """Return a trajectory that breaks no rule."""
    return SimpleNamespace(
        header=SimpleNamespace(stamp=stamp(0.0)), joint_names=list(JOINTS),
        points=[point(0.5, velocities=(1.0, 1.0, 1.0)), point(1.0), point(2.0, (1.0, 1.0, 1.0),
                                                                          (0.0, 0.0, 0.0))])


def extra_joint(message):
    """Rule 1."""
    message.joint_names.append('a')


def no_joints(message):
    """Rule 2 (rule 1 with the default options)."""
    message.joint_names.clear()


def no_points(message):
    """Rule 3."""
    message.points.clear()


def unknown_joint(message):
    """Rule 4."""
    message.joint_names[1] = 'elbow'


def moving_end(message):
    """Rule 5."""
    if message.points:
        message.points[-1].velocities = [0.0, 0.0, -0.25]


def past(message):
    """Rule 6."""
    message.header.stamp = stamp(NOW - 10.0)


def time_stands(message):
    """Rule 7."""
    if message.points:
        message.points[1].time_from_start = stamp(0.5)


def short_positions(message):
    """Rule 8."""
    if message.points:
        message.points[2].positions = [1.0]


def effort(message):
    """Rule 9."""
    if message.points:
        message.points[2].effort = [1.0, 1.0, 1.0]


RULES = [(extra_joint, '4 joints, the controller has 3'),
         (no_points, 'no points'),
         (unknown_joint, "'elbow' is not one of the controller"),
         (moving_end, "velocity of the last point is not zero but -0.25 for joint 'c'"),
         (past, 'ended 8.000 s ago'),
         (time_stands, 'does not increase between the points 0 and 1'),
         (short_positions, 'point 2 has 1 positions for 3 joints'),
         (effort, 'point 2 has effort')]


def test_a_good_trajectory_is_accepted():
    """None means accepted."""
    assert refusal(good(), JOINTS, NOW) is None


@pytest.mark.fault('controller', 'a trajectory that breaks a rule of joint_trajectory_controller',
                   'the simulated controller refuses it with the sentence of the rule')
@pytest.mark.parametrize('rule, words', RULES)
def test_each_rule_refuses_by_itself(rule, words):
    """A message that breaks one rule is refused with its sentence."""
    message = good()
    rule(message)
    assert words in refusal(message, JOINTS, NOW)


@pytest.mark.parametrize('earlier, later', list(combinations(RULES, 2)))
def test_the_earlier_rule_is_named(earlier, later):
    """A message that breaks two rules is refused for the earlier one."""
    message = good()
    later[0](message)
    earlier[0](message)
    assert earlier[1] in refusal(message, JOINTS, NOW)


# ---- rules 1 and 2: the count of the joints ---------------------------------

@pytest.mark.parametrize('names', [['a'], ['a', 'b'], ['a', 'b', 'c', 'a'], []])
def test_rule_1_joint_count(names):
    """Another count than the controller's is refused, with both, unless partial is allowed."""
    message = good()
    message.joint_names = names
    why = refusal(message, JOINTS, NOW)
    assert f'{len(names)} joints, the controller has 3' in why
    assert "'a', 'b', 'c'" in why


def test_rule_1_option():
    """With allow_partial_joints_goal a trajectory of some joints is accepted."""
    message = good()
    message.joint_names = ['c']
    message.points = [point(1.0, [0.0])]
    assert refusal(message, JOINTS, NOW) is not None
    assert refusal(message, JOINTS, NOW, AcceptanceOptions(allow_partial_joints_goal=True)) is None


def test_rule_2_no_joint_names():
    """Where partial goals are allowed, none at all is still refused, before rule 3."""
    message = good()
    no_joints(message)
    no_points(message)
    partial = AcceptanceOptions(allow_partial_joints_goal=True)
    assert 'names no joints' in refusal(message, JOINTS, NOW, partial)
    no_joints(message)
    assert 'names no joints' in refusal(message, (), NOW)


# ---- rule 4: names ----------------------------------------------------------

def test_rule_4_any_order_is_allowed():
    """The sender may order the names as it likes."""
    message = good()
    message.joint_names = ['c', 'a', 'b']
    assert refusal(message, JOINTS, NOW) is None


def test_rule_4_duplicates_are_not_detected():
    """As in the real controller, a name twice passes."""
    message = good()
    message.joint_names = ['a', 'a', 'b']
    assert refusal(message, JOINTS, NOW) is None


def test_rule_4_names_are_escaped():
    """A name from outside cannot write to the terminal."""
    message = good()
    message.joint_names = ['a', 'b', 'c\x1b[31m' + 'x' * 1000]
    why = refusal(message, JOINTS, NOW)
    assert '\x1b' not in why and len(why) < 300


# ---- rule 5: rest at the end ------------------------------------------------

@pytest.mark.parametrize('velocity, taken', [
    (0.0, True), (1.19e-7, True), (-1.19e-7, True), (1.2e-7, False), (-1.2e-7, False),
    (0.01, False), (-1.0, False)])
@pytest.mark.parametrize('joint', [0, 1, 2])
def test_rule_5_last_velocity(velocity, taken, joint):
    """The last velocities are zero within the epsilon of a float."""
    message = good()
    message.points[-1].velocities[joint] = velocity
    assert (refusal(message, JOINTS, NOW) is None) == taken
    moving = AcceptanceOptions(allow_nonzero_velocity_at_trajectory_end=True)
    assert refusal(message, JOINTS, NOW, moving) is None


# ---- rule 6: time -----------------------------------------------------------

@pytest.mark.parametrize('start, taken', [
    (0.0, True), (NOW, True), (NOW + 50.0, True), (NOW - 1.9, True), (NOW - 2.0, True),
    (NOW - 2.001, False), (1e-9, False)])
def test_rule_6_stamp(start, taken):
    """Zero means now; the future waits; a past stamp is taken while its end is ahead."""
    message = good()
    message.header.stamp = stamp(start)
    why = refusal(message, JOINTS, NOW)
    assert (why is None) == taken
    if not taken:
        assert f'ended {NOW - start - 2.0:.3f} s ago' in why


def test_seconds():
    """Seconds and nanoseconds are added up."""
    assert seconds(stamp(2.25)) == 2.25
    assert seconds(SimpleNamespace(sec=-1, nanosec=500_000_000)) == -0.5


# ---- rule 7: times ----------------------------------------------------------

@pytest.mark.parametrize('times, taken', [
    ((0.0, 1.0, 2.0), True), ((-1.0, 0.0, 1.0), True), ((1.0, 1.0 + 1e-9, 2.0), True),
    ((1.0, 1.0, 2.0), False), ((0.0, 2.0, 1.0), False), ((1.0, 2.0, 2.0), False),
    ((0.0, 0.0, 0.0), False), ((0.0, -1.0, 1.0), False)])
def test_rule_7_times(times, taken):
    """Times increase strictly; the first may be zero, even negative."""
    message = good()
    for each, time in zip(message.points, times):
        each.time_from_start = stamp(time)
    why = refusal(message, JOINTS, NOW)
    assert (why is None) == taken
    if not taken:
        broken = 1 if times[1] <= times[0] else 2
        assert f'between the points {broken - 1} and {broken}' in why


def test_rule_7_nanoseconds_count():
    """A nanosecond is an increase even where a double of seconds cannot hold it."""
    message = good()
    for k, each in enumerate(message.points):
        each.time_from_start = SimpleNamespace(sec=2**30, nanosec=k)
    assert refusal(message, JOINTS, NOW) is None


# ---- rule 8: counts of the fields -------------------------------------------

@pytest.mark.parametrize('field', ['positions', 'velocities', 'accelerations'])
@pytest.mark.parametrize('size', [1, 2, 4])
@pytest.mark.parametrize('index', [0, 1, 2])
@pytest.mark.parametrize('integrated', [False, True])
def test_rule_8_wrong_counts(field, size, index, integrated):
    """A field of the wrong length is refused in any point, with point and field."""
    message = good()
    setattr(message.points[index], field, [0.0] * size)
    options = AcceptanceOptions(allow_integration_in_goal_trajectories=integrated)
    assert f'point {index} has {size} {field} for 3 joints' \
        == refusal(message, JOINTS, NOW, options)


@pytest.mark.parametrize('fields, integrated, taken', [
    (('positions',), False, True), (('positions', 'velocities'), False, True),
    (('positions', 'accelerations'), False, True),
    (('positions', 'velocities', 'accelerations'), False, True),
    (('velocities',), False, False), (('accelerations',), False, False), ((), False, False),
    (('velocities',), True, True), (('accelerations',), True, True), ((), True, False),
    (('positions',), True, True)])
def test_rule_8_option(fields, integrated, taken):
    """Positions may be absent only with integration, and then not everything."""
    message = good()
    message.points = [copy.deepcopy(message.points[1]), copy.deepcopy(message.points[2])]
    for each in message.points:
        each.positions = each.velocities = each.accelerations = []
    for field in fields:
        setattr(message.points[0], field, [0.0, 0.0, 0.0])
        setattr(message.points[1], field, [0.0, 0.0, 0.0])
    options = AcceptanceOptions(allow_integration_in_goal_trajectories=integrated)
    why = refusal(message, JOINTS, NOW, options)
    assert (why is None) == taken
    if why is not None:
        assert 'point 0 has' in why


# ---- rule 9 and what is not checked -----------------------------------------

@pytest.mark.parametrize('count', [1, 3])
def test_rule_9_effort(count):
    """Effort is refused in any point, whatever its length."""
    message = good()
    message.points[0].effort = [0.0] * count
    assert 'point 0 has effort' in refusal(message, JOINTS, NOW)


def test_rules_the_controller_does_not_check():
    """NaN, infinity and a far first point pass, as they do in the real one."""
    message = good()
    message.points[0].positions = [math.nan, math.inf, 1e9]
    assert refusal(message, JOINTS, NOW) is None
