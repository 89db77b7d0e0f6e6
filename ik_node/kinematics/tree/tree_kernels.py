# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled forward kinematics and Jacobians of a kinematic tree.

Its rows are as those of :attr:`ik_node.model.chain.Chain.table`, but each is moved by the row
that its parent index names, which comes before it (Featherstone 2008, "Rigid Body Dynamics
Algorithms", section 4.1.1: regular numbering).
"""

from __future__ import annotations

from ik_node.kinematics.kernels import add_column, carried, compiled, linked, moved


@linked
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
    base = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    at = base
    for k in range(table.shape[0]):
        parent = parents[k]
        if parent < 0:
            at = base
        elif parent != k - 1:
            f = frames[parent]
            at = (f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11])
        at = moved(carried(at, table[k]), table[k], q, frames[k])


@linked
def tree_columns(table, parents, frames, tip, length, columns):
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
    length : float
        Factor of the angular parts: 1, or metres per radian.
    columns : (n, 6) array, written
        J^T: linear (m) and angular velocity of the tip per unit of q, in the base frame.

    """
    columns[:] = 0.0
    k = tip
    while k >= 0:
        add_column(table[k], frames[k], frames[tip], length, columns[int(table[k, 13])])
        k = parents[k]


@compiled
def tree_poses(table, parents, Q, rows, frames, poses):
    """Forward kinematics of many postures: Q (N, n) to poses (N, T, 12) of rows (T,)."""
    for posture in range(Q.shape[0]):
        tree_frames(table, parents, Q[posture], frames)
        for i in range(rows.shape[0]):
            for j in range(12):
                poses[posture, i, j] = frames[rows[i], j]
