# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""config/sros2_policy.xml against what the nodes really have on the graph."""

from importlib.util import find_spec
import xml.etree.ElementTree as ET

from graph import all_of
from harness import ARM, free_port, process, ROOT, SEQUENCE_MODULE
from nightly import usual_first
import pytest
from two_arms import ARM_JOINTS

KINDS = {('topics', 'publish'): 'publisher', ('topics', 'subscribe'): 'subscriber',
         ('services', 'reply'): 'service', ('services', 'request'): 'client'}
# Older versions of moveit_msgs do not have it.
SERVO_SWITCH = 'moveit_msgs' + '.srv._servo_command_type' * (find_spec('moveit_msgs') is not None)
# What a node has only if a package is there that is not on PyPI.
NEEDS = {**{(node, 'client', '/controller_manager/list_controllers'): 'controller_manager_msgs'
            for node in ('ik_node', 'ik_arms')},
         ('ik_node', 'subscriber', '/tf'): 'tf2_ros',
         ('ik_node', 'subscriber', '/tf_static'): 'tf2_ros',
         ('ik_node', 'subscriber', '/ik_node/delta_joint_cmds'): 'control_msgs',
         ('ik_node', 'service', '/ik_node/switch_command_type'): SERVO_SWITCH,
         ('ik_node', 'execute', '/ik_node/motion_sequence'): SEQUENCE_MODULE,
         **{('ik_node', 'subscriber', f'/{name}'): 'moveit_msgs'
            for name in ('collision_object', 'attached_collision_object', 'planning_scene',
                         'trajectory_execution_event')},
         **{('ik_node', 'execute', f'/{name}'): 'moveit_msgs'
            for name in ('move_action', 'execute_trajectory')},
         **{('ik_node', 'execute', f'/ik_node/{name}'): 'nav2_msgs'
            for name in ('move_to_pose', 'move_through_poses')},
         **{('ik_node', 'service', f'/{name}'): 'moveit_msgs'
            for name in ('get_planning_scene', 'apply_planning_scene', 'compute_ik',
                         'compute_fk', 'plan_kinematic_path', 'compute_cartesian_path')}}
# What a node has only while a window of its page is open (test_viewer_collisions.py).
WITH_WINDOW = {('viewer', 'subscriber', f'/ik_node/{topic}')
               for topic in ('body_markers', 'clearance_markers')}
SIDES = {'service': 'execute', 'client': 'call'}  # of an action
ACTIONS = find_spec('control_msgs') is not None   # not on PyPI, and without it there are none
# Each way of starting them has something that the others lack.
STARTS = {
    'ik_node': ({'use_sim_time': 'true'}, {'urdf_file': ARM, 'stream.output': 'position',
                                           'moveit.services': 'true'},
                *([{'urdf_file': ARM, 'output': 'action'}] if ACTIONS else [])),
    'sim_controller': ({'use_sim_time': 'true'}, {'urdf_file': ARM}),
    'viewer': ({'use_sim_time': 'true', 'port': 0}, {'urdf_file': ARM, 'port': 0}),
    'handheld': ({'use_sim_time': 'true', 'port': 0},
                 {'arms': '[/ik_arms/left, /ik_arms/right]', 'port': 0}),
    'interactive_goal': ({'use_sim_time': 'true'},),
    'ik_arms': ({'use_sim_time': 'true'}, {
        'urdf_file': ROOT / 'urdf/two_arms.urdf', 'collision.check': 'false',
        'tip_links': ['left_tool', 'right_tool'],
        'controllers': list(ARM_JOINTS),
        'controller_joints': [' '.join(joints) for joints in ARM_JOINTS.values()]}),
}
READY = {'ik_node': ('ready for goals', 'waiting for'), 'viewer': ('open http',),
         'handheld': ('open http',),
         'sim_controller': ('simulates', 'waiting for'), 'interactive_goal': (),
         'ik_arms': ('ready for', 'waiting for')}


def allowed(node):
    """Return what a node may have: (kind, full name); of actions ('call' or 'execute', name)."""
    policy = ET.parse(ROOT / 'config/sros2_policy.xml').getroot()
    profile = policy.find(f".//enclave[@path='/{node}']/profiles/profile[@node='{node}']")
    return {(KINDS.get((group.tag, verb), verb), name.text.replace('~/', f'/{node}/')
             if '~' in name.text else f'/{name.text}')
            for group in profile for verb in group.attrib for name in group}


def with_actions(had):
    """Return what a node has, with each action in place of its services and topics."""
    parts = {right for right in had if '/_action/' in right[1]}
    return had - parts | {(SIDES[kind], name.partition('/_action/')[0]) for kind, name in parts
                          if kind in SIDES}


def wait_for(probe, running, words):
    """Wait until a process says one of some words."""
    probe.wait(lambda: any(word in running.output for word in words), 120.0)


@pytest.mark.parametrize('node', usual_first(1, STARTS))
def test_policy(tmp_path, probe, node):
    """All that a node has is allowed, and no more is allowed than what it has."""
    if node == 'viewer':
        pytest.importorskip('viser', reason='viser is not installed (extra "viewer")')
    if node == 'interactive_goal':
        pytest.importorskip('interactive_markers', reason='interactive_markers is not on PyPI')
    rights = allowed(node)
    needed = {right for right in rights
              if find_spec(NEEDS.get((node, *right), 'ik_node')) is not None
              and (ACTIONS or right[0] not in SIDES.values())
              and (node, *right) not in WITH_WINDOW}
    had = set()
    for parameters in STARTS[node]:
        if 'port' in parameters:
            parameters = {**parameters, 'port': free_port()}
        with process(node, tmp_path, parameters) as running:
            wait_for(probe, running, READY[node] or [''])
            had |= with_actions({*all_of(probe, node)})
    assert had <= rights, had - rights
    assert needed <= had, needed - had


def test_actions_are_what_the_policy_calls_them():
    """A policy names the action; on the graph are its services and topics."""
    name = '/follow_joint_trajectory'
    for kind, side, heard in (('service', 'execute', 'publisher'),
                              ('client', 'call', 'subscriber')):
        had = {(kind, f'{name}/_action/{part}')
               for part in ('send_goal', 'get_result', 'cancel_goal')}
        had |= {(heard, f'{name}/_action/{part}') for part in ('feedback', 'status')}
        assert with_actions(had | {('service', '/x/stop')}) == {
            (side, name), ('service', '/x/stop')}
    assert ('call', name) in allowed('ik_node') and ('execute', name) in allowed('sim_controller')
