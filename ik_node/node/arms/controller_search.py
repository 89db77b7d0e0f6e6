# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the controllers of arms among those that are up, by the joints that they move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from time import monotonic
from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.node import Node

from ik_node.base.text import listed, quote
from ik_node.ros.controller_manager import (
    ACTIVE_STATE,
    list_type,
    prefix_of,
    service_of,
    states_of,
)
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.handshake import ANSWER_TIMEOUT_S
from ik_node.ros.middleware.qos import node_of

LOOK_PERIOD_S = 0.2
WARN_AFTER_S = 5.0  # from the beginning of a search; then once for each other result
FRESH_S = 3.0       # after which a controller is asked again: it may be another one by then
MAX_TRIES = 3       # of a request, before nothing is known
TOPIC, TYPE = '/joint_trajectory', 'trajectory_msgs/msg/JointTrajectory'


class _Question:
    """A request to a service that may not be there."""

    def __init__(self, node: Node, kind: Any, service: str, request: Any) -> None:
        self._node, self._request = node, request
        self._client = node.create_client(kind, service)
        self._answer: Any = None  # a future
        self._began, self._sent_at, self._tries = monotonic(), -inf, 0

    def over(self) -> bool:
        """Return whether it is answered, or was sent often enough; send it again if not."""
        if self._answer is not None and self._answer.done() or self._tries > MAX_TRIES:
            return True
        if monotonic() > self._sent_at + ANSWER_TIMEOUT_S:
            if self._answer is not None:
                self._client.remove_pending_request(self._answer)
            self._answer = self._client.call_async(self._request) \
                if self._client.service_is_ready() else None
            self._sent_at, self._tries = monotonic(), self._tries + 1
        return False

    @property
    def stale(self) -> bool:
        """Return whether the answer may have changed since."""
        return self.over() and monotonic() > self._began + FRESH_S

    @property
    def response(self) -> Any:
        """Return the response, None without."""
        return self._answer.result() if self._answer is not None and self._answer.done() else None

    def close(self) -> None:
        """Forget the service."""
        self._node.destroy_client(self._client)


class ControllerSearch:
    """
    Looks for the controllers of joints, until there is one for each.

    A controller is a node that listens on ``<its name>/joint_trajectory``.  It is the one whose
    parameter ``joints`` has just these joints; of several, the one that its manager calls active.
    Where there is none, it is the controller with the supposed name, if that does not say which
    joints it moves.

    Parameters
    ----------
    found : callable
        Called with the name of each controller by its supposed name.
    busy : callable
        Returns whether the result would come at a bad time.

    """

    def __init__(self, node: Node, found: Callable[[dict[str, str]], None],
                 busy: Callable[[], bool]) -> None:
        self._node, self._found, self._busy = node, found, busy
        self._sought: dict[str, tuple[str, ...]] = {}
        self._questions: dict[str, _Question] = {}  # by the name of a controller or of a service
        self._since, self._warned = monotonic(), ''
        self.complaint = ''  # which controllers are still sought; '' if none is
        self._timer = node.create_timer(LOOK_PERIOD_S, self._look, clock=steady_clock())
        self._timer.cancel()

    def begin(self, sought: Mapping[str, tuple[str, ...]]) -> None:
        """Look for the controllers of joints, each by the name that is supposed for it."""
        self._sought, self._since = dict(sought), monotonic()
        self.complaint = self._said([*sought], {})
        self._timer.reset()

    def cancel(self) -> None:
        """Look no more."""
        self._timer.cancel()
        self.complaint = ''

    def _look(self) -> None:
        up = self._joints_by_controller()
        found = {name: self._controller(name, joints, up) for name, joints in self._sought.items()}
        missing = [name for name, controller in found.items() if not controller]
        if not missing:
            if not self._busy():
                self._timer.cancel()
                self.complaint = ''
                self._found(found)
            return
        self.complaint = self._said(missing, up)
        if monotonic() > self._since + WARN_AFTER_S and self.complaint != self._warned:
            self._warned = self.complaint
            self._node.get_logger().warning(self.complaint)

    def _joints_by_controller(self) -> dict[str, tuple[str, ...] | None]:
        """Return the joints of what takes trajectories; None = not known yet, () = not at all."""
        up = [topic.removesuffix(TOPIC)
              for topic, kinds in self._node.get_topic_names_and_types()
              if topic.endswith(TOPIC) and TYPE in kinds and topic.removesuffix(TOPIC) in
              map(node_of, self._node.get_subscriptions_info_by_topic(topic))]
        self._forget({*up})
        return {controller: self._joints_of(controller) for controller in up}

    def _joints_of(self, controller: str) -> tuple[str, ...] | None:
        question = self._question(f'{controller}/get_parameters', GetParameters,
                                  GetParameters.Request(names=['joints']))
        if not question.over():
            return None
        response = question.response
        return tuple(response.values[0].string_array_value) if response and response.values \
            else ()

    def _controller(self, name: str, joints: tuple[str, ...],
                    up: Mapping[str, tuple[str, ...] | None]) -> str:
        """Return the controller of joints, '' as long as there is not just one."""
        fit = [each for each, moved in up.items() if moved and {*moved} == {*joints}]
        if len(fit) > 1:
            fit = [each for each in fit if self._state(each) == ACTIVE_STATE]
        supposed = self._node.resolve_topic_name(f'{name}{TOPIC}').removesuffix(TOPIC)
        if not fit and up.get(supposed) == ():
            return name
        return fit[0] if len(fit) == 1 else ''

    def _state(self, controller: str) -> str:
        """Return the state of a controller by its manager, '' as long as it is not known."""
        kind = list_type()
        if kind is None:
            return ''
        question = self._question(service_of(prefix_of(controller)), kind, kind.Request())
        return states_of(question.response).get(controller.rpartition('/')[2], '') \
            if question.over() and question.response else ''

    def _question(self, service: str, kind: Any, request: Any) -> _Question:
        if service not in self._questions:
            self._questions[service] = _Question(self._node, kind, service, request)
        return self._questions[service]

    def _forget(self, nodes: set[str]) -> None:
        """Forget the answers of other nodes than these, and old ones."""
        for service, question in list(self._questions.items()):
            of = service.removesuffix('/get_parameters')
            if question.stale or of != service and of not in nodes:
                self._questions.pop(service).close()

    def _said(self, missing: list[str], up: Mapping[str, tuple[str, ...] | None]) -> str:
        lacking = ' nor for '.join(f'{", ".join(self._sought[name])} (by its parameter joints, or '
                                   f'by the name {quote(name)})' for name in missing)
        others = [f'{quote(name)} ({", ".join(joints)})' for name, joints in up.items() if joints]
        return (f'the arms wait for their controllers: none is up for {lacking}; '
                + (f'up: {listed(others)}; ' if others else '')
                + 'set controllers if they have other names or joints')
