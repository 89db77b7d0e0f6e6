# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Distance of a posture to a singularity, the motion lost there, and how to move away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
