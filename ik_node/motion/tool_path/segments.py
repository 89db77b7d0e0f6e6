# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Segments of tool paths, and compiled poses on them.

On a segment of length L the pose of the tip is, for the progress b from 0 to L,

    p(b) = p0 + t b + e1 cos(k b) + e2 sin(k b),    R(b) = exp(v0 + v1 b + v2 b^2) R0

A line has ``e1 = e2 = 0``, an arc ``t = 0``.  The path coordinate s counts metres, or
METRES_PER_RADIAN per radian where a segment rotates more than it moves.  At a blended corner,
within the distance c on either side, the progress on the first segment ends and that on the
second begins by the smooth step ``10 x^3 - 15 x^4 + 6 x^5``, and both motions are added.  So
a path is three times continuously differentiable in s except where it stops.
"""

from __future__ import annotations

from math import cos, sin, sqrt

import numpy as np

from ik_node.kinematics.kernels import compiled, inner, linked, pose_error

METRES_PER_RADIAN = 0.3

# Columns of the table of segments; vectors have three, the orientation R0 nine.
SEG_ORIGIN = 0         # p0
SEG_TANGENT = 3        # t
SEG_COSINE = 6         # e1
SEG_SINE = 9           # e2
SEG_CURVATURE = 12     # k
SEG_ROTATION = 13      # v0, v1, v2
SEG_ORIENTATION = 22   # R0, row-major
SEG_BEGIN = 31         # path coordinate
SEG_LENGTH = 32        # L
SEG_CUT_BEFORE = 33    # c at its start, 0 = stop
SEG_CUT_AFTER = 34     # c at its end
SEGMENT_COLUMNS = 35


def arc_row(cosine: np.ndarray, sine: np.ndarray, angle: float, length: float,
            pose: np.ndarray) -> np.ndarray:
    """
    Return the row (SEGMENT_COLUMNS,) of an arc, without rotation.

    Parameters
    ----------
    cosine, sine : (3,) arrays
        e1 and e2 (m); the arc begins at e1 from its centre.
    angle : float
        Rad.
    pose : (12,) array
        Orientation R0, and the centre of the arc as position.

    """
    row = np.zeros(SEGMENT_COLUMNS)
    row[SEG_ORIGIN:SEG_ORIGIN + 3] = pose[9:]
    row[SEG_COSINE:SEG_COSINE + 3] = cosine
    row[SEG_SINE:SEG_SINE + 3] = sine
    row[SEG_CURVATURE], row[SEG_LENGTH] = angle / length, length
    row[SEG_ORIENTATION:SEG_ORIENTATION + 9] = pose[:9]
    return row


@inner
def rotated(v0, v1, v2, R, out):
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
    """Write the pose (12) on a segment at the progress b."""
    c, s = cos(row[SEG_CURVATURE] * b), sin(row[SEG_CURVATURE] * b)
    origin, tangent, e1, e2 = (row[SEG_ORIGIN:], row[SEG_TANGENT:], row[SEG_COSINE:],
                               row[SEG_SINE:])
    v = row[SEG_ROTATION:]
    for i in range(3):
        pose[9 + i] = origin[i] + tangent[i] * b + e1[i] * c + e2[i] * s
    rotated(v[0] + b * (v[3] + b * v[6]), v[1] + b * (v[4] + b * v[7]),
            v[2] + b * (v[5] + b * v[8]), row[SEG_ORIENTATION:SEG_ORIENTATION + 9], pose)


@inner
def path_pose(table, k, s, pose, second, third):
    """
    Write the pose (12) at the path coordinate s, which lies on segment k.

    `second` and `third` (12) are workspace.
    """
    row = table[k]
    b = s - row[SEG_BEGIN]
    if b < row[SEG_CUT_BEFORE]:
        k -= 1
    elif row[SEG_CUT_AFTER] == 0.0 or b <= row[SEG_LENGTH] - row[SEG_CUT_AFTER]:
        segment_pose(row, b, pose)
        return
    first, then = table[k], table[k + 1]
    cut = then[SEG_CUT_BEFORE]
    x = 0.5 * (s - then[SEG_BEGIN] + cut) / cut
    # Integral of the smooth step: progress on the second segment.
    B = x * x * x * x * (2.5 + x * (x - 3.0))
    segment_pose(first, first[SEG_LENGTH] - cut + 2.0 * cut * (x - B), second)
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


@linked
def path_poses(table, coordinates, poses):
    """Write the poses (N, 12) at increasing or decreasing path coordinates (N,)."""
    second, third = np.empty(12), np.empty(12)
    k, last = 0, table.shape[0] - 1
    for i in range(coordinates.shape[0]):
        s = min(max(coordinates[i], 0.0), table[last, SEG_BEGIN] + table[last, SEG_LENGTH])
        while k < last and s >= table[k + 1, SEG_BEGIN]:
            k += 1
        while k > 0 and s < table[k, SEG_BEGIN]:
            k -= 1
        path_pose(table, k, s, poses[i], second, third)


@compiled
def line_rows(poses, rows, angles):
    """Write the lines between poses (N, 12), one a row, and their rotation angles (N - 1,)."""
    e = np.empty(6)
    for k in range(rows.shape[0]):
        a, row = poses[k], rows[k]
        length, angle = pose_error(poses[k + 1], a, e)
        angles[k] = angle
        row[:] = 0.0
        row[SEG_LENGTH] = max(length, METRES_PER_RADIAN * angle)
        for i in range(3):
            row[SEG_ORIGIN + i] = a[9 + i]
            row[SEG_TANGENT + i] = e[i] / row[SEG_LENGTH]
            row[SEG_ROTATION + 3 + i] = e[3 + i] / row[SEG_LENGTH]
        for i in range(9):
            row[SEG_ORIENTATION + i] = a[i]
