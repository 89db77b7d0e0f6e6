# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Bodies as sets of convex parts: what the collision check knows of links and objects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

BALL_ROUNDS = 200  # of the search for a small ball round the vertices


@dataclass(frozen=True, eq=False)
class ConvexPart:
    """One convex part of a link or of an object, in the frame of that link or object."""

    kind: str
    """'box', 'cylinder', 'sphere', 'capsule', 'plane' or 'hull'."""
    size: tuple[float, ...]
    """Box: x, y, z, the whole lengths; cylinder (along its z axis): radius, length; sphere:
    radius; capsule (along its z axis): radius, length of its cylinder; all in m.  Plane and hull:
    empty."""
    T: np.ndarray
    """(4, 4), pose of the part in the frame of its link or object.  Of a plane, the half-space z
    <= 0 of the part's frame is solid."""
    vertices: np.ndarray
    """(v, 3), vertices of a hull in the part's frame, m; (0, 3) for all others."""

    @cached_property
    def vertex_ball(self) -> tuple[np.ndarray, float]:
        """Return the centre (3,) and the radius, m, of a small ball round a hull."""
        # Steps towards the farthest vertex, ever shorter (Badoiu and Clarkson 2003).
        points = self.vertices
        centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
        for k in range(BALL_ROUNDS):
            far = points[np.argmax(((points - centre)**2).sum(axis=1))]
            centre = centre + (far - centre) / (k + 2)
        return centre, float(np.sqrt(((points - centre)**2).sum(axis=1).max()))


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid group: the parts of one link, or of one object of the scene."""

    name: str
    """Name of the link, or id of the object."""
    frame: str
    """Link in whose frame the parts are."""
    parts: tuple[ConvexPart, ...]
    """The body is their union."""
    padding: float = 0.0
    """Added all round, m."""
