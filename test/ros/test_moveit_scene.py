# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The scene by MoveIt's topics and services."""

import signal

from harness import latest, NOT_BUILT, QUICK, READY, se3, tip
from moveit_kit import (
    APPEND,
    at,
    attached_object,
    box,
    collision_object,
    held,
    ids,
    mesh,
    MOVE,
    MoveIt,
    msg,
    primitive,
    REMOVE,
    scene_of,
    TETRAHEDRON,
)
import numpy as np
import pinocchio as pin
import pytest
from shape_msgs.msg import Plane, SolidPrimitive
from test_scene_topics import blocked, LEFT, NO_DETOURS, post as marker_post, RIGHT
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.collision.scene.scene import Scene
from ik_node.node.scene.moveit_scene_messages import fill_collision_object, parts_of

pytest.importorskip('moveit_msgs', reason=NOT_BUILT)
POST = 0.45, 0.0, 0.7
AWAY = 3.0, 0.0, 0.7
FOLDED = [0.9, 1.2, 1.2, 0.0, 0.6, 0.0]  # the arm is in itself
FOLDED_LINKS = 'base_link', 'link_1', 'link_2', 'link_4', 'link_5', 'link_6'
FLAGS = msg.PlanningSceneComponents
NODE_LIMITS = {**QUICK, **NO_DETOURS, 'moveit.services': True}


def post(id='post', place=POST, **fields):
    """Return a post in front of the arm."""
    return collision_object(id, box(0.1, 0.1, 1.4), place=place, **fields)


@pytest.fixture(scope='module')
def talk(shared_system):
    """Return a client of MoveIt that the node knows."""
    return MoveIt(shared_system)


@pytest.fixture
def moveit(talk):
    """Lend it with an empty scene and the arm at the left."""
    talk.clear()
    if not np.allclose(latest(talk.probe), LEFT, atol=1e-3):
        assert talk.probe.final(talk.probe.send_joints(LEFT))['state'] == 'reached'
    yield talk
    talk.clear()


def place_of(thing):
    """Return the pose of an object as SE3, and its frame."""
    return se3(thing.pose), thing.header.frame_id


# ---- objects of the world ---------------------------------------------------------

def test_an_object_comes_moves_and_goes(moveit):
    """It blocks the way where it is."""
    moveit.tell(post(), lambda scene: ids(scene) == {'post'})
    assert blocked(moveit.probe)
    away = collision_object('post', place=AWAY, operation=MOVE)
    moveit.tell(away, lambda scene: scene.world.collision_objects[0].pose.position.x == AWAY[0])
    assert not blocked(moveit.probe)
    moveit.tell(post('other'), lambda scene: ids(scene) == {'post', 'other'})
    assert blocked(moveit.probe)
    moveit.tell(collision_object('other', operation=REMOVE), lambda scene: ids(scene) == {'post'})
    assert not blocked(moveit.probe)
    moveit.tell(post(), lambda scene: scene.world.collision_objects[0].pose.position.x == POST[0])
    moveit.tell(collision_object('', operation=REMOVE), lambda scene: not ids(scene))
    assert not blocked(moveit.probe)


def test_an_object_on_the_way(moveit):
    """The arm is brought to rest before one that comes during a motion."""
    probe = moveit.probe
    probe.change('/ik_node', motion__velocity_scale=0.1)
    stamp = probe.send_joints(RIGHT)
    probe.wait(lambda: probe.states[-1][1].position[0] < 0.85)
    moveit.send(scene_of(post()))
    answer = probe.final(stamp)
    assert answer['state'] == 'stopped' and answer['reason'] == 'COLLISION', answer
    assert "'post'" in answer['message'] and 'the scene changed' in answer['message']


def test_shapes(moveit):
    """Primitives, meshes and planes are where pose and pose of the shape put them."""
    turned = pin.rpy.rpyToMatrix(0.3, -0.4, 0.5)
    thing = collision_object(
        'thing', box(0.1, 0.2, 0.3), primitive(SolidPrimitive.SPHERE, 0.05),
        primitive(SolidPrimitive.CYLINDER, 0.4, 0.03), primitive(SolidPrimitive.CONE, 0.4, 0.03),
        pose=at(2.0, 0.5, 0.2, turned), meshes=[mesh()], mesh_poses=[at(0.3, 0.0, 0.0)],
        planes=[Plane(coef=[0.0, 0.0, 2.0, 4.0])],
        primitive_poses=[at(0.0, 0.0, 0.0), at(0.1, 0.0, 0.0, turned), at(0.2, 0.0, 0.0)])
    moveit.tell(thing, lambda scene: ids(scene) == {'thing'})
    seen, = moveit.scene().world.collision_objects
    T, frame = place_of(seen)
    assert frame == 'base_link' and np.allclose(T, se3(thing.pose), atol=1e-9)
    assert [(each.type, [*each.dimensions]) for each in seen.primitives] == [
        (SolidPrimitive.BOX, [0.1, 0.2, 0.3]), (SolidPrimitive.SPHERE, [0.05]),
        (SolidPrimitive.CYLINDER, [0.4, 0.03])]
    for given, shown in zip(thing.primitive_poses, seen.primitive_poses):
        assert np.allclose(se3(given), se3(shown), atol=1e-9)
    cone, tetrahedron = ([(p.x, p.y, p.z) for p in each.vertices] for each in seen.meshes)
    assert {tuple(np.round(p, 9)) for p in tetrahedron} == {tuple(p) for p in TETRAHEDRON}
    assert np.allclose(se3(seen.mesh_poses[1]).translation, (0.3, 0.0, 0.0))
    cone = np.array(cone)
    radius = np.hypot(cone[:, 0], cone[:, 1])
    assert np.allclose(cone[radius < 1e-9], (0.0, 0.0, 0.2))
    assert np.allclose(cone[radius > 1e-9][:, 2], -0.2)
    assert 0.03 <= radius.max() < 0.0304
    half_space = se3(seen.plane_poses[0])
    assert np.allclose(half_space.translation, (0.0, 0.0, -2.0))


def test_one_shape_with_a_pose_of_its_own(moveit):
    """Without a pose of the object that is the object's, as in MoveIt; MOVE sets it, too."""
    thing = collision_object('thing', box(0.1, 0.1, 0.1), primitive_poses=[at(*POST)])
    moveit.tell(thing, lambda scene: ids(scene) == {'thing'})
    seen, = moveit.scene().world.collision_objects
    assert np.allclose(place_of(seen)[0].translation, POST)
    moveit.tell(collision_object('thing', operation=MOVE, primitive_poses=[at(*AWAY)]),
                lambda scene: scene.world.collision_objects[0].pose.position.x == AWAY[0])


def test_append(moveit):
    """The shapes are added where the message puts them; the object stays where it is."""
    moveit.tell(collision_object('thing', box(0.1, 0.1, 0.1), place=(2.0, 0.0, 0.5),
                                 operation=APPEND), lambda scene: ids(scene) == {'thing'})
    more = collision_object('thing', box(0.2, 0.2, 0.2), place=(2.0, 1.0, 0.5), operation=APPEND)
    moveit.tell(more, lambda scene: len(scene.world.collision_objects[0].primitives) == 2)
    seen, = moveit.scene().world.collision_objects
    assert np.allclose(place_of(seen)[0].translation, (2.0, 0.0, 0.5))
    assert np.allclose(se3(seen.primitive_poses[1]).translation, (0.0, 1.0, 0.0))


def test_in_the_frame_of_a_link(moveit):
    """An object of the world stays where the link is now."""
    moveit.tell(collision_object('thing', box(0.02, 0.02, 0.02), place=(0.0, 0.0, 0.3),
                                 frame='tool0'), lambda scene: ids(scene) == {'thing'})
    expected = (tip(latest(moveit.probe)) * pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.3])))
    assert moveit.probe.final(moveit.probe.send_joints(READY))['state'] == 'reached'
    seen, = moveit.scene().world.collision_objects
    assert np.allclose(place_of(seen)[0], expected, atol=1e-4)


def test_one_name_space(moveit):
    """Objects of ~/scene are those of MoveIt, by their ids."""
    topic = moveit.probe.publisher(MarkerArray, 'scene')
    topic.publish(MarkerArray(markers=[marker_post()]))
    moveit.probe.wait(lambda: ids(moveit.scene()) == {'cell/1'})
    assert blocked(moveit.probe)
    moveit.tell(collision_object('cell/1', operation=REMOVE), lambda scene: not ids(scene))
    assert not blocked(moveit.probe)
    moveit.tell(post(), lambda scene: ids(scene) == {'post'})
    topic.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
    moveit.probe.wait(lambda: not ids(moveit.scene()))


# ---- attached objects -----------------------------------------------------------

def rod():
    """Return a rod along the tool."""
    return collision_object('rod', box(0.02, 0.02, 0.3), place=(0.0, 0.0, 0.2), frame='tool0')


def test_an_object_in_the_hand(moveit):
    """It moves with the hand, meets what is there, and stays where it is detached."""
    probe = moveit.probe
    moveit.tell(attached_object('tool0', rod(), 'link_6'), lambda scene: held(scene)
                == {'rod': 'tool0'})
    seen, = moveit.scene().robot_state.attached_collision_objects
    assert {*seen.touch_links} == {'tool0', 'link_6'} and not ids(moveit.scene())
    assert np.allclose(place_of(seen.object)[0].translation, (0.0, 0.0, 0.2))
    beyond = tip(RIGHT) * pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.25]))
    block = collision_object('block', box(0.04, 0.04, 0.04), place=beyond.translation)
    assert moveit.apply(scene_of(block))
    answer = probe.final(probe.send_joints(RIGHT))
    assert answer['reason'] == 'COLLISION' and "'rod'" in answer['message'], answer
    released = attached_object('', collision_object('rod', operation=REMOVE))
    moveit.tell(released, lambda scene: not held(scene) and ids(scene) == {'rod', 'block'})
    thing, = (each for each in moveit.scene().world.collision_objects if each.id == 'rod')
    expected = tip(latest(probe)) * pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.2]))
    assert np.allclose(place_of(thing)[0], expected, atol=1e-4)


def test_an_object_of_the_world_is_taken(moveit):
    """By its id alone, where it is; all that a link holds are released without an id."""
    probe = moveit.probe
    T = tip(latest(probe)) * pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.2]))
    thing = collision_object('thing', box(0.02, 0.02, 0.2), pose=at(*T.translation, T.rotation))
    moveit.tell(thing, lambda scene: ids(scene) == {'thing'})
    by_id = attached_object('tool0', msg.CollisionObject(id='thing'), 'link_6')
    moveit.tell(by_id, lambda scene: held(scene) == {'thing': 'tool0'} and not ids(scene))
    seen, = moveit.scene().robot_state.attached_collision_objects
    assert np.allclose(place_of(seen.object)[0].translation, (0.0, 0.0, 0.2), atol=1e-4)
    all_of_it = attached_object('tool0', msg.CollisionObject(operation=REMOVE))
    moveit.tell(all_of_it, lambda scene: not held(scene) and ids(scene) == {'thing'})
    # With shapes of its own it replaces the object of the world.
    other = collision_object('thing', box(0.03, 0.03, 0.03), frame='tool0', place=(0.0, 0.0, 0.1))
    moveit.tell(attached_object('tool0', other, 'link_6'),
                lambda scene: held(scene) == {'thing': 'tool0'} and not ids(scene))
    seen, = moveit.scene().robot_state.attached_collision_objects
    assert seen.object.primitives[0].dimensions[0] == 0.03


def test_an_object_in_the_hand_grows(moveit):
    """APPEND adds shapes to it where the message puts them, in whichever frame."""
    moveit.tell(attached_object('tool0', rod(), 'link_6'), held)
    T = tip(latest(moveit.probe)) * pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.5]))
    more = collision_object('rod', box(0.1, 0.1, 0.1), pose=at(*T.translation, T.rotation),
                            operation=APPEND)
    moveit.send(attached_object('tool0', more, 'link_5'))

    def rod_now():
        seen, = moveit.scene().robot_state.attached_collision_objects
        return seen.object

    moveit.probe.wait(lambda: len(rod_now().primitives) == 2)
    seen, = moveit.scene().robot_state.attached_collision_objects
    assert {*seen.touch_links} == {'tool0', 'link_5', 'link_6'}
    T_tool_part = place_of(rod_now())[0] * se3(rod_now().primitive_poses[1])
    assert np.allclose(T_tool_part, pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.5])), atol=1e-4)


def test_a_capsule_is_told_as_three_primitives():
    """MoveIt has none; the spheres are at its ends."""
    scene = Scene('base_link')
    scene.add_capsule('pipe', (0.05, 0.4))
    message = msg.CollisionObject()
    fill_collision_object(message, scene.objects['pipe'], np.eye(4), 'base_link')
    assert [each.type for each in message.primitives] == [
        SolidPrimitive.CYLINDER, SolidPrimitive.SPHERE, SolidPrimitive.SPHERE]
    assert [each.position.z for each in message.primitive_poses] == [0.0, -0.2, 0.2]
    T, parts = parts_of(message)
    assert np.array_equal(T, np.eye(4))
    assert [(part.kind, part.size) for part in parts] == [
        ('cylinder', (0.05, 0.4)), ('sphere', (0.05,)), ('sphere', (0.05,))]


# ---- whole scenes ---------------------------------------------------------------

def test_a_scene_replaces_or_changes(moveit):
    """With is_diff it changes what it names; without, what came before is gone."""
    assert moveit.apply(scene_of(post('one', AWAY), post('two')))
    assert moveit.apply(scene_of(collision_object('two', operation=REMOVE), post('three', AWAY),
                                 attached=[attached_object('tool0', rod(), 'link_6')]))
    assert ids(moveit.scene()) == {'one', 'three'} and held(moveit.scene()) == {'rod': 'tool0'}
    moveit.tell(scene_of(post('four', AWAY), diff=False), lambda scene: ids(scene) == {'four'})
    assert not held(moveit.scene())


def test_a_scene_takes_and_puts_back(moveit):
    """As in MoveIt's tutorial: removed from the world and attached, and the other way round."""
    assert moveit.apply(scene_of(post('rod', AWAY)))
    taken = scene_of(collision_object('rod', operation=REMOVE),
                     attached=[attached_object('tool0', rod(), 'link_6')])
    assert moveit.apply(taken) and held(moveit.scene()) == {'rod': 'tool0'}
    back = scene_of(post('rod', AWAY), attached=[
        attached_object('tool0', collision_object('rod', operation=REMOVE))])
    assert moveit.apply(back) and ids(moveit.scene()) == {'rod'} and not held(moveit.scene())


def test_a_scene_state_that_is_not_a_diff(moveit):
    """Its attached objects are all, and the log names those that are gone."""
    assert moveit.apply(scene_of(attached=[attached_object('tool0', rod(), 'link_6')]))
    scene = scene_of(post('one', AWAY))
    scene.robot_state.is_diff = False
    assert moveit.apply(scene) and not held(moveit.scene())
    moveit.probe.wait(lambda: "'rod' attached before are gone" in moveit.probe.node.output)


def test_components(moveit):
    """Only what is asked for; a scene that is sent back changes nothing."""
    assert moveit.apply(scene_of(post(), attached=[attached_object('tool0', rod(), 'link_6')]))
    assert moveit.scene(FLAGS.SCENE_SETTINGS).robot_model_name == 'six_axis_arm'
    named, = moveit.scene(FLAGS.WORLD_OBJECT_NAMES).world.collision_objects
    assert named.id == 'post' and not named.primitives
    whole, = moveit.scene(FLAGS.WORLD_OBJECT_GEOMETRY).world.collision_objects
    assert whole.primitives
    assert held(moveit.scene(FLAGS.ROBOT_STATE_ATTACHED_OBJECTS)) == {'rod': 'tool0'}
    state = moveit.scene(FLAGS.ROBOT_STATE).robot_state.joint_state
    assert dict(zip(state.name, state.position)) == pytest.approx(
        {f'joint_{k + 1}': value for k, value in enumerate(latest(moveit.probe))}, abs=1e-6)
    nothing = moveit.scene(FLAGS.OCTOMAP)
    assert not nothing.robot_state.joint_state.name and not ids(nothing)
    before = moveit.objects()
    assert moveit.apply(moveit.scene()) and moveit.objects() == before
    assert blocked(moveit.probe)


# ---- the allowed collision matrix ---------------------------------------------------

def matrix_with(scene, id, value):
    """Return the matrix of a scene in which an object may touch all, or nothing."""
    matrix = scene.allowed_collision_matrix
    k = [*matrix.entry_names].index(id)
    for row in matrix.entry_values:
        row.enabled[k] = value
    matrix.entry_values[k].enabled = [value] * len(matrix.entry_names)
    return matrix


def test_allowed_collisions(moveit):
    """The matrix is read, changed and applied, as by pymoveit2; it outlives a replacement."""
    assert moveit.apply(scene_of(post()))
    scene = moveit.scene(FLAGS.ALLOWED_COLLISION_MATRIX)
    assert 'link_3' in scene.allowed_collision_matrix.entry_names
    assert blocked(moveit.probe)
    assert moveit.apply(scene_of(allowed_collision_matrix=matrix_with(scene, 'post', True)))
    assert not blocked(moveit.probe)
    moveit.send(post(place=(POST[0], 0.01, POST[2])))
    moveit.probe.wait(lambda: abs(
        moveit.scene().world.collision_objects[0].pose.position.y - 0.01) < 1e-9)
    assert not blocked(moveit.probe)
    scene = moveit.scene(FLAGS.ALLOWED_COLLISION_MATRIX)
    assert moveit.apply(scene_of(allowed_collision_matrix=matrix_with(scene, 'post', False)))
    assert blocked(moveit.probe)


def changed(matrix, one, other, value):
    """Return a matrix with one pair changed."""
    names = [*matrix.entry_names]
    matrix.entry_values[names.index(one)].enabled[names.index(other)] = value
    matrix.entry_values[names.index(other)].enabled[names.index(one)] = value
    return matrix


@pytest.fixture
def matrix(moveit):
    """Return what returns the matrix of the node, in which a post stands before the arm."""
    assert moveit.apply(scene_of(post()))
    return lambda: moveit.scene(FLAGS.ALLOWED_COLLISION_MATRIX).allowed_collision_matrix


def entries(names, *touching):
    """Return a matrix of entries, in which some pairs may touch."""
    return msg.AllowedCollisionMatrix(entry_names=names, entry_values=[
        msg.AllowedCollisionEntry(enabled=[{one, other} in touching for other in names])
        for one in names])


def test_a_matrix_of_a_client(moveit, matrix):
    """
    One made anew, as clients do to let an object touch links.

    Its entries of two links are False, also for those that one joint connects, which stay
    unchecked.
    """
    links = [f'link_{k}' for k in range(1, 7)]
    touching = [{'post', link} for link in (*links, 'tool0')]
    assert moveit.apply(scene_of(allowed_collision_matrix=entries(
        ['post', 'ghost', *links, 'tool0'], *touching, {'post', 'ghost'})))
    assert not blocked(moveit.probe)
    moveit.probe.wait(lambda: "'link_2' and 'link_3' (one joint connects them)"
                      in moveit.probe.node.output)


def test_a_matrix_of_links(moveit, matrix):
    """Links that collide may touch as long as it says so; the matrix that is told is this one."""
    def reason():
        return moveit.probe.final(moveit.probe.send_joints(FOLDED))['reason']

    assert moveit.apply(scene_of(collision_object('post', operation=REMOVE)))
    assert reason() == 'COLLISION'
    pairs = [{one, other} for one in FOLDED_LINKS for other in FOLDED_LINKS if one < other]
    assert moveit.apply(scene_of(allowed_collision_matrix=entries([*FOLDED_LINKS], *pairs)))
    told = matrix()
    names = [*told.entry_names]
    assert all(told.entry_values[names.index(one)].enabled[names.index(other)]
               for one, other in pairs)
    assert reason() in ('REACHED', 'ALREADY_THERE')
    assert moveit.probe.final(moveit.probe.send_joints(LEFT))['reason'] == 'REACHED'
    assert moveit.apply(scene_of(diff=False))
    assert reason() == 'COLLISION'


def test_a_matrix_of_thousands(moveit):
    """Its size alone does not hold the node; names without an object may not touch."""
    assert moveit.apply(scene_of(post()))
    count = 2000
    entries = [msg.AllowedCollisionEntry(enabled=[False] * count) for _ in range(count)]
    many = msg.AllowedCollisionMatrix(entry_names=['post', *map(str, range(1, count))],
                                      entry_values=entries)
    assert moveit.apply(scene_of(allowed_collision_matrix=many))
    assert blocked(moveit.probe)


# ---- what changes nothing -----------------------------------------------------------

def stale():
    """Return an object that is old."""
    made = post()
    made.header.stamp.sec = 100
    return made


@pytest.mark.fault('goals', "messages of MoveIt that cannot be used: numbers that are not finite, "
                   'sizes of zero, unknown frames, operations and indices, old ones, an octomap',
                   'each changes nothing, and one sentence says why')
def test_messages_that_change_nothing(moveit):
    """One sentence each, whatever is wrong."""
    nan, inf = float('nan'), float('inf')
    moveit.tell(post('kept', AWAY), lambda scene: ids(scene) == {'kept'})
    moveit.tell(attached_object('tool0', rod(), 'link_6'), held)
    for thing, *words in (
            (post('x', (nan, 0.0, 0.0)), 'position.x'),
            (post('x', (1e9, 0.0, 0.0)), 'm away'),
            (post('x', pose=at(1.0, 0.0, 0.0, np.zeros((3, 3)))),
             "quaternion of the object 'x'"),
            (collision_object('x', box(0.0, 0.1, 0.1)), 'above 0'),
            (collision_object('x', box(inf, 0.1, 0.1)), 'finite'),
            (collision_object('x', box(0.1, 0.1)), 'needs 3'),
            (collision_object('x', primitive(SolidPrimitive.CONE, 0.0, 0.1)), 'cone'),
            (collision_object('x', primitive(SolidPrimitive.CONE, nan, 0.1)), 'cone'),
            (collision_object('x', primitive(SolidPrimitive.PRISM, 0.1)), 'type 5'),
            (collision_object('x', primitive(77)), 'type 77'),
            (collision_object('x'), 'no parts'),
            (collision_object('', box(0.1, 0.1, 0.1)), 'the id'),
            (collision_object('<octomap>', box(0.1, 0.1, 0.1)), 'reserved'),
            (collision_object('link_2', box(0.1, 0.1, 0.1)), 'name of a link'),
            (collision_object('x', box(0.1, 0.1, 0.1), frame='nowhere'), "'nowhere'"),
            (collision_object('x', box(0.1, 0.1, 0.1), frame='x'), "'x'"),
            (collision_object('x', box(0.1, 0.1, 0.1), frame=''), 'frame_id'),
            (collision_object('x', box(0.1, 0.1, 0.1), operation=b'\x07'), 'operation 7'),
            (collision_object('x', box(0.1, 0.1, 0.1), primitive_poses=[at(0, 0, 0)] * 2),
             '2 poses'),
            (collision_object('x', meshes=[mesh(faces=[(0, 1, 9)])]), '9'),
            (collision_object('x', meshes=[mesh([(nan, 0, 0)] * 3, [(0, 1, 2)])]), 'finite'),
            (collision_object('x', meshes=[mesh([], [])]), 'mesh'),
            (collision_object('x', planes=[Plane(coef=[0.0, 0.0, 0.0, 1.0])]), 'coefficients'),
            (collision_object('x', planes=[Plane(coef=[nan, 0.0, 0.0, 1.0])]), 'coefficients'),
            (collision_object('nobody', operation=MOVE), "'nobody'"),
            (collision_object('kept', box(0.1, 0.1, 0.1), operation=MOVE), 'shapes'),
            (collision_object('rod', operation=REMOVE), 'detach it first'),
            (post('rod'), 'detach it first'),
            (stale(), 'old by its stamp')):
        moveit.refused(thing, *words)
    for thing, *words in (
            (attached_object('nothing', rod()), "'nothing'", 'not a link'),
            (attached_object('kept', rod()), "'kept'", 'not a link'),
            (attached_object('tool0', msg.CollisionObject(id='nobody')), "'nobody'"),
            (attached_object('tool0', rod(), 'nobody'), "'nobody'"),
            (attached_object('tool0', collision_object('rod', operation=MOVE)), 'MOVE'),
            (attached_object('link_2', collision_object('rod', operation=REMOVE)), "'tool0'"),
            (attached_object('', collision_object('kept', operation=REMOVE)), 'is not attached'),
            (attached_object('', collision_object('nobody', operation=REMOVE)), "'nobody'"),
            (attached_object('tool0', collision_object('x', planes=[
                Plane(coef=[0.0, 0.0, 1.0, 0.0])])), 'no end')):
        moveit.refused(thing, *words)
    octomap = scene_of(post('x'))
    octomap.world.octomap.octomap.data = [1, 2]
    for scene, *words in (
            (scene_of(post('x'), post('x')), 'twice'),
            (scene_of(post('x'), stale()), 'old by its stamp'),
            (scene_of(post('x'), robot_model_name='another'), "'another'"),
            (scene_of(post('x'), link_padding=[msg.LinkPadding(padding=0.1)]), 'padding'),
            (scene_of(post('x'), link_scale=[msg.LinkScale(scale=2.0)]), 'scaled'),
            (scene_of(*(post(f'x{k}', AWAY, primitives=[box(0.1, 0.1, 0.1)] * 400)
                        for k in range(30))), 'more than'),
            (scene_of(allowed_collision_matrix=msg.AllowedCollisionMatrix(
                default_entry_names=['kept'])), 'as many'),
            (octomap, 'octomap')):
        moveit.refused(scene, *words)
        assert not moveit.apply(scene)


@pytest.mark.fault('goals', 'the node stands still while objects are sent',
                   'an object in the base link is taken when it goes on; one in a frame that may '
                   'have moved is refused as old')
def test_objects_that_waited(moveit):
    """By the middleware's stamps; where the base is nothing moves meanwhile."""
    probe = moveit.probe
    probe.change('/ik_node', goal__max_age=0.5)
    probe.node.send(signal.SIGSTOP)
    try:
        moveit.send(rod())
        moveit.send(post())
        probe.spin_for(1.0)
    finally:
        probe.node.send(signal.SIGCONT)
    probe.wait(lambda: ids(moveit.scene()) == {'post'})
    probe.wait(lambda: "the collision object 'rod' of the scene changed nothing: the goal was sent"
               in probe.node.output)


@pytest.mark.nightly
def test_a_thousand_objects(moveit):
    """All of them are taken, at once or one after the other."""
    many = [collision_object(f'o{k}', box(0.01, 0.01, 0.01), place=(3.0, 0.1 * k, 0.0))
            for k in range(1000)]
    assert moveit.apply(scene_of(*many)) and len(ids(moveit.scene())) == 1000
    moveit.clear()
    for thing in many:
        moveit.send(thing)
    moveit.probe.wait(lambda: len(ids(moveit.scene(FLAGS.WORLD_OBJECT_NAMES))) == 1000, 60.0)
