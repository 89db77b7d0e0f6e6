# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The distance of two convex parts, by coal."""

from collections import Counter

from cached_kernels import compiled
import coal
from coal_shapes import KINDS, made
from nightly import samples
import numpy as np
import pinocchio as pin
import pytest

from ik_node.collision.bodies.parts import Body
from ik_node.collision.bodies.shapes import shapes_of
from ik_node.collision.distances.distance import gjk_work, nearest_points, part_distance


@compiled
def distance_of(shapes, enough, contact, work):
    return part_distance(shapes, 0, 1, enough, contact, work)


@compiled
def points_of(shapes, work, points):
    lower, _ = part_distance(shapes, 0, 1, np.inf, -np.inf, work)
    return nearest_points(shapes, 0, 1, lower, work, points)


def prepared(parts, T, padding=0.0):
    """Return shapes and a workspace for two parts, the second at T."""
    bodies = tuple(Body(str(i), '', (part,), padding) for i, part in enumerate(parts))
    shapes, _ = shapes_of(bodies, [0, 0], [np.eye(4)] * 2)
    work = gjk_work()
    work.R[:], work.p[:] = T[:3, :3].ravel(), T[:3, 3]
    return shapes, work


@pytest.mark.parametrize('first', KINDS)
def test_distances_are_those_of_coal(first):
    """Of all kinds, also degenerate ones; overlap is told, and the bounds hold."""
    rng = np.random.default_rng(KINDS.index(first))
    seen = Counter()
    trials = samples(usual=45, nightly=450)
    for trial in range(trials):
        second = KINDS[trial % len(KINDS)]
        if first == second == 'plane':
            continue
        (a, coal_a), (b, coal_b) = made(first, rng), made(second, rng)
        T = pin.SE3(pin.exp3(rng.normal(size=3)),
                    rng.normal(size=3) * rng.choice([0.1, 0.4, 1.0])).homogeneous
        shapes, work = prepared((a, b), T)
        lower, upper = distance_of(shapes, np.inf, -np.inf, work)
        expected = distance_of_coal(coal_a, np.eye(4), coal_b, T)
        if expected > 1e-5:
            seen['apart'] += 1
            assert abs(lower - expected) < 2e-6 and abs(upper - expected) < 2e-6
            early, _ = distance_of(shapes, 0.5 * expected, -np.inf, prepared((a, b), T)[1])
            assert 0.5 * expected < early < expected + 2e-6
        elif expected < -1e-5:
            seen['overlap'] += 1
            assert upper <= 1e-6
    assert seen['apart'] > trials / 5
    assert (seen['overlap'] > trials / 25 or first in ('line', 'point', 'flat'))


@pytest.mark.parametrize('first', KINDS)
def test_nearest_points_are_on_both_parts(first):
    """Between them, the distances from both parts are the shares of the way, by coal."""
    rng = np.random.default_rng(KINDS.index(first))
    apart, trials = 0, samples(usual=45, nightly=450)
    for trial in range(trials):
        second = KINDS[trial % len(KINDS)]
        if first == second == 'plane':
            continue
        (a, coal_a), (b, coal_b) = made(first, rng), made(second, rng)
        T = pin.SE3(pin.exp3(rng.normal(size=3)),
                    rng.normal(size=3) * rng.choice([0.4, 1.0])).homogeneous
        distance = distance_of_coal(coal_a, np.eye(4), coal_b, T)
        padding = float(rng.choice([0.0, 0.3 * max(distance, 0.0)]))
        points = np.full((2, 3), np.nan)
        there = points_of(*prepared((a, b), T, padding), points)
        if distance > 1e-4:
            apart += 1
            assert there
            assert abs(np.linalg.norm(points[1] - points[0]) - distance + 2.0 * padding) < 3e-6
            for share in (0.25, 0.75):
                place = np.eye(4)
                place[:3, 3] = points[0] + share * (points[1] - points[0])
                off = [distance_of_coal(coal.Sphere(0.0), place, shape, T_shape)
                       for shape, T_shape in ((coal_a, np.eye(4)), (coal_b, T))]
                way = distance - 2.0 * padding
                assert np.allclose(off, [padding + share * way, padding + (1.0 - share) * way],
                                   atol=5e-6)
        elif distance < -1e-4 and {first, second} <= {'box', 'cylinder', 'hull', 'flat'}:
            assert not there
        elif distance < -1e-4 and 'plane' in (first, second):
            assert there  # as deep below the plane as the part is
            assert np.linalg.norm(points[1] - points[0]) == pytest.approx(-distance, abs=1e-5)
    assert apart > trials / 5


def distance_of_coal(one, T_one, two, T_two):
    """Return the distance of two shapes by coal, m."""
    request = coal.DistanceRequest()
    request.gjk_tolerance = 1e-9
    request.gjk_max_iterations = 1000
    return coal.distance(
        one, coal.Transform3s(T_one[:3, :3], T_one[:3, 3]),
        two, coal.Transform3s(T_two[:3, :3], T_two[:3, 3]), request, coal.DistanceResult())
