# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Requests to the solver and the planners, as values: all that the node asks for a goal.

Each has ``plan(solver)``, which returns what is sent to the controller, or what was found, or
raises an IkNodeError; motions are proved to be free of collisions.  The solver has the arm and
what is around it.  A recording has requests and what came of them, and repeats them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ik_node.base.errors import Reason, TrajectoryError
from ik_node.model.chain import Chain
from ik_node.motion.change.active_trajectory import joined_to, require_tip_speed
from ik_node.motion.change.path_pace import (
    PathRate,
    PathStop,
    plan_path_rate,
    plan_path_resume,
    plan_path_stop,
)
from ik_node.motion.chunk import ChunkPlan, plan_chunk, TimedPoses
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.constrained_motion import (
    plan_constrained,
    postures_within,
    require_kept,
    require_within,
)
from ik_node.motion.detour import plan_detour
from ik_node.motion.direct.point_to_point import (
    plan_point_to_point,
    require_free,
    require_free_goal,
    StartState,
)
from ik_node.motion.following.options import FollowOptions
from ik_node.motion.joint_path.motion_sequence import (
    plan_sequence,
    SequencedMotion,
    SequenceError,
    SequencePlan,
)
from ik_node.motion.joint_path.plan import JointPathPlan, plan_joint_path
from ik_node.motion.joint_path.waypoints import Waypoints
from ik_node.motion.motion_remedies import (
    find_motion_remedies,
    MotionRemedy,
    RefusedMotion,
    widened,
)
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.tool_path.path import ToolPath
from ik_node.motion.tool_path.plan import PathPlan, plan_path
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.motion.trajectory.validate import validate
from ik_node.solver.goal import Goal
from ik_node.solver.remedies.remedy import Remedy
from ik_node.solver.remedies.remedy_search import find_remedies
from ik_node.solver.result import Result
from ik_node.solver.solver import Solver

ARC_NAMES = 'the start of the arc', 'the pose on the way', 'the end of the arc'
MIN_REST_OF_MOTION_S = 0.02  # with less left, the motion ends rather than pauses


class ArcPoses(NamedTuple):
    """Begin, an intermediate pose and end of an arc of the tip: ``T_base_tip`` (4, 4), m."""

    begin: np.ndarray
    between: np.ndarray
    end: np.ndarray


class Rounds:
    """
    Answers a search whether to go on, and counts how often it did.

    A search does the same work in each round; so the count repeats one that was ended by time.

    Parameters
    ----------
    goes_on : callable, optional
        The answer; True by default.

    """

    def __init__(self, goes_on: Callable[[], bool] = lambda: True) -> None:
        self._goes_on = goes_on
        self.count, self.ended = 0, False  # how often it was True, and whether it was False

    @classmethod
    def at_most(cls, count: float) -> Rounds:
        """Return what goes on so many times."""
        rounds = cls()
        rounds._goes_on = lambda: rounds.count < count
        return rounds

    def __call__(self) -> bool:
        """Return whether to go on."""
        on = not self.ended and self._goes_on()
        self.count, self.ended = self.count + on, not on
        return on


@dataclass(frozen=True, eq=False)
class SolveRequest:
    """Joint positions for a goal."""

    name: ClassVar[str] = 'solve'
    goal: Goal
    seeds: np.ndarray  # (n,) or (s, n), rad or m

    def plan(self, solver: Solver) -> Result:
        """Solve; raise as :meth:`Solver.solve`."""
        return solver.solve(self.goal, self.seeds)


@dataclass(frozen=True, eq=False)
class RemedyRequest:
    """What would make a refused goal possible."""

    name: ClassVar[str] = 'remedies'
    goal: Goal
    seeds: np.ndarray    # (n,) or (s, n), rad or m
    status: Reason       # why it was refused
    nearest: np.ndarray  # (n,), the posture that came nearest, rad or m
    rounds: Rounds       # how long to search

    def plan(self, solver: Solver) -> tuple[Remedy, ...]:
        """Search; see :func:`ik_node.solver.remedies.remedy_search.find_remedies`."""
        return find_remedies(solver, self.goal, self.seeds, self.status, self.nearest,
                             self.rounds)


@dataclass(frozen=True, eq=False)
class DirectRequest:
    """The fastest motion of the joints."""

    name: ClassVar[str] = 'direct motion'
    start: StartState
    q_goal: np.ndarray  # (n,), rad or m, continuous joints at the turn nearest to the start
    limits: MotionLimits
    period: float     # largest time between points, s
    advice: str = ''  # what to do if it collides, for the error

    def plan(self, solver: Solver) -> Trajectory:
        """
        Plan the motion.

        Raises
        ------
        GoalError
            If the arm would collide at the goal.
        TrajectoryError
            If no such motion keeps the limits, or it collides.

        """
        chain = solver.chain
        trajectory = plan_point_to_point(chain.joint_names, self.start, self.q_goal, self.limits,
                                         self.period, chain)
        require_free_goal(solver.collisions, self.q_goal)
        require_free(solver.collisions, trajectory, self.advice)
        return trajectory


@dataclass(frozen=True, eq=False)
class DetourRequest:
    """A motion around obstacles, to any posture that serves the goal."""

    name: ClassVar[str] = 'way round'
    start: StartState
    q_goal: np.ndarray  # (n,), the preferred posture, rad or m
    goal: Goal | None   # what other postures may reach; None if there is but `q_goal`
    limits: MotionLimits
    period: float   # largest time between points, s
    rounds: Rounds  # how long to search

    def plan(self, solver: Solver) -> Trajectory:
        """Plan; raise as :func:`ik_node.motion.detour.plan_detour`."""
        return plan_detour(solver.collisions, self.start, _goal_postures(solver, self),
                           self.limits, self.period, self.rounds)


@dataclass(frozen=True, eq=False)
class PathRequest:
    """The motion of the tip along a path."""

    name: ClassVar[str] = 'path'
    start: StartState
    # (4, 4) each, poses ``T_base_tip`` (m) that lines connect, or an arc
    path: tuple[np.ndarray, ...] | ArcPoses
    limits: MotionLimits
    options: PathOptions
    constraints: tuple[PathConstraint, ...] = ()  # that the motion keeps

    def plan(self, solver: Solver) -> PathPlan:
        """Plan; raise as :func:`ik_node.motion.tool_path.plan.plan_path`."""
        path = ToolPath.arc(*self.path) if isinstance(self.path, ArcPoses) else self.path
        return plan_path(solver, self.start, path, self.limits, self.options, self.constraints)

    def refused(self, chain: Chain, _first: int) -> RefusedMotion:
        """Return it as a motion to be tried with changes, of a chain."""
        count, arc = len(self.path), isinstance(self.path, ArcPoses)
        names = ARC_NAMES if arc else ('',) if count == 1 \
            else tuple(f'pose {k} of {count}' for k in range(1, count + 1))
        whole = replace(self.options, partial=False)

        def plan(solver: Solver, start: StartState, goals: tuple[Goal, ...]) -> PathPlan:
            poses = tuple(goal.T_base_tip for goal in goals)
            path = ArcPoses(*poses, *self.path[len(poses):]) if arc else poses
            return PathRequest(start, path, widened(self.limits, chain, solver.chain), whole,
                               self.constraints).plan(solver)

        return RefusedMotion(self.start, tuple(map(Goal, self.path)), names, True,
                             count == 1, self.limits, self.options.period, plan)


@dataclass(frozen=True, eq=False)
class JointPathRequest:
    """The motion of the joints through waypoints."""

    name: ClassVar[str] = 'way points'
    start: StartState
    q: np.ndarray             # (m, n), rad or m
    times: np.ndarray | None  # (m,), when to pass them, s; None = as soon as the limits allow
    limits: MotionLimits
    period: float           # largest time between points, s
    start_tolerance: float  # largest distance from a first waypoint whose time is 0, rad or m

    def plan(self, solver: Solver) -> JointPathPlan:
        """Plan; raise as :func:`ik_node.motion.joint_path.plan.plan_joint_path`."""
        return plan_joint_path(solver.chain, self.start, Waypoints(self.q, self.times),
                               self.limits, self.period, self.start_tolerance,
                               solver.collisions)


@dataclass(frozen=True, eq=False)
class ChunkRequest:
    """The motion of the tip along poses at given times."""

    name: ClassVar[str] = 'chunk'
    start: StartState
    chunk: TimedPoses  # by the time of the trajectory, which is 0 at its start
    limits: MotionLimits
    following: FollowOptions
    constraints: tuple[PathConstraint, ...] = ()  # that the motion keeps

    def plan(self, solver: Solver) -> ChunkPlan:
        """Plan; raise as :func:`ik_node.motion.chunk.plan_chunk`."""
        return plan_chunk(solver.chain, solver.collisions, self.start, self.chunk, self.limits,
                          self.following, self.constraints)


@dataclass(frozen=True, eq=False)
class SequenceRequest:
    """Motions in sequence, each with its own limits."""

    name: ClassVar[str] = 'sequence'
    start: StartState
    motions: tuple[SequencedMotion, ...]
    period: float  # largest time between points, s
    options: PathOptions

    def plan(self, solver: Solver) -> SequencePlan:
        """Plan; raise as :func:`ik_node.motion.joint_path.motion_sequence.plan_sequence`."""
        return plan_sequence(solver, self.start, self.motions, self.period, self.options)

    def refused(self, chain: Chain, first: int) -> RefusedMotion:
        """Return it as a motion to be tried with changes; `first` is the number of its first."""
        goals, names = [], []
        for number, motion in enumerate(self.motions, first):
            name = f'motion {number}' if len(self.motions) > 1 else ''
            if motion.T_between is not None:
                goals.append(Goal(motion.T_between))
                names.append(f'{name}, {ARC_NAMES[1]}'.lstrip(', '))
                name = f'{name}, {ARC_NAMES[2]}'.lstrip(', ')
            goals.append(motion.goal)
            names.append(name)

        def plan(solver: Solver, start: StartState,
                 changed: tuple[np.ndarray | Goal, ...]) -> SequencePlan:
            try:
                return SequenceRequest(start, tuple(
                    replace(motion, limits=widened(motion.limits, chain, solver.chain))
                    for motion in self._led_to(changed)), self.period, self.options).plan(solver)
            except SequenceError as error:
                raise error.cause from None

        only = self.motions[0]
        return RefusedMotion(self.start, tuple(goals), tuple(names), only.straight,
                             only.straight and len(goals) == 1, only.limits, self.period, plan)

    def _led_to(self, goals: tuple[np.ndarray | Goal, ...]) -> list[SequencedMotion]:
        """Return the motions to goals and poses in between, as far as these go."""
        motions, left = [], list(goals)
        for motion in self.motions:
            if not left:
                break
            if motion.T_between is not None:
                motion = replace(motion, T_between=left.pop(0).T_base_tip)
            motions.append(replace(motion, goal=left.pop(0)) if left else motion)
        return motions


@dataclass(frozen=True, eq=False)
class ReceivedRequest:
    """The check of a trajectory that was planned before, and its joint to where the arm rests."""

    name: ClassVar[str] = 'trajectory'
    start: StartState
    trajectory: Trajectory
    tolerance: float  # largest difference of the starts, rad or m
    limits: MotionLimits

    def plan(self, solver: Solver) -> Trajectory:
        """Return it as it is sent; raise TrajectoryError if it breaks a limit or collides."""
        joined = joined_to(self.trajectory, self.start, self.tolerance)
        validate(joined, self.limits)
        require_tip_speed(solver.chain, self.limits.tip, joined)
        require_free(solver.collisions, joined)
        return joined


@dataclass(frozen=True, eq=False)
class ConstrainedRequest:
    """A motion within path constraints, to any posture that serves the goal."""

    name: ClassVar[str] = 'constrained motion'
    start: StartState
    q_goal: np.ndarray  # (n,), the preferred posture, rad or m
    goal: Goal | None   # what other postures may reach; None if there is but `q_goal`
    constraints: tuple[PathConstraint, ...]
    limits: MotionLimits
    period: float   # largest time between points, s
    rounds: Rounds  # how long to search

    def plan(self, solver: Solver) -> Trajectory:
        """Plan; raise as :func:`ik_node.motion.constrained_motion.plan_constrained`."""
        goals = _goal_postures(solver, self)
        if self.goal is not None and not self.goal.is_exact:
            within = postures_within(solver, self.goal, self.constraints, goals, self.limits)
            goals = np.array([*within, *goals])
        return plan_constrained(solver.chain, solver.collisions, self.constraints, self.start,
                                goals, self.limits, self.period, self.rounds)


@dataclass(frozen=True, eq=False)
class MotionRemedyRequest:
    """What would make a refused path, or the motions of a sequence between two rests, possible."""

    name: ClassVar[str] = 'remedies of motion'
    motion: PathRequest | SequenceRequest  # what was refused
    first: int  # number of its first motion, of a sequence
    rounds: Rounds  # how long to search

    def plan(self, solver: Solver) -> tuple[MotionRemedy, ...]:
        """Search; see :func:`ik_node.motion.motion_remedies.find_motion_remedies`."""
        return find_motion_remedies(solver, self.motion.refused(solver.chain, self.first),
                                    self.rounds)


@dataclass(frozen=True, eq=False)
class PauseRequest:
    """The ramp to rest on the path of a motion."""

    name: ClassVar[str] = 'pause'
    start: StartState
    active: Trajectory  # the motion
    limits: MotionLimits
    period: float  # largest time between points, s

    def plan(self, solver: Solver) -> PathStop:
        """Plan; raise TrajectoryError if the motion ends before, or no ramp keeps the limits."""
        stop = plan_path_stop(self.active, self.start, self.limits, self.period, smooth=True)
        if stop.place > self.active.duration - MIN_REST_OF_MOTION_S:
            raise TrajectoryError('the motion ends before it could be paused')
        require_free(solver.collisions, stop.trajectory)
        return stop


@dataclass(frozen=True, eq=False)
class ResumeRequest:
    """The rest of a motion that was paused."""

    name: ClassVar[str] = 'rest of motion'
    start: StartState   # at rest
    active: Trajectory  # the motion
    place: float        # the time (s) in it at which the arm stands
    limits: MotionLimits
    period: float  # largest time between points, s

    def plan(self, solver: Solver) -> Trajectory:
        """Plan; raise TrajectoryError if the limits cannot be kept, or it collides."""
        trajectory = plan_path_resume(solver.chain, self.active, self.place, self.start,
                                      self.limits, self.period)
        require_free(solver.collisions, trajectory)
        return trajectory


@dataclass(frozen=True, eq=False)
class RateRequest:
    """The rest of a motion at another speed."""

    name: ClassVar[str] = 'speed of motion'
    start: StartState   # on the motion
    active: Trajectory  # the motion
    ratio: float        # of the speeds, new to old
    limits: MotionLimits
    period: float  # largest time between points, s

    def plan(self, solver: Solver) -> PathRate:
        """Plan; raise TrajectoryError if the limits cannot be kept, or it collides."""
        changed = plan_path_rate(solver.chain, self.active, self.start, self.ratio, self.limits,
                                 self.period)
        require_free(solver.collisions, changed.trajectory)
        return changed


ConstrainableRequest = (DirectRequest | JointPathRequest | SequenceRequest | ReceivedRequest
                        | PauseRequest | ResumeRequest | RateRequest)


@dataclass(frozen=True, eq=False)
class WithinRequest:
    """Another motion, if it keeps path constraints."""

    name: ClassVar[str] = 'within constraints'
    request: ConstrainableRequest
    constraints: tuple[PathConstraint, ...]

    def plan(self, solver: Solver) -> Any:
        """Plan as the request; raise ConstraintError if the motion leaves a constraint."""
        if isinstance(self.request, DirectRequest):
            require_within(solver.chain, self.constraints, self.request.q_goal,
                           self.request.limits, 'the goal')
        planned = self.request.plan(solver)
        require_kept(solver.chain, self.constraints, planned if isinstance(planned, Trajectory)
                     else planned.trajectory, not isinstance(self.request, PauseRequest))
        return planned


def _goal_postures(solver: Solver, request: DetourRequest | ConstrainedRequest) -> np.ndarray:
    """Return the postures (g, n) to which a request may lead, the preferred one first."""
    q, goals = request.start.splice.q, [request.q_goal]
    if request.goal is not None:
        goals += [posture.q for posture in solver.free_postures(request.goal, q)]
    return np.array([solver.chain.nearest_turns(goal, q) for goal in goals])


Request = (SolveRequest | RemedyRequest | DirectRequest | DetourRequest | PathRequest
           | ChunkRequest | JointPathRequest | SequenceRequest | WithinRequest | ConstrainedRequest
           | MotionRemedyRequest | ReceivedRequest | PauseRequest | ResumeRequest | RateRequest)
