# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of ik_node param."""

from __future__ import annotations

import argparse

from ik_node.base.argument_values import add_node_options


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='ik_node param', description='Read and set parameters of a running node, as '
        '`ros2 param` does.', epilog='exit code: 0 done, 1 refused, 2 wrong usage or no node, '
        '130 interrupted')
    actions = parser.add_subparsers(dest='action', required=True, metavar='ACTION')
    for name, what, arguments in (
            ('list', 'all parameters and their values', ()),
            ('get', 'the value of a parameter', ('name',)),
            ('set', 'give a parameter another value', ('name', 'value'))):
        action = actions.add_parser(name, help=what, description=f'{what.capitalize()}.')
        for argument in arguments:
            action.add_argument(argument, metavar=argument.upper(), help={
                'name': 'of the parameter', 'value': 'in YAML, such as 0.2, true or [1.0, 2.0]'
            }[argument])
        add_node_options(action)
    return parser.parse_args(argv)
