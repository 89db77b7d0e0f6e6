# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Repeat the experiment of Soch and Lorencz 2005, section 3, with every method.

A planar chain follows an ellipse out of a singular posture.  Writes a table (Markdown), the
numbers (JSON) and pictures (PNG) into a folder.  Run in the source folder:
``python -m benchmarks.methods``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
import sys

import numpy as np

from benchmarks.methods import paper_plots
from benchmarks.methods.paper import smallest_singular_values, Walk, walks
from ik_node.base.errors import IkNodeError, ParameterError
from ik_node.tools.compare.command import ALL_METHODS
from ik_node.tools.compare.compare_runs import markdown, number, write_json


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.methods', description=__doc__,
                                     epilog=f'methods: {", ".join(ALL_METHODS)}')
    parser.add_argument('--methods', nargs='+', choices=ALL_METHODS, default=ALL_METHODS,
                        metavar='NAME', help='default: all')
    parser.add_argument('--degrees', type=float, default=1.0, metavar='D',
                        help='of the ellipse in one step (default 1)')
    parser.add_argument('--output', type=Path, default=Path('compare_methods'), metavar='FOLDER',
                        help='where the files go (default ./compare_methods)')
    parser.add_argument('--no-pictures', action='store_true', help='needs no matplotlib')
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    arguments = parse(sys.argv[1:] if argv is None else argv)
    try:
        arguments.output.mkdir(parents=True, exist_ok=True)
        run_paper(arguments)
    except (IkNodeError, OSError) as error:
        print(f'benchmarks.methods: {error}', file=sys.stderr)
        raise SystemExit(2) from None
    print(f'written to {arguments.output}', file=sys.stderr)


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
    write_json(folder / 'paper.json', [{
        'method': walk.method, 'distance_m': walk.distance, 'path_rad': walk.path,
        'steps_to_converge': walk.steps_to_converge,
        'largest_joint_step_to_converge_rad': walk.jump_to_converge} for walk in done.values()])
    if not arguments.no_pictures:
        draw: dict[str, Callable[[dict[str, Walk], Path], None]] = {
            'paper_figure_4.png': paper_plots.figure_4,
            'paper_all_methods.png': paper_plots.all_methods,
            'paper_chains.png': paper_plots.chains,
            'paper_ellipse.png': paper_plots.whole_ellipse}
        for name, picture in draw.items():
            picture(done, folder / name)


def paper_table(done: list[Walk], first: int = paper_plots.STEPS) -> str:
    """Return the experiment as a Markdown table: the first steps, the ellipse, the top of it."""
    rows = []
    for walk in done:
        within = walk.follows_from
        rows.append((
            walk.method, number(np.degrees(walk.jumps[:first].max())),
            number(1e3 * walk.distance[:first + 1].max()),
            '-' if within is None else str(within),
            number(np.degrees(walk.jumps.max())), number(1e3 * walk.distance.max()),
            number(1e3 * walk.distance.mean()),
            '-' if walk.steps_to_converge is None else str(walk.steps_to_converge),
            number(np.degrees(walk.jump_to_converge))))
    lines = markdown((
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


if __name__ == '__main__':
    main()
