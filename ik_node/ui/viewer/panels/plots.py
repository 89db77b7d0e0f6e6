# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Plots of joint positions and of the distance to singularities."""

from __future__ import annotations

from collections import deque

import numpy as np
import viser

from ik_node.kinematics.arm import singular_values
from ik_node.model.chain import Chain
from ik_node.ui.viewer.panels.joint_sliders import shown_range

PLOT_SPAN_S = 60.0
PLOT_PERIOD_S = 0.1
SAMPLED_POSTURES = 200
PLOT_LAYOUT = {'height': 200, 'padding': (10, 20, 0, 0), 'legend': {'live': False}}
LINE_COLOURS = ('#1f77b4', '#e07b00', '#2b9d4f', '#d33a2f',
                '#8a5cc2', '#8c564b', '#c757a3', '#7f7f7f')


class Plots:
    """
    Two plots of the last PLOT_SPAN_S.

    Parameters
    ----------
    chain : Chain

    """

    def __init__(self, server: viser.ViserServer, chain: Chain) -> None:
        self._chain = chain
        self._lower, upper = shown_range(chain)
        self._width = upper - self._lower
        self._points: deque[tuple[float, np.ndarray, float, float]] = deque(
            maxlen=round(PLOT_SPAN_S / PLOT_PERIOD_S))
        x = {'time': False}
        self._joints = server.gui.add_uplot(
            self._joint_data(0.0), title='Joint positions (% of their range)',
            series=({'label': 'time (s)'}, *(
                {'label': name, 'stroke': LINE_COLOURS[k % len(LINE_COLOURS)], 'width': 1.5}
                for k, name in enumerate(chain.joint_names))),
            scales={'x': x, 'y': {'range': (0.0, 100.0)}}, **PLOT_LAYOUT)
        self._dexterity = server.gui.add_uplot(
            self._dexterity_data(0.0), title='Distance to singularities',
            series=({'label': 'time (s)'},
                    {'label': 'smallest singular value', 'stroke': LINE_COLOURS[0], 'width': 1.5},
                    {'label': 'manipulability', 'stroke': LINE_COLOURS[1], 'width': 1.5}),
            scales={'x': x, 'y': {'range': (0.0, _highest_dexterity(chain))}}, **PLOT_LAYOUT)

    def due(self, now: float) -> bool:
        """Return whether the next point is due at a time (monotonic, s)."""
        return not self._points or now - self._points[-1][0] >= PLOT_PERIOD_S

    def record(self, q: np.ndarray, now: float) -> None:
        """Record joint positions (n,), rad or m, at a time (monotonic, s)."""
        values = singular_values(self._chain, q)
        self._points.append((now, q, float(values[-1]), float(np.prod(values))))

    def draw(self, now: float) -> None:
        """Show the recorded points at a time (monotonic, s)."""
        self._joints.data = self._joint_data(now)
        self._dexterity.data = self._dexterity_data(now)

    def _joint_data(self, now: float) -> tuple[np.ndarray, ...]:
        q = np.array([point[1] for point in self._points]).reshape(-1, self._chain.n)
        return self._columns(now, *(100.0 * (q - self._lower) / self._width).T)

    def _dexterity_data(self, now: float) -> tuple[np.ndarray, ...]:
        values = np.array([point[2:] for point in self._points]).reshape(-1, 2)
        return self._columns(now, *values.T)

    def _columns(self, now: float, *values: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return times and values, between points without values at both ends of the time axis."""
        times = np.array([point[0] - now for point in self._points])
        shown = (times > -PLOT_SPAN_S) & (times < 0.0)
        return (np.concatenate(([-PLOT_SPAN_S], times[shown], [0.0])),
                *(np.concatenate(([np.nan], column[shown], [np.nan])) for column in values))

    def remove(self) -> None:
        """Take the plots off the page."""
        self._joints.remove()
        self._dexterity.remove()


def _highest_dexterity(chain: Chain) -> float:
    """Return the highest smallest singular value or manipulability of random postures."""
    lower, upper = shown_range(chain)
    postures = np.random.default_rng(0).uniform(lower, upper, (SAMPLED_POSTURES, chain.n))
    values = [singular_values(chain, q) for q in postures]
    return float(max(max(each[-1], np.prod(each)) for each in values))
