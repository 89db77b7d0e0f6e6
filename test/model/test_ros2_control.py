# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A description with simulated hardware of ros2_control instead of the vendor's."""

from xml.etree import ElementTree

import numpy as np
import pytest

import ik_node
from ik_node.base.errors import UrdfError
from ik_node.base.system import share_file
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf, read_urdf
from ik_node.model.ros2_control import controller_parameters, HARDWARE_KINDS, with_hardware
from ik_node.model.user_files.presets import read_preset

VENDOR = '''<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <!-- a comment -->
  <ros2_control name="vendor" type="system"><hardware><plugin>vendor/Driver</plugin></hardware>
    <joint name="a"><command_interface name="effort"/></joint></ros2_control>
  <gazebo><plugin filename="gz_ros2_control-system" name="vendor"/></gazebo>
  <transmission name="t"/>
  <link name="foot"/><link name="one"/><link name="two"/><link name="jaw"/><link name="tip"/>
  <joint name="a" type="revolute"><parent link="foot"/><child link="one"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="50"/></joint>
  <joint name="b" type="continuous"><parent link="one"/><child link="two"/>
    <origin xyz="0 0 1"/><axis xyz="0 1 0"/><limit velocity="1" effort="0"/></joint>
  <joint name="finger" type="prismatic"><parent link="two"/><child link="jaw"/>
    <axis xyz="1 0 0"/><limit lower="0.01" upper="0.04" velocity="1" effort="5"/></joint>
  <joint name="other" type="prismatic"><parent link="two"/><child link="tip"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.04" velocity="1" effort="5"/><mimic joint="finger"/></joint>
</robot>'''
START = [0.25, -0.5]


@pytest.fixture(scope='module')
def vendor():
    """Return the tree and the chain of a vendor's description."""
    tree = parse_urdf(VENDOR)
    return tree, make_chain(tree, 'foot', 'two')


@pytest.mark.parametrize('kind', HARDWARE_KINDS)
def test_hardware_is_replaced(vendor, kind):
    """The joints of the chain take positions from the start; the mimic joint is left out."""
    text = with_hardware(*vendor, kind, START, '/tmp/controllers.yaml')
    root = ElementTree.fromstring(text)
    assert 'vendor' not in text and not root.findall('transmission')
    control, = root.findall('ros2_control')
    assert control.findtext('hardware/plugin') == HARDWARE_KINDS[kind].plugin
    joints = {joint.get('name'): joint for joint in control.findall('joint')}
    assert list(joints) == ['a', 'b', 'finger']
    assert [name for name, joint in joints.items()
            if joint.find('command_interface[@name="position"]') is not None] == ['a', 'b']
    for joint, start in zip(joints.values(), ('0.25', '-0.5', '0.01')):
        position, velocity = joint.findall('state_interface')
        assert position.findtext('param[@name="initial_value"]') == start
        assert (position.get('name'), velocity.get('name')) == ('position', 'velocity')
    # The arm itself is as it was.
    tree = parse_urdf(text)
    assert make_chain(tree, 'foot', 'two').joint_names == vendor[1].joint_names


def test_gazebo_starts_the_controllers_and_holds_the_arm(vendor):
    """Its plugin reads the parameter file; an arm without a link world is fixed to one."""
    root = ElementTree.fromstring(with_hardware(*vendor, 'gz', START, '/tmp/controllers.yaml'))
    assert root.findtext('gazebo/plugin/parameters') == '/tmp/controllers.yaml'
    fixed = root.find('joint[@name="world_fixed"]')
    assert fixed.find('parent').get('link') == 'world'
    assert fixed.find('child').get('link') == 'foot'
    tree = parse_urdf(VENDOR.replace('"foot"', '"world"'))
    text = with_hardware(tree, make_chain(tree, 'world', 'two'), 'gz', START, '/tmp/c.yaml')
    assert text.count('<link name="world"/>') == 1 and 'world_fixed' not in text
    assert root.find('gazebo/plugin/ros') is None
    text = with_hardware(*vendor, 'gz', START, '/tmp/controllers.yaml', namespace='lbr')
    assert ElementTree.fromstring(text).findtext('gazebo/plugin/ros/namespace') == 'lbr'
    tree = parse_urdf(VENDOR.replace('"two"', '"world"'))
    with pytest.raises(UrdfError, match="link 'world' is not the root"):
        with_hardware(tree, make_chain(tree, 'foot', 'world'), 'gz', START, '/tmp/c.yaml')


def test_controllers(vendor):
    """One that moves the joints of the chain, by the vendor's name, and the joint states."""
    parameters = controller_parameters(vendor[1], 'arm_controller')
    manager = parameters['/**/controller_manager']['ros__parameters']
    assert {name: row['type'] for name, row in manager.items() if isinstance(row, dict)} == {
        'joint_state_broadcaster': 'joint_state_broadcaster/JointStateBroadcaster',
        'arm_controller': 'joint_trajectory_controller/JointTrajectoryController'}
    assert parameters['/**/arm_controller']['ros__parameters']['joints'] == ['a', 'b']
    assert '/**/joint_trajectory_controller' in controller_parameters(vendor[1], '')


def test_the_servos_of_mujoco_hold_the_arm():
    """Copied into a model as mujoco_ros2_control does it, they hold home under gravity."""
    mujoco = pytest.importorskip('mujoco', reason='MuJoCo is not installed (extra "physics")')
    tree, arm = (load(share_file('urdf/six_axis_arm.urdf'))
                 for load in (read_urdf, ik_node.load_urdf))
    home = np.array(read_preset('six_axis_arm').home_of(arm))
    inputs = ElementTree.fromstring(with_hardware(tree, arm, 'mujoco', home, '')).find(
        'mujoco_inputs')
    model = ElementTree.fromstring(mujoco.MjSpec.from_string(tree.source.decode()).to_xml())
    for element in inputs.find('raw_inputs'):
        model.append(element)
    for change in inputs.find('processed_inputs'):
        given = dict(change.attrib)
        changed, = model.iterfind(f'.//{given.pop("type")}[@name="{given.pop("name")}"]')
        changed.attrib.update(given)
    compiled = mujoco.MjModel.from_xml_string(ElementTree.tostring(model, encoding='unicode'))
    data = mujoco.MjData(compiled)
    assert compiled.nu == arm.n
    data.qpos[:] = data.ctrl[:] = home
    mujoco.mj_step(compiled, data, int(1.0 / compiled.opt.timestep))
    assert np.abs(data.qpos - home).max() < 1e-3
    goal = home + 0.1
    data.ctrl[:] = goal
    mujoco.mj_step(compiled, data, int(3.0 / compiled.opt.timestep))
    assert np.abs(data.qpos - goal).max() < 1e-3
