# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Time several calls side by side, in short turns, on a machine that others use as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import gc
from time import perf_counter

import numpy as np

BLOCK_CALLS = 50         # before the next contender's turn
TURN_BUDGET_S = 0.3      # of one contender; what it has not come to then is not counted


@dataclass(frozen=True)
class Contender:
    """A call, and its arguments for each problem."""

    name: str
    call: Callable
    inputs: list[tuple]


@dataclass(frozen=True)
class Times:
    """
    Times of one contender, microseconds.

    Attributes
    ----------
    median : float
        Of all problems, in the quietest turn.
    p99 : float
        Of the problems, each with its median over the turns: what the machine disturbs once
        is left out, what a problem costs each time is not.

    """

    median: float
    p99: float


def race(contenders: list[Contender], turns: int) -> dict[str, Times]:
    """
    Let the contenders solve all problems, block by block, in several turns.

    The quietest turn is that with the lowest medians, each in relation to the contender's best.
    """
    count = max(len(each.inputs) for each in contenders)
    times = np.full((turns, len(contenders), count), np.nan)
    gc.collect()
    gc.disable()
    try:
        for turn in range(turns):
            for first in range(0, count, BLOCK_CALLS):
                for k in range(len(contenders)):
                    row = (k + turn) % len(contenders)
                    _block(contenders[row], first, times[turn, row])
            gc.collect()
    finally:
        gc.enable()
    medians = 1e6 * np.nanmedian(times, axis=2)
    quietest = int(np.argmin((medians / medians.min(axis=0)).sum(axis=1)))
    return {each.name: Times(float(medians[quietest, k]), _tail(times[:, k]))
            for k, each in enumerate(contenders)}


def _block(contender: Contender, first: int, times: np.ndarray) -> None:
    """Time the next calls of a contender, unless its budget for the turn is used up."""
    call = contender.call
    if np.nansum(times) > TURN_BUDGET_S:
        return
    call(*contender.inputs[min(first, len(contender.inputs) - 1)])  # untimed: caches are cold
    for k, inputs in enumerate(contender.inputs[first:first + BLOCK_CALLS], first):
        began = perf_counter()
        call(*inputs)
        times[k] = perf_counter() - began


def _tail(times: np.ndarray) -> float:
    """Return the 99th percentile over the problems, us, of times (turns, problems)."""
    done = times[:, ~np.isnan(times).all(axis=0)]
    return float(1e6 * np.quantile(np.nanmedian(done, axis=0), 0.99))
