# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Joints beside a chain that carry links of the robot: another arm, a torso, fingers, a lid.

They are where they are measured, within some room: what they carry may be displaced by as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

import numpy as np

from ik_node.base.text import quote
from ik_node.collision.distances.check import PLANE_REACH_M, REST_ROOM, SAME_AXIS
from ik_node.kinematics.links import path_between
from ik_node.kinematics.tree.kinematic_tree import Places
from ik_node.model.description.urdf import Joint, JointType, leader_of, Tree
from ik_node.model.joint_space import JointSpace
from ik_node.model.joints import coordinates_of

STANDING_SPEED = 5e-3    # rad/s or m/s; a slower joint rests
NOISE_SPEED = 0.05       # rad/s or m/s, that is measured of a joint whose position says it rests
MOTION_HORIZON_S = 1.0   # for which a joint may go on as fast
DIFFERENCE_TIME_S = 0.1  # at least, over which positions tell how fast it is
LOST_TIME_S = 1.0        # without a state, after which a joint that moved may be anywhere
ROOM_FACTOR = 2.0        # of the room that a joint needs, which it has at most ...
ROOM_TIME_S = 0.2        # ... for longer than that


class OtherJoint(NamedTuple):
    """Where a joint beside the chain is, and how far it may be from there."""

    position: float    # rad or m
    room: float = 0.0  # to both sides, rad or m; 0: it is exactly there

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
                 round_axis: np.ndarray | None, rooms: Mapping[str, float]) -> float:
    """
    Return how far (m) a part that moves with a link may be from its place, within the rooms.

    Parameters
    ----------
    places : dict of link to (int, (4, 4) array)
        As :class:`ik_node.kinematics.tree.kinematic_tree.MovingFrames` has them.
    ball : (4,) array
        That contains it: centre in the moving frame of the link, and radius, m.
    round_axis : (3,) array or None
        Direction of the axis through its centre about which it is round: a wheel that turns about
        it stays where it is.
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
            if moved == 0.0 and round_axis is not None and away < SAME_AXIS \
                    and np.abs(np.cross(axis, round_axis)).max() < SAME_AXIS:
                continue
        else:  # a joint of the chain is between
            away = float(np.linalg.norm(ball[:3])) \
                + sum(map(_length, path[path.index(joint) + (after == joint.child):]))
        moved += 2.0 * float(np.sin(0.5 * min(room, np.pi))) * (away + radius + moved)
    return moved


def _length(joint: Joint) -> float:
    """Return how far (m) a joint is at most from the one before it, and slides."""
    slide = max(abs(joint.lower), abs(joint.upper)) if joint.type is JointType.PRISMATIC else 0.0
    return float(np.linalg.norm(joint.T_parent_joint[:3, 3])) + slide


class States(Protocol):
    """What is measured of joints, by name: rad or m, per s, and s."""

    positions: Mapping[str, float]
    velocities: Mapping[str, float]
    stamps: Mapping[str, float]  # by the clock of who measures
    heard: Mapping[str, float]   # by a steady clock here


class _Difference(NamedTuple):
    """Where a joint was, when by its stamp, when that was heard, and how fast it had been."""

    position: float
    stamp: float
    heard: float
    velocity: float = 0.0


class OtherJointTracker:
    """
    Follows where joints beside a chain are, and says when a collision model has to know.

    A joint that moves may go on for MOTION_HORIZON_S at the speed it has, within its limits; it
    may be anywhere when its state has not come for LOST_TIME_S since.

    Parameters
    ----------
    tree : Tree
    names : tuple of str
        Of the joints, as :attr:`CollisionModel.other_joints`.
    assumed : mapping of joint name to position
        Where they are as long as nothing is known of them, rad or m; default 0, or the nearest
        limit.

    """

    def __init__(self, tree: Tree, names: tuple[str, ...], assumed: Mapping[str, float]) -> None:
        self._joints = {joint.name: joint for joint in tree.joints}
        self._assumed = {name: float(assumed.get(name, np.clip(0.0, *self._limits(name))))
                         for name in names}
        self._given = {*assumed}
        # Joints of which no position is known or assumed yet, and those that may be anywhere.
        self.unknown, self.lost = tuple(name for name in names if name not in assumed), ()
        self._last: dict[str, _Difference] = {}
        self._told: dict[str, OtherJoint] = {}
        self._told_at = -np.inf

    @property
    def complaint(self) -> str:
        """Return of which joints it is not known where they are, in words; '' of none."""
        parts = []
        if self.unknown:
            parts.append(f'takes {", ".join(map(quote, self.unknown))} at 0, as no joint state '
                         'has said where these joints beside the arm are')
        if self.lost:
            parts.append(f'takes it that {", ".join(map(quote, self.lost))} may be anywhere, as '
                         'their joint states ended while they moved')
        return parts and f'the collision check {", and ".join(parts)}' or ''

    def look(self, states: States, now: float) -> dict[str, OtherJoint] | None:
        """
        Return where the joints are and may be, if what was returned last does not hold; else None.

        Parameters
        ----------
        states : States
            As measured last.  A velocity of 0 is not believed while the joint moves: many
            drivers measure none.
        now : float
            Time (s) on the clock of ``states.heard``.

        """
        found, lost, kept = {}, [], True
        wide_at_most = ROOM_FACTOR if now - self._told_at > ROOM_TIME_S else np.inf
        for name, assumed in self._assumed.items():
            told = self._told.get(name)
            if name not in states.positions:
                found[name] = OtherJoint(assumed)
                kept = kept and told == found[name]
                continue
            position, velocity = states.positions[name], self._velocity(name, states)
            age = now - states.heard[name]
            rests = abs(velocity) < STANDING_SPEED
            if not rests and age > LOST_TIME_S:
                lost.append(name)
                found[name] = self._anywhere(name, position)
                kept = kept and told == found[name]
                continue
            lower, upper = self._limits(name)
            found[name] = place = _place((lower, upper), position, 0.0 if rests else velocity,
                                         age + MOTION_HORIZON_S)
            soon = min(max(position + (age + 0.5 * MOTION_HORIZON_S) * velocity, lower), upper)
            kept = kept and told is not None and told.holds(position) \
                and told.room <= (1.0 if rests else wide_at_most) * place.room \
                and (rests or told.holds(soon))
        self.lost = tuple(lost)
        self.unknown = tuple(name for name in self._assumed
                             if name not in states.positions and name not in self._given)
        if kept:
            return None
        # All at once: joints of an arm move together, and each change costs the same.
        self._told, self._told_at = found, now
        return found

    def _velocity(self, name: str, states: States) -> float:
        """Return the velocity that was measured, or how fast the position has changed of late."""
        now = _Difference(states.positions[name], states.stamps[name], states.heard[name])
        last = self._last.setdefault(name, now)
        heard = now.heard - last.heard
        # Stamps are missing, or the clock was set, if they do not go on as it is heard.
        elapsed = min(now.stamp - last.stamp, heard + DIFFERENCE_TIME_S) \
            if now.stamp > last.stamp else heard
        if elapsed >= DIFFERENCE_TIME_S:
            change = self._change(name, now.position - last.position, elapsed)
            last = self._last[name] = now._replace(velocity=change / elapsed)
        measured = states.velocities[name]
        if abs(last.velocity) < STANDING_SPEED and abs(measured) < NOISE_SPEED:
            return last.velocity
        return measured if abs(measured) >= abs(last.velocity) else last.velocity

    def _change(self, name: str, change: float, elapsed: float) -> float:
        """Return by how much a joint has moved, of which whole turns do not count, rad or m."""
        joint = self._joints[name]
        if joint.type is JointType.CONTINUOUS or joint.type is JointType.REVOLUTE \
                and abs(change) > np.pi and abs(change) > joint.velocity * elapsed:
            return float(np.remainder(change + np.pi, 2.0 * np.pi) - np.pi)
        return change

    def _anywhere(self, name: str, position: float) -> OtherJoint:
        """Return all places that a joint may be in, which was at a position."""
        lower, upper = self._limits(name)
        if not upper - lower < np.inf:
            return OtherJoint(position, np.pi)
        lower, upper = min(lower, position), max(upper, position)
        return OtherJoint(0.5 * (lower + upper), 0.5 * (upper - lower) + REST_ROOM)

    def _limits(self, name: str) -> tuple[float, float]:
        return self._joints[name].lower, self._joints[name].upper


def _place(limits: tuple[float, float], position: float, velocity: float,
           reach: float) -> OtherJoint:
    """Return the middle of where a joint may be within `reach` (s), and its room there."""
    lower, upper = limits
    end = min(max(position + reach * velocity, min(lower, position)), max(upper, position))
    return OtherJoint(0.5 * (position + end), 0.5 * abs(end - position) + REST_ROOM)
