# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The presets with the descriptions of their vendors, where these are."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
from preset_arms import FOUND
import pytest

from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.arm import Arm
from ik_node.model.description.mesh_files import resolve
from ik_node.model.description.urdf import parse_urdf
from ik_node.model.ros2_control import HARDWARE_KINDS, with_hardware
from ik_node.model.user_files.presets import description_file, description_text, read_preset
from ik_node.solver.solver import Solver

RANDOM_POSES = 100


@pytest.fixture(scope='module', params=FOUND)
def loaded(request):
    """Return a preset, the folder of its package, the tree of its links, and its arm."""
    preset = read_preset(request.param)
    tree = parse_urdf(description_text(preset))
    arm = Arm.from_tree(tree, preset.base_link, preset.tip_link)
    return preset, description_file(preset), tree, arm


def test_the_home_is_of_the_arm(loaded):
    """Home names the joints of the chain in their order, within their limits."""
    preset, _, _, arm = loaded
    assert tuple(preset.home) == arm.joint_names
    assert len(preset.home_of(arm)) == arm.n
    assert np.all(np.isfinite(arm.velocity)) and np.all(arm.velocity > 0.0)


def test_random_poses_are_solved(loaded):
    """Of postures within the limits, from home."""
    preset, _, _, arm = loaded
    solver, home = Solver(arm), np.array(preset.home_of(arm))
    lower, upper = np.maximum(arm.lower, -np.pi), np.minimum(arm.upper, np.pi)
    for q in np.random.default_rng(1).uniform(lower, upper, (RANDOM_POSES, arm.n)):
        T = arm.fk(q)
        result = solver.solve(T, seed=home)
        assert result.success, (q, result.message)
        assert np.allclose(arm.fk(result.q), T, atol=1e-5)


def test_simulated_hardware(loaded):
    """Only its joints take commands, from home; the arm itself stays as it is."""
    preset, _, tree, arm = loaded
    home = preset.home_of(arm)
    for kind, hardware in HARDWARE_KINDS.items():
        text = with_hardware(tree, arm, kind, home, '/tmp/controllers.yaml')
        control, = ElementTree.fromstring(text).findall('ros2_control')
        assert control.findtext('hardware/plugin') == hardware.plugin
        commanded = {joint.get('name'): joint for joint in control.findall('joint')
                     if joint.find('command_interface') is not None}
        assert set(commanded) == set(arm.joint_names)
        for name, q in zip(arm.joint_names, home):
            assert float(commanded[name].findtext('state_interface/param')) == q
        same = Arm.from_tree(parse_urdf(text), preset.base_link, preset.tip_link)
        assert same.joint_names == arm.joint_names
        assert np.allclose(same.fk(home), arm.fk(home))


def test_home_is_free_of_collisions(loaded):
    """Of the arm with itself, as far as the meshes are there."""
    preset, file, tree, arm = loaded
    around = [str(above) for above in file.parents[:4]]
    bodies = arm_bodies(tree, lambda uri: resolve(uri, around, file.parent)).bodies
    if not bodies:
        pytest.skip('no geometry of its links can be read')
    distance, *pair = CollisionModel(arm, tree, bodies).distance(np.array(preset.home_of(arm)))
    assert distance > 0.0, pair
