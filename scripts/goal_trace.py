# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Print which files a goal pose crosses in the node, in the order in which it reaches them.

    python scripts/goal_trace.py

A node and a simulated controller are started, the arm moves once, and then a goal pose is
followed from its subscription to the publisher of the trajectory: a file counts if a Python
function of it runs in between.  Compiled functions call one another unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
import subprocess
import sys
import threading
from types import FrameType
from typing import Any

import ik_node

PACKAGE = Path(ik_node.__file__).parent
URDF = PACKAGE.parent / 'urdf/six_axis_arm.urdf'
CONTROLLER = 'from ik_node.simulation.node import main; main()'
JOINT_STEP_RAD = 0.2
PATIENCE_S = 120.0


class Trace:
    """The functions that run between two others, by the files that they are in."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def begin(self) -> None:
        """Begin anew."""
        self.files.clear()
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def end(self) -> None:
        """Print the files, each with the function by which it was reached."""
        sys.setprofile(None)
        threading.setprofile(None)
        for file, name in self.files.items():
            print(f'{file}  {name}', flush=True)
        print(flush=True)

    def _note(self, frame: FrameType, event: str, _argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == 'call' and path.is_relative_to(PACKAGE):
            self.files.setdefault(str(path.relative_to(PACKAGE)), frame.f_code.co_name)


def before_and_after(owner: type, name: str, before: Callable[[], None] = lambda: None,
                     after: Callable[[], None] = lambda: None) -> None:
    """Have something called before and after a method."""
    method = getattr(owner, name)

    @wraps(method)
    def wrapped(*given: Any, **named: Any) -> Any:
        before()
        try:
            return method(*given, **named)
        finally:
            after()

    setattr(owner, name, wrapped)


def traced_node() -> None:
    """Run the node, which prints the files of each goal."""
    from ik_node.node.execution.outputs import TopicOutput
    from ik_node.node.intake.goal_subscriptions import GoalSubscriptions
    from ik_node.node.node import main as run_node
    trace = Trace()
    before_and_after(GoalSubscriptions, '_take', before=trace.begin)
    before_and_after(TopicOutput, 'send', after=trace.end)
    run_node()


def traced_files() -> list[str]:
    """Return the files of a goal pose, each with a function."""
    from ik_node.client import Arm
    ros = ['--ros-args', '-p', f'urdf_file:={URDF}', '-r', '__ns:=/goal_trace']
    node, controller = (subprocess.Popen([sys.executable, *command, *ros], text=True, stdout=pipe)
                        for command, pipe in (([__file__, '--node'], subprocess.PIPE),
                                              (['-c', CONTROLLER], None)))
    try:
        with Arm('/goal_trace/ik_node', timeout=PATIENCE_S) as arm:
            q = arm.q
            for sign in (1.0, -1.0):  # the first has the node load what it needs
                arm.move(arm.kinematics.fk(q + sign * JOINT_STEP_RAD)).wait(PATIENCE_S)
    finally:
        for process in (node, controller):
            process.terminate()
    last = node.communicate()[0].rstrip().split('\n\n')[-1]
    return [line for line in last.splitlines() if '.py  ' in line]


def main() -> None:
    """Print them, and how many there are."""
    if '--node' in sys.argv:
        sys.argv.remove('--node')
        traced_node()
        return
    files = traced_files()
    print('\n'.join(files))
    print(f'{len(files)} files')


if __name__ == '__main__':
    main()
