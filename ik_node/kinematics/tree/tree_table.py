# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The rows of a kinematic tree: the joints between one link and several others, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ik_node.base.errors import ChainError, UrdfError
from ik_node.base.se3 import inverse, pose, rotation_to_axis
from ik_node.base.text import quote
from ik_node.kinematics.links import path_between
from ik_node.model.base_joints import coordinates_of, Motion, motions_of
from ik_node.model.description.urdf import Joint, leader_of, Tree

BASE_ROW = -1


@dataclass
class TreeRows:
    """
    The rows of a tree as they are gathered, each after the row that carries it.

    Attributes
    ----------
    names : list of str
        The coordinates.
    joints : list of Joint
        The joints that move.
    table, parents : lists
        As :class:`ik_node.kinematics.tree.kinematic_tree.KinematicTree` has them.
    places : dict of link to (int, (4, 4) array)
        The row that carries each link (BASE_ROW = the base), and the pose of the link in it.

    """

    names: list[str] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    table: list[list[float]] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    places: dict[str, tuple[int, np.ndarray]] = field(default_factory=dict)

    def add(self, parent: int, T: np.ndarray, motion: Motion, sign: float) -> int:
        """Append a degree of freedom, `T` (4, 4) in the frame of `parent`; return its number."""
        self.table.append([*T[:3, :3].ravel(), *T[:3, 3], float(motion.slides),
                           self.names.index(motion.coordinate), sign * motion.factor,
                           sign * motion.offset])
        self.parents.append(parent)
        return len(self.table) - 1

    def add_fixed(self, parent: int, T: np.ndarray) -> int:
        """Append a row that does not move in its parent: the frame of a tip."""
        self.table.append([*T[:3, :3].ravel(), *T[:3, 3], 1.0, 0.0, 0.0, 0.0])
        self.parents.append(parent)
        return len(self.table) - 1


def tree_rows(tree: Tree, base_link: str, tip_links: Sequence[str]) -> tuple[TreeRows, list[int]]:
    """
    Return the rows between the base link and the tips, and the row of each tip.

    A joint that is crossed from its child to its parent moves the other way.

    Raises
    ------
    ChainError
        If no joint moves between the base and a tip, or as
        :func:`ik_node.model.base_joints.motions_of`.
    ParameterError
        If there is no such link.

    """
    by_name = {joint.name: joint for joint in tree.joints}
    crossed: dict[str, tuple[Joint, bool]] = {}  # the joint before each link, True = downwards
    after: dict[str, list[str]] = {}
    for tip in tip_links:
        here = base_link
        for joint, down in path_between(tree, base_link, tip):
            there = joint.child if down else joint.parent
            if there not in crossed:
                crossed[there] = joint, down
                after.setdefault(here, []).append(there)
            here = there
    rows = TreeRows()
    tips: dict[str, int] = {}
    waiting = [(base_link, BASE_ROW, np.eye(4))]
    while waiting:  # depth first, so that most rows follow their parents
        link, row, T = waiting.pop()
        if link != base_link:
            row, T = cross_joint(rows, row, T, crossed[link], by_name)
        rows.places[link] = row, T
        if link in tip_links:
            if row == BASE_ROW:
                raise ChainError(f'no joint moves between {quote(base_link)} and {quote(link)}; '
                                 'choose a tip link further out')
            tips[link] = rows.add_fixed(row, T)
        waiting += [(there, row, T) for there in reversed(after.get(link, []))]
    return rows, [tips[tip] for tip in tip_links]


def cross_joint(rows: TreeRows, row: int, T: np.ndarray, crossed: tuple[Joint, bool],
                by_name: Mapping[str, Joint]) -> tuple[int, np.ndarray]:
    """Add the rows of a joint after a link at `T` in `row`; return the place of the next link."""
    joint, down = crossed
    if not joint.placed:
        raise UrdfError(joint.fault)
    motions = motions_of(joint, by_name) if joint.moves else []
    if motions:
        rows.joints.append(joint)
        leader = leader_of(joint, by_name)[0]
        rows.names += [name for name in coordinates_of(leader) if name not in rows.names]
    if down:
        T = T @ joint.T_parent_joint
    for motion in motions if down else reversed(motions):
        A = pose(rotation_to_axis(motion.axis), np.zeros(3))
        row = rows.add(row, T @ A, motion, 1.0 if down else -1.0)
        T = A.T
    return row, T if down else T @ inverse(joint.T_parent_joint)
