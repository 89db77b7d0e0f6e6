# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The handle of a goal, in RViz or in the browser: what it asks for, shows, and when it moves."""

import numpy as np
import pinocchio as pin
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue  # noqa: E402

from ik_node.ros.messages.conversion import pose_stamped  # noqa: E402
from ik_node.ui import handle as under_test  # noqa: E402
from ik_node.ui.handle import Handle, LEVEL, MENU_ENTRIES, STILL_TIME_S  # noqa: E402
from ik_node.ui.node_client import Kind  # noqa: E402

HERE = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.5, 0.2), np.array([0.5, 0.1, 0.4]))
NEAR = HERE * pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.0, 0.1), np.array([0.02, -0.1, -0.05]))
TURNED = HERE * pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 0.5), np.zeros(3))
RATE_HZ = 50.0  # of the poses of the tip


class World:
    """A node, an ik_node, a display and a clock; what the handle does to them is kept."""

    def __init__(self, monkeypatch):
        self.now, self.calls, self.said, self.shown, self.colours = 100.0, [], [], [], []
        self.checks, self.tools, self.topics, self.held = 0, [], {}, None
        self.count = 0
        monkeypatch.setattr(under_test, 'monotonic', lambda: self.now)
        monkeypatch.setattr(under_test, 'Commands', lambda node, target, say: self)
        self.handle = Handle(self, '/ik_node', self, lambda *said: self.said.append(said))
        self.follow_tip(HERE, 1.0)
        self.calls.clear()

    # the ik_node, whose commands are each kept with what they are given
    def __getattr__(self, name):
        def call(*given):
            self.calls.append((name, *given))
            self.count += 1
            return f'1.{self.count}'
        return call

    # the node
    def create_subscription(self, _kind, topic, callback, _qos):
        self.topics[topic.rpartition('/')[2]] = callback

    def create_timer(self, _period, callback, clock=None):
        self.hold = callback
        return self

    def cancel(self):
        self.held = None

    def reset(self):
        self.held = self.hold

    # the display
    def show_pose(self, frame, T):
        self.shown.append((frame, T))

    def show_colour(self, colour, sentence):
        self.colours.append((colour, sentence))

    def show_checks(self):
        self.checks += 1

    def show_tools(self, names, mounted):
        self.tools.append((list(names), mounted))

    # what happens
    def follow_tip(self, T, seconds):
        """Let time pass while the tip is at T; a handle that is held still repeats its pose."""
        for _ in range(round(seconds * RATE_HZ)):
            self.now += 1.0 / RATE_HZ
            self.topics['tip_pose'](pose_stamped(T.homogeneous, 'base_link'))
            if self.held:
                self.held()

    def drag(self, T):
        self.handle.drag('base_link', T.homogeneous)

    def told(self, colour, stamp=None):
        """Answer the preview that was asked for last."""
        self.topics['preview'](DiagnosticStatus(message=f'it is {colour}', values=[
            KeyValue(key='stamp', value=stamp or f'1.{self.count}'),
            KeyValue(key='colour', value=colour)]))

    def names(self):
        """Return the commands that were given, in their order."""
        return [call[0] for call in self.calls]

    def at(self, T, tolerance=1e-9):
        """Return whether the handle is at T."""
        return np.abs(self.handle.T - T.homogeneous).max() < tolerance


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def test_it_starts_at_the_tip_and_follows_motions(world):
    """At their end only, and not if it was dragged meanwhile."""
    assert world.at(HERE) and world.shown[-1][0] == 'base_link'
    world.follow_tip(NEAR, 0.2)
    assert world.at(HERE)
    world.follow_tip(NEAR, 1.0)
    assert world.at(NEAR)
    world.follow_tip(HERE, 0.2)
    world.drag(TURNED)
    world.handle.release()
    world.follow_tip(HERE, 3.0)
    assert world.at(TURNED)
    world.follow_tip(NEAR, 2.0)  # the next motion takes it along again
    assert world.at(NEAR)


def test_a_drag_is_previewed(world):
    """The colour is that of the last pose; answers to others change nothing."""
    world.drag(NEAR)
    first = f'1.{world.count}'
    world.told('green')
    assert world.colours[-1] == ('green', 'it is green')
    world.handle.release()
    assert world.names() == ['preview', 'preview'] and not world.handle.dragging
    assert world.calls[-1][1:3] == (Kind.POSE, 'base_link')
    assert np.array_equal(world.calls[-1][3], NEAR.homogeneous)
    world.told('red')
    world.told('amber', stamp='9.9')
    assert world.colours[-1][0] == 'red'
    world.handle.to_tip()
    world.told('green', stamp=first)
    assert world.at(HERE) and world.colours[-1] == ('', '')
    assert 'move' not in world.names() and 'stream' not in world.names()


def test_plan_and_postures_come_after_their_preview(world):
    """The node plans for the last preview, so that has to be answered first."""
    for ask, name in ((world.handle.plan, 'plan'), (world.handle.list_postures, 'list_postures')):
        world.drag(NEAR)
        ask()
        assert world.calls[-1][0] == 'preview'
        asked = f'1.{world.count}'
        world.told('green')
        world.told('green', asked)
        assert world.names().count(name) == 1 and world.calls[-1][0] == name
    assert world.handle.listed
    world.drag(HERE)
    assert not world.handle.listed


@pytest.mark.parametrize('label, call', [
    ('move', ('move', Kind.POSE, 'base_link')), ('move in a line', ('line', 'base_link')),
    ('home', ('home',)), ('stop', ('stop',)), ('pause', ('pause', True)),
    ('go on', ('pause', False)), ('aside', ('named', 'aside'))])
def test_commands(world, label, call):
    """Each goes to the node, with the handle where it is; the tip takes the handle along then."""
    entries = {'aside': lambda handle: handle.named('aside'),
               **{entry.label: entry.do for entry in MENU_ENTRIES}}
    world.follow_tip(TURNED, 0.2)  # a motion, during which it is dragged
    world.drag(NEAR)
    world.handle.release()
    entries[label](world.handle)
    assert world.calls[-1][:len(call)] == call
    assert call[0] not in ('move', 'line') or np.array_equal(world.calls[-1][-1], NEAR.homogeneous)
    world.follow_tip(TURNED, 2.0)
    assert world.at(NEAR if call[0] == 'pause' else TURNED)  # it was not for a new goal


def test_kinds(world):
    """Position only and free about the tool axis exclude each other, for streams, too."""
    for toggle, kind, axes in ((Handle.toggle_position, Kind.POSITION, ['rx', 'ry', 'rz']),
                               (Handle.toggle_pointing, Kind.POINTING, ['rz']),
                               (Handle.toggle_pointing, Kind.POSE, [''])):
        before = world.checks
        toggle(world.handle)
        assert world.handle.kind is kind and world.checks > before
        assert world.calls[-1] == ('set', {'stream.free_axes': axes})
        world.drag(NEAR)
        assert world.calls[-1][:2] == ('preview', kind)
        world.handle.move()
        assert world.calls[-1][:2] == ('move', kind)
        world.drag(NEAR)
        world.handle.to_tip()  # no preview is open, so none is asked for anew


def test_keep_level(world):
    """It sets a parameter; the check is what the node has, also if that refuses."""
    level = next(entry for entry in MENU_ENTRIES if entry.label == 'keep level')
    for given, done, checked in ((LEVEL, False, False), (LEVEL, True, True), ('', False, True),
                                 ('', True, False)):
        before = world.checks
        level.do(world.handle)
        name, values, answered = world.calls[-1]
        assert (name, values) == ('set', {'motion.keep': given}) and world.checks == before
        answered(done, 'why not')
        assert world.said[-1][0] == done and (world.said[-1][1] == 'why not') == (not done)
        assert world.checks == before + 1 and level.checked(world.handle) == checked
    world.handle.take_keep(LEVEL)
    assert level.checked(world.handle) and not level.instead(world.handle)
    world.handle.take_keep('{distance: 1}')  # somebody else's
    before = world.checks
    world.handle.take_keep('{distance: 1}')
    assert world.checks == before
    assert level.checked(world.handle) and '{distance: 1}' in level.instead(world.handle)
    level.do(world.handle)
    assert world.calls[-1][1] == {'motion.keep': ''}


def test_a_change_of_kind_is_previewed(world):
    """The same pose may be reachable then."""
    world.drag(NEAR)
    world.handle.toggle_position()
    assert world.calls[-1][:2] == ('preview', Kind.POSITION)


def test_following(world):
    """A stream from the first drag to the release; a pose is repeated only if the hand rests."""
    world.handle.toggle_following()
    world.drag(NEAR)
    for _ in range(10):
        world.drag(NEAR)
        world.now += STILL_TIME_S - 1e-3
        world.held()
    assert world.names() == ['stream'] * 11
    world.calls.clear()
    world.follow_tip(NEAR, 1.0)  # longer than the node waits for the next pose
    assert len(world.calls) >= 45 and set(world.names()) == {'stream'}
    assert not any(sentence for _, sentence in world.colours)
    world.handle.release()
    world.calls.clear()
    world.follow_tip(TURNED, 0.2)
    assert world.at(NEAR) and not world.held and not world.calls
    world.follow_tip(TURNED, 1.0)
    assert world.at(TURNED)


def test_a_followed_handle_that_was_held_in_vain(world):
    """It returns to a tip that has not moved at all."""
    world.handle.toggle_following()
    world.drag(NEAR)
    world.follow_tip(HERE, 2.0)
    assert world.at(NEAR)
    world.handle.release()
    world.follow_tip(HERE, 1.0)
    assert world.at(HERE)


@pytest.mark.parametrize('kind, T, told', [
    (Kind.POSE, NEAR, True), (Kind.POSE, TURNED, True), (Kind.POSITION, NEAR, True),
    (Kind.POSITION, TURNED, False), (Kind.POINTING, TURNED, False), (Kind.POSE, HERE, False)])
def test_a_tip_that_stays_behind_is_told(world, kind, T, told):
    """Once it rests, by the part of the pose that counts; and no more when it follows."""
    world.handle.kind, world.handle.following = kind, True
    world.drag(T)
    world.follow_tip(HERE, 0.9)  # it may still begin to follow
    assert not any(sentence for _, sentence in world.colours)
    world.follow_tip(HERE, 1.0)
    assert ('cannot follow' in world.colours[-1][1] and world.colours[-1][0] == 'red') == told
    world.follow_tip(T, 1.0)
    assert world.colours[-1] == ('', '')


def test_tools(world):
    """The list shows what is mounted; where a change is refused, it is shown as it was."""
    world.topics['tools'](DiagnosticArray(status=[
        DiagnosticStatus(name='probe', message='mounted'), DiagnosticStatus(name='brush')]))
    assert world.tools == [(['probe', 'brush'], 'probe')]
    world.handle.mount('brush')
    _, name, answer = world.calls[-1]
    answer(True, '')
    assert name == 'brush' and world.said == [(True, 'the tool is brush')]
    answer(False, 'the arm moves')
    assert world.said[-1] == (False, 'the arm moves') and world.tools == 2 * world.tools[:1]


def test_named_poses(world):
    """They are offered as they are told."""
    world.topics['named_poses'](DiagnosticArray(status=[DiagnosticStatus(name='aside')]))
    assert world.calls[-1] == ('show_named', ['aside'])
