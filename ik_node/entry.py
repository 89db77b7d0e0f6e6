# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The executables; what is not installed is named in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
import os
import signal
import sys
from typing import NoReturn

SIGNALS = signal.SIGINT, signal.SIGTERM
INTERRUPTED = 130  # the exit code that shells give
HOW = {
    'rclpy': 'source your ROS 2 setup.bash; without ROS, use `make demo` in the source folder',
    'ruckig': 'it has no rosdep key; get it by: pip install ruckig',
    'matplotlib': 'get it by: pip install matplotlib',
    'yaml': 'get it by: pip install pyyaml',
    'interactive_markers': 'it is not on PyPI; on a ROS machine: sudo apt install '
                           'ros-$ROS_DISTRO-interactive-markers; the browser (viewer) has the '
                           'same handle',
    'viser': 'get it by: pip install viser',
}


def _load(module: str, code: int) -> Callable[[], None]:
    """Return the main function of a module; a signal meanwhile ends the process with a code."""
    for number in SIGNALS:
        signal.signal(number, lambda *_: os._exit(code))
    # For matrices of this size more threads would only wait for one another.
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    try:
        return import_module(module).main
    except ImportError as error:
        name = (error.name or str(error)).split('.')[0]
        how = HOW.get(name, 'on a ROS machine: rosdep install --from-paths src; else: '
                            f'pip install {name}')
        print(f'ik_node needs {name}, which is not installed here: {how}', file=sys.stderr)
        sys.exit(1)


def _run_node(module: str) -> NoReturn:
    sys.exit(_load(module, 0)())  # it has handlers of its own


def _run_tool(module: str) -> NoReturn:
    main = _load(module, INTERRUPTED)
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def ik_node() -> NoReturn:
    """Run the node."""
    _run_node('ik_node.node.node')


def sim_controller() -> NoReturn:
    """Run the simulated controller."""
    _run_node('ik_node.simulation.node')


def viewer() -> NoReturn:
    """Run the view in the browser."""
    _run_node('ik_node.ui.viewer.node')


def interactive_goal() -> NoReturn:
    """Run the handle of the goal in RViz."""
    _run_node('ik_node.ui.rviz_handle')


def send_goal() -> NoReturn:
    """Send one goal and wait for its answer."""
    _run_tool('ik_node.commands.send_goal')


def demo() -> NoReturn:
    """Run the demonstration."""
    _run_tool('ik_node.commands.demo')


def ik_doctor() -> NoReturn:
    """Look at a running system."""
    _run_tool('ik_node.doctor.command')


def compare_methods() -> NoReturn:
    """Compare the methods of inverse kinematics."""
    _run_tool('ik_node.textbook.compare')


def plot_trajectory() -> NoReturn:
    """Draw a motion."""
    _run_tool('ik_node.commands.plot_trajectory')


def workspace() -> NoReturn:
    """Sample where an arm reaches."""
    _run_tool('ik_node.workspace.command')
