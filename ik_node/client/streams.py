# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A stream of poses that the arm follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped

from ik_node.client.errors import AnswerTimeoutError, ClientError
from ik_node.client.handles import StreamGoal
from ik_node.client.poses import PoseLike, stamped_pose
from ik_node.ros.status_messages import answers_stream, STREAM_PAUSE_S

if TYPE_CHECKING:
    from ik_node.client.answers import Answer
    from ik_node.client.connection import Connection

STREAM_TOPIC = 'goal_stream'
PAUSE_MARGIN_S = 0.1  # for poses that arrive later than they were sent
NEGLECT_S = 5.0       # without any answer, after which no pose was taken


class Stream:
    """
    A moving target, from :meth:`ik_node.client.Arm.stream`.

    As a context manager it waits at the end of the block until the arm is at rest, and raises
    what the node says if the stream did not end by itself.  If the block raises an error, the
    arm is stopped.

    Attributes
    ----------
    goal : GoalHandle or None
        The goal that the poses are; None before the first one.

    """

    def __init__(self, connection: Connection, frame: Callable[[], str],
                 stamp: Callable[[PoseStamped], Time], latest: list[Stream]) -> None:
        self._connection = connection
        self._latest = latest  # of the client, at most one, that has sent a pose
        self._sent = -inf
        self._frame = frame
        self._stamp = stamp
        self._first: Time | None = None
        self._last: Time | None = None
        self.goal: StreamGoal | None = None

    def send(self, pose: PoseLike, quaternion: Sequence[float] | None = None, *,
             frame: str | None = None, rpy: Sequence[float] | None = None) -> None:
        """
        Have the arm follow a pose; the next is due within ``stream.timeout`` of the node.

        It takes the arguments of :meth:`ik_node.client.Arm.move`, and does not wait.

        Raises
        ------
        GoalNotReachedError
            If the node has refused the stream, or has ended it, with the reason.
        ClientError
            If it is no pose, or the stream has ended.

        """
        message = stamped_pose(pose, frame, self._frame, quaternion, rpy)
        if self.goal is None:
            self._connection.greet_again()
            self._pause()
            self.goal = StreamGoal(self._connection, 'stream')
            message.header.stamp = self._first = self._last = self._stamp(message)
            self._connection.answers.expect_where(self._is_answer, self.goal.take)
        else:
            if self.goal.done:
                self.goal.wait(0.0)  # raises what ended it
                raise ClientError('the stream has ended, because no pose came for '
                                  'stream.timeout of the node; begin another one')
            message.header.stamp = self._last = self._stamp(message)
        self._connection.publishers[STREAM_TOPIC].publish(message)
        self._sent = monotonic()

    def wait(self, timeout: float | None = None) -> Answer | None:
        """
        Wait until the arm is at rest after the last pose; errors as :meth:`Handle.wait`.

        Returns
        -------
        Answer or None
            With the reason STREAM_ENDED; None if nothing was sent.

        """
        goal = self.goal
        if goal is None:
            return None
        patience = NEGLECT_S if timeout is None else min(timeout, NEGLECT_S)
        if not self._connection.wait_until(lambda: goal.begun, patience) \
                and patience == NEGLECT_S:
            goal.finish(error=AnswerTimeoutError(
                f'{self._connection.target} took no pose of the stream; does another program '
                'stream at the same time, or has it just stopped?'))
        return goal.wait(timeout)

    def _pause(self) -> None:
        """Wait until the node begins another stream, after one that has not ended by itself."""
        before, self._latest[:] = [*self._latest], [self]
        if not before or before[0].goal is None or before[0].goal.good:
            return
        timeout = self._connection.parameters(['stream.timeout'])['stream.timeout'] or 0.0
        begin = before[0].sent + max(timeout, STREAM_PAUSE_S) + PAUSE_MARGIN_S
        self._connection.wait_until(lambda: False, begin - monotonic())

    @property
    def sent(self) -> float:
        """Return when the last pose was sent, on the monotonic clock, s."""
        return self._sent

    def _is_answer(self, values: object) -> bool:
        return answers_stream(values, self._first, self._last)  # type: ignore[arg-type]

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self.wait()
        elif self.goal is not None:
            self.goal.cancel()
