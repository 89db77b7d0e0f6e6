# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Check the arguments of callers before they reach compiled code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import difflib
from typing import TypedDict

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.se3 import hat
from ik_node.base.text import quote
from ik_node.kinematics import jacobians, kernels
from ik_node.kinematics.jacobians import followers, hessian, spatial_twists, time_derivative
from ik_node.model.chain import Chain


def joint_vector(chain: Chain, q: np.ndarray, what: str = 'q', many: bool = False) -> np.ndarray:
    """
    Return `q` as a new float array (n,), or (N, n) with `many`.

    Raises
    ------
    ParameterError
        If the shape is wrong or a number is not finite.

    """
    # A copy: numba would compile another version for strided or read-only arrays.
    try:
        q = np.array(q, dtype=float, order='C')
    except (TypeError, ValueError):
        raise ParameterError(f'{what} needs numbers, got {quote(q)}') from None
    if q.shape[-1:] != (chain.n,) or q.ndim != 1 + many:
        raise ParameterError(f'{what} needs {chain.n} numbers, one per joint, got shape {q.shape}')
    if not np.isfinite(q).all():
        where = np.argwhere(~np.isfinite(q))[0]
        row = f' in row {where[0]}' if many else ''
        raise ParameterError(f'{what} has {q[tuple(where)]} for the joint '
                             f'{quote(chain.joint_names[where[-1]])}{row}; '
                             'its numbers must be finite')
    return q


def indices(names: Sequence[str], known: tuple[str, ...], what: str) -> list[int]:
    """Return the indices of `names` in `known`; each name may be given once."""
    if isinstance(names, str):
        raise ParameterError(f'{what}s are given as a sequence of names, got the string '
                             f'{quote(names)}')
    for name in names:
        if name not in known:
            raise ParameterError(f'the {what} {quote(name)} is unknown'
                                 + did_you_mean(name, known))
    if len(set(names)) < len(names):
        raise ParameterError(f'the {what}s {quote(list(names))} have a name twice; give each once')
    return [known.index(name) for name in names]


def one_of(value: object, allowed: tuple[str, ...], what: str) -> str:
    """Return `value` if it is one of the allowed words, else raise ParameterError."""
    if value not in allowed:
        raise ParameterError(f'{what} is {quote(value)}; it is one of '
                             + ', '.join(map(quote, allowed)))
    return value


def did_you_mean(name: object, known: tuple[str, ...]) -> str:
    """Return the end of a sentence about an unknown name: similar names, or the known ones."""
    near = difflib.get_close_matches(str(name), known, 3, 0.5)
    if near:
        return f'; did you mean {" or ".join(map(quote, near))}?'
    return f'; there are {", ".join(map(quote, known[:8]))}{", ..." if len(known) > 8 else ""}'


TASK_ROWS = ('x', 'y', 'z', 'rx', 'ry', 'rz')  # linear, then angular
FRAME_NAMES = ('base', 'tool', 'link')
JACOBIAN_FORMS = {'product_derivative': jacobians.product_derivative,
                  'exponentials': jacobians.exponentials,
                  'adjusted_adjoint': jacobians.adjusted_adjoint}
COMPILED_FORM = 'cross_products'


class ViewOptions(TypedDict, total=False):
    """Keywords of the methods of :class:`ik_node.kinematics.arm.Arm`, described there."""

    rows: Sequence[str] | None
    locked: Sequence[str]
    others: Mapping[str, float] | None


@dataclass(frozen=True, eq=False)
class View:
    """The motion of a point of a link at one posture, in chosen rows."""

    table: np.ndarray
    """(m + 1, 16), path to the link, :attr:`ik_node.kinematics.links.LinkPath.table`."""
    q: np.ndarray
    """(c,), the n coordinates of the chain, then the other coordinates of the path."""
    frames: np.ndarray
    """(m + 1, 12), joint frames of the path and, last, the frame of the link, in the base
    frame."""
    n: int
    """Number of coordinates of the chain."""
    point: np.ndarray
    """(3,), position in the base frame (m)."""
    axes: np.ndarray | None
    """(3, 3), directions of the rows as columns, in the base frame; None for base axes."""
    angular: np.ndarray | None
    """(3, n), angular Jacobian of these axes, in the base frame; None if they do not move."""
    rows: list[int]
    """Indices of the rows to return."""
    locked: list[int]
    """Indices of the joints that do not move."""

    def jacobian(self, form: str = COMPILED_FORM) -> np.ndarray:
        """Return the Jacobian (r, n); see :meth:`ik_node.kinematics.arm.Arm.jacobian`."""
        J = self._in_base(form)
        if self.axes is not None:
            J = jacobians.in_axes(J, self.axes)
        return self._trim(J)

    def derivative(self, qd: np.ndarray) -> np.ndarray:
        """
        Return the time derivative (r, n) of :meth:`jacobian` at the joint rates `qd` (n,).

        In axes R with angular velocity w, the columns change by ``R^T (dJ/dt - w x J)``.
        """
        twists, follow = self._twists(), followers(self.table, len(self.q))[:, :self.n]
        D = time_derivative(twists, follow @ qd, self.point) @ follow
        if self.axes is not None:
            W = hat(self.angular @ qd)
            J = self._in_base(COMPILED_FORM)
            D = jacobians.in_axes(D - np.vstack([W @ J[:3], W @ J[3:]]), self.axes)
        return self._trim(D)

    def hessian(self) -> np.ndarray:
        """Return ``H[:, i, j]``, the derivative by q_j of column i of the Jacobian, (r, n, n)."""
        follow = followers(self.table, len(self.q))[:, :self.n]
        H = np.einsum('rkl,ki,lj->rij', hessian(self._twists(), self.point), follow, follow)
        if self.axes is not None:
            J = self._in_base(COMPILED_FORM)
            for j, w in enumerate(self.angular.T):
                W = hat(w)
                H[:, :, j] = jacobians.in_axes(
                    H[:, :, j] - np.vstack([W @ J[:3], W @ J[3:]]), self.axes)
        H[:, :, self.locked] = 0.0
        return self._trim(H)

    def _trim(self, columns: np.ndarray) -> np.ndarray:
        """Return the selected rows, with the columns of locked joints set to zero."""
        if self.locked:
            columns[:, self.locked] = 0.0
        return columns[self.rows]

    def _in_base(self, form: str) -> np.ndarray:
        """Return the Jacobian (6, n) of the point in base axes."""
        if form == COMPILED_FORM:
            # The kernel uses the origin of the last frame, so it is moved to the point.
            frames = self.frames.copy()
            frames[-1, 9:] = self.point
            return tip_jacobian(self.table, frames, len(self.q))[:, :self.n]
        J = JACOBIAN_FORMS[form](self.table, self.q)[:, :self.n]
        return jacobians.at_point(J, self.point - self.frames[-1, 9:])

    def _twists(self) -> np.ndarray:
        return spatial_twists(self.table, self.frames)


def tip_jacobian(table: np.ndarray, frames: np.ndarray, coordinates: int) -> np.ndarray:
    """Return the geometric Jacobian (6, coordinates) of the last frame, in base axes."""
    columns = np.empty((coordinates, 6))
    kernels.jacobian_columns(table, frames, 1.0, columns)
    return np.ascontiguousarray(columns.T)
