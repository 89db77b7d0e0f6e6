# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Keyboard, gamepad and SpaceMouse input as a twist, each component in [-1, 1].

It needs no ROS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ik_node.tools.arguments.jog import AxisTable, TWIST_AXES

KEY_MOTIONS = {
    'w': ('x', 1.0), 's': ('x', -1.0), 'a': ('y', 1.0), 'd': ('y', -1.0),
    'r': ('z', 1.0), 'f': ('z', -1.0), 'l': ('rx', 1.0), 'j': ('rx', -1.0),
    'i': ('ry', 1.0), 'k': ('ry', -1.0), 'u': ('rz', 1.0), 'o': ('rz', -1.0)}
FRAME_KEY, STOP_KEY, END_KEYS = 't', ' ', '\x1b\x03\x04q'  # Escape, Ctrl-C, Ctrl-D
FASTER_KEYS, SLOWER_KEYS = '+=', '-_'
SPEED_STEP = 1.25
LEAST_SPEED = 0.02
KEY_HOLD_S = 0.15     # after a key, until it has to repeat
DEVICE_HOLD_S = 0.25  # after a message of a device; joy_node repeats them at 20 Hz
KEY_HELP = """\
        x   y   z        about x   y   z
  +     w   a   r              l   i   u
  -     s   d   f              j   k   o
Hold a key: the arm moves while it repeats, a tap is a small step.
t base or tool   + - speed   space stop   q end\
"""

Twist = tuple[float, float, float, float, float, float]
STILL_TWIST: Twist = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Held:
    """
    The current input.

    Attributes
    ----------
    twist : tuple of 6 floats
        Linear before angular, each from -1 to 1.
    in_tool : bool
        Whether its axes are the axes of the tool.

    """

    twist: Twist = STILL_TWIST
    in_tool: bool = False

    @property
    def still(self) -> bool:
        """Return whether nothing is to move."""
        return not any(self.twist)


@dataclass
class Keyboard:
    """
    Keys of a terminal, which tells that a key repeats, and not that it is released.

    Attributes
    ----------
    speed : float
        Share of the full velocity.
    in_tool : bool
    ended : bool
        Whether the user wants to end.

    """

    speed: float = 0.3
    in_tool: bool = False
    ended: bool = False
    _motion: tuple[str, float] | None = None
    _pressed: float = field(default=-1e9, repr=False)

    def press(self, key: str, now: float) -> None:
        """Take a key (one letter) that came at a time (s)."""
        key = key.lower()
        if key in KEY_MOTIONS:
            self._motion, self._pressed = KEY_MOTIONS[key], now
            return
        self._motion = None  # every other key stops
        if key in END_KEYS:
            self.ended = True
        elif key == FRAME_KEY:
            self.in_tool = not self.in_tool
        elif key in FASTER_KEYS:
            self.speed = min(self.speed * SPEED_STEP, 1.0)
        elif key in SLOWER_KEYS:
            self.speed = max(self.speed / SPEED_STEP, LEAST_SPEED)

    def held(self, now: float) -> Held:
        """Return the input at a time (s)."""
        if self._motion is None or now - self._pressed > KEY_HOLD_S:
            return Held(in_tool=self.in_tool)
        axis, sign = self._motion
        return Held(_twist({axis: sign * self.speed}), self.in_tool)


@dataclass
class Joystick:
    """
    A gamepad or a SpaceMouse, by the numbers of sensor_msgs/Joy.

    Attributes
    ----------
    axes : dict
        Number and sign of the device's axis for each axis of the twist.
    dead_man, tool_button : int
        Buttons; -1 = none.
    dead_zone : float
        Deflection below which an axis is at rest.
    speed : float
        Share of the full velocity.
    in_tool : bool
        Whether the axes are the axes of the tool without the tool button.

    """

    axes: AxisTable
    dead_man: int
    tool_button: int
    dead_zone: float
    speed: float
    in_tool: bool = False
    _axes: Sequence[float] = ()
    _buttons: Sequence[int] = ()
    _received: float = field(default=-1e9, repr=False)

    def take(self, axes: Sequence[float], buttons: Sequence[int], now: float) -> None:
        """Take a message that came at a time (s)."""
        self._axes, self._buttons, self._received = axes, buttons, now

    def missing(self) -> str:
        """Return which axis or button the device lacks, in a sentence; '' if none."""
        axis = max((number for number, _ in self.axes.values()), default=-1)
        if axis >= len(self._axes):
            return f'the device has {len(self._axes)} axes, and none with number {axis}: --axes'
        button = max(self.dead_man, self.tool_button)
        if button >= len(self._buttons):
            return (f'the device has {len(self._buttons)} buttons, and none with number {button}: '
                    '--dead-man, --tool-button')
        return ''

    def held(self, now: float) -> Held:
        """Return the input at a time (s); none without a message for DEVICE_HOLD_S."""
        in_tool = self.in_tool or self._down(self.tool_button)
        if now - self._received > DEVICE_HOLD_S or self.missing() \
                or self.dead_man >= 0 and not self._down(self.dead_man):
            return Held(in_tool=in_tool)
        return Held(_twist({axis: self.speed * self._deflection(sign * self._axes[number])
                            for axis, (number, sign) in self.axes.items()}), in_tool)

    def _down(self, button: int) -> bool:
        return 0 <= button < len(self._buttons) and bool(self._buttons[button])

    def _deflection(self, value: float) -> float:
        """Return a deflection from -1 to 1, which begins at 0 outside the dead zone."""
        if not abs(value) > self.dead_zone:  # nor NaN
            return 0.0
        share = min((abs(value) - self.dead_zone) / (1.0 - self.dead_zone), 1.0) \
            if self.dead_zone < 1.0 else 1.0
        return share if value > 0.0 else -share


def _twist(values: dict[str, float]) -> Twist:
    x, y, z, rx, ry, rz = (values.get(axis, 0.0) for axis in TWIST_AXES)
    return x, y, z, rx, ry, rz
