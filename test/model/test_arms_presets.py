# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Presets of robots with several arms: their files, and their descriptions where these are."""

from documents import check_value
import numpy as np
import pytest
import robots

from ik_node.base.errors import ParameterError, UrdfError
from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.tree.kinematic_tree import make_tree
from ik_node.model.arms import given_arms, GivenArms, robot_arms, simulated
from ik_node.model.description.mesh_files import mesh_search
from ik_node.model.description.urdf import parse_urdf
from ik_node.model.user_files.presets import (
    arms_preset_names,
    description_text,
    preset_names,
    read_arms_preset,
)
from ik_node.motion.tree_motion import checked_controllers
from ik_node.ros.parameters.tables import IK_ARMS

ROWS = {row.name: row for row in IK_ARMS}
NAMES = 'baxter', 'openarm', 'pr2'
# Where example-robot-data has what the package of a preset has.
HERE = {'baxter': ('baxter_description/urdf/baxter.urdf', 'baxter_description/urdf/baxter.urdf'),
        'pr2': ('pr2_description/urdf/pr2.urdf',
                'moveit_resources_pr2_description/urdf/robot.xml')}


@pytest.fixture(params=NAMES)
def described(request, tmp_path):
    """Return a preset and the tree of its links."""
    preset = read_arms_preset(request.param)
    if request.param in HERE:
        here, place = HERE[request.param]
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).symlink_to(robots.REAL / here)
    try:
        return preset, parse_urdf(description_text(preset, [tmp_path]))
    except UrdfError:
        pytest.skip('some descriptions are not here; install them or name their folder in '
                    'IK_NODE_DESCRIPTIONS')


def given(preset):
    return given_arms(preset.node_parameters(True)['/**/ik_arms']['ros__parameters'])


def test_all_are_there():
    """And they are no presets of one arm."""
    assert tuple(arms_preset_names()) == NAMES and not {*NAMES} & {*preset_names()}


@pytest.mark.parametrize('name', NAMES)
def test_preset(name):
    """Each is complete; what it sets are parameters, with values that they take."""
    preset = read_arms_preset(name)
    assert preset.name == name and preset.title and preset.base_link and preset.driver
    assert [*preset.arms] == ['left', 'right']
    assert [*preset.home] == [joint for side in sorted(
        preset.controllers, key=lambda each: 'torso' not in each)
        for joint in preset.controllers[side]]
    assert preset.description.package and preset.description.source.startswith('https://')
    nodes = preset.node_parameters(simulated=False)
    for parameter, value in nodes['/**/ik_arms']['ros__parameters'].items():
        check_value(ROWS[parameter], value)
    assert preset.parameters['motion.velocity_scale'] <= 0.2  # a real robot begins slowly
    assert 'motion.velocity_scale' not in preset.node_parameters(True)['/**/ik_arms'][
        'ros__parameters']
    for side in ('left', 'right'):
        home = nodes[f'/**/ik_arms/{side}']['ros__parameters']['solver.preferred_positions']
        assert len(home) == 7


def test_the_arms_are_those_of_the_description(described):
    """The same that are found there; each joint has a controller, and can be simulated."""
    preset, tree = described
    arms, found = robot_arms(tree, given(preset)), robot_arms(tree)
    assert arms.tip_links == found.tip_links and arms.names == found.names
    assert arms.supposed == {} and arms.controllers == preset.controllers
    kinematics = make_tree(tree, arms.base_link, arms.tip_links)
    checked_controllers(kinematics, arms.controllers)
    assert {*preset.home} == {*kinematics.joint_names}
    assert [*arms.controllers.values()][:2] == [*found.controllers.values()]
    assert simulated(tree, arms).keys() == preset.controllers.keys()
    if preset.name == 'baxter':
        assert arms.base_link == found.base_link


def test_home_is_within_the_limits_and_free(described):
    preset, tree = described
    kinematics = make_tree(tree, preset.base_link, [*preset.arms.values()])
    home = kinematics.positions(preset.home)
    assert (home >= kinematics.lower).all() and (home <= kinematics.upper).all()
    bodies = arm_bodies(tree, mesh_search(tree, (str(robots.REAL.parent.parent),))).bodies
    if not bodies:
        pytest.skip('no geometry of its links can be read')
    model = CollisionModel(kinematics, tree, bodies, margin=0.01)
    assert model.check_many(home[None])[0], model.describe(home)
    T = kinematics.fk(home)
    left, right = (T[tip][:3, 3] for tip in preset.arms.values())
    assert np.abs(left - right * [1.0, -1.0, 1.0]).max() < 2e-3  # both do the same


@pytest.mark.parametrize('old, new, words', [
    ('left: left_gripper, ', '', 'has 1 arms and 2 controllers'),
    ('[right_s0', '[right_x0', "'robot/limb/right' has .*; give a list of joints that home has"),
    ('left: left_gripper', 'left: [left_gripper]', 'the tip of left is'),
    ('arms:', 'tip_link:', "has 'tip_link', which is none of its fields: arms, ")])
def test_invalid_presets_are_refused(tmp_path, old, new, words):
    text = read_arms_preset('baxter').path.read_text()
    assert old in text
    (tmp_path / 'mine.yaml').write_text(text.replace(old, new))
    with pytest.raises(ParameterError, match=words):
        read_arms_preset(tmp_path / 'mine.yaml')


def test_an_unknown_name_lists_the_presets():
    with pytest.raises(ParameterError, match="no preset 'pr3'; there are baxter, openarm, pr2"):
        read_arms_preset('pr3')


def test_parameters_that_are_not_set_say_nothing():
    assert given_arms({'base_link': '', 'arms': ('',), 'tip_links': ()}) == GivenArms()
