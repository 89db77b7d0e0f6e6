# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and the end of a program: the arm is stopped before."""

from __future__ import annotations

import atexit
import signal
import sys
import threading
from types import FrameType
from typing import Any, Protocol
from weakref import WeakSet

from rclpy.signals import get_current_signal_handlers_options, SignalHandlerOptions

from ik_node.base.signals import END_SIGNALS

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
