# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of a table on a node: declared, read, changed."""

from __future__ import annotations

from collections.abc import Mapping
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

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote
from ik_node.ros.parameters.given_parameters import complaints
from ik_node.ros.parameters.tables import filled, Row

Options = TypeVar('Options')


def declare(node: Node, table: tuple[Row, ...], managed: bool = False) -> dict[str, Any]:
    """
    Declare the parameters of a table and return their values; warn of unknown ones.

    Parameters
    ----------
    managed : bool
        The node itself refuses what may not be changed at the time, unless ``at_start``.

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
        default: Any = row.default
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
                               [row.name for row in table]):
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
