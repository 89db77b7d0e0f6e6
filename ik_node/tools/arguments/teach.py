# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of ik_teach."""

from __future__ import annotations

import argparse
from pathlib import Path

from ik_node.base.argument_values import node_name, positive


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='ik_teach',
        description='Keep waypoints or record a motion while the arm is moved by hand, and play '
                    'it back.',
        epilog='exit code: 0 done, 1 not reached, 2 wrong usage, no joint states, no node or an '
               'unusable file, 130 interrupted')
    states = argparse.ArgumentParser(add_help=False)
    states.add_argument('--topic', default='joint_states', help='default %(default)s')
    states.add_argument('--joints', nargs='+', default=[], metavar='JOINT',
                        help='joints that are kept (default: all that are published)')
    states.add_argument('--wait', type=positive, default=10.0, metavar='S',
                        help='how long to wait for joint states, s (default 10)')
    actions = parser.add_subparsers(dest='action', required=True, metavar='ACTION')
    keep = actions.add_parser(
        'keep', parents=[states], help='keep present postures as waypoints',
        description='Keep present postures as waypoints in a file, which is made or added to; '
                    'the ik_node need not run. With one name the present posture is kept at '
                    'once; with several, and without one, each time Enter is pressed.',
        epilog=parser.epilog)
    keep.add_argument('names', nargs='*', metavar='NAME',
                      help='of the waypoints; one that is in the file is replaced (default: '
                           'point_1, point_2 ...)')
    keep.add_argument('--file', type=Path, default=Path('way_points.yaml'), metavar='FILE',
                      help='YAML file (default ./way_points.yaml)')
    record = actions.add_parser(
        'record', parents=[states], help='record a motion',
        description='Record a motion from the joint states until Ctrl-C; the ik_node need not '
                    'run. Pauses at both ends are left out.', epilog=parser.epilog)
    record.add_argument('file', type=Path, metavar='FILE', help='YAML file to write')
    record.add_argument('--duration', type=positive, metavar='S',
                        help='how long to record, s (default: until Ctrl-C)')
    record.add_argument('--tolerance', type=positive, default=2e-3, metavar='RAD',
                        help='largest distance of the motion in the file from a joint state, rad '
                             'or m (default %(default)g)')
    record.add_argument('--replace', action='store_true', help='write over a file that is there')
    play = actions.add_parser(
        'play', help='move through a file',
        description='Have the ik_node move the arm to the first point of a file, then through '
                    'the others: waypoints in one smooth motion, a recorded motion with its '
                    'timing, more slowly where the limits do not allow it.',
        epilog=parser.epilog)
    play.add_argument('file', type=Path, metavar='FILE', help='YAML file of keep or record')
    play.add_argument('--speed', type=positive, default=1.0, metavar='FACTOR',
                      help='of a recorded motion: 0.5 is half as fast, 1 as recorded (default 1)')
    play.add_argument('--node', default='ik_node', type=node_name,
                      help='name of the node, with its namespace if it has one')
    play.add_argument('--wait', type=positive, default=30.0, metavar='S',
                      help='how long to wait for the node, s (default 30)')
    return parser.parse_args(argv)
