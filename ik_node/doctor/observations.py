# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What can be seen of a running system from outside, as plain data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import QoSProfile

from ik_node.ros import qos_mismatch
from ik_node.ros.parameters import IK_NODE

MIN_LOOK_S = 2.0  # s; so long at least it looks on, whatever was seen already
MIN_LISTEN_S = 1.0  # s; so long at least after the first joint state and the first time on /clock
MAX_KEPT_STATES = 5000  # joint states that are kept


def seconds(stamp: Any) -> float:
    """Return a time of a message, s."""
    return stamp.sec + 1e-9 * stamp.nanosec


@dataclass(frozen=True)
class End:
    """One end of a topic: whose, of which type, how."""

    node: str
    kind: str
    qos: QoSProfile


@dataclass(frozen=True)
class Topic:
    """A topic, its publishers and who listens, without ourselves."""

    name: str
    publishers: tuple[End, ...] = ()
    listeners: tuple[End, ...] = ()


@dataclass(frozen=True)
class Heard:
    """
    A message, and when it came.

    Attributes
    ----------
    arrival, wall, clock : float
        Seconds of the monotonic clock, of the system clock, and the last that /clock
        said, None if it never came.

    """

    message: Any
    arrival: float
    wall: float
    clock: float | None

    def behind(self, stamp: Any, simulated: bool) -> float | None:
        """Return how old a stamp was on arrival (s); None if no simulated time is known."""
        now = self.clock if simulated else self.wall
        return None if now is None else now - seconds(stamp)


@dataclass
class Observations:
    """
    What was seen.

    Attributes
    ----------
    target, namespace : str
        Full name of the node that is looked at, and its namespace, without a / at its end.
    nodes : list of str
        Full names of all nodes; what has one name twice is in it twice.
    values : dict or None
        Parameters of the node by name; None if it does not answer.
    state : str
        Of the node in its life, as lifecycle_msgs names it; empty if it does not answer.
    states_topic, description_topic, trajectory_topic : Topic
        By the names that the node really has for them.
    topics : list of Topic
        All that the node listens on or publishes.
    action, servers : str, int
        Name of the action to the controller, and how many serve it.
    other_trajectory_topics : list of Topic
        Topics of other names on which somebody listens for trajectories.
    other_actions : list of str
        Actions of other names that a controller serves.
    descriptions : list of str
        Different texts from the topic.
    health : list of Heard
        DiagnosticArrays with what the node says of itself.
    clock : list of Heard
        Simulated times.
    tf_knows : callable or None
        Tells whether TF knows a frame; None without tf2_ros.
    began, end : float
        From when to when was listened, s of the monotonic clock.  The end moves on.

    """

    target: str
    namespace: str
    timeout: float
    domain: int = 0
    domains: list[int] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    values: dict[str, Any] | None = None
    state: str = ''
    states_topic: Topic = Topic('')
    description_topic: Topic = Topic('')
    trajectory_topic: Topic = Topic('')
    clock_topic: Topic = Topic('')
    tf_publishers: int = 0
    topics: list[Topic] = field(default_factory=list)
    action: str = ''
    servers: int = 0
    other_trajectory_topics: list[Topic] = field(default_factory=list)
    other_actions: list[str] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    states: deque[Heard] = field(default_factory=lambda: deque(maxlen=MAX_KEPT_STATES))
    health: list[Heard] = field(default_factory=list)
    statuses: list[DiagnosticStatus] = field(default_factory=list)
    clock: list[Heard] = field(default_factory=list)
    tf_knows: Callable[[str], bool] | None = None
    began: float = 0.0
    end: float = 0.0

    def value(self, name: str) -> Any:
        """Return a parameter of the node; its default, as far as is known."""
        if self.values is not None and name in self.values:
            return self.values[name]
        return next((row.default for row in IK_NODE if row.name == name), None)

    @property
    def simulated(self) -> bool:
        """Return whether the node takes its time from /clock."""
        return bool(self.value('use_sim_time'))

    def behind(self, heard: Sequence[Heard]) -> float | None:
        """Return how old the stamps of messages were on arrival (median, s); None without any."""
        ages = [age for one in heard if one.message.header.stamp.sec > 0
                and (age := one.behind(one.message.header.stamp, self.simulated)) is not None]
        return median(ages) if ages else None

    @property
    def listeners(self) -> list[End]:
        """Return who takes the trajectories of the node, QoS and type considered."""
        ours = [end for end in self.trajectory_topic.publishers if end.node == self.target]
        return [end for end in self.trajectory_topic.listeners
                if not ours or not mismatch(ours[0], end)]

    @property
    def complete(self) -> bool:
        """Return whether there is nothing more to wait for."""
        def enough(heard: Sequence[Heard]) -> bool:
            return bool(heard) and self.end - heard[0].arrival > MIN_LISTEN_S

        return bool(
            self.end - self.began > MIN_LOOK_S
            and self.values is not None and self.health and enough(self.states)
            and (not self.simulated or enough(self.clock))
            and (self.descriptions or self.value('robot_description') or self.value('urdf_file'))
            and (self.servers if self.value('output') == 'action' else self.listeners))


def mismatch(publisher: End, listener: End) -> str:
    """Return why nothing passes between two ends of a topic; '' if it does."""
    if publisher.kind != listener.kind:
        return f'{publisher.kind} is not {listener.kind}'
    return qos_mismatch.mismatch(publisher.qos, listener.qos)
