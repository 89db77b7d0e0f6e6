# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The ground: all below a height in the base link is solid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ik_node.base.se3 import pose
from ik_node.collision.bodies.part_checks import NO_VERTICES
from ik_node.collision.bodies.parts import Body, ConvexPart

GROUND_NAME = 'ground'


def ground_body(height: float, link: str = '') -> Body:
    """Return the ground at a height (m) in a link, '' for the base link."""
    T = pose(np.eye(3), np.array([0.0, 0.0, height]))
    return Body(GROUND_NAME, link, (ConvexPart('plane', (), T, NO_VERTICES),))


def lowest_point(bodies: Iterable[Body], frames: Mapping[str, np.ndarray]) -> float:
    """
    Return the least height (m) of bodies, infinity if there are none.

    Parameters
    ----------
    bodies : iterable of Body
    frames : mapping of link to (4, 4) array
        Poses ``T_base_link``; bodies of other links are left out.

    """
    return min((_lowest(part, frames[body.frame] @ part.T) - body.padding
                for body in bodies if body.frame in frames for part in body.parts),
               default=float('inf'))


def _lowest(part: ConvexPart, T: np.ndarray) -> float:
    """Return the least height of a part at a pose."""
    size, row, z = part.size, np.abs(T[2, :3]), float(T[2, 3])
    if part.kind == 'box':
        return z - 0.5 * float(row @ size)
    if part.kind in ('cylinder', 'capsule'):
        radius, half = size[0], 0.5 * size[1]
        return z - half * row[2] - radius * (
            1.0 if part.kind == 'capsule' else float(np.hypot(row[0], row[1])))
    if part.kind == 'sphere':
        return z - size[0]
    return z + float((part.vertices @ T[2, :3]).min())
