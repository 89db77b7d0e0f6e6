# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Waypoints and recorded motions of joints, and their YAML files.

.. code-block:: yaml

    joint_path:
      joints: [joint_1, joint_2, joint_3]
      units: {positions: rad or m, times: s}   # m for prismatic joints
      points:
      - {name: above, positions: [0.0, 0.3, -0.4]}
      - {name: below, positions: [0.0, 0.5, -0.3]}

The points of a recorded motion have a ``time`` each, s since its start, and no name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ik_node.base.checks import is_plain_number
from ik_node.base.errors import ParameterError
from ik_node.base.text import quote, shown
from ik_node.model.description.file_paths import read_limited, replace_file
from ik_node.model.user_files.named_poses import check_name
from ik_node.model.user_files.plain_yaml import read_plain_yaml
from ik_node.motion.trajectory.timed_curve import averaged, kept_samples

PATH_KEY = 'joint_path'
PATH_UNITS = {'positions': 'rad or m', 'times': 's'}
PATH_FILE_FIELDS = 'joints', 'units', 'points'
TAUGHT_FIELDS = 'name', 'time', 'positions'
MAX_PATH_FILE_BYTES = 4 * 2**20
POSITION_DIGITS, TIME_DIGITS = 6, 4   # after the point, in a file
MOVED_SHARE = 0.5             # of the tolerance; a joint that moves less rests
MOVED_DISTANCE = 1e-3         # rad or m; so does one that moves less than this
MIN_RECORDED_S = 0.2          # of the motion


@dataclass(frozen=True, eq=False)
class TaughtPath:
    """Joint positions to pass in order: waypoints with names, or a recorded motion with times."""

    joint_names: tuple[str, ...]
    """n joints."""
    q: np.ndarray
    """(k, n), rad or m."""
    names: tuple[str, ...] = ()
    """Of each waypoint, '' if it has none."""
    times: np.ndarray | None = None
    """(k,), when each point is passed, s, increasing from 0; None for waypoints."""

    @staticmethod
    def recorded(joint_names: Sequence[str], times: np.ndarray, q: np.ndarray,
                 tolerance: float) -> TaughtPath:
        """
        Return a motion of which samples were taken, thinned out, without pauses at its ends.

        The samples are averaged first, see :func:`ik_node.motion.trajectory.timed_curve.averaged`.

        Parameters
        ----------
        times : (N,) array
            s, increasing.
        q : (N, n) array
            Rad or m.
        tolerance : float
            Largest distance of a joint on the curve through the points that are kept from an
            averaged sample, rad or m; where samples jump, it is more.

        Raises
        ------
        ParameterError
            If nothing moves.

        """
        times, q = averaged(times, q)
        still = max(MOVED_SHARE * tolerance, MOVED_DISTANCE)
        moved = np.abs(q - q[:1]).max(axis=1, initial=0.0) > still
        moves = np.abs(q - q[-1:]).max(axis=1, initial=0.0) > still
        if not moved.any() or not moves.any():
            raise ParameterError(f'no joint has moved by more than {still:.2g} rad or m; move '
                                 'the arm while it is recorded')
        first, last = max(int(moved.argmax()) - 1, 0), len(q) - int(moves[::-1].argmax())
        part = slice(first, min(last, len(q) - 1) + 1)
        times, q = times[part] - times[first], q[part]
        if times[-1] < MIN_RECORDED_S:
            raise ParameterError(f'the arm has moved for {times[-1]:.2g} s; a motion of at least '
                                 f'{MIN_RECORDED_S:g} s can be recorded')
        kept, _ = kept_samples(times, q, tolerance)
        return TaughtPath(tuple(joint_names), q[kept], times=times[kept])

    @property
    def duration(self) -> float:
        """Return the time of the last point, s; 0 for waypoints."""
        return 0.0 if self.times is None else float(self.times[-1])

    def kept(self, name: str, positions: Mapping[str, float]) -> TaughtPath:
        """
        Return this path with one more waypoint, or with another one of the same name.

        Parameters
        ----------
        positions : mapping of str to float
            By the names of the joints, rad or m; those of other joints are not kept.

        Raises
        ------
        ParameterError
            If this is a recorded motion, the name is not allowed, or a joint is missing.

        """
        if self.times is not None:
            raise ParameterError('it is a recorded motion; keep waypoints in another file')
        check_name(name)
        q = _positions(self.joint_names, positions)
        if name in self.names:
            changed = self.q.copy()
            changed[self.names.index(name)] = q
            return replace(self, q=changed)
        names = self.names or ('',) * len(self.q)
        return replace(self, q=np.vstack([self.q, q]), names=(*names, name))

    def at_speed(self, speed: float) -> TaughtPath:
        """
        Return a recorded motion with times divided by `speed`.

        Raises
        ------
        ParameterError
            If it has no times, or the speed is not positive.

        """
        if speed == 1.0:
            return self
        if self.times is None:
            raise ParameterError('waypoints have no times, so there is no speed to change; '
                                 'the parameter motion.velocity_scale of the node does')
        if not 0.0 < speed < float('inf'):
            raise ParameterError(f'the speed is {speed:g}; it must be positive, 1 is as recorded')
        return replace(self, times=self.times / speed)

    def of_joints(self, joint_names: Sequence[str]) -> TaughtPath:
        """
        Return the path of some of its joints, in another order.

        Raises
        ------
        ParameterError
            If it lacks one.

        """
        missing = [name for name in joint_names if name not in self.joint_names]
        if missing:
            raise ParameterError(f'it has no positions of {", ".join(map(quote, missing))}; it '
                                 f'is of {", ".join(map(quote, self.joint_names))}')
        columns = [self.joint_names.index(name) for name in joint_names]
        return replace(self, joint_names=tuple(joint_names), q=self.q[:, columns])

    def write(self, path: str | os.PathLike[str]) -> None:
        """
        Write a YAML file, in place of the one that is there, at once.

        Raises
        ------
        ParameterError
            If it cannot be written.

        """
        lines = [f'{PATH_KEY}:', f'  joints: {_words(self.joint_names)}',
                 f'  units: {{positions: {PATH_UNITS["positions"]}, times: '
                 f'{PATH_UNITS["times"]}}}   # m for prismatic joints', '  points:']
        for k, q in enumerate(self.q):
            name = self.names[k] if self.names else ''
            told = f'name: {_word(name)}, ' if name else ''
            if self.times is not None:
                told += f'time: {_number(self.times[k], TIME_DIGITS)}, '
            numbers = ', '.join(_number(value, POSITION_DIGITS) for value in q)
            lines.append(f'  - {{{told}positions: [{numbers}]}}')
        try:
            replace_file(Path(os.path.realpath(path)), ('\n'.join(lines) + '\n').encode())
        except (OSError, ValueError) as error:
            raise ParameterError(f'cannot write {quote(path, 300)}: '
                                 f'{getattr(error, "strerror", None) or error}') from None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> TaughtPath:
        """
        Return the path of a YAML file.

        Raises
        ------
        ParameterError
            If it cannot be read, or is no such file; names the point and the fault.

        """
        what = quote(path, 300)
        return path_of(read_limited(Path(path), what, MAX_PATH_FILE_BYTES), what)


def path_of(data: bytes, what: str) -> TaughtPath:
    """
    Return the path of a YAML text.

    Parameters
    ----------
    what : str
        The text, for the sentence of an error.

    Raises
    ------
    ParameterError
        If it is none.

    """
    content = read_plain_yaml(data, what, PATH_KEY, 'joints, units and points')
    _require_fields(content, PATH_FILE_FIELDS, what)
    names, points = content.get('joints'), content.get('points')
    if not isinstance(names, list) or not names or len({*map(str, names)}) < len(names) \
            or not all(isinstance(name, str) and name for name in names):
        raise ParameterError(f'{what}: joints is {shown(names, 80)}; it must be a list of the '
                             'names of joints, each once')
    if content.get('units', PATH_UNITS) != PATH_UNITS:
        raise ParameterError(f'{what}: units is {shown(content["units"], 80)}; positions are in '
                             'rad (in m for prismatic joints), times in s')
    if not isinstance(points, list) or not points:
        raise ParameterError(f'{what}: points is {shown(points, 80)}; it must be a list of '
                             'points with positions')
    rows = [_point(point, len(names), f'point {number} of {what}')
            for number, point in enumerate(points, 1)]
    times = [time for _, time, _ in rows]
    timed = [time is not None for time in times]
    if any(timed) and not all(timed):
        raise ParameterError(f'{what}: point {timed.index(False) + 1} has no time, others have; '
                             'give one to all points, or to none')
    if any(timed):
        for number, (before, time) in enumerate(zip([-1.0, *times], times), 1):
            if time <= before or (number == 1 and time != 0.0):
                raise ParameterError(f'{what}: point {number} has the time {time:g} s; times '
                                     'must increase from 0')
    return TaughtPath(tuple(names), np.array([q for _, _, q in rows]),
                      tuple(name for name, _, _ in rows),
                      np.array(times, dtype=float) if any(timed) else None)


def _point(point: Any, n: int, where: str) -> tuple[str, float | None, list[float]]:
    """Return name, time (s) and positions (n) of a point."""
    if not isinstance(point, dict):
        raise ParameterError(f'{where} is {shown(point, 80)}; it must have positions, and a '
                             'name or a time if it likes')
    _require_fields(point, TAUGHT_FIELDS, where)
    name = point.get('name', '')
    if name:
        check_name(name)
    time = point.get('time')
    if time is not None and not is_plain_number(time):
        raise ParameterError(f'{where}: its time is {shown(time, 80)}; it must be a number, s')
    positions = point.get('positions')
    if not isinstance(positions, list) or len(positions) != n \
            or not all(map(is_plain_number, positions)):
        raise ParameterError(f'{where}: its positions are {shown(positions, 80)}; they must be '
                             f'{n} finite numbers, one for each joint')
    return name or '', None if time is None else float(time), [*map(float, positions)]


def _require_fields(content: dict[Any, Any], known: Sequence[str], where: str) -> None:
    for key in content:
        if key not in known:
            raise ParameterError(f'{where} has {shown(key, 80)}; known are {", ".join(known)}')


def _positions(joint_names: Sequence[str], positions: Mapping[str, float]) -> list[float]:
    missing = [name for name in joint_names if name not in positions]
    if missing:
        raise ParameterError(f'there are no positions of {", ".join(map(quote, missing))}')
    return [float(positions[name]) for name in joint_names]


def _number(value: float, digits: int) -> str:
    """Return a number without an exponent, which YAML would not read as a number."""
    text = f'{value:.{digits}f}'.rstrip('0')
    text += '0' * text.endswith('.')
    return text.removeprefix('-') if float(text) == 0.0 else text


def _word(name: str) -> str:
    """Return a text as YAML takes it, plain if it is a plain word."""
    plain = name.isascii() and name.replace('_', 'a').isalnum() and not name[0].isdigit() \
        and name.lower() not in ('y', 'n', 'yes', 'no', 'on', 'off', 'true', 'false', 'null')
    return name if plain else json.dumps(name)


def _words(names: Sequence[str]) -> str:
    return f'[{", ".join(map(_word, names))}]'
