# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The web server of the page, which accepts only allowed hosts and origins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
import logging
import socket
from typing import Any

import viser
from viser.infra import _infra
import websockets.asyncio.server

from ik_node.errors import ParameterError
from ik_node.ui.local_names import is_loopback, LOCAL_HOST, LOCAL_PAGE

WEBSOCKETS_SERVE = websockets.asyncio.server.serve


def _serve_this_machine(handler: Any, host: str, port: int, *, process_request: Any,
                        **named: Any) -> Any:
    """Serve as websockets does, but only requests that use a local name of this machine."""
    def checked(connection: Any, request: Any) -> Any:
        hosts = request.headers.get_all('Host')
        if len(hosts) != 1 or not LOCAL_HOST.fullmatch(hosts[0]):
            return connection.respond(HTTPStatus.FORBIDDEN, 'this page is for localhost\n')
        return process_request(connection, request)

    return WEBSOCKETS_SERVE(handler, host, port, process_request=checked,
                            origins=[LOCAL_PAGE, None], **named)


class LoopEvent(asyncio.Event):
    """An event that is set on the thread of a loop only; elsewhere it is left to that thread."""

    def set(self) -> None:
        """Wake all waiters: from another thread, waiters may come and go meanwhile."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        super().set()


class MessageBuffer(_infra.AsyncMessageBuffer):
    """
    The messages to a window, or to all.

    viser 1.1 sets the event from the thread that sends a message, which fails about once in
    300,000 times, and then schedules the same on the thread that waits for it.
    """

    def __init__(self, event_loop: asyncio.AbstractEventLoop, persistent_messages: bool) -> None:
        super().__init__(event_loop, persistent_messages, message_event=LoopEvent())


_infra.AsyncMessageBuffer = MessageBuffer  # type: ignore[misc]


class Page(viser.ViserServer):
    """
    The server of one page, which is the same in every window.

    Raises
    ------
    ParameterError
        If the address is not available.

    """

    def __init__(self, host: str, port: int) -> None:
        logging.getLogger('websockets').setLevel(logging.ERROR)
        if is_loopback(host):
            # A browser lets any site connect to this machine, also by DNS rebinding.  Such
            # requests are refused: they could move the arm.  viser has no option for this.
            websockets.asyncio.server.serve = _serve_this_machine
        try:
            socket.getaddrinfo(host, port)  # viser would wait forever
            super().__init__(host=host, port=port, label='ik_node', verbose=False)
        except OSError as error:
            raise ParameterError(f'cannot listen on {host}:{port}: {error.strerror}; choose '
                                 'another host or port') from None
        finally:
            websockets.asyncio.server.serve = WEBSOCKETS_SERVE
        self.gui.configure_theme(show_logo=False, show_share_button=False)

    def request_share_url(self, verbose: bool = True) -> None:
        """Do nothing: a tunnel, which viser offers to any window, would let the internet in."""

    def on_windows(self, do: Callable[[], None]) -> None:
        """Call `do`, on the thread of the page, whenever a window is opened or closed."""
        async def changed(_window: viser.ClientHandle) -> None:
            do()

        self.on_client_connect(changed)
        self.on_client_disconnect(changed)
