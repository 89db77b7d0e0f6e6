# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The signals that end a program, its exit code then, and how they are kept waiting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import signal
import threading

END_SIGNALS = signal.SIGINT, signal.SIGTERM
INTERRUPTED_CODE = 130  # the exit code that shells give


@contextmanager
def signals_deferred() -> Iterator[None]:
    """
    Handle END_SIGNALS that come during the block after it.

    For code that loses the exceptions of a handler.  Only the main thread handles signals; in
    another one nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handlers = {number: signal.signal(number, lambda number, _: received.append(number))
                for number in END_SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number in received:
        signal.raise_signal(number)
