# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Launch a preset on hardware that others simulate, with ros2_control, and ik_node on it.

``ros2 launch ik_node hardware.launch.py robot:=ur5e hardware:=mock``: the controller has the name
and the namespace that it has with the vendor's driver, so that what works here works there.
"""

from pathlib import Path
from tempfile import NamedTemporaryFile

from ament_index_python.packages import get_package_share_directory
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnShutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
import yaml

from ik_node.base.errors import IkNodeError
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.model.ros2_control import controller_parameters, DEFAULT_CONTROLLER, with_hardware
from ik_node.model.user_files.presets import description_text, preset_names, read_preset
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

LAUNCH_ARGUMENTS = {
    'robot': ('six_axis_arm', 'a preset, e.g. ur5e, or a YAML file of your own'),
    'hardware': ('mock', 'mock: ros2_control alone, each joint is where it is commanded; mujoco: '
                 'mujoco_ros2_control; gz: Gazebo by gz_ros2_control', ('mock', 'mujoco', 'gz')),
    'rviz': ('true', 'start RViz', ('true', 'false')),
    'headless': ('false', 'no window of the simulator', ('true', 'false')),
}


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments, and start the nodes by their values."""
    more = {'robot': f'. Presets: {", ".join(preset_names())}'}
    declarations = [
        DeclareLaunchArgument(name, default_value=row[0], description=row[1] + more.get(name, ''),
                              choices=row[2] if len(row) > 2 else None)
        for name, row in LAUNCH_ARGUMENTS.items()]
    return LaunchDescription([*declarations, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the simulated hardware, its controllers, and ik.launch.py."""
    value = {name: LaunchConfiguration(name).perform(context) for name in LAUNCH_ARGUMENTS}
    kind, headless = value['hardware'], value['headless'] == 'true'
    try:
        preset = read_preset(value['robot'])
        tree = parse_urdf(description_text(preset))
        chain = make_chain(tree, preset.base_link, preset.tip_link)
        home = preset.home_of(chain) or chain.middle
        controllers = parameter_file(controller_parameters(
            chain, preset.controller, preset.controller_period))
        urdf = with_hardware(tree, chain, kind, home, str(controllers), headless,
                             preset.namespace)
    except IkNodeError as error:
        raise RuntimeError(f'robot:={value["robot"]}: {error}') from None
    description = {'robot_description': ParameterValue(urdf, value_type=str)}
    clock = {'use_sim_time': kind != 'mock'}

    def node(package: str, executable: str, **more: object) -> Node:
        return Node(package=package, executable=executable, namespace=preset.namespace,
                    output='screen', **more)

    def included(package: str, file: str, **arguments: str) -> IncludeLaunchDescription:
        path = Path(get_package_share_directory(package)) / 'launch' / file
        return IncludeLaunchDescription(PythonLaunchDescriptionSource(str(path)),
                                        launch_arguments=arguments.items())

    manager = {'executable': 'ros2_control_node', 'parameters': [str(controllers), clock]}
    hardware = {
        'mock': lambda: [node('controller_manager', **manager)],
        'mujoco': lambda: [
            node('mujoco_ros2_control', 'robot_description_to_mjcf.sh', arguments=[
                '--robot_description', urdf, '--publish_topic', '/mujoco_robot_description']),
            node('mujoco_ros2_control', **manager)],
        'gz': lambda: [
            included('ros_gz_sim', 'gz_sim.launch.py',
                     gz_args=f'-r {"-s " if headless else ""}empty.sdf'),
            node('ros_gz_sim', 'create', arguments=[
                '-topic', 'robot_description', '-name', preset.name]),
            node('ros_gz_bridge', 'parameter_bridge', arguments=[
                '/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock'])],
    }
    return [
        node('robot_state_publisher', 'robot_state_publisher', parameters=[description, clock]),
        *hardware[kind](),
        node('controller_manager', 'spawner', arguments=[
            'joint_state_broadcaster', preset.controller or DEFAULT_CONTROLLER,
            '--param-file', str(controllers)]),
        included('ik_node', 'ik.launch.py', robot=value['robot'], simulate='false',
                 state_publisher='false', controller=preset.controller or DEFAULT_CONTROLLER,
                 rviz=value['rviz'], use_sim_time=str(clock['use_sim_time']).lower()),
        RegisterEventHandler(OnShutdown(
            on_shutdown=lambda *_: controllers.unlink(missing_ok=True))),
    ]


def parameter_file(parameters: dict[str, object]) -> Path:
    """Write a parameter file, and return it."""
    with NamedTemporaryFile('w', prefix='ik_node_', suffix='.yaml', delete=False,
                            encoding='utf-8') as file:
        yaml.safe_dump(parameters, file)
    return Path(file.name)
