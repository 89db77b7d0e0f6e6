# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Hulls contain their mesh, and are little larger."""

from hull_oracle import closed_mesh, outside, surface
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from nightly import each_once, samples, usual_first
import numpy as np
import pytest
import robots

from ik_node.base.errors import ParameterError
from ik_node.collision.meshes import mesh_cuts
from ik_node.collision.meshes.convex import convex_hulls, hull_triangles, MAX_HULL_VERTICES
from ik_node.collision.meshes.walls import MAX_WALLS

UR5 = robots.REAL / 'ur_description/meshes/ur5/collision'
PANDA = robots.REAL / 'panda_description/meshes/collision'


def volume(hulls):
    from scipy.spatial import ConvexHull
    return sum(ConvexHull(hull).volume for hull in hulls)


@pytest.mark.parametrize(('file', 'most', 'below'), usual_first(2, [
    (UR5 / 'forearm.stl', 8, 0.68), (PANDA / 'link5.stl', 1, 1.0), (UR5 / 'wrist1.stl', 8, 1.0),
    (UR5 / 'upperarm.stl', 8, 0.75), (PANDA / 'hand.stl', 1, 1.0)]))
def test_meshes_of_arms(file, most, below):
    """The surface is inside; a bent link is cut, one that is convex is exact."""
    import trimesh
    mesh = trimesh.load(file)
    triangles = np.asarray(mesh.triangles)
    hulls, grown = convex_hulls(triangles)
    assert outside(surface(triangles), hulls).max() < 1e-9
    assert len(hulls) <= most and grown == 0.0
    one = mesh.convex_hull.volume
    assert volume(hulls) <= below * one * (1.0 + 1e-9)
    if most == 1:
        assert volume(hulls) == pytest.approx(one, rel=1e-6)


WALL = 0.01
BIN = [((0.0, 0.3), (0.0, 0.2), (0.0, WALL)), ((0.0, WALL), (0.0, 0.2), (0.0, 0.15)),
       ((0.3 - WALL, 0.3), (0.0, 0.2), (0.0, 0.15)), ((0.0, 0.3), (0.0, WALL), (0.0, 0.15)),
       ((0.0, 0.3), (0.2 - WALL, 0.2), (0.0, 0.15))]
LEG = 0.0, 0.03
SOLIDS = {  # boxes, each from and to along x, y and z (m)
    'bin': BIN,
    'bin of two': [*BIN, ((0.15, 0.15 + WALL), (0.0, 0.2), (0.0, 0.1))],
    'channel': BIN[:3],
    'corner': [BIN[0], BIN[1], BIN[3]],
    'table': [((0.0, 0.5), (0.0, 0.4), (0.3, 0.32)), *(
        ((x, x + 0.03), (y, y + 0.03), (0.0, 0.3)) for x in (0.0, 0.47) for y in (0.0, 0.37))]}


def turned(triangles, single):
    """Return a mesh in another frame, with the digits of a file."""
    R = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    R *= np.linalg.det(R)
    points = triangles @ R.T + (0.4, -0.2, 0.1)
    return (points.astype(np.float32).astype(float) if single else points), R


@pytest.mark.parametrize('name, single', each_once(SOLIDS, [False, True]))
def test_flat_walls_have_hulls_of_their_own(name, single):
    """All of the solid is inside, and nothing else, by coal on the raw mesh."""
    import coal
    triangles, R = turned(closed_mesh(SOLIDS[name]), single)
    hulls, grown = convex_hulls(triangles)
    assert grown == 0.0 and len(hulls) > 1
    assert outside(surface(triangles), hulls).max() < 1e-9
    rng = np.random.default_rng(5)
    inside = np.concatenate([rng.uniform(*np.array(box).T, (300, 3)) for box in SOLIDS[name]])
    assert outside(inside @ R.T + (0.4, -0.2, 0.1), hulls).max() < 1e-6
    solid = np.einsum('ij,ij->', triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2])) / 6.0
    assert volume(hulls) == pytest.approx(solid, rel=1e-4)
    raw = coal.BVHModelOBBRSS()
    raw.beginModel(len(triangles), 3 * len(triangles))
    for corners in triangles:
        raw.addTriangle(*corners)
    raw.endModel()
    low, high = triangles.min(axis=(0, 1)) - 0.05, triangles.max(axis=(0, 1)) + 0.05
    for centre in rng.uniform(low, high, (300, 3)):
        if outside(centre[None], hulls)[0] < 0.0:
            continue
        found = coal.distance(raw, coal.Transform3s(), coal.Sphere(1e-6),
                              coal.Transform3s(np.eye(3), centre), coal.DistanceRequest(),
                              coal.DistanceResult())
        assert nearest(centre, hulls) == pytest.approx(found, abs=1e-5)


def nearest(point, hulls):
    """Return the distance (m) of a point from hulls, by coal."""
    import coal
    distances = []
    for hull in hulls:
        points = coal.StdVec_Vec3s()
        for vertex in hull:
            points.append(vertex)
        distances.append(coal.distance(
            coal.Convex.convexHull(points, True, 'Qt'), coal.Transform3s(), coal.Sphere(1e-6),
            coal.Transform3s(np.eye(3), point), coal.DistanceRequest(), coal.DistanceResult()))
    return min(distances)


def test_a_bin_has_room_for_a_ball():
    """One of 90 mm radius less the wall stands free in the middle."""
    triangles = closed_mesh(SOLIDS['bin'])
    middle = np.array([0.15, 0.1, 0.1])
    assert nearest(middle, convex_hulls(triangles).vertices) == pytest.approx(0.09, abs=1e-5)


@pytest.mark.parametrize('fault', ['open', 'inside out', 'mirrored'])
def test_bins_with_faults(fault):
    """A mesh that lacks a triangle, or is seen from inside, is contained as well."""
    triangles = closed_mesh(SOLIDS['bin'])
    inner = np.concatenate([np.random.default_rng(5).uniform(*np.array(box).T, (300, 3))
                            for box in SOLIDS['bin']])
    if fault == 'mirrored':
        triangles, inner = -triangles, -inner
    triangles = triangles[1:] if fault == 'open' else triangles[:, ::-1]
    hulls = convex_hulls(triangles).vertices
    assert outside(surface(triangles), hulls).max() < 1e-9
    assert outside(inner, hulls).max() < 1e-6
    if fault == 'inside out':
        assert volume(hulls) < 0.3 * 0.3 * 0.2 * 0.15


def test_the_inside_of_a_closed_mesh():
    """Points inside an L, which is cut, are inside its hulls; the notch stays free."""
    outline = np.array([(0, 0), (1, 0), (1, 0.2), (0.2, 0.2), (0.2, 1), (0, 1)], float)
    floor = [(0, 1, 2), (0, 2, 3), (0, 3, 5), (3, 4, 5)]
    corners = np.vstack([np.c_[outline, np.zeros(6)], np.c_[outline, np.full(6, 0.3)]])
    faces = [*floor, *((a + 6, b + 6, c + 6) for a, b, c in floor)]
    for k in range(6):
        faces += [(k, (k + 1) % 6, k + 6), ((k + 1) % 6, (k + 1) % 6 + 6, k + 6)]
    hulls, _ = convex_hulls(corners[np.array(faces)])
    points = np.random.default_rng(2).uniform((0, 0, 0), (1, 1, 0.3), (5000, 3))
    solid = (points[:, 0] < 0.2) | (points[:, 1] < 0.2)
    assert outside(points[solid], hulls).max() < 1e-9
    assert len(hulls) > 1
    assert (outside(points[~solid], hulls) > 0.0).mean() > 0.8


def test_a_hull_of_too_many_vertices():
    """It has as many as are allowed, contains all, and says how much it has grown."""
    import trimesh
    ball = trimesh.creation.icosphere(4, 0.1)
    hulls, grown = convex_hulls(np.asarray(ball.triangles))
    assert [len(hull) for hull in hulls] == [MAX_HULL_VERTICES]
    assert outside(np.asarray(ball.vertices), hulls).max() < 1e-9
    assert 0.0 < grown < 2e-3
    farthest = outside(hulls[0], [np.asarray(ball.vertices)]).max()
    assert 0.0 < farthest <= grown + 1e-12


def test_a_long_round_link():
    """A rod that ends in balls, with thousands of vertices, is enlarged by its own detail only."""
    import trimesh
    rod = trimesh.creation.capsule(1.0, 0.05, count=(64, 64))
    hulls, grown = convex_hulls(np.asarray(rod.triangles))
    assert outside(np.asarray(rod.vertices), hulls).max() < 1e-9
    assert grown < 1e-3


def test_flat_meshes():
    """A sheet, a line and a point keep the vertices that span them."""
    square = np.array([[(0, 0, 1), (1, 0, 1), (1, 1, 1)],
                       [(0, 0, 1), (1, 1, 1), (0, 1, 1)]], float)
    (hull,), grown = convex_hulls(square)
    assert sorted(map(tuple, hull)) == [(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1)]
    assert grown == 0.0
    line = np.array([[(0, 0, 0), (1, 2, 3), (2, 4, 6)]], float)
    (hull,), _ = convex_hulls(line)
    assert sorted(map(tuple, hull)) == [(0, 0, 0), (2, 4, 6)]
    (hull,), _ = convex_hulls(np.full((2, 3, 3), 0.3))
    assert hull.tolist() == [[0.3] * 3]


def test_a_flat_disc_of_too_many_vertices():
    """It lies inside the box that replaces it."""
    angle = np.linspace(0.0, 2.0 * np.pi, 1000, endpoint=False)
    rim = np.c_[np.cos(angle), np.sin(angle), np.zeros(1000)]
    fan = np.stack([np.zeros((1000, 3)), rim, np.roll(rim, 1, axis=0)], axis=1)
    (hull,), grown = convex_hulls(fan)
    assert len(hull) <= MAX_HULL_VERTICES and grown > 0.0
    assert np.abs(hull[:, 2]).max() < 1e-9
    assert (np.abs(hull[:, :2]).max(axis=0) >= 1.0 - 1e-9).all()
    assert outside_flat(rim[:, :2], hull[:, :2]) < 1e-9


def outside_flat(points, hull):
    from scipy.spatial import ConvexHull
    face = ConvexHull(hull).equations
    return (points @ face[:, :2].T + face[:, 2]).max()


@given(hnp.arrays(float, st.tuples(st.integers(1, 12), st.just(3), st.just(3)),
                  elements=st.one_of(st.sampled_from((0.0, 1.0, -1.0, 1e-4, 1e-7, 1e-9,
                                                      1e-13)),
                                     st.floats(-2.0, 2.0))))
@settings(max_examples=samples(usual=25, nightly=80), deadline=None)
def test_any_triangles(triangles):
    """Whatever the triangles, no corner is farther than 1 nm from the hulls, as coal measures."""
    hulls, grown = convex_hulls(triangles)
    assert 1 <= len(hulls) <= MAX_WALLS and np.isfinite(grown)
    points = triangles.reshape(-1, 3)
    assert all(1 <= len(hull) <= MAX_HULL_VERTICES and np.isfinite(hull).all() for hull in hulls)
    assert max(min(distance_to_hull(point, hull) for hull in hulls) for point in points) < 1e-9


def distance_to_hull(point, hull):
    """Return the distance of a point to a convex hull, flat or not, by least squares."""
    from scipy.optimize import nnls
    # The point as a convex combination of the vertices; the last row asks for weights of sum 1.
    weight = 1e3
    A = np.vstack([hull.T, np.full(len(hull), weight)])
    return nnls(A, np.append(point, weight))[1]


def test_a_cut_loses_nothing():
    """Both sides of a plane have the area of the whole, and lie on their sides."""
    triangles = np.random.default_rng(3).normal(size=(200, 3, 3))
    triangles[:20, 0, 1] = 0.25  # corners on the plane
    triangles[:10, :, 1] = 0.25  # triangles in it, which belong to both sides

    def area(t):
        return 0.5 * np.linalg.norm(np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]), axis=1).sum()

    sides = [mesh_cuts.side(triangles, np.eye(3)[1], 0.25, sign) for sign in (1.0, -1.0)]
    assert sides[0][:, :, 1].min() > 0.25 - 1e-12 and sides[1][:, :, 1].max() < 0.25 + 1e-12
    assert sum(map(area, sides)) == pytest.approx(area(triangles) + area(triangles[:10]))


def test_without_scipy(monkeypatch):
    """One sentence says what is missing."""
    import sys
    monkeypatch.setitem(sys.modules, 'scipy.spatial', None)
    with pytest.raises(ParameterError, match='pip install scipy'):
        convex_hulls(np.random.default_rng(0).normal(size=(9, 3, 3)))


def test_padded_hulls_have_their_faces_farther_out():
    """By the padding at all corners of a box; at a sharp one by less."""
    rng = np.random.default_rng(0)
    box = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)])
    for points, least in ((box, 0.01), (rng.normal(size=(60, 3)), 0.004)):
        plain, padded = hull_triangles(points), hull_triangles(points, 0.01)
        assert plain.shape == padded.shape
        normals = np.cross(plain[:, 1] - plain[:, 0], plain[:, 2] - plain[:, 0])
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        normals *= np.sign(((plain[:, 0] - points.mean(axis=0)) * normals).sum(axis=1))[:, None]
        moved = ((padded - plain) * normals[:, None]).sum(axis=2)
        assert (moved > least - 1e-9).all() and (moved < 0.021).all()
        assert np.median(moved) >= 0.01
    assert len(hull_triangles(box[:4] * [0.0, 1.0, 1.0], 0.01)) == 0
