# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Check per-joint numbers that callers give."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, radians

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.text import shown
from ik_node.model.chain import Chain

MAX_ANGLE_RAD = 2.0 * pi + 1e-3  # of rotations; 360 degrees, rounded


def one_per_joint(chain: Chain, values: tuple[float, ...], what: str) -> np.ndarray:
    """
    Return one number per joint, (n,); a single number holds for all joints.

    Raises
    ------
    ParameterError
        If there are neither 1 nor n numbers, or one is not finite.

    """
    array = real_array(values)
    if array is None or array.shape not in ((1,), (chain.n,)) or not np.isfinite(array).all():
        raise ParameterError(f'{what} needs 1 or {chain.n} finite numbers, got {shown(values)}')
    return np.broadcast_to(array, (chain.n,)).copy()


def require_radians(angles: Sequence[float], what: str, otherwise: str = '') -> None:
    """
    Refuse angles that can only be meant in degrees.

    Parameters
    ----------
    otherwise : str
        What to do besides to give them in radians.

    Raises
    ------
    ParameterError
        If one is more than a whole turn.

    """
    for angle in angles:
        if abs(angle) > MAX_ANGLE_RAD:
            raise ParameterError(
                f'{what} has the angle {angle:g}, which is {angle / (2.0 * pi):.3g} turns; angles '
                f'are in rad, and {angle:g} degrees are {radians(angle):.4g}: give that'
                f'{otherwise}')


def outside_limits(chain: Chain, k: int, value: float) -> str:
    """Return how a sentence on joint `k` goes on, whose position (rad or m) is outside."""
    low, high, turned = chain.lower[k], chain.upper[k], radians(value)
    in_degrees = chain.revolute[k] and abs(value) > MAX_ANGLE_RAD and low <= turned <= high
    return f'{value:.6g}, outside its limits [{low:.6g}, {high:.6g}]' + (
        f'; if that is in degrees, give {turned:.4g} rad' if in_degrees else '')


def real_array(values: object) -> np.ndarray | None:
    """Return a copy as an array of floats, or None if it cannot be converted."""
    try:
        array = np.asarray(values)
        return None if array.dtype.kind == 'c' else array.astype(float)
    except (TypeError, ValueError, OverflowError):
        return None
