# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Every kind of goal by the command line, and what is wrong with a command."""

import json
from pathlib import Path
import signal
import subprocess
import sys

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped
from harness import (
    latest,
    off_line,
    off_sent_way,
    positions_of,
    READY,
    sent_way,
    tip,
    tool,
    way,
)
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


@pytest.mark.nightly
def test_some_joints_by_name(system):
    """The other joints stay."""
    assert send(system, '--joints', 'joint_5=0.8', 'joint_1=-0.3')['state'] == 'reached'
    assert np.abs(latest(system) - [-0.3, *READY[1:4], 0.8, READY[5]]).max() < 1e-5


def test_straight_line(system):
    """The path is straight; without the option it is not."""
    target = HERE.translation + [0.05, -0.25, -0.1]
    for options, low, high in ((['--line'], 0.0, 1e-4), ([], 1e-3, 1.0)):
        send(system, '--joints', *READY)
        assert send(system, '--xyz', *target, *QUAT, *options)['state'] == 'reached'
        points, _ = way(system)
        assert low <= off_line(points, HERE.translation, target).max() < high
        assert np.linalg.norm(points[-1] - target) < 1e-4


def test_straight_line_along_the_tool(system):
    """A goal in the frame of the tip is relative, and keeps the orientation."""
    assert send(system, '--line', '--xyz', 0, 0, -0.1, '--frame', 'tool0')['state'] == 'reached'
    there = tip(latest(system))
    assert np.linalg.norm(there.translation - HERE.act(np.array([0.0, 0.0, -0.1]))) < 1e-5
    assert np.linalg.norm(pin.log3(HERE.rotation.T @ there.rotation)) < 1e-5


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


def test_position_only(system):
    """The orientation is neither requested nor judged."""
    answer = send(system, '--position', '--xyz', 0.2, 0.5, 0.3)
    assert answer['state'] == 'reached', answer
    assert np.linalg.norm(tip(latest(system)).translation - [0.2, 0.5, 0.3]) < 1e-5
    assert 'measured_orientation_error_rad' not in answer


def test_pointing(system):
    """The z axis is as requested; the angle about it is free."""
    answer = send(system, '--pointing', '--xyz', 0.45, 0.1, 0.4, '--rpy', np.pi, 0, 2.0)
    assert answer['state'] == 'reached', answer
    there = tip(latest(system))
    assert np.linalg.norm(there.translation - [0.45, 0.1, 0.4]) < 1e-5
    assert np.allclose(there.rotation[:, 2], [0.0, 0.0, -1.0], atol=1e-5)
    turn = np.arctan2(there.rotation[1, 0], there.rotation[0, 0])
    assert abs(turn - 2.0) > 0.1


def test_within_tolerances(system):
    """Per axis of the goal, or for all; the position is free along z, and the rest exact."""
    target = HERE * pin.SE3(pin.exp3(np.array([0.0, 0.0, 2.0])), np.array([0.0, 0.02, 0.0]))
    quat = ['--quat', *pin.Quaternion(target.rotation).coeffs()]
    answer = send(system, '--xyz', *target.translation, *quat, '--position-tolerance', 0.001,
                  '--orientation-tolerance', 0, 0, 0.5)
    assert (answer['kind'], answer['state']) == ('region', 'reached'), answer
    there = target.actInv(tip(latest(system)))
    assert np.abs(there.translation).max() < 0.001 + 1e-5
    turn = pin.log3(there.rotation)
    assert np.abs(turn[:2]).max() < 1e-5 and 0.1 < abs(turn[2]) < 0.5 + 1e-5


def test_arc(system):
    """The tip stays on the circle, and passes the given pose in its orientation."""
    centre, radius = HERE.translation + [0.0, -0.1, 0.0], 0.1
    through, end = centre - [0.0, 0.0, radius], centre - [0.0, radius, 0.0]
    R = HERE.rotation @ pin.exp3(np.array([0.0, 0.0, 0.3]))
    answer = send(system, '--through', *through, '--through-quat', *pin.Quaternion(R).coeffs(),
                  '--xyz', *end, *QUAT)
    assert answer['state'] == 'reached', answer
    points, _ = way(system)
    off = np.hypot(np.linalg.norm((points - centre)[:, 1:], axis=1) - radius,
                   (points - centre)[:, 0])
    assert np.abs(off).max() < 1e-4
    sent, rotations = sent_way(system)
    assert off_sent_way(system) < 5e-3
    nearest = int(np.linalg.norm(sent - through, axis=1).argmin())
    assert np.linalg.norm(pin.log3(R.T @ rotations[nearest])) < 0.03
    assert np.linalg.norm(points[-1] - end) < 1e-4


def test_arc_without_an_orientation_on_the_way(system):
    """The orientation there is that of the end."""
    through, end = HERE.translation + [0.0, -0.1, -0.1], HERE.translation + [0.0, -0.2, 0.0]
    R = HERE.rotation @ pin.exp3(np.array([0.0, 0.0, 0.3]))
    quat = ['--quat', *pin.Quaternion(R).coeffs()]
    assert send(system, '--through', *through, '--xyz', *end, *quat)['state'] == 'reached'
    sent, rotations = sent_way(system)
    assert off_sent_way(system) < 5e-3
    nearest = int(np.linalg.norm(sent - through, axis=1).argmin())
    assert np.linalg.norm(pin.log3(R.T @ rotations[nearest])) < 0.03


def test_path_by_csv_and_by_yaml(system, tmp_path):
    """The same corners from both; the frame is from the YAML file or --frame."""
    steps = np.array([[0.0, -0.1, 0.0], [0.0, -0.1, -0.1], [0.0, 0.05, -0.1]])
    csv, yaml = tmp_path / 'a.csv', tmp_path / 'a.yaml'
    csv.write_text(''.join(f'{x},{y},{z},0,0,0\n' for x, y, z in steps))
    corners = [HERE.act(step) for step in steps]
    goals = ''.join(f'  - {{xyz: {corner.tolist()}, quat: {np.array(QUAT[1:]).tolist()}, '
                    'frame: base_link}\n' for corner in corners)
    yaml.write_text('goals:\n' + goals)
    for file in (csv, yaml):
        send(system, '--joints', *READY)
        first = len(system.trajectories)
        answer = send(system, '--path', file, '--frame', 'tool0')
        assert answer['state'] == 'reached', answer
        points, _ = sent_way(system, first)
        assert off_sent_way(system) < 5e-3
        for corner in corners:
            assert np.linalg.norm(points - corner, axis=1).min() < 1e-4
        legs = list(zip([HERE.translation, *corners], corners))
        assert np.min([off_line(points, a, b) for a, b in legs], axis=0).max() < 1e-4
    answer = send(system, '--first', yaml)
    assert answer['state'] == 'reached' and answer['pose_number'] == 1, answer
    assert np.linalg.norm(tip(latest(system)).translation - corners[0]) < 1e-4


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


@pytest.mark.parametrize('arguments, words', [
    ((), 'one of the arguments --xyz --turn --joints --joint-path --named --path --first is '
         'required'),
    (('--xyz', 1, 2), 'expected 3'),
    (('--xyz', 1, 2, 3, '--rpy', 0, 0, 0, '--quat', 0, 0, 0, 1), 'not allowed with'),
    (('--xyz', 1, 2, 3, '--joints', 1), 'not allowed with'),
    (('--path', 'a.csv', '--joints', 1), 'not allowed with'),
    (('--xyz', 1, 2, 3, '--position-tolerance', 1, 2), 'has 2 numbers; give one, or three'),
    (('--xyz', 1, 2, 3, '--orientation-tolerance', -1), 'is no tolerance'),
    (('--xyz', 1, 2, 3, '--orientation-tolerance', 'nan'), 'is no tolerance'),
    (('--xyz', 1, 2, 3, '--line', '--position-tolerance', 1), 'belong to --xyz'),
    (('--turn', '--rpy', 0, 0, 1, '--orientation-tolerance', 1), 'belong to --xyz'),
    (('--named', 'home', '--joints', 1), 'not allowed with'),
    (('--named', 'home', '--rpy', 0, 0, 0), 'belong to --xyz'),
    (('--named', 'home', '--line'), 'belong to --xyz'),
    (('--xyz', 1, 2, 3, '--line', '--through', 1, 2, 3), 'not allowed with'),
    (('--xyz', 1, 2, 3, '--position', '--line'), 'not allowed with'),
    (('--joints', 1, '--line'), 'belong to --xyz'),
    (('--path', 'a.csv', '--rpy', 0, 0, 0), 'belong to --xyz'),
    (('--turn',), '--turn needs --rpy or --quat'),
    (('--xyz', 1, 2, 3, '--rpy', 180, 0, 0), '--rpy has the angle 180, which is 28.6 turns; '
     'angles are in rad, and 180 degrees are 3.142: give that, or --degrees'),
    (('--xyz', 1, 2, 3, '--through', 1, 2, 3, '--through-rpy', 0, 0, 90), '--through-rpy has'),
    (('--xyz', 1, 2, 3, '--position', '--rpy', 0, 0, 0), 'leaves the orientation free'),
    (('--xyz', 1, 2, 3, '--through-rpy', 0, 0, 0), 'belong to --through'),
    (('--joints', 'joint_1=far'), 'it takes NAME=VALUE'),
    (('--joints', 'joint_1=1', 2), 'a name to all of them'),
    (('--path', '/none.csv'), '/none.csv')])
def test_usage(arguments, words):
    """Wrong usage is explained, with exit code 2."""
    done = tool('send_goal', *arguments, errors=True)
    code, said = done.wait(60.0), done.stderr.read()
    assert code == 2 and words in said.replace('\n', ' '), said
    assert 'Traceback' not in said
