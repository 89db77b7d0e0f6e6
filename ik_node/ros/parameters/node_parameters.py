# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Parameters of a table on a node: declared, read, changed.

Parameters that a process was given and that its node does not have; rcl says nothing of them.

By its rules they are given as ``-p NAME:=VALUE``, for one node alone as ``-p NODE:NAME:=VALUE``,
and in files by names of nodes, in which ``*`` is one part and ``**`` any number of parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
import re
import sys
from typing import Any, get_type_hints, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.node import Node
from rclpy.parameter import Parameter
import yaml

from ik_node.base.errors import ParameterError
from ik_node.base.text import listed, quote
from ik_node.model.user_files.plain_yaml import PlainLoader
from ik_node.ros.parameters.tables import filled, Row

ROS_ARGUMENTS, END_OF_ROS_ARGUMENTS = '--ros-args', '--'
VALUES_KEY = 'ros__parameters'
ALL_NODES = '/**'
COMMON_PARAMETERS = 'use_sim_time', 'start_type_description_service'  # of rclpy, on every node
COMMON_GROUP = 'qos_overrides.'
LEAST_LIKENESS = 0.6  # by difflib, of names of which one may be meant for the other


def complaints(arguments: Sequence[str], node: str, known: Sequence[str],
               others: Sequence[str] = ()) -> Iterator[str]:
    """
    Yield a sentence for each parameter that the node does not have, and for files of others.

    Parameters
    ----------
    arguments : sequence of str
        Of the process.
    node : str
        Full name of the node.
    known : sequence of str
        Its parameters.
    others : sequence of str
        Those of other nodes of the process, for which parameters and files may be.

    """
    for given in _options(arguments, '-p', '--param'):
        pattern, _, name = given.partition(':=')[0].rpartition(':')
        if not pattern and name not in others or pattern and _is_for(
                f'/{pattern.lstrip("/")}', node):
            yield from _unknown([name], 'the command line', node, known)
    for file in _options(arguments, '--params-file'):
        sections = _sections(file)
        patterns = [pattern for pattern, _ in sections]
        if patterns and not others and not any(_is_for(pattern, node) for pattern in patterns):
            yield f'nothing in {quote(file)} is for {node}, but for {listed(patterns)}'
        for pattern, names in sections:
            if _is_for(pattern, node):
                yield from _unknown(names, quote(file), node, known, pattern == ALL_NODES)


def _unknown(names: Sequence[str], where: str, node: str, known: Sequence[str],
             or_others: bool = False) -> Iterator[str]:
    """Yield a sentence for each name that is not known; if it may be of others, and is alike."""
    for name in names:
        if name in known or name in COMMON_PARAMETERS or name.startswith(COMMON_GROUP):
            continue
        near = get_close_matches(name, known, 1, LEAST_LIKENESS)
        if near or not or_others:
            yield (f'{node} has no parameter {quote(name)}, which {where} gives'
                   + (f'; did you mean {quote(near[0])}?' if near else ''))


def _options(arguments: Sequence[str], *flags: str) -> Iterator[str]:
    """Yield the values of options that are for ROS."""
    ours = False
    for flag, value in zip(arguments, [*arguments[1:], '']):
        ours = flag == ROS_ARGUMENTS or ours and flag != END_OF_ROS_ARGUMENTS
        if ours and flag in flags:
            yield value


def _sections(file: str) -> list[tuple[str, list[str]]]:
    """Return the nodes in a file, and the names of their parameters; none if not readable."""
    try:
        content = yaml.load(Path(file).read_text(encoding='utf-8'), PlainLoader)
    except (OSError, ValueError, yaml.YAMLError):  # rcl has said so
        return []
    return [*_nodes(content, '')]


def _nodes(content: Any, above: str) -> Iterator[tuple[str, list[str]]]:
    for key, value in content.items() if isinstance(content, Mapping) else ():
        if key == VALUES_KEY:
            yield above, [*_names(value, '')]
        else:
            yield from _nodes(value, f'{above}/{str(key).strip("/")}')


def _names(values: Any, above: str) -> Iterator[str]:
    for key, value in values.items() if isinstance(values, Mapping) else ():
        if isinstance(value, Mapping):
            yield from _names(value, f'{above}{key}.')
        else:
            yield f'{above}{key}'


def _is_for(pattern: str, node: str) -> bool:
    parts = {'**': '(/[^/]+)*', '*': '/[^/]+'}
    expression = ''.join(parts.get(part, f'/{re.escape(part)}')
                         for part in pattern.split('/')[1:])
    return re.fullmatch(expression, node) is not None


Options = TypeVar('Options')


def declare(node: Node, table: tuple[Row, ...], managed: bool = False,
            defaults: Mapping[str, Any] = {}, others: Sequence[str] = ()) -> dict[str, Any]:
    """
    Declare the parameters of a table and return their values; warn of unknown ones.

    Parameters
    ----------
    managed : bool
        The node itself refuses what may not be changed at the time, unless ``at_start``.
    defaults : mapping
        Other ones than those of the table.
    others : sequence of str
        As for :func:`complaints`.

    Raises
    ------
    ParameterError
        If a value from the command line or a file has the wrong type or is out of range.

    """
    for row in table:
        descriptor = ParameterDescriptor(description=row.description, read_only=row.at_start or
                                         not (row.live or managed))
        if row.low is not None:
            if isinstance(row.default, int):
                descriptor.integer_range = [IntegerRange(
                    from_value=int(row.low), to_value=int(row.high))]
            else:
                descriptor.floating_point_range = [FloatingPointRange(
                    from_value=float(row.low), to_value=float(row.high))]
        default: Any = defaults.get(row.name, row.default)
        if isinstance(default, tuple):
            # rclpy takes an empty list for bytes; a bare type is a list that is not set.
            default = list(default) or (Parameter.Type.STRING_ARRAY if row.strings
                                        else Parameter.Type.DOUBLE_ARRAY)
        try:
            declared = node.declare_parameter(row.name, default, descriptor)
        except InvalidParameterTypeException:
            raise _wrong_type(row) from None
        except InvalidParameterValueException:
            raise ParameterError(f'the parameter {row.name} must be from {row.low:g} to '
                                 f'{row.high:g}') from None
        # An empty list in a file leaves a number or a text without a value.
        if declared.value is None and not isinstance(row.default, tuple):
            raise _wrong_type(row)
    for sentence in complaints(sys.argv, node.get_fully_qualified_name(),
                               [row.name for row in table], others):
        node.get_logger().warning(sentence)
    return values_of(node, table)


def _wrong_type(row: Row) -> ParameterError:
    kind = {str: 'a string', float: 'a number with a decimal point (1.0, not 1)',
            int: 'a whole number', bool: 'true or false',
            tuple: 'a list of names' if row.strings
            else 'a list of numbers with decimal points ([1.0], not [1])'}
    return ParameterError(f'the parameter {row.name} must be {kind[type(row.default)]}')


def values_of(node: Node, table: tuple[Row, ...]) -> dict[str, Any]:
    """Return the present values of a table; lists as tuples, () where not set."""
    values = {}
    for row in table:
        try:
            value = node.get_parameter(row.name).value
        except ParameterUninitializedException:
            value = None
        values[row.name] = tuple(value or ()) if isinstance(row.default, tuple) else value
    return values


def options_of(kind: type[Options], values: Mapping[str, Any],
               table: tuple[Row, ...]) -> Options:
    """
    Return the options of a node: a dataclass whose fields the rows of its table fill.

    A row that fills `group.field` fills a field of the dataclass that is the field `group`.
    """
    groups = filled(table, values)
    own, kinds = groups.pop('', {}), get_type_hints(kind)
    return kind(**own, **{group: kinds[group](**given) for group, given in groups.items()})


def other_than_default(values: dict[str, Any], table: tuple[Row, ...]) -> str:
    """Return a sentence that names the values which are not the defaults of a table."""
    others = [f'{row.name}: {quote(values[row.name])}' for row in table
              if values[row.name] != row.default]
    return ', '.join(others) + '; all others have their defaults' if others \
        else 'all parameters have their defaults'


def plain(parameter: Parameter) -> Any:
    """Return the value of a parameter as :func:`values_of` does."""
    return tuple(parameter.value) if parameter.type_ in (
        Parameter.Type.DOUBLE_ARRAY, Parameter.Type.STRING_ARRAY) else parameter.value


def refused(reason: str) -> SetParametersResult:
    """Return the answer to a change that is not taken."""
    return SetParametersResult(successful=False, reason=reason)
