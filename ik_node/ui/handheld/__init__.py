# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A page for a phone or a headset, which moves the arm with the hand that holds it.

    clutch         The clutch: the tip follows a hand only while a button is held
    node           The node handheld
    open_pages     The pages that are open, one of which may hold the clutch
    page_messages  The messages between page and node: JSON objects, told apart by ``type``
    page_server    The server of the page and its websockets, with certificates of TLS
"""
