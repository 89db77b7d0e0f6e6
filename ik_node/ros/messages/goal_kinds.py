# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The kinds of goals, one entry for each.

Subscriptions, previews, publishers of the user interfaces, the options of send_goal, the tables
of topics and the SROS2 policy follow from this table.  It imports no ROS, so that the help of
send_goal needs none.  What the arm does for a kind is in node.goal_kinds; the methods that make
the messages are in client.goals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Orientation(Enum):
    """Whether an option of send_goal takes an orientation, by --rpy or --quat."""

    NOT_TAKEN = 'not taken'
    OPTIONAL = 'optional'
    REQUIRED = 'required'


@dataclass(frozen=True)
class GoalOption:
    """An option of send_goal, and the goal that it sends."""

    name: str  # without the leading dashes
    help: str
    # Calls a method of its first argument, an :class:`ik_node.client.goals.GoalMethods`.  The
    # second has the values of the options by their names, converted as their `value` says, and the
    # `orientation` (x, y, z, w), None if it is not given.
    send: Callable[[Any, Any], Any]
    # What kind of value it takes, '' if none: a key of command_line.send_goal.VALUE_ARGUMENTS.
    # Values that must be converted are keys of commands.send_goal.VALUE_READERS as well.
    value: str = ''
    # Whether it says how the pose of --xyz is reached; else it says itself what the goal is.
    with_xyz: bool = False
    orientation: Orientation = Orientation.NOT_TAKEN

    @property
    def flag(self) -> str:
        """Return the option as it is written."""
        return f'--{self.name}'

    @property
    def field(self) -> str:
        """Return the name of the value, as argparse makes it."""
        return self.name.replace('-', '_')


@dataclass(frozen=True)
class GoalKind:
    """One kind of goal."""

    # Of the topics ``~/goal_<name>`` and ``~/preview_<name>``, and the `kind` in answers.
    name: str
    message: str  # type of these topics
    description: str  # for the table of topics
    options: tuple[GoalOption, ...] = ()  # the options of send_goal that send this kind
    # Description of the preview, for the table of topics; empty if there is none.
    preview: str = ''
    in_ui: bool = True         # whether the handle in RViz and the browser send it
    may_be_long: bool = False  # whether a message can be so long that it is refused unread
    streamed: bool = False     # whether it is sent again and again, and many messages are one goal
    frees_axes: bool = False   # whether its options send it with --free, and another kind without


def _send_within(goals: Any, given: Any) -> Any:
    return goals.move(given.xyz, position_tolerance=given.position_tolerance or 0.0,
                      orientation_tolerance=given.orientation_tolerance or 0.0)


PATH_OPTION = GoalOption(
    'path', 'poses to pass in straight lines: CSV x,y,z,roll,pitch,yaw or x,y,z,qx,qy,qz,qw, or '
    'YAML as examples/goals.yaml',
    lambda goals, given: goals.path(given.path, free=given.free), 'pose_file')
LINE_OPTION = GoalOption(
    'line', 'to --xyz along a straight line of the tip',
    lambda goals, given: goals.line(given.xyz, free=given.free), with_xyz=True,
    orientation=Orientation.OPTIONAL)
ARC_OPTION = GoalOption(
    'through', 'to --xyz along an arc through this position',
    lambda goals, given: goals.arc(given.through, given.xyz, free=given.free), 'pose',
    with_xyz=True, orientation=Orientation.OPTIONAL)
# Of which the tip may be turned about some axes on its way, as --free says.
FREEABLE_OPTIONS = LINE_OPTION, ARC_OPTION, PATH_OPTION
KEPT_KIND = 'kept'
CHUNK_KIND = 'chunk'
FREE_AXES_TEXT = ('but the tip may be turned on the way about the axes that `joint_names` has, of '
                  '`rx`, `ry`, `rz`; each point has one transform')

GOAL_KINDS = (
    GoalKind('pose', 'geometry_msgs/PoseStamped',
             'Move the tip to this pose, by the fastest motion, or in a straight line with '
             '`motion.straight`; `frame_id`: the base, any link of the URDF, or any TF frame',
             (GoalOption('xyz', 'position of the tip, m',
                         lambda goals, given: goals.move(given.xyz), 'pose',
                         orientation=Orientation.OPTIONAL),),
             preview='Report and show what would become of this goal; nothing moves'),
    GoalKind('pointing', 'geometry_msgs/PoseStamped',
             'Move the tip there with its z axis along that of the pose; rotation about it is '
             'free',
             (GoalOption('pointing', 'to --xyz with the z axis of --rpy or --quat; rotation about '
                         'it is free',
                         lambda goals, given: goals.point(given.xyz), with_xyz=True,
                         orientation=Orientation.OPTIONAL),),
             preview='The same with rotation about its z axis free'),
    GoalKind('position', 'geometry_msgs/PointStamped',
             'Move the tip there; the orientation is free',
             (GoalOption('position', 'to --xyz in any orientation',
                         lambda goals, given: goals.position(given.xyz[:3]), with_xyz=True),),
             preview='The same for a position'),
    GoalKind('region', 'geometry_msgs/PoseWithCovarianceStamped',
             'Move the tip to this pose within tolerances: the standard deviations of the '
             'covariance, in the axes of the pose',
             (GoalOption('position-tolerance', 'to --xyz within this, m: one number, or three for '
                         'x, y, z of the goal; inf = free', _send_within, 'position_tolerance',
                         with_xyz=True, orientation=Orientation.OPTIONAL),
              GoalOption('orientation-tolerance', 'to --rpy or --quat within this, rad: one '
                         'number, or three for rotations about x, y, z of the goal; pi or more = '
                         'free', _send_within, 'orientation_tolerance', with_xyz=True,
                         orientation=Orientation.OPTIONAL)), in_ui=False),
    GoalKind('orientation', 'geometry_msgs/QuaternionStamped',
             'Turn the tip to this orientation where it is',
             (GoalOption('turn', 'turn the tip where it is, to --rpy or --quat',
                         lambda goals, given: goals.turn(given.orientation),
                         orientation=Orientation.REQUIRED),), in_ui=False),
    GoalKind('joints', 'sensor_msgs/JointState',
             'Move the named joints, the others stay; without names: all joints, in the order of '
             'the chain',
             (GoalOption('joints', 'joint positions, rad or m: NAME=VALUE for some, or a value '
                         'for each',
                         lambda goals, given: goals.joints(given.joints), 'joint_positions'),)),
    GoalKind('joint_path', 'trajectory_msgs/JointTrajectory',
             'Move the named joints through the positions of the points in one motion; with times '
             'that increase, at the pace of these',
             (GoalOption('joint-path', 'joint positions to pass in one motion: a YAML file of '
                         'ik_teach',
                         lambda goals, given: goals.joint_path(given.joint_path),
                         'joint_path_file'),), in_ui=False, may_be_long=True),
    GoalKind('named', 'sensor_msgs/JointState',
             'Move to the named pose whose name is the only one in `name`',
             (GoalOption('named', 'a named pose, of the SRDF or of the file of named poses',
                         lambda goals, given: goals.named(given.named), 'name'),)),
    GoalKind('path', 'nav_msgs/Path',
             'Move the tip through the poses in straight lines',
             (PATH_OPTION, LINE_OPTION), may_be_long=True),
    GoalKind('free_path', 'trajectory_msgs/MultiDOFJointTrajectory',
             f'As `~/goal_path`, {FREE_AXES_TEXT}',
             (PATH_OPTION,), in_ui=False, may_be_long=True, frees_axes=True),
    GoalKind('line', 'geometry_msgs/PoseWithCovarianceStamped',
             'Move the tip to this pose in a straight line; about axes of the pose whose variance '
             'is that of a free rotation it may be turned on the way',
             (LINE_OPTION,), in_ui=False, frees_axes=True),
    GoalKind('first', 'nav_msgs/Path',
             'Move the tip to the first of these poses that can be reached; `pose_number` in the '
             'answer says which',
             (GoalOption('first', 'the first of the poses of a file, as for --path, that can be '
                         'reached',
                         lambda goals, given: goals.first(given.first), 'pose_file'),),
             in_ui=False, may_be_long=True),
    GoalKind('arc', 'geometry_msgs/PoseArray',
             'Move the tip along a circular arc: two poses (a point on the way, the end), or '
             'three (start first)',
             (ARC_OPTION,), in_ui=False, may_be_long=True),
    GoalKind('free_arc', 'trajectory_msgs/MultiDOFJointTrajectory',
             f'As `~/goal_arc`, {FREE_AXES_TEXT}',
             (ARC_OPTION,), in_ui=False, may_be_long=True, frees_axes=True),
    GoalKind(CHUNK_KIND, 'trajectory_msgs/MultiDOFJointTrajectory',
             'Pass the poses of the first transforms at the times of the points, as a learned '
             'policy sends them; a later chunk replaces what is not yet done from its own times '
             'on. A second transform has the opening of the gripper as x, which is passed through',
             (GoalOption('chunk', 'poses to pass at times from now on: CSV t,x,y,z,qx,qy,qz,qw '
                         'and, if there is a gripper, its opening',
                         lambda goals, given: goals.chunk(given.chunk.poses, given.chunk.times,
                                                          gripper=given.chunk.gripper),
                         'chunk_file'),),
             in_ui=False, may_be_long=True),
    GoalKind(KEPT_KIND, 'std_msgs/String',
             'The goal of another kind, and what the tip keeps on the way, as YAML with the keys '
             '`goal` (the kind), `message` (its fields) and `keep`',
             in_ui=False, may_be_long=True),
    GoalKind('stream', 'geometry_msgs/PoseStamped',
             'Follow a moving target, up to 500 poses a second', streamed=True),
)


def goal_options() -> Iterator[GoalOption]:
    """Yield the options of send_goal that send goals."""
    yield from dict.fromkeys(option for kind in GOAL_KINDS for option in kind.options)


def goal_topics(in_ui_only: bool = False) -> dict[str, str]:
    """Return the topics of goals and previews, without the name of the node, with their types."""
    kinds = [kind for kind in GOAL_KINDS if kind.in_ui or not in_ui_only]
    return {**{f'goal_{kind.name}': kind.message for kind in kinds},
            **{f'preview_{kind.name}': kind.message for kind in kinds if kind.preview}}
