# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint positions that have a name, and YAML files of them.

.. code-block:: yaml

    named_poses:
      ready: {joint_1: 0.0, joint_2: 0.3, joint_3: -0.4}
      bench:                                  # joints in any order; rad or m
        joint_3: 0.2
        joint_1: -1.2
        joint_2: 0.1

A pose has a position of each joint of the arm.  Other joints, for example of a gripper, are
ignored, and kept in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import os
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ik_node.base.checks import is_plain_number
from ik_node.base.errors import ParameterError
from ik_node.base.text import quote, shown
from ik_node.model.chain import Chain
from ik_node.model.description.file_paths import file_of, read_limited, replace_file
from ik_node.model.joints import outside_limits
from ik_node.model.user_files.plain_yaml import read_plain_yaml

MAX_POSES_BYTES = 2**20
MAX_POSE_NAME = 80  # characters
POSES_KEY = 'named_poses'
EXAMPLE_POSE = '{joint_1: 0.0, joint_2: 0.3}'


@dataclass(frozen=True)
class PoseEntry:
    """A named pose as a file has it, not yet checked."""

    name: object
    """A text, if it is usable."""
    positions: object
    """Mapping of joint names to positions (rad or m), if it is usable."""
    source: str
    """Where it is from, for sentences and for the list."""


@dataclass(frozen=True, eq=False)
class NamedPose:
    """Joint positions with a name."""

    name: str
    q: np.ndarray
    """(n,), in the order of the chain, rad or m."""
    source: str
    """Where they are from, such as 'SRDF, group arm'."""


@dataclass(frozen=True, eq=False)
class NamedPoses:
    """The named poses of an arm."""

    poses: dict[str, NamedPose]
    refused: dict[str, str]
    """By the names of poses that cannot be used: why, in one sentence."""
    notes: tuple[str, ...]
    """A sentence for each name that several poses have."""


def check_name(name: object, what: str = 'a pose') -> str:
    """
    Return the name of a pose, or of something else.

    Raises
    ------
    ParameterError
        If it is no text, is empty, too long, not printable, or begins or ends with a blank.

    """
    if not isinstance(name, str):
        raise ParameterError(f'the name {shown(name, 80)} of {what} is no text; put it in quotes')
    if not name.isprintable() or name != name.strip() or not 1 <= len(name) <= MAX_POSE_NAME:
        raise ParameterError(f'the name {quote(name)} of {what} is not allowed; it must have 1 to '
                             f'{MAX_POSE_NAME} printable characters, with no blank at either end')
    return name


def check_positions(positions: object, chain: Chain) -> np.ndarray:
    """
    Return the positions (n,) of a pose in the order of a chain; other joints are ignored.

    Raises
    ------
    ParameterError
        If it is no mapping, lacks a joint, or a position is no finite number or outside the
        limits of its joint.

    """
    if not isinstance(positions, Mapping):
        raise ParameterError(f'it is {shown(positions, 80)}; it must map joints to positions, as '
                             + EXAMPLE_POSE)
    missing = [name for name in chain.joint_names if name not in positions]
    if missing:
        raise ParameterError(f'it lacks {", ".join(map(quote, missing))}; give a position of each '
                             'joint of the arm')
    q = np.empty(chain.n)
    for k, name in enumerate(chain.joint_names):
        value = positions[name]
        if not is_plain_number(value):
            raise ParameterError(f'its position of {quote(name)} is {shown(value, 80)}; it must '
                                 'be a finite number, rad or m')
        if not chain.lower[k] <= value <= chain.upper[k]:
            raise ParameterError(f'its position of {quote(name)} is '
                                 + outside_limits(chain, k, value))
        q[k] = value
    return q


def named_poses(described: Iterable[PoseEntry], filed: Iterable[PoseEntry],
                chain: Chain) -> NamedPoses:
    """
    Return the entries that an arm can use; of several with one name the last usable one.

    Entries without any joint of the arm, for example of a gripper, are no poses of it.

    Parameters
    ----------
    described : iterable of PoseEntry
        Of an SRDF.
    filed : iterable of PoseEntry
        Of a file of named poses.  They replace described ones of the same name; one that is
        refused leaves its name without a pose.
    chain : Chain

    """
    poses: dict[str, NamedPose] = {}
    refused: dict[str, str] = {}
    notes: list[str] = []
    for entry, in_file in (*((each, False) for each in described),
                           *((each, True) for each in filed)):
        label = f'the named pose {quote(entry.name)} ({entry.source})'
        key = str(entry.name)
        if isinstance(entry.positions, Mapping) and entry.positions \
                and not set(chain.joint_names) & set(entry.positions):
            refused.setdefault(key, f'{label} has no joint of this arm')
            continue
        try:
            name, q = check_name(entry.name), check_positions(entry.positions, chain)
        except ParameterError as error:
            notes.append(f'{label} is refused: {error}')
            if in_file or key not in poses:
                poses.pop(key, None)
                refused[key] = notes[-1]
            continue
        before = poses.get(name)
        if before is not None and not np.array_equal(before.q, q):
            notes.append(f'{label} takes the place of that of the same name ({before.source})')
        poses[name] = NamedPose(name, q, entry.source)
        refused.pop(name, None)
    return NamedPoses(poses, refused, tuple(notes))


class NamedPosesFile:
    """
    A YAML file of named poses.

    Parameters
    ----------
    path : str
        A path, ``file:///PATH`` or ``package://NAME/PATH``; the file need not exist yet.

    Raises
    ------
    ParameterError
        If there is no such package.

    """

    def __init__(self, path: str) -> None:
        try:
            self.path = file_of(path)
        except LookupError as error:
            raise ParameterError(f'cannot read the named poses {quote(path, 300)}: '
                                 f'{error.args[0]}') from None

    def read(self) -> dict[Any, Any]:
        """
        Return what the file has by its names, not yet checked; empty if there is no file.

        Raises
        ------
        ParameterError
            If the file cannot be read, or is no YAML file of named poses.

        """
        what = f'the named poses {quote(self.path, 300)}'
        data = read_limited(self.path, what, MAX_POSES_BYTES, missing=b'')
        return read_plain_yaml(data, what, POSES_KEY, 'the name of each pose to the positions of '
                               'its joints') if data.strip() else {}

    def entries(self) -> list[PoseEntry]:
        """Return what the file has as entries; errors as :meth:`read`."""
        return [PoseEntry(name, positions, str(self.path))
                for name, positions in self.read().items()]

    def save(self, name: str, positions: Mapping[str, float]) -> None:
        """
        Write a pose into the file, in place of one of the same name; the others stay.

        The file is replaced at once, so that nobody reads half of it, and made if there is none.
        Comments are not kept.  Joints that the old pose had and `positions` lacks are kept.

        Parameters
        ----------
        name : str
        positions : mapping of str to float
            By the names of the joints, rad or m.

        Raises
        ------
        ParameterError
            If the name is not allowed, or the file cannot be read or written.

        """
        content = self.read()
        before = content.get(check_name(name))
        content[name] = {**(before if isinstance(before, dict) else {}),
                         **{joint: float(value) for joint, value in positions.items()}}
        text = yaml.safe_dump({POSES_KEY: content}, sort_keys=False, default_flow_style=None,
                              allow_unicode=True, width=100)
        try:
            replace_file(Path(os.path.realpath(self.path)), text.encode())
        except (OSError, ValueError) as error:
            raise ParameterError(f'cannot write the named poses {quote(self.path, 300)}: '
                                 f'{getattr(error, "strerror", None) or error}') from None
