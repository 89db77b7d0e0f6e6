# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of an ik_node as sliders, which show what the node really has."""

from __future__ import annotations

from time import monotonic

import numpy as np
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
import viser

from ik_node.model.chain import Chain
from ik_node.ui.node_client import Answer, Commands, PATIENCE
from ik_node.ui.viewer.event_queue import Inbox

SCALE = 'motion.velocity_scale'
GAINS = 'solver.null_space_gains'
MOST_GAIN = 5.0  # of a slider, unless the node has more
PERIOD = 1.0     # s; somebody else may set them, too


class SettingsPanel:
    """
    Velocity scale and null-space gains.

    Parameters
    ----------
    target : str
        Name of the ik_node.

    """

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox,
                 commands: Commands, say: Answer) -> None:
        self._server, self._inbox, self._commands, self._say = server, inbox, commands, say
        self._client = node.create_client(GetParameters, f'{target}/get_parameters')
        self._target = target
        self._due = -np.inf  # when to ask again (monotonic, s)
        self._folder = server.gui.add_folder('Settings')
        with self._folder:
            self._scale = server.gui.add_slider(
                'Speed', min=0.01, max=1.0, step=0.01, initial_value=0.5,
                hint=f'{SCALE}: share of the velocity limits that is used')
        inbox.on_change(self._scale, lambda value: self._set({SCALE: value}))
        self._gains_folder: viser.GuiFolderHandle | None = None
        self._gains: list[viser.GuiSliderHandle] = []

    def take_chain(self, chain: Chain) -> None:
        """Have a slider for the gain of each joint."""
        if self._gains_folder is not None:
            self._gains_folder.remove()
        with self._folder:
            self._gains_folder = self._server.gui.add_folder('Null-space gains',
                                                             expand_by_default=False)
        with self._gains_folder:
            self._gains = [self._server.gui.add_slider(
                name, min=0.0, max=MOST_GAIN, step=0.05, initial_value=1.0,
                hint=f'{GAINS}: pull to the preferred position') for name in chain.joint_names]
        for slider in self._gains:
            self._inbox.on_change(slider, lambda _value: self._set(
                {GAINS: [float(each.value) for each in self._gains]}))

    def _set(self, values: dict[str, object]) -> None:
        def answered(good: bool, sentence: str) -> None:
            self._say(good, sentence)
            self._due = -np.inf
            self.refresh()

        self._commands.set(values, answered)

    def missing(self) -> list[str]:
        """Return a sentence if there is no such node."""
        return [] if self._client.service_is_ready() else [
            f'{self._target} is not there: the arm can be seen, but not moved']

    def refresh(self) -> None:
        """Ask the node what it has."""
        now = monotonic()
        if now < self._due or not self._client.service_is_ready():
            return
        self._due = now + PATIENCE  # an ik_node that is gone before it answers never will
        future = self._client.call_async(GetParameters.Request(names=[SCALE, GAINS]))
        future.add_done_callback(lambda done: self._take(done.result()))

    def _take(self, response: GetParameters.Response | None) -> None:
        self._due = monotonic() + PERIOD
        if response is None or any(value.type == ParameterType.PARAMETER_NOT_SET
                                   for value in response.values) or len(response.values) != 2:
            return
        scale, gains = map(parameter_value_to_python, response.values)
        self._scale.value = scale
        for slider, gain in zip(self._gains, list(gains) * (
                len(self._gains) if len(gains) == 1 else 1)):
            slider.max = max(slider.max, gain)
            slider.value = gain
