# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled forward kinematics and Jacobians of a kinematic tree.

Its rows are as those of :attr:`ik_node.model.chain.Chain.table`, but each is moved by the row
that its parent index names, which comes before it (Featherstone 2008, "Rigid Body Dynamics
Algorithms", section 4.1.1: regular numbering).
"""

from __future__ import annotations

from ik_node.kinematics.kernels import compiled, sine_cosine


@compiled
def tree_frames(table, parents, q, frames):
    """
    Forward kinematics of all rows of a tree.

    Parameters
    ----------
    table : (m, 16) array
        Offset to the frame of the parent row (rotation 9, position 3), not 0 for a prismatic
        joint, index of its coordinate, its factor and its offset.
    parents : (m,) int array
        Row that carries each row, below its own number; -1 = the base.
    q : (n,) array
        Coordinates, rad or m.
    frames : (m, 12) array, written
        Pose of each row in the base frame; the z axis is the joint axis.

    """
    r0 = r1 = r2 = r3 = r4 = r5 = r6 = r7 = r8 = px = py = pz = 0.0
    for k in range(table.shape[0]):
        t, parent = table[k], parents[k]
        if parent < 0:
            r0, r1, r2, r3, r4, r5, r6, r7, r8 = (t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7],
                                                  t[8])
            px, py, pz = t[9], t[10], t[11]
        else:
            if parent != k - 1:
                f = frames[parent]
                r0, r1, r2, r3, r4, r5, r6, r7, r8 = (f[0], f[1], f[2], f[3], f[4], f[5], f[6],
                                                      f[7], f[8])
                px, py, pz = f[9], f[10], f[11]
            px, py, pz = (px + r0 * t[9] + r1 * t[10] + r2 * t[11],
                          py + r3 * t[9] + r4 * t[10] + r5 * t[11],
                          pz + r6 * t[9] + r7 * t[10] + r8 * t[11])
            r0, r1, r2 = (r0 * t[0] + r1 * t[3] + r2 * t[6], r0 * t[1] + r1 * t[4] + r2 * t[7],
                          r0 * t[2] + r1 * t[5] + r2 * t[8])
            r3, r4, r5 = (r3 * t[0] + r4 * t[3] + r5 * t[6], r3 * t[1] + r4 * t[4] + r5 * t[7],
                          r3 * t[2] + r4 * t[5] + r5 * t[8])
            r6, r7, r8 = (r6 * t[0] + r7 * t[3] + r8 * t[6], r6 * t[1] + r7 * t[4] + r8 * t[7],
                          r6 * t[2] + r7 * t[5] + r8 * t[8])
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
        frame = frames[k]
        frame[0], frame[1], frame[2] = r0, r1, r2
        frame[3], frame[4], frame[5] = r3, r4, r5
        frame[6], frame[7], frame[8] = r6, r7, r8
        frame[9], frame[10], frame[11] = px, py, pz


@compiled
def tree_columns(table, parents, frames, tip, columns):
    """
    Geometric Jacobian of one row of a tree, by cross products; one row per coordinate.

    Revolute: ``[a x (p_tip - p_i); a]``, prismatic: ``[a; 0]`` (Whitney 1972), of the rows from
    the tip up to the base; the others do not move it.  Rows with one coordinate add up.

    Parameters
    ----------
    frames : (m, 12) array
        From :func:`tree_frames`.
    tip : int
        The row.
    columns : (n, 6) array, written
        J^T: linear (m) and angular velocity of the tip per unit of q, in the base frame.

    """
    columns[:] = 0.0
    end, k = frames[tip], tip
    while k >= 0:
        frame, column, f = frames[k], columns[int(table[k, 13])], table[k, 14]
        ax, ay, az = frame[2] * f, frame[5] * f, frame[8] * f
        if table[k, 12] != 0.0:
            column[0] += ax
            column[1] += ay
            column[2] += az
        else:
            dx, dy, dz = end[9] - frame[9], end[10] - frame[10], end[11] - frame[11]
            column[0] += ay * dz - az * dy
            column[1] += az * dx - ax * dz
            column[2] += ax * dy - ay * dx
            column[3] += ax
            column[4] += ay
            column[5] += az
        k = parents[k]


@compiled
def tree_poses(table, parents, Q, rows, frames, poses):
    """Forward kinematics of many postures: Q (N, n) to poses (N, T, 12) of rows (T,)."""
    for posture in range(Q.shape[0]):
        tree_frames(table, parents, Q[posture], frames)
        for i in range(rows.shape[0]):
            for j in range(12):
                poses[posture, i, j] = frames[rows[i], j]
