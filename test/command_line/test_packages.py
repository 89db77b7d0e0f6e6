# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How to get what is not installed: the names that pip and apt really have."""

import ast
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
import re
import subprocess
import sys

from nightly import usual_first
import pytest

from ik_node.base.errors import ParameterError
from ik_node.base.system import how_to_install, ROS_BY_APT_ALONE, ROS_MODULES_ON_PYPI, ROS_ON_PYPI
from ik_node.ros.action_client import TrajectoryAction

ROOT = Path(__file__).parents[2]


def canonical(name):
    return re.sub(r'[-_.]+', '-', name).lower()


def imported():
    """Return the modules of others that the package imports anywhere."""
    names = set()
    for path in (ROOT / 'ik_node').rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {name.name.partition('.')[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module.partition('.')[0])
    return names - set(sys.stdlib_module_names) - {'ik_node'}


@cache
def distributions():
    """Return the installed packages that have each module; to read their lists takes a second."""
    return packages_distributions()


def test_packages_of_pip_are_those_that_have_the_module():
    """What pip is to install is the package from which the module came here."""
    checked = 0
    for module in imported() - ROS_MODULES_ON_PYPI - ROS_BY_APT_ALONE.keys():
        if module not in distributions():  # not installed here, or without a list of its files
            continue
        command = how_to_install(module)
        assert command.startswith('pip install ')
        assert canonical(command.removeprefix('pip install ')) in map(
            canonical, distributions()[module]), module
        checked += 1
    assert checked > 8


def test_ros_packages_are_pinned_by_the_names_that_are_told():
    """Each is in the list that make demo installs."""
    pinned = {line.partition('==')[0]
              for line in (ROOT / 'requirements/demo.txt').read_text().splitlines()}
    assert set(ROS_ON_PYPI) <= pinned
    assert ROS_MODULES_ON_PYPI <= distributions().keys()


def test_packages_missing_on_pypi_are_named_for_apt(monkeypatch):
    """With the distribution of this shell; jazzy where none is sourced."""
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    assert how_to_install('control_msgs').endswith('sudo apt install ros-jazzy-control-msgs')
    monkeypatch.setenv('ROS_DISTRO', 'kilted')
    assert how_to_install('tf2_ros').endswith('sudo apt install ros-kilted-tf2-ros-py')
    assert how_to_install('rclpy').endswith('pip install ' + ' '.join(ROS_ON_PYPI))


def test_output_by_action_without_control_msgs(monkeypatch):
    """The package of apt is named, and the other output."""
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    monkeypatch.setitem(sys.modules, 'control_msgs', None)
    monkeypatch.setitem(sys.modules, 'control_msgs.action', None)
    with pytest.raises(ParameterError, match='install ros-jazzy-control-msgs; or set the output'):
        TrajectoryAction(None, 'follow_joint_trajectory', print)


@pytest.mark.parametrize('program, arguments', usual_first(1, [
    ('compare_methods', ['--output', 'out']), ('workspace', ['--out', 'out/w']),
    ('plot_trajectory', ['--xyz', '0.4', '0', '0.4', '--output', 'out.png'])]))
def test_missing_matplotlib_is_told_before_the_work(tmp_path, program, arguments):
    """Not a pose is solved, nothing is written, and the way to do without is named."""
    done = subprocess.run(
        [sys.executable, '-c', 'import sys; sys.modules["matplotlib"] = None; '
         f'from ik_node.tools.entry import {program}; {program}()', *arguments],
        capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 2
    sentence, = done.stderr.splitlines()
    assert 'install it with "pip install matplotlib"' in sentence
    assert program == 'plot_trajectory' or '--no-picture' in sentence
    assert not done.stdout and not list(tmp_path.iterdir())
