# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the documents hold: code blocks, links, headings, and the commands of a shell block."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
import re
import shlex
from typing import Any, NamedTuple

import yaml

from ik_node.ros.parameters.tables import Row
from ik_node.tools.entry import COMMAND_PROGRAMS
from scripts.reference import launch_arguments, TABLES

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r'^( *)```(\w*)\n(.*?)^\1```$', re.MULTILINE | re.DOTALL)
LINK = re.compile(r'(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)')
SEPARATORS = {'&&', ';', '|', '||'}
# Programs of others that the documents name; their arguments are not checked.
OTHERS = {'cd', 'colcon', 'docker', 'echo', 'export', 'git', 'pip', 'pixi', 'rosdep', 'source',
          'ssh', 'apt', '/tmp/ik/bin/pip'}
OTHER_PACKAGES = {'ur_robot_driver'}
TRANSITIONS = {'configure', 'activate', 'deactivate', 'cleanup', 'shutdown'}


class Block(NamedTuple):
    """A code block of a document."""

    document: str
    line: int
    language: str
    text: str


def documents() -> list[Path]:
    """Return all pages for users, and those for who changes the code."""
    return sorted([*(ROOT / 'docs').rglob('*.md'),
                   *(ROOT / name for name in (
                       'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'QUALITY_DECLARATION.md')),
                   ROOT / 'benchmarks/README.md'])


def blocks(*languages: str) -> list[Block]:
    """Return the code blocks of all documents, of these languages or of all."""
    found = []
    for document in documents():
        text = document.read_text(encoding='utf-8')
        found += [Block(document.relative_to(ROOT).as_posix(),
                        1 + text.count('\n', 0, match.start()), match[2], match[3])
                  for match in FENCE.finditer(text) if not languages or match[2] in languages]
    return found


def program_of(document: str) -> str:
    """Return the blocks of Python of a page, which are one program."""
    return '\n'.join(block.text for block in blocks('python') if block.document == document)


def prose(document: Path) -> str:
    """Return a document without its code blocks, and with its code spans made plain."""
    text = FENCE.sub('', document.read_text(encoding='utf-8'))
    return re.sub(r'(`+)(.+?)\1', lambda match: re.sub(r'\W', ' ', match[2]), text)


def links(document: Path) -> list[str]:
    """Return the targets of the links and images of a document."""
    return [match[3] for match in LINK.finditer(prose(document))]


def anchors(document: Path) -> set[str]:
    """Return the anchors of the headings of a document, as Markdown makes them."""
    text = FENCE.sub('', document.read_text(encoding='utf-8'))
    return {re.sub(r'[-\s]+', '-', re.sub(r'[^\w\s-]', '', heading).strip().lower())
            for heading in re.findall(r'^#+ (.*)$', text, re.MULTILINE)}


def commands(text: str) -> list[list[str]]:
    """Return the commands of a shell block, each as its words, without comments."""
    found = []
    for line in text.replace('\\\n', ' ').splitlines():
        line = re.sub(r'\$\([^)]*\)', 'SUBSTITUTED', line)
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


def check(command: list[str]) -> None:
    """
    Check a command against what the package has: programs, options, topics, parameters.

    Raises
    ------
    AssertionError
        If a name does not exist, or a value is not allowed.

    """
    command = [word for word in command if not re.fullmatch(r'[A-Z_]+=\S+', word)] \
        if '=' in command[0] else command
    program, *words = command
    program = program.removeprefix('.venv/bin/')
    words = words[:words.index('>')] if '>' in words else words
    if program == 'make':
        _check_make(words)
    elif program == 'ros2':
        _check_ros2(*words)
    elif program.rpartition('/')[2] in ('python', 'python3'):
        _check_python(words)
    elif program in executables():
        _check_program(program, words)
    else:
        assert program in OTHERS, f'no program {program}'


def _check_make(words: list[str]) -> None:
    makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
    for word in words:
        name, is_variable, _ = word.partition('=')
        assert re.search(rf'\$\({name}\)|\$\((?:or|if) \$\({name}\)' if is_variable
                         else rf'^{name}:', makefile, re.MULTILINE), f'no {word} in the Makefile'


def _check_python(words: list[str]) -> None:
    if words[0] == '-m':
        path = words[1].replace('.', '/')
        assert words[1] in ('pytest', 'venv') or (ROOT / 'test' / f'{path}.py').is_file() \
            or (ROOT / f'{path}.py').is_file() or (ROOT / path / '__main__.py').is_file(), words
        words = words[2:] if words[1] == 'pytest' else []
    assert all((ROOT / word).is_file() for word in words
               if '/' in word and not word.startswith('dist/')), words  # dist: `make wheel`


def _check_ros2(verb: str, *words: str) -> None:
    if verb == 'launch':
        if words[0] not in OTHER_PACKAGES:
            package, file, *given = words
            source = (ROOT / 'launch' / file).read_text(encoding='utf-8')
            assert package == 'ik_node' and all(
                word.partition(':=')[0] in launch_arguments(source) for word in given
                if word != '--show-args'), words
    elif verb == 'run':
        assert words[0] == 'ik_node' and words[1] in executables(), words
        _check_program(words[1], list(words[2:]))
    elif verb == 'topic':
        _check_topic(*(word for word in words[1:] if word.startswith(('/', '{'))
                       or re.fullmatch(r'\w+/msg/\w+', word)))
    elif verb == 'service':
        kind = topics()[words[1].replace('/ik_node/', '~/')]
        assert words[0] == 'call' and words[2].replace('/srv/', '/') == kind, words
    elif verb == 'action':
        _check_action(*(word for word in words[1:] if not word.startswith('--')))
    elif verb == 'param':
        rows = {row.name: row for row in TABLES[words[1].lstrip('/')]}
        assert words[2] in rows, f'no parameter {words[2]}'
        if words[0] == 'set':
            check_value(rows[words[2]], yaml.safe_load(words[3]))
            assert rows[words[2]].live, f'{words[2]} cannot be set while the node runs'
    elif verb == 'lifecycle':
        assert words[:2] == ('set', '/ik_node') and words[2] in TRANSITIONS, words
    else:
        assert verb in ('security', 'pkg'), f'ros2 {verb}'


def _check_topic(name: str, kind: str = '', message: str = '') -> None:
    topic = topics()[name if name in topics() else name.replace('/ik_node/', '~/')
                     if name.startswith('/ik_node/') else name.lstrip('/')]
    if kind:
        assert kind.replace('/msg/', '/') == topic, f'{name} has the type {topic}'
        package, _, class_name = topic.partition('/')
        fields = getattr(import_module(f'{package}.msg'), class_name)
        _check_fields(yaml.safe_load(message), fields)


def _check_action(name: str, kind: str, goal: str) -> None:
    assert kind.replace('/action/', '/') == topics()[name.replace('/ik_node/', '~/')], kind
    package, _, class_name = kind.split('/')
    values = yaml.safe_load(goal)
    if find_spec(package) is not None:  # not on PyPI
        action = getattr(import_module(f'{package}.action'), class_name, None)
        if action is not None:  # this version has it
            _check_fields(values, action.Goal)


def _check_fields(values: dict[str, Any], kind: Any) -> None:
    types = kind.get_fields_and_field_types()
    for name, value in values.items():
        assert name in types, f'{kind.__name__} has no field {name}'
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                of = types[name].removeprefix('sequence<').removesuffix('>')
                package, _, class_name = of.partition('/')
                _check_fields(each, getattr(import_module(f'{package}.msg'), class_name))


def _check_program(program: str, words: list[str]) -> None:
    if program == 'ik_node' and words and not words[0].startswith('-'):
        _check_program(COMMAND_PROGRAMS[words[0]].__name__, words[1:])
        return
    name = program if program in TABLES else program.removeprefix('ik_')
    if name in TABLES:
        rows = {row.name: row for row in TABLES[name]}
        for flag, word in zip(words, words[1:]):
            if flag == '-p':
                key, _, value = word.partition(':=')
                assert key in rows, f'{program} has no parameter {key}'
                check_value(rows[key], yaml.safe_load(value))
    else:
        import_module(f'ik_node.tools.arguments.{name}').parse(words)


def check_value(row: Row, value: Any) -> None:
    """Check that a parameter takes a value."""
    values = value if isinstance(value, list) else [value]
    assert isinstance(value, list) == isinstance(row.default, tuple), f'{row.name}: {value}'
    for each in values:
        if isinstance(row.default, tuple):
            assert isinstance(each, str if row.strings else float), f'{row.name}: {value}'
        else:
            assert isinstance(each, type(row.default)), f'{row.name}: {value}'
        if row.low is not None:
            assert row.low <= each <= row.high, f'{row.name}: {value}'


@lru_cache(maxsize=None)
def executables() -> set[str]:
    """Return the programs of the package."""
    return set(re.findall(r"'(\w+) = ik_node\.tools\.entry:", (ROOT / 'setup.py').read_text()))


@lru_cache(maxsize=None)
def topics() -> dict[str, str]:
    """Return the type of each topic, service and action of the reference."""
    return {name: kind for name, kind in re.findall(
        r'^\| `(\S+)` ?\w* \| (\w+/\w+)', (ROOT / 'docs/reference/topics.md').read_text(), re.M)}
