# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Every link of the tree, seen from any other: the way there, and the pose.

A way crosses joints downwards, from parent to child, or upwards.  Crossed
upwards, a joint moves by minus its position, and its offset is inverted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ik_node.errors import ParameterError, Reason, StateError
from ik_node.kinematics.arguments import did_you_mean
from ik_node.model.chain import aligned
from ik_node.model.urdf import Joint, JointType, leader_of, Tree
from ik_node.se3 import inverse, pose, rotation_about, rotation_to_axis
from ik_node.text import quote

MANY_FREEDOMS = (JointType.FLOATING, JointType.PLANAR)


@dataclass(frozen=True, eq=False)
class LinkPath:
    """
    The way from the base link of a chain to a link, as a table for the kernels.

    Attributes
    ----------
    link : str
        Where it ends.
    table : (m + 1, 16) array
        As :attr:`ik_node.model.chain.Chain.table`, over the m moving joints on the way.
    others : tuple of str
        Joints on the way that are no coordinates of the chain; they are
        coordinates n, n + 1, ... of the table.

    """

    link: str
    table: np.ndarray
    others: tuple[str, ...]


def link_pose(tree: Tree, link: str, base_link: str,
              positions: Mapping[str, float]) -> np.ndarray:
    """
    Return ``T_base_link`` (4, 4) of any link of the tree, by the joints on the way.

    Parameters
    ----------
    link, base_link : str
        Links of the tree, in any relation.
    positions : mapping of joint name to position
        Rad or m; mimic joints are computed from the joints that they follow.

    Raises
    ------
    StateError
        If a joint that moves one against the other has no position.
    ParameterError
        If there is no such link.

    """
    by_name = {joint.name: joint for joint in tree.joints}
    T = np.eye(4)
    for joint, down in path_between(tree, base_link, link):
        value = _position(joint, by_name, positions)
        if value is None:
            leader = leader_of(joint, by_name)[0]
            raise StateError(f'the joint {quote(leader.name)} has no known position; without it '
                             f'the link {quote(link)} cannot be placed', Reason.STATE_INCOMPLETE)
        T = _cross(T, joint, down, value)
    return T


def link_poses(tree: Tree, base_link: str,
               positions: Mapping[str, float]) -> dict[str, np.ndarray]:
    """
    Return ``T_base_link`` (4, 4) of every link whose pose is known, by one pass over the tree.

    The pass begins at the base and goes depth first; each joint composes the
    pose of the link that it is reached from, and a branch goes on from the pose
    of the link where it leaves (Parent 2012, "Computer Animation", section 5.2).
    What hangs behind a joint without a position is left out.

    Parameters
    ----------
    positions : mapping of joint name to position
        Rad or m; mimic joints are computed from the joints that they follow.

    """
    by_name = {joint.name: joint for joint in tree.joints}
    ways: dict[str, list[tuple[Joint, bool]]] = {link: [] for link in tree.links}
    for joint in tree.joints:
        ways[joint.parent].append((joint, True))
        ways[joint.child].append((joint, False))
    poses = {base_link: np.eye(4)}
    waiting = [base_link]
    while waiting:
        here = waiting.pop()
        for joint, down in ways[here]:
            there = joint.child if down else joint.parent
            if there in poses:
                continue
            value = _position(joint, by_name, positions)
            if value is not None:
                poses[there] = _cross(poses[here], joint, down, value)
                waiting.append(there)
    return poses


def links_moved(tree: Tree, base_link: str, joint_names: tuple[str, ...]) -> set[str]:
    """Return the links that move against the base link with joints of these names."""
    by_name = {joint.name: joint for joint in tree.joints}
    return {link for link in tree.links
            if any(joint.moves and leader_of(joint, by_name)[0].name in joint_names
                   for joint, _ in path_between(tree, base_link, link))}


def path_between(tree: Tree, start: str, end: str) -> list[tuple[Joint, bool]]:
    """
    Return the joints to cross from link `start` to link `end`, and whether downwards.

    Raises
    ------
    ParameterError
        If there is no such link.

    """
    for link in (start, end):
        if link not in tree.links:
            raise ParameterError(f'the link {quote(link)} is not in the URDF'
                                 + did_you_mean(link, tree.links))
    up, down = tree.path_from_root(start), tree.path_from_root(end)
    shared = 0
    while shared < min(len(up), len(down)) and up[shared] is down[shared]:
        shared += 1
    return ([(joint, False) for joint in reversed(up[shared:])]
            + [(joint, True) for joint in down[shared:]])


def link_path(tree: Tree, base_link: str, link: str, joint_names: tuple[str, ...]) -> LinkPath:
    """
    Tabulate the way from the base link to a link.

    Parameters
    ----------
    joint_names : tuple of str
        The coordinates of the chain.

    Raises
    ------
    StateError
        If a floating or planar joint is on the way, which no single number places.
    ParameterError
        If there is no such link.

    """
    by_name = {joint.name: joint for joint in tree.joints}
    names = list(joint_names)
    rows = []
    T = np.eye(4)
    for joint, down in path_between(tree, base_link, link):
        T_child_parent = inverse(joint.T_parent_joint)
        if not joint.moves:
            T = T @ (joint.T_parent_joint if down else T_child_parent)
            continue
        leader, factor, offset = leader_of(joint, by_name)
        for loose in (joint, leader):
            if loose.type in MANY_FREEDOMS:
                raise StateError(f'the joint {quote(loose.name)} is {loose.type.value}, so the '
                                 f'link {quote(link)} has no known pose in {quote(base_link)}; '
                                 'choose a link on this side of it', Reason.STATE_INCOMPLETE)
        if leader.name not in names:
            names.append(leader.name)
        A = pose(rotation_to_axis(joint.axis), np.zeros(3))
        sign = 1.0 if down else -1.0
        T = T @ joint.T_parent_joint @ A if down else T @ A
        rows.append([*T[:3, :3].ravel(), *T[:3, 3], joint.type is JointType.PRISMATIC,
                     names.index(leader.name), sign * factor, sign * offset])
        T = A.T if down else A.T @ T_child_parent
    rows.append([*T[:3, :3].ravel(), *T[:3, 3], 1.0, 0.0, 0.0, 0.0])
    return LinkPath(link, aligned(rows), tuple(names[len(joint_names):]))


def _position(joint: Joint, by_name: dict[str, Joint],
              positions: Mapping[str, float]) -> float | None:
    """Return the position of a joint, 0 for a fixed one, None if it is not known."""
    if not joint.moves:
        return 0.0
    leader, factor, offset = leader_of(joint, by_name)
    if joint.type in MANY_FREEDOMS or leader.type in MANY_FREEDOMS \
            or leader.name not in positions:
        return None
    return factor * positions[leader.name] + offset


def _cross(T: np.ndarray, joint: Joint, down: bool, value: float) -> np.ndarray:
    """Return the pose of the link behind a joint, from the pose of the link before it."""
    motion = np.eye(4)
    if joint.type is JointType.PRISMATIC:
        motion[:3, 3] = joint.axis * value
    elif joint.moves:
        motion[:3, :3] = rotation_about(joint.axis, value)
    T_parent_child = joint.T_parent_joint @ motion
    return T @ (T_parent_child if down else inverse(T_parent_child))
