# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Geometry of tool paths: lines, arcs, and the corners between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi
from numbers import Real

import numpy as np

from ik_node.base.checks import poses_are_rigid, real_array
from ik_node.base.errors import GoalError, ParameterError, PathError, Reason
from ik_node.base.se3 import distance, FARTHEST_GOAL_M, rotation_log
from ik_node.base.text import length_text, shown
from ik_node.motion.tool_path.segments import (
    arc_row,
    line_rows,
    METRES_PER_RADIAN,
    path_poses,
    SEG_BEGIN,
    SEG_CUT_AFTER,
    SEG_CUT_BEFORE,
    SEG_LENGTH,
    SEG_ROTATION,
    SEG_TANGENT,
    SEGMENT_COLUMNS,
)
from ik_node.solver.goal import checked_pose

SAME_POSE = 1e-6         # m and rad; poses closer than this are one pose
MAX_ROTATION_RAD = pi - 1e-3  # a larger rotation is ambiguous
CORNER_CHANGE = 1e-3     # m/m and rad/m; lines that differ more make a corner
COLLINEAR_SINE = 1e-6    # of an angle; an arc needs more
MAX_PATH_POSES = 2000


@dataclass(frozen=True, eq=False)
class ToolPath:
    """A path of the tip in the base frame; make one by `lines`, `arc` or `arc_about`."""

    table: np.ndarray
    """(k, SEGMENT_COLUMNS), the segments in order; see
    :mod:`ik_node.motion.tool_path.segments`."""

    @classmethod
    def lines(cls, poses: Sequence[np.ndarray], blend_radius: float = 0.0,
              start: np.ndarray | None = None) -> ToolPath:
        """
        Return straight segments between poses ``T_base_tip`` (4, 4), m.

        The position moves along a line, the orientation by the shortest rotation, both at
        constant rates.  A pose within 1e-6 m and rad of the one before it, or of the line
        between its neighbours, is left out.

        Parameters
        ----------
        blend_radius : float
            Distance (m) from a corner within which the path may leave the lines; at most
            half of either segment is used.  0: stop at each corner.
        start : (4, 4) array, optional
            A pose before the first.

        Raises
        ------
        PathError
            If there are no two different poses, one is not finite or not a pose, or a
            rotation between two is a half turn, whose direction is ambiguous.
        ParameterError
            If the radius is negative or not finite.

        """
        rows = _checked_poses(poses)
        names = [f'pose {k}' for k in range(len(rows))]
        if start is not None:
            rows, names = np.vstack([_checked_poses([start]), rows]), ['the start', *names]
        kept = [0]
        for k in range(1, len(rows)):
            if not _equal(rows[k], rows[kept[-1]]):
                kept.append(k)
        if len(kept) < 2:
            raise PathError('the path goes nowhere: its poses are the same to 1e-6 m and rad; '
                            'give one that is elsewhere', Reason.ALREADY_THERE)
        table, angles = _segments(rows[kept])
        if angles.max() > MAX_ROTATION_RAD:
            k = int(angles.argmax())
            raise PathError(f'the orientation turns by {angles[k]:.4f} rad, half a turn, from '
                            f'{names[kept[k]]} to {names[kept[k + 1]]} of the path, which could '
                            'turn either way; give a pose between them')
        straight = _without_straight(rows, kept, table)
        if len(straight) < len(kept):
            table, _ = _segments(rows[straight])
        return _laid_out(table, blend_radius)

    @classmethod
    def arc(cls, T_begin: np.ndarray, T_between: np.ndarray, T_end: np.ndarray) -> ToolPath:
        """
        Return the arc from one pose through a second to a third, each (4, 4).

        The position moves on the circle through the three.  The orientation is the second
        one, rotated by a rotation vector that is quadratic in the length and meets the other
        two.

        Raises
        ------
        PathError
            If the three positions are on one line, or a rotation from the second
            orientation is half a turn.

        """
        rows = _checked_poses([T_begin, T_between, T_end])
        p0, p1, p2 = rows[:, 9:]
        normal = np.cross(p1 - p0, p2 - p1)
        sides = [float(np.linalg.norm(b - a)) for a, b in ((p0, p1), (p1, p2), (p2, p0))]
        if min(sides) < SAME_POSE:
            raise PathError('two of the three positions of the arc are the same; a circle needs '
                            'three different ones, for a full circle use arc_about')
        if np.linalg.norm(normal) < COLLINEAR_SINE * sides[0] * sides[1]:
            raise PathError('the three positions of the arc are on one line; give a line, or '
                            'positions on a circle')
        v0, v2 = (rotation_log((R @ rows[1, :9].reshape(3, 3).T))
                  for R in (rows[0, :9].reshape(3, 3), rows[2, :9].reshape(3, 3)))
        if max(np.linalg.norm(v0), np.linalg.norm(v2)) > MAX_ROTATION_RAD:
            raise PathError('the orientation turns by half a turn from one pose of the arc to '
                            'the next, which could turn either way; give nearer ones')
        n = normal / np.linalg.norm(normal)
        # The circumcentre (from p0), with a = p1 - p0 and b = p2 - p0.
        a, b = p1 - p0, p2 - p0
        across = np.cross(a, b)
        centre = p0 + np.cross((a @ a) * b - (b @ b) * a, across) / (2.0 * (across @ across))
        e1 = p0 - centre
        e2 = np.cross(n, e1)
        phi1, phi2 = (float(np.arctan2(e2 @ (p - centre), e1 @ (p - centre))) % (2.0 * pi)
                      for p in (p1, p2))
        length = max(phi2 * float(np.linalg.norm(e1)),
                     METRES_PER_RADIAN * float(np.linalg.norm(v0) + np.linalg.norm(v2)))
        middle = length * phi1 / phi2
        row = arc_row(e1, e2, phi2, length, np.append(rows[1, :9], centre))
        # Lagrange through (0, v0), (middle, 0), (length, v2)
        late = v2 / (length * (length - middle))
        row[SEG_ROTATION:SEG_ROTATION + 9] = np.concatenate([
            v0, -v0 * (middle + length) / (middle * length) - late * middle,
            v0 / (middle * length) + late])
        return _laid_out(row[None], 0.0)

    @classmethod
    def arc_about(cls, T_begin: np.ndarray, centre: np.ndarray, axis: np.ndarray, angle: float,
                  turning: bool = True) -> ToolPath:
        """
        Return the arc about an axis that begins at a pose.

        Parameters
        ----------
        centre, axis : (3,) arrays
            A point on the axis (m) and its direction, in the base frame.
        angle : float
            Rad, right-handed; ``2 pi`` is a full circle, more is several turns.
        turning : bool
            Whether the tool rotates with the motion; otherwise it keeps its orientation.

        Raises
        ------
        PathError
            If the pose is on the axis, or a number is not finite or zero.

        """
        rows = _checked_poses([T_begin])
        numbers = real_array([*np.ravel(centre), *np.ravel(axis), angle])
        if numbers is None or numbers.shape != (7,) or not np.isfinite(numbers).all():
            raise PathError('the centre and the axis of an arc are three finite numbers each, '
                            'its angle is one')
        length = float(np.linalg.norm(numbers[3:6]))
        if length == 0.0 or numbers[6] == 0.0:
            raise PathError('the axis and the angle of an arc may not be zero')
        n = np.copysign(1.0, numbers[6]) * numbers[3:6] / length
        angle = abs(float(numbers[6]))
        off = rows[0, 9:] - numbers[:3]
        e1 = off - n * (n @ off)
        radius = float(np.linalg.norm(e1))
        if radius < SAME_POSE:
            raise PathError('the arc begins on its own axis; give a centre that is elsewhere')
        length = angle * max(radius, METRES_PER_RADIAN * turning)
        row = arc_row(e1, np.cross(n, e1), angle, length,
                      np.append(rows[0, :9], rows[0, 9:] - e1))
        row[SEG_ROTATION + 3:SEG_ROTATION + 6] = n * (angle / length * turning)
        return _laid_out(row[None], 0.0)

    @classmethod
    def joined(cls, paths: Sequence[ToolPath],
               blend_radius: float | Sequence[float] = 0.0) -> ToolPath:
        """
        Return paths in sequence, with stops or blends at all of their corners.

        Parameters
        ----------
        blend_radius : float or sequence of float
            As for :meth:`lines`; or one for each corner, in order.

        Raises
        ------
        PathError
            If there are none, or one does not begin where the one before it ends.

        """
        if not paths:
            raise PathError('there is no path to join; give one at least')
        for k, (before, after) in enumerate(zip(paths[:-1], paths[1:])):
            gap, angle = distance(before.poses([before.length])[0], after.poses([0.0])[0])
            if max(gap, angle) > SAME_POSE:
                raise PathError(f'path {k + 1} begins {length_text(gap)} and {angle:.3g} rad away '
                                f'from the end of path {k}; they must meet')
        return _laid_out(np.vstack([path.table for path in paths]), blend_radius)

    @property
    def length(self) -> float:
        """Return the largest path coordinate."""
        return float(self.table[-1, SEG_BEGIN] + self.table[-1, SEG_LENGTH])

    @property
    def stops(self) -> np.ndarray:
        """Return the path coordinates at which the tip rests, with the start and the end."""
        inside = self.table[1:, SEG_BEGIN][self.table[1:, SEG_CUT_BEFORE] == 0.0]
        return np.concatenate([[0.0], inside, [self.length]])

    def pose_rows(self, s: Sequence[float]) -> np.ndarray:
        """Return the poses at path coordinates (N,) as rows: rotation (9), position (3)."""
        rows = np.empty((len(s), 12))
        path_poses(self.table, np.asarray(s, dtype=float), rows)
        return rows

    def poses(self, s: Sequence[float]) -> np.ndarray:
        """Return ``T_base_tip`` (N, 4, 4) at path coordinates (N,)."""
        rows = self.pose_rows(s)
        T = np.zeros((len(s), 4, 4))
        T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = rows[:, :9].reshape(-1, 3, 3), rows[:, 9:], 1.0
        return T

    def sampled(self, count: int) -> np.ndarray:
        """Return `count` poses (count, 4, 4), evenly spaced from the start to the end."""
        if count < 2:
            raise ParameterError(f'{count} poses make no path; ask for two at least')
        return self.poses(np.linspace(0.0, self.length, count))


def _checked_poses(poses: Sequence[np.ndarray]) -> np.ndarray:
    """Return poses as rows of 12."""
    try:
        count = len(poses)
    except TypeError:
        count = 0
    if count == 0:
        raise PathError('the path is empty; give one pose at least')
    if count > MAX_PATH_POSES:
        raise PathError(f'the path has {count} poses; {MAX_PATH_POSES} are allowed, split it')
    T = real_array(poses)
    if T is None or T.shape != (count, 4, 4) or not poses_are_rigid(T) \
            or not np.abs(T[:, :3, 3]).max() < FARTHEST_GOAL_M:
        for k in range(count):
            try:
                checked_pose(poses[k])
            except GoalError as error:
                raise PathError(f'pose {k} of the path: {error}', error.reason) from None
    return np.hstack([T[:, :3, :3].reshape(count, 9), T[:, :3, 3]])


def _segments(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the line segments between poses (N, 12), and the rotation angle (rad) of each."""
    table, angles = np.empty((len(rows) - 1, SEGMENT_COLUMNS)), np.empty(len(rows) - 1)
    line_rows(rows, table, angles)
    return table, angles


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two poses (12) agree to SAME_POSE; entries of R differ by small angles."""
    return bool(np.abs(a[9:] - b[9:]).max() < SAME_POSE
                and np.abs(a[:9] - b[:9]).max() < SAME_POSE)


def _without_straight(rows: np.ndarray, kept: list[int], table: np.ndarray) -> list[int]:
    """Return the indices of poses that are not on the line between their neighbours."""
    twists = np.hstack([table[:, SEG_TANGENT:SEG_TANGENT + 3],
                        table[:, SEG_ROTATION + 3:SEG_ROTATION + 6]])
    bends = np.abs(np.diff(twists, axis=0)).max(axis=1) > CORNER_CHANGE
    left, between = [kept[0]], []
    for k in range(1, len(kept)):
        if between:
            line, angles = _segments(rows[[left[-1], kept[k]]])
            along = np.linalg.norm(rows[between, 9:] - rows[left[-1], 9:], axis=1)
            if np.linalg.norm(line[0, SEG_TANGENT:SEG_TANGENT + 3]) > 0.0:
                along /= np.linalg.norm(line[0, SEG_TANGENT:SEG_TANGENT + 3])
            else:
                along = np.cumsum(table[k - 1 - len(between):k - 1, SEG_LENGTH])
            there = np.empty((len(between), 12))
            path_poses(line, along, there)
            if angles[0] > MAX_ROTATION_RAD or np.abs(there - rows[between]).max() > SAME_POSE:
                left.append(between[-1])
                between = []
        if k < len(kept) - 1 and not bends[k - 1]:
            between.append(kept[k])
        else:
            left.append(kept[k])
            between = []
    return left


def _laid_out(table: np.ndarray, blend_radius: float | Sequence[float]) -> ToolPath:
    """Return the path through segments in order, with blended corners."""
    radii = blend_radius if isinstance(blend_radius, (list, tuple)) else [blend_radius]
    if not all(isinstance(radius, Real) and 0.0 <= radius < float('inf') for radius in radii):
        raise ParameterError(f'the blend radius is {shown(blend_radius)}; it must be a length in '
                             'm, 0 = stop at corners')
    if len(radii) not in (1, len(table) - 1):
        raise ParameterError(f'there are {len(radii)} blend radii; the path has {len(table) - 1} '
                             'corners')
    table = np.array(table)
    lengths = table[:, SEG_LENGTH]
    table[:, SEG_BEGIN] = np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    cuts = np.minimum(radii, 0.5 * np.minimum(lengths[:-1], lengths[1:]))
    table[1:, SEG_CUT_BEFORE] = table[:-1, SEG_CUT_AFTER] = cuts
    table[0, SEG_CUT_BEFORE] = table[-1, SEG_CUT_AFTER] = 0.0
    return ToolPath(table)
