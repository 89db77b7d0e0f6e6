# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions in sequence, planned and checked as one trajectory before the first of them begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from ik_node.base.errors import GoalError, IkNodeError, PathError, Reason, TrajectoryError
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.direct.point_to_point import (
    plan_point_to_point,
    plan_stop,
    require_free,
    require_free_goal,
    StartState,
)
from ik_node.motion.joint_path.plan import plan_joint_path
from ik_node.motion.joint_path.waypoints import Waypoints
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.tool_path.path import ToolPath
from ik_node.motion.tool_path.plan import plan_path
from ik_node.motion.trajectory.limits import MotionLimits, TipLimits
from ik_node.motion.trajectory.sampling import passing_times
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

ALREADY_THERE_STEP = 1e-6  # rad or m


@dataclass(frozen=True, eq=False)
class SequencedMotion:
    """One motion of a sequence: of the joints, along a line, or along an arc."""

    # Joint positions, rad or m, or the pose of the tip, where the joints move to; of a line or an
    # arc, a full pose.
    goal: np.ndarray | Goal
    limits: MotionLimits    # to plan with
    straight: bool = False  # whether the tip moves along a line or an arc
    # (4, 4), a pose ``T_base_tip`` that the arc passes; None for a line
    T_between: np.ndarray | None = None
    # Distance (m) from the end within which the tip may leave it for the next line or arc; 0 = it
    # rests there.  Between two motions of the joints, the end is passed exactly if it is not 0,
    # and without a stop unless stopping takes less time.
    blend_radius: float = 0.0


@dataclass(frozen=True, eq=False)
class SequencePlan:
    """The motion through a sequence."""

    trajectory: Trajectory
    # (k,), time (s) at which each motion ends; where two are blended, that of the nearest point
    ends: np.ndarray


class SequenceError(TrajectoryError):
    """
    Motions of a sequence, between two rests, that cannot be planned.

    Parameters
    ----------
    cause : IkNodeError
    motions : tuple of SequencedMotion
    first : int
        Number of the first of them, from 1.
    count : int
        Of all motions of the sequence.
    q : (n,) array
        Where the arm rests before them, rad or m.

    """

    def __init__(self, cause: IkNodeError, motions: tuple[SequencedMotion, ...], first: int,
                 count: int, q: np.ndarray) -> None:
        numbers = f'motion {first}' if len(motions) == 1 \
            else f'motions {first} to {first + len(motions) - 1}'
        super().__init__(f'{numbers} of {count}: {cause}', cause.reason)
        self.cause, self.motions, self.first, self.q = cause, motions, first, q


def plan_sequence(solver: Solver, start: StartState, motions: Sequence[SequencedMotion],
                  period: float, options: PathOptions = PathOptions()) -> SequencePlan:
    """
    Plan motions one after another, from rest to rest.

    A moving arm is first brought to rest.  Between lines and arcs the tip goes on, if there is a
    blend radius, and so do the joints between motions of the joints; else the arm rests for an
    instant.

    Parameters
    ----------
    solver : Solver
        Its collision model, if it has one, is kept by all motions; there is no detour.
    period : float
        Largest time between points, s.

    Raises
    ------
    PathError
        ALREADY_THERE if none of the motions goes anywhere.
    SequenceError
        If one of them cannot be planned; it is named by its number, from 1.
    IkNodeError
        If there is no motion, or they cannot be blended.

    """
    names = solver.chain.joint_names
    parts: list[Trajectory] = []
    if len(start.times) or not start.splice.rests:
        parts.append(plan_stop(names, start, motions[0].limits, period))
        require_free(solver.collisions, parts[0], ', before the arm rests for the sequence')
        start = StartState.from_state(MotionState.at_rest(parts[0].end))
    began, ends = sum(part.duration for part in parts), []
    for first, group in _groups(motions):
        try:
            planned = _planned(solver, start, group, period, options)
        except IkNodeError as error:
            raise SequenceError(error, tuple(group), first, len(motions),
                                start.splice.q) from None
        if planned is None:
            ends += [began] * len(group)
            continue
        parts.append(planned.trajectory)
        ends += (began + planned.ends).tolist()
        began += planned.trajectory.duration
        start = StartState.from_state(MotionState.at_rest(planned.trajectory.end))
    if not any(ends):
        raise PathError('the sequence goes nowhere: the arm is where each of its motions ends',
                        Reason.ALREADY_THERE)
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.followed_by(part)
    return SequencePlan(whole, np.array(ends))


def _groups(motions: Sequence[SequencedMotion]) -> list[tuple[int, list[SequencedMotion]]]:
    """Return the motions in groups without rest between them, with the number of their first."""
    numbers, count = [], 0
    for k, motion in enumerate(motions):
        numbers.append(count)
        following = motions[k + 1] if k + 1 < len(motions) else None
        if motion.blend_radius and following is not None:
            if motion.straight != following.straight:
                joint = k + 1 if not motion.straight else k + 2
                raise GoalError(f'motion {joint} moves the joints, before and after which the arm '
                                f'rests if the tip is led; set blend_radius of motion {k + 1} to '
                                '0', Reason.PATH_INVALID)
        else:
            count += 1
    grouped = groupby(zip(numbers, range(1, len(motions) + 1), motions), key=lambda each: each[0])
    groups = [[*group] for _, group in grouped]
    return [(group[0][1], [motion for _, _, motion in group]) for group in groups]


def _planned(solver: Solver, start: StartState, group: list[SequencedMotion], period: float,
             options: PathOptions) -> SequencePlan | None:
    """Return the motions of a group from rest; None if the arm is where they end."""
    if group[0].straight:
        return _along(solver, start, group, options)
    chain, q, goals = solver.chain, start.splice.q, []
    for motion in group:
        q = _joint_goal(solver, motion, q)
        goals.append(q)
    if np.abs(np.array(goals) - start.splice.q).max() <= ALREADY_THERE_STEP:
        return None
    limits = _tightest([motion.limits for motion in group])
    if len(group) > 1:
        planned = plan_joint_path(chain, start, Waypoints(np.array(goals)), limits, period, 0.0,
                                  solver.collisions)
        return SequencePlan(planned.trajectory, planned.passed)
    trajectory = plan_point_to_point(chain.joint_names, start, q, limits, period, chain)
    require_free_goal(solver.collisions, q)
    require_free(solver.collisions, trajectory)
    return SequencePlan(trajectory, np.array([trajectory.duration]))


def _joint_goal(solver: Solver, motion: SequencedMotion, q: np.ndarray) -> np.ndarray:
    """Return the joint positions (n,) that a motion leads to from q."""
    q_goal = motion.goal
    if isinstance(q_goal, Goal):
        result = solver.solve(q_goal, q)
        if not result.success:
            raise GoalError(result.message, result.status)
        q_goal = result.q
    return solver.chain.nearest_turns(q_goal, q)


def _along(solver: Solver, start: StartState, group: list[SequencedMotion],
           options: PathOptions) -> SequencePlan | None:
    """Return the motion along lines and arcs that are blended."""
    T = forward_kinematics(solver.chain, start.splice.q)
    pieces, radii = [], []
    for motion in group:
        T_end = motion.goal.T_base_tip
        try:
            pieces.append(ToolPath.lines([T_end], start=T) if motion.T_between is None
                          else ToolPath.arc(T, motion.T_between, T_end))
        except PathError as error:
            if error.reason is not Reason.ALREADY_THERE:
                raise
            pieces.append(None)
        else:
            radii.append(motion.blend_radius)
            T = T_end
    some = [piece for piece in pieces if piece is not None]
    if not some:
        return None
    planned = plan_path(solver, start, ToolPath.joined(some, radii[:-1]),
                        _tightest([motion.limits for motion in group]),
                        replace(options, partial=False))
    return SequencePlan(planned.trajectory, _passed(solver, planned.trajectory, group))


def _passed(solver: Solver, trajectory: Trajectory, group: list[SequencedMotion]) -> np.ndarray:
    """Return the times (k,), s, at which the tip is nearest to the end of each motion."""
    tips = np.array([forward_kinematics(solver.chain, q)[:3, 3] for q in trajectory.q])
    return passing_times(trajectory.times, tips,
                         np.array([motion.goal.T_base_tip[:3, 3] for motion in group]))


def _tightest(limits: Sequence[MotionLimits]) -> MotionLimits:
    """Return the least of each limit."""
    first = limits[0]
    return replace(
        first, **{name: np.min([getattr(each, name) for each in limits], axis=0)
                  for name in ('velocity', 'acceleration', 'jerk')},
        tip=TipLimits(*np.min([each.tip.row for each in limits], axis=0).tolist()))
