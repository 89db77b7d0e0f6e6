# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of fewer points stay on their way, by Pinocchio, and within their limits."""

from dataclasses import replace
from pathlib import Path

from motion_checker import Bounds, dense, faults, path_of
from motions import at_rest, limits_of
import numpy as np
import pinocchio as pin
import pytest

from ik_node.base.errors import TrajectoryError
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.motion.change.thinning import levers_of, thinned
from ik_node.motion.direct.point_to_point import plan_point_to_point
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.tool_path.plan import plan_path
from ik_node.motion.trajectory.sampling import states_at
from ik_node.motion.trajectory.validate import require_jerk
from ik_node.solver.solver import Solver

ARM = Path(__file__).parents[2] / 'urdf/six_axis_arm.urdf'
CHAIN = make_chain(read_urdf(ARM))
MODEL = pin.buildModelFromUrdf(str(ARM))
DATA = MODEL.createData()
TIP = MODEL.getFrameId('tool0')
LIMITS = limits_of(CHAIN)
BOUNDS = Bounds(LIMITS.lower, LIMITS.upper, LIMITS.velocity, LIMITS.acceleration, None)
READY = np.array([0.0, 0.3, -0.4, 0.0, 1.0, 0.0])
DEVIATION = 5e-5
LEVERS = levers_of(CHAIN, CHAIN.reach)


def tips(trajectory):
    """Return the poses of the tip between the points, by Pinocchio."""
    _, values = dense(path_of(trajectory), 9)
    found = []
    for q in values[0].reshape(-1, 6):
        pin.framesForwardKinematics(MODEL, DATA, q)
        found.append(DATA.oMf[TIP].copy())
    return found


def off(trajectory, before):
    """Return how far (m, rad) the tip is at most from the nearest place on the way before."""
    way = tips(before)
    places = np.array([T.translation for T in way])
    worst = np.zeros(2)
    for T in tips(trajectory):
        nearest = way[int(np.linalg.norm(places - T.translation, axis=1).argmin())]
        worst = np.maximum(worst, [np.linalg.norm(nearest.translation - T.translation),
                                   np.linalg.norm(pin.log3(nearest.rotation.T @ T.rotation))])
    return worst


@pytest.fixture(scope='module')
def square():
    """Return a motion along a square, which rests at its corners."""
    T = forward_kinematics(CHAIN, READY)
    poses = []
    for step in ([0.0, -0.2, 0.0], [0.0, -0.2, -0.2], [0.0, 0.0, -0.2], [0.0, 0.0, 0.0]):
        corner = T.copy()
        corner[:3, 3] += step
        poses.append(corner)
    return plan_path(Solver(CHAIN), at_rest(READY), poses,
                     LIMITS.scaled(velocity=0.2), PathOptions()).trajectory


def test_a_path(square):
    """Half of the points, in their states, at their times; between them the way is the same."""
    count = len(square.times) // 2
    assert count > 100
    fewer = thinned(square, count, LEVERS, DEVIATION, LIMITS)
    assert len(fewer.times) <= count
    assert fewer.duration == square.duration and np.array_equal(fewer.end, square.end)
    rows = [*map(square.times.tolist().index, fewer.times)]
    for name in ('q', 'qd', 'qdd'):
        assert np.array_equal(getattr(fewer, name), getattr(square, name)[rows])
    step = np.linalg.norm(np.diff([T.translation for T in tips(square)], axis=0), axis=1).max()
    position, angle = off(fewer, square)
    assert position < np.hypot(DEVIATION, 0.5 * step) and angle < DEVIATION + 1e-6
    assert not faults(fewer, BOUNDS)


def test_no_more_is_left_out_than_needs_be(square):
    """With enough points it is the same; with fewer the way is followed as well as it can be."""
    assert thinned(square, len(square.times), LEVERS, DEVIATION, LIMITS) is square
    few, more = (thinned(square, count, LEVERS, DEVIATION, LIMITS)
                 for count in (len(square.times) // 3, len(square.times) - 1))
    assert len(few.times) < len(more.times) < len(square.times)


def test_a_motion_to_a_goal():
    """Points on one polynomial are left out without any deviation, and the jerk stays limited."""
    q = np.array([2.5, -0.9, 0.7, 1.5, -1.0, 2.0])
    slow = LIMITS.scaled(velocity=0.05)
    motion = plan_point_to_point(CHAIN.joint_names, at_rest(READY), q, slow, 0.1)
    fewer = thinned(motion, len(motion.times) // 2, LEVERS, DEVIATION, slow)
    assert len(fewer.times) <= len(motion.times) // 2
    require_jerk(fewer, slow)
    assert np.array_equal(fewer.end, motion.end) and not faults(fewer, BOUNDS)
    times = np.linspace(0.0, motion.duration, 997)
    assert np.abs(states_at(fewer, times)[:, 0] - states_at(motion, times)[:, 0]).max() < DEVIATION


def test_too_few(square):
    """The points that it needs are told."""
    with pytest.raises(TrajectoryError, match=rf'has {len(square.times)} points, and with \d+ it '
                       r'would still keep its path; it may have 20 \('):
        thinned(square, 20, LEVERS, DEVIATION, LIMITS)


def test_lead_points_stay(square):
    """What repeats the motion before is not touched."""
    fewer = thinned(replace(square, lead_points=40), len(square.times) // 2, LEVERS, DEVIATION,
                    LIMITS)
    assert np.array_equal(fewer.times[:40], square.times[:40]) and fewer.lead_points == 40
