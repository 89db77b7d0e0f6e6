# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The page of the viewer in a real browser: what is checked for collisions, and boxes."""

from contextlib import contextmanager, ExitStack
from importlib.util import find_spec

from geometry_msgs.msg import Vector3
from harness import ARM, free_port, LATCHED, lent, pose, process, READY
import numpy as np
import pytest
from visualization_msgs.msg import Marker, MarkerArray

pytest.importorskip('playwright', reason='playwright is not installed')

from browser import browser, new_context, Window  # noqa: E402

from scripts.screenshot import CHROMIUM, drag  # noqa: E402

pytestmark = [
    pytest.mark.skipif(find_spec('viser') is None,
                       reason='viser is not installed (extra "viewer")'),
    pytest.mark.skipif(CHROMIUM is None, reason='no Chromium is installed')]
LINE = '/base/markers/clearance_5'  # between a link and an object
FIRST_SIZE = 0.2


@pytest.fixture(scope='module')
def chromium():
    """Run one browser for the module."""
    with browser() as running:
        yield running


@contextmanager
def page(chromium, probe, folder, windows=1):
    """Serve the page from a new viewer; yield its windows."""
    port = free_port()
    with process('viewer', folder, {'urdf_file': ARM, 'port': port}) as running, \
            ExitStack() as stack:
        probe.wait(lambda: 'open http://' in running.output, 60.0)
        opened = []
        for _ in range(windows):
            context = new_context(chromium)
            stack.callback(context.close)
            opened.append(Window(context.new_page(), port, probe))
            opened[-1].wait(lambda: opened[-1].visible('/base/handle'), 'the handle')
        yield opened
        assert not [each for window in opened for each in window.complaints]


@pytest.fixture(scope='module')
def windows(chromium, shared_system, tmp_path_factory):
    """Return two windows, which tests leave as they found them."""
    with page(chromium, shared_system, tmp_path_factory.mktemp('viewer'), windows=2) as opened:
        yield opened


@pytest.fixture
def window(windows):
    """Return one of the windows."""
    return windows[0]


class Scene:
    """The objects that a node says it checks."""

    def __init__(self, probe):
        self.messages, self._probe = [], probe
        self.topic = probe.publisher(MarkerArray, 'scene')
        self.sent = []
        self._heard = [
            probe.create_subscription(MarkerArray, '/ik_node/scene_markers',
                                      self.messages.append, LATCHED),
            probe.create_subscription(MarkerArray, '/ik_node/scene', self.sent.append, 100)]

    def boxes(self):
        """Return the boxes of the page by their ids: place, size and quaternion."""
        shown = self.messages[-1].markers if self.messages else ()
        return {each.id: (np.array([each.pose.position.x, each.pose.position.y,
                                    each.pose.position.z]),
                          np.array([each.scale.x, each.scale.y, each.scale.z]),
                          np.array([each.pose.orientation.w, each.pose.orientation.x,
                                    each.pose.orientation.y, each.pose.orientation.z]))
                for each in shown if each.ns == 'page'}

    def clear(self):
        """Remove all objects, and wait until they are gone."""
        self.topic.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
        self._probe.wait(lambda: self.messages and not self.boxes(), what='no boxes')

    def close(self):
        """Look away."""
        for each in self._heard:
            self._probe.destroy_subscription(each)
        self._probe.destroy_publisher(self.topic)


@pytest.fixture
def arm(shared_system):
    """Lend the arm, with an empty scene."""
    with lent(shared_system):
        # A browser without a graphics card leaves little of the machine to the others.
        shared_system.change('/ik_node', state__timeout=10.0, watch__start_timeout=10.0)
        shared_system.scene = Scene(shared_system)
        yield shared_system
        shared_system.scene.clear()
        shared_system.scene.close()


def node_of(number):
    """Return the node of a box in the scene of the page."""
    return f'/base/boxes/{number}'


def agrees(window, arm, number):
    """Return whether a window and the node have the same box."""
    there, drawn = arm.scene.boxes().get(number), window.pose(node_of(number))
    if there is None or drawn is None or not window.visible(f'{node_of(number)}/solid'):
        return False
    return np.allclose(there[0], drawn[:3], atol=1e-5) \
        and abs(abs(there[2] @ drawn[3:]) - 1.0) < 1e-6


def watchers(probe, topic):
    """Return how many subscribe to a topic of the node."""
    return probe.count_subscribers(f'/ik_node/{topic}')


# ---- pages of their own, before the others are opened --------------------------

@pytest.mark.nightly
def test_clearance_is_told_and_drawn(chromium, arm, tmp_path):
    """As the node tells it; a window that is closed does not ask for it."""
    told = []
    arm.scene.topic.publish(MarkerArray(markers=[cube((0.62, 0.0, 0.45), number=7)]))
    with page(chromium, arm, tmp_path) as (window,):
        looking = arm.create_subscription(MarkerArray, '/ik_node/clearance_markers',
                                          told.append, LATCHED)

        def sentence():
            return next((each.text for message in told[-1:] for each in message.markers
                         if each.type == Marker.TEXT_VIEW_FACING and 'cell/7' in each.text), '')

        window.wait(sentence, 'a clearance')
        assert sentence().startswith('Clearance ') and ' mm: ' in sentence()
        window.reads(sentence())
        window.wait(lambda: window.visible(LINE), 'the line')
        near = sentence()
        arm.scene.topic.publish(MarkerArray(markers=[cube((0.7, 0.0, 0.45), number=7)]))
        window.wait(lambda: sentence() not in ('', near), 'another clearance')
        window.reads(sentence())
        arm.destroy_subscription(looking)
        window.check('Show clearance', False)
        window.wait(lambda: not window.visible(LINE), 'no line')
        window.wait(lambda: not watchers(arm, 'clearance_markers'), 'nobody who looks')
        window.check('Show clearance')
        window.wait(lambda: watchers(arm, 'clearance_markers'), 'who looks')
        window.page.close()
        arm.wait(lambda: not watchers(arm, 'clearance_markers'), 60.0, 'nobody who looks')


@pytest.mark.nightly
def test_boxes_survive_a_restart_of_the_page(chromium, arm, tmp_path):
    """A page that is started anew has those that the node has, and can change them."""
    for name in ('first', 'second'):
        (tmp_path / name).mkdir()
    with page(chromium, arm, tmp_path / 'first') as (window,):
        first = add(window, arm)
        before = arm.scene.boxes()[first][0]
    arm.scene.topic.publish(MarkerArray(markers=[cube((2.0, 0.0, 0.5), number=9)]))
    with page(chromium, arm, tmp_path / 'second') as (window,):
        window.wait(lambda: agrees(window, arm, first), 'the box on the new page')
        assert np.allclose(arm.scene.boxes()[first][0], before)
        second = add(window, arm)
        window.wait(lambda: window.visible('/objects/0/markers/objects_0'), 'the other object')
        # What another program removes is gone here, too.
        gone = [Marker(ns='page', id=number, action=Marker.DELETE) for number in (first, second)]
        arm.scene.topic.publish(MarkerArray(markers=gone))
        window.wait(lambda: not any(window.visible(f'{node_of(number)}/solid')
                                    for number in (first, second)), 'no boxes')


# ---- bodies ---------------------------------------------------------------------

@pytest.mark.nightly
def test_bodies_are_shown_on_request(window, arm):
    """They move with the links; without the check nobody asks for them."""
    assert not window.box('Show what is checked').is_checked()
    assert not watchers(arm, 'body_markers')
    window.check('Show what is checked')
    names = [f'/bodies/{k}' for k in range(7)]  # base_link to link_6

    def drawn():
        return all(window.visible(name) and window.visible(f'{name}/markers/bodies_{number}')
                   for number, name in enumerate(names[:1])) \
            and all(window.visible(name) for name in names)

    window.wait(drawn, 'the bodies')
    assert arm.final(arm.send_joints([0.6, *READY[1:]]))['state'] == 'reached'

    def follow():
        links = [window.pose(f'/robot/{k}') for k in range(7)]
        return all(min(np.abs(window.pose(name) - link).max() for link in links) < 1e-6
                   for name in names) and abs(links[1][4:] @ np.ones(3)) > 0.1

    window.wait(follow, 'the bodies at the links')
    window.check('Show what is checked', False)
    window.wait(lambda: not window.visible('/bodies/0/markers/bodies_0'), 'no bodies')
    window.wait(lambda: not watchers(arm, 'body_markers'), 'nobody who looks')


def cube(place, size=(0.1, 0.1, 0.1), number=1, ns='cell'):
    """Return the marker of a box."""
    made = Marker(ns=ns, id=number, type=Marker.CUBE, pose=pose(place, np.eye(3)),
                  scale=Vector3(x=size[0], y=size[1], z=size[2]))
    made.header.frame_id = 'base_link'
    return made


# ---- boxes ----------------------------------------------------------------------

def add(window, arm):
    """Add a box on the page; return its number, once the node has it."""
    known = {*arm.scene.boxes()}
    window.press('Add a box')
    window.wait(lambda: any(agrees(window, arm, number)
                            for number in {*arm.scene.boxes()} - known), 'the box at the node')
    return max(arm.scene.boxes())


def arrow_of(window, number):
    """Return where the upper arrow of a box can be gripped, and its way from the centre, px."""
    window.picture()  # what was added is not in the hands of the mouse before it is drawn
    origin, grip = (np.array(window.pixel(node_of(number), [0.0, 0.0, z])) for z in (0.0, 0.18))
    return grip, grip - origin


@pytest.mark.nightly
def test_a_box_is_added_moved_resized_and_removed(window, arm):
    """The node has it as the page shows it; while it is dragged, too, at a bounded rate."""
    number = add(window, arm)
    before, size, _ = arm.scene.boxes()[number]
    assert np.allclose(size, FIRST_SIZE)
    grip, way = arrow_of(window, number)
    window.page.mouse.move(*grip)
    window.page.mouse.down()
    for share in np.linspace(0.1, 0.5, 5):
        window.page.mouse.move(*(grip + share * way))
    window.wait(lambda: number in arm.scene.boxes()
                and arm.scene.boxes()[number][0][2] > before[2] + 0.02, 'the box on its way')
    window.page.mouse.move(*(grip + 0.7 * way))
    window.page.mouse.up()
    window.wait(lambda: agrees(window, arm, number)
                and arm.scene.boxes()[number][0][2] > before[2] + 0.05, 'the dragged box')
    assert np.allclose(arm.scene.boxes()[number][0][:2], before[:2], atol=1e-4)
    lengths, places = (window.row(label).get_by_role('textbox')
                       for label in ('Size (m)', 'Position (m)'))
    lengths.nth(1).fill('0.35')
    lengths.nth(1).press('Enter')
    window.wait(lambda: np.allclose(arm.scene.boxes()[number][1],
                                    [FIRST_SIZE, 0.35, FIRST_SIZE]), 'the size')
    place = arm.scene.boxes()[number][0]
    window.wait(lambda: np.allclose([float(places.nth(k).input_value()) for k in range(3)], place,
                                    atol=1e-4), 'where it was dragged to')
    places.nth(1).fill('-0.7')
    places.nth(1).press('Enter')
    window.wait(lambda: agrees(window, arm, number) and np.allclose(
        arm.scene.boxes()[number][0], [place[0], -0.7, place[2]], atol=1e-4), 'where it was typed')
    window.press('Remove')
    window.wait(lambda: not arm.scene.boxes() and not window.visible(f'{node_of(number)}/solid'),
                'no box')


@pytest.mark.nightly
def test_two_windows_share_the_boxes(windows, arm):
    """What one adds and drags, the other shows and removes."""
    one, other = windows
    number = add(one, arm)
    before = arm.scene.boxes()[number][0]
    other.wait(lambda: agrees(other, arm, number), 'the box in the other window')
    grip, way = arrow_of(other, number)
    drag(other.page, grip, 0.5 * way)
    one.wait(lambda: agrees(one, arm, number) and agrees(other, arm, number)
             and arm.scene.boxes()[number][0][2] > before[2] + 0.02, 'the dragged box in both')
    one.press('Remove')
    other.wait(lambda: not arm.scene.boxes() and not other.visible(f'{node_of(number)}/solid'),
               'no box')
