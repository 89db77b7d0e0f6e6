# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Draw figures without a display: common colours, panels and legends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.se3 import rotation_from_quaternion
from ik_node.base.system import require_matplotlib
from ik_node.base.text import shown
from ik_node.model.chain import Chain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito 2008, without yellow: colour-blind readers can tell them apart.
LINE_COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#000000')
NEUTRAL_GREY = '#B0B0B0'
PANEL_COLUMNS = 4
PANEL_SIZE_IN = (2.6, 1.9)
LEGEND_LINE_IN = 0.22
FIGURE_DPI = 100


def new_figure(width: float, height: float,
               otherwise: str = ', or leave them out with --no-pictures') -> Figure:
    """
    Return an empty figure that is drawn without a display.

    Parameters
    ----------
    width, height : float
        Size in inches.
    otherwise : str
        Ending of the error: how to do without matplotlib.

    Raises
    ------
    ParameterError
        If matplotlib is not installed.

    """
    require_matplotlib(otherwise)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(width, height), dpi=FIGURE_DPI, layout='constrained')
    FigureCanvasAgg(figure)
    return figure


class Panels:
    """
    A figure with one panel per name, common axes, and one legend below all panels.

    Parameters
    ----------
    names : list of str
    title, x_label, y_label : str
        Title and axis labels of the whole figure.
    legend : list of (colour, line style or marker, text)

    """

    def __init__(self, names: list[str], title: str, x_label: str, y_label: str,
                 legend: list[tuple[str, str, str]]) -> None:
        columns = min(PANEL_COLUMNS, len(names))
        rows = -(-len(names) // columns)
        below = 0.15 + LEGEND_LINE_IN * -(-len(legend) // PANEL_COLUMNS)
        height = PANEL_SIZE_IN[1] * rows + 0.6
        self.figure = new_figure(max(6.0, PANEL_SIZE_IN[0] * columns), height + below)
        upper, lower = self.figure.subfigures(2, 1, height_ratios=(height, below))
        grid = upper.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        upper.suptitle(title, fontsize=11)
        upper.supxlabel(x_label, fontsize=9)
        upper.supylabel(y_label, fontsize=9)
        self.axes: dict[str, Axes] = {}
        for k, axes in enumerate(grid.flat):
            if k >= len(names):
                axes.set_visible(False)
                # The panel above is now the lowest of its column.
                grid[k // columns - 1, k % columns].tick_params(labelbottom=True)
                continue
            self.axes[names[k]] = style(axes)
            axes.set_title(names[k], fontsize=8)
        add_legend(lower, legend)


def add_legend(figure: Figure, entries: list[tuple[str, str, str]]) -> None:
    """Add a centred legend of (colour, line style or marker, text)."""
    from matplotlib.lines import Line2D
    lines = [Line2D([], [], color=colour, linestyle=line) if line[0] in '-:'
             else Line2D([], [], color=colour, linestyle='', marker=line)
             for colour, line, _ in entries]
    figure.legend(lines, [text for *_, text in entries], loc='center', frameon=False,
                  ncols=min(PANEL_COLUMNS, len(entries)), fontsize=8)


def style(axes: Axes) -> Axes:
    """Style a panel: no box, light grid, small tick labels."""
    axes.grid(True, color='#E4E4E4', linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=7)
    for side in ('top', 'right'):
        axes.spines[side].set_visible(False)
    return axes


def remark(axes: Axes, text: str) -> None:
    """Write a short text into the upper right corner of a panel."""
    axes.text(0.97, 0.96, text, transform=axes.transAxes, ha='right', va='top', fontsize=7)


def unit(chain: Chain) -> str:
    """Return the unit of the joint positions of a chain."""
    return 'rad' if chain.revolute.all() else 'rad or m'


def save(figure: Figure, file: Path) -> None:
    """Write a PNG with 256 colours, to keep the file small."""
    from PIL import Image
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())
    Image.fromarray(pixels).convert('RGB').quantize(256).save(file, optimize=True)


def rotation_from(quaternion: np.ndarray) -> np.ndarray:
    """
    Return the rotation matrix (3, 3) of a quaternion x, y, z, w of any length but 0.

    Raises
    ------
    ParameterError
        If its length is 0 or not finite.

    """
    length = np.linalg.norm(quaternion)
    if not 0.0 < length < np.inf:
        raise ParameterError(f'the quaternion {shown(list(quaternion))} has no direction')
    return rotation_from_quaternion(quaternion / length)
