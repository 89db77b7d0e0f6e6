# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Sliders for the joints: a posture to look at, and to go to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi

import numpy as np
import viser

from ik_node.model.chain import Chain
from ik_node.ui.viewer.event_queue import Inbox

DIGITS = 3  # after the point, rad or m


def shown_range(chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends (n,) of a joint's range; half a turn each way, or 1 m, without limits."""
    some = np.where(chain.turning, pi, 1.0)
    return (np.where(np.isfinite(chain.lower), chain.lower, -some),
            np.where(np.isfinite(chain.upper), chain.upper, some))


def shown_posture(chain: Chain, positions: Mapping[str, float]) -> dict[str, float]:
    """Return positions as sliders show them: inside the range, without turns that are no limit."""
    lower, upper = shown_range(chain)
    shown = {}
    for k, name in enumerate(chain.joint_names):
        if name in positions:
            value = positions[name]
            if chain.continuous[k]:
                value = (value + pi) % (2.0 * pi) - pi
            shown[name] = float(np.clip(round(value, DIGITS), lower[k], upper[k]))
    return shown


class JointPanel:
    """
    One slider for each joint of the chain.

    Parameters
    ----------
    chain : Chain
    show : callable
        Shows a posture, by joint name, while it is chosen.
    go : callable
        Goes to a posture: names and positions.

    """

    def __init__(self, server: viser.ViserServer, inbox: Inbox, chain: Chain,
                 show: Callable[[dict[str, float]], None],
                 go: Callable[[tuple[str, ...], list[float]], object]) -> None:
        self._chain = chain
        self._known: Mapping[str, float] = {}
        self._set = False
        lower, upper = shown_range(chain)
        self._folder = server.gui.add_folder('Joints')
        with self._folder:
            self._sliders = {
                name: server.gui.add_slider(
                    name, min=float(a), max=float(b), step=10.0**-DIGITS,
                    initial_value=float(np.clip(0.0, a, b)),
                    hint=f'{"rad" if turning else "m"}, from {a:.3f} to {b:.3f}')
                for name, a, b, turning in zip(chain.joint_names, lower, upper, chain.turning)}
            move = server.gui.add_button('Move to these joints')
            take = server.gui.add_button('Take the present posture', color='gray')

        def posture() -> dict[str, float]:
            return {name: slider.value for name, slider in self._sliders.items()}

        for slider in self._sliders.values():
            inbox.on_change(slider, lambda _value: show(posture()))
        inbox.on_click(move, lambda: go(chain.joint_names, list(posture().values())))
        inbox.on_click(take, self._take_present)

    def take_positions(self, positions: Mapping[str, float]) -> None:
        """Know where the joints are; the sliders begin there."""
        self._known = positions
        if not self._set and all(name in positions for name in self._chain.joint_names):
            self._set = True
            self._take_present()

    def _take_present(self) -> None:
        for name, value in shown_posture(self._chain, self._known).items():
            self._sliders[name].value = value

    def remove(self) -> None:
        """Take the sliders off the page."""
        self._folder.remove()
