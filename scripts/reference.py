# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes what follows from tables in the code.

config/ik_node.yaml, the topics of goals in config/sros2_policy.xml, and in docs/reference the
tables of goals, parameters, presets, launch arguments, reasons and diagnostics.

Run in the source folder: ``python scripts/reference.py``.
"""

from __future__ import annotations

import ast
from pathlib import Path
import re

from ik_node.base.errors import Reason
from ik_node.model.user_files.presets import (
    arms_preset_names,
    DescriptionSource,
    preset_names,
    read_arms_preset,
    read_preset,
)
from ik_node.node.state.health_checks import Check, LEVEL_NAMES
from ik_node.ros.messages.goal_kinds import GOAL_KINDS, goal_topics
from ik_node.ros.parameters.tables import (
    HANDHELD_NODE,
    IK_ARMS,
    IK_NODE,
    INTERACTIVE_GOAL,
    Row,
    SIM_CONTROLLER,
    VIEWER_NODE,
)

TABLES = {'ik_node': IK_NODE, 'ik_arms': IK_ARMS, 'sim_controller': SIM_CONTROLLER,
          'viewer': VIEWER_NODE, 'handheld': HANDHELD_NODE, 'interactive_goal': INTERACTIVE_GOAL}

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
              f'{_plain(_sentence(row))} |' for row in table]
    return '\n'.join(lines)


def launch_arguments(source: str) -> dict[str, tuple[str, str]]:
    """
    Return the launch arguments, from the text of ik.launch.py.

    It cannot be imported where there is no ROS.

    Returns
    -------
    dict of str to (str, str)
        By name: default, and description.

    """
    table = next(node.value for node in ast.parse(source).body if isinstance(node, ast.Assign)
                 and ast.unparse(node.targets[0]) == 'LAUNCH_ARGUMENTS')
    found = {}
    for key, row in zip(table.keys, table.values):
        default = row.elts[0]
        if not isinstance(default, ast.Constant):  # str(SHARE / 'config/ik_node.yaml')
            default = next(node for node in ast.walk(default) if isinstance(node, ast.Constant))
        found[key.value] = default.value, ast.literal_eval(row.elts[1])
    return found


def with_launch_arguments(document: str, source: str) -> str:
    """Return docs/reference/launch.md with the table between its markers renewed."""
    lines = ['| argument | default | what |', '|---|---|---|']
    for name, (default, description) in launch_arguments(source).items():
        shown = f'`{default}`' if default else ''
        lines.append(f'| `{name}` | {shown} | {_plain(description)} |')
    return _between('launch arguments', '\n'.join(lines), document)


def with_robots(document: str) -> str:
    """Return docs/reference/robots.md with the table of presets between its markers renewed."""
    lines = ['| `robot:=` | arm | description | links | controller, and its driver |',
             '|---|---|---|---|---|']
    for preset in map(read_preset, preset_names()):
        controller = f'`{"/".join(filter(None, (preset.namespace, preset.controller)))}`: ' \
                     f'`{preset.driver}`' if preset.controller else ''
        lines.append(f'| `{preset.name}` | {preset.title} | {_package(preset.description)} | '
                     f'`{preset.base_link}`, `{preset.tip_link}` | {controller} |')
    arms = ['| `robot:=` | arms | description | base, and the tip of each arm | controllers, and '
            'their driver |', '|---|---|---|---|---|']
    for each in map(read_arms_preset, arms_preset_names()):
        links = ', '.join(f'`{link}`' for link in (each.base_link, *each.arms.values()))
        controllers = ', '.join(f'`{name}`' for name in each.controllers)
        arms.append(f'| `{each.name}` | {each.title} | {_package(each.description)} | {links} | '
                    f'{controllers}: `{each.driver}` |')
    return _between('arms', '\n'.join(arms), _between('robots', '\n'.join(lines), document))


def _package(source: DescriptionSource) -> str:
    package = f'[{source.package}]({source.source})' if source.package else 'this package'
    return package + (f', `ros-jazzy-{source.apt}`' if source.apt else '')


def reasons_text() -> str:
    """Return docs/reference/reasons.md: every reason that an answer can have."""
    lines = ['# Reasons', '', 'Why a goal ended as it did: the key `reason` in `~/answers`, and '
             'the log. What would make a',
             'refused goal possible: [A goal that is refused]'
             '(../how_to/goals.md#a-goal-that-is-refused).',
             'Generated by `python scripts/reference.py`.', '', '| reason | meaning |',
             '|---|---|']
    lines += [f'| `{reason.value}` | {reason.meaning} |' for reason in Reason]
    return '\n'.join(lines) + '\n'


def with_tables(document: str) -> str:
    """Return docs/reference/parameters.md with the tables between its markers renewed."""
    for node, table in TABLES.items():
        document = _between(f'parameters of {node}', markdown_table(table), document)
    return document


def with_checks(document: str) -> str:
    """Return docs/reference/diagnostics.md with the table between its markers renewed."""
    rows = {row.name: row for row in IK_NODE}
    lines = ['| level | goals | when | threshold | what to do |', '|---|---|---|---|---|']
    for check in Check:
        threshold = f'`{check.threshold}` (`{_value(rows[check.threshold])}`)' \
            if check.threshold else ''
        lines.append(f'| {LEVEL_NAMES[check.level]} | {"refused" if check.refuses else "taken"} | '
                     f'{check.when} | {threshold} | {_plain(check.advice)} |')
    return _between('checks', '\n'.join(lines), document)


def _between(name: str, text: str, document: str) -> str:
    """Return a document with a text between ``<!-- name -->`` and ``<!-- end -->``."""
    renewed, count = re.subn(rf'(<!-- {name} -->\n)(?:.*?\n)??(<!-- end -->)',
                             lambda match: match[1] + text + '\n' + match[2], document,
                             flags=re.DOTALL)
    if count != 1:
        raise ValueError(f'the document has no place for {name}, or several')
    return renewed


def goal_table() -> str:
    """Return the topics of goals as a Markdown table."""
    return '\n'.join(TABLE_HEAD + [
        f'| `~/goal_{kind.name}` in | {kind.message} | {kind.description} |'
        for kind in GOAL_KINDS])


def preview_table() -> str:
    """Return the topics of previews as a Markdown table."""
    return '\n'.join(TABLE_HEAD + [
        f'| `~/preview_{kind.name}` in | {kind.message} | {kind.preview} |'
        for kind in GOAL_KINDS if kind.preview])


def with_goals(document: str) -> str:
    """Return a document with the tables between its markers ``<!-- goals -->`` renewed."""
    for name, table in (('goals', goal_table()), ('previews', preview_table())):
        document = _between(name, table, document)
    return document


def with_goal_topics(policy: str) -> str:
    """Return the SROS2 policy with the topics of goals and previews renewed."""
    def renewed(block: re.Match) -> str:
        topics = goal_topics(in_ui_only=block['prefix'] != '~/')
        return ''.join(f'{block["indent"]}<topic>{block["prefix"]}{topic}</topic>\n'
                       for topic in sorted(topics))

    # A node that has one of them alone has need of no other.
    line = r'<topic>(?:~/|ik_node/)(?:goal|preview)_\w+</topic>\n'
    return re.sub(rf'(?P<indent> +)(?=<topic>(?P<prefix>~/|ik_node/)(?:goal|preview)_){line}'
                  rf'(?: +{line})+', renewed, policy)


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


def _plain(text: str) -> str:
    """Return a text in which Markdown sees no HTML."""
    return text.replace('<', '&lt;')


def _sentence(row: Row) -> str:
    bounds = f' ({row.low:g} to {row.high:g})' if row.low is not None else ''
    return row.description + bounds


def main() -> None:
    """Write the files."""
    Path('config/ik_node.yaml').write_text(yaml_text(), encoding='utf-8')
    reference = Path('docs/reference')
    (reference / 'reasons.md').write_text(reasons_text(), encoding='utf-8')
    launch = Path('launch/ik.launch.py').read_text(encoding='utf-8')
    for name, renewed in (('parameters', with_tables), ('diagnostics', with_checks),
                          ('robots', with_robots),
                          ('launch', lambda text: with_launch_arguments(text, launch))):
        page = reference / f'{name}.md'
        page.write_text(renewed(page.read_text(encoding='utf-8')), encoding='utf-8')
    POLICY_FILE.write_text(with_goal_topics(POLICY_FILE.read_text(encoding='utf-8')),
                           encoding='utf-8')
    for path in documents():
        path.write_text(with_goals(path.read_text(encoding='utf-8')), encoding='utf-8')


if __name__ == '__main__':
    main()
