# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Times of trajectory points: far enough apart, and close enough together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

TIME_RESOLUTION_S = 1e-9  # of times in messages


def merge_close(instants: Iterable[float], end: float, spacing: float) -> list[float]:
    """
    Return the ascending instants between 0 and `end` (s), and `end`, at least `spacing` apart.

    An instant that is too close to the one before is delayed; one too close to the end
    moves to `spacing` before it.  So the quintic between two instants covers all jerk
    switches inside.
    """
    spaced = [0.0]
    for t in instants:
        if t - spaced[-1] > TIME_RESOLUTION_S:
            spaced.append(max(t, spaced[-1] + spacing))
    inside = [0.0, *(t for t in spaced[1:] if t < end - spacing - TIME_RESOLUTION_S)]
    if len(inside) < len(spaced) and inside[-1] < end - 2.0 * spacing:
        inside.append(end - spacing)
    return [*inside[1:], end]


def subdivide(knots: np.ndarray, period: float | np.ndarray) -> np.ndarray:
    """
    Return all knots (k,) but the first, and times between them, at most `period` apart (s).

    One period for all, or one for each step between knots, (k - 1,).
    """
    steps = np.diff(knots)
    counts = np.maximum(1, np.ceil(steps / period)).astype(int)
    which = np.repeat(np.arange(len(steps)), counts)
    number = 1 + np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    instants = knots[which] + number / counts[which] * steps[which]
    instants[-1] = knots[-1]
    return instants
