# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The goal of a follow_joint_trajectory action, for client and server, without messages.

Result codes and their meaning, tolerances, and the states of a goal: sent -> accepted -> ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Any

import numpy as np

from ik_node.base.errors import Reason
from ik_node.base.text import quote
from ik_node.motion.change.monitor import Verdict
from ik_node.motion.trajectory.controller_rules import FLOAT_EPSILON, seconds


class ResultCode(IntEnum):
    """``error_code`` of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class GoalStatus(IntEnum):
    """How an action goal ended, as numbered by action_msgs/GoalStatus."""

    SUCCEEDED = 4
    CANCELED = 5
    ABORTED = 6


CODE_VERDICTS = {
    ResultCode.SUCCESSFUL: (Reason.REACHED, 'the controller reports the goal as reached'),
    ResultCode.INVALID_GOAL: (Reason.INTERRUPTED, 'the controller gave the motion up: another '
                              'client has sent one, or it was deactivated'),
    ResultCode.INVALID_JOINTS: (Reason.REFUSED, 'the controller has other joints than the '
                                'trajectory'),
    ResultCode.OLD_HEADER_TIMESTAMP: (Reason.REFUSED, 'the trajectory was over when the '
                                      'controller got it; do the clocks agree?'),
    ResultCode.PATH_TOLERANCE_VIOLATED: (Reason.OFF_TRACK, 'off track: a joint left the path by '
                                         "more than the controller's path tolerance; the arm "
                                         'holds where it was then'),
    ResultCode.GOAL_TOLERANCE_VIOLATED: (Reason.OFF_TARGET, 'the arm did not come within the '
                                         "controller's goal tolerance in time; it holds where "
                                         'it was then'),
}


def conclusion(status: int, code: int, text: str) -> Verdict:
    """
    Return how a goal ended.

    Parameters
    ----------
    status : int
        Of action_msgs/GoalStatus.
    code : int
        ``error_code`` of the result.
    text : str
        ``error_string`` of the result; it is quoted.

    """
    said = f' (it says: {quote(text, 200)})' if text else ''
    if status == GoalStatus.CANCELED:
        return Verdict(Reason.INTERRUPTED,
                       f'the motion was cancelled; the arm holds where it was then{said}')
    if status == GoalStatus.ABORTED and code == ResultCode.SUCCESSFUL:
        # Some controllers do not set the code.
        return Verdict(Reason.INTERRUPTED, f'the controller gave the motion up{said}')
    if status in (GoalStatus.SUCCEEDED, GoalStatus.ABORTED) and code in list(ResultCode):
        reason, sentence = CODE_VERDICTS[ResultCode(code)]
        return Verdict(reason, sentence + said)
    return Verdict(Reason.INTERRUPTED, f'the controller ended the motion with status {status} '
                   f'and result code {code}, which are not known{said}')


class Stage(Enum):
    """State of a goal, for the client."""

    SENT = 'sent'
    ACCEPTED = 'accepted'
    ENDED = 'ended'


class Execution:
    """One goal, for the client.  It ends once; later results are ignored."""

    def __init__(self) -> None:
        self.stage = Stage.SENT
        self.verdict: Verdict | None = None  # how it ended
        # Cancelling was requested; it has to wait until the goal is accepted.
        self.cancelling = False

    def answered(self, accepted: bool) -> None:
        """Record the server's first answer."""
        if self.stage is not Stage.SENT:
            return
        if accepted:
            self.stage = Stage.ACCEPTED
        else:
            self.end(Verdict(Reason.REFUSED, 'the controller refused the trajectory; its log '
                             'says why'))

    def end(self, verdict: Verdict) -> bool:
        """End the goal; return whether this is its first end."""
        if self.stage is Stage.ENDED:
            return False
        self.stage, self.verdict = Stage.ENDED, verdict
        return True


@dataclass(frozen=True, eq=False)
class Tolerances:
    """
    Tolerances of a controller; 0 = not checked.

    A position controller compares positions only (as the real one does:
    stopped_velocity_tolerance is for velocity and effort interfaces).
    """

    path: np.ndarray  # (n,), rad or m, before the last point
    goal: np.ndarray  # (n,), rad or m, after it
    # Time (s) after the last point by which the goal tolerance must be met; 0 = no limit.
    goal_time: float = 0.0

    @staticmethod
    def none(n: int) -> Tolerances:
        """Return tolerances without any check."""
        return Tolerances(np.zeros(n), np.zeros(n))

    def of_goal(self, goal: Any, joints: Sequence[str]) -> Tolerances:
        """
        Return these defaults, overridden by the tolerances of a FollowJointTrajectory goal.

        0 means the default, -1 none.  With another negative number, or a joint that the
        controller does not have, all defaults are kept.
        """
        try:
            arrays = {}
            for field, wanted in (('path', goal.path_tolerance), ('goal', goal.goal_tolerance)):
                arrays[field] = getattr(self, field).copy()
                for tolerance in wanted:
                    k = joints.index(tolerance.name)
                    arrays[field][k] = _resolved(arrays[field][k], tolerance.position)
                    for other in (tolerance.velocity, tolerance.acceleration):
                        _resolved(0.0, other)
            return replace(self, **arrays, goal_time=_resolved(
                self.goal_time, seconds(goal.goal_time_tolerance)))
        except ValueError:
            return self


def _resolved(default: float, wanted: float) -> float:
    if abs(wanted + 1.0) < FLOAT_EPSILON:
        return 0.0
    if wanted < 0.0:
        raise ValueError
    return wanted or default


class ActiveGoal:
    """One goal, for the controller."""

    def __init__(self, goal: Any) -> None:
        # A control_msgs/action/FollowJointTrajectory.Goal, or anything with its fields.
        self.goal = goal
        # How it ended; None while it is active.
        self.outcome: tuple[GoalStatus, ResultCode, str] | None = None

    def end(self, status: GoalStatus, code: ResultCode, text: str) -> None:
        """Record how it ended."""
        self.outcome = status, code, text
