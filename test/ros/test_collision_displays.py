# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is shown of the collision check: bodies of the links, clearance, boxes of the page."""

from dataclasses import replace
from types import SimpleNamespace

from geometry_msgs.msg import Vector3
from geometry_oracle import bodies_of, Oracle
from harness import ARM, LATCHED, lent, MODEL, pose, READY
import numpy as np
import pinocchio as pin
import pytest
import robots
from test_scene_topics import post
from two_arms import TREE as TWO
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.collision.bodies.links import arm_bodies, Unchecked
from ik_node.collision.distances.model import Clearance, CollisionModel
from ik_node.collision.distances.other_joints import OtherJoint
from ik_node.collision.scene.scene import Scene
from ik_node.model.chain import make_chain
from ik_node.node.show.scene_display import (
    clearance_markers,
    clearance_text,
    ClearanceDisplay,
    DISPLAY_DELAY_S,
    LatchedMarkers,
)
from ik_node.ros.messages.markers import BODY_GROWTH_M

NAME = 'six_axis_arm'
CHAIN, TREE = robots.chain(NAME), robots.tree(NAME)


class Shown:
    """What one topic of markers shows last."""

    def __init__(self, probe, topic):
        self.markers, self._probe = [], probe
        self._subscription = probe.create_subscription(MarkerArray, topic, self._take, LATCHED)

    def _take(self, message):
        # A display of RViz keeps what is not deleted.
        assert message.markers[0].action == Marker.DELETEALL
        self.markers = message.markers[1:]

    def close(self):
        """Look away."""
        self._probe.destroy_subscription(self._subscription)


@pytest.fixture
def arm(shared_system):
    """Lend the arm, without objects around it."""
    with lent(shared_system):
        shared_system.scene = shared_system.publisher(MarkerArray, 'scene')
        yield shared_system
        shared_system.scene.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))


def shown(arm, topic, condition, what):
    """Return what a topic shows, once a condition holds."""
    seen = Shown(arm, f'/ik_node/{topic}')
    arm.wait(lambda: condition(seen.markers), what=what)
    return seen


# ---- bodies -------------------------------------------------------------------

def test_bodies_of_the_links(arm):
    """Of each link the collision elements as Pinocchio reads them, in the frame of the link."""
    seen = shown(arm, 'body_markers', bool, 'the bodies')
    geometry = pin.buildGeomFromUrdf(MODEL, str(ARM), pin.GeometryType.COLLISION)
    expected = []
    for each in geometry.geometryObjects:
        each.geometry.computeLocalAABB()
        box = each.geometry.aabb_local
        frame = MODEL.frames[each.parentFrame]
        T = frame.placement.inverse() * each.placement
        expected.append((frame.name, T.translation, box.max_ - box.min_))
    for marker in seen.markers:
        assert marker.frame_locked and 0.0 < marker.color.a < 1.0 and marker.ns == 'bodies'
        p, s = marker.pose.position, marker.scale
        fits = [k for k, (link, place, size) in enumerate(expected)
                if link == marker.header.frame_id and np.allclose(place, [p.x, p.y, p.z])
                and np.allclose(size + 2.0 * BODY_GROWTH_M, [s.x, s.y, s.z])]
        assert fits, marker
        expected.pop(fits[0])
    assert not expected
    seen.close()


def test_markers_are_made_only_for_subscribers(probe):
    """None before; once somebody looks, those of the last change."""
    made = []
    markers = LatchedMarkers(probe, 'looked_at', lambda: made.append(1) or [Marker(id=7)])
    markers.show()
    probe.spin_for(3.0 * DISPLAY_DELAY_S)
    assert not made
    seen = []
    probe.create_subscription(MarkerArray, 'looked_at', seen.append, LATCHED)
    probe.wait(lambda: seen, what='markers')
    assert made == [1] and seen[0].markers[0].id == 7


# ---- the clearance --------------------------------------------------------------

def expected_clearances(q, *boxes):
    """Return least distance (m) and pair of the links at q, and of links and boxes if any."""
    objects = Scene(CHAIN.base_link, TREE.links)
    for name, size, place in boxes:
        T = np.eye(4)
        T[:3, 3] = place
        objects.add_box(name, size, T)
    model = CollisionModel(CHAIN, TREE, bodies_of(NAME), objects.bodies)
    distances = Oracle(NAME, model, bodies_of(NAME), objects.bodies).distances(np.array(q))
    named = {name for name, _, _ in boxes}
    of_boxes = np.array([bool(named & {*model.names_of(k)}) for k in range(len(distances))])
    least = [int(np.where(those, distances, np.inf).argmin())
             for those in (~of_boxes, of_boxes) if those.any()]
    return [(distances[k], model.names_of(k)) for k in least]


def clearances(markers):
    """Return length of the line (m), text and colour of each that is shown."""
    texts, lines = ([marker for marker in markers if marker.type == kind]
                    for kind in (Marker.TEXT_VIEW_FACING, Marker.LINE_LIST))
    return [(np.linalg.norm([p.x - o.x, p.y - o.y, p.z - o.z]), text.text,
             'red' if line.color.r > 0.8 else 'green')
            for text, line in zip(texts, lines) for o, p in [line.points]]


def are(seen, expected):
    """Return whether these are the clearances that are shown, all of them with their margin."""
    shown = clearances(seen.markers)
    return len(shown) == len(expected) and all(
        abs(length - least) < 1e-4 and colour == 'green'
        and text == f'Clearance {1e3 * least:.0f} mm: {names[0]} and {names[1]}'
        for (length, text, colour), (least, names) in zip(shown, expected))


def test_clearance_is_to_where_another_arm_is_measured():
    """Not to where it will rest, of which the plans of this arm are free, nor with room."""
    tree, asked = TWO.tree, []
    chain = make_chain(tree, 'torso', 'left_tool')
    scene = Scene('torso', tree.links)
    scene.add_box('held', (0.05, 0.05, 0.05), frame='right_tool')
    model = CollisionModel(chain, tree, arm_bodies(tree), margin=0.01).with_objects(scene.bodies)
    here, later, there = (dict.fromkeys(model.other_joints, value) for value in (0.1, 0.3, 0.6))
    planned = model.with_others({name: OtherJoint(value, 0.3) for name, value in there.items()})
    robot = SimpleNamespace(chain=chain, settings=SimpleNamespace(
        solver=SimpleNamespace(collisions=planned), monitor=SimpleNamespace(state_timeout=1.0)))
    node = SimpleNamespace(create_publisher=lambda *_, **__: None,
                           create_timer=lambda *_, **__: SimpleNamespace(cancel=lambda: None))
    state = SimpleNamespace(last=lambda _robot: (chain.middle, 0.0),
                            joints=SimpleNamespace(positions=here))
    display = ClearanceDisplay(node, None, state, None, '')
    for places in (here, later):
        state.joints.positions = places
        display._ask(robot)
        asked.append(display._answer.result())
        expected = model.with_others({name: OtherJoint(value) for name, value in places.items()}
                                     ).clearances(chain.middle)
        for shown_now, one in zip(asked[-1], expected, strict=True):
            assert (shown_now.names, shown_now.kept) == (one.names, one.kept)
            assert shown_now.distance == pytest.approx(one.distance, abs=1e-9)
    held = [found[1].distance for found in (*asked, planned.clearances(chain.middle))]
    assert 'held' in asked[0][1].names and min(np.abs(np.diff(held))) > 1e-3
    display._ask(robot)
    assert display._answer.result() is asked[-1], 'it was computed anew, though nothing moved'


def test_clearance_of_the_present_posture(arm):
    """The pair, its distance and the line are those of Pinocchio and coal, also after a motion."""
    size, place = (0.1, 0.1, 0.1), (0.55, 0.4, 0.5)
    arm.scene.publish(MarkerArray(markers=[post(
        scale=Vector3(x=size[0], y=size[1], z=size[2]), pose=pose(place, np.eye(3)))]))
    seen = Shown(arm, '/ik_node/clearance_markers')
    for q in (READY, [0.5, *READY[1:]]):
        assert arm.final(arm.send_joints(q))['state'] == 'reached'
        expected = expected_clearances(q, ('cell/1', size, place))
        arm.wait(lambda expected=expected: are(seen, expected), what=expected)
    # It follows what changes around an arm that rests.
    arm.scene.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
    arm.wait(lambda: are(seen, expected_clearances(q)), what='the clearance without the box')
    seen.close()


def test_touching_bodies_are_shown(arm):
    """The sentence names the link and the box that touch."""
    seen = shown(arm, 'clearance_markers', clearances, 'a clearance')
    p = robots.reference(NAME).pose(CHAIN.base_link, 'link_6',
                                    robots.positions(CHAIN, np.array(READY)))[:3, 3]
    arm.scene.publish(MarkerArray(markers=[post(
        scale=Vector3(x=0.2, y=0.2, z=0.2), pose=pose(p, np.eye(3)))]))
    arm.wait(lambda: any(' touch' in each.text and 'cell/1' in each.text
                         for each in seen.markers), what='contact')
    seen.close()


def test_clearance_markers_tell_whether_the_margin_is_kept():
    """By their colour."""
    points = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.004]])
    for kept, colour in ((True, 'green'), (False, 'red')):
        clearance = Clearance(0.004, ('link_3', 'table'), points, kept)
        (length, text, seen), = clearances(clearance_markers([clearance], 'base_link'))
        assert length == pytest.approx(0.004) and seen == colour
        assert text == clearance_text(clearance) == 'Clearance 4 mm: link_3 and table'
    partly = replace(clearance, unchecked=Unchecked({'link_6': 'its mesh is gone'}, 7))
    assert clearance_text(partly) == f'{text} (1 of 7 links is not checked)'


def test_nothing_is_computed_while_nobody_looks(probe):
    """Of an arm that moves; once somebody looks, until nobody does."""
    asked = []

    def clearances(q):
        asked.append(float(q[0]))
        return [Clearance(0.1, ('a', 'b'), np.eye(3)[:2], True)]

    robot = SimpleNamespace(
        chain=CHAIN, settings=SimpleNamespace(
            solver=SimpleNamespace(collisions=SimpleNamespace(
                clearances=clearances, others={}, other_joints=())),
            monitor=SimpleNamespace(state_timeout=1.0)))
    count = iter(range(10_000))
    arm = SimpleNamespace(last=lambda _robot: (np.full(6, float(next(count))), 0.0),
                          joints=SimpleNamespace(positions={}))
    ClearanceDisplay(probe, SimpleNamespace(robot=robot), arm,
                     SimpleNamespace(is_ready=lambda _kernels: True), '')
    probe.spin_for(0.5)
    assert not asked
    seen = []
    looking = probe.create_subscription(MarkerArray, '/probe/clearance_markers', seen.append,
                                        LATCHED)
    begin = probe.get_clock().now()
    probe.wait(lambda: len(seen) > 3, what='clearances')
    assert len(asked) < 2 + 5.5e-9 * (probe.get_clock().now() - begin).nanoseconds
    probe.destroy_subscription(looking)
    probe.wait(lambda: not probe.count_subscribers('/probe/clearance_markers'))
    probe.spin_for(0.3)
    known = len(asked)
    probe.spin_for(0.5)
    assert len(asked) == known


# ---- boxes of the page ------------------------------------------------------------

def test_boxes_of_the_page_keep_their_ids(arm):
    """They come back in their namespace, others of it and other objects do not."""
    size = Vector3(x=0.1, y=0.2, z=0.3)
    there = pose((2.0, 0.0, 0.5), np.eye(3))
    on_link = post(ns='page', id=5, scale=size, pose=there)
    on_link.header.frame_id = 'link_1'
    arm.scene.publish(MarkerArray(markers=[
        post(ns='page', id=3, scale=size, pose=there),
        post(ns='page', id=4, type=Marker.SPHERE, scale=size, pose=there), on_link,
        post(ns='pages', id=3, scale=size, pose=there)]))
    seen = shown(arm, 'scene_markers', lambda markers: len(markers) == 4, 'four objects')
    box, = [each for each in seen.markers if each.ns == 'page']
    assert (box.id, box.type, box.header.frame_id) == (3, Marker.CUBE, 'base_link')
    assert (box.scale.x, box.scale.y, box.scale.z) == (0.1, 0.2, 0.3)
    assert sorted(each.id for each in seen.markers if each.ns == 'objects') == [0, 1, 2]
    seen.close()
