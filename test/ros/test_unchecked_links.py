# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Collision checking is never off in silence: on the log, on /diagnostics, and in each answer."""

import json

from arms_rig import READY as ARMS_READY, running, URDF as ARMS
from harness import DOWN, QUICK, READY, run_system, tip, tool
import pytest
import robots
from sensor_msgs.msg import JointState
from two_arms import TREE

from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.arm import load_urdf
from ik_node.ros.messages.conversion import quaternion_from_rotation

PANDA = robots.ARMS['panda'].path
NINE = "9 of 11 links are not checked: 'panda_link0', "
WARN = b'\x01'
# Through link_1, wherever that turns.
TABLE = 'objects: {table: {box: [1.0, 0.6, 0.04], xyz: [0.6, 0.0, 0.2], rpy: [0.0, 0.0, 0.3]}}'


@pytest.fixture(scope='module')
def overlap():
    """Return the Panda, and a posture in which links whose meshes are beside the URDF overlap."""
    arm = load_urdf(PANDA)
    model = CollisionModel.of(arm)
    q = next(q for q in robots.random_postures(arm, 500, 5)
             if model.worst_pair(q).distance < -0.02)
    return arm, q


def sent(probe, arm, q):
    """Send joint positions, and the pose of the tip there; return both answers."""
    message = JointState(name=list(arm.joint_names), position=q.tolist())
    answers = [probe.final(probe.send_goal('joints', message, ''))]
    T = arm.fk(q)
    answers.append(probe.final(probe.send(T[:3, 3], quaternion_from_rotation(T[:3, :3]),
                                          arm.base_link)))
    return answers


def doctors(word):
    """Return what ik_doctor finds of a check."""
    running = tool('ik_doctor', '--json', '--timeout', '30')
    found = json.loads(running.stdout.read())
    return [each for each in found['findings'] if each['check'] == word]


def test_meshes_beside_the_urdf_file_are_checked(tmp_path, probe, overlap):
    """A goal at which they overlap is refused, joint positions as a pose that only they reach."""
    arm, q = overlap
    with run_system(tmp_path, probe, {'urdf_file': PANDA, **QUICK},
                    {'urdf_file': PANDA, 'initial_positions': arm.middle.tolist()}) as system:
        joints, _ = sent(probe, arm, q)
        assert (joints['state'], joints['reason']) == ('rejected', 'COLLISION'), joints
        assert 'at the goal, ' in joints['message'] and ' overlap by ' in joints['message']
        assert 'not_checked' not in joints and 'not checked' not in system.node.output
        finding, = doctors('collisions')
        assert finding['level'] == 'ok', finding


@pytest.mark.fault('robot description', 'links whose meshes are not found',
                   'the log, /diagnostics, ik_doctor and each answer say how many links are not '
                   'checked, which, and why')
def test_links_that_are_not_checked_are_told(tmp_path, probe, overlap):
    """Of a file that was copied out of its package; mesh_paths names where the meshes are."""
    arm, q = overlap
    urdf = tmp_path / 'panda.urdf'
    urdf.write_text(PANDA.read_text())
    start = {'urdf_file': urdf, 'initial_positions': arm.middle.tolist()}
    with run_system(tmp_path, probe, {'urdf_file': urdf, **QUICK}, start) as system:
        joints, _ = sent(probe, arm, q)
        assert joints['state'] == 'reached' and joints['not_checked'].startswith(NINE), joints
        assert 'mesh_paths' in joints['not_checked']
        assert NINE in system.node.output
        probe.wait_for_health(WARN, 'ready, but', NINE)
        finding, = doctors('collisions')
        assert finding['level'] == 'warning' and NINE in finding['what'], finding
    with run_system(tmp_path, probe, {'urdf_file': urdf, **QUICK,
                                      'mesh_paths': f'[{robots.REAL.parent}]'}, start):
        joints, _ = sent(probe, arm, q)
        assert joints['reason'] == 'COLLISION' and 'not_checked' not in joints, joints


@pytest.mark.fault('goals', 'an arm that collides where it stands, as with a table through it',
                   'the log, /diagnostics and ik_doctor say which two overlap; joint positions '
                   'and poses at which they do are refused alike')
def test_an_arm_that_collides_where_it_stands(tmp_path, probe):
    """It is said before any goal; the same overlap has the same answer."""
    scene = tmp_path / 'scene.yaml'
    scene.write_text(TABLE)
    with run_system(tmp_path, probe, {'collision.scene_file': scene, **QUICK}) as system:
        pair = "'link_1' and 'table' overlap by "
        probe.wait(lambda: f'where the arm stands, {pair}' in system.node.output, what='the log')
        probe.wait_for_health(WARN, 'ready, but', pair)
        finding, = doctors('collisions')
        assert finding['level'] == 'problem' and pair in finding['what'], finding
        q = [0.4, *READY[1:]]
        T = tip(q)
        answers = [probe.final(probe.send_joints(q)), probe.final(probe.send_joints(READY)),
                   probe.final(probe.send(T.translation, quaternion_from_rotation(T.rotation))),
                   probe.final(probe.send((0.45, 0.0, 0.4), DOWN))]
        assert {(each['state'], each['reason']) for each in answers} == {
            ('rejected', 'COLLISION')}, answers
        assert all(pair in each['message'] for each in answers)
        assert system.node.output.count('where the arm stands, ') == 1
        assert not probe.trajectories


def test_a_check_that_is_off_is_told(tmp_path, probe):
    """In each answer; the health does not complain of what was asked for."""
    with run_system(tmp_path, probe, {'collision.check': False, **QUICK}):
        answer = probe.final(probe.send_joints([0.1, *READY[1:]]))
        assert answer['not_checked'].endswith('collision.check is false')
        assert probe.health['/ik_node: health'].message == 'ready'


def test_several_arms_say_the_same(tmp_path):
    """A box through an arm, and a link whose mesh is nowhere: on the log, and in the answer."""
    urdf, scene = tmp_path / 'arms.urdf', tmp_path / 'scene.yaml'
    mesh = '<collision><geometry><mesh filename="package://nowhere/tool.stl"/></geometry></collision>'
    text = ARMS.read_text().replace('<link name="left_tool"/>',
                                    f'<link name="left_tool">{mesh}</link>')
    assert mesh in text
    urdf.write_text(text)
    T = robots.Reference(ARMS.read_text()).pose('base_link', 'left_upper_arm', dict(zip(
        TREE.joint_names, ARMS_READY)))
    scene.write_text(f'objects: {{box: {{box: [0.3, 0.3, 0.3], xyz: {T[:3, 3].tolist()}}}}}')
    with running(tmp_path, {'urdf_file': urdf, 'collision.scene_file': scene}) as arms:
        arms.wait(lambda: 'where the arms stand, ' in arms.node.output, what='the log')
        assert "and 'box' overlap by" in arms.node.output
        answer = arms.final(arms.send_posture(ARMS_READY))
        assert answer['reason'] == 'COLLISION' and "'left_tool'" in answer['not_checked'], answer
        assert 'links is not checked: ' in arms.node.output
