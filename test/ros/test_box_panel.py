# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of the boxes of the page, by what it sends and by what the node answers."""

from contextlib import contextmanager
from copy import deepcopy
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.ros.messages.markers import PAGE_BOX_NAME

pytestmark = pytest.mark.skipif(find_spec('viser') is None,
                                reason='viser is not installed (extra "viewer")')


@contextmanager
def serving():
    """Run a server on a free port of this machine."""
    from viser import ViserServer
    server = ViserServer('127.0.0.1', 0, verbose=False)
    try:
        yield server
    finally:
        server.stop()


class Played:
    """A panel whose page and clock are played."""

    def __init__(self, server, probe, monkeypatch, page=0):
        from ik_node.ui.viewer.panels import collision_panel
        monkeypatch.setattr(collision_panel, 'randrange', lambda _pages: page)
        self.now, self.said, self.clicks, self.frame, self.sent = 100.0, [], [], 'base_link', []
        monkeypatch.setattr(collision_panel, 'monotonic', lambda: self.now)
        inbox = SimpleNamespace(on_click=lambda _button, do: self.clicks.append(do),
                                on_change=lambda _control, do: setattr(self, 'resize', do))
        probe.create_subscription(MarkerArray, '/ik_node/scene', self.sent.append, 100)
        self._probe = probe
        self.panel = collision_panel.BoxPanel(probe, '/ik_node', server, inbox, '/base/boxes',
                                        lambda: self.frame,
                                        lambda good, words: self.said.append(words))
        self.add = self.clicks[0]
        probe.wait(lambda: probe.count_subscribers('/ik_node/scene')
                   and self.panel._publisher.get_subscription_count())

    def heard(self, count):
        """Return the markers that were sent, once there are so many."""
        self._probe.wait(lambda: len(self.sent) >= count, what=f'{count} messages')
        self._probe.spin_for(0.1)
        assert len(self.sent) == count
        return [message.markers[0] for message in self.sent]

    def numbers(self):
        """Return the numbers of the boxes on the page."""
        return sorted(self.panel._boxes)

    def after(self, seconds):
        """Let time go by."""
        self.now += seconds
        self.panel.tick()


@pytest.fixture
def played(probe, monkeypatch):
    """Return a panel, the first click of which adds a box."""
    with serving() as server:
        yield Played(server, probe, monkeypatch)


def at(x):
    """Return a pose (4, 4)."""
    T = np.eye(4)
    T[0, 3] = x
    return T


def moved(marker, x):
    """Return the marker of a box at another place."""
    made = deepcopy(marker)
    made.pose.position.x = x
    return made


def test_a_dragged_box_is_sent_at_a_bounded_rate(played):
    """However many events come; the release is sent at once."""
    from ik_node.ui.viewer.panels.collision_panel import SEND_PERIOD_S
    played.add()
    for k in range(100):
        played.panel._drag(1, 'update', at(0.01 * k))
        played.after(0.01)
    ends = played.heard(1 + round(100 * 0.01 / SEND_PERIOD_S))
    played.panel._drag(1, 'update', at(3.0))
    played.panel._drag(1, 'end', at(3.0))
    assert played.heard(len(ends) + 1)[-1].pose.position.x == 3.0
    assert {(each.ns, each.id, each.type, each.header.frame_id) for each in ends} == {
        ('page', 1, Marker.CUBE, 'base_link')}


def test_an_older_answer_does_not_undo_a_change(played):
    """What the node shows before it has heard of a change is not taken; later it is."""
    from ik_node.ui.viewer.panels.collision_panel import CONFIRM_TIME_S
    played.add()
    sent, = played.heard(1)
    played.panel.take([])  # from before
    assert played.numbers() == [1]
    played.panel.take([moved(sent, 0.3)])
    assert played.panel._boxes[1][0].T[0, 3] != 0.3
    played.after(CONFIRM_TIME_S)
    assert played.panel._boxes[1][0].T[0, 3] == 0.3
    played.clicks[-1]()
    assert played.heard(2)[-1].action == Marker.DELETE and not played.numbers()
    played.after(0.1)
    assert not played.numbers()  # though the node has not said so yet
    played.after(CONFIRM_TIME_S)
    assert played.numbers() == [1]  # it has not removed it


def test_a_box_that_is_not_taken_goes(played):
    """With a sentence; one that was taken and is removed elsewhere goes without."""
    from ik_node.ui.viewer.panels.collision_panel import CONFIRM_TIME_S
    played.add()
    sent, = played.heard(1)
    played.after(CONFIRM_TIME_S)
    assert not played.numbers() and played.said == [
        '/ik_node has not taken Box 1; its log says why']
    played.panel.take([sent])
    played.panel.take([])
    assert not played.numbers() and len(played.said) == 1


def test_a_held_box_stays_in_the_hand(played):
    """Whatever the node shows meanwhile."""
    from ik_node.ui.viewer.panels.collision_panel import CONFIRM_TIME_S
    played.add()
    sent, = played.heard(1)
    played.panel.take([sent])
    played.panel._drag(1, 'update', at(0.7))
    for _ in range(3):
        played.after(CONFIRM_TIME_S)
        played.panel.take([sent])
    assert played.panel._boxes[1][0].T[0, 3] == 0.7


def test_sizes_stay_in_range(played):
    """A box of no size, or of none at all, is not sent."""
    from ik_node.ui.viewer.panels.collision_panel import SEND_PERIOD_S
    played.add()
    played.resize((0.5, 0.0, -1.0))
    played.after(2.0 * SEND_PERIOD_S)
    scale = played.heard(2)[-1].scale
    assert (scale.x, scale.y, scale.z) == (0.5, 0.01, 0.01)


def test_only_boxes_are_taken(played):
    """Of other namespaces and kinds, and too many, none; they are left to be drawn."""
    from ik_node.ui.viewer.panels.collision_panel import CONFIRM_TIME_S, MAX_BOXES
    played.add()
    good, = played.heard(1)
    odd = moved(good, float('nan'))
    odd.id = 2
    others = [odd, *(Marker(ns='page', id=3, type=kind) for kind in (Marker.CUBE, Marker.SPHERE)),
              Marker(ns='objects', id=1, type=Marker.CUBE, scale=good.scale)]
    assert played.panel.take([good, *others]) == others
    many = []
    for number in range(MAX_BOXES + 5):
        many.append(moved(good, 0.1))
        many[-1].id = 10 + number
    assert len(played.panel.take(many)) == 5
    played.after(CONFIRM_TIME_S)
    assert len(played.numbers()) == MAX_BOXES
    played.add()
    assert 'is the most' in played.said[-1]


def test_without_a_frame_nothing_is_added(played):
    """The base link is known by the pose of the tip."""
    played.frame = ''
    played.add()
    assert not played.numbers() and played.said == ['the pose of the tip is not known yet']


def test_two_pages_add_at_once(played, probe, monkeypatch):
    """Their boxes have two ids, and two names on each page; the highest ids are good, too."""
    from ik_node.ui.viewer.panels.collision_panel import MAX_PAGES, PAGE_IDS
    with serving() as server:
        other = Played(server, probe, monkeypatch, MAX_PAGES - 1)
        other.add()
        played.add()
        other.add()
        sent = other.heard(3)
        ids = sorted(each.id for each in sent)
        last = PAGE_IDS * (MAX_PAGES - 1)
        assert ids == [1, last + 1, last + 2]
        assert all(PAGE_BOX_NAME.fullmatch(f'page/{id}') for id in ids)
        for each, others in ((played, ['Box 1 (2)', 'Box 2']), (other, ['Box 1 (2)'])):
            each.panel.take(sent)
            assert each.numbers() == ids
            assert {box.name for box, _ in each.panel._boxes.values()} >= {'Box 1', *others}
