# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A forked process under test is like a new one: output, exit code, environment, signals."""

import os
from pathlib import Path
import signal
import socket

from harness import Process, process, talking_domains, tool, warm_server
import pytest
from warm import WarmServer


def test_output_and_exit_code():
    """They are those of the program, also where it ends by itself."""
    helped = tool('send_goal', '--help')
    assert helped.wait(30.0) == 0 and '--xyz' in helped.stdout.read()
    wrong = tool('send_goal', '--wrong', errors=True)
    assert wrong.wait(30.0) == 2
    assert '--xyz' in wrong.stderr.read() and not wrong.stdout.read()


def test_each_has_its_own_pid_and_signals(tmp_path, probe):
    """Of two of the same program one is killed, the other one lives and ends cleanly."""
    folders = tmp_path / 'one', tmp_path / 'two'
    for folder in folders:
        folder.mkdir()
    with process('ik_node', folders[0]) as one:
        two = Process('ik_node', folders[1] / 'log')
        for run in (one, two):
            probe.wait(lambda run=run: 'waiting for /robot_description' in run.output)
        assert len({one.pid, two.pid, os.getpid()}) == 3
        two.send(signal.SIGKILL)
        assert two.wait() == -signal.SIGKILL and one.running()
        assert one.stop(signal.SIGTERM) == 0


def lives(pid) -> bool:
    """Return whether a process runs: a zombie does not."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def test_a_child_does_not_outlive_its_server(tmp_path, probe):
    """Nothing is left of a test run that was killed."""
    server, log = WarmServer(), tmp_path / 'log'
    with log.open('w') as file:
        child = server.start('ik_node', ['--ros-args'], os.environ, file.fileno(), file.fileno())
    probe.wait(lambda: 'waiting for' in log.read_text())
    server.kill()
    assert child.wait(10.0) == -signal.SIGKILL
    probe.wait(lambda: not lives(child.pid))


@pytest.mark.parametrize('name, served', [
    ('ROS_DOMAIN_ID', True), ('FASTDDS_BUILTIN_TRANSPORTS', True), ('PYTHONPATH', False),
    ('NUMBA_CACHE_DIR', False), ('LD_PRELOAD', False), ('OPENBLAS_NUM_THREADS', False),
    ('HOME', False)])
def test_variables_read_before_the_fork_need_a_new_process(name, served):
    """A variable that imports read cannot be another in a child."""
    assert warm_server().differences(os.environ) == set()
    assert warm_server().differences({**os.environ, name: '7'}) == (set() if served else {name})


def test_a_domain_with_a_participant_is_seen():
    """By its UDP ports: the test run has one itself, and another domain gets one."""
    assert int(os.environ['ROS_DOMAIN_ID']) in talking_domains()
    free = next(domain for domain in range(1, 101) if domain not in talking_domains())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        participant.bind(('127.0.0.1', 7400 + 250 * free + 10))
        assert free in talking_domains()
    assert free not in talking_domains()
