# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Each parameter of the node fills its field of the settings, and nothing else."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from harness import ARM
import numpy as np
import pytest

from ik_node.collision.scene.tool_file import Tool
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.model.tool import tool_pose
from ik_node.motion.constrained.keep import Keep
from ik_node.node.robot.settings import make_settings
from ik_node.ros.parameters.tables import IK_NODE
from ik_node.solver.solver import Solver

CHAIN = make_chain(read_urdf(ARM))
DEFAULTS = {row.name: row.default for row in IK_NODE}
SIX = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
HALF = tuple(0.5 * v for v in SIX)
GRIPPER = Tool('gripper', 'tool0', tool_pose((0.0, 0.0, 0.1), (0.1, 0.0, 0.0)), None, frozenset())
POSTURE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


def tip_limit(name, value):
    """Return what a limit of the tip changes."""
    return {f'{limits}.tip.{name}': value for limits in ('limits', 'planning')}


# Parameters that are refused with the default of another one.
ALLOWED_WITH = {'solver.step_fraction': {'solver.method': 'pseudo_inverse'}}
# Another value than the default, and what it changes in what the library is given.
OTHER = {
    'autostart': (False, {}),
    'robot_description': ('<robot/>', {}),
    'urdf_file': ('/arm.urdf', {}),
    'base_link': ('link_1', {}),
    'tip_link': ('link_5', {}),
    'frame_prefix': ('left/', {}),
    'named_poses_file': ('poses.yaml', {}),
    'tools_file': ('tools.yaml', {}),
    'tool.name': ('gripper', {'tool': GRIPPER, 'solver.tool': tuple(
        GRIPPER.T_link_tool.ravel().tolist())}),
    'tool.position': ((0.1, -0.2, 0.3), {'solver.tool': (
        1.0, 0.0, 0.0, 0.1, 0.0, 1.0, 0.0, -0.2, 0.0, 0.0, 1.0, 0.3, 0.0, 0.0, 0.0, 1.0)}),
    'tool.orientation': ((0.1, -0.2, 0.3), {'solver.tool': tuple(
        tool_pose((0.0, 0.0, 0.0), (0.1, -0.2, 0.3)).ravel().tolist())}),
    'tool.mass': (2.0, {'torques.mass': 2.0}),
    'tool.center_of_mass': ((0.1, 0.2, 0.3), {'torques.center_of_mass': (0.1, 0.2, 0.3)}),
    'tool.frame': ('tool', {'tool_frame': 'tool'}),
    'controller': ('arm_controller', {}),
    'output': ('action', {}),
    'controller_period': (0.004, {'controller_period': 0.004}),
    'controller_max_points': (200, {'controller_max_points': 200}),
    'tip_pose_rate': (30.0, {}),
    'solver.method': ('damped_least_squares', {'solver.method': 'damped_least_squares'}),
    'solver.position_tolerance': (2e-5, {'solver.position_tolerance': 2e-5}),
    'solver.orientation_tolerance': (3e-4, {'solver.orientation_tolerance': 3e-4}),
    'solver.metres_per_radian': (0.7, {'solver.metres_per_radian': 0.7,
                                       'following.metres_per_radian': 0.7}),
    'solver.max_iterations': (40, {'solver.max_iterations': 40}),
    'solver.step_fraction': (0.3, {'solver.step_fraction': 0.3}),
    'solver.max_restarts': (7, {'solver.max_restarts': 7}),
    'solver.select': ('first', {'solver.select': 'first'}),
    'solver.max_jump': (1.5, {'solver.max_jump': 1.5}),
    'solver.nearest': (True, {'solver.nearest': True}),
    'solver.nearest_keeps_position': (True, {'solver.nearest_keeps_position': True}),
    'solver.deadline': (0.2, {'solver.deadline': 0.2}),
    'solver.null_space_gains': (SIX, {'solver.gains': SIX}),
    'solver.preferred_positions': (POSTURE, {'solver.preferred': POSTURE,
                                             'following.preferred': POSTURE}),
    'solver.manipulability_gain': (0.4, {'solver.manipulability_gain': 0.4}),
    'solver.joint_weights': (SIX, {'solver.weights': SIX}),
    'solver.locked_joints': (('joint_2',), {'solver.locked': ('joint_2',),
                                            'following.locked': ('joint_2',)}),
    'motion.velocity_scale': (0.25, {
        'planning.velocity': tuple(0.25 * v for v in (4.4, 3.9, 4.7, 6.5, 6.5, 7.0))}),
    'motion.acceleration_scale': (0.5, {'planning.acceleration': (1.0,) * 6}),
    'motion.tool_speed': (0.3, tip_limit('speed', 0.3)),
    'motion.tool_turn': (0.6, tip_limit('angular_speed', 0.6)),
    'motion.lower_limits': (SIX, {}),
    'motion.upper_limits': (SIX, {}),
    'motion.velocity_limits': (SIX, {'limits.velocity': SIX, 'planning.velocity': HALF}),
    'motion.joint_limits_file': ('joint_limits.yaml', {}),
    'motion.acceleration_limits': (SIX, {'limits.acceleration': SIX,
                                         'planning.acceleration': SIX}),
    'motion.jerk_limits': (SIX, {'limits.jerk': SIX, 'planning.jerk': SIX}),
    'motion.sample_period': (0.01, {'sample_period': 0.01, 'paths.period': 0.01}),
    'motion.handover_time': (0.2, {'handover_time': 0.2}),
    'motion.start_tolerance': (0.05, {'start_tolerance': 0.05}),
    'motion.detour_time': (0.5, {'detour_time': 0.5}),
    'motion.straight': (True, {'straight': True}),
    'motion.keep': ('{upright: 0.1}', {'keep': (Keep(0.1),)}),
    'motion.whole_turns': (True, {'whole_turns': True}),
    'motion.torque_limits': (True, {'torques.always': True}),
    'motion.gravity': ((0.0, 5.0, -8.0), {'torques.gravity': (0.0, 5.0, -8.0)}),
    'path.blend_radius': (0.02, {'paths.blend_radius': 0.02}),
    'path.partial': (True, {'paths.partial': True}),
    'path.free_axes': (('rz',), {'paths.free_axes': ('rz',)}),
    'path.tool_acceleration': (1.1, tip_limit('acceleration', 1.1)),
    'path.tool_turn_acceleration': (2.2, tip_limit('angular_acceleration', 2.2)),
    'path.max_joint_step': (0.02, {'paths.max_joint_step': 0.02}),
    'mesh_paths': (('meshes',), {}),
    'collision.check': (False, {}),
    'collision.scene_file': ('scene.yaml', {}),
    'moveit.services': (True, {}),
    'moveit.group': ('arm', {}),
    'collision.srdf_file': ('arm.srdf', {}),
    'collision.strict': (True, {}),
    'collision.padding': (0.01, {}),
    'collision.link_padding': (('link_5=0.02',), {}),
    'collision.other_joints': (('finger=0.02',), {}),
    'collision.margin': (0.02, {'surroundings.margin': 0.02}),
    'collision.voxel': (0.05, {'surroundings.voxel': 0.05}),
    'collision.ground': (True, {'surroundings.ground': True}),
    'collision.ground_height': (-0.3, {'surroundings.ground_height': -0.3}),
    'chunk.gripper': ('hand/gripper_cmd', {}),
    'stream.output': ('velocity', {}),
    'stream.rate': (200.0, {'stream_rate': 200.0}),
    'stream.lead': (0.05, {'following.look_ahead': 0.05}),
    'stream.stamped': (False, {'stream_stamped': False}),
    'stream.timeout': (0.3, {'following.timeout': 0.3}),
    'stream.gain': (10.0, {'following.gain': 10.0}),
    'stream.memory': (0.06, {'following.memory': 0.06}),
    'stream.free_axes': (('z', 'rz'), {'following.free': ('z', 'rz')}),
    'stream.free_axes_frame': ('base', {'following.frame': 'base'}),
    'stream.null_space_gains': (SIX, {'following.bias': SIX}),
    'jog.command_in_type': ('speed_units', {'jogging.command_in_type': 'speed_units'}),
    'jog.scale.linear': (0.3, {'jogging.linear': 0.3}),
    'jog.scale.rotational': (0.7, {'jogging.rotational': 0.7}),
    'jog.scale.joint': (0.6, {'jogging.joint': 0.6}),
    'goal.max_age': (2.5, {'max_goal_age': 2.5}),
    'goal.tf_timeout': (1.5, {'tf_timeout': 1.5}),
    'state.timeout': (0.7, {'monitor.state_timeout': 0.7}),
    'watch.joint_tolerance': (0.03, {'monitor.joint_tolerance': 0.03}),
    'watch.path_tolerance': (SIX, {'monitor.path_tolerance': SIX}),
    'watch.start_timeout': (1.7, {'monitor.start_timeout': 1.7}),
    'watch.settle_timeout': (2.7, {'monitor.settle_timeout': 2.7}),
    'markers.far': (1.8, {'thresholds.far': 1.8}),
    'markers.limit_margin': (0.07, {'thresholds.limit_margin': 0.07}),
    'markers.singular_value': (0.08, {'thresholds.singular_value': 0.08}),
    'diagnostics.solve_time': (0.09, {'slow_solve': 0.09}),
    'diagnostics.heartbeat_late': (0.35, {'late_callback': 0.35}),
    'diagnostics.failures': (5, {'failed_goals': 5}),
    'record.folder': ('recordings', {'record_folder': 'recordings'}),
    'record.count': (7, {'record_count': 7}),
}


def leaves(thing, path=()) -> dict[tuple[str, ...], object]:
    """Return all numbers and words within a thing, arrays as tuples, by the names on the way."""
    if isinstance(thing, Tool):
        return {path: thing}
    if isinstance(thing, Chain):
        return {(*path, 'tool'): tuple(thing.T_link_tool.ravel().tolist())}
    if isinstance(thing, (np.ndarray, tuple)):
        return {path: tuple(np.array(thing).ravel().tolist())}
    if isinstance(thing, Solver):
        return leaves(thing.options, path) | leaves(thing.chain, path)
    if isinstance(thing, Mapping):
        items = thing.items()
    elif is_dataclass(thing):
        items = [(field.name, getattr(thing, field.name)) for field in fields(thing)]
    elif hasattr(thing, '__dict__'):
        items = [(name.strip('_'), value) for name, value in vars(thing).items()]
    else:
        return {path: thing}
    return {key: value for name, each in items
            for key, value in leaves(each, (*path, name)).items()}


def changes(before, after) -> dict[tuple[str, ...], object]:
    """Return the leaves of Settings that other values of parameters change."""
    before, after = (leaves(make_settings(given, CHAIN, tools={'gripper': GRIPPER}))
                     for given in (before, after))
    return {path: value for path, value in after.items()
            if path not in before or before[path] != value}


@pytest.mark.parametrize('row', IK_NODE, ids=lambda row: row.name)
def test_a_parameter_fills_its_own_field(row):
    """A value other than the default changes what it is for, and nothing else."""
    value, expected = OTHER[row.name]
    others = {**DEFAULTS, **ALLOWED_WITH.get(row.name, {})}
    changed = changes(others, {**others, row.name: value})
    assert {'.'.join(path): new for path, new in changed.items()} == expected
    assert expected or not row.live


def test_the_table_is_whole():
    """There is another value for each parameter, and it is one."""
    assert OTHER.keys() == DEFAULTS.keys()
    for name, (value, _) in OTHER.items():
        assert value != DEFAULTS[name] and type(value) is type(DEFAULTS[name])
