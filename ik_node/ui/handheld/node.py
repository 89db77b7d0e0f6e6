# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The node handheld: a phone or a headset moves tips while its user holds a button."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
import socket
import ssl
from time import monotonic

from rclpy.node import Node

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.qos import QosLog
from ik_node.ros.parameters.node_parameters import declare, options_of
from ik_node.ros.parameters.tables import HANDHELD_NODE
from ik_node.ui.call_queue import CallQueue
from ik_node.ui.handheld.clutch import HandSample
from ik_node.ui.handheld.hands import hands_of, named
from ik_node.ui.handheld.led_arms import arms_beside, LedArm
from ik_node.ui.handheld.page_messages import PageMessage, PageState, Stop
from ik_node.ui.handheld.page_server import (
    cache_folder,
    fingerprint,
    own_certificate,
    PageServer,
    ServedAddress,
    server_context,
)
from ik_node.ui.options import HandheldOptions
from ik_node.ui.page_access import is_loopback, page_address, reached_at

PAGE_PERIOD_S = 0.05  # of what the pages show, and of the watch over the samples
SEARCH_PERIOD_S = 1.0
ONE_ARM, SEVERAL_ARMS = 'ik_node', 'ik_arms'  # names that these nodes have by themselves


class Handheld(QosLog, Node):
    """Serves the page, and hands what comes from it to the arms."""

    def __init__(self) -> None:
        super().__init__('handheld')
        options = options_of(HandheldOptions, declare(self, HANDHELD_NODE), HANDHELD_NODE)
        self._options = options
        self._pages: dict[int, str] = {}  # that are open, and how others may call them
        self._arms: dict[str, LedArm] = {}
        self._robot = ''  # the ik_arms that was found, whose arms are led
        given = [name for name in options.arms if name]
        self._lead(given or [options.ik_node])
        self._calls = CallQueue(self)
        self._search_timer = self.create_timer(SEARCH_PERIOD_S, self._search, clock=steady_clock())
        if given:
            self._search_timer.cancel()
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
        self._calls.put(partial(self._note, number, sentence))

    def closed(self, number: int) -> None:
        """Forget a page, and release its clutches."""
        self._calls.put(partial(self._forget, number))

    # ---- the same, on the thread of the node --------------------------------

    def _open(self, number: int, name: str) -> None:
        self._pages[number] = name
        for arm in self._arms.values():
            arm.pages.open(number, name)
        self.get_logger().info(f'{name} is open')
        self._timer.reset()

    def _forget(self, number: int) -> None:
        del self._pages[number]
        for arm in self._arms.values():
            arm.pages.close(number)
        if not self._pages:
            self._timer.cancel()

    def _note(self, number: int, sentence: str) -> None:
        for arm in self._arms.values():
            arm.pages.note(number, sentence)

    def _take(self, number: int, message: PageMessage, now: float) -> None:
        if isinstance(message, HandSample):
            self._follow(number, message, now)
            return
        for arm in self._arms.values():
            if isinstance(message, Stop):
                arm.stop(number)
            else:
                arm.pages.set(number, message)

    def _follow(self, number: int, sample: HandSample, now: float) -> None:
        name = sample.arm or (next(iter(self._arms)) if len(self._arms) == 1 else '')
        if name in self._arms:
            self._arms[name].follow(number, sample, now)
        else:
            self._note(number, f'a hand leads {quote(name) if name else "no arm"}; the arms are '
                       f'{", ".join(map(quote, self._arms))}')

    def _tick(self) -> None:
        now = monotonic()
        states = {name: arm.states(now) for name, arm in self._arms.items()}
        hands = hands_of(states, bool(self._robot))
        self._server.show({number: PageState({
            name: replace(each[number], hand=hands[name]) for name, each in states.items()})
            for number in self._pages})

    # ---- the arms -----------------------------------------------------------

    def _lead(self, targets: Sequence[str]) -> None:
        """Have hands lead these arms, and no others."""
        arms = named(targets)
        for name in set(self._arms) - set(arms):
            self._arms.pop(name).destroy()
        for name in set(arms) - set(self._arms):
            self._arms[name] = LedArm(self, arms[name], self._options.sample_timeout)
            for number, page in self._pages.items():
                self._arms[name].pages.open(number, page)
        self._arms = {name: self._arms[name] for name in arms}

    def _search(self) -> None:
        """Look for the arms of an ik_arms, unless the ik_node is there, which is one arm."""
        led = [arm.target for arm in self._arms.values()] if self._robot else []
        if not led and next(iter(self._arms.values())).was_there:
            self._search_timer.cancel()
            return
        own = self._options.ik_node
        for robot in [self._robot] if led else [own, SEVERAL_ARMS] if own == ONE_ARM else [own]:
            if new := set(arms_beside(self, robot)) - set(led):
                self._robot = robot
                self._lead(sorted({*led, *new}))
                self.get_logger().info(f'leads {", ".join(map(quote, self._arms))} of {robot}')
                return

    def close(self) -> None:
        """Close the pages; a motion ends with the stream of its poses."""
        self._server.close()


def main(args: list[str] | None = None) -> None:
    """Run the node; exit code 0 after SIGINT or SIGTERM, 1 if it cannot start."""
    from ik_node.ros.middleware.process import run
    run('handheld', Handheld, args)
