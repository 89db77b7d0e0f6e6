# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics, Jacobian and manipulability of a chain, for Python callers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ik_node.errors import quote, Reason, StateError
from ik_node.kinematics import kernels
from ik_node.model.chain import Chain
from ik_node.model.urdf import JointType, Tree
from ik_node.se3 import inverse, pose, rotation_about


def forward_kinematics(chain: Chain, q: np.ndarray) -> np.ndarray:
    """
    Return ``T_base_tip`` (4, 4) at joint positions `q` (n,), rad or m.

    Raises
    ------
    ValueError
        If `q` has not n numbers.

    """
    return kernels.pose_matrix(_frames(chain, q)[-1])


def jacobian(chain: Chain, q: np.ndarray) -> np.ndarray:
    """
    Return the geometric Jacobian (6, n) of the tip in the base frame.

    Rows: linear (m), angular (rad) velocity of the tip per unit of joint velocity.

    Raises
    ------
    ValueError
        If `q` has not n numbers.

    """
    J = np.empty((6, chain.n))
    kernels.geometric_jacobian(chain.joints, chain.factors, _frames(chain, q), J)
    return J


def singular_values(chain: Chain, q: np.ndarray) -> np.ndarray:
    """
    Return the singular values of the Jacobian at `q`, largest first, (min(6, n),).

    Linear rows in m, angular rows in rad.  Their product is Yoshikawa's (1985) manipulability.
    """
    return np.linalg.svd(jacobian(chain, q), compute_uv=False)


def link_pose(tree: Tree, link: str, base_link: str,
              positions: Mapping[str, float]) -> np.ndarray:
    """
    Return ``T_base_link`` (4, 4) of any link of the tree, by the joints on its path.

    Parameters
    ----------
    link, base_link : str
        Links of the tree, in any relation.
    positions : mapping of joint name to position
        Rad or m; mimic joints are computed from the joints that they follow.

    Raises
    ------
    StateError
        If a joint that moves one of the links has no position.

    """
    T_root_base = _pose_from_root(tree, base_link, positions)
    return inverse(T_root_base) @ _pose_from_root(tree, link, positions)


def _pose_from_root(tree: Tree, link: str, positions: Mapping[str, float]) -> np.ndarray:
    T = np.eye(4)
    for joint in tree.path_from_root(link):
        T = T @ joint.T_parent_joint
        if not joint.moves:
            continue
        value = _position(tree, joint.name, positions)
        if joint.type is JointType.PRISMATIC:
            T = T @ pose(np.eye(3), joint.axis * value)
        else:
            T = T @ pose(rotation_about(joint.axis, value), np.zeros(3))
    return T


def _position(tree: Tree, name: str, positions: Mapping[str, float]) -> float:
    joint = next(joint for joint in tree.joints if joint.name == name)
    if joint.mimic is not None:
        return (joint.mimic.multiplier * _position(tree, joint.mimic.joint, positions)
                + joint.mimic.offset)
    if joint.type in (JointType.FLOATING, JointType.PLANAR) or name not in positions:
        raise StateError(f'the joint {quote(name)} has no known position',
                         Reason.STATE_INCOMPLETE)
    return positions[name]


def _frames(chain: Chain, q: np.ndarray) -> np.ndarray:
    q = np.ascontiguousarray(q, dtype=float)
    if q.shape != (chain.n,):
        raise ValueError(f'q needs {chain.n} numbers, one a joint, got shape {q.shape}')
    frames = np.empty((len(chain.joints) + 1, 12))
    kernels.forward(chain.offsets, chain.joints, chain.factors, q, frames)
    return frames
