# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Read which pairs of links an SRDF leaves out of the collision check, and its named poses.

An SRDF is the file that MoveIt's setup assistant writes beside a URDF.  Of it,
``<disable_collisions link1="..." link2="..." reason="..."/>`` and
``<group_state name="..." group="..."><joint name="..." value="..."/></group_state>`` are read;
groups, passive joints and all else are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

from ik_node.base.errors import UrdfError
from ik_node.base.text import quote
from ik_node.model.description.elements import LINE_ATTRIBUTE, local_name, MAX_BYTES, read_elements

SRDF_BLANKS = '\ufeff \t\r\n'  # before the first element
# They change which pairs are checked, too, and are not read: more pairs are checked.
IGNORED_RULES = ('disable_default_collisions', 'enable_collisions')


@dataclass(frozen=True)
class DisabledPairs:
    """Pairs of links that are not checked against each other."""

    reasons: dict[frozenset[str], str]
    """By two links, for each pair, the reason that the file gives ('' if none), such as
    'Adjacent'."""
    notes: tuple[str, ...]
    """Entries that have no effect, a sentence each."""

    def __contains__(self, pair: Iterable[str]) -> bool:
        """Return whether a pair of links is left out, in either order."""
        return frozenset(pair) in self.reasons

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.reasons)


@dataclass(frozen=True)
class GroupState:
    """Joint positions to which an SRDF gives a name."""

    name: str
    """'' if the file gives none."""
    group: str
    """'' if the file gives none."""
    positions: dict[str, float | str]
    """By the names of the joints, rad or m; a text where the file has no number, or several."""
    line: int
    """Of the file."""


def read_srdf(path_or_text: str | Path, links: Iterable[str] = ()) -> DisabledPairs:
    """
    Return the pairs of links that an SRDF leaves out.

    Parameters
    ----------
    path_or_text : str or Path
        A string that begins with ``<`` is the text itself, anything else a path.
    links : iterable of str
        The links of the URDF.  A pair with another link has no effect, which a note says.

    Raises
    ------
    UrdfError
        If the file cannot be read, is not an SRDF, or an entry does not name two links.

    """
    return _pairs(_robot(path_or_text), frozenset(links))


def parse_srdf(text: str, links: Iterable[str] = ()) -> DisabledPairs:
    """Return the pairs of links that the text of an SRDF leaves out; as :func:`read_srdf`."""
    return _pairs(_parsed(text), frozenset(links))


def read_group_states(path_or_text: str | Path) -> tuple[GroupState, ...]:
    """
    Return the named poses of an SRDF, in its order, as they stand there.

    Parameters
    ----------
    path_or_text : str or Path
        As of :func:`read_srdf`.

    Raises
    ------
    UrdfError
        If the file cannot be read or is not an SRDF.

    """
    return _states(_robot(path_or_text))


def parse_group_states(text: str) -> tuple[GroupState, ...]:
    """Return the named poses in the text of an SRDF; as :func:`read_group_states`."""
    return _states(_parsed(text))


def _robot(path_or_text: str | Path) -> Element:
    text = str(path_or_text).lstrip(SRDF_BLANKS)
    return _parsed(text) if text.startswith('<') \
        else _checked(_read(Path(path_or_text).expanduser()))


def _parsed(text: str) -> Element:
    return _checked(text.lstrip(SRDF_BLANKS).encode('utf-8', errors='replace'))


def _checked(data: bytes) -> Element:
    """Return the root element of an SRDF."""
    if len(data) > MAX_BYTES:
        raise UrdfError(f'the SRDF is larger than {MAX_BYTES // 2**20} MiB')
    if not data.strip():
        raise UrdfError('the SRDF is empty; give the text of a semantic robot description')
    robot = read_elements(data, 'SRDF')
    if local_name(robot) != 'robot':
        raise UrdfError(f'the root element is <{quote(robot.tag)[1:-1]}>, expected <robot>: this '
                        'is not an SRDF')
    if any(element.tag.startswith('xacro:') for element in robot.iter()):
        raise UrdfError('this is xacro, not an SRDF: expand it first (xacro FILE > robot.srdf)')
    if any(local_name(element) in ('link', 'joint') for element in robot):
        raise UrdfError('this is a URDF, not an SRDF; the SRDF is the file beside it whose name '
                        'ends with .srdf')
    return robot


def _read(path: Path) -> bytes:
    try:
        with path.open('rb') as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL character
        raise UrdfError(f'cannot read the SRDF file {quote(path, 300)}: '
                        f'{getattr(error, "strerror", None) or error}. '
                        'Give the path of an existing .srdf file') from None


def _pairs(robot: Element, links: frozenset[str]) -> DisabledPairs:
    reasons: dict[frozenset[str], str] = {}
    notes: dict[str, None] = {}
    for element in robot:
        rule, line = local_name(element), element.get(LINE_ATTRIBUTE)
        if rule in IGNORED_RULES:
            notes[f'<{rule}> in line {line} of the SRDF has no effect: only '
                  '<disable_collisions> is read'] = None
        if rule != 'disable_collisions':
            continue
        pair = tuple(element.get(key, '').strip() for key in ('link1', 'link2'))
        if not all(pair):
            raise UrdfError(f'<disable_collisions> in line {line} of the SRDF names '
                            f'{quote(pair[0])} and {quote(pair[1])}; it needs two links, link1 '
                            'and link2')
        if pair[0] == pair[1]:
            notes[f'<disable_collisions> in line {line} of the SRDF names {quote(pair[0])} '
                  'twice and has no effect'] = None
            continue
        unknown = [link for link in pair if links and link not in links]
        if unknown:
            notes[f'<disable_collisions> in line {line} of the SRDF names the link '
                  f'{quote(unknown[0])}, which is not in the URDF, and has no effect'] = None
            continue
        reasons[frozenset(pair)] = element.get('reason', '')
    return DisabledPairs(reasons, tuple(notes))


def _states(robot: Element) -> tuple[GroupState, ...]:
    return tuple(GroupState(
        element.get('name', '').strip(), element.get('group', '').strip(),
        {joint.get('name', '').strip(): _number(joint.get('value', ''))
         for joint in element if local_name(joint) == 'joint'},
        int(element.get(LINE_ATTRIBUTE, 0)))
        for element in robot if local_name(element) == 'group_state')


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
