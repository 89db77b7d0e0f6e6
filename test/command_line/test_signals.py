# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Signals that come at a bad moment."""

import signal
from threading import Thread

import pytest

from ik_node.base.system import END_SIGNALS, signals_deferred


@pytest.mark.parametrize('number', END_SIGNALS)
def test_a_signal_is_handled_after_the_block(number):
    """Once, by the handler from before, which is there again."""
    before = signal.signal(number, signal.default_int_handler)
    done = []
    try:
        with pytest.raises(KeyboardInterrupt):
            with signals_deferred():
                signal.raise_signal(number)
                done.append('the block')
            done.append('no more')
        assert done == ['the block']
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)


def test_in_another_thread_nothing_changes():
    """Only the main thread may set handlers."""
    seen = []

    def work():
        with signals_deferred():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
