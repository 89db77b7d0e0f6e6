# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The command ik_jog: move the tip by a keyboard, a gamepad or a SpaceMouse.

Keyboard, gamepad and SpaceMouse input as a twist, each component in [-1, 1].

It needs no ROS.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
import os
import select
import sys
import termios
from time import monotonic
import tty
from typing import Protocol

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Joy

from ik_node.base.system import INTERRUPTED_CODE, signals_deferred
from ik_node.base.text import printable
from ik_node.client import Arm, ClientError
from ik_node.client.streams import Jog
from ik_node.ros.middleware.process import leave
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS
from ik_node.tools.arguments.jog import AxisTable, parse, TWIST_AXES

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
    """The current input."""

    twist: Twist = STILL_TWIST  # 6 numbers, linear before angular, each from -1 to 1
    in_tool: bool = False       # whether its axes are the axes of the tool

    @property
    def still(self) -> bool:
        """Return whether nothing is to move."""
        return not any(self.twist)


@dataclass
class Keyboard:
    """Keys of a terminal, which tells that a key repeats, and not that it is released."""

    speed: float = 0.3  # share of the full velocity
    in_tool: bool = False
    ended: bool = False  # whether the user wants to end
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
    """A gamepad or a SpaceMouse, by the numbers of sensor_msgs/Joy."""

    axes: AxisTable  # number and sign of the device's axis for each axis of the twist
    # dead_man, tool_button: buttons; -1 = none
    dead_man: int
    tool_button: int
    dead_zone: float       # deflection below which an axis is at rest
    speed: float           # share of the full velocity
    in_tool: bool = False  # whether the axes are the axes of the tool without the tool button
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


COMMAND_PERIOD_S = 0.02
REPORT_WIDTH = 72
UNIT_PARAMETER = 'jog.command_in_type'


class Device(Protocol):
    """An input device."""

    @property
    def ended(self) -> bool:
        """Return whether the user wants to end."""

    def wait(self, seconds: float) -> None:
        """Take what comes within a time (s)."""

    def held(self, now: float) -> Held:
        """Return the input at a time (s)."""

    def report(self, sentence: str) -> None:
        """Tell the user."""


class TerminalKeys:
    """The keys of this terminal, and a line below them."""

    def __init__(self, keyboard: Keyboard) -> None:
        self._keyboard = keyboard
        self._shown = ''
        print(KEY_HELP)

    @property
    def ended(self) -> bool:
        """Return whether a key has asked for the end, or the terminal is closed."""
        return self._keyboard.ended

    def wait(self, seconds: float) -> None:
        """Take the keys that come within a time (s)."""
        if not select.select([sys.stdin], [], [], seconds)[0]:
            return
        keys = os.read(sys.stdin.fileno(), 64).decode(errors='ignore')
        if keys.startswith('\x1b') and len(keys) > 1:
            return  # an arrow or a function key, of several letters
        for key in keys or '\x04':
            self._keyboard.press(key, monotonic())

    def held(self, now: float) -> Held:
        """Return the input at a time (s)."""
        held = self._keyboard.held(now)
        line = f'{"tool" if held.in_tool else "base"}, speed {self._keyboard.speed:.2f}'
        if line != self._shown:
            self._shown = line
            self.report(line)
        return held

    def report(self, sentence: str) -> None:
        """Tell the user in the line below the keys."""
        print(f'\r{sentence[:REPORT_WIDTH]:<{REPORT_WIDTH}}', end='', flush=True)


class JoyTopic:
    """A device whose node publishes sensor_msgs/Joy."""

    ended = False

    def __init__(self, node: Node, topic: str, joystick: Joystick) -> None:
        self._node = node
        self._joystick = joystick
        self._told = ''
        node.create_subscription(Joy, topic, self._on_joy, BEST_EFFORT_QOS)
        print(f'ik_jog: listens on {node.resolve_topic_name(topic)}', flush=True)

    def _on_joy(self, message: Joy) -> None:
        self._joystick.take(message.axes, message.buttons, monotonic())
        missing = self._joystick.missing()
        if missing and missing != self._told:
            self.report(missing)
        self._told = missing

    def wait(self, seconds: float) -> None:
        """Take the messages that come within a time (s)."""
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0.0:
            with signals_deferred():
                rclpy.spin_once(self._node, timeout_sec=left)

    def held(self, now: float) -> Held:
        """Return the input at a time (s)."""
        return self._joystick.held(now)

    def report(self, sentence: str) -> None:
        """Tell the user."""
        print(f'ik_jog: {sentence}', file=sys.stderr, flush=True)


class Pilot:
    """Moves the arm by the input: one jog from the first command until it rests."""

    def __init__(self, arm: Arm, frame: str, device: Device) -> None:
        self._arm = arm
        self._frames = {False: {'base': arm.base_link, 'tool': arm.tip_link}.get(frame, frame),
                        True: arm.tip_link}
        self._device = device
        self._jog: Jog | None = None
        self._moving = self._told = False

    def run(self) -> None:
        """Go on until the user ends it."""
        while not self._device.ended:
            self._device.wait(COMMAND_PERIOD_S)
            self._follow(self._device.held(monotonic()))
        self._follow(Held())
        if self._jog is not None:
            try:
                self._jog.wait()
            except ClientError as error:
                self._device.report(printable(str(error)))

    def _follow(self, held: Held) -> None:
        if held.still:
            if self._jog is not None and self._moving:
                self._jog.release()
            self._moving = False
        goal = None if self._jog is None else self._jog.goal
        if goal is not None and goal.done:
            if not goal.good and not self._told:
                self._device.report(printable(str(goal.exception)))
                self._told = True
            if goal.good or held.still:  # what has ended it holds until everything is released
                self._jog, self._told = None, False
            else:
                return
        if held.still:
            return
        try:
            self._jog, self._moving = self._jog or self._arm.jog(), True
            self._jog.send(held.twist[:3], held.twist[3:], frame=self._frames[held.in_tool])
        except ClientError:
            pass  # it has ended meanwhile, which is seen next time


@contextmanager
def keys_unbuffered() -> Iterator[None]:
    """Have each key come at once, without echo, during the block after it."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        print()


def make_device(node: Node, options: argparse.Namespace) -> Device:
    """Return the device of the command line."""
    in_tool = options.frame == 'tool'
    if options.device == 'keyboard':
        return TerminalKeys(Keyboard(options.speed, in_tool))
    return JoyTopic(node, options.topic, Joystick(
        options.axes, options.dead_man, options.tool_button, options.dead_zone, options.speed,
        in_tool))


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    options = parse(sys.argv[1:] if argv is None else argv)
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('ik_jog', start_parameter_services=False)
    try:
        code = _run(node, options)
    except KeyboardInterrupt:
        code = INTERRUPTED_CODE
    leave(node, code)


def _run(node: Node, options: argparse.Namespace) -> int:
    try:
        with Arm(options.node, timeout=options.wait) as arm, keys_unbuffered():
            unit = arm.parameter(UNIT_PARAMETER)
            if unit != 'unitless':
                raise ClientError(f'{UNIT_PARAMETER} of {arm.name} is {unit}; ik_jog sends '
                                  'commands from -1 to 1: set it to unitless')
            Pilot(arm, options.frame, make_device(node, options)).run()
    except ClientError as error:
        print(f'ik_jog: {printable(str(error))}', file=sys.stderr)
        return 2
    return 0
