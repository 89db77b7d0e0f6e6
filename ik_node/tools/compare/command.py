# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compare methods of inverse kinematics side by side, on any arm.

Writes a table (Markdown), the numbers (JSON) and figures (PNG) into a folder.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
import sys

import numpy as np

from ik_node.base.errors import IkNodeError, ParameterError
from ik_node.base.se3 import pose, rotation_from_rpy
from ik_node.base.system import require_matplotlib, share_file
from ik_node.base.text import quote
from ik_node.kinematics.arm import Arm, load_urdf
from ik_node.model.joints import require_radians
from ik_node.solver.goal import FREE_AXIS, Goal
from ik_node.textbook.methods import TEXTBOOK_METHODS
from ik_node.textbook.options import ClassicOptions
from ik_node.tools.arguments.compare_methods import parse
from ik_node.tools.compare import compare_runs
from ik_node.tools.compare.compare_runs import (
    ALONE_METHODS,
    compare,
    markdown,
    Metrics,
    number,
    PRODUCTION_METHOD,
    reachable_goals,
    RESTARTS_METHOD,
    Run,
    Runner,
    write_json,
)
from ik_node.tools.plots.figures import rotation_from, unit

ALL_METHODS = (PRODUCTION_METHOD, *TEXTBOOK_METHODS)


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    arguments = parse(sys.argv[1:] if argv is None else argv)
    try:
        if not arguments.no_pictures:
            require_matplotlib(', or leave pictures out with --no-pictures')
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
    options = ClassicOptions(max_iterations=arguments.max_iterations,
                             step_fraction=arguments.step_fraction)
    goals, seeds = _goals_and_seeds(arm, arguments)
    also = {PRODUCTION_METHOD: RESTARTS_METHOD} | {name: alone
                                                   for alone, name in ALONE_METHODS.items()}
    methods = [each for name in arguments.methods
               for each in ([name, also[name]] if name in also else [name])]
    metrics, runs = [], {}
    for method in methods:
        own = options if not arguments.limits or method not in TEXTBOOK_METHODS \
            or arguments.limits not in TEXTBOOK_METHODS[method].limits \
            else replace(options, limits=arguments.limits)
        one, ran = compare(Runner(arm, own), [method], goals, seeds)
        metrics += one
        runs |= ran
    text = arm_table(arm, metrics)
    print(text)
    folder = arguments.output
    (folder / 'table.md').write_text(text + '\n', encoding='utf-8')
    write_json(folder / 'numbers.json', {
        'arm': {'base_link': arm.base_link, 'tip_link': arm.tip_link,
                'joints': arm.joint_names},
        'methods': [asdict(row) for row in metrics],
        'runs': {name: [_run_numbers(run) for run in each] for name, each in runs.items()},
        'first_goal': {name: {'steps': each[0].at, 'path': each[0].path,
                              'errors_m_rad': each[0].errors}
                       for name, each in runs.items()}})
    if not arguments.no_pictures:
        shown = {name: each for name, each in runs.items() if name != RESTARTS_METHOD}
        compare_runs.convergence(shown, options.metres_per_radian, options.position_tolerance,
                                  folder / 'convergence.png')
        compare_runs.tip_path(shown, goals[0].T_base_tip[:3, 3], folder / 'tip_path.png')
        compare_runs.joint_motion(shown, arm, folder / 'joint_motion.png')


def _goals_and_seeds(arm: Arm, arguments: argparse.Namespace) -> tuple[list[Goal], np.ndarray]:
    goals, seeds = reachable_goals(arm, 1 if arguments.xyz else arguments.goals,
                                   arguments.seed_number, arguments.near)
    free = [FREE_AXIS if axis in arguments.free else 0.0
            for axis in ('x', 'y', 'z', 'rx', 'ry', 'rz')]
    if arguments.xyz:
        goals = [_goal(arguments, free)]
    elif arguments.rpy or arguments.quaternion:
        raise ParameterError('an orientation is given without --xyz; give the position, too')
    elif FREE_AXIS in free:
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
        require_radians(arguments.rpy, '--rpy')
        R = rotation_from_rpy(*arguments.rpy)
    else:
        R, free = np.eye(3), free[:3] + [FREE_AXIS] * 3
    return Goal(pose(R, np.array(arguments.xyz)), tuple(free))


def arm_table(arm: Arm, metrics: list[Metrics]) -> str:
    """Return the comparison as a Markdown table."""
    lines = [f'{quote(arm.base_link)} to {quote(arm.tip_link)}, {arm.n} joints; medians over the '
             'goals reached, those of the errors left over all goals.', '']
    rows = [(row.method, f'{row.met} of {row.goals}', number(row.median_steps),
             number(row.most_steps), number(row.median_time), number(row.median_jump),
             number(row.largest_jump), number(1e3 * row.median_position_error),
             number(np.degrees(row.median_orientation_error))) for row in metrics if not row.note]
    lines += markdown(('method', 'goals met', 'steps', 'most steps', 'time (ms)',
                       f'largest joint step ({unit(arm)})', 'largest of all',
                       'error left (mm)', '(°)'), rows)
    lines += [f'\n{row.method}: {row.note}' for row in metrics if row.note]
    return '\n'.join(lines)


def _run_numbers(run: Run) -> dict[str, object]:
    position, orientation = run.errors[-1]
    return {'met': run.met, 'steps': run.steps, 'time_s': run.time, 'q': run.path[-1],
            'position_error_m': position, 'orientation_error_rad': orientation}
