# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The ik_node: goals in, joint trajectories out, one answer for each goal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
import traceback
from typing import Any

from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import SetParametersResult
from rclpy.action import ActionClient, ActionServer
from rclpy.exceptions import NameValidationException
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_node.base.errors import IkNodeError, ParameterError, Reason
from ik_node.motion.direct.ruckig_motion import NO_RUCKIG_NOTICE, RUCKIG_INSTALLED
from ik_node.node.components import Components
from ik_node.node.goals.queue import ActiveFlag
from ik_node.node.state.send_order import SendTime
from ik_node.node.state.team import ALONE, Seat
from ik_node.ros.middleware.qos import QosLog
from ik_node.ros.parameters.node_parameters import declare, plain, refused
from ik_node.ros.parameters.tables import IK_NODE


class CreatedEntities:
    """Publishers, subscriptions, services, clients, timers, guards, actions of a node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._made: dict[Any, Callable[[Any], object]] = {}

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Record all entities created inside the block, also by libraries, also on errors."""
        before = _entities(self._node)
        try:
            yield
        finally:
            self._made = {entity: destroy for entity, destroy in _entities(self._node).items()
                          if entity not in before}

    def destroy(self) -> None:
        """Destroy the recorded entities."""
        while self._made:
            entity, destroy = self._made.popitem()
            destroy(entity)
        group = self._node.default_callback_group
        # rclpy keeps dead references in the callback group.
        group.entities = {reference for reference in group.entities if reference() is not None}


def _entities(node: Node) -> dict[Any, Callable[[Any], object]]:
    """Return the entities of a node, each with what destroys it."""
    return {**dict.fromkeys(node.publishers, node.destroy_publisher),
            **dict.fromkeys(node.subscriptions, node.destroy_subscription),
            **dict.fromkeys(node.services, node.destroy_service),
            **dict.fromkeys(node.clients, node.destroy_client),
            **dict.fromkeys(node.timers, node.destroy_timer),
            **dict.fromkeys(node.guards, node.destroy_guard_condition),
            **{waitable: kind.destroy for waitable in node.waitables
               for kind in (ActionClient, ActionServer) if isinstance(waitable, kind)}}


class IkNode(QosLog, LifecycleNode):
    """
    Lifecycle of the node: unconfigured, inactive, active, finalized.

    While configured it has its components; while active its active flag is open.  With the
    parameter autostart it configures and activates itself.

    Parameters
    ----------
    name : str
    defaults : mapping
        Of parameters, other than those of the table.
    fixed : mapping
        Parameters that are neither on the command line nor in a file.
    arguments : sequence of str
        As on the command line, before which they count.
    others : sequence of str
        Parameters of other nodes of the process, for which those on the command line may be.
    seat : Seat
        What other arms of the robot do.

    """

    def __init__(self, name: str = 'ik_node', defaults: Mapping[str, Any] = {},
                 fixed: Mapping[str, str] = {}, arguments: Sequence[str] = (),
                 others: Sequence[str] = (), seat: Seat = ALONE) -> None:
        super().__init__(name, cli_args=[*arguments] or None, parameter_overrides=[
            Parameter(key, value=value) for key, value in fixed.items()])
        self._values = declare(self, IK_NODE, True, defaults, others)
        self._seat = seat
        self._active_flag = ActiveFlag(self)
        self._entities = CreatedEntities(self)
        self._parts: Components | None = None
        self.add_on_set_parameters_callback(self._on_parameters)
        self._change_state = self._service_change_state.callback
        self._service_change_state.callback = self._on_change_state
        if self._values['autostart'] and not all(
                trigger() is TransitionCallbackReturn.SUCCESS
                for trigger in (self.trigger_configure, self.trigger_activate)):
            raise SystemExit(1)

    def _on_parameters(self, changes: list[Parameter]) -> SetParametersResult:
        known = {row.name for row in IK_NODE}
        values = {**self._values, **{change.name: plain(change) for change in changes
                                     if change.name in known}}
        try:
            if self._parts is not None:
                self._parts.take_parameters(values)
        except ParameterError as error:
            return refused(str(error))
        self._values = values
        return SetParametersResult(successful=True)

    # ---- transitions --------------------------------------------------------

    def _on_change_state(self, request: ChangeState.Request,
                         response: ChangeState.Response) -> ChangeState.Response:
        """Answer requests for a transition that is not possible now (see ros2/rclpy#1209)."""
        try:
            return self._change_state(request, response)
        except RuntimeError:  # rcl has said why
            response.success = False
            return response

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Build the components; fails if a parameter or the robot description is invalid."""
        return self._tried(self._configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Accept goals."""
        self._active_flag.is_set = True
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the arm to rest, answer open goals, and refuse further ones."""
        return self._tried(lambda: self._halt(Reason.INACTIVE, 'the node was deactivated'))

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Destroy the components and all that they created."""
        return self._tried(self._release)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the arm to rest and clean up, from any state."""
        return self._tried(self._shut_down)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Return to unconfigured after an error in a transition."""
        return self._tried(self._release)

    def _tried(self, transition: Callable[[], None]) -> TransitionCallbackReturn:
        """Run a transition and log its errors, which rclpy would not."""
        try:
            transition()
        except (IkNodeError, NameValidationException) as error:
            self.get_logger().error(str(error).splitlines()[0])
            return TransitionCallbackReturn.FAILURE
        except Exception:  # noqa: BLE001 - on_error follows
            self.get_logger().error('a transition failed:\n' + traceback.format_exc())
            return TransitionCallbackReturn.ERROR
        return TransitionCallbackReturn.SUCCESS

    # ---- what they do -------------------------------------------------------

    def _configure(self) -> None:
        try:
            with self._entities.recorded():
                self._parts = Components(self, self._values, self._active_flag, self._seat)
        except BaseException:
            self._release()
            raise
        if not RUCKIG_INSTALLED:
            self.get_logger().warning(NO_RUCKIG_NOTICE)

    def _halt(self, reason: Reason, sentence: str) -> None:
        if self._active_flag.is_set:
            self._parts.halt(reason, sentence)
        self._active_flag.is_set = False

    def _release(self) -> None:
        self._active_flag.is_set = False
        self._seat.leave()
        parts, self._parts = self._parts, None
        if parts is not None:
            parts.flush()
        self._entities.destroy()

    def stop(self, sent_at: SendTime) -> tuple[bool, str]:
        """Stop what was sent before that; return whether it could be, and what was done."""
        return (True, 'it is not configured') if self._parts is None \
            else self._parts.stopping.stop(sent_at)

    def halt(self) -> None:
        """Bring the arm to rest and answer open goals, before the process ends."""
        self._halt(Reason.SHUTDOWN, 'the node is shut down')

    def _shut_down(self) -> None:
        self.halt()
        self._release()

    def destroy_node(self) -> None:
        """Leave the ROS graph; rclpy forgets its state machine, which would keep it there."""
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()

    def close(self) -> None:
        """Bring the arm to rest and answer open goals before the process ends."""
        self._shut_down()


def main(args: list[str] | None = None) -> None:
    """Run the node; exit code 0 after SIGINT or SIGTERM, 1 if it cannot start."""
    from ik_node.ros.middleware.process import run
    run('ik_node', IkNode, args)
