# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of compare_methods."""

from __future__ import annotations

import argparse
from pathlib import Path

from ik_node.base.argument_values import positive_count

COMPARE_DESCRIPTION = """
Compare methods of inverse kinematics side by side, on any arm.

Writes a table (Markdown), the numbers (JSON) and pictures (PNG) into a folder.
"""
# The compiled solver and the methods of ik_node.textbook, which takes seconds to import.
METHOD_NAMES = (
    'damped', 'pseudo_inverse', 'right_pseudo_inverse', 'left_pseudo_inverse',
    'pseudo_inverse_lu', 'damped_least_squares', 'null_space', 'transpose',
    'alternative_jacobian', 'adjusted_adjoint', 'extended_square', 'extended_pairwise', 'lagrange',
    'law_of_cosines', 'key_postures', 'neural_network', 'ccd', 'levenberg_marquardt',
    'bfgs', 'conjugate_gradient')
LIMIT_MODES = ('clamp', 'penalty', 'slack', 'variables')


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='compare_methods', description=COMPARE_DESCRIPTION,
        epilog=f'methods: {", ".join(METHOD_NAMES)}', allow_abbrev=True)
    arm = parser.add_argument_group('arm')
    arm.add_argument('--urdf', help='URDF file (default: the six-axis arm of this package)')
    arm.add_argument('--base-link', default='', help='default: found in the URDF')
    arm.add_argument('--tip-link', default='', help='default: found in the URDF')
    goal = parser.add_argument_group('goals')
    goal.add_argument('--goals', type=positive_count, default=20, metavar='N',
                      help='random reachable poses (default 20)')
    goal.add_argument('--xyz', nargs=3, type=float, metavar=('X', 'Y', 'Z'),
                      help='one goal instead: position in the base link, m; alone: in any '
                           'orientation')
    turn = goal.add_mutually_exclusive_group()
    turn.add_argument('--rpy', nargs=3, type=float, metavar=('ROLL', 'PITCH', 'YAW'),
                      help='its orientation as fixed-axis angles, rad')
    turn.add_argument('--quaternion', nargs=4, type=float, metavar=('X', 'Y', 'Z', 'W'),
                      help='its orientation as a quaternion')
    goal.add_argument('--free', nargs='+', choices=('x', 'y', 'z', 'rx', 'ry', 'rz'), default=(),
                      help='axes of the tool that are left free')
    start = parser.add_argument_group('seeds')
    start.add_argument('--seed', nargs='+', type=float, metavar='Q',
                       help='joint positions, rad or m (default: random)')
    start.add_argument('--near', type=float, default=0.3, metavar='R',
                       help='maximum distance of random seeds from a posture at the goal, '
                            'rad or m, inf = anywhere (default 0.3)')
    start.add_argument('--seed-number', type=int, default=0, metavar='K',
                       help='number that random goals and seeds are made from (default 0)')
    how = parser.add_argument_group('methods')
    how.add_argument('--methods', nargs='+', choices=METHOD_NAMES, default=METHOD_NAMES,
                     metavar='NAME', help='default: all')
    how.add_argument('--limits', choices=LIMIT_MODES, default='',
                     help='how joint limits are kept (default: as suits each method)')
    how.add_argument('--max-iterations', type=positive_count, default=0, metavar='N',
                     help='steps of an attempt of a textbook method (default: by method)')
    how.add_argument('--step-fraction', type=float, default=1.0, metavar='F',
                     help='fraction of the pose error that one step along the Jacobian removes '
                          '(default 1)')
    parser.add_argument('--output', type=Path, default=Path('compare_methods'), metavar='FOLDER',
                        help='where the files go (default ./compare_methods)')
    parser.add_argument('--no-pictures', action='store_true',
                        help='leave the pictures out; needs no matplotlib')
    return parser.parse_args(argv)
