# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Pose of any link of the tree in the frame of any other, and the path between them.

A path crosses joints downwards, from parent to child, or upwards.  Upwards, the
joint position is negated and the joint offset is inverted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ik_node.base.errors import ParameterError, Reason, StateError
from ik_node.base.se3 import inverse, rotation_about
from ik_node.base.text import quote
from ik_node.kinematics.arguments import did_you_mean
from ik_node.model.chain import aligned
from ik_node.model.description.urdf import Joint, JointType, leader_of, MULTI_DOF_TYPES, Tree
from ik_node.model.joints import BASE_ROW, TableRows

SAME_PLACE = 1e-3  # m and rad, between two poses of a link


@dataclass(frozen=True, eq=False)
class LinkPath:
    """The path from the base link of a chain to a link, as a table for the kernels."""

    link: str
    """The last link."""
    table: np.ndarray
    """(m + 1, 16), as :attr:`ik_node.model.chain.Chain.table`, for the m moving joints of the
    path."""
    others: tuple[str, ...]
    """Joints of the path that are not coordinates of the chain.  They are the coordinates n, n +
    1, ... of the table."""


def link_pose(tree: Tree, link: str, base_link: str,
              positions: Mapping[str, float]) -> np.ndarray:
    """
    Return ``T_base_link`` (4, 4) of any link of the tree, from the joints between them.

    Parameters
    ----------
    link, base_link : str
        Any two links of the tree.
    positions : mapping of joint name to position
        Rad or m; mimic joints are computed from the joints that they follow.

    Raises
    ------
    StateError
        If a joint between the two has no position.
    ParameterError
        If there is no such link.

    """
    T = np.eye(4)
    if link == base_link in tree.links:
        return T
    by_name = {joint.name: joint for joint in tree.joints}
    for joint, down in path_between(tree, base_link, link):
        value = _position(joint, by_name, positions)
        if value is None:
            leader = leader_of(joint, by_name)[0]
            raise StateError(f'the pose of the link {quote(link)} depends on the joint '
                             f'{quote(leader.name)}, which has no known position',
                             Reason.STATE_INCOMPLETE)
        T = _cross(T, joint, down, value)
    return T


def link_poses(tree: Tree, base_link: str,
               positions: Mapping[str, float]) -> dict[str, np.ndarray]:
    """
    Return ``T_base_link`` (4, 4) of each link whose pose is known, in one pass over the tree.

    The tree is traversed depth first from the base link; the pose of a link is the
    pose of the link before it times the transform of the joint between them (Parent
    2012, "Computer Animation", section 5.2).  Links beyond a joint without a position
    are left out.

    Parameters
    ----------
    positions : mapping of joint name to position
        Rad or m; mimic joints are computed from the joints that they follow.

    """
    placed = placed_links(tree, {base_link: (0, np.eye(4))}, positions)
    return {link: T for link, (_, T) in placed.items()}


def placed_links(tree: Tree, known: Mapping[str, tuple[int, np.ndarray]],
                 positions: Mapping[str, float],
                 cross: Callable[[Joint, bool, int, np.ndarray], tuple[int, np.ndarray] | None]
                 = lambda *_: None) -> dict[str, tuple[int, np.ndarray]]:
    """
    Return for each link the moving frame that carries it, and its pose (4, 4) there.

    The links that are not in `known` stand still relative to the one of these from which they
    are reached.  Links beyond a joint without a position are left out.

    Parameters
    ----------
    known : mapping of link to (int, (4, 4) array)
    positions : mapping of joint name to position
        As :func:`link_poses`.
    cross : callable
        From a joint, whether it is crossed downwards, and the frame and the pose of the link
        before it to those of the next link; None if that stands still in the frame.

    """
    by_name = {joint.name: joint for joint in tree.joints}
    neighbours: dict[str, list[tuple[Joint, bool]]] = {link: [] for link in tree.links}
    for joint in tree.joints:
        neighbours[joint.parent].append((joint, True))
        neighbours[joint.child].append((joint, False))
    placed = dict(known)
    waiting = list(known)
    while waiting:
        here = waiting.pop()
        frame, T = placed[here]
        for joint, down in neighbours[here]:
            there = joint.child if down else joint.parent
            if there in placed:
                continue
            value, place = _position(joint, by_name, positions), cross(joint, down, frame, T)
            if place is None and value is not None:
                place = frame, _cross(T, joint, down, value)
            if place is not None:
                placed[there] = place
                waiting.append(there)
    return placed


def elsewhere(poses: Mapping[str, np.ndarray],
              others: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the poses (4, 4) of links that `others` do not have, or not within SAME_PLACE."""
    return {link: T for link, T in poses.items()
            if link not in others or np.abs(T - others[link]).max() > SAME_PLACE}


def links_moved(tree: Tree, base_link: str, joint_names: tuple[str, ...]) -> set[str]:
    """Return the links that move relative to the base link with any of these joints."""
    by_name = {joint.name: joint for joint in tree.joints}
    return {link for link in tree.links
            if any(joint.moves and leader_of(joint, by_name)[0].name in joint_names
                   for joint, _ in path_between(tree, base_link, link))}


def path_between(tree: Tree, start: str, end: str) -> list[tuple[Joint, bool]]:
    """
    Return the joints between link `start` and link `end`, each with True if crossed downwards.

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
    Return the path from the base link to a link as a table for the kernels.

    Parameters
    ----------
    joint_names : tuple of str
        The coordinates of the chain.

    Raises
    ------
    StateError
        If a floating or planar joint is on the path, as no single number gives its position, or
        one of which the URDF does not say how it moves.
    ParameterError
        If there is no such link.

    """
    by_name = {joint.name: joint for joint in tree.joints}
    rows, row, T = TableRows(list(joint_names)), BASE_ROW, np.eye(4)
    for joint, down in path_between(tree, base_link, link):
        if not joint.placed:
            raise StateError(joint.fault, Reason.STATE_INCOMPLETE)
        for loose in (joint, leader_of(joint, by_name)[0]) if joint.moves else ():
            if loose.type in MULTI_DOF_TYPES:
                raise StateError(f'the joint {quote(loose.name)} is {loose.type.value}, so the '
                                 f'link {quote(link)} has no known pose in {quote(base_link)}; '
                                 'choose a link before it', Reason.STATE_INCOMPLETE)
        row, T = rows.cross(row, T, joint, down, by_name)
    rows.add_tip(row, T)
    return LinkPath(link, aligned(np.array(rows.table)), tuple(rows.names[len(joint_names):]))


def _position(joint: Joint, by_name: dict[str, Joint],
              positions: Mapping[str, float]) -> float | None:
    """Return the position of a joint, 0 if it is fixed, None if it or its place is unknown."""
    if not joint.placed:
        return None
    if not joint.moves:
        return 0.0
    leader, factor, offset = leader_of(joint, by_name)
    if joint.type in MULTI_DOF_TYPES or leader.type in MULTI_DOF_TYPES \
            or leader.name not in positions:
        return None
    return factor * positions[leader.name] + offset


def _cross(T: np.ndarray, joint: Joint, down: bool, value: float) -> np.ndarray:
    """Return the pose of the link after a joint, given the pose of the link before it."""
    motion = np.eye(4)
    if joint.type is JointType.PRISMATIC:
        motion[:3, 3] = joint.axis * value
    elif joint.moves:
        motion[:3, :3] = rotation_about(joint.axis, value)
    T_parent_child = joint.T_parent_joint @ motion
    return T @ (T_parent_child if down else inverse(T_parent_child))
