# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The experiment of Soch and Lorencz 2005, section 3, for every method.

Six links of 90, 60, 90, 150, 150 and 90 mm (points in the paper) in a plane, from
(-230, 0), stretched along x: a singular posture whose tip touches, at (400, 0), the
ellipse with half axes 400 and 50 mm about the origin that it is to follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.solver.goal import FREE_AXIS, Goal
from ik_node.textbook.options import ClassicOptions, Limits
from ik_node.textbook.problem import Problem
from ik_node.textbook.steps import element_rows
from ik_node.textbook.task import Task
from ik_node.tools.compare.compare_runs import Runner

LENGTHS = (0.09, 0.06, 0.09, 0.15, 0.15, 0.09)  # m
BASE = (-0.23, 0.0)                             # m
HALF_AXES = (0.4, 0.05)                         # m
FOLLOWING = 1e-3                                # m, nearer than this the tip follows
TARGET = 90.0                                   # deg, the ellipse's point for the second part

# The paper's w, and smaller ones towards 0 as in its second trial.
PAPER_WEIGHT = 1.0
WEIGHTS = {'extended_pairwise': PAPER_WEIGHT, 'extended_pairwise, w = 0.1': 0.1,
           'extended_pairwise, w = 1e-5': 1e-5}


@dataclass(frozen=True, eq=False)
class Walk:
    """
    One method that follows the ellipse, one step for each point.

    The production solver is not to be had by the step; it solves for each point.

    Attributes
    ----------
    method : str
    path : (k + 1, 6) array
        Joint positions, rad; the start first.
    distance : (k + 1,) array
        From the tip to the point that the step was for, m.
    steps_to_converge : int or None
        From the start to the top of the ellipse, to the tolerance; None if it did not get there.
    jump_to_converge : float
        Largest change of a joint in one of these steps, rad.

    """

    method: str
    path: np.ndarray
    distance: np.ndarray
    steps_to_converge: int | None
    jump_to_converge: float

    @property
    def jumps(self) -> np.ndarray:
        """Return the largest change of a joint in each step (k,), rad."""
        return np.abs(np.diff(self.path, axis=0)).max(axis=1)

    @property
    def follows_from(self) -> int | None:
        """Return the step after which the tip stays within FOLLOWING, None if it does not."""
        outside = np.flatnonzero(self.distance > FOLLOWING)
        first = int(outside[-1]) + 1 if len(outside) else 0
        # Back at the start even a chain that never moved is near.
        return first if first < len(self.distance) // 2 else None


@lru_cache
def planar_chain(lengths: tuple[float, ...] = LENGTHS,
                 base: tuple[float, float] = BASE) -> Chain:
    """Return a chain of links (m) in the x-y plane from `base` (m), all joints without limit."""
    parts = ['<robot name="planar_chain"><link name="world"/>']
    x, y = base
    parent = 'world'
    for k, length in enumerate(lengths):
        parts.append(
            f'<link name="link_{k}"/><joint name="joint_{k}" type="continuous">'
            f'<parent link="{parent}"/><child link="link_{k}"/><origin xyz="{x} {y} 0"/>'
            '<axis xyz="0 0 1"/></joint>')
        parent, x, y = f'link_{k}', length, 0.0
    parts.append(f'<link name="tip"/><joint name="end" type="fixed"><parent link="{parent}"/>'
                 f'<child link="tip"/><origin xyz="{x} 0 0"/></joint></robot>')
    return make_chain(parse_urdf(''.join(parts).encode()), 'world', 'tip')


def ellipse(degrees: np.ndarray) -> np.ndarray:
    """Return points of the ellipse (k, 2), m, at parameters in degrees; 0 is (400, 0) mm."""
    angles = np.radians(degrees)
    return np.column_stack([HALF_AXES[0] * np.cos(angles), HALF_AXES[1] * np.sin(angles)])


def plane_goal(point: np.ndarray) -> Goal:
    """Return the goal to put the tip at `point` (2,), m, whatever its direction."""
    T = np.eye(4)
    T[:2, 3] = point
    return Goal(T, (0.0, 0.0, FREE_AXIS, FREE_AXIS, FREE_AXIS, FREE_AXIS), 'base')


def links(chain: Chain, q: np.ndarray) -> np.ndarray:
    """Return the joints' places and the tip's (n + 1, 2), m."""
    return Task(chain, plane_goal(np.zeros(2)), 1.0).frames(np.ascontiguousarray(q))[:, 9:11]


def walk(method: str, degrees: float = 1.0, points: int = 360) -> Walk:
    """
    Follow the ellipse with one step for each point, and go to its top with many.

    Parameters
    ----------
    method : str
        A textbook method, the production solver, or a key of WEIGHTS.
    degrees : float
        Between two points.  The paper does not say; with 1 the pseudo-inverse does
        what its figure 4 shows.
    points : int
        How many.

    Raises
    ------
    ParameterError
        If the method cannot work with two rows and six joints.

    """
    chain = planar_chain()
    # As the formulas are: no bound on a step, a joint may jump.
    options = ClassicOptions(max_joint_step=np.inf, pair_weight=WEIGHTS.get(method, PAPER_WEIGHT))
    name = method.split(',')[0]
    single = Runner(chain, replace(options, max_iterations=1))
    goals = [plane_goal(point) for point in ellipse(degrees * np.arange(points + 1))]
    path, distance = [np.zeros(chain.n)], [0.0]
    for goal in goals[1:]:
        run = single.run(name, goal, path[-1])
        path.append(run.path[-1])
        distance.append(float(run.errors[-1, 0]))
    there = Runner(chain, options).run(name, plane_goal(ellipse(np.array([TARGET]))[0]),
                                       np.zeros(chain.n))
    return Walk(method, np.array(path), np.array(distance),
                there.steps if there.met else None, there.largest_jump)


def walks(methods: list[str], degrees: float = 1.0, points: int = 360) -> list[Walk]:
    """Return the walks of all methods that can work here, the pairwise one with each weight."""
    names = [name for method in methods
             for name in (WEIGHTS if method == 'extended_pairwise' else (method,))]
    done = []
    for name in names:
        try:
            done.append(walk(name, degrees, points))
        except ParameterError:
            if len(names) == 1:
                raise
    return done


def smallest_singular_values(path: np.ndarray, weight: float = PAPER_WEIGHT) -> np.ndarray:
    """Return that of the pairwise extended Jacobian [w P; J] at each posture, (k,), m."""
    problem = Problem(Task(planar_chain(), plane_goal(np.zeros(2)), 1.0), Limits.CLAMP,
                      ClassicOptions())
    values = []
    for q in path:
        point = problem.at(np.ascontiguousarray(q))
        A = np.vstack([weight * element_rows(problem, point), point.J])
        values.append(np.linalg.svd(A, compute_uv=False)[-1])
    return np.array(values)
