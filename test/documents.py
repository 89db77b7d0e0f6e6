# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the documents hold: code blocks, links, headings, and the commands of a shell block."""

from __future__ import annotations

from pathlib import Path
import re
import shlex
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r'^( *)```(\w*)\n(.*?)^\1```$', re.MULTILINE | re.DOTALL)
LINK = re.compile(r'(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)')
SEPARATORS = {'&&', ';', '|', '||'}


class Block(NamedTuple):
    """A code block of a document."""

    document: str
    line: int
    language: str
    text: str


def documents() -> list[Path]:
    """Return all pages for users, and those for who changes the code."""
    return sorted([*(ROOT / 'docs').rglob('*.md'),
                   *(ROOT / name for name in ('README.md', 'CONTRIBUTING.md', 'SECURITY.md')),
                   ROOT / 'benchmarks/README.md'])


def blocks(document: Path) -> list[Block]:
    """Return the code blocks of a document."""
    text = document.read_text(encoding='utf-8')
    return [Block(document.relative_to(ROOT).as_posix(), 1 + text.count('\n', 0, match.start()),
                  match[2], match[3]) for match in FENCE.finditer(text)]


def prose(document: Path) -> str:
    """Return a document without its code blocks and code spans."""
    text = FENCE.sub('', document.read_text(encoding='utf-8'))
    return re.sub(r'(`+).+?\1', 'code', text)


def links(document: Path) -> list[str]:
    """Return the targets of the links and images of a document."""
    return [match[3] for match in LINK.finditer(prose(document))]


def anchors(document: Path) -> set[str]:
    """Return the anchors of the headings of a document, as Markdown makes them."""
    headings = re.findall(r'^#+ (.*)$', prose(document), re.MULTILINE)
    return {re.sub(r'[-\s]+', '-', re.sub(r'[^\w\s-]', '', heading).strip().lower())
            for heading in headings}


def commands(text: str) -> list[list[str]]:
    """Return the commands of a shell block, each as its words, without comments."""
    found = []
    for line in text.replace('\\\n', ' ').splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars='&;|')
        lexer.whitespace_split = True
        command: list[str] = []
        for word in [*lexer, ';']:
            if word in SEPARATORS:
                found += [command] if command else []
                command = []
            else:
                command.append(word)
    return found
