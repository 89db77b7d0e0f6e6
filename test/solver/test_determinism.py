# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The same call has the same answer, bit for bit, in every thread and process."""

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
import pickle
import subprocess
import sys

from answers import PATIENT, reachable
import numpy as np
import pytest
import robots

from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

NAMES = ['ur5', 'panda', 'kinova', 'baxter']
CHILD = """
import sys
sys.path[:0] = {path!r}
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location('determinism', {file!r})
module = module_from_spec(spec)
spec.loader.exec_module(module)
for name in module.NAMES:
    print(module.fingerprint(module.ask(module.robots.chain(name), name)))
"""


def questions(name):
    """Return pairs of goal and seed: with restarts, free axes, a box, out of reach."""
    _, poses = reachable(name, 40)
    far = [T.copy() for T in poses[:4]]
    for T, shift in zip(far, (0.1, 0.5, 1.0, 5.0)):
        T[0, 3] += shift
    goals = [*poses, *(Goal.position(T[:3, 3]) for T in poses[:5]),
             *(Goal(T, (0.01, 0.0, 0.0, 0.1, np.inf, 0.0), frame)
               for T in poses[:5] for frame in ('tip', 'base')), *far]
    return list(zip(goals, robots.random_postures(robots.chain(name), len(goals), 12)))


def ask(chain, name):
    """Return the answers of a new solver."""
    one = Solver(chain, **PATIENT)
    return [one.solve(goal, seed) for goal, seed in questions(name)]


def bits(result):
    """Return the answer, status and excess of a result."""
    return (result.answer.tobytes(), result.status, result.excess)


def fingerprint(results):
    """Return a digest of results, the same in every process."""
    return sha256(repr([bits(result) for result in results]).encode()).hexdigest()


@pytest.mark.parametrize('name', NAMES)
def test_another_order_of_calls(name):
    """Whatever was solved before, and by another solver on a copy of the chain."""
    chain = robots.chain(name)
    first = ask(chain, name)
    assert sum(result.restarts > 0 for result in first) > 1
    assert any(not result.success for result in first)
    one = Solver(pickle.loads(pickle.dumps(chain)), **PATIENT)
    for (goal, seed), before in reversed(list(zip(questions(name), first))):
        assert bits(one.solve(goal, seed)) == bits(before)
        assert bits(one.solve(goal, seed)) == bits(before)


def test_several_threads_share_a_solver():
    """Eight threads use one solver at once; each gets the answers of a single thread."""
    for name in NAMES[:2]:
        alone = fingerprint(ask(robots.chain(name), name))
        one = Solver(robots.chain(name), **PATIENT)
        with ThreadPoolExecutor(8) as pool:
            every = list(pool.map(
                lambda _, one=one, name=name: fingerprint(
                    [one.solve(goal, seed) for goal, seed in questions(name)]), range(8)))
        assert every == [alone] * 8


def test_another_process():
    """A new interpreter gives the same bits."""
    code = CHILD.format(path=[path for path in sys.path if path], file=__file__)
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [fingerprint(ask(robots.chain(name), name)) for name in NAMES]
