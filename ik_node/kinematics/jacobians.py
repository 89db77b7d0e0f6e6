# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The Jacobian in its textbook forms: readable references for the compiled one.

All forms take the table of a chain or of a path to a link (see
:attr:`ik_node.model.chain.Chain.table`) and its coordinates q.  The column of a
mimic joint, times its factor, is added to that of the joint that it follows.
Columns are twists ``[v; w]``, m and rad per unit of q.

Time derivative of the Jacobian, and its derivative by the joints (the Hessian).

Both start from the twists of the m joints on the path, in base axes at the base
origin, at one posture.  The matrix of :func:`followers` maps the n coordinates to
the joints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import cos, sin

import numpy as np

from ik_node.base.se3 import adjoint, hat, inverse, pose, small_adjoint, twist_exp, vee
from ik_node.kinematics.kernels import pose_matrix
from ik_node.model.chain import (
    COORDINATE_COLUMN,
    FACTOR_COLUMN,
    OFFSET_COLUMN,
    PRISMATIC_COLUMN,
)

# Unit twists of joints in their own frames: rotation about z, translation along z.
REVOLUTE_TWIST = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
PRISMATIC_TWIST = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
MAX_BALL_AXES = 3  # of a spherical joint


def product_derivative(table: np.ndarray, q: np.ndarray) -> np.ndarray:
    """
    Return the Jacobian (6, n) of the last frame in base axes, by differentiating the product.

    ``dT/dq_i = A_1 E_1 ... A_i dE_i/dq_i ... A_m E_m A_tip`` with the offsets A and
    the joint motions E ("Kinematics - Theory", 2013, the partial differential of
    the forward kinematics).  The linear column is the last column of dT/dq_i, the
    angular column is ``vee(dR/dq_i R^T)``.
    """
    J = np.zeros((6, len(q)))
    R = forward_product(table, q)[:3, :3]
    for k, (index, factor) in enumerate(_coordinates(table)):
        dT = forward_product(table, q, derivative_of=k)
        J[:3, index] += factor * dT[:3, 3]
        J[3:, index] += factor * vee(dT[:3, :3] @ R.T)
    return J


def forward_product(table: np.ndarray, q: np.ndarray, derivative_of: int = -1) -> np.ndarray:
    """
    Return the pose (4, 4) of the last frame, the product of all offsets and joint motions.

    With ``derivative_of=k`` the motion of the k-th joint is replaced by its derivative
    with respect to the position of this joint.
    """
    T = np.eye(4)
    for k, row in enumerate(table[:-1]):
        value = row[FACTOR_COLUMN] * q[int(row[COORDINATE_COLUMN])] + row[OFFSET_COLUMN]
        motion = _motion_derivative if k == derivative_of else _motion
        T = T @ pose_matrix(row[:12]) @ motion(row[PRISMATIC_COLUMN] != 0.0, value)
    return T @ pose_matrix(table[-1, :12])


def body_jacobian(table: np.ndarray, q: np.ndarray) -> np.ndarray:
    """
    Return the body Jacobian (6, n): twists of the last frame in its own axes, at its origin.

    With the product of exponentials ``g = exp(z_1 q_1) ... exp(z_m q_m) g(0)``, column
    j is ``Ad^-1(exp(z_j q_j) ... exp(z_m q_m) g(0)) z_j``, computed in one pass from the
    tip to the base (Murray, Li and Sastry 1994, eq. 3.55).
    """
    J = np.zeros((6, len(q)))
    twists, g = home(table)
    for k, (index, factor) in reversed(list(enumerate(_coordinates(table)))):
        value = factor * q[index] + table[k, OFFSET_COLUMN]
        g = twist_exp(twists[k] * value) @ g
        J[:, index] += factor * (adjoint(inverse(g)) @ twists[k])
    return J


def spatial_jacobian(table: np.ndarray, q: np.ndarray) -> np.ndarray:
    """
    Return the spatial Jacobian (6, n): twists of the last frame in base axes, at the base origin.

    Column j is ``Ad(exp(z_1 q_1) ... exp(z_j-1 q_j-1)) z_j`` (Murray, Li and Sastry
    1994, eq. 3.54).  It is ``Ad(T_base_tip)`` times the body Jacobian.
    """
    J = np.zeros((6, len(q)))
    twists, _ = home(table)
    g = np.eye(4)
    for k, (index, factor) in enumerate(_coordinates(table)):
        J[:, index] += factor * (adjoint(g) @ twists[k])
        g = g @ twist_exp(twists[k] * (factor * q[index] + table[k, OFFSET_COLUMN]))
    return J


def exponentials(table: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the Jacobian (6, n) of the last frame in base axes: the rotated body Jacobian."""
    return in_axes(body_jacobian(table, q), forward_product(table, q)[:3, :3].T)


def adjusted_adjoint(table: np.ndarray, q: np.ndarray) -> np.ndarray:
    """
    Return the Jacobian (6, n) of the last frame in base axes, by adjusted adjoint blocks.

    The adjusted procedure of Rabbani's notes on the Jacobian (Procedure 3, "Combining Spatial
    Axis and PofE Jacobian"), one pass from the tip to the base.  Revolute joints with a common
    origin, such as the three of a spherical joint in any Euler order, are one joint i.  Its
    block is the adjoint ``[[R, hat(p) R], [0, R]]`` of its pose (R, p) in the last frame, which
    takes rates about its own axes.  The Euler angles turn about other axes, each moved by those
    before it only; in the parent frame they are the columns of R'.  So R is adjusted by
    ``R* = R_parent_i^T R'`` and hat(p) R formed anew; the block is then trimmed to the linear or
    the angular columns that the joint has.  For a single axis R* changes nothing.
    """
    J = np.zeros((6, len(q)))
    coordinates = list(_coordinates(table))
    T, end = pose_matrix(table[-1, :12]), len(table) - 1  # T: the last frame in joint i
    while end > 0:
        first = _first_of_ball(table, end - 1)
        own, axes = np.eye(4), []  # own: joint i in its parent frame
        for k in range(first, end):
            index, factor = coordinates[k]
            if k > first:
                own = own @ pose_matrix(table[k, :12])
            axes.append(own[:3, 2])
            own = own @ _motion(table[k, PRISMATIC_COLUMN] != 0.0,
                                factor * q[index] + table[k, OFFSET_COLUMN])
        T_tip_i = inverse(T)
        adjustment = own[:3, :3].T @ np.array(axes).T
        R = T_tip_i[:3, :3] @ adjustment
        block = np.vstack([R, np.zeros_like(R)]) if table[first, PRISMATIC_COLUMN] != 0.0 \
            else np.vstack([hat(T_tip_i[:3, 3]) @ R, R])
        for (index, factor), column in zip(coordinates[first:end], block.T):
            J[:, index] += factor * column
        T, end = pose_matrix(table[first, :12]) @ own @ T, first
    return in_axes(J, T[:3, :3].T)


def _first_of_ball(table: np.ndarray, last: int) -> int:
    """Return the first of the revolute joints that turn about the origin of the last, in turn."""
    first = last
    while (first > 0 and last - first + 1 < MAX_BALL_AXES and table[last, PRISMATIC_COLUMN] == 0.0
           and table[first - 1, PRISMATIC_COLUMN] == 0.0 and not table[first, 9:12].any()):
        first -= 1
    return first


def home(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the joint twists (m, 6) in the base frame and the pose g(0) (4, 4).

    Both with all joints of the path at 0, mimic joints included.
    """
    twists = []
    g = np.eye(4)
    for row in table[:-1]:
        g = g @ pose_matrix(row[:12])
        prismatic = row[PRISMATIC_COLUMN] != 0.0
        twists.append(adjoint(g) @ (PRISMATIC_TWIST if prismatic else REVOLUTE_TWIST))
    return np.array(twists).reshape(-1, 6), g @ pose_matrix(table[-1, :12])


def at_point(J: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """
    Return the Jacobian of another point of the same link, at `offset` (3,) from the first.

    ``J_p = Ad J`` with the adjoint of a translation, since all points of a link have
    the same angular velocity (de Lasa 2010, appendix B).  `offset` is in the axes of `J`.
    """
    return adjoint(pose(np.eye(3), -offset)) @ J


def in_axes(J: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return the Jacobian in other axes, whose directions are the columns of `R` (3, 3)."""
    return np.vstack([R.T @ J[:3], R.T @ J[3:]])


def _coordinates(table: np.ndarray) -> Iterator[tuple[int, float]]:
    """Yield for each joint the index of its coordinate and its factor."""
    for row in table[:-1]:
        yield int(row[COORDINATE_COLUMN]), row[FACTOR_COLUMN]


def _motion(prismatic: bool, value: float) -> np.ndarray:
    """Return the motion (4, 4) of a joint along or about its z axis."""
    if prismatic:
        return pose(np.eye(3), np.array([0.0, 0.0, value]))
    c, s = cos(value), sin(value)
    return pose(np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), np.zeros(3))


def _motion_derivative(prismatic: bool, value: float) -> np.ndarray:
    """Return the derivative (4, 4) of :func:`_motion` with respect to `value`."""
    D = np.zeros((4, 4))
    if prismatic:
        D[2, 3] = 1.0
    else:
        c, s = cos(value), sin(value)
        D[:2, :2] = [[-s, -c], [c, -s]]
    return D


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


LOST_CONDITION = 1e6   # condition number above which a motion counts as lost
POOR_CONDITION = 50.0  # condition number above which a motion needs much joint motion
MIN_NAMED_SHARE = 0.2  # smaller components of a motion, relative to the largest, are not named
AXIS_NAMES = ('x', 'y', 'z')


@dataclass(frozen=True, eq=False)
class Singularity:
    """
    Singular values of a weighted Jacobian, and measures derived from them.

    The rows are in the chosen axes; angular rows are multiplied by
    `metres_per_radian`, so that all rows are in m per unit of q.
    """

    frame: str
    """The axes: 'base', 'tool' or 'link'."""
    metres_per_radian: float
    """Weight of the angular rows."""
    singular_values: np.ndarray
    """(min(r, n),), largest first, of the joints that are not locked."""
    manipulability: float
    """Product of the singular values: ``sqrt(det(J J^T))`` if there are at least as many joints as
    rows (Yoshikawa 1985), else ``sqrt(det(J^T J))``."""
    gradient: np.ndarray
    """(n,), derivative of the manipulability by each joint, 0 for locked joints.  At a singularity
    the manipulability is not differentiable; this is a one-sided derivative, and a small step in
    either direction leaves the singularity."""
    direction: np.ndarray
    """(6,), twist ``[v; w]`` (m, rad) of the motion that needs most joint motion, in the axes of
    `frame`.  Its length is 1 with angles times `metres_per_radian`; its largest component is
    positive."""

    @property
    def smallest(self) -> float:
        """Return the smallest singular value, the distance to the nearest singular matrix."""
        return float(self.singular_values[-1])

    @property
    def condition(self) -> float:
        """Return the condition number of the Jacobian, infinite at a singularity."""
        return float(self.singular_values[0]) / self.smallest if self.smallest > 0.0 else np.inf

    @property
    def lost(self) -> int:
        """Return the number of independent motions that are lost, 0 away from singularities."""
        return int((self.singular_values * LOST_CONDITION <= self.singular_values[0]).sum())

    @property
    def sentence(self) -> str:
        """Return the motion that is lost or weak at this posture, in words."""
        motion = name_motion(self.direction, self.frame, self.metres_per_radian)
        if self.lost > 1:
            return f'cannot {motion}, and {self.lost} independent motions are lost together'
        if self.lost:
            return f'cannot {motion}'
        if self.condition > POOR_CONDITION:
            return f'can hardly {motion}: 1 m or rad of joint motion gives {self.smallest:.2g} m'
        return f'no motion is lost; the hardest is to {motion}'


def analyse(J: np.ndarray, H: np.ndarray, rows: list[int], free: np.ndarray, frame: str,
            metres_per_radian: float) -> Singularity:
    """
    Analyse a Jacobian.

    The gradient is ``m tr(J^+ dJ/dq_i)``, written ``sum_k (prod_l!=k s_l) u_k^T dJ/dq_i v_k``
    which avoids a division by singular values.

    Parameters
    ----------
    J : (r, n) array
    H : (r, n, n) array
        ``H[:, i, j]``, the derivative by q_j of column i.
    rows : list of int, length r
        Indices of these rows among the six task rows.
    free : (n,) array of bool
        Joints that are not locked.

    """
    weight = np.where(np.array(rows) < 3, 1.0, metres_per_radian)
    U, s, Vt = np.linalg.svd(weight[:, None] * J[:, free], full_matrices=False)
    others = np.array([np.prod(np.delete(s, k)) for k in range(len(s))])
    dm_dJ = weight[:, None] * (U * others) @ Vt
    gradient = np.tensordot(dm_dJ, H[:, free], axes=2)
    direction = np.zeros(6)
    direction[rows] = U[:, -1] / weight
    if direction[np.argmax(np.abs(direction))] < 0.0:
        direction = -direction
    return Singularity(frame, metres_per_radian, s, float(np.prod(s)), gradient, direction)


def name_motion(twist: np.ndarray, frame: str, metres_per_radian: float) -> str:
    """
    Return the name of a motion: along an axis, about an axis, or both, the larger part first.

    Angles are weighted by `metres_per_radian`.
    """
    parts = [('move along', twist[:3]), ('rotate about', metres_per_radian * twist[3:])]
    parts.sort(key=lambda part: -np.linalg.norm(part[1]))
    words = [f'{verb} {_name_axis(vector, frame)}' for verb, vector in parts]
    if np.linalg.norm(parts[1][1]) < MIN_NAMED_SHARE * np.linalg.norm(parts[0][1]):
        return words[0]
    return f'{words[0]} and {words[1]} at once'


def _name_axis(vector: np.ndarray, frame: str) -> str:
    length = np.linalg.norm(vector)
    k = int(np.argmax(np.abs(vector)))
    if np.linalg.norm(np.delete(vector, k)) <= MIN_NAMED_SHARE * length:
        return f'{frame} {AXIS_NAMES[k]}'
    numbers = ', '.join(f'{x:.2f}' for x in np.round(vector / length, 2) + 0.0)
    return f'({numbers}) in {frame} axes'
