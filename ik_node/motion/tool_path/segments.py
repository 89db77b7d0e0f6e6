# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Segments of tool paths, and the compiled poses on them.

A segment of length L takes the tool, for the progress b from 0 to L, through

    p(b) = p0 + t b + e1 cos(k b) + e2 sin(k b),    R(b) = exp(v0 + v1 b + v2 b^2) R0

with a line's ``e1 = e2 = 0`` and an arc's ``t = 0``.  The path coordinate s counts
metres, or METRES_PER_RADIAN for each radian where a segment turns more than it
moves.  At a blended corner, within the distance c on either side, the progress on
the first segment ends, and that on the second begins, by the smooth step
``10 x^3 - 15 x^4 + 6 x^5``, and both motions are added.  So a path is three times
continuously differentiable in s except where it stops.
"""

from __future__ import annotations

from math import cos, sin, sqrt

import numpy as np

from ik_node.kinematics.kernels import compiled, inner, pose_error

METRES_PER_RADIAN = 0.3

# Columns of the table of segments.
(P0, TANGENT, E1, E2, CURVATURE, V0, V1, V2, R0, BEGIN, LENGTH, CUT_BEFORE, CUT_AFTER) = (
    0, 3, 6, 9, 12, 13, 16, 19, 22, 31, 32, 33, 34)
COLUMNS = 35


@inner
def turn(v0, v1, v2, R, out):
    """Write ``exp([v0 v1 v2]) R``, rotations (9, row-major) in ``out``, by Rodrigues' formula."""
    square = v0 * v0 + v1 * v1 + v2 * v2
    angle = sqrt(square)
    if angle > 1e-4:
        a, b = sin(angle) / angle, (1.0 - cos(angle)) / square
    else:
        a, b = 1.0 - square / 6.0, 0.5 - square / 24.0
    m00, m01, m02 = 1.0 - b * (v1 * v1 + v2 * v2), b * v0 * v1 - a * v2, b * v0 * v2 + a * v1
    m10, m11, m12 = b * v0 * v1 + a * v2, 1.0 - b * (v0 * v0 + v2 * v2), b * v1 * v2 - a * v0
    m20, m21, m22 = b * v0 * v2 - a * v1, b * v1 * v2 + a * v0, 1.0 - b * (v0 * v0 + v1 * v1)
    for j in range(3):
        x, y, z = R[j], R[3 + j], R[6 + j]
        out[j] = m00 * x + m01 * y + m02 * z
        out[3 + j] = m10 * x + m11 * y + m12 * z
        out[6 + j] = m20 * x + m21 * y + m22 * z


@inner
def segment_pose(row, b, pose):
    """Write the pose (12) of a segment at the progress b."""
    c, s = cos(row[CURVATURE] * b), sin(row[CURVATURE] * b)
    for i in range(3):
        pose[9 + i] = row[P0 + i] + row[TANGENT + i] * b + row[E1 + i] * c + row[E2 + i] * s
    turn(row[V0] + b * (row[V1] + b * row[V2]), row[V0 + 1] + b * (row[V1 + 1] + b * row[V2 + 1]),
         row[V0 + 2] + b * (row[V1 + 2] + b * row[V2 + 2]), row[R0:R0 + 9], pose)


@inner
def path_pose(table, k, s, pose, second, third):
    """
    Write the pose (12) at the path coordinate s, which lies on segment k.

    `second` and `third` (12) are workspace.
    """
    row = table[k]
    b = s - row[BEGIN]
    if b < row[CUT_BEFORE]:
        k -= 1
    elif row[CUT_AFTER] == 0.0 or b <= row[LENGTH] - row[CUT_AFTER]:
        segment_pose(row, b, pose)
        return
    first, then = table[k], table[k + 1]
    cut = then[CUT_BEFORE]
    x = 0.5 * (s - then[BEGIN] + cut) / cut
    # The integral of the smooth step: how far the second segment is.
    B = x * x * x * x * (2.5 + x * (x - 3.0))
    segment_pose(first, first[LENGTH] - cut + 2.0 * cut * (x - B), second)
    segment_pose(then, 2.0 * cut * B, third)
    segment_pose(then, 0.0, pose)
    for i in range(3):
        pose[9 + i] = second[9 + i] + third[9 + i] - pose[9 + i]
    # R = R_then(b) R_then(0)^T R_first
    for i in range(0, 9, 3):
        d0 = third[i] * pose[0] + third[i + 1] * pose[1] + third[i + 2] * pose[2]
        d1 = third[i] * pose[3] + third[i + 1] * pose[4] + third[i + 2] * pose[5]
        d2 = third[i] * pose[6] + third[i + 1] * pose[7] + third[i + 2] * pose[8]
        third[i], third[i + 1], third[i + 2] = d0, d1, d2
    for i in range(0, 9, 3):
        for j in range(3):
            pose[i + j] = (third[i] * second[j] + third[i + 1] * second[3 + j]
                           + third[i + 2] * second[6 + j])


@compiled
def path_poses(table, coordinates, poses):
    """Write the poses (N, 12) at increasing or decreasing path coordinates (N,)."""
    second, third = np.empty(12), np.empty(12)
    k, last = 0, table.shape[0] - 1
    for i in range(coordinates.shape[0]):
        s = min(max(coordinates[i], 0.0), table[last, BEGIN] + table[last, LENGTH])
        while k < last and s >= table[k + 1, BEGIN]:
            k += 1
        while k > 0 and s < table[k, BEGIN]:
            k -= 1
        path_pose(table, k, s, poses[i], second, third)


@compiled
def line_rows(poses, rows, angles):
    """Write the segments (N - 1, COLUMNS) between poses (N, 12), and by how much they turn."""
    e = np.empty(6)
    for k in range(rows.shape[0]):
        a, row = poses[k], rows[k]
        length, angle = pose_error(poses[k + 1], a, e)
        angles[k] = angle
        row[:] = 0.0
        row[LENGTH] = max(length, METRES_PER_RADIAN * angle)
        for i in range(3):
            row[P0 + i] = a[9 + i]
            row[TANGENT + i] = e[i] / row[LENGTH]
            row[V1 + i] = e[3 + i] / row[LENGTH]
        for i in range(9):
            row[R0 + i] = a[i]
