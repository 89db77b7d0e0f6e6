# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Errors and their reasons.

Every error of this package derives from :class:`IkNodeError` and has one
:class:`Reason` and one sentence: the value given, the values allowed, and how to
correct it.  The same reasons appear in logs, in ``~/answers`` and in tests.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


class Reason(str, Enum):
    """Why a goal or a call ended; one word for logs, topics and tests."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Reason:
        """Store the meaning beside the value."""
        reason = str.__new__(cls, value)
        reason._value_ = value
        reason.meaning = meaning
        return reason

    ACCEPTED = 'ACCEPTED', 'the goal is accepted; its final answer follows'
    PAUSED = 'PAUSED', 'the motion rests on its way, after ~/pause; the final answer follows'
    REACHED = 'REACHED', 'the joint states show the arm at the goal'
    NEAREST = ('NEAREST', 'the goal is out of reach; the arm moved to the nearest pose, because '
               'solver.nearest is set')
    ALREADY_THERE = 'ALREADY_THERE', 'the arm was already at the goal; no trajectory was sent'
    SUPERSEDED = 'SUPERSEDED', 'a newer goal replaced it'
    STOPPED = 'STOPPED', 'stopped by ~/stop'
    STREAM_ENDED = ('STREAM_ENDED', 'no more poses of a stream, or commands of a jog, arrived; '
                    'the arm is at rest')
    SHUTDOWN = 'SHUTDOWN', 'the node was shut down'
    INACTIVE = 'INACTIVE', 'the node is not active, or was deactivated during the goal'
    DUPLICATE_NAME = 'DUPLICATE_NAME', 'another node has the same name; neither accepts goals'
    COMPILING = ('COMPILING', 'the node still compiles what such goals need, once on a machine')
    SCENE_PENDING = ('SCENE_PENDING', 'the scene that came before the goal was not ready in time')
    NODE_LATE = ('NODE_LATE', 'the node itself was late: its process was suspended or had no '
                 'CPU time')

    GOAL_NOT_FINITE = 'GOAL_NOT_FINITE', 'a number of the goal is NaN or infinite'
    GOAL_ORIENTATION_UNSET = 'GOAL_ORIENTATION_UNSET', 'the quaternion is all zeros'
    GOAL_ORIENTATION_NOT_UNIT = ('GOAL_ORIENTATION_NOT_UNIT',
                                 'the norm of the quaternion differs from 1 by more than 10 %')
    GOAL_STALE = 'GOAL_STALE', 'the stamp is older than goal.max_age'
    GOAL_FROM_FUTURE = 'GOAL_FROM_FUTURE', 'the stamp is more than 0.5 s ahead of the clock'
    GOAL_JOINTS = 'GOAL_JOINTS', 'names and positions of a joint goal do not match the arm'
    GOAL_TOLERANCE = 'GOAL_TOLERANCE', 'the tolerances of the goal cannot be used'
    NAME_UNKNOWN = 'NAME_UNKNOWN', 'no usable named pose has the name of the goal'
    CLOCK_STOPPED = 'CLOCK_STOPPED', 'use_sim_time is set, but no /clock message has arrived'
    FRAME_MISSING = 'FRAME_MISSING', 'frame_id is empty'
    FRAME_UNKNOWN = ('FRAME_UNKNOWN', 'neither the URDF nor TF has the frame, or TF cannot '
                     'transform it to the base in time')
    MODEL_MISSING = 'MODEL_MISSING', 'no usable robot description has arrived yet'
    STATE_MISSING = 'STATE_MISSING', 'no joint state has arrived'
    STATE_INCOMPLETE = 'STATE_INCOMPLETE', 'the joint states lack a joint of the chain'
    STATE_OTHER_JOINTS = ('STATE_OTHER_JOINTS', 'the joint states name no joint of the chain; '
                          'their names, or the URDF, are those of another robot')
    STATE_STALE = 'STATE_STALE', 'the joint states are older than state.timeout'
    STATE_INVALID = ('STATE_INVALID', 'the joint states are invalid (NaN, wrong lengths), or '
                     'contradict one another')
    ARM_HELD = ('ARM_HELD', 'a goal of all arms came while one of them follows a stream or a jog, '
                'or is paused')
    JOINTS_IN_USE = 'JOINTS_IN_USE', 'another arm of the robot moves joints that carry this one'
    START_OUT_OF_LIMITS = ('START_OUT_OF_LIMITS', 'a joint is outside its limits by more than '
                           'motion.start_tolerance')
    OUT_OF_REACH = 'OUT_OF_REACH', 'the goal is farther away than the arm can reach'
    INNER_VOID = 'INNER_VOID', 'the goal is too close to the first joint for the arm to fold'
    ORIENTATION_OUT_OF_REACH = ('ORIENTATION_OUT_OF_REACH', 'the arm can reach the position, but '
                                'not with that orientation')
    BEYOND_LIMIT = 'BEYOND_LIMIT', 'the goal can be reached only with joints beyond their limits'
    OTHER_BRANCH = ('OTHER_BRANCH', 'every posture that reaches the goal is farther from the '
                    'current one than max_jump')
    NO_SOLUTION = 'NO_SOLUTION', 'no posture within the joint limits was found'
    COLLISION = ('COLLISION', 'the arm would collide with itself or with an object, at the goal '
                 'or on the way')
    CONSTRAINT = ('CONSTRAINT', 'start or goal is outside of a path constraint, the constraint '
                  'cannot be used, or no motion that keeps it was found')
    TOO_HEAVY = ('TOO_HEAVY', 'a joint would need more torque than its effort limit, to hold or '
                 'to move the arm and its tool')
    DEADLINE = 'DEADLINE', 'solver.deadline passed without a solution'
    PATH_INVALID = 'PATH_INVALID', 'the poses do not define a path, or not a unique one'
    PATH_INTERRUPTED = ('PATH_INTERRUPTED', 'the arm would have to change its branch along the '
                        'path')
    TRAJECTORY_INVALID = ('TRAJECTORY_INVALID', 'no motion from the current state keeps all '
                          'limits')
    NO_LISTENER = 'NO_LISTENER', 'no controller listens for trajectories on the topic or action'
    REFUSED = 'REFUSED', 'the controller refused the trajectory'
    INTERRUPTED = ('INTERRUPTED', 'the controller aborted the motion: cancelled, preempted by '
                   'another client, or deactivated')
    NOT_MOVING = 'NOT_MOVING', 'the arm did not move, although the trajectory was sent twice'
    OFF_TRACK = 'OFF_TRACK', 'a joint deviated from the planned path by more than its tolerance'
    OFF_TARGET = 'OFF_TARGET', 'the arm came to rest away from the end of its trajectory'
    TIME_JUMPED = 'TIME_JUMPED', 'simulated time jumped forward, so the motion was lost'
    STATE_LOST = ('STATE_LOST', 'the joint states stopped, so the final position of the arm is '
                  'unknown')
    INTERNAL = 'INTERNAL', 'an internal error of the node; see its log'

    # Reasons of the library, not of goals
    SOLVED = 'SOLVED', 'inverse kinematics found a solution'
    MODEL_INVALID = 'MODEL_INVALID', 'the robot description cannot be used'
    CHAIN_INVALID = 'CHAIN_INVALID', 'there is no usable chain between the links'
    PARAMETER_INVALID = 'PARAMETER_INVALID', 'a parameter or argument is not allowed'
    NODE_MISSING = 'NODE_MISSING', 'no ik_node answers, or it has ended'
    NO_ANSWER = 'NO_ANSWER', 'no answer came within the time that was allowed'
    CALL_INVALID = 'CALL_INVALID', 'the client cannot do this here, or the node refused it'


class IkNodeError(Exception):
    """
    Base class of all errors of this package.

    Parameters
    ----------
    message : str
        One sentence: the value given, the values allowed, how to correct it.
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
    """A parameter or argument is not allowed."""

    reason = Reason.PARAMETER_INVALID


class GoalError(IkNodeError):
    """A goal is not valid."""

    reason = Reason.GOAL_NOT_FINITE


class StateError(IkNodeError):
    """The joint state is missing, incomplete, stale or invalid."""

    reason = Reason.STATE_MISSING


class TrajectoryError(IkNodeError):
    """A trajectory breaks a rule of the controller or a limit of the arm."""

    reason = Reason.TRAJECTORY_INVALID


class ConstraintError(TrajectoryError):
    """A path constraint cannot be used, or is not kept."""

    reason = Reason.CONSTRAINT


class PathError(IkNodeError):
    """
    A tool path is not valid, or cannot be followed to its end.

    Attributes
    ----------
    fraction : float
        Fraction of the path length that can be followed, 0 to 1.
    q : (n,) array or None
        Joint positions there, rad or m; None if that is not known.

    """

    reason = Reason.PATH_INVALID

    def __init__(self, message: str, reason: Reason | None = None,
                 fraction: float = 0.0, q: np.ndarray | None = None) -> None:
        super().__init__(message, reason)
        self.fraction, self.q = fraction, q
