# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled rows of path constraints: how far outside a posture is, and the nearest one inside.

A row is a function of the tip's pose, in m or rad, that must not be above its bound.  A box of
positions, and of angles of successive rotations about x, y and z, has rows that are linear in the
twelve numbers of the pose; a tilt is the angle of two axes; the components of a rotation vector
are those of the logarithm; a distance is that of a point from another, or from an axis.

Projection onto a constraint by damped steps of the rows that are not kept, as Berenson, Srinivasa,
Ferguson and Kuffner (2009), "Manipulation planning on constraint manifolds", eq. 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import atan2, cos, inf, pi, sin, sqrt, tan
from typing import Any, NamedTuple

import numpy as np

from ik_node.kinematics.kernels import (
    compiled,
    copy,
    inner,
    jacobian_columns,
    joint_frames,
    shared,
    small,
)
from ik_node.motion.constrained.constraint import (
    ANGLES_OF_AXES,
    EXACT_WIDTH,
    FREE,
    PathConstraint,
    SLACK,
    WIDEST_PITCH,
)
from ik_node.solver.descent.damped import factorise_and_solve

LINEAR_ROW, TILT_ROW, ROTATION_ROW, DISTANCE_ROW = 0, 1, 2, 3
INSET_SHARE = 0.1          # of a half-width, by which planned postures stay inside
MAX_INSET = 0.01           # m or rad
MAX_PROJECTION_STEPS = 40
DAMPING_SHARE = 1e-6       # of the largest diagonal element, squared damping of a step
MAX_STEP = 0.3             # rad or m of a joint in one step of a projection
LEAST_GAIN = 0.99          # of what is not kept, in a step; MAX_FUTILE_STEPS with less end it
MAX_FUTILE_STEPS = 4
MISSED_SHARE = 0.2         # of an inset, to which the projection need not come


class ConstraintRows(NamedTuple):
    """The rows of all constraints of a motion."""

    kinds: np.ndarray    # (r,) int
    # (r, 12), of a LINEAR_ROW the factors of the tip's rotation (9, row-major) and position (3) in
    # the base; of a TILT_ROW the axis in the base (3) and that in the tip (3); of a ROTATION_ROW
    # the factors of the components of the rotation vector (3); of a DISTANCE_ROW the point on the
    # tip (3), the other one in the base (3), and the axis there (3), 0 without
    factors: np.ndarray
    bounds: np.ndarray   # (r,), which the function of the row must not exceed
    # (r, 18), of a ROTATION_ROW: R_frame_base and R_tip_point, row-major
    frames: np.ndarray
    insets: np.ndarray   # (r,), by how much less it is for planned postures
    # (r,) bool, whether a motion may begin outside: as long as the function falls, so does what it
    # stands for
    comes_in: np.ndarray
    slack: float  # by which a bound may be exceeded, for rounding


def constraint_rows(constraints: Sequence[PathConstraint]) -> ConstraintRows:
    """Return the rows of constraints for compiled code."""
    kinds, factors, bounds, frames, insets = [], [], [], [], []

    def add(kind: int, these: Any, bound: float, width: float, frame: Any = None) -> None:
        kinds.append(kind)
        factors.append(np.zeros(12))
        factors[-1][:len(these)] = these
        bounds.append(bound)
        frames.append(np.zeros(18) if frame is None else frame)
        insets.append(min(INSET_SHARE * width, MAX_INSET))

    for each in constraints:
        R_base_frame, R_tip_point = each.T_base_frame[:3, :3], each.T_tip_point[:3, :3]
        p_base_frame, p_tip_point = each.T_base_frame[:3, 3], each.T_tip_point[:3, 3]
        for axis, width in zip(R_base_frame.T, each.position):
            if width < inf:
                for sign in (1.0, -1.0):
                    add(LINEAR_ROW, np.append(np.outer(sign * axis, p_tip_point).ravel(),
                                              sign * axis),
                        width + sign * axis @ p_base_frame, width)
        widths = np.array(each.rotation)
        if each.angles == ANGLES_OF_AXES and each.rotation != FREE:
            # The axes of the frame, and those of the point on the tip: R_ij = e_i . R f_j.
            e, f = R_base_frame.T, R_tip_point.T
            # The functions are at least the sines of what the angles are beyond their widths.
            scale = 1.0 / cos(min(widths[1], WIDEST_PITCH))
            for k, width in ((2, widths[0]), (0, widths[2])):
                if width < inf:  # of both signs of a cosine: below a right angle
                    add(LINEAR_ROW, np.outer(-e[k], f[k]).ravel(), 0.0, EXACT_WIDTH)
            for sign in (1.0, -1.0):
                # R = Rx(a) Ry(b) Rz(c): tan a = -R_12 / R_22, sin b = R_02, tan c = -R_01 / R_00.
                if widths[0] < inf:
                    add(LINEAR_ROW, scale * np.outer(-sign * cos(widths[0]) * e[1]
                                                     - sin(widths[0]) * e[2], f[2]).ravel(),
                        0.0, widths[0])
                if widths[1] < 0.5 * pi:
                    add(LINEAR_ROW, scale * np.outer(sign * e[0], f[2]).ravel(),
                        scale * sin(widths[1]), widths[1])
                if widths[2] < inf:
                    add(LINEAR_ROW, scale * np.outer(e[0], -sign * cos(widths[2]) * f[1]
                                                     - sin(widths[2]) * f[0]).ravel(),
                        0.0, widths[2])
        elif each.rotation != FREE:
            frame = np.concatenate([R_base_frame.T.ravel(), R_tip_point.ravel()])
            for k, sign in product(np.flatnonzero(widths < inf), (1.0, -1.0)):
                add(ROTATION_ROW, sign * np.eye(3)[k], widths[k], widths[k], frame)
        if each.tilt < inf:
            add(TILT_ROW, np.append(R_base_frame[:, 2], R_tip_point[:, 2]), each.tilt, each.tilt)
        for distance, axis in ((each.distance, np.zeros(3)),
                               (each.axis_distance, R_base_frame[:, 2])):
            if distance < inf:
                add(DISTANCE_ROW, np.concatenate([p_tip_point, p_base_frame, axis]), distance,
                    distance)
    factors = np.array(factors)
    comes_in = (np.array(kinds) != LINEAR_ROW) | (factors[:, 9:] != 0.0).any(axis=1)
    return ConstraintRows(np.array(kinds, dtype=np.int64), factors, np.array(bounds),
                          np.array(frames), np.array(insets), comes_in, SLACK)


class ConstraintWork(NamedTuple):
    """Workspace for the rows and a chain."""

    frames: np.ndarray    # (m + 1, 12), of the joints and the tip
    columns: np.ndarray   # (n, 6), J^T
    values: np.ndarray    # (r,), how far above its bound each row is
    gradients: np.ndarray  # (r, n), of the rows in use
    matrix: np.ndarray    # (r, r)
    vector: np.ndarray    # (r,)
    step: np.ndarray      # (n,)
    locked: np.ndarray    # (n,) bool, joints at their limits
    twist: np.ndarray     # (6,), derivative of a row by the twist of the tip
    rotation: np.ndarray  # (3,), rotation vector


def constraint_work(rows: ConstraintRows, table: np.ndarray, n: int) -> ConstraintWork:
    """Return the workspace for an arm of n joints."""
    r = len(rows.kinds)
    return ConstraintWork(
        np.zeros((len(table), 12)), np.zeros((n, 6)), np.zeros(r), np.zeros((r, n)),
        np.zeros((r, r)), np.zeros(r), np.zeros(n), np.zeros(n, dtype=bool), np.zeros(6),
        np.zeros(3))


@inner
def write_values(rows, tip, work):
    """Write how far each row is above its bound at a pose (12,) of the tip."""
    for j in range(rows.kinds.shape[0]):
        work.values[j] = row_value(rows, j, tip, work) - rows.bounds[j]


@inner
def row_value(rows, j, tip, work):
    """Return the function of a row at a pose (12,) of the tip."""
    c = rows.factors[j]
    if rows.kinds[j] == LINEAR_ROW:
        value = 0.0
        for i in range(12):
            value += c[i] * tip[i]
        return value
    if rows.kinds[j] == TILT_ROW:
        x, y, z = axis_in_base(tip, c)
        a, b, d = c[1] * z - c[2] * y, c[2] * x - c[0] * z, c[0] * y - c[1] * x
        return atan2(sqrt(a * a + b * b + d * d), c[0] * x + c[1] * y + c[2] * z)
    if rows.kinds[j] == DISTANCE_ROW:
        x, y, z = apart(tip, c, turned_point(tip, c))
        return sqrt(x * x + y * y + z * z)
    write_rotation(rows.frames[j], tip, work.rotation)
    return c[0] * work.rotation[0] + c[1] * work.rotation[1] + c[2] * work.rotation[2]


@small
def turned_point(tip, c):
    """Return the point of a DISTANCE_ROW from the tip's origin, in base axes."""
    return (tip[0] * c[0] + tip[1] * c[1] + tip[2] * c[2],
            tip[3] * c[0] + tip[4] * c[1] + tip[5] * c[2],
            tip[6] * c[0] + tip[7] * c[1] + tip[8] * c[2])


@small
def apart(tip, c, point):
    """Return the vector to the point of a DISTANCE_ROW, across its axis."""
    return across(c, (tip[9] + point[0] - c[3], tip[10] + point[1] - c[4],
                      tip[11] + point[2] - c[5]))


@small
def across(c, v):
    """Return the part of a vector that is across the axis of a DISTANCE_ROW."""
    along = c[6] * v[0] + c[7] * v[1] + c[8] * v[2]
    return v[0] - along * c[6], v[1] - along * c[7], v[2] - along * c[8]


@small
def axis_in_base(tip, c):
    """Return the axis of the tip of a TILT_ROW in the base."""
    return (tip[0] * c[3] + tip[1] * c[4] + tip[2] * c[5],
            tip[3] * c[3] + tip[4] * c[4] + tip[5] * c[5],
            tip[6] * c[3] + tip[7] * c[4] + tip[8] * c[5])


@inner
def write_rotation(frames, tip, r):
    """Write the rotation vector (3,) of R_frame_base R_base_tip R_tip_point."""
    # The nine numbers one after the other: an array would have to be kept for them.
    xx, xy, xz = rotated_row(frames, 0, tip)
    yx, yy, yz = rotated_row(frames, 3, tip)
    zx, zy, zz = rotated_row(frames, 6, tip)
    x, y, z = 0.5 * (zy - yz), 0.5 * (xz - zx), 0.5 * (yx - xy)
    sine, cosine = sqrt(x * x + y * y + z * z), 0.5 * (xx + yy + zz - 1.0)
    angle = atan2(sine, cosine)
    if cosine > -0.99:
        scale = angle / sine if sine > 1e-9 else 1.0
    else:
        # Near pi the axis comes from the symmetric part.
        a, b, c = sqrt(max(xx - cosine, 0.0)), sqrt(max(yy - cosine, 0.0)), \
            sqrt(max(zz - cosine, 0.0))
        if a >= b and a >= c:
            b, c = 0.5 * (xy + yx) / a, 0.5 * (xz + zx) / a
        elif b >= c:
            a, c = 0.5 * (xy + yx) / b, 0.5 * (yz + zy) / b
        else:
            a, b = 0.5 * (xz + zx) / c, 0.5 * (yz + zy) / c
        if a * x + b * y + c * z < 0.0:
            a, b, c = -a, -b, -c
        x, y, z = a, b, c
        scale = angle / sqrt(a * a + b * b + c * c)
    r[0], r[1], r[2] = scale * x, scale * y, scale * z


@small
def rotated_row(frames, i, tip):
    """Return a row of R_frame_base R_base_tip R_tip_point, which begins at i in the first."""
    x = frames[i] * tip[0] + frames[i + 1] * tip[3] + frames[i + 2] * tip[6]
    y = frames[i] * tip[1] + frames[i + 1] * tip[4] + frames[i + 2] * tip[7]
    z = frames[i] * tip[2] + frames[i + 1] * tip[5] + frames[i + 2] * tip[8]
    return (x * frames[9] + y * frames[12] + z * frames[15],
            x * frames[10] + y * frames[13] + z * frames[16],
            x * frames[11] + y * frames[14] + z * frames[17])


@inner
def write_twist(rows, j, tip, work):
    """Write the derivative (6,) of a row by the twist of the tip, ``[v; w]`` in base axes."""
    c, g = rows.factors[j], work.twist
    g[0] = g[1] = g[2] = g[3] = g[4] = g[5] = 0.0
    if rows.kinds[j] == LINEAR_ROW:
        g[0], g[1], g[2] = c[9], c[10], c[11]
        for k in range(3):  # of the axis k of the tip, which turns: a' = w x a
            x, y, z = tip[k], tip[3 + k], tip[6 + k]
            g[3] += y * c[6 + k] - z * c[3 + k]
            g[4] += z * c[k] - x * c[6 + k]
            g[5] += x * c[3 + k] - y * c[k]
    elif rows.kinds[j] == TILT_ROW:
        x, y, z = axis_in_base(tip, c)
        g[3], g[4], g[5] = c[1] * z - c[2] * y, c[2] * x - c[0] * z, c[0] * y - c[1] * x
        size = sqrt(g[3] ** 2 + g[4] ** 2 + g[5] ** 2)
        if size < 1e-9:  # at 0, or at pi: about any axis across
            g[3], g[4], g[5] = (0.0, c[2], -c[1]) if abs(c[0]) < 0.6 else (-c[2], 0.0, c[0])
            size = sqrt(g[3] ** 2 + g[4] ** 2 + g[5] ** 2)
        g[3], g[4], g[5] = g[3] / size, g[4] / size, g[5] / size
    elif rows.kinds[j] == DISTANCE_ROW:
        a, b, d = turned_point(tip, c)
        x, y, z = apart(tip, c, (a, b, d))
        size = max(sqrt(x * x + y * y + z * z), 1e-12)
        g[0], g[1], g[2] = x / size, y / size, z / size
        g[3], g[4], g[5] = b * g[2] - d * g[1], d * g[0] - a * g[2], a * g[1] - b * g[0]
    else:
        f, r = rows.frames[j], work.rotation
        write_rotation(f, tip, r)
        # Transposed inverse of the left Jacobian (Sola 2018, "A micro Lie theory", eq. 146).
        a, b, d = r[1] * c[2] - r[2] * c[1], r[2] * c[0] - r[0] * c[2], r[0] * c[1] - r[1] * c[0]
        square = r[0] ** 2 + r[1] ** 2 + r[2] ** 2
        share = inverse_share(square)
        x = c[0] + 0.5 * a + share * (r[1] * d - r[2] * b)
        y = c[1] + 0.5 * b + share * (r[2] * a - r[0] * d)
        z = c[2] + 0.5 * d + share * (r[0] * b - r[1] * a)
        for i in range(3):
            g[3 + i] = f[i] * x + f[3 + i] * y + f[6 + i] * z


@small
def inverse_share(square):
    """Return ``1/a^2 - (1 + cos a) / (2 a sin a)`` of the square of an angle below pi."""
    angle = sqrt(square)
    if angle < 1e-3:
        return 1.0 / 12.0 + square / 720.0
    return 1.0 / square - 0.5 / (angle * tan(0.5 * angle))


@inner
def write_gradient(rows, j, work, gradient):
    """Write the derivative (n,) of a row by the joints, where frames and columns are placed."""
    write_twist(rows, j, work.frames[-1], work)
    g = work.twist
    for i in range(gradient.shape[0]):
        column = work.columns[i]
        gradient[i] = (g[0] * column[0] + g[1] * column[1] + g[2] * column[2]
                       + g[3] * column[3] + g[4] * column[4] + g[5] * column[5])


@shared
def project(table, rows, lower, upper, q, work):
    """
    Move q (n,) to a posture near it that keeps all rows, by most of their insets.

    Returns
    -------
    bool
        Whether it is found.

    """
    n = q.shape[0]
    for i in range(n):
        work.locked[i] = False
    least, futile = inf, 0
    for _ in range(MAX_PROJECTION_STEPS):
        joint_frames(table, q, work.frames)
        write_values(rows, work.frames[-1], work)
        count, total, kept = 0, 0.0, True
        for j in range(rows.kinds.shape[0]):
            lack = work.values[j] + rows.insets[j]
            if lack > MISSED_SHARE * rows.insets[j]:
                kept = False
            if lack > 0.0:
                total += lack * lack
        if kept:
            return True
        futile = futile + 1 if total > LEAST_GAIN * least else 0
        if futile > MAX_FUTILE_STEPS:
            return False
        least = min(least, total)
        jacobian_columns(table, work.frames, 1.0, work.columns)
        for i in range(n):
            if work.locked[i]:
                for k in range(6):
                    work.columns[i, k] = 0.0
        for j in range(rows.kinds.shape[0]):
            lack = work.values[j] + rows.insets[j]
            if lack > 0.0:
                write_gradient(rows, j, work, work.gradients[count])
                work.vector[count] = lack
                count += 1
        if not solve_step(count, work):
            return False
        largest = 0.0
        for i in range(n):
            largest = max(largest, abs(work.step[i]))
        scale = min(1.0, MAX_STEP / max(largest, 1e-12))
        for i in range(n):
            moved = q[i] - scale * work.step[i]
            if moved < lower[i] or moved > upper[i]:
                work.locked[i] = True
                moved = min(max(moved, min(lower[i], q[i])), max(upper[i], q[i]))
            q[i] = moved
    return False


@inner
def solve_step(count, work):
    """Write the damped least-squares step of the first `count` gradients; False without one."""
    A, b, n = work.matrix, work.vector, work.step.shape[0]
    most = 0.0
    for i in range(count):
        for j in range(i + 1):
            value = 0.0
            for k in range(n):
                value += work.gradients[i, k] * work.gradients[j, k]
            A[j, i] = value
        most = max(most, A[i, i])
    if most <= 1e-12:
        return False
    for i in range(count):
        A[i, i] += DAMPING_SHARE * most
    if not factorise_and_solve(A, b, count):
        return False
    for k in range(n):
        work.step[k] = 0.0
        for i in range(count):
            work.step[k] += work.gradients[i, k] * b[i]
    return True


@compiled
def project_all(table, rows, lower, upper, insets, Q, work):
    """
    Move each posture of Q (N, n) as :func:`project`, by insets (N, r) in place of those of rows.

    Returns whether all are found.
    """
    for k in range(Q.shape[0]):
        copy(insets[k], rows.insets)
        if not project(table, rows, lower, upper, Q[k], work):
            return False
    return True


@compiled
def outside(table, rows, Q, values, work):
    """Write how far each row is above its bound in postures Q (N, n), (N, r)."""
    for k in range(Q.shape[0]):
        joint_frames(table, Q[k], work.frames)
        write_values(rows, work.frames[-1], work)
        copy(work.values, values[k])
