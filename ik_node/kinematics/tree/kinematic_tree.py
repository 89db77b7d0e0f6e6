# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Several tips of one robot: the joints between a base link and all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import NamedTuple

import numpy as np

from ik_node.base.errors import ChainError, ParameterError
from ik_node.base.se3 import inverse
from ik_node.base.text import quote
from ik_node.kinematics import kernels
from ik_node.kinematics.arguments import did_you_mean, joint_vector
from ik_node.kinematics.arm import given_tree
from ik_node.kinematics.kernels import joint_frames
from ik_node.kinematics.links import link_poses, path_between, placed_links
from ik_node.kinematics.tree.tree_kernels import tree_columns, tree_frames
from ik_node.model.chain import Chain
from ik_node.model.description.urdf import (
    Joint,
    leader_of,
    MULTI_DOF_TYPES,
    require_usable,
    Tree,
)
from ik_node.model.joint_space import JointSpace, read_only
from ik_node.model.joints import BASE_ROW, coordinates_of, JointBounds, TableRows

Places = dict[str, tuple[int, np.ndarray]]


def tree_rows(tree: Tree, base_link: str,
              tip_links: Sequence[str]) -> tuple[TableRows, Places, list[int]]:
    """
    Return the rows between the base link and the tips, the links there, and the row of each tip.

    Raises
    ------
    ChainError
        If no joint moves between the base and a tip, or as
        :func:`ik_node.model.joints.motions_of`.
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
    rows, places = TableRows(), {}
    tips: dict[str, int] = {}
    waiting = [(base_link, BASE_ROW, np.eye(4))]
    while waiting:  # depth first, so that most rows follow their parents
        link, row, T = waiting.pop()
        if link != base_link:
            row, T = rows.cross(row, T, *crossed[link], by_name)
        places[link] = row, T
        if link in tip_links:
            if row == BASE_ROW:
                raise ChainError(f'no joint moves between {quote(base_link)} and {quote(link)}; '
                                 'choose a tip link further out')
            tips[link] = rows.add_tip(row, T)
        waiting += [(there, row, T) for there in reversed(after.get(link, []))]
    return rows, places, [tips[tip] for tip in tip_links]


@dataclass(frozen=True, eq=False)
class KinematicTree(JointSpace):
    """The joints between a base link and several tips, each joint once; from :func:`load_tree`."""

    base_link: str
    """All poses are poses in it.  It need not be the root of the URDF: with a foot as the base the
    joints of its leg move the rest of the robot."""
    tip_links: tuple[str, ...]
    joint_names: tuple[str, ...]
    """n names, the order of the entries of q.  A planar joint has the coordinates ``NAME/x``,
    ``NAME/y`` and ``NAME/yaw``, a floating one ``NAME/x``, ``y``, ``z``, ``roll``, ``pitch`` and
    ``yaw``: see :mod:`ik_node.model.joints`."""
    lower: np.ndarray
    """(n,), lower position limits (rad or m), infinite for continuous joints."""
    upper: np.ndarray
    """(n,), upper position limits (rad or m), infinite for continuous joints."""
    velocity: np.ndarray
    """(n,), limits in rad/s or m/s, infinite where the URDF gives none, and of planar and floating
    joints."""
    acceleration: np.ndarray
    """(n,), limits in rad/s^2 or m/s^2, infinite where the URDF gives none, and of planar and
    floating joints."""
    jerk: np.ndarray
    """(n,), limits in rad/s^3 or m/s^3, infinite where the URDF gives none, and of planar and
    floating joints."""
    continuous: np.ndarray
    """(n,) bool, joints without limits."""
    revolute: np.ndarray
    """(n,) bool, joints whose coordinate is an angle."""
    table: np.ndarray
    """(m, 16), one row for each degree of freedom and each tip, as
    :func:`ik_node.kinematics.tree.tree_kernels.tree_frames` reads them."""
    parents: np.ndarray
    """(m,) int, the row that carries each row, -1 = the base."""
    tip_rows: np.ndarray
    """(T,) int, the row of each tip."""
    tree: Tree
    """The URDF."""

    def __repr__(self) -> str:
        """Return robot name, base, tips and number of joints in one line."""
        return (f'{type(self).__name__}({quote(self.tree.name)}: {quote(self.base_link)} -> '
                f'{", ".join(map(quote, self.tip_links))}, {self.n} joint{"s" * (self.n != 1)})')

    def fk(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """
        Return ``T_base_tip`` (4, 4) of each tip at joint positions `q` (n,), rad or m.

        Raises
        ------
        ParameterError
            If `q` has not n finite numbers.

        """
        frames = self._frames(joint_vector(self, q))
        return {tip: kernels.pose_matrix(frames[row])
                for tip, row in zip(self.tip_links, self.tip_rows)}

    def jacobian(self, q: np.ndarray, tip_links: Sequence[str] | None = None) -> np.ndarray:
        """
        Return the geometric Jacobians of tips in the base frame, one below the other, (6 k, n).

        Rows of each tip: linear (m), angular (rad) velocity per unit of joint velocity.

        Parameters
        ----------
        q : (n,) array
        tip_links : sequence of str, optional
            Which, and in which order; default: all.

        Raises
        ------
        ParameterError
            If `q` has not n finite numbers, or a tip is unknown.

        """
        frames = self._frames(joint_vector(self, q))
        tips = self.tip_links if tip_links is None else tuple(tip_links)
        J, columns = np.empty((6 * len(tips), self.n)), np.empty((self.n, 6))
        for k, tip in enumerate(tips):
            tree_columns(self.table, self.parents, frames, self.tip_rows[self.tip_index(tip)], 1.0,
                         columns)
            J[6 * k:6 * k + 6] = columns.T
        return J

    def tip_index(self, tip: str) -> int:
        """Return the number of a tip; ParameterError if it is not one of the tips."""
        if tip not in self.tip_links:
            raise ParameterError(f'{quote(tip)} is not a tip of this tree'
                                 + did_you_mean(tip, self.tip_links))
        return self.tip_links.index(tip)

    def positions(self, values: Mapping[str, float]) -> np.ndarray:
        """
        Return q (n,) from the position (rad or m) of each joint by name, others ignored.

        Raises
        ------
        ParameterError
            If a joint is missing.

        """
        missing = [name for name in self.joint_names if name not in values]
        if missing:
            raise ParameterError(f'no position is given for {", ".join(map(quote, missing))}')
        return joint_vector(self, [values[name] for name in self.joint_names])

    @cached_property
    def moved_by(self) -> np.ndarray:
        """Return which coordinates move which tips, (n, T) bool."""
        moved = np.zeros((self.n, len(self.tip_links)), dtype=bool)
        for tip, row in enumerate(self.tip_rows):
            k = int(row)
            while k >= 0:
                moved[int(self.table[k, 13]), tip] |= self.table[k, 14] != 0.0
                k = int(self.parents[k])
        return moved

    def reach(self, tip: str) -> float:
        """Return an upper bound (m) on the distance of a tip from the base, infinite if none."""
        return self._reaches[self.tip_index(tip)]

    @cached_property
    def _reaches(self) -> list[float]:
        reaches = np.zeros(len(self.table) + 1)  # of each row, that of the base is the last
        for k, row in enumerate(self.table):
            reaches[k] = reaches[self.parents[k]] + np.linalg.norm(row[9:12])
            if row[12] != 0.0 and row[14] != 0.0:
                ends = row[14] * np.array([self.lower[int(row[13])], self.upper[int(row[13])]])
                reaches[k] += np.abs(ends + row[15]).max()
        return reaches[self.tip_rows].tolist()

    def _frames(self, q: np.ndarray) -> np.ndarray:
        frames = np.empty((len(self.table), 12))
        tree_frames(self.table, self.parents, q, frames)
        return frames


def load_tree(path_or_text: str | bytes | PathLike, base_link: str | None = None,
              tip_links: Sequence[str] = (), bounds: JointBounds | None = None) -> KinematicTree:
    """
    Load a robot with several tips from a URDF file or from URDF text.

    Parameters
    ----------
    path_or_text : path, str or bytes
        As for :func:`ik_node.kinematics.arm.load_urdf`.
    base_link : str, optional
        The link in which all poses are given; default: the root of the URDF.
    tip_links : sequence of str
        The links that are to be brought to poses.
    bounds : mapping of joint name to mapping of coordinate to (lower, upper), optional
        For each planar joint (x, y, yaw) and floating joint (x, y, z, roll, pitch, yaw) between
        the base and the tips, m and rad: ``{'floor': {'x': (-2, 2), 'y': (-2, 2),
        'yaw': (-inf, inf)}}``.  The URDF has no limits for these.

    Raises
    ------
    UrdfError
        If the file cannot be read or is not a usable URDF.
    ChainError
        If a link does not exist, or no joint moves between the base and a tip.
    ParameterError
        If it is neither a path nor text, no tip is given, one twice, or bounds are missing.

    Examples
    --------
    >>> tree = ik_node.load_tree('urdf/two_arms.urdf', 'base_link', ['left_tool', 'right_tool'])

    """
    return make_tree(given_tree(path_or_text, 'load_tree'), base_link or '', tip_links, bounds)


def make_tree(tree: Tree, base_link: str = '', tip_links: Sequence[str] = (),
              bounds: JointBounds | None = None) -> KinematicTree:
    """Return the joints of a checked URDF between links; arguments as :func:`load_tree`."""
    tips = _checked_links(tree, base_link, tip_links)
    rows, _, tip_rows = tree_rows(tree, base_link or tree.root, tips)
    by_name = {joint.name: joint for joint in tree.joints}
    require_usable(rows.joints, by_name)
    return KinematicTree(base_link or tree.root, tips, tuple(rows.names), tree=tree, **read_only(
        **rows.limits(by_name, bounds), table=rows.checked_table('the base and the tips'),
        parents=np.array(rows.parents, dtype=np.int64),
        tip_rows=np.array(tip_rows, dtype=np.int64)))


def _checked_links(tree: Tree, base_link: str, tip_links: Sequence[str]) -> tuple[str, ...]:
    if isinstance(tip_links, (str, bytes)):
        raise ParameterError(f'tip_links is the string {quote(tip_links)}; give a sequence of '
                             'link names')
    tips = tuple(tip_links)
    for link in (*tips, *((base_link,) if base_link else ())):
        if link not in tree.links:
            raise ChainError(f'the link {quote(link)} is not in the URDF'
                             + did_you_mean(link, tree.links))
    if not tips:
        raise ParameterError('no tip link is given; name the links that are to be brought to '
                             'poses' + did_you_mean('', tree.links))
    if len(set(tips)) < len(tips):
        raise ParameterError(f'the tip links {quote(list(tips), 300)} have a name twice; give '
                             'each once')
    return tips


class MovingFrames(NamedTuple):
    """All frames that move with the joints of a chain or a tree, also of links beside it."""

    table: np.ndarray
    """(m, 16), first the rows of the chain or tree, then those of joints beside it that mimic its
    joints."""
    parents: np.ndarray
    """(m,) int, row that carries each row, -1 = the base."""
    lower: np.ndarray
    """(n,), lower position limits of the joints of the chain or tree, rad or m."""
    upper: np.ndarray
    """(n,), upper position limits of the joints of the chain or tree, rad or m."""
    places: Places
    """By link: (int, (4, 4)), the frame that carries each link, and its pose there.  Frame 0 is
    the base, frame k that of row k - 1."""


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
    rows = TableRows(names=list(space.joint_names), table=space.table.tolist(),
                     parents=space.parents.tolist())

    def cross(joint: Joint, down: bool, frame: int,
              T: np.ndarray) -> tuple[int, np.ndarray] | None:
        leader = leader_of(joint, by_name)[0]
        if not joint.moves or not joint.placed or not {*coordinates_of(leader)} <= {*rows.names}:
            return None
        row, T_next = rows.cross(frame - 1, T, joint, down, by_name)
        return row + 1, T_next

    places = placed_links(tree, _on_the_way(space, tree, values), values, cross)
    return MovingFrames(np.array(rows.table), np.array(rows.parents), space.lower, space.upper,
                        places)


class BesideFrames(NamedTuple):
    """The frames that move with single joints beside a chain or tree, and the links in them."""

    names: tuple[str, ...]
    """Of these joints, which do not mimic others."""
    rest: tuple[float, ...]
    """Where each is if that is not known, rad or m."""
    table: np.ndarray
    """(r, 16), as that of a chain."""
    parents: np.ndarray
    """(r,) int, row that carries each row; -1: a moving frame of the chain, or the base."""
    places: Places
    """By link that such a joint carries: its row, and its pose (4, 4) there."""


def beside_frames(space: Chain | KinematicTree, tree: Tree) -> BesideFrames:
    """Return the frames that move with joints beside a chain or tree, none of which mimic it."""
    by_name = {joint.name: joint for joint in tree.joints}
    values, rows, first = _standing(space, tree, {}), TableRows(), len(space.table) + 1

    def cross(joint: Joint, down: bool, frame: int,
              T: np.ndarray) -> tuple[int, np.ndarray] | None:
        leader = leader_of(joint, by_name)[0]
        if not joint.moves or not joint.placed or leader.type in MULTI_DOF_TYPES \
                or joint.type in MULTI_DOF_TYPES:
            return None
        row, T_next = rows.cross(max(frame - first, BASE_ROW), T, joint, down, by_name)
        return first + row, T_next

    places = placed_links(tree, _on_the_way(space, tree, values), values, cross)
    return BesideFrames(
        tuple(rows.names), tuple(values[name] for name in rows.names),
        np.array(rows.table).reshape(-1, 16), np.array(rows.parents, dtype=np.int64),
        {link: (frame - first, T) for link, (frame, T) in places.items() if frame >= first})


def _on_the_way(space: Chain | KinematicTree, tree: Tree, values: Mapping[str, float]) -> Places:
    """Return the places of the links between the base and the tips."""
    tips = space.tip_links if isinstance(space, KinematicTree) else (space.tip_link,)
    _, places, _ = tree_rows(tree, space.base_link, tips)
    if isinstance(space, Chain):  # its frames are turned about their axes
        frames = np.empty((len(space.table), 12))
        joint_frames(space.table, np.array([values[name] for name in space.joint_names]), frames)
        T_base_links = link_poses(tree, space.base_link, values)
        places = {link: (row, T if row == BASE_ROW else inverse(
            kernels.pose_matrix(frames[row])) @ T_base_links[link])
            for link, (row, T) in places.items()}
    return {link: (row + 1, T) for link, (row, T) in places.items()}


def _standing(space: JointSpace, tree: Tree, positions: Mapping[str, float]) -> dict[str, float]:
    """Return the positions that are given, else 0; those of the chain in the middle."""
    values = {}
    for joint in tree.joints:
        if joint.moves:
            rest = float(np.clip(0.0, joint.lower, joint.upper))
            values[joint.name] = float(positions.get(joint.name, rest))
    return values | dict(zip(space.joint_names, map(float, space.middle)))
