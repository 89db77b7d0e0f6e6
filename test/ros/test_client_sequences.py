# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Sequences of motions, as a program sends them by ik_node.client; judged by Pinocchio."""

from concurrent.futures import Future
from math import inf, nan
import signal
from threading import Event, Timer
from types import SimpleNamespace

from geometry_msgs.msg import PoseStamped
from harness import ARM, latest, NAMES, NOT_BUILT, pose, Probe, process, READY, tip
import numpy as np
import pinocchio as pin
import pytest
from sensor_msgs.msg import JointState

from ik_node.base.errors import Reason
from ik_node.client import (
    Arm,
    circ,
    ClientError,
    GoalNotReachedError,
    lin,
    NodeUnreachableError,
    ptp,
    sequences,
)
from ik_node.client.transport import connection
from ik_node.ros.messages.motion_primitives import MAX_MOTIONS
from ik_node.ros.messages.status_messages import GoalState

action = pytest.importorskip('control_msgs.action', reason=NOT_BUILT)
if not hasattr(action, 'ExecuteMotionPrimitiveSequence'):
    pytest.skip('control_msgs has no ExecuteMotionPrimitiveSequence here', allow_module_level=True)
HERE = tip(READY)
QUAT = [*map(float, pin.Quaternion(HERE.rotation).coeffs())]
AWAY = np.add(READY, [0.5, 0.1, 0.0, 0.2, 0.1, 0.0])


@pytest.fixture(scope='module')
def arm(shared_system):
    """Return the client of the module."""
    with Arm(timeout=60.0) as made:
        yield made


@pytest.fixture
def system(shared_system, arm):
    """Return the system with the arm at READY."""
    goal = arm.joints(READY)
    shared_system.wait(lambda: goal.done, 60.0, 'READY')
    assert goal.wait().reached
    latest(shared_system)
    for seen in (shared_system.statuses, shared_system.states, shared_system.trajectories):
        seen.clear()
    return shared_system


def shifted(*offset):
    """Return a position, shifted from the tip at READY, m."""
    return HERE.translation + offset


# ---- values, without a node ---------------------------------------------------


def made(*motions):
    """Return the motion primitives that are sent."""
    return sequences._goal(motions, lambda: 'base', lambda: NAMES).trajectory.motions


def test_poses_in_every_form():
    """As a message, a matrix, numbers, and with rpy; in the base link or another frame."""
    message = PoseStamped(pose=pose(HERE.translation, HERE.rotation))
    message.header.frame_id = 'table'
    forms = [((message,), {}), ((message.pose,), {}), ((HERE.homogeneous,), {}),
             (([*HERE.translation, *QUAT],), {}), ((HERE.translation, QUAT), {}),
             ((HERE.translation,), {'rpy': pin.rpy.matrixToRpy(HERE.rotation)}),
             ((HERE.homogeneous,), {'frame': 'tool0'})]
    for make in (ptp, lin):
        motions = made(*(make(*given, **named) for given, named in forms))
        assert [each.poses[0].header.frame_id for each in motions] == [
            'table', *['base'] * 5, 'tool0']
        for each in motions:
            (there,) = each.poses
            assert not each.joint_positions
            at, turned = there.pose.position, there.pose.orientation
            assert np.allclose([at.x, at.y, at.z], HERE.translation)
            assert abs(np.dot([turned.x, turned.y, turned.z, turned.w], QUAT)) > 1.0 - 1e-9
    (arc,) = made(circ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], QUAT, frame='table'))
    assert [each.pose.position.x for each in arc.poses] == [4.0, 1.0]  # the end comes first
    assert {each.header.frame_id for each in arc.poses} == {'table'}


def test_motions_copy_their_arguments():
    """A matrix, a message and joints that are changed later are those of the motion before."""
    T, q, message = np.eye(4), np.zeros(6), pose([0.0, 0.0, 0.0])
    motions = []
    for _ in range(2):
        T[0, 3] += 1.0
        q += 1.0
        message.position.x += 1.0
        motions += [lin(T), ptp(joints=q), lin(message)]
    first, second, third, *others = made(*motions)
    assert (first.poses[0].pose.position.x, second.joint_positions[0],
            third.poses[0].pose.position.x) == (1.0, 1.0, 1.0)
    assert others[0].poses[0].pose.position.x == 2.0
    assert motions[0].poses[0].header.frame_id == ''  # another arm may send it, too


def test_joints_and_limits():
    """Joints by name are sent in the order of the chain; limits by the names of the action."""
    named = dict(zip(reversed(NAMES), reversed(AWAY)))
    motions = made(ptp(joints=named), ptp(joints=AWAY),
                   ptp(joints=JointState(name=NAMES, position=AWAY)),
                   lin(np.eye(4), velocity=1, acceleration=np.float32(2.0), blend_radius=0.5))
    for each in motions[:3]:
        assert [*each.joint_positions] == [*AWAY] and not each.poses
    assert motions[0].type == 0 and motions[3].type == 50
    assert {each.name: each.value for each in motions[3].additional_arguments} == {
        'velocity': 1.0, 'acceleration': 2.0}
    assert motions[3].blend_radius == 0.5 and not motions[0].additional_arguments


@pytest.mark.parametrize('motions, words', [
    ((), 'the sequence has 0 motions; 1 to 255 are taken'),
    ([lin(np.eye(4))] * (MAX_MOTIONS + 1), 'has 256 motions'),
    ([lin(np.eye(4)), np.eye(4)],
     r'motion 2: .* is not a motion; use ptp\(\), lin\(\) or circ\(\)'),
    ([lin(np.eye(4), blend_radius=-1.0)], 'motion 1: blend_radius is -1; it must be a length'),
    ([lin(np.eye(4), blend_radius=inf)], 'blend_radius is inf'),
    ([lin(np.eye(4), blend_radius='far')], "blend_radius is 'far'; give a number"),
    ([lin(np.eye(4), velocity=0.0)], 'motion 1: velocity is 0; it must be at least 0.0001'),
    ([lin(np.eye(4), acceleration=nan)], 'acceleration is nan'),
    ([lin(np.eye(4), velocity=[1.0, 2.0])], r'velocity is \[1.0, 2.0\]; give a number'),
    ([ptp(joints={'joint_1': 0.5})], "1 positions of 'joint_1'; give one for each of 'joint_1', "),
    ([ptp(joints=JointState(name=NAMES, position=[0.0]))], 'there are 1 positions of')])
def test_invalid_sequences(motions, words):
    """It is said with the number of the motion, before anything is sent."""
    with pytest.raises(ClientError, match=words):
        sequences._goal(motions, lambda: 'base', lambda: NAMES)


def test_a_motion_alone_is_no_sequence():
    """It is said what is expected."""
    with pytest.raises(ClientError, match='give the motions in a list'):
        sequences._goal(lin(np.eye(4)), lambda: 'base', lambda: NAMES)


# ---- with a node --------------------------------------------------------------


def test_ptp_lin_and_circ(system, arm):
    """One trajectory leads through all; how it does is tested in test_motion_sequences.py."""
    goal = arm.sequence([
        lin(shifted(0.0, -0.1, 0.0), QUAT, blend_radius=0.02, velocity=0.2),
        circ(shifted(0.0, -0.05, -0.15), shifted(0.0, 0.0, -0.1), QUAT, acceleration=1.0),
        ptp(joints=dict(zip(NAMES, AWAY)), velocity=1.0), ptp(HERE.homogeneous)])
    system.wait(lambda: goal.done, 60.0, 'the end of the sequence')
    answer = goal.wait()
    assert answer.reached and answer.reason == 'REACHED' and goal.kind == 'sequence'
    assert answer.values['kind'] == 'sequence' and answer is goal.result is goal.latest
    system.wait(lambda: len(system.statuses) > 1, what='what the client has heard already')
    assert [status['reason'] for status in system.statuses] == ['ACCEPTED', 'REACHED']
    assert len(system.trajectories) == 1
    assert np.allclose(tip(latest(system)).homogeneous, HERE.homogeneous, atol=1e-4)


def test_in_the_frame_of_the_tip(system, arm):
    """The frame is that of the arm when the sequence begins."""
    assert arm.sequence([lin([0.0, 0.0, -0.05], rpy=(0.0, 0.0, 0.0), frame='tool0')]).wait(
        30.0).reached
    assert np.allclose(tip(latest(system)).translation,
                       (HERE * pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.05]))).translation,
                       atol=1e-4)
    again = arm.sequence([ptp(joints=latest(system))]).wait(30.0)
    assert again.reached and again.reason == 'ALREADY_THERE'


def test_refused_sequences(system, arm):
    """The error has the state, the reason and the sentence of the node; nothing moves."""
    goal = arm.sequence([lin(shifted(0.0, 0.1, 0.0), QUAT), ptp(shifted(3.0, 0.0, 0.0), QUAT)])
    with pytest.raises(GoalNotReachedError, match='rejected .OUT_OF_REACH.: motion 2 of 2: ') \
            as found:
        goal.wait(30.0)
    assert found.value.reason is Reason.OUT_OF_REACH and found.value is goal.exception
    assert goal.result.state is GoalState.REJECTED and not goal.accepted and not goal.cancel()
    with pytest.raises(GoalNotReachedError, match='PATH_INVALID.*joint_positions are 5 numbers'):
        arm.sequence([ptp(joints=READY[:5])]).wait(30.0)
    with pytest.raises(GoalNotReachedError, match="FRAME_UNKNOWN.*'nowhere'"):
        arm.sequence([lin(np.eye(4), frame='nowhere')]).wait(30.0)
    with pytest.raises(ClientError, match='velocity is 0'):
        arm.sequence([ptp(joints=AWAY, velocity=0.0)])
    assert not system.trajectories and np.abs(latest(system) - READY).max() < 1e-6


def test_cancelled_stopped_and_superseded(system, arm):
    """The arm comes to rest, or goes on to the newer goal; also if that follows at once."""
    there_and_back = [ptp(joints=AWAY, velocity=0.2), ptp(joints=READY)]
    for end, waits in ((lambda goal: goal.cancel(), False), (lambda goal: arm.stop(), True)):
        goal = arm.sequence(there_and_back)
        if waits:
            system.wait(lambda goal=goal: goal.accepted)
        end(goal)
        with pytest.raises(GoalNotReachedError, match='stopped .STOPPED.'):
            goal.wait(30.0)
    goal, newer = arm.sequence(there_and_back), arm.joints(READY)
    with pytest.raises(GoalNotReachedError, match='superseded'):
        goal.wait(30.0)
    assert newer.wait(30.0).reached
    goals = [arm.sequence(there_and_back) for _ in range(3)]
    assert goals[-1].wait(60.0).reached
    for goal in goals[:-1]:
        with pytest.raises(GoalNotReachedError, match='superseded'):
            goal.wait(10.0)


@pytest.mark.parametrize('send', [lambda arm: arm.sequence([ptp(joints=READY)]),
                                  lambda arm: arm.joints(READY), lambda arm: arm.home()],
                         ids=['sequence', 'joints', 'home'])
def test_a_goal_after_a_stop(system, arm, send):
    """It is sent when the stop was answered, and is not ended by halts that are taken later."""
    goal = arm.sequence([ptp(joints=AWAY, velocity=0.2)])
    system.wait(lambda: goal.accepted)
    system.node.send(signal.SIGSTOP)
    stop = arm.stop()
    Timer(0.3, system.node.send, [signal.SIGCONT]).start()
    newer = send(arm)
    assert stop.done
    with pytest.raises(GoalNotReachedError, match='STOPPED'):
        goal.wait(30.0)
    assert newer.wait(30.0).reached


def test_a_stop_while_a_goal_waits(system, arm):
    """The goal was asked for before that stop, and is not sent after it."""
    system.node.send(signal.SIGSTOP)
    arm.stop()
    for seconds, call in ((0.2, arm.stop), (0.6, lambda: system.node.send(signal.SIGCONT))):
        Timer(seconds, call).start()
    with pytest.raises(ClientError, match='a stop was asked for meanwhile'):
        arm.joints(AWAY)
    arm.stop().wait(10.0)


def test_two_programs(system, arm):
    """Each has the answers to its own sequence."""
    with Arm('/ik_node') as other:
        first = arm.sequence([ptp(joints=AWAY)])
        system.wait(lambda: first.accepted)
        second = other.sequence([ptp(joints=READY)])
        assert second.wait(30.0).reached
    assert first.result.state is GoalState.SUPERSEDED
    assert first.result.id != second.result.id


def test_in_a_callback_of_the_client(system, arm):
    """A sequence can be sent there, from the end of another goal."""
    chained = []
    arm.joints(READY).add_done_callback(
        lambda goal: chained.append(arm.sequence([ptp(joints=READY)])))
    system.wait(lambda: chained and chained[0].done, 30.0)
    assert chained[0].wait().reached


def test_a_fault_while_it_is_sent(system, arm, monkeypatch):
    """It ends the goal; nothing waits for what was not sent."""
    def fail(message, goal_uuid):
        raise RuntimeError('no room')

    monkeypatch.setattr(arm._sequences._client, 'send_goal_async', fail)
    goal = arm.sequence([ptp(joints=AWAY)])
    with pytest.raises(RuntimeError, match='no room'):
        goal.wait(10.0)


def test_a_server_that_refuses(system, arm, monkeypatch):
    """The goal ends by the response; there is no answer of the node to wait for."""
    refused = Future()
    refused.set_result(SimpleNamespace(accepted=False))
    monkeypatch.setattr(arm._sequences._client, 'send_goal_async',
                        lambda message, goal_uuid: refused)
    with pytest.raises(ClientError, match='motion_sequence refuses the goal'):
        arm.sequence([ptp(joints=AWAY)]).wait(10.0)


def test_a_callback_that_takes_long(system, arm, monkeypatch):
    """A sequence cannot be sent meanwhile, and is not sent later."""
    monkeypatch.setattr(connection, 'SERVICE_PATIENCE_S', 0.2)
    may_end = Event()
    arm._connection.post(may_end.wait)
    goal = arm.sequence([ptp(joints=AWAY)])
    may_end.set()
    with pytest.raises(ClientError, match='a callback holds up the thread'):
        goal.wait(10.0)
    system.spin_for(0.5)
    assert not system.statuses


@pytest.mark.fault('clients', 'a program sends a sequence, and the node is inactive, has ended, '
                   'or does not serve the action', 'an error that says so')
def test_nobody_takes_it(tmp_path, system, arm, monkeypatch):
    """The first two as with other goals."""
    assert system.change_state('deactivate')
    with pytest.raises(GoalNotReachedError, match='INACTIVE.*ros2 lifecycle set'):
        arm.sequence([ptp(joints=AWAY)]).wait(30.0)
    assert system.change_state('activate')
    probe = Probe('looks_at_the_end', '/ends/ik_node')
    with process('ik_node', tmp_path, {'urdf_file': ARM}, {'__ns': '/ends'}) as node:
        probe.wait_for_node()
        with Arm('/ends/ik_node') as alone:
            assert node.stop() == 0
            with pytest.raises(NodeUnreachableError, match='/ends/ik_node has ended'):
                alone.sequence([ptp(joints=AWAY)]).wait(30.0)
    probe.destroy_node()
    monkeypatch.setattr(sequences, 'SEQUENCE_ACTION', 'other_action')
    monkeypatch.setattr(sequences, 'ACTION_PATIENCE_S', 0.2)
    with Arm('/ik_node') as other:
        with pytest.raises(NodeUnreachableError, match='nobody serves the action '
                           '/ik_node/other_action; is control_msgs'):
            other.sequence([ptp(joints=AWAY)]).wait(30.0)
