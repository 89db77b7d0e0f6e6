# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Status of each goal: accepted, then exactly one final answer."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, MutableSequence
from dataclasses import dataclass, field
from math import inf
from time import monotonic, thread_time, time_ns
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
import numpy as np
from rclpy.node import Node

from ik_node.base.errors import IkNodeError, PathError, Reason
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.motion_remedies import MotionRemedy, REMEDIED_MOTION_REASONS
from ik_node.motion.requests import MotionRemedyRequest, PathRequest, Rounds, SequenceRequest
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.robot.settings import Settings
from ik_node.node.state.send_order import SendTime
from ik_node.replay.answered import AnsweredRequest
from ik_node.ros.answer_publisher import AnswerPublisher
from ik_node.ros.messages.status_messages import GoalState, level_of, stamp_text
from ik_node.ros.middleware.qos import MANY_ANSWERS_QOS
from ik_node.solver.goal import Goal
from ik_node.solver.result import Result

MOTION_REMEDY_TIME_S = 0.1  # of the processor, in a thread beside the other callbacks


@dataclass(frozen=True, eq=False)
class RefusedPlan:
    """
    What was refused.

    Attributes
    ----------
    settings : Settings
        With which it was planned.
    start : StartState
        Where the arm was.
    request : PathRequest or SequenceRequest
        The path, or the motions of a sequence between two rests.
    error : IkNodeError
        Why it was refused.
    first : int
        Number of the first motion, of a sequence.

    """

    settings: Settings
    start: StartState
    request: PathRequest | SequenceRequest
    error: IkNodeError
    first: int = 1

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


UNCHECKED_ANSWERS = 500  # between two checks whether readers keep up
MAX_HOLDBACK_S = 5.0  # for a reader that does not read
MAX_KEPT_REQUESTS = 50  # of one goal, for its recording; the latest
BASE_36_DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'


@dataclass(frozen=True, eq=False)
class Paused:
    """
    A motion that was paused.

    Attributes
    ----------
    trajectory : Trajectory
        The motion, as it was before.
    place : float
        The time (s) in it at which the arm comes to rest.
    rests : bool
        Whether the arm is at rest.
    goes_on : bool
        Whether it is to go on as soon as it rests.

    """

    trajectory: Trajectory
    place: float
    rests: bool = False
    goes_on: bool = False


@dataclass(eq=False)
class GoalTask:
    """
    One goal while the node handles it.

    Attributes
    ----------
    number : int
        Counts the goals of this node, from 1.
    stamp : builtin_interfaces/Time
        Stamp of the goal's message, by which its sender finds the answer.
    kind : str
        Of ik_node.ros.messages.goal_kinds.GOAL_KINDS, or home, jog, or moveit.
    sent_at : SendTime or None
        When its message was sent; None if that is not known, as of goals of actions.
    goal : Goal or None
        Pose of the tip in the base link, once known; None for a joint goal.
    q_goal : (n,) array or None
        Joint positions, once known.
    attempts : int
        Trajectories sent for it.
    result : Result or None
        Result of the solver for `goal`, if it was called.
    interruption : PathError or None
        Why only a part of the path is followed.
    halt : callable or None
        Brings the motion to rest, if that is not done by a trajectory.
    ends_alone : bool
        Whether its motion comes to rest by itself after the goal has ended.
    limits : MotionLimits or None
        Limits to plan with; None: those that the parameters set.
    free_axes : tuple of str or None
        Axes that its path leaves free; None: as the parameters set it.
    detour_time : float or None
        Processor time (s) for the search for a detour; None: as the parameters set it.
    sent : Trajectory or None
        The last trajectory that was sent for it.
    speed : float
        The share of the velocity limits at which it was begun, or goes on.
    replan : callable or None
        Plans its motion anew from another start, if that need not stay on its path.
    refused : RefusedPlan or None
        The path or sequence that was refused last.
    paused : Paused or None
        The motion that it waits to go on with.
    after_scene : (int, float) or None
        Number of the scene message for which it waits, and the monotonic time (s) at which it
        began to.
    alternatives : list of callables
        Steps that begin it in other ways, to be tried in turn if it would be refused.
    refusals : list of (Reason, str)
        Why the ways before were refused.
    on_final : callable or None
        Called with the task, the reason and the sentence of the final answer.
    requests : deque of AnsweredRequest
        What was asked of the solver and the planners, if goals are recorded.
    values : dict
        Values for the answer; a function is called when the answer is given, for what would
        delay the motion.

    """

    number: int
    stamp: Time
    kind: str = ''
    sent_at: SendTime | None = None
    goal: Goal | None = None
    q_goal: np.ndarray | None = None
    attempts: int = 0
    result: Result | None = None
    interruption: PathError | None = None
    halt: Callable[[], None] | None = None
    ends_alone: bool = False
    limits: MotionLimits | None = None
    free_axes: tuple[str, ...] | None = None
    detour_time: float | None = None
    sent: Trajectory | None = None
    speed: float = 1.0
    replan: Callable[[Any], Trajectory] | None = None
    refused: RefusedPlan | None = None
    paused: Paused | None = None
    after_scene: tuple[int, float] | None = None
    alternatives: list[Callable[[], None]] = field(default_factory=list)
    refusals: list[tuple[Reason, str]] = field(default_factory=list)
    on_final: Callable[[GoalTask, Reason, str], None] | None = None
    requests: deque[AnsweredRequest] = field(
        default_factory=lambda: deque(maxlen=MAX_KEPT_REQUESTS))
    values: dict[str, Any] = field(default_factory=dict)
    state: GoalState | None = None

    @property
    def nearest(self) -> bool:
        """Return whether `q_goal` is for the nearest reachable pose (solver.nearest)."""
        return self.result is not None and self.result.status is Reason.NEAREST

    @property
    def final(self) -> bool:
        """Return whether the one final answer was given."""
        return self.state not in (None, GoalState.ACCEPTED)


def in_base_36(number: int) -> str:
    """Return a whole number, 0 or more, in few letters."""
    text = ''
    while number or not text:
        number, digit = divmod(number, len(BASE_36_DIGITS))
        text = BASE_36_DIGITS[digit] + text
    return text


def numbers(values: np.ndarray) -> str:
    """Return joint positions or velocities (n,) as a value for an answer."""
    return ' '.join(f'{value:.9f}' for value in values)


class StatusReporter:
    """
    Answers on ``~/answers`` and ``~/status``, and counts the outcomes.

    Parameters
    ----------
    another_answers : callable
        Returns whether another node of the same name answers goals that were not begun here.
    not_checked : callable
        Returns which links are not checked for collisions; '' if all are.

    Attributes
    ----------
    outcomes : Counter
        Final answers by their reason.
    states : Counter
        Final answers by their state.
    failures : int
        Consecutive goals that failed after they were begun.
    run : str
        When the reporter was made: distinguishes the goals of this run from others.
    on_report : callable
        Called after each answer, with the goal and the sentence.
    on_final : callable
        Called after each final answer, with the goal, the reason and the sentence.

    """

    def __init__(self, node: Node, another_answers: Callable[[], bool] = lambda: False,
                 not_checked: Callable[[], str] = lambda: '') -> None:
        self._node = node
        self._another_answers = another_answers
        self._not_checked = not_checked
        self._publisher = AnswerPublisher(node, '~/answers', MANY_ANSWERS_QOS, '~/status')
        self.outcomes: Counter[str] = Counter()
        self._given, self._all_there = 0, monotonic()
        self.states = Counter({state.value: 0 for state in GoalState
                               if state is not GoalState.ACCEPTED})
        self.failures = 0
        self.run = in_base_36(time_ns() // 10**6)
        self.on_report: Callable[[GoalTask, str], None] = lambda task, sentence: None
        self.on_final: Callable[[GoalTask, Reason, str], None] = lambda *_: None

    def id_of(self, task: GoalTask) -> str:
        """Return the identifier of a goal, which no goal of another run has."""
        return f'{self.run}-{task.number}'

    def report(self, task: GoalTask, state: GoalState, reason: Reason, sentence: str) -> None:
        """
        Answer a goal.

        Raises
        ------
        RuntimeError
            If the goal has had its final answer.

        """
        if task.final:
            raise RuntimeError(f'goal {task.number} was answered {task.state} already')
        silent = task.state is None and self._another_answers()
        task.state = state
        self._given += not silent
        if task.final:
            self.outcomes[reason.value] += 1
            self.states[state.value] += 1
        if state is GoalState.FAILED:
            self.failures += 1
        elif state is GoalState.REACHED:
            self.failures = 0
        task.values = {name: value() if callable(value) else value
                       for name, value in task.values.items()}
        values = {'goal': task.number, 'id': self.id_of(task), 'kind': task.kind,
                  'stamp': stamp_text(task.stamp), 'state': state.value, 'reason': reason.value,
                  **task.values}
        if not_checked := self._not_checked():
            values['not_checked'] = not_checked
        level = level_of(state, reason, task.kind)
        if not silent:
            self._publisher.publish(DiagnosticStatus(
                level=level, name=f'{self._node.get_fully_qualified_name()}: goal',
                hardware_id=str(task.number), message=sentence,
                values=[KeyValue(key=key, value=str(value)) for key, value in values.items()]))
        text = f'goal {task.number} {state.value} ({reason.value}): {sentence}'
        logger = self._node.get_logger()
        if level == DiagnosticStatus.OK:
            logger.info(text)
        elif level == DiagnosticStatus.WARN:
            logger.warning(text)
        else:
            logger.error(text)
        self.on_report(task, sentence)
        if task.final:
            self.on_final(task, reason, sentence)
            if task.on_final is not None:
                task.on_final(task, reason, sentence)

    def keeps_up(self) -> bool:
        """Return whether readers keep up; also True after MAX_HOLDBACK_S if they never do."""
        now = monotonic()
        if self._given < UNCHECKED_ANSWERS:
            return True
        if not self._publisher.keeps_up() and now - self._all_there < MAX_HOLDBACK_S:
            return False
        self._given, self._all_there = 0, now
        return True

    def flush(self, seconds: float) -> bool:
        """Wait at most `seconds` until all answers are acknowledged; return whether they are."""
        return self._publisher.flush(seconds)
