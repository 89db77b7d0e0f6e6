# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Joints beside a chain that carry links of the robot: another arm, a torso, fingers, a lid.

They are where they are measured, within some room: what they carry may be displaced by as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.links import path_between
from ik_node.kinematics.moving_frames import Places
from ik_node.model.base_joints import coordinates_of
from ik_node.model.joint_space import JointSpace
from ik_node.model.urdf import Joint, JointType, leader_of, Tree

PLANE_REACH_M = 3.0      # that a plane on such a link has
REST_ROOM = 5e-4         # rad or m, of a joint at rest: its sensor is not exact
STANDING_SPEED = 5e-3        # rad/s or m/s; a slower joint rests
MOTION_HORIZON_S = 1.0          # for which a joint may go on as fast
DIFFERENCE_TIME_S = 0.1  # over which positions tell how fast it is


class OtherJoint(NamedTuple):
    """
    Where a joint beside the chain is, and how far it may be from there.

    Attributes
    ----------
    position : float
        Rad or m.
    room : float
        To both sides, rad or m; 0: it is exactly there.

    """

    position: float
    room: float = 0.0

    def holds(self, position: float) -> bool:
        """Return whether a position is within the room."""
        return abs(position - self.position) <= self.room


def carriers_of(tree: Tree, space: JointSpace, link: str) -> list[tuple[Joint, str]]:
    """
    Return the joints that carry a link and stand still beside a chain, from the base outwards.

    Each with the link after it.  Joints that mimic those of the chain are not among them.
    """
    by_name = {joint.name: joint for joint in tree.joints}
    return [(joint, joint.child if down else joint.parent)
            for joint, down in path_between(tree, space.base_link, link) if joint.moves
            and not {*coordinates_of(leader_of(joint, by_name)[0])} <= {*space.joint_names}]


def other_joints_of(tree: Tree, space: JointSpace, links: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the joints that carry some of the links, without those that mimic."""
    by_name = {joint.name: joint for joint in tree.joints}
    return tuple(dict.fromkeys(leader_of(joint, by_name)[0].name for link in links
                               for joint, _ in carriers_of(tree, space, link)))


def displacement(tree: Tree, space: JointSpace, places: Places, link: str, ball: np.ndarray,
                 rooms: Mapping[str, float]) -> float:
    """
    Return how far (m) a ball that moves with a link may be from its place, within the rooms.

    Parameters
    ----------
    places : dict of link to (int, (4, 4) array)
        As :class:`ik_node.kinematics.moving_frames.MovingFrames` has them.
    ball : (4,) array
        Centre in the moving frame of the link, and radius, m.
    rooms : mapping of joint name to float
        How far other joints may be from where they are, rad or m; 0 for those that are not there.

    """
    by_name = {joint.name: joint for joint in tree.joints}
    path = [joint for joint, _ in path_between(tree, space.base_link, link)]
    radius, moved = min(float(ball[3]), PLANE_REACH_M), 0.0
    for joint, after in reversed(carriers_of(tree, space, link)):
        leader, factor, _ = leader_of(joint, by_name)
        room = abs(factor) * rooms.get(leader.name, 0.0)
        if room == 0.0:
            continue
        if joint.type is JointType.PRISMATIC:
            moved += room
            continue
        frame, T = places[joint.child]  # the axis goes through its origin
        if frame == places[link][0]:
            # How far the ball is from the axis, wherever the joints after this one are.
            axis, away = T[:3, :3] @ joint.axis, ball[:3] - T[:3, 3]
            away = float(np.linalg.norm(away - axis * (axis @ away)))
        else:  # a joint of the chain is between
            away = float(np.linalg.norm(ball[:3])) \
                + sum(map(_length, path[path.index(joint) + (after == joint.child):]))
        moved += min(room, np.pi) * (away + radius + moved)
    return moved


def _length(joint: Joint) -> float:
    """Return how far (m) a joint is at most from the one before it, and slides."""
    slide = max(abs(joint.lower), abs(joint.upper)) if joint.type is JointType.PRISMATIC else 0.0
    return float(np.linalg.norm(joint.T_parent_joint[:3, 3])) + slide


class OtherJointTracker:
    """
    Follows where joints beside a chain are, and says when a collision model has to know.

    A joint that moves may go on for MOTION_HORIZON_S at the speed it has, within its limits.

    Parameters
    ----------
    tree : Tree
    names : tuple of str
        Of the joints, as :attr:`CollisionModel.other_joints`.
    assumed : mapping of joint name to position
        Where they are as long as nothing is known of them, rad or m; default 0, or the nearest
        limit.

    Attributes
    ----------
    unknown : tuple of str
        Joints of which no position is known yet.

    """

    def __init__(self, tree: Tree, names: tuple[str, ...], assumed: Mapping[str, float]) -> None:
        self._limits = {joint.name: (joint.lower, joint.upper) for joint in tree.joints}
        self._assumed = {name: float(assumed.get(name, np.clip(0.0, *self._limits[name])))
                         for name in names}
        self.unknown = names
        self._last: dict[str, tuple[float, float, float]] = {}  # time, position, velocity
        self._told: dict[str, OtherJoint] = {}

    def look(self, positions: Mapping[str, float], velocities: Mapping[str, float],
             now: float) -> dict[str, OtherJoint] | None:
        """
        Return where the joints are and may be, if that is not what was returned last; else None.

        Parameters
        ----------
        positions, velocities : mappings of joint name to float
            As measured last, rad or m, per s.  A velocity of 0 is not believed while the joint
            moves: many drivers measure none.
        now : float
            Time (s) on any steady clock.

        """
        self.unknown = tuple(name for name in self._assumed if name not in positions)
        found = {}
        for name, assumed in self._assumed.items():
            if name in self.unknown:
                found[name] = OtherJoint(assumed)
                continue
            position, told = positions[name], self._told.get(name)
            velocity = self._velocity(name, position, velocities.get(name, 0.0), now)
            soon = position + 0.5 * MOTION_HORIZON_S * velocity
            rests = abs(velocity) < STANDING_SPEED
            if told is None or not told.holds(position) or not rests and not told.holds(
                    float(np.clip(soon, *self._limits[name]))) or rests and told.room > REST_ROOM:
                told = self._place(name, position, 0.0 if rests else velocity)
            found[name] = told
        if found == self._told:
            return None
        self._told = found
        return found

    def _velocity(self, name: str, position: float, measured: float, now: float) -> float:
        """Return the velocity that was measured, or how fast the position has changed of late."""
        time, before, velocity = self._last.get(name, (now, position, 0.0))
        if now - time >= DIFFERENCE_TIME_S:
            time, before, velocity = now, position, (position - before) / (now - time)
        self._last[name] = time, before, velocity
        return measured if abs(measured) >= abs(velocity) else velocity

    def _place(self, name: str, position: float, velocity: float) -> OtherJoint:
        """Return the middle of where a joint may be until the horizon, and its room there."""
        lower, upper = self._limits[name]
        end = np.clip(position + MOTION_HORIZON_S * velocity,
                      min(lower, position), max(upper, position))
        return OtherJoint(float(0.5 * (position + end)),
                          float(0.5 * abs(end - position)) + REST_ROOM)
