# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How tests are run: examples that stay the same, the order of files, compiled kernels.

Hypothesis draws the same examples every time; others with ``--hypothesis-profile explore``.
"""

from functools import cache
import gc
from importlib import import_module
import os
from pathlib import Path
import signal
import sys

from hypothesis import settings
import pytest
from warm import WarmLoader

HERE = Path(__file__).parent
GC_THRESHOLD = 50_000  # new objects between two collections of garbage; Python's takes 3 % longer
# Files that take longest: processes begin with them.  First those that judge motion in real time,
# in an order in which six processes end at about the same time.
LONGEST_FIRST = (*(f'ros/test_{name}.py' for name in (
    'lossy_network', 'jog', 'stream', 'takeover', 'stream_ends', 'stream_commands',
    'late_trajectories', 'position_output', 'sim_faults', 'takeover_by_action',
    'interruption_of_paths', 'stream_takeover',
    'client', 'viewer_page', 'joint_states', 'watching', 'fault_process', 'goal_kinds', 'demo',
    'scene_topics', 'arms_faults', 'fault_graph', 'teach', 'doctor', 'collisions',
    'node_commands', 'start_and_end', 'action_output', 'client_ends', 'lifecycle', 'moveit_scene',
    'client_sequences', 'fault_clock', 'arms', 'pause', 'health', 'unchecked_links', 'stopping',
    'motion_sequences', 'speed', 'handheld', 'node_client', 'parameters', 'viewer_collisions',
    'lost_trajectories', 'named_poses', 'controller_manager', 'send_goal', 'other_joints',
    'fault_restart', 'recordings', 'whole_turns', 'pose_actions', 'handheld_page', 'goals',
    'markers', 'live_parameters', 'action_servers', 'fault_network', 'few_axes', 'previews')),
    'collision/test_bodies.py', 'collision/test_model.py', 'kinematics/test_compilation.py',
    'workspace/test_command.py', 'collision/test_convex.py', 'textbook/test_attempt.py',
    'motion/following/test_follower.py')

# Programs under test must not know that `make test` or pytest's readline started them.
for name in ('MAKELEVEL', 'MAKEFLAGS', 'MFLAGS', 'COLUMNS', 'LINES'):
    os.environ.pop(name, None)
# A shell starts what it runs in the background, such as `make test &`, deaf to Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
gc.disable()  # until all tests are collected, which takes a fifth longer with it
if 'OPENBLAS_NUM_THREADS' not in os.environ:  # the processes of a test run need no more
    os.environ['OPENBLAS_NUM_THREADS'] = '1'
    for name in ('numpy', 'scipy.linalg'):  # read when each is loaded
        import_module(name)
    del os.environ['OPENBLAS_NUM_THREADS']  # programs under test see to it themselves
# There Python finds what keeps their trajectories, for test/ros/recorded.py, and last the messages
# that scripts/build_messages.py builds.
MESSAGES = [str(stamp.parent) for stamp in HERE.parent.glob(
    os.environ.get('IK_NODE_TEST_MESSAGES', '.build/messages') + '/.built')]
PYTHON_PATH = os.pathsep.join(
    [str(HERE / 'ros/recording'), *filter(None, [os.environ.get('PYTHONPATH')]), *MESSAGES])
sys.path += MESSAGES

settings.register_profile('same', derandomize=True, deadline=None)
settings.register_profile('explore', derandomize=False, deadline=None, print_blob=True)
settings.load_profile('same')


class FailureReporter:
    """Reports a failed test when it happens: the run may be cut off later."""

    def __init__(self, reporter):
        self._reporter = reporter

    def pytest_runtest_logreport(self, report):
        """Write why a test failed."""
        if report.failed:
            self._reporter.section(f'failed: {report.nodeid}')
            self._reporter.write_line(report.longreprtext)


class KernelLoader:
    """
    Compiles and loads everything once, for several processes.

    They start and collect meanwhile.
    """

    def __init__(self):
        self._loader = WarmLoader({**os.environ, 'PYTHONPATH': PYTHON_PATH})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self):
        """Wait before the first test."""
        self._loader.wait()


def pytest_configure(config):
    """Keep our order of files in `pytest -n`, where the files with most tests come first."""
    if getattr(config.option, 'loadscopereorder', None):
        config.option.loadscopereorder = False


def pytest_sessionstart(session):
    plugins = session.config.pluginmanager
    plugins.register(FailureReporter(plugins.get_plugin('terminalreporter')))
    if getattr(session.config.option, 'numprocesses', None):  # not in its workers
        plugins.register(KernelLoader())
    else:  # of programs under test, not of what runs the tests
        os.environ['PYTHONPATH'] = PYTHON_PATH


def pytest_collection_finish():
    """Spare the garbage collector the tests and compilers: it would stop this process for long."""
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    gc.enable()


def pytest_collection_modifyitems(items):
    """
    Put the longest files first, then other tests over DDS, then those of the library.

    Tests over DDS wait most of the time, in motions that take as long as they take.
    """
    @cache
    def place(path):
        file = path.relative_to(HERE).as_posix()
        return (LONGEST_FIRST.index(file) if file in LONGEST_FIRST else len(LONGEST_FIRST),
                not file.startswith('ros/'))

    items.sort(key=lambda item: place(item.path))
