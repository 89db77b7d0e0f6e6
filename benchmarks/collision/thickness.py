# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How much thicker than the meshes of an arm the hulls are that are checked, by coal."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import coal
import numpy as np
from scipy.spatial import ConvexHull

from benchmarks.collision.goals import GoalRobot
from ik_node.collision.meshes.convex import convex_hulls
from ik_node.collision.meshes.mesh_triangles import read_mesh, triangles_of
from ik_node.model.description.shapes import link_shapes

HULL_POINTS = 400  # of each, where the distance of the mesh is measured
GAP_M = 2e-5       # between the hulls of both sides of a cut: no boundary of their union


def thickness_rows(name: str) -> list[str]:
    """Return a line for each mesh of an arm, in the order of its links."""
    robot, rows = GoalRobot(name), []
    collision, visual = (link_shapes(robot.tree, kind) for kind in ('collision', 'visual'))
    for link in robot.tree.links:
        for shape in collision[link] or visual[link]:
            if shape.kind != 'mesh':
                continue
            path, fault = robot.resolve(shape.uri)
            if path is None:
                raise FileNotFoundError(fault)
            triangles = triangles_of(read_mesh(path), Path(path)) * np.array(shape.size)
            began = process_time()
            hulls = convex_hulls(triangles).vertices
            spent = process_time() - began
            rows.append(f'{name:9s} {link:22s} {len(triangles):6d} {len(hulls):3d} '
                        f'{1e3 * thickness(triangles, [triangles.reshape(-1, 3)]):6.1f} '
                        f'{1e3 * thickness(triangles, hulls):6.1f} {spent:6.2f}')
    return rows


def thickness(triangles: np.ndarray, hulls: list[np.ndarray] | tuple[np.ndarray, ...]) -> float:
    """Return how far the boundary of the union of hulls is from a mesh at most, m."""
    mesh = coal.BVHModelOBBRSS()
    mesh.beginModel(len(triangles), 3 * len(triangles))
    for corners in triangles:
        mesh.addTriangle(*corners)
    mesh.endModel()
    random, most, bodies = np.random.default_rng(0), 0.0, [ConvexHull(hull) for hull in hulls]
    for body in bodies:
        faces = body.points[body.simplices]
        areas = np.linalg.norm(np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0]),
                               axis=1)
        chosen = random.choice(len(faces), HULL_POINTS, p=areas / areas.sum())
        points = np.einsum('ij,ijk->ik', random.dirichlet((1.0, 1.0, 1.0), HULL_POINTS),
                           faces[chosen])
        for other in bodies:
            if other is not body:
                points = points[(points @ other.equations[:, :3].T
                                 + other.equations[:, 3]).max(axis=1) > GAP_M]
        for point in points:
            most = max(most, coal.distance(
                mesh, coal.Transform3s(), coal.Sphere(1e-6), coal.Transform3s(np.eye(3), point),
                coal.DistanceRequest(), coal.DistanceResult()))
    return most
