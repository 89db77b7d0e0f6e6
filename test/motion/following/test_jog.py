# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Jogging: the tip goes along its twist, all limits hold, and nothing winds up.

Poses are by Pinocchio, distances by coal, limits by finite differences (following.py).
"""

from dataclasses import replace

from following import check_alone, Checker, distances, HOMES, limits_of, tip, wall
from geometry_oracle import bodies_of, model_of, Oracle
from nightly import each_once
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import GoalError, ParameterError, Reason
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.jog import JogCommand, JogOptions
from ik_node.motion.following.options import FollowOptions, Phase
from ik_node.motion.trajectory.trajectory import MotionState

MARGIN_M = 0.01
PERIOD_S = 0.01
ARM = 'six_axis_arm'
X, Z = np.eye(6)[[0, 2]]


def jogged(name, command, seconds, q=None, model=None, options=FollowOptions()):
    """
    Return the times (K,), commanded states (K, 3, n) and outputs of a jog, until 1.5 s after it.

    `command` is a command, or returns one at a time (s); limits are checked in every cycle.
    """
    chain, start = robots.chain(name), MotionState.at_rest(HOMES[name] if q is None else q)
    limits = limits_of(chain, 0.5)
    made, checker = Follower(chain, limits, options, model), Checker(start, limits)
    made.begin(start, 0.0)
    found, times = [], PERIOD_S * np.arange(1, round((seconds + 1.5) / PERIOD_S))
    for now in times:
        if now <= seconds:
            made.jog(command(now) if callable(command) else command, now)
        found.append(made.step(now))
        checker.see(now + made.options.look_ahead, found[-1].state)
    states = np.array([(out.state.q, out.state.qd, out.state.qdd) for out in found])
    assert found[-1].state.rests and found[-1].phase is Phase.STALE
    return times, states, found


def there(name, states):
    """Return where the tip is (K, 3) in the base frame, m."""
    return np.array([tip(name, q)[:3, 3] for q in states[:, 0]])


def moved(T, V, seconds, in_tip):
    """Return a pose after moving with a twist, by Pinocchio's exponential."""
    if in_tip:
        return (pin.SE3(T) * pin.exp6(seconds * V)).homogeneous
    end = np.eye(4)
    end[:3, :3] = pin.exp3(seconds * V[3:]) @ T[:3, :3]
    end[:3, 3] = T[:3, 3] + seconds * V[:3]
    return end


@pytest.mark.parametrize('name, V, in_tip', [
    ('panda', [0.1, 0.0, 0.0, 0.0, 0.0, 0.0], False),
    (ARM, [0.0, 0.0, -0.1, 0.0, 0.0, 0.0], False),
    ('ur5', [0.0, 0.0, 0.0, 0.0, 0.0, -0.5], False),
    ('ur5', [0.0, 0.0, 0.1, 0.0, 0.0, 0.0], True),
    (ARM, [0.05, 0.0, 0.0, 0.0, 0.0, 0.4], False),
    ('panda', [0.05, 0.0, 0.0, 0.3, 0.0, 0.3], True)])
def test_the_tip_goes_along_its_twist(name, V, in_tip):
    """From rest to rest, also while it slows down after the last command."""
    V = np.array(V)
    times, states, found = jogged(name, JogCommand(V, in_tip=in_tip), 1.5)
    T = tip(name, HOMES[name])
    ways = []
    for q in states[::10, 0]:
        seconds = ways[-1] if ways else 0.0
        for step in (0.1, 0.01, 0.001):
            candidates = seconds + step * np.arange(-10, 21)
            far = [sum(distances(moved(T, V, s, in_tip), tip(name, q))) for s in candidates]
            seconds = candidates[np.argmin(far)]
        ways.append(seconds)
        position, angle = distances(moved(T, V, seconds, in_tip), tip(name, q))
        assert position < 3e-4 and angle < 1e-3
    ways = np.array(ways)
    steady = (times[::10] > 0.7) & (times[::10] < 1.5)
    assert np.diff(ways[steady]) == pytest.approx(0.1, rel=0.05), 'seconds of the twist a second'
    assert (np.diff(ways) > -0.002).all(), 'it does not come back'
    last = next(t for t, out in zip(times, found) if t > 1.5 and out.state.rests)
    assert 1.6 < last < 2.2


def by_exact_integration(name, q, V, seconds):
    """Return where ``qd = J^+ V`` leads (Pinocchio, RK4), None if to a limit or a singularity."""
    chain, weights = robots.chain(name), np.diag([1.0, 1.0, 1.0, 0.3, 0.3, 0.3])

    def J(q):
        return robots.reference(name).jacobian(chain.base_link, chain.tip_link,
                                               robots.positions(chain, q))

    h = seconds / 60
    for _ in range(60):
        values = np.linalg.svd(weights @ J(q), compute_uv=False)
        if values[-1] < 0.03 * values[0] or (q < chain.lower).any() or (q > chain.upper).any():
            return None
        a = np.linalg.pinv(J(q)) @ V
        b = np.linalg.pinv(J(q + 0.5 * h * a)) @ V
        q = q + h * b
    return q


def off_line(name, states, V):
    """Return how far (m, rad) the tip gets off the way of a twist, and how far it goes."""
    T = tip(name, states[0, 0])
    ways = np.array([np.append(pose[:3, 3] - T[:3, 3], pin.log3(pose[:3, :3] @ T[:3, :3].T))
                     for pose in (tip(name, q) for q in states[::4, 0])])
    along = ways @ V / (V @ V)
    off = ways - np.outer(along, V)
    return (np.linalg.norm(off[:, :3], axis=1).max(), np.linalg.norm(off[:, 3:], axis=1).max(),
            along[-1] * np.linalg.norm(V))


def test_a_line_by_a_weak_wrist_is_not_left():
    """The exact motion needs 0.73 of 1.95 rad/s and a sixth of the acceleration all along."""
    q, v = np.array([-0.4, -0.377, -0.749, -0.881, 0.95, 2.092]), np.array([-0.398, -0.51, -0.763])
    V = np.append(0.05 * v / np.linalg.norm(v), np.zeros(3))
    _, states, _ = jogged(ARM, JogCommand(V), 1.5, q)
    off, turned, way = off_line(ARM, states, V)
    assert off < 1e-4 and turned < 2e-4 and way > 0.065


@pytest.mark.parametrize('name, speed', each_once(sorted(HOMES), [0.05, 0.2, 0.4]))
def test_lines_are_kept_at_any_speed(name, speed):
    """Of all random lines that exact integration follows; where limits bind, it is slower."""
    chain, random = robots.chain(name), np.random.default_rng(11)
    low, high = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    tried = 0
    while tried < 4:
        q, v = random.uniform(low, high), random.standard_normal(3)
        V = np.append(speed * v / np.linalg.norm(v), np.zeros(3))
        if by_exact_integration(name, q, V, 0.8) is None:
            continue
        tried += 1
        _, states, _ = jogged(name, JogCommand(V), 0.7, q, options=FollowOptions(bias=(0.0,)))
        off, turned, way = off_line(name, states, V)
        assert off < 2e-4 and turned < 5e-4 and way > 1e-3


@pytest.mark.parametrize('name, q, V', [
    # A joint turns back near its limit.
    ('panda', [-1.018, -0.635, -2.725, -0.968, -2.271, 0.136, 0.904],
     [0.23, -0.327, -0.011, 0.0, 0.0, 0.0]),
    # A redundant arm passes by a singularity, ...
    ('panda', [-2.421, 0.481, 1.977, -2.211, 0.124, 2.845, 1.176],
     [0.0, 0.0, 0.0, 0.51, 0.56, -0.258]),
    # ... another has one far ahead.
    ('z1', [0.319, 0.086, -1.593, 0.689, 0.687, 1.444], [0.374, -0.131, 0.057, 0.0, 0.0, 0.0]),
    # A joint is at its velocity limit while its share of the way grows.
    ('kinova', [0.564, 1.986, 0.437, -2.498, 1.895, 2.237],
     [0.0, 0.0, 0.0, -0.004, -0.568, -0.563]),
    # The way of the joints bends within a tenth of a rad.
    ('ur5', [0.898, 0.393, 2.324, -1.902, -2.488, -0.668], [-0.085, -0.295, 0.257, 0.0, 0.0, 0.0]),
    # A singularity is near all along.
    ('six_axis_arm', [0.794, 0.136, -1.962, 1.092, -0.764, 1.325],
     [0.0448, -0.0068, -0.0211, 0.0, 0.0, 0.0]),
])
def test_ways_that_are_hard_to_keep(name, q, V):
    V = np.array(V)
    _, states, _ = jogged(name, JogCommand(V), 1.5, np.array(q), options=FollowOptions(bias=(0.,)))
    off, turned, way = off_line(name, states, V)
    assert off < 1e-4 and turned < 3e-4 and way > 0.05


@pytest.mark.parametrize('scale', [0.2, 4.0])
def test_a_scaled_arm_jogs_as_straight(scale):
    """The thresholds go by the size of the arm: the same joints move the same way."""
    chain = robots.chain(ARM)
    offsets = chain.offsets.copy()
    offsets[:, 9:] *= scale
    scaled = replace(chain, offsets=offsets)
    made = Follower(scaled, limits_of(scaled, 0.5))
    q = np.array([-0.4, -0.377, -0.749, -0.881, 0.95, 2.092])
    made.begin(MotionState.at_rest(q), 0.0)
    v = np.array([-0.398, -0.51, -0.763])
    v *= scale * 0.05 / np.linalg.norm(v)
    for now in PERIOD_S * np.arange(150):
        made.jog(JogCommand(np.append(v, np.zeros(3))), now)
        state = made.step(now).state
    T, end = (forward_kinematics(scaled, each) for each in (q, state.q))
    way, direction = (end - T)[:3, 3], v / np.linalg.norm(v)
    assert np.linalg.norm(way - (way @ direction) * direction) < 1e-4 * max(scale, 1.0)
    assert way @ direction > 0.065 * scale


def test_another_frame_turns_the_axes():
    """The twist is in the axes of its frame; a tip frame turns with the tip."""
    R = pin.rpy.rpyToMatrix(0.0, 0.0, np.pi / 2.0)
    _, states, _ = jogged(ARM, JogCommand(0.1 * X, R), 1.0)
    way = there(ARM, states)[-1] - tip(ARM, HOMES[ARM])[:3, 3]
    assert way[1] > 0.08 and np.abs(way[[0, 2]]).max() < 3e-4
    _, states, _ = jogged(ARM, JogCommand(0.1 * X, R, in_tip=True), 1.0)
    way = tip(ARM, HOMES[ARM])[:3, :3].T @ (there(ARM, states)[-1] - tip(ARM, HOMES[ARM])[:3, 3])
    assert way[1] > 0.08 and np.abs(way[[0, 2]]).max() < 3e-4


@pytest.mark.parametrize('seed', range(8))
def test_every_limit_whatever_is_commanded(seed):
    """Twists and rates that leap, pauses, zeros, and numbers beyond all speeds."""
    random = np.random.default_rng(seed)
    name = sorted(HOMES)[seed % len(HOMES)]
    chain = robots.chain(name)
    limits, start = limits_of(chain, 0.5), MotionState.at_rest(HOMES[name])
    made, checker = Follower(chain, limits), Checker(start, limits)
    made.begin(start, 0.0)
    now, kind = 0.0, 0
    for i in range(500):
        now += PERIOD_S * random.uniform(0.3, 1.7)
        if i % 40 == 0:
            kind = random.integers(5)
            twist, rates = random.standard_normal(6), random.standard_normal(chain.n)
            widest = 300.0 if random.random() < 0.3 else 1.0
            fast = 10.0**random.uniform(-2.0 * widest, widest)
        if kind < 3:
            made.jog(JogCommand(fast * twist, in_tip=kind == 0) if kind < 2
                     else JogCommand(rates=fast * rates), now)
        elif kind == 3:
            made.jog(JogCommand(), now)
        checker.see(now + made.options.look_ahead, made.step(now).state)
        if i % 20 == 7:
            check_alone(made.trajectory(now), now, checker)


def test_at_the_end_of_its_reach_it_turns_round_at_once():
    """On the same line with the same elbow, and without a tremor before."""
    def command(t):
        return JogCommand((0.2 if t < 5.0 else -0.2) * X)

    times, states, found = jogged(ARM, command, 8.5)
    held = states[(times > 4.0) & (times < 5.0)]
    assert np.abs(held[:, 1]).max() < 0.05 and found[450].smallest < 0.05
    way = there(ARM, states) - tip(ARM, HOMES[ARM])[:3, 3]
    turned = np.searchsorted(times, 5.0)
    assert way[turned, 0] > 0.3 and way[turned + 20, 0] < way[turned, 0] - 1e-4
    assert way[turned + 100, 0] < way[turned, 0] - 0.03
    assert np.abs(way[:, 1:]).max() < 5e-3
    there_again = np.argmin(np.abs(way[turned:, 0])) + turned
    assert np.abs(states[there_again, 0] - HOMES[ARM]).max() < 0.02


@pytest.mark.parametrize('offset', [0.0, 0.1])
def test_a_straight_wrist_is_crossed(offset):
    """Without a stop, by turning the tool about the axis of joint 5, or beside it."""
    q = HOMES[ARM].copy()
    q[3:5] = offset, -0.5
    V = np.array([0.0, 0.0, 0.0, 0.0, 0.5, 0.0])
    times, states, found = jogged(ARM, JogCommand(V, in_tip=True), 3.0, q)
    assert min(out.smallest for out in found[:300]) < 0.005 and states[-1, 0, 4] > 0.5
    angles = [distances(tip(ARM, states[k, 0]), tip(ARM, states[k + 10, 0]))[1]
              for k in range(50, 290, 10)]
    assert min(angles) > 0.9 * 0.05
    off = there(ARM, states) - tip(ARM, q)[:3, 3]
    assert np.abs(off).max() < 2e-3


def test_an_arm_of_four_axes():
    """It moves straight where an axis is free; with six joints the free axes are held."""
    q, Y = np.array([0.3, 0.5, 0.8, 0.2]), np.eye(6)[1]
    chain = make_chain(parse_urdf(robots.FOUR_AXES))
    limits, start = limits_of(chain, 0.5), MotionState.at_rest(q)
    made = Follower(chain, limits, FollowOptions(free=('rz',), frame='base'))
    made.begin(start, 0.0)
    checker = Checker(start, limits)
    for now in PERIOD_S * np.arange(1, 120):
        made.jog(JogCommand(0.1 * Y), now)
        checker.see(now + made.options.look_ahead, made.step(now).state)
    T, end = (forward_kinematics(chain, each) for each in (q, checker.state.q))
    way = end[:3, 3] - T[:3, 3]
    assert way[1] > 0.08 and np.abs(way[[0, 2]]).max() < 1e-3
    assert end[2, :3] == pytest.approx(T[2, :3], abs=1e-3), 'its pitch'
    held = FollowOptions(free=('rz',), frame='base')
    _, states, _ = jogged(ARM, JogCommand(0.1 * Y), 1.0, options=held)
    assert distances(tip(ARM, HOMES[ARM]), tip(ARM, states[-1, 0]))[1] < 1e-3


def test_a_corner_is_not_taken_back():
    """Across the twist before, the tip goes on until it has stopped there, and not back."""
    def command(t):
        return JogCommand(0.15 * (-X if t < 1.0 else Z))

    times, states, _ = jogged('ur5', command, 2.0)
    way = there('ur5', states)
    turned = np.searchsorted(times, 1.0)
    assert way[-1, 0] - way[turned:, 0].min() < 1e-3
    assert way[turned + 20:, 2].min() < way[-1, 2] - 0.05


def test_a_wall_stops_it_and_it_turns_round_at_once():
    """Never nearer than the margin, however long it is pushed; it slides along what is oblique."""
    scene = wall('ur5', 0.1)
    model = model_of('ur5', margin=MARGIN_M).with_objects(scene.bodies)
    oracle = Oracle('ur5', model, bodies_of('ur5'), scene.bodies)

    def command(t):
        return JogCommand(0.1 * (X if t < 4.0 else -X))

    times, states, found = jogged('ur5', command, 5.0, model=model)
    assert min(oracle.distances(q).min() for q in states[::5, 0]) > MARGIN_M - 1e-5
    assert 'wall' in found[390].contact.names and np.abs(states[390, 1]).max() < 0.02
    way = there('ur5', states)[:, 0]
    turned = np.searchsorted(times, 4.0)
    assert way[turned + 20] < way[turned] - 1e-3 and way[turned + 80] < way[turned] - 0.03
    free, states, _ = jogged('ur5', command, 5.0)
    assert min(oracle.distances(q).min() for q in states[::5, 0]) < MARGIN_M, 'no test'
    along = 0.1 * (X + Z)
    _, states, _ = jogged('ur5', JogCommand(along), 3.0, model=model)
    assert min(oracle.distances(q).min() for q in states[::5, 0]) > MARGIN_M - 1e-5
    way = there('ur5', states)
    assert way[-1, 2] - way[0, 2] > 0.15 and way[-1, 0] - way[0, 0] < 0.1


def test_joints_move_alone():
    """At their velocity, to their limit and at once back; what is not named stays where it is."""
    def command(t):
        return JogCommand(rates=np.array([0.0, 0.0, 0.3 if t < 6.0 else -0.3, 0.0, 0.2, 0.0]))

    times, states, _ = jogged(ARM, command, 7.0)
    assert (states[:, 0, [0, 1, 3, 5]] == HOMES[ARM][[0, 1, 3, 5]]).all()
    assert states[100, 1, [2, 4]] == pytest.approx([0.3, 0.2])
    upper, turned = robots.chain(ARM).upper[2], np.searchsorted(times, 6.0)
    assert upper - 1e-3 < states[turned, 0, 2] <= upper
    assert states[turned + 20, 1, 2] < -0.05
    # A wall stops all of them: nothing else gives way.
    scene = wall('ur5', 0.05)
    model = model_of('ur5', margin=MARGIN_M).with_objects(scene.bodies)
    oracle = Oracle('ur5', model, bodies_of('ur5'), scene.bodies)
    into = JogCommand(rates=np.array([0.0, 0.3, -0.4, 0.0, 0.0, 0.0]))
    _, states, found = jogged('ur5', into, 3.0, model=model)
    assert min(oracle.distances(q).min() for q in states[::5, 0]) > MARGIN_M - 1e-5
    assert (states[:, 0, [0, 3, 4, 5]] == HOMES['ur5'][[0, 3, 4, 5]]).all()
    assert found[290].contact is not None and np.abs(states[290, 1]).max() < 0.02


def test_zeros_release_it_and_a_command_goes_on():
    """Zeros stop at once and are no command: after the timeout the jog is over."""
    def command(t):
        return JogCommand(0.1 * X) if t < 0.5 or t > 1.5 else JogCommand()

    times, states, found = jogged(ARM, command, 2.0)
    way = there(ARM, states)[:, 0]
    at = {t: np.searchsorted(times, t) for t in (0.5, 0.55, 0.7, 1.4, 1.9)}
    assert found[at[0.55]].phase is Phase.FOLLOWING and found[at[0.7]].phase is Phase.STALE
    assert found[at[1.4]].state.rests
    assert way[at[1.4]] - way[at[0.5]] < 0.03 and way[at[1.9]] - way[at[1.4]] > 0.02


def test_other_options_go_on_with_a_jog():
    """As when a parameter is changed: the same motion, the same path."""
    chain = robots.chain(ARM)
    limits = limits_of(chain, 0.5)
    first = Follower(chain, limits)
    first.begin(MotionState.at_rest(HOMES[ARM]), 0.0)
    made, checker = first, Checker(MotionState.at_rest(HOMES[ARM]), limits)
    for now in PERIOD_S * np.arange(1, 151):
        if made is first and now > 0.5:
            made = Follower(chain, limits, FollowOptions(gain=10.0))
            made.take_over(first)
        made.jog(JogCommand(0.1 * X), now)
        checker.see(now + made.options.look_ahead, made.step(now).state)
    way = tip(ARM, made.step(now + PERIOD_S).state.q)[:3, 3] - tip(ARM, HOMES[ARM])[:3, 3]
    assert way[0] > 0.1 and np.abs(way[1:]).max() < 3e-4


def test_invalid_commands_are_refused():
    """Numbers that are not finite, and rates of another arm; the motion goes on."""
    made = Follower(robots.chain(ARM), limits_of(robots.chain(ARM)))
    for wrong in (dict(twist=np.full(6, np.nan)), dict(rates=np.full(6, np.inf))):
        with pytest.raises(GoalError, match='finite') as caught:
            JogCommand(**wrong)
        assert caught.value.reason is Reason.GOAL_NOT_FINITE
    with pytest.raises(GoalError, match='5 velocities; the arm has 6 joints'):
        made.jog(JogCommand(rates=np.ones(5)), 0.0)
    with pytest.raises(GoalError, match='finite'):
        made.jog(JogCommand(X), np.nan)
    assert made.step(0.01).phase is Phase.WAITING


def test_units():
    """Without units from -1 to 1, times the scales; else as they are."""
    numbers = np.array([1.0, -0.5, 0.0, 0.5, 0.0, -1.0])
    options = JogOptions(linear=0.2, rotational=0.6, joint=0.4)
    assert options.twist(numbers) == pytest.approx([0.2, -0.1, 0.0, 0.3, 0.0, -0.6])
    assert options.rates(numbers[:2]) == pytest.approx([0.4, -0.2])
    plain = JogOptions(command_in_type='speed_units')
    assert (plain.twist(3.0 * numbers) == 3.0 * numbers).all()
    assert (plain.rates(3.0 * numbers) == 3.0 * numbers).all()
    for wrong, reason in ((1.01 * numbers, None), (np.nan * numbers, Reason.GOAL_NOT_FINITE)):
        for read in (options.twist, options.rates):
            with pytest.raises(GoalError, match='the numbers of the jog are') as caught:
                read(wrong)
            assert reason is None or caught.value.reason is reason
    with pytest.raises(ParameterError, match='unitless or speed_units'):
        JogOptions(command_in_type='knots')
