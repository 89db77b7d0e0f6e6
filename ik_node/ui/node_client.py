# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Non-blocking client for one ik_node, by its public topics and services."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from math import inf
from time import monotonic
from typing import Any

from geometry_msgs.msg import PointStamped, PoseStamped
import numpy as np
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from ik_node.ros.messages.conversion import line_to, message_class, point_stamped, pose_stamped
from ik_node.ros.messages.goal_answers import publish_stamped
from ik_node.ros.messages.goal_kinds import goal_topics
from ik_node.ros.messages.status_messages import STREAM_PAUSE_S
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.repeated_stop import RepeatedStop

SERVICE_TIMEOUT_S = 10.0
REFRESH_PERIOD_S = 1.0  # somebody else may set parameters, too
GOAL_DEPTH = 10  # depth of the publishers of goals
SERVICES = {'plan': Trigger, 'list_postures': Trigger, 'home': Trigger, 'pause': SetBool,
            'set_parameters_atomically': SetParametersAtomically}

Answer = Callable[[bool, str], None]


class Kind(str, Enum):
    """Which part of a pose must be reached, as in the topics goal_<kind>, preview_<kind>."""

    POSE = 'pose'
    POSITION = 'position'
    POINTING = 'pointing'


class Commands:
    """
    Non-blocking client for one ik_node: one method per topic or service.

    Goals, previews and streamed poses return their stamp as text, which identifies their
    answers on ~/answers and ~/preview; '' if nobody subscribes.  Answers of services and
    parameters go to `say`, or to the callable that is given instead.

    Parameters
    ----------
    node : Node
        Node of the caller; all methods are called from its executor.
    target : str
        Name of the ik_node; without a leading / it is in the namespace of `node`.
    say : callable
        Takes whether a request succeeded, and a sentence.
    only : collection of str, optional
        The topics and services that are used, so that no others are on the graph; all by default.

    """

    def __init__(self, node: Node, target: str, say: Answer,
                 only: Collection[str] | None = None) -> None:
        self._node = node
        self._target = target
        self._say = say
        # Of previews and streamed poses only the latest is useful.
        self._publishers = {
            name: node.create_publisher(message_class(kind), f'{target}/{name}',
                                        GOAL_DEPTH if name.startswith('goal_') else 1)
            for name, kind in goal_topics(in_ui_only=True).items()
            if only is None or name in only}
        self._clients = {name: node.create_client(kind, f'{target}/{name}')
                         for name, kind in SERVICES.items() if only is None or name in only}
        self._stop = RepeatedStop(node, target)
        self._streamed = -inf  # monotonic time (s) of the last pose of a stream

    def destroy(self) -> None:
        """Leave the ROS graph; what is still asked is not answered."""
        for publisher in self._publishers.values():
            self._node.destroy_publisher(publisher)
        for client in self._clients.values():
            self._node.destroy_client(client)
        self._stop.destroy()

    # ---- goals and previews -------------------------------------------------

    def move(self, kind: Kind, frame: str, T_frame_tip: np.ndarray) -> str:
        """Move the tip to a pose (4, 4) in `frame`, or to the part of it given by `kind`."""
        return self._publish(f'goal_{kind.value}', _goal(kind, frame, T_frame_tip))

    def line(self, frame: str, T_frame_tip: np.ndarray) -> str:
        """Move the tip to a pose (4, 4) in `frame` in a straight line."""
        return self._publish('goal_path', line_to(pose_stamped(T_frame_tip, frame).pose, frame))

    def stream(self, frame: str, T_frame_tip: np.ndarray, age: float = 0.0) -> str:
        """
        Follow a pose (4, 4) in `frame`; the next is due within ``stream.timeout``.

        Parameters
        ----------
        age : float
            How long ago it was taken, s: so the ik_node sees how the target moves, however
            unevenly its poses arrive.

        """
        return self._publish('goal_stream', pose_stamped(T_frame_tip, frame), age)

    def joints(self, names: Sequence[str], positions: Sequence[float]) -> str:
        """Move to joint positions, rad or m; joints that are not named stay."""
        return self._publish('goal_joints', JointState(
            name=list(names), position=[float(position) for position in positions]))

    def named(self, name: str) -> str:
        """Move to a named pose."""
        return self._publish('goal_named', JointState(name=[name]))

    def preview(self, kind: Kind, frame: str, T_frame_tip: np.ndarray) -> str:
        """Ask whether and how :meth:`move` would reach a pose; nothing moves."""
        return self._publish(f'preview_{kind.value}', _goal(kind, frame, T_frame_tip))

    def _publish(self, topic: str, message: Any, age: float = 0.0) -> str:
        publisher = self._publishers[topic]
        if not publisher.get_subscription_count():
            self._say(False, f'nobody listens on {publisher.topic_name}; is {self._target} '
                      'running, in this ROS_DOMAIN_ID and namespace?')
            return ''
        goes_on = False
        if topic == 'goal_stream':
            now = monotonic()
            self._streamed, goes_on = now, now < self._streamed + STREAM_PAUSE_S
        if topic.startswith('goal_') and not goes_on:  # more of a stream does not undo its stop
            self._stop.cease()
        return publish_stamped(self._node, publisher, message, age)

    # ---- services -----------------------------------------------------------

    def plan(self, answer: Answer | None = None) -> None:
        """Plan and show the motion to the last preview; nothing moves."""
        self._trigger('plan', answer)

    def list_postures(self, answer: Answer | None = None) -> None:
        """Have all postures of the last preview published on ~/postures; nothing moves."""
        self._trigger('list_postures', answer)

    def home(self, answer: Answer | None = None) -> None:
        """Move to the preferred posture."""
        self._stop.cease()
        self._trigger('home', answer)

    def stop(self, answer: Answer | None = None) -> None:
        """Bring the arm to rest, by ``~/halt`` and ``~/stop`` until that succeeds."""
        say = answer or self._say
        self._stop.begin(lambda response: say(*_said(response)))

    def pause(self, rest: bool, answer: Answer | None = None) -> None:
        """Bring the arm to rest on its path, or let it go on."""
        self._call('pause', SetBool.Request(data=rest),
                   _said, answer or self._say)

    def set(self, values: Mapping[str, Any], answer: Answer | None = None) -> None:
        """Set parameters of the ik_node by their names, all or none."""
        request = SetParametersAtomically.Request(parameters=[
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()])
        words = ', '.join(f'{name} is {value}' for name, value in values.items())
        self._call('set_parameters_atomically', request,
                   lambda response: (response.result.successful, response.result.reason or words),
                   answer or self._say)

    def mount(self, name: str, answer: Answer | None = None) -> None:
        """Say which named tool of the ik_node is mounted; '' = none."""
        self.set({'tool.name': name, 'tool.position': [0.0] * 3, 'tool.orientation': [0.0] * 3},
                 answer)

    def _trigger(self, name: str, answer: Answer | None) -> None:
        self._call(name, Trigger.Request(), _said, answer or self._say)

    def _call(self, name: str, request: Any, read: Callable[[Any], tuple[bool, str]],
              answer: Answer) -> None:
        """Call a service; there is exactly one answer, after SERVICE_TIMEOUT_S at the latest."""
        client = self._clients[name]
        if not client.service_is_ready():
            answer(False, f'nobody offers {self._target}/{name}; is {self._target} running, in '
                   'this ROS_DOMAIN_ID and namespace?')
            return

        def give_up() -> None:
            end()
            client.remove_pending_request(future)
            answer(False, f'{self._target}/{name} did not answer within '
                   f'{SERVICE_TIMEOUT_S:g} s')

        def take(_future: Future) -> None:
            end()
            answer(*read(future.result()))

        def end() -> None:
            timer.cancel()
            self._node.destroy_timer(timer)

        timer = self._node.create_timer(SERVICE_TIMEOUT_S, give_up,
                                        clock=steady_clock())
        future = client.call_async(request)
        future.add_done_callback(take)


class ParameterWatch:
    """
    Asks one ik_node for parameters, which others may set, too.

    Parameters
    ----------
    names : sequence of str
    take : callable
        Takes their values, in this order, whenever the node has told them.

    """

    def __init__(self, node: Node, target: str, names: Sequence[str],
                 take: Callable[..., None]) -> None:
        self._client = node.create_client(GetParameters, f'{target}/get_parameters')
        self._names, self._take = list(names), take
        self._due = -inf  # when to ask again (monotonic, s)

    def ready(self) -> bool:
        """Return whether the node is running."""
        return self._client.service_is_ready()

    def refresh(self, at_once: bool = False) -> None:
        """Ask the node, unless that was less than REFRESH_PERIOD_S ago."""
        now = monotonic()
        if not self.ready() or now < self._due and not at_once:
            return
        self._due = now + SERVICE_TIMEOUT_S  # a node that stops now never answers
        future = self._client.call_async(GetParameters.Request(names=self._names))
        future.add_done_callback(lambda done: self._told(done.result()))

    def _told(self, response: GetParameters.Response | None) -> None:
        self._due = monotonic() + REFRESH_PERIOD_S
        if response is not None and len(response.values) == len(self._names) and not any(
                value.type == ParameterType.PARAMETER_NOT_SET for value in response.values):
            self._take(*map(parameter_value_to_python, response.values))


def _said(response: Any) -> tuple[bool, str]:
    return response.success, response.message


def _goal(kind: Kind, frame: str, T_frame_tip: np.ndarray) -> PoseStamped | PointStamped:
    if kind is Kind.POSITION:
        return point_stamped(T_frame_tip[:3, 3], frame)
    return pose_stamped(T_frame_tip, frame)
