# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""~/motion_sequence: PTP, LIN and CIRC motions, as a client of its action sends them."""

from math import inf, nan

from action_msgs.msg import GoalStatus
from documents import blocks, commands
from geometry_msgs.msg import PoseStamped
from harness import (
    ActionUser,
    FINAL,
    latest,
    NOT_BUILT,
    off_sent_way,
    once_each,
    pose,
    READY,
    sent_way,
    tip,
)
import numpy as np
import pytest
import yaml

msg = pytest.importorskip('control_msgs.msg', reason=NOT_BUILT)
action = pytest.importorskip('control_msgs.action', reason=NOT_BUILT)
if not hasattr(action, 'ExecuteMotionPrimitiveSequence'):
    pytest.skip('control_msgs has no ExecuteMotionPrimitiveSequence here', allow_module_level=True)
Sequence, Primitive = action.ExecuteMotionPrimitiveSequence, msg.MotionPrimitive
PTP, LIN, CIRC = (Primitive.LINEAR_JOINT, Primitive.LINEAR_CARTESIAN, Primitive.CIRCULAR_CARTESIAN)
INVALID, NOT_DONE = Sequence.Result.INVALID_GOAL, -4
AWAY = np.add(READY, [0.5, 0.1, 0.0, 0.2, 0.1, 0.0])
BEGIN = tip(READY).translation
RADIUS = 0.02


@pytest.fixture(scope='module')
def sim():
    """Have joint states as often as real arms send them: tests look at ways."""
    return {'rate': 100.0}


def to(*offsets, frame='base_link', **arguments):
    """Return poses of a motion, shifted from the tip at READY, m."""
    made = [PoseStamped(pose=pose(BEGIN + np.array(offset))) for offset in offsets]
    for each in made:
        each.header.frame_id = frame
    return made


def motion(kind, poses=(), joints=(), radius=0.0, **arguments):
    """Return a motion primitive."""
    return Primitive(
        type=kind, poses=[*poses], joint_positions=[*map(float, joints)], blend_radius=radius,
        additional_arguments=[msg.MotionArgument(name=name, value=value)
                              for name, value in arguments.items()])


class Client(ActionUser):
    """Sends sequences."""

    def begin(self, *motions):
        """Send a goal; return the handle of what was accepted."""
        return super().begin(Sequence.Goal(
            trajectory=msg.MotionPrimitiveSequence(motions=[*motions])))

    def end(self, handle):
        """Return status, error code and sentence."""
        status, result = super().end(handle)
        self.probe.wait(lambda: any(answer['state'] in FINAL and answer['kind'] == 'sequence'
                                    for answer in self.probe.statuses), what='the answer')
        return status, result.error_code, result.error_string

    def motions_told(self):
        """Return the numbers of the motions in the feedback."""
        return [each.current_primitive_index for each in self.told]

    def run(self, *motions):
        """Send a goal, and return its end."""
        return self.end(self.begin(*motions))


@pytest.fixture(scope='module')
def client(shared_system):
    """Return the client of the module."""
    return Client(shared_system, Sequence, '/ik_node/motion_sequence')


@pytest.fixture
def arm(client):
    """Return the client, with the arm at READY."""
    probe = client.probe
    assert probe.final(probe.send_joints(READY))['state'] == 'reached'
    latest(probe)
    for seen in (probe.statuses, probe.states, probe.trajectories):
        seen.clear()
    return client


def test_ptp_lin_and_circ(arm):
    """One trajectory leads through all of them, blended where that is asked for."""
    probe = arm.probe
    corner, below, over = (0.0, -0.1, 0.0), (0.0, -0.1, -0.1), (0.0, 0.0, -0.1)
    handle = arm.begin(
        motion(LIN, to(corner), radius=RADIUS, velocity=0.2, acceleration=1.0, move_time=0.0),
        motion(LIN, to(below)), motion(CIRC, to(over, (0.0, -0.05, -0.15))),
        motion(PTP, joints=AWAY, velocity=1.0), motion(PTP, to((0.0, 0.0, 0.0))))
    ended, told = arm.end(handle), arm.motions_told()
    assert ended[:2] == (GoalStatus.STATUS_SUCCEEDED, Sequence.Result.SUCCESSFUL), ended
    assert 'reached' in ended[2]
    assert told == sorted(set(told)) and {0, 4} <= {*told}, told
    assert len(probe.trajectories) == 1
    assert [(status['kind'], status['reason']) for status in probe.statuses] == [
        ('sequence', 'ACCEPTED'), ('sequence', 'REACHED')]
    once_each(probe.statuses, [probe.statuses[0]['stamp']])
    assert {status['action_goal'] for status in probe.statuses} == {
        bytes(handle.goal_id.uuid).hex()}
    assert np.allclose(tip(latest(probe)).homogeneous, tip(READY).homogeneous, atol=1e-4)
    tips, _ = sent_way(probe)
    assert off_sent_way(probe) < 5e-3

    def nearest(point):
        return np.linalg.norm(tips - point, axis=1).min()

    assert 1e-3 < nearest(BEGIN + corner) < RADIUS
    for there in (BEGIN + below, BEGIN + over, tip(AWAY).translation):
        assert nearest(there) < 1e-3
    assert nearest(BEGIN + [0.0, -0.05, -0.15]) < 1e-3
    assert np.abs(tips[:np.linalg.norm(tips - (BEGIN + over), axis=1).argmin(), 0]
                  - BEGIN[0]).max() < 1e-3


@pytest.mark.parametrize('motions, words', [
    ((), 'has 0 motions'),
    ([motion(LIN, to((0.0, 0.05, 0.0)))] * 256, 'has 256 motions'),
    ([motion(7)], 'motion 1: its type is 7; known are LINEAR_JOINT (0)'),
    ([motion(PTP, joints=[0.0] * 5)], "joint_positions are 5 numbers; 6 finite ones"),
    ([motion(PTP, joints=[nan] * 6)], '6 finite ones are needed'),
    ([motion(PTP, joints=[9.0, *READY[1:]])], "'joint_1' cannot be at 9"),
    ([motion(PTP)], 'it has 0 poses; LINEAR_JOINT needs 1, or joint_positions'),
    ([motion(LIN, to((0.0, 0.1, 0.0)), radius=-1.0)], 'blend_radius is -1'),
    ([motion(LIN, to((0.0, 0.1, 0.0)), radius=inf)], 'blend_radius is inf'),
    ([motion(LIN, to((0.0, 0.1, 0.0)), move_time=2.0)], "the argument 'move_time' is not kept"),
    ([motion(LIN, to((0.0, 0.1, 0.0)), velocity=0.0)], 'velocity is 0; it must be at least'),
    ([motion(PTP, joints=AWAY, acceleration=1e-12)], 'acceleration is 1e-12; it must be at least'),
    ([motion(CIRC, to((0.0, 0.1, 0.0)))], 'CIRCULAR_CARTESIAN needs 2'),
    ([motion(LIN, to((0.0, nan, 0.0)))], 'nan'),
    ([motion(LIN, to((0.0, 0.1, 0.0))), motion(LIN, to((3.0, 0.0, 0.0)))], 'motion 2 of 2: '),
    ([motion(LIN, to((0.0, 0.1, 0.0), frame='nowhere'))], "'nowhere'"),
    ([motion(PTP, joints=AWAY, radius=0.1), motion(LIN, to((0.0, 0.1, 0.0)))],
     'set blend_radius of motion 1 to 0')])
@pytest.mark.fault('goals', 'a sequence of motions that cannot be done',
                   'refused with the number of the motion, before the arm moves')
def test_refused(arm, motions, words):
    """In one sentence; nothing moves."""
    probe = arm.probe
    status, code, sentence = arm.run(*motions)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, INVALID) and words in sentence, sentence
    assert [status['state'] for status in probe.statuses] == ['rejected']
    assert not probe.trajectories and np.abs(latest(probe) - READY).max() < 1e-6


@pytest.mark.parametrize('kind', [PTP, LIN])
def test_a_refused_motion_has_a_remedy(arm, kind):
    """With the shift that is told, all motions are done."""
    probe, first = arm.probe, motion(LIN, to((0.0, 0.05, 0.0)))
    far = np.array([0.9, 0.1, 0.0])
    status, code, sentence = arm.run(first, motion(kind, to(far)))
    assert (status, code) == (GoalStatus.STATUS_ABORTED, INVALID)
    assert sentence.startswith('motion 2 of 2: ') and '; shifted by [' in sentence
    assert not probe.trajectories
    shift = np.array(probe.statuses[-1]['remedy_shift_m'].split(), dtype=float)
    probe.statuses.clear()
    status, code, sentence = arm.run(first, motion(kind, to(far + shift)))
    assert (status, code) == (GoalStatus.STATUS_SUCCEEDED, 0), sentence
    assert np.abs(tip(latest(probe)).translation - (BEGIN + far + shift)).max() < 1e-4


def test_a_sequence_with_a_heavy_tool(arm):
    """It is refused if a posture on it cannot be held."""
    probe = arm.probe
    probe.change('/ik_node', tool__mass=70.0)
    status, code, sentence = arm.run(motion(PTP, joints=AWAY))
    assert (status, code) == (GoalStatus.STATUS_ABORTED, INVALID), sentence
    assert 'to hold the tool of 70 kg' in sentence and not probe.trajectories


def test_cancelled_while_remedies_are_sought(arm):
    """Each ends once, as refused or as stopped; the node goes on."""
    probe, far = arm.probe, motion(LIN, to((0.9, 0.1, 0.0)))
    for k in range(10):
        probe.statuses.clear()
        handle = arm.begin(motion(LIN, to((0.0, 0.05, 0.0))), far)
        probe.spin_for(0.005 * k)
        handle.cancel_goal_async()
        assert arm.end(handle)[0] in (GoalStatus.STATUS_ABORTED, GoalStatus.STATUS_CANCELED)
        probe.spin_for(0.2)  # in which a search would have its end
        finals = [status for status in probe.statuses if status['state'] in FINAL]
        assert len(finals) == 1, finals
    assert not probe.trajectories
    assert arm.run(motion(LIN, to((0.0, 0.05, 0.0))))[0] == GoalStatus.STATUS_SUCCEEDED


def test_cancelled_and_superseded(arm):
    """The arm comes to rest, or goes on to the newer goal; each sequence has one end."""
    probe = arm.probe
    long = [motion(PTP, joints=AWAY, velocity=0.2), motion(PTP, joints=READY)]
    handle = arm.begin(*long)
    probe.wait(lambda: np.abs(latest(probe) - READY).max() > 0.05, what='a motion')
    handle.cancel_goal_async()
    status, code, sentence = arm.end(handle)
    assert (status, code) == (GoalStatus.STATUS_CANCELED, NOT_DONE), sentence
    probe.wait(lambda: not any(probe.states[-1][1].velocity), what='rest')
    assert 0.04 < np.abs(latest(probe) - READY).max() < 0.4
    handle = arm.begin(*long)
    probe.wait(lambda: arm.told, what='feedback')
    stamp = probe.send_joints(READY)
    status, code, sentence = arm.end(handle)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, NOT_DONE) and 'took its place' in sentence
    assert probe.final(stamp)['state'] == 'reached'


def test_the_feedback_knows_of_another_speed(arm):
    """The second motion is told of when it begins, though the first took longer than planned."""
    probe = arm.probe
    handle = arm.begin(motion(PTP, joints=AWAY), motion(PTP, joints=READY))
    probe.wait(lambda: np.abs(latest(probe) - READY).max() > 0.05, what='a motion')
    probe.change('/ik_node', motion__velocity_scale=0.05)
    probe.wait(lambda: 1 in arm.motions_told(), 60.0, 'the second motion')
    assert np.abs(latest(probe) - AWAY).max() < 0.1
    probe.change('/ik_node', motion__velocity_scale=0.5)
    status, code, sentence = arm.end(handle)
    assert (status, code) == (GoalStatus.STATUS_SUCCEEDED, 0), sentence


def test_the_example_of_the_documents(arm):
    """The goal of the how-to is done as it stands there."""
    (block,) = [block for block in blocks('bash')
                if block.document == 'docs/how_to/motion_sequences.md']
    (command,) = commands(block.text)
    described = yaml.safe_load(command[-1])['trajectory']['motions']
    motions = [Primitive(type=each['type'], blend_radius=each.get('blend_radius', 0.0),
                         joint_positions=each.get('joint_positions', ())) for each in described]
    for made, each in zip(motions, described):
        made.additional_arguments = [msg.MotionArgument(**argument)
                                     for argument in each.get('additional_arguments', ())]
        for given in each.get('poses', ()):
            stamped = PoseStamped()
            stamped.header.frame_id = given['header']['frame_id']
            for part in ('position', 'orientation'):
                for name, value in given['pose'][part].items():
                    setattr(getattr(stamped.pose, part), name, value)
            made.poses = [*made.poses, stamped]
    status, code, sentence = arm.run(*motions)
    assert (status, code) == (GoalStatus.STATUS_SUCCEEDED, 0), sentence
    assert np.allclose(tip(latest(arm.probe)).translation, [0.5, 0.2, 0.3], atol=1e-4)


def test_where_it_is_already(arm):
    """It succeeds at once."""
    status, code, sentence = arm.run(motion(PTP, joints=READY), motion(LIN, to((0.0, 0.0, 0.0))))
    assert (status, code) == (GoalStatus.STATUS_SUCCEEDED, 0) and 'goes nowhere' in sentence
    assert not arm.probe.trajectories
