# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The parameters of the nodes: one table each, from which all else follows.

Declaration, validation, config/*.yaml and the tables of the README come from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_node.errors import ParameterError
from ik_node.solver.choices import SOLUTION_CHOICES
from ik_node.text import quote


@dataclass(frozen=True)
class Row:
    """
    One parameter.

    ``default`` gives the type; an empty tuple is a list that is not set, of
    numbers or, if ``strings``, of words.  ``low`` and ``high`` bound numbers.  What is
    not ``live`` is fixed at start; of a managed node while it is configured, unless
    ``at_start``.
    """

    name: str
    default: str | float | int | bool | tuple[float, ...]
    description: str
    low: float | None = None
    high: float | None = None
    live: bool = True
    strings: bool = False
    at_start: bool = False


MODEL = (
    Row('robot_description', '', 'URDF text of the robot; empty: take urdf_file', live=False),
    Row('urdf_file', '', 'path of a URDF file; empty: wait for the topic robot_description',
        live=False),
    Row('base_link', '', 'link that poses refer to; empty: found in the URDF', live=False),
    Row('tip_link', '', 'link to bring to the goal; empty: found in the URDF', live=False),
)

IK_NODE = (
    Row('autostart', True, 'configure and activate the node at its start; false: that is for a '
        'lifecycle manager, or ros2 lifecycle set', live=False, at_start=True),
    *MODEL,
    Row('frame_prefix', '', 'what robot_state_publisher puts before link names in TF', live=False),
    Row('controller', '', 'name of the controller: trajectories go to <controller>/'
        'joint_trajectory; empty: joint_trajectory', live=False),
    Row('output', 'topic', "how trajectories reach the controller: topic, or the action "
        'follow_joint_trajectory (needs control_msgs); never both', live=False),
    Row('controller_period', 0.0, 'time between two updates of the controller, s; 0 = as between '
        'two joint states', 0.0, 0.1),
    Row('tip_pose_rate', 25.0, 'at most so many tip poses a second, Hz', 0.1, 1000.0, live=False),
    Row('solver.method', 'damped', 'damped, or a textbook method of docs/methods.md'),
    Row('solver.position_tolerance', 1e-6, 'a solution is so near to its goal, m', 1e-9, 0.1),
    Row('solver.orientation_tolerance', 1e-6, 'a solution is so near to its goal, rad', 1e-9,
        3.2),
    Row('solver.metres_per_radian', 0.3, 'weight of orientation against position', 1e-3, 100.0),
    Row('solver.max_iterations', 0, 'steps of one attempt; 0 = the limit of the method', 0,
        10_000),
    Row('solver.max_restarts', 100, 'attempts after the one from the present posture', 0, 10_000),
    Row('solver.select', 'nearest', f'which solution: {", ".join(SOLUTION_CHOICES)}; first = met '
        'first from the present posture, nearest = to it'),
    Row('solver.max_jump', 0.0, 'refuse goals for which a joint would have to move farther, rad '
        'or m; 0 = any', 0.0, 1000.0),
    Row('solver.nearest', False, 'go to the nearest pose within reach when the goal is not'),
    Row('solver.deadline', 0.1, 'longest time for one solve, s', 1e-3, 10.0),
    Row('solver.null_space_gains', (1.0,), 'pull of each joint to its preferred position: one '
        'number for all or one each; 0 = none'),
    Row('solver.preferred_positions', (), 'preferred posture, rad or m, and where ~/home goes; '
        'not set: middle of each range'),
    Row('solver.manipulability_gain', 0.0, 'pull away from singularities, where a goal leaves the '
        'arm free', 0.0, 1000.0),
    Row('solver.joint_weights', (1.0,), 'cost of moving each joint, one number for all or one '
        'each'),
    Row('solver.locked_joints', (), "joints that may not move; [''] = none", strings=True),
    Row('motion.velocity_scale', 0.5, 'share of the velocity limits that is used', 0.001, 1.0),
    Row('motion.acceleration_scale', 1.0, 'share of the acceleration limits that is used', 0.001,
        1.0),
    Row('motion.tool_speed', 0.0, 'the tip moves at most so fast, m/s; 0 = no limit', 0.0, 100.0),
    Row('motion.tool_turn', 0.0, 'the tip turns at most so fast, rad/s; 0 = no limit', 0.0,
        1000.0),
    Row('motion.velocity_limits', (), 'rad/s or m/s, one or one each; not set: those of the URDF'),
    Row('motion.acceleration_limits', (2.0,), 'rad/s^2 or m/s^2, one or one each'),
    Row('motion.jerk_limits', (20.0,), 'rad/s^3 or m/s^3, one or one each'),
    Row('motion.sample_period', 0.02, 'largest time between trajectory points, s; larger where a '
        'motion would have more than 500', 0.002, 1.0),
    Row('motion.handover_time', 0.1, 'a moving arm keeps its motion so long (or three '
        'cycles of the controller), and as long as delivery takes, before a new one begins, s',
        0.002, 1.0),
    Row('motion.start_tolerance', 0.02, 'a joint so far outside its limits may still move '
        'inward, rad or m', 0.0, 1.0),
    Row('motion.straight', False, 'take ~/goal_pose by a straight tool line, not the fastest way'),
    Row('path.blend_radius', 0.0, 'so near to a corner the tip may leave the lines, m; 0 = it '
        'stops there', 0.0, 10.0),
    Row('path.partial', False, 'follow a path as far as the arm can, instead of the whole path or '
        'nothing'),
    Row('path.tool_acceleration', 0.0, 'largest acceleration of the tip on a path, m/s^2; 0 = no '
        'limit', 0.0, 1000.0),
    Row('path.tool_turn_acceleration', 0.0, 'largest angular acceleration of the tip on a path, '
        'rad/s^2; 0 = no limit', 0.0, 10_000.0),
    Row('path.max_joint_step', 0.05, 'largest motion of a joint between two solutions along a '
        'path, rad or m', 1e-3, 1.0),
    Row('stream.output', 'trajectory', 'what ~/goal_stream becomes: trajectory (to the '
        'controller), or position or velocity (to <controller>/commands)', live=False),
    Row('stream.rate', 100.0, 'commands a second, Hz', 50.0, 500.0),
    Row('stream.lead', 0.03, 'commanded so far ahead, s; more than a period of stream.rate and '
        'of the controller together', 0.005, 0.5),
    Row('stream.stamped', True, 'streamed trajectories have stamps, and the controller joins the '
        'motion where it is; false if its clock is another than ours'),
    Row('stream.timeout', 0.1, 'without a pose for so long the arm ramps down, s', 0.01, 10.0),
    Row('stream.gain', 15.0, 'rate at which an error shrinks, 1/s', 0.1, 50.0),
    Row('stream.memory', 0.04, "smoothing of the target's movement, s", 0.001, 1.0),
    Row('stream.free_axes', (), "axes that are left free, of x, y, z, rx, ry, rz of the target; "
        "[''] = none", strings=True),
    Row('stream.null_space_gains', (0.5,), 'how fast a joint goes to its preferred position where '
        'the target leaves the arm free, 1/s, one or one each'),
    Row('goal.max_age', 5.0, 'older goals (by their stamp) are refused, s', 0.0, 1e6),
    Row('goal.tf_timeout', 0.5, 'longest wait for the transform of a goal frame, s', 0.0, 60.0),
    Row('state.timeout', 0.5, 'joint states older than this are not used, s', 0.01, 60.0),
    Row('watch.joint_tolerance', 0.01, 'a joint so near to its goal has arrived, rad or m',
        1e-6, 1.0),
    Row('watch.path_tolerance', (0.0,), 'a joint so far from its planned path is off track, rad '
        'or m, one or one each; 0 = it may be anywhere'),
    Row('watch.start_timeout', 1.0, 'a motion must be seen to begin within this time, s',
        0.1, 60.0),
    Row('watch.settle_timeout', 2.0, 'after its planned end a motion without progress for so long '
        'has failed, s', 0.05, 600.0),
    Row('markers.far', 1.6, 'a goal for which a joint moves farther is amber, rad or m', 0.0,
        1000.0),
    Row('markers.limit_margin', 0.05, 'a goal that has a joint nearer to a limit is amber, rad or '
        'm', 0.0, 1000.0),
    Row('markers.singular_value', 0.03, 'a goal at which the smallest singular value of the '
        'Jacobian is below this is amber', 0.0, 1000.0),
    Row('diagnostics.solve_time', 0.05, 'health warns if one in a hundred solves takes longer, s',
        1e-4, 10.0),
    Row('diagnostics.heartbeat_late', 0.25, 'health warns if callbacks of the node are later, s',
        0.01, 60.0),
    Row('diagnostics.failures', 3, 'health warns if so many goals, one after the other, were '
        'begun and not reached', 1, 1_000_000),
)

SIM_CONTROLLER = (
    *MODEL,
    Row('rate', 100.0, 'updates and joint_states messages a second, Hz', 1.0, 1000.0, live=False),
    Row('initial_positions', (), 'posture at start, rad or m, in the order of the chain; not '
        'set: middle of each range', live=False),
    Row('physics', False, 'gravity, inertia and servos by MuJoCo (pip install mujoco) instead of '
        'following.lag, order and friction', live=False),
    Row('allow_partial_joints_goal', False, 'take trajectories for some of the joints only'),
    Row('allow_nonzero_velocity_at_trajectory_end', False, 'take trajectories that do not end at '
        'rest'),
    Row('allow_integration_in_goal_trajectories', False, 'take points without positions'),
    Row('interpolate_from_desired_state', False, 'start from the last command instead of the '
        'measured state'),
    Row('allow_trajectory_replacement', False, 'a trajectory stamped ahead waits while the '
        'present one goes on, instead of replacing it at once'),
    Row('constraints.trajectory', (0.0,), 'path tolerance, rad or m, one or one each: beyond it '
        'the arm holds where it is; 0 = none'),
    Row('constraints.goal', (0.0,), 'goal tolerance, rad or m, one or one each; 0 = none'),
    Row('constraints.goal_time', 0.0, 'the goal tolerance must be kept so long after the end, or '
        'the arm holds where it is, s; 0 = waits for ever', 0.0, 60.0),
    Row('speed_scaling', 1.0, 'share of the planned speed', 0.0, 1.0),
    Row('silent', False, 'take no trajectory and say nothing, as an inactive controller does; '
        'the arm holds'),
    Row('following.lag', 0.0, 'the joints are so far behind in a motion of constant speed, s; '
        '0 = none', 0.0, 10.0),
    Row('following.order', 2, '1: first-order lag; 2: critically damped', 1, 2),
    Row('following.friction', 0.0, 'the joints stay so far behind the command, in motion and at '
        'rest, rad or m', 0.0, 1.0),
    Row('following.blocked_joints', (), "joints that stand still, whatever they are told; [''] = "
        'none', strings=True),
    Row('measuring.noise', 0.0, 'standard deviation of measured positions, rad or m', 0.0, 1.0),
    Row('measuring.velocity_noise', 0.0, 'standard deviation of measured velocities, rad/s or '
        'm/s', 0.0, 10.0),
    Row('measuring.delay', 0.0, 'joint states are published so late, with the stamp of their '
        'measurement, s', 0.0, 10.0),
    Row('measuring.dropped', 0.0, 'share of the joint states that is lost; 1 = all', 0.0, 1.0),
    Row('measuring.seed', 0, 'of noise and losses: the same seed, the same draws', 0, 2**31 - 1,
        live=False),
)

MESH_PATHS = Row('mesh_paths', (), 'folders in which meshes are looked for first: each has '
                 "packages, or what follows a package's name", live=False, strings=True)

IK_NODE_NAME = Row('ik_node', 'ik_node', 'name of the ik_node; without a leading / it is in our '
                   'namespace', live=False)

VIEWER = (
    *MODEL,
    IK_NODE_NAME,
    MESH_PATHS,
    Row('follow', False, 'whether the arm follows the handle while it is dragged; may be changed '
        'on the page', live=False),
    Row('host', '127.0.0.1', 'address to listen on; anything else than loopback lets others '
        'see and use the page', live=False),
    Row('port', 8080, 'port of the page', 1, 65535, live=False),
)

INTERACTIVE_GOAL = (
    IK_NODE_NAME,
    Row('scale', 0.2, 'size of the handle, m', 0.01, 10.0, live=False),
)


def declare(node: Node, table: tuple[Row, ...], managed: bool = False) -> dict[str, Any]:
    """
    Declare the parameters of a table and return their values.

    Parameters
    ----------
    managed : bool
        The node itself refuses what may not be changed at the time, unless ``at_start``.

    Raises
    ------
    ParameterError
        If a value from the command line or a file has the wrong type or is out of range.

    """
    for row in table:
        descriptor = ParameterDescriptor(description=row.description, read_only=row.at_start or
                                         not (row.live or managed))
        if row.low is not None:
            if isinstance(row.default, int):
                descriptor.integer_range = [IntegerRange(
                    from_value=int(row.low), to_value=int(row.high))]
            else:
                descriptor.floating_point_range = [FloatingPointRange(
                    from_value=float(row.low), to_value=float(row.high))]
        default: Any = row.default
        if isinstance(default, tuple):
            # rclpy takes an empty list for bytes; a bare type is a list that is not set.
            default = list(default) or (Parameter.Type.STRING_ARRAY if row.strings
                                        else Parameter.Type.DOUBLE_ARRAY)
        try:
            declared = node.declare_parameter(row.name, default, descriptor)
        except InvalidParameterTypeException:
            raise _wrong_type(row) from None
        except InvalidParameterValueException:
            raise ParameterError(f'the parameter {row.name} must be from {row.low:g} to '
                                 f'{row.high:g}') from None
        # An empty list in a file leaves a number or a text without a value.
        if declared.value is None and not isinstance(row.default, tuple):
            raise _wrong_type(row)
    return values_of(node, table)


def _wrong_type(row: Row) -> ParameterError:
    kind = {str: 'a string', float: 'a number with a decimal point (1.0, not 1)',
            int: 'a whole number', bool: 'true or false',
            tuple: 'a list of names' if row.strings
            else 'a list of numbers with decimal points ([1.0], not [1])'}
    return ParameterError(f'the parameter {row.name} must be {kind[type(row.default)]}')


def values_of(node: Node, table: tuple[Row, ...]) -> dict[str, Any]:
    """Return the present values of a table; lists as tuples, () where not set."""
    values = {}
    for row in table:
        try:
            value = node.get_parameter(row.name).value
        except ParameterUninitializedException:
            value = None
        values[row.name] = tuple(value or ()) if isinstance(row.default, tuple) else value
    return values


def other_than_default(values: dict[str, Any], table: tuple[Row, ...]) -> str:
    """Return a sentence that names the values which are not the defaults of a table."""
    others = [f'{row.name}: {quote(values[row.name])}' for row in table
              if values[row.name] != row.default]
    return ', '.join(others) + '; all others have their defaults' if others \
        else 'all parameters have their defaults'


def plain(parameter: Parameter) -> Any:
    """Return the value of a parameter as :func:`values_of` does."""
    return tuple(parameter.value) if parameter.type_ in (
        Parameter.Type.DOUBLE_ARRAY, Parameter.Type.STRING_ARRAY) else parameter.value


def refused(reason: str) -> SetParametersResult:
    """Return the answer to a change that is not taken."""
    return SetParametersResult(successful=False, reason=reason)
