# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Where the joints were within their limits, and how near to a singularity."""

from __future__ import annotations

from collections import deque

import numpy as np
import viser

from ik_node.kinematics.arm import singular_values
from ik_node.model.chain import Chain
from ik_node.ui.viewer.joint_sliders import shown_range

SPAN = 60.0     # s that are shown
PERIOD = 0.1    # s between two points
LAYOUT = {'height': 200, 'padding': (10, 20, 0, 0), 'legend': {'live': False}}
COLOURS = ('#1f77b4', '#e07b00', '#2b9d4f', '#d33a2f', '#8a5cc2', '#8c564b', '#c757a3', '#7f7f7f')


class Plots:
    """
    Two plots of the last seconds.

    Parameters
    ----------
    chain : Chain

    """

    def __init__(self, server: viser.ViserServer, chain: Chain) -> None:
        self._chain = chain
        self._lower, upper = shown_range(chain)
        self._width = upper - self._lower
        self._points: deque[tuple[float, np.ndarray, float, float]] = deque(
            maxlen=round(SPAN / PERIOD))
        x = {'time': False, 'range': (-SPAN, 0.0)}
        self._joints = server.gui.add_uplot(
            self._joint_data(0.0), title='joints within their limits, %',
            series=({'label': 's'}, *(
                {'label': name, 'stroke': COLOURS[k % len(COLOURS)], 'width': 1.5}
                for k, name in enumerate(chain.joint_names))),
            scales={'x': x, 'y': {'range': (0.0, 100.0)}}, **LAYOUT)
        self._dexterity = server.gui.add_uplot(
            self._dexterity_data(0.0), title='distance to singularities',
            series=({'label': 's'},
                    {'label': 'smallest singular value', 'stroke': COLOURS[0], 'width': 1.5},
                    {'label': 'manipulability', 'stroke': COLOURS[1], 'width': 1.5}),
            scales={'x': x, 'y': {}}, **LAYOUT)

    def due(self, now: float) -> bool:
        """Return whether the last point is old enough for another (s)."""
        return not self._points or now - self._points[-1][0] >= PERIOD

    def record(self, q: np.ndarray, now: float) -> None:
        """Keep joint positions (n,) at a time (s)."""
        values = singular_values(self._chain, q)
        self._points.append((now, q, float(values[-1]), float(np.prod(values))))

    def draw(self, now: float) -> None:
        """Show what was kept."""
        self._joints.data = self._joint_data(now)
        self._dexterity.data = self._dexterity_data(now)

    def _joint_data(self, now: float) -> tuple[np.ndarray, ...]:
        q = np.array([point[1] for point in self._points]).reshape(-1, self._chain.n)
        return self._times(now), *(100.0 * (q - self._lower) / self._width).T.copy()

    def _dexterity_data(self, now: float) -> tuple[np.ndarray, ...]:
        return (self._times(now), np.array([point[2] for point in self._points]),
                np.array([point[3] for point in self._points]))

    def _times(self, now: float) -> np.ndarray:
        return np.array([point[0] - now for point in self._points])

    def remove(self) -> None:
        """Take the plots off the page."""
        self._joints.remove()
        self._dexterity.remove()
