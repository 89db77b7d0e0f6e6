# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How much of the tests `make test` runs, and how much `make nightly`.

A test is marked ``nightly`` if it takes long and others cover the most of what it shows.
"""

from collections.abc import Callable, Iterable
from itertools import product
import os

import pytest

NIGHTLY = bool(os.environ.get('IK_NODE_TEST_NIGHTLY'))


def samples(*, usual: float, nightly: float) -> float:
    """Return how many samples a test draws in this run, or for how long it goes on."""
    return nightly if NIGHTLY else usual


def each_seed(count: int) -> Callable[[Callable[[int], None]], Callable[[], None]]:
    """Return a decorator: one test of what it is called with each seed below a count."""
    def for_all(test: Callable[[int], None]) -> Callable[[], None]:
        def run() -> None:
            for seed in range(count):
                test(seed)

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return for_all


def each_once(first: Iterable, second: Iterable) -> list:
    """
    Return all pairs as cases of a parametrised test.

    Those in which each value comes first are usual ones, all others nightly.
    """
    first, second = list(first), list(second)
    count = max(len(first), len(second))
    usual = [(first[k % len(first)], second[k % len(second)]) for k in range(count)]
    others = [pair for pair in product(first, second) if pair not in usual]
    return usual_first(count, [*usual, *others])


def usual_first(count: int, cases: Iterable) -> list:
    """Return the cases of a parametrised test, those after the first `count` as nightly ones."""
    cases = [case if hasattr(case, 'marks') else
             pytest.param(*case) if isinstance(case, tuple) else pytest.param(case)
             for case in cases]
    return [case if k < count else
            pytest.param(*case.values, marks=[*case.marks, pytest.mark.nightly], id=case.id)
            for k, case in enumerate(cases)]
