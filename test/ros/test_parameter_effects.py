# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a parameter changes in the answers of solver, planners and follower, by its name."""

from math import pi

from following import circle, run, stream
from harness import ARM, READY, tip
from motions import at_rest
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import ParameterError
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.motion.direct.point_to_point import plan_point_to_point
from ik_node.motion.following.follower import Follower
from ik_node.motion.tool_path.plan import plan_path
from ik_node.motion.trajectory.limits import PositionLimits
from ik_node.motion.trajectory.sampling import tip_rates
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.node.robot.settings import make_settings
from ik_node.ros.parameters.tables import IK_NODE

SIX_AXES = make_chain(read_urdf(ARM))
DEFAULTS = {row.name: row.default for row in IK_NODE}
START = at_rest(READY)


def settings_of(chain=SIX_AXES, **values):
    """Return the settings for other values than the defaults; solver__max_jump is one's name."""
    return make_settings({**DEFAULTS, **{name.replace('__', '.'): value
                                         for name, value in values.items()}}, chain)


def moved(offset=(0.0, 0.0, 0.0), rotation_vector=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Return the pose at READY, shifted in the base frame and turned in its own."""
    T = tip(READY).homogeneous
    T[:3, 3] += offset
    T[:3, :3] = T[:3, :3] @ pin.exp3(np.array(rotation_vector))
    return T


# ---- solver -----------------------------------------------------------------

def test_orientation_tolerance():
    """A posture that is turned by so much from the goal ends the descent, or does not."""
    goal = moved(rotation_vector=(0.0, 0.0, 0.05))
    for tolerance, left in ((1e-6, 0.0), (0.1, 0.05)):
        found = settings_of(solver__orientation_tolerance=tolerance, solver__select='first') \
            .solver.solve(goal, np.array(READY), closed_form=False)
        turned = np.linalg.norm(pin.log3(goal[:3, :3].T @ tip(found.q).rotation))
        assert found.success and turned == pytest.approx(left, abs=1e-6)


def test_position_limits():
    """No solution is outside of them, and one of the wrong length is refused."""
    narrow = PositionLimits((-1.0,) * 6, (1.5,)).narrow(SIX_AXES)
    wide, limited = (settings_of(chain).solver.solve_all(moved(), np.array(READY))
                     for chain in (SIX_AXES, narrow))
    inside = [p.q for p in wide if np.all(p.q > -1.0) and np.all(p.q < 1.5)]
    assert len(wide) > len(inside) > 0
    assert np.allclose(sorted(q.tolist() for q in inside),
                       sorted(p.q.tolist() for p in limited), atol=1e-5)
    with pytest.raises(ParameterError, match='motion.upper_limits needs 1 or 6'):
        PositionLimits(upper=(1.0, 2.0)).narrow(SIX_AXES)


def test_metres_per_radian():
    """The nearest pose to one that is out of reach keeps its orientation the better."""
    goal = moved((1.5, 0.0, 0.0))
    turned = []
    for weight in (0.03, 3.0):
        found = settings_of(solver__nearest=True, solver__metres_per_radian=weight) \
            .solver.solve(goal, np.array(READY))
        turned.append(np.linalg.norm(pin.log3(goal[:3, :3].T @ tip(found.q).rotation)))
    assert turned[1] < 0.5 * turned[0]


def test_max_iterations():
    """With few steps an attempt ends before it is at the goal."""
    goal = moved((0.05, 0.1, -0.05), (0.4, -0.3, 0.5))
    enough, few = (settings_of(
        solver__method='damped_least_squares', solver__select='first', solver__max_restarts=0,
        solver__max_iterations=count).solver.solve(goal, np.array(READY)) for count in (100, 2))
    assert enough.success and enough.iterations > 2
    assert not few.success and few.iterations == 2


def test_step_fraction():
    """Shorter steps take more of them; the production method has no use for it."""
    goal = moved((0.05, 0.1, -0.05), (0.4, -0.3, 0.5))
    whole, part = (settings_of(
        solver__method='pseudo_inverse', solver__select='first', solver__max_restarts=0,
        solver__max_iterations=1000, solver__step_fraction=fraction).solver.solve(
            goal, np.array(READY)) for fraction in (1.0, 0.2))
    assert whole.success and part.success
    assert part.iterations > 3 * whole.iterations
    with pytest.raises(ParameterError, match='step_fraction works with textbook methods only'):
        settings_of(solver__step_fraction=0.2)


def test_manipulability_gain():
    """A seventh joint is used to stay away from singularities, on the self-motion found first."""
    chain, ratios = robots.chain('panda'), []
    for q in robots.random_postures(chain, 10, 1):
        least, more = (settings_of(chain, solver__null_space_gains=(0.0,), solver__select='first',
                                   solver__manipulability_gain=gain).solver.solve(
            forward_kinematics(chain, q), chain.middle).manipulability for gain in (0.0, 0.1))
        ratios.append(more / least)
    assert min(ratios) > 1.0 - 1e-4 and np.median(ratios) > 1.02


# ---- motion and paths -------------------------------------------------------

def planned(**values):
    """Return the fastest motion that turns the last three joints."""
    settings = settings_of(**values)
    return plan_point_to_point(SIX_AXES.joint_names, START, np.array(READY) + [0, 0, 0, 1, -1, 1],
                               settings.planning, 0.02, SIX_AXES)


def test_tool_turn():
    """The tip turns as fast as is allowed, and no faster."""
    for limit in (0.3, 0.6):
        motion = planned(motion__tool_turn=limit)
        _, rates = tip_rates(SIX_AXES, motion.q, motion.qd)
        fastest = max(np.linalg.norm(np.atleast_2d(rate)) for rate in rates)
        assert 0.8 * limit < fastest < 1.001 * limit
    assert planned().duration < 0.5 * motion.duration


@pytest.mark.parametrize('name, goal, low', [
    ('path__tool_acceleration', moved((0.0, -0.2, -0.1)), 0.3),
    ('path__tool_turn_acceleration', moved((0.0, 0.0, 0.0), (0.0, 0.0, 0.8)), 0.8)])
def test_acceleration_of_the_tool(name, goal, low):
    """Along a line, or in a turn, by differences of the poses."""
    def sharpest(**values):
        settings = settings_of(**values)
        motion = plan_path(settings.solver, START, [goal], settings.planning,
                           settings.paths).trajectory
        times = np.arange(0.02, motion.duration, 0.02)
        poses = [tip(q) for q in _sampled(motion, times)]
        if 'turn' in name:
            way = np.array([np.linalg.norm(pin.log3(poses[0].rotation.T @ T.rotation))
                            for T in poses])
        else:
            way = np.array([np.linalg.norm(T.translation - poses[0].translation) for T in poses])
        return np.abs(np.diff(way, 2)).max() / 0.02**2

    assert sharpest(**{name: low}) < 1.1 * low
    assert sharpest() > 1.5 * low


def _sampled(motion, times):
    """Return the positions at some times, between the points by cubics."""
    from scipy.interpolate import CubicHermiteSpline
    return CubicHermiteSpline(motion.times, motion.q, motion.qd)(
        np.clip(times, motion.times[0], motion.times[-1]))


def test_max_joint_step(monkeypatch):
    """The joints go from solution to solution in such steps: smaller ones, more of them."""
    from ik_node.motion.tool_path import plan
    counts = []
    timed = plan.timed_trajectory

    def counting(path, *others):
        counts.append((len(path.q), np.abs(np.diff(path.q, axis=0)).max()))
        return timed(path, *others)

    monkeypatch.setattr(plan, 'timed_trajectory', counting)
    for step in (0.05, 0.01):
        settings = settings_of(path__max_joint_step=step)
        plan_path(settings.solver, START, [moved((0.0, -0.3, -0.1))], settings.planning,
                  settings.paths)
        assert counts[-1][1] < 1.1 * step
    assert counts[-1][0] > 2 * counts[0][0]


# ---- stream -----------------------------------------------------------------

def test_stream_memory():
    """The longer it is, the later the follower knows that a target has begun to move."""
    def behind(memory):
        settings = settings_of(stream__memory=memory)
        made = Follower(SIX_AXES, settings.planning, settings.following)
        made.begin(MotionState.at_rest(np.array(READY)), 0.0)
        at = circle(moved(), 0.2, 0.2)
        messages = stream(lambda t: at(max(0.0, t - 0.5)), 100.0, 1.3, np.random.default_rng(0))
        for now, found in run(made, messages, 1.2, 0.01):
            last = np.linalg.norm(tip(found.state.q).translation
                                  - at(now + settings.following.look_ahead - 0.5)[:3, 3])
        return last

    assert behind(1.0) > 0.05 > 0.005 > behind(0.04)


def test_stream_null_space_gains():
    """A joint that the target leaves free goes to its preferred position; with 0 it stays."""
    def turned(gain):
        settings = settings_of(
            stream__null_space_gains=(gain,), stream__free_axes=('rz',),
            solver__preferred_positions=(*READY[:5], READY[5] + 1.0))
        made = Follower(SIX_AXES, settings.planning, settings.following)
        made.begin(MotionState.at_rest(np.array(READY)), 0.0)
        messages = stream(lambda _: moved(), 100.0, 1.5, np.random.default_rng(0))
        *_, (_, last) = run(made, messages, 1.4, 0.01)
        return last.state.q[5] - READY[5]

    assert abs(turned(0.0)) < 1e-3
    slow, fast = turned(0.3), turned(1.0)
    assert 0.1 < slow < 0.7 * fast < pi


def test_stream_free_axes_frame():
    """A target that rises is not followed where height is free, but where the tool's z axis is."""
    def risen(frame):
        settings = settings_of(stream__free_axes=('z',), stream__free_axes_frame=frame,
                               stream__null_space_gains=(0.0,))
        made = Follower(SIX_AXES, settings.planning, settings.following)
        made.begin(MotionState.at_rest(np.array(READY)), 0.0)
        messages = stream(lambda _: moved((0.0, 0.0, 0.05)), 100.0, 2.1, np.random.default_rng(0))
        *_, (_, last) = run(made, messages, 2.0, 0.01)
        return tip(last.state.q).translation[2] - tip(READY).translation[2]

    assert abs(risen('base')) < 1e-4
    assert risen('tip') > 0.01
