# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A gripper behind an action of control_msgs; the node has no part in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

from rclpy.action import ActionClient

from ik_node.base.system import how_to_install
from ik_node.client.answers import ClientError, NodeUnreachableError
from ik_node.client.handles import Handle
from ik_node.motion.action_goal import GoalStatus

if TYPE_CHECKING:
    from ik_node.client.transport.connection import Connection

GRIPPER_ACTION = 'gripper_controller/gripper_cmd'
SERVER_PATIENCE_S = 5.0


@dataclass(frozen=True)
class GripperState:
    """Where a gripper came to rest."""

    position: float
    """As the controller gives it, m or rad."""
    effort: float
    """As the controller gives it, N or N m."""
    stalled: bool
    """Whether it was stopped before its goal, as by an object between its fingers."""
    reached_goal: bool


class Gripper:
    """
    A client of control_msgs/GripperCommand, from :meth:`ik_node.client.Arm.gripper`.

    Raises
    ------
    ClientError
        If control_msgs is not installed.
    NodeUnreachableError
        If nobody serves the action.

    """

    def __init__(self, connection: Connection, action: str) -> None:
        try:
            from control_msgs.action import GripperCommand
        except ImportError:
            raise ClientError('a gripper needs the ROS package control_msgs, which is not '
                              f'installed here: {how_to_install("control_msgs")}') from None
        self._kind = GripperCommand
        self._connection = connection
        space = connection.target.rpartition('/')[0]
        name = action if action.startswith('/') else f'{space}/{action}'
        self._client = ActionClient(connection.node, GripperCommand, name)
        if not connection.wait_until(self._client.server_is_ready, SERVER_PATIENCE_S):
            raise NodeUnreachableError(f'nobody serves the action {name}; start the controller of '
                                       'the gripper, or give its action')

    def move(self, position: float, max_effort: float = 0.0) -> Handle[GripperState]:
        """
        Move the fingers.

        Parameters
        ----------
        position : float
            As the controller takes it, m or rad.
        max_effort : float
            N or N m; 0 is what the controller has by default.

        """
        handle: Handle[GripperState] = Handle(self._connection, 'the gripper')
        goal = self._kind.Goal()
        goal.command.position, goal.command.max_effort = float(position), float(max_effort)

        def on_answer(future: Any) -> None:
            answer = future.result()
            if answer.accepted:
                answer.get_result_async().add_done_callback(on_result)
            else:
                handle.finish(error=ClientError('the controller of the gripper refused the goal'))

        def on_result(future: Any) -> None:
            result = future.result().result
            state = GripperState(result.position, result.effort, result.stalled,
                                 result.reached_goal)
            good = future.result().status == GoalStatus.SUCCEEDED
            handle.finish(state, None if good else ClientError(
                f'the gripper did not get there: it is at {state.position:.4g}'
                + (' and stalled' if state.stalled else '')))

        self._connection.post(lambda: self._client.send_goal_async(goal).add_done_callback(
            on_answer))
        return handle
