# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Goals in, one answer each: node and controller as real processes, one pair for all tests."""

import math

from builtin_interfaces.msg import Time
from harness import DOWN, FINAL, latest, MODEL, once_each, tip
import numpy as np
import pinocchio as pin
import pytest


@pytest.mark.fault('goals',
                   'NaN or infinite numbers; no orientation; no frame; a stamp that is old or '
                   'in the future; metres for millimetres; beyond a joint limit',
                   'refused with the reason, the field and what to do; nothing is sent')
@pytest.mark.parametrize('goal, reason, words', [
    (dict(xyz=(math.nan, 0, 0.4)), 'GOAL_NOT_FINITE', 'position.x'),
    (dict(xyz=(0.4, math.inf, 0.4)), 'GOAL_NOT_FINITE', 'position.y'),
    (dict(xyz=(0.4, 0, 0.4), quaternion=(0, 0, math.nan, 1)), 'GOAL_NOT_FINITE',
     'orientation.z'),
    (dict(xyz=(0.4, 0, 0.4), quaternion=(0, 0, 0, 0)), 'GOAL_ORIENTATION_UNSET', 'not set'),
    (dict(xyz=(0.4, 0, 0.4), quaternion=(0, 0, 0, 2)), 'GOAL_ORIENTATION_NOT_UNIT', 'norm 2'),
    (dict(xyz=(0.4, 0, 0.4), frame=''), 'FRAME_MISSING', 'base_link'),
    (dict(xyz=(0.4, 0, 0.4), frame='tool_0'), 'FRAME_UNKNOWN', 'tool_0'),
    (dict(xyz=(2.0, 0, 0.4)), 'OUT_OF_REACH', 'reaches at most'),
    (dict(xyz=(600.0, 0, 300.0)), 'OUT_OF_REACH', 'millimetres'),
    (dict(xyz=(0.0, 0, 0.02)), 'BEYOND_LIMIT', 'joint_2'),
    (dict(xyz=(0.4, 0, 0.4), stamp=Time(sec=1000)), 'GOAL_STALE', 'old'),
    (dict(xyz=(0.4, 0, 0.4), stamp=Time(sec=2**31 - 1)), 'GOAL_FROM_FUTURE', 'clocks'),
])
def test_bad_goal_is_answered_and_moves_nothing(shared_system, goal, reason, words):
    """One clear sentence, nothing published, and the node goes on."""
    system = shared_system
    sent = len(system.trajectories)
    answer = system.final(system.send(**goal))
    assert (answer['state'], answer['reason']) == ('rejected', reason)
    assert words in answer['message']
    assert answer['level'] == 2
    system.spin_for(0.2)
    assert len(system.trajectories) == sent
    system.wait(lambda: reason in system.node.output)
    good = system.send((0.4, 0.1, 0.4 + 0.01 * (sent % 2)), DOWN)
    assert system.final(good)['state'] == 'reached'


@pytest.mark.fault('goals', 'a quaternion of norm 0.9 to 1.1',
                   'normalised, with one warning; others are refused')
def test_quaternion_slightly_off_is_normalised(shared_system):
    """A norm within 10 % is rounding of the sender; three digits are not worth a warning."""
    system = shared_system

    def warned_after(height, norm):
        answer = system.final(system.send((0.4, 0.0, height), np.array(DOWN) * norm))
        assert answer['state'] == 'reached'
        return system.node.output.count('it is normalised')

    before = system.node.output.count('it is normalised')
    assert warned_after(0.45, 1.0005) == before
    warned_after(0.5, 0.95)
    system.wait(lambda: 'norm 0.95; it is normalised' in system.node.output)
    assert warned_after(0.45, 1.05) == 1


@pytest.mark.fault('goals', 'the arm is there already', 'answered so; nothing is sent')
def test_already_there_publishes_nothing(shared_system):
    """A goal that is met already is answered at once."""
    system = shared_system
    system.final(system.send((0.4, 0.0, 0.45), DOWN))
    sent = len(system.trajectories)
    answer = system.final(system.send((0.4, 0.0, 0.45), DOWN))
    assert (answer['state'], answer['reason']) == ('reached', 'ALREADY_THERE')
    assert len(system.trajectories) == sent


def test_stop_at_rest_says_so(shared_system):
    """Stopping what stands is no error."""
    shared_system.spin_for(0.2)
    response = shared_system.call(shared_system.stop)
    assert response.success and 'nothing' in response.message


@pytest.mark.fault('goals', 'a burst of goals',
                   'each has one final answer, the last one is reached')
def test_every_goal_has_exactly_one_final_answer(shared_system):
    """A burst of good and bad goals: none lost, none answered twice."""
    system = shared_system
    random = np.random.default_rng(1)
    stamps = []
    for k in range(200):
        xyz = random.uniform((0.2, -0.4, 0.2), (0.6, 0.4, 0.7)) if k % 5 else (9.0, 0.0, 0.0)
        stamps.append(system.send(xyz, DOWN, stamp=system.get_clock().now().to_msg()))
    for stamp in stamps:
        system.final(stamp)
    system.final(system.send((9.0, 0.0, 0.0)))  # a second answer to any would be on its way before
    once_each(system.statuses, stamps)


def test_health_is_published(shared_system):
    """/diagnostics says once a second how the node is."""
    system = shared_system
    system.wait(lambda: '/ik_node: health' in system.health)
    status = system.health['/ik_node: health']
    values = {pair.key: pair.value for pair in status.values}
    assert status.level == b'\x00'
    assert float(values['joint_state_age_s']) < 0.5
    assert int(values['controllers_listening']) >= 1
    assert {'limit_margin', 'smallest_singular_value'} <= values.keys()


@pytest.mark.fault('goals', 'a goal in a frame that moves',
                   'taken once, where the frame is when it is taken up')
def test_goal_in_the_frame_of_a_link(shared_system):
    """A pose in tool0 is relative to where the tool is when the goal is taken up."""
    system = shared_system
    system.final(system.send((0.45, 0.0, 0.45), DOWN))
    before = tip(latest(system))
    assert system.final(system.send((0.0, 0.02, -0.05), frame='tool0'))['state'] == 'reached'
    moved = before.actInv(tip(latest(system)))
    assert np.linalg.norm(moved.translation - [0.0, 0.02, -0.05]) < 1e-5
    assert np.linalg.norm(pin.log3(moved.rotation)) < 1e-5


def test_answers_have_the_values_of_the_motion(shared_system):
    """From the first answer on: the solution, its margins, and from where the arm goes there."""
    system = shared_system
    system.final(system.send((0.4, -0.1, 0.45), DOWN))
    start, seen = latest(system), len(system.statuses)
    answer = system.final(system.send((0.45, 0.1, 0.4), DOWN))
    for each in (system.statuses[seen], answer):
        q, q_start, qd_start = (np.array(each[name].split(), dtype=float)
                                for name in ('q', 'q_start', 'qd_start'))
        assert np.abs(q_start - start).max() < 1e-6 and not qd_start.any()
        assert np.linalg.norm(tip(q).translation - [0.45, 0.1, 0.4]) < 1e-6
        room = np.minimum(q - MODEL.lowerPositionLimit, MODEL.upperPositionLimit - q).min()
        assert float(each['limit_margin']) == pytest.approx(room, abs=1e-4)
        jacobian = pin.computeFrameJacobian(
            MODEL, MODEL.createData(), q, MODEL.getFrameId('tool0'), pin.LOCAL_WORLD_ALIGNED)
        least = np.linalg.svd(jacobian, compute_uv=False)[-1]
        assert float(each['smallest_singular_value']) == pytest.approx(least, abs=1e-4)


def test_home_goes_to_the_preferred_posture(shared_system):
    """~/home is a goal like any other, to the middle of the ranges by default."""
    system = shared_system
    seen = len(system.statuses)
    assert system.call(system.home).success
    system.wait(lambda: any(s['state'] in FINAL for s in system.statuses[seen:]))
    assert [s['state'] for s in system.statuses[seen:]] == ['accepted', 'reached']
    middle = 0.5 * (MODEL.lowerPositionLimit + MODEL.upperPositionLimit)
    assert np.abs(latest(system) - middle).max() < 1e-6


def test_tip_pose_is_where_the_tip_is(shared_system):
    """~/tip_pose follows the joint states, in the base link."""
    system = shared_system
    system.spin_for(0.2)
    q = latest(system)
    count = len(system.tip_poses)
    system.wait(lambda: len(system.tip_poses) > count + 1)
    message = system.tip_poses[-1]
    assert message.header.frame_id == 'base_link'
    p, o = message.pose.position, message.pose.orientation
    expected = tip(q)
    assert np.linalg.norm(expected.translation - [p.x, p.y, p.z]) < 1e-9
    R = pin.Quaternion(np.array([o.x, o.y, o.z, o.w])).matrix()
    assert np.linalg.norm(pin.log3(expected.rotation.T @ R)) < 1e-7
