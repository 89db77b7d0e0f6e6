# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Answers to goals: accepted, then exactly one final answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic, time_ns

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
import numpy as np
from rclpy.node import Node

from ik_node.base.errors import Reason
from ik_node.node.goals.goal import GoalTask
from ik_node.ros.answer_publisher import AnswerPublisher
from ik_node.ros.messages.status_messages import GoalState, level_of, stamp_text
from ik_node.ros.middleware.qos import MANY_ANSWERS_QOS

UNCHECKED_ANSWERS = 500  # between two checks whether readers keep up
MAX_HOLDBACK_S = 5.0  # for a reader that does not read
BASE_36_DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'

# Called with the identifier of a goal, the goal, the reason and the sentence.
Listener = Callable[[str, GoalTask, Reason, str], None]


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
    listeners : sequence of callable
        Called in turn after each answer.

    """

    def __init__(self, node: Node, another_answers: Callable[[], bool] = lambda: False,
                 not_checked: Callable[[], str] = lambda: '',
                 listeners: Sequence[Listener] = ()) -> None:
        self._node = node
        self._another_answers = another_answers
        self._not_checked = not_checked
        self._listeners = listeners
        self._publisher = AnswerPublisher(node, '~/answers', MANY_ANSWERS_QOS, '~/status')
        self.outcomes: Counter[str] = Counter()  # final answers by their reason
        self._given, self._all_there = 0, monotonic()
        self.states = Counter({state.value: 0 for state in GoalState
                               if state is not GoalState.ACCEPTED})  # final answers by state
        self.failures = 0  # consecutive goals that failed after they were begun
        self._run = in_base_36(time_ns() // 10**6)  # goals of another run have another

    def id_of(self, task: GoalTask) -> str:
        """Return the identifier of a goal, which no goal of another run has."""
        return f'{self._run}-{task.number}'

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
        # A planner in another thread may add to them meanwhile.
        task.values = {name: value() if callable(value) else value
                       for name, value in task.values.copy().items()}
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
        for listener in self._listeners:
            listener(self.id_of(task), task, reason, sentence)
        if task.final:
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
