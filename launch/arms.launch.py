# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Launch two arms, the node that moves them in step, and a simulated controller for each.

``ros2 launch ik_node arms.launch.py --show-args`` lists what can be chosen.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from ik_node.base.errors import IkNodeError
from ik_node.model.description.xacro_file import urdf_text
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

SHARE_FOLDER = Path(get_package_share_directory('ik_node'))
ONE_THREAD = {'OPENBLAS_NUM_THREADS': '1', 'NUMBA_NUM_THREADS': '1'}
# Base and tip link of the joints of each simulated controller of urdf/two_arms.urdf.
SIMULATED_ARMS = {'left_controller': ('base_link', 'left_tool'),
                  'right_controller': ('torso', 'right_tool')}

LAUNCH_ARGUMENTS = {
    'urdf': (str(SHARE_FOLDER / 'urdf/two_arms.urdf'),
             'the robot: a .urdf or .xacro file; a .xacro file is run as a program'),
    'params_file': (str(SHARE_FOLDER / 'config/two_arms.yaml'),
                    'parameters of ik_arms: tips, controllers and their joints'),
    'simulate': ('true', 'start the simulated controllers of urdf/two_arms.urdf; false: real ones '
                 'listen', ('true', 'false')),
    'rviz': ('true', 'start RViz', ('true', 'false')),
    'use_sim_time': ('false', 'take the time from /clock', ('true', 'false')),
}


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments, and start the nodes by their values."""
    declarations = [
        DeclareLaunchArgument(name, default_value=row[0], description=row[1],
                              choices=row[2] if len(row) > 2 else None)
        for name, row in LAUNCH_ARGUMENTS.items()]
    return LaunchDescription([*declarations, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the nodes that the arguments ask for."""
    value = {name: LaunchConfiguration(name).perform(context) for name in LAUNCH_ARGUMENTS}
    path = Path(value['urdf']).expanduser()
    if not path.is_file():
        raise RuntimeError(f'urdf:={value["urdf"]}: there is no file {path}')
    try:
        text = urdf_text(path, {})
    except IkNodeError as error:
        raise RuntimeError(f'urdf:={value["urdf"]}: {error}') from None
    description = {'urdf_file': str(path.absolute()),  # beside which there may be meshes
                   'robot_description': ParameterValue(text, value_type=str)}
    clock = {'use_sim_time': value['use_sim_time'] == 'true'}

    def node(executable: str, *parameters: object, package: str = 'ik_node',
             **more: object) -> Node:
        return Node(package=package, executable=executable, output='screen',
                    parameters=[*parameters, description, clock], additional_env=ONE_THREAD,
                    **more)

    nodes = [node('robot_state_publisher', package='robot_state_publisher'),
             node('ik_arms', value['params_file'])]
    if value['simulate'] == 'true':
        nodes += [node('sim_controller', {'base_link': base, 'tip_link': tip,
                                          'fixed_joints': False},
                       name=controller,
                       remappings=[('joint_trajectory', f'{controller}/joint_trajectory')])
                  for controller, (base, tip) in SIMULATED_ARMS.items()]
    if value['rviz'] == 'true':
        nodes.append(Node(package='rviz2', executable='rviz2', parameters=[clock]))
    return nodes
