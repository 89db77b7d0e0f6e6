# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled subproblems of inverse kinematics, on sines and cosines instead of angles.

Paden (1986) and Kahan; numbered as in Elias and Wen, "IK-Geo" (2025).  A vector is a tuple of
three floats, and stays in registers.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import inner
from ik_node.solver.descent.layout import LIMIT_TOUCH

FULL_TURN = 2.0 * pi
# Vectors so short across the axis (m, or of directions) have no angle about it: the square of the
# radius, and that of the product of two of them.
MIN_SQUARED_RADIUS = 1e-20
MIN_SQUARED_PRODUCT = 1e-28
# atan x = x - x^3 (ATAN_TERMS[0] + ATAN_TERMS[1] x^2 + ...) for |x| < 7/16, as in fdlibm.
ATAN_TERMS = (
    3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01,
    -1.11111104054623557880e-01, 9.09088713343650656196e-02, -7.69187620504482999495e-02,
    6.66107313738753120669e-02, -5.83357013379057348645e-02, 4.97687799461593236017e-02,
    -3.65315727442169155270e-02, 1.62858201153657823623e-02)
DOUBLE_ROOT_SHARE = 1e-14  # of the squared radius: roots closer than this are one
MISSED_ROOT_SHARE = 1e-5   # the same on the other side: the closest approach is returned
CONSTANT_TOLERANCE = 1e-6  # m, or of directions, if the angle has no influence


@inner
def dot(a, b):
    """Return the scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inner
def cross(a, b):
    """Return the vector product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inner
def add(a, b):
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inner
def subtract(a, b):
    """Return a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inner
def negative(a):
    """Return -a."""
    return (-a[0], -a[1], -a[2])


@inner
def across(k, a):
    """Return the part of a that is perpendicular to the unit vector k."""
    along = dot(k, a)
    return (a[0] - along * k[0], a[1] - along * k[1], a[2] - along * k[2])


@inner
def rotate(k, sine, cosine, p):
    """Rotate p about the unit vector k (Rodrigues' formula)."""
    x = cross(k, p)
    along = dot(k, p) * (1.0 - cosine)
    return (p[0] * cosine + x[0] * sine + k[0] * along,
            p[1] * cosine + x[1] * sine + k[1] * along,
            p[2] * cosine + x[2] * sine + k[2] * along)


@inner
def turning(frame, centre, k, v):
    """
    Return ``centre + rot(k, t) v`` in a frame of three axes, as it depends on the angle t.

    For each axis of the frame a constant, and the factors of the sine and cosine of t.
    """
    along = dot(k, v)
    still = (centre[0] + k[0] * along, centre[1] + k[1] * along, centre[2] + k[2] * along)
    turned, beside = cross(k, v), across(k, v)
    x, y, z = frame
    return ((dot(x, still), dot(x, turned), dot(x, beside)),
            (dot(y, still), dot(y, turned), dot(y, beside)),
            (dot(z, still), dot(z, turned), dot(z, beside)))


@inner
def unit_angle(sine, cosine):
    """
    Return the angle of a unit vector (rad), to within four units in the last place.

    Half the angle to the nearest axis has a tangent below 7/16, so one polynomial serves all.
    Without branches, this takes a third of the time of atan2.
    """
    a, b = abs(cosine), abs(sine)
    small, large = min(a, b), max(a, b)
    x = small / (1.0 + large)
    z = x * x
    w = z * z
    t = ATAN_TERMS
    even = t[0] + w * (t[2] + w * (t[4] + w * (t[6] + w * (t[8] + w * t[10]))))
    odd = t[1] + w * (t[3] + w * (t[5] + w * (t[7] + w * t[9])))
    angle = 2.0 * (x - x * z * (even + z * odd))
    angle = 0.5 * pi - angle if b > a else angle
    angle = pi - angle if cosine < 0.0 else angle
    return -angle if sine < 0.0 else angle


@inner
def turn_inside(x, reference, lower, upper):
    """
    Return whether the limits allow an angle, and its turn nearest to the reference, rad.

    Without branches.
    """
    x += FULL_TURN * np.rint((reference - x) * (1.0 / FULL_TURN))
    x -= FULL_TURN * max(np.ceil((x - upper - LIMIT_TOUCH) * (1.0 / FULL_TURN)), 0.0)
    x += FULL_TURN * max(np.ceil((lower - LIMIT_TOUCH - x) * (1.0 / FULL_TURN)), 0.0)
    inside = (lower - LIMIT_TOUCH <= x) & (x <= upper + LIMIT_TOUCH)
    return inside, min(max(x, lower), upper)


@inner
def subproblem_1(k, a, b, sine, cosine):
    """
    Return sine and cosine of the angle t with ``rot(k, t) a = b``.

    If the vectors have another length or another part along k, b is approached.  If a or b is
    along k, any angle will do: the given `sine` and `cosine` are returned.
    """
    # Without their parts along k, short vectors keep their digits.
    a, b = across(k, a), across(k, b)
    s, c = dot(k, cross(a, b)), dot(a, b)
    square = s * s + c * c
    if square < MIN_SQUARED_PRODUCT:
        return sine, cosine
    scale = 1.0 / sqrt(square)
    return s * scale, c * scale


@inner
def subproblem_4(h, p, k, d, sine, cosine):
    """
    Solve ``h . rot(k, t) p = d``.

    Returns the number of angles t, 0 to 2, and sine and cosine of both; of one angle twice.  If
    the angle has no influence and the equation holds, the given `sine` and `cosine`.
    """
    a = dot(h, cross(k, p))
    along = dot(h, k) * dot(k, p)
    b, c = dot(h, p) - along, d - along
    square = a * a + b * b
    if square < MIN_SQUARED_RADIUS:
        return (1 if abs(c) < CONSTANT_TOLERANCE else 0), sine, cosine, sine, cosine
    rest = square - c * c
    if rest <= DOUBLE_ROOT_SHARE * square:
        if rest < -MISSED_ROOT_SHARE * square:
            return 0, 0.0, 1.0, 0.0, 1.0
        scale = 1.0 / sqrt(square) if c > 0.0 else -1.0 / sqrt(square)
        return 1, a * scale, b * scale, a * scale, b * scale
    root, scale = sqrt(rest), 1.0 / square
    return (2, (a * c + b * root) * scale, (b * c - a * root) * scale,
            (a * c - b * root) * scale, (b * c + a * root) * scale)


class Circle(NamedTuple):
    """The equation ``h . rot(k, t) p = d`` as a sine + b cosine = c."""

    a: float
    b: float
    c: float
    root: float   # square root of a^2 + b^2 - c^2; 0 if that is negative: there is no solution
    scale: float  # of the solutions, see :func:`on_circle`
    # a^2 + b^2 - c^2 as a share of the largest possible value of a^2 + b^2; there is one solution
    # only if it is 0
    share: float


@inner
def circle(h, p, k, d):
    """Return the Circle of an equation ``h . rot(k, t) p = d``."""
    a = dot(h, cross(k, p))
    along = dot(h, k) * dot(k, p)
    b, c = dot(h, p) - along, d - along
    square = a * a + b * b
    rest = square - c * c
    # The length of what is scaled: a^2 + b^2 if there is a solution.
    length = square if rest >= 0.0 else abs(c) * sqrt(square)
    return Circle(a, b, c, sqrt(max(rest, 0.0)), 1.0 / max(length, MIN_SQUARED_RADIUS),
                  rest / max(dot(h, h) * dot(p, p), MIN_SQUARED_RADIUS))


@inner
def on_circle(equation, side):
    """
    Return sine and cosine of the first (`side` 0) or second solution of a Circle.

    Where there is none, those of the angle at which the equation is violated least; so they are
    continuous.
    """
    root = -equation.root if side == 1 else equation.root
    a, b, c = equation.a, equation.b, equation.c
    return (a * c + b * root) * equation.scale, (b * c - a * root) * equation.scale
