# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Find the arm in a tree of links: its base link, its tip link and its joints.

A tree is cut into runs: series of moving joints that end where several joints
branch off, such as the fingers of a gripper.  A run of three to seven joints can
be an arm.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from ik_node.base.errors import ChainError
from ik_node.base.text import quote
from ik_node.model.description.urdf import Joint, JointType, leader_of, MULTI_DOF_TYPES, Tree

FULL_ARM_SIZES = (6, 7)
SMALL_ARM_SIZES = (3, 4, 5)  # taken for an arm only if there is no larger one
MAX_ARM_JOINTS = max(FULL_ARM_SIZES)
# Joints with these words in their names belong to the tool.
TOOL_WORDS = ('grip', 'finger', 'thumb', 'knuckle', 'jaw', 'claw')
PREFERRED_TIPS = ('tool0', 'tcp', 'hand_tcp', 'tool_frame', 'ee_link', 'end_effector',
                  'end_effector_link', 'ee_gripper_link', 'gripper_frame_link', 'grasping_frame',
                  'tool_link', 'hand', 'gripper')
MAX_LISTED_ARMS = 12


class Candidate(NamedTuple):
    """A chain that can be taken for an arm; n is the number of independent joints."""

    base_link: str
    tip_link: str
    n: int

    def __str__(self) -> str:
        return (f'{quote(self.base_link)} -> {quote(self.tip_link)} '
                f'({self.n} joint{"s" * (self.n != 1)})')


class _Run(NamedTuple):
    """A series of moving joints, and the index of the run that carries it (-1: none)."""

    joints: list[Joint]
    carrier: int
    n: int


def find_arm(tree: Tree, base_link: str = '', tip_link: str = '') -> tuple[str, str]:
    """
    Find the base and the tip link of the one arm in a tree.

    An arm has six or seven independent joints in a run without a branch; if there
    is none, three to five.  Joints at the end that are named as a gripper's do not
    count, nor do fingers: runs carried by a run with as many joints or more.  The base
    is the link that carries the first joint: one named ``base_link`` if there is one,
    else the outermost that is not called world.  The tip is a link fixed to the last
    joint, by preference ``tool0``.  For a given tip that is not the end of an arm, the
    base is the link that carries the first joint from the root to the tip.

    Parameters
    ----------
    base_link, tip_link : str
        Links that are already chosen; empty if to be found.

    Returns
    -------
    (str, str)
        Base link and tip link.

    """
    if tip_link:
        return _base_for_tip(tree, tip_link), tip_link
    found = candidates(tree, base_link)
    arms = [arm for arm in found if arm.n in FULL_ARM_SIZES] \
        or [arm for arm in found if arm.n in SMALL_ARM_SIZES]
    if len(arms) == 1:
        return arms[0].base_link, arms[0].tip_link
    below = f' below the base_link {quote(base_link)}' if base_link else ''
    what = f'{len(arms)} chains could be the arm{below}' if arms \
        else f'no chain of {SMALL_ARM_SIZES[0]} to {MAX_ARM_JOINTS} joints found{below}'
    choice = listed(tree, base_link) or listed(tree)
    raise ChainError(what + ('; choose one by base_link and tip_link' + choice if choice
                             else '; the URDF has no revolute, continuous or prismatic joint'))


def _base_for_tip(tree: Tree, tip_link: str) -> str:
    """Return the base of the arm that ends at a tip, else of all joints that move the tip."""
    moving = [joint for joint in tree.path_from_root(tip_link) if joint.moves]
    if not moving:
        raise ChainError(f'no joint moves the tip_link {quote(tip_link)}; choose a tip_link '
                         f'further out{listed(tree)}')
    for arm in candidates(tree):
        last = [joint for joint in tree.path_from_root(arm.tip_link) if joint.moves][-1]
        if last is moving[-1] and SMALL_ARM_SIZES[0] <= arm.n <= MAX_ARM_JOINTS:
            return arm.base_link
    return base_on(tree, moving[0].parent)


def candidates(tree: Tree, base_link: str = '') -> list[Candidate]:
    """
    Return the chains of a tree that can be arms, those with most joints first.

    Left out are fingers, torsos and the like: of two runs of which one carries the
    other, the one with fewer joints, or if both have as many, the carried one.

    Parameters
    ----------
    base_link : str
        Only chains below this link, which is then their base.

    """
    runs = _runs(tree, base_link or tree.root)
    most_before, most_behind = [0] * len(runs), [0] * len(runs)
    for k, run in enumerate(runs):  # a run comes after the run that carries it
        if run.carrier >= 0:
            most_before[k] = max(most_before[run.carrier], runs[run.carrier].n)
    for k, run in reversed(list(enumerate(runs))):
        if run.carrier >= 0:
            most_behind[run.carrier] = max(most_behind[run.carrier], most_behind[k], run.n)
    kept = [run for run, before, behind in zip(runs, most_before, most_behind)
            if before < run.n >= behind]
    return [Candidate(base_link or base_on(tree, run.joints[0].parent),
                      _tip_of(tree, run.joints[-1]), run.n)
            for run in sorted(kept, key=lambda run: -run.n)]


def listed(tree: Tree, base_link: str = '') -> str:
    """Return the end of a sentence that lists the candidates, by base, tip and joint count."""
    found = candidates(tree, base_link)
    # Wheels and heads are of interest only where there is nothing larger.
    shown = [arm for arm in found if arm.n >= SMALL_ARM_SIZES[0]] or found
    if not shown:
        return ''
    more = len(shown) - MAX_LISTED_ARMS
    return ('; chains in the URDF: ' + ', '.join(map(str, shown[:MAX_LISTED_ARMS]))
            + (f' and {more} more' if more > 0 else ''))


def _runs(tree: Tree, start: str) -> list[_Run]:
    """Return the runs of moving joints below a link, without the joints of tools."""
    by_name = {joint.name: joint for joint in tree.joints}
    depths = _depths(tree)
    runs: list[_Run] = []
    waiting = deque((joint, -1) for joint in _next_moving(tree, start))
    while waiting:
        first, carrier = waiting.popleft()
        joints = [] if first.type in MULTI_DOF_TYPES else [first]
        below = _next_moving(tree, first.child)
        while joints and (on := _continuation(joints, below, depths)) is not None:
            joints.append(on)
            waiting += [(joint, len(runs)) for joint in below if joint is not on]
            below = _next_moving(tree, on.child)
        waiting += [(joint, len(runs)) for joint in below]
        arm = list(joints)
        while arm and _is_tool(arm[-1], by_name):
            arm.pop()
        if not arm and carrier < 0:
            arm = joints  # a robot of fingers only is nobody's tool
        runs.append(_Run(arm, carrier, len({leader_of(joint, by_name)[0].name for joint in arm})))
    return runs


def _continuation(joints: list[Joint], below: list[Joint],
                  depths: dict[str, int]) -> Joint | None:
    """
    Return the joint that continues a run, None at its end.

    A run ends at a branch, with one exception: the first joint of an arm may also
    carry a head or a screen of up to two joints (Sawyer).
    """
    if len(below) == 1:
        return below[0] if below[0].type not in MULTI_DOF_TYPES else None
    if len(joints) > 1 or joints[0].type is JointType.PRISMATIC:
        return None
    long = [joint for joint in below if depths[joint.name] >= SMALL_ARM_SIZES[0]]
    if len(long) != 1 or long[0].type in MULTI_DOF_TYPES or depths[long[0].name] >= MAX_ARM_JOINTS:
        return None
    return long[0]


def _depths(tree: Tree) -> dict[str, int]:
    """Return for each joint the number of moving joints on the longest path that it begins."""
    depths: dict[str, int] = {}
    for joint in reversed(tree.joints):  # ordered from the root
        depths[joint.name] = joint.moves + max(
            (depths[below.name] for below in tree.joints_below(joint.child)), default=0)
    return depths


def _is_tool(joint: Joint, by_name: dict[str, Joint]) -> bool:
    names = (joint.name.lower(), leader_of(joint, by_name)[0].name.lower())
    return any(word in name for name in names for word in TOOL_WORDS)


def _next_moving(tree: Tree, link: str) -> list[Joint]:
    """Return the moving joints that hang on `link`, directly or through fixed joints."""
    found = []
    waiting = deque(tree.joints_below(link))
    while waiting:
        joint = waiting.popleft()
        if joint.moves:
            found.append(joint)
        else:
            waiting.extend(tree.joints_below(joint.child))
    return found


def base_on(tree: Tree, link: str) -> str:
    """Choose a base among a link and those before it to which it is fixed, outermost first."""
    links = [link]
    while (above := tree.joint_above(links[0])) is not None and not above.moves:
        links.insert(0, above.parent)
    for link in links:
        if link == 'base_link' or link.endswith('_base_link'):
            return link
    return next((link for link in links if link != 'world'), links[-1])


def _tip_of(tree: Tree, last: Joint) -> str:
    """Choose among the links that are fixed to the last moving joint."""
    links = [last.child]
    for link in links:
        links.extend(joint.child for joint in tree.joints_below(link) if not joint.moves)
    for preferred in PREFERRED_TIPS:
        for link in links:
            if link == preferred or link.endswith('_' + preferred):
                return link
    return last.child
