# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Joint positions and velocities by name, each with its age."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cache, lru_cache
from math import isfinite, isinf, isnan
from struct import Struct
from typing import Any, NamedTuple

from builtin_interfaces.msg import Time
import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from ik_node.base.errors import Reason, StateError
from ik_node.base.text import listed, quote

CDR_LITTLE_ENDIAN = b'\x00\x01\x00\x00'  # with which a serialized message begins
KEPT_MESSAGES = 16  # until all nodes of a process have read them
MAX_JOINT_NAMES = 5000  # in a message, and remembered while there is no robot description


class Stamp(NamedTuple):
    """A builtin_interfaces/Time."""

    sec: int
    nanosec: int


class ReadHeader(NamedTuple):
    """What is read of a std_msgs/Header."""

    stamp: Stamp


class ReadState(NamedTuple):
    """What is read of a sensor_msgs/JointState."""

    header: ReadHeader
    name: Sequence[str]
    position: Sequence[float]
    velocity: Sequence[float]


class _Layout(NamedTuple):
    """
    Serialized joint states with the same frame, names and numbers of values.

    In CDR, little endian; see ``serialized_trajectory`` of the outputs.  It is CDR_LITTLE_ENDIAN,
    seconds and nanoseconds of the stamp, `words`, and how many positions, velocities and efforts
    there are, each followed by them.
    """

    struct: Struct
    words: tuple[int | bytes, ...]  # frame and names, each after its length, and how many names
    names: tuple[str, ...]
    sizes: tuple[int, int, int]

    @classmethod
    @lru_cache(maxsize=8)
    def of(cls, frame: str, names: tuple[str, ...], sizes: tuple[int, int, int]) -> _Layout:
        """Return the layout."""
        form, end = '<4siI', 8  # numbers begin at a multiple of their size after the first 4 bytes
        words: list[int | bytes] = []
        for k, text in enumerate((frame, *names)):
            data = text.encode() + b'\0'
            words += (len(data), data, len(names))[:2 + (k == 0)]
            form += f'I{len(data)}s{-len(data) % 4}x' + 'I' * (k == 0)
            end += 4 + len(data) + -len(data) % 4 + 4 * (k == 0)
        for size in sizes:
            padding = -(end + 4) % 8 if size else 0
            form += f'I{padding}x{size}d'
            end += 4 + padding + 8 * size
        return cls(Struct(form), tuple(words), names, sizes)

    def read(self, data: bytes) -> ReadState | None:
        """Return a message; None if it is none of these."""
        if len(data) < self.struct.size:  # there may be more, which is nothing
            return None
        encoding, sec, nanosec, *rest = self.struct.unpack_from(data)
        words, numbers = tuple(rest[:len(self.words)]), rest[len(self.words):]
        n, m, _ = self.sizes
        if encoding != CDR_LITTLE_ENDIAN or words != self.words \
                or (numbers[0], numbers[n + 1], numbers[n + m + 2]) != self.sizes:
            return None
        return ReadState(ReadHeader(Stamp(sec, nanosec)), self.names, numbers[1:n + 1],
                         numbers[n + 2:n + m + 2])


_layouts: deque[_Layout] = deque(maxlen=8)  # of the latest messages that had another one


@lru_cache(maxsize=KEPT_MESSAGES)
def read_joint_state(data: bytes) -> ReadState:
    """
    Return a message, which nobody changes: all nodes of a process that hear it get the same.

    The first of a sender is read by the middleware, the next ones by its layout, which takes a
    quarter of the time: 0.8 % of a core less at 100 Hz (2026-11-30).

    Raises
    ------
    RuntimeError
        If it cannot be read.

    """
    for layout in tuple(_layouts):
        if (read := layout.read(data)) is not None:
            return read
    message = deserialize_message(data, JointState)
    names = tuple(message.name)
    _layouts.append(_Layout.of(message.header.frame_id, names, (
        len(message.position), len(message.velocity), len(message.effort))))
    stamp = message.header.stamp
    return ReadState(ReadHeader(Stamp(stamp.sec, stamp.nanosec)), names, message.position,
                     message.velocity)


def joint_state_message(stamp: int, names: tuple[str, ...], positions: Sequence[float],
                        velocities: Sequence[float]) -> bytes | JointState:
    """Return a joint state with a stamp (ns), serialized if the middleware reads that."""
    if _middleware_reads_it():
        return _serialized(stamp, names, positions, velocities)
    sec, nanosec = divmod(stamp, 10**9)
    return JointState(header=Header(stamp=Time(sec=sec, nanosec=nanosec)), name=[*names],
                      position=positions, velocity=velocities)


def _serialized(stamp: int, names: tuple[str, ...], positions: Sequence[float],
                velocities: Sequence[float]) -> bytes:
    n = len(names)
    layout = _Layout.of('', names, (n, n, 0))
    return layout.struct.pack(CDR_LITTLE_ENDIAN, *divmod(stamp, 10**9), *layout.words,
                              n, *positions, n, *velocities, 0)


@cache
def _middleware_reads_it() -> bool:
    """Return whether the middleware in use writes this encoding, and reads these bytes."""
    message = JointState(header=Header(stamp=Time(sec=1, nanosec=2)), name=['a', 'joint'],
                         position=[0.5, 1.0], velocity=[2.0, -1.0])
    data = _serialized(1_000_000_002, ('a', 'joint'), (0.5, 1.0), (2.0, -1.0))
    return (serialize_message(message).startswith(CDR_LITTLE_ENDIAN)
            and deserialize_message(data, JointState) == message)


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
