# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The web server of the page, which accepts only allowed hosts and origins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from http import HTTPStatus
from io import StringIO
import logging
from typing import Any

import viser
from viser.infra import _infra
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from ik_node.base.errors import ParameterError
from ik_node.ui.page_access import Listener, page_address, PageAccess

WEBSOCKETS_SERVE = websockets.asyncio.server.serve
TOKEN_REFUSAL = HTTPStatus.FORBIDDEN, ('the token in the address is missing or wrong; open the '
                                       'address that ik_viewer has printed\n')
NO_SUCH_PAGE = HTTPStatus.NOT_FOUND, 'there is no such page\n'


def _serve(access: PageAccess, handler: Any, host: str, port: int, *, process_request: Any,
           **named: Any) -> Any:
    """Serve as websockets does, but only requests of this page, below its token if it has one."""
    listener = Listener(host, port)

    def checked(connection: ServerConnection, request: Request) -> Response | None:
        refusal = access.refusal(request.headers)
        if refusal:
            return connection.respond(HTTPStatus.FORBIDDEN, refusal + '\n')
        if not access.is_token(request.path.partition('?')[0].strip('/')):
            return connection.respond(*TOKEN_REFUSAL if access.token else NO_SUCH_PAGE)
        request.path = '/'  # all of the page is in one file
        return process_request(connection, request)

    async def talk(connection: ServerConnection) -> None:
        listener.admit(connection)
        await handler(connection)

    return WEBSOCKETS_SERVE(talk, sock=listener, process_request=checked, **named)


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
    """The server of one page, which is the same in every window."""

    def __init__(self, host: str, port: int) -> None:
        logging.getLogger('websockets').setLevel(logging.ERROR)
        # Whoever connects and says nothing must not fill the log.
        logging.getLogger('websockets.server').addFilter(
            lambda record: record.getMessage() != 'opening handshake failed')
        access = PageAccess(host, 'http', 'https')  # there may be a proxy with TLS
        # viser has no option for this.
        websockets.asyncio.server.serve = partial(_serve, access)
        try:
            Listener(host, 0).close()  # viser would try a thousand ports, then wait forever
            with redirect_stdout(StringIO()):  # viser prints an address without the token
                super().__init__(host=host, port=port, label='ik_node', verbose=False)
        except OSError as error:
            raise ParameterError(f'cannot listen on {host}:{port}: {error.strerror}; choose '
                                 'another host or port') from None
        finally:
            websockets.asyncio.server.serve = WEBSOCKETS_SERVE
        # By which the page is opened, with its token.
        self.address = page_address('http', host, self.get_port())
        if access.token:
            self.address += f'/{access.token}/'
        self.gui.configure_theme(show_logo=False, show_share_button=False)

    def request_share_url(self, verbose: bool = True) -> None:
        """Do nothing: a tunnel, which viser offers to any window, would let the internet in."""

    def on_windows(self, do: Callable[[], None]) -> None:
        """Call `do`, on the thread of the page, whenever a window is opened or closed."""
        async def changed(_window: viser.ClientHandle) -> None:
            do()

        self.on_client_connect(changed)
        self.on_client_disconnect(changed)
