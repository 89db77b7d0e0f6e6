# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of send_goal."""

from __future__ import annotations

import argparse
from pathlib import Path

from ik_node.command_line.values import finite, node_name, tolerance


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='send_goal',
        description='Send one goal to a running ik_node, wait until it ends, and print the '
                    'answer.',
        epilog='exit code: 0 reached, 1 not reached, 2 wrong usage or no node, 130 interrupted')
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument('--xyz', nargs=3, type=float, metavar=('X', 'Y', 'Z'),
                      help='position of the tip, m')
    kind.add_argument('--joints', nargs='+', metavar='Q',
                      help='joint positions, rad or m: NAME=VALUE for some, or a value for each')
    kind.add_argument('--joint-path', type=Path, metavar='FILE',
                      help='joint positions to pass in one motion: a YAML file of ik_teach')
    kind.add_argument('--named', metavar='NAME',
                      help='a named pose, of the SRDF or of the file of named poses')
    kind.add_argument('--path', type=Path, metavar='FILE',
                      help='poses to pass in straight lines: CSV x,y,z,roll,pitch,yaw or '
                           'x,y,z,qx,qy,qz,qw, or YAML as examples/goals.yaml')
    kind.add_argument('--first', type=Path, metavar='FILE',
                      help='the first of the poses of such a file that can be reached')
    kind.add_argument('--turn', action='store_true',
                      help='turn the tip where it is, to --rpy or --quat')
    _add_turn(parser, '', 'orientation')
    way = parser.add_mutually_exclusive_group()
    way.add_argument('--line', action='store_true',
                     help='to --xyz along a straight line of the tip')
    way.add_argument('--through', nargs=3, type=float, metavar=('X', 'Y', 'Z'),
                     help='to --xyz along an arc through this position')
    way.add_argument('--position', action='store_true',
                     help='to --xyz in any orientation')
    way.add_argument('--pointing', action='store_true',
                     help='to --xyz with the z axis of --rpy or --quat; rotation about it is free')
    _add_turn(parser, 'through-', 'orientation at --through (default: as at --xyz)')
    parser.add_argument('--position-tolerance', nargs='+', type=tolerance, metavar='M',
                        help='to --xyz within this, m: one number, or three for x, y, z of the '
                             'goal; inf = free')
    parser.add_argument('--orientation-tolerance', nargs='+', type=tolerance, metavar='RAD',
                        help='to --rpy or --quat within this, rad: one number, or three for '
                             'rotations about x, y, z of the goal; pi or more = free')
    parser.add_argument('--frame', default='base_link',
                        help='frame of the pose: a link or a TF frame (default base_link)')
    parser.add_argument('--node', default='ik_node', type=node_name,
                        help='name of the node, with its namespace if it has one')
    parser.add_argument('--wait', type=float, default=30.0, metavar='S',
                        help='how long to wait for the node, s (default 30)')
    parser.add_argument('--timeout', type=float, default=60.0, metavar='S',
                        help='how long to wait for the answer, s (default 60)')
    parser.add_argument('--json', action='store_true', help='print the answer as one JSON line')
    options = parser.parse_args(argv)
    if options.xyz is None and (options.line or options.through or options.position
                                or options.pointing):
        parser.error('--line, --through, --position and --pointing belong to --xyz')
    oriented = options.rpy or options.quat
    if oriented and options.xyz is None and not options.turn:
        parser.error('--rpy and --quat belong to --xyz or --turn')
    if options.turn and not oriented:
        parser.error('--turn needs --rpy or --quat')
    if options.position and (options.rpy or options.quat):
        parser.error('--position leaves the orientation free; leave out --rpy and --quat')
    for given in (options.position_tolerance, options.orientation_tolerance):
        if given is None:
            continue
        if options.xyz is None or options.line or options.through or options.position \
                or options.pointing:
            parser.error('--position-tolerance and --orientation-tolerance belong to --xyz '
                         'without --line, --through, --position and --pointing')
        if len(given) not in (1, 3):
            parser.error(f'a tolerance has {len(given)} numbers; give one, or three')
    if not options.through and (options.through_rpy or options.through_quat):
        parser.error('--through-rpy and --through-quat belong to --through')
    return options


def _add_turn(parser: argparse.ArgumentParser, prefix: str, what: str) -> None:
    turn = parser.add_mutually_exclusive_group()
    turn.add_argument(f'--{prefix}rpy', nargs=3, type=finite, metavar=('ROLL', 'PITCH', 'YAW'),
                      help=f'{what} as fixed-axis angles, rad'
                           + ('' if prefix else ' (default 0 0 0)'))
    turn.add_argument(f'--{prefix}quat', nargs=4, type=float, metavar=('X', 'Y', 'Z', 'W'),
                      help=f'{what} as a quaternion')
