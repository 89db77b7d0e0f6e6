# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""results.json -> Markdown."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchmarks.ik.ratios import OURS, OURS_NUMERICAL, ratio_text, ratios
from benchmarks.ik.scenarios import Scenario, SCENARIOS

PER_ARM = ('random', 'near')

INTRODUCTION = """# Benchmark

{processor}, {cores} cores, one used; {system}, Python {python}, numpy {numpy}, numba {numba},
Pinocchio {pinocchio}; {date}. How it is measured is in
[benchmarks/README.md](../../benchmarks/README.md). The command:

    {command}

Every solver gets the same chain, limits, poses and seeds and is to meet 1e-6 m and 1e-6 rad inside
the limits. Each answer is checked with Pinocchio's forward kinematics of the whole robot and with
the limits. **Right** is the share of poses with an answer that holds; **wrong** is the share where
the solver claimed success, and no answer holds. Times are of the whole Python call in
microseconds: the median over the arms of each arm's median, the mean of the means, and the worst
arm's 99th percentile. Closed forms return all solutions at once and take no seed. Solvers marked
† return joint positions without a verdict; each of their answers counts as a claim.

![time and share of right answers per scenario](../images/benchmark.png)
"""

SHORT_TEXT = """How many times faster ik_node is than the fastest other solver that is right in at
least 99 % of the poses of the arm: the geometric mean over the arms and, in brackets, the least
favourable arm. Below 1 the other is faster.
"""

NUMERICAL_TEXT = """Where an arm has a closed form, ik_node solves exact poses by it. The same
arms without it (`closed_form=False`):
"""

ALL_TEXT = """Solutions inside the limits. A branch is a solution without regard to whole turns.
Recall is the share of the reference's branches that are found, extra the right branches per pose
that the reference lacks, spurious the share of answers that are wrong or outside the limits.
"""


def markdown(results: dict) -> str:
    """Return the whole report."""
    parts = [INTRODUCTION.format(**results['machine'], command=results['command'])]
    if OURS in results['peers']:
        parts.append(f'## In short\n\n{SHORT_TEXT}\n' + _short_table(results, OURS))
    if OURS_NUMERICAL in results['peers']:
        parts.append(f'{NUMERICAL_TEXT}\n' + _short_table(results, OURS_NUMERICAL))
    for scenario in SCENARIOS:
        arms = results['scenarios'].get(scenario.name)
        if arms:
            parts.append(f'## {scenario.title}\n\n{scenario.text}\n')
            for axes in (6, 7):
                served = {name: rows for name, rows in arms.items()
                          if results['arms'][name]['axes'] == axes and rows}
                if served:
                    parts.append(f'{_number(axes)} axes, {_arms(len(served))}\n\n'
                                 + _scenario_table(results, scenario, served))
    for name in PER_ARM:
        if name in results['scenarios']:
            title = next(s.title for s in SCENARIOS if s.name == name)
            parts.append(f'## {title}, arm by arm\n\nMedian / mean in microseconds; the share '
                         'of right answers where it is not 100 %.\n\n'
                         + _per_arm_table(results, results['scenarios'][name]))
    if any(results['all'].values()):
        parts.append(f'## All solutions of six-axis arms\n\n{ALL_TEXT}\n' + _all_table(results))
    if any(results['batch'].values()):
        parts.append(f'## Many poses in one call\n\nAll {results["machine"]["cores"]} cores, '
                     'random poses and seeds.\n\n' + _batch_table(results))
    parts += _who(results)
    return '\n'.join(parts)


def summary(results: dict) -> str:
    """Return a few lines for the terminal: ours against the best, scenario by scenario."""
    lines = []
    for name, arms in results['scenarios'].items():
        for axes in (6, 7):
            rows = aggregate(rows for arm, rows in arms.items()
                             if results['arms'][arm]['axes'] == axes)
            if rows:
                fast = sorted(rows.items(), key=lambda item: item[1]['median'])[:4]
                own = rows.get(OURS)
                best = ', '.join(f'{peer} {row["median"]:.1f}/{row["mean"]:.1f} us '
                                 f'{row["right"]:.1f} %' for peer, row in fast)
                lines.append(f'{name} {axes} axes: ' + best + (
                    f'; {OURS} {own["median"]:.1f}/{own["mean"]:.1f} us {own["right"]:.1f} %'
                    if own and OURS not in dict(fast) else ''))
    return '\n'.join(lines)


def aggregate(arms: Iterable[dict[str, dict]]) -> dict[str, dict]:
    """Return figures over arms for each solver: {solver: {figure: number}}."""
    rows: dict[str, list[dict]] = {}
    for arm in arms:
        for peer, figures in arm.items():
            rows.setdefault(peer, []).append(figures)
    together = {}
    for peer, figures in rows.items():
        def column(key: str, figures: list[dict] = figures) -> np.ndarray:
            return np.array([f[key] for f in figures if f.get(key) is not None], dtype=float)
        middle = column('middle')
        together[peer] = {
            'arms': len(figures), 'n': int(column('n').sum()),
            'right': column('right').mean(), 'wrong': column('wrong').mean(),
            'median': np.median(column('median')), 'mean': column('mean').mean(),
            'p99': column('p99').max(), 'jumps': int(column('jumps').sum()),
            'middle': np.median(middle) if len(middle) else None}
    return together


def _short_table(results: dict, peer: str) -> str:
    lines = []
    for scenario in SCENARIOS:
        for axes in (6, 7):
            arms = {arm: rows for arm, rows in results['scenarios'].get(scenario.name, {}).items()
                    if results['arms'][arm]['axes'] == axes and peer in rows}
            if arms:
                own = aggregate(arms.values())[peer]
                lines.append([
                    scenario.name, str(axes), str(len(arms)),
                    share_text(own['right'] if scenario.solvable else 100.0 - own['wrong']),
                    time_text(own['median']), time_text(own['mean']),
                    *(ratio_text(ratios(results, arms, kind, figure, scenario.solvable, peer))
                      for kind in ('numerical', 'closed form') for figure in ('median', 'mean'))])
    return _table(['scenario', 'axes', 'arms', 'right %', 'median µs', 'mean µs',
                   'numerical, median ×', 'mean ×', 'closed form, median ×', 'mean ×'], lines)


def _scenario_table(results: dict, scenario: Scenario, arms: dict[str, dict]) -> str:
    rows = aggregate(arms.values())
    follows = scenario.name in ('line', 'circle')
    header = ['solver', 'arms', 'poses', 'right %', 'wrong %', 'median', 'mean', '99 %']
    if not scenario.solvable:
        header[3:5] = ['wrongly solved %']
    header += ['jumps'] if follows else []
    header += ['off middle'] if scenario.redundant else []
    lines = []
    for peer, row in sorted(rows.items(), key=lambda item: _rank(item[1], scenario)):
        cells = [_label(results, peer), str(row['arms']), str(row['n'])]
        cells += [share_text(row['right'])] if scenario.solvable else []
        cells += [share_text(row['wrong']),
                  *(time_text(row[key]) for key in ('median', 'mean', 'p99'))]
        cells += [str(row['jumps'])] if follows else []
        cells += ['' if row['middle'] is None else f'{row["middle"]:.3f}'] \
            if scenario.redundant else []
        lines.append(cells)
    return _table(header, lines)


def _rank(row: dict, scenario: Scenario) -> tuple:
    """Sort those that solve nearly all first, by time."""
    sure = row['right'] >= 99.0 if scenario.solvable else row['wrong'] < 1.0
    return not sure, row['median']


def _per_arm_table(results: dict, arms: dict[str, dict]) -> str:
    ranks = aggregate(arms.values())
    peers = sorted(ranks, key=lambda peer: (peer != OURS, ranks[peer]['median']))
    lines = []
    for arm, rows in arms.items():
        cells = [arm, str(results['arms'][arm]['axes'])]
        for peer in peers:
            if peer not in rows:
                cells.append('')
                continue
            row = rows[peer]
            share = '' if row['right'] == 100.0 else f' ({share_text(row["right"])} %)'
            cells.append(f'{time_text(row["median"])} / {time_text(row["mean"])}{share}')
        lines.append(cells)
    return _table(['arm', 'axes', *(_label(results, peer) for peer in peers)], lines)


def _all_table(results: dict) -> str:
    groups: dict[tuple[str, str], list[dict]] = {}
    for rows in results['all'].values():
        for peer, row in rows.items():
            groups.setdefault((row['reference'] or '', peer), []).append(row)
    lines = []
    for (reference, peer), rows in sorted(groups.items()):
        def column(key: str, rows: list[dict] = rows) -> np.ndarray:
            return np.array([row[key] for row in rows if row[key] is not None] or [np.nan])
        compared = [share_text(column('recall').mean()), share_text(column('recall').min()),
                    f'{column("extra").mean():.3f}'] if reference else ['', '', '']
        lines.append([
            reference, _label(results, peer), str(len(rows)), str(int(column('n').sum())),
            time_text(np.median(column('median'))), time_text(column('mean').mean()),
            time_text(column('mean').max()), f'{column("answers").mean():.2f}',
            f'{column("branches").mean():.2f}', share_text(column('spurious').mean()), *compared])
    return _table(['reference', 'solver', 'arms', 'poses', 'median', 'mean', 'slowest mean',
                   'answers', 'branches', 'spurious %', 'recall %', 'worst recall %', 'extra'],
                  lines)


def _batch_table(results: dict) -> str:
    groups: dict[str, list[dict]] = {}
    for rows in results['batch'].values():
        for peer, row in rows.items():
            groups.setdefault(peer, []).append(row)
    lines = []
    for peer, rows in groups.items():
        speed = [row['per_second'] for row in rows]
        lines.append([_label(results, peer), str(len(rows)), str(rows[0]['n']),
                      f'{np.median(speed):,.0f}', f'{min(speed):,.0f}',
                      share_text(float(np.mean([row['right'] for row in rows])))])
    return _table(['solver', 'arms', 'poses in a call', 'poses a second', 'slowest arm',
                   'right %'], lines)


def _who(results: dict) -> list[str]:
    lines = [[_label(results, name), f'{peer["package"]} {peer["version"]}'.strip(),
              peer['kind'], f'`{peer["call"]}`'] for name, peer in results['peers'].items()]
    parts = ['## The solvers\n\n' + _table(['solver', 'package', 'kind', 'call'], lines)]
    reasons: dict[tuple[str, str], list[str]] = {}
    for arm, refused in results['refusals'].items():
        for peer, reason in refused.items():
            reasons.setdefault((peer, reason), []).append(arm)
    lines = [[peer, reason, ', '.join(arms)] for (peer, reason), arms in reasons.items()]
    lines += [[module, reason, 'all'] for module, reason in results['missing'].items()]
    if lines:
        parts.append('Not compared:\n\n' + _table(['solver', 'why', 'arms'], lines))
    lines = [[name, str(arm['axes']), arm['package'], f'`{arm["file"]}`', arm['geometry']]
             for name, arm in results['arms'].items()]
    parts.append('## The arms\n\n' + _table(['arm', 'axes', 'package', 'file', 'geometry'],
                                            lines))
    return parts


def _label(results: dict, peer: str) -> str:
    label = peer + ('†' if results['peers'][peer]['kind'] == 'no verdict' else '')
    return f'**{label}**' if peer in (OURS, OURS_NUMERICAL) else label


def _number(axes: int) -> str:
    return {6: 'Six', 7: 'Seven'}[axes]


def _arms(count: int) -> str:
    return '1 arm' if count == 1 else f'{count} arms'


def time_text(microseconds: float) -> str:
    """Write microseconds with a decimal below a hundred."""
    return f'{microseconds:.1f}' if microseconds < 100.0 else f'{microseconds:,.0f}'


def share_text(percent: float) -> str:
    """Write a percentage so that 100 and 0 mean all and none."""
    if percent in (0.0, 100.0):
        return f'{percent:.0f}'
    return f'{min(max(percent, 0.01), 99.99):.2f}'


def _table(header: list[str], lines: list[list[str]]) -> str:
    rows = [header, ['---'] * len(header), *lines]
    return '\n'.join('| ' + ' | '.join(cell.replace('|', '/') for cell in row) + ' |'
                     for row in rows) + '\n'
