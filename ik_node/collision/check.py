# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled check of postures: the distances of all pairs of parts that may meet.

A pair that is far apart is dismissed by the balls round its parts; for the others the exact
distance is computed until it is known whether it is above what is asked.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ik_node.collision.distance import gjk_work, GjkWork, part_distance
from ik_node.collision.shapes import PLANE_KIND, Shapes
from ik_node.kinematics.kernels import compiled, copy, inner, joint_frames


class Pairs(NamedTuple):
    """
    What is checked.

    Attributes
    ----------
    table : (m + 1, 16) array
        :attr:`ik_node.model.chain.Chain.table`.
    shapes : Shapes
        First the parts of the links, then those of the objects.
    pairs : (K, 2) int array
        Parts that may meet.

    """

    table: np.ndarray
    shapes: Shapes
    pairs: np.ndarray


class CheckWork(NamedTuple):
    """
    Workspace of a check.

    Attributes
    ----------
    frames : (m + 2, 12) array
        Poses of the moving frames in the base, the first for the base itself.
    poses : (p, 12) array
        Poses of the parts in the base.
    centres : (p, 3) array
        Of the balls, in the base.
    directions : (K, 3) array
        Where the last search of each pair ended.
    gjk : GjkWork

    """

    frames: np.ndarray
    poses: np.ndarray
    centres: np.ndarray
    directions: np.ndarray
    gjk: GjkWork


def check_work(pairs: Pairs) -> CheckWork:
    """Return a workspace."""
    parts = len(pairs.shapes.ints)
    frames = np.zeros((len(pairs.table) + 1, 12))
    frames[0, [0, 4, 8]] = 1.0
    return CheckWork(frames, np.zeros((parts, 12)), np.zeros((parts, 3)),
                     np.zeros((len(pairs.pairs), 3)), gjk_work())


@compiled
def which_free(check, Q, margin, free, work):
    """Write which of the postures Q (N, n) keep a distance of `margin` (m), (N,) bool."""
    for row in range(Q.shape[0]):
        place_parts(check, Q[row], work)
        free[row] = True
        for k in range(check.pairs.shape[0]):
            if pair_distance(check, k, margin, margin, work) <= margin:
                free[row] = False
                break


@compiled
def all_distances(check, q, enough, distances, work):
    """Write the distance of each pair, (K,), m; above `enough` a lower bound."""
    place_parts(check, q, work)
    for k in range(check.pairs.shape[0]):
        distances[k] = pair_distance(check, k, enough, -np.inf, work)


@inner
def place_parts(check, q, work):
    """Write the poses of the parts at q (n,), and the centres of their balls."""
    shapes = check.shapes
    joint_frames(check.table, q, work.frames[1:])
    for part in range(shapes.ints.shape[0]):
        F, T, P = work.frames[shapes.ints[part, 1]], shapes.poses[part], work.poses[part]
        if shapes.ints[part, 1] == 0:
            copy(T, P)
        else:
            for i in range(3):
                a, b, c = F[3 * i], F[3 * i + 1], F[3 * i + 2]
                for j in range(3):
                    P[3 * i + j] = a * T[j] + b * T[3 + j] + c * T[6 + j]
                P[9 + i] = a * T[9] + b * T[10] + c * T[11] + F[9 + i]
        x, y, z = shapes.balls[part, 0], shapes.balls[part, 1], shapes.balls[part, 2]
        for i in range(3):
            work.centres[part, i] = F[3 * i] * x + F[3 * i + 1] * y + F[3 * i + 2] * z + F[9 + i]


@inner
def pair_distance(check, k, enough, contact, work):
    """
    Return a lower bound of the distance (m) of pair k, after :func:`place_parts`.

    It is the distance unless it is above `enough`; at most `contact` is one value that is.
    """
    shapes, a, b = check.shapes, check.pairs[k, 0], check.pairs[k, 1]
    apart = ball_distance(shapes, a, b, work)
    if apart > enough:
        return apart
    A, B, gjk = work.poses[a], work.poses[b], work.gjk
    dx, dy, dz = B[9] - A[9], B[10] - A[10], B[11] - A[11]
    for i in range(3):
        for j in range(3):
            gjk.R[3 * i + j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j]
        gjk.p[i] = A[i] * dx + A[3 + i] * dy + A[6 + i] * dz
    # The last direction is kept in the base, as it turns less there.
    kept = work.directions[k]
    for i in range(3):
        gjk.nearest[i] = A[i] * kept[0] + A[3 + i] * kept[1] + A[6 + i] * kept[2]
    lower, upper = part_distance(shapes, a, b, enough, contact, gjk)
    v = gjk.nearest
    for i in range(3):
        kept[i] = A[3 * i] * v[0] + A[3 * i + 1] * v[1] + A[3 * i + 2] * v[2]
    return min(lower, contact) if upper <= contact else lower


@inner
def ball_distance(shapes, a, b, work):
    """Return the distance (m) of the balls round two parts, or of one from a plane."""
    if shapes.ints[a, 0] == PLANE_KIND or shapes.ints[b, 0] == PLANE_KIND:
        plane, other = (a, b) if shapes.ints[a, 0] == PLANE_KIND else (b, a)
        P, c = work.poses[plane], work.centres[other]
        return (P[2] * (c[0] - P[9]) + P[5] * (c[1] - P[10]) + P[8] * (c[2] - P[11])
                - shapes.balls[other, 3] - shapes.sizes[plane, 3])
    dx = work.centres[a, 0] - work.centres[b, 0]
    dy = work.centres[a, 1] - work.centres[b, 1]
    dz = work.centres[a, 2] - work.centres[b, 2]
    return sqrt(dx * dx + dy * dy + dz * dz) - shapes.balls[a, 3] - shapes.balls[b, 3]
