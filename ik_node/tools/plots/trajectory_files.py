# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded trajectories and goals, as ``ros2 topic echo`` writes them or as CSV."""

from __future__ import annotations

from collections.abc import Sequence
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote
from ik_node.model.chain import Chain
from ik_node.model.user_files.plain_yaml import YAML_ERRORS
from ik_node.motion.trajectory.interpolation import Point
from ik_node.motion.trajectory.trajectory import MotionState

MOTION_KEYS = 'q_start', 'qd_start', 'q'
POINT_QUANTITIES = 'position', 'velocity', 'acceleration'


@dataclass(frozen=True, eq=False)
class Recording:
    """Points of a trajectory; velocities and accelerations may be absent."""

    joint_names: tuple[str, ...]
    points: tuple[Point, ...]

    def of_chain(self, chain: Chain) -> list[Point]:
        """Return the points of the chain's joints, in its order."""
        missing = [name for name in chain.joint_names if name not in self.joint_names]
        if missing:
            raise ParameterError(
                f'the points are of {", ".join(map(quote, self.joint_names))}; the arm also has '
                f'{", ".join(map(quote, missing))}; is it the right --urdf and --tip-link?')
        columns = [self.joint_names.index(name) for name in chain.joint_names]

        def of(values: np.ndarray | None) -> np.ndarray | None:
            return None if values is None else values[columns]

        return [Point(point.time, of(point.q), of(point.qd), of(point.qdd))
                for point in self.points]


@dataclass(frozen=True, eq=False)
class RecordedGoal:
    """A motion of the joints from a status: its start state, and its goal (n,)."""

    number: str
    start: MotionState
    q_goal: np.ndarray


def read_status(path: Path, n: int) -> RecordedGoal:
    """Read the last answer (``~/answers``) with a motion of n joints from a YAML file."""
    try:
        statuses = [{pair['key']: pair['value'] for pair in status['values']}
                    for status in yaml.safe_load_all(path.read_text(encoding='utf-8',
                                                                    errors='replace'))
                    if status is not None]
    except (*YAML_ERRORS, TypeError):
        raise ParameterError(f'{path} is not what ros2 topic echo prints of ~/answers: a '
                             'diagnostic_msgs/DiagnosticStatus with keys and values') from None
    moves = [values for values in statuses if {'goal', *MOTION_KEYS} <= values.keys()]
    if not moves:
        raise ParameterError(f'{path}: none of its {len(statuses)} statuses has '
                             f'{", ".join(MOTION_KEYS)}; paths and streams have not: record their '
                             'points')
    try:
        q_start, qd_start, q = (np.array([float(number) for number in moves[-1][key].split()])
                                for key in MOTION_KEYS)
    except (ValueError, AttributeError):
        q_start = qd_start = q = np.empty(0)
    for values in (q_start, qd_start, q):
        if len(values) != n or not np.isfinite(values).all():
            raise ParameterError(f'{path}: {", ".join(MOTION_KEYS)} must be {n} finite numbers '
                                 'each; is it the right --urdf and --tip-link?')
    return RecordedGoal(moves[-1]['goal'], MotionState(q_start, qd_start, np.zeros(n)), q)


def read_recording(path: Path) -> Recording:
    """
    Read a file: CSV by its name, otherwise YAML.

    CSV: a row of names, ``time`` (s) and for each joint its name, or
    ``name.position``, ``name.velocity``, ``name.acceleration``.  YAML: a
    JointTrajectory message as ``ros2 topic echo`` prints it; the first one counts.
    """
    text = path.read_text(encoding='utf-8', errors='replace')
    if path.suffix.lower() == '.csv':
        return _from_csv(text, path)
    try:
        message = next(iter(yaml.safe_load_all(text)), None)
    except YAML_ERRORS as error:
        mark = getattr(error, 'problem_mark', None)
        where = f' in line {mark.line + 1}' if mark else ''
        raise ParameterError(f'{path} is not YAML{where}; is it a CSV file? then its name must '
                             'end in .csv') from None
    if not isinstance(message, dict) or not {'joint_names', 'points'} <= message.keys():
        raise ParameterError(f'{path} is not a trajectory_msgs/JointTrajectory: it has no '
                             'joint_names and points')
    names, points = message['joint_names'], message['points']
    if '...' in (names, points) or '...' in list(names or []) + list(points or []):
        raise ParameterError(f'{path} was cut short ("...") by ros2 topic echo; record it again '
                             'with --full-length')
    try:
        rows = [(point['time_from_start']['sec'] + 1e-9 * point['time_from_start']['nanosec'],
                 *(point.get(name) for name in ('positions', 'velocities', 'accelerations')))
                for point in points]
    except (TypeError, KeyError, AttributeError):
        raise ParameterError(f'{path}: a point lacks time_from_start with sec and '
                             'nanosec') from None
    return make_recording(names, rows, str(path))


def make_recording(names: Sequence[str], rows: Sequence[Sequence[Any]], where: str) -> Recording:
    """Return a recording of rows of time (s), q, qd and qdd; the last two may be empty."""
    if len(rows) < 2:
        raise ParameterError(f'{where}: a motion has at least 2 points, there are {len(rows)}')
    points: list[Point] = []
    for k, (time, *fields) in enumerate(rows):
        arrays = []
        for quantity, values in zip(POINT_QUANTITIES, fields):
            if values is None or len(values) == 0:
                arrays.append(None)
                continue
            try:
                array = np.array(values, dtype=float)
            except (TypeError, ValueError):
                raise ParameterError(f'{where}: the {quantity} of point {k + 1} is not made of '
                                     'numbers') from None
            if array.shape != (len(names),):
                raise ParameterError(f'{where}: point {k + 1} has {array.size} numbers for the '
                                     f'{quantity} of {len(names)} joints')
            if not np.isfinite(array).all():
                raise ParameterError(f'{where}: the {quantity} of point {k + 1} is not finite')
            arrays.append(array)
        if arrays[0] is None:
            raise ParameterError(f'{where}: point {k + 1} has no positions')
        if not np.isfinite(time) or (points and time <= points[-1].time):
            raise ParameterError(f'{where}: the time of point {k + 1} is {time:g} s; times must '
                                 'increase')
        points.append(Point(float(time), *arrays))
    return Recording(tuple(names), tuple(points))


def _from_csv(text: str, path: Path) -> Recording:
    lines = [line for line in csv.reader(text.splitlines()) if line]
    head = [cell.strip() for cell in lines[0]] if lines else []
    if 'time' not in head:
        raise ParameterError(f'{path} has no column "time" in its first row')
    columns: dict[tuple[str, str], int] = {}
    for k, cell in enumerate(head):
        name, _, quantity = cell.rpartition('.')
        if cell != 'time':
            columns[(name, quantity) if quantity in POINT_QUANTITIES else (cell, 'position')] = k
    names = list(dict.fromkeys(name for name, _ in columns))
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            cells = [float(cell) for cell in line]
        except ValueError as error:
            raise ParameterError(f'{path}, row {number}: {error}') from None
        if len(cells) != len(head):
            raise ParameterError(f'{path}, row {number}: {len(cells)} cells, the first row has '
                                 f'{len(head)}')
        rows.append((cells[head.index('time')],
                     *([cells[columns[name, quantity]] for name in names
                        if (name, quantity) in columns] for quantity in POINT_QUANTITIES)))
    return make_recording(names, rows, str(path))
