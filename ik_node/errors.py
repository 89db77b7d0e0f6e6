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

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Reason:
        """Keep the meaning beside the value."""
        reason = str.__new__(cls, value)
        reason._value_ = value
        reason.meaning = meaning
        return reason

    ACCEPTED = 'ACCEPTED', 'the goal is under way; its final answer follows'
    REACHED = 'REACHED', 'the arm stands at the goal, by its joint states'
    NEAREST = ('NEAREST', 'the goal is not within reach; the arm stands at the nearest pose, as '
               'solver.nearest asks for')
    ALREADY_THERE = 'ALREADY_THERE', 'the arm stood at the goal when it came; nothing was sent'
    SUPERSEDED = 'SUPERSEDED', 'a newer goal took its place'
    STOPPED = 'STOPPED', 'stopped by ~/stop'
    STREAM_ENDED = 'STREAM_ENDED', 'no further pose came on ~/goal_stream; the arm is at rest'
    SHUTDOWN = 'SHUTDOWN', 'the node was shut down'
    INACTIVE = 'INACTIVE', 'the node is not active, or was deactivated meanwhile'
    DUPLICATE_NAME = 'DUPLICATE_NAME', 'another node has the same name; none of them takes goals'
    NODE_LATE = ('NODE_LATE', 'the node itself was late: its process stood still, or had no '
                 'processor')

    GOAL_NOT_FINITE = 'GOAL_NOT_FINITE', 'a number of the goal is NaN or infinite'
    GOAL_ORIENTATION_UNSET = 'GOAL_ORIENTATION_UNSET', 'the quaternion is all zeros'
    GOAL_ORIENTATION_NOT_UNIT = ('GOAL_ORIENTATION_NOT_UNIT',
                                 'the quaternion is more than 10 % off norm 1')
    GOAL_STALE = 'GOAL_STALE', 'the stamp is older than goal.max_age'
    GOAL_FROM_FUTURE = 'GOAL_FROM_FUTURE', 'the stamp is more than 0.5 s ahead of the clock'
    GOAL_JOINTS = 'GOAL_JOINTS', 'names and positions of a joint goal do not fit the arm'
    CLOCK_STOPPED = 'CLOCK_STOPPED', 'use_sim_time is set, and /clock has not come'
    FRAME_MISSING = 'FRAME_MISSING', 'frame_id is empty'
    FRAME_UNKNOWN = 'FRAME_UNKNOWN', 'neither the URDF nor TF knows the frame, or TF cannot ' \
                                     'connect it to the base in time'
    MODEL_MISSING = 'MODEL_MISSING', 'no usable robot description has come yet'
    STATE_MISSING = 'STATE_MISSING', 'no joint state has come'
    STATE_INCOMPLETE = 'STATE_INCOMPLETE', 'a joint of the chain is not among the joint states'
    STATE_STALE = 'STATE_STALE', 'the joint states are older than state.timeout'
    STATE_INVALID = ('STATE_INVALID', 'the joint states make no sense (NaN, wrong lengths), or '
                     'contradict one another')
    START_OUT_OF_LIMITS = ('START_OUT_OF_LIMITS', 'a joint stands further outside its limits '
                           'than motion.start_tolerance')
    OUT_OF_REACH = 'OUT_OF_REACH', 'the goal is farther away than the arm reaches'
    INNER_VOID = 'INNER_VOID', 'the goal is closer to the first joint than the arm can bend'
    ORIENTATION_OUT_OF_REACH = ('ORIENTATION_OUT_OF_REACH', 'the arm reaches the position, but '
                                'not in that orientation')
    BEYOND_LIMIT = 'BEYOND_LIMIT', 'only joints beyond their limits would reach the goal'
    OTHER_BRANCH = ('OTHER_BRANCH', 'only a posture farther from the present one than max_jump '
                    'reaches the goal')
    NO_SOLUTION = 'NO_SOLUTION', 'no posture inside the joint limits was found'
    DEADLINE = 'DEADLINE', 'solver.deadline passed without a solution'
    PATH_INVALID = 'PATH_INVALID', 'the poses make no path, or none that is unambiguous'
    PATH_INTERRUPTED = ('PATH_INTERRUPTED', 'along the path the arm would have to change its '
                        'posture')
    TRAJECTORY_INVALID = ('TRAJECTORY_INVALID', 'no motion from the present state keeps every '
                          'limit')
    NO_LISTENER = 'NO_LISTENER', 'nobody takes trajectories on the topic or action'
    REFUSED = 'REFUSED', 'the controller refused the trajectory'
    INTERRUPTED = ('INTERRUPTED', 'the controller gave the motion up: cancelled, taken over by '
                   'another client, or deactivated')
    NOT_MOVING = 'NOT_MOVING', 'the arm did not move after the trajectory was sent twice'
    OFF_TRACK = 'OFF_TRACK', 'a joint left the planned path by more than its tolerance'
    OFF_TARGET = 'OFF_TARGET', 'the arm came to rest away from the end of its trajectory'
    TIME_JUMPED = 'TIME_JUMPED', 'simulated time jumped forward, and the motion was lost by that'
    STATE_LOST = 'STATE_LOST', 'the joint states stopped, so it is not known where the arm ended'
    INTERNAL = 'INTERNAL', 'a fault of the node; its log says more'

    # of the library, not of goals
    SOLVED = 'SOLVED', 'inverse kinematics found a solution'
    MODEL_INVALID = 'MODEL_INVALID', 'the robot description cannot be used'
    CHAIN_INVALID = 'CHAIN_INVALID', 'there is no usable chain between the links'
    PARAMETER_INVALID = 'PARAMETER_INVALID', 'a parameter or argument is not allowed'


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


class PathError(IkNodeError):
    """
    A tool path makes no sense, or cannot be followed to its end.

    Attributes
    ----------
    fraction : float
        How much of the length of the path can be followed, 0 to 1.

    """

    reason = Reason.PATH_INVALID

    def __init__(self, message: str, reason: Reason | None = None,
                 fraction: float = 0.0) -> None:
        super().__init__(message, reason)
        self.fraction = fraction
