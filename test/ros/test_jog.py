# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Jogging over DDS, under the names of MoveIt Servo: twists, joints, frames, pause, answers."""

from contextlib import contextmanager
from importlib.util import find_spec
import os
import pty
import signal
import subprocess
import sys
from time import monotonic

from geometry_msgs.msg import TwistStamped
from harness import DATA, FINAL, latest, MODEL, NOT_BUILT, positions_of, PROGRAM, READY, tip
from nightly import usual_first
import numpy as np
import pinocchio as pin
import pytest
from sensor_msgs.msg import Joy
from std_srvs.srv import SetBool
from streams import HERE, speeds, Target

from ik_node.node.stream.jog import joint_jog_type
from ik_node.ros.messages.status_messages import answers_stream, JOG_KIND

pytestmark = pytest.mark.real_time
NODE_LIMITS = {}  # those of the node by default
LONG_S = 30.0      # for what may take long on a busy machine
TIMEOUT_S = 0.4   # of the stream: others may keep the machine from its work for so long
RATE_HZ = 100.0
TOOL_RPY = [0.9, -0.4, 0.7]
# On a busy machine cycles are late, and the joints begin to stop, each by itself.
OFF_PATH_M, OFF_PATH_RAD = 2e-2, 5e-2
JOINT_JOG = joint_jog_type()
needs_control_msgs = pytest.mark.skipif(JOINT_JOG is None, reason=NOT_BUILT)


@pytest.fixture
def system(shared_system):
    """Return the shared system with the arm at READY, at rest."""
    shared_system.wait(lambda: shared_system.set_parameters('/ik_node', {
        'stream.timeout': TIMEOUT_S, 'jog.command_in_type': 'unitless',
        'tool.orientation': [0.0] * 3}).successful, what='rest')
    assert shared_system.final(shared_system.send_joints(READY))['state'] == 'reached'
    return shared_system


def twist(x=0.0, y=0.0, z=0.0, rx=0.0, ry=0.0, rz=0.0, frame='base_link'):
    """Return what makes a TwistStamped."""
    def made():
        message = TwistStamped()
        message.header.frame_id = frame
        v, w = message.twist.linear, message.twist.angular
        v.x, v.y, v.z, w.x, w.y, w.z = x, y, z, rx, ry, rz
        return message
    return made


class Jogger:
    """Publishes commands of a kind again and again, and knows its answers."""

    def __init__(self, probe, kind=TwistStamped, topic='delta_twist_cmds'):
        self.probe, self.stamps = probe, []
        self.publisher = probe.publisher(kind, topic)

    def run(self, made, seconds, until=None):
        """Publish for a while; return the joint positions (K, n) that were measured."""
        end, known = monotonic() + seconds, len(self.probe.states)
        while monotonic() < end and not (until is not None and until()):
            message = made()
            message.header.stamp = self.probe.get_clock().now().to_msg()
            self.stamps.append(message.header.stamp)
            self.publisher.publish(message)
            self.probe.spin_for(1.0 / RATE_HZ)
        return np.array([positions_of(state) for _, state in self.probe.states[known:]])

    def answers(self):
        """Return the answers to all that was published."""
        return [a for a in self.probe.statuses
                if self.stamps and answers_stream(a, self.stamps[0], self.stamps[-1], JOG_KIND)]

    def ended(self):
        """Wait for the final answer to the last jog, and return it."""
        self.probe.wait(lambda: self.answers() and self.answers()[-1]['state'] in FINAL,
                        what='the end of the jog')
        return self.answers()[-1]


def gone(probe):
    """Return how far the tip is from READY (m), in the base."""
    return offset(latest(probe))[0]


def commanded(trajectories):
    """Return the positions and the velocities (K, n) of the points of some trajectories."""
    return tuple(np.array([getattr(point, name) for each in trajectories for point in each.points])
                 for name in ('positions', 'velocities'))


def fastest(trajectories):
    """Return the highest speed of the tip at the points of some trajectories (m/s)."""
    return max(np.linalg.norm(tip(q + 1e-4 * qd).translation - tip(q - 1e-4 * qd).translation)
               / 2e-4 for q, qd in zip(*commanded(trajectories)))


def offset(q, T=HERE):
    """Return the way of the tip (m) and its rotation vector from a pose, in the base."""
    there = tip(q)
    return there.translation - T.translation, pin.log3(there.rotation @ T.rotation.T)


def test_a_twist_moves_the_tip_and_the_dead_man_stops_it(system):
    """Along the axis at the scaled speed; one goal, which ends when no command comes."""
    jogger = Jogger(system)
    known = len(system.trajectories)
    measured = jogger.run(twist(y=-0.25), LONG_S, lambda: gone(system)[1] < -0.12)
    answer = jogger.ended()
    assert [a['state'] for a in jogger.answers()] == ['accepted', 'stopped']
    assert answer['reason'] == 'STREAM_ENDED' and 'no command came for 0.4 s' in answer['message']
    assert answer['level'] == 0  # its normal end
    assert int(answer['commands']) > 10 and answer['kind'] == 'jog'
    ways = np.array([offset(q)[0] for q in [*measured, latest(system)]])
    assert np.abs(ways[:, [0, 2]]).max() < OFF_PATH_M
    assert -0.3 < ways[-1, 1] < -0.12
    assert 0.09 < fastest(system.trajectories[known:]) < 0.13, 'a quarter of jog.scale.linear'
    assert np.linalg.norm(offset(latest(system))[1]) < OFF_PATH_RAD
    rest = latest(system)
    system.spin_for(0.2)
    assert np.abs(latest(system) - rest).max() < 1e-9


@pytest.mark.parametrize('frame, mounted', usual_first(3, [
    ('tool0', False), ('link_2', False), ('tcp', True), ('link_6', False), ('link_6', True)]))
def test_the_frame_of_the_message(system, frame, mounted):
    """The tip, a link that is fixed to it, another link, and a tool: axes of each."""
    pin.framesForwardKinematics(MODEL, DATA, np.array(READY))
    R = HERE.rotation @ pin.rpy.rpyToMatrix(*TOOL_RPY) if frame == 'tcp' \
        else DATA.oMf[MODEL.getFrameId(frame)].rotation
    axis, jogger = R[:, 0].copy(), Jogger(system)
    if mounted:
        assert system.set_parameters('/ik_node', {'tool.orientation': TOOL_RPY}).successful
    jogger.run(twist(x=0.2, frame=frame), LONG_S, lambda: gone(system) @ axis > 0.04)
    assert jogger.ended()['reason'] == 'STREAM_ENDED'
    way, turn = offset(latest(system))
    assert way @ axis > 0.04 and np.linalg.norm(way - (way @ axis) * axis) < OFF_PATH_M
    assert np.linalg.norm(turn) < OFF_PATH_RAD


def test_rotation_is_about_the_tip(system):
    """With units it is in rad/s; the tip stays where it is."""
    assert system.set_parameters('/ik_node', {'jog.command_in_type': 'speed_units'}).successful
    jogger = Jogger(system)
    measured = jogger.run(twist(rz=0.5), LONG_S, lambda: offset(latest(system))[1][2] > 0.3)
    jogger.ended()
    turns = np.array([offset(q)[1] for q in [*measured, latest(system)]])
    assert turns[-1, 2] > 0.3 and np.abs(turns[:, :2]).max() < OFF_PATH_RAD
    assert max(np.linalg.norm(offset(q)[0]) for q in measured) < OFF_PATH_M


def test_it_turns_round_and_zeros_release_it(system):
    """To and fro in one goal; zeros end it, do not begin another, and are no bar to the next."""
    jogger = Jogger(system)
    jogger.run(twist(z=0.3), LONG_S, lambda: gone(system)[2] > 0.08)
    top = gone(system)[2]
    measured = jogger.run(twist(z=-0.3), LONG_S, lambda: gone(system)[2] < top - 0.03)
    assert max(offset(q)[0][2] for q in measured) < top + 0.1
    assert gone(system)[2] < top - 0.03
    released = latest(system)
    jogger.run(twist(), 5.0, lambda: jogger.answers()[-1]['state'] in FINAL)
    assert np.linalg.norm(offset(latest(system), tip(released))[0]) < 0.05
    jogger.run(twist(), 0.3)
    assert [a['state'] for a in jogger.answers()] == ['accepted', 'stopped']
    jogger.run(twist(z=0.3), 0.5)
    assert jogger.ended()['state'] == 'stopped'
    assert [a['state'] for a in jogger.answers()] == 2 * ['accepted', 'stopped']


def test_it_takes_over_and_is_taken_over(system):
    """A motion, a stream, and a goal afterwards: one final answer each, no step between."""
    goal = system.send_joints(np.array(READY) + 0.4)
    system.wait(lambda: system.answers(goal) and np.abs(latest(system) - READY).max() > 0.02)
    jogger = Jogger(system)
    jogger.run(twist(y=0.2), 0.6)
    assert [a['reason'] for a in system.answers(goal)] == ['ACCEPTED', 'SUPERSEDED']
    target = Target(system, speed=1e-9)
    target.at = lambda time: HERE.translation
    target.run(5.0, until=lambda: len(target.session()) > 0)
    assert [a['state'] for a in jogger.answers()] == ['accepted', 'superseded']
    before = len(jogger.answers())
    target.run(0.7)  # so that the jog has paused
    jogger.run(twist(y=-0.2), 5.0, until=lambda: len(jogger.answers()) > before)
    assert target.session()[-1]['reason'] == 'SUPERSEDED', target.session()
    goal = system.send_joints(READY)
    jogger.run(twist(y=-0.2), 20.0, until=lambda: len(system.answers(goal)) == 2)
    assert system.final(goal)['state'] == 'reached', 'the jog, which goes on, took it back'
    assert [a['state'] for a in jogger.answers()] == 2 * ['accepted', 'superseded']
    system.spin_for(0.6)  # the pause after which the next test may jog


WRONG = {
    'frame_id': twist(x=0.1, frame=''), 'not a link': twist(x=0.1, frame='nowhere'),
    'finite': twist(x=float('nan')), 'from -1 to 1': twist(x=1.5)}


@pytest.mark.fault('goals', 'a jog command with NaN, without a frame or beyond 1',
                   'the first of a jog is rejected, others are left out; the node goes on')
@pytest.mark.nightly
def test_commands_that_cannot_be(system):
    """Each is refused in a sentence: as the first command, and within a jog."""
    for words, made in WRONG.items():
        jogger = Jogger(system)
        jogger.run(made, 1.0, until=jogger.answers)
        answer = jogger.ended()
        assert answer['state'] == 'rejected' and words in answer['message'], answer
        system.destroy_publisher(jogger.publisher)
        system.spin_for(1.1)  # until another is tried
    jogger = Jogger(system)
    jogger.run(twist(y=0.1), 0.5, until=jogger.answers)
    said = 'a command of the jog is left out'
    for made in WRONG.values():
        jogger.run(made, 0.03)
        jogger.run(twist(y=0.1), 0.1)
    while said not in system.node.output and len(jogger.stamps) < 1000:  # all were overwritten
        jogger.run(made, 0.03)
        jogger.run(twist(y=0.1), 0.1)
    assert [a['state'] for a in jogger.answers()] == ['accepted'] and said in system.node.output
    assert jogger.ended()['reason'] == 'STREAM_ENDED'


def test_pause(system):
    """~/pause_servo stops a jog; nothing is jogged until it is called with false."""
    pause = system.create_client(SetBool, '/ik_node/pause_servo')
    jogger = Jogger(system)
    jogger.run(twist(y=0.1), 0.5)
    assert system.call(pause, SetBool.Request(data=True)).success
    assert jogger.ended()['reason'] == 'STOPPED'
    system.wait(lambda: np.abs(speeds(system)[-1]).max() < 1e-9, what='the rest')
    rest = latest(system)
    jogger.run(twist(y=0.1), 0.8)
    assert np.abs(latest(system) - rest).max() < 1e-3 and len(jogger.answers()) == 2
    assert system.call(pause, SetBool.Request(data=False)).success
    system.spin_for(0.6)
    jogger.run(twist(y=0.1), 0.5)
    assert jogger.ended()['reason'] == 'STREAM_ENDED' and len(jogger.answers()) == 4
    system.destroy_client(pause)


@needs_control_msgs
def test_joints(system):
    """Named joints move at the scaled velocity, the others not at all; a twist goes on."""
    def made(names=('joint_3', 'joint_6'), velocities=(0.4, -0.8), **more):
        return lambda: JOINT_JOG(joint_names=list(names), velocities=list(velocities), **more)

    jogger = Jogger(system, JOINT_JOG, 'delta_joint_cmds')
    known = len(system.trajectories)
    jogger.run(made(), LONG_S, lambda: latest(system)[2] > READY[2] + 0.12)
    assert jogger.ended()['reason'] == 'STREAM_ENDED'
    way = latest(system) - READY
    assert np.abs(way[[0, 1, 3, 4]]).max() < 1e-6
    assert way[2] > 0.12 and way[5] == pytest.approx(-2.0 * way[2], rel=0.25)
    most = np.abs(commanded(system.trajectories[known:])[1]).max(axis=0)
    # Late cycles overshoot a little.
    assert most == pytest.approx([0, 0, 0.2, 0, 0, 0.4], rel=0.2), '0.4, 0.8 of jog.scale.joint'
    for words, wrong in {
            'joint_9': made(['joint_9'], [0.1]), 'one velocity': made(['joint_1'], []),
            'displacements': made(displacements=[0.1, 0.1])}.items():
        other = Jogger(system, JOINT_JOG, 'delta_joint_cmds')
        other.run(wrong, 1.0, until=other.answers)
        assert other.ended()['state'] == 'rejected' and words in other.ended()['message']
        system.spin_for(1.1)  # until another is tried
    jogger = Jogger(system, JOINT_JOG, 'delta_joint_cmds')
    jogger.run(made(), 0.5)
    twisted = Jogger(system)
    twisted.run(twist(y=0.2), 0.5)
    assert [a['state'] for a in jogger.answers()] == ['accepted']
    assert twisted.ended()['reason'] == 'STREAM_ENDED'


@pytest.mark.skipif(find_spec('moveit_msgs') is None, reason='moveit_msgs is not on PyPI')
def test_every_type_is_agreed_to(system):
    """~/switch_command_type: nothing has to be switched."""
    from moveit_msgs import srv
    if not hasattr(srv, 'ServoCommandType'):
        pytest.skip('this moveit_msgs is too old to have ServoCommandType')
    switch = system.create_client(srv.ServoCommandType, '/ik_node/switch_command_type')
    for number in (0, 1, 2):
        assert system.call(switch, srv.ServoCommandType.Request(command_type=number)).success
    system.destroy_client(switch)


@contextmanager
def ik_jog(*arguments, **named):
    """Run ik_jog; it must end by itself, or by Ctrl-C, with its exit code."""
    running = subprocess.Popen([sys.executable, '-c', PROGRAM.format(name='jog'), *arguments],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               **named)
    try:
        yield running
        assert running.wait(20.0) in (0, 130), running.stdout.read()
    finally:
        running.kill()


@pytest.mark.nightly
def test_keys_move_the_arm(system):
    """A key that repeats moves the tip along its axis; then it rests, and q ends the program."""
    terminal, tty = pty.openpty()
    with ik_jog('keyboard', '--speed', '0.5', stdin=tty) as running:
        moved = len(system.statuses)

        def press(keys, seconds, until=None):
            end = monotonic() + seconds
            while monotonic() < end and not (until and until()):
                os.write(terminal, keys)
                system.spin_for(0.03)

        press(b'a', 30.0, until=lambda: offset(latest(system))[0][1] > 0.03)
        assert np.abs(offset(latest(system))[0][[0, 2]]).max() < OFF_PATH_M
        system.wait(lambda: system.statuses[-1]['state'] in FINAL, what='the end of the jog')
        assert system.statuses[-1]['reason'] == 'STREAM_ENDED'
        assert all(a['kind'] == 'jog' for a in system.statuses[moved:])
        os.write(terminal, b'q')
        assert running.wait(20.0) == 0
        said = running.stdout.read()
    assert 'a tap is a small step' in said and 'base, speed 0.50' in said
    os.close(tty)
    os.close(terminal)


@pytest.mark.nightly
def test_a_gamepad_moves_the_arm(system):
    """While its dead-man button is held; what ends the jog holds until the sticks are released."""
    pad = system.create_publisher(Joy, 'joy', 10)
    with ik_jog('joy') as running:
        system.wait(pad.get_subscription_count, 30.0, 'ik_jog')

        def hold(button, seconds, until=None):
            end = monotonic() + seconds
            while monotonic() < end and not (until and until()):
                pad.publish(Joy(axes=[0.8, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
                                buttons=[0, 0, 0, 0, button, 0]))
                system.spin_for(0.01)

        hold(0, 1.0)
        assert np.abs(latest(system) - READY).max() < 1e-6
        hold(1, 20.0, until=lambda: offset(latest(system))[0][1] > 0.03)
        assert offset(latest(system))[0][1] > 0.03
        goal = system.send_joints(READY)
        hold(1, 20.0, until=lambda: len(system.answers(goal)) > 1)
        assert system.final(goal)['state'] == 'reached'
        hold(1, 0.8)
        assert np.abs(latest(system) - READY).max() < 1e-6, 'the jog took it back'
        hold(0, 0.3)
        hold(1, 20.0, until=lambda: offset(latest(system))[0][1] > 0.02)
        assert offset(latest(system))[0][1] > 0.02
        running.send_signal(signal.SIGINT)
        assert running.wait(20.0) == 130
        assert 'superseded' in running.stdout.read()
    system.wait(lambda: system.statuses[-1]['state'] in FINAL, what='the end of the jog')
    system.destroy_publisher(pad)
    system.spin_for(0.6)
