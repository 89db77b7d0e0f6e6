# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A .xacro file becomes a .urdf file, without ROS."""

import os
import subprocess
import sys
from tempfile import gettempdir

import pytest

from ik_node.base.errors import UrdfError
from ik_node.model.description.mesh_files import resolve
from ik_node.model.description.urdf import parse_urdf, read_urdf
from ik_node.model.description.xacro_file import expand_xacro, is_xacro, urdf_text, xacro_text

GIVEN = {'name': 'given'}
ROBOT = '''<?xml version="1.0"?>
<robot name="$(arg name)" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="$(find other_arm_description)/urdf/link.xacro"/>
  <xacro:property name="length" value="0.25"/>
  <link name="base"/>
  <xacro:segment parent="base" child="one" length="${2 * length}"/>
  <xacro:segment parent="one" child="two" length="${length}"/>
</robot>'''
SEGMENT = '''<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="segment" params="parent child length">
    <link name="${child}"/>
    <joint name="${child}_joint" type="revolute">
      <parent link="${parent}"/><child link="${child}"/><origin xyz="0 0 ${length}"/>
      <axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/>
    </joint>
  </xacro:macro>
</robot>'''


@pytest.fixture
def robot(tmp_path, monkeypatch):
    """Return a .xacro file that includes one of the package beside its own."""
    monkeypatch.setenv('AMENT_PREFIX_PATH', os.environ.get('AMENT_PREFIX_PATH', ''))
    for package, file, text in (('my_arm', 'arm.urdf.xacro', ROBOT),
                                ('other_arm_description', 'link.xacro', SEGMENT)):
        folder = tmp_path / 'src' / package / 'urdf'
        folder.mkdir(parents=True)
        (folder / file).write_text(text)
        (folder.parent / 'package.xml').write_text(f'<package><name>{package}</name></package>')
    mesh = tmp_path / 'src/my_arm/meshes/one.stl'
    mesh.parent.mkdir()
    mesh.write_bytes(b'solid one')
    return tmp_path / 'src/my_arm/urdf/arm.urdf.xacro'


def test_macros_arguments_and_packages(robot, tmp_path):
    """Values are computed; packages that lie beside the file are found, not installed."""
    urdf = expand_xacro(robot, tmp_path, GIVEN)
    assert urdf == tmp_path / 'arm.urdf'
    tree = read_urdf(urdf)
    assert tree.name == 'given'
    assert [joint.T_parent_joint[2, 3] for joint in tree.joints] == [0.5, 0.25]


def test_meshes_of_the_package_are_found(robot, tmp_path):
    """The viewer that is started afterwards finds what package:// names."""
    assert resolve('package://my_arm/meshes/one.stl')[0] is None
    expand_xacro(robot, tmp_path, GIVEN)
    found, _ = resolve('package://my_arm/meshes/one.stl')
    assert found is not None and found.read_bytes() == b'solid one'


@pytest.mark.parametrize('old, new, words', [
    ('other_arm_description', 'absent_description', 'absent_description'),
    ('2 * length', '2 * width', 'width'),
    ('<link name="base"/>', '<link name="base">', 'mismatch'),
    ('arg name', 'arg title', "needs a value of the argument 'title'")])
def test_xacro_errors_are_reported(robot, tmp_path, old, new, words):
    """One sentence that names the file and the reason."""
    robot.write_text(ROBOT.replace(old, new))
    with pytest.raises(UrdfError, match=f'(?s)xacro cannot expand .*arm.urdf.xacro.*{words}'):
        expand_xacro(robot, tmp_path, GIVEN)


def test_without_the_package_xacro(robot):
    """It is named, with the command that installs it."""
    done = subprocess.run(
        [sys.executable, '-c', 'import sys; sys.modules["xacro"] = None; '
         'from ik_node.tools.entry import demo; demo()', '--urdf', str(robot)],
        capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert 'pip install xacro' in done.stderr and 'Traceback' not in done.stderr


def test_content_decides(robot, tmp_path):
    """A file is expanded if it has xacro in it, whatever its name is."""
    named = robot.with_name('arm.urdf')
    named.write_text(ROBOT.replace('$(arg name)', 'r'))
    assert [joint.name for joint in read_urdf(named).joints] == ['one_joint', 'two_joint']
    plain = tmp_path / 'plain.urdf.xacro'
    plain.write_text('<robot name="r"><link name="a"/><link name="b"/><joint name="j" '
                     'type="continuous"><parent link="a"/><child link="b"/></joint></robot>')
    assert urdf_text(plain, {}) == plain.read_text()


@pytest.mark.fault('robot description', 'xacro that looks in a package that is not installed',
                   'refused with the package, and what to do')
def test_packages_that_are_elsewhere(robot, tmp_path, monkeypatch):
    """IK_NODE_DESCRIPTIONS is looked through; else the sentence names the package and it."""
    elsewhere = tmp_path / 'elsewhere'
    elsewhere.mkdir()
    (tmp_path / 'src/other_arm_description').rename(elsewhere / 'checkout')
    with pytest.raises(UrdfError) as refused:
        xacro_text(robot, GIVEN)
    sentence = str(refused.value)
    assert "'other_arm_description'" in sentence and 'IK_NODE_DESCRIPTIONS' in sentence
    assert 'Error' not in sentence and gettempdir() not in sentence.replace(str(robot), '')
    monkeypatch.setenv('IK_NODE_DESCRIPTIONS', str(elsewhere))
    assert parse_urdf(xacro_text(robot, GIVEN)).name == 'given'


@pytest.mark.parametrize('namespace', ['xmlns:xacro="http://www.ros.org/wiki/xacro"',
                                       "xmlns:xacro='http://www.ros.org/wiki/xacro'", ''])
def test_expressions_without_macros(tmp_path, namespace):
    """A file that only computes is expanded, too."""
    file = tmp_path / 'arm.urdf'
    file.write_text(f'<robot name="r" {namespace}><link name="a"/>'
                    '<link name="b"/><joint name="j" type="continuous"><parent link="a"/><child '
                    'link="b"/><origin xyz="0 0 ${0.5 * 0.5}"/></joint></robot>')
    assert is_xacro(file.read_bytes()) and '0.25' in urdf_text(file, {})
    assert read_urdf(file).joints[0].T_parent_joint[2, 3] == 0.25
    with pytest.raises(UrdfError, match='this is xacro'):
        read_urdf(file, expand=False)


def test_meshes_that_xacro_would_find():
    """They would be looked for by a name that is none, and their links not be checked."""
    text = ('<robot name="r"><link name="a"><collision><geometry><mesh filename='
            '"file://$(find some_arm)/a.stl"/></geometry></collision></link><link name="b"/>'
            '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
            '</robot>')
    assert is_xacro(text.encode())
    with pytest.raises(UrdfError, match='mesh.*this is xacro'):
        parse_urdf(text)
    assert not is_xacro(text.replace('$(find some_arm)', '/some_arm').encode())
