# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How fast the tip moves, and how fast it may."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_node.errors import ParameterError
from ik_node.kinematics import kernels
from ik_node.model.chain import Chain
from ik_node.motion.interpolation import positions_at
from ik_node.motion.trajectory import Trajectory

MOST_POINTS = 200
CLOSEST = 0.01  # s


def tip_path(chain: Chain, trajectory: Trajectory) -> np.ndarray:
    """Return at most MOST_POINTS positions (N, 3) of the tip, m, evenly in time along a motion."""
    count = int(np.clip(trajectory.duration / CLOSEST, 2, MOST_POINTS))
    q = positions_at(trajectory, np.linspace(0.0, trajectory.duration, count))
    poses = np.empty((count, 12))
    kernels.tip_poses(chain.table, np.ascontiguousarray(q), poses)
    return poses[:, 9:]


def tip_rates(chain: Chain, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the speed (m/s) and the rate of turn (rad/s) of the tip, each (k,).

    Parameters
    ----------
    q, qd : (k, n) arrays
        Rad or m, and per s.

    """
    rates = np.empty((len(q), 2))
    kernels.tip_rates(chain.table, np.ascontiguousarray(q, dtype=float),
                      np.ascontiguousarray(qd, dtype=float), rates)
    return rates[:, 0], rates[:, 1]


@dataclass(frozen=True, eq=False)
class TipLimits:
    """
    How fast the tip of a chain may be.

    ``speed`` in m/s and ``turn`` in rad/s, infinite where there is no limit.

    Raises
    ------
    ParameterError
        If one is not positive.

    """

    chain: Chain
    speed: float = np.inf
    turn: float = np.inf

    def __post_init__(self) -> None:
        for name, value in (('speed', self.speed), ('turn', self.turn)):
            if not value > 0.0:
                raise ParameterError(f'the limit of the tip\'s {name} is {value:g}; it must be '
                                     'positive')

    def shares(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return how much of its limits the tip uses, (k,), 1 = all, at `q`, `qd` (k, n)."""
        speed, turn = tip_rates(self.chain, q, qd)
        return np.maximum(speed / self.speed, turn / self.turn)

    def __str__(self) -> str:
        return f'{self.speed:g} m/s and {self.turn:g} rad/s'
