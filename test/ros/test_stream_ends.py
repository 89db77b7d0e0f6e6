# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What ends ~/goal_stream, and what is not followed: in real processes."""

import signal
from time import monotonic

from geometry_msgs.msg import PoseStamped
from harness import latest, PATIENCE_S, pose, stamped, tip
from nightly import usual_first
import numpy as np
import pytest
from std_srvs.srv import Trigger
from streams import HERE, speeds, Target, TURNED

pytestmark = pytest.mark.real_time
# Limits by default; a stream may pause for 2 s: others may keep the machine for so long.
NODE_LIMITS = {'stream.timeout': 2.0}


def test_stop_holds_while_the_stream_goes_on(system):
    """It is answered STOPPED, and only after a pause followed again."""
    target = Target(system)
    target.run(1.5)
    assert system.stop.wait_for_service(PATIENCE_S)
    future = system.stop.call_async(Trigger.Request())
    target.run(20.0, future.done)
    assert future.result().success, future.result().message
    target.run(1.5)
    assert [a['state'] for a in target.session()] == ['accepted', 'stopped']
    assert target.session()[-1]['reason'] == 'STOPPED'
    assert np.abs(speeds(system)[-20:]).max() < 1e-6, 'it moves again'
    system.spin_for(2.2)
    target.run(1.0)
    assert [a['state'] for a in target.session()] == ['accepted', 'stopped', 'accepted']


@pytest.mark.fault('joint states', 'impossible velocities while a stream is followed',
                   '~/stop ends it: the arm comes to rest by itself')
def test_stop_without_a_ramp(system):
    """From velocities that cannot be no ramp is planned; each trajectory ends at rest."""
    target = Target(system)
    target.run(1.5)
    assert system.set_parameters('/sim_controller', {'measuring.velocity_noise': 10.0}).successful
    target.run(0.3)
    future = system.stop.call_async(Trigger.Request())
    target.run(20.0, future.done)
    response = future.result()
    assert response.success and 'comes to rest by itself' in response.message, response
    assert 'reports a velocity' in response.message
    target.run(1.0)  # until all has come that was on its way
    assert [a['reason'] for a in target.session()] == ['ACCEPTED', 'STOPPED']
    before, count = latest(system), len(system.trajectories)
    target.run(0.5)
    assert np.abs(latest(system) - before).max() < 1e-9, 'it moves'
    assert len(system.trajectories) == count


def test_a_pose_goal_takes_the_place_of_a_stream(system):
    """And the stream, which goes on, does not take it back."""
    target = Target(system)
    target.run(1.5)
    stamp = system.send(HERE.translation, TURNED)
    target.run(20.0, lambda: any(a['state'] == 'reached' for a in system.answers(stamp)))
    assert [a['state'] for a in target.session()] == ['accepted', 'superseded']
    assert system.final(stamp)['state'] == 'reached'
    assert np.linalg.norm(tip(latest(system)).translation - HERE.translation) < 1e-5


@pytest.mark.parametrize('end, state, reason', usual_first(2, [
    (lambda s: s.sim.kill(), 'failed', 'STATE_LOST'),
    (lambda s: s.set_parameters('/sim_controller', {'silent': True}), 'failed', 'OFF_TRACK'),
    (lambda s: s.change_state('deactivate'), 'stopped', 'INACTIVE'),
    (lambda s: s.node.send(signal.SIGINT), 'stopped', 'SHUTDOWN')]))
def test_whatever_ends_a_session_it_has_one_answer(system, end, state, reason):
    """And the stream that goes on, if with a stumble, does not begin another."""
    target = Target(system)
    target.run(1.5)
    end(system)
    target.run(3.0)
    answers = target.session()
    assert [(a['state'], a['reason']) for a in answers] == [
        ('accepted', 'ACCEPTED'), (state, reason)], answers


@pytest.mark.nightly
def test_out_of_reach_it_is_followed_as_near_as_can_be(system):
    """The arm comes to rest stretched towards it, and does not chatter."""
    target = Target(system)
    target.at = lambda time: HERE.translation + min(1.0, 0.4 * max(0.0, time - target.began)) \
        * np.array([1.5, 0.0, 0.0])
    target.run(6.0)
    answers = target.session()
    assert [a['state'] for a in answers] == ['accepted'], answers
    assert np.abs(speeds(system)[-50:]).max() < 0.01
    gone = tip(latest(system)).translation - HERE.translation
    assert gone[0] > 0.1


@pytest.mark.parametrize('wrong, words', [
    (lambda m: setattr(m.header, 'frame_id', ''), 'frame_id'),
    (lambda m: setattr(m.pose.position, 'x', float('nan')), 'position.x')])
def test_a_first_pose_that_cannot_be(system, wrong, words):
    """Is refused once; the stream is tried again after a second, not at each pose."""
    target = Target(system)
    end = monotonic() + 1.5
    while monotonic() < end:
        message = PoseStamped(pose=pose(HERE.translation))
        target.sent.append(stamped(system, message))
        wrong(message)
        target.stream.publish(message)
        system.spin_for(0.01)
    answers = target.session()
    assert 1 <= len(answers) <= 2 and all(a['state'] == 'rejected' for a in answers), answers
    assert words in answers[0]['message'] and not system.trajectories
