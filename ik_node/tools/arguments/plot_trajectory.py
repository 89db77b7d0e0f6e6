# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of plot_trajectory."""

from __future__ import annotations

import argparse
from pathlib import Path

PLOT_DESCRIPTION = """
Draw a motion: joints and their limits, tool speed, manipulability over time.

The motion is that of a goal, planned as the node would; of a recorded status (what "ros2 topic
echo /ik_node/answers" writes), planned again; of points in a file (what "ros2 topic echo --once
--full-length joint_trajectory" writes, or CSV); or of the next trajectory on the topic.
"""


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='plot_trajectory', description=PLOT_DESCRIPTION,
        epilog='exit code: 0 drawn, 2 not drawn, with the reason')
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument('--xyz', nargs=3, type=float, metavar=('X', 'Y', 'Z'),
                      help='a goal: position of the tip in the base link, m')
    what.add_argument('--status', type=Path, metavar='FILE',
                      help='recorded status, YAML; the last one that has a motion of the joints')
    what.add_argument('--points', type=Path, metavar='FILE',
                      help='recorded points, YAML or CSV')
    what.add_argument('--listen', action='store_true',
                      help='the next trajectory on the topic (needs ROS)')
    turn = parser.add_mutually_exclusive_group()
    turn.add_argument('--rpy', nargs=3, type=float, metavar=('ROLL', 'PITCH', 'YAW'),
                      help='orientation of the goal as fixed-axis angles, rad (default 0 0 0)')
    turn.add_argument('--quat', nargs=4, type=float, metavar=('X', 'Y', 'Z', 'W'),
                      help='orientation of the goal as a quaternion')
    parser.add_argument('--line', action='store_true',
                        help='to the goal along a straight line of the tip')
    parser.add_argument('--start', nargs='+', type=float, metavar='Q',
                        help='posture at the start, rad or m (default: middle of each range)')
    parser.add_argument('--urdf', help='URDF file (default: the six-axis arm of this package)')
    parser.add_argument('--base-link', default='', help='default: found in the URDF')
    parser.add_argument('--tip-link', default='', help='default: found in the URDF')
    parser.add_argument('--config', type=Path, metavar='FILE',
                        help="parameters of the node (default: this package's)")
    parser.add_argument('--topic', default='joint_trajectory', help='default joint_trajectory')
    parser.add_argument('--timeout', type=float, default=60.0, metavar='S',
                        help='how long to listen, s (default 60)')
    parser.add_argument('--output', type=Path, default=Path('trajectory.png'), metavar='FILE',
                        help='picture to write (default ./trajectory.png)')
    parser.add_argument('--show', action='store_true', help='open a window instead')
    options = parser.parse_args(argv)
    if not options.xyz and (options.rpy or options.quat or options.line or options.start):
        parser.error('--rpy, --quat, --line and --start belong to a goal; give --xyz, too')
    return options
