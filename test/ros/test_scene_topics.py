# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Objects that come by topic, between motions and during them; judged by Pinocchio and coal."""

from geometry_msgs.msg import Point, Vector3
from geometry_oracle import bodies_of, Oracle
from harness import (
    ARM,
    FORGET_S,
    LATCHED,
    lent,
    PATIENCE_S,
    pose,
    process,
    QUICK,
    READY,
    run_system,
    tip,
)
from nightly import usual_first
import numpy as np
import pinocchio as pin
import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy
import robots
from sensor_msgs.msg import PointCloud2
from test_scene_messages import cloud_of
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.ros.messages.markers import body_markers, MAX_SHOWN_PARTS
from ik_node.ros.middleware.handshake import greet

NAME = 'six_axis_arm'
CHAIN, TREE = robots.chain(NAME), robots.tree(NAME)
LEFT, RIGHT = ([side, 0.6, 0.4, 0.0, 0.6, 0.0] for side in (0.9, -0.9))
POST_SIZE = 0.1, 0.1, 1.4
POST_PLACE = 0.45, 0.0, 0.7
NO_DETOURS = {'motion.detour_time': 0.0}
NODE_LIMITS = {**QUICK, **NO_DETOURS}  # what is blocked is refused


def post(**fields):
    """Return the marker of a post before the arm."""
    made = Marker(type=Marker.CUBE, ns='cell', id=1, pose=pose(POST_PLACE, np.eye(3)),
                  scale=Vector3(x=POST_SIZE[0], y=POST_SIZE[1], z=POST_SIZE[2]))
    made.header.frame_id = 'base_link'
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def blocked(probe):
    """Return whether the way across is refused for what comes by topic."""
    here = [*map(float, probe.states[-1][1].position)]
    answer = probe.final(probe.send_joints(RIGHT if here[0] > 0.0 else LEFT))
    assert answer['reason'] in ('COLLISION', 'REACHED'), answer
    return answer['reason'] == 'COLLISION'


@pytest.fixture(scope='module')
def topic(shared_system):
    """Return the topic of markers."""
    return shared_system.publisher(MarkerArray, 'scene')


@pytest.fixture
def system(shared_system, topic):
    """Lend the system; what comes by topic goes with the test."""
    with lent(shared_system):
        yield shared_system
        tell(shared_system, topic, Marker(action=Marker.DELETEALL))


@pytest.fixture
def scene(system, topic):
    """Lend the topic of markers of a system whose arm is at the left."""
    assert system.final(system.send_joints(LEFT))['state'] == 'reached'
    return topic


def tell(probe, topic, *markers):
    """Publish markers, and wait until they count: messages of one sender are taken in order."""
    topic.publish(MarkerArray(markers=[*markers]))
    probe.spin_for(0.2)


# ---- nodes of their own, which come before the one that all others share -----------------

def test_without_the_check_there_is_no_scene(tmp_path, probe):
    """The log says what to set."""
    with run_system(tmp_path, probe, {'collision.check': False}) as system:
        topic = probe.publisher(MarkerArray, 'scene')
        topic.publish(MarkerArray(markers=[post()]))
        probe.wait(lambda: 'set collision.check' in system.node.output)


@pytest.mark.parametrize('services', usual_first(1, [False, True]))
def test_without_moveit_msgs(tmp_path, monkeypatch, probe, services):
    """The node takes nothing of MoveIt, which the log says; as a warning if it was asked for."""
    hidden = tmp_path / 'hidden'
    hidden.mkdir()
    (hidden / 'moveit_msgs.py').write_text('raise ImportError\n')
    monkeypatch.setenv('PYTHONPATH', str(hidden), prepend=':')
    with process('ik_node', tmp_path, {'urdf_file': ARM, 'moveit.services': services},
                 arguments=['--log-level', 'ik_node:=debug']) as node:
        probe.wait_for_node()
        line, = (line for line in node.output.splitlines() if 'moveit_msgs' in line)
        assert line.startswith('[WARN]' if services else '[DEBUG]'), line
        probe.wait(lambda: not probe.count_subscribers('/collision_object'), FORGET_S)
        probe.wait(lambda: not probe.count_services('/get_planning_scene'), FORGET_S)


# ---- objects on the way -------------------------------------------------------------------

def test_an_object_comes_and_goes(system, scene):
    """It blocks the way until it is deleted; so does one that moves with the base."""
    tell(system, scene, post())
    assert blocked(system)
    tell(system, scene, post(action=Marker.DELETE))
    assert not blocked(system)
    tell(system, scene, post(), post(id=2, type=Marker.SPHERE))
    assert blocked(system)
    tell(system, scene, Marker(action=Marker.DELETEALL))
    assert not blocked(system)


@pytest.mark.fault('goals', 'an object is put on the way of the arm while it moves',
                   'the arm is brought to rest before it, and the goal ends with the pair')
def test_an_object_on_the_way(system, scene):
    """The trajectories as sent are free of it, after it came."""
    system.change('/ik_node', motion__velocity_scale=0.1)
    system.states.clear()
    stamp = system.send_joints(RIGHT)
    system.wait(lambda: system.states and system.states[-1][1].position[0] < 0.85)
    scene.publish(MarkerArray(markers=[post()]))
    answer = system.final(stamp)
    assert answer['state'] == 'stopped' and answer['reason'] == 'COLLISION', answer
    assert "'cell/1'" in answer['message'] and 'the scene changed' in answer['message']
    system.wait(lambda: not any(system.states[-1][1].velocity))
    objects = Scene(CHAIN.base_link, TREE.links)
    T = np.eye(4)
    T[:3, 3] = POST_PLACE
    objects.add_box('cell/1', POST_SIZE, T)
    model = CollisionModel(CHAIN, TREE, bodies_of(NAME), objects.bodies)
    oracle = Oracle(NAME, model, bodies_of(NAME), objects.bodies)
    for _, state in system.states[::20]:
        assert oracle.distances(np.array(state.position)).min() > 0.005


@pytest.mark.fault('goals', 'markers of a scene that cannot be: no body, no size, an unknown '
                   'frame, an old stamp',
                   'the whole message changes nothing, and the log says why')
def test_markers_that_change_nothing(system, scene):
    """Also those that would have been good by themselves."""
    old = post(id=5)
    old.header.stamp.sec = 100
    strange = post(id=6)
    strange.header.frame_id = 'nowhere'
    for odd, words in ((post(id=3, type=Marker.ARROW), 'no body'),
                       (post(id=4, scale=Vector3()), 'must be positive'),
                       (old, 'old by its stamp'), (strange, "'nowhere'")):
        tell(system, scene, post(), odd)
        system.wait(lambda words=words: words in system.node.output, what=words)
    assert 'of the scene changed nothing' in system.node.output
    assert not blocked(system)


def test_points_are_solid(system, scene):
    """Those of the last cloud; an empty one removes them.  Cameras publish best effort."""
    clouds = system.create_publisher(
        PointCloud2, '/ik_node/scene_points',
        QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
    assert greet(system, '/ik_node', PATIENCE_S, clouds)
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (1500, 3)) * POST_SIZE + POST_PLACE
    for cloud, solid in ((cloud_of(points.astype('f4')), True), (PointCloud2(height=1), False),
                         (cloud_of(points.astype('f4')), True),
                         (cloud_of(np.full((1, 3), np.nan, dtype='f4')), False)):
        cloud.header.frame_id = 'base_link'
        clouds.publish(cloud)
        system.spin_for(0.5)
        assert blocked(system) == solid
    assert 'scene_points' not in system.node.output


def test_an_object_in_the_hand(system, scene):
    """In the frame of a link it moves with it: a long rod meets the ground before the tip does."""
    system.change('/ik_node', collision__ground=True)
    below = tip(READY).translation * [1.0, 1.0, 0.0] + [0.0, 0.0, 0.2]
    assert system.final(system.send(below, (0.0, 1.0, 0.0, 0.0)))['state'] == 'reached'
    assert system.final(system.send_joints(LEFT))['state'] == 'reached'
    rod = post(scale=Vector3(x=0.02, y=0.02, z=0.3), pose=pose((0.0, 0.0, 0.2), np.eye(3)))
    rod.header.frame_id = 'tool0'
    tell(system, scene, rod)
    answer = system.final(system.send(below, (0.0, 1.0, 0.0, 0.0)))
    assert answer['reason'] == 'COLLISION' and "'cell/1'" in answer['message'], answer


# ---- the display --------------------------------------------------------------

class Shown:
    """What ``~/scene_markers`` and ``~/markers`` show, by namespace."""

    def __init__(self, probe):
        self.scene, self.goal = [], []
        probe.create_subscription(MarkerArray, '/ik_node/scene_markers', self._on_scene, LATCHED)
        probe.create_subscription(MarkerArray, '/ik_node/markers', self._on_goal, LATCHED)

    def _on_scene(self, message):
        # A display of RViz keeps what is not deleted.
        assert message.markers[0].action == Marker.DELETEALL
        self.scene = message.markers[1:]

    def _on_goal(self, message):
        self.goal = message.markers

    def of(self, ns):
        """Return the markers of a namespace that are added."""
        return [each for each in (*self.scene, *self.goal)
                if each.ns == ns and each.action == Marker.ADD]


def test_objects_are_shown_as_they_are_checked(system, scene):
    """Boxes, round ones and meshes, where they are; they go with the objects."""
    tell(system, scene, post())  # before anybody looks
    shown = Shown(system)
    system.wait(lambda: shown.of('objects'), what='the box')
    box, = shown.of('objects')
    assert (box.type, box.header.frame_id) == (Marker.CUBE, 'base_link')
    assert np.allclose([box.scale.x, box.scale.y, box.scale.z], POST_SIZE)
    assert np.allclose([box.pose.position.x, box.pose.position.y, box.pose.position.z], POST_PLACE)
    corners = np.array([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]) + [2.0, 0.0, 0.0]
    mesh = post(id=2, type=Marker.TRIANGLE_LIST, scale=Vector3(x=1.0, y=1.0, z=1.0), points=[
        Point(x=x, y=y, z=z) for k in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))
        for x, y, z in corners[list(k)].tolist()])
    held = post(id=3, type=Marker.SPHERE, pose=pose((2.0, 0.0, 0.0), np.eye(3)))
    held.header.frame_id = 'link_1'
    tell(system, scene, mesh, held)
    system.wait(lambda: len(shown.of('objects')) == 3, what='three objects')
    _, hull, ball = shown.of('objects')
    assert hull.type == Marker.TRIANGLE_LIST and len(hull.points) == 12
    assert {(round(p.x, 6), round(p.y, 6), round(p.z, 6)) for p in hull.points} == {
        (round(x, 6), round(y, 6), round(z, 6)) for x, y, z in corners.tolist()}
    assert (ball.type, ball.header.frame_id) == (Marker.SPHERE, 'link_1')
    assert ball.scale.x == ball.scale.y == ball.scale.z == pytest.approx(POST_SIZE[2])
    assert not shown.of('ground')
    system.change('/ik_node', collision__ground=True, collision__ground_height=-0.2)
    system.wait(lambda: shown.of('ground'), what='the ground')
    ground, = shown.of('ground')
    assert ground.pose.position.z + 0.5 * ground.scale.z == pytest.approx(-0.2)
    tell(system, scene, Marker(action=Marker.DELETEALL))
    system.wait(lambda: not shown.of('objects'), what='no object')


def test_of_many_parts_the_largest_are_shown():
    """A cloud of thousands would hold the node for half a second."""
    objects = Scene(CHAIN.base_link)
    objects.add_points('cloud', np.random.default_rng(0).uniform(-1.0, 1.0, (9000, 3)), 0.02)
    objects.add_box('table', (1.0, 1.0, 0.1))
    assert sum(len(body.parts) for body in objects.bodies) > 10 * MAX_SHOWN_PARTS
    made = body_markers('objects', objects.bodies, CHAIN.base_link, '')
    assert len(made) == MAX_SHOWN_PARTS and made[0].scale.x == 1.0
    assert [each.id for each in made] == [*range(len(made))]


def test_colliding_objects_are_shown(system, scene):
    """The posture of a refused goal, and the link and the object that touch in strong colours."""
    shown = Shown(system)
    place = tip(RIGHT).translation
    block = post(pose=pose(place, np.eye(3)), scale=Vector3(x=0.2, y=0.2, z=0.2))
    tell(system, scene, block)
    T = tip(RIGHT)
    turn = pin.Quaternion(T.rotation).coeffs()
    answer = system.final(system.send(T.translation, turn))
    assert answer['reason'] == 'COLLISION' and "'cell/1'" in answer['message'], answer
    system.wait(lambda: shown.of('contact'), what='the object in contact')
    box, = shown.of('contact')
    assert box.scale.x == pytest.approx(0.202) and box.color.r > 0.8 > box.color.g
    strong = [each for each in shown.of('ghost') if each.color.a > 0.8]
    assert strong and len(strong) < len(shown.of('ghost'))
    tell(system, scene, post(action=Marker.DELETE))
    assert system.final(system.send(T.translation, turn))['reason'] == 'REACHED'
    system.wait(lambda: not shown.of('contact'), what='no contact')
