# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Files of poses: YAML as in examples/goals.yaml, and CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ik_node.base.checks import numbers
from ik_node.base.errors import ParameterError
from ik_node.model.joints import require_radians
from ik_node.model.user_files.plain_yaml import YAML_ERRORS
from ik_node.ros.messages.conversion import quaternion_from_rpy

CSV_COLUMNS = {6: 'x,y,z,roll,pitch,yaw', 7: 'x,y,z,qx,qy,qz,qw'}


@dataclass(frozen=True)
class FilePose:
    """One pose of a file."""

    xyz: tuple[float, ...]  # 3 numbers, position, m
    # 4 numbers, orientation, x, y, z, w, as in the file: not normalised
    quaternion: tuple[float, ...]
    frame: str = ''  # frame of the pose; empty if the file names none


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
    try:
        with path.open(newline='', encoding='utf-8-sig') as file:
            reader = csv.reader(file, skipinitialspace=True)
            rows = [(reader.line_num, row) for row in reader if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ParameterError(f'{path} is no CSV file: {error}') from None
    if rows and ','.join(cell.strip() for cell in rows[0][1]) in CSV_COLUMNS.values():
        del rows[0]
    poses = []
    for line, row in rows:
        if len(row) not in CSV_COLUMNS:
            raise ParameterError(f'line {line} of {path} has {len(row)} columns; it takes '
                                 f'{" or ".join(CSV_COLUMNS.values())}')
        what = f'line {line} of {path}'
        values = _numbers(row, len(row), what)
        poses.append(FilePose(
            values[:3], _turned(values[3:], what) if len(row) == 6 else values[3:]))
    return poses


def _numbers(values: Any, count: int, where: str) -> tuple[float, ...]:
    return tuple(numbers(values, (count,), where).tolist())


def _turned(rpy: Sequence[float], where: str) -> tuple[float, ...]:
    require_radians(rpy, where)
    return tuple(map(float, quaternion_from_rpy(*rpy)))
