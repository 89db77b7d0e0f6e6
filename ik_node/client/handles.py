# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Handles: requests to a node, and their results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from threading import Condition
from typing import Any, Generic, Protocol, TypeVar

from rclpy.task import Future

from ik_node.base.errors import Reason
from ik_node.client.answers import Answer, AnswerTimeoutError, GoalNotReachedError
from ik_node.ros.messages.status_messages import GoalState

Value = TypeVar('Value')


class HandleOwner(Protocol):
    """What handles need of the connection that they belong to."""

    lock: Condition
    instance: str

    def opened(self, handle: Handle[Any]) -> None:
        """Take note of a handle."""

    def ended(self, handle: Handle[Any]) -> None:
        """Take note of its end."""

    def wait_until(self, condition: Callable[[], object], timeout: float | None) -> bool:
        """Wait until a condition holds; return False if the time (s) runs out."""

    def run_callback(self, call: Callable[[], object]) -> None:
        """Have a callback of the user called."""

    def wake_user(self) -> None:
        """Wake the executor that may await a handle."""

    def stop(self) -> Handle[str]:
        """Stop the arm."""


class Handle(Generic[Value]):
    """
    A request to the node, which has exactly one end.

    It can be waited for, by ``wait()`` from any thread, or by ``await`` from asyncio and from
    coroutines that rclpy runs.

    Parameters
    ----------
    connection : HandleOwner
    what : str
        For sentences: the awaited event.

    """

    moves = False  # whether the arm moves by it

    def __init__(self, connection: HandleOwner, what: str) -> None:
        self._connection = connection
        self.instance = connection.instance
        self.what = what
        self._value: Value | None = None
        self._error: Exception | None = None
        self._ended = False
        self._callbacks: list[Callable[[], None]] = []
        connection.opened(self)

    @property
    def begun(self) -> bool:
        """Return whether the node is known to have begun it."""
        return False

    def __repr__(self) -> str:
        end = 'open' if not self._ended else repr(self._value or self._error)
        return f'<{type(self).__name__} {self.what}: {end}>'

    @property
    def done(self) -> bool:
        """Return whether it has ended."""
        return self._ended

    @property
    def result(self) -> Value | None:
        """Return the result; None before the end, and if there is only an error."""
        return self._value

    @property
    def exception(self) -> Exception | None:
        """Return the error that :meth:`wait` raises; None before the end, and without one."""
        return self._error

    def wait(self, timeout: float | None = None) -> Value:
        """
        Wait for the end, and return the result.

        It works in callbacks of nodes of the caller, too, whose executor then waits as well.

        Parameters
        ----------
        timeout : float, optional
            s; without one it waits until the end or the node has ended.

        Raises
        ------
        AnswerTimeoutError
            If the end did not come in time; it may still come.
        NodeUnreachableError
            If the node has ended meanwhile.
        ClientError
            If the node refused it; if the client was closed; if it is called in a callback
            that the client itself runs, where it would wait for itself.

        """
        if not self._connection.wait_until(lambda: self._ended, timeout):
            raise AnswerTimeoutError(f'no answer to {self.what} within {timeout:g} s'
                                     f'{self._heard()}')
        return self._outcome()

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        """
        Have a function called with this handle at the end, or soon if that was already.

        With ``Arm(node=...)`` the executor of that node calls it.  Otherwise the thread of the
        client does, in which :meth:`wait` is refused.
        """
        self.on_end(lambda: self._connection.run_callback(lambda: callback(self)))

    def on_end(self, call: Callable[[], None]) -> None:
        """Call a function at the end, in whichever thread; it must return at once."""
        with self._connection.lock:
            if not self._ended:
                self._callbacks.append(call)
                return
        call()

    def __await__(self) -> Generator[Any, None, Value]:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            yield from self._awaited_by_rclpy()
            return self._outcome()
        ended = loop.create_future()

        def tell() -> None:
            if not ended.done():  # the task may have been cancelled
                ended.set_result(None)

        def tell_loop() -> None:
            with suppress(RuntimeError):  # the loop may have been closed
                loop.call_soon_threadsafe(tell)

        self.on_end(tell_loop)
        yield from ended.__await__()
        return self._outcome()

    def _awaited_by_rclpy(self) -> Generator[Any, None, None]:
        future = Future()

        def tell() -> None:
            future.set_result(None)
            self._connection.wake_user()

        self.on_end(tell)
        yield from future.__await__()

    def _outcome(self) -> Value:
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def _heard(self) -> str:
        """Return the latest news, for the sentence of a timeout."""
        return ''

    def finish(self, value: Value | None = None, error: Exception | None = None) -> None:
        """Have the end come, with a result or an error; only the first counts."""
        with self._connection.lock:
            if self._ended:
                return
            self._value, self._error, self._ended = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._connection.ended(self)
            self._connection.lock.notify_all()
        for call in callbacks:
            call()


class GoalHandle(Handle[Answer]):
    """
    A goal that was sent; ``wait()`` returns the final answer if it was reached.

    If not, ``wait()`` raises :class:`~ik_node.client.answers.GoalNotReachedError` with the reason
    that the node gives, and ``result`` has the answer.

    Attributes
    ----------
    kind : str
        Of the goals of the node: 'pose', 'joints', 'path', ...
    latest : Answer or None
        The latest answer: that it was accepted, or the final one.
    cancel_asked : bool
        Whether it was cancelled before it had a final answer.

    """

    moves = True

    def __init__(self, connection: HandleOwner, kind: str) -> None:
        self.kind = kind
        self.latest: Answer | None = None
        self.cancel_asked = False
        super().__init__(connection, f'the goal ({kind})')

    @property
    def begun(self) -> bool:
        """Return whether the node has answered that it began it."""
        return self.latest is not None

    @property
    def accepted(self) -> bool:
        """Return whether the node has begun it."""
        return self.latest is not None and self.latest.state is not GoalState.REJECTED

    def cancel(self) -> bool:
        """
        Bring the arm to rest if this goal has no final answer yet; return whether that is so.

        It does not wait; the final answer follows.  The node stops whatever it does: a goal that
        another program has sent at the same moment is stopped, too.
        """
        if self.done:
            return False
        self.cancel_asked = True
        self._connection.stop()
        return True

    def take(self, values: Mapping[str, str]) -> None:
        """Take an answer by its values."""
        answer = self.latest = Answer.of(values)
        if answer.state is not GoalState.ACCEPTED:
            self.finish(answer, None if self._good(answer) else GoalNotReachedError(answer))

    def _good(self, answer: Answer) -> bool:
        return answer.reached

    def _heard(self) -> str:
        if self.latest is None:
            return '; nothing was heard of it'
        return f'; the last was: {self.latest.message}'


class StreamGoal(GoalHandle):
    """The goal that the poses of a stream are; it is well that it ends when they do."""

    @property
    def good(self) -> bool:
        """Return whether it has ended as it should."""
        return self.result is not None and self.exception is None

    def _good(self, answer: Answer) -> bool:
        return answer.reason == Reason.STREAM_ENDED.value
