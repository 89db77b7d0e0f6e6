# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Launch the arm, its node, a simulated controller, and RViz.

``ros2 launch ik_node ik.launch.py`` alone shows the arm and takes goals;
``ros2 launch ik_node ik.launch.py --show-args`` lists what can be chosen.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile

from ament_index_python.packages import get_package_share_directory, PackageNotFoundError
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnShutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
import yaml

from ik_node.base.errors import IkNodeError
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.model.description.xacro_file import urdf_text
from ik_node.model.user_files.plain_yaml import YAML_ERRORS
from ik_node.model.user_files.presets import (
    description_file,
    description_text,
    Preset,
    preset_names,
    read_preset,
)
from ik_node.ros.parameters.tables import IK_NODE
from ik_node.ui.rviz_config import adapted
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

SHARE_FOLDER = Path(get_package_share_directory('ik_node'))
# Algebra of 6x6 matrices is slower on many threads, and they slow other processes.
ONE_THREAD = {'OPENBLAS_NUM_THREADS': '1', 'NUMBA_NUM_THREADS': '1'}
# Topics and services of a controller.  An action is remapped by its parts.
CONTROLLER_TOPICS = ('joint_trajectory', *(f'follow_joint_trajectory/_action/{part}' for part in (
    'send_goal', 'cancel_goal', 'get_result', 'feedback', 'status')))

LAUNCH_ARGUMENTS = {
    'robot': ('', 'a preset, e.g. ur5e, or a YAML file of your own, which gives what the '
              'arguments below leave empty; with simulate:=false the driver of its vendor runs '
              'already'),
    'urdf': (str(SHARE_FOLDER / 'urdf/six_axis_arm.urdf'),
             'the robot: a .urdf or .xacro file, or package://PACKAGE/PATH; a .xacro file is run '
             'as a program'),
    'base_link': ('', 'link that poses refer to; empty: found in the URDF'),
    'tip_link': ('', 'link to bring to the goal; empty: found in the URDF'),
    'controller': ('', 'controller that takes trajectories on <controller>/joint_trajectory, e.g. '
                   'joint_trajectory_controller; empty: joint_trajectory, as the simulated one'),
    'simulate': ('true', 'start the simulated controller; false: a real one listens',
                 ('true', 'false')),
    'state_publisher': ('true', 'start robot_state_publisher, unless the driver of a preset has '
                        'started it; false: another launch file has, for the same robot',
                        ('true', 'false')),
    'rviz': ('true', 'start RViz, and the handle of the goal where interactive_markers is '
             'installed', ('true', 'false')),
    'viewer': ('false', 'start the view in the browser, http://127.0.0.1:8080',
               ('true', 'false')),
    'handheld': ('', 'serve the page by which a phone or a headset moves the arm, on this address '
                 'and over TLS, e.g. 0.0.0.0; empty: do not'),
    'autostart': ('true', 'the node configures and activates itself; false: a lifecycle manager '
                  'does', ('true', 'false')),
    'ground': ('true', 'what is below the base link is solid; false e.g. for an arm on a wall',
               ('true', 'false')),
    'namespace': ('', 'namespace of all nodes, for several arms'),
    'frame_prefix': ('', 'prefix of the link names in TF, e.g. left/'),
    'named_poses': ('', 'YAML file of named poses, a path or package://PACKAGE/PATH, in which '
                    'more can be saved'),
    'tools': ('', 'YAML file of named tools, a path or package://PACKAGE/PATH'),
    'use_sim_time': ('false', 'take the time from /clock', ('true', 'false')),
    'params_file': (str(SHARE_FOLDER / 'config/ik_node.yaml'), 'parameters of the nodes'),
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
    """Return the nodes that the arguments ask for, and their event handlers."""
    value = {name: LaunchConfiguration(name).perform(context) for name in LAUNCH_ARGUMENTS}
    preset = chosen_preset(value)
    urdf, missing, file = robot_description(value['urdf'], preset)
    # Whose driver runs has robot_state_publisher, too, and its description is on the topic.
    publishes = value['state_publisher'] == 'true'
    driven = preset is not None and value['simulate'] == 'false' \
        and is_default('urdf', value['urdf']) and (publishes or missing != '')
    if missing and not driven:
        raise RuntimeError(missing)
    chain = home = None
    try:
        if urdf:
            chain = make_chain(parse_urdf(urdf), value['base_link'], value['tip_link'])
            home = preset and preset.home_of(chain)
    except IkNodeError as error:
        raise RuntimeError(f'{value["robot"] or value["urdf"]}: {error}') from None
    description = {} if driven else {'robot_description': ParameterValue(urdf, value_type=str)}
    clock = {'use_sim_time': value['use_sim_time'] == 'true'}

    # Arguments that are given; the others are left to the parameter file.
    def asked(*names: str) -> dict[str, str]:
        return {name: value[name] for name in names if value[name]}

    # The file says beside what there may be meshes.
    links = asked('base_link', 'tip_link') | (
        {'urdf_file': str(file)} if description and file else {})
    files = {parameter: value[name] for name, parameter in (
        ('named_poses', 'named_poses_file'), ('tools', 'tools_file')) if value[name]}

    def node(executable: str, *parameters: object, package: str = 'ik_node',
             **more: object) -> Node:
        return Node(package=package, executable=executable, namespace=value['namespace'],
                    output='screen', parameters=[*parameters, clock], **more)

    nodes = []
    if missing:
        nodes.append(LogInfo(msg=f'~/home moves to the middle of the joints: {missing}'))
    if publishes and not driven:
        nodes.append(node('robot_state_publisher', description, asked('frame_prefix'),
                          package='robot_state_publisher'))
    nodes.append(
        node('ik_node', value['params_file'], preset_parameters(preset, home, value),
             description, links, files,
             asked('controller', 'frame_prefix'), {
                 'autostart': value['autostart'] == 'true',
                 'collision.ground': value['ground'] == 'true'},
             additional_env=ONE_THREAD))
    if value['simulate'] == 'true':
        controller = value['controller'].rstrip('/')
        nodes.append(node('sim_controller', value['params_file'], description, links,
                          {'initial_positions': home} if home else {},
                          remappings=[(name, f'{controller}/{name}') for name in CONTROLLER_TOPICS
                                      if controller],
                          additional_env=ONE_THREAD))
    if value['rviz'] == 'true':
        view = rviz_view(value['namespace'], value['frame_prefix'],
                         chain.base_link if chain else value['base_link'])
        nodes.append(node('rviz2', package='rviz2', arguments=['-d', str(view)]))
        nodes.append(RegisterEventHandler(OnShutdown(
            on_shutdown=lambda *_: view.unlink(missing_ok=True))))
        if find_spec('interactive_markers'):
            nodes.append(node('interactive_goal', value['params_file']))
        else:
            nodes.append(LogInfo(msg='interactive_markers is not installed: no handle in RViz'))
    if value['viewer'] == 'true':
        nodes.append(node('ik_viewer', value['params_file'], description, links))
    if value['handheld']:
        nodes.append(node('ik_handheld', value['params_file'],
                          {'host': value['handheld'], 'tls': True}))
    return nodes


def rviz_view(namespace: str, frame_prefix: str, base_link: str) -> Path:
    """Return a new RViz configuration file for this robot."""
    text = (SHARE_FOLDER / 'config/ik_node.rviz').read_text(encoding='utf-8')
    try:
        text = adapted(text, namespace, frame_prefix, base_link)
    except IkNodeError as error:
        raise RuntimeError(str(error)) from None
    with NamedTemporaryFile('w', prefix='ik_node_', suffix='.rviz', delete=False,
                            encoding='utf-8') as file:
        file.write(text)
    return Path(file.name)


def is_default(name: str, value: str) -> bool:
    """Return whether a launch argument is not given."""
    return value == LAUNCH_ARGUMENTS[name][0]


def chosen_preset(value: dict[str, str]) -> Preset | None:
    """Return the preset that is asked for, and let it fill the arguments that are empty."""
    if not value['robot']:
        return None
    try:
        preset = read_preset(value['robot'])
    except IkNodeError as error:
        raise RuntimeError(f'robot:={value["robot"]}: {error}') from None
    for name in ('base_link', 'tip_link'):
        value[name] = value[name] or getattr(preset, name)
    if value['simulate'] == 'false':  # the simulated one is found under any name
        for name in ('controller', 'namespace'):
            value[name] = value[name] or getattr(preset, name)
    return preset


def preset_parameters(preset: Preset | None, home: list[float] | None,
                      value: dict[str, str]) -> dict[str, object]:
    """Return the parameters of a preset, but for those in a parameter file that is given."""
    if preset is None:
        return {}
    unknown = preset.parameters.keys() - {row.name for row in IK_NODE}
    if unknown:
        raise RuntimeError(f'robot:={value["robot"]}: ik_node has no parameter '
                           f'{min(unknown)!r}; docs/reference/parameters.md lists them')
    parameters = preset.parameters_for(simulated=value['simulate'] == 'true')
    if home:
        parameters['solver.preferred_positions'] = home
    if not is_default('params_file', value['params_file']):
        given = parameters_in(Path(value['params_file']).expanduser())
        parameters = {name: held for name, held in parameters.items() if name not in given}
    return parameters


def parameters_in(file: Path) -> set[str]:
    """Return the names of all parameters in a file, with dots."""
    def names(fields: object, prefix: str = '') -> Iterator[str]:
        for key, field in fields.items() if isinstance(fields, dict) else ():
            yield f'{prefix}{key}'
            yield from names(field, f'{prefix}{key}.')

    try:
        content = yaml.safe_load(file.read_text(encoding='utf-8'))
    except (OSError, *YAML_ERRORS) as error:
        raise RuntimeError(f'params_file:={file}: {error}') from None
    nodes = content.values() if isinstance(content, dict) else ()
    return {name for node in nodes if isinstance(node, dict)
            for name in names(node.get('ros__parameters'))}


def robot_description(urdf: str, preset: Preset | None) -> tuple[str, str, Path | None]:
    """Return the URDF text, or why it is missing, and its file; xacro is expanded."""
    if preset is not None and is_default('urdf', urdf):
        try:
            return description_text(preset), '', description_file(preset)
        except IkNodeError as error:
            return '', str(error), None
    path = Path(urdf).expanduser()
    if urdf.startswith('package://'):
        package, _, rest = urdf.removeprefix('package://').partition('/')
        try:
            path = Path(get_package_share_directory(package)) / rest
        except PackageNotFoundError:
            raise RuntimeError(f'urdf:={urdf}: the package {package!r} is not installed, or its '
                               'setup.bash is not sourced') from None
    if not path.is_file():
        raise RuntimeError(f'urdf:={urdf}: there is no file {path}')
    try:
        return urdf_text(path, {}), '', path.absolute()
    except IkNodeError as error:
        raise RuntimeError(f'urdf:={urdf}: {error}') from None
