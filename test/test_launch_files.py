# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the launch files would start for a preset: nodes, their parameters and names."""

import importlib.util
import os
from pathlib import Path

import pytest
import yaml

pytest.importorskip('launch_ros', reason='launch_ros is not on PyPI; it comes with ROS 2')
from launch.actions import IncludeLaunchDescription  # noqa: E402
from launch.substitutions import TextSubstitution  # noqa: E402
from launch.utilities import perform_substitutions  # noqa: E402
from launch_ros.actions import Node  # noqa: E402
from launch_ros.utilities import evaluate_parameters  # noqa: E402

from ik_node.model.description.urdf import parse_urdf  # noqa: E402
from launch import LaunchContext  # noqa: E402

ROOT = Path(__file__).parents[1]
HOME = [0.0, 0.3, -0.4, 0.0, 1.0, 0.0]
PRESET = f'''robot:
  title: The arm of this package, as a vendor's
  description: {{file: {ROOT}/urdf/six_axis_arm.urdf}}
  base_link: base_link
  tip_link: flange
  controller: arm_controller
  namespace: maker
  driver: none
  home: {{joint_6: 0.0, joint_5: 1.0, joint_4: 0.0, joint_3: -0.4, joint_2: 0.3, joint_1: 0.0}}
  parameters: {{motion.velocity_scale: 0.2, controller_period: 0.002,
               motion.acceleration_limits: [3.0]}}
'''


def loaded(file):
    """Return a launch file as a module."""
    spec = importlib.util.spec_from_file_location('launched', file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Return what a launch file would start, by its name and arguments."""
    share = tmp_path / 'installed/share'
    index = share / 'ament_index/resource_index/packages'
    index.mkdir(parents=True)
    for package in ('ik_node', 'ros_gz_sim'):
        (index / package).touch()
    (share / 'ik_node').symlink_to(ROOT)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'installed'))
    (tmp_path / 'my_arm.yaml').write_text(PRESET)

    def start(name, **arguments):
        module = loaded(ROOT / 'launch' / name)
        context = LaunchContext()
        for action in module.generate_launch_description().entities[:-1]:
            given = {key: str(value) for key, value in arguments.items()}
            context.launch_configurations.update(given)
            action.visit(context)
        return module.start(context), context

    return start


@pytest.fixture
def mine(tmp_path):
    """Return the path of a preset of one's own."""
    return tmp_path / 'my_arm.yaml'


def nodes(started):
    """Return the parameters of each node by its executable, and its namespace and arguments."""
    actions, context = started
    found = {}
    for action in actions:
        if isinstance(action, Node):
            action._perform_substitutions(context)
            parameters = {}
            for given in evaluate_parameters(context, action._Node__parameters):
                parameters |= given if isinstance(given, dict) else {}
            found[action.node_executable if isinstance(action.node_executable, str)
                  else action.node_executable[0].perform(context)] = (
                parameters, action.expanded_node_namespace, action.cmd)
    return found


def test_a_preset_with_the_simulated_controller(started, mine):
    """Description, links, limits and home are those of the preset; the speed is ours."""
    found = nodes(started('ik.launch.py', robot=mine, rviz='false'))
    assert set(found) == {'robot_state_publisher', 'ik_node', 'sim_controller'}
    node, namespace, _ = found['ik_node']
    assert 'six_axis_arm' in node['robot_description'] and namespace in ('', '/')
    assert (node['base_link'], node['tip_link']) == ('base_link', 'flange')
    assert list(node['solver.preferred_positions']) == HOME  # in the order of the chain
    assert list(node['motion.acceleration_limits']) == [3.0]
    assert 'motion.velocity_scale' not in node and 'controller' not in node
    assert list(found['sim_controller'][0]['initial_positions']) == HOME


def test_a_preset_with_the_driver_of_its_vendor(started, mine):
    """Only ik_node, in its namespace, on its controller; the driver has the description."""
    found = nodes(started('ik.launch.py', robot=mine, rviz='false', simulate='false'))
    assert set(found) == {'ik_node'}
    node, namespace, _ = found['ik_node']
    assert 'robot_description' not in node and namespace.strip('/') == 'maker'
    assert node['controller'] == 'arm_controller' and node['motion.velocity_scale'] == 0.2
    assert list(node['solver.preferred_positions']) == HOME


def test_a_preset_on_another_state_publisher(started, mine):
    """As hardware.launch.py starts it: the description is known, and where its meshes are."""
    found = nodes(started('ik.launch.py', robot=mine, rviz='false', simulate='false',
                          state_publisher='false', viewer='true'))
    assert set(found) == {'ik_node', 'ik_viewer'}
    for node, namespace, _ in found.values():
        assert 'six_axis_arm' in node['robot_description'] and namespace.strip('/') == 'maker'
        assert node['urdf_file'] == f'{ROOT}/urdf/six_axis_arm.urdf'


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a .xacro file that finds another one in a package of IK_NODE_DESCRIPTIONS."""
    package = tmp_path / 'sources/maker_arms'
    package.mkdir(parents=True)
    (package / 'package.xml').write_text('<package><name>maker_arms</name></package>')
    for name in ('six_axis_arm', 'two_arms'):
        (package / f'{name}.xacro').write_text((ROOT / f'urdf/{name}.urdf').read_text())
    monkeypatch.setenv('IK_NODE_DESCRIPTIONS', str(tmp_path / 'sources'))

    def mine(name):
        file = tmp_path / f'mine/{name}.urdf.xacro'
        file.parent.mkdir(exist_ok=True)
        file.write_text('<robot name="mine" xmlns:xacro="http://www.ros.org/wiki/xacro">'
                        f'<xacro:include filename="$(find maker_arms)/{name}.xacro"/></robot>')
        return file

    return mine


@pytest.mark.parametrize('launch_file, name, executable', [
    ('ik.launch.py', 'six_axis_arm', 'ik_node'), ('arms.launch.py', 'two_arms', 'ik_arms')])
def test_a_xacro_file(started, checkout, launch_file, name, executable):
    """It is expanded as the nodes do it, with packages of IK_NODE_DESCRIPTIONS."""
    file = checkout(name)
    known = os.environ['AMENT_PREFIX_PATH']
    node, _, _ = nodes(started(launch_file, urdf=file, rviz='false'))[executable]
    text = node['robot_description']
    assert 'xacro:include' not in text and parse_urdf(text).joints
    assert node['urdf_file'] == str(file) and os.environ['AMENT_PREFIX_PATH'] == known
    file.write_text(file.read_text().replace('maker_arms', 'no_such_package'))
    with pytest.raises(RuntimeError, match="urdf:=.*: xacro cannot expand .*'no_such_package'"):
        started(launch_file, urdf=file, rviz='false')


def simulated_by(started):
    """Return the names of the simulated controllers that would be started."""
    actions, context = started
    found = set()
    for action in actions:
        if isinstance(action, Node):
            action._perform_substitutions(context)
            found.add(action.node_name)
    return {name for name in found if name.endswith(('_controller', '/left', '/right'))}


def test_the_controllers_of_arms(started):
    """Of those that are found, of the parameter file, or of the preset."""
    urdf = ROOT / 'urdf/two_arms.urdf'
    assert simulated_by(started('arms.launch.py', rviz='false')) == {
        '/left_controller', '/right_controller'}
    assert simulated_by(started('arms.launch.py', urdf=urdf, rviz='false')) == {
        '/left_arm_controller', '/right_arm_controller'}
    assert simulated_by(started('arms.launch.py', robot='baxter', rviz='false',
                                simulate='false')) == set()
    with pytest.raises(RuntimeError, match='six_axis_arm.urdf: no two arms of 5 to 7 joints'):
        started('arms.launch.py', urdf=ROOT / 'urdf/six_axis_arm.urdf', rviz='false')


def test_arguments_win_over_the_preset(started, mine, tmp_path):
    """Links, controller, namespace, description and a parameter file of one's own."""
    limits = tmp_path / 'limits.yaml'
    limits.write_text('/**/ik_node:\n  ros__parameters:\n    motion: {velocity_scale: 0.7}\n')
    found = nodes(started(
        'ik.launch.py', robot=mine, rviz='false', simulate='false', tip_link='tool0',
        controller='other', namespace='left', params_file=limits,
        urdf=ROOT / 'urdf/parallel_axes_arm.urdf'))
    node, namespace, _ = found['ik_node']
    assert (node['tip_link'], node['controller']) == ('tool0', 'other')
    assert namespace.strip('/') == 'left' and 'motion.velocity_scale' not in node
    assert list(node['motion.acceleration_limits']) == [3.0]
    assert 'parallel_axes_arm' in node['robot_description']


@pytest.mark.parametrize('text, words', [
    ('robot: {title: x}', 'description has no file'),
    (PRESET.replace('motion.velocity_scale', 'motion.velocity'),
     "ik_node has no parameter 'motion.velocity'"),
    (PRESET.replace('joint_2: 0.3', 'joint_2: 9.0'), "has 9 for 'joint_2'")])
def test_a_bad_preset_is_one_sentence(started, mine, text, words):
    mine.write_text(text)
    with pytest.raises(RuntimeError, match=words):
        started('ik.launch.py', robot=mine, rviz='false')


def test_show_args_lists_the_presets(started):
    """In the description of the argument robot, of both launch files that have it."""
    for file in ('ik.launch.py', 'hardware.launch.py'):
        declared, = (action for action in
                     loaded(ROOT / 'launch' / file).generate_launch_description().entities
                     if getattr(action, 'name', '') == 'robot')
        assert 'six_axis_arm, so101, ur10e' in declared.description


def test_an_unknown_preset_lists_those_there_are(started):
    for file in ('ik.launch.py', 'hardware.launch.py'):
        with pytest.raises(RuntimeError, match="robot:=ur6: there is no preset 'ur6'; .*ur5e"):
            started(file, robot='ur6')


def location_of(action, context):
    """Return the path of a launch file that is included, before it is."""
    source = action.launch_description_source
    return perform_substitutions(context, source._LaunchDescriptionSource__location)


@pytest.mark.parametrize('hardware, executables, plugin', [
    ('mock', {'ros2_control_node'}, 'mock_components/GenericSystem'),
    ('mujoco', {'ros2_control_node', 'robot_description_to_mjcf.sh'},
     'mujoco_ros2_control/MujocoSystemInterface'),
    ('gz', {'create', 'parameter_bridge'}, 'gz_ros2_control/GazeboSimSystem')])
def test_hardware(started, mine, hardware, executables, plugin):
    """The controller has its name, joints and namespace; ik_node listens for the description."""
    actions, context = started('hardware.launch.py', robot=mine, hardware=hardware,
                               headless='true', rviz='false')
    found = nodes((actions, context))
    assert set(found) == {'robot_state_publisher', 'spawner', *executables}
    assert {namespace.strip('/') for _, namespace, _ in found.values()} == {'maker'}
    description = found['robot_state_publisher'][0]
    assert plugin in description['robot_description']
    assert description['use_sim_time'] == (hardware != 'mock')
    parse_urdf(description['robot_description'])
    _, _, command = found['spawner']
    words = [part.text for each in command for part in each if isinstance(part, TextSubstitution)]
    file = Path(words[words.index('--param-file') + 1])
    assert 'arm_controller' in words and 'joint_state_broadcaster' in words
    controllers = yaml.safe_load(file.read_text())
    assert controllers['/**/controller_manager']['ros__parameters']['update_rate'] == 500
    assert controllers['/**/arm_controller']['ros__parameters']['joints'] == [
        f'joint_{k}' for k in range(1, 7)]
    included = {Path(location_of(action, context)).name:
                dict(action.launch_arguments)
                for action in actions if isinstance(action, IncludeLaunchDescription)}
    assert included['ik.launch.py']['simulate'] == 'false'
    assert included['ik.launch.py']['state_publisher'] == 'false'
    assert included['ik.launch.py']['controller'] == 'arm_controller'
    assert included['ik.launch.py']['use_sim_time'] == str(hardware != 'mock').lower()
    assert ('gz_sim.launch.py' in included) == (hardware == 'gz')
    if hardware == 'gz':
        assert included['gz_sim.launch.py']['gz_args'] == '-r -s empty.sdf'
        assert f'<parameters>{file}</parameters>' in description['robot_description']
        assert '<namespace>maker</namespace>' in description['robot_description']
