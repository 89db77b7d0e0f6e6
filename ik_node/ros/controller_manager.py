# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Names of controllers, and what their manager of ros2_control says of them.

The type comes from controller_manager_msgs, where it is installed; nothing else here needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any

from rclpy.node import Node

from ik_node.base.text import quote

LIST_SERVICE = 'controller_manager/list_controllers'
LIST_TYPE = 'controller_manager_msgs/srv/ListControllers'
ACTIVE_STATE = 'active'
MANAGER_PATIENCE_S = 1.0  # for the answer of the manager


def prefix_of(controller: str) -> str:
    """Return what comes before the names of a controller's topics and actions."""
    controller = controller.rstrip('/')
    return f'{controller}/' if controller else ''


def service_of(prefix: str) -> str:
    """Return the name of the service of the manager that has a controller, by its prefix."""
    return ''.join(prefix.rstrip('/').rpartition('/')[:2]) + LIST_SERVICE


def list_type() -> Any:
    """Return ListControllers; None where controller_manager_msgs is not installed."""
    try:
        from controller_manager_msgs.srv import ListControllers
    except ImportError:
        return None
    return ListControllers


def states_of(response: Any) -> dict[str, str]:
    """Return the lifecycle states of the controllers by their names, of a response."""
    return {controller.name: controller.state for controller in response.controller}


def how_to_activate(service: str, name: str, state: str) -> str:
    """Return how a controller in this state is activated."""
    lead = f'ros2 control set_controller_state -c {service.rpartition("/")[0]} {name}'
    return f'{lead} inactive, then {lead} active' if state == 'unconfigured' else f'{lead} active'


def said_of(service: str, states: Mapping[str, str], nodes: Iterable[str]) -> str:
    """
    Return what a manager says of the controllers that are these nodes, '' if nothing.

    Parameters
    ----------
    service : str
        Full name of its service.
    states : mapping
        As :func:`states_of`.
    nodes : iterable of str
        Full names.

    """
    manager, said = service.rpartition('/')[0], []
    for name in sorted({node.rpartition('/')[2] for node in nodes} & states.keys()):
        said.append(f'{quote(name)} is {states[name]}' + (
            '' if states[name] == ACTIVE_STATE else
            f'; activate it: {how_to_activate(service, name, states[name])}'))
    return f'{manager} says: {"; ".join(said)}' if said else ''


class ControllerManager:
    """
    The manager of the controller that an output sends to, if there is one.

    Parameters
    ----------
    node : Node
    prefix : str
        Of the controller.
    controllers : callable
        Returns the full names of the nodes that may be the controller.

    """

    def __init__(self, node: Node, prefix: str, controllers: Callable[[], Iterable[str]]) -> None:
        kind = list_type()
        self._service = node.resolve_service_name(service_of(prefix))
        self._client = kind and node.create_client(kind, service_of(prefix))
        self._controllers = controllers

    def ask(self) -> Callable[[], str | None]:
        """
        Ask for the state of the controller.

        Returns
        -------
        callable
            Returns :func:`said_of`, '' if nothing is known of it, and None until then.

        """
        client = self._client
        if client is None or not client.service_is_ready():
            return str
        answer = client.call_async(client.srv_type.Request())
        end = monotonic() + MANAGER_PATIENCE_S

        def said() -> str | None:
            if answer.done():
                return said_of(self._service, states_of(answer.result()), self._controllers())
            if monotonic() < end:
                return None
            client.remove_pending_request(answer)
            return ''

        return said
