# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A stream of poses that the arm follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped

from ik_node.client.errors import ClientError
from ik_node.client.handles import StreamGoal
from ik_node.client.poses import PoseLike, stamped_pose
from ik_node.ros.status_messages import answers_stream

if TYPE_CHECKING:
    from ik_node.client.answers import Answer
    from ik_node.client.connection import Connection

STREAM_TOPIC = 'goal_stream'


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
                 stamp: Callable[[PoseStamped], Time]) -> None:
        self._connection = connection
        self._frame = frame
        self._stamp = stamp
        self._first: Time | None = None
        self._latest: Time | None = None
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
            self.goal = StreamGoal(self._connection, 'stream')
            message.header.stamp = self._first = self._latest = self._stamp(message)
            self._connection.answers.expect_where(self._is_answer, self.goal.take)
        else:
            if self.goal.done:
                self.goal.wait(0.0)  # raises what ended it
                raise ClientError('the stream has ended, because no pose came for '
                                  'stream.timeout of the node; begin another one')
            message.header.stamp = self._latest = self._stamp(message)
        self._connection.publishers[STREAM_TOPIC].publish(message)

    def wait(self, timeout: float | None = None) -> Answer | None:
        """
        Wait until the arm is at rest after the last pose; errors as :meth:`Handle.wait`.

        Returns
        -------
        Answer or None
            With the reason STREAM_ENDED; None if nothing was sent.

        """
        return None if self.goal is None else self.goal.wait(timeout)

    def _is_answer(self, values: object) -> bool:
        return answers_stream(values, self._first, self._latest)  # type: ignore[arg-type]

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self.wait()
        elif self.goal is not None:
            self.goal.cancel()
