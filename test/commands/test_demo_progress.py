# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""While the node compiles, the demonstration shows its progress and waits."""

from types import SimpleNamespace

import pytest

from ik_node.tools.demo import command as demo

LOG_LINES = (
    '[INFO] [1.0] [ik_node]: compiling the solver (once on this machine)',
    '[INFO] [2.0] [ik_node]: joint states are missing',
    '[INFO] [3.0] [ik_node]: compiling: 23 of about 150 functions after 77 s')


@pytest.fixture
def waiting(tmp_path, monkeypatch):
    """Return a function that waits for a node which writes a line of its log each second."""
    def wait(ready_after):
        clock = [0.0]

        def spin(_node, _condition, seconds):
            clock[0] += seconds
            with (tmp_path / 'ik_node.log').open('a') as log:
                log.writelines(line + '\n' for line in LOG_LINES[int(clock[0]) - 1:int(clock[0])])
            return clock[0] >= ready_after

        monkeypatch.setattr(demo, 'wait_for', spin)
        monkeypatch.setattr(demo, 'monotonic', lambda: clock[0])
        demonstration = object.__new__(demo._Demonstration)
        demonstration._logs = tmp_path
        demonstration.witness = SimpleNamespace(ready=lambda: clock[0] >= ready_after)
        return demonstration._wait_until_ready(lambda: True), clock[0]

    return wait


def test_progress_is_shown(waiting, capsys):
    """Each line about the compilation once, and no other line of the log."""
    assert waiting(200.0) == (True, 200.0)
    assert capsys.readouterr().out.splitlines() == [
        '    compiling the solver (once on this machine)',
        '    compiling: 23 of about 150 functions after 77 s']


def test_it_ends_without_progress(waiting):
    """The time counts from the last line about the compilation."""
    ready, seconds = waiting(1e9)
    assert not ready and seconds == pytest.approx(3.0 + demo.START_TIMEOUT_S, abs=2.0)
