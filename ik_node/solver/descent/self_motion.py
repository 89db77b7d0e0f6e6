# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled walk along the self-motion of an arm with one redundant joint."""

from __future__ import annotations

from math import pi

import numpy as np

from ik_node.kinematics.kernels import compiled, copy, inner, jacobian_columns, joint_frames
from ik_node.solver.descent.damped import descend, LATE_STOP, SHORT_STEP
from ik_node.solver.descent.layout import (
    Attempt,
    BOX_WIDTHS,
    GOAL_SIZE,
    joint_rows,
    MAX_STEPS,
    workspace,
)
from ik_node.solver.descent.nullspace import null_basis
from ik_node.solver.descent.residual import fill_goal

MAX_HALVINGS = 4     # of a step that leads to no posture near its end
CLOSED_SHARE = 0.75  # of a step, within which the walk is back at its start
MIN_LOOP_STEPS = 4


@compiled
def walk(table, joints, settings, T, begin, sign, step, found):
    """
    Walk along the self-motion from a posture, by predictor and corrector.

    Parameters
    ----------
    table : (m + 1, 16) array
        Of the chain.
    joints : (7, n) array
        Joints of which lower and upper limit are one stay; one more moves than the tip needs.
    settings : (16,) array
    T : (16,) array
        The pose of the tip, row by row.
    begin : (n,) array
        Rad or m; it has that pose.
    sign : float
        In which of both directions.
    step : float
        Rad or m.
    found : (K, n) array, written
        The postures, `begin` first.

    Returns
    -------
    (int, bool)
        How many there are, and whether the last is back beside the first, whole turns left out.

    """
    n = begin.shape[0]
    rows, work, goal = joint_rows(joints), workspace(n, table.shape[0] - 1), np.empty(GOAL_SIZE)
    fill_goal(T, settings[BOX_WIDTHS:], goal)
    active, V = np.empty(n, dtype=np.bool_), np.empty((6 + n, n))
    for k in range(n):
        active[k] = rows.lower[k] < rows.upper[k]
    along, before, q = np.zeros(n), np.zeros(n), np.empty(n)
    copy(begin, found[0])
    attempt = Attempt(LATE_STOP, SHORT_STEP, settings[MAX_STEPS], False)
    for count in range(1, found.shape[0]):
        here = found[count - 1]
        if not direction(table, here, active, work, V, along):
            return count, False
        turned = sign
        if count > 1:
            turned = 0.0
            for k in range(n):
                turned += along[k] * before[k]
        length, good = step, False
        for _ in range(MAX_HALVINGS):
            for k in range(n):
                q[k] = here[k] + (length if turned >= 0.0 else -length) * along[k]
            good = descend(table, rows, settings, goal, attempt, q, work).solved \
                and apart(q, here, rows.revolute) < 2.0 * length
            if good:
                break
            length *= 0.5
        if not good:
            return count, False
        for k in range(n):
            before[k] = q[k] - here[k]
        copy(q, found[count])
        if count >= MIN_LOOP_STEPS and apart(q, begin, rows.revolute) < CLOSED_SHARE * step:
            return count + 1, True
    return found.shape[0], False


@inner
def direction(table, q, active, work, V, along):
    """Write the direction (n,) in which q moves and leaves the tip; return if there is one."""
    joint_frames(table, q, work.frames)
    jacobian_columns(table, work.frames, 1.0, work.columns)
    rank, end = null_basis(work.columns, active, V)
    if end <= rank:
        return False
    copy(V[end - 1], along)
    return True


@inner
def apart(a, b, revolute):
    """Return the distance of two postures (n,), whole turns left out."""
    square = 0.0
    for k in range(a.shape[0]):
        d = a[k] - b[k]
        if revolute[k] != 0.0:
            d -= 2.0 * pi * np.round(d / (2.0 * pi))
        square += d * d
    return np.sqrt(square)
