# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions within path constraints: every door to them, and that the arm keeps them on its way."""

import json

from harness import (
    latest,
    lent,
    NOT_BUILT,
    pose,
    positions_of,
    QUICK,
    READY,
    tip,
    tool,
)
from motion_checker import path_of, states_at
import numpy as np
from pinocchio.rpy import rpyToMatrix
import pytest
from rclpy.action import ActionClient
from std_msgs.msg import String

from ik_node.client import Arm, ClientError, GoalNotReachedError, upright
from ik_node.motion.constrained.keep import keeps_text
from ik_node.motion.requests import ConstrainedRequest, PathRequest, WithinRequest
from ik_node.replay import load

HERE = tip(READY)
UP = np.array([0.0, 0.0, 1.0])
AXIS = HERE.rotation.T @ UP     # of the tip, that points up at READY
TILT = 0.01                     # rad; the direct motions of these tests tilt more
LEVEL = upright(TILT, AXIS)
AWAY = HERE.translation + [0.1, -0.3, -0.1]
QUATERNION = pose([0.0, 0.0, 0.0], HERE.rotation).orientation
TURNED = pose([0.0, 0.0, 0.0], HERE.rotation @ rpyToMatrix(0.0, 0.2, 0.0)).orientation
TURNED = [TURNED.x, TURNED.y, TURNED.z, TURNED.w]
QUATERNION = [QUATERNION.x, QUATERNION.y, QUATERNION.z, QUATERNION.w]


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return where the shared node records."""
    return tmp_path_factory.mktemp('recordings')


@pytest.fixture(scope='module')
def limits(folder):
    """Have the node record."""
    return {**QUICK, 'record.folder': folder, 'moveit.services': True}


@pytest.fixture(scope='module')
def sim():
    """Have more joint states than usual: tests look at ways."""
    return {'rate': 100.0}


@pytest.fixture
def system(shared_system):
    """Lend the system, with the arm at READY."""
    with lent(shared_system):
        yield shared_system


@pytest.fixture(scope='module')
def arm(shared_system):
    """Return a client."""
    with Arm(timeout=60.0) as made:
        yield made


def tilt(postures):
    """Return how far (rad) AXIS is from up at most at postures (k, 6)."""
    return max(np.arccos(min(1.0, UP @ tip(q).rotation @ AXIS)) for q in postures)


def went(system):
    """Return the largest tilt of the last trajectory, each millisecond, and that was measured."""
    latest(system)
    path = path_of(system.trajectories[-1])
    return (tilt(states_at(path, np.arange(path.times[0], path.times[-1], 1e-3))[:, 0]),
            tilt([positions_of(each) for _, each in system.states]))


def end(system, handle):
    """Wait for a goal of the client, while the probe looks on; return its answer."""
    system.wait(lambda: handle.done, 60.0, 'the end of a goal')
    return handle.wait(1.0)


def test_the_client_keeps_a_level(system, arm):
    """The direct motion tilts the tool; with keep= the arm goes there level, and says so."""
    arm.move([*AWAY, *QUATERNION]).wait(60.0)
    assert went(system)[0] > 2.0 * TILT
    end(system, arm.joints(READY))
    for keep in (LEVEL, keeps_text([LEVEL]), {'upright': TILT, 'axis': [*map(float, AXIS)]}):
        latest(system)
        system.states.clear()
        answer = end(system, arm.move([*AWAY, *QUATERNION], keep=keep))
        assert answer.values['kind'] == 'pose' and answer.values['detour'] == 'true'
        assert max(went(system)) < TILT + 1e-6
        assert np.linalg.norm(tip(latest(system)).translation - AWAY) < 1e-4
        end(system, arm.joints(READY, keep=keep))
        assert max(went(system)) < TILT + 1e-6


@pytest.mark.fault('goals', 'a goal that a path constraint excludes',
                   'rejected, with how far outside it is and the nearest pose within')
def test_goals_outside_are_refused(system, arm):
    """With how far, and where to go instead; a line, with how far it can be followed."""
    turned = [*READY[:5], 0.5]
    for goal, words in (
            (lambda: arm.joints(turned, keep=upright(TILT)),
             'the goal is outside of the path constraint: the tilt is outside by .* deg; the '
             'nearest pose within is'),
            (lambda: arm.move([*HERE.translation, *TURNED], keep=LEVEL),
             'the goal is outside of the path constraint'),
            (lambda: arm.line([*AWAY, *QUATERNION], keep={
                'position': [np.inf, 0.1, np.inf], 'frame': 'start'}),
             r'the path can be followed for 3\d\.\d % .* y of the position is outside')):
        with pytest.raises(GoalNotReachedError, match=words) as caught:
            end(system, goal())
        assert caught.value.reason == 'CONSTRAINT'
    with pytest.raises(ClientError, match='it has upright, axis'):
        arm.move([*AWAY, *QUATERNION], keep={'level': 0.1})


@pytest.mark.parametrize('text, words', [
    ('{', 'not valid YAML'), ('[' * 100_000, 'not valid YAML'), ('!!int ""', 'not valid YAML'),
    ('{goal: pose, keep: {upright: 1}, message: {header: {frame_id: 5}}}', 'must be string'),
    ('{goal: pose, keep: {upright: 1}, message: {header: {stamp: {sec: x}}}}', 'must be int32'),
    ('[1]', 'must have the keys'),
    ('{goal: pose, keep: x, message: {}}', 'such as'),
    ('{goal: stream, keep: {upright: 1}, message: {}}', 'of kind'),
    ('{goal: pose, keep: {upright: 1, frame: nowhere}, message: {header: {frame_id: base_link}, '
     'pose: {position: {x: 0.5}, orientation: {w: 1}}}}', 'nowhere'),
    ('{goal: pose, keep: {upright: 1}, message: {pose: {position: {x: a}}}}', 'must be double')])
@pytest.mark.fault('goals', 'a text on ~/goal_kept that is no goal, or has unknown frames',
                   'rejected, with what is wrong')
def test_texts_that_are_no_goals(system, text, words):
    """Each gets one answer."""
    texts = system.publisher(String, 'goal_kept')
    before = len(system.statuses)
    texts.publish(String(data=text))
    system.wait(lambda: len(system.statuses) > before, what='an answer')
    answer = system.statuses[before]
    assert answer['state'] == 'rejected' and words in answer['message'], answer


def test_infinite_numbers_of_a_goal_come_through(system, arm):
    """A region that is free about all axes, within constraints."""
    assert end(system, arm.move([*AWAY, *QUATERNION], keep={'distance': 0.6, 'frame': 'start'},
                                orientation_tolerance=np.inf)).values['kind'] == 'region'


def test_a_position_is_reached_level(system, arm):
    """In an orientation that is level, not in the one of the nearest posture."""
    end(system, arm.position(AWAY, keep=LEVEL))
    assert went(system)[0] < TILT + 1e-6
    assert np.linalg.norm(tip(latest(system)).translation - AWAY) < 1e-4


def test_the_parameter_holds_for_all(system, arm):
    """While motion.keep is set every motion keeps it; a text that is wrong is not taken."""
    assert 'not valid YAML' in system.set_parameters('ik_node', {'motion.keep': '{'}).reason
    assert system.set_parameters('ik_node', {'motion.keep': keeps_text([LEVEL])}).successful
    try:
        end(system, arm.move([*AWAY, *QUATERNION]))
        assert went(system)[0] < TILT + 1e-6
        with pytest.raises(GoalNotReachedError, match='outside'):
            end(system, arm.joints([*READY[:4], 1.2, 0.0]))
        end(system, arm.joints(READY))
        assert went(system)[0] < TILT + 1e-6
    finally:
        assert system.set_parameters('ik_node', {'motion.keep': ''}).successful


def test_send_goal(system):
    """The options, in degrees and as text."""
    def send(*options):
        process = tool('send_goal', '--xyz', *AWAY, '--quat', *QUATERNION, *options, '--json')
        system.wait(lambda: process.poll() is not None, 60.0)
        return json.loads(process.stdout.read())

    assert send('--keep', keeps_text([LEVEL]))['state'] == 'reached'
    assert went(system)[0] < TILT + 1e-6
    # None of the axes of the tool points up.
    refused = send('--keep-upright', '10')
    assert refused['state'] == 'reached' or refused['reason'] in ('ALREADY_THERE', 'CONSTRAINT')


def test_recordings_repeat(system, arm, folder):
    """Requests within constraints are read and planned again, to the same bits."""
    kinds = {type(each.request) for file in folder.glob('*.json.gz')
             for each in load(file).requests}
    assert {ConstrainedRequest, WithinRequest, PathRequest} <= kinds
    for file in sorted(folder.glob('*.json.gz')):
        assert [each.differences() for each in load(file).requests] == \
            [[]] * len(load(file).requests)


def test_a_behaviour_tree_names_what_is_kept(system):
    """In the field that names the tree in Nav2."""
    action = pytest.importorskip('nav2_msgs.action', reason=NOT_BUILT)
    client = ActionClient(system, action.NavigateToPose, '/ik_node/move_to_pose')
    system.wait(client.server_is_ready)
    for text, status in ((keeps_text([LEVEL]), 4), ('navigate.xml', 6)):
        goal = action.NavigateToPose.Goal(behavior_tree=text)
        goal.pose.header.frame_id = 'base_link'
        goal.pose.pose = pose(AWAY, HERE.rotation)
        sent = client.send_goal_async(goal)
        system.wait(sent.done)
        result = sent.result().get_result_async()
        system.wait(result.done, 60.0)
        assert result.result().status == status
        assert went(system)[0] < TILT + 1e-6


def test_moveit(system):
    """Position and orientation constraints of the path, in each request that has them."""
    msg = pytest.importorskip('moveit_msgs.msg', reason=NOT_BUILT)
    from test_moveit_motion import Client, joint_goal, pose_goal, turned
    client, tight = Client(system), 2.0 * TILT
    level = turned(QUATERNION, tolerances=(tight, tight, 3.14159))
    free = turned(QUATERNION, tolerances=(3.14159, tight, tight))
    free.parameterization = 1
    for constraint in (level, free):
        path = msg.Constraints(orientation_constraints=[constraint])
        code, answer = client.plan(pose_goal(AWAY, QUATERNION), path_constraints=path)
        assert code == 'SUCCESS', answer.error_code
        points = np.array([point.positions
                           for point in answer.trajectory.joint_trajectory.points])
        assert len(points) > 5
        for q in points:
            R = HERE.rotation.T @ tip(q).rotation
            assert np.abs(np.arcsin(R[2, 0])) < tight + 1e-6 or constraint is level
    path = msg.Constraints(orientation_constraints=[level])
    code, *_ = client.move(pose_goal(AWAY, QUATERNION), path_constraints=path)
    assert code == 'SUCCESS'
    code, answer = client.plan(joint_goal([*READY[:4], 1.4, 0.0]), path_constraints=path)
    assert code == 'PLANNING_FAILED' or 'outside' in answer.error_code.message
    # A line: as far as it is kept.
    ball = pose_goal(AWAY, QUATERNION).position_constraints[0]
    ball.constraint_region.primitives[0].dimensions = [0.2]
    code, answer = client.path(pose(HERE.translation, HERE.rotation),
                               path_constraints=msg.Constraints(position_constraints=[ball]))
    assert code == 'SUCCESS' and 0.5 < answer.fraction < 0.7
    ball.constraint_region.primitives[0].type = 4
    code, answer = client.path(pose(HERE.translation, HERE.rotation),
                               path_constraints=msg.Constraints(position_constraints=[ball]))
    assert code == 'INVALID_GOAL_CONSTRAINTS'
