# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How near an arm gets to a pose, and how far it reaches, by scipy over Pinocchio's kinematics."""

from functools import lru_cache

from answers import tip_jacobian, tip_pose
import numpy as np
import pinocchio as pin
import robots

LENGTH = 0.3  # m per rad, the default of metres_per_radian


def improve(name, T, q, rows=6, limits=True):
    """Return the weighted distance (m) from T that scipy's bounded least squares ends at."""
    chain = robots.chain(name)
    weight = np.repeat([1.0, LENGTH], 3)[:rows]

    def residual(x):
        X = tip_pose(name, x)
        turn = pin.log3(X[:3, :3] @ T[:3, :3].T)
        return weight * np.concatenate([X[:3, 3] - T[:3, 3], turn])[:rows]

    def slope(x):
        J, X = tip_jacobian(name, x), tip_pose(name, x)
        R = X[:3, :3] @ T[:3, :3].T
        return weight[:, None] * np.vstack([J[:3], pin.Jlog3(R) @ R.T @ J[3:]])[:rows]
    bounds = (chain.lower - 1e-9, chain.upper + 1e-9) if limits else (-np.inf, np.inf)
    from scipy.optimize import least_squares
    return np.sqrt(2.0 * least_squares(residual, q, slope, bounds, xtol=1e-12, ftol=1e-12,
                                       gtol=1e-12, max_nfev=300).cost)


def brute_force(name, T, rows=6, limits=True, starts=10):
    """Return the smallest distance of several starts."""
    return min(improve(name, T, q, rows, limits)
               for q in robots.random_postures(robots.chain(name), starts, 80))


@lru_cache(maxsize=None)
def stretched(name):
    """Return the position of the tip farthest away from the first joint, by brute force."""
    from scipy.optimize import least_squares
    chain = robots.chain(name)
    first = chain.offsets[0, 9:]
    far = max(robots.random_postures(chain, 3000, 81),
              key=lambda q: np.linalg.norm(tip_pose(name, q)[:3, 3] - first))
    T = np.eye(4)
    for _ in range(3):  # the nearest point to one that is farther out in that direction
        p = tip_pose(name, far)[:3, 3]
        T[:3, 3] = first + 3.0 * (p - first)
        found = least_squares(lambda x: tip_pose(name, x)[:3, 3] - T[:3, 3], far,
                              lambda x: tip_jacobian(name, x)[:3],
                              (chain.lower - 1e-9, chain.upper + 1e-9), xtol=1e-14, ftol=1e-14)
        far = found.x
    return tip_pose(name, far)[:3, 3]
