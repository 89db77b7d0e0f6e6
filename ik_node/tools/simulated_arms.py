# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""ik_arms with a simulated controller for each of its arms, as processes of their own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

from ik_node.base.errors import ParameterError
from ik_node.model.arms import simulated
from ik_node.node.arms.arms_node import ArmsNode
from ik_node.node.arms.arms_robot import ArmsOptions, ArmsRobot
from ik_node.ros.middleware.process import run

END_TIMEOUT_S = 5.0  # from SIGINT until a process is killed
# Its input ends with this process, even if that is killed.
PROGRAM = '''
import os, signal, sys, threading
def follow():
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=follow, daemon=True).start()
from ik_node.tools.entry import sim_controller
sim_controller()
'''
SHARED_NAMES = 'joint_states', 'robot_description'


class SimulatedArmsNode(ArmsNode):
    """Starts the controllers once the arms are known, and ends them with the node."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen] = []
        try:
            super().__init__(self._simulate)
        except BaseException:
            self._end()
            raise

    def _simulate(self, robot: ArmsRobot, options: ArmsOptions) -> None:
        """Start the controllers; another description they take from the topic themselves."""
        if self._processes:
            return
        if options.robot_description:
            raise ParameterError('simulated controllers read urdf_file or the topic '
                                 'robot_description, not the parameter robot_description')
        for controller, values in simulated(robot.tree.tree, robot.arms).items():
            full = self.resolve_topic_name(f'{controller}/joint_trajectory').rpartition('/')[0]
            space, _, name = full.rpartition('/')
            values |= {'use_sim_time': self.get_parameter('use_sim_time').value}
            if options.urdf_file:
                values['urdf_file'] = options.urdf_file
            remaps = {'__node': name, '__ns': space or '/',
                      'joint_trajectory': f'{full}/joint_trajectory',
                      **{each: self.resolve_topic_name(each) for each in SHARED_NAMES}}
            arguments = ['--ros-args']
            for parameter, value in values.items():
                arguments += ['-p', f'{parameter}:={json.dumps(value)}']
            for old, new in remaps.items():
                arguments += ['-r', f'{old}:={new}']
            self._processes.append(subprocess.Popen([sys.executable, '-c', PROGRAM, *arguments],
                                                    stdin=subprocess.PIPE))

    def _end(self) -> None:
        for process in self._processes:
            process.send_signal(signal.SIGINT)
        for process in self._processes:
            try:
                process.wait(END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()

    def close(self) -> None:
        """Stop the arms, then end their controllers."""
        super().close()
        self._end()


def main() -> None:
    """Run the node and the controllers; exit codes as ik_arms."""
    run('ik_arms', SimulatedArmsNode)
