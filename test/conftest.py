# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How tests are run: examples that stay the same, the order of files, compiled kernels.

Hypothesis draws the same examples every time; others with ``--hypothesis-profile explore``.
"""

import os
from pathlib import Path
import subprocess
import sys

from hypothesis import settings
import pytest

HERE = Path(__file__).parent
# Files that take longest, minutes of motion in real time: processes begin with them.
LONGEST_FIRST = tuple(f'ros/test_{name}.py' for name in (
    'viewer_page', 'demo', 'doctor', 'watching', 'joint_states', 'lifecycle', 'stream_ends',
    'stream', 'interruption', 'takeover', 'interruption_of_paths', 'sim_faults',
    'position_output', 'collisions', 'fault_process', 'start_and_end',
    'fault_graph', 'send_goal', 'goal_kinds', 'fault_clock', 'scene_topics', 'motion',
    'parameters', 'fault_restart', 'sim_start', 'soak', 'live_parameters', 'goal_order',
    'fault_states', 'health', 'fuzz_viewer', 'fuzz_messages', 'interactive_goal'))

# Programs under test must not know that `make test` started them.
for name in ('MAKELEVEL', 'MAKEFLAGS', 'MFLAGS'):
    os.environ.pop(name, None)

settings.register_profile('same', derandomize=True)
settings.register_profile('explore', derandomize=False, print_blob=True)
settings.load_profile('same')


class FailureReporter:
    """Reports a failed or repeated test when it happens: the run may be cut off later."""

    def __init__(self, reporter):
        self._reporter = reporter

    def pytest_runtest_logreport(self, report):
        """Write why a test failed."""
        if report.outcome in ('failed', 'rerun'):
            self._reporter.section(f'{report.outcome}: {report.nodeid}')
            self._reporter.write_line(report.longreprtext)


class KernelLoader:
    """
    Compiles what is not compiled, once, before several processes would all do it.

    They start and collect meanwhile.
    """

    def __init__(self):
        self._running = subprocess.Popen([sys.executable, HERE / 'ros/warm.py', '--load-only'])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self):
        """Wait before the first test."""
        assert self._running.wait() == 0, 'the kernels cannot be loaded'


def pytest_configure(config):
    """Keep our order of files in `pytest -n`, where the files with most tests come first."""
    if getattr(config.option, 'loadscopereorder', None):
        config.option.loadscopereorder = False


def pytest_sessionstart(session):
    plugins = session.config.pluginmanager
    plugins.register(FailureReporter(plugins.get_plugin('terminalreporter')))
    if getattr(session.config.option, 'numprocesses', None):  # not in its workers
        plugins.register(KernelLoader())


def pytest_collection_modifyitems(items):
    """
    Put the longest files first, then other tests over DDS, then those of the library.

    Tests over DDS wait most of the time, in motions that take as long as they take.
    """
    def place(item):
        file = item.path.relative_to(HERE).as_posix()
        return (LONGEST_FIRST.index(file) if file in LONGEST_FIRST else len(LONGEST_FIRST),
                not file.startswith('ros/'))

    items.sort(key=place)
