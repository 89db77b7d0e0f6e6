# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Remedies for a refused path or sequence.

They are another pose, another start posture, or a joint motion instead of a line.

If a pose of it cannot be reached, the remedies of that pose are sought as for a goal of its own
(:mod:`ik_node.solver.remedies.remedy_search`), from where the motion ended.  If all can be
reached, but not the way between them, other postures of the arm at its start are tried, and a
motion of the joints.  Each remedy is tried by planning the motion with it, or nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ik_node.base.errors import IkNodeError, PathError, Reason
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import Chain
from ik_node.motion.direct.point_to_point import (
    plan_point_to_point,
    plan_stop,
    require_free,
    StartState,
)
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.solver.goal import Goal
from ik_node.solver.remedies.remedy import Remedy, rounded_shift
from ik_node.solver.remedies.remedy_search import find_remedies, REMEDIED_REASONS
from ik_node.solver.solver import Solver

REMEDIED_MOTION_REASONS = (*REMEDIED_REASONS, Reason.PATH_INTERRUPTED)
START_DECIMALS = 4        # of joint positions at the start, rad or m
MAX_TRIED_STARTS = 15     # postures at the start, the nearest first
MAX_TURNS_OF_POSTURE = 4  # of each solution for the pose at the start
OTHER_POSTURE = 1e-3      # rad or m, by which a joint differs
BACK_MARGINS_M = (1e-3, 1e-2)  # of a pose that is moved back to where the motion ended
SHIFT_DECIMALS = 4


@dataclass(frozen=True)
class OfPose:
    """The remedy of one pose of several."""

    name: str  # which pose it is
    remedy: Remedy

    @property
    def sentence(self) -> str:
        """Return the remedy in words."""
        return f'{self.name}: {self.remedy.sentence}'

    @property
    def values(self) -> dict[str, str]:
        """Return the numbers by their names."""
        return {'remedy_of': self.name, **self.remedy.values}


@dataclass(frozen=True, eq=False)
class OtherStart:
    """Another posture of the arm at the start of a motion; the arm gets there by the joints."""

    joint_names: tuple[str, ...]
    q: np.ndarray  # (n,), rad or m, rounded to START_DECIMALS

    @property
    def sentence(self) -> str:
        """Return the remedy in words."""
        values = ', '.join(f'{value:.{START_DECIMALS}f}' for value in self.q)
        return f'started from the joint positions [{values}], it can be followed to its end'

    @property
    def values(self) -> dict[str, str]:
        """Return the numbers by their names."""
        return {'remedy_start_joints': ' '.join(self.joint_names),
                'remedy_start': ' '.join(f'{value:.{START_DECIMALS}f}' for value in self.q)}


@dataclass(frozen=True)
class JointMotion:
    """A motion of the joints to the end of a line, instead of the line."""

    @property
    def sentence(self) -> str:
        """Return the remedy in words."""
        return 'by a motion of the joints, off the line, its end can be reached'

    @property
    def values(self) -> dict[str, str]:
        """Return what it is by its name."""
        return {'remedy_way': 'joints'}


MotionRemedy = Remedy | OfPose | OtherStart | JointMotion


@dataclass(frozen=True, eq=False)
class RefusedMotion:
    """A motion that is refused, to be tried with changes."""

    start: StartState
    # (n,) each, joint positions, rad or m, and poses that it passes or ends at, in order
    goals: tuple[np.ndarray | Goal, ...]
    names: tuple[str, ...]  # of each; empty if there is no other
    follows: bool           # whether the tip follows lines and arcs
    is_line: bool           # whether it is a single line
    limits: MotionLimits
    period: float  # largest time between points, s
    # Plans it with a solver, which may have wider limits, from a start state, to goals, which may
    # be the first of them only; raises an IkNodeError if there is no such motion.
    plan: Callable[[Solver, StartState, tuple[np.ndarray | Goal, ...]], object]


def find_motion_remedies(solver: Solver, motion: RefusedMotion,
                         goes_on: Callable[[], bool] = lambda: True) -> tuple[MotionRemedy, ...]:
    """
    Return what would make a refused motion possible, the best first; empty if nothing was found.

    Parameters
    ----------
    solver : Solver
        Its collision check holds for the remedies, too.
    motion : RefusedMotion
    goes_on : callable
        Asked before each piece of work of some milliseconds whether to go on.

    """
    return MotionRemedySearch(solver, motion, goes_on).remedies()


class MotionRemedySearch:
    """
    The search for the remedies of one motion.

    Parameters
    ----------
    solver, motion, goes_on :
        As of :func:`find_motion_remedies`.

    """

    def __init__(self, solver: Solver, motion: RefusedMotion,
                 goes_on: Callable[[], bool]) -> None:
        self._solver, self._motion, self._goes_on = solver, motion, goes_on
        options = solver.options
        # Lines and arcs go on where a goal of its own would be too far, or replaced by another.
        bound = motion.follows and (options.max_jump < inf or options.nearest)
        self._poses = solver.changed(max_jump=inf, nearest=False) if bound else solver
        start = motion.start
        rests = not len(start.times) and start.splice.rests
        self._q = start.splice.q if rests else plan_stop(
            solver.chain.joint_names, start, motion.limits, motion.period).end

    def remedies(self) -> tuple[MotionRemedy, ...]:
        """Return the remedies, the best first."""
        error = self._error(self._solver, self._motion.start, self._motion.goals)
        if error is None:
            return ()
        ended = error.q if isinstance(error, PathError) and error.q is not None else self._q
        q = self._q
        for k, goal in enumerate(self._motion.goals):
            if not self._goes_on():
                return ()
            if isinstance(goal, Goal):
                result = self._poses.solve(goal, q)
                if not result.success:
                    return self._of_pose(k, ended if self._motion.follows else q)
                q = result.q
            else:
                q = goal
        if not self._motion.follows:
            return ()
        by_joints = self._by_joints()  # before what takes long
        return tuple(remedy for remedy in (self._other_start(), by_joints) if remedy is not None)

    def _error(self, solver: Solver, start: StartState,
               goals: tuple[np.ndarray | Goal, ...]) -> IkNodeError | None:
        """Return why there is no such motion; None if there is one."""
        try:
            self._motion.plan(solver, start, goals)
        except IkNodeError as error:
            return error
        return None

    # ---- a pose that cannot be reached --------------------------------------

    def _of_pose(self, k: int, q: np.ndarray) -> tuple[MotionRemedy, ...]:
        """Return the remedies of pose k, with the motion until then; the arm came to q (n,)."""
        goals, name = self._motion.goals, self._motion.names[k]

        def works(solver: Solver, goal: Goal) -> bool:
            return self._error(solver, self._motion.start, (*goals[:k], goal)) is None

        result = self._poses.solve(goals[k], q)
        remedies: tuple[Remedy, ...] = find_remedies(
            self._poses, goals[k], result.seeds, result.status, result.q, self._goes_on, works)
        if not remedies and self._motion.follows:
            remedies = tuple(self._moved_back(goals[k], q, works))
        return tuple(OfPose(name, remedy) for remedy in remedies) if name else remedies

    def _moved_back(self, goal: Goal, q: np.ndarray,
                    works: Callable[[Solver, Goal], bool]) -> Iterator[Remedy]:
        """Return the shift of a pose to where the motion ended, at q (n,), if that is one."""
        chain = self._solver.chain
        offset = forward_kinematics(chain, q)[:3, 3] - goal.T_base_tip[:3, 3]
        if np.linalg.norm(offset) < BACK_MARGINS_M[0]:
            return
        for margin in BACK_MARGINS_M:
            shift = rounded_shift(offset, margin, SHIFT_DECIMALS, chain.base_link)
            if not self._goes_on():
                return
            if works(self._poses, shift.applied(goal)):
                yield shift
                return

    # ---- a path that cannot be followed -------------------------------------

    def _other_start(self) -> OtherStart | None:
        """Return another posture at the start, from which the whole motion can be planned."""
        chain = self._solver.chain
        for q in self._starts():
            if not self._goes_on():
                return None
            if self._error(self._solver, StartState.from_state(MotionState.at_rest(q)),
                           self._motion.goals) is None and self._gets_to(q):
                return OtherStart(chain.joint_names, q)
        return None

    def _starts(self) -> list[np.ndarray]:
        """Return other postures (n,) with the pose of the tip at the start, the nearest first."""
        chain, here = self._solver.chain, self._q
        postures = self._poses.solve_all(forward_kinematics(chain, here), here)
        turns = [np.round(turn, START_DECIMALS) for posture in postures
                 for turn in posture.turns[:MAX_TURNS_OF_POSTURE]]
        inside = [turn for turn in turns if (turn >= chain.lower).all()
                  and (turn <= chain.upper).all() and np.abs(turn - here).max() > OTHER_POSTURE]
        return sorted(inside, key=lambda turn: float(np.abs(turn - here).max()))[
            :MAX_TRIED_STARTS]

    def _by_joints(self) -> JointMotion | None:
        """Return that the joints can move to the end of a line directly, if they can."""
        if not self._motion.is_line or not self._goes_on():
            return None
        result = self._solver.solve(self._motion.goals[-1], self._q)
        goes = result.status is Reason.SOLVED and self._gets_to(result.q)
        return JointMotion() if goes else None

    def _gets_to(self, q: np.ndarray) -> bool:
        """Return whether the joints can move from the start to q (n,) directly."""
        chain, motion = self._solver.chain, self._motion
        try:
            require_free(self._solver.collisions, plan_point_to_point(
                chain.joint_names, motion.start, chain.nearest_turns(q, self._q), motion.limits,
                motion.period, chain))
        except IkNodeError:
            return False
        return True


def widened(limits: MotionLimits, before: Chain, after: Chain) -> MotionLimits:
    """Return limits of a chain with the position limits of another one where these are wider."""
    return limits if before is after else replace(
        limits, lower=np.where(after.lower < before.lower, after.lower, limits.lower),
        upper=np.where(after.upper > before.upper, after.upper, limits.upper))
