# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled error of a pose against a goal with tolerances, and the Jacobian of that error.

Layout of a goal, (19,): see :mod:`ik_node.solver.descent.layout`.
"""

from __future__ import annotations

from math import cos, sin, sqrt

from ik_node.kinematics.kernels import inner, pose_error
from ik_node.solver.descent.layout import (
    EXACT_POSE,
    GOAL_POSITION,
    HALF_WIDTHS,
    TIP_AXES,
    TOLERANCE_AXES,
)


@inner
def fill_goal(T, box, goal):
    """Write a goal from its matrix (16,), row by row, and its box (7,): half-widths, axes."""
    for i in range(3):
        for j in range(3):
            goal[3 * i + j] = T[4 * i + j]
        goal[GOAL_POSITION + i] = T[4 * i + 3]
    for i in range(7):
        goal[HALF_WIDTHS + i] = box[i]


@inner
def residual(goal, tip, length, e, D):
    """
    Remaining error of the tip, and the map from a twist of the tip to its change.

    Without a box ``e = [p_goal - p; length * log(R_goal R^T)]`` in the base frame.
    With a box, e is the part of ``-deviation`` outside it, in the axes of the box,
    and `D` maps a twist in the base frame to the change of the deviation, its
    rotation part by the inverse left Jacobian of SO(3) (Sola et al. 2018, eq. 146);
    rows of axes inside the box are zero.

    Parameters
    ----------
    goal : (19,) array
    tip : (12,) array
    length : float
        Weight, metres per radian.
    e : (6,) array, written
    D : (6, 3) array, written
        Rows 0-2 act on the linear part of a twist, rows 3-5 on the angular part;
        written only if the goal has a box.

    Returns
    -------
    (float, float)
        Distance (m) and angle (rad) outside the box.

    """
    axes = goal[TOLERANCE_AXES]
    position, angle = pose_error(goal, tip, e)
    if axes == EXACT_POSE:
        for i in range(3, 6):
            e[i] *= length
        return position, angle
    if axes == TIP_AXES:
        for h in range(0, 6, 3):
            x, y, z = e[h], e[h + 1], e[h + 2]
            for i in range(3):
                e[h + i] = goal[i] * x + goal[3 + i] * y + goal[6 + i] * z
    x, y, z = e[3], e[4], e[5]
    # 1/angle^2 - (1 + cos)/(2 angle sin), in a form that stays finite at pi
    c = 1.0 / 12.0
    if angle > 1e-4:
        half = 0.5 * angle
        c = (1.0 - half * cos(half) / sin(half)) / (angle * angle)
    # J_l^-1(-e) = I + [e]/2 + c [e]^2
    square = x * x + y * y + z * z
    L = ((1.0 + c * (x * x - square), c * x * y - 0.5 * z, c * x * z + 0.5 * y),
         (c * x * y + 0.5 * z, 1.0 + c * (y * y - square), c * y * z - 0.5 * x),
         (c * x * z - 0.5 * y, c * y * z + 0.5 * x, 1.0 + c * (z * z - square)))
    for i in range(3):
        for j in range(3):
            if axes == TIP_AXES:
                D[i, j] = goal[3 * j + i]
                D[3 + i, j] = (L[i][0] * goal[3 * j] + L[i][1] * goal[3 * j + 1]
                               + L[i][2] * goal[3 * j + 2])
            else:
                D[i, j] = 1.0 if i == j else 0.0
                D[3 + i, j] = L[i][j]
    for i in range(6):
        width = goal[HALF_WIDTHS + i]
        if abs(e[i]) > width:
            e[i] -= width if e[i] > 0.0 else -width
        elif width > 0.0:
            e[i] = 0.0
            D[i, 0], D[i, 1], D[i, 2] = 0.0, 0.0, 0.0
    position = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
    angle = sqrt(e[3] * e[3] + e[4] * e[4] + e[5] * e[5])
    for i in range(3, 6):
        e[i] *= length
    return position, angle


@inner
def task_columns(D, columns):
    """Multiply the columns (n, 6) of the Jacobian by D: from twists to changes of the residual."""
    for k in range(columns.shape[0]):
        for h in range(0, 6, 3):
            x, y, z = columns[k, h], columns[k, h + 1], columns[k, h + 2]
            for i in range(h, h + 3):
                columns[k, i] = D[i, 0] * x + D[i, 1] * y + D[i, 2] * z
