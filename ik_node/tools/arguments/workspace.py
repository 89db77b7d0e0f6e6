# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of ik_workspace."""

from __future__ import annotations

import argparse
from math import hypot
from pathlib import Path

from ik_node.base.argument_values import finite

WORKSPACE_DESCRIPTION = """
Sample which poses an arm reaches, and in what share of all orientations.

Writes a picture of slices and the numbers, and shows them in RViz and the browser. Joint limits
are kept, and only postures count in which the arm collides neither with itself nor with the ground
and the scene, if these are given.
"""
MAX_ORIENTATIONS = 100_000
DEFAULT_MARGIN_M = 0.005


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line; what follows --ros-args is in `ros_arguments`."""
    ours, ros_arguments = _split(argv)
    parser = argparse.ArgumentParser(
        prog='ik_workspace', description=WORKSPACE_DESCRIPTION,
        epilog='exit code: 0 done, 2 not done, with the reason, 130 interrupted')
    parser.add_argument('--urdf', help='URDF file (default: the six-axis arm of this package)')
    parser.add_argument('--mesh-paths', nargs='+', default=[], metavar='FOLDER',
                        help='folders that are searched first for meshes, as the parameter '
                             'mesh_paths')
    parser.add_argument('--base-link', default='', help='default: found in the URDF')
    parser.add_argument('--tip-link', default='', help='default: found in the URDF')
    parser.add_argument('--box', nargs=6, type=float,
                        metavar=('X0', 'X1', 'Y0', 'Y1', 'Z0', 'Z1'),
                        help='region to sample, m in the base link; a plane where two are equal '
                             '(default: all that the stretched arm could reach)')
    parser.add_argument('--spacing', type=float, metavar='M',
                        help='between cells, m (default: a twelfth of the reach)')
    turn = parser.add_mutually_exclusive_group()
    turn.add_argument('--orientations', type=int, default=60, metavar='N',
                      help='evenly distributed orientations of the tip in each cell '
                           '(default %(default)s)')
    turn.add_argument('--directions', type=int, metavar='N',
                      help="evenly distributed directions of the tip's z axis instead, "
                           "rotation about it free")
    turn.add_argument('--rpy', nargs=3, type=finite, metavar=('ROLL', 'PITCH', 'YAW'),
                      help='one orientation instead, as fixed-axis angles, rad')
    turn.add_argument('--pointing', nargs=3, type=finite, metavar=('X', 'Y', 'Z'),
                      help="one direction of the tip's z axis instead, rotation about it free")
    parser.add_argument('--limit-margin', type=float, default=0.0, metavar='Q',
                        help='minimum distance of the joints from their limits, rad or m '
                             '(default 0)')
    parser.add_argument('--ground', nargs='?', type=finite, const=0.0, metavar='Z',
                        help='all below this height, m in the base link, is solid (default 0; '
                             'without the option there is no ground)')
    parser.add_argument('--scene', type=Path, metavar='FILE',
                        help='objects around the arm, as the parameter collision.scene_file')
    parser.add_argument('--margin', type=float, default=DEFAULT_MARGIN_M, metavar='M',
                        help='minimum distance of the arm from itself and from objects, m '
                             '(default %(default)s)')
    parser.add_argument('--no-collisions', action='store_true',
                        help='do not check for collisions')
    parser.add_argument('--load', type=Path, metavar='FILE',
                        help='show what an earlier run wrote instead of sampling')
    parser.add_argument('--out', type=Path, default=Path('workspace'), metavar='NAME',
                        help='files to write are NAME.png and NAME.npz (default ./workspace)')
    parser.add_argument('--no-picture', action='store_true',
                        help='leave the picture out; needs no matplotlib')
    parser.add_argument('--publish', action='store_true',
                        help='publish the cells as a point cloud on the topic workspace, until '
                             'Ctrl-C (needs ROS)')
    parser.add_argument('--frame-prefix', default='',
                        help='what robot_state_publisher puts before link names in TF')
    options = parser.parse_args(ours)
    for count in (options.orientations, options.directions):
        if count is not None and not 1 <= count <= MAX_ORIENTATIONS:
            parser.error(f'--orientations and --directions are from 1 to {MAX_ORIENTATIONS}')
    if options.pointing and not hypot(*options.pointing) > 0.0:
        parser.error('--pointing needs a direction, e.g. 0 0 -1 for down')
    around = options.ground is not None or options.scene
    if options.no_collisions and around:
        parser.error('--no-collisions leaves out what --ground and --scene would add')
    if options.load and (options.box or options.spacing or options.rpy or options.limit_margin
                         or around or options.no_collisions):
        parser.error('--load shows what was sampled; --box, --spacing, --rpy, --limit-margin, '
                     '--ground, --scene and --no-collisions do not change it')
    options.ros_arguments = ros_arguments
    return options


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Return our arguments and the ROS arguments, from --ros-args to -- or the end."""
    if '--ros-args' not in argv:
        return argv, []
    start = argv.index('--ros-args')
    end = argv.index('--', start) + 1 if '--' in argv[start:] else len(argv)
    return argv[:start] + argv[end:], argv[start:end]
