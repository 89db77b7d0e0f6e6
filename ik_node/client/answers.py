# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the node answers to goals and previews."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TYPE_CHECKING

import numpy as np

from ik_node.base.errors import IkNodeError, Reason
from ik_node.base.text import printable
from ik_node.ros.messages.status_messages import GoalState, plain_values

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Answer:
    """An answer to a goal."""

    state: GoalState
    """'accepted', or how the goal ended: 'reached', 'rejected', 'failed', 'superseded',
    'stopped'."""
    reason: str
    """One word, of :class:`ik_node.base.errors.Reason`."""
    message: str
    """One sentence."""
    values: Mapping[str, str] = field(repr=False)
    """All values, such as ``duration_s`` and ``measured_position_error_m``, as texts."""

    @property
    def id(self) -> str:
        """Return the identifier of the goal, which is in the name of its recording, too."""
        return self.values.get('id', '')

    @property
    def remedies(self) -> dict[str, Any]:
        """
        Return the values that say what would make a refused goal possible; empty if none.

        Numbers are numbers, and several of them lists.
        """
        return plain_values({key: value for key, value in self.values.items()
                             if key.startswith('remedy_')})

    @property
    def reached(self) -> bool:
        """Return whether the arm is at the goal."""
        return self.state is GoalState.REACHED

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Answer:
        """Return the answer with these values (``GoalValues``)."""
        return cls(GoalState(values['state']), values.get('reason', ''),
                   values.get('message', ''), values)


@dataclass(frozen=True, eq=False)
class PostureEntry:
    """One of the postures that reach a pose, as the node judges it."""

    colour: str
    """'green' (free, and so is the direct motion to it), 'amber' (with a warning: a detour is
    needed, or one that a preview gave) or 'red' (it collides)."""
    message: str
    """What speaks for and against it, in one sentence."""
    q: NDArray[np.float64]
    """(n,), joint positions in the order of the chain, rad or m."""
    chosen: bool
    """Whether a goal would take it now."""
    clearance: float
    """Least distance (m) of two bodies; infinite if collisions are not checked."""
    duration: float
    """Of the direct motion, s; NaN if that is not possible."""
    values: Mapping[str, str] = field(repr=False)
    """All values, such as ``jump`` (rad or m), ``branch_elbow`` and ``nearest``."""

    @property
    def free(self) -> bool:
        """Return whether it is free of collisions."""
        return self.colour != 'red'

    @classmethod
    def of(cls, values: Mapping[str, str], message: str) -> PostureEntry:
        """Return the entry with these values and this sentence."""
        return cls(values.get('colour', 'red'), message,
                   np.array(values.get('q', '').split(), dtype=float),
                   values.get('chosen') == 'true', float(values.get('clearance_m') or 'inf'),
                   float(values.get('duration_s') or 'nan'), values)


@dataclass(frozen=True, eq=False)
class PreviewReport:
    """What would become of a goal."""

    colour: str
    """'green' (reachable), 'amber' (reachable, but a joint moves far or ends close to a limit, or
    the arm close to a singularity) or 'red' (not reachable)."""
    reason: str
    """One word, of :class:`ik_node.base.errors.Reason`."""
    message: str
    """One sentence."""
    q: NDArray[np.float64] | None
    """(n,), joint positions in the order of the chain, rad or m; None if there are none."""
    values: Mapping[str, str] = field(repr=False)
    """All values, such as ``jump`` (rad or m) and ``limiting_joint``."""

    @property
    def reachable(self) -> bool:
        """Return whether joint positions reach the goal."""
        return self.colour != 'red'

    @classmethod
    def of(cls, values: Mapping[str, str], message: str) -> PreviewReport:
        """Return the report with these values and this sentence."""
        numbers = np.array(values.get('q', '').split(), dtype=float)
        return cls(values.get('colour', 'red'), values.get('reason', ''), message,
                   numbers if len(numbers) else None, values)


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
