# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Measure ik_node's calls against targets: ``python -m benchmarks.ik.targets``.

Each target is a time of the whole Python call (median, in some cases the 99th percentile) or a
share of right answers.  The closed forms and the Robotics Toolbox solve the same problems in the
same turns.  Writes targets.md into the output folder.  See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
import sys
import warnings

import numpy as np

from benchmarks.arms import ARMS
from benchmarks.ik import machine, peers
from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import ALL, Peer, POSE, TOLERANCE
from benchmarks.ik.race import Contender, race, Times
from benchmarks.ik.run import build, quiet
from benchmarks.ik.scenarios import (
    near_problems,
    Problem,
    random_problems,
    singular_along,
    unreachable_problems,
    within,
)
from benchmarks.ik.sets import distinct, same
from ik_node import Goal, load_urdf, Solver

OURS = 'ik_node'
LIBRARIES = ('EAIK', 'ik-geo', 'ssik', 'ssik nearest')  # closed forms
NUMERICAL = ('RTB ik_LM tuned', 'RTB ik_LM')
WAYS_IN_ARMS = ('six_axis', 'ur5', 'panda')  # for the ways to give a goal and a seed
WRIST_JOINT = 4          # index of the joint that is straightened
REFERENCE_STARTS = 300   # random starts of the Robotics Toolbox, to know what branches there are
CENTRING_SEEDS = 60
TRIES = 20               # poses drawn for each goal without a solution
NEAREST_STARTS, NEAREST_WALKS = 2_000, 10  # of the same from anywhere
PROJECTION_STEPS = 200   # of the reference for the nearest posture of a redundant arm
SAME_DISTANCE = 1e-3     # share by which an answer may be farther from the seed than the reference
REASON_SHARE, REFERENCE_SHARE = 0.2, 0.3  # of the number of poses


@dataclass(frozen=True)
class Row:
    """
    One measured figure.

    Attributes
    ----------
    target : str
        Letter of the target.
    question, arm : str
    limit : float
        Largest value that meets the target; or, with `least`, the smallest.
    value : float
    unit : str
    least : bool
    best : tuple of (str, float), optional
        The fastest of the others that solve the same problems, and its median (us).

    """

    target: str
    question: str
    arm: str
    limit: float
    value: float
    unit: str = 'µs'
    least: bool = False
    best: tuple[str, float] | None = None

    @property
    def met(self) -> bool:
        """Return whether the target is met."""
        return self.value >= self.limit if self.least else self.value <= self.limit


class Bench:
    """
    One arm, and the solvers that take part.

    Attributes
    ----------
    model : Model
    arm : ik_node.Arm
    random : numpy Generator
    poses, turns : int

    """

    def __init__(self, model: Model, poses: int, turns: int) -> None:
        self.model, self.poses, self.turns = model, poses, turns
        self.arm = load_urdf(model.urdf, model.base, model.tip)
        self.random = np.random.default_rng(11)
        self.refusals: dict[str, str] = {}

    def solver(self, **options: object) -> Solver:
        """Return ik_node's solver with the tolerances of the benchmark."""
        return Solver(self.arm, position_tolerance=TOLERANCE, orientation_tolerance=TOLERANCE,
                      **options)

    def others(self, names: tuple[str, ...], task: str) -> list[Peer]:
        """Return the other solvers that serve this arm."""
        kinds, _ = peers.installed()
        return build([kind for kind in kinds if kind.name in names], self.model, task,
                     self.refusals, random_problems(self.model, 3, self.random))

    def race(self, ours: dict[str, tuple[Callable, list[tuple]]], others: list[Peer],
             problems: list[Problem]) -> dict[str, Times]:
        """Time calls of ours, by name with their inputs, and those of the others."""
        contenders = [Contender(name, *call) for name, call in ours.items()]
        contenders += [Contender(peer.name, peer.solve,
                                 [peer.inputs(p.T, p.seed) for p in problems]) for peer in others]
        with quiet():
            for each in contenders:
                each.call(*each.inputs[0])
            return race(contenders, self.turns)

    def straight_wrists(self, count: int) -> list[Problem]:
        """Return poses with the wrist exactly straight, with random seeds."""
        found = (singular_along(self.model, within(self.model, self.random), WRIST_JOINT)
                 for _ in range(count))
        return [Problem(self.model.fk(q), within(self.model, self.random))
                for q in found if q is not None]


def plain(problems: list[Problem]) -> list[tuple]:
    """Return the arguments of a plain call for each problem."""
    return [(p.T, p.seed) for p in problems]


def fastest(times: dict[str, Times], others: list[Peer]) -> tuple[str, float] | None:
    """Return the fastest of the others and its median (us), or None."""
    return min(((peer.name, times[peer.name].median) for peer in others),
               key=lambda pair: pair[1], default=None)


def right_branches(bench: Bench, peer: Peer, T: np.ndarray, seed: np.ndarray) -> list[np.ndarray]:
    """Return the distinct right solutions of one of the others."""
    returned = peer.solve(*peer.inputs(T, seed))
    return distinct([q for q in [*peer.answers(returned), *peer.hints(returned)]
                     if bench.model.right(q, T, TOLERANCE)])


def branch_share(bench: Bench, solver: Solver, problems: list[Problem],
                 known: Callable[[Problem], list[np.ndarray]]) -> float:
    """Return the share (%) of known branches that `solve_all` finds."""
    there = found = 0
    for problem in problems:
        ours = [posture.q for posture in solver.solve_all(problem.T, problem.seed)]
        for q in known(problem):
            there += 1
            found += any(same(q, own) for own in ours)
    return 100.0 * found / max(there, 1)


def exact_classes(bench: Bench) -> Iterator[Row]:
    """Targets a and b: arms with a closed form."""
    nearest, name = bench.solver(select='nearest'), bench.model.name
    wrists = bench.straight_wrists(bench.poses // 5)
    kinds = {'random seeds': random_problems(bench.model, bench.poses, bench.random),
             'near seeds': near_problems(bench.model, bench.poses, bench.random),
             'straight wrist': wrists}
    others: list[Peer] = []
    for (question, task, limit, call) in (
            ('nearest', POSE, 5.0, nearest.solve), ('solve_all', ALL, 10.0, nearest.solve_all)):
        others = bench.others((*LIBRARIES, *(NUMERICAL if task == POSE else ())), task)
        for kind, problems in kinds.items():
            if not problems:
                continue
            times = bench.race({OURS: (call, plain(problems))}, others, problems)
            libraries = [peer for peer in others if peer.name in LIBRARIES]
            best = fastest(times, libraries)
            yield Row('a', f'{question}, {kind}', name, limit, times[OURS].median, best=best)
            yield Row('a', f'{question}, {kind}, 99 %', name, 5.0 * limit, times[OURS].p99)
            if best and kind != 'straight wrist':
                yield Row('b', f'{question}, {kind}: times faster', name, 2.0,
                          best[1] / times[OURS].median, '×', True, best)

    def known(problem: Problem) -> list[np.ndarray]:
        return distinct([q for peer in others
                         for q in right_branches(bench, peer, problem.T, problem.seed)])
    for kind in ('random seeds', 'near seeds'):
        yield Row('b', f'branches of the others found, {kind}', name, 100.0,
                  branch_share(bench, nearest, kinds[kind], known), '%', True)


def other_six_axes(bench: Bench) -> Iterator[Row]:
    """Target c: all solutions of arms without an exact closed form."""
    solver, name = bench.solver(), bench.model.name
    others = bench.others(LIBRARIES, ALL)
    toolbox = bench.others(NUMERICAL[:1], POSE)
    problems = random_problems(bench.model, bench.poses, bench.random)
    times = bench.race({OURS: (solver.solve_all, plain(problems))}, others, problems)
    yield Row('c', 'solve_all', name, 60.0, times[OURS].median, best=fastest(times, others))

    def known(problem: Problem) -> list[np.ndarray]:
        starts = [within(bench.model, bench.random) for _ in range(REFERENCE_STARTS)]
        return distinct([q for start in starts for peer in toolbox
                         for q in right_branches(bench, peer, problem.T, start)])
    some = problems[:max(int(REFERENCE_SHARE * bench.poses), 10)]
    yield Row('c', 'branches found', name, 99.9, branch_share(bench, solver, some, known), '%',
              True)


def seven_axes(bench: Bench) -> Iterator[Row]:
    """Target d: the nearest posture of a redundant arm, near seed and from anywhere."""
    nearest, name, model = bench.solver(select='nearest'), bench.model.name, bench.model
    others = bench.others(NUMERICAL, POSE)
    problems = near_problems(model, bench.poses, bench.random)
    times = bench.race({OURS: (nearest.solve, plain(problems))}, others, problems)
    yield Row('d', 'nearest, near seeds', name, 10.0, times[OURS].median,
              best=fastest(times, others))
    farther = 0
    for problem in problems:
        result = nearest.solve(problem.T, problem.seed)
        reference = nearest_on_self_motion(model, result.q, problem.seed)
        farther += np.linalg.norm(result.q - problem.seed) > (1.0 + SAME_DISTANCE) * reference
    yield Row('d', 'answers farther than the nearest posture', name, 0.0,
              100.0 * farther / len(problems), '%')
    problems = random_problems(model, bench.poses, bench.random)
    times = bench.race({OURS: (nearest.solve, plain(problems))}, others, problems)
    yield Row('d', 'nearest, random seeds', name, 60.0, times[OURS].median,
              best=fastest(times, others))
    yield Row('d', 'nearest, random seeds, 99 %', name, 150.0, times[OURS].p99)
    some = problems[:max(int(REFERENCE_SHARE * bench.poses), 10)]
    farther = sum(np.linalg.norm(nearest.solve(problem.T, problem.seed).q - problem.seed)
                  > 1.01 * nearest_of_many(bench, problem) for problem in some)
    yield Row('d', f'more than 1 % farther than the best of {NEAREST_STARTS} starts', name, 1.0,
              100.0 * farther / len(some), '%')


def nearest_of_many(bench: Bench, problem: Problem) -> float:
    """Return how near to the seed the best solutions from many random starts come (rad)."""
    first = bench.solver()
    results = [first.solve(problem.T, within(bench.model, bench.random))
               for _ in range(NEAREST_STARTS)]
    found = sorted((result.q for result in results if result.success),
                   key=lambda q: float(np.linalg.norm(q - problem.seed)))
    return min(nearest_on_self_motion(bench.model, q, problem.seed)
               for q in found[:NEAREST_WALKS])


def nearest_on_self_motion(model: Model, q: np.ndarray, seed: np.ndarray) -> float:
    """Return how near to the seed a solution `q` comes if it slides inside the limits (rad)."""
    T, best = model.fk(q), float(np.linalg.norm(q - seed))
    for _ in range(PROJECTION_STEPS):
        J = model.jacobian(q)
        step = (seed - q) - np.linalg.pinv(J) @ (J @ (seed - q))
        trial = q + min(0.5, 0.1 / max(np.linalg.norm(step), 1e-9)) * step
        trial = return_to(model, trial, T)
        distance = float(np.linalg.norm(trial - seed))
        if not model.inside(trial) or distance > best - 1e-9:
            break
        q, best = trial, distance
    return best


def return_to(model: Model, q: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return the posture at a pose close by, by Newton's method on Pinocchio's Jacobian."""
    for _ in range(4):
        q = q + np.linalg.pinv(model.jacobian(q)) @ model.deviation(q, T)
    return q


def numerical(bench: Bench) -> Iterator[Row]:
    """Target e: damped least squares."""
    solver, others = bench.solver(closed_form=False), bench.others(NUMERICAL, POSE)
    for question, limit, make in (('random seeds', 6.5, random_problems),
                                  ('near seeds', 3.5, near_problems)):
        problems = make(bench.model, bench.poses, bench.random)
        times = bench.race({OURS: (solver.solve, plain(problems))}, others, problems)
        yield Row('e', f'numerical, {question}', bench.model.name, limit, times[OURS].median,
                  best=fastest(times, others))


def ways_in(bench: Bench) -> Iterator[Row]:
    """Target f: what other forms of goal and seed cost more than the plain call."""
    solver, model = bench.solver(), bench.model
    problems = near_problems(model, bench.poses, bench.random)
    middle = 0.5 * (model.lower + model.upper)
    points = [(Goal.position(p.T[:3, 3]), p.seed) for p in problems]
    calls = {
        'plain': (solver.solve, plain(problems)),
        'Goal(T)': (lambda T, seed: solver.solve(Goal(T), seed), plain(problems)),
        'list as seed': (solver.solve, [(p.T, p.seed.tolist()) for p in problems]),
        'seed in the middle': (solver.solve, [(p.T, middle) for p in problems]),
        'no seed': (solver.solve, [(p.T,) for p in problems]),
        'point': (solver.solve, points),
        'Goal.position(p)': (lambda p, seed: solver.solve(Goal.position(p), seed),
                             [(p.T[:3, 3], p.seed) for p in problems])}
    times = bench.race(calls, [], problems)
    for name, base in (('Goal(T)', 'plain'), ('list as seed', 'plain'),
                       ('no seed', 'seed in the middle'), ('Goal.position(p)', 'point')):
        yield Row('f', f'{name}: more than the plain call', model.name, 3.0,
                  times[name].median - times[base].median)


def reasons(bench: Bench) -> Iterator[Row]:
    """Target g: goals without a solution, and the reason for each."""
    solver, model, random = bench.solver(), bench.model, bench.random
    count = max(int(REASON_SHARE * bench.poses), 20)
    beyond, turned = [], []
    for _ in range(TRIES * count):  # limits of two turns leave nothing beyond them
        q = random.uniform(model.lower - 1.0, model.upper + 1.0)
        if len(beyond) < count and not solver.solve(model.fk(q)).success:
            beyond.append(Problem(model.fk(q), within(model, random)))
    for pose, other in zip(random_problems(model, TRIES * count, random),
                           random_problems(model, TRIES * count, random)):
        T = pose.T.copy()
        T[:3, :3] = other.T[:3, :3]
        if len(turned) < count and not solver.solve(T).success:
            turned.append(Problem(T, pose.seed))
    kinds = {'too far': unreachable_problems(model, count, random), 'beyond a limit': beyond,
             'random orientation': turned}
    for kind, problems in kinds.items():
        if problems:
            times = bench.race({OURS: (solver.solve, plain(problems))}, [], problems)
            yield Row('g', f'no solution, {kind}, 99 %', model.name, 1000.0, times[OURS].p99)


def centring(bench: Bench) -> Iterator[Row]:
    """Target h: the null-space bias of redundant arms."""
    solver, model = bench.solver(gains=(1.0,)), bench.model
    problems = random_problems(model, bench.poses, bench.random)
    times = bench.race({OURS: (solver.solve, plain(problems))}, [], problems)
    excess = []
    for problem in problems:
        seeds = [within(model, bench.random) for _ in range(CENTRING_SEEDS)]
        results = [solver.solve(problem.T, seed) for seed in (problem.seed, *seeds)]
        own, *found = [aim(model, r.q) if r.success else np.inf for r in results]
        best = min(found)
        excess.append(100.0 * (own / best - 1.0) if best < np.inf else 0.0)
    yield Row('h', 'centring', model.name, 60.0, times[OURS].median)
    yield Row('h', f'centring: aim above the best of {CENTRING_SEEDS} seeds, median', model.name,
              5.0, float(np.median(excess)), '%')
    yield Row('h', f'centring: aim above the best of {CENTRING_SEEDS} seeds, 90 %', model.name,
              5.0, float(np.quantile(excess, 0.9)), '%')


def aim(model: Model, q: np.ndarray) -> float:
    """Return what the bias lowers: the sum of the squared distances from mid-range, in ranges."""
    d = q - 0.5 * (model.lower + model.upper)
    d = np.where(model.continuous, (d + np.pi) % (2.0 * np.pi) - np.pi, d)
    return float(((d / (model.upper - model.lower))**2).sum())


def rows_of(bench: Bench, letters: str) -> Iterator[Row]:
    """Measure every target that concerns an arm."""
    form = bench.solver().tables.closed_form
    exact = form is not None and form.exact and not form.searched
    six = bench.model.n == 6
    for letter, concerned, measured in (
            ('a', exact, exact_classes), ('c', six and not exact, other_six_axes),
            ('d', not six, seven_axes), ('e', True, numerical),
            ('f', bench.model.name in WAYS_IN_ARMS, ways_in), ('g', True, reasons),
            ('h', not six, centring)):
        if concerned and letter in letters:
            yield from measured(bench)


def report(rows: list[Row], command: str) -> str:
    """Return the table of the targets in Markdown; each line is over the arms."""
    lines = ['| | call | arms | target | median arm | worst arm | met by | fastest other, '
             'median arm | × (worst) |', '|' + ' --- |' * 9]
    for target, question in dict.fromkeys((row.target, row.question) for row in rows):
        group = [row for row in rows if (row.target, row.question) == (target, question)]
        first, values = group[0], [row.value for row in group]
        worst = min(values) if first.least else max(values)
        compared = [row for row in group if row.best and row.unit == 'µs']
        ratios = np.array([row.best[1] / row.value for row in compared])
        names = ', '.join(dict.fromkeys(row.best[0] for row in compared))
        lines.append(
            f'| {target} | {question} | {len(group)} | '
            f'{"≥" if first.least else "≤"} {first.limit:g} {first.unit} | '
            f'{np.median(values):.1f} | {worst:.1f} | {sum(row.met for row in group)} | '
            + (f'{names}: {np.median([row.best[1] for row in compared]):.1f} | '
               f'{np.exp(np.log(ratios).mean()):.2f} ({ratios.min():.2f}) |'
               if compared else ' | |'))
    about = machine.describe()
    return (f'{about["processor"]}, {about["cores"]} cores, one used; Python {about["python"]}, '
            f'{about["date"]}. The command:\n\n    {command}\n\n' + '\n'.join(lines) + '\n')


def arm_table(rows: list[Row]) -> str:
    """Return the figures arm by arm, for the terminal."""
    return '\n'.join(
        f'{row.target} {row.arm:14} {row.question:58} {row.value:9.2f} {row.unit:2} '
        f'(target {row.limit:g}{"" if row.met else ", MISSED"})'
        + (f'  {row.best[0]} {row.best[1]:.1f}' if row.best else '') for row in rows)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.ik.targets', description=__doc__)
    parser.add_argument('--output', type=Path, default=Path('.build/benchmark'))
    parser.add_argument('--poses', type=int, default=200, help='per arm and question')
    parser.add_argument('--turns', type=int, default=5)
    parser.add_argument('--arms', help='names with commas between; default: all')
    parser.add_argument('--targets', default='acdefgh', help='letters; b is measured with a')
    options = parser.parse_args()
    warnings.simplefilter('ignore')
    machine.pin_to_one_core()
    rows: list[Row] = []
    for arm in ARMS:
        if options.arms and arm.name not in options.arms.split(','):
            continue
        bench = Bench(Model(arm, options.output / 'arms'), options.poses, options.turns)
        measured = list(rows_of(bench, options.targets))
        print(arm_table(measured), flush=True)
        for name, reason in bench.refusals.items():
            print(f'  {name} left out: {reason}', file=sys.stderr)
        rows += measured
    order = sorted(rows, key=lambda row: row.target)
    text = report(order, ' '.join(['python -m benchmarks.ik.targets', *sys.argv[1:]]))
    (options.output / 'targets.md').write_text(text)
    print(text)


if __name__ == '__main__':
    main()
