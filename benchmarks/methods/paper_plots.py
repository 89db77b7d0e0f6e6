# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the experiment of Soch and Lorencz 2005, section 3."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.methods.paper import ellipse, links, planar_chain, Walk
from ik_node.tools.compare.compare_runs import PRODUCTION_METHOD
from ik_node.tools.plots.figures import (
    add_legend,
    LINE_COLOURS,
    NEUTRAL_GREY,
    new_figure,
    Panels,
    remark,
    save,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEPS = 10                     # the first ones, where the paper looks
MOMENTS = (0, 2, 3, 4, 5, 10)  # steps of its figures 5 and 6
LEAST = 1e-4                   # mm, where the picture of distances ends
SHOWN = ('pseudo_inverse', 'extended_pairwise', 'damped_least_squares', 'damped', 'transpose',
         'ccd')
LINES = [(LINE_COLOURS[1], '-', 'path of the tip'), (NEUTRAL_GREY, '-', 'ellipse to follow')]


def figure_4(walks: dict[str, Walk], file: Path) -> None:
    """Draw the two curves of the paper's figure 4, and damped least squares."""
    figure = new_figure(6.4, 3.8)
    axes = style(figure.subplots())
    shown = [('pseudo_inverse', LINE_COLOURS[1], 'o'), ('extended_pairwise', LINE_COLOURS[0], 's'),
             ('damped_least_squares', LINE_COLOURS[2], '^')]
    for name, colour, marker in shown:
        if name in walks:
            axes.plot(1e3 * walks[name].distance[:STEPS + 1], color=colour, marker=marker,
                      markersize=5, linewidth=1.4, label=name)
            peak = int(np.argmax(walks[name].distance[:STEPS + 1]))
            height = 1e3 * walks[name].distance[peak]
            if height > 20.0:
                axes.annotate(f'{height:.0f} mm', (peak, height), (6, 0), fontsize=8,
                              textcoords='offset points')
    axes.set_title('Out of the stretched posture, one step for each degree of the ellipse',
                   fontsize=10)
    axes.set_xlabel('step', fontsize=9)
    axes.set_ylabel('distance of the tip from the desired position  (mm)', fontsize=9)
    axes.set_xticks(range(STEPS + 1))
    axes.legend(fontsize=8, frameon=False)
    save(figure, file)


def all_methods(walks: dict[str, Walk], file: Path) -> None:
    """Draw the distance against the step for every method, with the pseudo-inverse in grey."""
    picture = Panels(list(walks), 'Following the ellipse, one step for each point', 'step',
                     'distance of the tip from the desired position  (mm)',
                     [(LINE_COLOURS[0], '-', 'the method'), (NEUTRAL_GREY, '-', 'pseudo_inverse')])
    for name, axes in picture.axes.items():
        if 'pseudo_inverse' in walks:
            axes.plot(_visible(walks['pseudo_inverse']), color=NEUTRAL_GREY, linewidth=1.0)
        axes.plot(_visible(walks[name]), color=LINE_COLOURS[0], linewidth=1.4)
        axes.set_yscale('log')
        jump = np.degrees(walks[name].jumps.max())
        remark(axes, f'largest joint step {jump:.3g} deg' if jump else 'stays at the start')
        if name == PRODUCTION_METHOD:
            axes.set_title(f'{name} (solves at each point)', fontsize=8)
    axes.set_ylim(LEAST, 1e4)
    save(picture.figure, file)


def _visible(walk: Walk) -> np.ndarray:
    """Return the distance in mm, what is nothing lifted to the edge of the picture."""
    return np.maximum(1e3 * walk.distance, LEAST)


def chains(walks: dict[str, Walk], file: Path) -> None:
    """Draw the chain at the moments of the paper's figures 5 and 6, on the ellipse."""
    names = [name for name in SHOWN if name in walks] or list(walks)[:len(SHOWN)]
    height = 0.95 * len(names) + 0.6
    figure = new_figure(11.0, height + 0.35)
    upper, lower = figure.subfigures(2, 1, height_ratios=(height, 0.35))
    grid = upper.subplots(len(names), len(MOMENTS), sharex=True, sharey=True, squeeze=False)
    for row, name in zip(grid, names):
        for axes, moment in zip(row, MOMENTS):
            path = walks[name].path[:moment + 1]
            _draw_ellipse(style(axes))
            _draw_tips(axes, path)
            _draw_links(axes, path[-1])
            axes.set_xlim(-430.0, 430.0)
            axes.set_ylim(-230.0, 100.0)
            axes.set_aspect('equal')
            if name == names[0]:
                axes.set_title('start' if moment == 0 else f'step {moment}', fontsize=9)
        row[0].set_ylabel(name.replace('_', '\n'), fontsize=8)
    upper.supxlabel('x  (mm)', fontsize=9)
    upper.supylabel('y  (mm)', fontsize=9)
    add_legend(lower, [(LINE_COLOURS[0], '-', 'links'), *LINES])
    save(figure, file)


def whole_ellipse(walks: dict[str, Walk], file: Path) -> None:
    """Draw the path of the tip over the whole ellipse for every method."""
    picture = Panels(list(walks), 'Path of the tip around the ellipse', 'x  (mm)', 'y  (mm)',
                     [(LINE_COLOURS[0], '-', 'links at four moments'), *LINES])
    for name, axes in picture.axes.items():
        path = walks[name].path
        _draw_ellipse(axes)
        _draw_tips(axes, path)
        for quarter in range(4):
            _draw_links(axes, path[quarter * (len(path) - 1) // 4], 0.8)
        axes.set_aspect('equal')
    save(picture.figure, file)


def _draw_ellipse(axes: Axes) -> None:
    axes.plot(*(1e3 * ellipse(np.linspace(0.0, 360.0, 361))).T, color=NEUTRAL_GREY, linewidth=1.0)


def _draw_tips(axes: Axes, path: np.ndarray) -> None:
    tips = 1e3 * np.array([links(planar_chain(), q)[-1] for q in path])
    axes.plot(*tips.T, color=LINE_COLOURS[1], linewidth=0.9)


def _draw_links(axes: Axes, q: np.ndarray, width: float = 1.3) -> None:
    axes.plot(*(1e3 * links(planar_chain(), q)).T, color=LINE_COLOURS[0], linewidth=width,
              marker='o', markersize=1.8 * width)
