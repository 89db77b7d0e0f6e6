# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of a workspace: slices through it, with the arm."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from ik_node.kinematics.kernels import joint_frames
from ik_node.model.chain import Chain
from ik_node.tools.plots.figures import new_figure, save, style
from ik_node.tools.workspace.sampling import Workspace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# From share 0 to 1: RdYlBu of ColorBrewer, suitable for colour-blind readers.
SHARE_COLOURS = np.array([(215, 48, 39), (252, 141, 89), (254, 224, 144), (224, 243, 248),
                          (145, 191, 219), (69, 117, 180)]) / 255.0


def share_colours(share: np.ndarray) -> np.ndarray:
    """Return red, green, blue (N, 3), 0 to 1, of shares (N,), 0 to 1."""
    at = np.linspace(0.0, 1.0, len(SHARE_COLOURS))
    return np.stack([np.interp(share, at, channel) for channel in SHARE_COLOURS.T], axis=-1)


FIGURE_SIZE_IN = 12.0, 7.6
SLICE_HEIGHTS = (0.0, 1 / 3, 2 / 3)  # from the base, or the lowest cell above it, to the top
AXIS_NAMES = 'xyz'
TITLE_CHARACTERS = 130  # of a line


def draw(workspace: Workspace, chain: Chain, path: Path) -> None:
    """Draw slices across x, y and z, and the volume over the share of orientations, to a file."""
    figure = new_figure(*FIGURE_SIZE_IN, ', or leave the picture out with --no-picture')
    from matplotlib.colors import LinearSegmentedColormap
    colours = LinearSegmentedColormap.from_list('share', SHARE_COLOURS)
    panels = figure.subplots(2, 3).ravel()
    slices = _slices(workspace, chain)
    for axes, (axis, k) in zip(panels, slices):
        image = _draw_slice(style(axes), workspace, axis, k, colours)
        _draw_arm(axes, chain, axis)
    for axes in panels[len(slices):-1]:
        axes.set_visible(False)
    _draw_volume(style(panels[-1]), workspace, colours)
    what = 'directions' if workspace.pointing else 'orientations'
    figure.colorbar(image, ax=panels, shrink=0.6, pad=0.01,
                    label=f'share of {len(workspace.orientations)} {what} reached')
    figure.suptitle(fill(f'{workspace.tip_link} in {workspace.base_link}: cells of '
                         f'{workspace.spacing:g} m, {workspace.collisions}', TITLE_CHARACTERS),
                    fontsize=11)
    save(figure, path)


def _slices(workspace: Workspace, chain: Chain) -> list[tuple[int, int]]:
    """Return the slices, each as its normal axis and the index along it."""
    middles = workspace.x, workspace.y, workspace.z
    reached = workspace.z[workspace.reachable.any(axis=(0, 1))]
    ends = (reached.min(), reached.max()) if len(reached) else workspace.z[[0, -1]]
    bottom, top = np.clip(ends, 0.0, None)
    wanted = [(2, bottom + height * (top - bottom)) for height in SLICE_HEIGHTS]
    wanted += [(axis, chain.offsets[0, 9 + axis]) for axis in (1, 0)]
    return list(dict.fromkeys((axis, int(np.abs(middles[axis] - at).argmin()))
                              for axis, at in wanted))


def _draw_slice(axes: Axes, workspace: Workspace, axis: int, k: int, colours: object) -> object:
    across, up = (other for other in range(3) if other != axis)
    middles = workspace.x, workspace.y, workspace.z
    share = np.ma.masked_where(~workspace.reachable, workspace.share).take(k, axis=axis)
    half = 0.5 * workspace.spacing
    ends = [end for other in (across, up)
            for end in (middles[other][0] - half, middles[other][-1] + half)]
    image = axes.imshow(share.T, origin='lower', extent=ends, cmap=colours, vmin=0.0, vmax=1.0,
                        interpolation='nearest', zorder=1)
    axes.set_title(f'{AXIS_NAMES[axis]} = {middles[axis][k]:.3g} m', fontsize=9)
    axes.set_xlabel(f'{AXIS_NAMES[across]} (m)', fontsize=8)
    axes.set_ylabel(f'{AXIS_NAMES[up]} (m)', fontsize=8)
    return image


def _draw_arm(axes: Axes, chain: Chain, axis: int) -> None:
    """Draw joints and tip at the middle of the joint ranges, seen along an axis."""
    frames = np.empty((len(chain.table), 12))
    joint_frames(chain.table, chain.middle, frames)
    line = np.delete(np.vstack([np.zeros(3), frames[:, 9:]]), axis, axis=1)
    axes.plot(*line.T, color='#202020', linewidth=1.5, marker='o', markersize=3, zorder=2)


def _draw_volume(axes: Axes, workspace: Workspace, colours: object) -> None:
    """Draw the volume over the smallest share of orientations that is reached in it."""
    cell = workspace.spacing**3
    shares = np.linspace(0.0, 1.0, len(workspace.orientations) + 1)
    volume = [cell * workspace.reachable.sum()] + [
        cell * (workspace.share > share - 1e-9).sum() for share in shares[1:]]
    axes.bar(shares, volume, width=0.9 / len(shares), color=colours(shares))
    axes.set_title('volume', fontsize=9)
    axes.set_xlabel('at least this share of them reached', fontsize=8)
    axes.set_ylabel('m³', fontsize=8)
