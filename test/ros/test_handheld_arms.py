# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Several arms on the page for a phone or a headset: none ends what is done with another one."""

from contextlib import contextmanager
import socket
from time import monotonic

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped
from harness import free_port, LATCHED, pose, Process, process
import numpy as np
import pytest
from std_msgs.msg import Empty
from std_srvs.srv import Trigger
from test_handheld import Headset, LEFT

from ik_node.ros.messages.conversion import matrix_from_pose
from ik_node.ros.messages.status_messages import stamp_text
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS

TIP = np.array([0.4, 0.1, 0.5])
TIP_PERIOD_S, PAUSE_S = 0.04, 1.0
TIMEOUT = 1.5  # s, of a hand: on a busy machine frames of two are late


class PlayedArm:
    """The topics of an ik_node by which a hand leads its arm, which is where it shall be."""

    def __init__(self, probe, name):
        self.probe, self.name = probe, name
        self.poses, self.halts, self.stops = [], [], 0
        self.first, self.last = None, -np.inf  # stamp and time (s) of a stream
        self.tip = probe.create_publisher(PoseStamped, f'{name}/tip_pose', 1)
        self.answers = probe.create_publisher(DiagnosticStatus, f'{name}/answers', LATCHED)
        self.parts = [
            (probe.destroy_subscription,
             probe.create_subscription(PoseStamped, f'{name}/goal_stream', self.follow, 10)),
            (probe.destroy_subscription,
             probe.create_subscription(Empty, f'{name}/halt', self.halts.append,
                                       BEST_EFFORT_QOS)),
            (probe.destroy_service,
             probe.create_service(Trigger, f'{name}/stop', self.stop)),
            (probe.destroy_timer, probe.create_timer(TIP_PERIOD_S, self.tick)),
            (probe.destroy_publisher, self.tip), (probe.destroy_publisher, self.answers)]
        self.tells = True

    def destroy(self):
        """Leave the graph."""
        for end, part in self.parts:
            end(part)

    def tick(self):
        """Tell where the tip is, and end a stream that has run out of poses."""
        if not self.tells:
            return
        message = PoseStamped(pose=pose(TIP))
        message.header.frame_id = 'base'
        self.tip.publish(message)
        if self.first is not None and monotonic() > self.last + PAUSE_S:
            self.answer('stopped', 'STREAM_ENDED')

    def follow(self, message):
        """Take a pose of a stream."""
        self.poses.append(matrix_from_pose(message.pose, 'x')[:3, 3] - TIP)
        self.last, self.stamp = monotonic(), stamp_text(message.header.stamp)
        if self.first is None and self.tells:
            self.first = self.stamp
            self.answer('accepted', 'ACCEPTED')

    def answer(self, state, reason):
        """Answer the stream."""
        values = {'stamp': self.first, 'last_stamp': self.stamp, 'kind': 'stream',
                  'state': state, 'reason': reason}
        self.answers.publish(DiagnosticStatus(
            name='x', message=f'{self.name} {reason}', hardware_id='1',
            values=[KeyValue(key=key, value=value) for key, value in values.items()]))
        if state != 'accepted':
            self.first = None

    def stop(self, _request, response):
        """Stop."""
        self.stops += 1
        if self.first is not None:
            self.answer('stopped', 'STOPPED')
        return Trigger.Response(success=True, message='stopped')

    def goes_to(self, shift):
        """Return whether the last pose of a stream is where the tip was, and a way farther."""
        return bool(self.poses) and np.abs(self.poses[-1] - shift).max() < 1e-6


@contextmanager
def served(folder, probe, **parameters):
    """Run the page; yield the process, and the address of its websocket."""
    port = free_port()
    with process('handheld', folder, {'port': port, 'sample_timeout': TIMEOUT,
                                      **parameters}) as running:
        probe.wait(lambda: f'open http://127.0.0.1:{port}' in running.output, 60.0)
        yield running, f'ws://127.0.0.1:{port}/socket'


@pytest.fixture
def arms(probe):
    """Play two arms of a robot."""
    made = [PlayedArm(probe, f'/odd/{side}') for side in ('left', 'right')]
    yield made
    for arm in made:
        arm.destroy()


@pytest.fixture
def hands(probe, arms, tmp_path):
    """Open a page for each of two arms; each has taken its clutch."""
    with served(tmp_path, probe, arms='[/odd/left, /odd/right]') as (_, place):
        pages = [Headset(probe, place, side) for side in ('left', 'right')]
        for page in pages:
            page.wait(lambda state: not state['refusal'], 'the arm', held=False)
        yield pages
        for page in pages:
            page.socket.close()


def lead(count, *pages):
    """Send frames of some pages, held: (page, its way, in the axes of WebXR) each."""
    for _ in range(count):
        for page, way in pages:
            page.frames(1, True, np.array(way) / count)


def take(*pages):
    """Take the clutch of each page's arm; all are held from the first on."""
    for page in pages:
        page.frames(1, False)
    hold_until(lambda: all(page.look()['holding'] for page in pages), 'the clutches', *pages)


def lead_until(condition, what, *pages):
    """Lead with some pages, as :func:`lead` with the way of a frame, until a condition holds."""
    def met():
        lead(1, *pages)
        return condition()

    pages[0][0].probe.wait(met, what=what)


def hold_until(condition, what, *pages):
    """Hold still with some pages until a condition holds."""
    lead_until(condition, what, *((page, 0.0 * LEFT) for page in pages))


def test_each_hand_leads_its_own_arm(arms, hands):
    """At once, to different places; one lets go, or is cut off, and the other one goes on."""
    (left, right), (one, other) = arms, hands
    take(*hands)
    lead(20, (one, 0.05 * LEFT), (other, -0.03 * LEFT))
    hold_until(lambda: left.goes_to([0.0, 0.05, 0.0]) and right.goes_to([0.0, -0.03, 0.0]),
               'both arms', *hands)
    one.frames(1, False)
    lead(30, (other, -0.03 * LEFT))
    hold_until(lambda: not one.look()['holding'] and 'STREAM_ENDED' in one.state['answer']
               and right.goes_to([0.0, -0.06, 0.0]), 'the end', other)
    assert left.goes_to([0.0, 0.05, 0.0])
    assert other.look()['holding'] and not other.state['notice']
    one.frames(1, False)
    lead(5, (one, 0.01 * LEFT), (other, 0.0 * LEFT))
    hold_until(lambda: left.goes_to([0.0, 0.008, 0.0]), 'the left arm', *hands)
    one.socket.socket.shutdown(socket.SHUT_RDWR)
    lead(10, (other, 0.01 * LEFT))
    count = len(left.poses)
    lead(30, (other, 0.01 * LEFT))
    hold_until(lambda: right.goes_to([0.0, -0.04, 0.0]), 'the right arm', other)
    assert len(left.poses) == count and other.look()['holding']


def test_stop_stops_all(arms, hands):
    """By whichever page; each says so, and needs a fresh press."""
    take(*hands)
    hands[0].say(type='stop')
    for page in hands:
        page.wait(lambda state: not state['holding'] and state['notice'], 'a release', held=True)
    hands[0].wait(lambda _: all(arm.stops and arm.halts for arm in arms), 'stops', held=True)
    assert all(not page.look()['holding'] for page in hands)


@pytest.mark.fault('clients', 'two phones want the same arm, or a message of one is wrong',
                   'the second one is refused, and told why; who leads an arm goes on')
def test_what_does_not_disturb_who_leads(probe, arms, hands):
    """The same arm for two, an arm that is not there, none, and messages that are none."""
    (left, right), (one, other) = arms, hands
    take(*hands)
    other.arm = 'left'
    other.frames(1, False)
    other.frames(1, True)
    other.wait(lambda state: 'moves the arm' in state['notice'], 'a refusal')
    for arm, words in (('up', "leads 'up'; the arms are 'left', 'right'"), ('', 'leads no arm'),
                       (3, 'arm is 3'), ({}, 'arm is {}')):
        lead(2, (one, 0.0 * LEFT))
        other.sample(True, arm=arm)
        other.wait(lambda state, words=words: words in state['notice'], words)
        lead(2, (one, 0.0 * LEFT))
    # Its own arm has lost it in between, as nothing came; the other has not.
    hold_until(lambda: right.first is None, 'the end', one)
    assert one.look()['holding'] and not one.state['notice'] and left.goes_to([0.0, 0.0, 0.0])


@pytest.mark.fault('clients', 'one of the arms that a page leads goes away, and comes back',
                   'its hand is told and lets go; the other one goes on')
def test_an_arm_that_goes_and_comes_back(probe, arms, hands):
    """Without a word, then with its topics; the other arm is led meanwhile."""
    right, (one, other) = arms[1], hands
    take(*hands)
    right.tells = False
    lead_until(lambda: not other.look()['holding'], 'a release',
               (one, 0.0005 * LEFT), (other, 0.0 * LEFT))
    assert '/odd/right has told nothing for 2 s' in other.state['notice']
    right.destroy()
    for _ in range(3):
        lead(10, (one, 0.0005 * LEFT))
        other.frames(1, False)
    other.wait(lambda state: 's old' in state['refusal'], 'a refusal', held=False)
    one.frames(1)
    assert one.look()['holding'], one.state
    arms[1] = back = PlayedArm(probe, '/odd/right')
    lead_until(lambda: other.sample(False) or not other.look()['refusal'], 'the arm',
               (one, 0.0 * LEFT))
    hold_until(lambda: other.look()['holding'], 'the clutch', *hands)
    lead(10, (other, 0.02 * LEFT), (one, 0.0 * LEFT))
    hold_until(lambda: back.goes_to([0.0, 0.02, 0.0]), 'the right arm', *hands)
    assert one.look()['holding']


@pytest.mark.parametrize('robot, given', [('/odd', {'ik_node': '/odd'}), ('/ik_arms', {})])
def test_arms_that_are_found(probe, tmp_path, robot, given):
    """Those of an ik_arms that is named, or runs in place of the ik_node; also a late one."""
    right = PlayedArm(probe, f'{robot}/right')
    with served(tmp_path, probe, **given) as (running, place):
        page = Headset(probe, place, 'right')
        probe.wait(lambda: f"leads 'right' of {robot.strip('/')}" in running.output.replace(
            ' /', ' '))
        page.wait(lambda state: state and not state['refusal'], 'the arm', held=False)
        page.press()
        assert page.state['hand'] == 'right'  # the left one does not lead it meanwhile
        left = PlayedArm(probe, f'{robot}/left')
        hold_until(lambda: "'left', 'right' of" in running.output, 'the other one', page)
        assert page.look()['holding']
        page.arm = 'left'
        page.wait(lambda state: state['hand'] == 'left' and not state['refusal'], 'the left one',
                  held=False)
        page.press()
        page.frames(10, True, 0.02 * LEFT)
        hold_until(lambda: left.goes_to([0.0, 0.02, 0.0]), 'the left arm', page)
        one = given.get('ik_node', '/ik_node')
        probe.wait(lambda: not any(info.node_name == 'handheld' for info in (
            *probe.get_subscriptions_info_by_topic(f'{one}/answers'),
            *probe.get_subscriptions_info_by_topic(f'{one}/tip_pose'),
            *probe.get_publishers_info_by_topic(f'{one}/goal_stream'),
            *probe.get_publishers_info_by_topic(f'{one}/halt'))), what='nothing of the one arm')
        page.socket.close()
    for arm in (left, right):
        arm.destroy()


def test_one_arm_stays_one(probe, tmp_path):
    """An ik_node that is there is led, whatever else comes."""
    one = PlayedArm(probe, '/ik_node')
    with served(tmp_path, probe) as (running, place):
        page = Headset(probe, place)
        page.wait(lambda state: not state['refusal'], 'the arm', held=False)
        other = PlayedArm(probe, '/ik_arms/left')
        probe.spin_for(2.5)
        page.frames(1, False)
        page.press()
        assert page.state['hand'] == ''
        page.frames(10, True, 0.02 * LEFT)
        hold_until(lambda: one.goes_to([0.0, 0.02, 0.0]), 'the arm', page)
        assert 'leads' not in running.output
        page.socket.close()
    for arm in (one, other):
        arm.destroy()


def test_arms_of_one_name(tmp_path):
    """One sentence, and exit code 1."""
    running = Process('handheld', tmp_path / 'log', {'port': free_port(), 'arms': '[/x, x]'})
    assert running.wait(60.0) == 1 and 'a different name for each arm' in running.output
    assert 'Traceback' not in running.output
