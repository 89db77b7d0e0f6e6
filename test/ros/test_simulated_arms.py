# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""``ik_node arms --simulate``: the controllers of whichever arms there are come and go."""

from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep

from arms_rig import ArmsProbe
from harness import COLD_START, Probe, process
import numpy as np
import robots
from test_found_arms import PATIENT, positions
import yaml

HOME = [0.3, 0.4, -0.9, 0.1, 0.5, 0.2]
LEFT = [f'left_{name}' for name in ('shoulder_pan', 'shoulder_lift', 'elbow', 'wrist_roll',
                                    'wrist_pitch', 'tool_roll')]
SIMULATE = "import sys; sys.argv.insert(1, '--simulate')\n"


def children(pid):
    """Return the processes that a process has started."""
    return [Path(f'/proc/{child}') for task in Path(f'/proc/{pid}/task').iterdir()
            for child in (task / 'children').read_text().split()]


def runs(process):
    """Return whether a process runs: one that has ended may still wait for who asks for it."""
    try:
        return (process / 'stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_simulated_controllers_and_settings_of_one_arm(tmp_path):
    """``ik_node arms --simulate``: they come and go with the node; the left arm has a home."""
    probe, left = ArmsProbe([]), Probe('left_probe', '/ik_arms/left')
    settings = tmp_path / 'settings.yaml'
    settings.write_text(yaml.safe_dump({
        '/**/ik_arms': {'ros__parameters': {
            'controllers': ['lift'], 'controller_joints': ['torso_joint'],
            'motion.acceleration_limits': [3.0]}},
        '/**/ik_arms/left': {'ros__parameters': {
            'solver.preferred_positions': HOME, 'motion.acceleration_limits': [1.5]}}}))
    with ExitStack() as stack:
        stack.callback(probe.destroy_node)
        stack.callback(left.destroy_node)
        node = stack.enter_context(process(
            'ik_arms', tmp_path, {'urdf_file': robots.OWN / 'two_arms.urdf', **PATIENT},
            arguments=['--params-file', str(settings)], script=SIMULATE))
        probe.wait(lambda: "ready for 'left_" in node.output, COLD_START)
        simulated_by = children(node.pid)
        assert len(simulated_by) == 3
        for sentence in ("'left': 'torso' -> 'left_flange', 6 joints of left_arm_controller",
                         "[lift]: simulates 'torso_joint' at",
                         "in 'base_link': 13 joints of 3 controllers"):
            assert sentence in node.output
        lines = node.output.splitlines()
        for side, limit in (('left', '1.5'), ('right', '3.0')):
            assert any(f'[ik_arms.{side}]' in line and f'acceleration [{limit}, ' in line
                       for line in lines)
        left.wait_for_node()
        left.wait_until_ready()
        left.watch_motion()
        probe.wait(lambda: {'torso_joint', 'left_elbow', 'right_elbow'} <= positions(probe).keys())
        assert left.call(left.home).success
        left.wait(lambda: any(each['reason'] == 'REACHED' for each in left.statuses), 60.0)
        left.wait(lambda: np.allclose([positions(left).get(name, 9.0) for name in LEFT], HOME,
                                      atol=1e-3), 10.0)
    assert not any(map(runs, simulated_by))


def test_simulated_controllers_end_with_a_node_that_is_killed(tmp_path):
    """They follow it, whatever ended it."""
    with process('ik_arms', tmp_path, {'urdf_file': robots.OWN / 'two_arms.urdf'},
                 script=SIMULATE) as node:
        end = monotonic() + COLD_START
        while node.output.count(']: simulates') < 2:
            assert monotonic() < end
            sleep(0.1)
        simulated_by = children(node.pid)
        assert len(simulated_by) == 2
        node.kill()
        end = monotonic() + 20.0
        while any(map(runs, simulated_by)):
            assert monotonic() < end
            sleep(0.1)
