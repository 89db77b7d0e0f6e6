# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Options of the textbook methods."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from ik_node.base.checks import (
    between,
    check_numbers,
    NOT_NEGATIVE_OR_INF,
    POSITIVE_OR_INF,
    SHARE,
)
from ik_node.base.errors import ParameterError
from ik_node.base.text import shown


class Limits(str, Enum):
    """How a method keeps the joint limits."""

    CLAMP = 'clamp'          # each iterate is clipped to the limits
    PENALTY = 'penalty'      # a cost for passing a limit; the result is clipped
    SLACK = 'slack'          # q - y_l^2 = lower and q + y_u^2 = upper, with y_l, y_u unbounded
    VARIABLES = 'variables'  # q = middle + half range * sin(u), with u unbounded


@dataclass(frozen=True)
class ClassicOptions:
    """
    Options of all textbook methods; each method uses some of them.

    Raises
    ------
    ParameterError
        If a number is out of range.

    """

    position_tolerance: float = 1e-6
    """m, checked separately."""
    orientation_tolerance: float = 1e-6
    """rad, checked separately."""
    metres_per_radian: float = 0.3
    """Weight of the orientation relative to the position."""
    max_iterations: int = 0
    """Number of steps of one attempt; 0 = the default of the method."""
    locked: tuple[str, ...] = ()
    """Joints that keep their position in the seed."""
    limits: str = ''
    """One of :class:`Limits`; empty = the default of the method."""
    step_fraction: float = 1.0
    """Fraction of the error that a Jacobian step removes, the ``dt`` of Euler integration, (0,
    1]."""
    error_step: float = np.inf
    """Largest error (m) that one Jacobian step removes; a larger error is shortened to
    ``error_step * e / |e|``."""
    max_joint_step: float = 1.0
    """Largest joint change (rad or m) of one Jacobian step; longer steps are scaled down."""
    cutoff: float = 1e-10
    """Singular values below this fraction of the largest count as zero."""
    damping: float = 0.05
    """``lambda^2 / |e|^2`` of damped least squares away from singularities."""
    singular_value: float = 0.02
    """Damping grows if the smallest singular value (m) is below this value."""
    singular_damping: float = 1.0
    """Additional ``lambda^2 / |e|^2`` at a singularity."""
    gains: tuple[float, ...] = (1.0,)
    """Weights of the joints in the posture criterion: one for all or one per joint, 0 = the joint
    has no preferred position."""
    preferred: tuple[float, ...] = ()
    """Preferred posture (rad or m); empty = middle of each range."""
    max_bias_iterations: int = 100
    """Number of steps with null-space control."""
    correction: float = 0.0
    """Fraction of the step to the best posture that the square extended Jacobian takes; 0 keeps
    the projected gradient of the posture criterion from the start.  For the pairwise form,
    fraction of the way to the preferred posture that is wished for the elements; 0 wishes that
    they do not move."""
    pair_weight: float = 0.1
    """Weight w of the rows for the pairs of links in the pairwise extended Jacobian.  The paper
    starts with 1, which is slower and shares the motion more evenly."""
    penalty: float = 1.0
    """Weight of the penalty for passing limits."""

    def __post_init__(self) -> None:
        values = vars(self)
        check_numbers(values, POSITIVE_OR_INF, 'position_tolerance', 'orientation_tolerance',
                      'metres_per_radian', 'error_step', 'max_joint_step', 'singular_value',
                      'pair_weight', 'penalty')
        check_numbers(values, NOT_NEGATIVE_OR_INF, 'max_iterations', 'cutoff', 'damping',
                      'singular_damping', 'max_bias_iterations')
        check_numbers(values, SHARE, 'step_fraction')
        check_numbers(values, between(0.0, 1.0), 'correction')
        for name, least in (('gains', 0.0), ('preferred', -np.inf)):
            if not (np.asarray(values[name], dtype=float) >= least).all():
                raise ParameterError(f'{name} is {shown(values[name])}; it must not be negative '
                                     'or NaN')
        if self.limits and self.limits not in list(Limits):
            raise ParameterError(f'limits is {shown(self.limits)}; it must be one of '
                                 f'{", ".join(Limits)}, or empty')
