# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes docs/reference/faults.md from the marks ``fault`` of the tests.

Run in the source folder: ``python test/faults.py``.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
GROUPS = ('robot description', 'goals', 'joint states', 'time and load',
          'start, end and middleware', 'kill, cut off and restart', 'controller', 'parameters',
          'collision', 'clients')
HEAD = """\
# Faults

What was made to go wrong, what happens then, and the test that shows it. Tests in `test/ros` do it
to real processes over DDS, but for a few that call one part of a node; the others are without ROS.
A test "with" a package is skipped where that is missing: tf2_ros and interactive_markers come with
ROS 2, and are not on PyPI; messages of control_msgs, moveit_msgs and nav2_msgs are built for the
tests. Made from the marks of the tests by `python test/faults.py`.
"""


class Fault(NamedTuple):
    """A fault that a test produces, and what the test then sees."""

    group: str
    fault: str
    behaviour: str
    test: str
    path: str
    needs: tuple[str, ...] = ()


def _asked(node: ast.AST, *by: str) -> list[str]:
    """Return the names of packages that are asked for by functions of these names."""
    return [ast.literal_eval(call.args[0]) for call in ast.walk(node)
            if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition('.')[2] in by
            and isinstance(call.args[0], ast.Constant)]


def _needs(module: ast.Module, test: ast.FunctionDef) -> tuple[str, ...]:
    """
    Return the packages without which a test is skipped.

    It says so itself by ``importorskip`` or by a mark with ``find_spec``, which may have a name in
    the module; or the module says so for all.
    """
    found, marks = _asked(test, 'importorskip'), {}
    for line in module.body:
        if isinstance(line, ast.Assign):
            marks[ast.unparse(line.targets[0])] = _asked(line.value, 'find_spec')
        if isinstance(line, (ast.Assign, ast.Expr)):
            found += _asked(line, 'importorskip')
    found += marks.get('pytestmark', [])
    for mark in test.decorator_list:
        found += _asked(mark, 'find_spec') + marks.get(ast.unparse(mark), [])
    return tuple(dict.fromkeys(found))


@cache
def faults() -> tuple[Fault, ...]:
    """Return all that are marked, by their groups; the tests need not be imported for it."""
    found = []
    for file in sorted((ROOT / 'test').rglob('test_*.py')):
        module = ast.parse(file.read_text(encoding='utf-8'))
        for node in module.body:
            if isinstance(node, ast.FunctionDef):
                found += [Fault(*map(ast.literal_eval, mark.args), node.name,
                                file.relative_to(ROOT).as_posix(), _needs(module, node))
                          for mark in node.decorator_list if isinstance(mark, ast.Call)
                          and ast.unparse(mark.func) == 'pytest.mark.fault']
    return tuple(sorted(found, key=lambda fault: GROUPS.index(fault.group)))


def text() -> str:
    """Return docs/reference/faults.md."""
    found, lines = faults(), [HEAD]
    for group in GROUPS:
        lines += [f'## {group[0].upper()}{group[1:]}', '', '| fault | behaviour | test |',
                  '|---|---|---|']
        lines += [f'| {each.fault} | {each.behaviour} | [{each.test}](../../{each.path})'
                  + (f' (with {", ".join(each.needs)})' if each.needs else '') + ' |'
                  for each in found if each.group == group]
        lines.append('')
    return '\n'.join(lines)


if __name__ == '__main__':
    (ROOT / 'docs/reference/faults.md').write_text(text(), encoding='utf-8')
