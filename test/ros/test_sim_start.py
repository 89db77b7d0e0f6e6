# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated controller with MuJoCo's arm, and with another description."""

import os

from harness import ARM, narrow_arm, positions_of, process, READY, run_sim
import numpy as np
import pytest
from std_msgs.msg import String
from test_sim_faults import settled, THERE, trajectory


def test_physics(tmp_path):
    """Under gravity the arm hangs low in its servos, and still goes where it is sent."""
    with run_sim(tmp_path, physics=True) as probe:
        start = settled(probe)
        assert 1e-4 < np.abs(start - READY).max() < 0.02
        probe.commands.publish(trajectory(THERE))
        probe.wait(lambda: np.abs(positions_of(probe.states[-1][1]) - THERE).max() < 0.02)
        assert 1e-4 < np.abs(settled(probe) - THERE).max() < 0.02


def test_physics_without_mujoco(tmp_path, monkeypatch):
    """One sentence, exit code 1."""
    (tmp_path / 'mujoco.py').write_text('raise ImportError("not here")\n')
    monkeypatch.setenv('PYTHONPATH', f'{tmp_path}:{os.environ.get("PYTHONPATH", "")}')
    with process('sim_controller', tmp_path, {'urdf_file': ARM, 'physics': True}) as sim:
        assert sim.wait() == 1
        assert 'pip install mujoco' in sim.output


@pytest.mark.fault('robot description', 'another description while the simulated arm moves',
                   'taken when it rests; its joints stay where they are')
def test_another_description_in_motion(tmp_path, probe):
    """The joint states do not leap; a motion that a protective stop holds is not over."""
    end = np.array([0.0, *THERE[1:]])  # also within the limits of the narrow arm
    probe.watch_motion()
    with process('sim_controller', tmp_path, {'initial_positions': READY}) as sim:
        probe.wait(probe.descriptions.get_subscription_count)
        probe.descriptions.publish(String(data=ARM.read_text()))
        probe.wait(lambda: probe.states and probe.commands.get_subscription_count() > 1)
        probe.setter('/sim_controller')  # on a busy machine that takes longer than the motion
        probe.commands.publish(trajectory(end, 4.0))
        probe.wait(lambda: np.abs(positions_of(probe.states[-1][1]) - READY).max() > 0.05)
        assert probe.set_parameters('/sim_controller', {'speed_scaling': 0.0}).successful
        probe.descriptions.publish(String(data=narrow_arm()))
        probe.wait(lambda: 'came during a motion' in sim.output)
        probe.spin_for(1.2)
        assert sim.output.count('simulates') == 1
        assert probe.set_parameters('/sim_controller', {'speed_scaling': 1.0}).successful
        probe.wait(lambda: sim.output.count('simulates') == 2)
        probe.spin_for(0.3)
    q = np.array([positions_of(message) for _, message in probe.states])
    assert np.abs(np.diff(q, axis=0)).max() < 0.1 and np.abs(q[-1] - end).max() < 2e-3
