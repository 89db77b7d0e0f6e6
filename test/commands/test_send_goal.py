# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The messages that send_goal makes of its options, and what is wrong with a command."""

import numpy as np
import pinocchio as pin
import pytest

pytest.importorskip('rclpy')

from ik_node.base.errors import ParameterError  # noqa: E402
from ik_node.tools.arguments.send_goal import parse  # noqa: E402
from ik_node.tools.send_goal import main, make_goal  # noqa: E402

R = pin.rpy.rpyToMatrix(0.3, -0.2, 2.0)
RPY = '0.3', '-0.2', '2.0'
QUAT = tuple(map(str, pin.Quaternion(R).coeffs()))
XYZ = '0.4', '-0.1', '0.5'
CORNERS = ((0.4, -0.1, 0.5), (0.1, 0.2, 0.3))


def made(*arguments):
    """Return the topic and the message of a command whose base is 'base'."""
    return make_goal(parse([*map(str, arguments)]), 'base')


def pose_in(message):
    """Return position and rotation of a Pose."""
    p, o = message.position, message.orientation
    return np.array([p.x, p.y, p.z]), pin.Quaternion(np.array([o.x, o.y, o.z, o.w])).matrix()


def assert_pose(message, xyz=XYZ, rotation=R):
    """Check the position and the rotation of a Pose."""
    there, turn = pose_in(message)
    assert np.allclose(there, np.array(xyz, dtype=float), atol=1e-12)
    assert np.abs(turn - rotation).max() < 1e-9


@pytest.mark.parametrize('orientation', [
    ('--rpy', *RPY), ('--quat', *QUAT),
    ('--degrees', '--rpy', *map(str, np.rad2deg([*map(float, RPY)])))])
@pytest.mark.parametrize('options, topic', [
    ((), 'goal_pose'), (('--pointing',), 'goal_pointing'), (('--line',), 'goal_path')])
def test_poses(orientation, options, topic):
    """By either form of the orientation, in the base or in another frame."""
    for frame in ((), ('--frame', 'tool0')):
        sent, goal = made('--xyz', *XYZ, *orientation, *options, *frame)
        assert sent == topic and goal.header.frame_id == (frame[1] if frame else 'base')
        assert_pose(goal.poses[0].pose if options == ('--line',) else goal.pose)
    _, goal = made('--xyz', *XYZ)
    assert goal.pose.orientation.w == 1.0
    _, goal = make_goal(parse(['--xyz', *XYZ]), 'base', tuple(map(float, QUAT)))
    assert_pose(goal.pose)


def test_positions_and_turns():
    """Only the part that counts is in the message."""
    topic, goal = made('--position', '--xyz', *XYZ)
    assert topic == 'goal_position' and (goal.point.x, goal.point.y, goal.point.z) == (
        0.4, -0.1, 0.5)
    topic, goal = made('--turn', '--rpy', *RPY)
    o = goal.quaternion
    assert topic == 'goal_orientation'
    assert np.abs(pin.Quaternion(np.array([o.x, o.y, o.z, o.w])).matrix() - R).max() < 1e-9


@pytest.mark.parametrize('position, orientation, expected', [
    ((0.01,), (), (0.01, 0.01, 0.01, 0, 0, 0)),
    ((0.001,), (0, 0, 0.5), (0.001, 0.001, 0.001, 0, 0, 0.5)),
    ((), (0.2,), (0, 0, 0, 0.2, 0.2, 0.2))])
def test_tolerances(position, orientation, expected):
    """Per axis, or one for all; the covariance has their squares."""
    options = [*(('--position-tolerance', *position) if position else ()),
               *(('--orientation-tolerance', *orientation) if orientation else ())]
    topic, goal = made('--xyz', *XYZ, '--rpy', *RPY, *options)
    assert topic == 'goal_region'
    assert_pose(goal.pose.pose)
    assert np.allclose(np.reshape(goal.pose.covariance, (6, 6)), np.diag(np.square(expected)))


def test_arcs():
    """Through a pose with an orientation of its own, or with that of the end."""
    for options, turn in ((('--through-rpy', 0.0, 0.0, 0.3), pin.rpy.rpyToMatrix(0.0, 0.0, 0.3)),
                          ((), R)):
        topic, goal = made('--xyz', *XYZ, '--rpy', *RPY, '--through', 1, 2, 3, *options)
        assert topic == 'goal_arc' and len(goal.poses) == 2
        assert_pose(goal.poses[0], (1, 2, 3), turn)
        assert_pose(goal.poses[1])


@pytest.mark.parametrize('option, topic', [('--path', 'goal_path'), ('--first', 'goal_first')])
def test_files_of_poses(tmp_path, option, topic):
    """The same poses from both; the frame is that of the YAML file, or of --frame."""
    csv, yaml = tmp_path / 'a.csv', tmp_path / 'a.yaml'
    csv.write_text(''.join(f'{x},{y},{z},{",".join(RPY)}\n' for x, y, z in CORNERS))
    yaml.write_text('goals:\n' + ''.join(
        f'  - {{xyz: {list(corner)}, quat: {[*map(float, QUAT)]}, frame: table}}\n'
        for corner in CORNERS))
    for file, frame in ((csv, 'tool0'), (yaml, 'table')):
        sent, goal = made(option, file, '--frame', 'tool0')
        assert sent == topic and len(goal.poses) == 2
        for stamped, corner in zip(goal.poses, CORNERS):
            assert (stamped.header.frame_id or goal.header.frame_id) == frame
            assert_pose(stamped.pose, corner)


def test_a_file_of_a_chunk(tmp_path):
    """Times, poses and openings, of all rows or of none."""
    file, row = tmp_path / 'a.csv', '0.5,1,2,3,0,0,0,1'
    file.write_text(f't,x,y,z,qx,qy,qz,qw,gripper\n{row},0.02\n')
    topic, goal = made('--chunk', file)
    [point] = goal.points
    assert topic == 'goal_chunk' and point.time_from_start.nanosec == 500_000_000
    assert point.transforms[0].translation.z == 3.0 and point.transforms[1].translation.x == 0.02
    file.write_text(f'{row},0.02\n{row}\n')
    with pytest.raises(ParameterError, match='in all, or in none'):
        made('--chunk', file)


def test_joints():
    """By name, or one for each in the order of the chain."""
    topic, goal = made('--joints', 'joint_5=0.8', 'joint_1=-0.3')
    assert topic == 'goal_joints'
    assert (goal.name, [*goal.position]) == (['joint_5', 'joint_1'], [0.8, -0.3])
    _, goal = made('--joints', 0.1, -0.2)
    assert (goal.name, [*goal.position]) == ([], [0.1, -0.2])
    with pytest.raises(ParameterError, match='a name to all of them'):
        made('--joints', 'joint_1=1', 2)


@pytest.mark.parametrize('arguments, words', [
    ((), 'one of the arguments --xyz --turn --joints --joint-path --named --path --first '
         '--chunk is required'),
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
def test_usage(arguments, words, capsys):
    """Wrong usage is explained, with exit code 2."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and words in said.replace('\n', ' '), said
