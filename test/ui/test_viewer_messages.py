# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Messages to the windows of the page, sent from another thread than that of the server."""

import asyncio
from importlib.util import find_spec
from threading import Event, Thread

import pytest

pytestmark = pytest.mark.skipif(find_spec('viser') is None,
                                reason='viser is not installed (extra "viewer")')


def test_a_message_wakes_the_server_on_its_own_thread():
    """The thread that sends touches nothing of the loop, which hears of it all the same."""
    from viser import _messages

    from ik_node.ui.viewer.page import MessageBuffer
    loop, go_on = asyncio.new_event_loop(), Event()
    Thread(target=loop.run_forever, daemon=True).start()

    async def made():
        return MessageBuffer(loop, persistent_messages=True)

    buffer = asyncio.run_coroutine_threadsafe(made(), loop).result(10.0)
    loop.call_soon_threadsafe(go_on.wait)
    buffer.push(_messages.SetPositionMessage('/tip', (1.0, 2.0, 3.0)))
    assert not buffer.message_event.is_set()
    go_on.set()
    asyncio.run_coroutine_threadsafe(buffer.message_event.wait(), loop).result(10.0)
    loop.call_soon_threadsafe(loop.stop)


def test_the_page_sends_its_messages_so():
    """To all windows."""
    from viser import ViserServer

    from ik_node.ui.viewer.page import MessageBuffer, Page
    page = Page('127.0.0.1', 0)
    assert isinstance(page, ViserServer)
    assert isinstance(page._websock_server.get_message_buffer(), MessageBuffer)
    page.stop()
