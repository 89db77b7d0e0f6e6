# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Which moving frame of a chain carries each link of the robot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ik_node.kinematics.kernels import joint_frames
from ik_node.kinematics.links import link_poses, path_between
from ik_node.model.chain import Chain
from ik_node.model.urdf import Tree
from ik_node.se3 import inverse, pose


def frames_of_links(chain: Chain, tree: Tree,
                    positions: Mapping[str, float]) -> dict[str, tuple[int, np.ndarray]]:
    """
    Return for each link the index of the moving frame that carries it, and its pose there.

    Frame 0 is the base; frame k is that of the k-th moving joint of the chain, as in
    :attr:`ik_node.model.chain.Chain.table`.  Other joints stand still.

    Parameters
    ----------
    positions : mapping of joint name to position
        Of joints that are not of the chain, rad or m; default 0, or the nearest limit.

    """
    on_chain = [joint.name for joint, _ in path_between(tree, chain.base_link, chain.tip_link)
                if joint.moves]
    q = np.clip(chain.middle, chain.lower, chain.upper)
    values = {}
    for joint in tree.joints:
        if joint.moves:
            rest = float(np.clip(0.0, joint.lower, joint.upper))
            values[joint.name] = float(positions.get(joint.name, rest))
    values |= dict(zip(chain.joint_names, map(float, q)))
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
