# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
One motion of all joints of a kinematic tree, for several controllers on one clock.

All joints start and end together, and at each instant all have made the same share of their ways
(unless they go round something).  They keep their limits, and the timed trajectory is proved to
keep the arms apart from each other and from the scene.  Each controller gets its joints of it,
with the same times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ik_node.base.errors import ParameterError, Reason, TrajectoryError
from ik_node.base.text import quote
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.arguments import did_you_mean, joint_vector
from ik_node.kinematics.tree.kinematic_tree import KinematicTree
from ik_node.motion.change.active_trajectory import (
    ActiveTrajectory,
    Measurement,
    missed_splice,
    REST_SPEED,
    RESTING_MOVE,
)
from ik_node.motion.detour import DETOUR_TIME_S, for_seconds, plan_detour
from ik_node.motion.direct.point_to_point import plan_point_to_point, require_free, StartState
from ik_node.motion.trajectory.limits import MIN_POINT_SPACING_S, MotionLimits
from ik_node.motion.trajectory.trajectory import merge_close, MotionState, Trajectory
from ik_node.motion.trajectory.validate import require_jerk, validate

POINT_PERIOD_S = 0.1

ControllerJoints = Mapping[str, Sequence[str]]


def tree_limits(tree: KinematicTree, acceleration: float | np.ndarray | None = None,
                jerk: float | np.ndarray | None = None,
                velocity: np.ndarray | None = None, narrows: bool = False) -> MotionLimits:
    """
    Return the limits of a motion of all joints.

    Parameters
    ----------
    acceleration, jerk, velocity, narrows
        As for :meth:`MotionLimits.of_joints`.

    Raises
    ------
    ParameterError
        If one is not positive and finite, or a joint has no velocity limit.

    """
    limits = MotionLimits.of_joints(tree, acceleration, jerk, velocity, narrows=narrows)
    limits.require_positive()
    return limits


def plan_tree_motion(tree: KinematicTree, q_start: np.ndarray, q_goal: np.ndarray,
                     limits: MotionLimits, collisions: CollisionModel | None = None,
                     detour_time: float = DETOUR_TIME_S,
                     others: Callable[[], Sequence[np.ndarray]] = tuple) -> Trajectory:
    """
    Plan the fastest motion of all joints from rest to rest, or a detour where it is blocked.

    Parameters
    ----------
    q_start, q_goal : (n,) arrays
        Rad or m.
    limits : MotionLimits
        Of the joints, such as those of :func:`tree_limits`; the tips are not limited.
    collisions : CollisionModel, optional
        Of the tree and the scene.
    detour_time : float
        Processor time (s) of the search of a detour; 0 = none is searched.
    others : callable, optional
        Returns other postures (n,) to which a detour may lead, if the direct motion is blocked.

    Returns
    -------
    Trajectory
        Of all joints: they start together and end together, within the limits of position,
        velocity, acceleration and jerk, between the points, too.

    Raises
    ------
    TrajectoryError
        If the goal is outside the limits, or the limits cannot be kept; COLLISION, with the two
        that would meet first on the direct motion, if no detour is found either.
    ParameterError
        If a posture has not n finite numbers, or the limits are of a tip.

    """
    q_start = joint_vector(tree, q_start, 'q_start')
    q_goal = joint_vector(tree, q_goal, 'q_goal')
    if min(vars(limits.tip).values()) < np.inf:
        raise ParameterError(f'the limits of the tip are {limits.tip}; a motion of several tips '
                             'has limits of the joints only')
    for name, value, low, high in zip(tree.joint_names, q_goal, limits.lower, limits.upper):
        if not low <= value <= high:
            raise TrajectoryError(f'the goal of joint {quote(name)} is {value:.6g}, outside its '
                                  f'limits [{low:.6g}, {high:.6g}]', Reason.BEYOND_LIMIT)
    q_goal = tree.nearest_turns(q_goal, q_start)
    direct = _straight(tree, q_start, q_goal, limits)
    try:
        require_free(collisions, direct)
        return direct
    except TrajectoryError as blocked:
        if not detour_time > 0.0:
            raise
        start = StartState.from_state(MotionState.at_rest(q_start))
        goals = np.array([q_goal, *(tree.nearest_turns(q, q_start) for q in others())])
        return _detour(collisions, start, goals, limits, (detour_time, blocked))


def _straight(tree: KinematicTree, q_start: np.ndarray, q_goal: np.ndarray,
              limits: MotionLimits) -> Trajectory:
    """
    Return the fastest motion in which all joints have made the same share of their ways.

    The share is planned as one joint, whose limits are the tightest of all.
    """
    way = q_goal - q_start
    length = np.abs(way)
    if not length.any():
        raise TrajectoryError('all joints are at the goal already', Reason.ALREADY_THERE)
    with np.errstate(divide='ignore'):
        rows = [np.array([(limit / length).min()]) for limit in
                (limits.velocity, limits.acceleration, limits.jerk)]
    of_share = MotionLimits(np.zeros(1), np.ones(1), *rows)
    start = StartState.from_state(MotionState.at_rest(np.zeros(1)))
    plan = plan_point_to_point(('share',), start, np.ones(1), of_share, POINT_PERIOD_S)
    q = q_start + plan.q * way
    q[-1] = q_goal
    direct = Trajectory(tree.joint_names, MotionState.at_rest(q_start), plan.times, q,
                        plan.qd * way, plan.qdd * way)
    validate(direct, limits)
    require_jerk(direct, limits)
    return direct


def _detour(collisions: CollisionModel, start: StartState, goals: np.ndarray,
            limits: MotionLimits, given: tuple[float, TrajectoryError]) -> Trajectory:
    detour_time, blocked = given
    try:
        way = plan_detour(collisions, start, goals, limits, POINT_PERIOD_S,
                          for_seconds(detour_time))
        require_jerk(way, limits)
        return way
    except TrajectoryError as error:
        if error.reason is not Reason.COLLISION:
            raise
        said = f'no detour was found in {detour_time:g} s' \
            if collisions.check_many(goals).any() else str(error)
        raise TrajectoryError(f'the direct motion is blocked: {blocked}; {said}',
                              Reason.COLLISION) from None


def checked_controllers(tree: KinematicTree,
                        controllers: ControllerJoints) -> dict[str, tuple[str, ...]]:
    """
    Return the joints of each controller.

    Raises
    ------
    ParameterError
        If a joint is unknown, is in two of them, or a joint of the tree is in none.

    """
    owner: dict[str, str] = {}
    for controller, names in controllers.items():
        if isinstance(names, str) or not len(names):
            raise ParameterError(f'the controller {quote(controller)} has the joints '
                                 f'{quote(names)}; give a sequence of one name at least')
        for name in names:
            if name not in tree.joint_names:
                raise ParameterError(f'the controller {quote(controller)} has the joint '
                                     f'{quote(name)}, which does not move a tip'
                                     + did_you_mean(name, tree.joint_names))
            if name in owner:
                raise ParameterError(f'the joint {quote(name)} is in the controllers '
                                     f'{quote(owner[name])} and {quote(controller)}; each joint '
                                     'has one')
            owner[name] = controller
    left = [name for name in tree.joint_names if name not in owner]
    if left:
        raise ParameterError(f'no controller has {", ".join(map(quote, left))}; each joint that '
                             'moves a tip needs one')
    return {controller: tuple(names) for controller, names in controllers.items()}


def split_by_controller(trajectory: Trajectory,
                        controllers: ControllerJoints) -> dict[str, Trajectory]:
    """
    Return the part of each controller: its joints, with the times of all.

    Sent with one stamp, the parts are carried out on one clock.

    Parameters
    ----------
    trajectory : Trajectory
    controllers : mapping of controller to its joints
        From :func:`checked_controllers`.

    """
    parts = {}
    for controller, names in controllers.items():
        columns = [trajectory.joint_names.index(name) for name in names]
        start = trajectory.start
        parts[controller] = replace(
            trajectory, joint_names=tuple(names),
            start=MotionState(start.q[columns], start.qd[columns], start.qdd[columns]),
            **{name: np.ascontiguousarray(getattr(trajectory, name)[:, columns])
               for name in ('q', 'qd', 'qdd')})
    return parts


def carried_out(tree: KinematicTree, controllers: ControllerJoints, active: ActiveTrajectory,
                before: ActiveTrajectory | None, measured: Mapping[str, Measurement],
                now: float, tolerance: float) -> tuple[ActiveTrajectory, list[str]]:
    """
    Return what the controllers carry out, as joint states show it, and who is not on `active`.

    Joints of a controller that has not left the motion `before` stay on it, and an arm that
    rests away from the motion stays where it is; without velocities only one that has not begun
    is known to rest.

    Parameters
    ----------
    before : ActiveTrajectory or None
        With a stamp, as `active` has.
    measured : mapping of controller to Measurement
        Of all joints (n,); its age is that of the joints of the controller.  NaN is a velocity
        that is not measured.
    now : float
        Monotonic time (s).
    tolerance : float
        Rad or m; an arm that rests farther away is not on the motion.

    """
    others: list[tuple[list[int], ActiveTrajectory | np.ndarray]] = []
    missing, start = [], (before or active).trajectory.start.q
    for name, names in controllers.items():
        joints, seen = [tree.joint_names.index(joint) for joint in names], measured[name]
        time = now - seen.age
        if before is not None and missed_splice(tree, before, active, seen.q, time, joints):
            others.append((joints, before))
        elif not active.followed(tree, seen.q, time, tolerance, joints) and (
                np.abs(seen.qd[joints]).max() < REST_SPEED
                or np.abs(tree.difference(seen.q, start)[joints]).max() < RESTING_MOVE):
            others.append((joints, seen.q))
        else:
            continue
        missing.append(name)
    return (_composed(tree, active, others) if others else active), missing


def _composed(tree: KinematicTree, active: ActiveTrajectory,
              others: list[tuple[list[int], ActiveTrajectory | np.ndarray]]) -> ActiveTrajectory:
    """Return a motion on which some joints are on another one, or rest at a posture (n,)."""
    instants, end = [active.trajectory.times], active.trajectory.duration
    for _, other in others:
        if isinstance(other, ActiveTrajectory):
            ahead = other.trajectory.times - 1e-9 * (active.stamp - other.stamp)
            instants.append(ahead[ahead > 0.0])
            end = max(end, float(ahead[-1]))
    times = np.round([0.0, *merge_close(np.unique(np.concatenate(instants)), end,
                                        MIN_POINT_SPACING_S)], 9)
    states = active.states(times)
    for joints, other in others:
        if isinstance(other, ActiveTrajectory):
            shifted = other.states(times + 1e-9 * (active.stamp - other.stamp))
            states[:, :, joints] = shifted[:, :, joints]
        else:
            states[:, :, joints] = 0.0
            states[:, 0, joints] = tree.nearest_turns(other, states[0, 0])[joints]
    q, qd, qdd = states.swapaxes(0, 1)
    return replace(active, trajectory=Trajectory(
        tree.joint_names, MotionState(q[0], qd[0], qdd[0]), times[1:], q[1:], qd[1:], qdd[1:]))
