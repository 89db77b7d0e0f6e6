# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The command ik_node param: read and set parameters of a running node."""

from __future__ import annotations

import argparse
from functools import partial
import sys
from typing import Any

from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
import yaml

from ik_node.base.errors import ParameterError, Reason
from ik_node.base.text import printable, quote
from ik_node.kinematics.arguments import did_you_mean
from ik_node.ros.middleware.handshake import ask
from ik_node.ros.middleware.process import run_tool
from ik_node.tools.arguments.param import parse

FLOAT_TYPES = Parameter.Type.DOUBLE.value, Parameter.Type.DOUBLE_ARRAY.value


def main() -> None:
    """Run the command."""
    options = parse(sys.argv[1:])
    run_tool('param', partial(_run, options=options))


def _run(node: Node, options: argparse.Namespace) -> int:
    def asked(kind: Any, service: str, **fields: Any) -> Any:
        answer = ask(node, kind, f'{options.node}/{service}', kind.Request(**fields),
                     options.timeout)
        if answer is None:
            raise ParameterError(f'{options.node} does not answer within {options.timeout:g} s; '
                                 'is it running, in this ROS_DOMAIN_ID and namespace (--node)?',
                                 Reason.NODE_MISSING)
        return answer

    names = sorted(asked(ListParameters, 'list_parameters').result.names)
    if options.action != 'list':
        if options.name not in names:
            raise ParameterError(f'{options.node} has no parameter {quote(options.name)}'
                                 + did_you_mean(options.name, tuple(names)))
        names = [options.name]
    if options.action == 'set':
        kind = asked(DescribeParameters, 'describe_parameters', names=names).descriptors[0].type
        value = _parameter(options.name, options.value, kind).to_parameter_msg()
        result = asked(SetParametersAtomically, 'set_parameters_atomically',
                       parameters=[value]).result
        if not result.successful:
            print(printable(result.reason), file=sys.stderr)
            return 1
    for name in names:  # each by itself: rclpy returns none if one has no value
        found = asked(GetParameters, 'get_parameters', names=[name]).values
        value = parameter_value_to_python(found[0]) if found else None
        shown = printable(yaml.safe_dump(_plain(value), default_flow_style=True, width=10_000)
                          .removesuffix('...\n').strip())
        print(f'{name}: {shown}' if options.action == 'list' else shown)
    return 0


def _parameter(name: str, text: str, kind: int) -> Parameter:
    """Return a parameter of a type with the value that a text is in YAML; 1 is 1.0, too."""
    try:
        value = yaml.safe_load(text)
        if kind == Parameter.Type.STRING.value and not isinstance(value, str):
            value = text
        elif kind in FLOAT_TYPES:
            value = [*map(float, value)] if isinstance(value, list) else float(value)
        return Parameter(name, Parameter.Type(kind), value)
    except (yaml.YAMLError, TypeError, ValueError):
        wanted = Parameter.Type(kind).name.lower().replace('_', ' ')
        raise ParameterError(f'{quote(name)} is a {wanted}; {quote(text)} is none') from None


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, int, float)) else [*value]
