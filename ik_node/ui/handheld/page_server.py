# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The server of the page, and of the websockets by which it talks to the node."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
import hashlib
from http import HTTPStatus
from importlib.resources import files
import ipaddress
import logging
import os
from pathlib import Path
import re
import shutil
import ssl
import subprocess
import tempfile
from threading import Thread
from time import monotonic
from typing import Protocol
from urllib.parse import parse_qs

from websockets.asyncio.server import serve, Server, ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from ik_node.base.errors import GoalError, ParameterError
from ik_node.base.text import quote
from ik_node.ui.handheld.page_messages import (
    MAX_MESSAGE_BYTES,
    MessageLimit,
    PageMessage,
    PageState,
    read_message,
)
from ik_node.ui.page_access import Listener, PageAccess

PAGE_FILES = {'/': ('page.html', 'text/html'), '/page.js': ('page.js', 'text/javascript'),
              '/page.css': ('page.css', 'text/css')}
SOCKET_PATH = '/socket'
MAX_OPEN_PAGES = 8
PING_PERIOD_S = 5.0  # a page that is gone without a word is forgotten after twice this
CLOSE_TIMEOUT_S = 1.0
# Nothing from elsewhere, no other page around it, and no address with its token to others.
PAGE_HEADERS = {
    'Content-Security-Policy': "default-src 'none'; script-src 'self'; style-src 'self'; "
                               "connect-src 'self'; img-src data:; frame-ancestors 'none'",
    'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff'}
POLICY_VIOLATION, TRY_AGAIN_LATER = 1008, 1013  # RFC 6455, 7.4.1 and its registry


class PageEvents(Protocol):
    """What the server tells, on its own thread."""

    def opened(self, number: int, name: str) -> None:
        """Tell of a page, and of how others may call it."""

    def received(self, number: int, message: PageMessage, now: float) -> None:
        """Tell of a message, received at a monotonic time (s)."""

    def refused(self, number: int, sentence: str) -> None:
        """Tell of a message that is none."""

    def closed(self, number: int) -> None:
        """Tell that a page is gone."""


@dataclass(frozen=True)
class ServedAddress:
    """Where the page is served."""

    host: str
    port: int
    context: ssl.SSLContext | None = None  # of TLS

    @property
    def scheme(self) -> str:
        """Return that of the page."""
        return 'https' if self.context else 'http'


class Outbox:
    """The latest state for one page, which is sent if it has changed."""

    def __init__(self) -> None:
        self._state = PageState()
        self._changed = asyncio.Event()

    def put(self, state: PageState) -> None:
        """Replace the state; on the thread of the server."""
        if state != self._state:
            self._state = state
            self._changed.set()

    async def send_all(self, connection: ServerConnection) -> None:
        """Send what comes."""
        while True:
            await connection.send(self._state.text())
            await self._changed.wait()
            self._changed.clear()


class PageServer:
    """
    Serves the page and its websockets, on a thread of its own.

    Requests of other sites' pages are refused.  On an address that other machines can reach, so
    are those without the token.
    """

    def __init__(self, address: ServedAddress, events: PageEvents) -> None:
        logging.getLogger('websockets').setLevel(logging.CRITICAL)
        self._address, self._events = address, events
        self._access = PageAccess(address.host, address.scheme)
        self.token = self._access.token  # part of the address; '' on loopback
        folder = files(__package__) / 'page'
        self._files = {path: ((folder / name).read_text(encoding='utf-8'), kind)
                       for path, (name, kind) in PAGE_FILES.items()}
        self._outboxes: dict[int, Outbox] = {}
        self._count = 0
        self._loop = asyncio.new_event_loop()
        try:
            self._server = self._loop.run_until_complete(self._listen())
        except (OSError, UnicodeError) as error:
            self._loop.close()
            why = getattr(error, 'strerror', None) or 'it is no name of a machine'
            raise ParameterError(f'cannot listen on {address.host}:{address.port}: {why}; choose '
                                 'another host or port') from None
        self._thread = Thread(target=self._loop.run_forever, name='page server', daemon=True)
        self._thread.start()

    async def _listen(self) -> Server:
        self._listener = Listener(self._address.host, self._address.port)
        return await serve(
            self._talk, sock=self._listener, ssl=self._address.context,
            process_request=self._answer, compression=None, max_size=MAX_MESSAGE_BYTES,
            ping_interval=PING_PERIOD_S, ping_timeout=PING_PERIOD_S,
            close_timeout=CLOSE_TIMEOUT_S)

    # ---- requests -----------------------------------------------------------

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request; None lets it become a websocket."""
        path, _, query = request.path.partition('?')
        refusal = self._access.refusal(request.headers)
        if not refusal and self.token and path in ('/', SOCKET_PATH) \
                and not self._access.is_token(parse_qs(query).get('token', [''])[0]):
            refusal = 'the token in the address is missing or wrong; open the address that ' \
                      'ik_handheld has printed'
        if refusal:
            return connection.respond(HTTPStatus.FORBIDDEN, refusal + '\n')
        if path == SOCKET_PATH:
            return None
        if path not in self._files:
            return connection.respond(HTTPStatus.NOT_FOUND, 'there is no such page\n')
        text, kind = self._files[path]
        response = connection.respond(HTTPStatus.OK, text)
        del response.headers['Content-Type']
        response.headers['Content-Type'] = f'{kind}; charset=utf-8'
        response.headers.update(PAGE_HEADERS)
        return response

    # ---- websockets ---------------------------------------------------------

    async def _talk(self, connection: ServerConnection) -> None:
        self._listener.admit(connection)
        if len(self._outboxes) >= MAX_OPEN_PAGES:
            await connection.close(TRY_AGAIN_LATER, f'{MAX_OPEN_PAGES} pages are open; close one')
            return
        self._count += 1
        number, limit = self._count, MessageLimit()
        outbox = self._outboxes[number] = Outbox()
        peer = connection.remote_address
        self._events.opened(number, f'page {number} ({peer[0]})' if peer else f'page {number}')
        sender = asyncio.ensure_future(outbox.send_all(connection))
        try:
            async for text in connection:
                now = monotonic()
                if not limit.allows(now):
                    await connection.close(POLICY_VIOLATION, 'too many messages came; load the '
                                           'page again')
                    break
                try:
                    self._events.received(number, read_message(text), now)
                except GoalError as error:
                    self._events.refused(number, str(error))
        except ConnectionClosed:
            pass
        finally:
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)
            del self._outboxes[number]
            self._events.closed(number)

    # ---- from other threads -------------------------------------------------

    def show(self, states: dict[int, PageState]) -> None:
        """Have pages show a state each; those that are gone are left out."""
        self._loop.call_soon_threadsafe(self._put, states)

    def _put(self, states: dict[int, PageState]) -> None:
        for number, state in states.items():
            if number in self._outboxes:
                self._outboxes[number].put(state)

    def close(self) -> None:
        """Close all pages, and end the thread."""
        async def end() -> None:
            self._server.close()
            await self._server.wait_closed()
            self._loop.stop()

        asyncio.run_coroutine_threadsafe(end(), self._loop)
        self._thread.join(2.0 * CLOSE_TIMEOUT_S)


OPENSSL_PROGRAM = 'openssl'
CERTIFICATE_FILE, KEY_FILE = 'certificate.pem', 'key.pem'
VALID_DAYS = 825
RENEWAL_MARGIN_S = 86_400  # before its end
OPENSSL_TIMEOUT_S = 30.0
HOST_NAME = re.compile(r'[A-Za-z0-9.-]{1,253}')


def cache_folder() -> Path:
    """Return where the certificate of this user is kept."""
    caches = os.environ.get('XDG_CACHE_HOME') or '~/.cache'
    return Path(caches).expanduser() / 'ik_node' / 'handheld'


def own_certificate(folder: Path, hosts: Iterable[str]) -> tuple[Path, Path]:
    """
    Return a self-signed certificate and its key, which only the user can read.

    It stays the same, so that it has to be accepted once by each device, until it ends.

    Parameters
    ----------
    folder : Path
        Where they are kept.
    hosts : iterable of str
        Names and addresses for which a new one is made.

    """
    certificate, key = folder / CERTIFICATE_FILE, folder / KEY_FILE
    if shutil.which(OPENSSL_PROGRAM) is None:
        raise ParameterError('TLS needs a certificate, and openssl, which would make one, is not '
                             'installed; install it, or set certificate and key')
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not (certificate.is_file() and key.is_file() and _is_valid(certificate)):
            with tempfile.TemporaryDirectory(dir=folder) as made:
                _make(Path(made), hosts)
                for path in (certificate, key):
                    (Path(made) / path.name).replace(path)
        for path in (certificate, key):
            path.chmod(0o600)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, 'stderr', '') or str(error)
        raise ParameterError('no certificate can be made in '
                             f'{quote(folder)}: {quote(said.strip(), 200)}; set certificate and '
                             'key') from None
    return certificate, key


def _is_valid(certificate: Path) -> bool:
    return subprocess.run(
        [OPENSSL_PROGRAM, 'x509', '-noout', '-checkend', str(RENEWAL_MARGIN_S), '-in',
         str(certificate)],
        capture_output=True, timeout=OPENSSL_TIMEOUT_S, check=False).returncode == 0


def _make(folder: Path, hosts: Iterable[str]) -> None:
    subprocess.run(
        [OPENSSL_PROGRAM, 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
         'ec_paramgen_curve:prime256v1', '-nodes', '-days', str(VALID_DAYS), '-subj',
         '/CN=ik_handheld', '-addext', f'subjectAltName={",".join(_names(hosts))}',
         '-keyout', str(folder / KEY_FILE), '-out', str(folder / CERTIFICATE_FILE)],
        capture_output=True, text=True, timeout=OPENSSL_TIMEOUT_S, check=True,
        umask=0o077)


def _names(hosts: Iterable[str]) -> list[str]:
    names = {'DNS:localhost': None, 'IP:127.0.0.1': None}
    for host in hosts:
        try:
            names[f'IP:{ipaddress.ip_address(host)}'] = None
        except ValueError:
            if HOST_NAME.fullmatch(host):
                names[f'DNS:{host}'] = None
    return [*names]


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the TLS settings of a server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # Without the password it would be asked for on the terminal.
        context.load_cert_chain(certificate, key, password='')
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ParameterError(f'the certificate {quote(certificate)} with the key {quote(key)} '
                             f'cannot be used: {error}; both must be PEM files, and the key '
                             'without a password') from None
    return context


def fingerprint(certificate: Path) -> str:
    """Return the SHA-256 of the first certificate in a PEM file, as browsers show it."""
    pem = certificate.read_text(encoding='ascii', errors='replace')
    first = pem[pem.index(ssl.PEM_HEADER):]
    first = first[:first.index(ssl.PEM_FOOTER) + len(ssl.PEM_FOOTER)]
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(first)).digest().hex(':').upper()
