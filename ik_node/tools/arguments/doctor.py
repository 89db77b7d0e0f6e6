# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of ik_doctor."""

from __future__ import annotations

import argparse

from ik_node.base.argument_values import node_name


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='ik_doctor',
        description='Look at a running system, and say what is wrong and what to do. Nothing is '
                    'sent to the arm, and nothing is changed.',
        epilog='exit code: 0 no problem, 1 a problem, 2 wrong usage, 130 interrupted')
    parser.add_argument('--node', default='/ik_node', type=node_name,
                        help='name of the ik_node, with its namespace (default %(default)s)')
    parser.add_argument('--timeout', type=float, default=6.0, metavar='S',
                        help='maximum time of observation, s; it ends earlier if nothing is '
                             'missing '
                             '(default %(default)s)')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    options = parser.parse_args(argv)
    if not 0.0 < options.timeout < 3600.0:
        parser.error('--timeout is more than 0 and less than 3600')
    return options
