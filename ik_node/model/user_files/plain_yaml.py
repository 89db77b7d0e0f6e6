# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""YAML files of users with one key, below which are named entries."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import yaml

from ik_node.base.errors import ParameterError
from ik_node.base.text import printable, quote, shown

# What yaml raises of a text, also one whose tag or look promises a value that it is not.
YAML_ERRORS = yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError
MAX_DEPTH = 20  # of values from the network
MAX_INTEGER_LENGTH = 1000  # characters; Python shows none of more than 4,300 digits


class PlainLoader(yaml.SafeLoader):
    """
    Reads plain YAML.

    There are no aliases, which could expand without end, no tags, which would read a text as what
    it is not, no key twice and no endless integers.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse an alias, and a tag."""
        event = self.peek_event()
        fault = f'the alias *{event.anchor}' if isinstance(event, yaml.AliasEvent) else \
            f'the tag {quote(event.tag)}' if event.tag is not None else ''
        if fault:
            raise yaml.MarkedYAMLError(problem=f'{fault} is not allowed',
                                       problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict:
        """Refuse a key that is given twice."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                break  # refused below
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f'the key {quote(key)} is given twice',
                                           problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: Any) -> int:
        """Refuse an integer that no parameter has."""
        if len(node.value) > MAX_INTEGER_LENGTH:
            raise yaml.MarkedYAMLError(
                problem=f'an integer has more than {MAX_INTEGER_LENGTH} characters',
                problem_mark=node.start_mark)
        return super().construct_yaml_int(node)


PlainLoader.add_constructor('tag:yaml.org,2002:int', PlainLoader.construct_yaml_int)


def read_plain_yaml(data: bytes, what: str, key: str, entries: str,
                    passed_over: Collection[str] = ()) -> dict[Any, Any]:
    """
    Return what a YAML text has below its only key; nothing there is an empty dict.

    Parameters
    ----------
    what : str
        The text, for the sentence of an error.
    key : str
        The key that it must have.
    entries : str
        The mapping below the key in words, for the sentence of an error.
    passed_over : collection of str
        Other keys that it may have.

    Raises
    ------
    ParameterError
        If it is not plain YAML, has other keys, or no mapping below the key.

    """
    try:
        content = yaml.load(data, PlainLoader)  # a SafeLoader
    except YAML_ERRORS as error:
        raise ParameterError(f'{what} is not plain YAML: {_why(error)}') from None
    if not isinstance(content, dict) or key not in content \
            or not {*content} <= {key, *passed_over}:
        keys = list(content) if isinstance(content, dict) else content
        raise ParameterError(f'{what} has the keys {shown(keys, 80)}; it must have one key, '
                             f'{key}')
    found = {} if content[key] is None else content[key]
    if not isinstance(found, dict):
        raise ParameterError(f'{what}: {key} is {shown(found, 80)}; it must map {entries}')
    return found


def read_values(text: str) -> Any:
    """
    Return the values of a YAML text from the network, which may be hostile.

    By the compiled reader, which is 20 times as fast and overflows its stack where values are
    nested deep: so the depth is looked at first, and aliases and tags are refused.

    Raises
    ------
    ParameterError
        If it is not plain YAML.

    """
    depth = 0
    try:
        for event in yaml.parse(text, yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH or isinstance(event, yaml.AliasEvent) \
                    or getattr(event, 'tag', None) is not None:
                raise yaml.YAMLError('it has aliases or tags, or values that are nested too deep')
        return yaml.load(text, yaml.CSafeLoader)
    except YAML_ERRORS as error:
        raise ParameterError(f'not valid YAML: {_why(error)}') from None


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return 'it is nested too deeply'
    mark = getattr(error, 'problem_mark', None)
    where = f' in line {mark.line + 1}, column {mark.column + 1}' if mark else ''
    return printable(str(getattr(error, 'problem', None) or error), 200) + where
