# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The named tools on the page: a list that shows which is mounted, and to choose another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import viser

from ik_node.ui.handle import NO_TOOL
from ik_node.ui.viewer.event_queue import Inbox


class ToolPanel:
    """
    Hidden while the node has no named tools.

    Parameters
    ----------
    mount : callable
        Takes the name of the tool that is chosen, '' for none.

    """

    def __init__(self, server: viser.ViserServer, inbox: Inbox,
                 mount: Callable[[str], None]) -> None:
        self._choice = server.gui.add_dropdown(
            'Tool', (NO_TOOL,), visible=False,
            hint='tool.name: the centre point and the shape that count')
        inbox.on_change(self._choice, lambda name: mount('' if name == NO_TOOL else name))

    def show(self, names: Sequence[str], mounted: str) -> None:
        """Offer these names, and show which is mounted; '' = none."""
        options = tuple(dict.fromkeys((NO_TOOL, *names)))  # a list takes no name twice
        if options != tuple(self._choice.options):
            self._choice.options = options
        self._choice.value = mounted or NO_TOOL
        self._choice.visible = bool(names)
