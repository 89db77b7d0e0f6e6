# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Meshes whose inside is known, and whether hulls contain them."""

import numpy as np


def outside(points, hulls):
    """Return how far points (n, 3) are outside the union of solid hulls, m; at most 0 inside."""
    from scipy.spatial import ConvexHull
    faces = [ConvexHull(hull).equations for hull in hulls]
    return np.min([(points @ face[:, :3].T + face[:, 3]).max(axis=1) for face in faces], axis=0)


def surface(triangles, count=4000):
    """Return points on the triangles: their corners, their middles, and random ones."""
    rng = np.random.default_rng(1)
    weights = rng.dirichlet((1.0, 1.0, 1.0), count)
    chosen = triangles[rng.integers(0, len(triangles), count)]
    return np.vstack([triangles.reshape(-1, 3), triangles.mean(axis=1),
                      np.einsum('ij,ijk->ik', weights, chosen)])


def closed_mesh(boxes):
    """Return the surface (m, 3, 3) of a union of boxes, seen from outside in order."""
    lines = [np.unique(np.array(boxes)[:, axis]) for axis in range(3)]
    middles = np.stack(np.meshgrid(*[0.5 * (line[1:] + line[:-1]) for line in lines],
                                   indexing='ij'), axis=-1)
    full = np.any([np.all([(low < middles[..., axis]) & (middles[..., axis] < high)
                           for axis, (low, high) in enumerate(box)], axis=0) for box in boxes],
                  axis=0)
    padded, triangles = np.pad(full, 1), []
    for cell in np.argwhere(full):
        for axis, side in np.ndindex(3, 2):
            beside = cell + 1
            beside[axis] += 2 * side - 1
            if padded[tuple(beside)]:
                continue
            corners = []
            for u, v in ((0, 0), (1, 0), (1, 1), (0, 1)):
                at = cell.copy()
                at[axis] += side
                at[(axis + 1) % 3] += u
                at[(axis + 2) % 3] += v
                corners.append([line[k] for line, k in zip(lines, at)])
            a, b, c, d = corners if side else corners[::-1]
            triangles += [(a, b, c), (a, c, d)]
    return np.array(triangles)
