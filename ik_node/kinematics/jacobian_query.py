# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is looked at: a point of a link, in chosen axes, some rows, with some joints locked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_node.kinematics import jacobians, kernels
from ik_node.kinematics.derivatives import followers, hessian, spatial_twists, time_derivative
from ik_node.se3 import hat

ROWS = ('x', 'y', 'z', 'rx', 'ry', 'rz')  # linear, then angular
FRAMES = ('base', 'tool', 'link')
FORMS = {'product_derivative': jacobians.product_derivative,
         'exponentials': jacobians.exponentials}
COMPILED = 'cross_products'


@dataclass(frozen=True, eq=False)
class View:
    """
    The motion of a point of a link at one posture, in chosen rows.

    Attributes
    ----------
    table : (m + 1, 16) array
        Path to the link, :attr:`ik_node.kinematics.links.LinkPath.table`.
    q : (c,) array
        The n coordinates of the chain, then the path's other ones.
    frames : (m + 1, 12) array
        Joint frames of the path and, last, the link, in the base.
    n : int
        Coordinates of the chain.
    point : (3,) array
        In base axes, from the base's origin (m).
    axes : (3, 3) array or None
        Directions of the rows as columns, in the base; None for base axes.
    turning : (3, n) array or None
        Angular Jacobian of these axes, in the base; None where they stand still.
    rows : list of int
        Which of the six rows are wanted.
    locked : list of int
        Joints that do not take part.

    """

    table: np.ndarray
    q: np.ndarray
    frames: np.ndarray
    n: int
    point: np.ndarray
    axes: np.ndarray | None
    turning: np.ndarray | None
    rows: list[int]
    locked: list[int]

    def jacobian(self, form: str = COMPILED) -> np.ndarray:
        """Return the Jacobian (r, n); see :meth:`ik_node.kinematics.arm.Arm.jacobian`."""
        J = self._in_base(form)
        if self.axes is not None:
            J = jacobians.in_axes(J, self.axes)
        return self._trim(J)

    def derivative(self, qd: np.ndarray) -> np.ndarray:
        """
        Return the time derivative (r, n) of :meth:`jacobian` at the joint rates `qd` (n,).

        In axes R that turn with w, the columns change by ``R^T (dJ/dt - w x J)``.
        """
        twists, follow = self._twists(), followers(self.table, len(self.q))[:, :self.n]
        D = time_derivative(twists, follow @ qd, self.point) @ follow
        if self.axes is not None:
            W = hat(self.turning @ qd)
            J = self._in_base(COMPILED)
            D = jacobians.in_axes(D - np.vstack([W @ J[:3], W @ J[3:]]), self.axes)
        return self._trim(D)

    def hessian(self) -> np.ndarray:
        """Return ``H[:, i, j]``, the derivative by q_j of column i of the Jacobian, (r, n, n)."""
        follow = followers(self.table, len(self.q))[:, :self.n]
        H = np.einsum('rkl,ki,lj->rij', hessian(self._twists(), self.point), follow, follow)
        if self.axes is not None:
            J = self._in_base(COMPILED)
            for j, w in enumerate(self.turning.T):
                W = hat(w)
                H[:, :, j] = jacobians.in_axes(
                    H[:, :, j] - np.vstack([W @ J[:3], W @ J[3:]]), self.axes)
        H[:, :, self.locked] = 0.0
        return self._trim(H)

    def _trim(self, columns: np.ndarray) -> np.ndarray:
        """Return the wanted rows, with the columns of locked joints set to zero."""
        if self.locked:
            columns[:, self.locked] = 0.0
        return columns[self.rows]

    def _in_base(self, form: str) -> np.ndarray:
        """Return the Jacobian (6, n) of the point in base axes."""
        if form == COMPILED:
            # The kernel looks at the last frame, so that is moved to the point.
            frames = self.frames.copy()
            frames[-1, 9:] = self.point
            return tip_jacobian(self.table, frames, len(self.q))[:, :self.n]
        J = FORMS[form](self.table, self.q)[:, :self.n]
        return jacobians.at_point(J, self.point - self.frames[-1, 9:])

    def _twists(self) -> np.ndarray:
        return spatial_twists(self.table, self.frames)


def tip_jacobian(table: np.ndarray, frames: np.ndarray, coordinates: int) -> np.ndarray:
    """Return the geometric Jacobian (6, coordinates) of the last frame, in base axes."""
    columns = np.empty((coordinates, 6))
    kernels.jacobian_columns(table, frames, 1.0, columns)
    return np.ascontiguousarray(columns.T)
