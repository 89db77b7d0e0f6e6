# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms in step: limits, distances and the clock, judged by code that shares none."""

from types import SimpleNamespace

from motion_checker import Bounds, dense, faults, path_of
import numpy as np
import pinocchio as pin
import pytest
import robots
from two_arms import ARM_JOINTS, both, MARGIN_M, model, oracle, TREE

from ik_node import load_tree, Scene, Solver
from ik_node.base.errors import ParameterError, Reason, TrajectoryError
from ik_node.base.se3 import pose
from ik_node.collision.search import path_search
from ik_node.kinematics.links import link_pose
from ik_node.motion.change.active_trajectory import ActiveTrajectory, Measurement
from ik_node.motion.direct.point_to_point import plan_stop, StartState
from ik_node.motion.trajectory.limits import MotionLimits, TipLimits
from ik_node.motion.tree_motion import (
    carried_out,
    checked_controllers,
    plan_tree_motion,
    split_by_controller,
    tree_limits,
)
from ik_node.node.arms.arms_robot import ArmsRobot
from ik_node.ros.messages.joint_states import JointStates

LIMITS = tree_limits(TREE, 5.0, 50.0)
# The hands one above the other before the body, and the other way round.
LEFT_ABOVE, RIGHT_ABOVE = both(pan=-0.36), both(pan=-0.36)
for _posture, _sign in ((LEFT_ABOVE, 1.0), (RIGHT_ABOVE, -1.0)):
    _posture[TREE.joint_names.index('left_shoulder_lift')] = -0.45 * _sign
    _posture[TREE.joint_names.index('right_shoulder_lift')] = 0.45 * _sign


def assert_good(trajectory, goal, among=None, limits=LIMITS):
    """Check limits, and distances between the points, too."""
    bounds = Bounds(limits.lower, limits.upper, limits.velocity, limits.acceleration, limits.jerk)
    assert not faults(trajectory, bounds, goal=goal)
    among = among or model()
    times, values = dense(path_of(trajectory), 11)
    Q = values[0].reshape(times.size, -1)
    assert among.check_many(Q).all()
    judge = oracle(among, among.objects)
    for q in Q[::60]:
        assert (judge.distances(q) > among.margins - 3e-6).all()


def test_all_joints_are_in_step():
    """At each instant each joint has made the same share; the tightest limit is used."""
    rng = np.random.default_rng(2)
    for scale in (1.0, 1e-2, 1e-5):
        start = both(pan=0.2, lift=0.3, elbow=0.4)
        goal = start + scale * rng.uniform(-0.3, 0.3, TREE.n)
        trajectory = plan_tree_motion(TREE, start, goal, LIMITS, model())
        assert_good(trajectory, goal)
        share = (trajectory.q - start) / (goal - start)
        assert np.abs(share - share[:, :1]).max() < 1e-6
    used = [np.abs(values).max(axis=0) / limit for values, limit in (
        (trajectory.qd, LIMITS.velocity), (trajectory.qdd, LIMITS.acceleration))]
    assert max(map(np.max, used)) <= 1.0 + 1e-9


def test_a_long_motion_reaches_the_speed_of_one_joint():
    goal = both(pan=1.5, lift=0.8)
    trajectory = plan_tree_motion(TREE, both(), goal, LIMITS, model())
    assert_good(trajectory, goal)
    assert (np.abs(trajectory.qd) / LIMITS.velocity).max() > 0.98


def test_arms_that_would_meet_go_round_each_other():
    """The direct motion is refused with the two that meet; the detour is proved."""
    assert model().check_many(np.array([LEFT_ABOVE, RIGHT_ABOVE])).all()
    with pytest.raises(TrajectoryError, match='would .* after .* s of the motion') as caught:
        plan_tree_motion(TREE, LEFT_ABOVE, RIGHT_ABOVE, LIMITS, model(), detour_time=0.0)
    assert caught.value.reason is Reason.COLLISION
    assert "'left_" in str(caught.value) and "'right_" in str(caught.value)
    trajectory = plan_tree_motion(TREE, LEFT_ABOVE, RIGHT_ABOVE, LIMITS, model(), 30.0)
    assert_good(trajectory, RIGHT_ABOVE)


def test_random_motions_are_free_and_within_limits():
    Q = robots.random_postures(TREE, 30, 4)
    Q = Q[model().check_many(Q)]
    for a, b in zip(Q[:-1:2], Q[1::2]):
        assert_good(plan_tree_motion(TREE, a, b, LIMITS, model(), 30.0), b)


def test_a_detour_may_lead_to_another_posture():
    """The nearest one has its forearm in a ring, to which no way is found within 4 s."""
    start, posture = robots.random_postures(TREE, 2, 44)
    goals = TREE.fk(posture)
    nearest = Solver(TREE, model()).solve(goals, start).q
    T_forearm = link_pose(TREE.tree, 'left_forearm', 'base_link',
                          dict(zip(TREE.joint_names, nearest.tolist())))
    ring = Scene('base_link')
    for k in range(4):
        side = np.array(pin.SE3(pin.utils.rotate('z', 0.5 * k * np.pi), np.zeros(3)))
        ring.add_box(f'side_{k}', (0.03, 0.3, 0.03), T_forearm @ side @ pose(
            np.eye(3), [0.1, 0.0, 0.15]))
    among = model().with_objects(ring.bodies, MARGIN_M)
    solver = Solver(TREE, among)
    assert np.array_equal(solver.solve(goals, start).q, nearest)
    trajectory = plan_tree_motion(TREE, start, nearest, LIMITS, among, 4.0,
                                  lambda: solver.free_postures(goals, start))
    assert_good(trajectory, trajectory.end, among)
    for tip, T in TREE.fk(trajectory.end).items():
        assert np.allclose(T, goals[tip], rtol=0.0, atol=3e-6)
    # So does the node, and its answer is about that posture.
    planned, result = ArmsRobot(TREE, solver, LIMITS, None, 4.0).planned(goals, start)
    assert np.array_equal(planned.end, trajectory.end) and np.array_equal(result.q, planned.end)
    for tip, T in TREE.fk(planned.end).items():
        assert result.errors[tip].position == pytest.approx(
            np.linalg.norm(T[:3, 3] - goals[tip][:3, 3]), abs=1e-11)


def test_a_goal_in_a_collision_is_refused_with_both_reasons():
    """What blocks the direct motion, and what is wrong at the goal."""
    goal = both(pan=-0.5)
    with pytest.raises(TrajectoryError, match="the direct motion is blocked: '.*; at the goal, '"):
        plan_tree_motion(TREE, both(), goal, LIMITS, model(), 5.0)


def test_no_detour_is_said_with_the_pair(monkeypatch):
    """If the search ends without one; here it may not begin."""
    monkeypatch.setattr(path_search, 'BLOCK_ITERATIONS', 0)
    with pytest.raises(TrajectoryError, match=(
            "the direct motion is blocked: 'left_.*' and 'right_.*' would .* after .*; no "
            'detour was found in 0.01 s')) as caught:
        plan_tree_motion(TREE, LEFT_ABOVE, RIGHT_ABOVE, LIMITS, model(), 0.01)
    assert caught.value.reason is Reason.COLLISION


def test_each_controller_gets_its_joints_on_one_clock():
    goal = both(pan=0.4, lift=0.5, torso=0.3)
    trajectory = plan_tree_motion(TREE, both(), goal, LIMITS)
    parts = split_by_controller(trajectory, checked_controllers(TREE, ARM_JOINTS))
    assert list(parts) == ['left_controller', 'right_controller']
    for controller, part in parts.items():
        assert part.joint_names == tuple(ARM_JOINTS[controller])
        assert np.array_equal(part.times, trajectory.times)
        columns = [trajectory.joint_names.index(name) for name in part.joint_names]
        for name in ('q', 'qd', 'qdd'):
            assert np.array_equal(getattr(part, name), getattr(trajectory, name)[:, columns])
        assert np.array_equal(part.start.q, trajectory.start.q[columns])


def test_a_mobile_base_needs_velocity_limits():
    text = TREE.tree.source.decode().replace('</robot>', (
        '<link name="floor"/><joint name="drive" type="planar"><parent link="floor"/>'
        '<child link="base_link"/><axis xyz="0 0 1"/></joint></robot>'))
    tree = load_tree(text, 'floor', TREE.tip_links, {'drive': {
        'x': (-3.0, 3.0), 'y': (-3.0, 3.0), 'yaw': (-np.inf, np.inf)}})
    with pytest.raises(ParameterError, match="'drive/x', 'drive/y', 'drive/yaw' have no velocity"):
        tree_limits(tree, 1.0, 10.0)
    limits = tree_limits(tree, 1.0, 10.0, np.where(np.isinf(tree.velocity), 0.5, tree.velocity))
    start = np.zeros(tree.n)
    start[tree.joint_names.index('drive/yaw')] = 3.0
    goal = start.copy()
    goal[[0, 2]] = 1.0, -3.0
    trajectory = plan_tree_motion(tree, start, goal, limits)
    assert trajectory.end[2] == pytest.approx(2 * np.pi - 3.0)  # the shorter turn


@pytest.mark.parametrize('call, error, sentence', [
    (lambda: checked_controllers(TREE, {'a': ['left_elbo']}), ParameterError,
     "the controller 'a' has the joint 'left_elbo', which does not move a tip; did you mean"),
    (lambda: checked_controllers(TREE, {'a': ['left_elbow'], 'b': ['left_elbow']}),
     ParameterError, "the joint 'left_elbow' is in the controllers 'a' and 'b'"),
    (lambda: checked_controllers(TREE, {'a': ARM_JOINTS['left_controller']}), ParameterError,
     "no controller has 'torso_joint', 'right_shoulder_pan'"),
    (lambda: checked_controllers(TREE, {'a': []}), ParameterError, 'one name at least'),
    (lambda: plan_tree_motion(TREE, both(), both() + 9.0, LIMITS), TrajectoryError,
     "the goal of joint 'torso_joint' is 9, outside its limits [-1.4, 1.4]"),
    (lambda: plan_tree_motion(TREE, both(), both(), LIMITS), TrajectoryError,
     'all joints are at the goal already'),
    (lambda: plan_tree_motion(TREE, both(), np.zeros(3), LIMITS), ParameterError, 'q_goal needs'),
    (lambda: plan_tree_motion(TREE, both(), both(pan=0.1), MotionLimits(
        LIMITS.lower, LIMITS.upper, LIMITS.velocity, LIMITS.acceleration, LIMITS.jerk,
        TipLimits(speed=0.1))), ParameterError, 'has limits of the joints only'),
    (lambda: tree_limits(TREE, 0.0, 1.0), ParameterError, 'must be positive and finite'),
])
def test_errors_say_what_to_do(call, error, sentence):
    with pytest.raises(error) as caught:
        call()
    assert sentence in str(caught.value)


@pytest.mark.parametrize('seed', range(8))
def test_who_has_not_got_a_ramp(seed):
    """Each on the ramp, on the motion before, or at rest elsewhere: all is seen and joined."""
    rng = np.random.default_rng(seed)
    start, goal = both(), both(pan=1.5, lift=0.8)
    goal[:] += rng.uniform(-0.2, 0.2, TREE.n)
    whole = plan_tree_motion(TREE, start, goal, LIMITS)
    before = ActiveTrajectory(whole, 100.0, LIMITS, 7 * 10**9)
    left_at = rng.uniform(0.25, 0.5) * whole.duration
    splice = StartState.from_motion(whole, left_at, 0.1)
    ramp = ActiveTrajectory(plan_stop(TREE.joint_names, splice, LIMITS, 0.1), 100.0 + left_at,
                            LIMITS, before.stamp + round(1e9 * left_at))
    shift = 1e-9 * (ramp.stamp - before.stamp)
    now = ramp.began + splice.splice_time + 0.2
    actual = {name: rng.choice(['ramp', 'before', 'elsewhere', 'start']) for name in ARM_JOINTS}
    places = {'elsewhere': start - 0.5, 'start': start}

    def states(times):
        found = ramp.states(times)
        for name, what in actual.items():
            joints = [TREE.joint_names.index(joint) for joint in ARM_JOINTS[name]]
            if what == 'before':
                found[:, :, joints] = before.states(times + shift)[:, :, joints]
            elif what in places:
                found[:, :, joints] = 0.0
                found[:, 0, joints] = places[what][joints]
        return found

    age = 0.01
    q, qd, _ = states(np.array([now - age - ramp.began]))[0]
    if 'elsewhere' not in actual.values():
        qd[:] = np.nan  # who has not begun is known without
    found, missing = carried_out(TREE, ARM_JOINTS, ramp, before, dict.fromkeys(
        ARM_JOINTS, Measurement(q, qd, age)), now, 0.1)
    assert missing == [name for name, what in actual.items() if what != 'ramp']
    times = np.linspace(0.0, whole.duration, 500)
    assert found.stamp == ramp.stamp and not found.trajectory.qd[-1].any()
    assert np.abs(found.states(times) - states(times)).max() < 1e-6


@pytest.mark.parametrize('late', [0.3, 0.45])
def test_a_late_arm_without_velocities_is_not_taken_to_rest(late):
    """It is far from where it should be, but moves: it must not be told to hold at once."""
    active = ActiveTrajectory(plan_tree_motion(TREE, both(), both(pan=1.5), LIMITS), 100.0, LIMITS,
                              7 * 10**9)
    now = 100.0 + 0.6 * active.trajectory.duration
    q, qd = active.states(np.array([now - 100.0 - late]))[0, :2]
    states = JointStates()
    states.take(SimpleNamespace(name=TREE.joint_names, position=q.tolist(), velocity=[],
                                header=SimpleNamespace(stamp=SimpleNamespace(sec=1, nanosec=0))),
                now)
    assert not active.followed(TREE, q, now, 0.02) and np.abs(qd).max() > 0.5
    found, missing = carried_out(TREE, ARM_JOINTS, active, None, dict.fromkeys(
        ARM_JOINTS, Measurement(q, states.velocities_or_nan(TREE.joint_names))), now, 0.02)
    assert found is active and not missing
