# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Poses at given times: passed when they are due, one chunk after another, to rest at the last."""

from dataclasses import replace

from following import circle, distances, HOMES, limits_of, shifted, tip, wall
from geometry_oracle import bodies_of, model_of, Oracle
import numpy as np
from path_checker import fastest
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import GoalError, Reason
from ik_node.motion.chunk import ChunkCurve, plan_chunk, Slowdown, TimedPoses
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.trajectory.interpolation import state_at
from ik_node.motion.trajectory.limits import TipLimits
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.motion.trajectory.validate import validate

PERIOD_S = 0.05
MARGIN_M = 0.01


def chunk_of(pose, begin, end, period=PERIOD_S):
    """Return the poses of a target between two times."""
    times = np.arange(begin, end, period)
    return TimedPoses.checked(times, np.array([pose(t) for t in times]))


def planned(name, chunk, start=None, model=None, constraints=()):
    """Return the plan of an arm, at rest at its home or from a start state."""
    chain = robots.chain(name)
    return plan_chunk(chain, model, start or StartState.from_state(MotionState.at_rest(
        HOMES[name])), chunk, limits_of(chain), constraints=constraints)


def tip_at(name, trajectory, t):
    """Return the pose of the tip by Pinocchio."""
    return tip(name, state_at(trajectory, t).q)


def turning(T, speed=0.15):
    """Return a pose at a time that moves on a circle and turns about two axes."""
    moves = circle(T, 0.2, speed)

    def at(t):
        found = moves(t).copy()
        found[:3, :3] = T[:3, :3] @ pin.exp3(np.array([0.0, 0.1, 0.3]) * np.sin(t))
        return found

    return at


@pytest.mark.parametrize('period', [0.02, 0.1])
@pytest.mark.parametrize('name', HOMES)
def test_chunks_are_followed_in_time(name, period):
    """Each from where the one before is; when the arm has caught up it is there in time."""
    pose = turning(tip(name, HOMES[name]))
    chunk, start, begun = chunk_of(pose, 0.0, 1.5, period), None, 0.0
    active, elapsed = None, 0.6
    for _ in range(4):
        plan = planned(name, chunk.later(-begun), start)
        validate(plan.trajectory, limits_of(robots.chain(name)))
        if start is not None:  # it goes on as before until the splice
            for t in np.linspace(0.0, start.splice_time, 9):
                before = state_at(active, elapsed + t)
                now = state_at(plan.trajectory, t)
                assert np.abs(now.q - before.q).max() < 1e-8
        active = plan.trajectory
        begun += elapsed
        start = StartState.from_motion(active, elapsed, 0.1)
        ahead = begun + 0.2
        chunk = chunk_of(pose, ahead, ahead + 1.5, period).after(chunk, begun)
    late = np.array([distances(tip_at(name, active, t), pose(begun - elapsed + t))
                     for t in np.arange(0.2, 1.2, 0.02)])
    assert (late.max(axis=0) < (1e-3, 3e-3)).all(), late.max(axis=0)
    assert plan.deviation[0] < 2e-3 and plan.deviation[1] < 5e-3 and plan.interruption is None


@pytest.mark.parametrize('turn', [0.0, 2.0])
@pytest.mark.parametrize('name', HOMES)
def test_the_tip_keeps_its_speed_limit(name, turn):
    """However the joints start and stop: from rest, and from the chunk before in motion."""
    chain, T = robots.chain(name), tip(name, HOMES[name])
    limits = replace(limits_of(chain, acceleration=8.0, jerk=200.0), tip=TipLimits(speed=0.05))
    start, shares = StartState.from_state(MotionState.at_rest(HOMES[name])), []

    def pose(t):
        found = shifted(T, 0.0, 0.3 * t, 0.0)
        found[:3, :3] = T[:3, :3] @ pin.exp3(np.array([0.0, turn * t, 0.0]))
        return found

    for begun in (0.0, 0.4, 0.7):
        chunk = chunk_of(pose, begun + 0.1, begun + 1.5).later(-begun)
        active = plan_chunk(chain, None, start, chunk, limits).trajectory
        shares.append(fastest(name, active)[0] / 0.05)
        start = StartState.from_motion(active, 0.35, 0.1)
    assert 0.98 < min(shares) and max(shares) < 1.001


@pytest.mark.parametrize('name', HOMES)
def test_it_rests_at_the_last_pose_and_not_beyond(name):
    """Though the target is at full speed there; what comes after was never asked for."""
    T = tip(name, HOMES[name])

    def line(t):
        return shifted(T, y=0.2 * t, z=0.05 * t)

    plan = planned(name, chunk_of(line, 0.0, 1.0))
    last = line(0.95)
    end = tip_at(name, plan.trajectory, plan.trajectory.duration)
    assert (np.array(distances(end, last)) < (2e-4, 2e-3)).all() and plan.interruption is None
    beyond = [tip_at(name, plan.trajectory, t)[1, 3] - last[1, 3]
              for t in np.arange(0.0, plan.trajectory.duration, 0.01)]
    assert max(beyond) < 1e-3
    assert plan.trajectory.duration < 0.95 + 1.0


def test_what_is_past_is_left_out_and_what_is_ahead_is_waited_for():
    """Poses that were due before the start; a first pose that is due later."""
    name = 'ur5'
    pose = circle(tip(name, HOMES[name]))
    late = planned(name, chunk_of(pose, 0.0, 2.0).later(-0.3))
    away = [np.linalg.norm(tip_at(name, late.trajectory, t)[:3, 3] - pose(0.3 + t)[:3, 3])
            for t in (0.1, 1.4)]
    assert away[0] > 0.05 and away[1] < 2e-3  # it has caught up
    T = shifted(tip(name, HOMES[name]), y=0.05)
    early = planned(name, TimedPoses.checked([1.0], T[None]))
    assert np.linalg.norm(tip_at(name, early.trajectory, 0.2)[:3, 3] - T[:3, 3]) > 0.03
    assert distances(tip_at(name, early.trajectory, early.trajectory.duration), T)[0] < 2e-4


@pytest.mark.parametrize('name', ['six_axis_arm', 'ur5', 'panda'])
def test_it_comes_to_rest_before_a_wall(name):
    """Nearer than the margin it never is, by coal, and says what would touch."""
    scene = wall(name, 0.08)
    model = model_of(name, margin=MARGIN_M).with_objects(scene.bodies)
    T = tip(name, HOMES[name])
    plan = planned(name, chunk_of(lambda t: shifted(T, x=0.2 * t), 0.0, 1.5), model=model)
    validate(plan.trajectory, limits_of(robots.chain(name)))
    oracle = Oracle(name, model, bodies_of(name), scene.bodies)
    nearest = min(oracle.distances(state_at(plan.trajectory, t).q).min()
                  for t in np.arange(0.0, plan.trajectory.duration, 0.01))
    assert MARGIN_M - 1e-5 < nearest < MARGIN_M + 0.03
    assert plan.interruption.reason is Reason.COLLISION and 'wall' in str(plan.interruption)
    assert state_at(plan.trajectory, plan.trajectory.duration).rests


def test_it_stays_within_a_path_constraint():
    """A target that tilts is followed as far as the tilt that is allowed."""
    name, tilt = 'ur5', 0.1
    T = tip(name, HOMES[name])
    axis = T[:3, 2]

    def pose(t):
        found = shifted(T, y=0.1 * t)
        found[:3, :3] = T[:3, :3] @ pin.exp3(np.array([0.4 * t, 0.0, 0.0]))
        return found

    constraint = PathConstraint(T, tilt=tilt)
    plan = planned(name, chunk_of(pose, 0.0, 1.5), constraints=(constraint,))
    tilts = [np.arccos(np.clip(tip_at(name, plan.trajectory, t)[:3, 2] @ axis, -1.0, 1.0))
             for t in np.arange(0.0, plan.trajectory.duration, 0.01)]
    assert 0.5 * tilt < max(tilts) < tilt + 1e-6
    assert plan.interruption.reason is Reason.CONSTRAINT


@pytest.mark.parametrize('slowdown', [None, Slowdown(0.4, 0.3)])
def test_velocities_of_the_target_are_those_of_its_poses(slowdown):
    """By differences, while it goes at its pace and while it comes to rest."""
    T = tip('ur5', HOMES['ur5'])
    curve = ChunkCurve(chunk_of(turning(T, 0.5), 0.0, 1.0))
    times, h = np.arange(0.1, 0.9, 0.013), 1e-5
    before, at, after = (curve.targets(times + dt, slowdown) for dt in (-h, 0.0, h))

    def matrix(target):
        M = np.eye(4)
        M[:3, :3], M[:3, 3] = target.pose[:9].reshape(3, 3), target.pose[9:]
        return M

    for one, here, other in zip(before, at, after):
        A, B = matrix(one), matrix(other)
        assert np.allclose(A[:3, :3] @ A[:3, :3].T, np.eye(3), atol=1e-12)
        moved = np.append(B[:3, 3] - A[:3, 3], pin.log3(B[:3, :3] @ A[:3, :3].T))
        assert np.allclose(here.velocity, moved / (2 * h), atol=1e-6)
        assert np.allclose(here.acceleration, (other.velocity - one.velocity) / (2 * h),
                           atol=2e-3)


def test_a_turn_of_more_than_half_a_turn_is_followed():
    """The signs of quaternions do not matter."""
    T = np.eye(4)

    def pose(t):
        found = T.copy()
        found[:3, :3] = pin.exp3(np.array([0.0, 0.0, 6.0 * t]))
        return found

    curve = ChunkCurve(chunk_of(pose, 0.0, 1.0))
    for t, target in zip(times := np.arange(0.05, 0.9, 0.01), curve.targets(times)):
        assert np.abs(target.pose[:9].reshape(3, 3) - pose(t)[:3, :3]).max() < 1e-3
        assert np.abs(target.velocity - [0, 0, 0, 0, 0, 6.0]).max() < 0.05


@pytest.mark.parametrize('times, words', [
    ([], '0 poses'), ([0.0, 0.1, 0.1], 'pose 3'), ([0.1, 0.0], 'pose 2'),
    (np.arange(501.0), '501 poses')])
def test_times_that_are_none(times, words):
    """Too many, or not increasing."""
    with pytest.raises(GoalError, match=words) as error:
        TimedPoses.checked(times, np.zeros((len(times), 4, 4)))
    assert error.value.reason is Reason.PATH_INVALID


def test_times_at_the_least_spacing():
    """They count as they were meant, wherever rounding brings them a little nearer."""
    for first in np.linspace(0.0, 1.0, 11):
        times = first + 2e-3 * np.arange(100)
        assert len(TimedPoses.checked(times, np.tile(np.eye(4), (100, 1, 1))).times) == 100
