# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Files of poses: YAML as in examples/goals.yaml, and CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from ik_node.base.checks import numbers
from ik_node.base.errors import ParameterError
from ik_node.model.joints import require_radians
from ik_node.model.user_files.plain_yaml import YAML_ERRORS
from ik_node.ros.messages.conversion import quaternion_from_rpy

CSV_COLUMNS = {6: 'x,y,z,roll,pitch,yaw', 7: 'x,y,z,qx,qy,qz,qw'}
CHUNK_COLUMNS = {8: 't,x,y,z,qx,qy,qz,qw', 9: 't,x,y,z,qx,qy,qz,qw,gripper'}


@dataclass(frozen=True)
class FilePose:
    """One pose of a file."""

    xyz: tuple[float, ...]  # 3 numbers, position, m
    # 4 numbers, orientation, x, y, z, w, as in the file: not normalised
    quaternion: tuple[float, ...]
    frame: str = ''  # frame of the pose; empty if the file names none


class TimedFilePoses(NamedTuple):
    """Poses at times, as a file has them; each (k, ...)."""

    times: np.ndarray  # (k,), s
    poses: np.ndarray  # (k, 7), x, y, z, qx, qy, qz, qw, m
    gripper: np.ndarray | None  # (k,), openings, if the file has them


def read_timed_poses(path: Path) -> TimedFilePoses:
    """
    Read poses at times: CSV of CHUNK_COLUMNS; a first row with these names may be there.

    Raises
    ------
    ParameterError
        If the file has no row, or one is incomplete or not numeric.
    OSError
        If the file cannot be read.

    """
    found = [values for _, values in _csv_rows(path, CHUNK_COLUMNS)]
    if not found:
        raise ParameterError(f'{path} has no pose; give one at least')
    if len({*map(len, found)}) > 1:
        raise ParameterError(f'{path} has an opening of the gripper in some rows; give one in '
                             'all, or in none')
    rows = np.array(found)
    return TimedFilePoses(rows[:, 0], rows[:, 1:8], rows[:, 8] if rows.shape[1] == 9 else None)


def read_goals(path: Path) -> list[dict[str, Any]]:
    """
    Return the entries of the list `goals` in a YAML file.

    Raises
    ------
    ParameterError
        If there is no such list.
    OSError
        If the file cannot be read.

    """
    try:
        goals = yaml.safe_load(path.read_text(encoding='utf-8'))['goals']
    except (*YAML_ERRORS, TypeError):
        goals = None
    if not isinstance(goals, list) or not all(isinstance(goal, dict) for goal in goals):
        raise ParameterError(f'{path} has no list of goals; the file examples/goals.yaml of this '
                             'package shows how')
    return goals


def read_poses(path: Path) -> list[FilePose]:
    """
    Read a path: CSV by its name, otherwise YAML.

    CSV: CSV_COLUMNS, m and rad (fixed axes); a first row with these names may be there.
    YAML: as :func:`read_goals`, and of each goal xyz, rpy or quat, and frame, if it has one.

    Raises
    ------
    ParameterError
        If the file has no pose, or one is incomplete or not numeric.
    OSError
        If the file cannot be read.

    """
    poses = _from_csv(path) if path.suffix == '.csv' else [
        file_pose(goal, f'goal {k} of {path}') for k, goal in enumerate(read_goals(path), 1)]
    if not poses:
        raise ParameterError(f'{path} has no pose; give one at least')
    return poses


def file_pose(goal: Mapping[str, Any], where: str) -> FilePose:
    """
    Return the pose of an entry of a YAML file; without rpy and quat it has no rotation.

    Raises
    ------
    ParameterError
        If it has no position, or a wrong number of values.

    """
    xyz = _numbers(goal.get('xyz', ()), 3, f'xyz of {where}')
    if 'quat' in goal:
        quaternion = _numbers(goal['quat'], 4, f'quat of {where}')
    else:
        what = f'rpy of {where}'
        quaternion = _turned(_numbers(goal.get('rpy', (0.0, 0.0, 0.0)), 3, what), what)
    return FilePose(xyz, quaternion, str(goal.get('frame') or ''))


def _from_csv(path: Path) -> list[FilePose]:
    return [FilePose(values[:3], _turned(values[3:], what) if len(values) == 6 else values[3:])
            for what, values in _csv_rows(path, CSV_COLUMNS)]


def _csv_rows(path: Path, columns: Mapping[int, str]) -> list[tuple[str, tuple[float, ...]]]:
    """Return where each row is, and its numbers, as many as some of the columns have."""
    try:
        with path.open(newline='', encoding='utf-8-sig') as file:
            reader = csv.reader(file, skipinitialspace=True)
            rows = [(reader.line_num, row) for row in reader if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ParameterError(f'{path} is no CSV file: {error}') from None
    if rows and ','.join(cell.strip() for cell in rows[0][1]) in columns.values():
        del rows[0]
    found = []
    for line, row in rows:
        if len(row) not in columns:
            raise ParameterError(f'line {line} of {path} has {len(row)} columns; it takes '
                                 f'{" or ".join(columns.values())}')
        what = f'line {line} of {path}'
        found.append((what, _numbers(row, len(row), what)))
    return found


def _numbers(values: Any, count: int, where: str) -> tuple[float, ...]:
    return tuple(numbers(values, (count,), where).tolist())


def _turned(rpy: Sequence[float], where: str) -> tuple[float, ...]:
    require_radians(rpy, where)
    return tuple(map(float, quaternion_from_rpy(*rpy)))
