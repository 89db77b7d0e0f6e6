# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
One motion of the joints through waypoints.

It follows the curve of :mod:`ik_node.motion.trajectory.timed_curve`, which passes each waypoint,
and between them stays CURVE_INSET away from joint limits.  Waypoints without times are passed as
soon as the limits allow; the arm rests at each of them only if that takes less time.  With times
the motion has the pace of these times, and is slower where the limits do not allow it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ik_node.base.errors import IkNodeError, PathError, Reason, TrajectoryError
from ik_node.collision.distances.certificate import certify
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.kernels import tip_poses
from ik_node.model.chain import Chain
from ik_node.motion.direct.point_to_point import (
    plan_point_to_point,
    plan_stop,
    require_free,
    StartState,
)
from ik_node.motion.joint_path.waypoints import SAME_WAYPOINT, Waypoints
from ik_node.motion.tool_path.timing import JointPath, MIN_WIDE_BOX_S, timed_trajectory
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.sampling import compiled_segments, states_at
from ik_node.motion.trajectory.timed_curve import curve_at
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.motion.trajectory.validate import validate

MIN_CURVE_CELLS = 16          # between two waypoints
CURVE_CELL_S = 0.02           # of the times of waypoints, at most
CURVE_INSET = 2e-3            # rad or m between nodes of the curve and joint limits
PASSING_STEPS = 3             # to find when a waypoint is passed
MAX_PASSING_STEP_S = 0.02
PACE_RAMP_S = 0.1             # in which the motion comes up to the pace of the times


@dataclass(frozen=True, eq=False)
class JointPathPlan:
    """The motion through waypoints."""

    trajectory: Trajectory
    """Valid by :func:`ik_node.motion.trajectory.validate.validate`."""
    passed: np.ndarray
    """(m,), when it passes each waypoint, s."""


def plan_joint_path(chain: Chain, start: StartState, way: Waypoints, limits: MotionLimits,
                    period: float, start_tolerance: float,
                    model: CollisionModel | None = None) -> JointPathPlan:
    """
    Plan one motion through waypoints, at rest at the last of them.

    A moving arm is first brought to rest.  Without times the motion takes at most as long as one
    that rests at each waypoint; if it would collide, that one is tried.

    Parameters
    ----------
    limits : MotionLimits
        Of the joints, and of the tip.
    period : float
        Largest time between points of the trajectory, s.
    start_tolerance : float
        Largest distance of a joint from a first waypoint whose time is 0, rad or m.
    model : CollisionModel, optional
        Whose margin is kept.

    Raises
    ------
    PathError
        ALREADY_THERE if the arm is at all waypoints; PATH_INVALID, BEYOND_LIMIT or COLLISION
        with the number of the waypoint, from 1; COLLISION in between with the share of the
        motion that is free as `fraction`.
    TrajectoryError
        If the limits cannot be kept.

    """
    limits.require_positive()
    ramp, q_start = None, start.splice.q
    if len(start.times) or not start.splice.rests:
        ramp = plan_stop(chain.joint_names, start, limits, period)
        require_free(model, ramp, ', before the arm rests at the start of the path')
        q_start = ramp.end
    way = way.reached_from(chain, q_start, limits, start_tolerance)
    _require_free_points(way.q, model)
    if way.times is None:
        planned = _as_soon_as_possible(chain, q_start, way.q, limits, period, model)
    else:
        planned = _checked(_at_their_times(chain, q_start, way, limits, period), limits, model)
    if ramp is None:
        return planned
    return JointPathPlan(ramp.followed_by(planned.trajectory), ramp.duration + planned.passed)


def _require_free_points(q: np.ndarray, model: CollisionModel | None) -> None:
    if model is None:
        return
    free = model.check_many(q)
    if not free.all():
        k = int(free.argmin())
        raise PathError(f'waypoint {k + 1} of {len(q)}: {model.describe(q[k])}',
                        Reason.COLLISION)


def _checked(planned: JointPathPlan, limits: MotionLimits,
             model: CollisionModel | None) -> JointPathPlan:
    """Return a plan, if it keeps the limits and is proved to be free."""
    trajectory, passed = planned.trajectory, planned.passed
    validate(trajectory, limits)
    contact = None if model is None else certify(model, *compiled_segments(trajectory))
    if contact is None:
        return planned
    share = contact.time / trajectory.duration
    k = min(int(np.searchsorted(passed, contact.time)), len(passed) - 1)
    raise PathError(f'the motion is free for {100.0 * share:.1f} % of its duration: then, on the '
                    f'way to waypoint {k + 1} of {len(passed)}, {contact.words}',
                    Reason.COLLISION, share)


# ---- without times ----------------------------------------------------------

def _as_soon_as_possible(chain: Chain, q_start: np.ndarray, q: np.ndarray, limits: MotionLimits,
                         period: float, model: CollisionModel | None) -> JointPathPlan:
    """Return the faster of a motion on a curve and one that rests at each waypoint."""
    nodes, number = _without_repetitions(np.vstack([q_start, q]))
    plans: list[JointPathPlan] = []
    errors: list[IkNodeError] = []
    for motion in (_on_a_curve, _at_rest_at_each) if len(nodes) > 2 else (_at_rest_at_each,):
        try:
            plans.append(motion(chain, nodes, limits, period))
        except (PathError, TrajectoryError) as error:
            errors.append(error)
    for plan in sorted(plans, key=lambda each: each.trajectory.duration):
        try:
            return _checked(JointPathPlan(plan.trajectory, plan.passed[number]), limits, model)
        except (PathError, TrajectoryError) as error:
            errors.append(error)
    raise errors[0]


def _without_repetitions(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions that differ from those before, and for all but the first which."""
    kept, number = [0], []
    for k in range(1, len(q)):
        if np.abs(q[k] - q[kept[-1]]).max() > SAME_WAYPOINT:
            kept.append(k)
        number.append(len(kept) - 1)
    return q[kept], np.array(number)


def _at_rest_at_each(chain: Chain, nodes: np.ndarray, limits: MotionLimits,
                     period: float) -> JointPathPlan:
    """Return the motion that rests at each of the nodes (k, n)."""
    parts = [plan_point_to_point(chain.joint_names,
                                 StartState.from_state(MotionState.at_rest(a)), b, limits, period,
                                 chain) for a, b in zip(nodes, nodes[1:])]
    return JointPathPlan(parts[0].followed_by(*parts[1:]),
                         np.cumsum([0.0, *(part.duration for part in parts)]))


def _on_a_curve(chain: Chain, nodes: np.ndarray, limits: MotionLimits,
                period: float) -> JointPathPlan:
    """Return the fastest motion on the curve through nodes (k, n)."""
    # Lee 1989, "Choosing nodes in parametric curve interpolation": centripetal.
    marks = np.append(0.0, np.cumsum(np.sqrt(np.linalg.norm(np.diff(nodes, axis=0), axis=1))))
    path = _curve(chain, marks, nodes, np.full(len(nodes) - 1, MIN_CURVE_CELLS),
                  *_inside(limits, nodes))
    trajectory, coordinates = timed_trajectory(path, limits, period, chain)
    return JointPathPlan(trajectory, _passed(trajectory, coordinates(), marks, nodes))


# ---- with times -------------------------------------------------------------

def _at_their_times(chain: Chain, q_start: np.ndarray, way: Waypoints, limits: MotionLimits,
                    period: float) -> JointPathPlan:
    """
    Return the motion on the curve through waypoints, never faster than their times.

    The path coordinate is the time of the curve.  It counts as one more joint, whose velocity
    limit of 1 is the pace.
    """
    times, q = way.times, way.q
    if times[0] == 0.0:
        q = np.vstack([q_start, q[1:]])
    else:
        times, q = np.append(0.0, times), np.vstack([q_start, q])
    cells = np.maximum(np.ceil(np.diff(times) / CURVE_CELL_S), MIN_CURVE_CELLS).astype(int)
    lower, upper = _inside(limits, q[[0, -1]])
    path = _curve(chain, times, np.clip(q, lower, upper), cells, lower, upper)
    ramp = max(float((limits.acceleration / limits.jerk).max()), MIN_WIDE_BOX_S)
    pace = {'velocity': 1.0, 'acceleration': 1.0 / PACE_RAMP_S,
            'jerk': 1.0 / (PACE_RAMP_S * ramp)}
    paced = replace(limits, lower=np.append(limits.lower, -np.inf),
                    upper=np.append(limits.upper, np.inf),
                    **{name: np.append(getattr(limits, name), most)
                       for name, most in pace.items()})
    trajectory, coordinates = timed_trajectory(
        path._replace(q=np.column_stack([path.q, path.s])), paced, period, chain)
    trajectory = replace(trajectory, start=MotionState.at_rest(q[0]), **{
        name: np.ascontiguousarray(getattr(trajectory, name)[:, :chain.n])
        for name in ('q', 'qd', 'qdd')})
    return JointPathPlan(trajectory, _passed(trajectory, coordinates(), way.times, way.q))


# ---- the curve --------------------------------------------------------------

def _inside(limits: MotionLimits, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return position limits with room for the curve between its nodes, but at q (k, n)."""
    inset = np.minimum(CURVE_INSET, 0.25 * (limits.upper - limits.lower))
    return (np.minimum(limits.lower + inset, q.min(axis=0)),
            np.maximum(limits.upper - inset, q.max(axis=0)))


def _curve(chain: Chain, marks: np.ndarray, q: np.ndarray, cells: np.ndarray, lower: np.ndarray,
           upper: np.ndarray) -> JointPath:
    """
    Return the curve through q (k, n).

    Parameters
    ----------
    marks : (k,) array
        Path coordinates of q.
    cells : (k - 1,) int array
        How many nodes there are from each of q to the next.
    lower, upper : (n,) arrays
        Between which nodes are.

    """
    k = np.repeat(np.arange(len(cells)), cells)
    inside = np.arange(len(k)) - np.repeat(np.cumsum(cells) - cells, cells)
    s = np.append(marks[k] + inside * (np.diff(marks) / cells)[k], marks[-1])
    nodes = np.clip(curve_at(marks, q, s), lower, upper)
    nodes[np.append(0, np.cumsum(cells))] = q
    poses = np.empty((len(nodes), 12))
    tip_poses(chain.table, nodes, poses)
    return JointPath(s, nodes, poses, np.empty(0))


def _passed(trajectory: Trajectory, coordinates: np.ndarray, marks: np.ndarray,
            q: np.ndarray) -> np.ndarray:
    """
    Return when positions q (k, n) are passed.

    Parameters
    ----------
    coordinates : (N, 2) array
        Path coordinates; in the first column, at the starts of the segments.
    marks : (k,) array
        Path coordinates of q.

    """
    times = np.interp(marks, np.append(coordinates[:, 0], marks[-1]),
                      np.append(0.0, trajectory.times))
    for _ in range(PASSING_STEPS):  # of Newton's method, to where it is nearest
        at, rate, _ = states_at(trajectory, times).swapaxes(0, 1)
        square = (rate**2).sum(axis=1)
        step = ((q - at) * rate).sum(axis=1) / np.where(square > 0.0, square, np.inf)
        times = np.clip(times + np.clip(step, -MAX_PASSING_STEP_S, MAX_PASSING_STEP_S),
                        0.0, trajectory.duration)
    times[-1] = trajectory.duration
    return np.maximum.accumulate(times)
