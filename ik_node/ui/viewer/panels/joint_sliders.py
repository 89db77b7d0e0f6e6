# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Sliders for the joints, which follow the arm until they are touched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import degrees, inf, pi
from time import monotonic

from geometry_msgs.msg import TwistStamped
import numpy as np
from rclpy.node import Node
import viser

from ik_node.model.chain import Chain
from ik_node.ros.messages.goal_answers import publish_stamped
from ik_node.ui.node_client import Answer
from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.style import HALF_STYLE, mark, PLAIN_STYLE

SLIDER_DIGITS = 3  # decimals of a slider, rad or m
FINEST_STEP = 10.0**-SLIDER_DIGITS
SETTLING_TIME_S = 0.5  # after which a touched slider is shown again as the node knows it


def shown_range(chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits (n,) of the joints, rad or m; ±pi or ±1 m where there are none."""
    default = np.where(chain.revolute, pi, 1.0)
    return (np.where(np.isfinite(chain.lower), chain.lower, -default),
            np.where(np.isfinite(chain.upper), chain.upper, default))


def slider_range(chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits (n,) of the sliders: the limits of the joints, rounded inwards."""
    lower, upper = shown_range(chain)
    rounding_error = 1e-6  # of a multiple of the step that is not exact in binary
    return (np.round(np.ceil(lower / FINEST_STEP - rounding_error) * FINEST_STEP, SLIDER_DIGITS),
            np.round(np.floor(upper / FINEST_STEP + rounding_error) * FINEST_STEP, SLIDER_DIGITS))


def shown_posture(chain: Chain, positions: Mapping[str, float]) -> dict[str, float]:
    """Return positions as the sliders show them: within range, continuous joints wrapped."""
    lower, upper = slider_range(chain)
    shown = {}
    for k, name in enumerate(chain.joint_names):
        if name in positions:
            value = positions[name]
            if chain.continuous[k]:
                value = (value + pi) % (2.0 * pi) - pi
            shown[name] = float(np.clip(round(value, SLIDER_DIGITS), lower[k], upper[k]))
    return shown


class JointPanel:
    """
    One slider for each joint of the chain.

    A slider shows the position of its joint until somebody moves it.  Only joints whose
    sliders were moved are sent, so a joint never goes to an outdated position.  Once the
    arm has reached what was sent, all sliders follow it again.

    Parameters
    ----------
    chain : Chain
    show : callable
        Shows the ghost at chosen positions, by joint name; none hide it.
    go : callable
        Sends names and positions as a goal; returns its stamp.
    say : callable
        Takes whether something went well, and a sentence.

    """

    def __init__(self, server: viser.ViserServer, inbox: Inbox, chain: Chain,
                 show: Callable[[dict[str, float]], None],
                 go: Callable[[list[str], list[float]], str], say: Answer) -> None:
        self._chain = chain
        self._show, self._go, self._say = show, go, say
        self._positions: Mapping[str, float] = {}
        self._touched: dict[str, float] = {}  # joint -> position that was chosen for it
        self._settling: dict[str, float] = {}  # joint -> time of its last touch (monotonic, s)
        self._goal_stamp = ''
        self._folder = server.gui.add_folder('Joints')
        self._sliders: dict[str, viser.GuiSliderHandle] = {}
        with self._folder:
            for k, (lower, upper) in enumerate(zip(*slider_range(chain))):
                self._add_slider(server, inbox, k, float(lower), float(upper))
            move = server.gui.add_button('Move to these joints')
            mark(server, PLAIN_STYLE)
            reset = server.gui.add_button('Reset sliders to the arm')
        inbox.on_click(move, self._move)
        inbox.on_click(reset, self.follow_arm)

    def _add_slider(self, server: viser.ViserServer, inbox: Inbox, k: int, lower: float,
                    upper: float) -> None:
        name = self._chain.joint_names[k]
        hint = f'{lower:g} to {upper:g} m'
        if self._chain.revolute[k]:
            hint = f'{lower:g} to {upper:g} rad ({degrees(lower):.0f}° to {degrees(upper):.0f}°)'
        slider = server.gui.add_slider(
            f'{name} ({"rad" if self._chain.revolute[k] else "m"})', min=lower, max=upper,
            step=FINEST_STEP, initial_value=float(np.clip(0.0, lower, upper)), hint=hint)
        inbox.on_change(slider, partial(self._touch, name))
        self._sliders[name] = slider

    def _touch(self, name: str, value: float) -> None:
        # The slider may have been set to the position of the arm since.
        self._touched[name] = self._sliders[name].value = value
        self._settling[name] = monotonic()
        self._goal_stamp = ''
        self._show(dict(self._touched))

    def _move(self) -> None:
        if self._touched:
            self._goal_stamp = self._go(list(self._touched), list(self._touched.values()))
        else:
            self._say(False, 'move a slider first: all of them show where the arm is')

    def take_positions(self, positions: Mapping[str, float]) -> None:
        """Take the positions of the joints by name, rad or m; untouched sliders show them."""
        self._positions = positions
        for name, value in shown_posture(self._chain, positions).items():
            if name not in self._touched:
                self._sliders[name].value = value
        for name, touched_at in list(self._settling.items()):
            if monotonic() - touched_at > SETTLING_TIME_S:
                del self._settling[name]
                self._show_again(self._sliders[name])

    @staticmethod
    def _show_again(slider: viser.GuiSliderHandle) -> None:
        """Send the value of a slider to all windows."""
        # A position of the arm may have crossed the touch before it reached the window, which then
        # shows that position.  viser sends only values that change.
        value = slider.value
        slider.value = slider.min if value != slider.min else slider.max
        slider.value = value

    def choose(self, positions: Sequence[float]) -> None:
        """Touch all sliders: move them to positions in the order of the chain, rad or m."""
        self._touched = dict(zip(self._chain.joint_names, positions))
        for name, value in shown_posture(self._chain, self._touched).items():
            self._sliders[name].value = value
            self._settling[name] = monotonic()
        self._goal_stamp = ''

    def take_answer(self, stamp: str, state: str) -> None:
        """Take an answer to a goal: when theirs is reached, the sliders follow the arm again."""
        if stamp == self._goal_stamp and state == 'reached':
            self.follow_arm()

    def follow_arm(self) -> None:
        """Let all sliders follow the arm."""
        self._touched.clear()
        self._goal_stamp = ''
        self._show({})
        self.take_positions(self._positions)

    def remove(self) -> None:
        """Take the sliders off the page."""
        self._folder.remove()


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
