# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The server of the page: who may open it, and what is the same for every robot."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
import ipaddress
import logging
import re
import socket
from typing import Any

import viser
import websockets.asyncio.server

from ik_node.errors import ParameterError

HERE = r'(localhost|127\.0\.0\.1|\[::1\])(:\d+)?'
SERVE = websockets.asyncio.server.serve
LOCAL_HOST, LOCAL_PAGE = re.compile(HERE), re.compile(f'https?://{HERE}')


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == 'localhost'


def _serve_this_machine(handler: Any, host: str, port: int, *, process_request: Any,
                        **named: Any) -> Any:
    """Serve as websockets does, but only those who call this machine by a name of its own."""
    def checked(connection: Any, request: Any) -> Any:
        hosts = request.headers.get_all('Host')
        if len(hosts) != 1 or not LOCAL_HOST.fullmatch(hosts[0]):
            return connection.respond(HTTPStatus.FORBIDDEN, 'this page is for localhost\n')
        return process_request(connection, request)

    return SERVE(handler, host, port, process_request=checked, origins=[LOCAL_PAGE, None],
                 **named)


class Page(viser.ViserServer):
    """
    One page, the same in every window.

    Raises
    ------
    ParameterError
        If the address cannot be listened on.

    """

    def __init__(self, host: str, port: int) -> None:
        logging.getLogger('websockets').setLevel(logging.ERROR)
        if is_loopback(host):
            # A browser lets any site connect to this machine, also by a name of its own; what
            # comes from there is refused, or it could move the arm.  viser has no option for it.
            websockets.asyncio.server.serve = _serve_this_machine
        try:
            socket.getaddrinfo(host, port)  # viser would wait for ever
            super().__init__(host=host, port=port, label='ik_node', verbose=False)
        except OSError as error:
            raise ParameterError(f'cannot listen on {host}:{port}: {error.strerror}; choose '
                                 'another host or port') from None
        finally:
            websockets.asyncio.server.serve = SERVE
        self.gui.configure_theme(show_logo=False, show_share_button=False)

    def request_share_url(self, verbose: bool = True) -> None:
        """Refuse what viser lets any window ask for: a tunnel from the internet to the arm."""

    def on_windows(self, do: Callable[[], None]) -> None:
        """Call something, on the page's thread, whenever a window is opened or closed."""
        async def changed(_window: viser.ClientHandle) -> None:
            do()

        self.on_client_connect(changed)
        self.on_client_disconnect(changed)
