# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Read URDF text into a checked tree of links and joints.

``urdf_parser_py`` reads the joints, from a copy of the elements that has nothing but what
kinematics needs, so that a broken transmission does not matter and the parser prints nothing.  All
numbers, names and references are checked, because the parser accepts almost anything.  A fault of
one joint is kept with it, and raised where an arm needs that joint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
import math
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from lxml import etree
import numpy as np
from urdf_parser_py.urdf import URDF

from ik_node.base.errors import UrdfError
from ik_node.base.text import printable, quote
from ik_node.model.description.elements import (
    LIMITS_VERSION,
    LINE_ATTRIBUTE,
    local_name,
    MAX_BYTES,
    MAX_MAGNITUDE,
    MAX_NAME_LENGTH,
    numbers_of,
    placement,
    robot_elements,
    text_bytes,
    version_of,
    XacroError,
)
from ik_node.model.description.file_paths import file_of, plain_uri
from ik_node.model.description.xacro_file import xacro_text

LARGE_OFFSET_M = 1_000.0  # a longer offset suggests that the file is in millimetres
X_AXIS = np.array([1.0, 0.0, 0.0])
NO_LIMITS = -math.inf, math.inf, math.inf, 0.0  # lower, upper, velocity, effort
DEGREES_STEP = 0.5        # limits of more than two turns that are multiples of it may be degrees


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
    """One joint of the tree."""

    name: str
    type: JointType
    parent: str
    child: str
    T_parent_joint: np.ndarray
    """(4, 4), pose of the joint frame in the parent link's frame at q = 0 (m)."""
    axis: np.ndarray
    """(3,), unit axis in the joint frame."""
    lower: float
    """Lower limit (rad or m), the tighter of the hard limit and the soft limit of the safety
    controller; infinite for continuous joints."""
    upper: float
    """Upper limit, as `lower`."""
    velocity: float
    """Limit in rad/s or m/s; infinite if the URDF gives none."""
    effort: float
    """Limit in N m or N; 0 if the URDF gives none."""
    acceleration: float
    """Limit per s^2 (URDF 1.2), the smaller one of acceleration and deceleration; infinite if the
    URDF gives none."""
    jerk: float
    """Limit per s^3 (URDF 1.2); infinite if the URDF gives none."""
    mimic: Mimic | None
    fault: str = ''
    """Why an arm cannot have this joint; empty if it can."""
    placed: bool = True
    """Whether it is known how the child link stands to the parent link at a position."""

    @property
    def moves(self) -> bool:
        """Whether the joint can move, by itself or as a mimic joint."""
        return self.type is not JointType.FIXED


@dataclass(frozen=True, eq=False)
class Tree:
    """A checked URDF: one root, no loop, each link with at most one parent."""

    name: str
    root: str
    links: tuple[str, ...]
    joints: tuple[Joint, ...]
    """Each joint comes after its parent joint."""
    notes: tuple[str, ...]
    """Assumptions and oddities, for the log."""
    source: bytes
    """The URDF text, from which the shapes can be read."""
    folder: Path | None = None
    """Where the file is, beside which there may be meshes; None if it came as text."""

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


def leader_of(joint: Joint, by_name: Mapping[str, Joint]) -> tuple[Joint, float, float]:
    """Return the joint that a mimic joint finally follows, with total factor and offset."""
    factor, offset = 1.0, 0.0
    while joint.mimic is not None:
        offset += factor * joint.mimic.offset
        factor *= joint.mimic.multiplier
        joint = by_name[joint.mimic.joint]
    return joint, factor, offset


def require_usable(joints: Iterable[Joint], by_name: Mapping[str, Joint]) -> None:
    """
    Refuse joints that an arm cannot have, or whose leaders it cannot have.

    Raises
    ------
    UrdfError
        With the fault of the first.

    """
    for joint in joints:
        for needed in (joint, leader_of(joint, by_name)[0]):
            if needed.fault:
                raise UrdfError(needed.fault)


def read_urdf(path: str | Path, expand: bool = True) -> Tree:
    """
    Read a URDF file; one that is xacro is expanded, which runs what it says, if that is wanted.

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
        path = file_of(given)
        with path.open('rb') as file:
            data = file.read(MAX_BYTES + 1)
    except LookupError as error:
        raise UrdfError(f'cannot read the URDF file {quote(given, 300)}: '
                        f'{error.args[0]}') from None
    except (OSError, ValueError) as error:  # ValueError: a NUL character
        raise UrdfError(f'cannot read the URDF file {quote(given, 300)}: '
                        f'{getattr(error, "strerror", None) or error}. '
                        'Give the path of an existing .urdf file') from None
    try:
        return parse_urdf(data, path.parent)
    except XacroError:
        if not expand:
            raise
        return parse_urdf(xacro_text(path, {}), path.parent)


def parse_urdf(text: str | bytes, folder: Path | None = None) -> Tree:
    """
    Parse URDF text.

    Parameters
    ----------
    text : str or bytes
        The robot description; an encoding declaration is honoured in bytes.
    folder : Path, optional
        Where it is from, beside which there may be meshes.

    Raises
    ------
    UrdfError
        Its sentence names the fault and the place.

    """
    data = text_bytes(text)
    robot, notes = robot_elements(data)
    stripped, read = _kinematic_elements(robot, version_of(robot) >= LIMITS_VERSION)
    model = _read_with_urdf_parser(stripped)
    links = tuple(link.name for link in model.links)
    joints = [_joint(joint, read[joint.name], notes) for joint in model.joints]
    joints = _checked_mimics(joints)
    root, ordered = _sort_from_root(links, joints)
    notes += [f'{joint.fault}; this does not matter where the arm has no need of the joint'
              for joint in ordered if joint.fault]
    return Tree(model.name, root, links, tuple(ordered), tuple(notes), data,
                None if folder is None else folder.absolute())


# ---- before the parser ------------------------------------------------------

class _ReadJoint(NamedTuple):
    """A joint as it is read without the parser, which reads the rest if the joint is placed."""

    kind: JointType
    T_parent_joint: np.ndarray
    rates: dict[str, float]
    fault: str
    placed: bool


_KEPT_ATTRIBUTES = {
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
_RATE_KEYS = ('acceleration', 'deceleration', 'jerk')


def _kinematic_elements(robot: ElementTree.Element,
                        has_rates: bool) -> tuple[etree._Element, dict[str, _ReadJoint]]:
    """Return a copy of the names and the kinematic elements, and what is read without it."""
    stripped = etree.Element('robot', name=_name(robot, 'robot'))
    read: dict[str, _ReadJoint] = {}
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
            read[name] = _strip_joint(element, copy, quote(name), has_rates)
    if not seen['link']:
        raise UrdfError('the URDF has no links; give the whole robot description')
    if not seen['joint']:
        raise UrdfError('the URDF has no joints, so nothing can move')
    return stripped, read


def _strip_joint(element: ElementTree.Element, copy: etree._Element, name: str,
                 has_rates: bool) -> _ReadJoint:
    """Copy what kinematics needs of a joint; of one with a fault only its ends, as if fixed."""
    parts: dict[str, ElementTree.Element] = {}
    twice = ''
    for child in element:
        tag = local_name(child)
        if parts.setdefault(tag, child) is not child and tag in (*_KEPT_ATTRIBUTES, 'origin'):
            twice = tag
    for tag in ('parent', 'child'):
        if tag not in parts:
            raise UrdfError(f'joint {name} has no <{tag} link="..."/>')
        etree.SubElement(copy, tag, link=_attribute(parts[tag], 'link',
                                                    f'<{tag}> of joint {name}'))
    if twice in ('parent', 'child'):
        raise UrdfError(f'joint {name} has two <{twice}> elements; keep one')
    kind = JointType.REVOLUTE
    try:
        kind = _joint_type(element, name)
        T = _origin(parts.get('origin'), name)
        copied = [_copied(parts[tag], f'<{tag}> of joint {name}') for tag in _KEPT_ATTRIBUTES
                  if tag in parts and tag not in ('parent', 'child')]
    except UrdfError as error:
        copy.set('type', JointType.FIXED.value)
        return _ReadJoint(kind, np.eye(4), {}, str(error), False)
    copy.set('type', kind.value)
    copy.extend(each for each in copied if each is not None)
    fault, rates = f'joint {name} has two <{twice}> elements; keep one' if twice else '', {}
    try:
        rates = _rates(parts.get('limit'), kind, name) if has_rates else {}
    except UrdfError as error:
        fault = str(error)
    return _ReadJoint(kind, T, rates, fault, True)


def _joint_type(element: ElementTree.Element, name: str) -> JointType:
    text = _attribute(element, 'type', f'joint {name}')
    try:
        return JointType(text)
    except ValueError:
        raise UrdfError(f'joint {name} has the unknown type {quote(text)}; the types are '
                        + ', '.join(kind.value for kind in JointType)) from None


def _origin(origin: ElementTree.Element | None, name: str) -> np.ndarray:
    for key, value in ({} if origin is None else origin.attrib).items():
        _plain(value, f'{key} of <origin> of joint {name}')
        if key in ('quat', 'quaternion'):
            raise UrdfError(f'<origin> of joint {name} gives its rotation as {key}, which is not '
                            'standard and most tools drop; use rpy, or quat_xyzw in URDF 1.1')
    try:
        return placement(origin)
    except ValueError as error:
        raise UrdfError(f'<origin> of joint {name} is not usable: {error}') from None


def _copied(child: ElementTree.Element, where: str) -> etree._Element | None:
    """Return a copy of an element with the attributes that kinematics needs, which it checks."""
    tag = local_name(child)
    if tag == 'axis' and child.get('xyz') is None:
        return None
    copy = etree.Element(tag)
    for key, default in _KEPT_ATTRIBUTES[tag].items():
        value = child.get(key, default)
        if value is None:
            continue
        if key != 'joint':
            _check_numbers(value, 3 if key == 'xyz' else 1, f'{key} of {where}')
        copy.set(key, _plain(value, f'{key} of {where}'))
    if tag == 'mimic':
        _attribute(copy, 'joint', where)
    return copy


def _rates(limit: ElementTree.Element | None, kind: JointType, name: str) -> dict[str, float]:
    """Return the limits of acceleration, deceleration, jerk and effort that URDF 1.2 has."""
    if limit is None:
        return {}
    missing = [key for key in ('lower', 'upper') if key not in limit.attrib]
    if missing and kind in (JointType.REVOLUTE, JointType.PRISMATIC):
        raise UrdfError(f'joint {name} is {kind.value} and its <limit> has no '
                        f'{" and no ".join(missing)}; URDF 1.2 has no default for them')
    rates = {}
    try:
        for key in _RATE_KEYS:
            if limit.get(key, 'inf').strip().lstrip('+') not in ('inf', 'infinity'):
                (rates[key],) = numbers_of(limit.get(key), 1, key)
    except ValueError as error:
        raise UrdfError(f'<limit> of joint {name} is not usable: {error}') from None
    for key, rate in rates.items():
        if not rate > 0.0:
            raise UrdfError(f'the {key} limit of joint {name} is {rate:g}; it must be positive')
    return {'effort': math.inf, **rates} if 'effort' not in limit.attrib else rates


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

def _joint(joint: object, read: _ReadJoint, notes: list[str]) -> Joint:
    name, kind = quote(joint.name), read.kind
    fault, placed, axis, mimic = read.fault, read.placed, X_AXIS, None
    lower, upper, velocity, effort = NO_LIMITS
    offset = np.abs(read.T_parent_joint[:3, 3]).max()
    if offset > LARGE_OFFSET_M:
        notes.append(f'joint {name} has an offset of {offset:g} m; are its lengths in '
                     'millimetres?')
    if placed:
        try:
            axis = _axis(joint, kind, name, notes)
            mimic = _mimic(joint, name)
        except UrdfError as error:
            fault, placed = str(error), False
    if placed:
        try:
            lower, upper, velocity, effort = _limits(joint, kind, name, notes)
        except UrdfError as error:
            fault = str(error)
    rates = read.rates
    accelerations = [rates.get(key, math.inf) for key in ('acceleration', 'deceleration')]
    if accelerations[0] != accelerations[1] and kind is not JointType.FIXED:
        notes.append(f'joint {name} has the limits {accelerations[0]:g} of acceleration and '
                     f'{accelerations[1]:g} of deceleration; the smaller one is kept in both')
    return Joint(joint.name, kind, joint.parent, joint.child, read.T_parent_joint, axis,
                 lower, upper, velocity, rates.get('effort', effort), min(accelerations),
                 rates.get('jerk', math.inf), mimic, fault, placed)


def _mimic(joint: object, name: str) -> Mimic | None:
    if joint.mimic is None:
        return None
    mimic = Mimic(joint.mimic.joint, float(joint.mimic.multiplier), float(joint.mimic.offset))
    if not (abs(mimic.multiplier) <= MAX_MAGNITUDE and abs(mimic.offset) <= MAX_MAGNITUDE):
        raise UrdfError(f'the mimic factor or offset of joint {name} is not finite or '
                        f'absurdly large: {mimic.multiplier:g}, {mimic.offset:g}')
    return mimic


def _axis(joint: object, kind: JointType, name: str, notes: list[str]) -> np.ndarray:
    if kind in (JointType.FIXED, JointType.FLOATING):
        return X_AXIS
    if joint.axis is None:
        notes.append(f'joint {name} has no axis; the standard says 1 0 0')
    axis = np.array(X_AXIS if joint.axis is None else joint.axis, dtype=float)
    if not (np.abs(axis) <= MAX_MAGNITUDE).all():
        raise UrdfError(f'the axis of joint {name} is not finite or absurdly large: '
                        f'{axis.tolist()}')
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
        return NO_LIMITS
    lower, upper = (limit.lower, limit.upper) if bounded else (-math.inf, math.inf)
    velocity, effort = limit.velocity, limit.effort
    if kind is JointType.CONTINUOUS and (limit.lower or limit.upper):
        notes.append(f'joint {name} is continuous, so its limits {limit.lower:g} and '
                     f'{limit.upper:g} are ignored, as other programs do; if it does not turn '
                     'without end, make it revolute')
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
        if kind is JointType.REVOLUTE and upper - lower > 4 * math.pi + 0.01 \
                and lower % DEGREES_STEP == upper % DEGREES_STEP == 0.0:
            notes.append(f'joint {name} turns from {lower:g} to {upper:g} rad; '
                         'are its limits in degrees?')
    if math.isnan(velocity) or velocity < 0:
        raise UrdfError(f'the velocity limit of joint {name} is {velocity:g}; it must be positive')
    if velocity == 0:
        if bounded or kind is JointType.CONTINUOUS:
            notes.append(f'the velocity limit of joint {name} is 0, taken as not given')
        velocity = math.inf
    if math.isnan(effort) or effort < 0:
        notes.append(f'the effort limit of joint {name} is {effort:g}, taken as not given')
        effort = 0.0
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


def _checked_mimics(joints: list[Joint]) -> list[Joint]:
    """Return the joints; those that follow what they cannot follow have a fault and no leader."""
    by_name = {joint.name: joint for joint in joints}
    faults = {joint.name: fault for joint in joints if (fault := _mimic_fault(joint, by_name))}
    return [replace(joint, mimic=None, fault=joint.fault or faults[joint.name], placed=False)
            if joint.name in faults else joint for joint in joints]


def _mimic_fault(joint: Joint, by_name: dict[str, Joint]) -> str:
    seen = [joint.name]
    here = joint
    while here.mimic is not None:
        leader = by_name.get(here.mimic.joint)
        if leader is None:
            return (f'joint {quote(here.name)} mimics {quote(here.mimic.joint)}, which does not '
                    'exist')
        if leader.type is JointType.FIXED:
            return f'joint {quote(here.name)} mimics the fixed joint {quote(leader.name)}'
        if leader.name in seen:
            return ('joints mimic each other in a loop: '
                    + ' -> '.join(map(quote, [*seen, leader.name])))
        seen.append(leader.name)
        here = leader
    return ''


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
