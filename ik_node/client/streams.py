# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Goals of many messages: a stream of poses, or a jog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from time import monotonic
from types import TracebackType
from typing import Any, TYPE_CHECKING, TypeVar

from builtin_interfaces.msg import Time
from rclpy.publisher import Publisher

from ik_node.client.answers import AnswerTimeoutError, ClientError
from ik_node.client.handles import StreamGoal
from ik_node.client.poses import PoseLike, stamped_pose, stamped_twist
from ik_node.ros.messages.status_messages import (
    answers_stream,
    JOG_KIND,
    STREAM_KIND,
    STREAM_PAUSE_S,
)

if TYPE_CHECKING:
    from ik_node.client.answers import Answer
    from ik_node.client.transport.connection import Connection

STREAM_TOPIC = 'goal_stream'
STILL_AXES = (0.0, 0.0, 0.0)
PAUSE_MARGIN_S = 0.1  # for poses that arrive later than they were sent
NEGLECT_S = 5.0       # without any answer, after which no pose was taken

Kind = TypeVar('Kind', bound='Repeated')


class Repeated:
    """
    What :class:`Stream` and :class:`Jog` share: a goal that many messages are.

    As a context manager it waits at the end of the block until the arm is at rest, and raises
    what the node says if it did not end by itself.  If the block raises an error, the arm is
    stopped.

    Parameters
    ----------
    publisher : Publisher
    kind : str
        STREAM_KIND or JOG_KIND.
    latest : list
        The latest of this kind that the client has begun, at most one.

    Attributes
    ----------
    goal : GoalHandle or None
        The goal that the messages are; None before the first one.

    """

    def __init__(self, connection: Connection, publisher: Publisher, kind: str,
                 stamp: Callable[[Any], Time], latest: list[Any]) -> None:
        self._connection = connection
        self._publisher = publisher
        self._kind = kind
        self._latest = latest
        self._sent = -inf
        self._stamp = stamp
        self._first: Time | None = None
        self._last: Time | None = None
        self.goal: StreamGoal | None = None

    def _publish(self, message: Any) -> None:
        """Stamp and publish a message; errors as :meth:`Stream.send`."""
        if self.goal is None:
            self._connection.await_ready()
            self._pause()
            self.goal = StreamGoal(self._connection, self._kind)
            message.header.stamp = self._first = self._last = self._stamp(message)
            self._connection.answers.expect_where(self._is_answer, self.goal.take)
        else:
            if self.goal.done:
                self.goal.wait(0.0)  # raises what ended it
                raise ClientError(f'the {self._kind} has ended, because nothing came for '
                                  'stream.timeout of the node; begin another one')
            message.header.stamp = self._last = self._stamp(message)
        self._publisher.publish(message)
        self._sent = monotonic()

    def wait(self, timeout: float | None = None) -> Answer | None:
        """
        Wait until the arm is at rest after the last message; errors as :meth:`Handle.wait`.

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
                f'{self._connection.target} took nothing of the {self._kind}; does another '
                f'program {self._kind} at the same time, or has it just stopped?'))
        return goal.wait(timeout)

    def _pause(self) -> None:
        """Wait until the node begins another one, after one that has not ended by itself."""
        before, self._latest[:] = [*self._latest], [self]
        if not before or before[0].goal is None or before[0].goal.good:
            return
        timeout = self._connection.parameters(['stream.timeout'])['stream.timeout'] or 0.0
        begin = before[0].sent + max(timeout, STREAM_PAUSE_S) + PAUSE_MARGIN_S
        self._connection.wait_until(lambda: False, begin - monotonic())

    @property
    def sent(self) -> float:
        """Return when the last message was sent, on the monotonic clock, s."""
        return self._sent

    def _is_answer(self, values: Any) -> bool:
        assert self._first is not None and self._last is not None
        return answers_stream(values, self._first, self._last, self._kind)

    def __enter__(self: Kind) -> Kind:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self.wait()
        elif self.goal is not None:
            self.goal.cancel()


class Stream(Repeated):
    """A moving target, from :meth:`ik_node.client.Arm.stream`; see :class:`Repeated`."""

    def __init__(self, connection: Connection, frame: Callable[[], str],
                 stamp: Callable[[Any], Time], latest: list[Any]) -> None:
        super().__init__(connection, connection.publishers[STREAM_TOPIC], STREAM_KIND, stamp,
                         latest)
        self._frame = frame

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
        self._publish(stamped_pose(pose, frame, self._frame, quaternion, rpy))


class Jog(Repeated):
    """Motion at a velocity, from :meth:`ik_node.client.Arm.jog`; see :class:`Repeated`."""

    def __init__(self, connection: Connection, publisher: Publisher, frame: Callable[[], str],
                 stamp: Callable[[Any], Time], latest: list[Any]) -> None:
        super().__init__(connection, publisher, JOG_KIND, stamp, latest)
        self._frame = frame

    def send(self, linear: Sequence[float] = STILL_AXES, angular: Sequence[float] = STILL_AXES, *,
             frame: str | None = None) -> None:
        """
        Move the tip; the next command is due within ``stream.timeout`` of the node.

        Parameters
        ----------
        linear, angular : sequence (3,)
            Velocity of the tip, and angular velocity about it: from -1 to 1, times the scales of
            the node, or m/s and rad/s if its ``jog.command_in_type`` is speed_units.
        frame : str, optional
            Frame of these axes, a link of the URDF or a TF frame; by default the base link.

        Raises
        ------
        GoalNotReachedError
            If the node has refused the jog, or has ended it, with the reason.
        ClientError
            If these are not three finite numbers each, or the jog has ended.

        """
        self._publish(stamped_twist(linear, angular, frame, self._frame))

    def release(self) -> None:
        """Bring the arm to rest at once, without waiting for ``stream.timeout``."""
        if self.goal is not None and not self.goal.done:
            still = stamped_twist(STILL_AXES, STILL_AXES, None, self._frame)
            still.header.stamp = self._stamp(still)
            self._publisher.publish(still)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self.release()
        super().__exit__(kind, error, trace)
