# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of the comparison: one small panel per method, on common axes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ik_node.model.chain import Chain
from ik_node.tools.compare.compare_runs import Run
from ik_node.tools.plots.figures import LINE_COLOURS, Panels, remark, save, unit

MIN_PLOTTED_ERROR_M = 1e-10


def convergence(runs: dict[str, list[Run]], metres_per_radian: float, tolerance: float,
                file: Path) -> None:
    """Draw the weighted error over the steps for each goal and the median, on log scales."""
    picture = Panels(
        list(runs), 'Error against step', 'step',
        f'position and orientation error, 1 rad = {metres_per_radian:g} m  (m)',
        [(LINE_COLOURS[5], '-', 'one goal'), (LINE_COLOURS[0], '-', 'median of all'),
         (LINE_COLOURS[1], '--', 'position tolerance')])
    for name, axes in picture.axes.items():
        steps = np.arange(max(run.steps for run in runs[name]) + 1)
        curves = []
        for run in runs[name]:
            error = np.maximum(run.distance(metres_per_radian), MIN_PLOTTED_ERROR_M)
            axes.plot(run.at, error, color=LINE_COLOURS[5], linewidth=0.6, alpha=0.6)
            # A run that has ended keeps its last error.
            curves.append(np.exp(np.interp(steps, run.at, np.log(error))))
        axes.plot(steps, np.median(curves, axis=0), color=LINE_COLOURS[0], linewidth=1.6)
        axes.axhline(tolerance, color=LINE_COLOURS[1], linewidth=0.9, linestyle='--')
        met = sum(run.met for run in runs[name])
        remark(axes, f'{met} of {len(curves)} met')
        axes.set_xscale('symlog', linthresh=1.0)
        axes.set_yscale('log')
    axes.set_xlim(left=0.0)
    axes.set_ylim(MIN_PLOTTED_ERROR_M, 10.0)
    save(picture.figure, file)


def tip_path(runs: dict[str, list[Run]], goal: np.ndarray, file: Path) -> None:
    """
    Draw the path of the tip to the first goal: along the straight line and across it.

    Parameters
    ----------
    goal : (3,) array
        Position of the first goal, m.

    """
    picture = Panels(list(runs), 'Path of the tip to the first goal',
                     'distance to go along the straight line  (mm)',
                     'distance from the straight line  (mm)',
                     [(LINE_COLOURS[0], '-', 'tip, a dot for each step'),
                      (LINE_COLOURS[6], 's', 'start'), (LINE_COLOURS[1], '*', 'goal')])
    for name, axes in picture.axes.items():
        tip = 1e3 * (runs[name][0].tip - goal)
        line = tip[0] / max(np.linalg.norm(tip[0]), 1e-9)
        along = tip @ line
        off = np.linalg.norm(tip - np.outer(along, line), axis=1)
        axes.plot(along, off, color=LINE_COLOURS[0], linewidth=1.2, marker='o', markersize=2.5)
        axes.plot(along[0], off[0], color=LINE_COLOURS[6], marker='s', markersize=4)
        axes.plot(0.0, 0.0, color=LINE_COLOURS[1], marker='*', markersize=9)
    axes.invert_xaxis()
    save(picture.figure, file)


def joint_motion(runs: dict[str, list[Run]], chain: Chain, file: Path) -> None:
    """Draw the joint positions over the steps to the first goal."""
    lines = [(LINE_COLOURS[k % len(LINE_COLOURS)], '-' if k < len(LINE_COLOURS) else '--', name)
             for k, name in enumerate(chain.joint_names)]
    picture = Panels(list(runs), 'Joint positions on the path to the first goal', 'step',
                     f'change from the seed  ({unit(chain)})', lines)
    for name, axes in picture.axes.items():
        first = runs[name][0]
        for (colour, style_, _), values in zip(lines, (first.path - first.path[0]).T):
            axes.plot(first.at, values, color=colour, linestyle=style_, linewidth=1.1)
        axes.set_xscale('symlog', linthresh=1.0)
    axes.set_xlim(left=0.0)
    save(picture.figure, file)
