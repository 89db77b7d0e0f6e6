# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Start a controller as a process: the real one on mock hardware, or ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import signal
import subprocess
import sys
from time import monotonic
from typing import Any
import xml.etree.ElementTree as ElementTree

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
import yaml

CONTROLLER = 'arm_controller'
STATES = 'joint_state_broadcaster'
START_TIMEOUT_S = 30.0
ROOT = Path(__file__).parents[2]
TYPES = {CONTROLLER: 'joint_trajectory_controller/JointTrajectoryController',
         STATES: 'joint_state_broadcaster/JointStateBroadcaster'}


class MissingController(Exception):
    """ros2_control is not installed, or does not start; says what to do."""


def described(urdf: Path, joints: tuple[str, ...], start: list[float]) -> str:
    """Return the URDF with mock hardware that mirrors positions and velocities."""
    robot = ElementTree.parse(urdf).getroot()
    system = ElementTree.SubElement(robot, 'ros2_control', name='mock', type='system')
    hardware = ElementTree.SubElement(system, 'hardware')
    ElementTree.SubElement(hardware, 'plugin').text = 'mock_components/GenericSystem'
    for name, value in zip(joints, start):
        joint = ElementTree.SubElement(system, 'joint', name=name)
        for kind in ('position', 'velocity'):
            ElementTree.SubElement(joint, 'command_interface', name=kind)
            state = ElementTree.SubElement(joint, 'state_interface', name=kind)
            ElementTree.SubElement(state, 'param', name='initial_value').text = \
                str(value if kind == 'position' else 0.0)
    return ElementTree.tostring(robot, encoding='unicode')


@contextmanager
def real_controller(node: Node, folder: Path, urdf: Path, joints: tuple[str, ...],
                    start: list[float], rate: float, **options: Any) -> Iterator[str]:
    """
    Run ros2_control_node with a joint_trajectory_controller; yield the controller's name.

    Parameters
    ----------
    options
        Parameters of the joint_trajectory_controller besides joints and interfaces.

    Raises
    ------
    MissingController
        If ros2_control is not installed, or the controllers do not become active.

    """
    try:
        from controller_manager_msgs.srv import (
            ConfigureController,
            LoadController,
            SwitchController,
        )
        program = Path(get_package_prefix('controller_manager'),
                       'lib/controller_manager/ros2_control_node')
    except (ImportError, PackageNotFoundError):
        raise MissingController(
            'ros2_control is not installed: sudo apt install ros-$ROS_DISTRO-ros2-control '
            'ros-$ROS_DISTRO-ros2-controllers, or measure ours with --simulated') from None
    own = folder / 'controllers.yaml'
    own.write_text(yaml.safe_dump({
        'controller_manager': {'ros__parameters': {
            'update_rate': int(rate), **{name: {'type': kind} for name, kind in TYPES.items()}}},
        CONTROLLER: {'ros__parameters': {
            'joints': list(joints), 'command_interfaces': ['position', 'velocity'],
            'state_interfaces': ['position', 'velocity'], **options}}}))
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = node.create_publisher(String, 'robot_description', latched)
    publisher.publish(String(data=described(urdf, joints, start)))

    def call(kind: Any, name: str, request: Any) -> None:
        client = node.create_client(kind, f'/controller_manager/{name}')
        if not client.wait_for_service(START_TIMEOUT_S):
            raise MissingController(f'ros2_control_node does not serve {name}:\n{log.read_text()}')
        answer = client.call_async(request)
        rclpy.spin_until_future_complete(node, answer, timeout_sec=START_TIMEOUT_S)
        if not answer.done() or not answer.result().ok:
            raise MissingController(f'{name} failed: {request}\n{log.read_text()}')
        node.destroy_client(client)

    log = folder / 'ros2_control_node.log'
    with log.open('w') as output:
        running = subprocess.Popen(
            [program, '--ros-args', '--params-file', own, '-r',
             '~/robot_description:=/robot_description'], stdout=output, stderr=subprocess.STDOUT)
    try:
        for name in TYPES:
            call(LoadController, 'load_controller', LoadController.Request(name=name))
            call(ConfigureController, 'configure_controller',
                 ConfigureController.Request(name=name))
        call(SwitchController, 'switch_controller', SwitchController.Request(
            activate_controllers=list(TYPES), strictness=SwitchController.Request.STRICT))
        yield CONTROLLER
    finally:
        node.destroy_publisher(publisher)
        stop(running)


@contextmanager
def simulated_controller(node: Node, folder: Path, urdf: Path, joints: tuple[str, ...],
                         start: list[float], rate: float, **options: Any) -> Iterator[str]:
    """Run our simulated controller; as :func:`real_controller`."""
    with ros_program('sim_controller', folder, {
            'urdf_file': urdf, 'rate': float(rate), 'initial_positions': start, **options},
            '-r', f'joint_trajectory:={CONTROLLER}/joint_trajectory', *(
                word for part in ('send_goal', 'cancel_goal', 'get_result', 'feedback', 'status')
                for word in ('-r', f'follow_joint_trajectory/_action/{part}:={CONTROLLER}/'
                             f'follow_joint_trajectory/_action/{part}'))):
        yield CONTROLLER


@contextmanager
def ros_program(name: str, folder: Path, parameters: dict[str, Any], *arguments: str,
                package: Path = ROOT) -> Iterator[None]:
    """Run one of the package's nodes, of this tree or of another (`package`)."""
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(
        [str(package), os.environ.get('PYTHONPATH', '')])}
    words = [word for key, value in parameters.items() for word in ('-p', f'{key}:={value}')]
    with (folder / f'{name}.log').open('w') as output:
        running = subprocess.Popen(
            [sys.executable, '-c', f'from ik_node.tools.entry import {name}; {name}()',
             '--ros-args', *words, *arguments],
            stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=package)
    try:
        yield
    finally:
        stop(running)


def stop(running: subprocess.Popen) -> None:
    """End a process by SIGINT, and if it does not end in time, at once."""
    running.send_signal(signal.SIGINT)
    try:
        running.wait(10.0)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()


def spin_for(node: Node, seconds: float) -> None:
    """Handle what arrives for a time (s)."""
    end = monotonic() + seconds
    while (left := end - monotonic()) > 0.0:
        rclpy.spin_once(node, timeout_sec=min(left, 0.01))
