# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arm of two links in a plane, in closed form by the law of cosines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.textbook.options import ClassicOptions
from ik_node.textbook.problem import Point, Problem

PARALLEL_TOLERANCE = 1e-9  # of the sine of the angle between the two axes
MIN_LINK_LENGTH_M = 1e-9
FULL_TURN = 2.0 * np.pi


def two_link_angles(first: float, second: float, x: float, y: float) -> np.ndarray:
    """
    Return both postures of a planar arm whose tip is at (x, y), a row for each elbow, (2, 2).

    By the law of cosines in the triangle of the links and the line to the goal::

        cos(theta_2) = (x^2 + y^2 - l_1^2 - l_2^2) / (2 l_1 l_2)
        theta_1 = atan2(y, x) - atan2(l_2 sin(theta_2), l_1 + l_2 cos(theta_2))

    Parent 2012, section 5.3.1; Craig 2005, section 4.4.  For a goal that is farther than both
    links together, or nearer than their difference, the arm is stretched or folded towards it.

    Parameters
    ----------
    first, second : float
        Lengths of the links, l_1 and l_2, m, above 0.
    x, y : float
        The goal from the first joint, m; theta_1 counts from x, theta_2 from the first link.

    """
    cosine = (x * x + y * y - first**2 - second**2) / (2.0 * first * second)
    bend = np.arccos(np.clip(cosine, -1.0, 1.0))
    found = []
    for elbow in (bend, -bend):
        shoulder = np.arctan2(y, x) - np.arctan2(second * np.sin(elbow),
                                                 first + second * np.cos(elbow))
        found.append((np.arctan2(np.sin(shoulder), np.cos(shoulder)), elbow))
    return np.array(found)


def law_of_cosines(problem: Problem, point: Point, options: ClassicOptions) -> Iterator[Point]:
    """
    Return one step, to the posture with the nearer elbow, within the limits if there is one.

    For a chain of two revolute joints with parallel axes.  It puts the tip above or below the
    goal, along the axes; an orientation is not aimed for.
    """
    found = _postures(problem, point)
    inside = [each for each in found if np.array_equal(problem.inside(each), each)]
    return iter([problem.at(min(inside or found,
                                key=lambda q: float(np.abs(q - point.x).max())))])


def _postures(problem: Problem, point: Point) -> list[np.ndarray]:
    """Return the joint positions (2,) of both elbows, also with full turns added."""
    task, chain = problem.task, problem.task.chain
    if chain.n != 2 or len(chain.joints) != 2 or not chain.revolute.all():
        raise ParameterError('law_of_cosines is for two revolute joints; the chain has '
                             f'{", ".join(chain.joint_names)}')
    rest = task.frames(np.zeros(2))
    axes = rest[:2, [2, 5, 8]] * np.sign(chain.factors[:2, :1])
    if np.linalg.norm(np.cross(axes[0], axes[1])) > PARALLEL_TOLERANCE:
        raise ParameterError('law_of_cosines needs parallel axes; those of '
                             f'{" and ".join(chain.joint_names)} are not')
    # In the plane across the axes, x along the first link at rest.
    one, two = (_across(axes[0], rest[k + 1, 9:] - rest[k, 9:]) for k in (0, 1))
    lengths = float(np.linalg.norm(one)), float(np.linalg.norm(two))
    if min(lengths) < MIN_LINK_LENGTH_M:
        raise ParameterError('law_of_cosines needs two links; one of them has no length across '
                             'the axes')
    x_axis = one / lengths[0]
    y_axis = np.cross(axes[0], x_axis)
    goal = task.goal.T_base_tip[:3, 3] - rest[0, 9:]
    bent = np.arctan2(two @ y_axis, two @ x_axis)  # of the second link at rest
    angles = two_link_angles(*lengths, float(goal @ x_axis), float(goal @ y_axis))
    angles[:, 1] = np.sign(axes[0] @ axes[1]) * (angles[:, 1] - bent)
    nearest = angles + FULL_TURN * np.round((point.x - angles) / FULL_TURN)
    return [each + FULL_TURN * np.array(turns) for each in nearest
            for turns in product((-1, 0, 1), repeat=2)]


def _across(axis: np.ndarray, v: np.ndarray) -> np.ndarray:
    return v - (axis @ v) * axis
