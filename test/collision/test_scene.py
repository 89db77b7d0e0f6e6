# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The scene: what each call adds and changes, and that a refused call changes nothing."""

import coal
import coal_shapes
from hypothesis import settings, strategies as st
from hypothesis.stateful import invariant, rule, RuleBasedStateMachine
import numpy as np
import pytest

from ik_node.base.errors import ParameterError
from ik_node.base.se3 import inverse, pose, rotation_from_rpy
from ik_node.collision.bodies.part_checks import NO_VERTICES
from ik_node.collision.bodies.parts import ConvexPart
from ik_node.collision.scene import scene as scene_module
from ik_node.collision.scene.scene import Scene

LINKS = ('base', 'upper', 'hand', 'finger')
T1 = pose(rotation_from_rpy(0.1, -0.2, 0.3), np.array([0.4, 0.5, 0.6]))
T2 = pose(rotation_from_rpy(-0.7, 0.2, 1.3), np.array([-0.4, 0.1, 0.9]))


@pytest.fixture
def scene():
    return Scene('base', LINKS)


def test_primitives(scene):
    """Kind, size, pose, frame and padding arrive in the body."""
    scene.add_box('box', (1, 2, 3), T1)
    scene.add_cylinder('cylinder', [0.1, 0.5], T1, 'hand', padding=0.01)
    scene.add_sphere('sphere', 0.2)
    scene.add_capsule('capsule', np.array([0.1, 0.4]), T=T2.tolist())
    scene.add_plane('plane', T2, frame='')
    assert [(body.name, body.frame, body.padding) for body in scene.bodies] == [
        ('box', 'base', 0.0), ('cylinder', 'hand', 0.01), ('sphere', 'base', 0.0),
        ('capsule', 'base', 0.0), ('plane', 'base', 0.0)]
    parts = [body.parts[0] for body in scene.bodies]
    assert all(len(body.parts) == 1 for body in scene.bodies)
    assert [(part.kind, part.size) for part in parts] == [
        ('box', (1.0, 2.0, 3.0)), ('cylinder', (0.1, 0.5)), ('sphere', (0.2,)),
        ('capsule', (0.1, 0.4)), ('plane', ())]
    for part, T in zip(parts, (T1, T1, np.eye(4), T2, T2)):
        assert np.array_equal(part.T, T) and part.vertices.shape == (0, 3)
        assert type(part.size) is tuple and not part.T.flags.writeable


def test_sizes_are_as_described(scene):
    """Coal measures from outside where each surface is."""
    scene.add_box('box', (0.2, 0.4, 0.6))
    scene.add_cylinder('cylinder', (0.1, 0.6))
    scene.add_capsule('capsule', (0.1, 0.4))
    scene.add_plane('plane', pose(np.eye(3), np.array([0.0, 0.0, 0.3])))
    probe = pose(np.eye(3), np.array([0.0, 0.0, 1.0]))
    for body in scene.bodies:
        part, = body.parts
        assert coal_shapes.distance(coal_shapes.coal_shape(part), part.T, coal.Sphere(0.2),
                                    probe) == pytest.approx(0.5, abs=1e-6)


def test_mesh(scene, tmp_path):
    """From a file or from arrays, with a scale; the hulls lie where the mesh is."""
    import trimesh
    box = trimesh.creation.box((2.0, 4.0, 6.0)).apply_translation((1.0, 0.0, 0.0))
    (tmp_path / 'box.stl').write_bytes(box.export(file_type='stl'))
    for mesh in (tmp_path / 'box.stl', str(tmp_path / 'box.stl'), (box.vertices, box.faces)):
        scene.add_mesh('mesh', mesh, (0.1, -0.1, 0.2), T1)
        part, = scene.bodies[0].parts
        assert part.kind == 'hull' and np.array_equal(part.T, T1)
        assert np.allclose(part.vertices.min(axis=0), (0.0, -0.2, -0.6), atol=1e-7)
        assert np.allclose(part.vertices.max(axis=0), (0.2, 0.2, 0.6), atol=1e-7)
    scene.add_mesh('mesh', (box.vertices, box.faces), 0.5)
    assert np.allclose(np.ptp(scene.bodies[0].parts[0].vertices, axis=0), (1.0, 2.0, 3.0))


def test_points(scene):
    """All points are inside the boxes, whose number is small for a wall."""
    points = np.random.default_rng(5).uniform((0.5, -0.5, 0.0), (0.52, 0.5, 1.0), (20_000, 3))
    scene.add_points('wall', points, 0.05, T1, 'upper', 0.02)
    body, = scene.bodies
    assert body.frame == 'upper' and body.padding == 0.02 and len(body.parts) == 1
    part, = body.parts
    local = np.c_[points @ T1[:3, :3].T + T1[:3, 3], np.ones(len(points))] @ inverse(part.T).T
    assert (np.abs(local[:, :3]) <= 0.5 * np.array(part.size) + 1e-9).all()
    assert part.size == pytest.approx((0.05, 1.0, 1.0))


def test_parts_move_with_their_object(scene):
    """An object of two parts is one body; a new pose moves both."""
    parts = [ConvexPart('box', (1, 1, 1), T1, NO_VERTICES),
             ConvexPart('hull', (), np.eye(4), np.eye(3))]
    scene.add_parts('tray', parts, T2)
    body, = scene.bodies
    assert np.allclose(body.parts[0].T, T2 @ T1) and np.allclose(body.parts[1].T, T2)
    scene.move('tray', T1, 'hand')
    body, = scene.bodies
    assert body.frame == 'hand' and np.allclose(body.parts[0].T, T1 @ T1)


@pytest.mark.parametrize('id', ['', 'two\nlines', 'next\x85line', 201 * 'x', 7])
def test_an_id_is_a_printable_text(scene, id):
    """Sentences name objects by their ids."""
    before = scene.snapshot
    with pytest.raises(ParameterError, match='the id of an object is .* 200 printable'):
        scene.add_sphere(id, 0.1)
    assert scene.snapshot is before


def test_same_id_replaces(scene):
    """The last one counts, at the place of the first; the version says that it changed."""
    scene.add_sphere('a', 1.0)
    scene.add_sphere('b', 1.0)
    scene.attach('a', 'hand', (), T1)
    version = scene.version
    scene.add_box('a', (1, 1, 1))
    assert [body.name for body in scene.bodies] == ['a', 'b'] and scene.version == version + 1
    assert scene.bodies[0].parts[0].kind == 'box' and not scene.objects['a'].attached


def test_an_earlier_snapshot_comes_again(scene):
    """As a new version, with the objects and bodies of then."""
    scene.add_sphere('a', 1.0)
    before, version = scene.snapshot, scene.version
    scene.add_box('b', (1, 1, 1))
    scene.remove('a')
    scene.restore(before)
    assert [*scene.objects] == ['a'] and scene.objects['a'] is before.objects['a']
    assert scene.version == version + 3 and [body.name for body in scene.bodies] == ['a']


def test_remove_and_clear(scene):
    """Objects go one by one or all at once; clearing an empty scene is no change."""
    for name in 'abc':
        scene.add_sphere(name, 1.0)
    scene.remove('b')
    assert list(scene.objects) == ['a', 'c'] and len(scene) == 2 and 'b' not in scene
    scene.clear()
    assert scene.bodies == () and scene.version == 5
    scene.clear()
    assert scene.version == 5


def test_snapshots_stay(scene):
    """A snapshot that is held does not change, and bodies that did not change are the same."""
    scene.add_sphere('a', 1.0)
    held = scene.snapshot
    body = scene.bodies[0]
    scene.add_sphere('b', 1.0)
    assert held.version == 1 and held.bodies == (body,) and list(held.objects) == ['a']
    assert scene.bodies[0] is body and scene.snapshot is not held
    scene.remove('a')
    assert list(held.objects) == ['a']
    with pytest.raises(TypeError):
        held.objects['c'] = None


def test_attach_and_detach(scene):
    """An object stays where it is in space when it is gripped, and when it is left."""
    T_base_cup, T_base_hand, later = T1, T2, T2 @ T1
    scene.add_sphere('cup', 0.1, T_base_cup)
    scene.attach('cup', 'hand', ['finger'], T_frame_link=T_base_hand)
    body, = scene.bodies
    assert body.frame == 'hand' and scene.objects['cup'].attached
    assert np.allclose(T_base_hand @ body.parts[0].T, T_base_cup, atol=1e-15)
    assert scene.snapshot.touch_links == {'cup': frozenset({'hand', 'finger'})}
    with pytest.raises(ParameterError, match='detach it first'):
        scene.move('cup', T1)
    scene.detach('cup', T_frame_link=later)
    body, = scene.bodies
    assert body.frame == 'base' and not scene.objects['cup'].attached
    assert np.allclose(body.parts[0].T, later @ inverse(T_base_hand) @ T_base_cup, atol=1e-15)
    assert scene.snapshot.touch_links == {}


def test_attach_in_the_frame_of_the_link(scene):
    """No pose of the link is needed; another link takes it over with the pose between them."""
    scene.add_sphere('cup', 0.1, T1, 'hand')
    scene.attach('cup', 'hand')
    assert np.array_equal(scene.bodies[0].parts[0].T, T1)
    with pytest.raises(ParameterError, match="in the frame 'hand'.*give T_frame_link"):
        scene.attach('cup', 'upper')
    scene.attach('cup', 'upper', (), T_frame_link=T2)
    assert scene.bodies[0].frame == 'upper'
    assert np.allclose(T2 @ scene.bodies[0].parts[0].T, T1, atol=1e-15)


def test_allow(scene):
    """What an object may touch, attached or not, until it is replaced."""
    scene.add_sphere('cup', 0.1, None, 'hand')
    scene.add_sphere('table', 0.1)
    scene.allow('table', ['upper', 'cup'])
    assert scene.snapshot.touch_links == {'table': {'upper', 'cup'}}
    scene.attach('cup', 'hand')
    scene.allow('cup', ['upper'])
    scene.allow('table', [])
    assert scene.snapshot.touch_links == {'cup': {'upper', 'hand'}}
    scene.detach('cup', T1)
    assert scene.snapshot.touch_links == {'cup': {'upper'}}
    scene.add_sphere('cup', 0.1)
    assert scene.snapshot.touch_links == {}


def test_links_that_may_touch(scene):
    """Until others are named; an earlier snapshot has its own."""
    before, pair = scene.snapshot, frozenset(('upper', 'finger'))
    assert not before.link_pairs
    scene.allow_links({pair: True})
    assert scene.snapshot.link_pairs == {pair: True} and not before.link_pairs
    assert scene.snapshot.version > before.version
    scene.restore(before)
    assert not scene.snapshot.link_pairs


def test_a_copy_is_changed_by_itself(scene):
    """It has the objects and the links that may touch; the other stays as it was."""
    scene.add_sphere('ball', 0.1)
    scene.allow_links({frozenset(('upper', 'finger')): False})
    other = scene.copy()
    assert [*other.objects] == ['ball'] and other.snapshot.link_pairs == scene.snapshot.link_pairs
    before = scene.snapshot
    other.add_sphere('another', 0.1)
    other.remove('ball')
    assert scene.snapshot is before and [*other.objects] == ['another']
    assert (scene.part_count, other.part_count) == (1, 1)


def test_many_parts_are_checked(scene):
    """As one by one; the first that is not allowed is told of, wherever it stands."""
    good = [ConvexPart('box', (0.1, 0.2, 0.3), T1 if k % 2 else T2, NO_VERTICES)
            for k in range(1200)]
    scene.add_parts('many', good)
    for part, wanted in zip(scene.objects['many'].parts, good, strict=True):
        assert part.size == wanted.size and np.array_equal(part.T, wanted.T)
        assert not part.T.flags.writeable
    before, skewed = scene.snapshot, T1 + np.diag([1e-5, 0.0, 0.0, 0.0])
    mirrored = T1 @ np.diag([1.0, 1.0, -1.0, 1.0])
    for size, T, words in (((0.1, 0.2), T1, 'must be 3'), ((0.1, 0.2, -0.3), T1, 'above 0'),
                           ((0.1, 0.2, np.nan), T1, 'finite'), ((0.1, 0.2, 0.3), skewed, 'pose'),
                           ((0.1, 0.2, 0.3), mirrored, 'right-handed'),
                           ((0.1, 0.2, 0.3), T1 * 1e200, 'pose'),
                           ((0.1, 0.2, 0.3), T1[:3], '4 x 4'), ('abc', T1, 'numbers')):
        for place in (3, 1199):
            bad = [*good]
            bad[place] = ConvexPart('box', size, T, NO_VERTICES)
            with pytest.raises(ParameterError, match=words):
                scene.add_parts('many', bad)
    assert scene.snapshot is before
    scene.add_parts('mixed', [*good, ConvexPart('sphere', (0.1,), T1, NO_VERTICES)])
    assert scene.objects['mixed'].parts[-1].kind == 'sphere'


def test_repr(scene):
    """One line says what there is."""
    assert repr(scene) == 'Scene(0 objects, 0 parts, version 0)'
    scene.add_sphere('cup', 0.1, None, 'hand')
    scene.attach('cup', 'hand')
    assert repr(scene) == "Scene(1 object, 1 part, version 2: 'cup' at 'hand')"
    for k in range(20):
        scene.add_sphere(f'ball {k}', 0.1)
    assert repr(scene).endswith(', ...)') and '\n' not in repr(scene)


def test_without_links():
    """A scene that knows no links takes any frame."""
    scene = Scene()
    scene.add_sphere('a', 0.1, None, 'anything')
    scene.add_sphere('b', 0.1)
    scene.attach('a', 'other', ('more',), T1)
    assert [body.frame for body in scene.bodies] == ['other', '']
    with pytest.raises(ParameterError, match="base link 'foot'.*'base'"):
        Scene('foot', LINKS)


BENT = T1 @ np.diag([1.0, 1.0, 1.01, 1.0])
MIRRORED = np.diag([1.0, 1.0, -1.0, 1.0])
REFUSED = {
    'size of zero': (lambda s: s.add_box('a', (1, 0, 1)), 'size 1 0 1.*above 0'),
    'negative size': (lambda s: s.add_sphere('a', -1.0), 'sphere'),
    'NaN': (lambda s: s.add_capsule('a', (np.nan, 1)), 'finite'),
    'infinite': (lambda s: s.add_cylinder('a', (1, np.inf)), 'finite'),
    'huge': (lambda s: s.add_sphere('a', 1e7), r'at most 1e\+06 m'),
    'two sizes': (lambda s: s.add_box('a', (1, 2)), r'must be 3 numbers, got the shape \(2,\)'),
    'text as size': (lambda s: s.add_box('a', 'big'), "must be numbers, got 'big'"),
    'None as size': (lambda s: s.add_sphere('a', None), 'numbers|finite'),
    'not a rotation': (lambda s: s.add_sphere('a', 1, BENT), 'not a rotation'),
    'left-handed': (lambda s: s.add_sphere('a', 1, MIRRORED), 'right-handed'),
    'pose of another shape': (lambda s: s.add_sphere('a', 1, np.eye(3)), '4 x 4'),
    'NaN in the pose': (lambda s: s.add_sphere('a', 1, T1 * np.nan), 'finite'),
    'last row': (lambda s: s.add_sphere('a', 1, T1.T), 'last row'),
    'far away': (lambda s: s.move('old', pose(np.eye(3), np.full(3, 1e9))), 'm away'),
    'unknown frame': (lambda s: s.add_sphere('a', 1, None, 'hnad'), "did you mean 'hand'"),
    'frame of another type': (lambda s: s.add_sphere('a', 1, None, 3), 'name of a link'),
    'negative padding': (lambda s: s.add_sphere('a', 1, padding=-0.1), 'padding'),
    'padding NaN': (lambda s: s.add_sphere('a', 1, padding=np.nan), 'padding'),
    'no id': (lambda s: s.add_sphere('', 1), 'id of an object'),
    'id of another type': (lambda s: s.add_sphere(3, 1), 'id of an object'),
    'long id': (lambda s: s.add_sphere('a' * 300, 1), '1 to 200'),
    'id of a link': (lambda s: s.add_sphere('hand', 1), 'name of a link'),
    'unknown kind': (lambda s: s.add_parts('a', [ConvexPart('cone', (1,), np.eye(4), None)]),
                     "'cone'.*box"),
    'no parts': (lambda s: s.add_parts('a', []), 'no parts'),
    'hull without vertices': (lambda s: s.add_parts('a', [ConvexPart('hull', (), np.eye(4),
                                                                     NO_VERTICES)]), '1 to 300'),
    'hull of NaN': (lambda s: s.add_parts('a', [ConvexPart(
        'hull', (), np.eye(4), np.full((3, 3), np.nan))]), 'finite'),
    'hull far away': (lambda s: s.add_parts('a', [ConvexPart(
        'hull', (), np.eye(4), np.full((3, 3), 1e8))]), 'm away'),
    'missing mesh': (lambda s: s.add_mesh('a', '/none/a.stl'), 'missing'),
    'mesh of nothing': (lambda s: s.add_mesh('a', None), 'path of a file'),
    'scale of zero': (lambda s: s.add_mesh('a', (np.eye(3), [[0, 1, 2]]), 0), 'no factor'),
    'scale of text': (lambda s: s.add_mesh('a', (np.eye(3), [[0, 1, 2]]), 'x'), 'numbers'),
    'no points': (lambda s: s.add_points('a', np.zeros((0, 3)), 0.1), 'no points'),
    'flat points': (lambda s: s.add_points('a', np.zeros(3), 0.1), 'n x 3'),
    'points of NaN': (lambda s: s.add_points('a', [[0, 0, np.nan]], 0.1), 'finite'),
    'voxel of zero': (lambda s: s.add_points('a', [[0, 0, 0]], 0), 'voxel'),
    'too small voxel': (lambda s: s.add_points('a', np.random.default_rng(0).random((20_000, 3)),
                                               1e-4), 'more than 10,000; a voxel above'),
    'remove nothing': (lambda s: s.remove('odl'), "did you mean 'old'"),
    'move nothing': (lambda s: s.move('none', T1), 'no object'),
    'attach nothing': (lambda s: s.attach('none', 'hand'), 'no object'),
    'attach to an object': (lambda s: s.attach('old', 'held', (), T1), 'is an\n? ?object itself'),
    'attach to itself': (lambda s: s.attach('old', 'old', (), T1), 'object itself'),
    'attach to an unknown link': (lambda s: s.attach('old', 'leg', (), T1), "'leg'"),
    'attach without a pose': (lambda s: s.attach('old', 'hand'), 'give T_frame_link'),
    'attach with a bent pose': (lambda s: s.attach('old', 'hand', (), BENT), 'not a rotation'),
    'attach a plane': (lambda s: s.attach('floor', 'hand', (), T1), 'no end'),
    'links that are none': (lambda s: s.allow_links({frozenset(('hand', 'leg')): True}), "'leg'"),
    'touch an unknown link': (lambda s: s.attach('old', 'hand', ['leg'], T1), "'leg'.*neither"),
    'touch links as text': (lambda s: s.attach('old', 'hand', 'finger', T1), 'sequence'),
    'allow an unknown link': (lambda s: s.allow('old', ['leg']), "'leg'.*neither"),
    'allow of nothing': (lambda s: s.allow('none', ['hand']), 'no object'),
    'detach what is not attached': (lambda s: s.detach('old', T1), "attached are: 'held'"),
    'detach with a bent pose': (lambda s: s.detach('held', BENT), 'not a rotation'),
}


@pytest.mark.parametrize('call', REFUSED)
def test_a_refused_call_changes_nothing(scene, call):
    """One sentence says what is wrong, and the snapshot is the very same."""
    scene.add_sphere('old', 0.1)
    scene.add_plane('floor')
    scene.add_sphere('held', 0.1, None, 'hand')
    scene.attach('held', 'hand')
    before = scene.snapshot
    function, words = REFUSED[call]
    with pytest.raises(ParameterError, match=words) as error:
        function(scene)
    assert scene.snapshot is before
    assert '\n' not in str(error.value) and len(str(error.value)) < 500


def test_too_many_parts(scene, monkeypatch):
    """All objects together may have as many parts as the module says."""
    monkeypatch.setattr(scene_module, 'MAX_SCENE_PARTS', 3)
    part = ConvexPart('sphere', (0.1,), np.eye(4), NO_VERTICES)
    scene.add_parts('a', [part, part])
    scene.add_parts('b', [part])
    scene.add_parts('b', [part])  # in place of the other
    with pytest.raises(ParameterError, match='more than 3'):
        scene.add_parts('c', [part])
    scene.remove('a')
    scene.add_parts('c', [part, part])


IDS, FRAMES = st.sampled_from(['a', 'b', 'c', 'd']), st.sampled_from(LINKS)
POSES = st.sampled_from([T1, T2, T1 @ T2, inverse(T1)])


class SceneMachine(RuleBasedStateMachine):
    """Calls in any order, beside a plain dictionary: id -> (frame, T, attached)."""

    def __init__(self):
        super().__init__()
        self.scene = Scene('base', LINKS)
        self.model = {}
        self.changes = 0

    def call(self, allowed, function, *args, **kwargs):
        """Make a call; check that it is refused if it is not allowed."""
        if allowed:
            function(*args, **kwargs)
            self.changes += 1
        else:
            with pytest.raises(ParameterError):
                function(*args, **kwargs)
        return allowed

    @rule(id=IDS, frame=FRAMES, T=POSES)
    def add(self, id, frame, T):
        """Add a sphere."""
        self.call(True, self.scene.add_sphere, id, 0.1, T, frame)
        self.model[id] = frame, T, False

    @rule(id=IDS)
    def remove(self, id):
        """Remove an object."""
        if self.call(id in self.model, self.scene.remove, id):
            del self.model[id]

    @rule(id=IDS, frame=FRAMES, T=POSES)
    def move(self, id, frame, T):
        """Move an object that is not attached."""
        if self.call(id in self.model and not self.model[id][2], self.scene.move, id, T, frame):
            self.model[id] = frame, T, False

    @rule(id=IDS, link=FRAMES, T=st.one_of(st.none(), POSES))
    def attach(self, id, link, T):
        """Attach an object; it stays where it is in space."""
        known = id in self.model and (T is not None or self.model[id][0] == link)
        if self.call(known, self.scene.attach, id, link, (), T):
            here = self.model[id][1]
            self.model[id] = link, here if T is None else np.linalg.inv(T) @ here, True

    @rule(id=IDS, frame=FRAMES, T=POSES)
    def detach(self, id, frame, T):
        """Leave an object where it is."""
        if self.call(id in self.model and self.model[id][2], self.scene.detach, id, T, frame):
            self.model[id] = frame, T @ self.model[id][1], False

    @invariant()
    def agree(self):
        """Compare the scene with the dictionary."""
        assert list(self.scene.objects) == list(self.model)
        assert self.scene.version == self.changes
        for body in self.scene.bodies:
            frame, T, attached = self.model[body.name]
            assert body.frame == frame and np.allclose(body.parts[0].T, T, atol=1e-9)
            assert self.scene.objects[body.name].attached == attached


SceneMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
test_any_order_of_calls = SceneMachine.TestCase
