# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Markers and point clouds as objects of a scene."""

from geometry_msgs.msg import Point, Vector3
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from sensor_msgs.msg import PointCloud2, PointField
from visualization_msgs.msg import Marker

from ik_node.base.errors import IkNodeError
from ik_node.collision.scene.scene import Scene
from ik_node.node.scene.scene_topics import apply_marker, marker_id, points_of

T_FRAME = np.array([[0.0, -1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 1.0, 3.0],
                    [0.0, 0.0, 0.0, 1.0]])


def marker(kind, scale=(0.2, 0.2, 0.4), points=(), **fields):
    """Return a marker at (0.1, 0, 0) of its frame."""
    made = Marker(type=kind, ns='cell', id=7, scale=Vector3(x=scale[0], y=scale[1], z=scale[2]),
                  points=[Point(x=p[0], y=p[1], z=p[2]) for p in points])
    made.pose.position.x, made.pose.orientation.w = 0.1, 1.0
    made.header.frame_id = 'camera'
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def place(header):
    """Return where the frame of a header is."""
    assert header.frame_id == 'camera'
    return 'base', T_FRAME


def scene_with(*markers):
    """Return a scene to which markers were applied."""
    scene, told = Scene('base', ('base', 'hand')), set()
    for each in markers:
        applied(scene, each, told)
    return scene


def applied(scene, each, told=frozenset()):
    """Apply a marker to a scene."""
    id = marker_id(scene, each, told)
    apply_marker(scene, each, id, place)
    if isinstance(told, set):
        told.add(id)


@pytest.mark.parametrize('kind, scale, shape, size', [
    (Marker.CUBE, (0.1, 0.2, 0.3), 'box', (0.1, 0.2, 0.3)),
    (Marker.SPHERE, (0.2, 0.2, 0.2), 'sphere', (0.1,)),
    (Marker.SPHERE, (0.2, 0.6, 0.4), 'sphere', (0.3,)),
    (Marker.CYLINDER, (0.2, 0.2, 0.5), 'cylinder', (0.1, 0.5)),
    (Marker.CYLINDER, (0.2, 0.4, 0.5), 'cylinder', (0.2, 0.5))])
def test_primitives(kind, scale, shape, size):
    """Their sizes, by the name of the marker, at the pose of its frame."""
    body, = scene_with(marker(kind, scale)).bodies
    part, = body.parts
    assert body.name == 'cell/7' and body.frame == 'base'
    assert part.kind == shape and np.allclose(part.size, size)
    assert np.allclose(part.T[:3, 3], T_FRAME @ [0.1, 0.0, 0.0, 1.0] @ np.eye(4)[:, :3])


@pytest.mark.parametrize('kind, shape, size', [
    (Marker.CUBE_LIST, 'box', (0.2, 0.1, 0.4)), (Marker.SPHERE_LIST, 'sphere', (0.2,)),
    (Marker.POINTS, 'box', (0.2, 0.2, 0.2))])
def test_lists(kind, shape, size):
    """One part at each point."""
    points = [(0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (0.0, 0.0, 0.5)]
    body, = scene_with(marker(kind, (0.2, 0.1, 0.4), points)).bodies
    assert [part.kind for part in body.parts] == [shape] * 3
    assert all(np.allclose(part.size, size) for part in body.parts)
    assert np.allclose(body.parts[1].T[:3, 3], (T_FRAME @ [0.6, 0.0, 0.0, 1.0])[:3])


def test_meshes(tmp_path, monkeypatch):
    """Triangles, and a file; both with the scale."""
    corners = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    points = [corners[k] for face in faces for k in face]
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    file = tmp_path / 'share/shapes/tetrahedron.obj'
    file.parent.mkdir(parents=True)
    index = tmp_path / 'share/ament_index/resource_index/packages/shapes'
    index.parent.mkdir(parents=True)
    index.touch()
    file.write_text(''.join(f'v {x} {y} {z}\n' for x, y, z in corners)
                    + ''.join(f'f {a + 1} {b + 1} {c + 1}\n' for a, b, c in faces))
    for made in (marker(Marker.TRIANGLE_LIST, (2.0, 1.0, 0.5), points),
                 marker(Marker.MESH_RESOURCE, (2.0, 1.0, 0.5), mesh_resource='package://shapes/tetrahedron.obj')):
        body, = scene_with(made).bodies
        vertices = np.vstack([part.vertices @ part.T[:3, :3].T + part.T[:3, 3]
                              for part in body.parts])
        lowest, highest = vertices.min(axis=0), vertices.max(axis=0)
        # The frame turns x to y and y to -x.
        assert np.allclose(highest - lowest, [1.0, 2.0, 0.5], atol=1e-3)


def test_add_again_and_delete():
    """The same name replaces; what is not there is gone already."""
    scene = scene_with(marker(Marker.CUBE), marker(Marker.SPHERE))
    assert [body.parts[0].kind for body in scene.bodies] == ['sphere']
    applied(scene, marker(Marker.CUBE, action=Marker.DELETE))
    applied(scene, marker(Marker.CUBE, action=Marker.DELETE))
    assert not scene.bodies
    applied(scene, marker(Marker.CUBE, ns=''))
    assert [*scene.objects] == ['7']


def test_names_of_objects():
    """Number 0 of a namespace is called as that, unless something else may be."""
    scene = scene_with(*(marker(Marker.CUBE, ns=ns, id=id) for ns, id in (
        ('wall', 0), ('wall', 1), ('hand', 0), ('', 0), ('0', 0), ('wall/1', 0), ('points', 0),
        ('wall', 0))))
    assert [*scene.objects] == ['wall', 'wall/1', 'hand/0', '0', '0/0', 'wall/1/0', 'points/0']


def test_objects_of_a_file_stay():
    """A marker that has the name of one is another object, and does not take it away."""
    scene, told = Scene('base', ('base', 'hand')), set()
    scene.add_box('table', (1.0, 1.0, 0.1))
    applied(scene, marker(Marker.CUBE, ns='table', id=0), told)
    assert [*scene.objects] == ['table', 'table/0']
    applied(scene, marker(Marker.CUBE, ns='table', id=0, action=Marker.DELETE), told)
    assert [*scene.objects] == ['table']


@pytest.mark.parametrize('made, words', [
    (marker(Marker.ARROW), 'type 0, which is no body'),
    (marker(Marker.TEXT_VIEW_FACING), 'which is no body'),
    (marker(Marker.CUBE, (0.1, 0.0, 0.1)), 'must be positive'),
    (marker(Marker.CUBE, (0.1, np.nan, 0.1)), 'must be positive'),
    (marker(Marker.CUBE, action=17), 'has the action 17'),
    (marker(Marker.CUBE_LIST), 'has no parts'),
    (marker(Marker.SPHERE_LIST, points=[(np.inf, 0.0, 0.0)]), 'pose'),
    (marker(Marker.TRIANGLE_LIST, points=[(0.0, 0.0, 0.0)]), 'mesh'),
    (marker(Marker.MESH_RESOURCE, mesh_resource='package://no_such/a.stl'), 'no_such')])
def test_markers_that_are_refused(made, words):
    """One sentence with the name of the marker."""
    with pytest.raises(IkNodeError, match=words):
        scene_with(made)


def test_a_lifetime_is_refused():
    """Nothing would remove the object when it ends."""
    made = marker(Marker.CUBE)
    made.lifetime.nanosec = 1
    with pytest.raises(IkNodeError, match='stays until it is deleted'):
        scene_with(made)


def cloud_of(points, kind='f4', gap=0, row_gap=0, height=1, order='<'):
    """Return a cloud of points (height * width, 3)."""
    size = 3 * int(kind[1]) + gap
    layout = np.dtype({'names': list('xyz'), 'formats': [order + kind] * 3, 'itemsize': size,
                       'offsets': [gap + k * int(kind[1]) for k in range(3)]})
    rows = np.zeros(len(points), layout)
    for k, name in enumerate('xyz'):
        rows[name] = points[:, k]
    width = len(points) // height
    data = b''.join(rows[i * width:(i + 1) * width].tobytes() + bytes(row_gap)
                    for i in range(height))
    number = {'f4': PointField.FLOAT32, 'f8': PointField.FLOAT64}[kind]
    return PointCloud2(
        height=height, width=width, point_step=size, row_step=width * size + row_gap, data=data,
        is_bigendian=order == '>',
        fields=[PointField(name=name, offset=gap + k * int(kind[1]), datatype=number, count=1)
                for k, name in enumerate('xyz')])


@pytest.mark.parametrize('kind', ['f4', 'f8'])
@pytest.mark.parametrize('gap, row_gap, height, order', [
    (0, 0, 1, '<'), (4, 0, 1, '<'), (5, 3, 4, '<'), (0, 16, 2, '>')])
def test_points_come_as_they_were(kind, gap, row_gap, height, order):
    """In any layout; those that are not finite are left out."""
    points = np.random.default_rng(0).normal(size=(24, 3)).astype(kind)
    points[5, 1], points[7, 2] = np.nan, np.inf
    found = points_of(cloud_of(points, kind, gap, row_gap, height, order))
    assert np.array_equal(found, np.delete(points, [5, 7], axis=0).astype(float))


@pytest.mark.parametrize('changes, words', [
    ({'fields': []}, 'has no fields x, y and z'), ({'data': b'\0' * 7}, 'do not fit'),
    ({'point_step': 4}, 'do not fit'), ({'row_step': 8}, 'do not fit'),
    ({'height': 10**6}, 'do not fit'), ({'width': 10**6}, 'do not fit')])
def test_clouds_that_are_refused(changes, words):
    """Whose numbers do not fit each other."""
    cloud = cloud_of(np.zeros((4, 3)))
    for name, value in changes.items():
        setattr(cloud, name, value)
    with pytest.raises(IkNodeError, match=words):
        points_of(cloud)


@pytest.mark.parametrize('cloud', [
    PointCloud2(), PointCloud2(height=1), cloud_of(np.zeros((0, 3))),
    cloud_of(np.full((5, 3), np.nan))])
def test_empty_clouds(cloud):
    """Without points, also without fields, or with none that is finite."""
    assert points_of(cloud).shape == (0, 3)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 40), st.integers(0, 400),
       st.binary(max_size=300), st.lists(st.integers(0, 30), min_size=3, max_size=3))
@settings(max_examples=200, deadline=None)
def test_odd_clouds_are_refused_or_finite(height, width, step, row_step, data, offsets):
    """Never another error, and never a number from beyond the data."""
    cloud = PointCloud2(height=height, width=width, point_step=step, row_step=row_step, data=data,
                        fields=[PointField(name=name, offset=offset, datatype=PointField.FLOAT32)
                                for name, offset in zip('xyz', offsets)])
    try:
        points = points_of(cloud)
    except IkNodeError:
        return
    assert points.shape[1] == 3 and len(points) <= height * width and np.isfinite(points).all()
