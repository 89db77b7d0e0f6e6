# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Which moving frame of a chain carries each link of the robot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ik_node.kinematics.kernels import joint_frames
from ik_node.kinematics.kinematic_tree import KinematicTree
from ik_node.kinematics.links import link_poses, path_between, placed_links
from ik_node.kinematics.tree_table import tree_rows
from ik_node.model.chain import Chain
from ik_node.model.joint_space import JointSpace
from ik_node.model.urdf import Tree
from ik_node.se3 import inverse, pose


def frames_of_links(chain: Chain | KinematicTree, tree: Tree,
                    positions: Mapping[str, float]) -> dict[str, tuple[int, np.ndarray]]:
    """
    Return for each link the index of the moving frame that carries it, and its pose there.

    Frame 0 is the base; frame k is that of row k - 1 of the table of the chain or the tree.  Other
    joints stand still.

    Parameters
    ----------
    positions : mapping of joint name to position
        Of joints that are not of the chain, rad or m; default 0, or the nearest limit.

    """
    if isinstance(chain, KinematicTree):
        rows, _ = tree_rows(tree, chain.base_link, chain.tip_links)
        known = {link: (row + 1, T) for link, (row, T) in rows.places.items()}
        return placed_links(tree, known, _standing(chain, tree, positions))
    on_chain = [joint.name for joint, _ in path_between(tree, chain.base_link, chain.tip_link)
                if joint.moves]
    values = _standing(chain, tree, positions)
    q = np.array([values[name] for name in chain.joint_names])
    frames = np.empty((len(chain.table), 12))
    joint_frames(chain.table, q, frames)
    found = {}
    for link, T_base_link in link_poses(tree, chain.base_link, values).items():
        moving = [joint.name for joint, _ in path_between(tree, chain.base_link, link)
                  if joint.name in on_chain]
        k = len(moving)
        T_base_frame = np.eye(4) if k == 0 else pose(frames[k - 1, :9].reshape(3, 3),
                                                      frames[k - 1, 9:])
        found[link] = k, inverse(T_base_frame) @ T_base_link
    return found


def _standing(chain: JointSpace, tree: Tree, positions: Mapping[str, float]) -> dict[str, float]:
    """Return the positions that are given, else 0; those of the chain in the middle."""
    values = {}
    for joint in tree.joints:
        if joint.moves:
            rest = float(np.clip(0.0, joint.lower, joint.upper))
            values[joint.name] = float(positions.get(joint.name, rest))
    q = np.clip(chain.middle, chain.lower, chain.upper)
    return values | dict(zip(chain.joint_names, map(float, q)))
