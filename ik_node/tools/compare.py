# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compare methods of inverse kinematics side by side, on any arm or on a paper's chain.

Writes a table (Markdown), the numbers (JSON) and pictures (PNG) into a folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
import json
from pathlib import Path
import sys

import numpy as np

from ik_node.errors import IkNodeError, ParameterError, quote
from ik_node.kinematics.arm import Arm, load_urdf
from ik_node.se3 import pose, rotation_from_rpy
from ik_node.solver.classic.methods import METHODS
from ik_node.solver.classic.options import ClassicOptions, Limits
from ik_node.solver.goal import FREE, Goal
from ik_node.tools import compare_paper_plots, compare_plots
from ik_node.tools.compare_paper import smallest_singular_values, Walk, walks
from ik_node.tools.compare_runs import (
    compare,
    Figures,
    PRODUCTION,
    reachable_goals,
    RESTARTS,
    Run,
    Runner,
)
from ik_node.tools.share import share_file

ALL = (PRODUCTION, *METHODS)


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='compare_methods', description=__doc__,
        epilog=f'methods: {", ".join(ALL)}', allow_abbrev=True)
    arm = parser.add_argument_group('arm')
    arm.add_argument('--urdf', help='URDF file (default: the six-axis arm of this package)')
    arm.add_argument('--base-link', default='', help='default: found')
    arm.add_argument('--tip-link', default='', help='default: found')
    goal = parser.add_argument_group('goals')
    goal.add_argument('--goals', type=_count, default=20, metavar='N',
                      help='random reachable poses (default 20)')
    goal.add_argument('--xyz', nargs=3, type=float, metavar=('X', 'Y', 'Z'),
                      help='one goal instead, in the base link, m; alone: any orientation')
    turn = goal.add_mutually_exclusive_group()
    turn.add_argument('--rpy', nargs=3, type=float, metavar=('ROLL', 'PITCH', 'YAW'),
                      help='its orientation by fixed-axis angles, rad')
    turn.add_argument('--quaternion', nargs=4, type=float, metavar=('X', 'Y', 'Z', 'W'),
                      help='its orientation by a quaternion')
    goal.add_argument('--free', nargs='+', choices=('x', 'y', 'z', 'rx', 'ry', 'rz'), default=(),
                      help='axes of the tool that are left free')
    start = parser.add_argument_group('where to begin')
    start.add_argument('--seed', nargs='+', type=float, metavar='Q',
                       help='joint positions, rad or m (default: random)')
    start.add_argument('--near', type=float, default=0.3, metavar='R',
                       help='random seeds so near to a posture that meets the random goal, '
                            'rad or m, inf = anywhere (default 0.3)')
    start.add_argument('--seed-number', type=int, default=0, metavar='K',
                       help='another number, other goals and seeds (default 0)')
    how = parser.add_argument_group('methods')
    how.add_argument('--methods', nargs='+', choices=ALL, default=ALL, metavar='NAME',
                     help='default: all')
    how.add_argument('--limits', choices=tuple(Limits), default='',
                     help='how joint limits are kept (default: as each method does best)')
    how.add_argument('--max-iterations', type=_count, default=0, metavar='N',
                     help='steps of an attempt of a textbook method (default: by method)')
    paper = parser.add_argument_group('the experiment of Soch and Lorencz 2005, section 3')
    paper.add_argument('--paper', action='store_true',
                       help='a planar chain follows an ellipse out of a singular posture')
    paper.add_argument('--degrees', type=float, default=1.0, metavar='D',
                       help='of the ellipse in one step (default 1)')
    parser.add_argument('--output', type=Path, default=Path('compare_methods'), metavar='FOLDER',
                        help='where the files go (default ./compare_methods)')
    parser.add_argument('--no-pictures', action='store_true', help='needs no matplotlib')
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
        (run_paper if arguments.paper else run_arm)(arguments)
    except (IkNodeError, OSError) as error:
        print(f'compare_methods: {error}', file=sys.stderr)
        raise SystemExit(2) from None
    print(f'written to {arguments.output}', file=sys.stderr)


# ---- an arm ---------------------------------------------------------------------

def run_arm(arguments: argparse.Namespace) -> None:
    """Compare on an arm, print the table and write the files."""
    arm = load_urdf(Path(arguments.urdf or share_file('urdf/six_axis_arm.urdf')),
                    arguments.base_link, arguments.tip_link)
    options = ClassicOptions(max_iterations=arguments.max_iterations)
    goals, seeds = _goals_and_seeds(arm, arguments)
    methods = list(arguments.methods)
    if PRODUCTION in methods:
        methods.insert(methods.index(PRODUCTION) + 1, RESTARTS)
    figures, runs = [], {}
    for method in methods:
        own = options if not arguments.limits or method not in METHODS \
            or arguments.limits not in METHODS[method].limits \
            else ClassicOptions(max_iterations=options.max_iterations, limits=arguments.limits)
        one, ran = compare(Runner(arm, own), [method], goals, seeds)
        figures += one
        runs |= ran
    text = arm_table(arm, figures)
    print(text)
    folder = arguments.output
    (folder / 'table.md').write_text(text + '\n', encoding='utf-8')
    _write_json(folder / 'numbers.json', {
        'arm': {'base_link': arm.base_link, 'tip_link': arm.tip_link,
                'joints': arm.joint_names},
        'methods': [asdict(row) for row in figures],
        'runs': {name: [_run_numbers(run) for run in each] for name, each in runs.items()},
        'first_goal': {name: {'steps': each[0].at, 'path': each[0].path,
                              'errors_m_rad': each[0].errors}
                       for name, each in runs.items()}})
    if not arguments.no_pictures:
        shown = {name: each for name, each in runs.items() if name != RESTARTS}
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
        R = rotation_from_quaternion(np.array(arguments.quaternion))
    elif arguments.rpy:
        R = rotation_from_rpy(*arguments.rpy)
    else:
        R, free = np.eye(3), free[:3] + [FREE] * 3
    return Goal(pose(R, np.array(arguments.xyz)), tuple(free))


def rotation_from_quaternion(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a quaternion x, y, z, w of any length but 0."""
    length = np.linalg.norm(quaternion)
    if not 0.0 < length < np.inf:
        raise ParameterError(f'the quaternion {list(quaternion)} has no direction')
    x, y, z, w = quaternion / length
    return np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)]])


def arm_table(arm: Arm, figures: list[Figures]) -> str:
    """Return the comparison as a Markdown table."""
    lines = [f'{quote(arm.base_link)} to {quote(arm.tip_link)}, {arm.n} joints; medians over the '
             'goals met.', '']
    rows = [(row.method, f'{row.met} of {row.goals}', _number(row.median_steps),
             _number(row.most_steps), _number(row.median_time), _number(row.median_jump),
             _number(row.largest_jump)) for row in figures if not row.note]
    lines += _markdown(('method', 'goals met', 'steps', 'most steps', 'time (ms)',
                        f'largest joint step ({compare_plots.unit(arm)})', 'largest of all'), rows)
    lines += [f'\n{row.method}: {row.note}' for row in figures if row.note]
    return '\n'.join(lines)


# ---- the paper --------------------------------------------------------------------

def run_paper(arguments: argparse.Namespace) -> None:
    """Repeat the paper's experiment, print the table and write the files."""
    if not 0.0 < arguments.degrees <= 180.0:
        raise ParameterError(f'--degrees is {arguments.degrees}; it must be above 0 and at '
                             'most 180')
    done = {walk.method: walk for walk in walks(list(arguments.methods), arguments.degrees,
                                                round(360.0 / arguments.degrees))}
    text = paper_table(list(done.values()))
    print(text)
    folder = arguments.output
    (folder / 'paper.md').write_text(text + '\n', encoding='utf-8')
    _write_json(folder / 'paper.json', [{
        'method': walk.method, 'distance_m': walk.distance, 'path_rad': walk.path,
        'steps_to_converge': walk.steps_to_converge,
        'largest_joint_step_to_converge_rad': walk.jump_to_converge} for walk in done.values()])
    if not arguments.no_pictures:
        draw: dict[str, Callable[[dict[str, Walk], Path], None]] = {
            'paper_figure_4.png': compare_paper_plots.figure_4,
            'paper_all_methods.png': compare_paper_plots.all_methods,
            'paper_chains.png': compare_paper_plots.chains,
            'paper_ellipse.png': compare_paper_plots.whole_ellipse}
        for name, picture in draw.items():
            picture(done, folder / name)


def paper_table(done: list[Walk], first: int = compare_paper_plots.STEPS) -> str:
    """Return the experiment as a Markdown table: the first steps, the ellipse, the top of it."""
    rows = []
    for walk in done:
        within = walk.follows_from
        rows.append((
            walk.method, _number(np.degrees(walk.jumps[:first].max())),
            _number(1e3 * walk.distance[:first + 1].max()),
            '-' if within is None else str(within),
            _number(np.degrees(walk.jumps.max())), _number(1e3 * walk.distance.max()),
            _number(1e3 * walk.distance.mean()),
            '-' if walk.steps_to_converge is None else str(walk.steps_to_converge),
            _number(np.degrees(walk.jump_to_converge))))
    lines = _markdown((
        'method', f'largest joint step of the first {first} (deg)',
        f'largest distance of the first {first} (mm)', 'within 1 mm from step',
        'largest joint step, whole ellipse (deg)', 'largest distance (mm)', 'mean distance (mm)',
        'steps to the top', 'largest joint step there (deg)'), rows)
    for walk in done:
        if walk.method == 'extended_pairwise':
            least = smallest_singular_values(walk.path)
            lines += ['', f'Smallest singular value of the pairwise extended Jacobian: '
                          f'{1e3 * least[0]:.3g} mm at the start, where the Jacobian itself has '
                          f'0, and at least {1e3 * least.min():.3g} mm on the way.']
    return '\n'.join(lines)


# ---- writing ------------------------------------------------------------------------

def _number(value: float) -> str:
    return '-' if np.isnan(value) else f'{value:.3g}' if value < 1000.0 else f'{value:.0f}'


def _markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]

    def line(cells: tuple[str, ...]) -> str:
        return '| ' + ' | '.join(cell.ljust(width) for cell, width in zip(cells, widths)) + ' |'

    return [line(head), '|' + '|'.join('-' * (width + 2) for width in widths) + '|',
            *map(line, rows)]


def _run_numbers(run: Run) -> dict[str, object]:
    position, orientation = run.errors[-1]
    return {'met': run.met, 'steps': run.steps, 'time_s': run.time, 'q': run.path[-1],
            'position_error_m': position, 'orientation_error_rad': orientation}


def _write_json(file: Path, content: object) -> None:
    def plain(value: object) -> object:
        return value.tolist() if isinstance(value, np.ndarray) else float(value)

    def finite(value: object) -> object:
        # NaN is no JSON.
        if isinstance(value, dict):
            return {key: finite(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [finite(each) for each in value]
        return None if isinstance(value, float) and np.isnan(value) else value

    file.write_text(json.dumps(finite(content), default=plain) + '\n', encoding='utf-8')
