# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Types of command-line arguments; an argument that does not fit is refused in one sentence."""

from __future__ import annotations

from argparse import ArgumentTypeError
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
