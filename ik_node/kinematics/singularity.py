# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How near a posture is to a singularity, which motion is lost there, and the way out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LOST = 1e6    # a motion is lost where the condition number is above this ...
SCARCE = 50.0  # ... and hard to make above this
SMALL = 0.2    # parts of a motion below this share of its greatest are not named
AXES = ('x', 'y', 'z')


@dataclass(frozen=True, eq=False)
class Singularity:
    """
    Singular values of a weighted Jacobian and what follows from them.

    The rows are in the chosen axes; angular ones are multiplied by
    `metres_per_radian`, so that all are in m per unit of q.

    Attributes
    ----------
    frame : str
        Whose axes: 'base', 'tool' or 'link'.
    metres_per_radian : float
        Weight of a rad against a m.
    singular_values : (min(r, n),) array
        Largest first, over the joints that are not locked.
    manipulability : float
        Product of the singular values: ``sqrt(det(J J^T))`` for at least as many
        joints as rows (Yoshikawa 1985), else ``sqrt(det(J^T J))``.
    gradient : (n,) array
        Derivative of the manipulability by each joint, 0 for locked ones.  At a
        singularity the manipulability has a kink; this is the slope on one of its
        sides, and a small step along it or against it leaves the singularity.
    direction : (6,) array
        Twist ``[v; w]`` (m, rad) of the motion that takes most joint motion, in the
        axes of `frame`; of length 1 when angles count `metres_per_radian`.  Its
        sign is chosen: its largest number is positive.

    """

    frame: str
    metres_per_radian: float
    singular_values: np.ndarray
    manipulability: float
    gradient: np.ndarray
    direction: np.ndarray

    @property
    def smallest(self) -> float:
        """Return the smallest singular value: the distance to the nearest singular matrix."""
        return float(self.singular_values[-1])

    @property
    def condition(self) -> float:
        """Return the largest singular value over the smallest, infinite at a singularity."""
        return float(self.singular_values[0]) / self.smallest if self.smallest > 0.0 else np.inf

    @property
    def lost(self) -> int:
        """Return how many independent motions are lost; 0 away from singularities."""
        return int((self.singular_values * LOST <= self.singular_values[0]).sum())

    @property
    def sentence(self) -> str:
        """Return in words what the arm cannot do, or can hardly do, at this posture."""
        motion = name_motion(self.direction, self.frame, self.metres_per_radian)
        if self.lost > 1:
            return f'cannot {motion}, and {self.lost} independent motions are lost together'
        if self.lost:
            return f'cannot {motion}'
        if self.condition > SCARCE:
            return f'can hardly {motion}: 1 m or rad of joint motion gives {self.smallest:.2g} m'
        return f'no motion is lost; the hardest is to {motion}'


def analyse(J: np.ndarray, H: np.ndarray, rows: list[int], free: np.ndarray, frame: str,
            metres_per_radian: float) -> Singularity:
    """
    Analyse a Jacobian.

    The gradient is ``m tr(J^+ dJ/dq_i)``, written ``sum_k (prod_l!=k s_l) u_k^T dJ/dq_i v_k``
    so that no singular value is divided by.

    Parameters
    ----------
    J : (r, n) array
    H : (r, n, n) array
        ``H[:, i, j]``, the derivative by q_j of column i.
    rows : list of int, length r
        Which of the six task rows these are.
    free : (n,) array of bool
        Joints that take part.

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
    Return the words for a motion: along an axis, about an axis, or both with the greater first.

    Angles count `metres_per_radian`.
    """
    parts = [('move along', twist[:3]), ('rotate about', metres_per_radian * twist[3:])]
    parts.sort(key=lambda part: -np.linalg.norm(part[1]))
    words = [f'{verb} {_name_axis(vector, frame)}' for verb, vector in parts]
    if np.linalg.norm(parts[1][1]) < SMALL * np.linalg.norm(parts[0][1]):
        return words[0]
    return f'{words[0]} and {words[1]} at once'


def _name_axis(vector: np.ndarray, frame: str) -> str:
    length = np.linalg.norm(vector)
    k = int(np.argmax(np.abs(vector)))
    if np.linalg.norm(np.delete(vector, k)) <= SMALL * length:
        return f'{frame} {AXES[k]}'
    numbers = ', '.join(f'{x:.2f}' for x in np.round(vector / length, 2) + 0.0)
    return f'({numbers}) in {frame} axes'
