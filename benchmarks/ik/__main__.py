# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compare the solvers: ``python -m benchmarks.ik [--quick]``, see benchmarks/README.md.

Writes results.json, benchmark.md and benchmark.png into the output folder.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
import sys
from time import perf_counter
import warnings
from zlib import crc32

import numpy as np

from benchmarks.arms import ARMS, QUICK
from benchmarks.ik import machine, peers, plot, report, sets
from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import ALL, BATCH, Peer
from benchmarks.ik.run import build, measure, quiet
from benchmarks.ik.scenarios import Problem, random_problems, Scenario, SCENARIOS

SETS_SHARE, BATCH_SHARE = 1.0, 10.0  # of the number of poses
WARM_UP = 3  # calls before the first that counts


def main() -> None:
    """Run what the command line asks for."""
    options = _options()
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / 'results.json'
    if not options.report_only:
        path.write_text(json.dumps(_run(options), indent=1) + '\n')
    results = json.loads(path.read_text())
    (options.output / 'benchmark.md').write_text(report.markdown(results))
    plot.draw(results, options.output / 'benchmark.png')
    print(report.summary(results))
    print(f'written: {options.output}/results.json, benchmark.md, benchmark.png')


def _options() -> argparse.Namespace:
    def names(text: str) -> list[str]:
        return text.split(',')
    parser = argparse.ArgumentParser(prog='python -m benchmarks.ik', description=__doc__)
    parser.add_argument('--quick', action='store_true', help='ten arms, few poses')
    parser.add_argument('--output', type=Path, default=Path('.build/benchmark'))
    parser.add_argument('--poses', type=int, help='per arm and scenario (1000, quick: 100)')
    parser.add_argument('--budget', type=float,
                        help='seconds per solver, arm and scenario (2, quick: 0.04)')
    parser.add_argument('--seed', type=int, default=0, help='of the random poses')
    parser.add_argument('--arms', type=names, help='names with commas between')
    parser.add_argument('--peers', type=names, help='names with commas between')
    parser.add_argument('--scenarios', type=names,
                        help='names with commas between; also all, batch')
    parser.add_argument('--report-only', action='store_true',
                        help='write the report again from results.json')
    options = parser.parse_args()
    options.poses = options.poses or (100 if options.quick else 1000)
    options.budget = options.budget or (0.04 if options.quick else 2.0)
    return options


def _run(options: argparse.Namespace) -> dict:
    warnings.simplefilter('ignore')
    with quiet():
        kinds, missing = peers.installed()
    kinds = [kind for kind in kinds if not options.peers or kind.name in options.peers]
    cores = machine.pin_to_one_core()
    results: dict = {
        'machine': machine.describe(), 'command': _command(), 'poses': options.poses,
        'budget': options.budget, 'missing': missing, 'arms': {}, 'refusals': {},
        'peers': {kind.name: {'package': kind.package, 'version': kind.version(),
                              'kind': kind.kind, 'call': kind.call} for kind in kinds},
        'scenarios': {}, 'all': {}, 'batch': {}}
    for arm in ARMS:
        if arm.name not in (options.arms or (QUICK if options.quick else [arm.name])):
            continue
        try:
            model = Model(arm, options.output / 'arms')
        except FileNotFoundError as error:
            print(f'{arm.name}: left out, {error}', file=sys.stderr)
            continue
        began = perf_counter()
        refusals = results['refusals'].setdefault(arm.name, {})
        results['arms'][arm.name] = {'axes': arm.axes, 'package': arm.package,
                                     'file': arm.file, 'geometry': arm.geometry}
        for scenario in SCENARIOS:
            if _wanted(options, scenario.name) and (arm.axes > 6 or not scenario.redundant):
                results['scenarios'].setdefault(scenario.name, {})[arm.name] = \
                    _scenario(options, kinds, model, scenario, refusals)
        if arm.axes == 6 and _wanted(options, 'all'):
            results['all'][arm.name] = _set(options, kinds, model, ALL, refusals)
        if _wanted(options, 'batch'):
            machine.release(cores)
            results['batch'][arm.name] = _set(options, kinds, model, BATCH, refusals)
            machine.pin_to_one_core()
        print(f'{arm.name}: {perf_counter() - began:.0f} s', flush=True)
    return results


def _scenario(options: argparse.Namespace, kinds: list[type[Peer]], model: Model,
              scenario: Scenario, refusals: dict[str, str]) -> dict[str, dict]:
    count = max(int(options.poses * scenario.share), 10)
    problems = scenario.make(model, count, _random(options, model.name + scenario.name))
    if not problems:
        return {}
    chosen = [kind for kind in kinds if scenario.slow_too or not kind.slow]
    built = build(chosen, model, scenario.task, refusals,
                  problems[:WARM_UP if scenario.solvable else 1])
    with quiet():
        tallies = measure(built, model, scenario, problems, options.budget)
    return {name: tally.figures() for name, tally in tallies.items() if tally.times}


def _set(options: argparse.Namespace, kinds: list[type[Peer]], model: Model, task: str,
         refusals: dict[str, str]) -> dict[str, dict]:
    random = _random(options, model.name + task)
    warm_up = random_problems(model, WARM_UP, random)
    if task == BATCH:
        warm_up = [Problem(np.array([problem.T for problem in warm_up]),
                           np.array([problem.seed for problem in warm_up]))]
    function, share = (sets.compare_sets, SETS_SHARE) if task == ALL \
        else (sets.solve_batches, BATCH_SHARE)
    built = build(kinds, model, task, refusals, warm_up)
    with quiet():
        return function(built, model, int(options.poses * share), random)


def _wanted(options: argparse.Namespace, name: str) -> bool:
    return not options.scenarios or name in options.scenarios


def _random(options: argparse.Namespace, name: str) -> np.random.Generator:
    return np.random.default_rng([options.seed, crc32(name.encode())])


def _command() -> str:
    """Return the command that was given, without the folder, which is this machine's."""
    words = sys.argv[1:]
    for k, word in enumerate(words):
        if word == '--output':
            words[k:k + 2] = []
        elif word.startswith('--output='):
            words[k:k + 1] = []
    return ' '.join(['python -m benchmarks.ik', *words])


if __name__ == '__main__':
    main()
