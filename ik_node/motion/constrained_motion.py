# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Motions within path constraints, from rest to rest.

The direct motion of the joints is taken if it keeps the constraints.  Else a search finds a path
within them (:mod:`ik_node.motion.constrained.search`); its corners are rounded, its nodes are
projected onto the constraints again, it is timed within the limits, and the trajectory is proved
to keep them and to be free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ik_node.base.errors import ConstraintError, Reason, TrajectoryError
from ik_node.base.se3 import inverse, pose, rotation_about, rotation_log
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.search.path_search import SearchLimits
from ik_node.kinematics.arm import forward_kinematics
from ik_node.kinematics.kernels import tip_poses
from ik_node.model.chain import Chain
from ik_node.motion.constrained.constraint import (
    described_excess,
    most_excess,
    PathConstraint,
    SLACK,
)
from ik_node.motion.constrained.proof import certify_constraints
from ik_node.motion.constrained.rows import (
    constraint_rows,
    constraint_work,
    outside,
    project_all,
)
from ik_node.motion.constrained.search import find_constrained_path
from ik_node.motion.detour import DETOUR_TIME_S, for_seconds, LIMIT_INSET
from ik_node.motion.direct.point_to_point import (
    plan_point_to_point,
    plan_stop,
    require_free,
    StartState,
)
from ik_node.motion.tool_path.timing import JointPath, timed_trajectory
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.sampling import compiled_segments
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.motion.trajectory.validate import validate
from ik_node.solver.goal import Goal, TIP_FRAME
from ik_node.solver.solver import Solver

# Tried until the trajectory is good, rad or m: half of the length over which the path is averaged,
# and the distance between nodes.
ROUNDINGS = (0.3, 0.06), (0.15, 0.04), (0.07, 0.02), (0.03, 0.01)
MAX_SEARCHES = 4   # for shorter ways, or for one that can be followed
SHORT_RATIO = 2.0  # of the length of a way to the straight line; shorter ones are taken at once
FURTHER_BLOCKS = 20  # of iterations, of each further search: counted, so that it can be repeated
FULL_INSET_AFTER = 0.3  # rad or m from either end of the path
LEAST_INSET_SHARE = 0.02
SAME_POSTURE = 1e-9  # rad or m
MAX_SEEDS = 12  # of goals with free axes, from which postures within constraints are looked for


def plan_constrained(chain: Chain, model: CollisionModel | None,
                     constraints: Sequence[PathConstraint], start: StartState,
                     goals: np.ndarray, limits: MotionLimits, period: float,
                     goes_on: Callable[[], bool] | None = None) -> Trajectory:
    """
    Plan a motion within path constraints, from rest to rest.

    A moving arm is first brought to rest.  A start outside of a constraint comes into it, and is
    never farther outside on its way.

    Parameters
    ----------
    chain : Chain
    model : CollisionModel, optional
        None: collisions are not checked.
    constraints : sequence of PathConstraint
    start : StartState
        Where the arm is and how it moves.
    goals : (g, n) array
        Joint positions, the preferred ones first.
    limits : MotionLimits
    period : float
        Largest time between points (s).
    goes_on : callable, optional
        Asked now and then whether to search on; without it, for DETOUR_TIME_S.

    Returns
    -------
    Trajectory
        Proved to keep the constraints, and to be free, at every instant.

    Raises
    ------
    ConstraintError
        If no goal is within the constraints, or no motion within them was found.
    TrajectoryError
        If no goal is free, or a limit cannot be kept.

    """
    q_start, ramp, goals = start.splice.q, None, np.array(goals, dtype=float, ndmin=2)
    if not constraints or not goals.size:
        raise ConstraintError('a motion within path constraints needs a constraint and a goal')
    kept = goals[_values(chain, constraints, goals).max(axis=1) <= SLACK]
    if not len(kept):
        raise _outside_error(chain, constraints, goals[0], limits, 'the goal')
    if model is not None:
        free = kept[model.check_many(kept)]
        if not len(free):
            raise TrajectoryError(f'at the goal, {model.describe(kept[0])}', Reason.COLLISION)
        kept = free
    try:
        direct = plan_point_to_point(chain.joint_names, start, kept[0], limits, period, chain)
        require_kept(chain, constraints, direct)
        require_free(model, direct)
        return direct
    except TrajectoryError:
        pass
    if len(start.times) or not start.splice.rests:
        ramp = plan_stop(chain.joint_names, start, limits, period)
        q_start = ramp.end
        if np.abs(kept - q_start).max(axis=1).min() < SAME_POSTURE:
            require_kept(chain, constraints, ramp)
            require_free(model, ramp)
            return ramp
    ways = _ways(chain, model, constraints, q_start, kept, limits,
                 goes_on or for_seconds(DETOUR_TIME_S))
    error: TrajectoryError = ConstraintError(
        'the path that was found cannot be followed within the path constraint; widen it, or go '
        'there in several goals')
    for way, (rounding, spacing) in ((way, each) for way in ways for each in ROUNDINGS):
        nodes = _rounded(chain, constraints, way, rounding, spacing, limits)
        if nodes is None:
            continue
        trajectory = _timed(chain, nodes, limits, period)
        if ramp is not None:
            trajectory = ramp.followed_by(trajectory)
        try:
            validate(trajectory, limits)
            require_kept(chain, constraints, trajectory)
            require_free(model, trajectory, ' within the path constraint')
            return trajectory
        except TrajectoryError as this:
            error = this
    raise error


def _values(chain: Chain, constraints: Sequence[PathConstraint], Q: np.ndarray) -> np.ndarray:
    """Return how far above its bound each row is in postures Q (N, n), (N, r)."""
    rows = constraint_rows(constraints)
    values = np.empty((len(Q), len(rows.kinds)))
    outside(chain.table, rows, np.array(Q, dtype=float), values,
            constraint_work(rows, chain.table, chain.n))
    return values


def require_kept(chain: Chain, constraints: Sequence[PathConstraint],
                 trajectory: Trajectory, ends_within: bool = True) -> None:
    """Check that a trajectory is proved to keep constraints; raise ConstraintError if not."""
    leaving = certify_constraints(chain, constraints, *compiled_segments(trajectory), ends_within)
    if leaving is not None:
        raise ConstraintError(f'{leaving.words} after {leaving.time:.2f} s of the motion of '
                              f'{trajectory.duration:.2f} s')


def nearest_kept(chain: Chain, constraints: Sequence[PathConstraint], q: np.ndarray,
                 limits: MotionLimits) -> np.ndarray | None:
    """Return the posture (n,) near q that is within constraints; None if none is found."""
    rows, Q = constraint_rows(constraints), np.array(q, dtype=float, ndmin=2)
    found = project_all(chain.table, rows, limits.lower, limits.upper,
                        LEAST_INSET_SHARE * rows.insets[None], Q,
                        constraint_work(rows, chain.table, chain.n))
    return Q[0] if found else None


def postures_within(solver: Solver, goal: Goal, constraints: Sequence[PathConstraint],
                    seeds: Sequence[np.ndarray], limits: MotionLimits) -> list[np.ndarray]:
    """
    Return postures (n,) that reach a goal with free axes within constraints, from seeds (n,).

    A seed is projected onto both, and then brought to the goal with the free axes as they are.
    """
    chain, found = solver.chain, []
    box = PathConstraint(goal.T_base_tip, goal.tolerance[:3], goal.tolerance[3:]) \
        if goal.frame == TIP_FRAME else None
    for seed in seeds[:MAX_SEEDS] if box is not None else ():
        near = nearest_kept(chain, [box, *constraints], seed, limits)
        if near is None:
            continue
        T = inverse(goal.T_base_tip) @ forward_kinematics(chain, near)
        off = np.concatenate([T[:3, 3], rotation_log(T[:3, :3])])
        off = np.clip(off, -np.array(goal.tolerance), goal.tolerance)
        result = solver.solve(goal.T_base_tip @ pose(_rotation(off[3:]), off[:3]), near)
        if result.success and _values(chain, constraints, result.q[None]).max() <= SLACK:
            found.append(result.q)
    return found


def _rotation(r: np.ndarray) -> np.ndarray:
    angle = float(np.linalg.norm(r))
    return rotation_about(r / angle, angle) if angle > 0.0 else np.eye(3)


def require_within(chain: Chain, constraints: Sequence[PathConstraint], q: np.ndarray,
                   limits: MotionLimits, what: str) -> None:
    """
    Check that a posture (n,) is within constraints; `what` begins the sentence if it is not.

    Raises
    ------
    ConstraintError
        With by how much it is outside, and the nearest pose within.

    """
    if most_excess(constraints, forward_kinematics(chain, q))[1] > SLACK:
        raise _outside_error(chain, constraints, q, limits, what)


def _outside_error(chain: Chain, constraints: Sequence[PathConstraint], q: np.ndarray,
                   limits: MotionLimits, what: str) -> ConstraintError:
    nearest = nearest_kept(chain, constraints, q, limits)
    excess = described_excess(*most_excess(constraints, forward_kinematics(chain, q)))
    return ConstraintError(
        f'{what} is outside of the path constraint: {excess}; ' + (
            'no posture near it is within' if nearest is None else
            'the nearest pose within is ' + _pose_words(forward_kinematics(chain, nearest))))


def _pose_words(T: np.ndarray) -> str:
    turn = rotation_log(T[:3, :3])
    half = 0.5 * float(np.linalg.norm(turn))
    numbers = [*T[:3, 3], *0.5 * np.sinc(half / np.pi) * turn, np.cos(half)]
    return '[' + ', '.join(f'{value:.4f}' for value in numbers) + '] (x y z, and x y z w)'


def _ways(chain: Chain, model: CollisionModel | None, constraints: Sequence[PathConstraint],
          q_start: np.ndarray, goals: np.ndarray, limits: MotionLimits,
          goes_on: Callable[[], bool]) -> Iterator[np.ndarray]:
    """Yield ways (k, n) to one of the goals: short ones as they are found, then longer ones."""
    begin, longer = q_start, list[tuple[float, int, np.ndarray]]()
    beyond = _values(chain, constraints, q_start[None])[0] > SLACK
    if beyond.any():
        found = nearest_kept(chain, constraints, q_start, limits)
        if found is None or (beyond & ~constraint_rows(constraints).comes_in).any():
            raise _outside_error(chain, constraints, q_start, limits, 'the start')
        if model is not None and not model.check_many(found[None])[0]:
            raise ConstraintError('the start is outside of the path constraint, and in the '
                                  f'nearest posture within it {model.describe(found)}')
        begin = found
    for seed in range(MAX_SEARCHES):
        way = find_constrained_path(
            chain, model, constraints, begin, goals, _inner_limits(limits),
            SearchLimits(goes_on=_shortly(goes_on) if longer else goes_on, seed=seed))
        if way is None and seed == 0:
            raise ConstraintError('no motion within the path constraint was found; widen it, go '
                                  'there in several goals, or allow more time for the search '
                                  '(motion.detour_time)')
        if way is None:
            break
        length = float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())
        whole = way if begin is q_start else np.vstack([q_start, way])
        if length <= SHORT_RATIO * np.linalg.norm(way[-1] - way[0]):
            yield whole
        else:
            longer.append((length, seed, whole))
    yield from (way for *_, way in sorted(longer))


def _shortly(goes_on: Callable[[], bool]) -> Callable[[], bool]:
    """Return what says whether to go on, for FURTHER_BLOCKS at most."""
    blocks = iter(range(FURTHER_BLOCKS))
    return lambda: next(blocks, None) is not None and goes_on()


def _inner_limits(limits: MotionLimits) -> tuple[np.ndarray, np.ndarray]:
    """Return joint limits (n,) with room for what the spline through nodes adds."""
    inset = np.minimum(LIMIT_INSET, 0.25 * (limits.upper - limits.lower))
    return limits.lower + inset, limits.upper - inset


def _rounded(chain: Chain, constraints: Sequence[PathConstraint], way: np.ndarray,
             rounding: float, spacing: float, limits: MotionLimits) -> np.ndarray | None:
    """
    Return a smooth path (k, n) along a way (m, n) within constraints; None if there is none.

    Each node is the mean of the way around it, and then the nearest within the constraints.
    """
    steps = np.linalg.norm(np.diff(way, axis=0), axis=1)
    at = np.concatenate([[0.0], np.cumsum(steps)])
    length = at[-1]
    s = np.linspace(0.0, length, max(4, int(np.ceil(length / spacing))) + 1)
    half = np.minimum(rounding, np.minimum(s, length - s))[1:-1, None]
    # The integral of the way up to each of its postures, and between two of them.
    area = np.vstack([np.zeros(way.shape[1]),
                      np.cumsum(0.5 * steps[:, None] * (way[1:] + way[:-1]), axis=0)])

    def integral(to: np.ndarray) -> np.ndarray:
        k = np.clip(np.searchsorted(at, to, 'right') - 1, 0, len(steps) - 1)
        part = (to - at[k])[:, None]
        slope = (way[k + 1] - way[k]) / np.maximum(steps[k], 1e-12)[:, None]
        return area[k] + part * (way[k] + 0.5 * part * slope)

    nodes = np.vstack([way[:1], (integral(s[1:-1] + half[:, 0]) - integral(s[1:-1] - half[:, 0]))
                       / (2.0 * half), way[-1:]])
    rows, values = constraint_rows(constraints), _values(chain, constraints, nodes)
    # As much room as at the end, and from there more and more.
    insets = LEAST_INSET_SHARE * rows.insets + np.minimum(
        *(np.maximum(-end, 0.0) + away[:, None] / FULL_INSET_AFTER * rows.insets
          for end, away in ((values[0], s), (values[-1], length - s))))
    insets = np.minimum(insets, rows.insets)
    first, kept = 1, values.max(axis=1) <= 0.0
    if values[0].max() > SLACK:  # on the way into them
        first += int(np.argmax(kept[1:]))
    lower, upper = _inner_limits(limits)
    inner_nodes = np.clip(nodes[1:-1], lower, upper)
    if not project_all(chain.table, rows, lower, upper, insets[first:-1], inner_nodes[first - 1:],
                       constraint_work(rows, chain.table, chain.n)):
        return None
    nodes[1:-1] = inner_nodes
    return nodes


def _timed(chain: Chain, nodes: np.ndarray, limits: MotionLimits, period: float) -> Trajectory:
    """Return the fastest motion through nodes (k, n)."""
    poses = np.empty((len(nodes), 12))
    tip_poses(chain.table, nodes, poses)
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(nodes, axis=0), axis=1))])
    path = JointPath(s, nodes, poses, np.zeros(0))
    return timed_trajectory(path, limits, period, chain)[0]


def some_constraint(chain: Chain) -> PathConstraint:
    """Return a constraint that a chain keeps in the middle of its limits."""
    return PathConstraint(forward_kinematics(chain, chain.middle), position=(0.1,) * 3)


def warm_up(chain: Chain, model: CollisionModel | None, limits: MotionLimits) -> None:
    """Load or compile all kernels of :func:`plan_constrained`, so that the first is not late."""
    q, constraint = chain.middle, some_constraint(chain)
    start = StartState.from_state(MotionState.at_rest(q))
    trajectory = plan_point_to_point(chain.joint_names, start, q, limits, 0.1, chain)
    require_kept(chain, [constraint], trajectory)
    way = np.array([q, np.clip(q + 1e-3, chain.lower, chain.upper)])
    _rounded(chain, [constraint], way, *ROUNDINGS[0], limits)
    find_constrained_path(chain, model, [constraint], q, q[None], (limits.lower, limits.upper),
                          SearchLimits(goes_on=lambda: False))
