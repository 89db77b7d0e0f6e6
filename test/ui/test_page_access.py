# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""By which names a page is for this machine only."""

import pytest

from ik_node.ui.local_names import is_loopback, LOCAL_HOST, LOCAL_PAGE


@pytest.mark.parametrize('host', ['localhost', '127.0.0.1', '127.0.1.1', '[::1]'])
def test_names_of_this_machine(host):
    """Each address that a page may listen on is one by which it can be opened."""
    assert is_loopback(host.strip('[]'))
    assert LOCAL_HOST.fullmatch(host) and LOCAL_HOST.fullmatch(f'{host}:8080')
    assert LOCAL_PAGE.fullmatch(f'http://{host}:8080')


@pytest.mark.parametrize('host', ['128.0.0.1', '127.0.0.1.example.com', '127.example.com',
                                  'localhost.example.com', '192.168.1.5', '[::2]', ''])
def test_names_of_others(host):
    """A name that somebody else gives to 127.0.0.1 is none of them."""
    assert not is_loopback(host.strip('[]')) and not LOCAL_HOST.fullmatch(host)
    assert not LOCAL_PAGE.fullmatch(f'http://{host}')
