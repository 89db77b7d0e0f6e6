# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Presets: what the files of this package say, and what is refused in one's own."""

from documents import check_value
import numpy as np
import pytest

import ik_node
from ik_node.base.errors import ParameterError, UrdfError
from ik_node.model.description.mesh_files import resolve
from ik_node.model.user_files.presets import (
    description_file,
    description_text,
    preset_names,
    read_preset,
)
from ik_node.ros.parameters.tables import IK_NODE

OWN_ARMS = 'six_axis_arm', 'parallel_axes_arm'
PROMISED = {'ur3e', 'ur5e', 'ur10e', 'ur16e', 'ur20', 'fr3', 'panda', 'xarm6', 'xarm7', 'lite6',
            'gen3', 'gen3_lite', 'iiwa7', 'iiwa14', 'm1013', 'so101', 'open_manipulator_x',
            *OWN_ARMS}
ROWS = {row.name: row for row in IK_NODE}
GOOD = '''robot:
  title: A palletizer
  description: {package: palletizer, file: urdf/arm.urdf.xacro, xacro_arguments: {tall: true},
                apt: palletizer, source: https://example.org/palletizer}
  base_link: base
  tip_link: two
  home: {one_joint: 0.25, base_joint: -0.5}
  parameters: {motion.velocity_scale: 0.2}
'''
XACRO = '''<?xml version="1.0"?>
<robot name="palletizer" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="length" value="${0.5 if '$(arg tall)' == 'true' else 0.1}"/>
  <link name="base"><visual><geometry>
    <mesh filename="file://$(find palletizer)/meshes/base.stl"/></geometry></visual></link>
  <link name="one"/><link name="two"/><link name="other"/>
  <joint name="base_joint" type="revolute">
    <parent link="base"/><child link="one"/><origin xyz="0 0 ${length}"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
  <joint name="one_joint" type="revolute">
    <parent link="one"/><child link="two"/><origin xyz="0 0 ${length}"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
  <joint name="two_joint" type="revolute">
    <parent link="two"/><child link="other"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
</robot>'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a preset of one's own, and the checkout that has its package two folders down."""
    monkeypatch.delenv('IK_NODE_DESCRIPTIONS', raising=False)
    package = tmp_path / 'checkouts/palletizer_ros/packages/description'
    (package / 'urdf').mkdir(parents=True)
    (package / 'package.xml').write_text('<package><name>palletizer</name></package>')
    (package / 'urdf/arm.urdf.xacro').write_text(XACRO)
    preset = tmp_path / 'my_arm.yaml'
    preset.write_text(GOOD)
    return preset, package


def test_the_promised_presets_are_there():
    assert PROMISED <= set(preset_names())


@pytest.mark.parametrize('name', preset_names())
def test_preset(name):
    """Each is complete, and what it sets are parameters of the node with values that it takes."""
    preset = read_preset(name)
    assert preset.name == name and preset.title and preset.base_link and preset.tip_link
    assert preset.home and all(abs(q) < np.pi for q in preset.home.values())
    assert preset.description.file.endswith(('.urdf', '.xacro'))
    for parameter, value in preset.parameters.items():
        check_value(ROWS[parameter], value)
        if isinstance(value, list):
            assert len(value) in (1, len(preset.home)) and min(value) > 0.0
    if name not in OWN_ARMS:
        assert preset.description.package and preset.description.source.startswith('https://')
        # A real arm begins slowly; where a driver is known, so is its controller.
        assert preset.parameters['motion.velocity_scale'] <= 0.2
        assert bool(preset.controller) == bool(preset.driver)


@pytest.mark.parametrize('name', OWN_ARMS)
def test_own_arms_load_by_name(name):
    """Links, order and limits of the preset are those of the URDF; the tool looks down."""
    arm, preset = ik_node.load_robot(name), read_preset(name)
    assert arm.joint_names == tuple(preset.home)
    T = arm.fk(preset.home_of(arm))
    assert T[2, 2] < -0.7 and T[2, 3] > 0.2


def test_an_unknown_name_lists_the_presets():
    with pytest.raises(ParameterError, match=r"no preset 'ur6'; there are .*ur5e.*YAML file"):
        ik_node.load_robot('ur6')


def test_a_preset_of_ones_own(own, monkeypatch):
    """Its package is found in a checkout; its argument, links and home are used."""
    preset, package = own
    arm = ik_node.load_robot(preset, [package.parents[2]])
    assert (arm.base_link, arm.tip_link) == ('base', 'two')
    assert arm.fk(np.zeros(2))[2, 3] == pytest.approx(1.0)  # tall
    read = read_preset(str(preset))
    assert read.home_of(arm) == [-0.5, 0.25]  # in the order of the chain
    # So are its meshes, where the variable names the checkout.
    (package / 'meshes').mkdir()
    (package / 'meshes/base.stl').write_bytes(b'solid base')
    assert resolve('package://palletizer/meshes/base.stl')[0] is None
    monkeypatch.setenv('IK_NODE_DESCRIPTIONS', str(package.parents[2]))
    assert resolve('package://palletizer/meshes/base.stl')[0] == package / 'meshes/base.stl'
    # A file that the text names by $(find ...) is there after the expansion.
    assert f'file://{package}/meshes/base.stl' in description_text(read, [package])


def test_where_a_package_is_searched(own, tmp_path, monkeypatch):
    """In folders that are given, then those of the variable, then in the ament index."""
    preset, package = own
    read = read_preset(preset)

    def copy(folder):
        (folder / 'urdf').mkdir(parents=True)
        (folder / 'urdf/arm.urdf.xacro').write_text(XACRO)
        return folder / 'urdf/arm.urdf.xacro'

    prefix = tmp_path / 'installed'
    indexed = copy(prefix / 'share/palletizer')
    index = prefix / 'share/ament_index/resource_index/packages/palletizer'
    index.parent.mkdir(parents=True)
    index.touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    assert description_file(read) == indexed
    named = copy(tmp_path / 'named/palletizer')  # by the name of its folder
    monkeypatch.setenv('IK_NODE_DESCRIPTIONS', f'{tmp_path / "none"}:{tmp_path / "named"}')
    assert description_file(read) == named
    assert description_file(read, [package]) == package / 'urdf/arm.urdf.xacro'


def test_a_missing_description_says_how_to_get_it(own, monkeypatch):
    """The package of apt with the name of the distribution, or the repository."""
    preset, package = own
    monkeypatch.setenv('ROS_DISTRO', 'kilted')
    with pytest.raises(UrdfError, match="package 'palletizer', which is not installed here: sudo "
                       'apt install ros-kilted-palletizer; or clone https://example.org/pall'):
        ik_node.load_robot(preset)
    (package / 'urdf/arm.urdf.xacro').unlink()
    with pytest.raises(UrdfError, match="needs 'urdf/arm.urdf.xacro' .* another version"):
        ik_node.load_robot(preset, [package])


def test_a_description_beside_the_preset(own, tmp_path):
    """Without a package the file is beside the preset; it is named if it does not exist."""
    preset, package = own
    preset.write_text(GOOD.replace('package: palletizer, ', ''))
    with pytest.raises(UrdfError, match="my_arm.yaml' names the file .* does not exist"):
        ik_node.load_robot(preset)
    (tmp_path / 'urdf').mkdir()
    (tmp_path / 'urdf/arm.urdf.xacro').write_text(XACRO.replace('$(find palletizer)', ''))
    assert ik_node.load_robot(preset).n == 2


@pytest.mark.parametrize('old, new, words', [
    ('  tip_link', '  tip_lnk', 'has .tip_lnk., which is none of its fields: base_link, '),
    ('apt: palletizer', 'debian: palletizer', 'description of .* has .debian., which is none'),
    ('base_link: base', 'base_link: [base]', 'base_link is .*; give a text'),
    ('one_joint: 0.25', 'one_joint: true', "home has True for 'one_joint'; give a number"),
    ('one_joint: 0.25', 'one_joint: .nan', "home has nan for 'one_joint'; give a number"),
    ('{one_joint: 0.25, base_joint: -0.5}', '[0.25]', 'home is .*; it must map names'),
    ('velocity_scale: 0.2', 'velocity_scale: {a: 1}', "the parameter 'motion.velocity_scale' is"),
    ('tall: true', 'tall: [1, 2]', "the xacro argument 'tall' is"),
    ('file: urdf/arm.urdf.xacro, ', '', 'description has no file'),
    ('one_joint: 0.25, ', '', "the home of .* has no position of ..one_joint.."),
    ('one_joint: 0.25', 'one_joint: 1.25', "has 1.25 for 'one_joint'; the URDF allows -1 to 1"),
    ('velocity_scale: 0.2', 'velocity_scale: .nan', "'motion.velocity_scale' is nan"),
    ('velocity_scale: 0.2', 'velocity_scale: [1, a]', "the parameter 'motion.velocity_scale' is"),
    pytest.param('one_joint: 0.25', f'one_joint: 1{400 * "0"}', 'give a number', id='large'),
    ('robot:', 'robots:', 'it must have one key, robot'),
    ('robot:', '\trobot:', 'is not plain YAML'),
    pytest.param('title:', '# ' + 2**20 * 'x' + '\n  title:', 'has more than 1 MiB', id='long')])
def test_invalid_presets_are_refused(own, old, new, words):
    """One sentence names the file, the fault, and what is allowed."""
    preset, package = own
    assert old in GOOD
    preset.write_text(GOOD.replace(old, new))
    with pytest.raises(ParameterError, match=f'(?s){words}'):
        read_preset(preset).home_of(ik_node.load_robot(preset, [package]))


def test_no_file(tmp_path):
    with pytest.raises(ParameterError, match='cannot read the preset .*none.yaml'):
        read_preset(tmp_path / 'none.yaml')


def test_values_that_only_the_real_arm_has():
    """A simulated arm needs neither the low speed nor the period of the vendor's controller."""
    preset = read_preset('ur5e')
    assert preset.parameters_for(simulated=False) == preset.parameters
    assert preset.parameters_for(simulated=True) == {}
    assert preset.controller_period == preset.parameters['controller_period'] == 0.002
    others = [each for each in map(read_preset, preset_names())
              if 'motion.acceleration_limits' in each.parameters]
    assert others and all(each.parameters_for(simulated=True)['motion.acceleration_limits']
                          == each.parameters['motion.acceleration_limits'] for each in others)
