# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Which moving frame of a chain or a tree carries each link of the robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ik_node.base.se3 import inverse, pose
from ik_node.kinematics.kernels import joint_frames
from ik_node.kinematics.links import link_poses, path_between, placed_links
from ik_node.kinematics.tree.kinematic_tree import KinematicTree
from ik_node.kinematics.tree.tree_table import cross_joint, tree_rows, TreeRows
from ik_node.model.base_joints import coordinates_of
from ik_node.model.chain import Chain
from ik_node.model.description.urdf import Joint, leader_of, Tree
from ik_node.model.joint_space import JointSpace

Places = dict[str, tuple[int, np.ndarray]]


class MovingFrames(NamedTuple):
    """
    All frames that move with the joints of a chain or a tree, also of links beside it.

    Attributes
    ----------
    table : (m, 16) array
        First the rows of the chain or tree, then those of joints beside it that mimic its joints.
    parents : (m,) int array
        Row that carries each row, -1 = the base.
    lower, upper : (n,) arrays
        Position limits of the joints of the chain or tree, rad or m.
    places : dict of link to (int, (4, 4) array)
        The frame that carries each link, and its pose there.  Frame 0 is the base, frame k that of
        row k - 1.

    """

    table: np.ndarray
    parents: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    places: Places


def moving_frames(space: Chain | KinematicTree, tree: Tree,
                  positions: Mapping[str, float]) -> MovingFrames:
    """
    Return the frames that move, and the links in them; other joints stand still.

    Parameters
    ----------
    positions : mapping of joint name to position
        Of joints that are not of the chain, rad or m; default 0, or the nearest limit.

    """
    by_name = {joint.name: joint for joint in tree.joints}
    values = _standing(space, tree, positions)
    rows = TreeRows(names=list(space.joint_names), table=space.table.tolist(),
                    parents=space.parents.tolist())

    def cross(joint: Joint, down: bool, frame: int,
              T: np.ndarray) -> tuple[int, np.ndarray] | None:
        leader = leader_of(joint, by_name)[0]
        if not joint.moves or not joint.placed or not {*coordinates_of(leader)} <= {*rows.names}:
            return None
        row, T_next = cross_joint(rows, frame - 1, T, (joint, down), by_name)
        return row + 1, T_next

    places = placed_links(tree, _on_the_way(space, tree, values), values, cross)
    return MovingFrames(np.array(rows.table), np.array(rows.parents), space.lower, space.upper,
                        places)


def _on_the_way(space: Chain | KinematicTree, tree: Tree, values: Mapping[str, float]) -> Places:
    """Return the places of the links between the base and the tips."""
    if isinstance(space, KinematicTree):
        rows, _ = tree_rows(tree, space.base_link, space.tip_links)
        return {link: (row + 1, T) for link, (row, T) in rows.places.items()}
    q = np.array([values[name] for name in space.joint_names])
    frames = np.empty((len(space.table), 12))
    joint_frames(space.table, q, frames)
    T_base_links = link_poses(tree, space.base_link, values)
    found, moving = {space.base_link: (0, np.eye(4))}, 0
    for joint, down in path_between(tree, space.base_link, space.tip_link):
        moving += joint.moves
        T_base_frame = np.eye(4) if moving == 0 else pose(
            frames[moving - 1, :9].reshape(3, 3), frames[moving - 1, 9:])
        link = joint.child if down else joint.parent
        found[link] = moving, inverse(T_base_frame) @ T_base_links[link]
    return found


def _standing(space: JointSpace, tree: Tree, positions: Mapping[str, float]) -> dict[str, float]:
    """Return the positions that are given, else 0; those of the chain in the middle."""
    values = {}
    for joint in tree.joints:
        if joint.moves:
            rest = float(np.clip(0.0, joint.lower, joint.upper))
            values[joint.name] = float(positions.get(joint.name, rest))
    q = np.clip(space.middle, space.lower, space.upper)
    return values | dict(zip(space.joint_names, map(float, q)))
