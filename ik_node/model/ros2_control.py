# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The ros2_control part of a robot description, for hardware that others simulate.

The vendor's own part, which names its driver, is replaced: by mock_components/GenericSystem of
ros2_control, MuJoCo (mujoco_ros2_control), or Gazebo (gz_ros2_control).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lxml import etree
import numpy as np

from ik_node.base.errors import UrdfError
from ik_node.model.chain import Chain
from ik_node.model.description.urdf import Tree

DEFAULT_CONTROLLER = 'joint_trajectory_controller'
MANAGER_RATE_HZ = 250
VENDOR_TAGS = ('ros2_control', 'gazebo', 'transmission', 'mujoco_inputs')
WORLD_LINK = 'world'
SERVO_DEFLECTION = 0.01    # rad or m: how far a servo of MuJoCo yields at its largest effort
SERVO_ARMATURE = 0.1       # kg m^2 or kg, of a drive with its gear, seen from the joint
UNKNOWN_EFFORT = 100.0     # N m or N, where the URDF has none


@dataclass(frozen=True)
class HardwareKind:
    """A kind of simulated hardware."""

    plugin: str                 # hardware plugin of ros2_control
    parameters: dict[str, str]  # its parameters


HARDWARE_KINDS = {
    # calculate_dynamics: the velocities are derived from the positions.
    'mock': HardwareKind('mock_components/GenericSystem', {'calculate_dynamics': 'true'}),
    'mujoco': HardwareKind('mujoco_ros2_control/MujocoSystemInterface', {
        'mujoco_model_topic': '/mujoco_robot_description'}),
    'gz': HardwareKind('gz_ros2_control/GazeboSimSystem', {}),
}


def with_hardware(tree: Tree, chain: Chain, kind: str, q: Sequence[float],
                  controllers_file: str, headless: bool = False, namespace: str = '') -> str:
    """
    Return URDF text with simulated hardware instead of the vendor's.

    Parameters
    ----------
    tree : Tree
    chain : Chain
        Its joints take positions; other joints that move only report theirs.
    kind : str
        Key of HARDWARE_KINDS.
    q : sequence of float, (n,)
        Positions at the start, rad or m.
    controllers_file : str
        Path of the parameters of the controller manager, which Gazebo starts itself.
    headless : bool
        No window of MuJoCo.
    namespace : str
        Of the controller manager, for Gazebo, which makes it.

    """
    root = _copy(tree)
    hardware = HARDWARE_KINDS[kind]
    control = etree.SubElement(root, 'ros2_control', name=f'{kind}_hardware', type='system')
    plugin = etree.SubElement(control, 'hardware')
    etree.SubElement(plugin, 'plugin').text = hardware.plugin
    parameters = dict(hardware.parameters)
    if kind == 'mujoco':
        parameters['headless'] = str(headless).lower()
    for name, value in parameters.items():
        etree.SubElement(plugin, 'param', name=name).text = value
    start = dict(zip(chain.joint_names, q))
    for joint in tree.joints:
        if not joint.moves or joint.mimic is not None:
            continue
        element = etree.SubElement(control, 'joint', name=joint.name)
        if joint.name in start:
            etree.SubElement(element, 'command_interface', name='position')
        position = etree.SubElement(element, 'state_interface', name='position')
        etree.SubElement(position, 'param', name='initial_value').text = \
            repr(float(start.get(joint.name, np.clip(0.0, joint.lower, joint.upper))))
        etree.SubElement(element, 'state_interface', name='velocity')
    if kind == 'gz':
        _add_gazebo(root, tree, controllers_file, namespace)
    if kind == 'mujoco':
        _add_servos(root, tree, chain)
    return etree.tostring(root, encoding='unicode', pretty_print=True)


def controller_parameters(chain: Chain, controller: str, period: float = 0.0) -> dict[str, Any]:
    """
    Return the parameters of a controller manager, as a parameter file has them.

    Parameters
    ----------
    chain : Chain
        The joints that the controller moves.
    controller : str
        Name of the joint_trajectory_controller; empty: DEFAULT_CONTROLLER.
    period : float
        Update period of the manager, s; 0: that of MANAGER_RATE_HZ.

    """
    name = controller or DEFAULT_CONTROLLER
    return {
        '/**/controller_manager': {'ros__parameters': {
            'update_rate': round(1.0 / period) if period > 0.0 else MANAGER_RATE_HZ,
            'joint_state_broadcaster': {'type': 'joint_state_broadcaster/JointStateBroadcaster'},
            name: {'type': 'joint_trajectory_controller/JointTrajectoryController'}}},
        f'/**/{name}': {'ros__parameters': {
            'joints': list(chain.joint_names),
            'command_interfaces': ['position'],
            'state_interfaces': ['position', 'velocity']}}}


def _copy(tree: Tree) -> etree._Element:
    """Return the elements of a description, without the vendor's of VENDOR_TAGS."""
    try:
        root = etree.fromstring(tree.source)
    except etree.XMLSyntaxError as error:
        raise UrdfError(f'the robot description cannot be copied: {error}') from None
    for element in root.xpath(' | '.join(VENDOR_TAGS)):
        root.remove(element)
    return root


def _add_gazebo(root: etree._Element, tree: Tree, controllers_file: str, namespace: str) -> None:
    """Add the plugin that has the controller manager, and fix the arm to the world."""
    if tree.root != WORLD_LINK and WORLD_LINK in tree.links:
        raise UrdfError(f'the link {WORLD_LINK!r} is not the root, as it is for Gazebo; give it '
                        'another name')
    if tree.root != WORLD_LINK:
        etree.SubElement(root, 'link', name=WORLD_LINK)
        joint = etree.SubElement(root, 'joint', name=f'{WORLD_LINK}_fixed', type='fixed')
        etree.SubElement(joint, 'parent', link=WORLD_LINK)
        etree.SubElement(joint, 'child', link=tree.root)
    plugin = etree.SubElement(
        etree.SubElement(root, 'gazebo'), 'plugin', filename='gz_ros2_control-system',
        name='gz_ros2_control::GazeboSimROS2ControlPlugin')
    etree.SubElement(plugin, 'parameters').text = controllers_file
    if namespace:
        etree.SubElement(etree.SubElement(plugin, 'ros'), 'namespace').text = namespace


def _add_servos(root: etree._Element, tree: Tree, chain: Chain) -> None:
    """Add what mujoco_ros2_control copies into the model of MuJoCo: a servo for each joint."""
    inputs = etree.SubElement(root, 'mujoco_inputs')
    raw = etree.SubElement(inputs, 'raw_inputs')
    etree.SubElement(raw, 'option', integrator='implicitfast')
    # The classes of the shapes that its converter writes.
    defaults = etree.SubElement(raw, 'default')
    for name, group, solid in (('visual', '2', '0'), ('collision', '3', '1')):
        etree.SubElement(etree.SubElement(defaults, 'default', {'class': name}), 'geom',
                         group=group, contype=solid, conaffinity=solid)
    actuators = etree.SubElement(raw, 'actuator')
    processed = etree.SubElement(inputs, 'processed_inputs')
    for joint in tree.joints:
        if joint.name not in chain.joint_names:
            continue
        effort = joint.effort if 0.0 < joint.effort < np.inf else UNKNOWN_EFFORT
        etree.SubElement(
            actuators, 'position', name=joint.name, joint=joint.name, dampratio='1.0',
            kp=f'{effort / SERVO_DEFLECTION:g}', forcerange=f'{-effort:g} {effort:g}')
        etree.SubElement(processed, 'modify_element', type='joint', name=joint.name,
                         armature=f'{SERVO_ARMATURE:g}')
        # As drives with an integral part: the arm does not sag.
        etree.SubElement(processed, 'modify_element', type='body', name=joint.child,
                         gravcomp='1.0')
