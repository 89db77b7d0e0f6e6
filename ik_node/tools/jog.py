# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The command ik_jog: move the tip by a keyboard, a gamepad or a SpaceMouse."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
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

from ik_node.base.signals import INTERRUPTED_CODE, signals_deferred
from ik_node.base.text import printable
from ik_node.client import Arm, ClientError
from ik_node.client.streams import Jog
from ik_node.ros.middleware.process import leave
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS
from ik_node.tools.arguments.jog import parse
from ik_node.tools.jog_devices import Held, Joystick, KEY_HELP, Keyboard

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
