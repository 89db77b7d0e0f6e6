# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Colours, lines and button styles that all panels of the page share."""

from __future__ import annotations

from html import escape

import viser

CSS_GREEN, CSS_AMBER, CSS_RED = '#2b9d4f', '#b36b00', '#d33a2f'
ROW_HEIGHT_EM = 1.4
PHONE_PANEL = '52%'  # of the height of the window
PINNED_STYLE, PLAIN_STYLE, HALF_STYLE = 'ik-pinned', 'ik-plain', 'ik-half'
# Of the numbers of a vector all digits are seen, in place of their small buttons.
# A style applies to the element that follows its mark, see `mark`.  An ancestor with
# "overflow: hidden" would keep a pinned element from staying in view; "clip" does not.
# On a phone, viser draws the panel over the lower part of the scene; here the scene ends
# above the panel, unless the panel is collapsed.
PAGE_CSS = f"""
div:has(> [class^="ik-"]) {{ display: none }}
div[style*="overflow: hidden"]:has(.{PINNED_STYLE}) {{ overflow: clip !important }}
div:has(> .{PINNED_STYLE}) + div {{
    position: sticky; top: 0; z-index: 5; padding-top: 0.5em;
    background: var(--mantine-color-body) }}
div:has(> .{PLAIN_STYLE}) + div button {{
    background: none; color: var(--mantine-color-text);
    border: 1px solid var(--mantine-color-gray-5); padding: 0 0.3em;
    height: auto !important; min-height: 2em }}
div:has(> .{PLAIN_STYLE}) + div button :is(.mantine-Button-inner, .mantine-Button-label) {{
    height: auto; white-space: normal; line-height: 1.25 }}
.mantine-NumberInput-root[style*="flex-grow"] .mantine-NumberInput-section {{ display: none }}
.mantine-NumberInput-root[style*="flex-grow"] input {{ padding: 0 0.3em !important }}
div:has(> .{PLAIN_STYLE}) + div button:hover {{
    background: var(--mantine-color-default-hover); color: var(--mantine-color-text) }}
div:has(> .{HALF_STYLE}) + div {{
    display: inline-block; width: calc(50% - 1.5 * var(--mantine-spacing-xs));
    margin-inline-end: 0 !important }}
@media (max-width: 36em) {{
    div[style*="max-height: 60%"] {{ max-height: {PHONE_PANEL} !important }}
    div[style*="max-height: 60%"], div[style*="max-height: 60%"] div[style*="width: 20em"] {{
        width: 100% !important }}
    body:not(:has([style*="display: none"] .{PINNED_STYLE}))
    div[style*="flex-grow: 1"][style*="height: 100%"]:has(canvas) {{
        height: calc(100% - {PHONE_PANEL}) !important }}
}}
"""


def add_page_style(server: viser.ViserServer) -> None:
    """Add the style sheet of the page."""
    server.gui.add_html(f'<style>{PAGE_CSS}</style>')


def add_title(server: viser.ViserServer) -> viser.GuiHtmlHandle:
    """Return an invisible element whose content, by `title_html`, sets the title of the tab."""
    return server.gui.add_html('')


def title_html(title: str) -> str:
    """Return HTML that sets the title of the browser's tab."""
    # viser has no setting for it.  A style sheet tells when it has been added to the page.
    return (f'<style data-title="{escape(title)}" '
            'onload="document.title=this.dataset.title"></style>')


def mark(server: viser.ViserServer, *styles: str) -> viser.GuiHtmlHandle:
    """Give styles to the element that is added next; return the mark."""
    return server.gui.add_html(f'<span class="{" ".join(styles)}" hidden></span>')


def line(content: str, rows: int = 0) -> str:
    """
    Return a line of a panel; the content is HTML.

    Parameters
    ----------
    rows : int
        A place for so many rows, also if the content has less, so that what is below stays where
        it is when the content changes; more is scrolled.  0 for as many as there are.

    """
    place = f';line-height:{ROW_HEIGHT_EM}em;height:{rows * ROW_HEIGHT_EM}em;overflow-y:auto' \
        if rows else ''
    return (f'<div style="padding:0 0.75em;margin:0.2em 0;font-size:0.85em;'
            f'overflow-wrap:anywhere{place}">{content}</div>')
