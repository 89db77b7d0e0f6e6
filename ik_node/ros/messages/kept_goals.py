# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Goals within path constraints, as text: the goal of another kind, and what is kept on the way.

``{goal: pose, message: {header: {frame_id: base_link}, pose: {...}}, keep: {upright: 0.1}}`` is
YAML (or JSON) with the fields of a message of ``~/goal_pose``; see
:class:`ik_node.motion.constrained.keep.Keep`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import re
from typing import Any, NamedTuple

import numpy as np
from std_msgs.msg import String

from ik_node.base.errors import ConstraintError, GoalError, ParameterError, Reason
from ik_node.base.text import shown
from ik_node.model.user_files.plain_yaml import read_values
from ik_node.motion.constrained.keep import flow_text, Keep, keep_values, read_keeps
from ik_node.ros.messages.conversion import message_class
from ik_node.ros.messages.goal_kinds import GOAL_KINDS, KEPT_KIND

KINDS = {kind.name: kind.message for kind in GOAL_KINDS
         if not kind.streamed and kind.name != KEPT_KIND}
KEYS = 'goal', 'message', 'keep'
LISTED = re.compile(r'(?P<of>[^\[]+)\[(?P<count>\d+)\]|sequence<(?P<items>[^,>]+)(?:, \d+)?>')
INTEGER = re.compile(r'(?P<unsigned>u?)int(?P<bits>\d+)')


class KeptGoal(NamedTuple):
    """A goal of another kind, and what is kept on the way."""

    kind: str
    message: Any
    keeps: tuple[Keep, ...]


def kept_goal(goal: KeptGoal) -> String:
    """Return the message of ``~/goal_kept``."""
    return String(data=flow_text({'goal': goal.kind, 'message': plain_message(goal.message),
                                  'keep': keep_values(goal.keeps)}))


def read_kept_goal(text: str) -> KeptGoal:
    """
    Return the goal of a message of ``~/goal_kept``.

    Raises
    ------
    GoalError, ConstraintError
        If it cannot be read.

    """
    try:
        values = read_values(text)
    except ParameterError as error:
        raise GoalError(f'the goal is {error}', Reason.CALL_INVALID) from None
    if not isinstance(values, Mapping) or {*values} != {*KEYS}:
        raise GoalError(f'the goal must have the keys {", ".join(KEYS)}, got {shown(values)}',
                        Reason.CALL_INVALID)
    kind = values['goal']
    if not isinstance(kind, str) or kind not in KINDS:
        raise GoalError(f'the goal is of kind {shown(kind)}; there are {", ".join(KINDS)}',
                        Reason.CALL_INVALID)
    keeps = read_keeps(values['keep'])
    if not keeps:
        raise ConstraintError(f'nothing is to be kept; send the goal on ~/goal_{kind}')
    return KeptGoal(kind, _message(KINDS[kind], values['message'], 'message'), keeps)


def plain_message(value: Any) -> Any:
    """Return a message, or a value of one, as dicts, lists, texts and numbers."""
    if hasattr(value, 'get_fields_and_field_types'):
        return {name: plain_message(getattr(value, name))
                for name in value.get_fields_and_field_types()}
    if isinstance(value, bytes):
        return value[0] if len(value) == 1 else [*value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, (str, bool, int, float)) else [*map(plain_message, value)]


def _message(kind: str, values: Any, where: str) -> Any:
    """Return a message of a kind, from its fields; those that are missing have their defaults."""
    message = message_class(kind)()
    fields = message.get_fields_and_field_types()
    if not isinstance(values, Mapping) or not {*values} <= {*fields}:
        raise GoalError(f'{where} must have fields of {kind} ({", ".join(fields)}), got '
                        f'{shown(values)}', Reason.CALL_INVALID)
    for name, value in values.items():
        try:
            setattr(message, name, _value(fields[name], value, f'{where}.{name}'))
        except (AssertionError, TypeError, ValueError, OverflowError):
            raise GoalError(f'{where}.{name} must be {fields[name]}, got {shown(value)}',
                            Reason.CALL_INVALID) from None
    return message


def _value(kind: str, value: Any, where: str) -> Any:
    """
    Return the value of a field of a type as rosidl writes it.

    Setters of messages check nothing from Jazzy on.
    """
    listed = LISTED.fullmatch(kind)
    if listed is not None:
        if not isinstance(value, Sequence) or isinstance(value, str) \
                or len(value) != int(listed['count'] or len(value)):
            raise TypeError
        return [_value(listed['of'] or listed['items'], each, f'{where}[{k}]')
                for k, each in enumerate(value)]
    if '/' in kind:
        return _message(kind, value, where)
    if kind in ('double', 'float'):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError
        return float(value)
    if kind == 'string':
        if not isinstance(value, str):
            raise TypeError
        return value
    integer = INTEGER.fullmatch(kind)
    if integer is None or isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    bits = int(integer['bits'])
    low, high = (0, 2**bits) if integer['unsigned'] else (-2**(bits - 1), 2**(bits - 1))
    if not low <= value < high:
        raise ValueError
    return value
