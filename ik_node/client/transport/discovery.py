# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How a client finds its node, and knows that both hear each other.

The ROS context of clients in plain scripts.

It is none of rclpy's default context: rclpy's handlers of signals would end that one before the
arm could be stopped.  All clients of a process share it, and a hidden node keeps its DDS
participant, so that the second client need not discover anything again.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
import itertools
import signal
import sys
import threading
from threading import Lock
from time import monotonic, sleep
from types import FrameType
from typing import Any, Protocol
from weakref import WeakSet

from lifecycle_msgs.srv import GetState
import rclpy
from rclpy.client import Client
from rclpy.context import Context
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.signals import get_current_signal_handlers_options, SignalHandlerOptions

from ik_node.base.argument_values import NODE_NAME
from ik_node.base.system import END_SIGNALS
from ik_node.base.text import printable, quote
from ik_node.client.answers import ClientError, NodeUnreachableError
from ik_node.ros.middleware.handshake import ANSWER_TIMEOUT_S, greet, Wait

OTHERS_DELAY_S = 0.3     # after the first node was found, in which another one may appear
GREETING_S = 2.0         # after which it is asked whether the node is configured
UNNAMED_TARGET = 'ik_node'
START_ADVICE = ('start it with "ros2 run ik_node ik_node" or "ros2 launch ik_node ik.launch.py", '
                'in this ROS_DOMAIN_ID')


def find_target(node: Node, name: str | None, namespace: str, seconds: float, wait: Wait) -> str:
    """
    Return the full name of the node that is meant.

    Parameters
    ----------
    node : Node
        Of the client.
    name : str or None
        None: the only one there is.
    namespace : str
        In which it is; that of `node` if it is empty, anywhere if there is no name either.

    """
    for given in (name, namespace):
        if given and not NODE_NAME.fullmatch(given):
            raise ClientError(f'{quote(given)} is no name of a node or namespace; give e.g. '
                              'ik_node or /left/ik_node')
    if name is not None:
        space = namespace or node.get_namespace()
        return name if name.startswith('/') else f'/{space.strip("/")}/{name}'.replace('//', '/')
    inside = f'/{namespace.strip("/")}/' if namespace else '/'

    def found() -> list[str]:
        return [each for each in ik_nodes(node) if each.startswith(inside)]

    if not wait(found, seconds):
        default = f'{inside}{UNNAMED_TARGET}'
        _require_configured(node, default, wait)
        raise NodeUnreachableError(f'no ik_node is there{" in " + inside if namespace else ""}: '
                                   f'{START_ADVICE}')
    wait(lambda: len(found()) > 1, OTHERS_DELAY_S)
    names = found()
    if len(names) > 1:
        raise NodeUnreachableError(
            f'there are {len(names)} nodes, {", ".join(map(quote, names))}; name the one that is '
            f'meant: Arm({names[0]!r})')
    return names[0]


def find_arms(node: Node, robot: str, seconds: float) -> list[str]:
    """
    Return the full names of the arms of an ik_arms, sorted.

    Raises
    ------
    NodeUnreachableError
        If there are none within `seconds`.

    """
    end, names = monotonic() + seconds, list[str]()
    while monotonic() < end:
        found = [each for each in ik_nodes(node) if each.startswith(f'{robot}/')]
        if found and found == names:
            return found
        names = found
        sleep(OTHERS_DELAY_S)
    raise NodeUnreachableError(f'no arms of {quote(robot)} are there; start ik_arms, or give its '
                               'name')


def ik_nodes(node: Node) -> list[str]:
    """Return the full names of all nodes on the graph that take goals, sorted."""
    topics = {name for name, _ in node.get_topic_names_and_types()}
    ends = 'goal_pose', 'goal_joints', 'answers', 'instance'
    names = {topic.rpartition('/')[0] for topic in topics if topic.endswith('/goal_pose')}
    return sorted(name for name in names if name and all(
        f'{name}/{end}' in topics for end in ends) and node.count_publishers(f'{name}/instance'))


def connect(node: Node, target: str, seconds: float, timeout: float,
            publishers: Sequence[Publisher], clients: Sequence[Client], wait: Wait) -> None:
    """
    Wait until the node hears the client and the client hears the node.

    Parameters
    ----------
    seconds, timeout : float
        How long to wait, s, of which time before has left so much; for the sentence.
    publishers, clients : sequence
        To the topics and services of the node.

    """
    end = monotonic() + seconds
    while not greet(node, target, min(GREETING_S, max(end - monotonic(), ANSWER_TIMEOUT_S)),
                    publishers[0], wait):
        _require_configured(node, target, wait)
        if monotonic() < end:
            continue
        raise NodeUnreachableError(f'no node {target} answers within {timeout:g} s: {START_ADVICE}'
                                   ', or give its name and namespace')
    for each in publishers:
        if not wait(each.get_subscription_count, max(end - monotonic(), ANSWER_TIMEOUT_S)):
            raise NodeUnreachableError(f'nobody listens on {each.topic_name}; is {target} an '
                                       'ik_node of this version?')
    for client in clients:
        if not wait(client.service_is_ready, max(end - monotonic(), ANSWER_TIMEOUT_S)):
            raise NodeUnreachableError(f'nobody offers {client.srv_name}; is {target} an ik_node '
                                       'of this version?')


def _require_configured(node: Node, target: str, wait: Wait) -> None:
    """Raise a ClientError if there is a node that is not configured."""
    client: Client = node.create_client(GetState, f'{target}/get_state')
    try:
        if not wait(client.service_is_ready, ANSWER_TIMEOUT_S):
            return
        answer: Any = client.call_async(GetState.Request())
        if wait(answer.done, ANSWER_TIMEOUT_S):
            state = answer.result().current_state.label
            if state not in ('active', 'inactive'):
                raise ClientError(f'the node {target} is {printable(state)}: ros2 lifecycle set '
                                  f'{target} configure, and then activate')
    finally:
        node.destroy_client(client)


KEEPER_NAME = '_arm_client_keeper'

_context_lock = Lock()
_keepers: dict[Context, Node] = {}
_numbers = itertools.count(1)


def shared_context() -> Context:
    """Return the context of the clients that have no node of the caller."""
    with _context_lock:
        for context in _keepers:
            if context.ok():
                return context
        context = new_context()
        _keepers[context] = rclpy.create_node(KEEPER_NAME, context=context, enable_rosout=False,
                                              start_parameter_services=False)
        return context


def new_context() -> Context:
    """Return a context of its own, without handlers of signals."""
    context = Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    return context


def next_number() -> int:
    """Return a number that no other client of this process has."""
    return next(_numbers)


SIGNAL_CODE_BASE = 128  # a shell adds the number of the signal


class Interruptible(Protocol):
    """A client that has to know that the program is being ended."""

    def interrupt(self) -> None:
        """Begin to stop the arm; called in a handler of signals, so it takes no lock."""

    def stop_if_moving(self) -> None:
        """Begin to stop the arm."""

    def close(self) -> None:
        """Wait until it is stopped, and leave ROS."""


_clients: WeakSet[Any] = WeakSet()
_before: dict[int, Any] = {}  # the handlers that were there


def stop_at_end(client: Interruptible, signals: bool) -> None:
    """
    Have a client closed before the program ends, and interrupted by Ctrl-C and SIGTERM.

    Handlers of signals are only installed from the main thread, and not over handlers of rclpy
    or where a signal is ignored; the handler from before is called after.
    """
    if not _clients:
        atexit.unregister(_close_all)
        atexit.register(_close_all)
    _clients.add(client)
    if signals and threading.current_thread() is threading.main_thread() \
            and get_current_signal_handlers_options() == SignalHandlerOptions.NO:
        for number in END_SIGNALS:
            handler = signal.getsignal(number)
            if handler not in (signal.SIG_IGN, None, _on_signal):
                _before[number] = handler
                signal.signal(number, _on_signal)


def forget(client: Interruptible) -> None:
    """Take a client out; after the last one the handlers are again those from before."""
    _clients.discard(client)
    if _clients or threading.current_thread() is not threading.main_thread():
        return
    for number, handler in [*_before.items()]:
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, handler)
            del _before[number]


def _on_signal(number: int, frame: FrameType | None) -> None:
    for client in [*_clients]:
        client.interrupt()
    before = _before.get(number)
    if callable(before):
        before(number, frame)
    else:  # it would have ended the process at once
        raise SystemExit(SIGNAL_CODE_BASE + number)


def _close_all() -> None:
    # The error that ends the program: a fault, or Ctrl-C where another handler has the signal.
    failed = getattr(sys, 'last_type', None) is not None
    for client in [*_clients]:
        if failed:
            client.stop_if_moving()
        client.close()
