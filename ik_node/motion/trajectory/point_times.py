# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Times of trajectory points: far enough apart, and close enough together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import ceil

TIME_RESOLUTION_S = 1e-9  # of times in messages


def merge_close(instants: Iterable[float], end: float, spacing: float) -> list[float]:
    """
    Return the ascending instants between 0 and `end` (s), and `end`, at least `spacing` apart.

    An instant that is too close to the one before is delayed; one too close to the end
    moves to `spacing` before it.  So the quintic between two instants covers all jerk
    switches inside.
    """
    last = 0.0
    spaced = [last]
    for t in instants:
        if t - last > TIME_RESOLUTION_S:
            last = max(t, last + spacing)
            spaced.append(last)
    inside = spaced[:max(bisect_left(spaced, end - spacing - TIME_RESOLUTION_S), 1)]
    if len(inside) < len(spaced) and inside[-1] < end - 2.0 * spacing:
        inside.append(end - spacing)
    return [*inside[1:], end]


def subdivide(knots: Sequence[float], periods: Sequence[float]) -> list[float]:
    """
    Return all knots (k,) but the first, and times between them (s).

    From one knot to the next they are at most as far apart as `periods` (k - 1,) says.
    """
    instants = []
    for a, b, period in zip(knots, knots[1:], periods):
        if b - a > period:
            count = ceil((b - a) / period)
            instants += [a + number / count * (b - a) for number in range(1, count)]
        instants.append(b)
    return instants
