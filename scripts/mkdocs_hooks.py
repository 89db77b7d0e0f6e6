# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What mkdocs does with the pages besides (see mkdocs.yml).

Links to files outside docs/ work where the repository is browsed; the site shows their paths
instead.  Sphinx roles of docstrings become links within the site.
"""

from __future__ import annotations

import re
from typing import Any

OUTSIDE_LINK = re.compile(r'(?<!!)\[([^\]]+)\]\(((?:\.\./)+(?:benchmarks|config|examples|launch|'
                          r'scripts|test|ik_node|[A-Z]+\.\w+)[^)]*)\)')
ROLE = re.compile(r':(?:class|func|meth|data|attr|mod):<code>~?([\w.]+)</code>')


def on_page_markdown(markdown: str, **_named: Any) -> str:
    """Replace links out of docs/ by the path of the file."""
    def path_of(match: re.Match[str]) -> str:
        text, path = match[1], match[2].replace('../', '')
        return f'`{path}`' if text.strip('`') in path else f'{text} (`{path}`)'

    return OUTSIDE_LINK.sub(path_of, markdown)


def on_page_content(html: str, **_named: Any) -> str:
    """Replace Sphinx roles by links to what they name, where the site has it."""
    def link(match: re.Match[str]) -> str:
        name = f'<code>{match[1].rpartition(".")[2]}</code>'
        return f'<autoref optional identifier="{match[1]}">{name}</autoref>' \
            if match[1].startswith('ik_node.') else name

    return ROLE.sub(link, html)
