# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What others need for the same motion: ruckig, toppra, the Robotics Toolbox."""

from __future__ import annotations

import logging

import numpy as np
import ruckig

from ik_node.motion.tool_path.path import ToolPath
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.solver.solver import Solver

try:
    import toppra
    from toppra import algorithm, constraint
    logging.getLogger('toppra').setLevel(logging.CRITICAL)
except ImportError:
    toppra = None
try:
    from roboticstoolbox import jtraj
except ImportError:
    jtraj = None

SPLINE_STEP = 0.005  # m of the path between two knots of toppra's spline
GRID = 8             # of toppra's nodes per knot


def by_ruckig(q_start: np.ndarray, q_goal: np.ndarray, limits: MotionLimits) -> float:
    """Return the duration (s) of ruckig's optimum from rest to rest."""
    n = len(q_start)
    request, motion = ruckig.InputParameter(n), ruckig.Trajectory(n)
    request.current_position, request.target_position = list(q_start), list(q_goal)
    request.max_velocity = list(limits.velocity)
    request.max_acceleration = list(limits.acceleration)
    request.max_jerk = list(limits.jerk)
    ruckig.Ruckig(n).calculate(request, motion)
    return motion.duration


def by_jtraj(q_start: np.ndarray, q_goal: np.ndarray, limits: MotionLimits) -> float:
    """Return the duration (s) of the Toolbox's jtraj, made as short as the limits allow."""
    shape = jtraj(q_start, q_goal, np.linspace(0.0, 1.0, 501))
    jerk = np.gradient(shape.qdd, 1.0 / 500.0, axis=0)
    return float(max((np.abs(shape.qd) / limits.velocity).max(),
                     (np.abs(shape.qdd) / limits.acceleration).max() ** 0.5,
                     (np.abs(jerk) / limits.jerk).max() ** (1.0 / 3.0)))


def joint_path(solver: Solver, path: ToolPath, q: np.ndarray) -> list[np.ndarray]:
    """Return knots (k, 1 + n) of s and q along a path, for each part between two stops."""
    exact, parts = solver.changed(position_tolerance=1e-9, orientation_tolerance=1e-9), []
    for begin, end in zip(path.stops[:-1], path.stops[1:]):
        s = np.linspace(begin, end, max(12, int((end - begin) / SPLINE_STEP)))
        rows = []
        for T, at in zip(path.poses(s), s):
            q = exact.solve(T, q).q.copy()
            rows.append(np.append(at, q))
        parts.append(np.array(rows))
    return parts


def by_toppra(parts: list[np.ndarray], limits: MotionLimits) -> float:
    """Return the duration (s) of toppra's optimum through the knots, which knows no jerk."""
    both = [np.array([-x, x]).T for x in (limits.velocity, limits.acceleration)]
    rules = [constraint.JointVelocityConstraint(both[0]), constraint.JointAccelerationConstraint(
        both[1], discretization_scheme=constraint.DiscretizationType.Interpolation)]
    total = 0.0
    for part in parts:
        s = part[:, 0] - part[0, 0]
        path = toppra.SplineInterpolator(s, part[:, 1:])
        total += algorithm.TOPPRA(
            rules, path, gridpoints=np.linspace(0.0, s[-1], GRID * len(s)),
            parametrizer='ParametrizeConstAccel').compute_trajectory(0.0, 0.0).duration
    return total
