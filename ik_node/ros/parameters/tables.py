# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The parameters of the nodes, one table for each node.

Declaration, validation, node.settings, config/*.yaml and the reference of parameters follow from
these tables.  A parameter names the field that it fills, of the settings of the ik_node or of
the options of another node:

    Row('goal.tf_timeout', 0.5, 'maximum time to wait for ...', 0.0, 60.0, fills='tf_timeout')
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ik_node.solver.options import SOLUTION_CHOICES


@dataclass(frozen=True)
class Row:
    """One parameter."""

    name: str
    # Gives the type.  An empty tuple is a list that is not set, of numbers or, if `strings`, of
    # strings.
    default: str | float | int | bool | tuple[float, ...]
    description: str
    # low, high: range of a number
    low: float | None = None
    high: float | None = None
    # May be changed while the node runs.  Others are fixed at start, of a managed node while it is
    # configured.
    live: bool = True
    strings: bool = False
    at_start: bool = False  # fixed at start, also of a managed node
    # The field of node.settings.Settings, or `group.field` of what these are made from; of a
    # parameter that is not live, the same of node.settings.StartOptions.  Of the other nodes the
    # field, or `group.field`, of their options, such as ui.viewer.options.ViewerOptions.
    fills: str = ''
    convert: str = ''  # how, if not as it is: a name in node.settings.CONVERSIONS


def filled(rows: Iterable[Row], values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """
    Return the values of parameters by the fields that they fill.

    Parameters
    ----------
    values : mapping of str to value
        By the names of the parameters.

    Returns
    -------
    dict of str to dict
        By group ('' for fields without one) and field.

    """
    groups: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in rows:
        if row.fills:
            group, _, field = row.fills.rpartition('.')
            groups[group][field] = values[row.name]
    return groups


MODEL_ROWS = (
    Row('robot_description', '',
        'URDF text of the robot; empty: read urdf_file', live=False, fills='robot_description'),
    Row('urdf_file', '',
        'path of a URDF file; empty: wait for the topic robot_description; beside '
        'robot_description: only where that is from, for its meshes',
        live=False, fills='urdf_file'),
    Row('base_link', '',
        'link that poses refer to; empty: found in the URDF', live=False, fills='base_link'),
    Row('tip_link', '',
        'link that is moved to the goal; empty: found in the URDF', live=False, fills='tip_link'),
)

MESH_PATHS = Row(
    'mesh_paths', (),
    'folders that are searched first for meshes, before the package of urdf_file and those that '
    'are installed: they contain packages, or the part of a path after the name of the package, '
    'or after the .. that it begins with',
    live=False, strings=True, fills='mesh_paths')

IK_NODE = (
    Row('autostart', True,
        'configure and activate the node at start; false: leave it to a lifecycle manager or '
        'ros2 lifecycle set', live=False, at_start=True),
    *MODEL_ROWS,
    MESH_PATHS,
    Row('frame_prefix', '',
        'prefix of the link names in TF, as given to robot_state_publisher',
        live=False, fills='frame_prefix'),
    Row('named_poses_file', '',
        'YAML file of named poses, into which ~/save_named writes; a path or '
        'package://NAME/PATH; empty: only those of the SRDF',
        live=False, fills='named_poses_file'),
    Row('tools_file', '',
        'YAML file of named tools, of which tool.name chooses one; a path or '
        'package://NAME/PATH; empty: none', live=False, fills='tools_file'),
    Row('tool.name', '',
        'the tool of tools_file that is mounted, with its centre point and its shape; empty: '
        'none; not during a motion', fills='tool.name'),
    Row('tool.position', (0.0, 0.0, 0.0),
        'position of the tool centre point in tip_link: x, y, z, m; goals are poses of it; not '
        'during a motion', fills='tool.position'),
    Row('tool.orientation', (0.0, 0.0, 0.0),
        'orientation of the tool in tip_link: roll, pitch, yaw, rad, as in a URDF; not during a '
        'motion', fills='tool.orientation'),
    Row('tool.mass', 0.0,
        'mass of the tool and what it holds, kg; above 0, the torques of motions are kept within '
        'the effort limits of the URDF; not during a motion', 0.0, 10_000.0,
        fills='torques.mass'),
    Row('tool.center_of_mass', (0.0, 0.0, 0.0),
        'centre of mass of the tool in tip_link: x, y, z, m; not during a motion',
        fills='torques.center_of_mass'),
    Row('tool.frame', 'tcp',
        'frame_id that stands for the present tool centre point in goals; a link of this name '
        'comes first', fills='tool_frame'),
    Row('controller', '',
        'name of the controller, in the namespace of the node unless it begins with /: '
        'trajectories go to <controller>/joint_trajectory; empty: joint_trajectory', live=False,
        fills='controller'),
    Row('output', 'topic',
        'how motions reach the controller: topic (joint_trajectory), action '
        '(follow_joint_trajectory, needs control_msgs), or position (<controller>/commands of a '
        'forward command controller)', live=False, fills='output'),
    Row('controller_period', 0.0,
        'update period of the controller, s; 0 = estimated from the joint states',
        0.0, 0.1, fills='controller_period'),
    Row('controller_max_points', 0,
        'largest number of points of a trajectory that the controller takes, such as 200 of '
        'MotoROS2; 0 = no limit', 0, 1_000_000, fills='controller_max_points'),
    Row('tip_pose_rate', 25.0,
        'maximum rate of ~/tip_pose, Hz', 0.1, 1000.0, live=False, fills='tip_pose_rate'),
    Row('solver.method', 'damped',
        'damped, or one of the textbook methods in the documentation', fills='solver.method'),
    Row('solver.position_tolerance', 1e-6,
        'position error below which a goal is solved, m',
        1e-9, 0.1, fills='solver.position_tolerance'),
    Row('solver.orientation_tolerance', 1e-6,
        'orientation error below which a goal is solved, rad',
        1e-9, 3.2, fills='solver.orientation_tolerance'),
    Row('solver.metres_per_radian', 0.3,
        'weight of the orientation error against the position error, m/rad',
        1e-3, 100.0, fills='solver.metres_per_radian'),
    Row('solver.max_iterations', 0,
        'iterations of one attempt; 0 = default of the method',
        0, 10_000, fills='solver.max_iterations'),
    Row('solver.step_fraction', 1.0,
        'fraction of the pose error that one step of a textbook method along the Jacobian removes',
        0.01, 1.0, fills='solver.step_fraction'),
    Row('solver.max_restarts', 100,
        'attempts from other postures after the one from the present posture',
        0, 10_000, fills='solver.max_restarts'),
    Row('solver.select', 'nearest',
        f'which solution to use: {", ".join(SOLUTION_CHOICES)}; first = the first one found from '
        'the present posture, nearest = the closest to it', fills='solver.select'),
    Row('solver.max_jump', 0.0,
        'maximum change of a joint from the present posture to the solution, rad or m; 0 = no '
        'limit', 0.0, 1000.0, fills='solver.max_jump', convert='zero_is_unlimited'),
    Row('solver.nearest', False,
        'move to the nearest reachable pose if the goal is out of reach', fills='solver.nearest'),
    Row('solver.nearest_keeps_position', False,
        'the nearest pose has the position of the goal where that is reachable, and the nearest '
        'orientation; for arms of five axes', fills='solver.nearest_keeps_position'),
    Row('solver.deadline', 0.1,
        'maximum time for one solve, s', 1e-3, 10.0, fills='solver.deadline'),
    Row('solver.null_space_gains', (1.0,),
        'gain towards the preferred position, one value or one per joint; 0 = none',
        fills='solver.gains'),
    Row('solver.preferred_positions', (),
        'preferred posture, rad or m, also the goal of ~/home; not set: middle of each joint '
        'range', fills='solver.preferred'),
    Row('solver.manipulability_gain', 0.0,
        'gain away from singularities, where a goal leaves the arm redundant',
        0.0, 1000.0, fills='solver.manipulability_gain'),
    Row('solver.joint_weights', (1.0,),
        'cost of moving a joint, one value or one per joint', fills='solver.weights'),
    Row('solver.locked_joints', (),
        "joints that goals of poses, streams and jogs do not move; [''] = none",
        strings=True, fills='solver.locked', convert='names'),
    Row('motion.velocity_scale', 0.5,
        'fraction of the velocity limits that is used', 0.001, 1.0, fills='scales.velocity'),
    Row('motion.acceleration_scale', 1.0,
        'fraction of the acceleration limits that is used',
        0.001, 1.0, fills='scales.acceleration'),
    Row('motion.tool_speed', 0.0,
        'maximum speed of the tip, m/s; 0 = no limit',
        0.0, 100.0, fills='tip.speed', convert='zero_is_unlimited'),
    Row('motion.tool_turn', 0.0,
        'maximum angular speed of the tip, rad/s; 0 = no limit',
        0.0, 1000.0, fills='tip.angular_speed', convert='zero_is_unlimited'),
    Row('motion.lower_limits', (),
        'lower joint position limits, rad or m, one value or one per joint; those of the URDF '
        'hold where they are narrower, or if not set', live=False, fills='position_limits.lower'),
    Row('motion.upper_limits', (),
        'upper joint position limits, as motion.lower_limits', live=False,
        fills='position_limits.upper'),
    Row('motion.joint_limits_file', '',
        "joint_limits.yaml as MoveIt's, whose limits narrow those of the URDF; a path or "
        'package://NAME/PATH; empty: none', live=False, fills='joint_limits_file'),
    Row('motion.velocity_limits', (),
        'joint velocity limits, rad/s or m/s, one value or one per joint; not set: those of the '
        'URDF', fills='joints.velocity', convert='positive_if_set'),
    Row('motion.acceleration_limits', (),
        'joint acceleration limits, rad/s^2 or m/s^2, one value or one per joint; those of the '
        'URDF hold where they are smaller; not set: those of the URDF, and 2 where it has none',
        fills='joints.acceleration', convert='positive_if_set'),
    Row('motion.jerk_limits', (),
        'joint jerk limits, rad/s^3 or m/s^3, as motion.acceleration_limits, and 20 where the '
        'URDF has none',
        fills='joints.jerk', convert='positive_if_set'),
    Row('motion.sample_period', 0.02,
        'maximum time between the points of a path, s; five times as long in motions to a goal, '
        'where the quintics between the points are exact',
        0.002, 1.0, fills='sample_period'),
    Row('motion.handover_time', 0.1,
        'time from planning until a new motion replaces the current one, s; at least three '
        'controller periods, plus the delivery time', 0.002, 1.0, fills='handover_time'),
    Row('motion.start_tolerance', 0.02,
        'how far outside its limits a joint may be at the start of a motion, rad or m; it then '
        'moves inward', 0.0, 1.0, fills='start_tolerance'),
    Row('motion.whole_turns', False,
        'move joints without limits to the positions of a joint goal, whole turns included; '
        'false: by the shortest way to the same angle', fills='whole_turns'),
    Row('motion.straight', False,
        'move the tip along a straight line to ~/goal_pose, instead of the fastest joint motion',
        fills='straight'),
    Row('motion.keep', '',
        'what the tip keeps during every motion: YAML as on ~/goal_kept, such as {upright: 0.1}; '
        'empty: nothing', fills='keep', convert='keeps'),
    Row('motion.detour_time', 5.0,
        'CPU time limit for planning around obstacles, s; 0 = refuse the goal', 0.0, 600.0,
        fills='detour_time'),
    Row('motion.torque_limits', False,
        'keep the torques of motions within the effort limits of the URDF without a tool.mass, '
        'too; not during a motion', fills='torques.always'),
    Row('motion.gravity', (0.0, 0.0, -9.81),
        'acceleration of gravity in the base link: x, y, z, m/s^2; for torques; not during a '
        'motion', fills='torques.gravity'),
    Row('path.blend_radius', 0.0,
        'maximum distance from a corner at which the tip may leave the path, m; 0 = stop at '
        'corners', 0.0, 10.0, fills='paths.blend_radius'),
    Row('path.partial', False,
        'follow a path as far as possible, instead of rejecting it if a part cannot be followed',
        fills='paths.partial'),
    Row('path.free_axes', (),
        "axes of the poses of lines, arcs and paths about which the tip may be turned on its way, "
        "of rx, ry, rz; [''] = none", strings=True, fills='paths.free_axes', convert='names'),
    Row('path.tool_acceleration', 0.0,
        'maximum acceleration of the tip on a path, m/s^2; 0 = no limit',
        0.0, 1000.0, fills='tip.acceleration', convert='zero_is_unlimited'),
    Row('path.tool_turn_acceleration', 0.0,
        'maximum angular acceleration of the tip on a path, rad/s^2; 0 = no limit',
        0.0, 10_000.0, fills='tip.angular_acceleration', convert='zero_is_unlimited'),
    Row('path.max_joint_step', 0.05,
        'maximum change of a joint between two solutions along a path, rad or m',
        1e-3, 1.0, fills='paths.max_joint_step'),
    Row('collision.check', True,
        'choose postures that collide neither with the arm nor with objects, and send no motion '
        'that would', live=False, fills='collision_check'),
    Row('collision.scene_file', '',
        'YAML file of the objects around the arm; empty: none', live=False, fills='scene_file'),
    Row('collision.srdf_file', '',
        'SRDF whose disabled pairs of links are not checked against each other, and whose group '
        'states are named poses; empty: the topic robot_description_semantic',
        live=False, fills='srdf_file'),
    Row('collision.strict', False,
        'refuse a robot with a link that cannot be checked, e.g. for a missing mesh, instead of a '
        'warning', live=False, fills='collision_strict'),
    Row('collision.padding', 0.0,
        'thickness added to all links, m', 0.0, 1.0, live=False, fills='collision_padding'),
    Row('collision.link_padding', (),
        "thickness of single links in place of collision.padding, m, as 'link=0.01'; "
        "[''] = none", live=False, strings=True, fills='collision_link_padding'),
    Row('collision.other_joints', (),
        'where joints beside the arm are (another arm, fingers, a lid), until joint states say '
        "so, rad or m, as 'joint=0.5'; [''] = at 0",
        live=False, strings=True, fills='collision_other_joints'),
    Row('collision.margin', 0.005,
        'least distance of the arm from itself and from objects, m',
        0.0, 1.0, fills='surroundings.margin'),
    Row('collision.ground', False,
        'whether all below collision.ground_height is solid', fills='surroundings.ground'),
    Row('collision.ground_height', 0.0,
        'height of the ground in the base link, m', -100.0, 100.0,
        fills='surroundings.ground_height'),
    Row('collision.voxel', 0.02,
        'edge of the cubes that are solid where a point of ~/scene_points is, m', 1e-3, 1.0,
        fills='surroundings.voxel'),
    Row('moveit.services', False,
        'offer the services and actions of MoveIt, such as move_action, where moveit_msgs is '
        'installed; not beside a move_group, which has the same', live=False,
        fills='moveit_services'),
    Row('moveit.group', '',
        'name of the arm in requests of MoveIt; empty: any', live=False,
        fills='moveit_group'),
    Row('chunk.gripper', 'gripper_controller/commands',
        'where the openings of chunks go: a topic of std_msgs/Float64MultiArray, or an action '
        'control_msgs/GripperCommand, whose name ends with gripper_cmd', live=False,
        fills='chunk_gripper'),
    Row('stream.output', 'trajectory',
        'output of ~/goal_stream: trajectory (to the controller), or position or velocity (to '
        '<controller>/commands)', live=False, fills='stream_output'),
    Row('stream.rate', 100.0, 'rate of streamed commands, Hz', 50.0, 500.0, fills='stream_rate'),
    Row('stream.lead', 0.03,
        'look-ahead of streamed commands, s; must exceed 1/stream.rate plus the controller '
        'period', 0.005, 0.5, fills='following.look_ahead'),
    Row('stream.stamped', True,
        'stamp streamed trajectories, so that the controller joins the motion at the right '
        'time; false if its clock differs from ours', fills='stream_stamped'),
    Row('stream.timeout', 0.1,
        'time without a pose, or a jog command, after which the arm ramps down, s',
        0.01, 10.0, fills='following.timeout'),
    Row('stream.gain', 15.0,
        'rate at which the tracking error decays, 1/s', 0.1, 50.0, fills='following.gain'),
    Row('stream.memory', 0.04,
        "time constant of the estimate of the target's velocity, s",
        0.001, 1.0, fills='following.memory'),
    Row('stream.free_axes', (),
        "axes of the target that are not followed, of x, y, z, rx, ry, rz; [''] = none",
        strings=True, fills='following.free', convert='names'),
    Row('stream.free_axes_frame', 'tip',
        'frame of stream.free_axes: tip (of the target) or base', fills='following.frame'),
    Row('stream.null_space_gains', (0.5,),
        'rate towards the preferred position where the target leaves the arm redundant, 1/s, '
        'one value or one per joint', fills='following.bias', convert='not_negative'),
    Row('jog.command_in_type', 'unitless',
        'numbers of jog commands: unitless (-1 to 1, times jog.scale) or speed_units (m/s, '
        'rad/s)', fills='jogging.command_in_type'),
    Row('jog.scale.linear', 0.4,
        'velocity of the tip for a unitless 1, m/s', 1e-3, 10.0, fills='jogging.linear'),
    Row('jog.scale.rotational', 0.8,
        'angular velocity of the tip for a unitless 1, rad/s', 1e-3, 10.0,
        fills='jogging.rotational'),
    Row('jog.scale.joint', 0.5,
        'velocity of a joint for a unitless 1, rad/s or m/s', 1e-3, 10.0, fills='jogging.joint'),
    Row('goal.max_age', 5.0,
        'maximum age of a goal, by its stamp and by the middleware, s',
        0.0, 1e6, fills='max_goal_age'),
    Row('goal.tf_timeout', 0.5,
        'maximum time to wait for the transform of a goal frame, s',
        0.0, 60.0, fills='tf_timeout'),
    Row('state.timeout', 0.5,
        'maximum age of a joint state, s', 0.01, 60.0, fills='monitor.state_timeout'),
    Row('watch.joint_tolerance', 0.01,
        'goal tolerance of each joint, rad or m', 1e-6, 1.0, fills='monitor.joint_tolerance'),
    Row('watch.path_tolerance', (0.0,),
        'path tolerance, rad or m, one value or one per joint; 0 = no check',
        fills='monitor.path_tolerance', convert='zero_is_unlimited_each'),
    Row('watch.start_timeout', 1.0,
        'time within which the arm must begin to move, s',
        0.1, 60.0, fills='monitor.start_timeout'),
    Row('watch.settle_timeout', 2.0,
        'time without progress after the planned end of a motion until it has failed, s',
        0.05, 600.0, fills='monitor.settle_timeout'),
    Row('markers.far', 1.6,
        'change of a joint above which a goal is shown in amber, rad or m',
        0.0, 1000.0, fills='thresholds.far'),
    Row('markers.limit_margin', 0.05,
        'distance of a joint to a limit below which a goal is shown in amber, rad or m',
        0.0, 1000.0, fills='thresholds.limit_margin'),
    Row('markers.singular_value', 0.03,
        'smallest singular value of the Jacobian below which a goal is shown in amber',
        0.0, 1000.0, fills='thresholds.singular_value'),
    Row('diagnostics.solve_time', 0.05,
        '99th percentile of the solve time above which the health is a warning, s',
        1e-4, 10.0, fills='slow_solve'),
    Row('diagnostics.heartbeat_late', 0.25,
        'delay of callbacks above which the health is a warning, s',
        0.01, 60.0, fills='late_callback'),
    Row('diagnostics.failures', 3,
        'number of consecutive failed goals from which the health is a warning',
        1, 1_000_000, fills='failed_goals'),
    Row('record.folder', '',
        'folder to which each goal is recorded for ik_replay; empty: none',
        fills='record_folder'),
    Row('record.count', 100,
        'number of recordings that are kept in the folder; the oldest are deleted',
        1, 100_000, fills='record_count'),
)

# The limits of the chain itself, which clients know as well.
POSITION_LIMITS = tuple(row for row in IK_NODE if row.fills.startswith('position_limits.'))

_OF_ONE_ARM = {row.name: row for row in IK_NODE}


def _fixed(name: str, fills: str, **other: Any) -> Row:
    """Return a row of IK_NODE for a node whose parameters do not change, with `other` fields."""
    return replace(_OF_ONE_ARM[name], live=False, fills=fills, convert='', **other)


IK_ARMS = (
    *MODEL_ROWS[:2],
    MESH_PATHS,
    _fixed('base_link', 'base_link',
           description='link that poses refer to; empty: found in the URDF'),
    Row('tip_links', (),
        'links that are moved to the poses of a goal, in this order; not set: found in the URDF, '
        'by the names of the arms', live=False, strings=True,
        fills='tip_links'),
    Row('arms', (),
        'names of the arms, for their own topics ~/<arm>/...; not set: left and right or by what '
        "differs in tip_links, if each has a controller of its own; [''] = none: they move in "
        'step only',
        live=False, strings=True, fills='arms'),
    Row('controllers', (),
        'controllers of the joints; trajectories go to <controller>/joint_trajectory; where none '
        'has a joint of an arm: the one that is up and moves just its joints, or '
        '<arm>_arm_controller',
        live=False, strings=True,
        fills='controllers'),
    Row('controller_joints', (),
        'for each of the controllers a string of its joints, with blanks between; not set: each '
        'moves one arm, in turn',
        live=False, strings=True,
        fills='controller_joints'),
    _fixed('controller_max_points', 'controller_max_points',
           description='largest number of points of a trajectory that each controller takes, such '
           'as 200 of MotoROS2; 0 = no limit'),
    _fixed('solver.deadline', 'deadline', default=0.2),
    _fixed('solver.max_restarts', 'max_restarts', default=200),
    _fixed('motion.velocity_scale', 'velocity_scale'),
    _fixed('motion.joint_limits_file', 'joint_limits_file'),
    *(_fixed(f'motion.{name}', name)
      for name in ('velocity_limits', 'acceleration_limits', 'jerk_limits')),
    Row('motion.start_delay', 0.2,
        'time from sending a motion until all controllers begin it, s; longer than any of them '
        'takes to hear of it', 0.01, 10.0, live=False,
        fills='motion.start_delay'),
    _fixed('motion.start_tolerance', 'motion.start_tolerance',
           description='how far outside its limits a joint may be at the start of a motion, or '
           'from where the motion was planned from, rad or m'),
    _fixed('motion.detour_time', 'detour_time'),
    _fixed('collision.check', 'collision_check',
           description='choose postures in which the arms collide neither with each other nor '
           'with objects, and send no motion that would'),
    _fixed('collision.scene_file', 'scene_file',
           description='YAML file of the objects around the arms; empty: none'),
    _fixed('collision.srdf_file', 'srdf_file',
           description='SRDF whose disabled pairs of links are not checked against each other; '
           'empty: none'),
    _fixed('collision.strict', 'collision_strict',
           description='refuse a robot with a link that cannot be checked, instead of a warning'),
    *(_OF_ONE_ARM[f'collision.{name}'] for name in ('padding', 'link_padding', 'other_joints')),
    _fixed('collision.margin', 'collision_margin', default=0.01,
           description='least distance of the arms from each other, and from objects, m'),
    _fixed('collision.ground', 'ground'),
    _fixed('collision.ground_height', 'ground_height'),
    _fixed('goal.max_age', 'max_goal_age', description='maximum age of a goal, by its stamp, s'),
    _fixed('state.timeout', 'monitor.state_timeout'),
    Row('watch.step_tolerance', 0.1,
        'how far a joint may be from where it should be at the time, rad or m; beyond it, all '
        'arms are stopped', 1e-3, 10.0, live=False,
        fills='motion.step_tolerance'),
    _fixed('watch.joint_tolerance', 'monitor.joint_tolerance'),
    _fixed('watch.start_timeout', 'monitor.start_timeout',
           description='time within which the arms must begin to move, s'),
    _fixed('watch.settle_timeout', 'monitor.settle_timeout'),
)

SIM_CONTROLLER = (
    *MODEL_ROWS,
    Row('rate', 100.0, 'rate of updates and of joint_states, Hz', 1.0, 1000.0, live=False,
        fills='rate'),
    Row('initial_positions', (),
        'joint positions at start, rad or m, in the order of the chain; not set: middle of each '
        'joint range', live=False, fills='initial_positions'),
    Row('fixed_joints', True,
        'publish joints outside the chain, too, which stand still; false where another controller '
        'moves them', live=False, fills='fixed_joints'),
    Row('moved_joints', (),
        'joints outside the chain that other controllers move, and publish', live=False,
        strings=True, fills='moved_joints'),
    Row('physics', False,
        'simulate gravity, inertia and servos by MuJoCo (pip install mujoco), instead of '
        'following.lag, order and friction', live=False, fills='physics'),
    Row('allow_partial_joints_goal', False, 'accept trajectories for some of the joints',
        fills='controller.allow_partial_joints_goal'),
    Row('allow_nonzero_velocity_at_trajectory_end', False,
        'accept trajectories that do not end at rest',
        fills='controller.allow_nonzero_velocity_at_trajectory_end'),
    Row('allow_integration_in_goal_trajectories', False, 'accept points without positions',
        fills='controller.allow_integration_in_goal_trajectories'),
    Row('interpolate_from_desired_state', False,
        'start from the last command instead of the measured state',
        fills='controller.interpolate_from_desired_state'),
    Row('allow_trajectory_replacement', False,
        'keep the present trajectory until a new one with a future stamp starts, instead of '
        'replacing it immediately', fills='controller.allow_trajectory_replacement'),
    Row('constraints.trajectory', (0.0,),
        'path tolerance, rad or m, one value or one per joint; a larger deviation stops the '
        'motion; 0 = no check', fills='path_tolerance'),
    Row('constraints.goal', (0.0,),
        'goal tolerance, rad or m, one value or one per joint; 0 = no check',
        fills='goal_tolerance'),
    Row('constraints.goal_time', 0.0,
        'time after the end within which the goal tolerance must be met, s; 0 = no limit',
        0.0, 60.0, fills='goal_time'),
    Row('speed_scaling', 1.0, 'fraction of the planned speed', 0.0, 1.0,
        fills='controller.speed_scaling'),
    Row('silent', False, 'ignore trajectories without an answer, as an inactive controller does',
        fills='controller.silent'),
    Row('following.lag', 0.0,
        'delay of the joints behind their command at constant speed, s; 0 = none', 0.0, 10.0,
        fills='following.lag'),
    Row('following.order', 2, '1 = first-order lag, 2 = critically damped', 1, 2,
        fills='following.order'),
    Row('following.friction', 0.0,
        'offset of the joints behind their command, in motion and at rest, rad or m', 0.0, 1.0,
        fills='following.friction'),
    Row('following.blocked_joints', (), "joints that do not move; [''] = none", strings=True,
        fills='blocked_joints'),
    Row('measuring.noise', 0.0, 'standard deviation of measured positions, rad or m', 0.0, 1.0,
        fills='measuring.noise'),
    Row('measuring.velocity_noise', 0.0, 'standard deviation of measured velocities, rad/s or '
        'm/s', 0.0, 10.0, fills='measuring.velocity_noise'),
    Row('measuring.delay', 0.0,
        'delay of published joint states, which keep the stamp of the measurement, s', 0.0, 10.0,
        fills='measuring.delay'),
    Row('measuring.dropped', 0.0, 'fraction of joint states that are lost; 1 = all', 0.0, 1.0,
        fills='measuring.dropped'),
    Row('measuring.seed', 0, 'seed of noise and losses', 0, 2**31 - 1, live=False, fills='seed'),
)

IK_NODE_NAME = Row(
    'ik_node', 'ik_node',
    'name of the ik_node; without a leading / it is in the namespace of this node', live=False,
    fills='ik_node')

VIEWER_NODE = (
    *MODEL_ROWS,
    IK_NODE_NAME,
    MESH_PATHS,
    Row('follow', False,
        'make the arm follow the handle while it is dragged; can be changed on the page',
        live=False, fills='follow'),
    Row('host', '127.0.0.1',
        'address to listen on, 0.0.0.0 = all; on any other than loopback, whoever has the printed '
        'address with its token can move the arm', live=False, fills='host'),
    Row('port', 8080, 'port of the page', 1, 65535, live=False, fills='port'),
)

HANDHELD_NODE = (
    replace(IK_NODE_NAME, description='name of the ik_node, or of an ik_arms, whose arms are led '
            'then; without a leading / it is in the namespace of this node; if it is not set, and '
            'no ik_node runs there, an ik_arms is looked for'),
    Row('arms', (),
        'names of several ik_nodes, in place of ik_node, each led by a hand of its own, e.g. '
        "[/ik_arms/left, /ik_arms/right]; [''] = none", live=False, strings=True,
        fills='arms'),
    Row('host', '127.0.0.1',
        'address to listen on, 0.0.0.0 = all; on any other than loopback, whoever has the printed '
        'address with its token can move the arm', live=False, fills='host'),
    Row('port', 8090, 'port of the page', 1, 65535, live=False, fills='port'),
    Row('tls', False,
        'serve over TLS; without TLS, browsers on other machines do not provide device poses; the '
        "certificate is made by openssl, and kept in the user's cache folder", live=False,
        fills='tls'),
    Row('certificate', '',
        'PEM file of a certificate for TLS, in place of the one that is made', live=False,
        fills='certificate'),
    Row('key', '', 'PEM file of its private key', live=False, fills='key'),
    Row('sample_timeout', 0.2,
        'hand-pose timeout, s; after a longer gap or delay the button must be pressed again',
        0.05, 2.0, live=False, fills='sample_timeout'),
)

INTERACTIVE_GOAL = (
    IK_NODE_NAME,
    Row('scale', 0.2, 'size of the handle, m', 0.01, 10.0, live=False, fills='scale'),
)
