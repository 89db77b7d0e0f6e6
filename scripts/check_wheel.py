# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Install a wheel in an empty environment of each Python, and run what its users run.

``python scripts/check_wheel.py dist/ik_node-0.1.0-py3-none-any.whl --python python3.10``.
Everything runs in an empty folder, so that nothing comes from the source tree.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import subprocess
import sys
import tempfile
from time import monotonic

COMMAND_TIMEOUT_S = 1800.0  # the first start of the demonstration compiles
SHOWN_CHARACTERS = 3000     # of the output of a command that failed
# What users of the library do, with a file that the wheel has.
LIBRARY_PROGRAM = '''
from importlib.util import find_spec
import numpy as np
import ik_node
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.direct.point_to_point import plan_point_to_point
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.motion.direct.point_to_point import StartState
from ik_node.base.system import share_file
arm = ik_node.load_urdf(share_file('urdf/six_axis_arm.urdf'))
solver = ik_node.Solver(arm)
for k in range(200):
    share = 0.1 + 0.8 * (0.618 * k * np.arange(1, 7) % 1.0)
    q = arm.lower + share * (arm.upper - arm.lower)
    result = solver.solve(arm.fk(q))
    assert result.success, result.message
limits = MotionLimits(arm.lower, arm.upper, arm.velocity, np.full(6, 2.0), np.full(6, 20.0))
start = StartState.from_state(MotionState.at_rest(arm.middle))
motion = plan_point_to_point(arm.joint_names, start, result.q, limits, 0.1)
assert abs(motion.q[-1] - result.q).max() < 1e-12
assert find_spec('rclpy') is None, 'this environment is not without ROS'
'''


def main() -> None:
    """Run the command line; exit code 1 if a command fails in one of the environments."""
    parser = argparse.ArgumentParser(description=__doc__.strip().partition('\n')[0])
    parser.add_argument('wheel', type=Path)
    parser.add_argument('--python', nargs='+', default=[sys.executable], metavar='PYTHON',
                        help='interpreters (default: this one)')
    parser.add_argument('--no-ros', action='store_true',
                        help='the library alone, without ROS from PyPI and the demonstration')
    parser.add_argument('--pins', nargs='+', default=[], metavar='NAME==VERSION',
                        help='packages beside it, as numpy and numba of a distribution')
    options = parser.parse_args()
    wheel = options.wheel.resolve(strict=True)
    passed = [check(python, wheel, options.pins, not options.no_ros) for python in options.python]
    sys.exit(0 if all(passed) else 1)


def check(python: str, wheel: Path, pins: list[str], with_ros: bool) -> bool:
    """Print and return whether a wheel works in a new environment of an interpreter."""
    began = monotonic()
    with tempfile.TemporaryDirectory(prefix='ik_node_wheel_') as folder:
        try:
            said = run_all(python, wheel, pins, with_ros, Path(folder))
        except subprocess.CalledProcessError as error:
            print(f'FAILED {python}: {error}\n{error.output[-SHOWN_CHARACTERS:]}', flush=True)
            return False
        print(f'passed {python}: {"; ".join(said)} ({monotonic() - began:.0f} s)', flush=True)
    return True


def run_all(python: str, wheel: Path, pins: list[str], with_ros: bool,
            folder: Path) -> list[str]:
    """
    Return what was seen of a wheel in a new environment.

    Raises
    ------
    subprocess.CalledProcessError
        If a command fails.

    """
    run(folder, python, '-m', 'venv', 'env')
    programs = folder / 'env/bin'
    pip = (programs / 'python', '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check')
    seen = [run(folder, programs / 'python', '--version').strip()]
    run(folder, *pip, wheel, *pins)
    run(folder, programs / 'python', '-c', LIBRARY_PROGRAM)
    seen.append(f'library without ROS, {", ".join(pins) or "newest packages"}')
    commands = [line.split()[0] for line in run(folder, programs / 'ik_node', '--help').partition(
        'Commands;')[2].partition('\n\n')[0].splitlines()[1:]]
    for command in commands:
        run(folder, programs / 'ik_node', command, '--help')
    seen.append(f'help of {len(commands)} commands')
    if with_ros:
        run(folder, *pip, f'ik_node[ros] @ {wheel.as_uri()}')
        *_, result, _ = run(folder, programs / 'ik_node', 'demo').splitlines()
        seen.append(result.removeprefix('==> '))
    return seen


def run(folder: Path, *command: str | Path) -> str:
    """Run a command in a folder, with nothing of this environment; return what it prints."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ('PYTHONPATH', 'PYTHONHOME', 'AMENT_PREFIX_PATH')}
    environment.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    return subprocess.run([str(part) for part in command], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
                          timeout=COMMAND_TIMEOUT_S).stdout


if __name__ == '__main__':
    main()
