# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The connection of a client to one node: a node and a thread of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from math import inf
import os
import sys
from threading import Condition, current_thread, RLock, Thread
from time import monotonic
import traceback
from typing import Any

from rcl_interfaces.srv import GetParameters, SetParametersAtomically
import rclpy
from rclpy.client import Client
from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.publisher import Publisher
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from ik_node.base.text import printable
from ik_node.client.answers import ClientError, NodeUnreachableError
from ik_node.client.handles import Handle
from ik_node.client.transport.discovery import (
    connect,
    find_target,
    forget,
    new_context,
    next_number,
    shared_context,
    stop_at_end,
)
from ik_node.ros.messages.conversion import message_class
from ik_node.ros.messages.goal_answers import GoalAnswers
from ik_node.ros.messages.goal_kinds import goal_topics
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.handshake import ANSWER_TIMEOUT_S, greet, wait_for
from ik_node.ros.middleware.qos import INSTANCE_QOS, KEEP_ALL_QOS
from ik_node.ros.repeated_stop import PATIENCE_S, RepeatedStop

SPIN_PERIOD_S = 0.1
LOOK_PERIOD_S = 0.02        # between two looks at discovery, which does not notify
SERVICE_PATIENCE_S = 5.0    # for a service that has been there
STOP_PATIENCE_S = PATIENCE_S + 1.0  # at the end of a program; the stop has ended by then
CLOCK_PATIENCE_S = 5.0      # for the first /clock
WATCH_PERIOD_S = 0.5        # between two looks whether the node lives
GONE_S = 1.0                # without a publisher of answers, after which the node has ended
SILENT_NODE_S = 6.0         # of a node that announces itself once a second
QUIET_NODE_S = 3.0          # after which a goal may be for a node that was started anew
FORGOTTEN_S = 60.0          # after which an announcement is forgotten


class Connection:
    """
    Talks to one node, in a thread of its own.

    So waiting works wherever it is done, except in this thread itself.

    Parameters
    ----------
    name : str or None
        Of the ik_node; None: the only one there is.
    namespace : str
        Where it is looked for; that of `user` if it is empty.
    user : Node or None
        Node of the caller: its context is used, and its executor calls the callbacks.
    timeout : float
        How long to look for it, s.
    create : callable
        Creates what the caller needs on this connection before both sides are asked whether they
        hear each other; returns publishers to topics that the node must have.

    Raises
    ------
    NodeUnreachableError
        If there is no such node, or several and no name.
    ClientError
        If the node is not configured, or the name is none.

    """

    def __init__(self, name: str | None, namespace: str, user: Node | None,
                 timeout: float, create: Callable[[Connection], list[Publisher]]) -> None:
        self.lock = Condition(RLock())  # guards the handles; notified after each message
        self._user = user
        self.context: Context = shared_context() if user is None else user.context
        label = f'arm_client_{os.getpid()}_{next_number()}'
        self.node: Node = rclpy.create_node(
            label, context=self.context, namespace=user.get_namespace() if user else None,
            use_global_arguments=user is None, enable_rosout=False,
            start_parameter_services=False)
        self._open: set[Handle[Any]] = set()
        self._user_calls: deque[Callable[[], object]] = deque()
        self._user_guard = None if user is None else user.create_guard_condition(self._run_calls)
        self._posted: deque[Callable[[], object]] = deque()
        self._interrupted = False
        self._stopping: Handle[str] | None = None
        self._close_began = self._closing = False
        self._heard: dict[str, float] = {}
        self._gone_since: float | None = None
        self._watched = -inf
        self.instance = self._greeted = ''
        self._guard = self.node.create_guard_condition(self._run_posted)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self._thread = Thread(target=self._run, name=label, daemon=True)
        self._thread.start()
        try:
            self._connect(name, namespace, timeout, create)
        except BaseException:
            self.close()
            raise
        stop_at_end(self, signals=user is None)

    def _connect(self, name: str | None, namespace: str, timeout: float,
                 create: Callable[[Connection], list[Publisher]]) -> None:
        end = monotonic() + timeout
        # Full name of the node.
        self.target = find_target(self.node, name, namespace, timeout, self.wait_until)
        self.node.create_subscription(String, f'{self.target}/instance', self._on_instance,
                                      INSTANCE_QOS)
        # All new ones, of thousands of goals; none of the old ones that the node keeps.
        self.answers = GoalAnswers(self.node, self.target, KEEP_ALL_QOS)
        self.publishers = {topic: self.node.create_publisher(
            message_class(kind), f'{self.target}/{topic}',
            1 if _newest_only(topic) else KEEP_ALL_QOS) for topic, kind in goal_topics().items()}
        self._triggers = {service: self.node.create_client(Trigger, f'{self.target}/{service}')
                          for service in ('home', 'plan', 'list_postures')}
        self._stop = RepeatedStop(self.node, self.target, self.post)
        self._parameters = self.node.create_client(GetParameters,
                                                   f'{self.target}/get_parameters')
        self._setter = self.node.create_client(SetParametersAtomically,
                                               f'{self.target}/set_parameters_atomically')
        self._saver = self.node.create_client(SetParametersAtomically,
                                              f'{self.target}/save_named')
        self._pauser = self.node.create_client(SetBool, f'{self.target}/pause')
        publishers = [*self.publishers.values(), *create(self)]
        connect(self.node, self.target, max(end - monotonic(), 1.0), timeout, publishers,
                [*self._triggers.values(), self._stop.client, self._setter, self._saver,
                 self._pauser],
                self.wait_until)
        self.wait_until(lambda: self.instance, ANSWER_TIMEOUT_S)
        self._greeted = self.instance
        if self.parameters(['use_sim_time'])['use_sim_time']:
            self._use_simulated_time()
        self.node.create_timer(WATCH_PERIOD_S, self._watch, clock=steady_clock())

    def _use_simulated_time(self) -> None:
        self.node.set_parameters([Parameter('use_sim_time', value=True)])
        if not self.wait_until(lambda: self.node.get_clock().now().nanoseconds > 0,
                               CLOCK_PATIENCE_S):
            raise ClientError(f'{self.target} uses simulated time, but no /clock arrives; start '
                              'the simulation, or set use_sim_time of the node to false')

    # ---- the thread ---------------------------------------------------------

    def _run(self) -> None:
        while not self._closing and self.context.ok():
            if self._interrupted:
                self.stop_if_moving()
                self._interrupted = False
            try:
                self._executor.spin_once(timeout_sec=SPIN_PERIOD_S)
            except Exception:  # noqa: BLE001 - a callback of the user, or the end of the context
                if self.context.ok():
                    traceback.print_exc()
            with self.lock:
                self.lock.notify_all()
        if not self._closing:
            self._on_shutdown()

    def _on_shutdown(self) -> None:
        """ROS was shut down, as the handler of rclpy does at Ctrl-C: stop the arm all the same."""
        if self._moving() or self._stopping is not None and not self._stopping.done:
            _tell(stop_without(self.target))
        self._give_up(ClientError('ROS was shut down before an answer came'))

    def interrupt(self) -> None:
        """Have the arm stopped if a goal is open; takes no lock."""
        self._interrupted = True
        self._wake()

    def post(self, call: Callable[[], object]) -> None:
        """Have something done in the thread."""
        self._posted.append(call)
        self._wake()

    @property
    def in_own_thread(self) -> bool:
        """Return whether this is called in the thread, by a callback."""
        return current_thread() is self._thread

    def run_in_thread(self, call: Callable[[], object]) -> None:
        """
        Do something in the thread, and return or raise when it is done; it must not wait.

        Raises
        ------
        ClientError
            If the thread is busy for long, as in a callback of the user; it is not done then.

        """
        if self.in_own_thread:
            call()
            return
        done: Future[object] = Future()

        def run() -> None:
            if not done.set_running_or_notify_cancel():
                return
            try:
                done.set_result(call())
            except Exception as error:  # noqa: BLE001 - raised where it was asked for
                done.set_exception(error)

        self.post(run)
        if not self.wait_until(done.done, SERVICE_PATIENCE_S) and done.cancel():
            raise ClientError('a callback holds up the thread of the client; do in it what takes '
                              'no time')
        done.result()

    def _wake(self) -> None:
        with suppress(RuntimeError, InvalidHandle):  # ROS may be shut down at this moment
            self._guard.trigger()

    def _run_posted(self) -> None:
        while self._posted:
            try:
                self._posted.popleft()()
            except Exception:  # noqa: BLE001 - a callback of the user
                traceback.print_exc()

    def run_callback(self, call: Callable[[], object]) -> None:
        """Have a callback of the user called, by the executor of the user's node if any."""
        if self._user_guard is not None:
            self._user_calls.append(call)
            self.wake_user()
        elif self.context.ok() and not self._closing:
            self.post(call)
        else:
            call()

    def wake_user(self) -> None:
        """Wake the executor of the user's node."""
        if self._user_guard is not None:
            with suppress(RuntimeError, InvalidHandle):
                self._user_guard.trigger()

    def _run_calls(self) -> None:
        while self._user_calls:
            self._user_calls.popleft()()

    def wait_until(self, condition: Callable[[], object], timeout: float | None) -> bool:
        """
        Wait until a condition holds; return False if the time (s) runs out.

        Raises
        ------
        ClientError
            In the thread of this connection, which would wait for itself.

        """
        if condition():
            return True
        if self.in_own_thread:
            raise ClientError('waiting in a callback that the client itself runs would never '
                              'end; add another callback, or give the client a node of yours '
                              '(Arm(node=...)), whose executor runs the callbacks')
        end = None if timeout is None else monotonic() + timeout
        with self.lock:
            while not condition():
                if not self._thread.is_alive():
                    raise ClientError('the client was closed, or ROS was shut down')
                left = LOOK_PERIOD_S if end is None else min(end - monotonic(), LOOK_PERIOD_S)
                if left <= 0.0:
                    return False
                self.lock.wait(left)
        return True

    # ---- handles ------------------------------------------------------------

    def opened(self, handle: Handle[Any]) -> None:
        """Take note of something that was asked."""
        with self.lock:
            self.require_open()
            if self._quiet():
                handle.instance = ''  # of the node that is heard next
            self._open.add(handle)
            if handle.moves:
                self._stop.cease()

    def ended(self, handle: Handle[Any]) -> None:
        """Take note of its end."""
        self._open.discard(handle)

    def require_open(self) -> None:
        """Raise a ClientError if the connection was closed."""
        if self._closing:
            raise ClientError('the client was closed; make another Arm')
        if not self._thread.is_alive():
            raise ClientError('ROS was shut down; make another Arm after rclpy.init()')

    def greet_again(self) -> None:
        """
        Wait until a node that was started again, or may have been, hears this client.

        Raises
        ------
        NodeUnreachableError
            If it does not answer.

        """
        if self.instance == self._greeted and not self._quiet() or self.in_own_thread:
            return
        instance = self.instance
        if not greet(self.node, self.target, SERVICE_PATIENCE_S, self.publishers['goal_pose'],
                     self.wait_until):
            raise NodeUnreachableError(f'{self.target} does not answer within '
                                       f'{SERVICE_PATIENCE_S:g} s; start it again if it has ended')
        self._greeted = instance

    def _quiet(self) -> bool:
        """Return whether the node was not heard for so long that another may be in its place."""
        return monotonic() - self._heard.get(self.instance, -FORGOTTEN_S) > QUIET_NODE_S

    def _give_up(self, error: Exception) -> None:
        for handle in [*self._open]:
            handle.finish(error=error)

    # ---- services -----------------------------------------------------------

    def trigger(self, service: str) -> Handle[str]:
        """Call a service of type Trigger; the result is the sentence of the node."""
        return self._ask(self._triggers[service], Trigger.Request(), service)

    def pause(self, rest: bool) -> Handle[str]:
        """Call ``~/pause``; the result is the sentence of the node."""
        return self._ask(self._pauser, SetBool.Request(data=rest), 'pause')

    def stop(self) -> Handle[str]:
        """Stop the arm, by ``~/halt`` and ``~/stop`` until that succeeds, or it takes too long."""
        handle: Handle[str] = Handle(self, f'{self.target}/stop')
        stop = self._stop.begin(partial(_take_sentence, handle))
        handle.on_end(lambda: self._stop.forget(stop))
        return handle

    def require_no_stop_since(self, count: int) -> None:
        """Raise a ClientError if a stop was asked for since there were so many."""
        if self._stop.count != count:
            raise ClientError('a stop was asked for meanwhile; the goal is not sent')

    def await_ready(self) -> int:
        """
        Wait until the node hears this client and no stop is under way, unless a callback calls.

        Return how many stops have been asked for.

        A goal ends the repetition of stops, so that none ends it; if it is refused, only a stop
        that was answered has ended what moved before.

        Raises
        ------
        NodeUnreachableError
            If the node does not answer.
        ClientError
            If another stop is asked for meanwhile: it is later than the goal.

        """
        count = self._stop.count
        self.greet_again()
        if not self.in_own_thread:
            self.wait_until(lambda: not self._stop.is_open, PATIENCE_S)
        self.require_no_stop_since(count)
        return count

    def _ask(self, client: Client, request: Any, service: str) -> Handle[str]:
        handle: Handle[str] = Handle(self, f'{self.target}/{service}')
        self.call(client, request, partial(_take_sentence, handle))
        return handle

    def call(self, client: Client, request: Any, take: Callable[[Any], None]) -> None:
        """Call a service; `take` gets the response, in the thread."""
        self.post(lambda: client.call_async(request).add_done_callback(
            lambda future: take(future.result())))

    def parameters(self, names: Sequence[str]) -> dict[str, Any]:
        """
        Return the values of parameters of the node; None for one that has no value.

        Raises
        ------
        AnswerTimeoutError
            If it does not answer.

        """
        # Each by itself: rclpy returns none at all if one of them has no value.
        asked: dict[str, Handle[Any]] = {}
        for name in names:
            asked[name] = Handle(self, f'{self.target}/get_parameters')
            self.call(self._parameters, GetParameters.Request(names=[name]), asked[name].finish)
        values = {name: handle.wait(SERVICE_PATIENCE_S).values for name, handle in asked.items()}
        return {name: parameter_value_to_python(found[0]) if found else None
                for name, found in values.items()}

    def set_parameters(self, values: Mapping[str, Any],
                       before_end: Callable[[], None] = lambda: None) -> Handle[None]:
        """
        Set parameters of the node, all or none; fails with its reason.

        `before_end` is called once they are set, before whoever waits for the handle goes on.
        """
        handle: Handle[None] = Handle(self, f'{self.target}/set_parameters_atomically')
        self._set(self._setter, values, handle, lambda _reason: before_end())
        return handle

    def save_named(self, name: str) -> Handle[str]:
        """Call ``~/save_named``; the result is the sentence of the node."""
        handle: Handle[str] = Handle(self, f'{self.target}/save_named')
        self._set(self._saver, {name: None}, handle, printable)
        return handle

    def _set(self, client: Client, values: Mapping[str, Any], handle: Handle[Any],
             result: Callable[[str], Any]) -> None:
        def take(response: Any) -> None:
            reason = response.result.reason
            if response.result.successful:
                handle.finish(result(reason))
            else:
                handle.finish(error=ClientError(printable(reason)))

        self.call(client, SetParametersAtomically.Request(parameters=[
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]),
            take)

    # ---- whether the node lives ---------------------------------------------

    def _on_instance(self, message: String) -> None:
        self.instance = message.data
        now = monotonic()
        self._heard = {text: heard for text, heard in self._heard.items()
                       if now - heard < FORGOTTEN_S} | {message.data: now}
        for handle in [*self._open]:
            handle.instance = handle.instance or message.data

    def _watch(self) -> None:
        """End the open handles if the node has ended."""
        now = monotonic()
        self._watched, before = now, self._watched
        if now - before > GONE_S:  # this program stood still itself: announcements may wait
            self._heard = dict.fromkeys(self._heard, now)
            return
        if self.node.count_publishers(f'{self.target}/answers'):
            self._gone_since = None
        elif self._gone_since is None:
            self._gone_since = now
        if self._gone_since is not None and now - self._gone_since > GONE_S:
            self._give_up(NodeUnreachableError(
                f'{self.target} has ended; what the arm does is not known; start it again'))
        for handle in [*self._open]:
            silent = now - self._heard.get(handle.instance, now - FORGOTTEN_S) \
                if handle.instance else 0.0
            # One that has begun nothing yet may be compiling.
            if silent > SILENT_NODE_S and handle.moves and (
                    handle.begun or handle.instance != self.instance):
                handle.finish(error=NodeUnreachableError(
                    f'{self.target} was not heard for {silent:.0f} s: its process has ended, or '
                    'stands still; what the arm does is not known'))

    # ---- the end ------------------------------------------------------------

    def _moving(self) -> bool:
        return any(handle.moves for handle in [*self._open])

    def stop_if_moving(self) -> None:
        """Stop the arm if a goal is open; :meth:`close` waits for the answer to that."""
        if self._moving() and self._thread.is_alive() \
                and (self._stopping is None or self._stopping.done):
            self._stopping = self.stop()

    def close(self) -> None:
        """Wait until a stop that was asked for is answered, then leave ROS; only once."""
        if self.in_own_thread:
            raise ClientError('a callback that the client itself runs cannot close it')
        with self.lock:
            if self._close_began:
                return
            self._close_began = True
        forget(self)
        if self._thread.is_alive():
            self._await_stop()
        self._closing = True
        self._wake()
        self._thread.join(STOP_PATIENCE_S + 2 * SERVICE_PATIENCE_S)
        self._give_up(ClientError('the client was closed before an answer came'))
        self._executor.shutdown(0.0)
        if self._user_guard is not None and self._user.context.ok():
            self._user.destroy_guard_condition(self._user_guard)
        self.node.destroy_node()

    def _await_stop(self) -> None:
        """Wait until a stop that was begun is answered; say so if it was not."""
        try:
            if self.wait_until(lambda: not self._interrupted, STOP_PATIENCE_S) \
                    and self._stopping is not None:
                self._stopping.wait(STOP_PATIENCE_S)
        except ClientError as error:
            if self.context.ok():  # else the thread has seen to it
                _tell(f'the arm may still move: {error}')


def _newest_only(topic: str) -> bool:
    return topic.startswith('preview_') or topic == 'goal_stream'


def _take_sentence(handle: Handle[str], response: Any) -> None:
    """End a handle by the response of a service that says in a sentence what it did."""
    sentence = printable(response.message)
    if response.success:
        handle.finish(sentence)
    else:
        handle.finish(error=ClientError(f'{handle.what}: {sentence}'))


def _tell(sentence: str) -> None:
    if sentence:
        print(f'ik_node.client: {sentence}', file=sys.stderr)


def stop_without(target: str) -> str:
    """
    Stop the arm from a context of its own, where that of the program has ended.

    Returns
    -------
    str
        Why it may not have been stopped; '' if the node has stopped it.

    """
    context = new_context()
    node = rclpy.create_node('arm_client_stop', context=context, enable_rosout=False,
                             start_parameter_services=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    stop, answers = RepeatedStop(node, target, search_time=PATIENCE_S), []
    try:
        stop.begin(answers.append)
        if not wait_for(node, lambda: answers, STOP_PATIENCE_S, executor):
            return 'the arm may still move: this program had no time to wait for the answer'
        return '' if answers[0].success \
            else f'the arm may still move: {printable(answers[0].message)}'
    finally:
        executor.shutdown(0.0)
        node.destroy_node()
        context.shutdown()
