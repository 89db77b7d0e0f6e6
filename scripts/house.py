# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Print how the code reads: sizes, argument lists, names of constants, turns of phrase.

    python scripts/house.py              the table
    python scripts/house.py --names      and each constant that breaks the rules of naming
    python scripts/house.py --long       and each function with eight or more arguments
    python scripts/house.py --idioms     and each line with an idiom
    python scripts/house.py --write      writes the table into docs/explanation/numbers.md

The time of `make test` cannot be read from the source: `--write --test-minutes 7.5` sets it, else
the page keeps what it has.

The rules of naming are held by test/test_names.py.
"""

from __future__ import annotations

import argparse
import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
import io
from pathlib import Path
import re
import tokenize

try:
    from scripts import source_map
except ModuleNotFoundError:  # run as a program
    import source_map

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / 'ik_node'
PAGE = ROOT / 'docs/explanation/numbers.md'
TESTS_ROW = 'minutes of `make test` on two cores'
# Of 2026-11-23, before the source was arranged for others to read, and what was aimed at then.
THEN_AND_TARGET = {
    'lines installed': ('24,768', 'about 22,500'), 'files': ('158', ''),
    'files on the way of a goal pose': ('35', '20'),
    'files by hand for a goal type': ('8', '3'), 'files by hand for a parameter': ('4', '2'),
    'files by hand for a limit rule': ('9', '3'), 'files by hand for an output': ('7', '2'),
    'functions with 8 or more arguments': ('42 (max 16)', 'under 12 (max 9)'),
    'constants of one word': ('380', 'under 40'),
    'constants defined twice in a group': ('', '0'), 'constants without their unit': ('', '0'),
    'idioms per 1,000 words of prose': ('12.3', 'under 1'), TESTS_ROW: ('25', 'under 8')}
CONSTANT = re.compile(r'_?[A-Z][A-Z0-9_]*')
IDIOM = re.compile(r'\b(what is|who|so far|those of|way|has come)\b', re.IGNORECASE)
MANY_ARGUMENTS = 8
# Units with the suffix of a constant whose comment begins with one, and with no other.
UNIT_SUFFIXES = {'s': 'S', 'ms': 'MS', 'ns': 'NS', 'm': 'M', 'mm': 'MM', 'm^2': 'M2', 'rad': 'RAD',
                 'm/s': 'M_S', 'rad/s': 'RAD_S', 'm/s^2': 'M_S2', 'rad/s^2': 'RAD_S2',
                 '1/s': 'PER_S', 'Hz': 'HZ', 'kg': 'KG', 'N': 'N', 'bytes': 'BYTES'}
UNIT = re.compile(fr'# ({"|".join(map(re.escape, UNIT_SUFFIXES))})(?=[;.:,]|$| (?!or|and|per|m\b))'
                  r'(?!, (or|and)\b)')


def modules(package: Path = PACKAGE) -> Iterator[tuple[str, Path, ast.Module]]:
    """Yield the group (top folder or '.'), path and syntax tree of each module."""
    yield from parsed(package)


@lru_cache(maxsize=8)
def parsed(package: Path) -> tuple[tuple[str, Path, ast.Module], ...]:
    """Return what :func:`modules` yields."""
    paths = sorted(package.rglob('*.py'))
    groups = [(path.relative_to(package).parent.parts or ('.',))[0] for path in paths]
    return tuple((group, path, ast.parse(path.read_text()))
                 for group, path in zip(groups, paths))


def constants(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield name and line of each constant that a module defines at its top level."""
    for node in tree.body:
        targets = (node.targets if isinstance(node, ast.Assign)
                   else [node.target] if isinstance(node, ast.AnnAssign) else [])
        for target in targets:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(name, ast.Name) and CONSTANT.fullmatch(name.id):
                    yield name.id, node.lineno


def one_word(package: Path = PACKAGE) -> list[str]:
    """Return each constant of one word, as path:line name."""
    return [f'{path.relative_to(package)}:{line} {name}'
            for _, path, tree in modules(package) for name, line in constants(tree)
            if '_' not in name.strip('_')]


def repeated(package: Path = PACKAGE) -> list[str]:
    """Return each name that two modules of a group define as a constant, with its places."""
    places = defaultdict(list)
    for group, path, tree in modules(package):
        for name, line in constants(tree):
            places[group, name].append(f'{path.relative_to(package)}:{line}')
    return [f'{name}: {", ".join(found)}' for (_, name), found in sorted(places.items())
            if len(found) > 1]


def without_unit(package: Path = PACKAGE) -> list[str]:
    """Return each constant whose comment begins with a unit that its name lacks."""
    found = []
    for _, path, tree in modules(package):
        lines = path.read_text().splitlines()
        for name, line in constants(tree):
            unit = UNIT.search(lines[line - 1])
            if unit is not None and not name.endswith(f'_{UNIT_SUFFIXES[unit[1]]}'):
                found.append(f'{path.relative_to(package)}:{line} {name}: {unit[1]}')
    return found


def functions() -> Iterator[tuple[str, int]]:
    """Yield place and number of arguments of each function."""
    for _, path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                a = node.args
                names = [x.arg for x in [*a.posonlyargs, *a.args, *a.kwonlyargs]]
                count = len([name for name in names if name not in ('self', 'cls')])
                yield f'{path.relative_to(PACKAGE)}:{node.lineno} {node.name}', count


def prose() -> Iterator[tuple[str, str]]:
    """Yield place and text of each docstring and comment."""
    for _, path, tree in modules():
        where = path.relative_to(PACKAGE)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = ast.get_docstring(node)
                if text:
                    yield f'{where}:{getattr(node, "lineno", 1)}', text
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            if token.type == tokenize.COMMENT:
                yield f'{where}:{token.start[0]}', token.string


@lru_cache(maxsize=1)
def idioms() -> tuple[list[str], int]:
    """Return each idiom of docstrings and comments with its place, and the number of words."""
    texts = list(prose())
    return [f'{place} {match.group(0)!r} in {text.splitlines()[0]!r}'
            for place, text in texts for match in IDIOM.finditer(text)], \
        sum(len(text.split()) for _, text in texts)


def files_by_hand(change: str) -> int:
    """Return how many files CONTRIBUTING.md names for a kind of change."""
    row, = re.findall(fr'^\| {change} \| (.*) \|$', (ROOT / 'CONTRIBUTING.md').read_text(),
                      re.MULTILINE)
    return len(set(re.findall(r'`((?:ik_node|config)/[\w./]+)`', row)))


def values() -> dict[str, str]:
    """Return each number that can be read from the source, by its name."""
    found = list(modules())
    phrases, words = idioms()
    counts = [count for _, count in functions()]
    return {
        'lines installed':
            f'{sum(len(path.read_text().splitlines()) for _, path, _ in found):,}',
        'files': str(len(found)),
        'files on the way of a goal pose': str(len(source_map.on_the_way())),
        **{f'files by hand for {name}': str(files_by_hand(change)) for name, change in (
            ('a goal type', 'a goal type'), ('a parameter', 'a parameter of the node'),
            ('a limit rule', 'a limit rule'), ('an output', 'an output'))},
        f'functions with {MANY_ARGUMENTS} or more arguments':
            f'{sum(count >= MANY_ARGUMENTS for count in counts)} (max {max(counts)})',
        'constants': f'{sum(1 for _, _, tree in found for _ in constants(tree)):,}',
        'constants of one word': str(len(one_word())),
        'constants defined twice in a group': str(len(repeated())),
        'constants without their unit': str(len(without_unit())),
        'idioms per 1,000 words of prose': f'{1000 * len(phrases) / words:.1f}'}


def table(now: dict[str, str]) -> str:
    """Return the numbers of then, of now and of the target as Markdown."""
    rows = ['| | then | now | target |', '|---|---|---|---|']
    for name, value in now.items():
        then, target = THEN_AND_TARGET.get(name, ('', ''))
        rows.append(f'| {name} | {then} | {value} | {target} |')
    return '\n'.join(rows)


def write_page(minutes: float | None) -> None:
    """Write the table into its page, which keeps the time of the tests unless it is given."""
    page = PAGE.read_text(encoding='utf-8')
    kept = re.search(fr'^\| {re.escape(TESTS_ROW)} \|[^|]*\| ([^|]*) \|', page, re.MULTILINE)
    now = values() | {TESTS_ROW: f'{minutes:g}' if minutes is not None
                      else kept[1] if kept else 'not measured'}
    PAGE.write_text(re.sub(
        r'(<!-- numbers -->\n).*?(<!-- end -->)',
        lambda match: match[1] + table(now) + '\n' + match[2], page, flags=re.DOTALL),
        encoding='utf-8')


def main() -> None:
    """Print the table, and the lists that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    for option in ('names', 'long', 'idioms', 'write'):
        parser.add_argument(f'--{option}', action='store_true')
    parser.add_argument('--test-minutes', type=float)
    chosen = parser.parse_args()
    if chosen.write:
        write_page(chosen.test_minutes)
    print(table(values()))
    if chosen.names:
        print('\n'.join(['', 'One word:', *one_word(), '', 'Twice in a group:', *repeated(),
                         '', 'Without their unit:', *without_unit()]))
    if chosen.long:
        print('\n'.join(['', *(f'{count:3} {place}' for place, count in functions()
                               if count >= MANY_ARGUMENTS)]))
    if chosen.idioms:
        print('\n'.join(['', *idioms()[0]]))


if __name__ == '__main__':
    main()
