# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Run methods of inverse kinematics on the same goals from the same seeds, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
import json
from pathlib import Path
from time import perf_counter

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.model.chain import Chain
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver
from ik_node.textbook.attempt import descend
from ik_node.textbook.methods import TEXTBOOK_METHODS
from ik_node.textbook.options import ClassicOptions
from ik_node.textbook.task import Task
from ik_node.tools.plots.figures import LINE_COLOURS, Panels, remark, save, unit

PRODUCTION_METHOD = 'damped'
RESTARTS_METHOD = 'damped, with restarts'
# The answers learned beforehand, without the steps that improve them.
ALONE_METHODS = {f'{name}, alone': name for name, entry in TEXTBOOK_METHODS.items()
                 if entry.guess is not None}
# Multiples of the tolerance, from about a metre down; so many that no step is missed, even
# where convergence is quadratic.
TOLERANCE_FACTORS = np.geomspace(3e6, 1.5, 50)


@dataclass(frozen=True, eq=False)
class Run:
    """One run of a method to one goal."""

    method: str
    at: np.ndarray  # (k + 1,) int, numbers of the recorded steps, beginning with 0
    # (k + 1, n), joint positions (rad or m) after these steps, beginning with the seed
    path: np.ndarray
    errors: np.ndarray  # (k + 1, 2), position (m) and orientation error (rad)
    tip: np.ndarray     # (k + 1, 3), position of the tip in the base frame, m
    met: bool           # whether the goal is reached within the limits
    steps: int          # number of steps, summed over all attempts
    time: float         # duration of the call (s), without recording the path

    @property
    def largest_jump(self) -> float:
        """Return the largest change of a joint in one recorded step (rad or m), or NaN."""
        single = np.diff(self.at) == 1
        if len(self.at) > 1 and not single.any():
            return np.nan
        return float(np.abs(np.diff(self.path, axis=0)[single]).max(initial=0.0))

    def distance(self, metres_per_radian: float) -> np.ndarray:
        """Return the weighted error (k + 1,), m."""
        return np.hypot(self.errors[:, 0], metres_per_radian * self.errors[:, 1])


@dataclass(frozen=True)
class Metrics:
    """
    Results of one method on all goals; medians and extremes are over the goals reached, those of
    the errors over all goals.
    """

    method: str
    goals: int
    met: int
    median_steps: float = np.nan
    most_steps: float = np.nan
    median_time: float = np.nan  # milliseconds
    # median_jump, largest_jump: largest change of a joint in one step, rad or m
    median_jump: float = np.nan
    largest_jump: float = np.nan
    # median_position_error, median_orientation_error: left at the end, m and rad
    median_position_error: float = np.nan
    median_orientation_error: float = np.nan
    note: str = ''  # why the method was not run


class Runner:
    """
    Run any method on a chain with common options.

    Parameters
    ----------
    chain : Chain
    options : ClassicOptions
        The production solver uses the tolerances and the weight only.

    """

    def __init__(self, chain: Chain, options: ClassicOptions = ClassicOptions()) -> None:
        self.chain = chain
        self.options = options
        self._solvers: dict[tuple, Solver] = {}

    def run(self, method: str, goal: Goal, seed: np.ndarray) -> Run:
        """
        Run one method from `seed` (n,) to the goal.

        Raises
        ------
        ParameterError
            If the method is unknown or does not support this goal and chain.

        """
        record: list[np.ndarray] = []
        if method == PRODUCTION_METHOD:
            return self._run_production(goal, seed)
        if method == RESTARTS_METHOD:
            solver = self._solver()
            began = perf_counter()
            result = solver.solve(goal, seed)
            return self._of(method, goal, [0, result.iterations], [seed, result.q],
                            result.success, perf_counter() - began)
        options = replace(self.options, max_iterations=1) if method in ALONE_METHODS \
            else self.options
        began = perf_counter()
        attempt = descend(ALONE_METHODS.get(method, method), self.chain, goal, seed, options,
                          record)
        return self._of(method, goal, range(len(record)), record, attempt.converged,
                        perf_counter() - began)

    def _run_production(self, goal: Goal, seed: np.ndarray) -> Run:
        """
        Run one attempt of the compiled solver, which returns only its end.

        With looser tolerances it ends earlier on the same path, which shows its steps.
        """
        last = self._solver(max_restarts=0, gains=(0.0,))
        began = perf_counter()
        result = last.solve(goal, seed)
        time = perf_counter() - began
        at, path = [0], [seed]
        if result.restarts == 0:
            for share in TOLERANCE_FACTORS:
                early = self._solver(share, max_restarts=0, gains=(0.0,)).solve(goal, seed)
                if early.success and at[-1] < early.iterations < result.iterations:
                    at.append(early.iterations)
                    path.append(early.q)
        if result.iterations:
            at.append(result.iterations)
            path.append(result.q)
        return self._of(PRODUCTION_METHOD, goal, at, path, result.success, time)

    def _solver(self, looser: float = 1.0, **options: object) -> Solver:
        """Return the production solver with tolerances multiplied by `looser`."""
        key = looser, *options
        if key not in self._solvers:
            own = self.options
            position = looser * own.position_tolerance
            orientation = own.orientation_tolerance if looser == 1.0 \
                else position / own.metres_per_radian
            self._solvers[key] = Solver(
                self.chain, position_tolerance=position, orientation_tolerance=orientation,
                metres_per_radian=own.metres_per_radian, closed_form=False, **options)
        return self._solvers[key]

    def _of(self, method: str, goal: Goal, at: Sequence[int], path: list[np.ndarray], met: bool,
            time: float) -> Run:
        task = Task(self.chain, goal, self.options.metres_per_radian)
        points = [task.at(np.ascontiguousarray(q, dtype=float)) for q in path]
        return Run(method, np.array(at), np.array(path),
                   np.array([(p.position_error, p.orientation_error) for p in points]),
                   np.array([p.frames[-1, 9:] for p in points]), met, int(at[-1]), time)


def reachable_goals(chain: Chain, count: int, number: int,
                    near: float = np.inf) -> tuple[list[Goal], np.ndarray]:
    """
    Return goals that a posture within the limits reaches, and seeds.

    Parameters
    ----------
    number : int
        Seed of the random numbers.
    near : float
        Largest distance (rad or m) of each joint of the seeds from that posture;
        infinite = anywhere within the limits.

    Returns
    -------
    (list of Goal, (count, n) array)

    """
    random = np.random.default_rng(number)
    lower = np.where(np.isfinite(chain.lower), chain.lower, -np.pi)
    upper = np.where(np.isfinite(chain.upper), chain.upper, np.pi)
    postures = random.uniform(lower, upper, (count, chain.n))
    if np.isinf(near):
        seeds = random.uniform(lower, upper, (count, chain.n))
    else:
        away = random.uniform(-near, near, postures.shape)
        beyond = (postures + away < chain.lower) | (postures + away > chain.upper)
        # Reflected instead of clipped: many arms are singular at a limit.
        seeds = np.clip(postures + np.where(beyond, -away, away), chain.lower, chain.upper)
    task = Task(chain, Goal(np.eye(4)), 1.0)
    goals = []
    for q in postures:
        row = task.frames(q)[-1]
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = row[:9].reshape(3, 3), row[9:]
        goals.append(Goal(T))
    return goals, seeds


def compare(runner: Runner, methods: Iterable[str], goals: list[Goal],
            seeds: np.ndarray) -> tuple[list[Metrics], dict[str, list[Run]]]:
    """
    Run methods on the same goals and seeds.

    Returns
    -------
    (list of Metrics, dict of method to its runs)
        A method that does not support these goals has a note and no runs.

    """
    metrics, runs = [], {}
    for method in methods:
        try:
            # The first call compiles or loads compiled code and is not timed.
            runner.run(method, goals[0], seeds[0])
            runs[method] = [runner.run(method, goal, seed) for goal, seed in zip(goals, seeds)]
        except ParameterError as error:
            metrics.append(Metrics(method, len(goals), 0, note=str(error)))
            continue
        metrics.append(_metrics(method, runs[method]))
    return metrics, runs


def _metrics(method: str, runs: list[Run]) -> Metrics:
    met = [run for run in runs if run.met]
    position, orientation = np.median([run.errors[-1] for run in runs], axis=0)
    every = Metrics(method, len(runs), len(met), median_position_error=float(position),
                    median_orientation_error=float(orientation))
    if not met:
        return every
    return replace(every,
                   median_steps=float(np.median([run.steps for run in met])),
                   most_steps=float(max(run.steps for run in met)),
                   median_time=1e3 * float(np.median([run.time for run in met])),
                   median_jump=float(np.median([run.largest_jump for run in met])),
                   largest_jump=float(max(run.largest_jump for run in met)))


def number(value: float) -> str:
    """Return a number with three digits, '-' for NaN."""
    return '-' if np.isnan(value) else f'{value:.3g}' if value < 1000.0 else f'{value:.0f}'


def markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of a Markdown table."""
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]

    def line(cells: tuple[str, ...]) -> str:
        return '| ' + ' | '.join(cell.ljust(width) for cell, width in zip(cells, widths)) + ' |'

    return [line(head), '|' + '|'.join('-' * (width + 2) for width in widths) + '|',
            *map(line, rows)]


def write_json(file: Path, content: object) -> None:
    """Write content that may hold arrays as JSON, with null for NaN."""
    def plain(value: object) -> object:
        return value.tolist() if isinstance(value, np.ndarray) else float(value)

    def finite(value: object) -> object:
        # JSON has no NaN.
        if isinstance(value, dict):
            return {key: finite(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [finite(each) for each in value]
        return None if isinstance(value, float) and np.isnan(value) else value

    file.write_text(json.dumps(finite(content), default=plain) + '\n', encoding='utf-8')


MIN_PLOTTED_ERROR_M = 1e-10


def convergence(runs: dict[str, list[Run]], metres_per_radian: float, tolerance: float,
                file: Path) -> None:
    """Draw the weighted error over the steps for each goal and the median, on log scales."""
    picture = Panels(
        list(runs), 'Error against step', 'step',
        f'position and orientation error, 1 rad = {metres_per_radian:g} m  (m)',
        [(LINE_COLOURS[5], '-', 'one goal'), (LINE_COLOURS[0], '-', 'median of all'),
         (LINE_COLOURS[1], '--', 'position tolerance')])
    for name, axes in picture.axes.items():
        steps = np.arange(max(run.steps for run in runs[name]) + 1)
        curves = []
        for run in runs[name]:
            error = np.maximum(run.distance(metres_per_radian), MIN_PLOTTED_ERROR_M)
            axes.plot(run.at, error, color=LINE_COLOURS[5], linewidth=0.6, alpha=0.6)
            # A run that has ended keeps its last error.
            curves.append(np.exp(np.interp(steps, run.at, np.log(error))))
        axes.plot(steps, np.median(curves, axis=0), color=LINE_COLOURS[0], linewidth=1.6)
        axes.axhline(tolerance, color=LINE_COLOURS[1], linewidth=0.9, linestyle='--')
        met = sum(run.met for run in runs[name])
        remark(axes, f'{met} of {len(curves)} met')
        axes.set_xscale('symlog', linthresh=1.0)
        axes.set_yscale('log')
    axes.set_xlim(left=0.0)
    axes.set_ylim(MIN_PLOTTED_ERROR_M, 10.0)
    save(picture.figure, file)


def tip_path(runs: dict[str, list[Run]], goal: np.ndarray, file: Path) -> None:
    """
    Draw the path of the tip to the first goal: along the straight line and across it.

    Parameters
    ----------
    goal : (3,) array
        Position of the first goal, m.

    """
    picture = Panels(list(runs), 'Path of the tip to the first goal',
                     'distance to go along the straight line  (mm)',
                     'distance from the straight line  (mm)',
                     [(LINE_COLOURS[0], '-', 'tip, a dot for each step'),
                      (LINE_COLOURS[6], 's', 'start'), (LINE_COLOURS[1], '*', 'goal')])
    for name, axes in picture.axes.items():
        tip = 1e3 * (runs[name][0].tip - goal)
        line = tip[0] / max(np.linalg.norm(tip[0]), 1e-9)
        along = tip @ line
        off = np.linalg.norm(tip - np.outer(along, line), axis=1)
        axes.plot(along, off, color=LINE_COLOURS[0], linewidth=1.2, marker='o', markersize=2.5)
        axes.plot(along[0], off[0], color=LINE_COLOURS[6], marker='s', markersize=4)
        axes.plot(0.0, 0.0, color=LINE_COLOURS[1], marker='*', markersize=9)
    axes.invert_xaxis()
    save(picture.figure, file)


def joint_motion(runs: dict[str, list[Run]], chain: Chain, file: Path) -> None:
    """Draw the joint positions over the steps to the first goal."""
    lines = [(LINE_COLOURS[k % len(LINE_COLOURS)], '-' if k < len(LINE_COLOURS) else '--', name)
             for k, name in enumerate(chain.joint_names)]
    picture = Panels(list(runs), 'Joint positions on the path to the first goal', 'step',
                     f'change from the seed  ({unit(chain)})', lines)
    for name, axes in picture.axes.items():
        first = runs[name][0]
        for (colour, style_, _), values in zip(lines, (first.path - first.path[0]).T):
            axes.plot(first.at, values, color=colour, linestyle=style_, linewidth=1.1)
        axes.set_xscale('symlog', linthresh=1.0)
    axes.set_xlim(left=0.0)
    save(picture.figure, file)
