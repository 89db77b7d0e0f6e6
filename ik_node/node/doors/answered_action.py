# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""An action server whose goals end when their answer is known, without a waiting coroutine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node


class AnsweredActionServer(ActionServer):
    """
    Accepts every goal, begins it by a callback, and ends it by :meth:`answer`.

    rclpy expects a callback that returns the result, which would have to wait in it.

    Parameters
    ----------
    node : Node
    kind : type
        Of the action.
    name : str
    begin : callable
        Called with the handle of each new goal, whose state is EXECUTING.
    cancel : callable
        Called with the handle of a goal that is to be cancelled, once its state is CANCELING.

    """

    def __init__(self, node: Node, kind: Any, name: str,
                 begin: Callable[[ServerGoalHandle], None],
                 cancel: Callable[[ServerGoalHandle], None]) -> None:
        self._begin, self._cancel, self._owner = begin, cancel, node
        super().__init__(node, kind, name, execute_callback=lambda handle: kind.Result(),
                         handle_accepted_callback=self._on_accepted,
                         cancel_callback=self._on_cancel)

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        handle.execute()
        self._begin(handle)

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        # The state is CANCELING only after this returns.
        self._owner.executor.create_task(self._cancel, handle)
        return CancelResponse.ACCEPT

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Any) -> None:
        """Do nothing: a goal ends by :meth:`answer`."""

    def answer(self, handle: ServerGoalHandle, result: Any, success: bool) -> None:
        """
        End a goal with its result: succeeded or, without success, canceled or aborted.

        A goal ends as canceled if that was asked for.
        """
        def end(handle: ServerGoalHandle) -> Any:
            if success:
                handle.succeed()
            elif handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return result

        super().notify_execute(handle, end)

    def tell(self, handle: ServerGoalHandle, **feedback: Any) -> None:
        """Publish feedback of a goal."""
        handle.publish_feedback(self.action_type.Feedback(**feedback))
