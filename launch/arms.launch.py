# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Launch the arms of a robot: the node that moves them, and a simulated controller for each.

``ros2 launch ik_node arms.launch.py --show-args`` lists what can be chosen.
"""

from pathlib import Path
from tempfile import NamedTemporaryFile

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnShutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
import yaml

from ik_node.base.errors import IkNodeError
from ik_node.model.arms import given_arms, robot_arms, simulated
from ik_node.model.description.urdf import parse_urdf
from ik_node.model.description.xacro_file import urdf_text
from ik_node.model.user_files.plain_yaml import YAML_ERRORS
from ik_node.model.user_files.presets import (
    arms_preset_names,
    ArmsPreset,
    description_file,
    read_arms_preset,
)
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

SHARE_FOLDER = Path(get_package_share_directory('ik_node'))
ONE_THREAD = {'OPENBLAS_NUM_THREADS': '1', 'NUMBA_NUM_THREADS': '1'}

LAUNCH_ARGUMENTS = {
    'robot': ('', 'a preset, or a YAML file of your own; with simulate:=false the driver of its '
              'vendor runs already'),
    'urdf': ('', 'the robot: a .urdf or .xacro file; a .xacro file is run as a program; without '
             'robot and urdf: urdf/two_arms.urdf with config/two_arms.yaml'),
    'params_file': ('', 'parameters of ik_arms; what they do not say of the arms is found in the '
                    'URDF'),
    'simulate': ('true', 'start a simulated controller for each controller of the arms; false: '
                 'real ones listen', ('true', 'false')),
    'rviz': ('true', 'start RViz', ('true', 'false')),
    'use_sim_time': ('false', 'take the time from /clock', ('true', 'false')),
}


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments, and start the nodes by their values."""
    more = {'robot': f'. Presets: {", ".join(arms_preset_names())}'}
    declarations = [
        DeclareLaunchArgument(name, default_value=row[0], description=row[1] + more.get(name, ''),
                              choices=row[2] if len(row) > 2 else None)
        for name, row in LAUNCH_ARGUMENTS.items()]
    return LaunchDescription([*declarations, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the nodes that the arguments ask for."""
    value = {name: LaunchConfiguration(name).perform(context) for name in LAUNCH_ARGUMENTS}
    simulate = value['simulate'] == 'true'
    if not value['robot'] and not value['urdf']:
        value['urdf'] = str(SHARE_FOLDER / 'urdf/two_arms.urdf')
        value['params_file'] = value['params_file'] or str(SHARE_FOLDER / 'config/two_arms.yaml')
    clock = {'use_sim_time': value['use_sim_time'] == 'true'}
    try:
        preset = read_arms_preset(value['robot']) if value['robot'] else None
        # Whose driver runs has robot_state_publisher, too, and its description is on the topic.
        text, description = ('', {}) if preset and not value['urdf'] and not simulate \
            else described(value['urdf'], preset)
        parameters = preset.node_parameters(simulate) if preset else {}
        files = [*([written(parameters)] if parameters else []),
                 *([value['params_file']] if value['params_file'] else [])]
        controllers = {}
        if simulate:
            tree = parse_urdf(text)
            said = of_arms(parameters) | parameters_in(value['params_file'])
            controllers = simulated(tree, robot_arms(tree, given_arms(said)),
                                    preset.home if preset else {})
    except IkNodeError as error:
        raise RuntimeError(f'{value["robot"] or "urdf:=" + value["urdf"]}: {error}') from None

    def node(executable: str, *parameters: object, package: str = 'ik_node',
             **more: object) -> Node:
        return Node(package=package, executable=executable, output='screen',
                    parameters=[*parameters, description, clock], additional_env=ONE_THREAD,
                    **more)

    nodes = [node('robot_state_publisher', package='robot_state_publisher')] if text else []
    nodes.append(node('ik_arms', *files))
    for controller, values in controllers.items():
        space, _, name = controller.rpartition('/')
        shared = [(each, '/' + each) for each in ('joint_states', 'robot_description') if space]
        nodes.append(node('sim_controller', values, name=name, namespace=space, remappings=[
            ('joint_trajectory', f'{name}/joint_trajectory'), *shared]))
    if value['rviz'] == 'true':
        nodes.append(Node(package='rviz2', executable='rviz2', parameters=[clock]))
    if parameters:
        nodes.append(RegisterEventHandler(OnShutdown(
            on_shutdown=lambda *_: Path(files[0]).unlink(missing_ok=True))))
    return nodes


def described(urdf: str, preset: ArmsPreset | None) -> tuple[str, dict[str, object]]:
    """Return the URDF text, and the parameters that say it; xacro is expanded."""
    path = Path(urdf).expanduser() if urdf else description_file(preset)
    if not path.is_file():
        raise RuntimeError(f'urdf:={urdf}: there is no file {path}')
    text = urdf_text(path, {} if urdf else preset.description.xacro_arguments)
    return text, {'urdf_file': str(path.absolute()),  # beside which there may be meshes
                  'robot_description': ParameterValue(text, value_type=str)}


def written(parameters: dict[str, object]) -> str:
    """Return a new parameter file: a dictionary would be for the nodes of the arms, too."""
    with NamedTemporaryFile('w', prefix='ik_arms_', suffix='.yaml', delete=False,
                            encoding='utf-8') as file:
        yaml.safe_dump(parameters, file)
    return file.name


def of_arms(nodes: object) -> dict[str, object]:
    """Return the parameters of ik_arms by their names, of those of several nodes."""
    found = {}
    for name, section in nodes.items() if isinstance(nodes, dict) else ():
        if isinstance(section, dict) and str(name).rpartition('/')[2] in ('ik_arms', '**'):
            found |= section.get('ros__parameters') or {}
    return found


def parameters_in(file: str) -> dict[str, object]:
    """Return what a parameter file says of ik_arms; nothing without one."""
    try:
        return of_arms(yaml.safe_load(Path(file).expanduser().read_text(encoding='utf-8'))) \
            if file else {}
    except (OSError, *YAML_ERRORS) as error:
        raise RuntimeError(f'params_file:={file}: {error}') from None
