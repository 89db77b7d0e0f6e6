# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of ik_jog."""

from __future__ import annotations

import argparse
import re

from ik_node.base.argument_values import finite, node_name

TWIST_AXES = 'x', 'y', 'z', 'rx', 'ry', 'rz'
AXIS_ENTRY = re.compile(r'(r?[xyz])=([+-]?)(\d{1,3})')
# Of joy_node with a gamepad of the usual layout: sticks, and the pad of arrows.
GAMEPAD_AXES = 'x=1,y=0,z=4,rx=6,ry=7,rz=3'
GAMEPAD_DEAD_MAN, GAMEPAD_TOOL_BUTTON = 4, 5   # left and right shoulder
SPACEMOUSE_AXES = 'x=0,y=1,z=2,rx=3,ry=4,rz=5'

AxisTable = dict[str, tuple[int, float]]


def axis_table(text: str) -> AxisTable:
    """Return the number and the sign of the device's axis for each axis of the twist."""
    table: AxisTable = {}
    for entry in text.split(','):
        match = AXIS_ENTRY.fullmatch(entry.strip())
        if match is None or match[1] in table:
            raise argparse.ArgumentTypeError(
                f'{text!a} is no table of axes; give e.g. x=1,y=0,rz=-3, each of '
                f'{", ".join(TWIST_AXES)} at most once')
        table[match[1]] = int(match[3]), -1.0 if match[2] == '-' else 1.0
    return table


def share(text: str) -> float:
    """Return a number above 0 and up to 1."""
    number = finite(text)
    if not 0.0 < number <= 1.0:
        raise argparse.ArgumentTypeError(f'{number:g} is not above 0 and up to 1')
    return number


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument('--node', default='ik_node', type=node_name,
                        help='name of the node, with its namespace if it has one')
    common.add_argument('--frame', default='base', metavar='FRAME',
                        help='axes of the motion: base, tool, or the name of a frame '
                             '(default %(default)s)')
    common.add_argument('--speed', default=0.3, type=share, metavar='SHARE',
                        help='share of the velocity that the node has for a command of 1 '
                             '(default %(default)s)')
    common.add_argument('--wait', type=float, default=30.0, metavar='S',
                        help='how long to wait for the node, s (default 30)')
    parser = argparse.ArgumentParser(
        prog='ik_jog',
        description='Move the tip of the arm by hand, for as long as something is held.',
        epilog='exit code: 0 ended by the user, 2 wrong usage or no node, 130 interrupted')
    devices = parser.add_subparsers(dest='device', required=True, metavar='DEVICE')
    devices.add_parser('keyboard', parents=[common], help='keys of this terminal',
                       description='Move the tip by the keys of this terminal, which are shown.',
                       epilog=parser.epilog)
    joy = devices.add_parser(
        'joy', parents=[common], help='gamepad, by joy_node',
        description='Move the tip by a gamepad while the dead-man button is held; run joy_node '
                    'beside it.', epilog=parser.epilog)
    _add_device(joy, 'joy', GAMEPAD_AXES, GAMEPAD_DEAD_MAN, GAMEPAD_TOOL_BUTTON)
    mouse = devices.add_parser(
        'spacenav', parents=[common], help='SpaceMouse, by spacenav_node',
        description='Move the tip by a SpaceMouse; run spacenav_node beside it.',
        epilog=parser.epilog)
    _add_device(mouse, 'spacenav/joy', SPACEMOUSE_AXES, -1, -1)
    return parser.parse_args(argv)


def _add_device(parser: argparse.ArgumentParser, topic: str, axes: str, dead_man: int,
                tool_button: int) -> None:
    parser.add_argument('--topic', default=topic,
                        help='topic of sensor_msgs/Joy (default %(default)s)')
    parser.add_argument('--axes', default=axes, type=axis_table, metavar='TABLE',
                        help='axis of the device for each axis of the tip, with its sign '
                             '(default %(default)s)')
    parser.add_argument('--dead-man', default=dead_man, type=int, metavar='BUTTON',
                        help='number of the button that must be held; -1 = none '
                             '(default %(default)s)')
    parser.add_argument('--tool-button', default=tool_button, type=int, metavar='BUTTON',
                        help='number of the button that means the axes of the tool while it is '
                             'held; -1 = none (default %(default)s)')
    parser.add_argument('--dead-zone', default=0.05, type=share, metavar='SHARE',
                        help='deflection below which an axis is at rest (default %(default)s)')
