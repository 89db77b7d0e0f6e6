# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Read URDF text into a checked tree of links and joints.

``urdf_parser_py`` reads the elements.  Before it, expat reads the bytes (no document
type, so no entities; limited size, number and depth of elements), and everything
that kinematics does not need is removed, so that a broken transmission or an unknown
geometry does not matter, and the parser prints nothing.  After it, all numbers, names
and references are checked, because the parser accepts almost anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
import math
from pathlib import Path
import re
from xml.etree import ElementTree
from xml.parsers import expat

from lxml import etree
import numpy as np
from urdf_parser_py.urdf import URDF

from ik_node.errors import UrdfError
from ik_node.model.file_paths import file_of, plain_uri
from ik_node.se3 import rotation_from_rpy
from ik_node.text import printable, quote

MAX_BYTES = 16 * 2**20
MAX_ELEMENTS = 20_000
MAX_DEPTH = 64
MAX_NAME_LENGTH = 1_000
LARGE_OFFSET_M = 1_000.0  # a longer offset suggests that the file is in millimetres
MAX_MAGNITUDE = 1e9  # larger lengths, angles and factors are refused
LINE_ATTRIBUTE = ' line'  # the blank cannot be part of a name in XML


class JointType(str, Enum):
    """Joint types of the URDF standard."""

    REVOLUTE = 'revolute'
    CONTINUOUS = 'continuous'
    PRISMATIC = 'prismatic'
    FIXED = 'fixed'
    FLOATING = 'floating'
    PLANAR = 'planar'


MULTI_DOF_TYPES = (JointType.FLOATING, JointType.PLANAR)  # no single number places them


@dataclass(frozen=True)
class Mimic:
    """``q = multiplier * q_of(joint) + offset`` (rad or m)."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class Joint:
    """
    One joint of the tree.

    Attributes
    ----------
    T_parent_joint : (4, 4) array
        Pose of the joint frame in the parent link's frame at q = 0 (m).
    axis : (3,) array
        Unit axis in the joint frame.
    lower, upper : float
        Limits (rad or m), the tighter of the hard limits and the soft limits of the
        safety controller; infinite for continuous joints.
    velocity : float
        Limit in rad/s or m/s; infinite if the URDF gives none.
    effort : float
        Limit in N m or N; 0 if the URDF gives none.

    """

    name: str
    type: JointType
    parent: str
    child: str
    T_parent_joint: np.ndarray
    axis: np.ndarray
    lower: float
    upper: float
    velocity: float
    effort: float
    mimic: Mimic | None

    @property
    def moves(self) -> bool:
        """Whether the joint can move, by itself or as a mimic joint."""
        return self.type is not JointType.FIXED


@dataclass(frozen=True, eq=False)
class Tree:
    """
    A checked URDF: one root, no loop, each link with at most one parent.

    Attributes
    ----------
    joints : tuple of Joint
        Each joint comes after its parent joint.
    notes : tuple of str
        Assumptions and oddities, for the log.
    source : bytes
        The URDF text, from which the shapes can be read.

    """

    name: str
    root: str
    links: tuple[str, ...]
    joints: tuple[Joint, ...]
    notes: tuple[str, ...]
    source: bytes

    def joint_above(self, link: str) -> Joint | None:
        """Return the joint whose child is `link`; None at the root."""
        return self._above.get(link)

    def joints_below(self, link: str) -> list[Joint]:
        """Return the joints whose parent is `link`."""
        return list(self._below.get(link, ()))

    def path_from_root(self, link: str) -> list[Joint]:
        """Return the joints from the root to `link`, in this order."""
        path = []
        while (joint := self._above.get(link)) is not None:
            path.append(joint)
            link = joint.parent
        return path[::-1]

    @cached_property
    def _above(self) -> dict[str, Joint]:
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def _below(self) -> dict[str, list[Joint]]:
        below: dict[str, list[Joint]] = {}
        for joint in self.joints:
            below.setdefault(joint.parent, []).append(joint)
        return below


def leader_of(joint: Joint, by_name: dict[str, Joint]) -> tuple[Joint, float, float]:
    """Return the joint that a mimic joint finally follows, with total factor and offset."""
    factor, offset = 1.0, 0.0
    while joint.mimic is not None:
        offset += factor * joint.mimic.offset
        factor *= joint.mimic.multiplier
        joint = by_name[joint.mimic.joint]
    return joint, factor, offset


def read_urdf(path: str | Path) -> Tree:
    """
    Read a URDF file.

    Parameters
    ----------
    path : str or Path
        A path, ``file:///PATH``, or ``package://NAME/PATH`` for a package in the
        ament index.

    Raises
    ------
    UrdfError
        If the file cannot be read or is not a usable URDF.

    """
    given = plain_uri(str(path))
    try:
        with file_of(given).open('rb') as file:
            data = file.read(MAX_BYTES + 1)
    except LookupError as error:
        raise UrdfError(f'cannot read the URDF file {quote(given, 300)}: '
                        f'{error.args[0]}') from None
    except (OSError, ValueError) as error:  # ValueError: a NUL character
        raise UrdfError(f'cannot read the URDF file {quote(given, 300)}: '
                        f'{getattr(error, "strerror", None) or error}. '
                        'Give the path of an existing .urdf file') from None
    return parse_urdf(data)


def parse_urdf(text: str | bytes) -> Tree:
    """
    Parse URDF text.

    Parameters
    ----------
    text : str or bytes
        The robot description; an encoding declaration is honoured in bytes.

    Raises
    ------
    UrdfError
        Its sentence names the fault and the place.

    """
    data = _to_bytes(text)
    robot = read_elements(data)
    notes: list[str] = []
    model = _read_with_urdf_parser(kinematic_elements(robot))
    links = tuple(link.name for link in model.links)
    joints = [_joint(joint, notes) for joint in model.joints]
    _check_mimics(joints)
    root, ordered = _sort_from_root(links, joints)
    return Tree(model.name, root, links, tuple(ordered), tuple(notes), data)


# ---- before the parser ------------------------------------------------------

def _to_bytes(text: str | bytes) -> bytes:
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
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise UrdfError(f'not {article} {kind}: {expat.ErrorString(error.code)} at line '
                        f'{error.lineno}, column {error.offset + 1}; the text begins with '
                        f'{quote(data[:60].decode("utf-8", "replace"))}') from None
    except (LookupError, ValueError) as error:
        raise UrdfError(f'not {article} {kind}: its text encoding cannot be read ({error}); '
                        'save it as UTF-8') from None
    return builder.close()


def local_name(element: ElementTree.Element) -> str:
    """Return the name of an element without its namespace prefix."""
    return element.tag.rpartition(':')[2]


_KEPT_ATTRIBUTES = {
    'origin': {'xyz': None, 'rpy': None},
    'parent': {'link': None},
    'child': {'link': None},
    'axis': {'xyz': None},
    # The parser requires effort and velocity and reads missing values as 0.
    # Here a missing effort is 0, and a missing velocity is no limit.
    'limit': {'lower': None, 'upper': None, 'effort': '0', 'velocity': 'inf'},
    'mimic': {'joint': None, 'multiplier': '1', 'offset': '0'},
    'safety_controller': {'soft_lower_limit': '-inf', 'soft_upper_limit': 'inf',
                          'k_velocity': '0', 'k_position': '0'},
}


def kinematic_elements(robot: ElementTree.Element) -> etree._Element:
    """Return a copy that has only names, joints and their kinematic elements."""
    tag = local_name(robot)
    if tag != 'robot':
        what = 'an SDF file; convert it to URDF' if tag == 'sdf' else 'not a robot description'
        raise UrdfError(f'the root element is <{tag}>, expected <robot>: this is {what}')
    if any(element.tag.startswith('xacro:') for element in robot.iter()):
        raise UrdfError('this is xacro, not URDF: expand it first '
                        '(xacro FILE > robot.urdf, or let the launch file do it)')
    stripped = etree.Element('robot', name=_name(robot, 'robot'))
    seen: dict[str, set[str]] = {'link': set(), 'joint': set()}
    for element in robot:
        kind = local_name(element)
        if kind not in seen:
            continue
        name = _name(element, kind)
        if name in seen[kind]:
            raise UrdfError(f'two {kind}s have the name {quote(name)}; names must be unique')
        seen[kind].add(name)
        copy = etree.SubElement(stripped, kind, name=name)
        if kind == 'joint':
            _strip_joint(element, copy, name)
    if not seen['link']:
        raise UrdfError('the URDF has no links; give the whole robot description')
    if not seen['joint']:
        raise UrdfError('the URDF has no joints, so nothing can move')
    return stripped


def _strip_joint(element: ElementTree.Element, copy: etree._Element, name: str) -> None:
    copy.set('type', _attribute(element, 'type', f'joint {quote(name)}'))
    done = set()
    for child in element:
        tag = local_name(child)
        if tag not in _KEPT_ATTRIBUTES or (tag == 'axis' and child.get('xyz') is None):
            continue
        where = f'<{tag}> of joint {quote(name)}'
        if tag in done:
            raise UrdfError(f'joint {quote(name)} has two <{tag}> elements; keep one')
        done.add(tag)
        unknown = sorted(set(child.attrib) & {'quat_xyzw', 'quat', 'quaternion'})
        if tag == 'origin' and unknown:
            raise UrdfError(f'{where} gives its rotation as {unknown[0]}, which is not standard '
                            'and most tools drop; use rpy')
        kept = etree.SubElement(copy, tag)
        for key, default in _KEPT_ATTRIBUTES[tag].items():
            value = child.get(key, default)
            if value is not None:
                if key not in ('link', 'joint'):
                    _check_numbers(value, 3 if key in ('xyz', 'rpy') else 1,
                                   f'{key} of {where}')
                kept.set(key, _plain(value, f'{key} of {where}'))
    for tag in ('parent', 'child'):
        if tag not in done:
            raise UrdfError(f'joint {quote(name)} has no <{tag} link="..."/>')
        _attribute(copy.find(tag), 'link', f'<{tag}> of joint {quote(name)}')
    if 'mimic' in done:
        _attribute(copy.find('mimic'), 'joint', f'<mimic> of joint {quote(name)}')


def _name(element: ElementTree.Element, kind: str) -> str:
    return _attribute(element, 'name',
                      f'the <{kind}> element in line {element.get(LINE_ATTRIBUTE)}')


def _attribute(element: ElementTree.Element, key: str, where: str) -> str:
    value = element.get(key)
    if not value or not value.strip():
        raise UrdfError(f'{where} has no {key}')
    return _plain(value, where)


def _check_numbers(text: str, count: int, where: str) -> None:
    _plain(text, where)
    words = text.split()
    if len(words) != count:
        raise UrdfError(f'{where} needs {count} number{"s" * (count > 1)}, got {quote(text)}')
    for word in words:
        try:
            if '_' in word:
                raise ValueError
            float(word)
        except ValueError:
            raise UrdfError(f'{where} has {quote(word)}, which is not a number') from None


def _plain(value: str, where: str) -> str:
    if len(value) > MAX_NAME_LENGTH:
        raise UrdfError(f'{where} has a value of {len(value)} characters; '
                        f'at most {MAX_NAME_LENGTH} are allowed')
    if '${' in value or '$(' in value:
        raise UrdfError(f'{where} contains {quote(value)}: this is xacro, not URDF; expand it '
                        'first (xacro FILE > robot.urdf, or let the launch file do it)')
    return value


# ---- the parser -------------------------------------------------------------

def _read_with_urdf_parser(robot: etree._Element) -> URDF:
    try:
        return URDF.from_xml_string(etree.tostring(robot))
    except Exception as error:  # noqa: BLE001 - the parser raises bare Exception and asserts
        where = str(getattr(error, 'path', '')).replace('//', '/')
        cause = str(getattr(error, 'e', error)).strip() or type(error).__name__
        raise UrdfError(f'not a usable URDF: {printable(cause.splitlines()[0], 500)}'
                        + (f', in {quote(where, 300)}' if where else '')) from None


# ---- after the parser -------------------------------------------------------

def _numbers(values: list[float] | None, default: tuple[float, ...], where: str) -> np.ndarray:
    array = np.array(default if values is None else values, dtype=float)
    if not (np.abs(array) <= MAX_MAGNITUDE).all():
        raise UrdfError(f'{where} is not finite or absurdly large: {array.tolist()}')
    return array


def _joint(joint: object, notes: list[str]) -> Joint:
    name = quote(joint.name)
    try:
        kind = JointType(joint.type)
    except ValueError:
        raise UrdfError(f'joint {name} has the unknown type {quote(joint.type)}; the types are '
                        + ', '.join(kind.value for kind in JointType)) from None
    origin = joint.origin
    xyz = _numbers(origin and origin.xyz, (0, 0, 0), f'the origin xyz of joint {name}')
    rpy = _numbers(origin and origin.rpy, (0, 0, 0), f'the origin rpy of joint {name}')
    if np.abs(xyz).max() > LARGE_OFFSET_M:
        notes.append(f'joint {name} has an offset of {np.abs(xyz).max():g} m; '
                     'are its lengths in millimetres?')
    T_parent_joint = np.eye(4)
    T_parent_joint[:3, :3] = rotation_from_rpy(*rpy)
    T_parent_joint[:3, 3] = xyz
    T_parent_joint.setflags(write=False)
    axis = _axis(joint, kind, name, notes)
    lower, upper, velocity, effort = _limits(joint, kind, name, notes)
    mimic = None
    if joint.mimic is not None:
        mimic = Mimic(joint.mimic.joint, float(joint.mimic.multiplier), float(joint.mimic.offset))
        if not (abs(mimic.multiplier) <= MAX_MAGNITUDE and abs(mimic.offset) <= MAX_MAGNITUDE):
            raise UrdfError(f'the mimic factor or offset of joint {name} is not finite or '
                            f'absurdly large: {mimic.multiplier:g}, {mimic.offset:g}')
    return Joint(joint.name, kind, joint.parent, joint.child, T_parent_joint, axis,
                 lower, upper, velocity, effort, mimic)


def _axis(joint: object, kind: JointType, name: str, notes: list[str]) -> np.ndarray:
    if kind in (JointType.FIXED, JointType.FLOATING):
        return np.array([1.0, 0.0, 0.0])
    if joint.axis is None:
        notes.append(f'joint {name} has no axis; the standard says 1 0 0')
    axis = _numbers(joint.axis, (1, 0, 0), f'the axis of joint {name}')
    length = np.linalg.norm(axis)
    if length < 1e-9:
        raise UrdfError(f'the axis of joint {name} is zero; give a direction, e.g. 0 0 1')
    if abs(length - 1.0) > 1e-6:
        notes.append(f'the axis of joint {name} has length {length:.6g}; it is normalised')
    axis /= length
    axis.setflags(write=False)
    return axis


def _limits(joint: object, kind: JointType, name: str,
            notes: list[str]) -> tuple[float, float, float, float]:
    bounded = kind in (JointType.REVOLUTE, JointType.PRISMATIC)
    limit = joint.limit
    if limit is None:
        if bounded and joint.mimic is None:
            raise UrdfError(f'joint {name} is {kind.value} and has no <limit>; add <limit lower='
                            '"..." upper="..." effort="..." velocity="..."/>'
                            + (' or make it continuous' if kind is JointType.REVOLUTE else ''))
        return -math.inf, math.inf, math.inf, 0.0
    lower, upper = (limit.lower, limit.upper) if bounded else (-math.inf, math.inf)
    velocity, effort = limit.velocity, limit.effort
    if bounded:
        if not (abs(lower) <= MAX_MAGNITUDE and abs(upper) <= MAX_MAGNITUDE):
            raise UrdfError(f'the limits of joint {name} are not finite or absurdly large: '
                            f'[{lower}, {upper}]')
        if lower > upper:
            raise UrdfError(f'joint {name} has lower limit {lower:g} above upper limit {upper:g}; '
                            'swap them')
        lower, upper = _cut_with_soft_limits(joint, name, lower, upper)
        if lower == upper:
            notes.append(f'joint {name} cannot move: both its limits are {lower:g}')
        if kind is JointType.REVOLUTE and upper - lower > 4 * math.pi + 0.01:
            notes.append(f'joint {name} turns from {lower:g} to {upper:g} rad; '
                         'are its limits in degrees?')
    if math.isnan(velocity) or velocity < 0:
        raise UrdfError(f'the velocity limit of joint {name} is {velocity:g}; it must be positive')
    if velocity == 0:
        if bounded or kind is JointType.CONTINUOUS:
            notes.append(f'the velocity limit of joint {name} is 0, taken as not given')
        velocity = math.inf
    if math.isnan(effort) or effort < 0:
        raise UrdfError(f'the effort limit of joint {name} is {effort:g}; '
                        'it must not be negative')
    return lower, upper, velocity, effort


def _cut_with_soft_limits(joint: object, name: str,
                          lower: float, upper: float) -> tuple[float, float]:
    safety = joint.safety_controller
    if safety is None:
        return lower, upper
    soft_lower, soft_upper = safety.soft_lower_limit, safety.soft_upper_limit
    if math.isnan(soft_lower) or math.isnan(soft_upper):
        raise UrdfError(f'a soft limit of joint {name} is not a number')
    both = max(lower, soft_lower), min(upper, soft_upper)
    if both[0] > both[1]:
        raise UrdfError(f'the soft limits of joint {name} [{soft_lower:g}, {soft_upper:g}] do not '
                        f'meet its limits [{lower:g}, {upper:g}]')
    return both


def _check_mimics(joints: list[Joint]) -> None:
    by_name = {joint.name: joint for joint in joints}
    for joint in joints:
        seen = [joint.name]
        here = joint
        while here.mimic is not None:
            leader = by_name.get(here.mimic.joint)
            if leader is None:
                raise UrdfError(f'joint {quote(here.name)} mimics {quote(here.mimic.joint)}, '
                                'which does not exist')
            if leader.type is JointType.FIXED:
                raise UrdfError(f'joint {quote(here.name)} mimics the fixed joint '
                                f'{quote(leader.name)}')
            if leader.name in seen:
                raise UrdfError('joints mimic each other in a loop: '
                                + ' -> '.join(map(quote, [*seen, leader.name])))
            seen.append(leader.name)
            here = leader


def _sort_from_root(links: tuple[str, ...], joints: list[Joint]) -> tuple[str, list[Joint]]:
    """Check that links and joints form one tree; return its root and the joints in order."""
    known = set(links)
    above: dict[str, Joint] = {}
    below: dict[str, list[Joint]] = {link: [] for link in links}
    for joint in joints:
        for role, link in (('parent', joint.parent), ('child', joint.child)):
            if link not in known:
                raise UrdfError(f'joint {quote(joint.name)} names the {role} link {quote(link)}, '
                                'which does not exist')
        if joint.child in above:
            raise UrdfError(f'link {quote(joint.child)} has two parents, by the joints '
                            f'{quote(above[joint.child].name)} and {quote(joint.name)}; '
                            'a URDF is a tree')
        above[joint.child] = joint
        below[joint.parent].append(joint)
    roots = [link for link in links if link not in above]
    if not roots:
        raise UrdfError('the links form a loop, so there is no root: '
                        + ', '.join(map(quote, links[:8])))
    if len(roots) > 1:
        raise UrdfError(f'the URDF has {len(roots)} roots: {", ".join(map(quote, roots[:8]))}; '
                        'join them by fixed joints')
    ordered = list(_top_down(roots[0], below))
    if len(ordered) < len(joints):
        reached = {roots[0], *(joint.child for joint in ordered)}
        loop = [link for link in links if link not in reached]
        raise UrdfError('these links form a loop that the root does not reach: '
                        + ', '.join(map(quote, loop[:8])))
    return roots[0], ordered


def _top_down(root: str, below: dict[str, list[Joint]]) -> Iterator[Joint]:
    waiting = list(reversed(below[root]))
    while waiting:
        joint = waiting.pop()
        yield joint
        waiting.extend(reversed(below[joint.child]))
