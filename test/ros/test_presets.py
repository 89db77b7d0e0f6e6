# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""``ik_demo --robot NAME``: node and simulated controller of the presets that are found here."""

import re
import subprocess
import sys

import numpy as np
from preset_arms import EACH_PRESET
from process_tree import ProcessTree
import pytest
import yaml

from ik_node.kinematics.arm import load_robot
from ik_node.model.user_files.presets import read_preset
from ik_node.ros.messages.conversion import quaternion_from_rotation
from ik_node.tools.demo.command import _preset_arguments, main

SMALL_TURN = 0.15  # rad, of every joint, from home to the goal


def demo(*arguments):
    """Run the demonstration to its end; return its exit code and what it said."""
    tree = ProcessTree([sys.executable, '-c', 'from ik_node.tools.entry import demo; demo()',
                        *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True)
    try:
        said, _ = tree.root.communicate(timeout=300)
    finally:
        tree.kill()
    return tree.root.returncode, said


def goals_of(preset, arm, file):
    """Write two goals: where the arm is at the start, and one near it."""
    home = np.array(preset.home_of(arm))
    # Towards the middle of each joint, so that no limit is near.
    middle = np.clip(arm.middle, home - SMALL_TURN, home + SMALL_TURN)
    near = np.where(np.abs(middle - home) < SMALL_TURN / 2, home + SMALL_TURN, middle)
    goals = [{'name': name, 'frame': arm.base_link, 'expect': expected,
              'xyz': np.round(T[:3, 3], 9).tolist(),
              'quat': np.round(quaternion_from_rotation(T[:3, :3]), 9).tolist()}
             for name, T, expected in (('home', arm.fk(home), 'ALREADY_THERE'),
                                       ('near home', arm.fk(near), 'REACHED'))]
    file.write_text(yaml.safe_dump({'goals': goals}))


@pytest.mark.parametrize('name', [each for each in EACH_PRESET
                                  if each.values != ('six_axis_arm',)])
@pytest.mark.nightly
def test_the_arm_starts_at_home_and_reaches_a_goal(name, tmp_path):
    """Between the links of the preset, from its home."""
    preset, arm = read_preset(name), load_robot(name)
    goals_of(preset, arm, tmp_path / 'goals.yaml')
    code, said = demo('--robot', name, '--goals', tmp_path / 'goals.yaml')
    assert code == 0, said
    assert re.search(r'2 of 2 goals ended as expected', said)
    assert f"from the base '{preset.base_link}' to the tip '{preset.tip_link}'" in said
    assert f'--robot {name} ' in said.splitlines()[-1]


def test_the_preset_reaches_both_nodes():
    """Home and limits are parameters of the processes; limits only without a file of one's own."""
    preset, arm = read_preset('six_axis_arm'), load_robot('six_axis_arm')
    preset.parameters['motion.acceleration_limits'] = [3.0]
    home = '[0.0, 0.3, -0.4, 0.0, 1.0, 0.0]'
    assert _preset_arguments(preset, arm, with_limits=False) == [
        '-p', f'initial_positions:={home}', '-p', f'solver.preferred_positions:={home}']
    assert _preset_arguments(preset, arm, with_limits=True)[:2] == [
        '-p', 'motion.acceleration_limits:=[3.0]']


@pytest.mark.parametrize('arguments, words', [
    (['--robot', 'ur6'], "there is no preset 'ur6'; there are "),
    (['--robot', 'ur5e', '--urdf', 'a.urdf'], 'not allowed with argument'),
    (['--robot', '/none.yaml'], "cannot read the preset '/none.yaml'")])
def test_a_bad_robot_is_one_sentence(arguments, words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert words in f'{ended.value} {capsys.readouterr().err}'
