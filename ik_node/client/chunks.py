# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Chunks of timed poses, one after another, as a learned policy makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, TYPE_CHECKING

import numpy as np

from ik_node.base.errors import Reason
from ik_node.client.answers import ClientError, GoalNotReachedError
from ik_node.client.handles import GoalHandle
from ik_node.client.poses import PoseLike
from ik_node.ros.messages.status_messages import STREAM_PAUSE_S

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ik_node.client.answers import Answer
    from ik_node.client.transport.connection import Connection

PAUSE_MARGIN_S = 0.1  # for chunks that arrive later than they were sent


class Chunks:
    """
    Chunks of timed poses, from :meth:`ik_node.client.Arm.chunks`.

    A later chunk replaces of the one before what comes from its own first time on.  As a context
    manager it waits at the end of the block until the arm is at the last pose, and raises what
    the node says if it does not get there.  If the block raises an error, the arm is stopped.

    Parameters
    ----------
    connection : Connection
    send : callable
        :meth:`ik_node.client.goals.GoalMethods.chunk` of the arm.
    latest : list
        The latest that the client has begun, at most one.

    """

    def __init__(self, connection: Connection, send: Callable[..., GoalHandle],
                 latest: list[Chunks]) -> None:
        self._connection, self._send, self._latest = connection, send, latest
        self._open: list[GoalHandle] = []
        self._was_ended = False  # by a stop or another goal
        self._end = -np.inf  # of the last chunk, by `now`

    @property
    def now(self) -> float:
        """Return the present by the clock of the client (s), from which `since` is taken."""
        return 1e-9 * self._connection.node.get_clock().now().nanoseconds

    def send(self, poses: Sequence[PoseLike] | np.ndarray, *, period: float | None = None,
             times: ArrayLike | None = None, since: float | None = None,
             gripper: ArrayLike | None = None, frame: str | None = None,
             keep: Any = None) -> GoalHandle:
        """
        Have the arm follow a chunk; it waits only for the pause after a stop or another goal.

        ::

            with arm.chunks() as chunks:
                while ...:
                    seen = chunks.now
                    actions = policy(observe())           # (k, 8), 20 a second
                    chunks.send(actions[:, :7], period=0.05, since=seen, gripper=actions[:, 7])

        Parameters
        ----------
        poses : sequence of k poses
            Each as one argument of :meth:`ik_node.client.Arm.move`.
        period : float, optional
            Between two of them, s; the first is due one period after `since`.
        times : (k,) array, optional
            Instead: when each is due, s after `since`, increasing.
        since : float, optional
            By :attr:`now`; the present by default.  What was due until the chunk arrives is left
            out.
        gripper : (k,) array, optional
            Openings of the gripper, which the node passes through at these times.
        frame : str, optional
            Of all poses.
        keep
            As of :meth:`ik_node.client.Arm.move`.

        Returns
        -------
        GoalHandle
            Which ends as superseded when the next chunk takes its place.

        Raises
        ------
        GoalNotReachedError
            If the node has refused or ended a chunk before, otherwise than by the next one.
        ClientError
            If the poses, times and openings do not fit together.

        """
        if not len(poses):
            raise ClientError('the chunk has no poses')
        if (period is None) == (times is None):
            raise ClientError('give the period of a chunk, or the times of its poses')
        due = np.arange(1, len(poses) + 1) * period if times is None \
            else np.atleast_1d(np.asarray(times, dtype=float))
        self._raise_what_ended()
        if not self._open:
            self._pause()
        begun = self.now
        late = 0.0 if since is None else begun - since
        goal = self._send(poses, due - late, gripper=gripper, frame=frame, keep=keep)
        self._end = begun - late + float(due[-1])
        self._open = [*(each for each in self._open if not each.done), goal]
        return goal

    def wait(self, timeout: float | None = None) -> Answer | None:
        """Wait until the arm is at the last pose; None if nothing was sent; errors as a goal's."""
        self._raise_what_ended()
        return self._open[-1].wait(timeout) if self._open else None

    def _raise_what_ended(self) -> None:
        """Raise what ended a chunk, unless the next one took its place."""
        for goal in self._open:
            error = goal.exception
            superseded = isinstance(error, GoalNotReachedError) \
                and error.reason is Reason.SUPERSEDED and goal is not self._open[-1]
            if error is not None and not superseded:
                self._open = []  # it is told once
                self._was_ended = isinstance(error, GoalNotReachedError) and error.reason in (
                    Reason.STOPPED, Reason.SUPERSEDED)
                raise error

    def _pause(self) -> None:
        """Wait until the node takes others, after some that were ended."""
        before, self._latest[:] = [*self._latest], [self]
        for each in before:
            if not each._was_ended:
                with suppress(ClientError):
                    each._raise_what_ended()
            left = each._end + STREAM_PAUSE_S + PAUSE_MARGIN_S - self.now
            if not each._was_ended:
                continue
            each._was_ended = False
            self._connection.wait_until(lambda: False, max(left, 0.0))

    def __enter__(self) -> Chunks:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self.wait()
        elif self._open:
            self._open[-1].cancel()
