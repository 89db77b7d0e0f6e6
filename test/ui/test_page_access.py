# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Whose requests the pages answer: by names, sites, tokens, and the number of connections."""

import asyncio
from contextlib import closing, contextmanager, ExitStack
from pathlib import Path
import shutil
import socket
import ssl
from unittest.mock import Mock

import pytest
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from ik_node.base.errors import ParameterError
from ik_node.ui.handheld.page_server import (
    own_certificate,
    PageServer,
    ServedAddress,
    server_context,
)
from ik_node.ui.page_access import is_loopback, LOCAL_HOST, MAX_STRANGERS, page_address

PATIENCE_S = 20.0


@pytest.mark.parametrize('host', ['localhost', '127.0.0.1', '127.0.1.1', '[::1]'])
def test_names_of_this_machine(host):
    """Each address that a page may listen on is one by which it can be opened."""
    assert is_loopback(host.strip('[]'))
    assert LOCAL_HOST.fullmatch(host) and LOCAL_HOST.fullmatch(f'{host}:8080')
    assert page_address('http', host.strip('[]'), 8080) == f'http://{host}:8080'


@pytest.mark.parametrize('host', ['128.0.0.1', '127.0.0.1.example.com', '127.example.com',
                                  'localhost.example.com', '192.168.1.5', '[::2]', ''])
def test_names_of_others(host):
    """A name that somebody else gives to 127.0.0.1 is none of them."""
    assert not is_loopback(host.strip('[]')) and not LOCAL_HOST.fullmatch(host)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


@contextmanager
def handheld(host, context=None):
    """Serve the page of a phone; yield the address of its websocket, and its token."""
    port = free_port()
    server = PageServer(ServedAddress(host, port, context), Mock())
    try:
        scheme = 'wss' if context else 'ws'
        query = f'?token={server.token}' if server.token else ''
        yield f'{scheme}://127.0.0.1:{port}/socket{query}', server.token
    finally:
        server.close()


@contextmanager
def viewer(host):
    """Serve the page of the viewer; yield the address of its websocket, and its token."""
    page = pytest.importorskip('ik_node.ui.viewer.page', reason='viser is not installed')
    server = page.Page(host, free_port())
    try:
        path = server.address.partition('//')[2].partition('/')[2].strip('/')
        yield f'ws://127.0.0.1:{server.get_port()}/{path}', path
    finally:
        server.stop()


def status(place, path, *lines):
    """Return the status of the answer to a request, by bytes as they are."""
    port = int(place.split(':')[2].partition('/')[0])
    with socket.create_connection(('127.0.0.1', port), PATIENCE_S) as connection:
        headers = lines or (f'Host: 127.0.0.1:{port}',)
        connection.sendall('\r\n'.join([f'GET {path} HTTP/1.1', *headers, '', ''])
                           .encode('latin-1'))
        return int(connection.makefile('rb').readline().split()[1])


def talks(place, **named):
    """Return whether a websocket opens, and the page answers by it."""
    with connect(place, open_timeout=PATIENCE_S, **named) as page:
        return bool(page.recv(timeout=PATIENCE_S))


def version():
    """Return what viser's page says that it speaks."""
    import viser
    return [f'viser-v{viser.__version__}']


@pytest.mark.parametrize('host', ['127.0.0.1', '0.0.0.0'])
def test_only_its_own_page_may_talk_to_the_viewer(host, capfd):
    """By Origin on every address; on those that others can reach also by the token."""
    with viewer(host) as (place, token):
        assert 'http' not in ''.join(capfd.readouterr())  # viser knows of no token
        own = f'http://127.0.0.1:{place.split(":")[2].partition("/")[0]}'
        assert bool(token) == (host == '0.0.0.0')
        assert talks(place, origin=own, subprotocols=version())
        assert talks(place, subprotocols=version())  # a program
        for origin in ('https://example.org', 'http://127.0.0.1:1', f'{own}.example.org', 'null'):
            with pytest.raises(InvalidStatus, match='403'):
                connect(place, origin=origin, subprotocols=version())
        assert status(place, f'/{token}/') == status(place, f'/{token}') == 200
        for wrong in (token[:-1], f'{token}x', '\xff', '..', 'index.html') if token else ():
            assert status(place, f'/{wrong}') == status(place, f'/{wrong}/') == 403
            with pytest.raises(InvalidStatus, match='403'):
                connect(place.replace(token, wrong.encode('latin-1').hex()), origin=own)
        other = ('Host: example.org', 'Origin: http://example.org')
        assert status(place, '/', *other) == 403  # whose name leads here


@pytest.mark.parametrize('serve', [handheld, viewer])
@pytest.mark.parametrize('host', ['127.0.0.1', '0.0.0.0'])
def test_odd_addresses(serve, host):
    """They are refused, and are no fault of the server."""
    with serve(host) as (place, token):
        for path in ('//[', '//[::1', '/\xff', '/?token=\xff', '/?token=%ff', '/socket?token=%00',
                     'http://[', '*', '?', f'/{token}/../../etc/passwd', f'/{token}//[',
                     f'/{token}/%2e%2e/%2e%2e/etc/passwd', '/' + 2000 * 'x'):
            answer, is_page = status(place, path), path.lstrip('/').startswith('?')
            assert 400 <= answer < 500 or answer == 200 and is_page and not token, path
        assert talks(place, subprotocols=version())


@pytest.fixture(scope='module')
def contexts(tmp_path_factory):
    """Return the settings of TLS of a server and its client."""
    if shutil.which('openssl') is None:
        pytest.skip('openssl is not installed')
    certificate, key = own_certificate(tmp_path_factory.mktemp('certificate'), ['localhost'])
    return server_context(certificate, key), ssl.create_default_context(cafile=certificate)


@pytest.mark.parametrize('kind', ['plain', 'tls', 'viewer'])
def test_silent_connections(kind, request, capfd):
    """However many connect and say nothing: pages open, and those that are open go on."""
    tls, client = request.getfixturevalue('contexts') if kind == 'tls' else (None, None)
    with viewer('0.0.0.0') if kind == 'viewer' else handheld('0.0.0.0', tls) as (place, _), \
            ExitStack() as silent:
        asyncio.run(among_silent_ones(place, silent, {'ssl': client, 'subprotocols': version()}))
    assert 'Traceback' not in ''.join(capfd.readouterr())


async def among_silent_ones(place, silent, named):
    """
    Talk while ever more connections are opened that say nothing.

    By the client of websockets without threads: one thread may not read from a TLS connection
    while another writes to it.
    """
    port, opened, before = int(place.split(':')[2].partition('/')[0]), [], open_sockets()
    async with connect_async(place, open_timeout=PATIENCE_S, **named) as page:
        for _ in range(5):
            for _ in range(2 * MAX_STRANGERS):
                opened.append(silent.enter_context(closing(
                    socket.create_connection(('127.0.0.1', port), PATIENCE_S))))
            async with connect_async(place, open_timeout=PATIENCE_S, **named) as other:
                assert await asyncio.wait_for(other.recv(), PATIENCE_S)
        # Half of the sockets are those of this test.
        assert open_sockets() - before - len(opened) <= MAX_STRANGERS + 4
        assert await asyncio.wait_for(page.recv(), PATIENCE_S)
        await asyncio.wait_for(await page.ping(), PATIENCE_S)
    for each in opened[:-MAX_STRANGERS]:
        each.settimeout(PATIENCE_S)
        assert each.recv(1) == b''


def open_sockets():
    """Return how many sockets this process has."""
    def is_socket(link):
        try:
            return 'socket' in str(link.readlink())
        except OSError:  # closed meanwhile
            return False
    return sum(map(is_socket, Path('/proc/self/fd').iterdir()))


@pytest.mark.parametrize('host', ['192.0.2.1', '999.1.1.1'])
def test_an_address_of_another_machine(host):
    """One sentence, at once."""
    page = pytest.importorskip('ik_node.ui.viewer.page', reason='viser is not installed')
    for serve in (page.Page, lambda *place: PageServer(ServedAddress(*place), Mock())):
        with pytest.raises(ParameterError, match=f'cannot listen on {host}'):
            serve(host, free_port())
