# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Joint positions and velocities by name, each with its age."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import isfinite, isinf, isnan
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from ik_node.base.errors import Reason, StateError
from ik_node.base.text import listed, quote

KEPT_MESSAGES = 16  # until all nodes of a process have read them
MAX_JOINT_NAMES = 5000  # in a message, and remembered while there is no robot description


@lru_cache(maxsize=KEPT_MESSAGES)
def read_joint_state(data: bytes) -> JointState:
    """
    Return a message, which nobody changes: all nodes of a process that hear it get the same.

    Raises
    ------
    RuntimeError
        If it cannot be read.

    """
    return deserialize_message(data, JointState)


class JointStates:
    """
    Merges joint state messages.

    A joint without a message has no position, and each position has an age.  Invalid messages,
    or joints of them, are ignored and counted.  Times are of the monotonic clock, in seconds.
    """

    def __init__(self) -> None:
        # By the names of joints.
        self.positions: dict[str, float] = {}   # rad or m
        self.velocities: dict[str, float] = {}  # per s; one that is not measured is 0
        self.heard: dict[str, float] = {}       # when each came, s
        self.stamps: dict[str, float] = {}      # its stamp, s
        self._measuring: set[str] = set()
        self.ignored = 0
        self.complaint = ''
        self._complaint_time = -np.inf
        self._others: Sequence[str] | None = None  # names of a message without a known joint

    def take(self, message: Any, now: float, known: frozenset[str] | None = None) -> bool:
        """
        Store a sensor_msgs/JointState; return whether all of it was valid.

        Only joints that are `known` are stored; None: there is no robot description yet.
        """
        names, positions, velocities = message.name, message.position, message.velocity
        if len(names) > MAX_JOINT_NAMES:
            return self.leave_out(
                f'it has {len(names)} names, at most {MAX_JOINT_NAMES} are read', now)
        if len(names) != len(positions):
            return self.leave_out(f'it has {len(names)} names and {len(positions)} positions', now)
        if len(velocities) not in (0, len(names)):
            return self.leave_out(
                f'it has {len(names)} names and {len(velocities)} velocities', now)
        if len(set(names)) != len(names):
            return self.leave_out('it names a joint twice', now)
        if not names or known is not None and known.isdisjoint(names):
            self._others = names
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        for name, position, velocity in zip(names, positions, velocities or [0.0] * len(names)):
            if not self._remembers(name, known):
                continue
            if not isfinite(position) or isinf(velocity):
                # Only this joint is ignored.
                what = velocity if isfinite(position) else position
                self.leave_out(f'{quote(name)} is {what}', now)
                continue
            self.positions[name] = position
            # NaN: the hardware does not measure velocity.
            self.velocities[name] = 0.0 if isnan(velocity) else velocity
            if self.velocities[name]:
                self._measuring.add(name)
            self.heard[name] = now
            self.stamps[name] = stamp
        return self._complaint_time != now

    def _remembers(self, name: str, known: frozenset[str] | None) -> bool:
        if known is not None:
            return name in known
        return name in self.positions or len(self.positions) < MAX_JOINT_NAMES

    def leave_out(self, why: str, now: float) -> bool:
        """Record why a message, or a joint of it, is ignored; return False."""
        self.ignored += 1
        self.complaint = why
        self._complaint_time = now
        return False

    def velocities_or_nan(self, joints: Sequence[str]) -> np.ndarray:
        """Return the velocities (n,); NaN is one that was always 0: maybe it is not measured."""
        return np.array([self.velocities[name] if name in self._measuring else np.nan
                         for name in joints])

    def age(self, joints: Sequence[str], now: float) -> float:
        """Return the age (s) of the oldest of these joints; infinite if one is missing."""
        heard = self.heard
        # A list is faster than a generator.
        return now - min([heard.get(name, -np.inf) for name in joints])

    def oldest_stamp(self, joints: Sequence[str]) -> float:
        """Return the oldest stamp (s) of these joints; infinite if one is missing."""
        return min([self.stamps.get(name, np.inf) for name in joints])

    def state(self, joints: Sequence[str], now: float,
              timeout: float) -> tuple[np.ndarray, np.ndarray]:
        """
        Return position and velocity of the joints, in this order, each (n,).

        A velocity that is not published is 0.

        Raises
        ------
        StateError
            If a joint is missing, or older than `timeout` (s).

        """
        missing = [name for name in joints if name not in self.heard]
        why = ''
        if now - self._complaint_time < max(timeout, 1.0):
            why = f' (left out: {self.complaint})'
        if len(missing) == len(joints) and not why and (
                self._others is not None or self.positions):
            raise StateError(_other_names(joints, [*self.positions, *(self._others or ())]),
                             Reason.STATE_OTHER_JOINTS)
        if len(missing) == len(joints):
            raise StateError(f'no joint state has arrived{why}',
                             Reason.STATE_INVALID if why else Reason.STATE_MISSING)
        if missing:
            raise StateError('the joint states lack ' + ', '.join(map(quote, missing)) + why,
                             Reason.STATE_INVALID if why else Reason.STATE_INCOMPLETE)
        age = self.age(joints, now)
        if age > timeout:
            oldest = max(joints, key=lambda name: now - self.heard[name])
            raise StateError(f'the joint state of {quote(oldest)} is {age:.2f} s old, at most '
                             f'{timeout:g} s are allowed{why}',
                             Reason.STATE_INVALID if why else Reason.STATE_STALE)
        return (np.array([self.positions[name] for name in joints]),
                np.array([self.velocities[name] for name in joints]))


def _other_names(joints: Sequence[str], heard: Sequence[str]) -> str:
    """Return the sentence about joint states that name other joints than the arm's."""
    if not heard:
        return 'the joint states name no joint; let them have the name and position of each'
    return (f'the joint states name {listed([*map(quote, heard)])}, and none of the joints of the '
            f'arm, {listed([*map(quote, joints)])}{_prefix_hint(joints, heard)}; load the URDF of '
            'the robot that runs, or remap joint_states to the topic of this arm')


def _prefix_hint(names: Sequence[str], heard: Sequence[str]) -> str:
    """Return the hint that all names differ by the same prefix; '' if they do not."""
    for long, short, where in ((heard, names, 'the URDF lacks'),
                               (names, heard, 'only the URDF has')):
        prefixes = {name.removesuffix(short[0]) for name in long if name.endswith(short[0])}
        for prefix in prefixes - {''}:
            if {prefix + name for name in short} <= {*long}:
                return f' ({where} the prefix {quote(prefix)})'
    return ''
