# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Path and speed of the tip during a motion."""

from __future__ import annotations

import numpy as np

from ik_node.kinematics import kernels
from ik_node.model.chain import Chain
from ik_node.motion.trajectory.interpolation import positions_at
from ik_node.motion.trajectory.limits import TipLimits
from ik_node.motion.trajectory.trajectory import Trajectory

MAX_TIP_POINTS = 200
TIP_POINT_PERIOD_S = 0.01


def tip_path(chain: Chain, trajectory: Trajectory) -> np.ndarray:
    """Return at most MAX_TIP_POINTS tip positions (N, 3), m, evenly spaced in time."""
    count = int(np.clip(trajectory.duration / TIP_POINT_PERIOD_S, 2, MAX_TIP_POINTS))
    q = positions_at(trajectory, np.linspace(0.0, trajectory.duration, count))
    poses = np.empty((count, 12))
    kernels.tip_poses(chain.table, np.ascontiguousarray(q), poses)
    return poses[:, 9:]


def tip_rates(chain: Chain, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return speed (m/s) and angular speed (rad/s) of the tip, each (k,).

    Parameters
    ----------
    q, qd : (k, n) arrays
        Rad or m, and per s.

    """
    rates = np.empty((len(q), 2))
    kernels.tip_rates(chain.table, np.ascontiguousarray(q, dtype=float),
                      np.ascontiguousarray(qd, dtype=float), rates)
    return rates[:, 0], rates[:, 1]


def speed_shares(chain: Chain, limits: TipLimits, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Return the share of its speed limits that the tip uses, (k,), 1 = all, at (k, n) states."""
    speed, angular_speed = tip_rates(chain, q, qd)
    return np.maximum(speed / limits.speed, angular_speed / limits.angular_speed)
