# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled steps along the self-motion of an arm with one redundant joint."""

from __future__ import annotations

import numpy as np

from ik_node.kinematics.kernels import compiled, copy, jacobian_columns, joint_frames
from ik_node.solver.compiled.nullspace import null_basis


@compiled
def self_motions(table, Q, active, directions):
    """
    Write the directions (N, n) in which postures Q (N, n) move and leave the tip where it is.

    Parameters
    ----------
    table : (m + 1, 16) array
        Of the chain.
    Q : (N, n) array
        Rad or m.
    active : (n,) bool array
        The joints that move, one more than the tip needs.
    directions : (N, n) array, written
        Of length 1; 0 in the other joints, and where nothing is left over.

    """
    n = Q.shape[1]
    frames, columns = np.empty((table.shape[0], 12)), np.empty((n, 6))
    V = np.empty((6 + n, n))
    for i in range(Q.shape[0]):
        joint_frames(table, Q[i], frames)
        jacobian_columns(table, frames, 1.0, columns)
        rank, end = null_basis(columns, active, V)
        directions[i, :] = 0.0
        if end > rank:
            copy(V[end - 1], directions[i])


@compiled
def add_distinct(known, count, Q, apart):
    """
    Add to the first `count` of known postures (K, n) those of Q (N, n) that are not near one.

    Parameters
    ----------
    apart : float
        Distance (rad or m) from which on two are not near.

    Returns
    -------
    int
        How many are known then; K at most.

    """
    for row in range(Q.shape[0]):
        if count == known.shape[0]:
            break
        near = False
        for other in range(count):
            square = 0.0
            for k in range(Q.shape[1]):
                square += (known[other, k] - Q[row, k])**2
            if square <= apart * apart:
                near = True
                break
        if not near:
            copy(Q[row], known[count])
            count += 1
    return count
