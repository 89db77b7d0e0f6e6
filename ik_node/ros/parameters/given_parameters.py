# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Parameters that a process was given and that its node does not have; rcl says nothing of them.

By its rules they are given as ``-p NAME:=VALUE``, for one node alone as ``-p NODE:NAME:=VALUE``,
and in files by names of nodes, in which ``*`` is one part and ``**`` any number of parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
import re
from typing import Any

import yaml

from ik_node.base.text import listed, quote
from ik_node.model.user_files.plain_yaml import PlainLoader

ROS_ARGUMENTS, END_OF_ROS_ARGUMENTS = '--ros-args', '--'
VALUES_KEY = 'ros__parameters'
ALL_NODES = '/**'
COMMON_PARAMETERS = 'use_sim_time', 'start_type_description_service'  # of rclpy, on every node
COMMON_GROUP = 'qos_overrides.'
LEAST_LIKENESS = 0.6  # by difflib, of names of which one may be meant for the other


def complaints(arguments: Sequence[str], node: str, known: Sequence[str]) -> Iterator[str]:
    """
    Yield a sentence for each parameter that the node does not have, and for files of others.

    Parameters
    ----------
    arguments : sequence of str
        Of the process.
    node : str
        Full name of the node.
    known : sequence of str
        Its parameters.

    """
    for given in _options(arguments, '-p', '--param'):
        pattern, _, name = given.partition(':=')[0].rpartition(':')
        if not pattern or _is_for(f'/{pattern.lstrip("/")}', node):
            yield from _unknown([name], 'the command line', node, known)
    for file in _options(arguments, '--params-file'):
        sections = _sections(file)
        patterns = [pattern for pattern, _ in sections]
        if patterns and not any(_is_for(pattern, node) for pattern in patterns):
            yield f'nothing in {quote(file)} is for {node}, but for {listed(patterns)}'
        for pattern, names in sections:
            if _is_for(pattern, node):
                yield from _unknown(names, quote(file), node, known, pattern == ALL_NODES)


def _unknown(names: Sequence[str], where: str, node: str, known: Sequence[str],
             or_others: bool = False) -> Iterator[str]:
    """Yield a sentence for each name that is not known; if it may be of others, and is alike."""
    for name in names:
        if name in known or name in COMMON_PARAMETERS or name.startswith(COMMON_GROUP):
            continue
        near = get_close_matches(name, known, 1, LEAST_LIKENESS)
        if near or not or_others:
            yield (f'{node} has no parameter {quote(name)}, which {where} gives'
                   + (f'; did you mean {quote(near[0])}?' if near else ''))


def _options(arguments: Sequence[str], *flags: str) -> Iterator[str]:
    """Yield the values of options that are for ROS."""
    ours = False
    for flag, value in zip(arguments, [*arguments[1:], '']):
        ours = flag == ROS_ARGUMENTS or ours and flag != END_OF_ROS_ARGUMENTS
        if ours and flag in flags:
            yield value


def _sections(file: str) -> list[tuple[str, list[str]]]:
    """Return the nodes in a file, and the names of their parameters; none if not readable."""
    try:
        content = yaml.load(Path(file).read_text(encoding='utf-8'), PlainLoader)
    except (OSError, ValueError, yaml.YAMLError):  # rcl has said so
        return []
    return [*_nodes(content, '')]


def _nodes(content: Any, above: str) -> Iterator[tuple[str, list[str]]]:
    for key, value in content.items() if isinstance(content, Mapping) else ():
        if key == VALUES_KEY:
            yield above, [*_names(value, '')]
        else:
            yield from _nodes(value, f'{above}/{str(key).strip("/")}')


def _names(values: Any, above: str) -> Iterator[str]:
    for key, value in values.items() if isinstance(values, Mapping) else ():
        if isinstance(value, Mapping):
            yield from _names(value, f'{above}{key}.')
        else:
            yield f'{above}{key}'


def _is_for(pattern: str, node: str) -> bool:
    parts = {'**': '(/[^/]+)*', '*': '/[^/]+'}
    expression = ''.join(parts.get(part, f'/{re.escape(part)}')
                         for part in pattern.split('/')[1:])
    return re.fullmatch(expression, node) is not None
