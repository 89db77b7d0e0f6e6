# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled placement of what joints beside a chain carry.

A collision model whose other joints have moved differs in these parts alone: in where they are,
and in how much room they need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.collision.bodies.parts import Body
from ik_node.collision.bodies.shapes import CAPSULE_KIND, CYLINDER_KIND, shapes_of
from ik_node.collision.distances.check import (
    compose,
    Pairs,
    place_centre,
    PLANE_REACH_M,
    reaches,
    REST_ROOM,
    SAME_AXIS,
)
from ik_node.collision.distances.other_joints import OtherJoint
from ik_node.kinematics.kernels import compiled, inner
from ik_node.kinematics.tree.kinematic_tree import BesideFrames, MovingFrames
from ik_node.kinematics.tree.tree_kernels import tree_frames


class BesideParts(NamedTuple):
    """The parts that joints beside a chain carry, and how, as arrays for the kernel."""

    table: np.ndarray    # (r, 16), of the joints beside the chain
    parents: np.ndarray  # (r,) int, row that carries each row; -1: a moving frame of the chain
    parts: np.ndarray    # (c,) int, the parts
    rows: np.ndarray     # (c,) int, the row that carries each
    poses: np.ndarray    # (c, 12), their poses in these rows
    balls: np.ndarray    # (c, 4), the balls that contain them, in these rows
    groups: np.ndarray   # (g,) int, the groups that have such parts
    # (g + 1,) int, where the parts of each of these groups begin among the members; all parts
    begins: np.ndarray
    members: np.ndarray


class Beside:
    """
    What a collision model has beside its chain.

    Parameters
    ----------
    frames : BesideFrames
    moving : MovingFrames
        Of the chain.
    pairs : Pairs
    bodies : sequence of Body
    owners : sequence of int
        The body of each part.
    groups : sequence of int
        The group of each part.
    base_link : str
        Where bodies without a frame are.
    margins : (K,) array
        Distance (m) that each pair must keep if no joint has room.

    """

    def __init__(self, frames: BesideFrames, moving: MovingFrames, pairs: Pairs,
                 bodies: Sequence[Body], owners: Sequence[int], groups: Sequence[int],
                 base_link: str, margins: np.ndarray) -> None:
        self._frames, self._moving, self._pairs, self._margins = frames, moving, pairs, margins
        places = [frames.places.get(body.frame or base_link) for body in bodies]
        carried = [k for k, place in enumerate(places) if place is not None]
        local, _ = shapes_of(tuple(bodies[k] for k in carried), [0] * len(carried),
                             [places[k][1] for k in carried])
        parts = [part for part, owner in enumerate(owners) if places[owner] is not None]
        changed = sorted({groups[part] for part in parts})
        members = [[part for part, group in enumerate(groups) if group == each]
                   for each in changed]
        self._parts = BesideParts(
            frames.table, frames.parents, np.array(parts, dtype=np.int64),
            np.array([places[owners[part]][0] for part in parts], dtype=np.int64),
            local.poses, local.balls, np.array(changed, dtype=np.int64),
            np.cumsum([0, *map(len, members)]),
            np.array([part for those in members for part in those], dtype=np.int64))
        # Others stand still relative to all joints.
        self._moved = [group for group in changed if pairs.group_frames[group] > 0]

    def placed(self, others: Mapping[str, OtherJoint]) -> tuple[Pairs, np.ndarray, np.ndarray]:
        """
        Return the pairs with joints elsewhere, and of each pair what changes with them.

        Returns
        -------
        (Pairs, (K,) array, (K,) bool array)
            The distance (m) that each pair must keep; and whether joints that move carry one of
            the two.

        """
        pairs, names, rest = self._pairs, self._frames.names, self._frames.rest
        at = np.array([others[name].position if name in others else still
                       for name, still in zip(names, rest)])
        rooms = np.array([others[name].room if name in others else 0.0 for name in names])
        shapes = pairs.shapes._replace(poses=pairs.shapes.poses.copy(),
                                       balls=pairs.shapes.balls.copy())
        pairs = pairs._replace(shapes=shapes, group_balls=pairs.group_balls.copy())
        margins, swept = self._margins.copy(), np.zeros(len(self._margins), dtype=bool)
        place_beside(self._parts, at, rooms, pairs, margins, swept)
        if self._moved:
            columns = pairs.group_reaches.copy()
            columns[:, self._moved] = reaches(self._moving, pairs.group_frames[self._moved],
                                              pairs.group_balls[self._moved])
            pairs = pairs._replace(group_reaches=columns)
        return pairs, margins, swept


@compiled
def place_beside(beside, at, rooms, pairs, margins, swept):
    """
    Place the parts that joints beside a chain carry, and add what room they need.

    Parameters
    ----------
    beside : BesideParts
    at, rooms : (j,) arrays
        Where the joints are, and how far they may be from there, rad or m.
    pairs : Pairs
        Poses and balls of these parts, and balls of their groups, are written.
    margins : (K,) array, changed
    swept : (K,) bool array, written

    """
    shapes = pairs.shapes
    frames, moved = np.empty((len(beside.table), 12)), np.zeros((2, len(shapes.ints)))
    tree_frames(beside.table, beside.parents, at, frames)
    for i in range(beside.parts.shape[0]):
        part, F = beside.parts[i], frames[beside.rows[i]]
        compose(F, beside.poses[i], shapes.poses[part])
        place_centre(F, beside.balls[i], shapes.balls[part])
        moved[0, part] = moved_within(beside, i, rooms, 0.0, shapes, frames)
        moved[1, part] = moved_within(beside, i, rooms, REST_ROOM, shapes, frames)
    for i in range(beside.groups.shape[0]):
        ball_round(shapes.balls, beside.members[beside.begins[i]:beside.begins[i + 1]],
                   pairs.group_balls[beside.groups[i]])
    for k in range(margins.shape[0]):
        a, b = pairs.pairs[k, 0], pairs.pairs[k, 1]
        margins[k] += moved[0, a] + moved[0, b]
        swept[k] = moved[1, a] + moved[1, b] > 0.0


@inner
def moved_within(beside, i, rooms, least, shapes, frames):
    """Return :func:`displacement` of part i (m) by the joints with more room than `least`."""
    part, row, moved = beside.parts[i], beside.rows[i], 0.0
    ball, P, kind = shapes.balls[part], shapes.poses[part], shapes.ints[part, 0]
    radius = min(ball[3], PLANE_REACH_M)
    while row >= 0:
        F, joint = frames[row], int(beside.table[row, 13])
        room = abs(beside.table[row, 14]) * rooms[joint]
        if room > 0.0 and rooms[joint] > least and beside.table[row, 12] != 0.0:
            moved += room
        elif room > 0.0 and rooms[joint] > least:
            # How far the ball is from the axis, wherever the joints after this one are.
            x, y, z = ball[0] - F[9], ball[1] - F[10], ball[2] - F[11]
            along = F[2] * x + F[5] * y + F[8] * z
            x, y, z = x - along * F[2], y - along * F[5], z - along * F[8]
            away = sqrt(x * x + y * y + z * z)
            turns = moved == 0.0 and away < SAME_AXIS and (
                kind == CYLINDER_KIND or kind == CAPSULE_KIND) and max(
                    abs(F[5] * P[8] - F[8] * P[5]), abs(F[8] * P[2] - F[2] * P[8]),
                    abs(F[2] * P[5] - F[5] * P[2])) < SAME_AXIS
            if not turns:
                moved += 2.0 * sin(0.5 * min(room, pi)) * (away + radius + moved)
        row = beside.parents[row]
    return moved


@inner
def ball_round(balls, members, ball):
    """Write a ball (4,) that contains the balls of the members, (k,) int."""
    first = balls[members[0]]
    ball[0], ball[1], ball[2], ball[3] = first[0], first[1], first[2], first[3]
    if members.shape[0] == 1:
        return
    for part in members:
        if balls[part, 3] == np.inf:
            ball[3] = np.inf
            return
    for i in range(3):
        low = high = first[i]
        for part in members:
            low, high = min(low, balls[part, i] - balls[part, 3]), max(
                high, balls[part, i] + balls[part, 3])
        ball[i] = 0.5 * (low + high)
    ball[3] = 0.0
    for part in members:
        x, y, z = balls[part, 0] - ball[0], balls[part, 1] - ball[1], balls[part, 2] - ball[2]
        ball[3] = max(ball[3], sqrt(x * x + y * y + z * z) + balls[part, 3])
