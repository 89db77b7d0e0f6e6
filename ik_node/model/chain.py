# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Build a serial chain, as plain arrays, from a checked tree and two of its links.

The compiled kernels read these arrays.  Fixed joints are merged into the offsets,
and each joint frame is rotated so that the joint axis is its z axis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import difflib
from functools import cached_property
from math import atan2

import numpy as np

from ik_node.base.checks import is_pose, real_array
from ik_node.base.errors import ChainError, ParameterError
from ik_node.base.se3 import rotation_about
from ik_node.base.text import quote, shown
from ik_node.model.arm_search import find_arm, listed
from ik_node.model.description.urdf import Joint, MULTI_DOF_TYPES, require_usable, Tree
from ik_node.model.joint_space import JointSpace, read_only
from ik_node.model.joints import BASE_ROW, TableRows

# Columns of Chain.table after the offset, 12 numbers.
PRISMATIC_COLUMN, COORDINATE_COLUMN, FACTOR_COLUMN, OFFSET_COLUMN = 12, 13, 14, 15
Z_AXIS = np.array([0.0, 0.0, 1.0])
MAX_TOOL_LENGTH_M = 10.0


@dataclass(frozen=True, eq=False)
class Chain(JointSpace):
    """
    A serial chain with n independent joints and m >= n moving joints on its path.

    Mimic joints on the path have no coordinate of their own; they move with
    the joint that they mimic.
    """

    base_link: str
    """All poses are poses of the tip in it."""
    tip_link: str
    """The tip, unless a tool is mounted on it: then the tip is its tool centre point."""
    joint_names: tuple[str, ...]
    """n names, the order of the entries of q."""
    lower: np.ndarray
    """(n,), lower position limits (rad or m), infinite for continuous joints.  They also keep the
    mimic joints inside their own limits."""
    upper: np.ndarray
    """(n,), upper position limits, as `lower`."""
    velocity: np.ndarray
    """(n,), limits in rad/s or m/s, infinite where the URDF gives none."""
    acceleration: np.ndarray
    """(n,), limits in rad/s^2 or m/s^2, infinite where the URDF gives none."""
    jerk: np.ndarray
    """(n,), limits in rad/s^3 or m/s^3, infinite where the URDF gives none."""
    continuous: np.ndarray
    """(n,) bool, joints without position limits."""
    revolute: np.ndarray
    """(n,) bool, joints whose coordinate is an angle (revolute or continuous)."""
    offsets: np.ndarray
    """(m + 1, 12), row k: rotation (9, row-major) and position (3, m) of joint frame k in joint
    frame k - 1 at q = 0; the last row is `tip_link` in the last joint frame."""
    joints: np.ndarray
    """(m, 2) int, row k: 1 if prismatic else 0; index of the coordinate that moves it."""
    factors: np.ndarray
    """(m, 2), row k: ``value_k = factors[k, 0] * q[index] + factors[k, 1]``."""
    T_link_tool: np.ndarray
    """(4, 4), pose of the tool centre point in `tip_link`; the identity without a tool."""

    def __repr__(self) -> str:
        """Return base, tip and number of joints in one line."""
        return (f'{type(self).__name__}({quote(self.base_link)} -> {self.tip_text}, '
                f'{self.n} joint{"s" * (self.n != 1)})')

    @property
    def tip_text(self) -> str:
        """Return the moved point in words: the tip link, or the tool on it."""
        return ('the tool on ' if self.has_tool else '') + quote(self.tip_link)

    @property
    def has_tool(self) -> bool:
        """Return whether the tip is another point than the origin of `tip_link`."""
        return not np.array_equal(self.T_link_tool, np.eye(4))

    @cached_property
    def table(self) -> np.ndarray:
        """
        Return the table that the compiled kernels read, (m + 1, 16).

        Row k: ``offsets[k]`` (12), prismatic (1 or 0), index of the coordinate, its
        factor and offset.  The last row holds the offset of the tip, with the tool; its joint
        columns describe a prismatic joint with factor 0.  See :func:`aligned`.
        """
        fixed_tip = np.array([[1.0, 0.0, 0.0, 0.0]])
        return aligned(np.hstack([self._offsets_to_tip, np.vstack([
            np.hstack([self.joints, self.factors]), fixed_tip])]))

    def with_tool(self, T_link_tool: np.ndarray) -> Chain:
        """
        Return this chain with a tool, in place of any that it has.

        Parameters
        ----------
        T_link_tool : (4, 4) array
            Pose of the tool centre point in the tip link, m.  All poses are then poses of it.

        Raises
        ------
        ParameterError
            If it is no pose: a rotation and a position within MAX_TOOL_LENGTH_M.

        """
        tool = real_array(T_link_tool)
        if tool is None or tool.shape != (4, 4) or not np.isfinite(tool).all() \
                or not is_pose(tool.tolist()):
            raise ParameterError('the pose of a tool must be a 4x4 matrix of a rotation and a '
                                 f'position, got {shown(T_link_tool, 80)}')
        if np.linalg.norm(tool[:3, 3]) > MAX_TOOL_LENGTH_M:
            raise ParameterError(f'the tool is {np.linalg.norm(tool[:3, 3]):.4g} m long; at most '
                                 f'{MAX_TOOL_LENGTH_M:g} m are possible (are its units '
                                 'millimetres?)')
        if np.array_equal(tool, self.T_link_tool):
            return self
        tool.setflags(write=False)
        return replace(self, T_link_tool=tool)

    @cached_property
    def parents(self) -> np.ndarray:
        """Return the row of the table that carries each row, (m + 1,): the one before it."""
        parents = np.arange(-1, len(self.joints))
        parents.setflags(write=False)
        return parents

    @property
    def _offsets_to_tip(self) -> np.ndarray:
        """Return `offsets`, with the tool in the last row."""
        offsets = self.offsets.copy()
        if self.has_tool:
            R, p = offsets[-1, :9].reshape(3, 3), offsets[-1, 9:]
            offsets[-1] = np.concatenate([(R @ self.T_link_tool[:3, :3]).ravel(),
                                          R @ self.T_link_tool[:3, 3] + p])
        return offsets

    @property
    def reach(self) -> float:
        """
        Return an upper bound (m) on the distance from the first joint to the tip.

        The sum of the lengths of the offsets after the first joint and of the
        prismatic strokes.
        """
        lengths = np.linalg.norm(self._offsets_to_tip[1:, 9:], axis=1).sum()
        for k, (prismatic, index) in enumerate(self.joints):
            if prismatic:
                ends = self.factors[k, 0] * np.array([self.lower[index], self.upper[index]])
                lengths += np.abs(ends + self.factors[k, 1]).max()
        return float(lengths)


def aligned(table: np.ndarray) -> np.ndarray:
    """
    Align joint frames (Denavit-Hartenberg).

    After this, the offset of each revolute joint but the first rotates about x only,
    which saves the kernels half of the multiplications.  A joint frame may be rotated
    freely about its joint axis; here its x axis is put along the common normal of its
    own and the next axis, as in Denavit and Hartenberg (1955).  Joint axes, frame
    origins and the tip frame do not change.

    Parameters
    ----------
    table : (m + 1, 16) array
        Rows as in :attr:`Chain.table`.

    Returns
    -------
    (m + 1, 16) array
        Read-only.

    """
    table = np.array(table, dtype=float)
    for k in range(1, len(table)):
        before, row = table[k - 1], table[k]
        if row[PRISMATIC_COLUMN] != 0.0:
            continue
        # R = Rz(a) Rx(alpha) Rz(c): a is added to the previous joint, c to this one.
        R = row[:9].reshape(3, 3)
        a = atan2(R[0, 2], -R[1, 2])
        R = rotation_about(Z_AXIS, -a) @ R
        sine, cosine = -R[1, 2], R[2, 2]
        R_x = np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])
        R_z = R_x.T @ R
        if before[PRISMATIC_COLUMN] != 0.0:
            before[:9] = (before[:9].reshape(3, 3) @ rotation_about(Z_AXIS, a)).ravel()
        else:
            before[OFFSET_COLUMN] += a
        row[9:12] = rotation_about(Z_AXIS, -a) @ row[9:12]
        row[:9] = R_x.ravel()
        row[OFFSET_COLUMN] += atan2(R_z[1, 0], R_z[0, 0])
    table.setflags(write=False)
    return table


def is_aligned(table: np.ndarray) -> bool:
    """Return whether the frames of a table (m + 1, 16) are as :func:`aligned` makes them."""
    revolute = table[1:][table[1:, PRISMATIC_COLUMN] == 0.0]
    return bool((revolute[:, [0, 1, 2, 3, 6]] == [1.0, 0.0, 0.0, 0.0, 0.0]).all())


def not_in_urdf(role: str, link: str, tree: Tree) -> str:
    """Return that a link is not there, and which ones have similar names."""
    near = difflib.get_close_matches(link, tree.links, 3, 0.5)
    return f'the {role} {quote(link)} is not in the URDF' \
        + (f'; did you mean {" or ".join(map(quote, near))}?' if near else '')


def make_chain(tree: Tree, base_link: str = '', tip_link: str = '') -> Chain:
    """
    Build the chain between two links of a tree.

    Parameters
    ----------
    base_link, tip_link : str
        Link names; an empty one is found by
        :func:`ik_node.model.arm_search.find_arm`.

    Raises
    ------
    ChainError
        If a link does not exist, if the tip is not below the base, if no joint
        moves between them, or if one of these joints is floating or planar.  The
        sentence lists the chains that the URDF has.
    UrdfError
        If one of these joints has a fault.

    """
    for role, link in (('base_link', base_link), ('tip_link', tip_link)):
        if link and link not in tree.links:
            raise ChainError(not_in_urdf(role, link, tree) + listed(tree))
    if not (base_link and tip_link):
        try:
            base_link, tip_link = find_arm(tree, base_link, tip_link)
        except ChainError as error:
            faults = [joint.fault for joint in tree.joints if joint.fault]
            raise ChainError('; '.join([str(error), *faults[:2]])) from None
    path = _path(tree, base_link, tip_link)
    require_usable(path, {joint.name: joint for joint in tree.joints})
    moving = [joint for joint in path if joint.moves]
    if not moving:
        raise ChainError(f'no joint moves between {quote(base_link)} and {quote(tip_link)}; '
                         f'choose a tip_link further out{listed(tree)}')
    for joint in moving:
        if joint.type in MULTI_DOF_TYPES:
            raise ChainError(f'the joint {quote(joint.name)} between {quote(base_link)} and '
                             f'{quote(tip_link)} is {joint.type.value}; a serial arm has '
                             'revolute, continuous and prismatic joints: choose a base_link '
                             f'behind it{listed(tree)}')
    return _tabulate(tree, base_link, tip_link, path)


def _path(tree: Tree, base_link: str, tip_link: str) -> list[Joint]:
    path = tree.path_from_root(tip_link)
    if base_link == tree.root:
        return path
    for k, joint in enumerate(path):
        if joint.child == base_link:
            return path[k + 1:]
    raise ChainError(f'there is no path from the base_link {quote(base_link)} down to the '
                     f'tip_link {quote(tip_link)}; the tip must be below the base'
                     + listed(tree))


def _tabulate(tree: Tree, base_link: str, tip_link: str, path: list[Joint]) -> Chain:
    by_name = {joint.name: joint for joint in tree.joints}
    rows, row, T = TableRows(), BASE_ROW, np.eye(4)
    for joint in path:
        row, T = rows.cross(row, T, joint, True, by_name)
    rows.add_tip(row, T)
    limits = rows.limits(by_name)
    table = rows.checked_table(f'{quote(base_link)} and {quote(tip_link)}')
    return Chain(base_link, tip_link, tuple(rows.names), **read_only(
        **limits, offsets=table[:, :PRISMATIC_COLUMN].copy(),
        joints=table[:-1, PRISMATIC_COLUMN:FACTOR_COLUMN].astype(np.int64),
        factors=table[:-1, FACTOR_COLUMN:].copy(), T_link_tool=np.eye(4)))
