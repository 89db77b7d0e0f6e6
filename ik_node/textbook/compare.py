# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compare methods of inverse kinematics side by side, on any arm.

Writes a table (Markdown), the numbers (JSON) and figures (PNG) into a folder.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
import sys

import numpy as np

from ik_node.command_line import rotation_from
from ik_node.errors import IkNodeError, ParameterError
from ik_node.kinematics.arm import Arm, load_urdf
from ik_node.plotting import unit
from ik_node.se3 import pose, rotation_from_rpy
from ik_node.share import share_file
from ik_node.solver.goal import FREE, Goal
from ik_node.text import quote
from ik_node.textbook import compare_plots
from ik_node.textbook.compare_runs import (
    compare,
    Figures,
    PRODUCTION_METHOD,
    reachable_goals,
    RESTARTS_METHOD,
    Run,
    Runner,
)
from ik_node.textbook.methods import TEXTBOOK_METHODS
from ik_node.textbook.options import ClassicOptions, Limits
from ik_node.textbook.reports import markdown, number, write_json

ALL_METHODS = (PRODUCTION_METHOD, *TEXTBOOK_METHODS)


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='compare_methods', description=__doc__,
        epilog=f'methods: {", ".join(ALL_METHODS)}', allow_abbrev=True)
    arm = parser.add_argument_group('arm')
    arm.add_argument('--urdf', help='URDF file (default: the six-axis arm of this package)')
    arm.add_argument('--base-link', default='', help='default: found')
    arm.add_argument('--tip-link', default='', help='default: found')
    goal = parser.add_argument_group('goals')
    goal.add_argument('--goals', type=_count, default=20, metavar='N',
                      help='random reachable poses (default 20)')
    goal.add_argument('--xyz', nargs=3, type=float, metavar=('X', 'Y', 'Z'),
                      help='one goal instead, in the base link, m; alone: any orientation')
    orientation = goal.add_mutually_exclusive_group()
    orientation.add_argument('--rpy', nargs=3, type=float, metavar=('ROLL', 'PITCH', 'YAW'),
                             help='its orientation by fixed-axis angles, rad')
    orientation.add_argument('--quaternion', nargs=4, type=float,
                             metavar=('X', 'Y', 'Z', 'W'),
                             help='its orientation by a quaternion')
    goal.add_argument('--free', nargs='+', choices=('x', 'y', 'z', 'rx', 'ry', 'rz'), default=(),
                      help='free axes of the tool')
    start = parser.add_argument_group('start')
    start.add_argument('--seed', nargs='+', type=float, metavar='Q',
                       help='joint positions, rad or m (default: random)')
    start.add_argument('--near', type=float, default=0.3, metavar='R',
                       help='largest distance of the random seeds from a posture that reaches '
                            'the goal, rad or m, inf = anywhere (default 0.3)')
    start.add_argument('--seed-number', type=int, default=0, metavar='K',
                       help='seed of the random goals and postures (default 0)')
    how = parser.add_argument_group('methods')
    how.add_argument('--methods', nargs='+', choices=ALL_METHODS, default=ALL_METHODS,
                     metavar='NAME', help='default: all')
    how.add_argument('--limits', choices=tuple(Limits), default='',
                     help='how joint limits are kept (default: the first choice of each method)')
    how.add_argument('--max-iterations', type=_count, default=0, metavar='N',
                     help='steps of an attempt of a textbook method (default: by method)')
    parser.add_argument('--output', type=Path, default=Path('compare_methods'), metavar='FOLDER',
                        help='output folder (default ./compare_methods)')
    parser.add_argument('--no-pictures', action='store_true',
                        help='draw no figures; matplotlib is then not needed')
    return parser.parse_args(argv)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f'{value} is not at least 1')
    return value


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    arguments = parse(sys.argv[1:] if argv is None else argv)
    try:
        arguments.output.mkdir(parents=True, exist_ok=True)
        run_arm(arguments)
    except (IkNodeError, OSError) as error:
        print(f'compare_methods: {error}', file=sys.stderr)
        raise SystemExit(2) from None
    print(f'written to {arguments.output}', file=sys.stderr)


def run_arm(arguments: argparse.Namespace) -> None:
    """Compare on an arm, print the table and write the files."""
    arm = load_urdf(Path(arguments.urdf or share_file('urdf/six_axis_arm.urdf')),
                    arguments.base_link, arguments.tip_link)
    options = ClassicOptions(max_iterations=arguments.max_iterations)
    goals, seeds = _goals_and_seeds(arm, arguments)
    methods = list(arguments.methods)
    if PRODUCTION_METHOD in methods:
        methods.insert(methods.index(PRODUCTION_METHOD) + 1, RESTARTS_METHOD)
    figures, runs = [], {}
    for method in methods:
        own = options if not arguments.limits or method not in TEXTBOOK_METHODS \
            or arguments.limits not in TEXTBOOK_METHODS[method].limits \
            else ClassicOptions(max_iterations=options.max_iterations, limits=arguments.limits)
        one, ran = compare(Runner(arm, own), [method], goals, seeds)
        figures += one
        runs |= ran
    text = arm_table(arm, figures)
    print(text)
    folder = arguments.output
    (folder / 'table.md').write_text(text + '\n', encoding='utf-8')
    write_json(folder / 'numbers.json', {
        'arm': {'base_link': arm.base_link, 'tip_link': arm.tip_link,
                'joints': arm.joint_names},
        'methods': [asdict(row) for row in figures],
        'runs': {name: [_run_numbers(run) for run in each] for name, each in runs.items()},
        'first_goal': {name: {'steps': each[0].at, 'path': each[0].path,
                              'errors_m_rad': each[0].errors}
                       for name, each in runs.items()}})
    if not arguments.no_pictures:
        shown = {name: each for name, each in runs.items() if name != RESTARTS_METHOD}
        compare_plots.convergence(shown, options.metres_per_radian, options.position_tolerance,
                                  folder / 'convergence.png')
        compare_plots.tip_path(shown, goals[0].T_base_tip[:3, 3], folder / 'tip_path.png')
        compare_plots.joint_motion(shown, arm, folder / 'joint_motion.png')


def _goals_and_seeds(arm: Arm, arguments: argparse.Namespace) -> tuple[list[Goal], np.ndarray]:
    goals, seeds = reachable_goals(arm, 1 if arguments.xyz else arguments.goals,
                                   arguments.seed_number, arguments.near)
    free = [FREE if axis in arguments.free else 0.0 for axis in ('x', 'y', 'z', 'rx', 'ry', 'rz')]
    if arguments.xyz:
        goals = [_goal(arguments, free)]
    elif arguments.rpy or arguments.quaternion:
        raise ParameterError('an orientation is given without --xyz; give the position, too')
    elif FREE in free:
        goals = [Goal(goal.T_base_tip, tuple(free)) for goal in goals]
    if arguments.seed:
        if len(arguments.seed) != arm.n:
            raise ParameterError(f'--seed has {len(arguments.seed)} numbers; the arm has the '
                                 f'{arm.n} joints {", ".join(map(quote, arm.joint_names))}')
        seeds = np.tile(np.clip(arguments.seed, arm.lower, arm.upper), (len(goals), 1))
    return goals, seeds


def _goal(arguments: argparse.Namespace, free: list[float]) -> Goal:
    if arguments.quaternion:
        R = rotation_from(np.array(arguments.quaternion))
    elif arguments.rpy:
        R = rotation_from_rpy(*arguments.rpy)
    else:
        R, free = np.eye(3), free[:3] + [FREE] * 3
    return Goal(pose(R, np.array(arguments.xyz)), tuple(free))


def arm_table(arm: Arm, figures: list[Figures]) -> str:
    """Return the comparison as a Markdown table."""
    lines = [f'{quote(arm.base_link)} to {quote(arm.tip_link)}, {arm.n} joints; medians over the '
             'goals reached.', '']
    rows = [(row.method, f'{row.met} of {row.goals}', number(row.median_steps),
             number(row.most_steps), number(row.median_time), number(row.median_jump),
             number(row.largest_jump)) for row in figures if not row.note]
    lines += markdown(('method', 'goals met', 'steps', 'most steps', 'time (ms)',
                        f'largest joint step ({unit(arm)})', 'largest of all'), rows)
    lines += [f'\n{row.method}: {row.note}' for row in figures if row.note]
    return '\n'.join(lines)


def _run_numbers(run: Run) -> dict[str, object]:
    position, orientation = run.errors[-1]
    return {'met': run.met, 'steps': run.steps, 'time_s': run.time, 'q': run.path[-1],
            'position_error_m': position, 'orientation_error_rad': orientation}
