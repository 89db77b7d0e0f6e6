# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of ik_demo."""

from __future__ import annotations

import argparse
from pathlib import Path

from ik_node.base.argument_values import finite


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='ik_demo',
        description='Run ik_node and a simulated controller as two processes, send goals to '
                    'them, and measure from the joint states where the arm ends.',
        epilog='exit code: 0 if each goal ended as expected, 1 if not, 130 interrupted')
    arms = parser.add_mutually_exclusive_group()
    arms.add_argument('--urdf', type=Path, metavar='FILE',
                      help='the arm, .urdf or .xacro, which is run as a program (default: the '
                           'six-axis arm of this package)')
    arms.add_argument('--robot', metavar='NAME',
                      help='a preset, e.g. ur5e, or a YAML file of your own; an unknown name '
                           'lists the presets')
    parser.add_argument('--mesh-paths', nargs='+', default=[], metavar='FOLDER',
                        help='folders that are searched first for meshes, as the parameter '
                             'mesh_paths')
    parser.add_argument('--base-link', default='', metavar='LINK',
                        help='link that poses refer to (default: found in the URDF)')
    parser.add_argument('--tip-link', default='', metavar='LINK',
                        help='link to bring to the goals (default: found in the URDF)')
    parser.add_argument('--velocity', nargs='+', type=_velocity, metavar='V',
                        help='velocity limits of the joints, rad/s or m/s, one value or one per '
                             'joint (default: those of the URDF; where it has none, careful ones, '
                             'for the simulation)')
    parser.add_argument('-p', action='append', default=[], type=_parameter, dest='parameters',
                        metavar='NAME:=VALUE',
                        help='a parameter of the nodes, as programs of ROS take it; may be '
                             'repeated')
    parser.add_argument('--xacro-args', nargs='+', default=[], type=_xacro_argument,
                        metavar='NAME:=VALUE', help='arguments of the .xacro file')
    parser.add_argument('--goals', type=Path, metavar='FILE',
                        help='YAML file of goals and what is expected of them (default: '
                             'examples/goals.yaml for the arm of this package; for another arm, '
                             'goals made from its joints and limits)')
    parser.add_argument('--config', type=Path, metavar='FILE',
                        help="parameters of both nodes (default: this package's)")
    parser.add_argument('--keep', action='store_true',
                        help='show the arm in the browser, repeat the goals until somebody else '
                             'sends one, and stay up until Ctrl-C')
    return parser.parse_args(argv)


def _xacro_argument(text: str) -> tuple[str, str]:
    name, separator, value = text.partition(':=')
    if not (name and separator):
        raise argparse.ArgumentTypeError(f'{text!a} is not NAME:=VALUE')
    return name, value


def _parameter(text: str) -> str:
    _xacro_argument(text)
    return text


def _velocity(text: str) -> float:
    value = finite(text)
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f'{text!a} is no velocity limit; it must be positive')
    return value
