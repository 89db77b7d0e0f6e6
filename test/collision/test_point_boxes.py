# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Boxes that contain points."""

from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
import numpy as np
import pytest

from ik_node.base.errors import ParameterError
from ik_node.collision.bodies.point_boxes import boxes_of_points

POINTS = hnp.arrays(float, st.tuples(st.integers(1, 60), st.just(3)),
                    elements=st.one_of(st.integers(-4, 4).map(float), st.floats(-3.0, 3.0)))


@given(POINTS, st.sampled_from((0.1, 0.25, 1.0, 3.0)))
@settings(deadline=None)
def test_the_union_is_that_of_the_cubes(points, voxel):
    """Every point is inside; the volume is that of the occupied cubes; no two boxes overlap."""
    lower, upper = boxes_of_points(points, voxel)
    inside = ((points[:, None] >= lower - 1e-12) & (points[:, None] <= upper + 1e-12)).all(axis=2)
    assert inside.any(axis=1).all()
    cubes = {tuple(cell) for cell in np.floor(points / voxel).astype(int)}
    filled = set()
    for low, high in zip(np.round(lower / voxel).astype(int), np.round(upper / voxel).astype(int)):
        cells = {(x, y, z) for x in range(low[0], high[0]) for y in range(low[1], high[1])
                 for z in range(low[2], high[2])}
        assert cells and not cells & filled
        filled |= cells
    assert filled == cubes


def test_few_boxes():
    """A full block is one box, a wall of a depth image one, and two walls two."""
    grid = np.stack(np.meshgrid(*[np.arange(10) * 0.1 + 0.05] * 3), -1).reshape(-1, 3)
    lower, upper = boxes_of_points(grid, 0.1)
    assert len(lower) == 1 and np.allclose(lower, 0.0) and np.allclose(upper, 1.0)
    wall = grid[grid[:, 0] < 0.1]
    assert len(boxes_of_points(wall, 0.1)[0]) == 1
    assert len(boxes_of_points(np.vstack([wall, wall + (0.5, 0.0, 0.0)]), 0.1)[0]) == 2


def test_cubes_too_small():
    """So many cubes from the origin that they cannot be counted are refused."""
    with pytest.raises(ParameterError, match='voxel of 1e-09 m is too small .* 1e\\+06 m'):
        boxes_of_points(np.array([[1e6, 0.0, 0.0]]), 1e-9)
    with pytest.raises(ParameterError, match='larger'):
        boxes_of_points(np.array([[1e6, 0.0, 0.0]]), 1e-308)
