# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The distance of two convex parts, by coal."""

from collections import Counter

import coal
from coal_shapes import KINDS, made
from nightly import samples
import numpy as np
import pinocchio as pin
import pytest

from ik_node.collision.distance import gjk_work, part_distance
from ik_node.collision.parts import Body
from ik_node.collision.shapes import shapes_of
from ik_node.kinematics.kernels import compiled


@compiled
def distance_of(shapes, enough, contact, work):
    return part_distance(shapes, 0, 1, enough, contact, work)


def prepared(parts, T):
    """Return shapes and a workspace for two parts, the second at T."""
    bodies = tuple(Body(str(i), '', (part,)) for i, part in enumerate(parts))
    shapes, _ = shapes_of(bodies, [0, 0], [np.eye(4)] * 2)
    work = gjk_work()
    work.R[:], work.p[:] = T[:3, :3].ravel(), T[:3, 3]
    return shapes, work


@pytest.mark.parametrize('first', KINDS)
def test_distances_are_those_of_coal(first):
    """Of all kinds, also degenerate ones; overlap is told, and the bounds hold."""
    rng = np.random.default_rng(KINDS.index(first))
    seen = Counter()
    trials = samples(usual=150, nightly=450)
    for trial in range(trials):
        second = KINDS[trial % len(KINDS)]
        if first == second == 'plane':
            continue
        (a, coal_a), (b, coal_b) = made(first, rng), made(second, rng)
        T = pin.SE3(pin.exp3(rng.normal(size=3)),
                    rng.normal(size=3) * rng.choice([0.1, 0.4, 1.0])).homogeneous
        shapes, work = prepared((a, b), T)
        lower, upper = distance_of(shapes, np.inf, -np.inf, work)
        request = coal.DistanceRequest()
        request.gjk_tolerance = 1e-9
        request.gjk_max_iterations = 1000
        expected = coal.distance(
            coal_a, coal.Transform3s(), coal_b, coal.Transform3s(T[:3, :3], T[:3, 3]),
            request, coal.DistanceResult())
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
