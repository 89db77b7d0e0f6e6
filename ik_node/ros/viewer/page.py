# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The server of the page: who may open it, and what is the same for every robot."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import ipaddress
import logging
import re

import viser
import websockets.asyncio.server

from ik_node.errors import ParameterError

LOCAL_PAGE = re.compile(r'https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?')


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == 'localhost'


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
        serve = websockets.asyncio.server.serve
        if is_loopback(host):
            # A browser lets any site connect to this machine; what comes from a page of
            # another site is refused, or it could move the arm.  viser has no option for it.
            websockets.asyncio.server.serve = partial(serve, origins=[LOCAL_PAGE, None])
        try:
            super().__init__(host=host, port=port, label='ik_node', verbose=False)
        except OSError as error:
            raise ParameterError(f'cannot listen on {host}:{port}: {error.strerror}; choose '
                                 'another host or port') from None
        finally:
            websockets.asyncio.server.serve = serve
        self.gui.configure_theme(show_logo=False, show_share_button=False)

    def request_share_url(self, verbose: bool = True) -> None:
        """Refuse what viser lets any window ask for: a tunnel from the internet to the arm."""

    def on_windows(self, do: Callable[[], None]) -> None:
        """Call something, on the page's thread, whenever a window is opened or closed."""
        async def changed(_window: viser.ClientHandle) -> None:
            do()

        self.on_client_connect(changed)
        self.on_client_disconnect(changed)
