# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The ground, and the lowest point of what stands on it."""

from geometry_oracle import model_of
from hypothesis import given, settings, strategies as st
import numpy as np
import robots

from ik_node.base.se3 import pose, rotation_from_rpy
from ik_node.collision.bodies.ground import ground_body, lowest_point
from ik_node.collision.bodies.parts import Body, ConvexPart
from ik_node.node.robot.collisions import ground_notes
from ik_node.node.robot.settings import make_settings
from ik_node.ros.parameters.tables import IK_NODE

SIZE = st.floats(0.01, 1.0)
ANGLE = st.floats(-3.2, 3.2)
TURN = np.linspace(0.0, 2.0 * np.pi, 720)


def surface(kind, size):
    """Return points of the surface of a primitive, among them those that can be lowest."""
    if kind == 'box':
        return 0.5 * np.array(np.meshgrid(*([-s, s] for s in size))).reshape(3, -1).T
    circle = np.array([np.cos(TURN), np.sin(TURN), 0.0 * TURN]).T
    if kind == 'cylinder':
        return np.vstack([size[0] * circle + [0.0, 0.0, z * size[1]] for z in (-0.5, 0.5)])
    rings = [np.cos(a) * circle + [0.0, 0.0, np.sin(a)] for a in np.linspace(-1.5708, 1.5708, 180)]
    ball = size[0] * np.vstack(rings)
    ends = [0.0] if kind == 'sphere' else [-0.5 * size[1], 0.5 * size[1]]
    return np.vstack([ball + [0.0, 0.0, z] for z in ends])


@given(st.sampled_from(['box', 'cylinder', 'capsule', 'sphere']), st.tuples(SIZE, SIZE, SIZE),
       st.tuples(ANGLE, ANGLE, ANGLE), st.floats(-1.0, 1.0), st.floats(0.0, 0.1))
@settings(max_examples=60, deadline=None)
def test_the_lowest_point_is_that_of_the_surface(kind, size, rpy, z, padding):
    """Of each primitive in any pose, and of a hull of the same points."""
    size = size[:{'box': 3, 'sphere': 1}.get(kind, 2)]
    T, points = pose(rotation_from_rpy(*rpy), np.array([0.1, 0.2, z])), surface(kind, size)
    least = (points @ T[:3, :3].T + T[:3, 3])[:, 2].min() - padding
    frames = {'foot': pose(np.eye(3), np.array([0.0, 0.0, 0.5]))}
    for part in (ConvexPart(kind, size, T, np.zeros((0, 3))), ConvexPart('hull', (), T, points)):
        bodies = [Body('it', 'foot', (part,), padding), Body('elsewhere', 'hand', (part,))]
        assert abs(lowest_point(bodies, frames) - (0.5 + least)) < 1e-3
    assert lowest_point([], frames) == np.inf


def test_the_ground_is_solid_below_its_height():
    """An arm whose foot is at zero stands on it; lower links that stand still are mentioned."""
    name = 'six_axis_arm'
    chain, model = robots.chain(name), model_of(name)
    assert abs(model.lowest_fixed_point) < 1e-6
    q = np.clip(chain.middle, chain.lower, chain.upper)
    assert model.with_objects([ground_body(0.0)]).check_many(q[None])[0]
    assert not model.with_objects([ground_body(3.0)]).check_many(q[None])[0]
    values = {row.name: row.default for row in IK_NODE}
    for changed, told in (({}, False), ({'collision.ground': True}, False),
                          ({'collision.ground': True, 'collision.ground_height': 0.4}, True),
                          ({'collision.ground_height': 0.4}, False)):
        notes = ground_notes(make_settings({**values, **changed}, chain, model))
        assert bool(notes) == told and all('0.40 m below the ground' in note for note in notes)
        assert not ground_notes(make_settings({**values, **changed}, chain))
