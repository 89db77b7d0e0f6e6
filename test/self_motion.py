# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The best posture on a self-motion, by brute force over Pinocchio's kinematics."""

from answers import deviation, task_jacobian, tip_pose
import numpy as np
import robots

STEP = 0.05      # rad or m, along a curve
STRIDE = 0.25    # of a random walk
WALKS, STEPS, EVERY = 3, 60, 15


class SelfMotion:
    """
    The postures of an arm inside its limits that meet a goal of exact and free axes.

    Parameters
    ----------
    name : str
        Of :data:`robots.ARMS`.
    goal : Goal
    preferred : (n,) array
        The measure of a posture is its distance to it, each joint by its range.

    """

    def __init__(self, name, goal, preferred):
        self.name, self.goal, self.preferred = name, goal, preferred
        self.chain = robots.chain(name)
        self.exact = [k for k, width in enumerate(goal.tolerance) if width == 0.0]
        self.width = np.where(self.chain.continuous, 2.0 * np.pi,
                              self.chain.upper - self.chain.lower)

    @property
    def dimensions(self):
        """Return how many joint motions the goal leaves free."""
        return self.chain.n - len(self.exact)

    def error(self, q):
        """Return the deviation of the exact axes."""
        return deviation(self.goal, tip_pose(self.name, q))[self.exact]

    def jacobian(self, q):
        """Return its derivative."""
        return task_jacobian(self.name, self.goal, q)[self.exact]

    def distance(self, q):
        """Return the normalised distance to the preferred posture."""
        return float(np.linalg.norm(self.chain.difference(q, self.preferred) / self.width))

    def inside(self, q):
        """Return whether a posture is inside the limits."""
        return (q >= self.chain.lower - 1e-9).all() and (q <= self.chain.upper + 1e-9).all()

    def best(self, q, seed=0):
        """Return the smallest distance met on the connected part that `q` lies on."""
        if self.dimensions == 1:
            points = self.curve(q)
            starts = [min(points, key=self.distance)]
        else:
            rng = np.random.default_rng(seed)
            starts = [point for _ in range(WALKS) for point in self.walk(q, rng)[::EVERY]]
        found = [self.lowest_near(start) for start in starts]
        if self.dimensions == 1:  # not to another curve
            found = [x for x in found if x is None or np.abs(x - starts[0]).max() < 2.0 * STEP]
        return min(self.distance(x) for x in [*starts, *found] if x is not None)

    def back(self, q):
        """Return the posture on the self-motion near `q`, by Newton steps; None if none."""
        for _ in range(8):
            error = self.error(q)
            if np.abs(error).max() < 1e-8:
                return q
            q = q - np.linalg.lstsq(self.jacobian(q), error, rcond=None)[0]
        return None

    def curve(self, start):
        """Return the points of a one-dimensional self-motion, both ways to a limit or round."""
        start = self.back(start)
        points = [start]
        for sign in (1.0, -1.0):
            q, tangent, step = start, sign * self.tangents(start)[-1], STEP
            while step > 1e-4 and len(points) < 3000:
                ahead = self.back(q + step * tangent)
                if ahead is None or np.abs(ahead - q - step * tangent).max() > 0.3 * step \
                        or not self.inside(ahead):
                    step *= 0.5
                    continue
                q, along = ahead, self.tangents(ahead)[-1]
                tangent = along if along @ tangent > 0.0 else -along
                points.append(q)
                step = min(STEP, 2.0 * step)
                round_ = np.abs(self.chain.difference(q, start)).max() < 0.6 * STEP
                if round_ and len(points) > 20:
                    return points
        return points

    def tangents(self, q):
        """Return an orthonormal basis of the null space, as rows."""
        J = self.jacobian(q)
        return np.linalg.svd(J)[2][len(J):]

    def walk(self, q, rng):
        """Return the points of a random walk in small steps."""
        points = [self.back(q)]
        for _ in range(STEPS):
            Z = self.tangents(points[-1])
            way = rng.normal(size=len(Z)) @ Z
            ahead = self.back(points[-1] + STRIDE * way / np.linalg.norm(way))
            if ahead is not None and self.inside(ahead) \
                    and np.abs(ahead - points[-1]).max() < 2.0 * STRIDE:
                points.append(ahead)
        return points

    def lowest_near(self, q):
        """Return the local minimum of the distance that scipy goes to from `q`; None if none."""
        from scipy.optimize import minimize
        bounds = [(low if np.isfinite(low) else None, high if np.isfinite(high) else None)
                  for low, high in zip(self.chain.lower, self.chain.upper)]

        def cost(x):
            away = self.chain.difference(x, self.preferred)
            return 0.5 * np.sum((away / self.width)**2), away / self.width**2
        with np.errstate(all='ignore'):
            x = minimize(cost, q, jac=True, bounds=bounds, method='SLSQP',
                         constraints={'type': 'eq', 'fun': self.error, 'jac': self.jacobian},
                         options={'maxiter': 100, 'ftol': 1e-10}).x
        x = np.clip(x, self.chain.lower, self.chain.upper)
        return x if np.abs(self.error(x)).max() < 1e-5 else None
