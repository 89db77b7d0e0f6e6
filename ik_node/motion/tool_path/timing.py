# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Time for a joint path: from nodes along a tool path to a trajectory within the limits."""

from __future__ import annotations

import numpy as np

from ik_node.motion.interpolation import segments
from ik_node.motion.tool_path import averaging, pacing, splines, tracing
from ik_node.motion.tool_path.path import ToolPath
from ik_node.motion.trajectory import MotionLimits, MotionState, Trajectory

GRID = 48            # nodes of the timing between two stops at least
ROOM = 0.95, 0.999, 0.998  # shares of jerk, velocity and acceleration that are planned with
SHORTEST_RAMP = 0.03  # s: the first box is as wide as a joint's ramp to full acceleration, and
NARROW = 0.2         # this at least; the second is this share of it, the points are as close
PHASES = 0.0, 0.5, 0.25, 0.75  # where the looks of a round are, of half a step
ROUNDS = 6           # of lowering limits
ENOUGH = 1.005       # a motion that need not be slower than this in time gets no more rounds
ROUNDING = 1e-9      # m
CHECKS = 2           # instants between two points at which the tip is compared with the path


def timed(names: tuple[str, ...], path: ToolPath, nodes: np.ndarray, q: np.ndarray,
          limits: MotionLimits, tool: np.ndarray,
          period: float) -> tuple[Trajectory, np.ndarray]:
    """
    Return the fastest motion through nodes of a path that was found within the limits.

    Parameters
    ----------
    nodes, q : (N,), (N, n) arrays
        Path coordinates and joint positions; all stops of the path are among them.
    tool : (4,) array
        As in :func:`ik_node.motion.tool_path.pacing.limit_rows`.
    period : float
        Largest time between points (s).

    Returns
    -------
    trajectory : Trajectory
    places : (k, CHECKS) array
        Path coordinates where the tip should be, evenly between two points.

    """
    n = q.shape[1]
    # A node at a stop ends one part and begins the next.
    twice = np.ones(len(nodes), dtype=int)
    inner = path.stops[1:-1]
    at_stop = np.searchsorted(nodes, inner[inner < nodes[-1] - ROUNDING] - ROUNDING)
    twice[at_stop] = 2
    s = np.repeat(nodes, twice)
    first = np.concatenate([[0], at_stop + np.arange(1, len(at_stop) + 1), [len(s)]])
    y = np.empty((len(s), n + 6))
    y[:, :n] = np.repeat(q, twice, axis=0)
    tracing.tip_channels(path.table, s, y, n)
    slopes, bends = np.empty_like(y), np.empty_like(y)
    splines.fit(s, first, y, slopes, bends)
    grid, grid_slopes, grid_bends = _grid(s, slopes, bends, first)
    M = len(grid)
    A, B = np.empty((2, M, n + pacing.TOOL_ROWS))
    C, fastest = np.empty(n + pacing.TOOL_ROWS), np.empty(M)
    jerk, velocity, acceleration = (share * limit for share, limit in zip(
        ROOM, (limits.jerk, limits.velocity, limits.acceleration)))
    pacing.limit_rows(grid, grid_slopes, grid_bends, velocity, acceleration, jerk, tool, A, B, C,
                      fastest)
    wide = max(float((acceleration / jerk).max()), SHORTEST_RAMP)
    narrow = NARROW * wide
    period = min(period, narrow)
    ease = np.ones(M)
    x, K = np.empty((2, M))
    motion = np.empty((6, M))
    for looks in range(ROUNDS):
        pacing.fastest_motion(grid, A, B, C, fastest, ease, x, K)
        averaging.in_time(grid, x, wide + narrow, motion)
        shares = pacing.measure(motion, wide, narrow, s, y, bends, velocity, acceleration, jerk,
                                tool, 0.5 * period, PHASES[looks % len(PHASES)], fastest, ease)
        slower = max(1.0, shares[0], shares[1] ** 0.5, shares[2] ** (1.0 / 3.0))
        if slower <= ENOUGH:
            break
    times, rests = _instants(motion, grid, wide + narrow, period / slower)
    Q, Qd, Qdd = np.empty((3, len(times), n))
    averaging.sample(motion, wide, narrow, s, y, bends, times, Q, Qd, Qdd)
    Q[-1] = q[-1]
    Qd[rests] = Qdd[rests] = 0.0
    steps = np.diff(times, prepend=0.0)
    between = (np.append(0.0, times[:-1])[:, None]
               + steps[:, None] * (np.arange(CHECKS) / CHECKS)).ravel()
    places = np.empty(len(between))
    averaging.places(motion, wide, narrow, s, between, places)
    start = MotionState.at_rest(q[0])
    _, lengths, c = segments(Trajectory(names, start, times, Q, Qd, Qdd))
    shares = pacing.peaks(lengths, c, velocity, acceleration, limits.jerk)
    slower = max(slower, shares[0], shares[1] ** 0.5, shares[2] ** (1.0 / 3.0))
    return (Trajectory(names, start, slower * times, Q, Qd / slower, Qdd / slower**2),
            places.reshape(-1, CHECKS))


def _grid(s: np.ndarray, slopes: np.ndarray, bends: np.ndarray,
          first: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes of the timing, GRID between two stops at least, and the splines there."""
    counts = np.diff(first)
    cells = np.repeat(np.ceil(GRID / counts).astype(int), counts)[:-1]
    cells[first[1:-1] - 1] = 1  # of no length
    k = np.repeat(np.arange(len(cells)), cells)
    share = (np.arange(len(k)) - np.repeat(np.cumsum(cells) - cells, cells)) / cells[k]
    h, share = (s[k + 1] - s[k])[:, None], share[:, None]
    grid = s[k] + (share * h)[:, 0]
    rise = bends[k + 1] - bends[k]
    return (np.append(grid, s[-1]),
            np.vstack([slopes[k] + h * share * (bends[k] + 0.5 * share * rise), slopes[-1:]]),
            np.vstack([bends[k] + share * rise, bends[-1:]]))


def _instants(motion: np.ndarray, grid: np.ndarray, pause: float,
              period: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times of points (s), evenly between two rests, and which of them are at rest."""
    stops = np.flatnonzero(np.diff(grid) <= 0.0)
    marks = np.concatenate([[0.0], motion[averaging.TIME, stops] + pause,
                            [motion[averaging.TIME, -1] + pause]])
    counts = np.ceil(np.diff(marks) / period).astype(int)
    rests = np.cumsum(counts) - 1
    k = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(1, len(k) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
    times = marks[k] + number * (np.diff(marks) / counts)[k]
    times[rests] = marks[1:]
    return times, rests
