# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Read the limits of joints from a joint_limits.yaml, as MoveIt has it.

::

    joint_limits:
      shoulder_pan_joint:
        has_velocity_limits: true
        max_velocity: 1.5
        has_acceleration_limits: true
        max_acceleration: 0.8

A limit counts where its ``has_...`` is true, and narrows that of the URDF.  MoveIt's default
scaling factors, which may be beside it, are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

from ik_node.base.checks import is_plain_number
from ik_node.base.errors import ParameterError
from ik_node.base.text import quote, shown
from ik_node.model.description.elements import MAX_MAGNITUDE
from ik_node.model.description.file_paths import file_of, read_limited
from ik_node.model.description.urdf import Joint, Tree
from ik_node.model.user_files.plain_yaml import read_plain_yaml

MAX_LIMITS_BYTES = 2**20
SCALING_KEYS = ('default_velocity_scaling_factor', 'default_acceleration_scaling_factor')
# By the word after has_: the keys, and what each is; a deceleration is kept as an acceleration.
KEYS_OF_LIMITS = {
    'position': {'min_position': 'lower', 'max_position': 'upper'},
    'velocity': {'max_velocity': 'velocity'},
    'acceleration': {'max_acceleration': 'acceleration'},
    'deceleration': {'max_deceleration': 'acceleration'},
    'jerk': {'max_jerk': 'jerk'}}


def with_joint_limits(tree: Tree, path: str) -> Tree:
    """
    Return a tree whose joints keep the limits of a file, too.

    Parameters
    ----------
    path : str
        A path, ``file:///PATH``, or ``package://NAME/PATH``; '' returns the tree.

    Raises
    ------
    ParameterError
        If the file cannot be read or names no joint of the tree, or a limit is no number, not
        positive, or leaves a joint no range.

    """
    if not path:
        return tree
    what = f'motion.joint_limits_file {quote(path, 300)}'
    try:
        file = file_of(path)
    except LookupError as error:
        raise ParameterError(f'{what}: {error.args[0]}') from None
    entries = read_plain_yaml(read_limited(file, what, MAX_LIMITS_BYTES), what, 'joint_limits',
                              'the names of joints to their limits', SCALING_KEYS)
    joints, notes = {joint.name: joint for joint in tree.joints}, list(tree.notes)
    for name, entry in entries.items():
        if name in joints:
            joints[name] = _narrowed(joints[name], _limits(entry, f'{what}: joint {quote(name)}'),
                                     what)
    unknown = [quote(name) for name in entries if name not in joints]
    if unknown and len(unknown) == len(entries):
        raise ParameterError(f'{what} has limits of {", ".join(unknown[:8])}, none of which is a '
                             'joint of the URDF')
    if unknown:
        notes.append(f'{what} has limits of {", ".join(unknown[:8])}, which are no joints of the '
                     'URDF')
    return replace(tree, joints=tuple(joints.values()), notes=tuple(notes))


def _limits(entry: Any, where: str) -> dict[str, float]:
    """Return the limits that an entry says it has, by the names of :class:`Joint`."""
    if not isinstance(entry, Mapping):
        raise ParameterError(f'{where} has {shown(entry, 80)}; it must map names to values')
    found: dict[str, float] = {}
    for kind, keys in KEYS_OF_LIMITS.items():
        has = entry.get(f'has_{kind}_limits', False)
        if not isinstance(has, bool):
            raise ParameterError(f'{where}: has_{kind}_limits is {shown(has, 80)}; it must be '
                                 'true or false')
        for key, limit in keys.items() if has else ():
            value = entry.get(key)
            if not is_plain_number(value) or abs(value) > MAX_MAGNITUDE \
                    or kind != 'position' and not value > 0.0:
                raise ParameterError(f'{where}: {key} is {shown(value, 80)}; it must be a '
                                     f'{"finite" if kind == "position" else "positive"} number')
            found[limit] = min(found.get(limit, inf), float(value))
    return found


def _narrowed(joint: Joint, limits: Mapping[str, float], what: str) -> Joint:
    """Return a joint with the tighter one of each of both limits."""
    kept = {name: (max if name == 'lower' else min)(value, getattr(joint, name))
            for name, value in limits.items()}
    joint = replace(joint, **kept)
    if joint.lower > joint.upper:
        raise ParameterError(f'{what} leaves joint {quote(joint.name)} no range: '
                             f'[{joint.lower:g}, {joint.upper:g}]')
    return joint
