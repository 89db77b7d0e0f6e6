# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Convex parts as shapes of coal, and what coal says about their distances."""

import coal
import numpy as np


def coal_shape(part):
    """Return a convex part as a shape of coal, in the frame of the part."""
    if part.kind == 'box':
        return coal.Box(*part.size)
    if part.kind in ('cylinder', 'capsule', 'sphere'):
        return {'cylinder': coal.Cylinder, 'capsule': coal.Capsule,
                'sphere': coal.Sphere}[part.kind](*part.size)
    if part.kind == 'plane':
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    points = coal.StdVec_Vec3s()
    points.extend(part.vertices)
    return coal.Convex.convexHull(points, True, 'Qt')


def transform(T):
    """Return a pose (4, 4) as coal has it."""
    return coal.Transform3s(T[:3, :3], T[:3, 3])


def distance(one, T_one, two, T_two):
    """Return the distance of two shapes of coal, m; below 0 if they overlap."""
    return coal.distance(one, transform(T_one), two, transform(T_two), coal.DistanceRequest(),
                         coal.DistanceResult())
