# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Make names, sentences and values from outside safe to print."""

from __future__ import annotations

from collections.abc import Sequence
import re

MAX_LISTED_NAMES = 5
# Their repr since numpy 2.
NUMPY_SCALAR = re.compile(r'\bnp\.(?:[a-z]+\d*_?\(([^()]*)\)|(True|False)_)')
# From the first start on a machine until goals to poses are taken: 63 s where it was measured.
COMPILATION_TIME = 'about a minute of processor time'


def length_text(metres: float, digits: int = 3) -> str:
    """Return a length for a sentence, m: in mm below one metre."""
    in_mm = f'{1e3 * metres:.{digits}g}'
    return f'{metres:.{digits}g} m' if abs(float(in_mm)) >= 1e3 else f'{in_mm} mm'


def listed(names: Sequence[str], length: int = MAX_LISTED_NAMES) -> str:
    """Return the first few names, separated by commas."""
    more = f' and {len(names) - length} more' if len(names) > length else ''
    return ', '.join(names[:length]) + more


def quote(name: object, length: int = 80) -> str:
    """Return a name, safe to print: quoted, escaped and cut to a maximum length."""
    text = ascii(str(name))
    return text if len(text) <= length else text[:length - 4] + "...'"


def printable(sentence: str, length: int = 2000) -> str:
    """Return a sentence, safe to print: escaped and cut to a maximum length."""
    text = ''.join(c if c.isprintable() else ascii(c)[1:-1] for c in sentence[:length])
    return text if len(sentence) <= length else text + '...'


def shown(value: object, length: int = 200) -> str:
    """Return the repr of a value in one line, cut to a maximum length."""
    text = NUMPY_SCALAR.sub(r'\1\2', ' '.join(repr(value).split()))
    return text if len(text) <= length else text[:length - 3] + '...'
