# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How a motion ended, in words: one final answer on arms and controllers that misbehave."""

import signal

from harness import DOWN, latest, READY, reasons, tip
from nightly import usual_first
import numpy as np
import pytest
from std_srvs.srv import SetBool

from ik_node.node.execution.supervisor import MAX_PLANS

NODE_LIMITS = {}  # what befalls a motion needs one that takes a while

NODE, SIM = '/ik_node', '/sim_controller'
THERE = np.array(READY) + 0.3
FAR = np.array(READY) + 0.8


def under_way(arm, q=FAR) -> str:
    """Send a goal and wait until the arm is fast; return the stamp."""
    stamp = arm.send_joints(q)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 0.3)
    return stamp


def stays(arm) -> bool:
    """Return whether the arm does not move for a while; one that goes on is seen in 0.1 s."""
    before = latest(arm)
    arm.spin_for(0.5)
    return bool(np.abs(latest(arm) - before).max() < 1e-4)


# ---- reached ----------------------------------------------------------------

@pytest.mark.nightly
def test_the_measured_error_is_that_of_the_tip(arm):
    """Joints that stop short within their tolerance have arrived; the tip is off, as is said."""
    arm.change(SIM, following__friction=0.004)
    stamp = arm.send((0.4, 0.2, 0.4), DOWN)
    assert reasons(arm, stamp) == ['ACCEPTED', 'REACHED']
    off = np.linalg.norm(tip(latest(arm)).translation - [0.4, 0.2, 0.4])
    assert off > 1e-3
    assert float(arm.final(stamp)['measured_position_error_m']) == pytest.approx(off, rel=0.05)


@pytest.mark.fault('controller', 'speed scaling, lag, noise, losses', 'reached; no false alarm')
@pytest.mark.parametrize('weak', usual_first(1, [
    {'following__lag': 0.1, 'following__friction': 0.003, 'measuring__noise': 0.0005,
     'measuring__dropped': 0.3, 'measuring__delay': 0.02},
    {'following__lag': 0.3}, {'measuring__noise': 0.001, 'measuring__velocity_noise': 0.02},
    {'measuring__dropped': 0.5, 'measuring__delay': 0.05}, {'speed_scaling': 0.3}]))
def test_no_false_alarm(arm, weak):
    """What is late, noisy, lossy or slow arrives, and leaves no path that is watched."""
    arm.change(NODE, watch__path_tolerance=[0.05])
    arm.change(SIM, **weak)
    for q in (FAR, READY, THERE):
        stamp = arm.send_joints(q)
        assert reasons(arm, stamp) == ['ACCEPTED', 'REACHED'], arm.final(stamp)
        assert np.abs(latest(arm) - q).max() < 0.012


# ---- not reached ------------------------------------------------------------

@pytest.mark.fault('controller', 'a blocked joint',
                   'with watch.path_tolerance the goal fails at once by joint and distance, '
                   'and the others ramp down')
def test_off_track(arm):
    """
    A joint is blocked: its name, how far, and the others are brought to rest.

    Slowly: a node that has no processor for half a second sees it so much later.
    """
    arm.change(NODE, watch__path_tolerance=[0.05])
    arm.change(SIM, following__blocked_joints=['joint_2'])
    try:
        assert arm.set_parameters(NODE, {'motion.velocity_limits': [0.3]}).successful
        stamp = arm.send_joints(FAR)
        assert reasons(arm, stamp) == ['ACCEPTED', 'OFF_TRACK']
        message = arm.final(stamp)['message']
        assert "'joint_2'" in message and 'at rest in' in message
        arm.wait(lambda: not any(arm.states[-1][1].velocity))
        assert stays(arm) and latest(arm)[0] < FAR[0] - 0.2
        assert len(arm.trajectories) == 2
        ramp = np.array(arm.trajectories[-1].points[-1].positions)
        assert np.abs(latest(arm) - ramp).max() < 1e-3
    finally:
        assert arm.set_parameters(NODE, {'motion.velocity_limits': [10.0]}).successful


def test_joint_states_that_end_on_a_ramp(arm):
    """It is not said that the controller has not got the ramp: that is not known."""
    arm.change(NODE, watch__path_tolerance=[0.05], state__timeout=0.2,
               motion__acceleration_limits=[0.2])  # a long ramp
    arm.change(SIM, following__blocked_joints=['joint_2'])
    assert reasons(arm, arm.send_joints(FAR)) == ['ACCEPTED', 'OFF_TRACK']
    said = len(arm.node.output)
    arm.change(SIM, measuring__dropped=1.0)
    arm.wait(lambda: 'the ramp to rest' in arm.node.output[said:])
    arm.spin_for(0.5)
    assert 'it is not known whether the controller has got the ramp' in arm.node.output[said:]
    assert 'has not got' not in arm.node.output[said:]


@pytest.mark.fault('controller', 'a blocked joint, after limits were lowered in motion',
                   'the others ramp down all the same')
def test_off_track_under_lowered_limits(arm):
    """An arm that is faster than is allowed now, and leaves its way, is brought to rest."""
    arm.change(NODE, watch__path_tolerance=[0.05])
    try:
        assert arm.set_parameters(NODE, {'motion.velocity_limits': [1.0]}).successful
        stamp = under_way(arm)
        assert arm.set_parameters(NODE, {'motion.velocity_limits': [0.1]}).successful
        arm.change(SIM, following__blocked_joints=['joint_2'])
        assert reasons(arm, stamp) == ['ACCEPTED', 'OFF_TRACK']
        assert 'at rest in' in arm.final(stamp)['message']
        arm.wait(lambda: not any(arm.states[-1][1].velocity))
        assert stays(arm)
    finally:
        assert arm.set_parameters(NODE, {'motion.velocity_limits': [10.0]}).successful


@pytest.mark.fault('controller', 'a blocked joint, no path tolerance',
                   'the goal fails by joint and distance when nothing moves any more')
@pytest.mark.nightly
def test_off_target_when_no_path_is_watched(arm):
    """The others arrive; the blocked joint is named when nothing moves any more."""
    arm.change(SIM, following__blocked_joints=['joint_2'])
    stamp = arm.send_joints(THERE)
    assert reasons(arm, stamp) == ['ACCEPTED', 'OFF_TARGET']
    assert "'joint_2'" in arm.final(stamp)['message']
    assert float(arm.final(stamp)['measured_position_error_m']) > 0.05


@pytest.mark.fault('controller', 'a protective stop in motion',
                   'the goal has failed once nothing moves any more; nothing is sent again')
@pytest.mark.nightly
def test_a_protective_stop_in_motion(arm):
    """The arm stands on its way; who lets it go on decides what happens then."""
    stamp = under_way(arm)
    arm.change(SIM, speed_scaling=0.0)
    assert reasons(arm, stamp) == ['ACCEPTED', 'OFF_TARGET']
    assert stays(arm) and len(arm.trajectories) == 1
    assert arm.call(arm.stop).success  # what the controller still has
    arm.change(SIM, speed_scaling=1.0)
    assert reasons(arm, arm.send_joints(READY)) == ['ACCEPTED', 'REACHED']


@pytest.mark.fault('controller', 'a trajectory is refused without a word',
                   'sent again, then the goal has failed: NOT_MOVING')
@pytest.mark.fault('controller', 'deactivated, on the topic',
                   'sent again a few times, then the goal has failed; active again all is well')
def test_not_moving(arm):
    """A silent controller is told again, then the goal has failed; active again all is well."""
    arm.change(SIM, silent=True)
    stamp = arm.send_joints(THERE)
    assert reasons(arm, stamp) == ['ACCEPTED', 'NOT_MOVING']
    assert 'controller silent' in arm.final(stamp)['message']
    assert len(arm.trajectories) == MAX_PLANS
    arm.change(SIM, silent=False)
    assert reasons(arm, arm.send_joints(THERE)) == ['ACCEPTED', 'REACHED']


def test_not_moving_is_noticed_by_a_pause(arm):
    """The pause is refused or not; the goal goes on and is answered as ever."""
    arm.change(SIM, silent=True)
    pauser = arm.create_client(SetBool, f'{NODE}/pause')
    arm.wait(pauser.service_is_ready)
    stamp = arm.send_joints(FAR)
    arm.wait(lambda: arm.answers(stamp))
    arm.node.send(signal.SIGSTOP)  # so that the pause comes before the watch
    asked = pauser.call_async(SetBool.Request(data=True))
    arm.spin_for(0.7)
    arm.node.send(signal.SIGCONT)
    arm.wait(asked.done)
    assert 'internal' not in asked.result().message
    assert reasons(arm, stamp)[-1] == 'NOT_MOVING', arm.final(stamp)
    arm.destroy_client(pauser)
    arm.change(SIM, silent=False)
    assert arm.final(arm.send_joints(THERE))['state'] == 'reached'


@pytest.mark.fault('joint states', 'they stop for good during a motion',
                   'one final answer: it is not known where the arm ended')
def test_state_lost(arm):
    """No joint state comes any more: the end is not known, and that is said."""
    stamp = under_way(arm)
    arm.change(SIM, measuring__dropped=1.0)
    assert reasons(arm, stamp) == ['ACCEPTED', 'STATE_LOST']
    assert 'joint states lost' in arm.final(stamp)['message']


@pytest.mark.fault('joint states', 'they stop for a while during a motion',
                   'the motion goes on and is reached')
def test_states_that_come_back(arm):
    """Joint states that are lost for a while on the way are no end."""
    stamp = under_way(arm)
    arm.change(SIM, measuring__dropped=1.0)
    arm.spin_for(0.7)
    arm.change(SIM, measuring__dropped=0.0)
    assert reasons(arm, stamp) == ['ACCEPTED', 'REACHED']


@pytest.mark.fault('joint states', 'none come any more when the arm is to be stopped in motion',
                   '~/stop says that it cannot; the goal is watched on, to its one answer')
def test_a_stop_that_is_not_possible(arm):
    """Nobody knows where a ramp would begin, and the arm goes on."""
    stamp = under_way(arm, [2.0, *READY[1:]])
    arm.change(SIM, measuring__dropped=1.0)
    arm.spin_for(0.7)
    response = arm.call(arm.stop)
    arm.change(SIM, measuring__dropped=0.0)
    assert not response.success and 's old' in response.message, response
    assert reasons(arm, stamp) == ['ACCEPTED', 'REACHED']


def test_nothing_is_sent_again_after_a_stop_that_was_not_possible(arm):
    """The controller has not got the motion; it does not get it after the stop either."""
    arm.change(SIM, silent=True)
    stamp = arm.send_joints(FAR)
    arm.wait(lambda: arm.answers(stamp))
    arm.change(SIM, measuring__dropped=1.0)
    arm.spin_for(0.7)
    response = arm.call(arm.stop)
    count = len(arm.trajectories)
    assert not response.success and 's old' in response.message, response
    arm.change(SIM, measuring__dropped=0.0, silent=False)
    assert reasons(arm, stamp) == ['ACCEPTED', 'STOPPED'], arm.final(stamp)
    assert stays(arm) and len(arm.trajectories) == count
    assert reasons(arm, arm.send_joints(THERE)) == ['ACCEPTED', 'REACHED']


# ---- what the controller may still have --------------------------------------

@pytest.mark.fault('controller', 'held by a protective stop',
                   'the goal has failed; ~/stop keeps it from going on when it is released')
def test_a_motion_that_was_given_up_can_be_stopped(arm):
    """A controller that was paused does not go on with a goal that failed long ago."""
    arm.change(SIM, speed_scaling=0.0)
    stamp = arm.send_joints(THERE)
    assert reasons(arm, stamp) == ['ACCEPTED', 'NOT_MOVING']
    count = len(arm.trajectories)
    response = arm.call(arm.stop)
    assert response.success and 'at rest' in response.message
    arm.wait(lambda: len(arm.trajectories) > count, what='the stop')
    arm.spin_for(0.3)  # the controller hears it as we do, but a parameter may overtake it
    arm.change(SIM, speed_scaling=1.0)
    assert stays(arm)


def test_a_paused_motion_can_be_stopped(arm):
    """After its planned end, too, while the arm stands on its way."""
    stamp = under_way(arm)
    arm.change(SIM, speed_scaling=0.0)
    planned = float(arm.answers(stamp)[0]['duration_s'])
    arm.spin_for(planned + 0.2)
    response = arm.call(arm.stop)
    assert response.success and 'at rest' in response.message
    assert reasons(arm, stamp) == ['ACCEPTED', 'STOPPED']
    arm.change(SIM, speed_scaling=1.0)
    assert stays(arm) and latest(arm)[0] < FAR[0] - 0.1


def test_a_goal_where_a_paused_arm_stands(arm):
    """It is there, but the controller would go on: it is told to stay."""
    arm.change(NODE, watch__start_timeout=20.0)
    arm.change(SIM, speed_scaling=0.0)
    first = arm.send_joints(THERE)
    arm.wait(lambda: arm.answers(first))
    arm.spin_for(float(arm.answers(first)[0]['duration_s']) + 0.2)
    second = arm.send_joints(READY)
    arm.wait(lambda: arm.answers(second))
    arm.change(SIM, speed_scaling=1.0)
    assert reasons(arm, second)[-1] == 'REACHED'
    assert reasons(arm, first) == ['ACCEPTED', 'SUPERSEDED']
    assert stays(arm) and np.abs(latest(arm) - READY).max() < 1e-4


@pytest.mark.fault('parameters', 'limits lowered during a motion',
                   'it can be stopped, and keeps the limits it began with')
def test_limits_lowered_during_a_motion(arm):
    """It can be stopped, and the ramp replaced by a goal: what moves keeps the limits it had."""
    stamp = under_way(arm, [2.0, *READY[1:]])
    arm.change(NODE, motion__acceleration_limits=[0.5], motion__velocity_scale=0.05)
    response = arm.call(arm.stop)
    assert response.success and 'at rest' in response.message, response
    assert arm.final(stamp)['reason'] == 'STOPPED' and 'leapt' not in arm.node.output
    arm.wait(lambda: arm.states[-1][1].velocity[0] < 0.9 * max(
        message.velocity[0] for _, message in arm.states[-50:]))
    response = arm.call(arm.stop)
    assert response.success and 'at rest' in response.message, response
    arm.wait(lambda: not any(arm.states[-1][1].velocity))
    assert stays(arm)
