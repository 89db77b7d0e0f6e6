# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Quantities of a motion over time, sampled between its points as well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_node.kinematics.arm import singular_values
from ik_node.model.chain import Chain
from ik_node.motion.trajectory.interpolation import Point, Sampler
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.tip_speed import tip_rates

SAMPLE_COUNT = 1000


@dataclass(frozen=True, eq=False)
class Curves:
    """
    Quantities of a motion at k times.

    Attributes
    ----------
    times : (k,) array
        s.
    q, qd, qdd : (k, n) arrays
        Rad or m, per s, per s^2.
    margin : (k, n) array
        Distance of each joint to its nearer position limit, rad or m; negative outside,
        infinite for a joint without limits.
    velocity_share, acceleration_share : (k, n) arrays
        Divided by the limit.
    tool_speed, tool_turn : (k,) arrays
        m/s, rad/s.
    manipulability, smallest_singular_value : (k,) arrays
        Yoshikawa (1985); linear rows in m, angular rows in rad.

    """

    times: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    margin: np.ndarray
    velocity_share: np.ndarray
    acceleration_share: np.ndarray
    tool_speed: np.ndarray
    tool_turn: np.ndarray
    manipulability: np.ndarray
    smallest_singular_value: np.ndarray


def make_curves(chain: Chain, points: list[Point], limits: MotionLimits) -> Curves:
    """
    Return the quantities of a motion from its first point to its last.

    Between the points, positions are interpolated as a joint trajectory controller does:
    linear, cubic or quintic, by what the points contain.
    """
    sampler = Sampler(points[1:], points[0], np.zeros(chain.n, dtype=bool))
    begin, end = points[0].time, points[-1].time
    # At the last instant the sampler is at rest; just before, the final velocity is seen.
    last = np.nextafter(end, begin)
    times = np.unique(np.concatenate([
        np.linspace(begin, last, SAMPLE_COUNT), [p.time for p in points[:-1]]]))
    states = [sampler.sample(float(t)) for t in times]
    q, qd, qdd = (np.array([getattr(state, name) for state in states])
                  for name in ('q', 'qd', 'qdd'))
    speed, turn = tip_rates(chain, q, qd)
    sigma = np.array([singular_values(chain, row) for row in q])
    return Curves(times, q, qd, qdd, np.minimum(q - chain.lower, chain.upper - q),
                  np.abs(qd) / limits.velocity, np.abs(qdd) / limits.acceleration, speed, turn,
                  sigma.prod(axis=1), sigma[:, -1])
