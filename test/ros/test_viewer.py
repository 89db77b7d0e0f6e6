# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arm in the browser: the process starts, serves its page, and ends."""

from importlib.util import find_spec
import socket
import urllib.request

from harness import ARM, free_port, process
import pytest

pytestmark = pytest.mark.skipif(find_spec('viser') is None,
                                reason='viser is not installed (extra "viewer")')


def test_serves_its_page_on_loopback(tmp_path, probe):
    """Only this machine can connect; the log names a missing mesh; SIGINT ends it with code 0."""
    urdf = tmp_path / 'arm.urdf'
    urdf.write_text(ARM.read_text().replace(
        '<link name="tool0"/>', '<link name="tool0"><visual><geometry><mesh '
        'filename="package://nowhere/tool.stl"/></geometry></visual></link>'))
    assert 'nowhere' in urdf.read_text()
    port = free_port()
    with process('viewer', tmp_path, {'urdf_file': urdf, 'port': port}) as running:
        probe.wait(lambda: f'open http://127.0.0.1:{port}' in running.output, 30.0)
        page = urllib.request.urlopen(f'http://127.0.0.1:{port}', timeout=10).read()
        assert b'<html' in page.lower()
        assert 'package://nowhere/tool.stl' in running.output
        assert 'open to the network' not in running.output
        addresses = [line.split()[1] for line in open('/proc/net/tcp') if line.split()[3] == '0A']
        assert f'0100007F:{port:04X}' in addresses and f'00000000:{port:04X}' not in addresses
        assert running.stop() == 0


def test_warns_when_it_is_not_on_loopback(tmp_path, probe):
    """The log warns if other machines can open the page."""
    with process('viewer', tmp_path, {
            'urdf_file': ARM, 'port': free_port(), 'host': '0.0.0.0'}) as running:
        probe.wait(lambda: 'open to the network' in running.output, 30.0)


@pytest.mark.nightly
def test_a_port_that_is_taken(tmp_path, probe):
    """The page is served at the next port, and the log says so."""
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        port = other.getsockname()[1]
        with process('viewer', tmp_path, {'urdf_file': ARM, 'port': port}) as running:
            probe.wait(lambda: 'open http' in running.output, 30.0)
            at = int(running.output.partition('open http://127.0.0.1:')[2].split()[0])
            assert at != port and f'somebody else has port {port}' in running.output
            page = urllib.request.urlopen(f'http://127.0.0.1:{at}', timeout=10).read()
            assert b'<html' in page.lower()


def test_nobody_gets_a_tunnel():
    """The tunnel from the internet that any window can ask viser for is not opened."""
    from ik_node.ui.viewer.page import Page
    page = Page('127.0.0.1', free_port())
    try:
        assert page.request_share_url() is None
        assert page._share_tunnel is None
    finally:
        page.stop()
