# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What speaks for and against a posture that reaches a goal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_node.base.errors import IkNodeError
from ik_node.base.text import quote
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.direct.point_to_point import plan_point_to_point, require_free, StartState
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.solver.goal import Goal
from ik_node.solver.result import Posture
from ik_node.solver.solver import Solver
from ik_node.solver.unreachable import Colour, judge, Thresholds


@dataclass(frozen=True, eq=False)
class PostureReport:
    """One of the postures that reach a goal."""

    posture: Posture  # from the present posture as its seed
    # Green: free, and so is the direct motion to it; amber: with a warning; red: it collides.
    colour: Colour
    sentence: str  # the same in words
    # Least distance (m) of two bodies; 0 or less if they overlap, infinite without a check.
    clearance: float
    nearest: tuple[str, ...]  # the two bodies that have it; empty without a check
    duration: float           # of the direct motion, s; NaN if there is none


def postures_of(solver: Solver, goal: Goal, q: np.ndarray) -> tuple[Posture, ...]:
    """Return all postures that reach a goal, also those that collide, the nearest to q first."""
    return solver.with_collisions(None).solve_all(goal, q)


def warm_up(solver: Solver, limits: MotionLimits) -> None:
    """Load or compile all kernels of a list of postures, so that the first one is not late."""
    chain = solver.chain
    q = chain.middle
    postures_of(solver, Goal(forward_kinematics(chain, q)), q)
    if solver.collisions is not None:
        solver.collisions.describe(q)
    report_posture(Posture(chain, q, q), solver.collisions,
                   StartState.from_state(MotionState.at_rest(q)), limits, 0.1, Thresholds())


def report_posture(posture: Posture, model: CollisionModel | None, start: StartState,
                   limits: MotionLimits, period: float,
                   thresholds: Thresholds) -> PostureReport:
    """
    Judge a posture and the direct motion to it.

    Parameters
    ----------
    model : CollisionModel, optional
        By default collisions are not checked.
    start : StartState
        Of the motion.
    period : float
        Largest time between points, s.

    """
    report = judge(posture, thresholds)
    labels = ', '.join(f'{name} {side}' for name, side in posture.labels.items())
    about = f'{labels}; ' if labels else ''
    clearance, nearest = np.inf, ()
    if model is not None and (closest := min(model.clearances(posture.q), default=None,
                                             key=lambda each: each.distance)) is not None:
        clearance, nearest = closest.distance, closest.names
    if model is not None and not model.check_many(posture.q[None])[0]:
        return PostureReport(posture, Colour.RED,
                             f'{about}it collides: {model.describe(posture.q)}', clearance,
                             nearest, np.nan)
    room = f', {1e3 * clearance:.0f} mm between {" and ".join(map(quote, nearest))}' \
        if np.isfinite(clearance) else ''
    if model is not None and model.unchecked:
        room += f' ({model.unchecked.brief})'
    try:
        trajectory = plan_point_to_point(posture.chain.joint_names, start, posture.q, limits,
                                         period, posture.chain)
        require_free(model, trajectory)
    except IkNodeError as error:
        return PostureReport(posture, Colour.AMBER, f'{about}{report.sentence}{room}; not by '
                             f'the direct motion: {error}', clearance, nearest, np.nan)
    return PostureReport(
        posture, report.colour, f'{about}{report.sentence}{room}; '
        f'{trajectory.duration:.2f} s by the direct motion', clearance, nearest,
        trajectory.duration)
