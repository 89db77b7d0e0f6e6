# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Messages read from their bytes by Python, so that other threads run meanwhile.

rclpy reads a message in one call, in which no other thread of Python runs: for 10,000 markers
that is a quarter of a second and more.  Here it takes longer, but nobody waits for it.

In CDR, as every RMW of ROS 2 sends it (see :mod:`ik_node.node.execution.outputs`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import lru_cache, partial
import re
from struct import calcsize, error as StructError, unpack_from
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message

from ik_node.ros.messages.conversion import message_class

HEADER_BYTES = 4  # before the message: how it is written
BYTE_ORDERS = {b'\x00\x00': '>', b'\x00\x01': '<'}  # by the first two of these
# The codes of struct; array and numpy have the same.
TYPE_CODES = {'boolean': '?', 'octet': 'c', 'char': 'B', 'int8': 'b', 'uint8': 'B', 'int16': 'h',
              'uint16': 'H', 'int32': 'i', 'uint32': 'I', 'int64': 'q', 'uint64': 'Q',
              'float': 'f', 'double': 'd'}
LISTED_TYPES = 'boolean', 'octet'  # sequences of them are lists in Python, others arrays
SEQUENCE_TYPE = re.compile(r'sequence<(.*?)(?:, \d+)?>')
ARRAY_TYPE = re.compile(r'(.*)\[(\d+)\]')


class MessageBytes:
    """The bytes of a message, read from the first to the last."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, HEADER_BYTES
        self._order = BYTE_ORDERS.get(bytes(data[:2]), '')
        if not self._order:
            raise ValueError(f'the bytes begin with {bytes(data[:2])!r}')

    def numbers(self, code: str, count: int = 1) -> tuple[Any, ...]:
        """Return numbers of one type."""
        if not count:
            return ()
        self._at += -(self._at - HEADER_BYTES) % calcsize('=' + code)
        found = unpack_from(f'{self._order}{count}{code}', self._data, self._at)
        self._at += calcsize(f'={count}{code}')
        return found

    def array(self, code: str, count: int) -> array:
        """Return numbers of one type as an array of Python."""
        if code not in 'bB':
            return array(code, self.numbers(code, count))
        return array(code, self.text(count))

    def text(self, count: int) -> bytes:
        """Return the next bytes as they are."""
        self._at += count
        if self._at > len(self._data):
            raise ValueError('the bytes end before the message does')
        return bytes(self._data[self._at - count:self._at])

    def count(self) -> int:
        """Return the length of a sequence or a text that follows."""
        count, = self.numbers('I')
        if count > len(self._data) - self._at:
            raise ValueError('the bytes end before the message does')
        return count


Read = Callable[[MessageBytes], Any]


def read_message(data: bytes, kind: type) -> Any:
    """Return a message of a type, as :func:`rclpy.serialization.deserialize_message` does."""
    try:
        return _message(kind, MessageBytes(data))
    except (ValueError, StructError, KeyError):
        return deserialize_message(data, kind)


def _message(kind: type, data: MessageBytes) -> Any:
    made = kind.__new__(kind)
    for slot, read in _fields(kind):
        setattr(made, slot, read(data))
    return made


@lru_cache(maxsize=None)
def _fields(kind: type) -> list[tuple[str, Read]]:
    """Return the attributes behind the fields of a type, and what reads each."""
    fields = [(f'_{name}', _reader(text))
              for name, text in kind.get_fields_and_field_types().items()]
    if '_check_fields' in kind.__slots__:  # from Jazzy on
        fields.append(('_check_fields', lambda _data: False))
    return fields


def _reader(text: str) -> Read:
    """Return what reads a field of a type, as get_fields_and_field_types names it."""
    if found := SEQUENCE_TYPE.fullmatch(text):
        return partial(_several, found[1], None)
    if found := ARRAY_TYPE.fullmatch(text):
        return partial(_several, found[1], int(found[2]))
    if text in TYPE_CODES:
        code = TYPE_CODES[text]
        return lambda data: data.numbers(code)[0]
    if text.startswith('string'):
        return lambda data: data.text(data.count())[:-1].decode()
    return partial(_message, message_class(text))


def _several(text: str, count: int | None, data: MessageBytes) -> Any:
    """Return a sequence, or an array of a given length, of values of a type."""
    fixed, count = count is not None, data.count() if count is None else count
    code = TYPE_CODES.get(text)
    if code is None:
        kind = None if text.startswith('string') else message_class(text)
        if kind is not None and _same_code(kind):
            return _uniform(kind, data, count)
        read = _reader(text)
        return [read(data) for _ in range(count)]
    if text in LISTED_TYPES:
        return list(data.numbers(code, count))
    return np.array(data.numbers(code, count), dtype=code) if fixed else data.array(code, count)


def _uniform(kind: type, data: MessageBytes, count: int) -> list[Any]:
    """Return messages whose fields are numbers of one type, such as points."""
    slots = [slot for slot, _ in _fields(kind)]
    width = len(kind.get_fields_and_field_types())
    numbers, found = data.numbers(_same_code(kind), count * width), []
    for k in range(0, count * width, width):
        made = kind.__new__(kind)
        for slot, value in zip(slots, (*numbers[k:k + width], False)):
            setattr(made, slot, value)
        found.append(made)
    return found


@lru_cache(maxsize=None)
def _same_code(kind: type) -> str:
    """Return the code of all fields of a type, if they have the same; else ''."""
    texts = {*kind.get_fields_and_field_types().values()}
    return TYPE_CODES.get(texts.pop(), '') if len(texts) == 1 else ''
