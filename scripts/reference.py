# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes what follows from tables in the code.

config/ik_node.yaml, the topics of goals in config/sros2_policy.xml and in documents, the README's
tables of parameters, docs/reasons.md, and the table of docs/diagnostics.md.

Run in the source folder: ``python scripts/reference.py``.
"""

from __future__ import annotations

from pathlib import Path
import re

from ik_node.errors import Reason
from ik_node.node.health_checks import Check, LEVEL_NAMES
from ik_node.ros.goal_kinds import GOAL_KINDS, goal_topics, GoalKind
from ik_node.ros.parameters import IK_NODE, INTERACTIVE_GOAL, Row, SIM_CONTROLLER, VIEWER_NODE

TABLES = {'ik_node': IK_NODE, 'sim_controller': SIM_CONTROLLER, 'viewer': VIEWER_NODE,
          'interactive_goal': INTERACTIVE_GOAL}

POLICY_FILE = Path('config/sros2_policy.xml')
TABLE_HEAD = ['| name | type | what |', '|---|---|---|']


def yaml_text() -> str:
    """Return config/ik_node.yaml: every parameter with its default."""
    lines = ['# Every parameter with its default; made by `python scripts/reference.py`.',
             '# Numbers are written with a decimal point (1.0, not 1); what is commented out is '
             'not set.']
    for node, table in TABLES.items():
        lines += ['', f'/**/{node}:', '  ros__parameters:']
        for row in table:
            value = _value(row)
            off = '# ' if value in ("''", '[]') else ''
            lines += [f'    # {_sentence(row)}', f'    {off}{row.name}: {value}']
    return '\n'.join(lines) + '\n'


def markdown_table(table: tuple[Row, ...]) -> str:
    """Return the parameters of a node as a Markdown table."""
    lines = ['| parameter | default | live | what |', '|---|---|---|---|']
    lines += [f'| `{row.name}` | `{_value(row)}` | {"yes" if row.live else "no"} | '
              f'{_sentence(row)} |' for row in table]
    return '\n'.join(lines)


def reasons_text() -> str:
    """Return docs/reasons.md: every reason that an answer can have."""
    lines = ['# Reasons', '', 'Why a goal ended as it did: `reason` in `~/status` and on the log. '
             'Made by', '`python scripts/reference.py`.', '', '| reason | meaning |',
             '|---|---|']
    lines += [f'| `{reason.value}` | {reason.meaning} |' for reason in Reason]
    return '\n'.join(lines) + '\n'


def with_tables(readme: str) -> str:
    """Return the README with the tables between its markers renewed."""
    for node, table in TABLES.items():
        readme = re.sub(
            rf'(<!-- parameters of {node} -->\n)(?:.*?\n)??(<!-- end -->)',
            lambda match, table=table: match[1] + markdown_table(table) + '\n' + match[2],
            readme, flags=re.DOTALL)
    return readme


def with_checks(document: str) -> str:
    """Return docs/diagnostics.md with the table between its markers renewed."""
    rows = {row.name: row for row in IK_NODE}
    lines = ['| level | goals | when | threshold | what to do |', '|---|---|---|---|---|']
    for check in Check:
        threshold = f'`{check.threshold}` (`{_value(rows[check.threshold])}`)' \
            if check.threshold else ''
        lines.append(f'| {LEVEL_NAMES[check.level]} | {"refused" if check.refuses else "taken"} | '
                     f'{check.when} | {threshold} | {check.advice} |')
    return re.sub(r'(<!-- checks -->\n).*?(<!-- end -->)',
                  lambda match: match[1] + '\n'.join(lines) + '\n' + match[2], document,
                  flags=re.DOTALL)


def goal_table() -> str:
    """Return the topics of goals as a Markdown table."""
    return '\n'.join(TABLE_HEAD + [
        f'| `~/goal_{kind.name}` in | {_type_name(kind)} | {kind.description} |'
        for kind in GOAL_KINDS])


def preview_table() -> str:
    """Return the topics of previews as a Markdown table."""
    return '\n'.join(TABLE_HEAD + [
        f'| `~/preview_{kind.name}` in | {_type_name(kind)} | {kind.preview} |'
        for kind in GOAL_KINDS if kind.preview])


def _type_name(kind: GoalKind) -> str:
    return f'{kind.message.__module__.partition(".")[0]}/{kind.message.__name__}'


def with_goals(document: str) -> str:
    """Return a document with the tables between its markers ``<!-- goals -->`` renewed."""
    for name, table in (('goals', goal_table()), ('previews', preview_table())):
        document = re.sub(rf'(<!-- {name} -->\n)(?:.*?\n)??(<!-- end -->)',
                          lambda match, table=table: match[1] + table + '\n' + match[2],
                          document, flags=re.DOTALL)
    return document


def with_goal_topics(policy: str) -> str:
    """Return the SROS2 policy with the topics of goals and previews renewed."""
    def renewed(block: re.Match) -> str:
        topics = goal_topics(in_ui_only=block['prefix'] != '~/')
        return ''.join(f'{block["indent"]}<topic>{block["prefix"]}{topic}</topic>\n'
                       for topic in sorted(topics))

    line = r'<topic>(?:~/|ik_node/)(?:goal|preview)_\w+</topic>\n'
    return re.sub(rf'(?P<indent> +)(?=<topic>(?P<prefix>~/|ik_node/)(?:goal|preview)_){line}'
                  rf'(?: +{line})*', renewed, policy)


def documents() -> list[Path]:
    """Return the documents that have such tables."""
    return [path for path in (Path('README.md'), *sorted(Path('docs').rglob('*.md')))
            if '<!-- goals -->' in path.read_text(encoding='utf-8')]


def _value(row: Row) -> str:
    if isinstance(row.default, tuple):
        return f'[{", ".join(map(str, row.default))}]'
    if isinstance(row.default, bool):
        return str(row.default).lower()
    if isinstance(row.default, float):
        text = repr(row.default)
        return text if '.' in text else text.replace('e', '.0e')  # YAML reads 1e-06 as text
    return str(row.default) if isinstance(row.default, int) else f"'{row.default}'"


def _sentence(row: Row) -> str:
    bounds = f' ({row.low:g} to {row.high:g})' if row.low is not None else ''
    return row.description + bounds


def main() -> None:
    """Write the files."""
    Path('config/ik_node.yaml').write_text(yaml_text(), encoding='utf-8')
    Path('docs/reasons.md').write_text(reasons_text(), encoding='utf-8')
    diagnostics = Path('docs/diagnostics.md')
    diagnostics.write_text(with_checks(diagnostics.read_text(encoding='utf-8')), encoding='utf-8')
    readme = Path('README.md')
    readme.write_text(with_tables(readme.read_text(encoding='utf-8')), encoding='utf-8')
    POLICY_FILE.write_text(with_goal_topics(POLICY_FILE.read_text(encoding='utf-8')),
                           encoding='utf-8')
    for path in documents():
        path.write_text(with_goals(path.read_text(encoding='utf-8')), encoding='utf-8')


if __name__ == '__main__':
    main()
