# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Print the rooms of the source, and how large the house is beside what is aimed at.

    python scripts/house.py            the bars and the rooms
    python scripts/house.py --long     and each function with eight or more arguments
    python scripts/house.py --write    writes both tables into their pages of the documentation

What cannot be read from the source is set by hand, else the page keeps what it has:
``--write --test-minutes 7.5 --goal-files 40``, the latter from ``scripts/goal_trace.py``.

The budgets of the rooms are in pyproject.toml; test/test_house.py holds them.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
import re
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / 'ik_node'
NUMBERS_PAGE = ROOT / 'docs/explanation/numbers.md'
MAP_PAGE = ROOT / 'docs/explanation/method.md'
GOAL_ROW = 'files that a goal pose crosses'
TESTS_ROW = 'minutes of `make test` on two cores'
# Of 2026-11-28, before the source had rooms, and what is aimed at.
THEN_AND_TARGET = {
    'modules': ('387', '250'), 'lines installed': ('71,679', '55,500'),
    'modules of the largest folder': ('66', '12'),
    'arrows between the rooms of `node`': ('253 between files', '53'),
    'functions with 8 or more arguments': ('18', '12'), 'lines of tests': ('61,619', '47,000'),
    GOAL_ROW: ('46', '20'), TESTS_ROW: ('8.0', '5.5')}
MANY_ARGUMENTS = 8
SHELVES = {
    "The arm's mind, which imports no ROS":
        'base model kinematics collision solver motion',
    'The node': 'ros replay node',
    'The apps': 'client simulation ui tools textbook'}


class Room(NamedTuple):
    """A folder: its path below ik_node, its docstring, what is in it, its own lines."""

    path: str
    doc: str
    modules: list[str]
    folders: list[str]
    lines: int

    @property
    def title(self) -> str:
        """The first sentence of its docstring."""
        return self.doc.strip().partition('\n')[0].rstrip('.')

    def listed(self) -> list[str]:
        """Return the modules and folders that its docstring has a line for."""
        return re.findall(r'^    (\w+/?)  +\S', self.doc, re.MULTILINE)


@lru_cache(maxsize=1)
def trees() -> dict[Path, ast.Module]:
    """Return the syntax tree of each file, by its path below ik_node."""
    return {path.relative_to(PACKAGE): ast.parse(path.read_text())
            for path in sorted(PACKAGE.rglob('*.py'))}


def line_count(*paths: Path) -> int:
    """Return how many lines files have."""
    return sum(len(path.read_text().splitlines()) for path in paths)


def rooms() -> list[Room]:
    """Return all folders below ik_node."""
    found = []
    for folder in sorted({path.parent for path in trees()}):
        own = [path for path in trees() if path.parent == folder]
        names = [path.stem for path in own if path.name != '__init__.py']
        if folder.parts:
            doc = ast.get_docstring(trees()[folder / '__init__.py'], clean=False) or ''
            below = sorted({f'{path.parts[len(folder.parts)]}/' for path in trees()
                            if folder in path.parents and path.parent != folder})
            found.append(Room(folder.as_posix(), doc, names, below,
                              line_count(*(PACKAGE / path for path in own))))
    return found


def imports(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of this package that a module imports, or imports from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or '').startswith('ik_node.'):
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


def arrows_of_node() -> set[tuple[str, str]]:
    """Return which rooms of the node import from which others."""
    found = set()
    for path, tree in trees().items():
        if path.parts[0] == 'node' and path.name != '__init__.py':
            found |= {(path.with_suffix('').parts[1], name.split('.')[2])
                      for name in imports(tree) if name.startswith('ik_node.node.')}
    return {(above, below) for above, below in found if above != below}


def long_functions() -> list[str]:
    """Return place and number of arguments of each function with many."""
    found = []
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names = [a.arg for a in (*node.args.posonlyargs, *node.args.args,
                                         *node.args.kwonlyargs) if a.arg not in ('self', 'cls')]
                if len(names) >= MANY_ARGUMENTS:
                    found.append(f'{len(names):3} {path}:{node.lineno} {node.name}')
    return found


def values() -> dict[str, str]:
    """Return each number that can be read from the source, by its name."""
    found = rooms()
    return {
        'modules': str(sum(path.name != '__init__.py' for path in trees())),
        'lines installed': f'{line_count(*(PACKAGE / path for path in trees())):,}',
        'modules of the largest folder': str(max(len(room.modules) for room in found)),
        'arrows between the rooms of `node`': str(len(arrows_of_node())),
        'functions with 8 or more arguments': str(len(long_functions())),
        'lines of tests': f'{line_count(*(ROOT / "test").rglob("*.py")):,}'}


def bars(now: dict[str, str]) -> str:
    """Return the numbers of then, of now and of the target as Markdown."""
    rows = ['| | then | now | target |', '|---|---|---|---|']
    for name, value in now.items():
        then, target = THEN_AND_TARGET[name]
        rows.append(f'| {name} | {then} | {value} | {target} |')
    return '\n'.join(rows)


def source_map() -> str:
    """Return the rooms as Markdown, a table for each shelf; lines are rounded to hundreds."""
    rows = []
    for shelf, groups in SHELVES.items():
        rows += [f'{shelf}:', '', '| room | modules | lines | what it has |', '|---|---|---|---|']
        rows += [f'| `{room.path}/` | {len(room.modules)} | {round(room.lines, -2):,} | '
                 f'{room.title} |'
                 for group in groups.split() for room in rooms()
                 if room.path.split('/')[0] == group]
        rows.append('')
    return '\n'.join(rows[:-1])


def with_table(page: str, mark: str, table: str) -> str:
    """Return a page with what is between its markers renewed."""
    return re.sub(rf'(<!-- {mark} -->\n).*?(<!-- end -->)',
                  lambda match: match[1] + table + '\n' + match[2], page, flags=re.DOTALL)


def numbers_page(**by_hand: float | None) -> str:
    """Return the page of numbers; rows that are set by hand keep what they have."""
    page = NUMBERS_PAGE.read_text(encoding='utf-8')
    now = values()
    for row, value in zip((GOAL_ROW, TESTS_ROW), by_hand.values()):
        kept = re.search(fr'^\| {re.escape(row)} \|[^|]*\| ([^|]*) \|', page, re.MULTILINE)
        now[row] = f'{value:g}' if value is not None else kept[1] if kept else 'not measured'
    return with_table(page, 'numbers', bars(now))


def main() -> None:
    """Print the tables, and what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--long', action='store_true')
    parser.add_argument('--write', action='store_true')
    parser.add_argument('--goal-files', type=float)
    parser.add_argument('--test-minutes', type=float)
    chosen = parser.parse_args()
    numbers = numbers_page(goal=chosen.goal_files, tests=chosen.test_minutes)
    if chosen.write:
        NUMBERS_PAGE.write_text(numbers, encoding='utf-8')
        page = MAP_PAGE.read_text(encoding='utf-8')
        MAP_PAGE.write_text(with_table(page, 'map', source_map()), encoding='utf-8')
    print(numbers.partition('<!-- numbers -->\n')[2].partition('<!-- end -->')[0])
    print(source_map())
    if chosen.long:
        print('\n'.join(['', *long_functions()]))


if __name__ == '__main__':
    main()
