# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Pinocchio and coal, given the same convex parts."""

from functools import cache

import coal
import numpy as np
import robots

from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.model import CollisionModel

PREFIX = 'package://example-robot-data/robots/'
HALF_SPACE_M = 100.0  # depth of the box that stands for a half-space


def resolve(uri):
    """Return the file of a mesh of the package example-robot-data."""
    path = robots.REAL / uri.removeprefix(PREFIX)
    return (path, '') if path.is_file() else (None, f'{uri} is missing')


@cache
def bodies_of(name):
    """Return the bodies of an arm."""
    return arm_bodies(robots.tree(name), resolve).bodies


@cache
def model_of(name, margin=0.0, disabled_pairs=()):
    """Return the collision model of an arm."""
    return CollisionModel(robots.chain(name), robots.tree(name), bodies_of(name), margin=margin,
                          disabled_pairs=disabled_pairs)


@cache
def coal_shape(part):
    """Return coal's form of a part, and its pose in the frame of the part."""
    if part.kind == 'box':
        return coal.Box(*part.size), np.eye(4)
    if part.kind == 'cylinder':
        return coal.Cylinder(*part.size), np.eye(4)
    if part.kind == 'sphere':
        return coal.Sphere(*part.size), np.eye(4)
    if part.kind == 'capsule':
        return coal.Capsule(*part.size), np.eye(4)
    if part.kind == 'plane':
        T = np.eye(4)
        T[2, 3] = -0.5 * HALF_SPACE_M
        return coal.Box(HALF_SPACE_M, HALF_SPACE_M, HALF_SPACE_M), T
    points = coal.StdVec_Vec3s()
    for vertex in part.vertices:
        points.append(vertex)
    return coal.Convex.convexHull(points, True, 'Qt'), np.eye(4)


class Oracle:
    """
    Distances of the pairs of a collision model by Pinocchio's kinematics and coal.

    `name` is that of an arm, or Pinocchio's model of a robot (robots.Reference).
    """

    def __init__(self, name, model, bodies, objects=()):
        self.robot = robots.reference(name) if isinstance(name, str) else name
        self.chain = model.chain
        self.parts = [(body, part, *coal_shape(part)) for body in (*bodies, *objects)
                      for part in body.parts]
        self.pairs = model.pairs.pairs

    def distances(self, q, others=None):
        """
        Return the distance of each pair, (K,), m; not above 0 if they overlap.

        `others`: positions of joints that are not of the chain, by name.
        """
        base = self.chain.base_link
        T_links = self.robot.poses(base, {body.frame or base for body, *_ in self.parts},
                                   robots.positions(self.chain, q) | (others or {}))
        placed = []
        for body, part, shape, T_shape in self.parts:
            T = T_links[body.frame or base] @ part.T @ T_shape
            placed.append((shape, coal.Transform3s(T[:3, :3], T[:3, 3]), body.padding))
        found = []
        for a, b in self.pairs:
            request = coal.DistanceRequest()
            request.gjk_tolerance = 1e-8
            found.append(coal.distance(*placed[a][:2], *placed[b][:2], request,
                                       coal.DistanceResult()) - placed[a][2] - placed[b][2])
        return np.array(found)

    def distance_of_point(self, q, point, body):
        """Return how far a point (3,) in the base is from the parts of a body, m."""
        values = robots.positions(self.chain, q)
        T_body = self.robot.pose(self.chain.base_link, body.frame or self.chain.base_link, values)
        ball = coal.Transform3s(np.eye(3), point)
        found = []
        for each, part, shape, T_shape in self.parts:
            if each.name == body.name:
                T = T_body @ part.T @ T_shape
                found.append(coal.distance(
                    coal.Sphere(0.0), ball, shape, coal.Transform3s(T[:3, :3], T[:3, 3]),
                    coal.DistanceRequest(), coal.DistanceResult()) - body.padding)
        return min(found)
