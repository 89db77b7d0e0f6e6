# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Checks trajectories without sharing code with the planners.

Accepts a ``trajectory_msgs/JointTrajectory``, or anything with its fields or with ``times``,
``q``, ``qd``, ``qdd`` and a ``start``.  Each fault is reported as a sentence.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
import xml.etree.ElementTree as ET

import numpy as np

SLACK = 1e-6         # relative and absolute, for rounding
SAMPLES = 41         # per segment, both ends among them
TIGHT_STEP = 2.1e-3  # s; in a shorter step the jerk is judged by its mean
POSITION_ROUNDING = 1e-9  # rad or m, of planned positions; in a step T it is 60 / T^3 of jerk
DERIVATIVES = 'position', 'velocity', 'acceleration', 'jerk'
# Of s = t / T in [0, 1]: value, first, second derivative at 0 and at 1 as rows of the powers.
POWERS = np.arange(6)
ENDS = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0],
                 np.ones(6), POWERS, POWERS * (POWERS - 1)], dtype=float)
COEFFICIENTS = np.round(2.0 * np.linalg.inv(ENDS)) / 2.0  # from the ends; all are halves


@dataclass(frozen=True)
class Bounds:
    """Limits of n joints, each (n,); a jerk of None is not checked."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray | None


@dataclass(frozen=True)
class Path3:
    """Joint names, times (k,) and position, velocity, acceleration (k, 3, n)."""

    names: tuple[str, ...]
    times: np.ndarray
    states: np.ndarray


def path_of(thing, start=None) -> Path3:
    """
    Return the points of a trajectory, from time 0 if the start is known.

    `start` is a triple of q, qd, qdd; a planned trajectory has its own.
    """
    if hasattr(thing, 'points'):
        names = tuple(thing.joint_names)
        times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in thing.points]
        rows = [[p.positions, p.velocities, p.accelerations] for p in thing.points]
    else:
        names, times = tuple(thing.joint_names), list(thing.times)
        rows = [list(row) for row in zip(thing.q, thing.qd, thing.qdd)]
        start = start or (thing.start.q, thing.start.qd, thing.start.qdd)
    if start is not None:
        times, rows = [0.0, *times], [list(start), *rows]
    for row in rows:
        for values in row:
            if len(values) != len(names):
                raise ValueError(f'a point has {len(values)} numbers for {len(names)} joints')
    return Path3(names, np.array(times), np.array(rows, dtype=float))


def dense(path: Path3, samples: int = SAMPLES):
    """
    Return the motion as a controller interpolates points with accelerations.

    Returns times (k, samples) and, (4, k, samples, n), position, velocity, acceleration
    and jerk of the quintics, one for each of the k steps.
    """
    T = np.diff(path.times)[:, None, None]
    s = np.linspace(0.0, 1.0, samples)
    scale = np.concatenate([T**0, T, T**2], axis=1)
    ends = np.concatenate([path.states[:-1] * scale, path.states[1:] * scale], axis=1)
    c = COEFFICIENTS @ ends
    values, factor, powers = [], np.ones(6), POWERS.astype(float)
    for order in range(4):
        basis = factor * s[:, None]**np.maximum(powers, 0.0)
        values.append(np.einsum('sp,kpn->ksn', basis, c) / T**order)
        factor, powers = factor * powers, powers - 1.0
    times = path.times[:-1, None] + T[:, 0] * s
    return times, np.array(values)


def faults(thing, bounds: Bounds, start=None, goal=None) -> list[str]:
    """
    Return the faults of a motion; an empty list if there are none.

    Parameters
    ----------
    start : triple of (n,) arrays or None
        q, qd, qdd at time 0, where the arm or its command is.
    goal : (n,) array or None
        Where it has to end.

    """
    try:
        path = path_of(thing, start)
    except ValueError as error:
        return [str(error)]
    if len(path.times) == 0:
        return ['it has no points']
    if not (np.isfinite(path.times).all() and np.isfinite(path.states).all()):
        return ['a number is not finite']
    found = []
    if len(set(path.names)) != len(path.names):
        found.append('a joint is named twice')
    steps = np.diff(path.times)
    if path.times[0] < 0.0 or (steps < 0.99e-4).any():
        return [*found, 'the times do not increase by at least 0.1 ms']
    if np.any(path.states[-1, 1:]):
        found.append('it does not end at rest')
    if goal is not None and np.abs(path.states[-1, 0] - goal).max() > 1e-8:
        found.append('it does not end at the goal')
    if len(steps):
        found += _outside(path, bounds)
    return found


def _outside(path: Path3, bounds: Bounds) -> list[str]:
    times, values = dense(path)
    q0, rates0 = path.states[0, 0], np.abs(path.states[0, 1:])
    # A start outside is no fault, to go further out is one.
    lower, upper = np.minimum(bounds.lower, q0), np.maximum(bounds.upper, q0)
    jerk = np.full_like(q0, np.inf) if bounds.jerk is None else bounds.jerk
    high = [upper, np.maximum(bounds.velocity, rates0[0]),
            np.maximum(bounds.acceleration, rates0[1]), jerk]
    low = [lower, *(-limit for limit in high[1:])]
    found = []
    steps = np.diff(path.times)
    mean = np.diff(path.states[:, 2], axis=0) / steps[:, None]
    # Two switches of the jerk may share a short step; its mean tells then.
    values[3][steps < TIGHT_STEP] = mean[steps < TIGHT_STEP, None]
    for name, value, a, b in zip(DERIVATIVES, values, low, high):
        slack = SLACK * (1.0 + np.where(np.isfinite(b), np.abs(b), 0.0))
        if name == 'jerk':
            rounding = np.where(steps < TIGHT_STEP, 0.0, 60.0 * POSITION_ROUNDING / steps**3)
            slack = slack + 1e-3 * np.where(np.isfinite(b), b, 0.0) + rounding[:, None, None]
        excess = np.maximum(a - slack - value, value - b - slack)
        if (excess > 0.0).any():
            step, sample, joint = np.unravel_index(excess.argmax(), excess.shape)
            found.append(
                f'{name} {value[step, sample, joint]:.9g} of {path.names[joint]} at '
                f'{times[step, sample]:.4f} s is outside [{a[joint]:.9g}, {b[joint]:.9g}]')
    return found


def begins_on(thing, other, elapsed: float, room: float, start=None):
    """
    Return the state of the motion `other` from which `thing` continues, or None.

    `elapsed` (s) is the time between their starts, by a clock that is exact to `room` (s):
    the first point of `thing` has to be a state of `other`, or `other` has to have ended.
    `start` is the start of `other`, if known.  Also returns the distance of the first point.
    """
    path, old = path_of(thing), path_of(other, start)
    t1, first = path.times[0], path.states[0]

    def gaps(t):
        # Rates too, as much as they are in 10 ms: there and back are the same positions.
        return (np.abs(states_at(old, t) - first).max(axis=2) @ (1.0, 1e-2, 1e-4))

    tried = elapsed + t1 + np.linspace(-room, room, 4001)
    t, step = tried[gaps(tried).argmin()], 2.0 * room / 4000
    while step > 1e-13:
        near = np.array([t - step, t, t + step])
        t = near[gaps(near).argmin()]
        step *= 0.5
    return state_at(old, t - t1), np.abs(state_at(old, t) - first).max(axis=1)


def states_at(path: Path3, t: np.ndarray) -> np.ndarray:
    """
    Return q, qd, qdd (N, 3, n) at times t (N); at rest at its last point afterwards.

    Before its start it is extrapolated backwards with the acceleration of its start: it may
    be about to leave another motion.
    """
    k = np.clip(np.searchsorted(path.times, t, side='right') - 1, 0, len(path.times) - 2)
    T = (path.times[k + 1] - path.times[k])[:, None, None]
    scale = T ** np.arange(3)[:, None]
    c = COEFFICIENTS @ np.concatenate([path.states[k] * scale, path.states[k + 1] * scale], axis=1)
    s = ((t - path.times[k])[:, None, None] / T)
    states = np.concatenate([
        s**POWERS @ c, POWERS[1:] * s**POWERS[:5] @ c[:, 1:] / T,
        POWERS[2:] * POWERS[1:5] * s**POWERS[:4] @ c[:, 2:] / T**2], axis=1)
    before, after = t <= path.times[0], t >= path.times[-1]
    dt = (t[before] - path.times[0])[:, None, None]
    one, none = np.ones_like(dt), np.zeros_like(dt)
    states[before] = np.block([[one, dt, 0.5 * dt * dt], [none, one, dt],
                               [none, none, one]]) @ path.states[0]
    states[after] = np.array([path.states[-1, 0], *np.zeros((2, len(path.names)))])
    return states


def state_at(path: Path3, t: float) -> np.ndarray:
    """Return q, qd, qdd (3, n) at time t, as `states_at`."""
    return states_at(path, np.array([t]))[0]


@cache
def _limits(text: str) -> dict[str, tuple[float, ...]]:
    """Return lower, upper, velocity, acceleration and jerk limit of joints of a URDF, by name."""
    rows = {}
    for joint in ET.fromstring(text).iter('joint'):
        limit = joint.find('limit')
        limited = joint.get('type') != 'continuous' and limit is not None
        rows[joint.get('name')] = (
            float(limit.get('lower', 0.0)) if limited else -np.inf,
            float(limit.get('upper', 0.0)) if limited else np.inf,
            *(min(np.inf if limit is None else float(limit.get(key, np.inf)) for key in keys)
              for keys in (('velocity',), ('acceleration', 'deceleration'), ('jerk',))))
    return rows


def bounds_of(urdf: Path, joints, velocity=(), acceleration=(), jerk=()) -> Bounds:
    """Return the bounds of joints from a URDF file and the numbers of the node's parameters."""
    rows = _limits(urdf.read_text())
    lower, upper, *from_urdf = (np.array(column) for column in zip(*(rows[j] for j in joints)))
    each = [np.broadcast_to(velocity or from_urdf[0], lower.shape)]
    for own, given, default in zip(from_urdf[1:], (acceleration, jerk), (2.0, 20.0)):
        each.append(np.minimum(own, given) if given else np.where(np.isinf(own), default, own))
    return Bounds(lower, upper, *each)
