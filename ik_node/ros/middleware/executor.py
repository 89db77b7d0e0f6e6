# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
An executor for one thread that takes less processor time for each message than rclpy's own.

rclpy (humble, jazzy) makes a new wait set and a task for each callback, and wakes itself by it
once more.  So a node takes 1.4 to 1.7 times as much processor time in a stream at 100 Hz, 2.5
times as much at rest, and goals in motion wait 7 to 21 % longer (2026-11-29).  Nor does it tell
when and by which host messages were sent, so that none moves the arm that was sent before a stop.
Private parts of rclpy are used here alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any, NamedTuple

from rclpy.client import Client
from rclpy.event_handler import EventHandler
from rclpy.exceptions import InvalidHandle
from rclpy.executors import await_or_execute, SingleThreadedExecutor
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.task import Task
from rclpy.timer import Timer
from rclpy.utilities import timeout_sec_to_nsec
from rclpy.waitable import Waitable

from ik_node.ros.middleware.clocks import being_answered, take_message

TASK_PERIOD_S = 0.005  # between two looks whether what a coroutine awaits is there
EVENT_PERIOD_S = 0.2  # between two looks for events of QoS, of which every publisher has some


def make_executor() -> SingleThreadedExecutor:
    """Return a :class:`NodeExecutor`, or rclpy's own if it lacks a needed feature."""
    executor = NodeExecutor()
    usable = hasattr(Subscription, 'CallbackType') and hasattr(_rclpy.Timer, 'call_timer') \
        and hasattr(executor, '_tasks') and not hasattr(executor, '_execute_service')  # Humble
    if usable:
        return executor
    executor.shutdown()
    return SingleThreadedExecutor()


class Kind(NamedTuple):
    """All entities of one kind that the nodes of an executor have."""

    name: str  # in rclpy's wait sets
    run: Callable[[Any], None]
    handles: list[Any]
    entities: dict[int, Any]  # by the pointers of their handles


class Round(NamedTuple):
    """What is waited for: entities, and waitables, which have some of several kinds."""

    wait_set: Any
    additions: list[tuple[Callable[[Any], Any], list[Any]]]
    kinds: list[Kind]
    waitables: list[Waitable]


class NodeExecutor(SingleThreadedExecutor):
    """
    Runs callbacks with kept wait sets, and without a task for each.

    Callbacks of timers, subscriptions and guard conditions must be plain functions, not
    coroutines.  Like rclpy's executors it runs all callbacks that are ready before it waits again.
    Coroutines of services and actions that await something are resumed every TASK_PERIOD_S, and
    not all the time.  Events of QoS are looked for every EVENT_PERIOD_S if the waits are shorter:
    a node has more of them than of all else, and they hardly ever happen.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ready: deque[tuple[Callable[[Any], None], Any]] = deque()
        # Without events of QoS, and with them.
        self._rounds: tuple[Round, Round] | None = None
        self._changes, self._known_changes = 0, -1  # of what the nodes have
        self._next_events = 0.0
        self._awaiting: list[Task] = []

    def wake(self) -> None:
        """Wait anew, with what the nodes now have."""
        self._changes += 1
        super().wake()

    def add_node(self, node: Node) -> bool:
        """Run the callbacks of a node, too."""
        added = super().add_node(node)
        self.wake()
        return added

    def remove_node(self, node: Node) -> None:
        """No longer run the callbacks of a node."""
        super().remove_node(node)
        self.wake()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Run one callback, if one is or becomes ready in time."""
        if not self._ready:
            self._wait(timeout_sec)
        if self._ready:
            run, entity = self._ready.popleft()
            run(entity)

    def _wait(self, timeout_sec: float | None) -> None:
        """Wait, and note the ready entities."""
        with self._tasks_lock:
            tasks = [task for task, _, _ in self._tasks if not (task.done() or task.cancelled())]
            self._tasks.clear()
        awaiting, self._awaiting = self._awaiting, []
        if tasks:
            timeout_sec = 0.0
        elif awaiting and (timeout_sec is None or not 0.0 <= timeout_sec <= TASK_PERIOD_S):
            timeout_sec = TASK_PERIOD_S
        now = monotonic()
        looks = timeout_sec is None or timeout_sec > EVENT_PERIOD_S or now > self._next_events
        if looks:
            self._next_events = now + EVENT_PERIOD_S
        wait_set, additions, kinds, waitables = self._known()[looks]
        wait_set.clear_entities()
        for add, handles in additions:
            for handle in handles:
                add(handle)
        for waitable in waitables:
            waitable.add_to_wait_set(wait_set)
        wait_set.wait(timeout_sec_to_nsec(timeout_sec))
        self._ready += [(self._run_task, task) for task in (*tasks, *awaiting)]
        if not self._context.ok():
            return
        # Each is asked: some are ready only once.
        self._ready += [(self._run_waitable, each) for each in waitables
                        if each.is_ready(wait_set)]
        for name, run, _, entities in kinds:
            # Those of the waitables are ready, too.
            self._ready += [(run, entities[pointer]) for pointer in
                            wait_set.get_ready_entities(name) if pointer in entities]

    def _known(self) -> tuple[Round, Round]:
        """Return what is waited for, listed anew if something came or went."""
        if self._rounds is None or self._known_changes != self._changes:
            self._known_changes = self._changes  # before: what comes meanwhile is another change
            nodes = self.get_nodes()
            kinds = [
                _kind('timer', _run_timer, [each for node in nodes for each in node.timers]),
                _kind('subscription', _take_message,
                      [each for node in nodes for each in node.subscriptions]),
                _kind('guard_condition', _run_guard, [
                    *(each for node in nodes for each in node.guards),
                    self._guard, self._sigint_gc]),
                _kind('client', self._run_client,
                      [each for node in nodes for each in node.clients]),
                _kind('service', self._run_service,
                      [each for node in nodes for each in node.services])]
            waitables = [each for node in nodes for each in node.waitables]
            others = [each for each in waitables if not isinstance(each, EventHandler)]
            self._rounds = self._round(kinds, others), self._round(kinds, waitables)
        return self._rounds

    def _round(self, kinds: list[Kind], waitables: list[Waitable]) -> Round:
        """Return a wait set with room for all entities, and what to add to it."""
        sizes = {kind.name: len(kind.handles) for kind in kinds} | {'event': 0}
        for waitable in waitables:
            needs = waitable.get_num_entities()
            for name in sizes:
                sizes[name] += getattr(needs, f'num_{name}s')
        wait_set = _rclpy.WaitSet(*(sizes[name] for name in (
            'subscription', 'guard_condition', 'timer', 'client', 'service', 'event')),
            self._context.handle)
        return Round(wait_set, [(getattr(wait_set, f'add_{kind.name}'), kind.handles)
                                for kind in kinds], kinds, waitables)

    def _run_task(self, task: Task) -> None:
        task()
        if not task.done():
            self._awaiting.append(task)
        elif task.exception() is not None:
            raise task.exception()

    def _run_coroutine(self, function: Callable[[], Any] | None) -> None:
        if function is not None:
            self._run_task(Task(function, (), executor=self))

    def _run_waitable(self, waitable: Waitable) -> None:
        self._run_coroutine(self._take_waitable(waitable))

    def _run_client(self, client: Client) -> None:
        self._run_coroutine(self._take_client(client))

    def _run_service(self, service: Service) -> None:
        try:
            with service.handle:
                request, header = service.handle.service_take_request(service.srv_type.Request)
        except InvalidHandle:
            return

        async def answer() -> None:
            with being_answered(request, service, header):
                response = await await_or_execute(service.callback, request,
                                                  service.srv_type.Response())
            service.send_response(response, header)

        if header is not None:
            self._run_coroutine(answer)


def _kind(name: str, run: Callable[[Any], None], entities: list[Any]) -> Kind:
    handles = [each.handle for each in entities]
    return Kind(name, run, handles, {handle.pointer: each
                                     for handle, each in zip(handles, entities)})


def _run_timer(timer: Timer) -> None:
    try:
        with timer.handle:
            if not timer.handle.is_timer_ready():
                return  # cancelled since
            timer.handle.call_timer()
    except InvalidHandle:
        return  # destroyed since
    timer.callback()


def _run_guard(guard: GuardCondition) -> None:
    if guard.callback is not None:  # guards of the executor have none
        guard.callback()


def _take_message(subscription: Subscription) -> None:
    try:
        taken = take_message(subscription)
    except InvalidHandle:
        return
    if taken is None:
        return
    alone = subscription._callback_type is Subscription.CallbackType.MessageOnly
    subscription.callback(*taken[:1 if alone else 2])
