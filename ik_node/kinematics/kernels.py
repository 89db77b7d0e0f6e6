# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled forward kinematics, Jacobian and pose error.

The kernels write into arrays of the caller; only those for many postures allocate.
A pose is a row of 12 numbers: rotation (9, row-major), position (3).
"""

from __future__ import annotations

from math import atan2, cos, sin, sqrt

from numba import njit
import numpy as np

from ik_node.base.compilation import cached_njit, INNER_OPTIONS, KERNEL_OPTIONS, SHARED_OPTIONS

# contract: a * b + c may become one fused multiply-add; nothing else is reordered.
NUMBA_OPTIONS = {'error_model': 'numpy', 'nogil': True, 'fastmath': {'contract'}}
# compiled: callable from Python alone, cached on disk.
compiled = cached_njit(**NUMBA_OPTIONS, **KERNEL_OPTIONS)
# linked: as compiled, and callable from compiled code, too: what is small.
linked = cached_njit(**NUMBA_OPTIONS, no_cfunc_wrapper=True)
# inner: callable from compiled code only; allocates nothing.  Without wrappers and reference
# counts it compiles and runs in half of the time; it is cached on disk as part of its callers.
inner = njit(**NUMBA_OPTIONS, **INNER_OPTIONS, _nrt=False)
# shared: as inner, but compiled once, to machine code of its own that its callers call: what is
# large and has several callers.
shared = njit(**NUMBA_OPTIONS, **SHARED_OPTIONS, _nrt=False)
# small: as inner, and always inlined by LLVM: what is small, takes many arrays or has one caller.
small = njit(**NUMBA_OPTIONS, **INNER_OPTIONS, _nrt=False, forceinline=True)
# allocating: as inner, but may create and return arrays.
allocating = njit(**NUMBA_OPTIONS, **INNER_OPTIONS)
# inlined: inlined by numba, which takes longer to compile: what returns parts of its arrays.
inlined = njit(**NUMBA_OPTIONS, inline='always')

FAST_SINE_LIMIT_RAD = 1e6  # beyond it the range reduction of :func:`sine_cosine` loses bits


@inner
def copy(a, out):
    """Copy the row a into `out`; this compiles ten times as fast as ``out[:] = a``."""
    for i in range(out.shape[0]):
        out[i] = a[i]


@inner
def sine_cosine(x):
    """Return ``sin x`` and ``cos x`` (x in rad), to within two units in the last place."""
    if not abs(x) <= FAST_SINE_LIMIT_RAD:
        return sin(x), cos(x)
    return sine_cosine_within(x)


@inner
def sine_cosine_within(x):
    """
    Return ``sin x`` and ``cos x`` for x within FAST_SINE_LIMIT_RAD.

    Both share one range reduction to [-pi/4, pi/4] (Cody and Waite 1980, pi/2 in three
    parts) and use the polynomials of fdlibm.  Inlined and without branches, this takes
    half the time of two library calls.
    """
    quarter = np.rint(x * 0.6366197723675814)
    r = ((x - quarter * 1.5707963267341256) - quarter * 6.077100506303966e-11) \
        - quarter * 2.0222662487959506e-21
    z = r * r
    s = r + r * z * (-1.66666666666666324348e-01 + z * (
        8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * (
            2.75573137070700676789e-06 + z * (
                -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))))
    c = 1.0 - 0.5 * z + z * z * (4.16666666666666019037e-02 + z * (
        -1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * (
            -2.75573143513906633035e-07 + z * (
                2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))))
    turn = int(quarter)
    if turn & 1:
        s, c = c, s
    return (1.0 - float(turn & 2)) * s, (1.0 - float((turn + 1) & 2)) * c


# A pose in local variables, as a tuple of 12, is 1.5 times as fast as one in an array.
@small
def carried(at, t):
    """Return the pose of a row `t` (16,) of a table where its joint is at 0, in a frame `at`."""
    r0, r1, r2, r3, r4, r5, r6, r7, r8, px, py, pz = at
    return (r0 * t[0] + r1 * t[3] + r2 * t[6], r0 * t[1] + r1 * t[4] + r2 * t[7],
            r0 * t[2] + r1 * t[5] + r2 * t[8],
            r3 * t[0] + r4 * t[3] + r5 * t[6], r3 * t[1] + r4 * t[4] + r5 * t[7],
            r3 * t[2] + r4 * t[5] + r5 * t[8],
            r6 * t[0] + r7 * t[3] + r8 * t[6], r6 * t[1] + r7 * t[4] + r8 * t[7],
            r6 * t[2] + r7 * t[5] + r8 * t[8],
            px + r0 * t[9] + r1 * t[10] + r2 * t[11], py + r3 * t[9] + r4 * t[10] + r5 * t[11],
            pz + r6 * t[9] + r7 * t[10] + r8 * t[11])


@small
def moved(at, t, q, frame):
    """Return the pose `at` moved by the joint of a row `t` (16,) at q (n,), also in `frame`."""
    r0, r1, r2, r3, r4, r5, r6, r7, r8, px, py, pz = at
    value = t[14] * q[int(t[13])] + t[15]
    if t[12] == 0.0:
        s, c = sine_cosine(value)
        r0, r1 = r0 * c + r1 * s, r1 * c - r0 * s
        r3, r4 = r3 * c + r4 * s, r4 * c - r3 * s
        r6, r7 = r6 * c + r7 * s, r7 * c - r6 * s
    else:
        px += r2 * value
        py += r5 * value
        pz += r8 * value
    frame[0], frame[1], frame[2] = r0, r1, r2
    frame[3], frame[4], frame[5] = r3, r4, r5
    frame[6], frame[7], frame[8] = r6, r7, r8
    frame[9], frame[10], frame[11] = px, py, pz
    return r0, r1, r2, r3, r4, r5, r6, r7, r8, px, py, pz


@linked
def joint_frames(table, q, frames):
    """
    Forward kinematics as the product of the joint transforms along the path.

    Parameters
    ----------
    table : (m + 1, 16) array
        :attr:`ik_node.model.chain.Chain.table`; after the first row, the offset of a
        revolute joint rotates about x only (:func:`ik_node.model.chain.aligned`).
    q : (n,) array
        Joint positions, rad or m.
    frames : (m + 1, 12) array, written
        Pose of each joint frame (its z axis is the joint axis) and, in the last
        row, of the tip, all in the base frame.

    """
    t = table[0]
    at = (t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11])
    for k in range(table.shape[0]):
        t = table[k]
        if k > 0:
            if t[12] == 0.0:
                r0, r1, r2, r3, r4, r5, r6, r7, r8, px, py, pz = at
                c, s = t[4], t[7]
                at = (r0, r1 * c + r2 * s, r2 * c - r1 * s, r3, r4 * c + r5 * s, r5 * c - r4 * s,
                      r6, r7 * c + r8 * s, r8 * c - r7 * s,
                      px + r0 * t[9] + r1 * t[10] + r2 * t[11],
                      py + r3 * t[9] + r4 * t[10] + r5 * t[11],
                      pz + r6 * t[9] + r7 * t[10] + r8 * t[11])
            else:
                at = carried(at, t)
        at = moved(at, t, q, frames[k])


@linked
def jacobian_columns(table, frames, length, columns):
    """
    Geometric Jacobian of the tip in the base frame, by cross products; one row per joint.

    Revolute: ``[a x (p_tip - p_i); a]``, prismatic: ``[a; 0]`` (Whitney 1972).  The column
    of a mimic joint, times its factor, is added to that of the joint that it follows.

    Parameters
    ----------
    frames : (m + 1, 12) array
        From :func:`joint_frames`.
    length : float
        Factor of the angular parts: 1, or metres per radian.
    columns : (n, 6) array, written
        J^T: linear (m) and angular velocity of the tip per unit of q.

    """
    m = table.shape[0] - 1
    tip = frames[m]
    columns[:] = 0.0
    for k in range(m):
        add_column(table[k], frames[k], tip, length, columns[int(table[k, 13])])


@small
def add_column(t, frame, tip, length, column):
    """Add how a row `t` (16,) with its frame moves the tip to a column (6,) of the Jacobian."""
    ax, ay, az = frame[2] * t[14], frame[5] * t[14], frame[8] * t[14]
    if t[12] != 0.0:
        column[0] += ax
        column[1] += ay
        column[2] += az
    else:
        dx, dy, dz = tip[9] - frame[9], tip[10] - frame[10], tip[11] - frame[11]
        column[0] += ay * dz - az * dy
        column[1] += az * dx - ax * dz
        column[2] += ax * dy - ay * dx
        column[3] += length * ax
        column[4] += length * ay
        column[5] += length * az


@linked
def pose_error(goal, tip, e):
    """
    Error twist from the tip to the goal, in the base frame.

    ``e = [p_goal - p; log(R_goal R^T)]``, the logarithm as a rotation vector (rad).
    At an angle of exactly pi, where the sign of the axis is not unique, the first of
    its largest components is positive.

    Parameters
    ----------
    goal, tip : (12,) arrays
        Poses in the base frame.
    e : (6,) array, written

    Returns
    -------
    (float, float)
        Length of the position part (m) and of the orientation part (rad).

    """
    for i in range(3):
        e[i] = goal[9 + i] - tip[9 + i]
    # R = R_goal R^T
    r00 = goal[0] * tip[0] + goal[1] * tip[1] + goal[2] * tip[2]
    r01 = goal[0] * tip[3] + goal[1] * tip[4] + goal[2] * tip[5]
    r02 = goal[0] * tip[6] + goal[1] * tip[7] + goal[2] * tip[8]
    r10 = goal[3] * tip[0] + goal[4] * tip[1] + goal[5] * tip[2]
    r11 = goal[3] * tip[3] + goal[4] * tip[4] + goal[5] * tip[5]
    r12 = goal[3] * tip[6] + goal[4] * tip[7] + goal[5] * tip[8]
    r20 = goal[6] * tip[0] + goal[7] * tip[1] + goal[8] * tip[2]
    r21 = goal[6] * tip[3] + goal[7] * tip[4] + goal[8] * tip[5]
    r22 = goal[6] * tip[6] + goal[7] * tip[7] + goal[8] * tip[8]
    x, y, z = 0.5 * (r21 - r12), 0.5 * (r02 - r20), 0.5 * (r10 - r01)
    sine = sqrt(x * x + y * y + z * z)
    cosine = 0.5 * (r00 + r11 + r22 - 1.0)
    angle = atan2(sine, cosine)
    if cosine > -0.99:
        scale = angle / sine if sine > 1e-9 else 1.0
        e[3], e[4], e[5] = x * scale, y * scale, z * scale
    else:
        # Near pi the axis comes from the symmetric part: (1 - cos) a a^T.
        xx, yy, zz = r00 - cosine, r11 - cosine, r22 - cosine
        if xx >= yy and xx >= zz:
            ax, ay, az = xx, 0.5 * (r01 + r10), 0.5 * (r02 + r20)
        elif yy >= zz:
            ax, ay, az = 0.5 * (r01 + r10), yy, 0.5 * (r12 + r21)
        else:
            ax, ay, az = 0.5 * (r02 + r20), 0.5 * (r12 + r21), zz
        scale = angle / sqrt(ax * ax + ay * ay + az * az)
        if ax * x + ay * y + az * z < 0.0:
            scale = -scale
        e[3], e[4], e[5] = ax * scale, ay * scale, az * scale
    return sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]), angle


@compiled
def tip_poses(table, Q, poses):
    """Forward kinematics of many postures: Q (N, n) to poses (N, 12)."""
    frames = np.empty((table.shape[0], 12))
    for row in range(Q.shape[0]):
        joint_frames(table, Q[row], frames)
        copy(frames[-1], poses[row])


@compiled
def tip_rates(table, Q, Qd, rates):
    """Linear (m/s) and angular speed (rad/s) of the tip: Q, Qd (N, n) to rates (N, 2)."""
    frames = np.empty((table.shape[0], 12))
    columns = np.empty((Q.shape[1], 6))
    twist = np.empty(6)
    for row in range(Q.shape[0]):
        joint_frames(table, Q[row], frames)
        jacobian_columns(table, frames, 1.0, columns)
        for i in range(6):
            twist[i] = 0.0
            for k in range(Q.shape[1]):
                twist[i] += columns[k, i] * Qd[row, k]
        rates[row, 0] = sqrt(twist[0]**2 + twist[1]**2 + twist[2]**2)
        rates[row, 1] = sqrt(twist[3]**2 + twist[4]**2 + twist[5]**2)


def pose_row(T: np.ndarray) -> np.ndarray:
    """Return a homogeneous matrix (4, 4) as a row of 12: rotation (9), position (3)."""
    return np.concatenate([T[:3, :3].ravel(), T[:3, 3]])


def pose_matrix(row: np.ndarray) -> np.ndarray:
    """Return a row of 12 as a homogeneous matrix (4, 4)."""
    T = np.eye(4)
    T[:3, :3] = row[:9].reshape(3, 3)
    T[:3, 3] = row[9:]
    return T
