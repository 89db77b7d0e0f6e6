# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Motion around obstacles.

A search finds waypoints (:mod:`ik_node.collision.search.path_search`); their corners are rounded
as far as they stay free, the path is timed within the limits, and the trajectory is proved to be
free.
"""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

import numpy as np

from ik_node.base.errors import Reason, TrajectoryError
from ik_node.collision.distances.certificate import allowed_distances, certify_edge
from ik_node.collision.distances.check import check_work
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.search.corners import (
    CELLS_PER_BLEND,
    CELLS_PER_EDGE,
    free_cuts,
    write_nodes,
)
from ik_node.collision.search.path_search import BLOCK_ITERATIONS, find_path, SearchLimits, way_out
from ik_node.kinematics.kernels import pose_row, tip_poses
from ik_node.kinematics.tree.kinematic_tree import KinematicTree
from ik_node.model.joint_space import JointSpace
from ik_node.motion.direct.point_to_point import plan_stop, require_free, StartState
from ik_node.motion.tool_path.timing import JointPath, timed_trajectory
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.motion.trajectory.validate import validate

DETOUR_TIME_S = 5.0          # of the processor, for the search
LIMIT_INSET = 2e-3           # rad or m between waypoints and joint limits
SEARCH_MARGIN_M = 5e-4       # by which the search keeps more than the margin
EXIT_ROOM_M = 2e-3           # by which a posture out of a contact keeps more than the margin
BLEND_FACTORS = 1.0, 0.5, 0.25, 0.0  # tried until the trajectory is good; 0 = stops
PREFERRED_GOAL_ITERATIONS = 2000  # of the search, for the first goal alone


def plan_detour(model: CollisionModel, start: StartState, goals: np.ndarray,
                limits: MotionLimits, period: float,
                goes_on: Callable[[], bool] | None = None) -> Trajectory:
    """
    Plan a motion around obstacles, from rest to rest.

    A moving arm is first brought to rest.

    Parameters
    ----------
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
        Valid by :func:`ik_node.motion.trajectory.validate.validate`, and proved to be free by
        :func:`ik_node.collision.distances.certificate.certify`.

    Raises
    ------
    TrajectoryError
        If no goal is free, no detour was found, or a limit cannot be kept.

    """
    chain, q_start, ramp = model.chain, start.splice.q, None
    if len(start.times) or not start.splice.rests:
        ramp = plan_stop(chain.joint_names, start, limits, period)
        q_start = ramp.end
    # One workspace: where the directions of pairs were found before, they are found sooner.
    work = check_work(model.pairs)
    allowed = allowed_distances(model, q_start, work)
    contact = certify_edge(model, q_start, q_start, allowed, work)
    if contact is not None:  # as joints beside the arm move
        raise TrajectoryError(f'before the arm moves, {contact.words}', Reason.COLLISION)
    free = goals[model.check_many(goals)]
    if not len(free):
        raise TrajectoryError(f'at the goal, {model.describe(goals[0])}', Reason.COLLISION)
    way = _waypoints(model, q_start, free, limits, goes_on or for_seconds(DETOUR_TIME_S))
    if way is None:
        raise TrajectoryError('no detour was found; go there in several goals, or allow more '
                              'time for the search (motion.detour_time)', Reason.COLLISION)
    cuts = free_cuts(model, way, np.array([
        allowed if allowed is model.margins else allowed_distances(model, q, work)
        for q in way[:-2]]).reshape(-1, len(allowed)), work)
    for factor in BLEND_FACTORS:
        trajectory = _timed(chain, way, factor * cuts, limits, period)
        if ramp is not None:
            trajectory = ramp.followed_by(trajectory)
        try:
            validate(trajectory, limits)
            require_free(model, trajectory, ' around obstacles', allowed if ramp is None else None,
                         work)
            return trajectory
        except TrajectoryError as this:  # blends go beyond the lines by a little
            error = this
    raise error


def for_seconds(seconds: float) -> Callable[[], bool]:
    """Return what says whether this thread has had less processor time (s) since now."""
    end = thread_time() + seconds
    return lambda: thread_time() < end


def warm_up(model: CollisionModel, limits: MotionLimits) -> None:
    """Load or compile all kernels of :func:`plan_detour`, so that the first one is not late."""
    chain = model.chain
    q = chain.middle
    goal = np.clip(q + 1e-3, chain.lower, chain.upper)
    try:
        plan_detour(model, StartState.from_state(MotionState.at_rest(q)), goal[None], limits, 0.1,
                    lambda: False)
    except TrajectoryError:
        # These are in collision; free ones do not matter here.
        find_path(model, q, goal[None], chain.lower, chain.upper,
                  limits=SearchLimits(BLOCK_ITERATIONS))
        way = np.array([q, goal])
        free_cuts(model, way, np.empty((0, len(model.margins))), check_work(model.pairs))
        _timed(chain, way, np.empty(0), limits, 0.1)


def _waypoints(model: CollisionModel, q_start: np.ndarray, goals: np.ndarray,
               limits: MotionLimits, goes_on: Callable[[], bool]) -> np.ndarray | None:
    """
    Return the waypoints (k, n) to one of the goals; None if there are none.

    From a start in contact they lead out of it first, if that way is found.
    """
    ends, out = np.vstack([q_start, goals]), q_start[None]
    inset = np.minimum(LIMIT_INSET, 0.25 * (limits.upper - limits.lower))
    lower = np.minimum(limits.lower + inset, ends.min(axis=0))
    upper = np.maximum(limits.upper - inset, ends.max(axis=0))

    def search(those: np.ndarray, iterations: int | None = None) -> np.ndarray | None:
        return find_path(model, out[-1], those, lower, upper, model.margin + SEARCH_MARGIN_M,
                         SearchLimits(iterations, goes_on))

    if not model.check_many(q_start[None])[0]:
        found = way_out(model, q_start, lower, upper, EXIT_ROOM_M)
        out = out if found is None else found
    way = search(goals[:1], PREFERRED_GOAL_ITERATIONS) if len(goals) > 1 else None
    if way is None and goes_on():
        way = search(goals)
    if way is None or len(out) == 1:
        return way
    way = np.vstack([out[:-1], way])
    # Past the end of the way out, if the arm need not go that far.
    k = next(k for k in range(len(way) - 1, 0, -1)
             if k == 1 or certify_edge(model, q_start, way[k]) is None)
    return np.vstack([q_start, way[k:]])


def _timed(chain: JointSpace, way: np.ndarray, cuts: np.ndarray, limits: MotionLimits,
           period: float) -> Trajectory:
    """Return the fastest motion along waypoints (k, n) with blends."""
    most, n = 1 + (len(way) - 1) * CELLS_PER_EDGE + len(cuts) * CELLS_PER_BLEND, way.shape[1]
    s, q, stops = np.empty(most), np.empty((most, n)), np.empty(len(cuts))
    count, stopped = write_nodes(way, cuts, np.zeros((6, 1, n)), s, q, stops)
    path = JointPath(s[:count], q[:count], _tip_poses(chain, q[:count]), stops[:stopped])
    return timed_trajectory(path, limits, period, chain)[0]


def _tip_poses(chain: JointSpace, q: np.ndarray) -> np.ndarray:
    """Return the poses (N, 12) of the tip; of a tree one that rests: its tips have no limits."""
    if isinstance(chain, KinematicTree):
        return np.repeat(pose_row(np.eye(4))[None], len(q), axis=0)
    poses = np.empty((len(q), 12))
    tip_poses(chain.table, q, poses)
    return poses
