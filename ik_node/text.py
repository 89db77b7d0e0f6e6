# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Names, sentences and values from outside, made safe to print."""

from __future__ import annotations


def quote(name: object, length: int = 80) -> str:
    """Return a name from outside, safe to print: quoted, escaped, cut to a length."""
    text = ascii(str(name))
    return text if len(text) <= length else text[:length - 4] + "...'"


def printable(sentence: str, length: int = 2000) -> str:
    """Return a sentence from outside, safe to print: escaped, and cut to a length."""
    text = ''.join(c if c.isprintable() else ascii(c)[1:-1] for c in sentence[:length])
    return text if len(sentence) <= length else text + '...'


def shown(value: object, length: int = 200) -> str:
    """Return a value that was given, as Python writes it, in one line and cut to a length."""
    text = ' '.join(repr(value).split())
    return text if len(text) <= length else text[:length - 3] + '...'
