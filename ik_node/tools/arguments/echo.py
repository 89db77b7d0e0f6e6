# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of ik_node echo."""

from __future__ import annotations

import argparse

from ik_node.base.argument_values import add_node_options


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='ik_node echo', description='Print the messages of a topic, as `ros2 topic echo` '
        'does: the newest one of those that are kept, and then each that comes.',
        epilog='exit code: 0 done, 1 nothing came, 2 wrong usage, 130 interrupted')
    parser.add_argument('topic', nargs='?', default='status', metavar='TOPIC',
                        help='of the node, such as tip_pose; any other begins with / (default '
                             '%(default)s: its newest answer to a goal)')
    parser.add_argument('--once', action='store_true', help='end after the first')
    parser.add_argument('--json', action='store_true', help='print a line of JSON for each')
    add_node_options(parser)
    return parser.parse_args(argv)
