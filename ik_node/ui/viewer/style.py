# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the panels of the page have in common: colours and lines."""

from __future__ import annotations

GREEN, AMBER, RED = '#2b9d4f', '#e08a00', '#d33a2f'


def line(content: str) -> str:
    """Return a line of a panel, of HTML."""
    return f'<div style="padding:0.2em 0.75em;font-size:0.85em">{content}</div>'
