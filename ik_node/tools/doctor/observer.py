# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Gathers observations of a running system over DDS; publishes nothing."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
from time import monotonic, time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.srv import GetState
from rcl_interfaces.srv import GetParameters, GetParameterTypes, ListParameters
import rclpy
from rclpy.node import Node, NodeNameNonExistentError
from rclpy.parameter import parameter_value_to_python
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ik_node.node.execution.outputs import FEEDBACK_SUFFIX, PositionOutput, TopicOutput
from ik_node.node.state.frames import tf2_ros
from ik_node.ros import description
from ik_node.ros.action_client import ACTION_NAME
from ik_node.ros.controller_manager import (
    LIST_TYPE,
    list_type,
    prefix_of,
    service_of,
    states_of,
)
from ik_node.ros.messages.goal_kinds import goal_topics
from ik_node.ros.middleware.handshake import ANSWER_TIMEOUT_S, ask, wait_for
from ik_node.ros.middleware.qos import (
    ANSWERS_QOS,
    BEST_EFFORT_QOS,
    EVERY_STATE_QOS,
    INSTANCE_QOS,
    node_of,
)
from ik_node.tools.doctor.observations import End, Heard, Observations, seconds, Topic

LOOK_PERIOD_S = 0.1  # between two looks at the graph, which take longer than a message
DISCOVERY_VARIABLES = ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS')
JOINT_STATE_TYPE, DESCRIPTION_TYPE, CLOCK_TOPIC, TF_TOPICS = (
    'sensor_msgs/msg/JointState', 'std_msgs/msg/String', '/clock', ('/tf', '/tf_static'))
GOAL_TOPICS = frozenset(goal_topics())  # waypoints are goals, for an ik_node
TRAJECTORY_TYPE = 'trajectory_msgs/msg/JointTrajectory'
COMMANDS_TYPE = 'std_msgs/msg/Float64MultiArray'
MOTION_TOPICS = {TRAJECTORY_TYPE: TopicOutput.topic, COMMANDS_TYPE: PositionOutput.topic}
DDS_PORT, DDS_DOMAIN_GAIN, DDS_UNICAST = 7400, 250, range(10, 40, 2)  # RTPS 2.5, 9.6.2.3


def observe(target: str, timeout: float) -> tuple[Node, Observations]:
    """
    Observe a system until nothing is missing, at most for `timeout` (s).

    Parameters
    ----------
    target : str
        Name of the ik_node, with its namespace if it has one.

    Returns
    -------
    (Node, Observations)
        The observing node, which the caller destroys, and what it observed.

    """
    observer = Observer('/' + target.strip('/'), timeout)
    end = monotonic() + timeout
    # The topic names after remapping must be known before subscribing.
    wait_for(observer, lambda: observer.name_of(JOINT_STATE_TYPE) is not None, 0.5 * timeout)
    observer.listen()
    observer.ask(end)
    wait_for(observer, observer.is_complete, end - monotonic())
    seen = observer.look()
    observer.ask_manager()
    return observer, seen


class Observer(Node):
    """Subscribes to topics, and asks the node for its parameters and its state; no more."""

    def __init__(self, target: str, timeout: float) -> None:
        super().__init__('_ik_doctor', enable_rosout=False, start_parameter_services=False)
        self._space, _, self._target = target.rpartition('/')
        self.seen = Observations(target, self._space, timeout)
        self.seen.domain = self.context.get_domain_id()

    # ---- the graph ----------------------------------------------------------

    def _of_node(self, of: Callable[[str, str], list[tuple[str, list[str]]]]) -> dict[str, str]:
        """Return the topics of the node with their types, from a query of the graph."""
        try:
            return {name: kinds[0] for name, kinds in of(self._target, self._space or '/')}
        except NodeNameNonExistentError:
            return {}

    def name_of(self, kind: str, default: str = '') -> str | None:
        """Return the name of the node's only public topic of a kind; None if there is none."""
        of = self.get_publisher_names_and_types_by_node if kind in MOTION_TOPICS \
            else self.get_subscriber_names_and_types_by_node
        names = [name for name, its_kind in self._of_node(of).items()
                 if its_kind == kind and not name.startswith(f'{self.seen.target}/')]
        return default if default in names else names[0] if len(names) == 1 else None

    def _topic(self, name: str) -> Topic:
        def ends(infos: list[Any]) -> tuple[End, ...]:
            made = (End(node_of(info), info.topic_type, info.qos_profile) for info in infos)
            return tuple(end for end in made if not hidden(end.node))

        return Topic(name, ends(self.get_publishers_info_by_topic(name)),
                     ends(self.get_subscriptions_info_by_topic(name)))

    def _named(self, kind: str, name: str) -> Topic:
        default = self._full_name(name)
        return self._topic(self.name_of(kind, default) or default)

    def _full_name(self, name: str) -> str:
        """Return the full name of what has this name in the namespace of the node."""
        return name if name.startswith('/') else f'{self._space}/{name}'

    def look(self) -> Observations:
        """Renew the observations of the graph."""
        seen = self.seen
        seen.end = monotonic()
        names = (f'{space.rstrip("/")}/{name}' for name, space
                 in self.get_node_names_and_namespaces())
        seen.nodes = sorted(name for name in names if not hidden(name))
        prefix = prefix_of(seen.value('controller'))
        seen.states_topic = self._named(JOINT_STATE_TYPE, 'joint_states')
        seen.description_topic = self._named(DESCRIPTION_TYPE, description.DESCRIPTION_TOPIC)
        kind = COMMANDS_TYPE if seen.value('output') == 'position' else TRAJECTORY_TYPE
        seen.trajectory_topic = self._named(kind, f'{prefix}{MOTION_TOPICS[kind]}')
        seen.clock_topic = self._topic(CLOCK_TOPIC)
        seen.tf_publishers = sum(map(self.count_publishers, TF_TOPICS))
        seen.action = self._full_name(f'{prefix}{ACTION_NAME}')
        seen.servers = self.count_services(f'{seen.action}/_action/send_goal')
        seen.controllers = sorted(end.node for end in (
            self._topic(f'{seen.action}{FEEDBACK_SUFFIX}').publishers
            if seen.value('output') == 'action' else seen.listeners))
        asked = [name for name, kind in self._of_node(
            self.get_client_names_and_types_by_node).items() if kind == LIST_TYPE]
        seen.manager_service = asked[0] if asked else self._full_name(service_of(prefix))
        of_node = {**self._of_node(self.get_publisher_names_and_types_by_node),
                   **self._of_node(self.get_subscriber_names_and_types_by_node)}
        seen.other_trajectory_topics = [
            topic for name, kinds in self.get_topic_names_and_types() if kind in kinds
            and name != seen.trajectory_topic.name and name.rpartition('/')[2] not in GOAL_TOPICS
            and (topic := self._topic(name)).listeners]
        suffix = f'/{ACTION_NAME}/_action/send_goal'
        seen.other_actions = sorted(
            name.removesuffix('/_action/send_goal')
            for name, _ in self.get_service_names_and_types()
            if name.endswith(suffix) and not name.startswith(f'{seen.action}/'))
        seen.topics = [self._topic(name) for name in sorted(of_node)
                       if name not in ('/rosout', '/parameter_events')]
        seen.domains = domains_here() if not seen.nodes else []
        return seen

    def is_complete(self) -> bool:
        """Return whether nothing is missing, by the graph of at most LOOK_PERIOD_S ago."""
        if monotonic() > self.seen.end + LOOK_PERIOD_S:
            self.look()
        return self.seen.complete

    # ---- messages -----------------------------------------------------------

    def listen(self) -> None:
        """Subscribe to the topics that the node subscribes to, and to those it publishes."""
        seen = self.look()
        seen.began = monotonic()
        self.create_subscription(JointState, seen.states_topic.name,
                                 lambda message: seen.states.append(self._heard(message)),
                                 EVERY_STATE_QOS)
        # Depth 10: the node has depth 1, where one publisher's text replaces another's.
        self.create_subscription(String, seen.description_topic.name, self._on_description,
                                 INSTANCE_QOS)
        self.create_subscription(DiagnosticStatus, f'{seen.target}/answers',
                                 seen.statuses.append, ANSWERS_QOS)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 100)
        self.create_subscription(
            Clock, CLOCK_TOPIC, lambda message: seen.clock.append(self._heard(message)),
            BEST_EFFORT_QOS)
        if tf2_ros is not None:
            buffer = tf2_ros.Buffer()
            self._listener = tf2_ros.TransformListener(buffer, self)
            seen.tf_knows = lambda frame: buffer.can_transform(frame, frame, rclpy.time.Time())

    def _heard(self, message: Any) -> Heard:
        clock = self.seen.clock and seconds(self.seen.clock[-1].message.clock)
        return Heard(message, monotonic(), time(), clock or None)

    def _on_description(self, message: String) -> None:
        if message.data not in self.seen.descriptions:
            self.seen.descriptions.append(message.data)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        if any(status.name.startswith(f'{self.seen.target}: ') for status in message.status):
            self.seen.health.append(self._heard(message))

    # ---- services of the node -----------------------------------------------

    def ask(self, end: float) -> None:
        """Ask the node for its parameters and its state, until `end` (monotonic, s)."""
        # GetParameters fails as a whole if one parameter is not set, so types come first.
        listed = self._call(ListParameters, ListParameters.Request(), 'list_parameters', end)
        names = listed.result.names if listed else []
        typed = names and self._call(
            GetParameterTypes, GetParameterTypes.Request(names=names), 'get_parameter_types', end)
        names = [name for name, kind in zip(names, typed.types) if kind] if typed else []
        got = names and self._call(
            GetParameters, GetParameters.Request(names=names), 'get_parameters', end)
        if got:
            self.seen.values = {name: parameter_value_to_python(value)
                                for name, value in zip(names, got.values)}
            told = self._call(GetState, GetState.Request(), 'get_state', end)
            self.seen.state = told.current_state.label if told else ''

    def ask_manager(self) -> None:
        """Ask the controller manager, if there is one, for the states of its controllers."""
        seen, kind = self.seen, list_type()
        seen.has_manager = bool(self.count_services(seen.manager_service))
        if seen.has_manager and kind is not None:
            told = self._call(kind, kind.Request(), seen.manager_service,
                              monotonic() + 2 * ANSWER_TIMEOUT_S)
            seen.controller_states = states_of(told) if told else {}

    def _call(self, kind: Any, request: Any, name: str, end: float) -> Any:
        """Return the response of a service, of the node unless `name` begins with /, or None."""
        service = name if name.startswith('/') else f'{self.seen.target}/{name}'
        return ask(self, kind, service, request, end - monotonic())


def hidden(name: str) -> bool:
    """Return whether a node is hidden, by its full name."""
    return '/_' in name


def domains_here() -> list[int]:
    """Return the ROS domains (0 to 100) with open DDS ports on this machine."""
    try:
        lines = Path('/proc/net/udp').read_text().splitlines()[1:]
    except OSError:
        return []
    ports = {int(line.split()[1].rpartition(':')[2], 16) for line in lines}
    return [domain for domain in range(101) if any(
        {port, port + 1} <= ports for port in (
            DDS_PORT + DDS_DOMAIN_GAIN * domain + k for k in DDS_UNICAST))]


def environment(domain: int) -> str:
    """Return the settings that decide which nodes are discovered, as text."""
    told = [f'{name} {os.environ[name]}' for name in DISCOVERY_VARIABLES if name in os.environ]
    return ', '.join([f'ROS_DOMAIN_ID {domain}', *told,
                      rclpy.get_rmw_implementation_identifier()])
