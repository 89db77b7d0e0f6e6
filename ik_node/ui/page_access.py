# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Where a page is served, and whose requests it answers."""

from __future__ import annotations

from contextlib import suppress
import ipaddress
import re
import secrets
import socket

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers

LOCAL_HOST = re.compile(r'(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?')
ANY_HOSTS = '0.0.0.0', '::', ''
ROUTED_ADDRESS = '192.0.2.1', 9  # of no machine (RFC 5737): nothing is sent to it
TOKEN_BYTES = 16
MAX_STRANGERS = 32  # connections that have not shown that they are of a page


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == 'localhost'


def reached_at(host: str) -> str:
    """Return an address of this machine by which others reach it, if it listens on all."""
    if host not in ANY_HOSTS:
        return host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        try:
            route.connect(ROUTED_ADDRESS)
            return route.getsockname()[0]
        except OSError:  # no network
            return socket.gethostname()


def page_address(scheme: str, host: str, port: int) -> str:
    """Return the address by which a page is opened that is served on a host."""
    reached = reached_at(host)
    return f'{scheme}://{f"[{reached}]" if ":" in reached else reached}:{port}'


class PageAccess:
    """
    Tells the requests of a page from those of other sites and of strangers.

    A browser lets any site send requests to any address, also by DNS rebinding: they could move
    the arm.
    """

    def __init__(self, host: str, *schemes: str) -> None:
        self._is_local, self._schemes = is_loopback(host), schemes
        # Part of the page's address, which others cannot know; '' on loopback.
        self.token = '' if self._is_local else secrets.token_urlsafe(TOKEN_BYTES)

    def refusal(self, headers: Headers) -> str:
        """Return why a request is refused, if it is one of another site; '' if it is not."""
        hosts = headers.get_all('Host')
        if len(hosts) != 1 or self._is_local and not LOCAL_HOST.fullmatch(hosts[0]):
            # A name that leads here may be of another site (DNS rebinding).
            return 'this page is for localhost'
        if headers.get_all('Origin') not in (
                [], *([f'{scheme}://{hosts[0]}'] for scheme in self._schemes)):
            return 'pages of other sites cannot use this one'
        return ''

    def is_token(self, given: str) -> bool:
        """Return whether a part of an address is the token."""
        return secrets.compare_digest(*(text.encode('utf-8', 'surrogateescape')
                                        for text in (given, self.token)))


class Listener(socket.socket):
    """
    A bound socket that keeps at most MAX_STRANGERS connections which are of no page yet.

    For a further one the oldest is shut down: so silent ones neither keep a page out, nor take
    all file descriptors.

    Raises
    ------
    OSError
        If the address is not available.

    """

    def __init__(self, host: str, port: int) -> None:
        family, kind, protocol, _, address = min(  # of a name with several, that of IPv4
            socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM,
                               flags=socket.AI_PASSIVE), key=lambda found: found[0])
        super().__init__(family, kind, protocol)
        self._strangers: list[socket.socket] = []
        try:
            self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.bind(address)
        except OSError:
            self.close()
            raise

    def accept(self) -> tuple[socket.socket, object]:
        """Return a new connection, and where it comes from."""
        connection, peer = super().accept()
        self._strangers = [each for each in self._strangers if each.fileno() >= 0]
        if len(self._strangers) >= MAX_STRANGERS:
            with suppress(OSError):  # it has just ended
                self._strangers.pop(0).shutdown(socket.SHUT_RDWR)
        self._strangers.append(connection)
        return connection, peer

    def admit(self, connection: ServerConnection) -> None:
        """Keep a connection that is of a page, whatever comes after it."""
        number = connection.transport.get_extra_info('socket').fileno()
        self._strangers = [each for each in self._strangers if each.fileno() != number]
