# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The XML elements of a robot description, with what the versions of URDF say about them.

expat reads the bytes: no document type, so no entities, and a limited size, number and depth of
elements. Leftovers of xacro are dropped. What a later version of URDF has is ignored in a file of
an earlier one, as urdfdom 6 does, with a note.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np

from ik_node.base.errors import UrdfError
from ik_node.base.se3 import rotation_from_quaternion, rotation_from_rpy
from ik_node.base.text import quote

MAX_BYTES = 16 * 2**20
MAX_ELEMENTS = 20_000
MAX_DEPTH = 64
MAX_NAME_LENGTH = 1_000
MAX_MAGNITUDE = 1e9  # larger lengths, angles and factors are refused
LINE_ATTRIBUTE = ' line'  # the blank cannot be part of a name in XML

TINY_QUATERNION = 1e-9   # of a length that says no direction

FIRST_VERSION = (1, 0)
SHAPES_VERSION = (1, 1)  # has quat_xyzw and capsules
LIMITS_VERSION = (1, 2)  # has acceleration, deceleration and jerk; also the newest
XACRO_ADVICE = ('this is xacro, not URDF; expand it first (xacro FILE > robot.urdf, or let the '
                'launch file do it)')
DEFINITIONS_OF_XACRO = ('xacro:property', 'xacro:arg', 'xacro:macro')


class XacroError(UrdfError):
    """A robot description is xacro, which has to be expanded first."""


def text_bytes(text: str | bytes) -> bytes:
    """Return a robot description as bytes; refuse one that is empty or too large."""
    if isinstance(text, str):
        # The declared encoding is that of the original bytes, not of this string.
        text = re.sub(r'^\s*<\?xml[^>]*\?>', '', text.lstrip('\ufeff'), count=1)
        text = text.encode('utf-8', errors='surrogatepass')
    if len(text) > MAX_BYTES:
        raise UrdfError(f'the URDF is larger than {MAX_BYTES // 2**20} MiB; '
                        'keep only the robot in it (meshes belong in separate files)')
    if not text.strip():
        raise UrdfError('the URDF is empty; give the text of a robot description')
    return text


def robot_elements(data: bytes) -> tuple[ElementTree.Element, list[str]]:
    """Return the root element of a URDF, and what was passed over."""
    robot = read_elements(data)
    tag = local_name(robot)
    if tag != 'robot':
        what = 'an SDF file; convert it to URDF' if tag == 'sdf' else 'not a robot description'
        raise UrdfError(f'the root element is <{tag}>, expected <robot>: this is {what}')
    notes: list[str] = []
    _drop_definitions(robot, notes)
    if version_of(robot, notes) < SHAPES_VERSION:
        _drop_later_shapes(robot, notes)
    notes += [f'line {origin.get(LINE_ATTRIBUTE)} has the quat_xyzw {origin.get("quat_xyzw")}, '
              'taken as no rotation, as other programs do'
              for origin in robot.iter()
              if {*origin.get('quat_xyzw', '1').split()} <= {'0', '0.0'}]
    return robot, notes


def read_elements(data: bytes, kind: str = 'URDF') -> ElementTree.Element:
    """
    Return the root element; refuse malformed or oversized XML and document types.

    Namespace prefixes stay part of the names.  Each element has its line number as an
    attribute (LINE_ATTRIBUTE).  Errors call the text by its kind, 'URDF' or 'SRDF'.
    """
    builder = ElementTree.TreeBuilder()
    depth = count = 0
    article = 'an' if kind == 'SRDF' else 'a'

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth += 1
        count += 1
        if depth > MAX_DEPTH:
            raise UrdfError(f'the {kind} nests elements deeper than {MAX_DEPTH}')
        if count > MAX_ELEMENTS:
            raise UrdfError(f'the {kind} has more than {MAX_ELEMENTS} elements')
        builder.start(tag, {**attributes, LINE_ATTRIBUTE: str(parser.CurrentLineNumber)})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_args: object) -> None:
        raise UrdfError(f'the {kind} has a document type or entity declaration (<!DOCTYPE ...>), '
                        'which is refused for safety; remove it')

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        advice = 'it is not UTF-8 there, so save it as UTF-8; ' \
            if _is_not_utf8(data, parser.ErrorByteIndex) else ''
        raise UrdfError(f'not {article} {kind}: {expat.ErrorString(error.code)} at line '
                        f'{error.lineno}, column {error.offset + 1}; {advice}the text begins with '
                        f'{quote(data[:60].decode("utf-8", "replace"))}') from None
    except (LookupError, ValueError) as error:
        raise UrdfError(f'not {article} {kind}: its text encoding cannot be read ({error}); '
                        'save it as UTF-8') from None
    return builder.close()


def _is_not_utf8(data: bytes, at: int) -> bool:
    """Return whether a text is no UTF-8 near the byte at which expat gave it up."""
    try:
        data.decode('utf-8')
    except UnicodeDecodeError as error:
        return abs(error.start - at) < 8
    return False


def local_name(element: ElementTree.Element) -> str:
    """Return the name of an element without its namespace prefix."""
    return element.tag.rpartition(':')[2]


# ---- xacro ------------------------------------------------------------------

def _drop_definitions(robot: ElementTree.Element, notes: list[str]) -> None:
    """Drop the definitions of xacro that nothing uses."""
    definitions = [element for element in robot if element.tag in DEFINITIONS_OF_XACRO]
    for element in definitions:
        robot.remove(element)
    values = [(robot, robot.attrib.values())]
    for child in robot:
        if definitions or local_name(child) in ('link', 'joint'):
            values += [(element, (*element.attrib.values(), element.text or ''))
                       for element in child.iter()]
    for element, texts in values:
        found = next((text for text in texts if '${' in text or '$(' in text), None)
        if found is not None:
            raise XacroError(f'<{element.tag}> in line {element.get(LINE_ATTRIBUTE)} contains '
                             f'{quote(found)}: {XACRO_ADVICE}')
    for element in robot.iter():
        if element.tag.startswith('xacro:'):
            raise XacroError(f'there is <{element.tag}>: {XACRO_ADVICE}')
    if definitions:
        names = ', '.join(f'<{tag}>' for tag in dict.fromkeys(each.tag for each in definitions))
        notes.append(f'the URDF has {names}, which nothing in it uses: passed over')


# ---- versions ---------------------------------------------------------------

def version_of(robot: ElementTree.Element, notes: list[str] | None = None) -> tuple[int, int]:
    """Return the version of URDF that a robot description is written in, (1, 0) without one."""
    text = robot.get('version', '1.0').strip()
    numbers = re.match(r'(\d{1,4})(?:\.(\d{1,4}))?', text)
    version = FIRST_VERSION if numbers is None else (int(numbers[1]), int(numbers[2] or 0))
    if notes is not None and not re.fullmatch(r'\d+\.\d+', text):
        notes.append(f'the version of the URDF is {quote(text)}, which robot_state_publisher '
                     f'refuses; it is read as {version[0]}.{version[1]}')
    if version > LIMITS_VERSION:
        raise UrdfError(f'the URDF is of version {text}; versions up to '
                        f'{".".join(map(str, LIMITS_VERSION))} can be read')
    return version


def _drop_later_shapes(robot: ElementTree.Element, notes: list[str]) -> None:
    """Drop the quaternions of a version without them, and say that capsules are not read."""
    for element in robot.iter():
        name = local_name(element)
        if name == 'origin' and element.attrib.pop('quat_xyzw', None) is not None \
                or name == 'capsule':
            what = 'a capsule' if name == 'capsule' else 'quat_xyzw'
            notes.append(f'line {element.get(LINE_ATTRIBUTE)} has {what}, which counts from URDF '
                         '1.1 on: ignored, as other programs do; did you mean '
                         '<robot version="1.1">?')


def placement(origin: ElementTree.Element | None) -> np.ndarray:
    """Return the pose (4, 4) that an origin gives, the identity without one."""
    T = np.eye(4)
    if origin is not None:
        T[:3, 3] = numbers_of(origin.get('xyz', '0 0 0'), 3, 'xyz')
        if 'quat_xyzw' not in origin.attrib:
            T[:3, :3] = rotation_from_rpy(*numbers_of(origin.get('rpy', '0 0 0'), 3, 'rpy'))
        elif 'rpy' in origin.attrib:
            raise ValueError('quat_xyzw and rpy are both given; keep one')
        else:
            quaternion = np.array(numbers_of(origin.get('quat_xyzw'), 4, 'quat_xyzw'))
            if np.linalg.norm(quaternion) > TINY_QUATERNION:
                T[:3, :3] = rotation_from_quaternion(quaternion / np.linalg.norm(quaternion))
    T.setflags(write=False)
    return T


def numbers_of(text: str | None, count: int, what: str) -> tuple[float, ...]:
    """Return the numbers of an attribute."""
    words = (text or '').split()
    numbers: tuple[float, ...] = ()
    if '_' not in (text or ''):
        try:
            numbers = tuple(map(float, words))
        except ValueError:
            pass
    if len(numbers) != count or not all(abs(number) <= MAX_MAGNITUDE for number in numbers):
        raise ValueError(f'{what} needs {count} finite number{"s" * (count > 1)}, got '
                         f'{quote((text or "")[:60])}')
    return numbers
