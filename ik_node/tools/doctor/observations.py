# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Observations of a running system from outside, as plain data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import QoSProfile

from ik_node.ros.middleware import qos as qos_mismatch
from ik_node.ros.parameters.tables import IK_NODE

MIN_LOOK_S = 2.0    # shortest observation, even if nothing is missing
MIN_LISTEN_S = 1.0  # after the first joint state and the first message on /clock
MAX_KEPT_STATES = 5000  # joint states


def seconds(stamp: Any) -> float:
    """Return the time of a stamp, s."""
    return stamp.sec + 1e-9 * stamp.nanosec


@dataclass(frozen=True)
class End:
    """A publisher or subscription of a topic: its node, type and QoS."""

    node: str
    kind: str
    qos: QoSProfile


@dataclass(frozen=True)
class Topic:
    """A topic with its publishers and subscriptions, without ik_doctor itself."""

    name: str
    publishers: tuple[End, ...] = ()
    listeners: tuple[End, ...] = ()


@dataclass(frozen=True)
class Heard:
    """A message, and the time of its arrival."""

    message: Any
    # arrival, wall, clock: seconds of the monotonic clock, of the system clock, and of the last
    # message on /clock, None without one
    arrival: float
    wall: float
    clock: float | None

    def behind(self, stamp: Any, simulated: bool) -> float | None:
        """Return the age of a stamp at arrival (s); None if no simulated time is known."""
        now = self.clock if simulated else self.wall
        return None if now is None else now - seconds(stamp)


@dataclass
class Observations:
    """Everything that was observed."""

    # target, namespace: full name of the observed node, and its namespace, without a / at its end
    target: str
    namespace: str
    timeout: float
    domain: int = 0
    domains: list[int] = field(default_factory=list)
    # Full names of all nodes; a name that two nodes have is in it twice.
    nodes: list[str] = field(default_factory=list)
    # Parameters of the node by name; None if it does not answer.
    values: dict[str, Any] | None = None
    # Lifecycle state of the node, as lifecycle_msgs names it; empty if it does not answer.
    state: str = ''
    # states_topic, description_topic, trajectory_topic: by the names that they have after
    # remapping
    states_topic: Topic = Topic('')
    description_topic: Topic = Topic('')
    trajectory_topic: Topic = Topic('')
    clock_topic: Topic = Topic('')
    tf_publishers: int = 0
    # All topics that the node subscribes to or publishes.
    topics: list[Topic] = field(default_factory=list)
    # action, servers: name of the action to the controller, and how many serve it
    action: str = ''
    servers: int = 0
    # Full names of the nodes that take the motions.
    controllers: list[str] = field(default_factory=list)
    manager_service: str = ''  # full name by which the controller manager lists its controllers
    has_manager: bool = False  # whether it does
    # Lifecycle states of its controllers by their names; empty if it has not told them.
    controller_states: dict[str, str] = field(default_factory=dict)
    # Topics of other names on which somebody listens for what the node sends.
    other_trajectory_topics: list[Topic] = field(default_factory=list)
    # Actions of other names that a controller serves.
    other_actions: list[str] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)  # the different texts on the topic
    states: deque[Heard] = field(default_factory=lambda: deque(maxlen=MAX_KEPT_STATES))
    health: list[Heard] = field(default_factory=list)  # DiagnosticArrays of the node
    statuses: list[DiagnosticStatus] = field(default_factory=list)
    clock: list[Heard] = field(default_factory=list)  # simulated times
    # Tells whether TF knows a frame; None without tf2_ros.
    tf_knows: Callable[[str], bool] | None = None
    # began, end: time of the observation, s of the monotonic clock; `end` is renewed
    began: float = 0.0
    end: float = 0.0

    def value(self, name: str) -> Any:
        """Return a parameter of the node; its default while the node has not answered."""
        if self.values is not None and name in self.values:
            return self.values[name]
        return next((row.default for row in IK_NODE if row.name == name), None)

    @property
    def simulated(self) -> bool:
        """Return whether the node uses simulated time."""
        return bool(self.value('use_sim_time'))

    def behind(self, heard: Sequence[Heard]) -> float | None:
        """Return the median age of stamps at arrival (s); None without any."""
        return median(ages) if (ages := self._ages(heard)) else None

    def clock_offset(self, heard: Sequence[Heard]) -> float | None:
        """
        Return how far (s) the clock of stamps is behind; None without any.

        The least age: delays of the network and of a busy machine are no difference of clocks.
        """
        return min(self._ages(heard), default=None)

    def _ages(self, heard: Sequence[Heard]) -> list[float]:
        return [age for one in heard if one.message.header.stamp.sec > 0
                and (age := one.behind(one.message.header.stamp, self.simulated)) is not None]

    @property
    def listeners(self) -> list[End]:
        """Return the subscriptions that receive the motions: QoS and type match."""
        ours = [end for end in self.trajectory_topic.publishers if end.node == self.target]
        return [end for end in self.trajectory_topic.listeners
                if not ours or not mismatch(ours[0], end)]

    @property
    def complete(self) -> bool:
        """Return whether everything has been observed that is expected."""
        def enough(heard: Sequence[Heard]) -> bool:
            return bool(heard) and self.end - heard[0].arrival > MIN_LISTEN_S

        return bool(
            self.end - self.began > MIN_LOOK_S
            and self.values is not None and self.health and enough(self.states)
            and (not self.simulated or enough(self.clock))
            and (self.descriptions or self.value('robot_description') or self.value('urdf_file'))
            and (self.servers if self.value('output') == 'action' else self.listeners))


def mismatch(publisher: End, listener: End) -> str:
    """Return why a subscription cannot receive from a publisher; '' if it can."""
    if publisher.kind != listener.kind:
        return f'{publisher.kind} is not {listener.kind}'
    return qos_mismatch.mismatch(publisher.qos, listener.qos)
