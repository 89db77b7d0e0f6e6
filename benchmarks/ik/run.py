# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Measurement: the solvers take turns, so that what disturbs the machine disturbs all.

Timed is one call at a time with ``perf_counter`` around it and the garbage
collector off.  The arguments of a block of calls are prepared before the first,
and what they returned is unpacked and checked after the last; in a path the
answer is unpacked at once, for it is the next seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
import gc
import os
from time import perf_counter

import numpy as np

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import Peer, POSITION, Refused, TOLERANCE
from benchmarks.ik.scenarios import JUMP, PATH_STEPS, Problem, Scenario

BLOCK = 50        # calls before the next solver's turn; a path at a time in the paths
SAME_MODEL = 1e-5  # m and rad-like, largest difference of a solver's FK (PyBullet's is 1e-6)


@dataclass
class Tally:
    """What one solver did on one arm in one scenario."""

    times: list[float] = field(default_factory=list)
    right: int = 0
    wrong: int = 0
    raised: int = 0
    jumps: int = 0
    middles: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float | int | None]:
        """Return the figures of the report; times in microseconds, shares in percent."""
        n = len(self.times)
        times = 1e6 * np.array(self.times)
        return {
            'n': n, 'right': 100.0 * self.right / n, 'wrong': 100.0 * self.wrong / n,
            'median': float(np.median(times)), 'mean': float(times.mean()),
            'p99': float(np.quantile(times, 0.99)), 'min': float(times.min()),
            'jumps': self.jumps, 'raised': self.raised,
            'middle': float(np.median(self.middles)) if self.middles else None}


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what libraries write to the terminal from appearing there."""
    kept = os.dup(1), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        for there, here in zip(kept, (1, 2)):
            os.dup2(there, here)
            os.close(there)
        os.close(nowhere)


def build(kinds: list[type[Peer]], model: Model, task: str, refusals: dict[str, str],
          warm_up: list[Problem]) -> list[Peer]:
    """
    Set up the solvers that serve an arm; `refusals` gets the reasons of the others.

    Each solves the problems of `warm_up`, which do not count.

    A solver whose forward kinematics differ from Pinocchio's on one of 100 random
    postures solves another arm and is left out.
    """
    random = np.random.default_rng(7)
    postures = random.uniform(model.lower, model.upper, (100, model.n))
    peers = []
    for kind in kinds:
        if task not in kind.tasks:
            continue
        try:
            with quiet():
                peer = kind(model, task)
                off = max(np.abs(peer.fk(q) - model.fk(q)).max() for q in postures)
            if not off < SAME_MODEL:
                raise Refused(f'reads another arm: its forward kinematics differ by {off:.0e}')
            with quiet():
                for problem in warm_up:
                    peer.solve(*peer.inputs(problem.T, problem.seed))
            peers.append(peer)
        except Refused as refusal:
            refusals[kind.name] = str(refusal)
        except Exception as error:  # a solver may fail in any way; the run goes on
            refusals[kind.name] = f'{type(error).__name__}: {error}'.splitlines()[0][:120]
    return peers


def measure(peers: list[Peer], model: Model, scenario: Scenario, problems: list[Problem],
            budget: float) -> dict[str, Tally]:
    """
    Let the solvers take turns at the problems.

    Parameters
    ----------
    budget : float
        Seconds that one solver may use; what it has not come to then is not counted.

    """
    tallies = {peer.name: Tally() for peer in peers}
    block = PATH_STEPS if any(problem.continues for problem in problems) else BLOCK
    gc.collect()
    gc.disable()
    try:
        for turn, first in enumerate(range(0, len(problems), block)):
            for k in range(len(peers)):
                peer = peers[(k + turn) % len(peers)]
                tally = tallies[peer.name]
                if sum(tally.times) < budget:
                    _block(peer, model, scenario, problems[first:first + block], tally, budget)
            gc.collect()
    finally:
        gc.enable()
    return tallies


def _block(peer: Peer, model: Model, scenario: Scenario, problems: list[Problem],
           tally: Tally, budget: float) -> None:
    """Call a solver for some problems back to back, then look at what it returned."""
    left = budget - sum(tally.times)
    calls: list[tuple[Problem, np.ndarray, object]] = []
    seed = problems[0].seed
    ready = [] if any(problem.continues for problem in problems) \
        else [peer.inputs(problem.T, problem.seed) for problem in problems]
    for k, problem in enumerate(problems):
        if not problem.continues:
            seed = problem.seed
        inputs = ready[k] if ready else peer.inputs(problem.T, seed)
        began = perf_counter()
        try:
            returned = peer.solve(*inputs)
        except Exception:  # whatever it is, the caller has no answer
            returned = None
            tally.raised += 1
        seconds = perf_counter() - began
        tally.times.append(seconds)
        calls.append((problem, seed, returned))
        if not ready:
            seed = _next_seed(peer, model, returned, seed)
        left -= seconds
        if left < 0.0:
            break
    for problem, seed, returned in calls:
        _judge(peer, model, scenario, problem, seed, returned, tally)


def _next_seed(peer: Peer, model: Model, returned: object, seed: np.ndarray) -> np.ndarray:
    """Return the answer nearest to the last one, or that one."""
    answers = [] if returned is None else peer.answers(returned)
    if peer.kind == 'closed form':  # the choice among its answers is left to the caller
        answers = [model.nearest_turns(q, seed) for q in answers if model.inside(q)]
    return min(answers, key=lambda q: model.distance(q, seed), default=seed)


def _judge(peer: Peer, model: Model, scenario: Scenario, problem: Problem, seed: np.ndarray,
           returned: object, tally: Tally) -> None:
    if returned is None:
        return
    answers = peer.answers(returned)
    good = [q for q in answers + peer.hints(returned)
            if model.right(q, problem.T, TOLERANCE, scenario.task == POSITION)]
    if good:
        tally.right += 1
        if peer.kind == 'closed form':
            good = [model.nearest_turns(q, seed) for q in good]
        q = min(good, key=lambda q: model.distance(q, seed))
        if problem.continues and model.distance(q, seed) > JUMP:
            tally.jumps += 1
        if scenario.redundant:
            tally.middles.append(off_middle(model, q))
    elif answers:
        tally.wrong += 1


def off_middle(model: Model, q: np.ndarray) -> float:
    """Return the root mean square distance from mid-range in half ranges, limited joints only."""
    limited = ~model.continuous
    half = 0.5 * (model.upper - model.lower)
    return float(np.sqrt(np.mean((((q - model.lower) / half - 1.0)[limited])**2)))
