# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The command ik_teach: keep waypoints, record motions of an arm, and play them back."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import os
from pathlib import Path
import select
import sys
from time import monotonic

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from ik_node.base.errors import IkNodeError, ParameterError
from ik_node.base.system import INTERRUPTED_CODE
from ik_node.base.text import printable, quote
from ik_node.motion.joint_path.taught_path import TaughtPath
from ik_node.ros.middleware.handshake import wait_for
from ik_node.ros.middleware.process import leave
from ik_node.ros.middleware.qos import STATES_QOS
from ik_node.ros.state_recorder import LONG_GAP_S, StateRecorder
from ik_node.tools.arguments.teach import parse

COLLECTING_S = 0.5     # in which the publishers of joint states are heard for the first time
FRESH_STATE_S = 2.0    # for the next joint states, when a posture is kept
MAX_KEYS = 64          # that are read at once
SAID_LENGTH = 500


class Listener:
    """Takes the joint states of a topic down."""

    def __init__(self, node: Node, options: argparse.Namespace) -> None:
        self._node = node
        self.topic = node.resolve_topic_name(options.topic)
        self.recorder = StateRecorder(options.joints)
        self._known: list[str] = options.joints
        node.create_subscription(JointState, options.topic, self._on_state, STATES_QOS)

    def _on_state(self, message: JointState) -> None:
        self.recorder.take(message, monotonic())

    def wait(self, condition: Callable[[], object], seconds: float) -> bool:
        """Take joint states until a condition holds; return False if the time (s) runs out."""
        return wait_for(self._node, condition, seconds)

    def await_states(self, seconds: float) -> None:
        """Wait until each joint was heard of; those that are published, if none is named."""
        if not self.wait(lambda: not self._missing(), seconds):
            missing = [name for name in self._missing() if name]
            of = f' of {", ".join(map(quote, missing))}' if missing else ''
            raise ParameterError(f'no joint states{of} came on {self.topic} within {seconds:g} '
                                 's; does the driver of the arm run, in this ROS_DOMAIN_ID? '
                                 '--topic names another topic, --joints other joints')
        if not self._known:  # several nodes may publish some joints each
            self.wait(lambda: False, COLLECTING_S)
            self._known = [*self.recorder.latest]

    def _missing(self) -> list[str]:
        """Return the joints that were not heard of; [''] if none was, and none is named."""
        heard = self.recorder.latest
        if not self._known:
            return [] if heard else ['']
        return [name for name in self._known if name not in heard]

    def posture(self) -> dict[str, float]:
        """Return the positions of the joints as they are now; errors as :meth:`await_states`."""
        self.recorder.forget()
        self.await_states(FRESH_STATE_S)
        return self.recorder.latest


class WaypointFile:
    """A file of waypoints, which is written each time one is kept."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._path = TaughtPath.read(file) if file.exists() else None

    def keep(self, name: str, posture: dict[str, float]) -> None:
        """
        Write a waypoint, and say so.

        Raises
        ------
        ParameterError
            If the name is not allowed, the file has a recorded motion or other joints, or it
            cannot be written.

        """
        before = self._path or TaughtPath((*posture,), np.empty((0, len(posture))))
        path = before.kept(name, posture)
        path.write(self._file)
        self._path = path
        of = f'{len(path.q)} waypoint{"s" * (len(path.q) != 1)}'
        say(f'{quote(name)} is kept in {quote(self._file, 300)}, which has {of}')

    def next_name(self) -> str:
        """Return a name that is free."""
        names = () if self._path is None else self._path.names
        number = len(names) + 1
        while f'point_{number}' in names:
            number += 1
        return f'point_{number}'


def say(sentence: str) -> None:
    """Tell the user."""
    print(printable(sentence, SAID_LENGTH), flush=True)


def pressed(listener: Listener) -> bool:
    """Wait until Enter is pressed; return False if it is the end: q, or the end of the input."""
    typed = ''
    while '\n' not in typed:
        listener.wait(lambda: select.select([sys.stdin], [], [], 0.0)[0], float('inf'))
        keys = os.read(sys.stdin.fileno(), MAX_KEYS).decode(errors='ignore')
        if not keys:
            return False
        typed += keys
    return not typed.strip().lower().startswith('q')


def keep(listener: Listener, options: argparse.Namespace) -> int:
    """Keep one posture, or several."""
    file = WaypointFile(options.file)
    listener.await_states(options.wait)
    if len(options.names) == 1:
        file.keep(options.names[0], listener.posture())
        return 0
    say('move the arm by hand; Enter keeps where it is, q and Enter ends')
    names = iter(options.names)
    while True:
        name = next(names, None) if options.names else file.next_name()
        if name is None:
            return 0
        say(f'{quote(name)}?')
        if not pressed(listener):
            return 0
        file.keep(name, listener.posture())


def record(listener: Listener, options: argparse.Namespace) -> int:
    """Record a motion, and write it."""
    if options.file.exists() and not options.replace:
        raise ParameterError(f'{quote(options.file, 300)} is there already; give another name, '
                             'or --replace')
    if not os.access(options.file.absolute().parent, os.W_OK):  # before anybody moves the arm
        raise ParameterError(f'cannot write {quote(options.file, 300)}: its folder is not there, '
                             'or is write-protected')
    listener.await_states(options.wait)
    listener.recorder.forget()
    say('recording; Ctrl-C ends it' if options.duration is None
        else f'recording for {options.duration:g} s; Ctrl-C ends it before')
    try:
        listener.wait(lambda: False, options.duration or float('inf'))
    except KeyboardInterrupt:
        pass
    path, gap = listener.recorder.path(options.tolerance)
    path.write(options.file)
    say(f'{path.duration:.2f} s, {len(path.q)} points, within {options.tolerance:g} rad or m of '
        f'the averaged joint states, in {quote(options.file, 300)}')
    if gap > LONG_GAP_S:
        say(f'for {gap:.2f} s no joint states came; how the arm moved then is not known')
    return 0


def play(options: argparse.Namespace) -> int:
    """Have the node move the arm through a file."""
    from ik_node.client import Arm, ClientError, GoalNotReachedError
    path = TaughtPath.read(options.file)
    try:
        path.at_speed(options.speed)
        with Arm(options.node, timeout=options.wait) as arm:
            answer = arm.play(path, options.speed).wait()
    except GoalNotReachedError as error:
        print(f'ik_teach: {printable(str(error), SAID_LENGTH)}', file=sys.stderr)
        return 1
    except ClientError as error:
        raise ParameterError(str(error)) from None
    say(answer.message)
    return 0


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    options = parse(sys.argv[1:] if argv is None else argv)
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('ik_teach', start_parameter_services=False)
    try:
        if options.action == 'play':
            code = play(options)
        else:
            code = {'keep': keep, 'record': record}[options.action](
                Listener(node, options), options)
    except IkNodeError as error:
        print(f'ik_teach: {printable(str(error), SAID_LENGTH)}', file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = INTERRUPTED_CODE
    leave(node, code)
