# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The coordinates of an arm or of a kinematic tree: their limits and their turns."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote

AT_LIMIT = 1e-6  # rad or m

Space = TypeVar('Space', bound='JointSpace')


def read_only(**values: Any) -> dict[str, Any]:
    """Return the values, the arrays among them made read-only."""
    for value in values.values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return values


class JointSpace:
    """What a serial chain and a kinematic tree have in common; both are dataclasses."""

    base_link: str
    """All poses are in its frame."""
    joint_names: tuple[str, ...]
    """n names, the order of the entries of q."""
    lower: np.ndarray
    """(n,), lower position limits (rad or m), infinite for continuous joints."""
    upper: np.ndarray
    """(n,), upper position limits (rad or m), infinite for continuous joints."""
    velocity: np.ndarray
    """(n,), limits in rad/s or m/s, infinite where the URDF gives none."""
    acceleration: np.ndarray
    """(n,), limits in rad/s^2 or m/s^2, infinite where the URDF gives none."""
    jerk: np.ndarray
    """(n,), limits in rad/s^3 or m/s^3, infinite where the URDF gives none."""
    continuous: np.ndarray
    """(n,) bool, joints without position limits."""
    revolute: np.ndarray
    """(n,) bool, joints whose coordinate is an angle."""
    table: np.ndarray
    """(m, 16), what the kernels read: a row for each moving joint and each tip."""
    parents: np.ndarray
    """(m,), the row that carries each row (-1 = the base)."""

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore a pickled object and make its arrays read-only again."""
        self.__dict__.update(read_only(**state))

    @property
    def n(self) -> int:
        """Return the number of independent joints."""
        return len(self.joint_names)

    @property
    def middle(self) -> np.ndarray:
        """Return the middle of each joint's range, or its position nearest to 0, (n,)."""
        return self._middle.copy()

    @cached_property
    def _middle(self) -> np.ndarray:
        finite = np.isfinite(self.lower) & np.isfinite(self.upper)
        return np.clip(np.where(finite, 0.5 * (np.where(finite, self.lower, 0.0)
                                               + np.where(finite, self.upper, 0.0)), 0.0),
                       self.lower, self.upper)

    def at_limit(self, q: np.ndarray) -> tuple[str, ...]:
        """Return the names of the joints that are at a limit, or beyond it, at q (n,)."""
        return tuple(name for name, margin in zip(self.joint_names, np.minimum(
            q - self.lower, self.upper - q)) if margin < AT_LIMIT)

    def difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return ``a - b`` (n,); for continuous joints the shortest angular difference."""
        d = a - b
        return d if not self._turning.any() else np.where(
            self._turning, np.remainder(d + np.pi, 2.0 * np.pi) - np.pi, d)

    def nearest_turns(self, q: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return `q` (n,) with continuous joints moved by full turns to near `reference`."""
        if not self._turning.any():
            return np.array(q)
        turns = np.round((reference - q) / (2.0 * np.pi))
        return np.where(self._turning, q + 2.0 * np.pi * turns, q)

    @cached_property
    def _turning(self) -> np.ndarray:
        return self.continuous & self.revolute

    def with_limits(self: Space, lower: np.ndarray | None = None,
                    upper: np.ndarray | None = None) -> Space:
        """
        Return this chain or tree with narrower position limits.

        Parameters
        ----------
        lower, upper : (n,) arrays, optional
            Rad or m.  Where they are wider than the present limits, these remain.  A
            continuous joint becomes a limited one.

        Raises
        ------
        ParameterError
            If a joint is left without a range, or is limited at one end only.

        """
        if lower is None and upper is None:
            return self
        lower = self.lower if lower is None else np.maximum(self.lower, lower)
        upper = self.upper if upper is None else np.minimum(self.upper, upper)
        for name, low, high in zip(self.joint_names, lower, upper):
            if not low <= high:  # or not a number
                raise ParameterError(f'the position limits leave joint {quote(name)} no range: '
                                     f'[{low:g}, {high:g}]')
            if np.isinf(low) != np.isinf(high):
                raise ParameterError(f'joint {quote(name)} turns without end, and is limited to '
                                     f'[{low:g}, {high:g}]; give a limit for both ends')
        return replace(self, **read_only(lower=lower, upper=upper,
                                         continuous=np.isinf(lower) & np.isinf(upper)))
