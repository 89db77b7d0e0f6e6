# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What may be tuned in the textbook methods."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum

import numpy as np

from ik_node.errors import ParameterError
from ik_node.text import shown


class Limits(str, Enum):
    """How a method keeps the joint limits."""

    CLAMP = 'clamp'          # each iterate is put on the limits that it passed
    PENALTY = 'penalty'      # passing a limit costs; the answer is clamped
    VARIABLES = 'variables'  # q = middle + half range * sin(u), and u is free


@dataclass(frozen=True)
class ClassicOptions:
    """
    Options of all textbook methods; each method reads those that concern it.

    Attributes
    ----------
    position_tolerance, orientation_tolerance : float
        m and rad, tested apart.
    metres_per_radian : float
        Weight of orientation against position.
    max_iterations : int
        Steps of one attempt; 0 = the method's own limit.
    locked : tuple of str
        Joints that stay where the seed has them.
    limits : str
        One of :class:`Limits`; empty = the method's first choice.
    fraction : float
        Part of the error that a Jacobian step takes back, the ``dt`` of Euler
        integration, (0, 1].
    error_step : float
        Longest error (m) that one Jacobian step takes back; a longer one is
        cut to ``error_step * e / |e|``.
    max_joint_step : float
        Largest joint change (rad or m) of one Jacobian step; a longer one is scaled down.
    cutoff : float
        Singular values below this part of the largest count as zero.
    damping : float
        ``lambda^2 / |e|^2`` of damped least squares away from singularities.
    singular_value : float
        m; below this smallest singular value the damping grows ...
    singular_damping : float
        ... by up to this much at a singularity, also ``lambda^2 / |e|^2``.
    gains : tuple of float
        Stiffness of the joints against leaving the preferred posture: one for
        all or one per joint, 0 = not drawn.
    preferred : tuple of float
        Preferred posture (rad or m); empty = middle of each range.
    max_bias_iterations : int
        Steps during which null-space control draws the joints.
    correction : float
        Part of the way to the best posture that the square extended Jacobian
        takes in a step; 0 keeps the posture criterion as it was at the start.
    pair_weight : float
        Weight w of the rows for the pairs of links in the pairwise extended Jacobian;
        the paper begins with 1, which is slower and shares the motion more evenly.
    penalty : float
        Weight of the penalty for passed limits.

    Raises
    ------
    ParameterError
        If a number is out of range.

    """

    position_tolerance: float = 1e-6
    orientation_tolerance: float = 1e-6
    metres_per_radian: float = 0.3
    max_iterations: int = 0
    locked: tuple[str, ...] = ()
    limits: str = ''
    fraction: float = 1.0
    error_step: float = np.inf
    max_joint_step: float = 1.0
    cutoff: float = 1e-10
    damping: float = 0.05
    singular_value: float = 0.02
    singular_damping: float = 1.0
    gains: tuple[float, ...] = (1.0,)
    preferred: tuple[float, ...] = ()
    max_bias_iterations: int = 100
    correction: float = 0.0
    pair_weight: float = 0.1
    penalty: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ('limits', 'locked'):
                continue
            numbers = np.asarray(value, dtype=float)
            if np.isnan(numbers).any() or (field.name != 'preferred' and (numbers < 0.0).any()):
                raise ParameterError(f'{field.name} is {value}; it must not be negative or NaN')
            if field.name in POSITIVE and not value > 0.0:
                raise ParameterError(f'{field.name} is {value}; it must be positive')
        if self.limits and self.limits not in list(Limits):
            raise ParameterError(f'limits is {shown(self.limits)}; it must be one of '
                                 f'{", ".join(Limits)}, or empty')
        for name in ('fraction', 'correction'):
            if getattr(self, name) > 1.0:
                raise ParameterError(f'{name} is {getattr(self, name)}; it must be at most 1')


POSITIVE = ('position_tolerance', 'orientation_tolerance', 'metres_per_radian', 'fraction',
            'error_step', 'max_joint_step', 'singular_value', 'pair_weight', 'penalty')
