# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Packages that may be missing, shipped files, and the signals that end a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
import os
from pathlib import Path
import signal
import sys
import threading

from ik_node.base.errors import ParameterError

# Import name -> package on PyPI, where they differ.
PYPI_NAMES = {
    'PIL': 'pillow',
    'collada': 'pycollada',
    'sklearn': 'scikit-learn',
    'urdf_parser_py': 'urdfdom-py',
    'yaml': 'pyyaml',
}
# What PyPI has of ROS 2 jazzy.
ROS_ON_PYPI = ('ros-jazzy-rclpy', 'ros-jazzy-rmw-fastrtps-cpp', 'ros-jazzy-common-interfaces')
ROS_MODULES_ON_PYPI = frozenset({
    'ament_index_python', 'builtin_interfaces', 'diagnostic_msgs', 'geometry_msgs',
    'lifecycle_msgs', 'nav_msgs', 'rcl_interfaces', 'rclpy', 'rosgraph_msgs', 'sensor_msgs',
    'std_msgs', 'std_srvs', 'trajectory_msgs', 'visualization_msgs'})
# Import name -> package of apt without ros-DISTRO-, for the parts of ROS that PyPI lacks.
ROS_BY_APT_ALONE = {
    'control_msgs': 'control-msgs',
    'controller_manager_msgs': 'controller-manager-msgs',
    'interactive_markers': 'interactive-markers',
    'launch': 'launch',
    'launch_ros': 'launch-ros',
    'moveit_msgs': 'moveit-msgs',
    'nav2_msgs': 'nav2-msgs',
    'tf2_ros': 'tf2-ros-py',
    'tf_transformations': 'tf-transformations',
}

ALTERNATIVE_TOOLS = {'interactive_markers': 'the browser (ik_viewer) has the same handle'}


def how_to_install(module: str) -> str:
    """Return how to get an importable module: the command of pip or apt."""
    if module in ROS_MODULES_ON_PYPI:
        return ('on a ROS machine, source your ROS 2 setup.bash; without ROS: pip install '
                + ' '.join(ROS_ON_PYPI))
    if module in ROS_BY_APT_ALONE:
        distribution = os.environ.get('ROS_DISTRO', 'jazzy')
        command = f'sudo apt install ros-{distribution}-{ROS_BY_APT_ALONE[module]}'
        return '; '.join(['it is not on PyPI; on a ROS machine: ' + command,
                          *([ALTERNATIVE_TOOLS[module]] if module in ALTERNATIVE_TOOLS else [])])
    return f'pip install {PYPI_NAMES.get(module, module)}'


def missing(module: str) -> str:
    """Return the sentence that says which module is missing, and how to get it."""
    return f'ik_node needs {module}, which is not installed here: {how_to_install(module)}'


def require_matplotlib(otherwise: str = '') -> None:
    """
    Check, before any long work, that pictures can be drawn.

    Parameters
    ----------
    otherwise : str
        What to do without matplotlib; ends the sentence.

    Raises
    ------
    ParameterError
        If matplotlib is not installed.

    """
    if find_spec('matplotlib') is None:
        raise ParameterError('pictures need matplotlib; install it with '
                             f'"{how_to_install("matplotlib")}"{otherwise}')


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


def share_file(name: str) -> Path:
    """
    Return the path of a data file, e.g. ``urdf/six_axis_arm.urdf``.

    Searched in the ROS installation, the source tree, and where pip installs the package: in an
    environment, for one user, or into a folder.

    Raises
    ------
    FileNotFoundError
        If none of them has the file.

    """
    root = Path(__file__).parents[2]
    # The environment is above lib/pythonX.Y/site-packages.
    places = [root, *(folder / 'share/ik_node' for folder in (
        root, *root.parents[2:3], Path(sys.prefix)))]
    try:
        from ament_index_python.packages import get_package_share_directory
        places.insert(0, Path(get_package_share_directory('ik_node')))
    except (ImportError, LookupError, OSError):  # no ROS, not installed, not sourced
        pass
    for place in places:
        if (place / name).is_file():
            return place / name
    raise FileNotFoundError(f'{name} is in none of {", ".join(map(str, places))}')
