# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The least shift and the least turn of a goal, by SLSQP over Pinocchio's kinematics."""

from answers import tip_jacobian, tip_pose
import numpy as np
import pinocchio as pin
import robots

CLOSE = 1e-5  # m and rad, of what is kept


def least_shift(name, T, starts):
    """Return the least distance (m) at which the orientation of T is reached; inf if not found."""
    return _least(name, starts, *_offset(name, T), *_rotation(name, T))


def least_turn(name, T, starts):
    """Return the least angle (rad) at which the position of T is reached; inf if not found."""
    return _least(name, starts, *_rotation(name, T), *_offset(name, T))


def _offset(name, T):
    """Return the offset of the tip from T (m), and its Jacobian, as functions of q."""
    return (lambda q: tip_pose(name, q)[:3, 3] - T[:3, 3], lambda q: tip_jacobian(name, q)[:3])


def _rotation(name, T):
    """Return the rotation vector of the tip from T (rad), and its Jacobian, as functions of q."""
    def turned(q):
        return tip_pose(name, q)[:3, :3] @ T[:3, :3].T

    def slope(q):
        R = turned(q)
        return pin.Jlog3(R) @ R.T @ tip_jacobian(name, q)[3:]
    return lambda q: pin.log3(turned(q)), slope


def _least(name, starts, small, small_slope, zero, zero_slope):
    from scipy.optimize import minimize
    chain = robots.chain(name)
    bounds = [(low if np.isfinite(low) else None, high if np.isfinite(high) else None)
              for low, high in zip(chain.lower, chain.upper)]
    least = np.inf
    for q in starts:
        found = minimize(lambda x: small(x) @ small(x), q,
                         jac=lambda x: 2.0 * small_slope(x).T @ small(x), bounds=bounds,
                         constraints={'type': 'eq', 'fun': zero, 'jac': zero_slope},
                         method='SLSQP', options={'maxiter': 150, 'ftol': 1e-12})
        q = np.clip(found.x, chain.lower, chain.upper)
        if np.linalg.norm(zero(q)) < CLOSE:
            least = min(least, float(np.linalg.norm(small(q))))
    return least
