# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Timing of a joint path: from nodes along a tool path to a trajectory within the limits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ik_node.base.errors import PathError
from ik_node.model.joint_space import JointSpace
from ik_node.motion.tool_path import pacing, splines, splines as averaging, tracing
from ik_node.motion.tool_path.splines import BoxFilter, PathMotion, Spline
from ik_node.motion.trajectory.interpolation import segments
from ik_node.motion.trajectory.limits import LimitRows, MotionLimits
from ik_node.motion.trajectory.tip_speed import tip_peaks
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory

MIN_TIMING_NODES = 48        # between two stops
MIN_WIDE_BOX_S = 0.03        # the wide box is a joint's ramp to full acceleration, or this
NARROW_BOX_SHARE = 0.2       # of the wide box; points are at most as far apart
SAMPLE_OFFSETS = 0.0, 0.5, 0.25, 0.75  # of the samples of each round, in half point periods
MAX_LOWERING_ROUNDS = 6      # of lowering limits
GOOD_SLOWDOWN = 1.005        # no more rounds if the motion need not be slowed down more
COORDINATE_SLACK_M = 1e-9    # for rounding
MAX_PATH_POINTS = 200_000    # of one motion
CHECKS_PER_SEGMENT = 2       # instants at which the tip is compared with the path


class JointPath(NamedTuple):
    """A path of the joints, and of the tip with them."""

    s: np.ndarray          # (N,), path coordinates of the nodes
    q: np.ndarray          # (N, n), joint positions there
    tip_poses: np.ndarray  # (N, 12), poses ``T_base_tip`` there
    # (k,), path coordinates at which the arm stops, all of them nodes; begin and end are not named
    stops: np.ndarray


def timed_trajectory(path: JointPath, limits: MotionLimits, period: float,
                     chain: JointSpace) -> tuple[Trajectory, Callable[[], np.ndarray]]:
    """
    Return the fastest motion through the nodes of a path within the limits.

    Parameters
    ----------
    period : float
        Largest time between points (s).
    chain : JointSpace
        A Chain, if the speed of the tip is limited.

    Returns
    -------
    trajectory : Trajectory
    coordinates : callable
        Returns the path coordinates where the tip should be, evenly in time between two points,
        (k, CHECKS_PER_SEGMENT).

    Raises
    ------
    PathError
        If it would have more than MAX_PATH_POINTS.

    """
    rows = limits.for_paths()
    spline, part_starts = _spline_through(path)
    grid = _timing_grid(spline, part_starts)
    wide = max(float((rows.acceleration / rows.jerk).max()), MIN_WIDE_BOX_S)
    boxes = BoxFilter(wide, NARROW_BOX_SHARE * wide)
    period = min(period, boxes.narrow)
    motion, slowdown = _motion_within(spline, grid, rows, boxes, period)
    times, rests = _point_times(motion, grid.s, sum(boxes), period / slowdown)
    states = np.empty((3, len(times), path.q.shape[1]))
    averaging.sample(motion, boxes, spline, times, states)
    states[0, -1] = path.q[-1]
    states[1:, rests] = 0.0
    coordinates = partial(_check_coordinates, motion, boxes, spline.s, times)
    trajectory = Trajectory(chain.joint_names, MotionState.at_rest(path.q[0]), times, *states)
    _, lengths, c = segments(trajectory)
    # The planned shares of the limits leave room for the quintics; the jerk may use all.
    slowdown = max(slowdown, _slowdown(pacing.peak_shares(
        lengths, c, rows._replace(jerk=limits.jerk.copy()))))
    if limits.tip.limits_speed:  # between the nodes, where the spline of the tip is off
        slowdown = max(slowdown, *(tip_peaks(chain, lengths, c) / limits.tip.row[:2]).tolist())
    return (Trajectory(chain.joint_names, trajectory.start, slowdown * times, states[0],
                       states[1] / slowdown, states[2] / slowdown**2), coordinates)


def _slowdown(shares: tuple[float, float, float]) -> float:
    """Return the factor on time that brings shares of the limits to at most 1."""
    velocity, acceleration, jerk = shares
    return max(1.0, velocity, acceleration ** 0.5, jerk ** (1.0 / 3.0))


def _spline_through(path: JointPath) -> tuple[Spline, np.ndarray]:
    """Return the spline of joints and tip through the nodes, and where its parts start."""
    n = path.q.shape[1]
    # A node at a stop ends one part and begins the next.
    count = np.ones(len(path.s), dtype=int)
    at_stop = np.searchsorted(path.s, path.stops - COORDINATE_SLACK_M)
    count[at_stop] = 2
    s = np.repeat(path.s, count)
    part_starts = np.concatenate([[0], at_stop + np.arange(1, len(at_stop) + 1), [len(s)]])
    y = np.empty((len(s), n + 6))
    y[:, :n] = np.repeat(path.q, count, axis=0)
    tracing.tip_channels(np.repeat(path.tip_poses, count, axis=0), y, n)
    spline = Spline(s, y, np.empty_like(y), np.empty_like(y))
    splines.fit(spline, part_starts)
    return spline, part_starts


def _timing_grid(spline: Spline, part_starts: np.ndarray) -> Spline:
    """Return the spline at the timing nodes, MIN_TIMING_NODES at least between two stops."""
    s, first, second = spline.s, spline.first, spline.second
    counts = np.diff(part_starts)
    cells = np.repeat(np.ceil(MIN_TIMING_NODES / counts).astype(int), counts)[:-1]
    cells[part_starts[1:-1] - 1] = 1  # of no length
    k = np.repeat(np.arange(len(cells)), cells)
    share = (np.arange(len(k)) - np.repeat(np.cumsum(cells) - cells, cells)) / cells[k]
    h, share = (s[k + 1] - s[k])[:, None], share[:, None]
    rise = second[k + 1] - second[k]
    return Spline(
        np.append(s[k] + (share * h)[:, 0], s[-1]), np.empty((0, 0)),
        np.vstack([first[k] + h * share * (second[k] + 0.5 * share * rise), first[-1:]]),
        np.vstack([second[k] + share * rise, second[-1:]]))


def _motion_within(spline: Spline, grid: Spline, rows: LimitRows, boxes: BoxFilter,
                   period: float) -> tuple[PathMotion, float]:
    """Return the fastest motion along the path, and how much it must be slowed down."""
    M = len(grid.s)
    constraints = pacing.empty_constraints(M, len(rows.velocity))
    pacing.write_constraints(grid, rows, constraints)
    reachable, x = np.empty((2, M))
    motion = PathMotion(*np.empty((6, M)))
    for k in range(MAX_LOWERING_ROUNDS):
        pacing.fastest_motion(grid.s, constraints, reachable, x)
        averaging.pass_in_time(grid.s, x, sum(boxes), motion)
        duration = motion.time[-1] + sum(boxes)
        if not duration <= MAX_PATH_POINTS * period:
            raise PathError(f'the motion along the path would take {duration:.3g} s; at '
                            f'most {MAX_PATH_POINTS * period:.3g} s are planned at once; let it '
                            'be faster, or send it in parts')
        samples = 0.5 * period, SAMPLE_OFFSETS[k % len(SAMPLE_OFFSETS)]
        slowdown = _slowdown(pacing.lower_where_exceeded(motion, boxes, spline, rows, samples,
                                                         constraints))
        if slowdown <= GOOD_SLOWDOWN:
            break
    return motion, slowdown


def _point_times(motion: PathMotion, s: np.ndarray, rest: float,
                 period: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times of points (s), evenly spaced between two rests, and the indices of rests."""
    stops = np.flatnonzero(np.diff(s) <= 0.0)
    marks = np.concatenate([[0.0], motion.time[stops] + rest, [motion.time[-1] + rest]])
    counts = np.ceil(np.diff(marks) / period).astype(int)
    rests = np.cumsum(counts) - 1
    k = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(1, len(k) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
    times = marks[k] + number * (np.diff(marks) / counts)[k]
    times[rests] = marks[1:]
    return times, rests


def _check_coordinates(motion: PathMotion, boxes: BoxFilter, s: np.ndarray,
                       times: np.ndarray) -> np.ndarray:
    """Return path coordinates (k, CHECKS_PER_SEGMENT), evenly in time from each point on."""
    steps = np.diff(times, prepend=0.0)
    between = (np.append(0.0, times[:-1])[:, None]
               + steps[:, None] * (np.arange(CHECKS_PER_SEGMENT) / CHECKS_PER_SEGMENT)).ravel()
    at = np.empty(len(between))
    averaging.coordinates(motion, boxes, s, between, at)
    return at.reshape(-1, CHECKS_PER_SEGMENT)
