# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Runs one node in one process, with a clean end on SIGINT and SIGTERM."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
import gc
import os
import signal
import sys
import traceback
from typing import Any, NoReturn, Protocol

import rclpy
from rclpy.clock import Clock
from rclpy.exceptions import NameValidationException, NotInitializedException
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from ik_node.base.errors import IkNodeError
from ik_node.base.system import END_SIGNALS, INTERRUPTED_CODE
from ik_node.ros.middleware.executor import make_executor

SIGNAL_LATENCY_S = 0.1  # maximum delay of a signal while nothing else happens
SWITCH_INTERVAL_S = 1e-3  # after which a thread of Python yields to another


def forget_garbage() -> None:
    """
    Freeze all current objects (gc.freeze), so that later collections skip them.

    When a node is ready these are most of the objects it will ever have, including the
    compiler; scanning them takes far longer than a goal, or the period of joint states.
    """
    gc.unfreeze()  # objects of an earlier robot may be garbage
    gc.collect()
    gc.freeze()


class ClosableNode(Protocol):
    """What :func:`run` needs of a node."""

    def close(self) -> None:
        """Finish before the process ends."""


def leave(node: Node | None, code: int) -> NoReturn:
    """
    End the process with an exit code; the node leaves the ROS graph first.

    Destroying the last node of a process destroys its DDS participant, which in some builds of
    Fast DDS loops forever if another process leaves at the same moment
    (eProsima/Fast-DDS#6513).  So a hidden node keeps the participant, the node is destroyed,
    and the process ends without destroying the rest.
    """
    keepers = []  # a node without a reference would be destroyed at once
    if node is not None:
        # A signal may shut rclpy down at this moment; the process ends in any case.
        with suppress(RuntimeError, NotInitializedException):
            keepers.append(rclpy.create_node('_leaving', enable_rosout=False,
                                             start_parameter_services=False))
            node.destroy_node()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run_tool(name: str, work: Callable[[Any], int],
             create: Callable[[], Node] | None = None) -> NoReturn:
    """
    Run a command that talks to other nodes, and end the process with the code that it returns.

    `create` makes its node, if another one is needed than one that has nothing of its own.

    An IkNodeError ends it with its sentence and the code 2, Ctrl-C with INTERRUPTED_CODE.
    """
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = create() if create is not None else rclpy.create_node(
        f'_ik_{name}', enable_rosout=False, start_parameter_services=False)
    try:
        code = work(node)
    except KeyboardInterrupt:
        code = INTERRUPTED_CODE
    except IkNodeError as error:
        print(f'{name}: {error}', file=sys.stderr)
        code = 2
    leave(node, code)


def run(name: str, make_node: Callable[[], ClosableNode],
        args: list[str] | None = None) -> NoReturn:
    """
    Run a node, with those in its attribute `nodes`, until SIGINT or SIGTERM; end the process.

    Exit code 0 after a signal, 1 if the node could not start, with one sentence
    in the log.  rclpy's own signal handlers would shut the context down immediately, so that
    the arm could not be stopped and open goals not be answered; so signals only end the loop.
    """
    spinning = ended = False

    def end(_signal: int, _frame: object) -> None:
        nonlocal ended
        ended = True
        if not spinning:
            leave(None, 0)

    for number in END_SIGNALS:
        signal.signal(number, end)
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        node = make_node()
    except IkNodeError as error:
        get_logger(name).fatal(str(error))
        leave(None, 1)
    except SystemExit:  # it has said why
        leave(None, 1)
    # rcl's own complaints: arguments, parameter files; a parameter that makes no name of a topic
    except (RuntimeError, NameValidationException) as error:
        get_logger(name).fatal(f'cannot start: {str(error).splitlines()[0]}')
        leave(None, 1)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    executor = make_executor()
    for each in getattr(node, 'nodes', (node,)):
        executor.add_node(each)
    spinning = True
    while not ended and rclpy.ok():
        try:
            executor.spin_once(timeout_sec=SIGNAL_LATENCY_S)
        except Exception:  # noqa: BLE001 - whatever one message did, the node lives
            get_logger(name).error('a callback failed:\n' + traceback.format_exc())
    node.close()
    for each in executor.get_nodes():
        executor.remove_node(each)
    leave(node, 0)


CHECK_PERIOD_S = 0.1
CHECKS_PER_REPORT = 10


class PeriodicReport:
    """
    Calls a function once a second, and earlier when a state changes.

    Parameters
    ----------
    report : callable
        Publishes the report.
    state : callable
        Returns what a change of is reported within CHECK_PERIOD_S.

    """

    def __init__(self, node: Node, clock: Clock, report: Callable[[], None],
                 state: Callable[[], Hashable]) -> None:
        self._publish, self._state = report, state
        self._last: Hashable = None
        self._checks = 0
        node.create_timer(CHECK_PERIOD_S, self._check, clock=clock)

    def _check(self) -> None:
        state = self._state()
        self._checks += 1
        if state != self._last or self._checks >= CHECKS_PER_REPORT:
            self._last, self._checks = state, 0
            self._publish()


def in_thread(call: Callable[..., object], *arguments: object) -> Future:
    """Return the future result of a call that is made in another thread."""
    thread = ThreadPoolExecutor(1, 'plan')
    result = thread.submit(call, *arguments)
    thread.shutdown(wait=False)  # it ends with the call
    return result
