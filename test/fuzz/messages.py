# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""ROS messages that are well typed and otherwise as odd as they get."""

import copy
from importlib import import_module
import re

from hypothesis import strategies as st

MOST = 5  # elements of a list
DOUBLES = st.sampled_from((
    0.0, -0.0, 1.0, -1.0, 0.5, 3.0, float('nan'), float('inf'), float('-inf'), 5e-324, 1e-308,
    1e-9, 1e6, 1e10, -1e155, 1e200, 1.7e308, -1.7e308))
FLOATS = st.sampled_from((0.0, 1.0, -1.0, 0.5, float('nan'), float('inf'), float('-inf'), 1e-45,
                          3.4e38, -3.4e38))
TEXTS = st.sampled_from((
    '', ' ', 'base_link', 'tool0', 'world', 'joint_1', 'joint_6', '/base_link', 'joint_1 ',
    'stamp', 'x', 'y', 'z', 'rgb', 'ghost', '../..', '<script>x()</script>', '\x1b[2J\x07', 'a\nb',
    'ÄÖ\u202e', '\U0001f600', '%s{0}$(x)', 'x' * 5000))
WHOLE = {'boolean': st.booleans(), 'octet': st.binary(min_size=1, max_size=1),
         **{f'{sign}int{bits}': st.one_of(
             st.sampled_from((0, 1, 2)),
             st.sampled_from((2**(bits - (not sign)) - 1, -(2**(bits - 1)) * (not sign))),
             st.integers(-(2**(bits - 1)) * (not sign), 2**(bits - (not sign)) - 1))
            for sign in ('', 'u') for bits in (8, 16, 32, 64)}}
PLAIN = {'double': DOUBLES, 'float': FLOATS, 'string': TEXTS, **WHOLE}
LIST = re.compile(r'sequence<(?P<of>[^,>]+)(?:, (?P<most>\d+))?>|'
                  r'(?P<each>[^\[]+)\[(?P<count>\d+)\]')


def values(kind):
    """Return the strategy for a field, by the name of its type."""
    listed = LIST.fullmatch(kind)
    if listed is not None and listed['count']:
        count = int(listed['count'])
        return st.lists(values(listed['each']), min_size=count, max_size=count)
    if listed is not None:
        return st.lists(values(listed['of']), max_size=min(MOST, int(listed['most'] or MOST)))
    if kind in PLAIN:
        return PLAIN[kind]
    package, _, name = kind.partition('/')
    return messages(getattr(import_module(f'{package}.msg'), name))


def messages(kind):
    """Return the strategy for a message, all of whose fields are odd."""
    fields = {name: values(of) for name, of in kind.get_fields_and_field_types().items()}
    return st.builds(kind, **fields)


@st.composite
def spoilt(draw, good):
    """Draw a message in which some fields, at any depth, are odd."""
    message = copy.deepcopy(good)
    for _ in range(draw(st.sampled_from((1, 2, 4, 20)))):
        owner, name, kind = draw(st.sampled_from(list(_fields(message))))
        setattr(owner, name, draw(values(kind)))
    return message


def like(good):
    """Return the strategy for messages that are odd in all, or in a few places."""
    return st.one_of(spoilt(good), spoilt(good), messages(type(good)))


def _fields(message):
    """Give every field of a message and of those in it: owner, name, name of the type."""
    for name, kind in message.get_fields_and_field_types().items():
        yield message, name, kind
        value = getattr(message, name)
        for part in value if isinstance(value, list) else [value]:
            if hasattr(part, 'get_fields_and_field_types'):
                yield from _fields(part)
