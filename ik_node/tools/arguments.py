# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Types of arguments on the command line; what is none of them is said in a sentence."""

from __future__ import annotations

from argparse import ArgumentTypeError
from math import isfinite
import re

NAME = re.compile(r'/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


def finite(text: str) -> float:
    """Return a number that is neither NaN nor infinite."""
    try:
        number = float(text)
    except ValueError:
        number = float('nan')
    if not isfinite(number):
        raise ArgumentTypeError(f'{text!a} is no finite number')
    return number


def node_name(text: str) -> str:
    """Return the name of a node, with or without a namespace."""
    if not NAME.fullmatch(text):
        raise ArgumentTypeError(f'{text!a} is no name of a node; e.g. ik_node, or /left/ik_node')
    return text
