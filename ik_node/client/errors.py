# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong for a program that uses a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ik_node.base.errors import IkNodeError, Reason
from ik_node.base.text import printable

if TYPE_CHECKING:
    from ik_node.client.answers import Answer


class ClientError(IkNodeError):
    """The client cannot do what it was asked for, or the node refused it."""

    reason = Reason.CALL_INVALID


class NodeUnreachableError(ClientError, ConnectionError):
    """No node answers, or the node has ended."""

    reason = Reason.NODE_MISSING


class AnswerTimeoutError(ClientError, TimeoutError):
    """No answer came within the time that was allowed; it may still come."""

    reason = Reason.NO_ANSWER


class GoalNotReachedError(ClientError):
    """
    The final answer to a goal is not that it was reached.

    Attributes
    ----------
    answer : Answer
        With the state (rejected, failed, superseded, stopped), the reason and the sentence.
    reason : Reason
        That of the answer; INTERNAL if this version does not know it.

    """

    def __init__(self, answer: Answer) -> None:
        known = {reason.value: reason for reason in Reason}
        super().__init__(
            f'the goal was {answer.state.value} ({printable(answer.reason)}): '
            f'{printable(answer.message)}', known.get(answer.reason, Reason.INTERNAL))
        self.answer = answer
