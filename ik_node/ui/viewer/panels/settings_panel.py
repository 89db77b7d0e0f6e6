# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Sliders for parameters of an ik_node; they show the values that the node has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.node import Node
import viser

from ik_node.model.chain import Chain
from ik_node.ui.handle import Handle, KEEP_PARAMETER, NO_TOOL
from ik_node.ui.node_client import Answer, ParameterWatch
from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.style import mark, PLAIN_STYLE

SCALE_PARAMETER = 'motion.velocity_scale'
GAINS_PARAMETER = 'solver.null_space_gains'
CHECK_PARAMETER = 'collision.check'
JOG_PARAMETER = 'jog.command_in_type'
SHOWN_PARAMETERS = (SCALE_PARAMETER, GAINS_PARAMETER, CHECK_PARAMETER, JOG_PARAMETER,
                    KEEP_PARAMETER)
MAX_GAIN = 5.0  # of a slider, unless the node has a larger one


class SettingsPanel:
    """
    Velocity scale and null-space gains.

    Parameters
    ----------
    target : str
        Name of the ik_node.
    handle : Handle
        Sets parameters, and takes what every motion keeps.

    """

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox,
                 handle: Handle, say: Answer) -> None:
        self._server, self._inbox, self._handle, self._say = server, inbox, handle, say
        self._watch = ParameterWatch(node, target, SHOWN_PARAMETERS, self._take)
        self._target = target
        self.collision_check = True  # whether the node does; true as long as that is not known
        self.command_in_type = 'unitless'  # of jog commands
        self._folder = server.gui.add_folder('Settings')
        with self._folder:
            self._scale = server.gui.add_slider(
                'Speed (% of limits)', min=1.0, max=100.0, step=0.1, initial_value=50.0,
                hint=f'{SCALE_PARAMETER}: how much of the velocity limits is used')
        inbox.on_change(self._scale, lambda percent: self._set(
            {SCALE_PARAMETER: round(percent / 100.0, 4)}))
        self._gains_folder: viser.GuiFolderHandle | None = None
        self._gains: list[viser.GuiSliderHandle] = []

    def take_chain(self, chain: Chain) -> None:
        """Add a slider for the null-space gain of each joint."""
        if self._gains_folder is not None:
            self._gains_folder.remove()
        with self._folder:
            self._gains_folder = self._server.gui.add_folder('Null-space gains',
                                                             expand_by_default=False)
        with self._gains_folder:
            self._gains = [self._server.gui.add_slider(
                name, min=0.0, max=MAX_GAIN, step=0.05, initial_value=1.0,
                hint=f'{GAINS_PARAMETER}: pull of the joint towards its preferred position')
                for name in chain.joint_names]
        for slider in self._gains:
            self._inbox.on_change(slider, lambda _value: self._set(
                {GAINS_PARAMETER: [float(each.value) for each in self._gains]}))

    def _set(self, values: dict[str, object]) -> None:
        def answered(good: bool, sentence: str) -> None:
            self._say(good, sentence)
            self._watch.refresh(at_once=True)

        self._handle.commands.set(values, answered)

    def missing(self) -> list[str]:
        """Return a sentence if the node is not running, else nothing."""
        return [] if self._watch.ready() else [
            f'{self._target} is not running: the arm is shown, but cannot be moved']

    def refresh(self) -> None:
        """Ask the node for its values."""
        self._watch.refresh()

    def _take(self, scale: float, gains: Sequence[float], check: bool, command_in_type: str,
              keep: str) -> None:
        self.collision_check, self.command_in_type = check, command_in_type
        self._handle.take_keep(keep)
        self._scale.value = round(100.0 * scale, 1)
        for slider, gain in zip(self._gains, list(gains) * (
                len(self._gains) if len(gains) == 1 else 1)):
            slider.max = max(slider.max, gain)
            slider.value = gain


class ToolPanel:
    """
    Hidden while the node has no named tools.

    Parameters
    ----------
    mount : callable
        Takes the name of the tool that is chosen, '' for none.

    """

    def __init__(self, server: viser.ViserServer, inbox: Inbox,
                 mount: Callable[[str], None]) -> None:
        self._choice = server.gui.add_dropdown(
            'Tool', (NO_TOOL,), visible=False,
            hint='tool.name: the centre point and the shape that count')
        inbox.on_change(self._choice, lambda name: mount('' if name == NO_TOOL else name))

    def show(self, names: Sequence[str], mounted: str) -> None:
        """Offer these names, and show which is mounted; '' = none."""
        options = tuple(dict.fromkeys((NO_TOOL, *names)))  # a list takes no name twice
        if options != tuple(self._choice.options):
            self._choice.options = options
        self._choice.value = mounted or NO_TOOL
        self._choice.visible = bool(names)


NO_CHOICE = ''  # the only option while there are no named poses


class NamedPanel:
    """
    Hidden while there are no named poses.

    Parameters
    ----------
    go : callable
        Takes the name that is chosen, when the button is pressed.

    """

    def __init__(self, server: viser.ViserServer, inbox: Inbox,
                 go: Callable[[str], None]) -> None:
        self._go = go
        self._choice = server.gui.add_dropdown('Named pose', (NO_CHOICE,), visible=False)
        mark(server, PLAIN_STYLE)
        self._button = server.gui.add_button('Move to the named pose', visible=False)
        inbox.on_click(self._button, self._move)

    def _move(self) -> None:
        if self._choice.value != NO_CHOICE:
            self._go(self._choice.value)

    def show(self, names: Sequence[str]) -> None:
        """Offer these names; the choice stays if it is among them."""
        chosen = self._choice.value
        options = tuple(dict.fromkeys(names)) or (NO_CHOICE,)  # a list takes no name twice
        if options != tuple(self._choice.options):
            self._choice.options = options
            self._choice.value = chosen if chosen in options else options[0]
        self._choice.visible = self._button.visible = bool(names)
