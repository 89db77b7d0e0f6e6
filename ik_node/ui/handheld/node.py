# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The node handheld: a phone or a headset moves the tip while its user holds a button."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
import socket
import ssl
from time import monotonic

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
import numpy as np
from rclpy.node import Node

from ik_node.base.errors import GoalError, ParameterError, Reason
from ik_node.base.text import printable
from ik_node.ros.messages.conversion import matrix_from_pose
from ik_node.ros.messages.status_messages import (
    answers_stream,
    is_final,
    STREAM_KIND,
    STREAM_PAUSE_S,
    values_of,
)
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.qos import ANSWERS_QOS, QosLog
from ik_node.ros.parameters.node_parameters import declare, options_of
from ik_node.ros.parameters.tables import HANDHELD_NODE
from ik_node.ui.call_queue import CallQueue
from ik_node.ui.handheld.clutch import HandSample
from ik_node.ui.handheld.open_pages import OpenPages
from ik_node.ui.handheld.page_messages import PageMessage, Stop
from ik_node.ui.handheld.page_server import (
    cache_folder,
    fingerprint,
    own_certificate,
    PageServer,
    ServedAddress,
    server_context,
)
from ik_node.ui.node_client import Commands
from ik_node.ui.options import HandheldOptions
from ik_node.ui.page_access import is_loopback, page_address, reached_at

PAGE_PERIOD_S = 0.05      # of what the pages show, and of the watch over the samples
MAX_TIP_AGE_S = 0.5       # of the pose of the tip at which the hand grasps it
UNANSWERED_TIME_S = 2.0   # after which a stream that nobody accepts is given up
# After another end of the stream it has to pause, or the ik_node would ignore it.
PRESS_PAUSE_S = STREAM_PAUSE_S + 0.1
STOPPING_TEXT = 'stop was pressed'
ANSWER_COLOURS = {DiagnosticStatus.OK: 'green', DiagnosticStatus.WARN: 'amber',
                  DiagnosticStatus.ERROR: 'red'}


class Handheld(QosLog, Node):
    """Serves the page, and streams the poses that the hand gives while it holds the clutch."""

    def __init__(self) -> None:
        super().__init__('handheld')
        options = options_of(HandheldOptions, declare(self, HANDHELD_NODE), HANDHELD_NODE)
        self._pages = OpenPages(options.sample_timeout)
        self._tip: tuple[np.ndarray, str, float] | None = None  # T, frame, received (s)
        self._answer = '', ''  # the last one, and its colour
        self._followed = False  # whether the ik_node follows a stream
        self._streamed = -np.inf  # monotonic times (s): last pose, begin, earliest next press
        self._began, self._earliest = np.inf, -np.inf
        self._first = Time()  # stamp from which on poses are of this press
        self._calls = CallQueue(self)
        self._commands = Commands(self, options.ik_node, self._complain,
                                  only=('goal_stream', 'stop'))
        self.create_subscription(PoseStamped, f'{options.ik_node}/tip_pose', self._on_tip_pose,
                                 1)
        self.create_subscription(DiagnosticStatus, f'{options.ik_node}/answers', self._on_status,
                                 ANSWERS_QOS)
        self._timer = self.create_timer(PAGE_PERIOD_S, self._tick, clock=steady_clock())
        self._timer.cancel()
        address = ServedAddress(options.host, options.port, self._tls(options))
        self._server = PageServer(address, self)
        self._tell(address)

    def _tls(self, options: HandheldOptions) -> ssl.SSLContext | None:
        """Return the settings of TLS, None without; log the fingerprint of the certificate."""
        given = [Path(path).expanduser() for path in (options.certificate, options.key) if path]
        if len(given) == 1:
            raise ParameterError('certificate and key belong together; set both, or none')
        if not given and not options.tls:
            return None
        certificate, key = given or own_certificate(
            cache_folder(), (options.host, socket.gethostname(), reached_at(options.host)))
        context = server_context(certificate, key)
        self.get_logger().info(f'the fingerprint (SHA-256) of the certificate {certificate} is '
                               f'{fingerprint(certificate)}')
        return context

    def _tell(self, address: ServedAddress) -> None:
        place = page_address(address.scheme, address.host, address.port)
        if is_loopback(address.host):
            self.get_logger().info(f'open {place}')
            return
        self.get_logger().warning(
            f'the page is open to the network, on {address.host}: whoever has its address with '
            'the token can move the arm; set host to 127.0.0.1 to keep it to this machine')
        if address.context is None:
            self.get_logger().warning('without tls the token can be read on the way, and browsers '
                                      'on other machines tell no pose of a device; set tls')
        # Not by the log: that is kept in files, and published.
        place += f'/?token={self._server.token}'
        print(f'open {place}', flush=True)
        if find_spec('qrcode'):
            import qrcode
            code = qrcode.QRCode(border=2)
            code.add_data(place)
            with suppress(UnicodeEncodeError):  # a terminal without these characters
                code.print_ascii(invert=True)

    # ---- events of the server, on its thread --------------------------------

    def opened(self, number: int, name: str) -> None:
        """Take a new page."""
        self._calls.put(partial(self._open, number, name))

    def received(self, number: int, message: PageMessage, now: float) -> None:
        """Take a message of a page."""
        self._calls.put(partial(self._take, number, message, now))

    def refused(self, number: int, sentence: str) -> None:
        """Show why a message was refused."""
        self._calls.put(partial(self._pages.note, number, sentence))

    def closed(self, number: int) -> None:
        """Forget a page, and release its clutch."""
        self._calls.put(partial(self._forget, number))

    # ---- the same, on the thread of the node --------------------------------

    def _open(self, number: int, name: str) -> None:
        self._pages.open(number, name)
        self.get_logger().info(f'{name} is open')
        self._timer.reset()

    def _forget(self, number: int) -> None:
        self._pages.close(number)
        if not len(self._pages):
            self._timer.cancel()

    def _take(self, number: int, message: PageMessage, now: float) -> None:
        if isinstance(message, Stop):
            self._stop(number)
        elif isinstance(message, HandSample):
            self._follow(number, message, now)
        else:
            self._pages.set(number, message)

    def _stop(self, number: int) -> None:
        self._end('the arm is being stopped')
        self._pages.note(number, STOPPING_TEXT)
        self._commands.stop(lambda _good, sentence: self._pages.note(
            number, sentence, instead_of=STOPPING_TEXT))

    def _follow(self, number: int, sample: HandSample, now: float) -> None:
        presses = self._pages.presses(number, sample)
        T_tip, refusal = self._grasped(now) if presses else (None, '')
        found = self._pages.take(number, sample, now, T_tip, refusal)
        if found is None:
            return
        if presses:
            self._first, self._began = self.get_clock().now().to_msg(), now
        target, delay = found
        if self._commands.stream(self._tip[1], target, 0.0 if presses else delay):
            self._streamed = now

    def _grasped(self, now: float) -> tuple[np.ndarray | None, str]:
        """Return where the tip is (4, 4), or None and why it cannot be grasped."""
        if now < self._earliest:
            return None, 'the last motion is still being ended; let go, and press again'
        if self._tip is None:
            return None, 'no pose of the tip has come from the ik_node; is it running?'
        T, _, received = self._tip
        if now - received > MAX_TIP_AGE_S:
            return None, (f'the last pose of the tip is {now - received:.1f} s old; do joint '
                          'states still come, and is tip_pose_rate high enough?')
        return T, ''

    def _end(self, why: str) -> None:
        """Release the clutch where the stream does not just run out of poses; say why."""
        self._earliest = self._streamed + PRESS_PAUSE_S
        self._pages.release(why)

    def _tick(self) -> None:
        now = monotonic()
        self._pages.check(now)
        if self._pages.holder is not None and not self._followed \
                and now > self._began + UNANSWERED_TIME_S:
            self._end('the ik_node does not follow')
        self._server.show(self._pages.states(self._grasped(now)[1], *self._answer))

    # ---- messages of the ik_node --------------------------------------------

    def _on_tip_pose(self, message: PoseStamped) -> None:
        try:
            T = matrix_from_pose(message.pose, 'the tip')
        except GoalError:
            return
        self._tip = T, message.header.frame_id, monotonic()

    def _on_status(self, message: DiagnosticStatus) -> None:
        values = values_of(message)
        if 'state' not in values or 'stamp' not in values:
            return
        self._answer = printable(message.message), ANSWER_COLOURS.get(message.level, '')
        if values.get('kind') != STREAM_KIND:
            return
        self._followed = not is_final(values)
        try:
            ours = answers_stream(values, self._first, self.get_clock().now().to_msg())
        except (KeyError, ValueError):  # of no ik_node
            return
        if not ours or not is_final(values):
            return
        if values.get('reason') == Reason.STREAM_ENDED.value:
            self._pages.release(printable(message.message))
        else:
            self._end(printable(message.message))

    def _complain(self, good: bool, sentence: str) -> None:
        if not good:
            self._pages.release(sentence)

    def close(self) -> None:
        """Close the pages; a motion ends with the stream of its poses."""
        self._server.close()


def main(args: list[str] | None = None) -> None:
    """Run the node; exit code 0 after SIGINT or SIGTERM, 1 if it cannot start."""
    from ik_node.ros.middleware.process import run
    run('handheld', Handheld, args)
