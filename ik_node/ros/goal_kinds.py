# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The kinds of goals, one entry for each.

Subscriptions, previews, publishers of the user interfaces, the tables of topics and the SROS2
policy follow from this table.  What the arm does for a kind is in node.goal_kinds.
"""

from __future__ import annotations

from dataclasses import dataclass

from geometry_msgs.msg import (
    PointStamped,
    PoseArray,
    PoseStamped,
    PoseWithCovarianceStamped,
    QuaternionStamped,
)
from nav_msgs.msg import Path
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory


@dataclass(frozen=True)
class GoalKind:
    """
    One kind of goal.

    Attributes
    ----------
    name : str
        Of the topics ``~/goal_<name>`` and ``~/preview_<name>``, and the `kind` in answers.
    message : type
        Of these topics.
    description : str
        For the table of topics.
    option : str
        Of send_goal, that sends this kind; empty if none does.
    preview : str
        Description of the preview, for the table of topics; empty if there is none.
    in_ui : bool
        Whether the handle in RViz and the browser send it.
    may_be_long : bool
        Whether a message can be so long that it is refused unread.
    streamed : bool
        Whether it is sent again and again, and many messages are one goal.

    """

    name: str
    message: type
    description: str
    option: str = ''
    preview: str = ''
    in_ui: bool = True
    may_be_long: bool = False
    streamed: bool = False


GOAL_KINDS = (
    GoalKind('pose', PoseStamped,
             'Move the tip to this pose, by the fastest motion, or in a straight line with '
             '`motion.straight`; `frame_id`: the base, any link of the URDF, or any TF frame',
             '--xyz', 'Report and show what would become of this goal; nothing moves'),
    GoalKind('pointing', PoseStamped,
             'Move the tip there with its z axis along that of the pose; rotation about it is '
             'free',
             '--pointing', 'The same with rotation about its z axis free'),
    GoalKind('position', PointStamped,
             'Move the tip there; the orientation is free',
             '--position', 'The same for a position'),
    GoalKind('region', PoseWithCovarianceStamped,
             'Move the tip to this pose within tolerances: the standard deviations of the '
             'covariance, in the axes of the pose', '--position-tolerance', in_ui=False),
    GoalKind('orientation', QuaternionStamped,
             'Turn the tip to this orientation where it is', '--turn', in_ui=False),
    GoalKind('joints', JointState,
             'Move the named joints, the others stay; without names: all joints, in the order of '
             'the chain', '--joints'),
    GoalKind('joint_path', JointTrajectory,
             'Move the named joints through the positions of the points in one motion; with times '
             'that increase, at the pace of these',
             '--joint-path', in_ui=False, may_be_long=True),
    GoalKind('named', JointState,
             'Move to the named pose whose name is the only one in `name`', '--named'),
    GoalKind('path', Path,
             'Move the tip through the poses in straight lines', '--path', may_be_long=True),
    GoalKind('first', Path,
             'Move the tip to the first of these poses that can be reached; `pose_number` in the '
             'answer says which', '--first', in_ui=False, may_be_long=True),
    GoalKind('arc', PoseArray,
             'Move the tip along a circular arc: two poses (a point on the way, the end), or '
             'three (start first)', '--through', in_ui=False, may_be_long=True),
    GoalKind('stream', PoseStamped,
             'Follow a moving target, up to 500 poses a second', streamed=True),
)


def goal_topics(in_ui_only: bool = False) -> dict[str, type]:
    """Return the topics of goals and previews, without the name of the node, with their types."""
    kinds = [kind for kind in GOAL_KINDS if kind.in_ui or not in_ui_only]
    return {**{f'goal_{kind.name}': kind.message for kind in kinds},
            **{f'preview_{kind.name}': kind.message for kind in kinds if kind.preview}}
