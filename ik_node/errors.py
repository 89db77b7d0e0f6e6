# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Errors and the reasons that they carry.

Every error of this package derives from :class:`IkNodeError`, carries one
:class:`Reason` and one sentence that says what was given, what is allowed and
what to do.  The same reasons appear in logs, in ``~/status`` and in tests.
"""

from __future__ import annotations

from enum import Enum


class Reason(str, Enum):
    """Why something ended as it did; one word for logs, topics and tests."""

    # the goal ended well
    REACHED = 'REACHED'
    ALREADY_THERE = 'ALREADY_THERE'
    # the goal is under way
    ACCEPTED = 'ACCEPTED'
    # the robot description
    MODEL_MISSING = 'MODEL_MISSING'
    MODEL_INVALID = 'MODEL_INVALID'
    CHAIN_INVALID = 'CHAIN_INVALID'
    # parameters and arguments
    PARAMETER_INVALID = 'PARAMETER_INVALID'
    # the goal as it came in
    GOAL_NOT_FINITE = 'GOAL_NOT_FINITE'
    GOAL_ORIENTATION_UNSET = 'GOAL_ORIENTATION_UNSET'
    GOAL_ORIENTATION_NOT_UNIT = 'GOAL_ORIENTATION_NOT_UNIT'
    GOAL_STALE = 'GOAL_STALE'
    GOAL_FROM_FUTURE = 'GOAL_FROM_FUTURE'
    CLOCK_STOPPED = 'CLOCK_STOPPED'
    FRAME_MISSING = 'FRAME_MISSING'
    FRAME_UNKNOWN = 'FRAME_UNKNOWN'
    # joint states
    STATE_MISSING = 'STATE_MISSING'
    STATE_INCOMPLETE = 'STATE_INCOMPLETE'
    STATE_STALE = 'STATE_STALE'
    STATE_INVALID = 'STATE_INVALID'
    START_OUT_OF_LIMITS = 'START_OUT_OF_LIMITS'
    # inverse kinematics
    OUT_OF_REACH = 'OUT_OF_REACH'
    NO_SOLUTION = 'NO_SOLUTION'
    DEADLINE = 'DEADLINE'
    SOLVED = 'SOLVED'
    # motion
    TRAJECTORY_INVALID = 'TRAJECTORY_INVALID'
    NO_LISTENER = 'NO_LISTENER'
    NOT_MOVING = 'NOT_MOVING'
    OFF_TARGET = 'OFF_TARGET'
    STATE_LOST = 'STATE_LOST'
    # ended from outside
    SUPERSEDED = 'SUPERSEDED'
    STOPPED = 'STOPPED'
    SHUTDOWN = 'SHUTDOWN'
    INTERNAL = 'INTERNAL'


class IkNodeError(Exception):
    """
    Root of all errors of this package.

    Parameters
    ----------
    message : str
        One sentence: what was given, what is allowed, what to do.
    reason : Reason, optional
        Overrides the reason of the class.

    """

    reason = Reason.INTERNAL

    def __init__(self, message: str, reason: Reason | None = None) -> None:
        super().__init__(message)
        if reason is not None:
            self.reason = reason


class UrdfError(IkNodeError):
    """The robot description cannot be used."""

    reason = Reason.MODEL_INVALID


class ChainError(IkNodeError):
    """There is no usable chain between the links that were asked for."""

    reason = Reason.CHAIN_INVALID


class ParameterError(IkNodeError):
    """A parameter or argument is outside what is allowed."""

    reason = Reason.PARAMETER_INVALID


class GoalError(IkNodeError):
    """A goal cannot be taken as it is."""

    reason = Reason.GOAL_NOT_FINITE


class StateError(IkNodeError):
    """The joint state is missing, incomplete, stale or senseless."""

    reason = Reason.STATE_MISSING


class TrajectoryError(IkNodeError):
    """A trajectory breaks a rule of the controller or a limit of the arm."""

    reason = Reason.TRAJECTORY_INVALID


def quote(name: object, length: int = 80) -> str:
    """Return a name from outside, safe to print: quoted, escaped, cut to a length."""
    text = ascii(str(name))
    return text if len(text) <= length else text[:length - 4] + "...'"
