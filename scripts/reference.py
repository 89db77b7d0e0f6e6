# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes what follows from tables in the code.

config/ik_node.yaml, the README's tables of parameters, docs/reasons.md, and the table of
docs/diagnostics.md.

Run in the source folder: ``python scripts/reference.py``.
"""

from __future__ import annotations

from pathlib import Path
import re

from ik_node.errors import Reason
from ik_node.node.health_checks import Check, LEVELS
from ik_node.ros.parameters import IK_NODE, INTERACTIVE_GOAL, Row, SIM_CONTROLLER, VIEWER

TABLES = {'ik_node': IK_NODE, 'sim_controller': SIM_CONTROLLER, 'viewer': VIEWER,
          'interactive_goal': INTERACTIVE_GOAL}


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
        lines.append(f'| {LEVELS[check.level]} | {"refused" if check.refuses else "taken"} | '
                     f'{check.when} | {threshold} | {check.advice} |')
    return re.sub(r'(<!-- checks -->\n).*?(<!-- end -->)',
                  lambda match: match[1] + '\n'.join(lines) + '\n' + match[2], document,
                  flags=re.DOTALL)


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


if __name__ == '__main__':
    main()
