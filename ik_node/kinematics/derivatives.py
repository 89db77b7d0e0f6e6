# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Time derivative of the Jacobian, and its derivative by the joints (the Hessian).

Both start from the twists of the m joints on the path, in base axes at the base
origin, at one posture.  The matrix of :func:`followers` maps the n coordinates to
the joints.
"""

from __future__ import annotations

import numpy as np

from ik_node.base.se3 import hat, small_adjoint
from ik_node.kinematics.jacobians import at_point
from ik_node.model.chain import COORDINATE_COLUMN, FACTOR_COLUMN, PRISMATIC_COLUMN


def spatial_twists(table: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """
    Return the unit twists (6, m) of the joints, in base axes at the base origin.

    Revolute: ``[p x a; a]``, prismatic: ``[a; 0]``, with the axis a through p.

    Parameters
    ----------
    table : (m + 1, 16) array
        :attr:`ik_node.model.chain.Chain.table`.
    frames : (m + 1, 12) array
        Joint frames in the base frame, from ``kernels.joint_frames``.

    """
    axes, points = frames[:-1, 2:9:3].T, frames[:-1, 9:].T
    prismatic = table[:-1, PRISMATIC_COLUMN] != 0.0
    return np.vstack([np.where(prismatic, axes, np.cross(points, axes, axis=0)),
                      np.where(prismatic, 0.0, axes)])


def followers(table: np.ndarray, n: int) -> np.ndarray:
    """Return the matrix (m, n) from the rates of n coordinates to the rates of m joints."""
    matrix = np.zeros((len(table) - 1, n))
    coordinates = table[:-1, COORDINATE_COLUMN].astype(int)
    matrix[np.arange(len(matrix)), coordinates] = table[:-1, FACTOR_COLUMN]
    return matrix


def time_derivative(twists: np.ndarray, rates: np.ndarray, point: np.ndarray) -> np.ndarray:
    """
    Return the time derivative (6, m) of the Jacobian columns of a point, one per joint.

    The joints before a joint move its twist: with V the twist of the body that
    carries its axis, ``dAd/dt Ad^-1 = [[hat(w), hat(v)], [0, hat(w)]]``, so the twist z
    changes by ``ad(V) z`` (Rabbani's notes on the Jacobian, "Jacobian derivative").
    The linear part of the column at a point p is ``v + w x p``.

    Parameters
    ----------
    twists : (6, m) array
        From :func:`spatial_twists`.
    rates : (m,) array
        Joint rates, rad/s or m/s.
    point : (3,) array
        A point of the last link, in the base frame (m).

    """
    changes = np.empty_like(twists)
    V = np.zeros(6)
    for k, twist in enumerate(twists.T):
        changes[:, k] = small_adjoint(V) @ twist
        V = V + twist * rates[k]
    point_rate = V[:3] + hat(V[3:]) @ point
    changes = at_point(changes, point)
    changes[:3] -= hat(point_rate) @ twists[3:]
    return changes


def hessian(twists: np.ndarray, point: np.ndarray) -> np.ndarray:
    """
    Return ``H[:, i, j]``, the derivative by joint j of column i of the Jacobian, (6, m, m).

    With the linear part v of a column at the point and the angular part w: the
    linear part of H is ``w_a x v_b``, a the smaller and b the larger of i and j;
    the angular part is ``w_j x w_i`` for j before i, else 0 (Hourtash 2005, "The
    kinematic Hessian and higher derivatives").

    Parameters
    ----------
    twists, point :
        As in :func:`time_derivative`.

    """
    J = at_point(twists, point)
    m = J.shape[1]
    linear, angular = J[:3].T, J[3:].T
    i, j = np.indices((m, m))
    H = np.zeros((6, m, m))
    H[:3] = np.moveaxis(np.cross(angular[np.minimum(i, j)], linear[np.maximum(i, j)]), -1, 0)
    before = np.cross(angular[j], angular[i]) * (j < i)[..., None]
    H[3:] = np.moveaxis(before, -1, 0)
    return H
