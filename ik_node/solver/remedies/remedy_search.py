# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What would make a refused goal possible: the least shift, turn, wider limit or jump.

The nearest position with the orientation of the goal, and the nearest orientation at its
position, are walked to by damped steps from many postures, with a weight that puts first what is
kept.  Among obstacles they are sought in many directions about the goal, because there is no
slope to follow.  Each remedy is rounded, with a margin, and then tried: the solver solves the
changed goal, or nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, inf, pi, radians

import numpy as np

from ik_node.base.errors import Reason
from ik_node.base.se3 import rotation_about, rotation_from_quaternion, rotation_log
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import Chain
from ik_node.solver.branches import all_solutions, leaves_freedom
from ik_node.solver.descent.layout import (
    BOX_AXES,
    BOX_WIDTHS,
    EXACT_POSE,
    JOINT_VALUES,
    JointRows,
    MAX_STEPS,
    METRES_PER_RADIAN,
    ORIENTATION_TOLERANCE,
    POSITION_TOLERANCE,
    SOLVED_FLAG,
    SQUARED_ERROR,
    TIP_AXES,
    WALK_TO_REST,
)
from ik_node.solver.goal import Goal
from ik_node.solver.options import COMPILED_METHOD
from ik_node.solver.remedies.remedy import (
    OtherOption,
    Remedy,
    rounded_shift,
    rounded_turn,
    Shift,
    Turn,
    WiderLimit,
)
from ik_node.solver.result import Result
from ik_node.solver.solver import Solver
from ik_node.solver.tables import Query

KINEMATIC_REASONS = (Reason.OUT_OF_REACH, Reason.INNER_VOID, Reason.ORIENTATION_OUT_OF_REACH,
                     Reason.BEYOND_LIMIT, Reason.NO_SOLUTION)
REMEDIED_REASONS = (*KINEMATIC_REASONS, Reason.OTHER_BRANCH, Reason.COLLISION)

FIRST_WALKS, FIRST_WALK_STEPS = 64, 25.0  # walks that begin, and their steps
LAST_WALKS, LAST_WALK_STEPS = 12, 300.0   # the best of them, which go on to their end
KEPT_TOLERANCE = 1e-8     # m and rad, of what a change keeps
SAME_REMEDY = 1e-3        # m or rad, remedies nearer to each other are one
MAX_TRIED_WALKS = 3       # ends of walks that are tried, the nearest first
MIN_REMEDY = 1e-6         # m or rad
LIMIT_MARGIN_RAD, LIMIT_MARGIN_M = radians(0.5), 1e-3
LIMIT_STARTS = 6          # postures from which solutions beyond one limit are sought
MAX_TRIED_LIMITS = 2
HALVING_ROUNDS = 10       # of an interval, for the least value in it
JUMP_MARGIN = 0.01        # rad or m
JUMP_RESTARTS = 20        # attempts within a jump, besides those from the known solutions
MAX_RESTARTS_OF_OTHERS = 150  # of solvers that are made to try a remedy
MAX_PROBED_BRANCHES = 5
SLIGHT_TURNS_RAD = (0.6, 0.3, 0.15, 0.08)  # of a direction, to find a shorter one beside it
SHORTER_SHARES = (0.8, 0.95)
MAX_BISECTED_DIRECTIONS = 4
PROBE_DIRECTIONS = np.array([np.array(d) / np.linalg.norm(d)
                             for d in product((-1.0, 0.0, 1.0), repeat=3) if any(d)])

Trial = Callable[[Solver, Goal], bool]


@dataclass(frozen=True, eq=False)
class Change:
    """One kind of change to a goal, by a vector (3,)."""

    # Returns poses (k, 4, 4) of a pose (4, 4) by vectors (k, 3).
    moved: Callable[[np.ndarray, np.ndarray], np.ndarray]
    # Returns the vector (3,) that makes a pose (4, 4) of the tip meet a goal.
    needed: Callable[[Goal, np.ndarray], np.ndarray]
    # Returns the remedy of a vector, some margin (m or rad) and decimals, and a base link.
    rounded: Callable[[np.ndarray, float, int, str], Shift | Turn]
    changed_axes: tuple[int, ...]  # axes of a tolerance that are free for it
    # walk_weight, start_weight: m per rad, of walks, and to choose where they start
    walk_weight: float
    start_weight: float
    # Margins (m or rad) and decimals that are tried, one after the other.
    rungs: tuple[tuple[float, int], ...]
    radii: tuple[float, ...]  # m or rad, where it is sought among obstacles


def remedies_of(solver: Solver, result: Result,
                goes_on: Callable[[], bool] = lambda: True) -> tuple[Remedy, ...]:
    """
    Return what would make the goal of a result possible; see :func:`find_remedies`.

    Parameters
    ----------
    solver : Solver
        That the result is of.
    result : Result
    goes_on : callable
        Asked before each piece of work of about a millisecond whether to go on.

    Returns
    -------
    tuple of Shift, Turn, WiderLimit and OtherOption
        The best first, each found true by solving; empty if none was found, or the goal was
        not refused.

    """
    return find_remedies(solver, result.goal, result.seeds, result.status, result.q, goes_on)


def find_remedies(solver: Solver, goal: Goal, seeds: np.ndarray, status: Reason,
                  nearest: np.ndarray, goes_on: Callable[[], bool] = lambda: True,
                  works: Trial | None = None) -> tuple[Remedy, ...]:
    """
    Return what would make a refused goal possible, the best first; empty if nothing was found.

    Parameters
    ----------
    solver : Solver
        Its options and its collision check hold for the remedies, too.  For textbook methods,
        which would take too long, nothing is sought.
    goal : Goal
    seeds : (n,) or (s, n) array
        As they were given to :meth:`Solver.solve`, rad or m.
    status : Reason
        Why it was refused.
    nearest : (n,) array
        The posture that came nearest, rad or m.
    goes_on : callable
        Asked before each piece of work of about a millisecond whether to go on.
    works : callable, optional
        Tries a changed goal with a solver, which may have a wider limit or another option, and
        returns whether it is possible now; by default, whether the solver solves it.

    """
    if status not in REMEDIED_REASONS or solver.options.method != COMPILED_METHOD:
        return ()
    return RemedySearch(solver, goal, seeds, goes_on, works).remedies(status, nearest)


class RemedySearch:
    """
    The search for the remedies of one goal.

    Parameters
    ----------
    solver, goal, seeds, goes_on, works :
        As of :func:`find_remedies`.

    """

    def __init__(self, solver: Solver, goal: Goal, seeds: np.ndarray,
                 goes_on: Callable[[], bool], works: Trial | None = None) -> None:
        self._solver, self._goal, self._seeds, self._goes_on = solver, goal, seeds, goes_on
        self._works = works or self._solves
        self._query = solver.near_query(goal, seeds)

    def remedies(self, status: Reason, nearest: np.ndarray) -> tuple[Remedy, ...]:
        """Return the remedies, the best first; arguments as of :func:`find_remedies`."""
        changes = [change for change, free in ((SHIFT_CHANGE, self._goal.position_free),
                                               (TURN_CHANGE, self._goal.orientation_free))
                   if not free]
        if status is Reason.COLLISION:
            known = self._solutions()
            moves = [self._among_obstacles(change, np.zeros(3), known) for change in changes]
        else:
            moves = [self._nearest(change, nearest) for change in changes]
        found = sorted((remedy for remedy in moves if remedy is not None),
                       key=lambda remedy: remedy.size)
        first, last = [], []
        if status is Reason.OTHER_BRANCH:
            first = [self._jump()]
        elif status in KINEMATIC_REASONS and self._solver.options.max_jump == inf:
            last = [self._limit(nearest)]
        return tuple(remedy for remedy in (*first, *found, *last) if remedy is not None)

    # ---- shift and turn -----------------------------------------------------

    def _nearest(self, change: Change, nearest: np.ndarray) -> Remedy | None:
        """Return the least change that brings the goal within reach."""
        ends = self._walked(change, nearest)
        for vector, q in ends:
            found = self._first_true(change, vector, q)
            if found is not None:
                return found
        if self._solver.collisions is not None and ends:
            vector, q = ends[0]
            return self._among_obstacles(change, vector, q[None])
        return None

    def _walked(self, change: Change, nearest: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the changes (3,) that walks end at, the least first, and their postures (n,)."""
        query, goal = self._query, self._goal
        table = query.tables.nearest_postures(query.T[0], change.start_weight)
        starts = np.concatenate([nearest[None], query.seed[None], table[:FIRST_WALKS - 2]])
        answers = self._walk(change, starts, FIRST_WALK_STEPS)
        order = np.argsort(answers[:, SQUARED_ERROR], kind='stable')[:LAST_WALKS]
        if not self._goes_on():
            return []
        answers = self._walk(change, answers[order, JOINT_VALUES:], LAST_WALK_STEPS)
        answers = answers[np.argsort(answers[:, SQUARED_ERROR], kind='stable')]
        ends: list[tuple[np.ndarray, np.ndarray]] = []
        for q in self._kept_exactly(change, answers[:, JOINT_VALUES:]):
            vector = change.needed(goal, forward_kinematics(self._solver.chain, q))
            if np.linalg.norm(vector) > MIN_REMEDY \
                    and all(np.abs(vector - other).max() > SAME_REMEDY for other, _ in ends):
                ends.append((vector, q))
        return sorted(ends, key=lambda end: float(np.linalg.norm(end[0])))[:MAX_TRIED_WALKS]

    def _walk(self, change: Change, starts: np.ndarray, steps: float) -> np.ndarray:
        """Walk from postures (k, n) on; return the answers (k, 7 + n)."""
        walking = self._query.with_settings({METRES_PER_RADIAN: change.walk_weight,
                                             MAX_STEPS: steps, WALK_TO_REST: 1.0})
        return _solved_each(walking, np.repeat(walking.T, len(starts), axis=0), starts)

    def _kept_exactly(self, change: Change, Q: np.ndarray) -> np.ndarray:
        """Return postures beside Q (k, n), at which what a change keeps is met exactly."""
        axes = self._query.settings[BOX_AXES]
        query = self._query.with_settings({
            **{BOX_WIDTHS + k: inf for k in change.changed_axes},
            BOX_AXES: TIP_AXES if axes == EXACT_POSE else axes,
            POSITION_TOLERANCE: KEPT_TOLERANCE, ORIENTATION_TOLERANCE: KEPT_TOLERANCE})
        answers = _solved_each(query, np.repeat(query.T, len(Q), axis=0), Q)
        return answers[answers[:, SOLVED_FLAG] == 1.0, JOINT_VALUES:]

    def _first_true(self, change: Change, vector: np.ndarray, q: np.ndarray) -> Remedy | None:
        """Return the remedy nearest to a change that the solver can solve; None if none can."""
        base = self._solver.chain.base_link
        remedies = [change.rounded(vector, margin, decimals, base)
                    for margin, decimals in change.rungs]
        goals = np.array([remedy.applied(self._goal).T_base_tip for remedy in remedies])
        answers = _solved_each(self._query, goals, np.repeat(q[None], len(goals), axis=0))
        return self._tried(remedy for remedy, answer in zip(remedies, answers)
                           if answer[SOLVED_FLAG] == 1.0)

    def _tried(self, remedies: Iterable[Shift | Turn]) -> Remedy | None:
        """Return the first remedy with which the solver has a solution."""
        for remedy in remedies:
            if not self._goes_on():
                return None
            if self._works(self._solver, remedy.applied(self._goal)):
                return remedy
        return None

    def _solves(self, solver: Solver, goal: Goal) -> bool:
        return solver.solve(goal, self._seeds).status is Reason.SOLVED

    # ---- among obstacles ----------------------------------------------------

    def _solutions(self) -> np.ndarray:
        """Return solutions of the goal all over, (k, n), though they collide."""
        found = all_solutions(self._query)
        apart = max(1, -(-len(found) // MAX_PROBED_BRANCHES))
        return np.array([posture.q for posture in found[::apart]]).reshape(
            -1, self._solver.chain.n)

    def _among_obstacles(self, change: Change, centre: np.ndarray,
                         starts: np.ndarray) -> Remedy | None:
        """Return a small change with a posture that is free, sought about a change (3,)."""
        if not len(starts):
            return None
        before = 0.0
        for radius in change.radii:
            if not self._goes_on():
                return None
            vectors = centre + radius * PROBE_DIRECTIONS
            free, postures = self._free(change, vectors, starts)
            if free.any():
                vectors, postures = vectors[free], postures[free]
                nearest = np.argsort(np.linalg.norm(vectors, axis=1),
                                     kind='stable')[:MAX_BISECTED_DIRECTIONS]
                best = self._shortened(change, centre, vectors[nearest], before / radius,
                                       postures[nearest])
                return self._first_true(change, *self._beside(change, *best))
            before = radius
        return None

    def _shortened(self, change: Change, centre: np.ndarray, vectors: np.ndarray, share: float,
                   Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the least change that is free on the lines from `centre` to `vectors` (k, 3).

        These are free, with the postures Q (k, n); what is nearer than `share` is not.
        """
        low, high = np.full((len(vectors), 1), share), np.ones((len(vectors), 1))
        rays, Q = vectors - centre, Q.copy()
        for _ in range(HALVING_ROUNDS // 2):
            if not self._goes_on():
                break
            middle = 0.5 * (low + high)
            free, postures = self._free(change, centre + middle * rays, Q[:, None])
            low[~free], high[free], Q[free] = middle[~free], middle[free], postures[free]
        ends = centre + high * rays
        k = int(np.argmin(np.linalg.norm(ends, axis=1)))
        return ends[k], Q[k]

    def _beside(self, change: Change, vector: np.ndarray,
                q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a shorter change that is free, in a direction beside that of `vector`."""
        for angle in SLIGHT_TURNS_RAD:
            while (length := np.linalg.norm(vector)) > MIN_REMEDY and self._goes_on():
                ahead = vector / length
                aside = np.linalg.svd(ahead[None])[2][1:]
                around = np.linspace(0.0, 2.0 * pi, 6, endpoint=False)
                turned = np.cos(angle) * ahead + np.sin(angle) * (
                    np.cos(around)[:, None] * aside[0] + np.sin(around)[:, None] * aside[1])
                vectors = np.concatenate([share * length * turned for share in SHORTER_SHARES])
                free, postures = self._free(change, vectors, q[None])
                if not free.any():
                    break
                k = int(np.argmax(free))
                vector, q = vectors[k], postures[k]
        return self._shortened(change, np.zeros(3), vector[None], SHORTER_SHARES[0], q[None])

    def _free(self, change: Change, vectors: np.ndarray,
              starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return which changes (k, 3) have a free posture, (k,) bool, and these (k, n).

        They are sought from each of the starts: (s, n), or others for each change, (k, s, n).
        """
        goals = change.moved(self._query.T[0], vectors)
        count, n = len(goals), self._solver.chain.n
        starts = np.broadcast_to(starts, (count, *starts.shape[-2:]))
        answers = _solved_each(self._query, np.repeat(goals, starts.shape[1], axis=0),
                               starts.reshape(-1, n))
        Q = answers[:, JOINT_VALUES:]
        free = answers[:, SOLVED_FLAG] == 1.0
        if free.any():
            free[free] = self._solver.collisions.check_many(np.ascontiguousarray(Q[free]))
        free = free.reshape(count, -1)
        first = np.argmax(free, axis=1)
        return free.any(axis=1), Q.reshape(count, -1, n)[np.arange(count), first]

    # ---- a limit ------------------------------------------------------------

    def _limit(self, nearest: np.ndarray) -> WiderLimit | None:
        """Return the least widening of one joint's limit with which the goal can be reached."""
        chain, rows = self._solver.chain, JointRows(*self._query.joints)
        found = []
        for k in np.flatnonzero((rows.lower < rows.upper) & np.isfinite(rows.lower)):
            if not self._goes_on():
                break
            found += [(*self._beyond(k, self._least_beyond(k, q)), int(k))
                      for q in self._opened(k, nearest)]
        for excess, upper, k in sorted(found)[:MAX_TRIED_LIMITS]:
            if excess <= MIN_REMEDY or not self._goes_on():
                continue
            limit = _wider(chain, k, upper, excess)
            wide = self._other_solver(_widened(chain, limit))
            if self._works(wide, self._goal):
                return limit
        return None

    def _opened(self, k: int, nearest: np.ndarray) -> np.ndarray:
        """Return solutions (s, n) without the limits of joint k."""
        joints = self._query.joints.copy()
        rows = JointRows(*joints)
        room = inf if rows.revolute[k] else self._solver.chain.reach
        rows.lower[k], rows.upper[k] = rows.lower[k] - room, rows.upper[k] + room
        query = self._query.with_joints(joints)
        closed = query.branches(query.seed)
        if len(closed):
            return closed[:, JOINT_VALUES:]
        table = query.tables.nearest_postures(query.T[0])[:LIMIT_STARTS - 2]
        starts = np.concatenate([nearest[None], query.seed[None], table])
        answers = _solved_each(query, np.repeat(query.T, len(starts), axis=0), starts)
        return answers[answers[:, SOLVED_FLAG] == 1.0, JOINT_VALUES:]

    def _beyond(self, k: int, q: np.ndarray) -> tuple[float, bool]:
        """Return how far joint k of q is beyond its limits at its best turn, and at which end."""
        rows = JointRows(*self._query.joints)
        values = q[k] + (2.0 * pi * np.arange(-2.0, 3.0) if rows.revolute[k] else np.zeros(1))
        low = np.maximum(rows.lower[k] - values, 0.0)
        high = np.maximum(values - rows.upper[k], 0.0)
        best = int(np.argmin(np.maximum(low, high)))
        return float(max(low[best], high[best])), bool(high[best] > low[best])

    def _least_beyond(self, k: int, q: np.ndarray) -> np.ndarray:
        """Return the solution (n,) along the self-motion from q with joint k least beyond."""
        if not leaves_freedom(self._query):
            return q
        joints = self._query.joints.copy()
        rows = JointRows(*joints)
        excess, upper = self._beyond(k, q)
        turned = q.copy()
        turned[k] = rows.upper[k] + excess if upper else rows.lower[k] - excess
        lower_end, upper_end, least, most = rows.lower[k], rows.upper[k], 0.0, excess
        for _ in range(HALVING_ROUNDS):
            middle = 0.5 * (least + most)
            rows.lower[k] = lower_end - (0.0 if upper else middle)
            rows.upper[k] = upper_end + (middle if upper else 0.0)
            answer = self._query.with_joints(joints).solve(turned[None], 0, 0)
            if answer[SOLVED_FLAG] == 1.0:
                turned = answer[JOINT_VALUES:].copy()
                most = middle
            else:
                least = middle
        return turned

    def _other_solver(self, chain: Chain, **options: float) -> Solver:
        """Return the solver of another chain or with other options; it is made quickly."""
        given = vars(self._solver.options)
        return Solver(chain, self._solver.collisions, **{
            **given, 'max_restarts': min(given['max_restarts'], MAX_RESTARTS_OF_OTHERS),
            **options})

    # ---- a jump -------------------------------------------------------------

    def _jump(self) -> OtherOption | None:
        """Return the least max_jump with which the goal can be reached."""
        solver = self._solver
        farther = self._other_solver(solver.chain, max_jump=inf)
        postures = farther.solve_all(self._goal, self._query.seed)
        found = [float(np.abs(turn - posture.seed).max()) for posture in postures
                 for turn in posture.turns[:1]]
        if not found:
            return None
        least, most = solver.options.max_jump, min(found)
        if leaves_freedom(self._query):
            start = np.array([posture.q for posture in postures])
            for _ in range(HALVING_ROUNDS):
                middle = 0.5 * (least + most)
                if not self._goes_on():
                    break
                answer = solver.near_query(self._goal, self._seeds, middle).solve(
                    start, 0, JUMP_RESTARTS)
                least, most = (least, middle) if answer[SOLVED_FLAG] == 1.0 else (middle, most)
        value = ceil((most + JUMP_MARGIN) * 100.0) / 100.0
        if self._works(self._other_solver(solver.chain, max_jump=value), self._goal):
            return OtherOption('max_jump', value)
        return None


def _solved_each(query: Query, goals: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Solve goals (k, 4, 4), each from its own start (k, n) only; return answers (k, 7 + n)."""
    # The start comes second: about a first seed more attempts are made.
    return query.tables.solve(goals, np.stack([starts, starts], axis=1), 1, 0,
                              settings=query.settings, joints=query.joints)


def _wider(chain: Chain, k: int, upper: bool, excess: float) -> WiderLimit:
    """Return the limit of joint k, wider by `excess` and a margin, rounded outward."""
    revolute = bool(chain.revolute[k])
    margin, scale = (LIMIT_MARGIN_RAD, 1e3) if revolute else (LIMIT_MARGIN_M, 1e4)
    beyond = chain.upper[k] + excess + margin if upper else excess + margin - chain.lower[k]
    value = ceil(beyond * scale) / scale
    return WiderLimit(chain.joint_names[k], upper, value if upper else -value, revolute)


def _widened(chain: Chain, limit: WiderLimit) -> Chain:
    """Return a chain with a wider limit."""
    name, k = ('upper' if limit.upper else 'lower'), chain.joint_names.index(limit.joint)
    values = getattr(chain, name).copy()
    values[k] = limit.value
    values.setflags(write=False)
    return replace(chain, **{name: values})


# ---- the changes ------------------------------------------------------------

def _shifted(T: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    goals = np.repeat(T[None], len(vectors), axis=0)
    goals[:, :3, 3] += vectors
    return goals


def _turned(T: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    half = 0.5 * np.linalg.norm(vectors, axis=1)[:, None]
    quaternions = np.hstack([0.5 * np.sinc(half / pi) * vectors, np.cos(half)])
    goals = np.repeat(T[None], len(vectors), axis=0)
    goals[:, :3, :3] = T[:3, :3] @ rotation_from_quaternion(quaternions)
    return goals


def _shift_needed(goal: Goal, T_base_tip: np.ndarray) -> np.ndarray:
    """Return the shift (3,) in the base link that puts a position inside the tolerance."""
    d = T_base_tip[:3, 3] - goal.T_base_tip[:3, 3]
    axes = goal.T_base_tip[:3, :3] if goal.frame == 'tip' else np.eye(3)
    return axes @ _outside(axes.T @ d, goal.tolerance[:3])


def _turn_needed(goal: Goal, T_base_tip: np.ndarray) -> np.ndarray:
    """Return the rotation vector (3,) of the tool that puts an orientation in the tolerance."""
    R_goal, turn = goal.T_base_tip[:3, :3], np.eye(3)
    for _ in range(1 if goal.is_exact else TURN_ROUNDS):
        away = (R_goal @ turn).T @ T_base_tip[:3, :3] if goal.frame == 'tip' \
            else T_base_tip[:3, :3] @ (R_goal @ turn).T
        part = _outside(rotation_log(away), goal.tolerance[3:])
        angle = float(np.linalg.norm(part))
        if angle < MIN_REMEDY:
            break
        step = rotation_about(part / angle, angle)
        turn = turn @ step if goal.frame == 'tip' else R_goal.T @ step @ R_goal @ turn
    return rotation_log(turn)


def _outside(deviation: np.ndarray, tolerance: tuple[float, ...]) -> np.ndarray:
    """Return the part of a deviation (3,) that is outside the tolerance."""
    return np.sign(deviation) * np.maximum(np.abs(deviation) - np.array(tolerance), 0.0)


TURN_ROUNDS = 10  # until a turn is inside a tolerance
SHIFT_CHANGE = Change(
    _shifted, _shift_needed, rounded_shift, (0, 1, 2), walk_weight=100.0,
    start_weight=1.0, rungs=((1e-3, 4), (3e-3, 4), (1e-2, 4), (0.0, 9)),
    radii=(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64))
TURN_CHANGE = Change(
    _turned, _turn_needed, lambda vector, margin, decimals, _base: rounded_turn(
        vector, margin, decimals), (3, 4, 5), walk_weight=1e-3, start_weight=0.1,
    rungs=((radians(0.5), 3), (radians(1.0), 3), (radians(3.0), 3), (0.0, 9)),
    radii=(0.1, 0.2, 0.4, 0.8, 1.6, 3.1))
