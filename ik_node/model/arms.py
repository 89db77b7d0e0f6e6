# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Which arms a robot has: their common base, tips, names, and the controllers of their joints.

All of it is found in the URDF where nobody says otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from os.path import commonprefix
import re
from types import MappingProxyType
from typing import Any, NamedTuple

from ik_node.base.errors import ChainError, ParameterError
from ik_node.base.text import quote
from ik_node.model.arm_search import base_on, Candidate, candidates, listed
from ik_node.model.chain import not_in_urdf
from ik_node.model.description.urdf import leader_of, Tree

ARM_SIZES = range(5, 8)  # numbers of joints
# A chain is no arm if a word of its links or joints is one of these.
LEG_WORDS = frozenset(('leg', 'hip', 'thigh', 'knee', 'calf', 'shank', 'shin', 'ankle', 'foot',
                       'toe', 'wheel', 'lleg', 'rleg'))
# Words: of capitals, of small letters, of a capital and small letters, of digits.
WORD = re.compile('[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+')
SIDE_WORD = re.compile('(?P<side>l|left|lft|r|right|rgt)(arm|hand|wrist|gripper)?')
ARM_NAME = re.compile(r'[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*')
RESERVED_NAMES = frozenset(('answers', 'goal_poses', 'halt', 'status', 'stop'))  # of the robot


class GivenArms(NamedTuple):
    """What is said of the arms of a robot; what is empty is found."""

    base_link: str = ''
    tip_links: Sequence[str] = ()
    names: Sequence[str] = ()  # one for each tip
    controllers: Sequence[str] = ()
    # For each controller its joints with blanks between; empty: each moves one arm, in turn.
    controller_joints: Sequence[str] = ()


def given_arms(parameters: Mapping[str, Any]) -> GivenArms:
    """Return what parameters of ik_arms say of the arms; [''] is as good as nothing."""
    return GivenArms(parameters.get('base_link') or '', *(
        tuple(filter(None, parameters.get(name) or ()))
        for name in ('tip_links', 'arms', 'controllers', 'controller_joints')))


class RobotArms(NamedTuple):
    """The arms of a robot."""

    base_link: str
    tip_links: tuple[str, ...]
    names: tuple[str, ...]  # one for each tip
    controllers: dict[str, tuple[str, ...]]  # the joints of each
    supposed: dict[str, str]  # the controllers that nobody gave, and the names of their arms


def robot_arms(tree: Tree, given: GivenArms = GivenArms()) -> RobotArms:
    """
    Return the arms of a robot, by what is given and what the URDF shows.

    An arm that is found has five to seven joints, and is no leg; all arms are on the same link.
    Joints that move one tip only, none of which a given controller moves, are those of the
    controller ``<name>_arm_controller``.  The base carries the outermost joints that have a
    controller: what is before it, such as a lift, is moved by others.

    Raises
    ------
    ChainError
        If no tips are given, and there are no two arms, or it is not clear which.
    ParameterError
        If a link does not exist, or names or controllers cannot be.

    """
    for link in (given.base_link, *given.tip_links):
        if link and link not in tree.links:
            raise ParameterError(not_in_urdf('link', link, tree))
    tips = tuple(given.tip_links) or _found_tips(tree, given.base_link)
    names = _checked(given.names, tips) if given.names else arm_names(tree, tips)
    paths = [_moving(tree, given.base_link, tip) for tip in tips]
    movers = Counter(joint for path in paths for joint in path)
    own = [tuple(joint for joint in path if movers[joint] == 1) for path in paths]
    controllers = _given_controllers(given, own)
    driven = {joint for joints in controllers.values() for joint in joints}
    supposed = {default_controller(name): name
                for name, joints in zip(names, own) if joints and not driven & {*joints}}
    for controller, name in supposed.items():
        if controller in controllers or len({default_controller(each) for each in names}) \
                < len(names):
            raise ParameterError(f'{quote(controller)} would be the controller of '
                                 f'{quote(name)} and of other joints; give the controllers')
        controllers[controller] = own[names.index(name)]
    return RobotArms(given.base_link or _base_of(tree, tips, controllers), tips, names,
                     controllers, supposed)


def simulated(tree: Tree, arms: RobotArms,
              home: Mapping[str, float] = MappingProxyType({})) -> dict[str, dict[str, Any]]:
    """
    Return the parameters of a sim_controller for each controller of a robot.

    The first one publishes the joints that none of them moves, too: they stand still.

    Parameters
    ----------
    home : mapping
        Where the joints are at the start, rad or m, by name; without one that has all joints of
        a controller, these begin amid their ranges.

    Raises
    ------
    ParameterError
        If the joints of a controller are no chain.

    """
    parameters: dict[str, dict[str, Any]] = {}
    for controller, names in arms.controllers.items():
        joints = [joint for joint in tree.joints if joint.name in names]
        if not joints:
            raise ParameterError(f'{quote(controller)} has no joint of the robot')
        base, tip = joints[0].parent, next(
            (tip for tip in arms.tip_links if _moving(tree, joints[0].parent, tip) ==
             [joint.name for joint in joints]), joints[-1].child)
        if sorted(_moving(tree, base, tip)) != sorted(names):
            raise ParameterError(f'the joints of {quote(controller)} are no chain, so it cannot '
                                 f'be simulated: {", ".join(map(quote, names))}')
        parameters[controller] = {'base_link': base, 'tip_link': tip,
                                  'fixed_joints': not parameters}
        if {*names} <= home.keys():
            parameters[controller]['initial_positions'] = [
                home[name] for name in _moving(tree, base, tip)]
    moved = [name for names in [*arms.controllers.values()][1:] for name in names]
    if moved:
        next(iter(parameters.values()))['moved_joints'] = moved
    return parameters


def default_controller(name: str) -> str:
    """Return the usual name of the controller of an arm."""
    return f'{name}_controller' if 'arm' in _words(name) else f'{name}_arm_controller'


def arm_names(tree: Tree, tips: Sequence[str]) -> tuple[str, ...]:
    """
    Return the names of arms: left and right, else what differs in the names of their tips.

    The side is told by the name of the tip, or by those of all joints that only this arm has.
    """
    paths = [_moving(tree, '', tip) for tip in tips]
    movers = Counter(joint for path in paths for joint in path)
    sides = [_side(tip) or _side(*(joint for joint in path if movers[joint] == 1))
             for tip, path in zip(tips, paths)]
    if all(sides) and len({*sides}) == len(sides):
        return tuple(sides)
    parts = [tip.split('_') for tip in tips]
    if len(tips) > 1:
        before = len(commonprefix(parts))
        parts = [those[before:] for those in parts]
        after = len(commonprefix([those[::-1] for those in parts]))
        parts = [those[:len(those) - after] for those in parts]
    for names in (['_'.join(those) for those in parts], tips):
        if all(map(_may_be, names)) and len({*names}) == len(tips):
            return tuple(names)
    return tuple(f'arm_{k + 1}' for k in range(len(tips)))


def _side(*names: str) -> str:
    """Return left or right, as all these names say; '' if they do not, or say both."""
    said = {tuple({found['side'][0] for word in _words(name)
                   if (found := SIDE_WORD.fullmatch(word))}) for name in names}
    return {(('l',),): 'left', (('r',),): 'right'}.get(tuple(said), '')


def _words(name: str) -> list[str]:
    return [word.lower() for word in WORD.findall(name)]


def _may_be(name: str) -> bool:
    return ARM_NAME.fullmatch(name) is not None and name not in RESERVED_NAMES


def _checked(names: Sequence[str], tips: Sequence[str]) -> tuple[str, ...]:
    if len(names) != len(tips) or len({*names}) < len(names):
        raise ParameterError(f'arms has {len(names)} names ({len({*names})} different); it needs '
                             f'one for each of {", ".join(map(quote, tips))}')
    for name in names:
        if not _may_be(name):
            raise ParameterError(f'arms has the name {quote(name)}; names are letters, digits and '
                                 'single underscores, begin with a letter, and are none of '
                                 + ', '.join(sorted(RESERVED_NAMES)))
    return tuple(names)


def _found_tips(tree: Tree, base_link: str) -> tuple[str, ...]:
    """Return the tips of the arms in a URDF, in the order of their names."""
    arms = [arm for arm in candidates(tree, base_link)
            if arm.n in ARM_SIZES and not _is_leg(tree, arm)]
    groups: dict[str, list[str]] = {}
    for arm in arms:
        groups.setdefault(_carrier(tree, arm), []).append(arm.tip_link)
    several = [tips for tips in groups.values() if len(tips) > 1]
    if len(several) == 1:
        names = arm_names(tree, several[0])
        return tuple(tip for _, tip in sorted(zip(names, several[0])))
    below = f' below {quote(base_link)}' if base_link else ''
    what = (f'there are {len(several)} groups of arms{below}' if several
            else f'no two arms of {ARM_SIZES[0]} to {ARM_SIZES[-1]} joints on one link were '
            f'found{below}')
    raise ChainError(f'{what}; name the tips of the arms by tip_links'
                     + (', or move the one arm by ik_node' if len(arms) == 1 else '')
                     + (listed(tree, base_link) or '; no joint moves there'))


def _is_leg(tree: Tree, arm: Candidate) -> bool:
    joints = [joint for joint in tree.path_from_root(arm.tip_link) if joint.moves][-arm.n:]
    return any(not LEG_WORDS.isdisjoint(_words(name)) for joint in joints
               for name in (joint.name, joint.child))


def _carrier(tree: Tree, arm: Candidate) -> str:
    """Return the outermost link that is fixed to the link on which an arm is."""
    link = arm.base_link
    while (above := tree.joint_above(link)) is not None and not above.moves:
        link = above.parent
    return link


def _moving(tree: Tree, base_link: str, tip_link: str) -> list[str]:
    """Return the names of the independent joints between two links, from the base on."""
    by_name = {joint.name: joint for joint in tree.joints}
    before = tree.path_from_root(base_link or tree.root)
    path = tree.path_from_root(tip_link)
    between = [joint for joint in before[::-1] if joint not in path] \
        + [joint for joint in path if joint not in before]
    return list(dict.fromkeys(leader_of(joint, by_name)[0].name
                              for joint in between if joint.moves))


def _given_controllers(given: GivenArms,
                       own: Sequence[tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    names = [name.rstrip('/') for name in given.controllers]
    joints = [tuple(text.split()) for text in given.controller_joints]
    if not joints and len(names) == len(own):
        joints = list(own)
    if len(names) != len(joints) or len({*names}) < len(names):
        raise ParameterError(
            f'controllers has {len(names)} names ({len({*names})} different) and '
            f'controller_joints {len(joints)} entries; give each controller once, and for each a '
            'string of its joints with blanks between, or one controller for each arm and no '
            'controller_joints')
    return dict(zip(names, joints))


def _base_of(tree: Tree, tips: Sequence[str], controllers: dict[str, tuple[str, ...]]) -> str:
    """Return the link that carries the outermost joints that have a controller."""
    driven = {joint for joints in controllers.values() for joint in joints}
    ways = []
    for tip in tips:
        path = tree.path_from_root(tip)
        first = next((k for k, joint in enumerate(path) if joint.name in driven), 0)
        ways.append([tree.root, *(joint.child for joint in path[:first])])
    return base_on(tree, commonprefix(ways)[-1])
