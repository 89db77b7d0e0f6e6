# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Bodies as sets of convex parts: what the collision check knows of links and objects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class ConvexPart:
    """
    One convex part of a link or of an object, in the frame of that link or object.

    Attributes
    ----------
    kind : str
        'box', 'cylinder', 'sphere', 'capsule', 'plane' or 'hull'.
    size : tuple of float
        Box: x, y, z, the whole lengths; cylinder (along its z axis): radius, length;
        sphere: radius; capsule (along its z axis): radius, length of its cylinder; all
        in m.  Plane and hull: empty.
    T : (4, 4) array
        Pose of the part in the frame of its link or object.  Of a plane, the half-space
        z <= 0 of the part's frame is solid.
    vertices : (v, 3) array
        Vertices of a hull in the part's frame, m; (0, 3) for all others.

    """

    kind: str
    size: tuple[float, ...]
    T: np.ndarray
    vertices: np.ndarray


@dataclass(frozen=True, eq=False)
class Body:
    """
    What is rigid together: the parts of one link, or of one object of the scene.

    Attributes
    ----------
    name : str
        Name of the link, or id of the object.
    frame : str
        Link in whose frame the parts are.
    parts : tuple of ConvexPart
        The body is their union.
    padding : float
        Added all round, m.

    """

    name: str
    frame: str
    parts: tuple[ConvexPart, ...]
    padding: float = 0.0
