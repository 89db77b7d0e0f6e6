# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Types of command-line arguments; an argument that does not fit is refused in one sentence."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from math import isfinite
import re

NODE_NAME = re.compile(r'/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


def tolerance(text: str) -> float:
    """Return a number that is not negative, or inf."""
    value = float(text)
    if not value >= 0.0:
        raise ArgumentTypeError(f'{text} is no tolerance; give 0 (exact) to inf (free)')
    return value


def finite(text: str) -> float:
    """Return a number that is neither NaN nor infinite."""
    try:
        number = float(text)
    except ValueError:
        number = float('nan')
    if not isfinite(number):
        raise ArgumentTypeError(f'{text!a} is not a finite number')
    return number


def positive_count(text: str) -> int:
    """Return a whole number of at least 1."""
    value = int(text)
    if value < 1:
        raise ArgumentTypeError(f'{value} is not at least 1')
    return value


def node_name(text: str) -> str:
    """Return a node name, with or without a namespace."""
    if not NODE_NAME.fullmatch(text):
        raise ArgumentTypeError(f'{text!a} is not a node name; give e.g. ik_node or /left/ik_node')
    return text


def positive(text: str) -> float:
    """Return a number above 0."""
    number = finite(text)
    if number <= 0.0:
        raise ArgumentTypeError(f'{number:g} is not above 0')
    return number


def add_node_options(parser: ArgumentParser, timed: bool = True) -> None:
    """Add --node, and how long its answer is waited for."""
    parser.add_argument('--node', default='ik_node', type=node_name,
                        help='name of the node, with its namespace if it has one (default '
                             '%(default)s)')
    if timed:
        parser.add_argument('--timeout', type=positive, default=10.0, metavar='S',
                            help='how long to wait, s (default 10)')
