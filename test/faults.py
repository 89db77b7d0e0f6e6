# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes docs/faults.md from the marks ``fault`` of the tests.

Run in the source folder: ``python test/faults.py``.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
GROUPS = ('robot description', 'goals', 'joint states', 'time and load',
          'start, end and middleware', 'kill, cut off and restart', 'controller', 'parameters')
HEAD = """\
# Faults

What was made to go wrong, what happens then, and the test that shows it. Wherever ROS is involved
the test does it to real processes over DDS. Made from the marks of the tests by
`python test/faults.py`.
"""


class Fault(NamedTuple):
    """A fault that a test produces, and what the test then sees."""

    group: str
    fault: str
    behaviour: str
    test: str
    path: str


def faults() -> list[Fault]:
    """Return all that are marked, by their groups; the tests need not be imported for it."""
    found = []
    for file in sorted((ROOT / 'test').rglob('test_*.py')):
        for node in ast.parse(file.read_text(encoding='utf-8')).body:
            if isinstance(node, ast.FunctionDef):
                found += [Fault(*map(ast.literal_eval, mark.args), node.name,
                                file.relative_to(ROOT).as_posix())
                          for mark in node.decorator_list if isinstance(mark, ast.Call)
                          and ast.unparse(mark.func) == 'pytest.mark.fault']
    return sorted(found, key=lambda fault: GROUPS.index(fault.group))


def text() -> str:
    """Return docs/faults.md."""
    found, lines = faults(), [HEAD]
    for group in GROUPS:
        lines += [f'## {group[0].upper()}{group[1:]}', '', '| fault | behaviour | test |',
                  '|---|---|---|']
        lines += [f'| {each.fault} | {each.behaviour} | [{each.test}](../{each.path}) |'
                  for each in found if each.group == group]
        lines.append('')
    return '\n'.join(lines)


if __name__ == '__main__':
    (ROOT / 'docs/faults.md').write_text(text(), encoding='utf-8')
