# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The straight wrist of an arm whose axes 2, 3, 4 and 6 are parallel.

These joints share one motion: with joints 1 and 5 where they must be, there is a posture for each
turn of link 4 about axis 2 within one or two arcs.  The one nearest to the seed is found.
"""

from __future__ import annotations

from math import cos, pi, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import inner, sine_cosine_within, small
from ik_node.solver.closed_form.subproblems import (
    across,
    cross,
    dot,
    MIN_SQUARED_RADIUS,
    MISSED_ROOT_SHARE,
    turn_inside,
    unit_angle,
)

FREE_TURNS = 8             # of link 4 about axis 2 that are tried on each of two arcs
LAST_TURN_STEP_RAD = 1e-3  # a step so small is the last one of Newton's method
MIN_TURN_STEP_RAD = 1e-4   # the same where a limit is approached
MAX_TURN_STEP_RAD = 0.4
MAX_TURN_STEPS = 40
MAX_ROOM_SHARE = 0.75      # of the way to where a step has failed, beyond which it is halved
MAX_STARTS = 5             # of Newton's method
SIDE_TURNS = 2 * FREE_TURNS
CHEBYSHEV_POINTS = tuple(cos(pi * (k + 0.5) / FREE_TURNS) for k in range(FREE_TURNS))
TURN_ROW, SQUARE_ROW, SLOPE_ROW, BEND_ROW, PROMISE_ROW = range(5)  # of the turns that are tried


class FreeWrist(NamedTuple):
    """
    An arm with a straight wrist, and a seed.

    Complex numbers are vectors in the plane across the parallel axes, m, in the frame of link 1.
    """

    wrist: complex  # from axis 2 to axis 6
    hand: complex   # from axis 4 to axis 6, for a link 4 not turned about axis 2
    # upper, lower: distances of axes 2 and 3, and 3 and 4, m
    upper: float
    lower: float
    direction: complex  # from axis 3 to axis 4, of length 1, for a link 3 not turned about axis 2
    ways: tuple         # (3,), 1 if axis 3, 4 or 6 points the same way as axis 2, else -1
    sixth: float        # joint 6 for a link 4 not turned about axis 2, rad
    apart: float        # squared distance of joints 1 and 5 from the seed, rad^2
    # seed, least, most: (4,), of joints 2, 3, 4 and 6: the seed and the limits, rad
    seed: tuple
    least: tuple
    most: tuple


class FreeTurn(NamedTuple):
    """A turn of link 4 about axis 2, and what it means for a FreeWrist."""

    turn: float  # rad
    side: float  # 1 or -1, of the elbow
    # Squared distance of the posture from the seed, rad^2; infinite if there is none inside the
    # limits.
    square: float
    slope: float  # its derivative by the turn
    bend: float   # the second, or what Newton's method takes for it


NO_TURN = FreeTurn(0.0, 0.0, np.inf, 0.0, 1.0)


@inner
def free_joints(row):
    """Return the values of joints 2, 3, 4 and 6 of a row of six."""
    return (row[1], row[2], row[3], row[5])


@inner
def in_plane(v, x, y):
    """Return a vector in the plane of two unit vectors."""
    return complex(dot(v, x), dot(v, y))


@inner
def length(z):
    """Return the absolute value of a complex number, of a moderate size."""
    return sqrt(z.real * z.real + z.imag * z.imag)


@inner
def free_wrist(h, links, ways, sixth, apart, joints, q):
    """
    Return a FreeWrist.

    Parameters
    ----------
    h : (3,) tuple
        Axis 2.
    links : four (3,) tuples
        From axis 2 to 3, 3 to 4 and 4 to 6, and from axis 2 to 6 at the goal, m.
    ways, sixth, apart
        As of a FreeWrist.
    joints : JointRows
    q : (6,) array
        The seed.

    """
    x = across(h, links[0])
    upper = sqrt(dot(x, x))
    x = (x[0] / upper, x[1] / upper, x[2] / upper)
    y = cross(h, x)
    fore = in_plane(links[1], x, y)
    lower = length(fore)
    return FreeWrist(in_plane(links[3], x, y), in_plane(links[2], x, y), upper, lower,
                     fore * (1.0 / lower), ways, sixth, apart, free_joints(q),
                     free_joints(joints.lower), free_joints(joints.upper))


@small
def turned_wrist(free, turn, side):
    """
    Place joints 2, 3, 4 and 6 for a turn (rad) of link 4 about axis 2, and a side of the elbow.

    Without branches: in a loop, LLVM computes as many turns at once as fit into a register.

    Returns
    -------
    FreeTurn
    (4,) tuple
        The joint positions, rad.

    """
    way3, way4, way6 = free.ways
    seed, least, most = free.seed, free.least, free.most
    sine, cosine = sine_cosine_within(turn)
    r = free.hand * complex(cosine, sine)
    d = free.wrist - r
    square = d.real * d.real + d.imag * d.imag
    bent = (square - free.upper**2 - free.lower**2) / (2.0 * free.upper * free.lower)
    rest = 1.0 - bent * bent
    elbow = complex(min(max(bent, -1.0), 1.0), side * sqrt(max(rest, 0.0)))
    # Links 2 and 3 turned about axis 2, and 3 about axis 3.
    second = d * (free.upper + free.lower * elbow.conjugate()) \
        * (1.0 / max(square, MIN_SQUARED_RADIUS))
    third = elbow * free.direction.conjugate()
    q2, q3 = unit_angle(second.imag, second.real), unit_angle(third.imag, third.real)
    inside2, x2 = turn_inside(q2, seed[0], least[0], most[0])
    inside3, x3 = turn_inside(way3 * q3, seed[1], least[1], most[1])
    inside4, x4 = turn_inside(way4 * (turn - q2 - q3), seed[2], least[2], most[2])
    inside6, x6 = turn_inside(free.sixth - way6 * turn, seed[3], least[3], most[3])
    possible = (rest > -MISSED_ROOT_SHARE) & (square > MIN_SQUARED_RADIUS) \
        & inside2 & inside3 & inside4 & inside6
    # d changes by -i r, by i d for each radian of joint 2, and by i a for each of joint 3.
    a = d - free.upper * second
    area = d.real * a.imag - d.imag * a.real
    scale = 1.0 / area if area != 0.0 else 0.0
    rate2 = (a.real * r.imag - a.imag * r.real) * scale
    rate3 = (r.real * d.imag - r.imag * d.real) * scale
    rate4 = way4 * (1.0 - rate2 - rate3)
    rate3 *= way3
    y2, y3, y4, y6 = x2 - seed[0], x3 - seed[1], x4 - seed[2], x6 - seed[3]
    return (FreeTurn(
        turn, side,
        free.apart + y2 * y2 + y3 * y3 + y4 * y4 + y6 * y6 if possible else np.inf,
        2.0 * (y2 * rate2 + y3 * rate3 + y4 * rate4 - y6 * way6),
        2.0 * (rate2 * rate2 + rate3 * rate3 + rate4 * rate4 + 1.0)), (x2, x3, x4, x6))


@inner
def newton_turn(at):
    """Return the step of Newton's method, rad."""
    return min(max(-at.slope / at.bend, -MAX_TURN_STEP_RAD), MAX_TURN_STEP_RAD)


@inner
def promise(at):
    """Return what the square would be after the step of Newton's method."""
    step = newton_turn(at)
    return at.square + step * (at.slope + 0.5 * at.bend * step)


@inner
def best_turn_from(free, at):
    """
    Return the FreeTurn with the least square near one that is given, but for one step.

    By Newton's method; a step that led over a limit, or too far, is not taken as far again.
    """
    wall = np.nan  # the turn to which the last such step led
    for _ in range(MAX_TURN_STEPS):
        step, room, least = newton_turn(at), wall - at.turn, LAST_TURN_STEP_RAD
        if step * room > 0.0 and abs(step) > MAX_ROOM_SHARE * abs(room):
            step, least = 0.5 * room, MIN_TURN_STEP_RAD
        if not abs(step) > least:
            break
        ahead, _ = turned_wrist(free, at.turn + step, at.side)
        if not ahead.square < at.square:
            wall = ahead.turn
            continue
        bend = (ahead.slope - at.slope) / step
        at = FreeTurn(ahead.turn, ahead.side, ahead.square, ahead.slope,
                      bend if bend > 0.0 else ahead.bend)
    return at


@inner
def angle_of(cosine):
    """Return the angle, 0 to pi, whose cosine is nearest to a number."""
    cosine = min(max(cosine, -1.0), 1.0)
    return unit_angle(sqrt(1.0 - cosine * cosine), cosine)


@inner
def try_turns(free, tried):
    """
    Write the turns from which the best one is sought, and what they mean.

    There is a posture for the turns on two arcs to either side of the one that brings axis 4
    nearest to axis 2.  They are tried where Chebyshev's points are, which are denser at the ends,
    where joints 2 and 3 move fast.

    Parameters
    ----------
    free : FreeWrist
    tried : (5, 32) array, written
        The turns with the elbow on one side, then the same with it on the other.

    """
    product = length(free.wrist) * length(free.hand)
    centre, begin, end = 0.0, 0.0, pi
    if product > MIN_SQUARED_RADIUS:
        nearest = free.wrist * free.hand.conjugate() * (1.0 / product)
        centre = unit_angle(nearest.imag, nearest.real)
        square = length(free.wrist)**2 + length(free.hand)**2
        begin = angle_of((square - (free.upper - free.lower)**2) * (0.5 / product))
        end = angle_of((square - (free.upper + free.lower)**2) * (0.5 / product))
    for k in range(FREE_TURNS):
        offset = 0.5 * (begin + end) + 0.5 * (end - begin) * CHEBYSHEV_POINTS[k]
        for side in range(2):
            tried[TURN_ROW, side * SIDE_TURNS + k] = centre + offset
            tried[TURN_ROW, side * SIDE_TURNS + FREE_TURNS + k] = centre - offset
    for k in range(SIDE_TURNS):
        turn = tried[TURN_ROW, k]
        write_turn(turned_wrist(free, turn, 1.0)[0], tried, k)
        write_turn(turned_wrist(free, turn, -1.0)[0], tried, SIDE_TURNS + k)


@small
def write_turn(at, tried, k):
    """Write what a FreeTurn means into a column."""
    tried[SQUARE_ROW, k], tried[SLOPE_ROW, k] = at.square, at.slope
    tried[BEND_ROW, k], tried[PROMISE_ROW, k] = at.bend, promise(at)


@inner
def take_start(tried, columns, least):
    """
    Return the turn that promises the least square, below `least`; a square of inf if none does.

    It and the one before and after it on its arc promise nothing from then on.

    Parameters
    ----------
    tried : (5, 32) array, written
    columns : (2,) tuple
        The first one that is looked at, and the first one after these.
    least : float
        rad^2

    """
    best = -1
    for k in range(columns[0], columns[1]):
        if tried[PROMISE_ROW, k] < least:
            best, least = k, tried[PROMISE_ROW, k]
    if best < 0:
        return NO_TURN
    for k in range(max(best - 1, columns[0]), min(best + 2, columns[1])):
        if k // FREE_TURNS == best // FREE_TURNS:
            tried[PROMISE_ROW, k] = np.inf
    return FreeTurn(tried[TURN_ROW, best], side_of(best), tried[SQUARE_ROW, best],
                    tried[SLOPE_ROW, best], tried[BEND_ROW, best])


@inner
def side_of(column):
    """Return the side of the elbow in a column of the turns."""
    return 1.0 if column < SIDE_TURNS else -1.0


@inner
def slide_wrist(free, tried, columns, branch):
    """
    Find the posture of a FreeWrist that is nearest to the seed, from the most promising turns.

    Parameters
    ----------
    free : FreeWrist
    tried : (5, 32) array, written
        See :func:`try_turns`.
    columns : (2,) tuple
        Of `tried`: see :func:`take_start`.
    branch : (6,) array, joints 2, 3, 4 and 6 are written

    Returns
    -------
    bool
        Whether there is one.

    """
    best = NO_TURN
    for _ in range(MAX_STARTS):
        start = take_start(tried, columns, best.square)
        if start.square == np.inf:
            break
        end = best_turn_from(free, start)
        best = end if end.square < best.square else best
    if best.square == np.inf:
        return False
    last, q = turned_wrist(free, best.turn + newton_turn(best), best.side)
    if not last.square < best.square:
        last, q = turned_wrist(free, best.turn, best.side)
    branch[1], branch[2], branch[3], branch[5] = q
    return True
