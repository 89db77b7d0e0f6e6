# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the comparison: one small panel for each method, on common axes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_node.errors import ParameterError
from ik_node.model.chain import Chain
from ik_node.tools.compare_runs import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito 2008: told apart by colour-blind readers, too; without the yellow.
COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#000000')
GREY = '#B0B0B0'
COLUMNS = 4
PANEL = (2.6, 1.9)  # inches
LEGEND_LINE = 0.22  # inches
LEAST = 1e-10       # m, where the picture of errors ends
DPI = 100


def new_figure(width: float, height: float,
               otherwise: str = ', or leave them out with --no-pictures') -> Figure:
    """
    Return an empty figure (inches) that is drawn without a display.

    `otherwise` is what can be done without matplotlib.

    Raises
    ------
    ParameterError
        If matplotlib is not installed.

    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ParameterError('pictures need matplotlib; install it with "pip install matplotlib"'
                             + otherwise) from error
    figure = Figure(figsize=(width, height), dpi=DPI, layout='constrained')
    FigureCanvasAgg(figure)
    return figure


class Panels:
    """
    A figure with a panel for each name on common axes, and one legend below all of them.

    Parameters
    ----------
    names : list of str
    title, x_label, y_label : str
        Of the whole figure.
    legend : list of (colour, line style or marker, text)

    """

    def __init__(self, names: list[str], title: str, x_label: str, y_label: str,
                 legend: list[tuple[str, str, str]]) -> None:
        columns = min(COLUMNS, len(names))
        rows = -(-len(names) // columns)
        below = 0.15 + LEGEND_LINE * -(-len(legend) // COLUMNS)
        height = PANEL[1] * rows + 0.6
        self.figure = new_figure(max(6.0, PANEL[0] * columns), height + below)
        upper, lower = self.figure.subfigures(2, 1, height_ratios=(height, below))
        grid = upper.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        upper.suptitle(title, fontsize=11)
        upper.supxlabel(x_label, fontsize=9)
        upper.supylabel(y_label, fontsize=9)
        self.axes: dict[str, Axes] = {}
        for k, axes in enumerate(grid.flat):
            if k >= len(names):
                axes.set_visible(False)
                # The panel above becomes the lowest of its column.
                grid[k // columns - 1, k % columns].tick_params(labelbottom=True)
                continue
            self.axes[names[k]] = style(axes)
            axes.set_title(names[k], fontsize=8)
        add_legend(lower, legend)


def add_legend(figure: Figure, entries: list[tuple[str, str, str]]) -> None:
    """Put a legend of (colour, line style or marker, text) into the middle of a figure."""
    from matplotlib.lines import Line2D
    lines = [Line2D([], [], color=colour, linestyle=line) if line[0] in '-:'
             else Line2D([], [], color=colour, linestyle='', marker=line)
             for colour, line, _ in entries]
    figure.legend(lines, [text for *_, text in entries], loc='center', frameon=False,
                  ncols=min(COLUMNS, len(entries)), fontsize=8)


def style(axes: Axes) -> Axes:
    """Make a panel quiet: no box, light grid, small numbers."""
    axes.grid(True, color='#E4E4E4', linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=7)
    for side in ('top', 'right'):
        axes.spines[side].set_visible(False)
    return axes


def convergence(runs: dict[str, list[Run]], metres_per_radian: float, tolerance: float,
                file: Path) -> None:
    """Draw the weighted error against the step, every goal and the median, log scales."""
    picture = Panels(
        list(runs), 'Error against step', 'step',
        f'position and orientation error, 1 rad = {metres_per_radian:g} m  (m)',
        [(COLOURS[5], '-', 'one goal'), (COLOURS[0], '-', 'median of all'),
         (COLOURS[1], '--', 'position tolerance')])
    for name, axes in picture.axes.items():
        steps = np.arange(max(run.steps for run in runs[name]) + 1)
        curves = []
        for run in runs[name]:
            error = np.maximum(run.distance(metres_per_radian), LEAST)
            axes.plot(run.at, error, color=COLOURS[5], linewidth=0.6, alpha=0.6)
            # A run that has ended stays where it is.
            curves.append(np.exp(np.interp(steps, run.at, np.log(error))))
        axes.plot(steps, np.median(curves, axis=0), color=COLOURS[0], linewidth=1.6)
        axes.axhline(tolerance, color=COLOURS[1], linewidth=0.9, linestyle='--')
        met = sum(run.met for run in runs[name])
        remark(axes, f'{met} of {len(curves)} met')
        axes.set_xscale('symlog', linthresh=1.0)
        axes.set_yscale('log')
    axes.set_xlim(left=0.0)
    axes.set_ylim(LEAST, 10.0)
    save(picture.figure, file)


def tip_path(runs: dict[str, list[Run]], goal: np.ndarray, file: Path) -> None:
    """
    Draw the tip on its way to the first goal: along the straight line, and off it.

    Parameters
    ----------
    goal : (3,) array
        Position of the first goal, m.

    """
    picture = Panels(list(runs), 'Path of the tip to the first goal',
                     'distance to go along the straight line  (mm)',
                     'distance from the straight line  (mm)',
                     [(COLOURS[0], '-', 'tip, a dot for each step'), (COLOURS[6], 's', 'start'),
                      (COLOURS[1], '*', 'goal')])
    for name, axes in picture.axes.items():
        tip = 1e3 * (runs[name][0].tip - goal)
        line = tip[0] / max(np.linalg.norm(tip[0]), 1e-9)
        along = tip @ line
        off = np.linalg.norm(tip - np.outer(along, line), axis=1)
        axes.plot(along, off, color=COLOURS[0], linewidth=1.2, marker='o', markersize=2.5)
        axes.plot(along[0], off[0], color=COLOURS[6], marker='s', markersize=4)
        axes.plot(0.0, 0.0, color=COLOURS[1], marker='*', markersize=9)
    axes.invert_xaxis()
    save(picture.figure, file)


def joint_motion(runs: dict[str, list[Run]], chain: Chain, file: Path) -> None:
    """Draw the joints against the step on the way to the first goal."""
    lines = [(COLOURS[k % len(COLOURS)], '-' if k < len(COLOURS) else '--', name)
             for k, name in enumerate(chain.joint_names)]
    picture = Panels(list(runs), 'Joints on the way to the first goal', 'step',
                     f'change from the seed  ({unit(chain)})', lines)
    for name, axes in picture.axes.items():
        first = runs[name][0]
        for (colour, style_, _), values in zip(lines, (first.path - first.path[0]).T):
            axes.plot(first.at, values, color=colour, linestyle=style_, linewidth=1.1)
        axes.set_xscale('symlog', linthresh=1.0)
    axes.set_xlim(left=0.0)
    save(picture.figure, file)


def remark(axes: Axes, text: str) -> None:
    """Write a few words into the upper right corner of a panel."""
    axes.text(0.97, 0.96, text, transform=axes.transAxes, ha='right', va='top', fontsize=7)


def unit(chain: Chain) -> str:
    """Return the unit of a joint position in words."""
    return 'rad' if chain.turning.all() else 'rad or m'


def save(figure: Figure, file: Path) -> None:
    """Write a PNG of 256 colours, which is small and looks the same."""
    from PIL import Image
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())
    Image.fromarray(pixels).convert('RGB').quantize(256).save(file, optimize=True)
