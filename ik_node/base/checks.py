# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What is asked of numbers, rotations and quaternions that come from outside.

It is asked at the border: where messages, goals, options and files are read.  Inside, arrays are
trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.se3 import MAX_ROTATION_ERROR
from ik_node.base.text import shown

SAFE_SQUARED_ERROR = (0.2 * MAX_ROTATION_ERROR)**2  # see :func:`is_pose`
LAST_ROW = [0.0, 0.0, 0.0, 1.0]  # of a pose
QUATERNION_NORMS = 0.9, 1.1  # of messages, which are normalised


class Rule(NamedTuple):
    """What a number has to be."""

    words: str  # how a sentence with 'it must be' goes on
    holds: Callable[[float], bool]


POSITIVE = Rule('positive and finite', lambda value: 0.0 < value < inf)
POSITIVE_OR_INF = Rule('positive', lambda value: value > 0.0)
SHARE = Rule('above 0 and at most 1', lambda value: 0.0 < value <= 1.0)
NOT_NEGATIVE = Rule('0 or more', lambda value: 0.0 <= value < inf)
NOT_NEGATIVE_OR_INF = Rule('0 or more', lambda value: value >= 0.0)


def between(low: float, high: float) -> Rule:
    """Return the rule that a number is in a range, with its ends."""
    return Rule(f'from {low:g} to {high:g}', lambda value: low <= value <= high)


def check_numbers(values: Mapping[str, Any], rule: Rule, *names: str, what: str = '{}') -> None:
    """
    Check the options of these names.

    Parameters
    ----------
    what : str
        What a sentence calls an option; its name is in place of the braces.

    Raises
    ------
    ParameterError
        If one is no number, or the rule does not hold.

    """
    for name in names:
        value = values[name]
        if not is_real(value) or not rule.holds(value):
            raise ParameterError(
                f'{what.format(name)} is {shown(value)}; it must be '
                f'{rule.words if is_real(value) else "a number"}')


def check_counts(values: Mapping[str, Any], most: float, *names: str) -> None:
    """Raise ParameterError if an option is no whole number from 0 to `most`."""
    for name in names:
        value = values[name]
        if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= value <= most:
            raise ParameterError(f'{name} is {shown(value)}; it must be a whole number from 0 '
                                 + ('on' if most == inf else f'to {most}'))


def check_flags(values: Mapping[str, Any], *names: str) -> None:
    """Raise ParameterError if an option is neither true nor false."""
    for name in names:
        if not isinstance(values[name], (bool, np.bool_)):
            raise ParameterError(f'{name} is {shown(values[name])}; it must be true or false')


def is_real(value: object) -> bool:
    """Return whether a value is a number that a float can be; NaN is one."""
    if not isinstance(value, Real):
        return False
    try:
        float(value)
    except OverflowError:  # an integer of hundreds of digits
        return False
    return True


def is_plain_number(value: object) -> bool:
    """Return whether a value of a file is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) \
        and is_real(value) and isfinite(value)


def real_array(values: object) -> np.ndarray | None:
    """Return a copy as an array of floats, or None if it cannot be converted."""
    try:
        array = np.asarray(values)
        return None if array.dtype.kind == 'c' else array.astype(float)
    except (TypeError, ValueError, OverflowError):
        return None


def finite_array(value: object, shape: tuple[int | None, ...], what: str) -> np.ndarray:
    """
    Return a new float array; None in `shape` stands for any length.

    Raises
    ------
    ParameterError
        If the shape is another, or a number is not finite.

    """
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f'{what} must be numbers, got {shown(value, 80)}') from None
    if array.ndim != len(shape) or any(wanted not in (None, length)
                                       for wanted, length in zip(shape, array.shape)):
        wanted = ' x '.join('n' if length is None else str(length) for length in shape)
        raise ParameterError(f'{what} must be {wanted or "one"} number{"s" * (wanted != "")}, '
                             f'got the shape {array.shape}')
    if not np.isfinite(array).all():
        raise ParameterError(f'{what} must be finite, got {array[~np.isfinite(array)][0]}')
    return array


def numbers(value: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Return `value` as an array of finite numbers of this shape, else raise ParameterError."""
    array = real_array(value)
    if array is None or array.shape != shape or not np.isfinite(array).all():
        needed = f'{shape[0]} finite numbers' if shape else 'a finite number'
        raise ParameterError(f'{what} is {shown(value, 80)}; it must be {needed}')
    return array


def check_three(values: object, what: str) -> None:
    """Raise ParameterError if a value is not three finite numbers."""
    array = real_array(values)
    if array is None or array.shape != (3,) or not np.isfinite(array).all():
        raise ParameterError(f'{what} needs three finite numbers, got {shown(values)}')


def is_pose(T: list[list[float]], farthest: float = inf) -> bool:
    """
    Return whether a matrix (4, 4) is a right-handed rotation and a position within `farthest` (m).

    Beyond doubt, if the first two rows of the rotation are of length 1 and perpendicular, and the
    third is their vector product: then no entry of R R^T - I is larger than four times the largest
    of these errors.
    """
    (a, b, c, x), (d, e, f, y), (g, h, i, z), last = T
    r, s, t = a * a + b * b + c * c - 1.0, d * d + e * e + f * f - 1.0, a * d + b * e + c * f
    u, v, w = b * f - c * e - g, c * d - a * f - h, a * e - b * d - i
    return x * x + y * y + z * z <= farthest * farthest and last == LAST_ROW and (
        r * r + s * s + t * t + u * u + v * v + w * w < SAFE_SQUARED_ERROR
        or poses_are_rigid(np.array([T])))


def poses_are_rigid(T: np.ndarray) -> bool:
    """Return whether matrices (N, 4, 4) are right-handed rotations and positions."""
    R = T[:, :3, :3]
    with np.errstate(invalid='ignore', over='ignore'):
        return bool((np.abs(R @ R.swapaxes(1, 2) - np.eye(3)) <= MAX_ROTATION_ERROR).all()
                    and (np.linalg.det(R) > 0.0).all() and (T[:, 3] == LAST_ROW).all())


def near_one(norm: Any) -> Any:
    """Return whether norms are such as quaternions of messages may have."""
    return (norm >= QUATERNION_NORMS[0]) & (norm <= QUATERNION_NORMS[1])
