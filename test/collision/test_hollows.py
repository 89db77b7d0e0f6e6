# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Hulls of a bent or hollow mesh contain all of it, and are hardly thicker."""

from hull_oracle import closed_mesh, outside, surface
from hypothesis import given, settings, strategies as st
from nightly import samples, usual_first
import numpy as np
import pytest
import robots

from benchmarks.collision.thickness import thickness
from ik_node.collision.meshes.convex import convex_hulls
from ik_node.collision.meshes.hollows import MAX_PARTS, THICKNESS_M
from ik_node.collision.meshes.mesh_triangles import triangles_of
from ik_node.collision.meshes.walls import MAX_WALLS


def swept(rings):
    """Return the closed mesh through convex rings (s, k, 3), and random points (n, 3) in it."""
    count, k = rings.shape[:2]
    corners, triangles = np.arange(k), []
    for i in range(count - 1):
        a, b = rings[i], rings[i + 1]
        for j in range(k):
            n = (j + 1) % k
            triangles += [(a[j], a[n], b[n]), (a[j], b[n], b[j])]
    for ring, order in ((rings[0], -1), (rings[-1], 1)):
        triangles += [(ring[0], *ring[corners[[j, j + 1]][::order]]) for j in range(1, k - 1)]
    random = np.random.default_rng(0)
    weights = 0.98 * random.dirichlet(np.ones(k), 3000) + 0.02 / k
    i, t = random.integers(0, count - 1, 3000), random.random((3000, 1))
    ends = [np.einsum('nk,nkj->nj', weights, rings[i + side]) for side in (0, 1)]
    return np.array(triangles), (1.0 - t) * ends[0] + t * ends[1]


def along(places, directions, ring):
    """Return a ring (k, 2) at each place (s, 3), across the direction in the plane of x and z."""
    sides = np.cross(directions, (0.0, 1.0, 0.0))
    return places[:, None] + ring[:, :1] * sides[:, None] + ring[:, 1:] * np.array((0.0, 1.0, 0.0))


def bent(angle, bend, ring, leg):
    """Return a bar that goes straight, round a bend of some radius, and straight again."""
    turn = np.linspace(0.0, angle, 33)
    directions = np.column_stack([np.cos(turn), 0.0 * turn, np.sin(turn)])
    places = bend * np.column_stack([np.sin(turn), 0.0 * turn, 1.0 - np.cos(turn)])
    places = np.vstack([places[0] - leg * directions[0], places,
                        places[-1] + leg * directions[-1]])
    return swept(along(places, directions[[0, *range(33), 32]], ring))


def boxes(*those):
    """Return the closed mesh of a union of boxes, and random points in it."""
    random = np.random.default_rng(0)
    return closed_mesh(those), np.concatenate([
        random.uniform(*np.array(box).T, (500, 3)) for box in those])


CIRCLE = 0.04 * np.column_stack([f(np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False))
                                 for f in (np.cos, np.sin)])
BAR = np.array([(-0.005, -0.03), (0.005, -0.03), (0.005, 0.03), (-0.005, 0.03)])
WALL = 0.01
SHAPES = {  # and by how much their single hull is thicker, at least, m
    'bent tube': (lambda: bent(0.5 * np.pi, 0.12, CIRCLE, 0.1), 0.04),
    'U bracket': (lambda: bent(np.pi, 0.04, BAR, 0.08), 0.03),
    'fork': (lambda: boxes(*[((0.0, 0.04), (0.0, 0.12), (0.0, 0.02)), *(
        ((0.0, 0.15), (y, y + 0.02), (0.0, 0.02)) for y in (0.0, 0.05, 0.1))]), 0.01),
    'L': (lambda: boxes(((0.0, 0.3), (0.0, 0.05), (0.0, 0.05)),
                        ((0.0, 0.05), (0.0, 0.05), (0.0, 0.2))), 0.03),
    'cross': (lambda: boxes(((0.0, 0.3), (0.1, 0.2), (0.1, 0.2)), (
        (0.1, 0.2), (0.0, 0.3), (0.1, 0.2)), ((0.1, 0.2), (0.1, 0.2), (0.0, 0.3))), 0.03),
    'bin': (lambda: boxes(
        ((0.0, 0.3), (0.0, 0.2), (0.0, WALL)), ((0.0, WALL), (0.0, 0.2), (0.0, 0.15)),
        ((0.3 - WALL, 0.3), (0.0, 0.2), (0.0, 0.15)), ((0.0, 0.3), (0.0, WALL), (0.0, 0.15)),
        ((0.0, 0.3), (0.2 - WALL, 0.2), (0.0, 0.15))), 0.08)}


@pytest.mark.parametrize('name, turned', usual_first(len(SHAPES), [
    *((name, bool(k % 2)) for k, name in enumerate(SHAPES)),
    *((name, not k % 2) for k, name in enumerate(SHAPES))]))
def test_hulls_are_hardly_thicker(name, turned):
    """All of the solid is inside; the hulls are about 3 mm thicker at most, one much more."""
    make, alone = SHAPES[name]
    triangles, inner = make()
    if turned:
        R = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
        R *= np.linalg.det(R)
        triangles, inner = triangles @ R.T, inner @ R.T
    hulls, grown = convex_hulls(triangles)
    assert outside(surface(triangles), hulls).max() < 1e-9 and grown == 0.0
    assert outside(inner, hulls).max() < 1e-6
    assert thickness(triangles, hulls) < 1.25 * THICKNESS_M
    assert thickness(triangles, [triangles.reshape(-1, 3)]) > alone


@pytest.mark.parametrize('link', usual_first(1, ['link1', 'link3']))
def test_bent_links(link):
    """One hull of these is 28 and 29 mm thicker than they are."""
    path = robots.REAL / f'xarm_description/meshes/xarm7/visual/{link}.stl'
    triangles = triangles_of(path.read_bytes(), path)
    hulls, _ = convex_hulls(triangles)
    assert outside(surface(triangles), hulls).max() < 1e-9
    assert thickness(triangles, hulls) < 6e-3
    assert thickness(triangles, [triangles.reshape(-1, 3)]) > 0.02


@given(st.lists(st.tuples(*[st.tuples(st.integers(0, 5), st.integers(1, 5))] * 3), min_size=1,
                max_size=4), st.booleans())
@settings(max_examples=samples(usual=10, nightly=200), deadline=None)
def test_any_boxes(those, mirrored):
    """The surface of a union of boxes and its inside are inside the hulls."""
    triangles, inner = boxes(*[[(0.05 * low, 0.05 * (low + size)) for low, size in box]
                               for box in those])
    if mirrored:
        triangles, inner = -triangles, -inner
    hulls, _ = convex_hulls(triangles)
    assert len(hulls) <= max(MAX_PARTS, MAX_WALLS)
    assert outside(surface(triangles), hulls).max() < 1e-9
    assert outside(inner, hulls).max() < 1e-6


def test_what_is_convex_stays_whole():
    """Hollows of less than 3 mm are not worth a cut."""
    triangles, _ = boxes(((0.0, 0.1), (0.0, 0.1), (0.0, 0.1)),
                         ((0.0975, 0.0998), (0.0, 0.1), (0.0, 0.1025)))
    assert len(convex_hulls(triangles).vertices) == 1
