# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A page for a phone or a headset, which moves an arm with each hand that holds one.

    clutch         The clutch: the tip follows a hand only while a button is held
    hands          What several arms are called on a page, and which hand leads which
    led_arms       The arms that are led: one, or several at once
    node           The node handheld
    open_pages     The pages that are open, one of which may hold the clutch of an arm
    page_messages  The messages between page and node: JSON objects, told apart by ``type``
    page_server    The server of the page and its websockets, with certificates of TLS
"""
