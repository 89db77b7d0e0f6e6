# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Ask the solver with hostile numbers, and judge every answer by Pinocchio's kinematics.

``PYTHONPATH=.:test python -m fuzz.hostile 1000000`` asks a million times.
"""

from collections import Counter
import faulthandler
from itertools import cycle
import sys
from time import perf_counter

from answers import errors_of, ROUNDING, tip_pose
import numpy as np
import robots

from ik_node.base.errors import IkNodeError, Reason
from ik_node.solver.goal import EXACT_TOLERANCE, Goal
from ik_node.solver.options import SOLUTION_CHOICES
from ik_node.solver.solver import Solver
from ik_node.textbook import TEXTBOOK_METHODS

ARMS = 'six_axis_arm', 'ur5', 'kinova', 'panda'
CALLS = {True: 500, False: 10}  # of one solver: compiled or textbook, which takes long
FIGURES = 'limit_margin', 'smallest_singular_value', 'manipulability', 'centredness'
HANGS = 300.0  # s without progress
LONGEST = 1500  # characters of a sentence
NUMBERS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.2e-308, 1e-160,
           1e-9, 0.5, np.pi, 7.0, 1e3, 1e6, -1e9, 1e10, 1e16, 1e155, -1e200, 1e308, 1.8e308)
THINGS = (None, '', 'x', 'nan', b'x', True, 1, 10**400, 1j, (), [], {}, [1, [2]], [[]], (1, 2, 3),
          [None] * 6, ['1'] * 6, object(), np.array(1.0), np.zeros((0, 6)), np.zeros((6, 0)),
          np.zeros(5), np.zeros((4, 4, 4)), np.eye(4, dtype=complex), np.array([[object()]]))


class Fault(AssertionError):
    """An answer that must not be; it carries what was asked."""


class Questions:
    """
    Draws what to ask of one arm, the same for the same seed.

    Parameters
    ----------
    name : str
        Of the arm, see :mod:`robots`.
    rng : numpy.random.Generator

    """

    def __init__(self, name, rng):
        self.chain, self.rng = robots.chain(name), rng
        self.postures = robots.random_postures(self.chain, 300, 5)
        self.poses = np.array([tip_pose(name, q) for q in self.postures])

    def pick(self, values):
        """Return one of some values."""
        return values[self.rng.integers(len(values))]

    def chance(self, share):
        """Return whether something of this probability happens."""
        return self.rng.random() < share

    def numbers(self, shape):
        """Return an array of numbers as hostile as they get."""
        return self.rng.choice(NUMBERS, shape) * self.rng.choice([1.0, 0.3, -0.7], shape)

    def spoilt(self, array, most=2):
        """Return a copy of an array with some of its numbers replaced."""
        array = np.array(array)
        for _ in range(self.rng.integers(1, most + 1)):
            array.flat[self.rng.integers(array.size)] = self.pick(NUMBERS)
        return array

    # ---- goals --------------------------------------------------------------

    def goal(self):
        """Return a pose, a Goal, or what is neither; a Goal may refuse to be made."""
        T = self.pose()
        if self.chance(0.75):
            return T
        kind = self.rng.integers(5)
        if kind == 0:
            return Goal.pointing(T)
        if kind == 1:
            return Goal.position(T[:3, 3] if isinstance(T, np.ndarray) and T.size == 16 else T)
        if kind == 2:
            return Goal.orientation(T[:3, :3] if isinstance(T, np.ndarray) and T.ndim > 1 else T)
        size = self.rng.choice([0.0, 0.0, 1e-9, 1e-3, 0.1, 3.0, 100.0, np.inf], 6)
        tolerance = self.spoilt(size) if self.chance(0.2) else size
        return Goal(T, self.pick(THINGS) if self.chance(0.05) else tuple(tolerance),
                    self.pick(['tip', 'base', 'tip', 'base', '', None]))

    def pose(self):
        """Return a pose (4, 4), good, spoilt, or no pose at all."""
        T = self.pick(self.poses).copy()
        kind = self.rng.random()
        if kind < 0.3:
            return T
        if kind < 0.5:
            return self.spoilt(T)
        if kind < 0.65:
            T[:3, 3] = self.rng.normal(size=3) * 10.0**self.rng.uniform(-3, 3)
        elif kind < 0.7:
            T[:3, 3] *= 10.0**self.rng.uniform(-320, 308)
        elif kind < 0.85:
            T[:3, :3] += self.rng.normal(size=(3, 3)) * 10.0**self.rng.uniform(-17, 0)
        elif kind < 0.9:
            T[:3, :3] *= self.rng.choice([-1.0, 1.0, 1e-9, 1e200, 1.0 + 1e-7], (3, 1))
        elif kind < 0.95:
            return self.numbers((4, 4))
        elif kind < 0.97:
            return T.astype(self.pick([np.float16, np.float32, int, object, str, bool]))
        else:
            return self.pick(THINGS)
        return T

    # ---- seeds and options --------------------------------------------------

    def seed(self):
        """Return where to begin, or what is no posture."""
        q, kind = self.pick(self.postures), self.rng.random()
        if kind < 0.1:
            return None
        if kind < 0.5:
            return q
        if kind < 0.6:
            return q + self.rng.normal(size=q.shape) * 10.0**self.rng.uniform(-9, 9)
        if kind < 0.75:
            return self.spoilt(q)
        if kind < 0.85:
            return np.array([self.pick(self.postures) for _ in range(self.rng.integers(5))])
        if kind < 0.9:
            return self.numbers(self.pick([self.chain.n, self.chain.n + 1, (3, self.chain.n)]))
        if kind < 0.95:
            return q.tolist() if self.chance(0.5) else q.astype(np.float32)
        return self.pick(THINGS)

    def options(self):
        """Return options of a solver, some of which may be out of range, or none at all."""
        n, chain, rng = self.chain.n, self.chain, self.rng
        good = {
            'method': lambda: self.pick(['damped', self.pick(list(TEXTBOOK_METHODS))]),
            'position_tolerance': lambda: 10.0**rng.uniform(-9, -1),
            'orientation_tolerance': lambda: 10.0**rng.uniform(-9, 0.5),
            'metres_per_radian': lambda: 10.0**rng.uniform(-6, 6),
            'max_iterations': lambda: int(rng.integers(0, 100)),
            'step_fraction': lambda: 1.0 - rng.random(),
            'max_restarts': lambda: int(self.pick([0, 1, 3, 10, 30])),
            'weights': lambda: tuple(10.0**rng.uniform(-5, 5, self.pick([1, n]))),
            'locked': lambda: tuple(rng.choice(chain.joint_names, self.pick([1, 1, 2, n]))),
            'gains': lambda: tuple(10.0**rng.uniform(-3, 3, self.pick([1, n]))),
            'preferred': lambda: self.pick(self.postures),
            'posture': lambda: self.pick(self.postures),
            'posture_gains': lambda: tuple(10.0**rng.uniform(-3, 3, self.pick([1, n]))),
            'manipulability_gain': lambda: 10.0**rng.uniform(-3, 3),
            'max_bias_iterations': lambda: int(rng.integers(0, 60)),
            'explore': lambda: bool(rng.integers(2)),
            'select': lambda: self.pick(SOLUTION_CHOICES),
            'max_jump': lambda: 10.0**rng.uniform(-3, 2),
            'nearest': lambda: bool(rng.integers(2)),
        }
        # The cost of one call is bounded, so that a million of them end.
        options = {'max_restarts': 3, 'deadline': 10.0**rng.uniform(-6, -2.3)}
        for name in rng.choice(list(good), rng.integers(0, 4), replace=False):
            options[name] = good[name]()
        if self.chance(0.4):
            options[self.pick(list(good))] = self.pick(
                [self.pick(NUMBERS), -1, 0, 10**30, self.pick(THINGS),
                 tuple(self.numbers(self.pick([1, n, n + 1])))])
        return options


def ask(name, questions, solver, counts):
    """Ask once and judge; count the outcome."""
    goal = seed = None
    try:
        try:
            goal, seed = questions.goal(), questions.seed()
            result = solver.solve(goal, seed)
        except IkNodeError as error:
            sentence(error)
            counts[f'refused, {type(error).__name__} {error.reason.value}'] += 1
            return 0.0
        judge(name, questions, goal, seed, solver, result)
    except Exception as error:
        raise Fault(f'{type(error).__name__}: {error}\n  arm {name}\n  goal {goal!r}\n  seed '
                    f'{seed!r}\n  options {vars(solver.options)}') from error
    counts[f'answered, {result.status.value}'] += 1
    return result.time


def sentence(text):
    """Check that a text is one sentence that can be printed."""
    text = str(text)
    assert 10 < len(text) <= LONGEST and text.isprintable(), repr(text)


def judge(name, questions, goal, seed, solver, result):
    """Check the promises that hold for every answer."""
    chain, options = solver.chain, solver.options
    q = result.q
    assert q.shape == (chain.n,) and np.isfinite(q).all(), f'q is {q}'
    assert (q >= chain.lower).all() and (q <= chain.upper).all(), f'{q} is outside the limits'
    assert isinstance(result.status, Reason)
    sentence(result.message)
    for figure in FIGURES if questions.chance(0.1) else FIGURES[:1]:
        assert getattr(result, figure) >= 0.0, f'{figure} is {getattr(result, figure)}'
    goal = goal if isinstance(goal, Goal) else Goal(goal)
    position, orientation = errors_of(name, goal, q)
    R = goal.T_base_tip[:3, :3]
    # A goal's rotation may be 1e-6 off, and then its logarithm depends on how it is taken.
    slack = ROUNDING + 20.0 * np.abs(R @ R.T - np.eye(3)).max()
    if result.status is Reason.SOLVED:
        assert result.success
        assert position <= options.position_tolerance + slack, f'it is {position} m off'
        assert orientation <= options.orientation_tolerance + slack, f'{orientation} rad off'
        if options.max_jump < np.inf:
            begin = chain.middle if seed is None else np.atleast_2d(np.asarray(seed, float))[0]
            assert np.abs(q - begin).max() <= options.max_jump
    assert result.success == (result.status in (Reason.SOLVED, Reason.NEAREST))
    if goal.tolerance is EXACT_TOLERANCE:
        assert abs(result.position_error - position) <= slack * (1.0 + position)
        assert abs(result.orientation_error - orientation) <= (
            1e-7 + slack if orientation < 3.1 else 1e-2)


def run(calls, seed=0, progress=lambda done: None):
    """
    Ask so many times, of all ARMS in turn; return the counts by outcome and the slowest call, s.

    Interrupted, it returns what was asked so far.

    Raises
    ------
    Fault
        With what was asked, if an answer breaks a promise.

    """
    rng = np.random.default_rng(seed)
    questions = {name: Questions(name, rng) for name in ARMS}
    counts, slowest = Counter(), 0.0
    try:
        for name in cycle(ARMS):
            slowest = max(slowest, ask_one_solver(
                name, questions[name], calls - counts.total(), counts))
            progress(counts.total())
            if counts.total() >= calls:
                break
    except KeyboardInterrupt:
        pass
    return counts, slowest


def ask_one_solver(name, questions, most, counts):
    """Make a solver and ask it some times, `most` at most; return the slowest call, s."""
    options = questions.options()
    try:
        solver = Solver(questions.chain, **options)
    except IkNodeError as error:
        sentence(error)
        counts['options refused, ' + error.reason.value] += 1
        return 0.0
    except Exception as error:
        raise Fault(f'{type(error).__name__}: {error}\n  arm {name}\n  options '
                    f'{options}') from error
    return max(ask(name, questions, solver, counts)
               for _ in range(min(CALLS[solver.options.method == 'damped'], most)))


def main():
    """Run so many calls as the command line says."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began = perf_counter()

    def progress(done):
        faulthandler.dump_traceback_later(HANGS, exit=True)
        print(f'\r{done} of {calls}, {perf_counter() - began:.0f} s', end='', file=sys.stderr)

    counts, slowest = run(calls, seed, progress)
    print(file=sys.stderr)
    for outcome, count in counts.most_common():
        print(f'{count:9} {outcome}')
    print(f'{counts.total()} calls in {perf_counter() - began:.0f} s, the slowest '
          f'{1e3 * slowest:.1f} ms: every one an answer inside the limits, or one sentence')


if __name__ == '__main__':
    main()
