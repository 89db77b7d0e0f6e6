# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Goals of ``~/motion_sequence``: what the node that takes them shares with their senders."""

from __future__ import annotations

from enum import Enum
from math import isfinite

from ik_node.base.errors import GoalError, Reason
from ik_node.base.text import quote

SEQUENCE_ACTION = 'motion_sequence'
SEQUENCE_KIND = 'sequence'  # of these goals, in their answers
MAX_MOTIONS = 255  # the feedback counts them in a byte
LIMIT_ARGUMENTS = 'velocity', 'acceleration'
MIN_LIMIT_ARGUMENT = 1e-4  # per s or s^2


class PrimitiveType(Enum):
    """The motions there are; the values are constants of control_msgs/MotionPrimitive."""

    PTP = 'LINEAR_JOINT'
    LIN = 'LINEAR_CARTESIAN'
    CIRC = 'CIRCULAR_CARTESIAN'


def motion_error(number: int, sentence: str) -> GoalError:
    """Return the fault of a motion, by its number, from 1."""
    return GoalError(f'motion {number}: {sentence}', Reason.PATH_INVALID)


def require_count(count: int) -> None:
    """Raise a GoalError if a sequence cannot have so many motions."""
    if not 0 < count <= MAX_MOTIONS:
        raise GoalError(f'the sequence has {count} motions; 1 to {MAX_MOTIONS} are taken',
                        Reason.PATH_INVALID)


def require_blend_radius(number: int, radius: float) -> None:
    """Raise a GoalError if a motion cannot have a blend radius (m)."""
    if not (isfinite(radius) and radius >= 0.0):
        raise motion_error(number, f'blend_radius is {radius:g}; it must be a length in m, 0 = '
                           'rest there')


def require_limit(number: int, name: str, value: float) -> None:
    """Raise a GoalError if a motion cannot have one of the LIMIT_ARGUMENTS."""
    if name not in LIMIT_ARGUMENTS:
        raise motion_error(number, f'the argument {quote(name)} is not kept; known are '
                           f'{" and ".join(LIMIT_ARGUMENTS)}')
    if not (isfinite(value) and value >= MIN_LIMIT_ARGUMENT):
        raise motion_error(number, f'{name} is {value:g}; it must be at least '
                           f'{MIN_LIMIT_ARGUMENT:g}')
