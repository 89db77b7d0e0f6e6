# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of send_goal; its options of goals are in goal_kinds."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ik_node.base.argument_values import finite, node_name, tolerance
from ik_node.ros.messages.goal_kinds import (
    FREEABLE_OPTIONS,
    goal_options,
    GoalOption,
    LINE_OPTION,
    Orientation,
)

TOLERANCE_VALUES = 'position_tolerance', 'orientation_tolerance'
VALUE_ARGUMENTS: dict[str, dict[str, Any]] = {
    '': {'action': 'store_true'},
    'pose': {'nargs': 3, 'type': float, 'metavar': ('X', 'Y', 'Z')},
    'position_tolerance': {'nargs': '+', 'type': tolerance, 'metavar': 'M'},
    'orientation_tolerance': {'nargs': '+', 'type': tolerance, 'metavar': 'RAD'},
    'joint_positions': {'nargs': '+', 'metavar': 'Q'},
    'joint_path_file': {'type': Path, 'metavar': 'FILE'},
    'pose_file': {'type': Path, 'metavar': 'FILE'},
    'chunk_file': {'type': Path, 'metavar': 'FILE'},
    'name': {'metavar': 'NAME'},
}


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line; `goal_option` of the result is the GoalOption that is to be sent."""
    parser = argparse.ArgumentParser(
        prog='send_goal',
        description='Send one goal to a running ik_node, wait until it ends, and print the '
                    'answer.',
        epilog='exit code: 0 reached, 1 not reached, 2 wrong usage or no node, 130 interrupted')
    # In the usage argparse shows groups whose options were added one after another.
    for group, options in ((parser.add_mutually_exclusive_group(required=True), _goals()),
                           (parser.add_mutually_exclusive_group(), _ways()),
                           (parser, _tolerances())):
        for option in options:
            group.add_argument(option.flag, help=option.help, **VALUE_ARGUMENTS[option.value])
    parser.add_argument('--free', nargs='+', choices=('rx', 'ry', 'rz'), default=(),
                        metavar='AXIS', help='axes of the poses, rx, ry, rz, about which the tip '
                        f'may be turned on its way, of {_listed(FREEABLE_OPTIONS)}; without them '
                        f'the way to --xyz is a {LINE_OPTION.name}')
    parser.add_argument('--keep-upright', nargs='?', type=finite, const=5.0, metavar='DEG',
                        help='keep the tool within so many degrees of upright throughout the '
                        'motion (default 5): of its axes, the one that points up most')
    parser.add_argument('--keep', action='append', default=[], metavar='YAML',
                        help='what the tip keeps throughout the motion, such as "{upright: 0.1}" '
                        'or "{position: [.inf, .inf, 0.01], frame: start}"; may be given again')
    _add_orientation(parser, '', 'orientation')
    for option in _with_own_orientation():
        _add_orientation(parser, f'{option.name}-',
                         f'orientation at {option.flag} (default: as at --xyz)')
    parser.add_argument('--degrees', action='store_true',
                        help='angles are given in degrees: of --rpy, and of --joints that turn')
    parser.add_argument('--frame', help='frame of the pose: a link or a TF frame (default: the '
                        'base link of the node)')
    parser.add_argument('--node', default='ik_node', type=node_name,
                        help='name of the node, with its namespace if it has one')
    parser.add_argument('--wait', type=float, default=30.0, metavar='S',
                        help='how long to wait for the node, s (default 30)')
    parser.add_argument('--timeout', type=float, default=60.0, metavar='S',
                        help='how long to wait for the answer, s (default 60)')
    parser.add_argument('--json', action='store_true', help='print the answer as one JSON line')
    arguments = parser.parse_args(argv)
    arguments.goal_option = _chosen(parser, arguments)
    return arguments


def _chosen(parser: argparse.ArgumentParser, options: argparse.Namespace) -> GoalOption:
    """Return the option of the goal; end with an error if others do not suit it."""
    ways, tolerances = _ways(), _tolerances()
    goal, *_ = [option for option in _goals() if _is_given(options, option)]
    way = [option for option in ways if _is_given(options, option)]
    if way and options.xyz is None:
        parser.error(f'{_listed(ways)} belong to --xyz')
    if options.free and options.xyz is not None and not way:
        way = [LINE_OPTION]
    chosen = way[0] if way else goal
    if options.free and chosen not in FREEABLE_OPTIONS:
        parser.error(f'--free belongs to {_listed(FREEABLE_OPTIONS)}')
    oriented = options.rpy or options.quat
    if oriented and goal.orientation is Orientation.NOT_TAKEN:
        takers = [option.flag for option in _goals()
                  if option.orientation is not Orientation.NOT_TAKEN]
        parser.error(f'--rpy and --quat belong to {" or ".join(takers)}')
    if not oriented and chosen.orientation is Orientation.REQUIRED:
        parser.error(f'{chosen.flag} needs --rpy or --quat')
    if oriented and chosen.orientation is Orientation.NOT_TAKEN:
        parser.error(f'{chosen.flag} leaves the orientation free; leave out --rpy and --quat')
    for option in tolerances:
        if not _is_given(options, option):
            continue
        if options.xyz is None or way:
            parser.error(f'{_listed(tolerances)} belong to --xyz without {_listed(ways)}')
        count = len(getattr(options, option.field))
        if count not in (1, 3):
            parser.error(f'a tolerance has {count} numbers; give one, or three')
        chosen = option
    for option in _with_own_orientation():
        if not _is_given(options, option) and (getattr(options, f'{option.field}_rpy')
                                               or getattr(options, f'{option.field}_quat')):
            parser.error(f'{option.flag}-rpy and {option.flag}-quat belong to {option.flag}')
    return chosen


def _goals() -> list[GoalOption]:
    """Return the options that say what the goal is."""
    return [option for option in goal_options() if not option.with_xyz]


def _ways() -> list[GoalOption]:
    """Return the options that say how the pose of --xyz is reached."""
    return [option for option in goal_options()
            if option.with_xyz and option.value not in TOLERANCE_VALUES]


def _tolerances() -> list[GoalOption]:
    """Return the options that say how near the pose of --xyz must be reached."""
    return [option for option in goal_options() if option.value in TOLERANCE_VALUES]


def _with_own_orientation() -> list[GoalOption]:
    """Return the options of poses besides that of --xyz."""
    return [option for option in goal_options() if option.with_xyz and option.value == 'pose']


def _is_given(options: argparse.Namespace, option: GoalOption) -> bool:
    return getattr(options, option.field) not in (None, False)


def _listed(options: Iterable[GoalOption]) -> str:
    *flags, last = [option.flag for option in options]
    return ' and '.join([', '.join(flags), last] if flags else [last])


def _add_orientation(parser: argparse.ArgumentParser, prefix: str, what: str) -> None:
    turn = parser.add_mutually_exclusive_group()
    turn.add_argument(f'--{prefix}rpy', nargs=3, type=finite, metavar=('ROLL', 'PITCH', 'YAW'),
                      help=f'{what} as fixed-axis angles, rad'
                           + ('' if prefix else ' (default: that of the tip now; in a '
                              '--frame other than the base that of the frame)'))
    turn.add_argument(f'--{prefix}quat', nargs=4, type=float, metavar=('X', 'Y', 'Z', 'W'),
                      help=f'{what} as a quaternion')
