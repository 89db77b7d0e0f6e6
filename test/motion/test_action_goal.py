# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A goal of follow_joint_trajectory: its end in words, its tolerances, its life."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from ik_node.base.errors import Reason
from ik_node.motion.action_goal import (
    conclusion,
    Execution,
    GoalStatus,
    ResultCode,
    Stage,
    Tolerances,
)
from ik_node.motion.change.monitor import Verdict

SUCCEEDED, CANCELED, ABORTED = GoalStatus


@pytest.mark.parametrize('status, code, reason, words', [
    (SUCCEEDED, 0, Reason.REACHED, 'reached'),
    (ABORTED, -1, Reason.INTERRUPTED, 'another client'),
    (ABORTED, -2, Reason.REFUSED, 'other joints'),
    (ABORTED, -3, Reason.REFUSED, 'over when'),
    (ABORTED, -4, Reason.OFF_TRACK, 'off track'),
    (ABORTED, -5, Reason.OFF_TARGET, 'goal tolerance'),
    (ABORTED, 0, Reason.INTERRUPTED, 'gave the motion up'),
    (CANCELED, 0, Reason.INTERRUPTED, 'cancelled'),
    (ABORTED, -17, Reason.INTERRUPTED, 'code -17'),
    (2, 0, Reason.INTERRUPTED, 'status 2'),
])
def test_each_result_has_a_reason_and_a_sentence(status, code, reason, words):
    """Each code has a reason and a sentence."""
    verdict = conclusion(status, code, '')
    assert verdict.reason is reason and words in verdict.sentence
    assert 'it says' not in verdict.sentence


def test_codes_are_those_of_the_messages():
    """Codes 0 to -5, and the states of action_msgs."""
    from action_msgs.msg import GoalStatus as Message
    assert [int(code) for code in ResultCode] == [0, -1, -2, -3, -4, -5]
    assert (SUCCEEDED, CANCELED, ABORTED) == (
        Message.STATUS_SUCCEEDED, Message.STATUS_CANCELED, Message.STATUS_ABORTED)


@pytest.mark.parametrize('status, code', list(product(GoalStatus, ResultCode)))
def test_the_error_string_is_quoted(status, code):
    """Escaped and cut, whatever the end is."""
    verdict = conclusion(status, code, 'joint 3\nis off' + 'x' * 1000)
    assert r'joint 3\nis off' in verdict.sentence and len(verdict.sentence) < 450


def test_states_of_a_goal():
    """Sent, accepted, ended once."""
    goal = Execution()
    assert goal.stage is Stage.SENT and goal.verdict is None
    goal.answered(True)
    assert goal.stage is Stage.ACCEPTED
    first, second = Verdict(Reason.REACHED, 'a'), Verdict(Reason.OFF_TRACK, 'b')
    assert goal.end(first) and not goal.end(second)
    assert goal.stage is Stage.ENDED and goal.verdict is first
    goal.answered(False)
    assert goal.verdict is first


def test_a_refused_goal_has_ended():
    """The action gives no reason, so the message refers to the log."""
    goal = Execution()
    goal.answered(False)
    assert goal.stage is Stage.ENDED and goal.verdict.reason is Reason.REFUSED
    assert 'log' in goal.verdict.sentence


JOINTS = ('a', 'b', 'c')
DEFAULTS = Tolerances(np.array([0.1, 0.2, 0.3]), np.array([0.01, 0.02, 0.03]), 2.0)


def goal(path=(), end=(), time=0.0, velocity=0.0):
    """Return the tolerances of a goal message."""
    def rows(pairs):
        return [SimpleNamespace(name=name, position=value, velocity=velocity, acceleration=0.0)
                for name, value in pairs]
    return SimpleNamespace(path_tolerance=rows(path), goal_tolerance=rows(end),
                           goal_time_tolerance=SimpleNamespace(sec=int(time), nanosec=0))


@pytest.mark.parametrize('message, path, end, time', [
    (goal(), [0.1, 0.2, 0.3], [0.01, 0.02, 0.03], 2.0),
    (goal([('b', 0.5)]), [0.1, 0.5, 0.3], [0.01, 0.02, 0.03], 2.0),
    (goal([('b', 0.0)]), [0.1, 0.2, 0.3], [0.01, 0.02, 0.03], 2.0),
    (goal([('b', -1.0)], [('c', 0.9)]), [0.1, 0.0, 0.3], [0.01, 0.02, 0.9], 2.0),
    (goal(time=5.0), [0.1, 0.2, 0.3], [0.01, 0.02, 0.03], 5.0),
    (goal(time=-1.0), [0.1, 0.2, 0.3], [0.01, 0.02, 0.03], 0.0),
])
def test_tolerances_of_a_goal(message, path, end, time):
    """0 is the default, -1 none, other values are used."""
    found = DEFAULTS.of_goal(message, JOINTS)
    assert found.path.tolist() == path and found.goal.tolist() == end
    assert found.goal_time == time


@pytest.mark.parametrize('message', [
    goal([('b', 0.5), ('c', -0.5)]), goal([('b', 0.5)], [('x', 0.5)]), goal([('b', 0.5)], time=-3),
    goal([('b', 0.5)], velocity=-2.0)])
def test_one_bad_tolerance_keeps_all_defaults(message):
    """An illegal number or an unknown joint; the goal is taken nevertheless."""
    assert DEFAULTS.of_goal(message, JOINTS) is DEFAULTS


def test_the_defaults_are_not_changed_by_a_goal():
    """The next goal finds them as they were."""
    DEFAULTS.of_goal(goal([('b', 0.5)], [('a', 0.5)]), JOINTS)
    assert DEFAULTS.path.tolist() == [0.1, 0.2, 0.3]
    assert DEFAULTS.goal.tolist() == [0.01, 0.02, 0.03]
