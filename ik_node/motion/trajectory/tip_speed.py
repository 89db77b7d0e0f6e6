# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled peaks of the speed of the tip on a motion, between its points, too.

The twist at the begin, the middle and the end of a short interval gives it as a parabola of the
time, which is exact but for what the Jacobian curves in that interval.
"""

from __future__ import annotations

from math import ceil, inf, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import (
    compiled,
    copy,
    inner,
    jacobian_columns,
    joint_frames,
    shared,
)
from ik_node.model.chain import Chain

INTERVAL_S = 0.02  # at most, ...
INTERVAL_RAD = 0.1  # ... in which no joint moves farther (rad or m)
PARABOLA_SAMPLES = 8  # per interval; between three of them the squared speed is a parabola


class TipWork(NamedTuple):
    """Workspace for the twist of the tip; see :func:`tip_work` for the shapes."""

    frames: np.ndarray
    columns: np.ndarray
    q: np.ndarray
    begin: np.ndarray   # twists (m/s, rad/s) in an interval
    middle: np.ndarray
    end: np.ndarray


def tip_work(chain: Chain) -> TipWork:
    """Return the workspace for a chain."""
    return TipWork(np.empty((len(chain.table), 12)), np.empty((chain.n, 6)), np.empty(chain.n),
                   *np.empty((3, 6)))


@shared
def write_twist(table, c, k, t, work, twist):
    """Write the twist (6,) of the tip (m/s, rad/s), `t` s after the begin of a polynomial k."""
    frames, columns, q = work.frames, work.columns, work.q
    n = q.shape[0]
    for i in range(n):
        q[i] = c[0, k, i] + t * (c[1, k, i] + t * (c[2, k, i] + t * (c[3, k, i] + t * (
            c[4, k, i] + t * c[5, k, i]))))
    joint_frames(table, q, frames)
    jacobian_columns(table, frames, 1.0, columns)
    for j in range(6):
        twist[j] = 0.0
    for i in range(n):
        rate = c[1, k, i] + t * (2.0 * c[2, k, i] + t * (3.0 * c[3, k, i] + t * (
            4.0 * c[4, k, i] + t * 5.0 * c[5, k, i])))
        for j in range(6):
            twist[j] += columns[i, j] * rate


@inner
def squared_speed(begin, middle, end, first, x):
    """Return the squared length of channels `first` to `first` + 2 at a share x of an interval."""
    square = 0.0
    for i in range(first, first + 3):
        value = begin[i] + x * (4.0 * middle[i] - 3.0 * begin[i] - end[i]
                                + 2.0 * x * (begin[i] - 2.0 * middle[i] + end[i]))
        square += value * value
    return square


@inner
def squared_peak(begin, middle, end, first):
    """Return the largest squared length of channels `first` to `first` + 2 in an interval."""
    before = here = squared_speed(begin, middle, end, first, 0.0)
    most = here
    for i in range(1, PARABOLA_SAMPLES + 1):
        after = squared_speed(begin, middle, end, first, i / PARABOLA_SAMPLES)
        most = max(most, after)
        bend = before - 2.0 * here + after
        if i > 1 and bend < 0.0 and here >= before and here >= after:
            most = max(most, here - (after - before) ** 2 / (8.0 * bend))
        before, here = here, after
    return most


@shared
def peak_twist(table, lengths, c, most, work):
    """
    Return the largest speed (m/s) and angular speed (rad/s) of the tip.

    Parameters
    ----------
    table : (m + 1, 16) array
        Of the chain.
    lengths, c : arrays
        Polynomials (6, k, n) and their durations (k,), s, as from
        :func:`ik_node.motion.trajectory.interpolation.segments`.
    most : float
        Speed (m/s) above which no more of the motion is looked at.
    work : TipWork

    """
    begin, middle, end = work.begin, work.middle, work.end
    linear = angular = 0.0
    for k in range(lengths.shape[0]):
        T, rate, moves = lengths[k], 0.0, False
        for i in range(c.shape[2]):
            rate = max(rate, abs(c[1, k, i]), abs(c[1, k, i] + T * (
                2.0 * c[2, k, i] + T * 3.0 * c[3, k, i])))
            for power in range(1, 6):
                moves |= c[power, k, i] != 0.0
        if T <= 0.0 or not moves:
            continue
        count = int(ceil(T * max(1.0 / INTERVAL_S, rate / INTERVAL_RAD)))
        step = T / count
        write_twist(table, c, k, 0.0, work, begin)
        for i in range(count):
            write_twist(table, c, k, (i + 0.5) * step, work, middle)
            write_twist(table, c, k, (i + 1) * step, work, end)
            linear = max(linear, squared_peak(begin, middle, end, 0))
            angular = max(angular, squared_peak(begin, middle, end, 3))
            copy(end, begin)
            if linear > most * most:
                return sqrt(linear), sqrt(angular)
    return sqrt(linear), sqrt(angular)


@compiled
def write_tip_peaks(table, lengths, c, work, peaks):
    """Write the largest speed and angular speed of the tip, (2,); see :func:`peak_twist`."""
    peaks[0], peaks[1] = peak_twist(table, lengths, c, inf, work)


def tip_peaks(chain: Chain, lengths: np.ndarray, c: np.ndarray) -> np.ndarray:
    """
    Return the largest speed and angular speed of the tip, (2,), m/s and rad/s.

    Parameters
    ----------
    lengths, c : arrays
        As for :func:`peak_twist`; joints beyond those of the chain do not move the tip.

    """
    peaks = np.empty(2)
    write_tip_peaks(chain.table, np.ascontiguousarray(lengths),
                    np.ascontiguousarray(c[:, :, :chain.n]), tip_work(chain), peaks)
    return peaks
