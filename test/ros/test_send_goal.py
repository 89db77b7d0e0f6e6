# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Goals by the command line, at a real node and at one that is played.

What messages it makes of its options is tested in test/commands/test_send_goal.py.
"""

import json
from pathlib import Path
import signal
import subprocess
import sys

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped
from harness import latest, positions_of, READY, tip, tool
from nightly import usual_first
import numpy as np
import pinocchio as pin
import pytest
import rclpy

from ik_node.ros.messages.status_messages import stamp_text
from ik_node.ros.middleware.qos import ANSWERS_QOS

EXAMPLES = Path(__file__).parents[2] / 'examples'
HERE = tip(READY)
QUAT = ['--quat', *pin.Quaternion(HERE.rotation).coeffs()]


def send(system, *arguments):
    """Send a goal while the probe looks on; return the answer."""
    system.states.clear()
    process = tool('send_goal', *arguments, '--json')
    system.wait(lambda: process.poll() is not None, 60.0, 'the end of send_goal')
    answer = json.loads(process.stdout.read())
    assert (process.returncode == 0) == (answer['state'] == 'reached')
    assert answer['id'].endswith(f'-{answer["goal"]}')
    latest(system)  # all that was measured on the way has come
    return answer


@pytest.fixture(scope='module')
def sim():
    """Have more joint states than usual: tests look at ways."""
    return {'rate': 50.0}


@pytest.fixture
def system(shared_system):
    """Return the system with the arm at READY, brought there by values without names."""
    assert send(shared_system, '--joints', *READY)['state'] == 'reached'
    assert np.abs(latest(shared_system) - READY).max() < 1e-5
    return shared_system


def test_the_orientation_is_kept(system):
    """Without one the tip has that of now, on a line as well, and it is said."""
    for options, step in (([], [0.05, -0.1, 0.0]), (['--line', '--frame', 'base_link'],
                                                    [0.0, 0.0, 0.0])):
        target = HERE.translation + step
        process = tool('send_goal', '--xyz', *target, *options, errors=True)
        system.wait(lambda process=process: process.poll() is not None, 60.0)
        assert process.stdout.read().startswith('reached')
        assert process.stderr.read() == 'send_goal: without --rpy or --quat the tip keeps its ' \
            'orientation\n'
        there = tip(latest(system))
        assert np.linalg.norm(there.translation - target) < 1e-5
        assert np.linalg.norm(pin.log3(HERE.rotation.T @ there.rotation)) < 1e-4


def test_degrees(system):
    """Angles as people say them, of poses and of joints; without the option they are refused."""
    there = HERE * pin.SE3(pin.exp3(np.array([0.0, 0.0, 0.4])), np.zeros(3))
    turned = np.rad2deg(pin.rpy.matrixToRpy(there.rotation))
    assert send(system, '--degrees', '--turn', '--rpy', *turned)['state'] == 'reached'
    assert np.linalg.norm(pin.log3(tip(latest(system)).rotation.T @ there.rotation)) < 1e-5
    q = np.array([*READY[:5], 0.7])
    assert send(system, '--degrees', '--joints', *np.rad2deg(q))['state'] == 'reached'
    assert np.abs(latest(system) - q).max() < 1e-5
    answer = send(system, '--joints', 'joint_2=30')
    assert answer['reason'] == 'BEYOND_LIMIT' and answer['message'].endswith(
        "'joint_2' is 30, outside its limits [-1.9, 2.2]; if that is in degrees, give 0.5236 rad")
    assert 'in degrees' not in send(system, '--joints', 'joint_2=3')['message']


def test_a_path_that_cannot_be_followed(system):
    """Exit code 1, the answer gives the share that is possible, and nothing moves."""
    answer = send(system, '--line', '--xyz', 0.9, 0, 0, '--frame', 'tool0')
    assert answer['state'] == 'rejected' and '% of its length' in answer['message']
    assert np.abs(positions_of(system.states[-1][1]) - READY).max() < 1e-5


def play_a_node(*arguments):
    """Send a goal to a node that is played, and has its base elsewhere; return goal and text."""
    liar, goals = rclpy.create_node('liar'), []
    answers = liar.create_publisher(DiagnosticStatus, '~/answers', ANSWERS_QOS)
    tips = liar.create_publisher(PoseStamped, '~/tip_pose', 10)
    now = PoseStamped()
    now.header.frame_id, now.pose.orientation.x = 'pedestal', 1.0
    liar.create_timer(0.05, lambda: tips.publish(now))

    def answer(goal):
        goals.append(goal)
        answers.publish(DiagnosticStatus(message='gone\x1b[2J', values=[
            KeyValue(key=key, value=value) for key, value in (
                ('stamp', stamp_text(goal.header.stamp)), ('state', 'failed'),
                ('reason', '\x1b]0;x\x07'))]))

    liar.create_subscription(PoseStamped, '~/goal_pose', answer, 10)
    process = tool('send_goal', '--xyz', 0.4, 0, 0.4, '--node', '/liar', *arguments)
    while process.poll() is None:
        rclpy.spin_once(liar, timeout_sec=0.02)
    liar.destroy_node()
    goal, = goals
    return goal, process.stdout.read()


def test_an_answer_is_escaped():
    """An answer cannot control the terminal."""
    assert play_a_node()[1] == 'failed (\\x1b]0;x\\x07): gone\\x1b[2J\n'


@pytest.mark.parametrize('arguments, frame, roll', [
    ((), 'pedestal', 1.0), (('--frame', 'pedestal'), 'pedestal', 1.0),
    (('--frame', 'flange'), 'flange', 0.0), (('--rpy', 0, 0, 0), 'pedestal', 0.0)])
def test_what_is_not_given(arguments, frame, roll):
    """Poses are in the base of the node; with it the orientation is that of the tip now."""
    goal, _ = play_a_node(*arguments)
    assert goal.header.frame_id == frame and goal.pose.orientation.x == roll


@pytest.mark.parametrize('number', usual_first(1, [signal.SIGINT, signal.SIGTERM]))
def test_interrupted(number):
    """Exit code 130, without a traceback."""
    process = tool('send_goal', '--xyz', 0.4, 0, 0.4, '--node', '/none', errors=True)
    assert 'waiting for /none' in process.stderr.readline()
    process.send_signal(number)
    assert (process.wait(20), process.stderr.read()) == (130, '')


LEAVING = """
import rclpy
from ik_node.ros.middleware.process import leave
rclpy.init()
node = rclpy.create_node('send_goal')
rclpy.shutdown()  # as the signal handler of rclpy does, at any moment
leave(node, 130)
"""


def test_interrupted_while_it_leaves():
    """The exit code is what it was to be, and nothing is said."""
    done = subprocess.run([sys.executable, '-c', LEAVING], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, '', '')
