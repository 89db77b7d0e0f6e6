# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""results.json -> one picture: time on a logarithmic axis and the share of right answers."""

from __future__ import annotations

from pathlib import Path

import matplotlib

from benchmarks.ik.ratios import OURS, OURS_NUMERICAL
from benchmarks.ik.report import aggregate, share_text, time_text
from benchmarks.ik.scenarios import Scenario, SCENARIOS

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402, the backend must be chosen before

COLUMNS = 2
GOOD, FAIR, POOR, OWN = '#2a7f3e', '#d08a00', '#b3261e', '#0b57d0'
SHAPES = {6: ('o', 0.17), 7: ('s', -0.17)}  # marker and offset of arms of six and seven axes


def draw(results: dict, path: Path) -> None:
    """Draw a panel per scenario: median (marker) to 99th percentile (line) of each solver."""
    panels = []
    for scenario in SCENARIOS:
        arms = results['scenarios'].get(scenario.name, {})
        rows = {axes: aggregate(row for arm, row in arms.items()
                                if results['arms'][arm]['axes'] == axes) for axes in SHAPES}
        if any(rows.values()):
            panels.append((scenario, rows))
    if not panels:
        return
    most = max(len(set(rows[6]) | set(rows[7])) for _, rows in panels)
    lines = -(-len(panels) // COLUMNS)
    figure, axes = pyplot.subplots(lines, COLUMNS, squeeze=False, sharex=True,
                                   figsize=(16.0, lines * (0.9 + 0.3 * most)))
    for ax, (scenario, rows) in zip(axes.flat, panels):
        _panel(ax, scenario, rows)
    for ax in axes.flat[len(panels):]:
        ax.axis('off')
    for ax in axes[-1]:
        ax.set_xlabel('µs per call, median to 99 % of the worst arm; '
                      'circles: six axes, squares: seven')
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def _panel(ax: pyplot.Axes, scenario: Scenario, rows: dict[int, dict[str, dict]]) -> None:
    names = set(rows[6]) | set(rows[7])
    order = sorted(names, key=lambda name: -min(rows[n][name]['median'] for n in rows
                                                if name in rows[n]))
    for y, name in enumerate(order):
        said = [_solver(ax, y + offset, marker, rows[axes][name], scenario.solvable)
                for axes, (marker, offset) in SHAPES.items() if name in rows[axes]]
        ax.annotate(' · '.join(said), (1.0, y), xycoords=('axes fraction', 'data'),
                    xytext=(6, 0), textcoords='offset points', va='center', fontsize=8)
    ax.set_yticks(range(len(order)), order, fontsize=9)
    for label in ax.get_yticklabels():
        if label.get_text() in (OURS, OURS_NUMERICAL):
            label.set_color(OWN)
            label.set_fontweight('bold')
    ax.set_xscale('log')
    ax.set_xlim(1.0, 1e6)
    ax.set_ylim(-0.7, len(order) - 0.3)
    ax.grid(axis='x', which='major', alpha=0.3)
    ax.spines[['top', 'right']].set_visible(False)
    ax.set_title(scenario.title + ('' if scenario.solvable else ' (share that says so)'),
                 fontsize=11, loc='left')


def _solver(ax: pyplot.Axes, y: float, marker: str, row: dict, solvable: bool) -> str:
    """Draw one solver on arms of one kind and return its figures in words."""
    share = row['right'] if solvable else 100.0 - row['wrong']
    colour = GOOD if share >= 99.9 else FAIR if share >= 95.0 else POOR
    ax.plot([row['median'], row['p99']], [y, y], color=colour, linewidth=1.5, alpha=0.5)
    ax.plot(row['median'], y, marker, color=colour, markersize=6)
    return f'{time_text(row["median"])} µs {share_text(share)} %'
