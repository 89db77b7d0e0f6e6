# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A goal while the node has it: what was asked for, what is planned, what is under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, MutableSequence
from dataclasses import dataclass, field
from math import inf
from time import thread_time
from typing import Any

from builtin_interfaces.msg import Time
import numpy as np

from ik_node.base.errors import IkNodeError, PathError, Reason
from ik_node.motion.change.monitor import Monitor
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.constrained.keep import Keep, path_constraints
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.motion_remedies import MotionRemedy, REMEDIED_MOTION_REASONS
from ik_node.motion.requests import MotionRemedyRequest, PathRequest, Rounds, SequenceRequest
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.robot.settings import Settings
from ik_node.node.state.send_order import SendTime
from ik_node.replay.answered import AnsweredRequest
from ik_node.ros.messages.status_messages import GoalState
from ik_node.solver.goal import Goal
from ik_node.solver.result import Result

MOTION_REMEDY_TIME_S = 0.1  # of the processor, in a thread beside the other callbacks
MAX_KEPT_REQUESTS = 50  # of one goal, for its recording; the latest

# Plans a motion from a start state; raises an IkNodeError if there is none.
Planner = Callable[[StartState], Trajectory]
# What is done for a goal; it yields while it has to wait.
Steps = Iterator[None]


@dataclass(frozen=True, eq=False)
class RefusedPlan:
    """What was refused."""

    settings: Settings  # with which it was planned
    start: StartState
    request: PathRequest | SequenceRequest  # a path, or the motions between two rests
    error: IkNodeError
    first: int = 1  # number of the first motion, of a sequence

    @property
    def may_have_remedies(self) -> bool:
        """Return whether remedies are sought: of a moving arm they would not hold afterwards."""
        return self.error.reason in REMEDIED_MOTION_REASONS \
            and self.start.splice.rests and not len(self.start.times)

    def remedies(self, log: MutableSequence[AnsweredRequest], has_ended: Callable[[], bool]
                 ) -> tuple[MotionRemedy, ...]:
        """
        Return what would make it possible; for another thread.

        Parameters
        ----------
        log : sequence
            Where the search is noted, if goals are recorded.
        has_ended : callable
            Whether nobody wants to know any more.

        """
        end = inf

        def goes_on() -> bool:
            nonlocal end
            end = min(end, thread_time() + MOTION_REMEDY_TIME_S)  # after its motion was planned
            return not has_ended() and thread_time() < end

        try:
            return self.settings.plan(
                MotionRemedyRequest(self.request, self.first, Rounds(goes_on)), log)
        except IkNodeError:  # the refusal counts
            return ()


@dataclass(frozen=True, eq=False)
class Paused:
    """A motion that was paused."""

    trajectory: Trajectory  # as it was before
    place: float  # time (s) in it at which the arm comes to rest
    rests: bool = False  # whether the arm is at rest
    goes_on: bool = False  # whether it is to go on as soon as it rests


@dataclass(eq=False)
class Plan:
    """What a goal asks of the solver and the planners, and what they found."""

    goal: Goal | None = None  # of the tip in the base link, once known; None of a joint goal
    q_goal: np.ndarray | None = None  # (n,), once known
    result: Result | None = None  # of the solver for `goal`, if it was called
    keeps: tuple[Keep | PathConstraint, ...] = ()  # what the goal itself asks to be kept
    # What the motion is to keep, and T_base_frame (4, 4) of each that has a frame ...
    framed: tuple[tuple[Keep | PathConstraint, np.ndarray | None], ...] = ()
    constraints: tuple[PathConstraint, ...] = ()  # ... from where the motion began first
    limits: MotionLimits | None = None  # None: those that the parameters set
    free_axes: tuple[str, ...] | None = None  # of its path; None: as the parameters set it
    detour_time: float | None = None  # of the processor (s); None: as the parameters set it
    interruption: PathError | None = None  # why only a part of the path is followed
    refused: RefusedPlan | None = None  # the path or sequence that was refused last
    replan: Planner | None = None  # from another start, if it need not stay on its path

    @property
    def is_constrained(self) -> bool:
        """Return whether the motion is to keep something."""
        return bool(self.framed)

    def constraints_from(self, T_base_tip: np.ndarray) -> tuple[PathConstraint, ...]:
        """Return what the motion keeps; it begins with the tip at T_base_tip (4, 4), or did."""
        if self.framed and not self.constraints:
            self.constraints = path_constraints(self.framed, T_base_tip)
        return self.constraints

    @property
    def nearest(self) -> bool:
        """Return whether `q_goal` is for the nearest reachable pose (solver.nearest)."""
        return self.result is not None and self.result.status is Reason.NEAREST


@dataclass(eq=False)
class Execution:
    """What is under way for a goal."""

    trajectory: Trajectory | None = None  # the last that was sent
    monitor: Monitor | None = None  # of that
    planner: Planner | None = None  # plans it again, if the arm does not follow
    detour: Planner | None = None  # if that would collide
    speed: float = 1.0  # share of the velocity limits at which it was begun, or goes on
    attempts: int = 0  # trajectories sent, but for those at another speed
    paused: Paused | None = None  # the motion that it waits to go on with
    planning_time: float = 0.0  # s, that its plans take beside the handover time
    halt: Callable[[], None] | None = None  # brings it to rest, if no trajectory does
    is_to_stop: bool = False  # as was asked for when it was not possible: nothing is sent again
    ends_alone: bool = False  # whether it comes to rest by itself after the goal has ended


@dataclass(eq=False)
class GoalTask:
    """One goal, from its message to its one final answer."""

    number: int  # counts the goals of this node, from 1
    stamp: Time  # of its message, by which its sender finds the answer
    kind: str = ''  # of ik_node.ros.messages.goal_kinds.GOAL_KINDS, or home, jog, or moveit
    sent_at: SendTime | None = None  # None if that is not known, as of goals of actions
    # Called with the task, the reason and the sentence of the final answer.
    on_final: Callable[[GoalTask, Reason, str], None] = lambda *_: None
    plan: Plan = field(default_factory=Plan)
    execution: Execution = field(default_factory=Execution)
    state: GoalState | None = None  # None: not accepted yet
    # Of the answer; a function is called when it is given, for what would delay the motion.
    values: dict[str, Any] = field(default_factory=dict)
    begin: Callable[[], Steps | None] = lambda: None  # what is done for it ...
    steps: Steps | None = None  # ... and what is left of that
    patience: float | None = None  # until when (monotonic, s) it is begun again; None: not set
    superseded_by: str = ''  # the kind of the goal that took its place, if one did
    after_scene: tuple[int, float] | None = None  # the scene message it waits for, since when (s)
    # Other ways to do it, to be tried in turn if it would be refused, and why those before were.
    alternatives: list[Callable[[], Steps | None]] = field(default_factory=list)
    refusals: list[tuple[Reason, str]] = field(default_factory=list)
    # What was asked of the solver and the planners, if goals are recorded.
    requests: deque[AnsweredRequest] = field(
        default_factory=lambda: deque(maxlen=MAX_KEPT_REQUESTS))

    @property
    def final(self) -> bool:
        """Return whether the one final answer was given."""
        return self.state not in (None, GoalState.ACCEPTED)
