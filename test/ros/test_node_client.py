# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a hand can have the arm do: each deed, at a real node."""

from geometry_msgs.msg import PointStamped, PoseStamped
from harness import (
    ARM,
    FINAL,
    latest,
    NAMES,
    off_line,
    PATIENCE_S,
    pose,
    process,
    READY,
    same,
    tip,
    way,
)
import numpy as np
import pinocchio as pin
import pytest
import rclpy
from rclpy.node import Node
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

from ik_node.ros.messages.status_messages import STREAM_PAUSE_S
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS
from ik_node.ui import node_client as under_test
from ik_node.ui.node_client import Commands, Kind

HERE = tip(READY)
FAR = pin.SE3(pin.rpy.rpyToMatrix(0.3, 0.0, 0.2) @ HERE.rotation,
              HERE.translation + [0.05, -0.2, -0.1])


class Hand:
    """Commands, and what they answered."""

    def __init__(self, probe, target):
        self.said = []
        self.commands = Commands(probe, target, lambda *answer: self.said.append(answer))
        self._probe = probe

    def answer(self):
        """Wait for the next answer."""
        self._probe.wait(lambda: self.said, what='an answer')
        return self.said.pop(0)


@pytest.fixture(scope='module')
def hand(shared_system):
    """Return a hand whose commands have found the node."""
    made = Hand(shared_system, '/ik_node')
    shared_system.wait_for_node()
    for what in made.commands._publishers.values():
        if what.topic_name.endswith(('pose', 'position', 'joints', 'named', 'path',
                                     'stream')) \
                and 'preview' not in what.topic_name:
            shared_system.wait(what.get_subscription_count, what=what.topic_name)
    for name in ('set_parameters_atomically', 'home'):
        assert made.commands._clients[name].wait_for_service(PATIENCE_S)
    return made


@pytest.fixture
def system(shared_system, hand):
    """Return the system with the arm at READY."""
    stamp = hand.commands.joints(NAMES, READY)
    assert shared_system.final(stamp)['state'] == 'reached'
    assert np.abs(latest(shared_system) - READY).max() < 1e-5
    shared_system.states.clear()
    assert not hand.said
    return shared_system


def test_goals(system, hand):
    """Some joints, a name that is none, a pose in any frame, a line, and a position."""
    commands = hand.commands

    def sent(stamp, state='reached'):
        answer = system.final(stamp)
        assert answer['state'] == state, answer
        return answer, tip(latest(system))

    sent(commands.joints(['joint_5', 'joint_1'], [0.8, -0.3]))
    assert np.abs(latest(system) - [-0.3, *READY[1:4], 0.8, READY[5]]).max() < 1e-5
    answer, begin = sent(commands.named('home'), 'rejected')
    assert (answer['kind'], answer['reason']) == ('named', 'NAME_UNKNOWN'), answer
    system.states.clear()
    _, there = sent(commands.move(Kind.POSE, 'tool0', (begin.inverse() * FAR).homogeneous))
    assert same(there, FAR)
    points, _ = way(system)
    assert off_line(points, begin.translation, FAR.translation).max() > 1e-3
    system.states.clear()
    _, there = sent(commands.line('base_link', HERE.homogeneous))
    assert same(there, HERE)
    points, _ = way(system)
    assert off_line(points, FAR.translation, HERE.translation).max() < 1e-4
    # Its orientation is out of reach.
    goal = pin.SE3(pin.rpy.rpyToMatrix(0.0, np.pi, 0.0), np.array([0.2, 0.5, 1.0]))
    sent(commands.move(Kind.POSE, 'base_link', goal.homogeneous), 'rejected')
    _, there = sent(commands.move(Kind.POSITION, 'base_link', goal.homogeneous))
    assert np.linalg.norm(there.translation - goal.translation) < 1e-5


def test_a_stream(system, hand):
    """The arm follows; only the first pose is answered."""
    # A busy machine is not what is tested here.
    system.change('/ik_node', stream__timeout=1.0, state__timeout=10.0, watch__start_timeout=10.0)
    stamps = []

    def first():  # what came before the node knew the publisher is lost
        return next((stamp for stamp in stamps if system.answers(stamp)), None)
    while first() is None or len(stamps) < 100:
        share = min(len(stamps) / 80.0, 1.0)
        goal = pin.SE3(HERE.rotation, HERE.translation + share * np.array([0.0, -0.1, 0.0]))
        stamps.append(hand.commands.stream('base_link', goal.homogeneous))
        system.spin_for(0.015)
        assert len(stamps) < 2000
    assert system.final(first())['reason'] == 'STREAM_ENDED'
    assert [bool(system.answers(stamp)) for stamp in stamps].count(True) == 1
    system.wait(lambda: np.linalg.norm(tip(latest(system)).translation - goal.translation) < 1e-3,
                what='the arm at its target')


def test_home_and_stop(system, hand):
    """Home starts a motion, stop ends it; both services answer."""
    system.change('/ik_node', motion__velocity_scale=0.1)
    hand.commands.home()
    good, words = hand.answer()
    assert good and words.startswith('goal ')
    number = words.split()[1].strip(',')
    system.wait(lambda: system.states
                and np.abs(latest(system) - READY).max() > 0.01, what='a motion')
    hand.commands.stop()
    good, words = hand.answer()
    assert good, words
    system.wait(lambda: any(status['goal'] == number and status['state'] in FINAL
                            for status in system.statuses))
    assert [status['state'] for status in system.statuses
            if status['goal'] == number][-1] == 'stopped'


def test_parameters(system, hand):
    """Parameters are set all or none; the answer is a sentence."""
    system.change('/ik_node', motion__velocity_scale=0.5, stream__free_axes=[''])
    hand.commands.set({'motion.velocity_scale': 0.25, 'stream.free_axes': ['rz']})
    assert hand.answer() == (True, "motion.velocity_scale is 0.25, stream.free_axes is ['rz']")
    hand.commands.set({'motion.velocity_scale': 0.5, 'stream.free_axes': ['up']})
    good, words = hand.answer()
    assert not good and 'up' in words
    apart = []
    hand.commands.set({'motion.velocity_scale': 7.0}, lambda *answer: apart.append(answer))
    system.wait(lambda: apart)
    assert not apart[0][0] and apart[0][1] and not hand.said


def test_previews_and_pointing(probe):
    """Each kind has its topic and message, with the stamp that is returned."""
    hand = Hand(probe, 'elsewhere')
    heard = {}
    for name, kind in (('preview_pose', PoseStamped), ('preview_position', PointStamped),
                       ('preview_pointing', PoseStamped), ('goal_pointing', PoseStamped)):
        probe.create_subscription(kind, f'elsewhere/{name}',
                                  lambda message, name=name: heard.update({name: message}), 1)
    for publisher in hand.commands._publishers.values():
        if publisher.topic_name.rsplit('/')[-1].startswith(('preview', 'goal_pointing')):
            probe.wait(publisher.get_subscription_count, what=publisher.topic_name)
    T = FAR.homogeneous
    stamps = {f'preview_{kind.value}': hand.commands.preview(kind, 'tool0', T) for kind in Kind}
    stamps['goal_pointing'] = hand.commands.move(Kind.POINTING, 'tool0', T)
    probe.wait(lambda: len(heard) == 4)
    expected = pose(FAR.translation, FAR.rotation)
    for name, message in heard.items():
        header = message.header
        assert header.frame_id == 'tool0'
        assert f'{header.stamp.sec}.{header.stamp.nanosec:09d}' == stamps[name]
        if name == 'preview_position':
            assert np.allclose([message.point.x, message.point.y, message.point.z],
                               FAR.translation)
            continue
        p, o, q = message.pose.position, message.pose.orientation, expected.orientation
        assert np.allclose([p.x, p.y, p.z], FAR.translation)
        assert abs(abs(o.x * q.x + o.y * q.y + o.z * q.z + o.w * q.w) - 1.0) < 1e-12
    assert not hand.said


def test_nobody_there(probe):
    """Each method reports immediately that nobody listens."""
    hand = Hand(probe, 'nowhere')
    deeds = hand.commands
    for deed in (lambda: deeds.move(Kind.POSE, 'base_link', np.eye(4)),
                 lambda: deeds.preview(Kind.POINTING, 'base_link', np.eye(4)),
                 lambda: deeds.joints([], []), deeds.plan, deeds.home, deeds.stop,
                 lambda: deeds.set({'solver.nearest': True})):
        assert not deed()
        good, words = hand.answer()  # to a stop once it was tried for a while
        assert not good and words.startswith('nobody') and 'is nowhere running' in words
        assert not hand.said


def test_a_service_that_does_not_answer(probe, monkeypatch):
    """It times out with one answer; a late response is ignored."""
    monkeypatch.setattr(under_test, 'SERVICE_TIMEOUT_S', 0.5)
    other = Node('asleep', start_parameter_services=False)
    other.create_service(Trigger, 'asleep/plan', lambda _request, response: response)
    hand = Hand(probe, 'asleep')
    assert hand.commands._clients['plan'].wait_for_service(PATIENCE_S)
    hand.commands.plan()
    assert hand.answer() == (False, 'asleep/plan did not answer within 0.5 s')
    rclpy.spin_once(other, timeout_sec=5.0)
    probe.spin_for(0.3)
    assert not hand.said
    other.destroy_node()


def test_more_of_a_stream_does_not_undo_its_stop(probe):
    """Only the first pose of another one does, after the pause that the ik_node asks for."""
    halts, hand = [], Hand(probe, 'asleep')
    other = Node('asleep', start_parameter_services=False)
    other.create_subscription(PoseStamped, 'asleep/goal_stream', lambda _: None, 10)
    probe.create_subscription(Empty, 'asleep/halt', halts.append, BEST_EFFORT_QOS)
    probe.wait(lambda: hand.commands._publishers['goal_stream'].get_subscription_count()
               and hand.commands._stop._halts.get_subscription_count())

    def streamed(times):
        halts.clear()
        for _ in range(times):
            assert hand.commands.stream('base_link', np.eye(4))
            probe.spin_for(0.03)
        return len(halts)

    assert not streamed(1)
    hand.commands.stop()
    assert streamed(10) > 5
    probe.spin_for(STREAM_PAUSE_S + 0.1)
    streamed(3)  # a halt from before may still come
    assert not streamed(10)
    other.destroy_node()


def test_a_node_in_a_namespace(tmp_path, probe):
    """A name without a leading slash is in the namespace of the caller."""
    with process('ik_node', tmp_path, {'urdf_file': ARM}, arguments=['-r', '__ns:=/left']):
        node = Node('hand', namespace='/left', start_parameter_services=False)
        said = []
        commands = Commands(node, 'ik_node', lambda *answer: said.append(answer))
        assert commands._stop.client.wait_for_service(60.0)
        commands.stop()
        while not said:
            rclpy.spin_once(node, timeout_sec=0.1)
        assert 'nobody offers' not in said[0][1] and said[0][1]
        node.destroy_node()
