# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Takes joint states down while an arm is moved by hand, or by whatever moves it."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from threading import Lock
from typing import Any

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote
from ik_node.motion.joint_path.taught_path import TaughtPath
from ik_node.motion.joint_path.waypoints import MAX_TIMED_S
from ik_node.ros.messages.joint_states import MAX_JOINT_NAMES
from ik_node.ros.middleware.clocks import nanoseconds_of

MAX_RECORDED_STATES = 5_000_000  # of all joints together
LONG_GAP_S = 0.5              # between two joint states of a recorded motion


class StateRecorder:
    """
    Keeps the positions of joints with the times at which they were measured.

    Each joint has times of its own, because several nodes may publish joint states.  Messages
    that are invalid are left out, and so are positions that are not finite.

    Parameters
    ----------
    joints : sequence of str
        That are recorded, in this order; none: all that are published, in the order in which
        they come first.

    """

    def __init__(self, joints: Sequence[str] = ()) -> None:
        self._wanted = tuple(joints)
        self._lock, self._count = Lock(), 0
        self._series: dict[str, tuple[list[float], list[float]]] = {
            name: ([], []) for name in self._wanted}

    def take(self, message: Any, arrived: float) -> None:
        """
        Take a sensor_msgs/JointState.

        Parameters
        ----------
        arrived : float
            When it came, s; it counts if the message has no stamp.

        """
        names, positions = message.name, message.position
        if len(names) != len(positions) or len({*names}) != len(names) \
                or len(names) > MAX_JOINT_NAMES:
            return
        stamp = nanoseconds_of(message.header.stamp)
        time = 1e-9 * stamp if stamp else arrived
        with self._lock:
            for name, position in zip(names, positions):
                if not isfinite(position) or name not in self._series and (
                        self._wanted or len(self._series) >= MAX_JOINT_NAMES):
                    continue
                times, values = self._series.setdefault(name, ([], []))
                if self._count < MAX_RECORDED_STATES and (not times or time > times[-1]):
                    times.append(time)
                    values.append(position)
                    self._count += 1

    @property
    def latest(self) -> dict[str, float]:
        """Return the latest position of each joint, rad or m."""
        with self._lock:
            return {name: values[-1] for name, (_, values) in self._series.items() if values}

    def forget(self) -> None:
        """Begin anew."""
        with self._lock:
            self._count = 0
            self._series = {name: ([], []) for name in self._wanted}

    def path(self, tolerance: float) -> tuple[TaughtPath, float]:
        """
        Return the motion since the start, and the longest time without a joint state, s.

        Parameters
        ----------
        tolerance : float
            As of :meth:`ik_node.motion.joint_path.taught_path.TaughtPath.recorded`.

        Raises
        ------
        ParameterError
            If a joint was not heard of, nothing moved, or it lasted too long.

        """
        with self._lock:
            series = {name: (np.array(times), np.array(values))
                      for name, (times, values) in self._series.items()}
        silent = [name for name, (times, _) in series.items() if len(times) < 2]
        if silent or not series:
            raise ParameterError('there are no joint states'
                                 + (f' of {", ".join(map(quote, silent))}' if silent else ''))
        begin = max(times[0] for times, _ in series.values())
        end = min(times[-1] for times, _ in series.values())
        common = max((times for times, _ in series.values()), key=len)
        common = common[(common >= begin) & (common <= end)]
        if len(common) < 2:
            raise ParameterError('the joint states of different joints have no time in common; '
                                 'do the clocks of their publishers agree?')
        if common[-1] - common[0] > MAX_TIMED_S:
            raise ParameterError(f'{common[-1] - common[0]:.0f} s were recorded; at most '
                                 f'{MAX_TIMED_S:g} s can be, record the motion in parts')
        q = np.column_stack([np.interp(common, *each) for each in series.values()])
        return (TaughtPath.recorded(tuple(series), common - common[0], q, tolerance),
                float(np.diff(common).max()))
