# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Buttons that move the tip for as long as they are held."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from time import monotonic

from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
import viser

from ik_node.model.chain import Chain
from ik_node.ros.messages.goal_answers import publish_stamped
from ik_node.ui.node_client import Answer
from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.style import HALF_STYLE, mark, PLAIN_STYLE

HOLD_RATE_HZ = 20.0  # at which the window tells that a button is held
HOLD_TIME_S = 0.2    # for which it counts as held then
JOG_AXES = {'x': 'linear.x', 'y': 'linear.y', 'z': 'linear.z',
            'rx': 'angular.x', 'ry': 'angular.y', 'rz': 'angular.z'}
UNITLESS_TYPE = 'unitless'


class JogPanel:
    """
    Two buttons for each axis of the tip, its frame, and a speed.

    Parameters
    ----------
    target : str
        Name of the ik_node.
    base_frame : callable
        Returns the name of the base frame, '' if it is not known yet.

    """

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox,
                 base_frame: Callable[[], str], say: Answer) -> None:
        self._node, self._inbox, self._say = node, inbox, say
        self._base_frame, self._tip_frame = base_frame, ''
        self._command_in_type = UNITLESS_TYPE
        self._publisher = node.create_publisher(TwistStamped, f'{target}/delta_twist_cmds', 1)
        self._held: tuple[str, float] | None = None
        self._until = -inf  # monotonic time (s) until which it counts as held
        with server.gui.add_folder('Jog', expand_by_default=False):
            self._speed = server.gui.add_slider(
                'Jog speed (%)', min=1.0, max=100.0, step=1.0, initial_value=25.0,
                hint='jog.scale.linear and jog.scale.rotational of the ik_node are 100 %')
            self._in_tool = server.gui.add_checkbox(
                'Axes of the tool', False, hint='Instead of those of the base')
            for axis in JOG_AXES:
                for sign, label in ((-1.0, f'\N{MINUS SIGN}{axis}'), (1.0, f'+{axis}')):
                    mark(server, PLAIN_STYLE, HALF_STYLE)
                    self._add_button(server, label, axis, sign)

    def _add_button(self, server: viser.ViserServer, label: str, axis: str, sign: float) -> None:
        button = server.gui.add_button(label, hint='The tip moves while this is held.')

        async def held(_event: viser.GuiEvent) -> None:
            self._inbox.put(partial(self._hold, axis, sign))

        button.on_hold(held, callback_hz=HOLD_RATE_HZ)

    def take_chain(self, chain: Chain) -> None:
        """Take the name of the tool's frame."""
        self._tip_frame = chain.tip_link

    def take_unit(self, command_in_type: str) -> None:
        """Take the value of ``jog.command_in_type``."""
        self._command_in_type = command_in_type

    def _hold(self, axis: str, sign: float) -> None:
        if not self._base_frame():
            self._say(False, 'the pose of the tip is not known yet')
        elif self._command_in_type != UNITLESS_TYPE:
            self._say(False, f'jog.command_in_type is {self._command_in_type}; these buttons need '
                      f'{UNITLESS_TYPE}')
        elif not self._publisher.get_subscription_count():
            self._say(False, f'nobody listens on {self._publisher.topic_name}')
        else:
            self._held, self._until = (axis, sign), monotonic() + HOLD_TIME_S
            self.tick()

    def tick(self) -> None:
        """Send the input; zeros once it ends."""
        if self._held is None:
            return
        axis, sign = self._held
        if monotonic() > self._until:
            self._held, sign = None, 0.0
        message = TwistStamped()
        message.header.frame_id = self._tip_frame if self._in_tool.value else self._base_frame()
        part, letter = JOG_AXES[axis].split('.')
        setattr(getattr(message.twist, part), letter, sign * self._speed.value / 100.0)
        publish_stamped(self._node, self._publisher, message)
