# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of ik_node stop."""

from __future__ import annotations

import argparse

from ik_node.base.argument_values import add_node_options


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='ik_node stop', description='Bring the arm to rest within its limits; open goals '
        'end as stopped. It is no emergency stop.',
        epilog='exit code: 0 stopped, 1 it may still move, 2 wrong usage, 130 interrupted')
    add_node_options(parser, timed=False)
    return parser.parse_args(argv)
