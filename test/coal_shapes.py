# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Convex parts as shapes of coal, and what coal says about their distances."""

import coal
import numpy as np

from ik_node.collision.bodies.parts import ConvexPart

KINDS = 'box', 'cylinder', 'sphere', 'capsule', 'hull', 'flat', 'line', 'point', 'plane'


def made(kind, rng):
    """Return a random part of a kind at the origin, and coal's form of it."""
    a, b, c = map(float, rng.uniform(0.02, 0.5, 3))
    none = np.zeros((0, 3))
    if kind == 'box':
        return ConvexPart('box', (a, b, c), np.eye(4), none), coal.Box(a, b, c)
    if kind == 'cylinder':
        return ConvexPart('cylinder', (a, b), np.eye(4), none), coal.Cylinder(a, b)
    if kind == 'sphere':
        return ConvexPart('sphere', (a,), np.eye(4), none), coal.Sphere(a)
    if kind == 'capsule':
        return ConvexPart('capsule', (a, b), np.eye(4), none), coal.Capsule(a, b)
    if kind == 'plane':
        return (ConvexPart('plane', (), np.eye(4), none),
                coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0))
    points = rng.normal(size=(40, 3)) * (a, b, c)
    if kind == 'hull':
        vertices = coal.StdVec_Vec3s()
        for point in points:
            vertices.append(point)
        return (ConvexPart('hull', (), np.eye(4), points),
                coal.Convex.convexHull(vertices, True, 'Qt'))
    if kind == 'flat':
        points = np.array([[x, y, 0.0] for x in (-a, a) for y in (-b, b)])
        return ConvexPart('hull', (), np.eye(4), points), coal.Box(2.0 * a, 2.0 * b, 0.0)
    if kind == 'line':
        return (ConvexPart('hull', (), np.eye(4), np.array([[0.0, 0.0, -a], [0.0, 0.0, a]])),
                coal.Capsule(0.0, 2.0 * a))
    return ConvexPart('hull', (), np.eye(4), np.zeros((1, 3))), coal.Sphere(0.0)


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
