# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The least shift that brings two parts apart, by coal."""

from collections import Counter

from cached_kernels import compiled
from coal_shapes import distance, KINDS, made
from nightly import samples
import numpy as np
import pinocchio as pin
import pytest

from ik_node.collision.bodies.parts import Body
from ik_node.collision.bodies.shapes import shapes_of
from ik_node.collision.distances.depth import DEPTH_ERROR_M, least_shift
from ik_node.collision.distances.distance import gjk_work, part_distance

SOLID = [kind for kind in KINDS if kind != 'plane']
NEARLY_APART_M = 1e-3  # coal is not sure of less


@compiled
def distance_of(shapes, work):
    return part_distance(shapes, 0, 1, np.inf, -np.inf, work)


def moved(T, shift):
    """Return a pose (4, 4) after a shift (3,) in the base."""
    T = T.copy()
    T[:3, 3] += shift
    return T


def overlapping(first, second, rng):
    """Return the shapes of two random parts, coal's form of them, and the pose of the second."""
    (a, coal_a), (b, coal_b) = made(first, rng), made(second, rng)
    T = pin.SE3(pin.exp3(rng.normal(size=3)), 0.1 * rng.normal(size=3)).homogeneous
    bodies = tuple(Body(str(k), '', (part,)) for k, part in enumerate((a, b)))
    return shapes_of(bodies, [0, 0], [np.eye(4), T])[0], coal_a, coal_b, T


def cores_overlap(shapes, T):
    """Return whether the parts overlap also without the margins around them."""
    work = gjk_work()
    work.R[:], work.p[:] = T[:3, :3].ravel(), T[:3, 3]
    return distance_of(shapes, work)[1] <= -shapes.sizes[:, 3].sum()


@pytest.mark.parametrize('first', SOLID)
def test_it_is_the_least(first):
    """It brings them apart, and no shorter shift does: anywhere, or in nearly its direction."""
    rng, seen = np.random.default_rng(KINDS.index(first)), Counter()
    for trial in range(samples(usual=60, nightly=600)):
        second = SOLID[trial % len(SOLID)]
        shapes, coal_a, coal_b, T = overlapping(first, second, rng)
        if not cores_overlap(shapes, T):
            continue
        shift = least_shift(shapes, 0, 1, shapes.poses)
        depth = np.linalg.norm(shift)
        if depth == 0.0:
            continue
        seen[second] += 1
        assert distance(coal_a, np.eye(4), coal_b, moved(T, (1.0 + 1e-6 / depth) * shift)) > -1e-6
        shorter = depth - DEPTH_ERROR_M - NEARLY_APART_M
        if shorter > 0.0:
            for direction in (*rng.normal(size=(50, 3)),
                              *(shift + 0.2 * depth * rng.normal(size=(50, 3)))):
                there = moved(T, shorter / np.linalg.norm(direction) * direction)
                assert distance(coal_a, np.eye(4), coal_b, there) < 0.0, second
    assert sum(seen.values()) > 12 and len(seen) >= 3
