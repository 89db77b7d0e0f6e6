# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
An executor for one thread that takes less processor time for each message than rclpy's own.

rclpy (humble, jazzy) makes a new wait set and a task for each callback, and wakes itself by it
once more.  So a node takes 1.4 to 1.7 times as much processor time in a stream at 100 Hz, 2.5
times as much at rest, and goals in motion wait 7 to 21 % longer (2026-11-29).  Nor does it tell
when and by which host messages were sent, so that none moves the arm that was sent before a stop.
Private parts of rclpy are used here alone.

Even a kept wait set takes time for each entity, of which the node has 150 and which hardly ever
have anything.  So each notifies the executor when it has something, and only that is asked.
That takes a quarter of the node's processor time at rest (2026-11-30).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
import ctypes
from functools import partial
from math import inf
import os
import resource
import select
from time import monotonic
from typing import Any, NamedTuple

from rclpy.action import ActionClient, ActionServer
from rclpy.client import Client
from rclpy.clock import ClockType
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

from ik_node.ros.middleware.clocks import being_answered, RCL_OK, take_message

TASK_PERIOD_S = 0.005  # between two looks whether what a coroutine awaits is there
LOOK_PERIOD_S = 0.5  # between two looks at all entities
FD_SETSIZE = 1024  # of select
FILES_SHARE = 0.5  # of the files that a process may open, for what notifies


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
    """What is looked at: entities, and waitables, which have some of several kinds."""

    wait_set: Any
    additions: list[tuple[Callable[[Any], Any], list[Any]]]
    kinds: list[Kind]
    waitables: list[Waitable]


Run = Callable[[Any], None]

# What sets the function that is called when an entity has something, or when a timer is reset.
_SETTERS = {
    Subscription: ('rcl_subscription_set_on_new_message_callback',),
    Client: ('rcl_client_set_on_new_response_callback',),
    Service: ('rcl_service_set_on_new_request_callback',),
    Timer: ('rcl_timer_set_on_reset_callback',),
    ActionServer: tuple(f'rcl_action_server_set_{part}_service_callback'
                        for part in ('goal', 'cancel', 'result')),
    ActionClient: (*(f'rcl_action_client_set_{part}_client_callback'
                     for part in ('goal', 'cancel', 'result')),
                   *(f'rcl_action_client_set_{part}_subscription_callback'
                     for part in ('feedback', 'status')))}


class Notifier:
    """
    Tells which entities have something: each has an eventfd, to which the middleware writes.

    It does so by ``eventfd_write`` in threads of its own, without Python.

    Raises
    ------
    OSError, AttributeError
        If the system, or this version of rclpy, has no such thing.

    """

    # An eventfd is never closed: what is destroyed may be written of a last time.  Another entity
    # that has it then is looked at in vain.
    _free: deque[int] = deque()

    def __init__(self) -> None:
        self._poll = select.epoll()
        if ctypes.sizeof(ctypes.c_size_t) < 8:
            raise OSError('the arguments of eventfd_write are not those of a callback of rcl')
        if self._poll.fileno() >= FD_SETSIZE:
            raise OSError('select cannot wait for so many files')
        self._write = ctypes.cast(ctypes.CDLL(None).eventfd_write, ctypes.c_void_p)
        library = ctypes.CDLL(_rclpy.__file__)  # finds what it is linked against
        self._setters = {kind: [library[name] for name in names]
                         for kind, names in _SETTERS.items()}
        self._fds: dict[Any, int] = {}
        self._entities: dict[int, tuple[Any, Run]] = {}  # by eventfd

    def keep(self, entities: dict[Any, Run]) -> bool:
        """Have just these notify, and how they are run; return whether all can."""
        if len(entities) > FILES_SHARE * resource.getrlimit(resource.RLIMIT_NOFILE)[0]:
            return False
        for entity in self._fds.keys() - entities.keys():
            with suppress(InvalidHandle):  # destroyed since
                self._set(entity, None, None)
            fd = self._fds.pop(entity)
            del self._entities[fd]
            self._poll.unregister(fd)
            self._free.append(fd)
        for entity in entities.keys() - self._fds.keys():
            try:
                fd = self._eventfd()
            except OSError:  # too many files
                return False
            self._fds[entity], self._entities[fd] = fd, (entity, entities[entity])
            self._poll.register(fd, select.EPOLLIN)
            with suppress(InvalidHandle):
                if not self._set(entity, self._write, fd):
                    return False
        return True

    def _eventfd(self) -> int:
        try:
            return self._free.popleft()
        except IndexError:
            return os.eventfd(0, os.EFD_NONBLOCK)

    def _set(self, entity: Any, function: Any, fd: int | None) -> bool:
        if isinstance(entity, GuardCondition):
            if fd is None:
                del entity.trigger
            else:
                entity.trigger = partial(os.eventfd_write, fd, 1)
            return True
        kind = next((kind for kind in _SETTERS if isinstance(entity, kind)), None)
        if kind is None:
            return False
        handle = getattr(entity, {ActionServer: '_handle', ActionClient: '_client_handle'}.get(
            kind, 'handle'))
        with handle:
            return all(each(ctypes.c_void_p(handle.pointer), function,
                            ctypes.c_void_p(fd)) == RCL_OK for each in self._setters[kind])

    def wait(self, seconds: float) -> list[tuple[Run, Any, int]]:
        """Return how what has something is run, what it is, and how often it notified."""
        notified = []
        # That of poll itself is in whole milliseconds.
        if select.select([self._poll], [], [], seconds)[0]:
            for fd, _ in self._poll.poll(0.0):
                with suppress(BlockingIOError, KeyError):  # another thread removed the node
                    entity, run = self._entities[fd]
                    notified.append((run, entity, os.eventfd_read(fd)))
        return notified


class NodeExecutor(SingleThreadedExecutor):
    """
    Runs callbacks without a wait set and a task for each.

    Callbacks of timers, subscriptions and guard conditions must be plain functions, not
    coroutines.  Like rclpy's executors it runs all callbacks that are ready before it waits again.
    Coroutines of services and actions that await something are resumed every TASK_PERIOD_S, and
    not all the time.  Every LOOK_PERIOD_S all entities are looked at by a wait set: events of QoS
    do not notify, results of actions expire, and none that got lost may leave a message behind.
    Where the middleware or the system cannot notify, the wait set is waited for.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ready: deque[tuple[Run, Any]] = deque()
        # What notified, how it is run, and how often it has still to be: once in each round.
        self._left: dict[Any, tuple[Run, int]] = {}
        self._notifier: Notifier | None = None
        with suppress(OSError, AttributeError):
            self._notifier = Notifier()
        self._all: Round | None = None
        self._most: Round | None = None  # without events of QoS, of which there are most
        self._due: dict[Timer, float] = {}  # when (monotonic s) each is to be looked at
        self._free_timers: list[Timer] = []  # whose clocks may be set
        self._next_look = 0.0
        self._changes, self._known_changes = 0, -1  # of what the nodes have
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
        with self._nodes_lock:
            super().remove_node(node)
            if self._notifier is not None:  # now: later they notify another executor
                self._notifier.keep({self._guard: _run_guard})
        self.wake()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Run no more callbacks."""
        if self._notifier is not None:
            self._notifier.keep({})
        return super().shutdown(timeout_sec)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Run one callback, if one is or becomes ready in time, or within LOOK_PERIOD_S."""
        if not self._ready:
            self._wait(timeout_sec)
        if self._ready:
            run, entity = self._ready.popleft()
            run(entity)

    def _wait(self, timeout_sec: float | None) -> None:
        """Wait, and note the ready entities."""
        tasks: list[Task] = []
        if self._tasks:
            with self._tasks_lock:
                tasks += [each for each, _, _ in self._tasks
                          if not (each.done() or each.cancelled())]
                self._tasks.clear()
        awaiting, self._awaiting = self._awaiting, []
        if tasks or self._left:
            timeout_sec = 0.0
        longest = TASK_PERIOD_S if awaiting else LOOK_PERIOD_S
        if timeout_sec is None or not 0.0 <= timeout_sec <= longest:
            timeout_sec = longest
        if self._known_changes != self._changes:
            self._renew()
        if self._notifier is None:
            those, now = self._most, monotonic()
            if now > self._next_look:
                those, self._next_look = self._all, now + LOOK_PERIOD_S
            ready = self._look(those, timeout_sec)
            self._ready += [(self._run_task, task) for task in (*tasks, *awaiting)] + ready
            return
        for timer in self._free_timers:
            self._set_due(timer)
            if timer.clock.ros_time_is_active and self._due[timer] > monotonic():
                self._due[timer] = inf  # until time comes on /clock
        now = monotonic()
        due = min([now + timeout_sec, *self._due.values()])
        notified = self._notifier.wait(max(due - now, 0.0))
        self._ready += [(self._run_task, task) for task in (*tasks, *awaiting)]
        now = monotonic()
        self._ready += [(self._run_timer, timer) for timer, due in self._due.items() if due <= now]
        for run, entity, times in notified:
            self._left[entity] = run, times + self._left.get(entity, (run, 0))[1]
        for entity, (run, times) in [*self._left.items()]:
            self._ready.append((run, entity))
            if times > 1 and not isinstance(entity, GuardCondition):  # which is only set, or not
                self._left[entity] = run, times - 1
            else:
                del self._left[entity]
        if now > self._next_look:
            found = [each for each in self._look(self._all, 0.0) if each not in self._ready]
            self._ready += found
            # What did not notify may have more.
            self._next_look = 0.0 if found else now + LOOK_PERIOD_S

    def _look(self, those: Round, timeout_sec: float) -> list[tuple[Run, Any]]:
        """Wait by a wait set, and return what is ready and how it is run."""
        wait_set, additions, kinds, waitables = those
        wait_set.clear_entities()
        for add, handles in additions:
            for handle in handles:
                add(handle)
        for waitable in waitables:
            waitable.add_to_wait_set(wait_set)
        wait_set.wait(timeout_sec_to_nsec(timeout_sec))
        if not self._context.ok():
            return []
        # Each is asked: some are ready only once.
        ready = [(self._run_waitable, each) for each in waitables if each.is_ready(wait_set)]
        for name, run, _, entities in kinds:
            # Those of the waitables are ready, too.
            ready += [(run, entities[pointer]) for pointer in
                      wait_set.get_ready_entities(name) if pointer in entities]
        return ready

    def _renew(self) -> None:
        """List anew what there is, because something came or went."""
        with self._nodes_lock:
            self._known_changes = self._changes  # before: what comes meanwhile is another change
            nodes = self.get_nodes()
            timers = [each for node in nodes for each in node.timers]
            guards = [*(each for node in nodes for each in node.guards), self._guard]
            ends: list[tuple[str, Run, list[Any]]] = [
                ('subscription', _take_message,
                 [each for node in nodes for each in node.subscriptions]),
                ('client', self._run_client, [each for node in nodes for each in node.clients]),
                ('service', self._run_service,
                 [each for node in nodes for each in node.services])]
            waitables = [each for node in nodes for each in node.waitables]
            kinds = [_kind('timer', self._run_timer, timers),
                     _kind('guard_condition', _run_guard, [*guards, self._sigint_gc]),
                     *(_kind(*end) for end in ends)]
            actions = [each for each in waitables if not isinstance(each, EventHandler)]
            self._all, self._most = self._round(kinds, waitables), self._round(kinds, actions)
            self._next_look = 0.0
            if self._notifier is not None and not self._notifier.keep({
                    **dict.fromkeys(timers, self._set_due), **dict.fromkeys(guards, _run_guard),
                    **{entity: run for _, run, entities in ends for entity in entities},
                    **dict.fromkeys(actions, self._run_notified)}):
                self._notifier.keep({})
                self._notifier = None
            self._due = {}
            for timer in timers:
                self._set_due(timer)
            self._free_timers = [each for each in timers
                                 if each.clock.clock_type is ClockType.ROS_TIME]

    def _round(self, kinds: list[Kind], waitables: list[Waitable]) -> Round:
        """Return a wait set with room for all entities, and what to add to it."""
        kinds = [kind for kind in kinds if kind.handles]
        sizes = dict.fromkeys(('subscription', 'guard_condition', 'timer', 'client', 'service',
                               'event'), 0) | {kind.name: len(kind.handles) for kind in kinds}
        for waitable in waitables:
            needs = waitable.get_num_entities()
            for name in sizes:
                sizes[name] += getattr(needs, f'num_{name}s')
        wait_set = _rclpy.WaitSet(*sizes.values(), self._context.handle)
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
        if any(waitable in node.waitables for node in self.get_nodes()):  # else destroyed since
            self._run_coroutine(self._take_waitable(waitable))

    def _run_notified(self, waitable: Waitable) -> None:
        """Run a waitable if it has something, as only a wait set tells."""
        with suppress(InvalidHandle):  # destroyed since
            self._ready += self._look(self._round([], [waitable]), 0.0)

    def _run_timer(self, timer: Timer) -> None:
        try:
            _call_timer(timer)
        finally:
            self._set_due(timer)

    def _set_due(self, timer: Timer) -> None:
        """Note when a timer is to be looked at."""
        try:
            left = timer.time_until_next_call()
        except InvalidHandle:  # destroyed since
            left = None
        self._due[timer] = inf if left is None else monotonic() + 1e-9 * left

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


def _call_timer(timer: Timer) -> None:
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
