# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Proof that a timed trajectory keeps path constraints at every instant.

In the middle of an interval the rows and their rates are known.  By how much the pose of the tip
differs within the interval from what the rates say is bounded to the second order: the joints
turn by at most so much meanwhile, the tip is at most so far from their axes, and the second
derivative by two joints is at most that by the one farther out.  What that does not decide is
halved, as in :mod:`ik_node.collision.distances.certificate`.

A row that is not kept at the start may only come nearer to its bound; as it does, that has to
remain so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan2, pi, sin, sqrt
from typing import ClassVar

import numpy as np

from ik_node.base.errors import Reason
from ik_node.collision.distances.certificate import (
    deviations,
    interval_work,
    NO_SEGMENT,
    positions_at,
)
from ik_node.kinematics.arm import forward_kinematics
from ik_node.kinematics.kernels import compiled, inner, jacobian_columns, joint_frames, shared
from ik_node.model.chain import Chain
from ik_node.motion.constrained.constraint import (
    described_excess,
    most_excess,
    PathConstraint,
    SLACK,
)
from ik_node.motion.constrained.rows import (
    across,
    apart,
    axis_in_base,
    constraint_rows,
    constraint_work,
    DISTANCE_ROW,
    LINEAR_ROW,
    TILT_ROW,
    turned_point,
    write_gradient,
    write_values,
)
from ik_node.motion.trajectory.sampling import compiled_segments
from ik_node.motion.trajectory.trajectory import Trajectory

FIRST_INTERVAL_S = 0.1
SHORTEST_INTERVAL_S = 1e-5
NOT_KEPT, UNDECIDED, KEPT = -1, 0, 1  # of an interval
# Bound on the derivative of the inverse left Jacobian by the rotation vector, 1/rad, up to
# MAX_ANGLE_RAD.  The vector of a rotation by more than pi is longer in each component than the one
# below pi, of the other sign; rows bound both.
TURN_GROWTH = 1.6
MAX_ANGLE_RAD = pi + 0.5


@dataclass(frozen=True)
class Leaving:
    """Where a trajectory first leaves a constraint."""

    time: float   # s since it began
    words: str    # by how much
    reason: ClassVar[Reason] = Reason.CONSTRAINT


def certify_constraints(chain: Chain, constraints: Sequence[PathConstraint], begins: np.ndarray,
                        lengths: np.ndarray, c: np.ndarray, ends_within: bool = True) \
        -> Leaving | None:
    """
    Prove that a trajectory keeps constraints; None if it does.

    Parameters
    ----------
    begins, lengths : (k,) arrays
        Begin and duration of each segment (s).
    c : (6, k, n) array
        Polynomials, as for :func:`ik_node.collision.distances.certificate.certify`.
    ends_within : bool
        Whether one that begins outside has to come in.

    """
    if not constraints or not len(lengths):
        return None
    rows = constraint_rows(constraints)
    c = np.ascontiguousarray(c, dtype=float)
    segment, t = first_leaving(
        chain.table, rows, (np.ascontiguousarray(lengths, dtype=float), c), SHORTEST_INTERVAL_S,
        np.full(len(rows.kinds), np.inf), interval_work(chain.n),
        constraint_work(rows, chain.table, chain.n))
    kept = segment == NO_SEGMENT
    if kept:
        segment, t = len(lengths) - 1, float(lengths[-1])
    q = (c[:, segment] * t ** np.arange(6)[:, None]).sum(axis=0)
    what, most = most_excess(constraints, forward_kinematics(chain, q))
    if kept and (not ends_within or most <= SLACK):
        return None
    return Leaving(float(begins[segment]) + t, described_excess(what, most) if most > 0.0
                   else f'{what} cannot be proved to stay within its bound')


def is_kept(chain: Chain, constraints: Sequence[PathConstraint], trajectory: Trajectory,
            ends_within: bool = True) -> bool:
    """Return whether a trajectory is proved to keep constraints."""
    return not constraints or certify_constraints(
        chain, constraints, *compiled_segments(trajectory), ends_within) is None


@compiled
def first_leaving(table, rows, motion, shortest, least, intervals, work):
    """
    Find the first instant at which a row is not proved to be kept.

    Parameters
    ----------
    table : (m + 1, 16) array
        Of the chain.
    rows : ConstraintRows
    motion : ((k,) array, (6, k, n) array)
        Durations (s) and polynomials of its segments.
    shortest : float
        Half length (s) of an interval below which what is not decided counts as not kept.
    least : (r,) array, changed
        The least that was allowed before, m or rad above each bound; falls to what is at the
        start.
    intervals : IntervalWork
    work : ConstraintWork

    Returns
    -------
    (int, float)
        Segment (NO_SEGMENT if there is none), and time in it (s).

    """
    lengths, c = motion
    stack, q, away = intervals.stack, intervals.rows[0], intervals.rows[1:3]
    allowed = np.empty(rows.kinds.shape[0])
    positions_at(c, 0, 0.0, q)
    joint_frames(table, q, work.frames)
    write_values(rows, work.frames[-1], work)
    for j in range(allowed.shape[0]):
        outside = max(work.values[j], 0.0) if rows.comes_in[j] else 0.0
        least[j] = min(least[j], outside + rows.slack)
        allowed[j] = least[j]
    for segment in range(lengths.shape[0]):
        parts = int(np.ceil(lengths[segment] / FIRST_INTERVAL_S))
        for part in range(parts):
            h = 0.5 * lengths[segment] / parts
            stack[0, 0], stack[0, 1] = (2 * part + 1) * h, h
            count = 1
            while count > 0:
                count -= 1
                t, h = stack[count, 0], stack[count, 1]
                positions_at(c, segment, t, q)
                deviations(c, segment, t, h, away)
                verdict = interval_verdict(table, rows, allowed, q, away, work)
                if verdict == KEPT:
                    for j in range(allowed.shape[0]):
                        allowed[j] = min(allowed[j], max(work.values[j], 0.0) + rows.slack)
                    continue
                if verdict == NOT_KEPT or h < shortest or count + 2 > stack.shape[0]:
                    return segment, t
                h *= 0.5
                for sign in (1.0, -1.0):  # the earlier half is looked at first
                    stack[count, 0], stack[count, 1] = t + sign * h, h
                    count += 1
    return NO_SEGMENT, 0.0


@shared
def interval_verdict(table, rows, allowed, q, motion, work):
    """
    Return whether all rows are kept on an interval around q (n,).

    Parameters
    ----------
    allowed : (r,) array
        How far above its bound each row may be.
    motion : (2, n) array
        How far the joints go from the middle to the end on a straight line, with their signs; and
        how far they go from the middle at most.

    """
    joint_frames(table, q, work.frames)
    tip = work.frames[-1]
    write_values(rows, tip, work)
    least = np.inf
    for j in range(allowed.shape[0]):
        least = min(least, allowed[j])
        if work.values[j] > allowed[j]:
            return NOT_KEPT
    jacobian_columns(table, work.frames, 1.0, work.columns)
    shift, turn, turned = remainders(table, motion, work)
    for j in range(allowed.shape[0]):
        room = allowed[j] - work.values[j]
        if rows.kinds[j] == DISTANCE_ROW:
            if not distance_kept(rows, j, allowed[j], tip, motion, (shift, turn), work):
                return UNDECIDED
            continue
        if rows.kinds[j] == TILT_ROW:
            if not tilt_kept(rows, j, allowed[j], tip, motion, (turn, turned), work):
                return UNDECIDED
            continue
        write_gradient(rows, j, work, work.step)
        change = 0.0
        for i in range(q.shape[0]):
            change += work.step[i] * motion[0, i]
        c = rows.factors[j]
        if rows.kinds[j] == LINEAR_ROW:
            rest = shift * sqrt(c[9] ** 2 + c[10] ** 2 + c[11] ** 2)
            for k in range(3):
                rest += turn * sqrt(c[k] ** 2 + c[3 + k] ** 2 + c[6 + k] ** 2)
        else:
            r = work.rotation
            angle = sqrt(r[0] ** 2 + r[1] ** 2 + r[2] ** 2) + turned
            if angle > MAX_ANGLE_RAD or angle > pi and allowed[j] > least:
                return UNDECIDED  # from outside, each sign has a bound of its own
            growth = 1.0 if angle < 1e-3 else 0.5 * angle / sin(0.5 * angle)
            rest = growth * (turn + 0.5 * TURN_GROWTH * turned * turned)
        if abs(change) + rest > room:
            return UNDECIDED
    return KEPT


@inner
def remainders(table, motion, work):
    """
    Return by how much the tip leaves where its twist would bring it, m and rad, and how it turns.

    After the frames are placed.
    """
    m = table.shape[0] - 1
    tip, farther, shift, turned, bent = work.frames[m], 0.0, 0.0, 0.0, 0.0
    for k in range(m - 1, -1, -1):
        frame, joint, f = work.frames[k], int(table[k, 13]), abs(table[k, 14])
        most = f * motion[1, joint]
        apart = most - f * abs(motion[0, joint])
        reach = 1.0
        if table[k, 12] == 0.0:
            dx, dy, dz = tip[9] - frame[9], tip[10] - frame[10], tip[11] - frame[11]
            x = frame[5] * dz - frame[8] * dy
            y = frame[8] * dx - frame[2] * dz
            z = frame[2] * dy - frame[5] * dx
            reach = sqrt(x * x + y * y + z * z) + farther
            # By this joint twice, and with each one farther out.
            shift += most * (0.5 * reach * most + farther)
            bent += apart
            turned += most
        shift += reach * apart
        farther += reach * most
    return shift, bent + 0.5 * turned * turned, turned


@inner
def distance_kept(rows, j, allowed, tip, motion, rests, work):
    """Return whether a DISTANCE_ROW is kept on an interval; both ends, with balls around them."""
    c, v, w = rows.factors[j], work.twist, work.rotation
    for k in range(3):
        v[k] = w[k] = 0.0
        for i in range(motion.shape[1]):
            v[k] += work.columns[i, k] * motion[0, i]
            w[k] += work.columns[i, 3 + k] * motion[0, i]
    a, b, d = turned_point(tip, c)
    x, y, z = apart(tip, c, (a, b, d))
    dx, dy, dz = across(c, (v[0] + w[1] * d - w[2] * b, v[1] + w[2] * a - w[0] * d,
                            v[2] + w[0] * b - w[1] * a))
    rest = rests[0] + rests[1] * sqrt(a * a + b * b + d * d)
    for sign in (1.0, -1.0):
        far = sqrt((x + sign * dx) ** 2 + (y + sign * dy) ** 2 + (z + sign * dz) ** 2)
        if far + rest > rows.bounds[j] + allowed:
            return False
    return True


@inner
def tilt_kept(rows, j, allowed, tip, motion, turns, work):
    """Return whether a TILT_ROW is kept on an interval."""
    c, widest, (turn, turned) = rows.factors[j], rows.bounds[j] + allowed, turns
    if work.values[j] + turned <= allowed:
        return True
    if widest > 0.5 * pi:
        return False
    # The cone is convex: both ends of the straight line of the axis, with balls around them.
    x, y, z = axis_in_base(tip, c)
    wx = wy = wz = 0.0
    for i in range(motion.shape[1]):
        wx += work.columns[i, 3] * motion[0, i]
        wy += work.columns[i, 4] * motion[0, i]
        wz += work.columns[i, 5] * motion[0, i]
    dx, dy, dz = wy * z - wz * y, wz * x - wx * z, wx * y - wy * x
    for sign in (1.0, -1.0):
        ux, uy, uz = x + sign * dx, y + sign * dy, z + sign * dz
        a, b, d = c[1] * uz - c[2] * uy, c[2] * ux - c[0] * uz, c[0] * uy - c[1] * ux
        inside = widest - atan2(sqrt(a * a + b * b + d * d), c[0] * ux + c[1] * uy + c[2] * uz)
        if inside < 0.0 or turn > sqrt(ux * ux + uy * uy + uz * uz) * sin(min(inside, 0.5 * pi)):
            return False
    return True
