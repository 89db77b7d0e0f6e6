# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The error of a posture and its exact Jacobian, used by all methods.

The deviation of the tip from the goal is ``d = A [p - p_goal; log(R R_goal^T)]``,
with A the axes in which the goal states its tolerances.  The error of a row outside
its tolerance is the correction to the nearest bound of the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ik_node.base.se3 import hat, pose, rotation_about
from ik_node.kinematics import kernels
from ik_node.kinematics.kernels import pose_matrix, pose_row
from ik_node.model.chain import Chain
from ik_node.model.joints import Bounds
from ik_node.solver.goal import Goal


@dataclass(frozen=True, eq=False)
class TaskPoint:
    """The error of one posture, with r rows outside their tolerance."""

    q: np.ndarray
    """(n,), joint positions, rad or m."""
    frames: np.ndarray
    """(m + 1, 12), joint frames and tip in the base frame, from ``kernels.joint_frames``."""
    rows: np.ndarray
    """(6,) bool, the task rows outside their tolerance."""
    e: np.ndarray
    """(r,), corrections to the tolerance (m); orientation rows are multiplied by
    metres_per_radian."""
    J: np.ndarray
    """(r, n), Jacobian of the deviation: a step dq changes e to ``e - J dq``, to first order."""
    position_error: float
    """Length of the correction in position, m."""
    orientation_error: float
    """Length of the correction in orientation, rad."""


class Task:
    """
    A goal for a chain.

    Parameters
    ----------
    chain : Chain
    goal : Goal
    metres_per_radian : float
        Weight of the orientation rows relative to the position rows.

    Attributes
    ----------
    axes : (3, 3) array
        Transforms base coordinates to the axes of the tolerances.
    weights : (6,) array
        1 for position rows, metres_per_radian for orientation rows.
    finite : (6,) array of bool
        The rows that are not free.

    """

    def __init__(self, chain: Chain, goal: Goal, metres_per_radian: float) -> None:
        self.chain = chain
        self.goal = goal
        self.tolerance = np.asarray(goal.tolerance, dtype=float)
        self.axes = np.eye(3) if goal.frame == 'base' else goal.T_base_tip[:3, :3].T
        self.weights = np.repeat([1.0, metres_per_radian], 3)
        self.finite = np.isfinite(self.tolerance)
        self._goal_row = kernels.pose_row(goal.T_base_tip)

    def frames(self, q: np.ndarray) -> np.ndarray:
        """Return the poses of the joint frames and of the tip at `q`, (m + 1, 12)."""
        frames = np.empty((len(self.chain.table), 12))
        kernels.joint_frames(self.chain.table, q, frames)
        return frames

    def error_twist(self, frames: np.ndarray) -> np.ndarray:
        """Return ``[p_goal - p; log(R_goal R^T)]`` (6,) in the base frame, m and rad."""
        twist = np.empty(6)
        kernels.pose_error(self._goal_row, frames[-1], twist)
        return twist

    def geometric_jacobian(self, frames: np.ndarray) -> np.ndarray:
        """Return the Jacobian (6, n) of the last frame's origin, in the base frame, m and rad."""
        columns = np.empty((self.chain.n, 6))
        kernels.jacobian_columns(self.chain.table, frames, 1.0, columns)
        return columns.T.copy()

    def at(self, q: np.ndarray) -> TaskPoint:
        """Return the error and the Jacobian at `q` (n,)."""
        frames = self.frames(q)
        twist = self.error_twist(frames)
        deviation = -self._in_axes(twist)
        correction = np.clip(deviation, -self.tolerance, self.tolerance) - deviation
        rows = (correction != 0.0) | (self.tolerance == 0.0)
        J = self.jacobian(frames, twist)
        return TaskPoint(q, frames, rows, (self.weights * correction)[rows], J[rows],
                         float(np.linalg.norm(correction[:3])),
                         float(np.linalg.norm(correction[3:])))

    def jacobian(self, frames: np.ndarray, twist: np.ndarray) -> np.ndarray:
        """
        Return the Jacobian (6, n) of the weighted deviation, exact at any distance.

        The geometric Jacobian gives the angular velocity; the inverse of the left
        Jacobian of SO(3) converts it to the rate of the rotation vector.
        """
        return self.of_deviation(self.geometric_jacobian(frames), twist)

    def of_deviation(self, J: np.ndarray, twist: np.ndarray) -> np.ndarray:
        """Return the geometric Jacobian (6, n) as the one of :meth:`jacobian`."""
        J = J.copy()
        if self.finite[3:].any():  # other angular rows are left out
            J[3:] = left_jacobian_inverse(-twist[3:]) @ J[3:]
        return self.weights[:, None] * self._in_axes(J)

    def _in_axes(self, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([self.axes @ rows[:3], self.axes @ rows[3:]])


def left_jacobian_inverse(phi: np.ndarray) -> np.ndarray:
    """
    Return the matrix (3, 3) from angular velocity to the rate of the rotation vector.

    With ``R = exp(phi)`` and its angular velocity ``omega`` in fixed axes,
    ``d phi/dt = (I - [phi]/2 + c [phi]^2) omega``,
    ``c = 1/a^2 - cot(a/2)/(2 a)``, ``a = |phi|``; for ``omega`` in the axes of R it is
    the transpose (Solà, Deray and Atchuthan 2018, "A micro Lie theory for state
    estimation in robotics", eq. 146).

    Parameters
    ----------
    phi : (3,) array
        Rotation vector, rad, at most pi long.

    """
    K = hat(phi)
    angle = np.linalg.norm(phi)
    if angle < 1e-3:
        c = 1.0 / 12.0
    else:
        c = 1.0 / angle**2 - 0.5 / (angle * np.tan(0.5 * angle))
    return np.eye(3) - 0.5 * K + c * (K @ K)


def hold(chain: Chain, q: np.ndarray, free: np.ndarray) -> Chain:
    """
    Return the chain of the free joints; the locked joints become part of the links.

    Parameters
    ----------
    q : (n,) array
        Positions of the locked joints, rad or m; other entries are ignored.
    free : (n,) array of bool

    """
    z = np.array([0.0, 0.0, 1.0])
    new_index = np.cumsum(free) - 1
    offsets, joints, factors = [], [], []
    T = np.eye(4)
    for k, (prismatic, index) in enumerate(chain.joints):
        T = T @ pose_matrix(chain.offsets[k])
        if free[index]:
            offsets.append(pose_row(T))
            joints.append((prismatic, new_index[index]))
            factors.append(chain.factors[k])
            T = np.eye(4)
            continue
        value = chain.factors[k, 0] * q[index] + chain.factors[k, 1]
        T = T @ (pose(np.eye(3), value * z) if prismatic
                 else pose(rotation_about(z, value), np.zeros(3)))
    offsets.append(pose_row(T @ pose_matrix(chain.offsets[-1])))
    values = {field.name: getattr(chain, field.name) for field in fields(Chain)}
    for name in (*Bounds._fields, 'continuous', 'revolute'):
        values[name] = values[name][free]
    values |= {'joint_names': tuple(np.array(chain.joint_names)[free]),
               'offsets': np.array(offsets), 'joints': np.array(joints, dtype=np.int64),
               'factors': np.array(factors)}
    return Chain(**values)
