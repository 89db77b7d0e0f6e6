# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The handle in RViz; the test takes the place of RViz.

What the handle does with a drag and its commands is tested in test/ui/test_handle.py.
"""

from importlib.util import find_spec
import subprocess
import sys

from fuzz.messages import like
from geometry_msgs.msg import PoseStamped
from harness import FINAL, latest, lent, PATIENCE_S, pose, Probe, process, READY, se3, tip
from hypothesis import given, HealthCheck, Phase, settings, strategies as st
import numpy as np
import pinocchio as pin
import pytest
from std_msgs.msg import String
from test_named_poses import ASIDE, group_state
from visualization_msgs.msg import (
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    InteractiveMarkerUpdate,
)
from visualization_msgs.srv import GetInteractiveMarkers

from ik_node.ros.middleware.qos import LATCHED_QOS

HERE = tip(READY)
NEAR = pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.0, 0.1) @ HERE.rotation,
               HERE.translation + [0.02, -0.1, -0.05])
LABELS = ['plan', 'move', 'move in a line', 'handle to tip', '[ ] follow while dragging', 'home',
          'stop', 'pause', 'go on', '[ ] position only', '[ ] free about the tool axis',
          '[ ] keep level']
# A busy machine is not what is tested here.
PATIENT = {'state__timeout': 10.0, 'watch__start_timeout': 10.0, 'stream__timeout': 0.5}

needs_package = pytest.mark.skipif(
    find_spec('interactive_markers') is None,
    reason='interactive_markers is not on PyPI; it comes with ROS 2')


class RViz:
    """Acts as RViz for an interactive marker: keeps the latest one and sends feedback."""

    def __init__(self, probe, topics='interactive_goal'):
        self.marker = None
        self.erased = False
        self.poses = []
        self.probe = probe
        self.feedback = probe.create_publisher(
            InteractiveMarkerFeedback, f'{topics}/feedback', 100)
        self._updates = probe.create_subscription(
            InteractiveMarkerUpdate, f'{topics}/update', self._on_update, 100)
        self._client = probe.create_client(
            GetInteractiveMarkers, f'{topics}/get_interactive_markers')
        probe.wait(self.feedback.get_subscription_count, what='the handle')
        assert self._client.wait_for_service(PATIENCE_S)
        probe.wait(self._look, 30.0, 'the handle')
        probe.spin_for(1.1)  # the server takes nothing for 1 s after it has made a marker

    def _look(self):
        future = self._client.call_async(GetInteractiveMarkers.Request())
        self.probe.wait(future.done)
        for self.marker in future.result().markers:
            return True
        return False

    def _on_update(self, update):
        for self.marker in update.markers:
            pass
        for moved in update.poses:
            self.marker.header, self.marker.pose = moved.header, moved.pose
        self.poses += [shown.pose for shown in (*update.markers, *update.poses)]
        self.erased = self.erased or 'goal' in update.erases

    def send(self, event, control, message=None, entry=0):
        """Send feedback; without a pose, with that of the marker."""
        self.feedback.publish(InteractiveMarkerFeedback(
            header=self.marker.header, client_id='rviz', marker_name='goal',
            control_name=control, event_type=event, menu_entry_id=entry,
            pose=message or self.marker.pose))

    def press(self, control='move_x'):
        """Press the left button on a control, without moving."""
        self.send(InteractiveMarkerFeedback.POSE_UPDATE, control, single(self.marker.pose))
        self.send(InteractiveMarkerFeedback.MOUSE_DOWN, control, single(self.marker.pose))

    def pull(self, T, control='move_x'):
        """Move the mouse, so that the handle is at T."""
        self.send(InteractiveMarkerFeedback.POSE_UPDATE, control,
                  single(pose(T.translation, T.rotation)))

    def release(self, T, control='move_x'):
        """Release the button with the handle at T."""
        self.pull(T, control)
        self.send(InteractiveMarkerFeedback.MOUSE_UP, control,
                  single(pose(T.translation, T.rotation)))

    def drag(self, *poses):
        """Take the handle along poses, and wait until that is known."""
        self.press()
        for T in poses:
            self.pull(T)
        self.release(poses[-1])
        self.probe.wait(lambda: self.shows(poses[-1]), what='the dragged pose')

    def choose(self, label):
        """Choose an entry of the menu."""
        entry, = (entry for entry in self.marker.menu_entries if entry.title.endswith(label))
        self.send(InteractiveMarkerFeedback.MENU_SELECT, '', entry=entry.id)

    def titles(self):
        """Return the entries of the menu, with their check marks."""
        return [entry.title for entry in self.marker.menu_entries]

    def shows(self, T, tolerance=1e-5):
        """Return whether the handle is at T."""
        return np.linalg.norm(pin.log6(se3(self.marker.pose).actInv(T)).vector) < tolerance

    def colour(self):
        """Return the name of the colour of the sphere."""
        colour = self.marker.controls[0].markers[0].color
        if colour.b > 0.5:
            return ''
        if colour.r > 0.5 and colour.g > 0.5:
            return 'amber'
        return 'red' if colour.r > colour.g else 'green'


def single(message):
    """Return a pose as RViz has it, in single precision."""
    p, o = message.position, message.orientation
    made = type(message)()
    for field, source in ((made.position, p), (made.orientation, o)):
        for name in source.get_fields_and_field_types():
            setattr(field, name, float(np.float32(getattr(source, name))))
    return made


@pytest.fixture(scope='module')
def shared_rviz(shared_system, tmp_path_factory):
    """Run the handle."""
    with process('interactive_goal', tmp_path_factory.mktemp('handle')) as running:
        shown = RViz(shared_system)
        shown.log = running
        shown.heard = {}
        for name in ('preview_pose', 'goal_stream', 'goal_pose'):
            heard = shown.heard[name] = []
            shared_system.create_subscription(PoseStamped, f'/ik_node/{name}', heard.append, 100)
        for name in shown.heard:
            shared_system.wait(lambda name=name: shared_system.count_publishers(
                f'/ik_node/{name}') and shared_system.count_subscribers(f'/ik_node/{name}') > 1,
                what=name)
        shared_system.spin_for(0.5)
        yield shown


@pytest.fixture
def rviz(shared_rviz):
    """Return RViz with arm and handle at READY, and nothing checked."""
    with lent(shared_rviz.probe):
        shared_rviz.probe.change('/ik_node', **PATIENT)
        for title in shared_rviz.titles():
            if title.startswith('[x]'):
                shared_rviz.choose(title[4:])
        shared_rviz.probe.wait(lambda: shared_rviz.titles() == LABELS)
        shared_rviz.drag(NEAR, HERE)
        shared_rviz.probe.wait(lambda: shared_rviz.shows(HERE))
        shared_rviz.probe.spin_for(0.2)
        for heard in shared_rviz.heard.values():
            heard.clear()
        yield shared_rviz


def final_of_last(rviz):
    """Wait until the newest goal has its final answer, and return it."""
    rviz.probe.wait(lambda: rviz.probe.statuses
                    and rviz.probe.statuses[-1]['state'] in FINAL, 20.0, 'a final answer')
    return rviz.probe.statuses[-1]


@needs_package
def test_starts_at_the_tip(shared_rviz):
    """The handle is in the frame of ~/tip_pose, with an arrow and a ring for each axis."""
    marker = shared_rviz.marker
    assert marker.header.frame_id == 'base_link'
    assert marker.header.stamp.sec == marker.header.stamp.nanosec == 0  # moves with its frame
    assert shared_rviz.shows(HERE, 1e-4)
    assert marker.scale == pytest.approx(0.2)
    axes = {}
    for control in marker.controls:
        o = control.orientation
        turn = pin.Quaternion(np.array([o.x, o.y, o.z, o.w])).matrix()
        axes.setdefault(control.interaction_mode, []).append(np.abs(turn[:, 0]))
    for mode in (InteractiveMarkerControl.MOVE_AXIS, InteractiveMarkerControl.ROTATE_AXIS):
        assert np.allclose(axes.pop(mode), np.eye(3))
    assert list(axes) == [InteractiveMarkerControl.MENU]
    assert shared_rviz.titles() == LABELS


@needs_package
def test_a_drag_is_previewed(rviz):
    """The arm does not move; the sphere has the colour of the answer."""
    away = pin.SE3(HERE.rotation, HERE.translation + [3.0, 0.0, 0.0])
    previews = rviz.heard['preview_pose']
    for T, colour in ((NEAR, 'green'), (away, 'red'), (NEAR, 'green')):
        rviz.press()
        rviz.pull(T)
        rviz.probe.wait(lambda colour=colour: rviz.colour() == colour, what=colour)
        previews.clear()
        rviz.release(T)
        rviz.probe.wait(lambda T=T: rviz.shows(T))
        rviz.probe.wait(lambda: len(previews) >= 2, what='the previews of the last poses')
    assert previews[-1].header.frame_id == 'base_link'
    assert np.linalg.norm(pin.log6(se3(previews[-1].pose).actInv(NEAR)).vector) < 1e-5
    assert np.abs(latest(rviz.probe) - READY).max() < 1e-5
    assert not rviz.probe.statuses


@needs_package
def test_a_click_is_no_drag(rviz):
    """RViz sends the pose, in single precision, with each click: that is not a drag."""
    for control in ('move_x', 'menu'):
        rviz.press(control)
        rviz.release(se3(rviz.marker.pose), control)
    rviz.choose('follow while dragging')
    rviz.probe.wait(lambda: '[x] follow while dragging' in rviz.titles())
    rviz.press()
    rviz.press('menu')
    rviz.drag(NEAR)  # comes after all of it
    rviz.probe.wait(lambda: rviz.heard['goal_stream'])
    assert not rviz.heard['preview_pose']
    assert np.linalg.norm(se3(rviz.heard['goal_stream'][0].pose).translation
                          - NEAR.translation) < 1e-6
    assert final_of_last(rviz)['reason'] == 'STREAM_ENDED'


@needs_package
def test_a_menu_does_not_move_it(rviz):
    """The pose sent with a click on the menu is ignored, and nothing is previewed."""
    rviz.poses.clear()
    rviz.send(InteractiveMarkerFeedback.POSE_UPDATE, 'menu', pose(NEAR.translation, NEAR.rotation))
    rviz.probe.wait(lambda: rviz.poses and rviz.shows(HERE))
    rviz.probe.spin_for(0.3)
    assert rviz.shows(HERE) and not rviz.heard['preview_pose']


@needs_package
def test_move(rviz):
    """The tip moves to the handle."""
    rviz.drag(NEAR)
    rviz.choose('move')
    assert final_of_last(rviz)['state'] == 'reached'
    assert np.linalg.norm(pin.log6(NEAR.actInv(tip(latest(rviz.probe)))).vector) < 1e-5
    assert len(rviz.heard['goal_pose']) == 1


@needs_package
def test_named_poses(rviz):
    """They are entries below one of their own while there are some; one of them is reached."""
    semantics = rviz.probe.create_publisher(String, '/robot_description_semantic', LATCHED_QOS)
    rviz.probe.wait(semantics.get_subscription_count, what='the SRDF')
    for names in (['aside', 'back'], ['aside']):
        semantics.publish(String(data='<robot name="r">' + ''.join(
            group_state(name, ASIDE) for name in names) + '</robot>'))
        rviz.probe.wait(lambda names=names: rviz.titles() == [*LABELS, 'named poses', *names],
                        what=f'the entries {names}')
    parent, entry = rviz.marker.menu_entries[-2:]
    assert entry.parent_id == parent.id and parent.parent_id == 0
    rviz.choose('position only')  # the others are still entries that work
    rviz.probe.wait(lambda: '[x] position only' in rviz.titles())
    rviz.choose('aside')
    answer = final_of_last(rviz)
    assert (answer['kind'], answer['state']) == ('named', 'reached'), answer
    assert np.abs(latest(rviz.probe) - ASIDE).max() < 1e-5
    rviz.choose('position only')
    semantics.publish(String(data='<robot name="r"/>'))
    rviz.probe.wait(lambda: rviz.titles() == LABELS, what='no named poses')
    rviz.probe.destroy_publisher(semantics)


@needs_package
def test_keep_level(rviz):
    """The check is that of the parameter motion.keep, whoever sets it."""
    rviz.choose('keep level')
    rviz.probe.wait(lambda: '[x] keep level' in rviz.titles(), what='the check')
    turned = [*READY[:4], READY[4] + 0.3, READY[5]]
    assert rviz.probe.final(rviz.probe.send_joints(turned))['reason'] == 'CONSTRAINT'
    rviz.choose('keep level')
    rviz.probe.wait(lambda: rviz.titles() == LABELS, what='no check')
    assert rviz.probe.final(rviz.probe.send_joints(turned))['state'] == 'reached'
    rviz.probe.change('/ik_node', motion__keep='{distance: 5.0}')
    rviz.probe.wait(lambda: '[x] keep level' in rviz.titles(), what='the check of another')
    rviz.choose('keep level')
    rviz.probe.wait(lambda: rviz.titles() == LABELS, what='no check')


@needs_package
@pytest.mark.parametrize('control, spoil, words', [
    ('move_x', lambda p: setattr(p.position, 'x', float('nan')), 'position.x of the goal is nan'),
    ('menu', lambda p: [setattr(p.orientation, name, 0.0) for name in 'xyzw'], 'is not set')])
def test_a_bad_pose(rviz, control, spoil, words):
    """It is ignored with one warning; the handle stays where it is."""
    before = rviz.log.output
    bad = pose(NEAR.translation, NEAR.rotation)
    spoil(bad)
    rviz.poses.clear()
    for _ in range(5):
        rviz.send(InteractiveMarkerFeedback.POSE_UPDATE, control, bad)
    rviz.drag(NEAR)
    rviz.probe.wait(lambda: rviz.heard['preview_pose'])
    assert all(np.allclose(se3(m.pose).translation, NEAR.translation, atol=1e-6)
               for m in rviz.heard['preview_pose'])
    for shown in rviz.poses:
        o = shown.orientation
        assert np.isfinite(shown.position.x)
        assert np.linalg.norm([o.x, o.y, o.z, o.w]) == pytest.approx(1.0, abs=1e-6)
    said = rviz.log.output[len(before):]
    assert said.count('ignored a pose of the handle') == 1 and words in said


@needs_package
@pytest.mark.fault('goals', 'any well-typed feedback of an interactive marker',
                   'the handle is shown at a pose that makes sense, and can be dragged')
def test_any_feedback(rviz):
    """Odd feedback between normal feedback moves nothing by itself."""
    probe, kinds = rviz.probe, InteractiveMarkerFeedback
    good = kinds(header=rviz.marker.header, client_id='rviz', marker_name='goal',
                 control_name='move_x', event_type=kinds.POSE_UPDATE, pose=rviz.marker.pose)
    # An entry of the menu may well move the arm.
    odd = like(good).filter(lambda sent: sent.event_type != kinds.MENU_SELECT)
    rviz.poses.clear()

    @settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(st.lists(odd, min_size=8, max_size=8))
    def send(batch):
        for message in batch:
            message.client_id = 'rviz'  # another one is not heard for a second
            rviz.feedback.publish(message)
        probe.spin_for(0.02)

    send()
    rviz.drag(NEAR)
    for shown in rviz.poses:
        o = shown.orientation
        assert np.isfinite([*se3(shown).translation]).all()
        assert np.linalg.norm([o.x, o.y, o.z, o.w]) == pytest.approx(1.0, abs=1e-6)
    assert rviz.log.running() and 'Traceback' not in rviz.log.output
    assert np.abs(latest(probe) - READY).max() < 1e-5
    rviz.choose('move')
    assert final_of_last(rviz)['state'] == 'reached'


@pytest.fixture
def other(shared_system, tmp_path):
    """Run a second handle of the arm in a namespace, held by an RViz that may go."""
    with lent(shared_system), process('interactive_goal', tmp_path, {
            'ik_node': '/ik_node', 'scale': 0.3}, {'__ns': '/other'}) as running:
        shared_system.change('/ik_node', **PATIENT)
        shown = RViz(Probe('rviz'), '/other/interactive_goal')
        shown.log = running
        yield shown


def follow(rviz, system):
    """Drag with the arm following until it does."""
    rviz.choose('follow while dragging')
    rviz.probe.wait(lambda: '[x] follow while dragging' in rviz.titles())
    rviz.press()
    rviz.pull(NEAR)
    system.wait(lambda: [status['state'] for status in system.statuses] == ['accepted'])


@needs_package
def test_rviz_goes_away(other, shared_system):
    """The handle is released if its RViz is gone; the arm stops."""
    assert other.marker.scale == pytest.approx(0.3)
    follow(other, shared_system)
    other.probe.destroy_node()
    shared_system.wait(lambda: shared_system.statuses[-1]['reason'] == 'STREAM_ENDED', 30.0)
    assert other.log.output.count('RViz closed while the handle was dragged') == 1


@needs_package
def test_end(other, shared_system):
    """At the end of the node the handle is removed and the arm stops."""
    follow(other, shared_system)
    assert other.log.stop() == 0
    other.probe.wait(lambda: other.erased, what='the end of the handle')
    shared_system.wait(lambda: shared_system.statuses[-1]['reason'] == 'STREAM_ENDED')
    other.probe.destroy_node()


def test_without_the_package():
    """Without interactive_markers the node ends with one sentence and exit code 1."""
    done = subprocess.run(
        [sys.executable, '-c', "import sys; sys.modules['interactive_markers'] = None\n"
         'from ik_node.tools.entry import interactive_goal; interactive_goal()'],
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and 'Traceback' not in done.stderr
    sentence, = done.stderr.splitlines()
    assert sentence.startswith('ik_node needs interactive_markers, which is not installed here')
    assert '-interactive-markers; the browser' in sentence and 'pip' not in sentence
