# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Unreachable goals: the reason and the distance of the nearest posture are true."""

from answers import (
    assert_honest,
    assert_solves,
    errors_of,
    FREE,
    PATIENT,
    reachable,
    solver,
    tip_pose,
)
from brute_force import brute_force, improve, LENGTH, stretched
from closed_form import closed_form, every_turn
from nightly import samples
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import Reason
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.solver.descent.layout import SQUARED_ERROR
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

# ---- beyond reach -----------------------------------------------------------


@pytest.mark.fault('goals', 'farther away than the arm is long',
                   'refused with both distances, and a word on units')
@pytest.mark.parametrize('name', ['ur5', 'panda', 'kinova', 'pr2'])
@pytest.mark.parametrize('beyond', [1e-3, 1.0, 1e3, 1e5])
def test_beyond_the_length_of_the_arm(name, beyond):
    """OUT_OF_REACH, with both distances, and a hint at the units if they look like mm."""
    chain = robots.chain(name)
    T = tip_pose(name, np.clip(chain.middle, chain.lower, chain.upper))
    T[:3, 3] = chain.offsets[0, 9:] + np.array([0.6, 0.0, 0.8]) * (chain.reach + beyond)
    result = solver(name).solve(T, chain.middle)
    assert result.status is Reason.OUT_OF_REACH
    assert_honest(name, T, result)
    assert result.message.startswith('out of reach')
    assert f'{chain.reach + beyond:.4g} m' in result.message
    assert f"'{chain.tip_link}'" in result.message
    off = result.position_error
    assert (f'{off:.3g} m ' if off >= 1.0 else f'{1e3 * off:.3g} mm ') in result.message
    assert ('millimetres' in result.message) == (beyond > 100.0)


@pytest.mark.fault('goals', 'a millimetre beyond the reach',
                   'refused; a millimetre inside is solved')
@pytest.mark.parametrize('name', ['ur5', 'panda', 'z1', 'six_axis_arm', 'kinova'])
def test_at_the_edge_of_reach(name):
    """Solved a millimetre inside the farthest point, not solved a millimetre outside."""
    first, edge = robots.chain(name).offsets[0, 9:], stretched(name)
    out = (edge - first) / np.linalg.norm(edge - first)
    inside, outside = (Goal.position(edge + way * out) for way in (-1e-3, 1e-3))
    for seed in robots.random_postures(robots.chain(name), 10, 82):
        assert_solves(name, inside, solver(name).solve(inside, seed))
        result = solver(name).solve(outside, seed)
        assert result.status is Reason.OUT_OF_REACH
        assert_honest(name, outside, result)
        assert result.position_error < 2e-3
        assert ' rad' not in result.message


@pytest.mark.fault('goals', 'inside the hollow about the first axis', 'refused: INNER_VOID')
@pytest.mark.parametrize('name, radius', [('ur3', 0.03), ('ur5', 0.026), ('ur10', 0.07)])
def test_inside_the_column(name, radius):
    """Nearer to the first axis than shoulder and tool allow, at any height: INNER_VOID."""
    rng = np.random.default_rng(83)
    for _ in range(8):
        angle, T = rng.uniform(-np.pi, np.pi), np.eye(4)
        T[:3, 3] = *(0.5 * radius * np.array([np.cos(angle), np.sin(angle)])), rng.uniform(0, 0.4)
        assert brute_force(name, T, 3, False, 3) > 0.4 * radius
        for goal in (Goal(T), Goal.position(T[:3, 3])):
            result = solver(name).solve(goal)
            assert result.status is Reason.INNER_VOID
            assert_honest(name, goal, result)
            assert 'too close' in result.message and f"'{solver(name).chain.tip_link}'" in \
                result.message
            assert f'{1e3 * result.position_error:.3g} mm' in result.message
            assert (' rad' in result.message) == (goal.tolerance[5] == 0.0)


# ---- the orientation --------------------------------------------------------

@pytest.mark.parametrize('name', ['ur5', 'z1', 'six_axis_arm', 'panda', 'kinova'])
def test_an_orientation_out_of_reach(name):
    """The position can be reached inside the limits, the pose not even without limits."""
    poses, turned = reachable(name, 60)[1], reachable(name, 60, 84)[1]
    found = 0
    for p, R in zip(poses, turned):
        T = p.copy()
        T[:3, :3] = R[:3, :3]
        result = solver(name).solve(T)
        if result.status is Reason.ORIENTATION_OUT_OF_REACH:
            found += 1
            assert_honest(name, T, result)
            at = Goal.position(T[:3, 3])
            assert_solves(name, at, solver(name).solve(at))
            assert 'that position' in result.message and 'orientation' in result.message
            if found <= samples(usual=1, nightly=3):
                assert brute_force(name, T, limits=False, starts=4) > 1e-4
        else:  # the position is reachable by construction
            assert result.status in (Reason.SOLVED, Reason.BEYOND_LIMIT)
    assert found > 5


@pytest.mark.parametrize('name', ['z1', 'six_axis_arm', 'panda', 'kinova'])
def test_the_orientation_is_no_reason_if_the_position_is_out_of_reach(name):
    """ORIENTATION_OUT_OF_REACH is given only if the position can be reached."""
    chain, seen = robots.chain(name), set()
    rng = np.random.default_rng(4)
    for T in reachable(name, samples(usual=50, nightly=100), 78)[1]:
        T = T.copy()
        T[:3, 3] = chain.offsets[0, 9:] + 0.5 * chain.reach * rng.normal(size=3)
        status = solver(name).solve(T).status
        alone = solver(name).solve(Goal.position(T[:3, 3]))
        seen.add(status)
        if status is Reason.ORIENTATION_OUT_OF_REACH:
            assert alone.success
        if status in (Reason.OUT_OF_REACH, Reason.INNER_VOID):
            assert not alone.success
    assert {Reason.ORIENTATION_OUT_OF_REACH, Reason.OUT_OF_REACH} <= seen


# ---- beyond a limit ---------------------------------------------------------

def excess_of(chain, q):
    """Return how far each joint is beyond its limits at the best of its turns."""
    ways = q + 2.0 * np.pi * np.arange(-3, 4)[:, None] * chain.revolute
    return np.maximum(np.maximum(chain.lower - ways, ways - chain.upper), 0.0).min(axis=0)


@pytest.mark.fault('goals', 'only a joint beyond its limit would reach it',
                   'refused with the joint and by how much')
@pytest.mark.parametrize('name', robots.cases(
    ['z1', 'six_axis_arm', 'kinova', 'panda', 'baxter', 'pr2']))
def test_a_joint_beyond_its_limit(name):
    """A posture with one joint 0.1 rad beyond its limit: it is named, or a smaller excess is."""
    chain, rng = robots.chain(name), np.random.default_rng(85)
    limited = np.flatnonzero(np.isfinite(chain.lower))
    closed = closed_form(name) if chain.n == 6 else None
    by_name = 0
    for q in robots.random_postures(chain, 90, 86):
        joint = rng.choice(limited)
        q[joint] = rng.choice([chain.upper[joint] + 0.1, chain.lower[joint] - 0.1])
        T = tip_pose(name, q)
        result = solver(name).solve(T)
        if result.success:  # on another branch
            assert_solves(name, T, result)
            continue
        assert_honest(name, T, result)
        assert result.status is Reason.BEYOND_LIMIT
        # Of the continuum of a seventh joint only samples are checked.
        assert max(result.excess.values()) <= (0.1 + 1e-5 if closed else 0.15)
        for joint_name, amount in result.excess.items():
            assert f"'{joint_name}' by {amount:.3g} rad" in result.message
        if closed:
            every = [excess_of(chain, x) for x in closed(T) if not len(every_turn(chain, x))]
            least = min((x.max() for x in every), default=0.1)
            assert max(result.excess.values()) == pytest.approx(least, abs=1e-4)
        by_name += chain.joint_names[joint] in result.excess
    assert by_name > (15 if chain.n == 6 else 1)


def test_a_prismatic_joint_beyond_its_limit():
    """The joint is named as at its limit; only revolute joints are tried without limits."""
    chain, reference = robots.skew_chain(), robots.Reference(robots.SKEW)
    q = np.array([0.3, 0.7, 0.4, -0.5])  # 'slide' ends at 0.6
    T = reference.pose('base', 'tip', robots.skew_positions(q))
    result = Solver(chain, **PATIENT).solve(T, q)
    assert not result.success
    assert result.status is not Reason.BEYOND_LIMIT
    assert result.limiting_joints == ('slide',) and "'slide' at the limit" in result.message


def test_the_reason_takes_locked_joints_into_account():
    """Solutions that need the locked joint do not count, and the reason is no limit of it."""
    chain = robots.chain('ur5')
    failed = 0
    for q, T in zip(*reachable('ur5', 40)):
        seed = q.copy()
        seed[2] = 1.3  # the elbow, which alone sets how far the wrist is from the shoulder
        if abs(abs(q[2]) - 1.3) < 0.2:
            continue
        result = solver('ur5', locked=(chain.joint_names[2],)).solve(T, seed)
        assert result.q[2] == 1.3
        assert_honest('ur5', T, result)
        assert result.status is not Reason.BEYOND_LIMIT
        failed += 1
    assert failed > 20


# ---- the nearest posture ----------------------------------------------------

def hopeless(name, count):
    """Return poses near the arm, most of them out of reach."""
    chain, rng = robots.chain(name), np.random.default_rng(87)
    poses = reachable(name, count, 88)[1].copy()
    poses[:, :3, 3] = chain.offsets[0, 9:] + 0.5 * chain.reach * rng.normal(size=(count, 3))
    return poses


@pytest.mark.parametrize('name', ['ur5', 'z1', 'six_axis_arm', 'panda', 'pr2', 'kinova'])
def test_the_nearest_posture_is_a_local_minimum(name):
    """Scipy's bounded least squares, started there, gains less than a thousandth."""
    judged = 0
    for T in hopeless(name, samples(usual=16, nightly=25)):
        result = solver(name).solve(T)
        if result.success or result.orientation_error > 2.8:
            continue  # at half a turn the distance is not smooth
        assert_honest(name, T, result)
        away = np.hypot(result.position_error, LENGTH * result.orientation_error)
        assert improve(name, T, result.q) >= 0.999 * away
        judged += 1
    assert judged > 5


@pytest.mark.parametrize('name', ['ur5', 'z1', 'panda', 'kinova'])
def test_nearest_returns_the_nearest_pose_within_reach(name):
    """With `nearest` the nearest posture of the failure is a success, with status NEAREST."""
    answered = 0
    for T in hopeless(name, 40):
        failed, given = solver(name).solve(T), solver(name, nearest=True).solve(T)
        assert np.array_equal(failed.q, given.q) and given.success
        if failed.success:
            assert given.status is Reason.SOLVED
            continue
        assert given.status is Reason.NEAREST
        position, orientation = errors_of(name, T, given.q)
        assert given.position_error == pytest.approx(position, rel=1e-6)
        assert given.orientation_error == pytest.approx(orientation, abs=1e-6)
        assert 'not within reach' in given.message
        assert f'{1e3 * given.position_error:.3g} mm' in given.message
        answered += 1
    assert answered > 10


def test_metres_per_radian_decides_which_pose_is_nearest():
    """The answer for each weight is the nearest by that weight."""
    differ = 0
    for T in hopeless('ur5', 30):
        light, heavy = (solver('ur5', metres_per_radian=length).solve(T) for length in (0.05, 2.0))
        if light.success or heavy.success:
            continue
        distance = {length: [np.hypot(result.position_error, length * result.orientation_error)
                             for result in (light, heavy)] for length in (0.05, 2.0)}
        differ += (distance[0.05][0] < 0.999 * distance[0.05][1]) \
            and (distance[2.0][1] < 0.999 * distance[2.0][0])
    assert differ > 10


@pytest.fixture(scope='module')
def five_axes():
    """Return the arm of this package with its last joint fixed, and the same for Pinocchio."""
    begin, end = robots.text('six_axis_arm').split(b'<joint name="joint_6" type="revolute"')
    text = begin + b'<joint name="joint_6" type="fixed"' + end
    return make_chain(parse_urdf(text)), pin.buildModelFromXML(text.decode())


def test_the_position_is_kept_where_it_can_be(five_axes):
    """Five axes, six wishes: scipy from many starts finds no nearer orientation there."""
    chain, model = five_axes
    data, tip = model.createData(), model.getFrameId(chain.tip_link)

    def errors(q, T):
        pin.framesForwardKinematics(model, data, q)
        at = data.oMf[tip]
        return at.translation - T[:3, 3], np.linalg.norm(pin.log3(at.rotation.T @ T[:3, :3]))

    rng = np.random.default_rng(89)
    plain, keeping = Solver(chain, nearest=True), Solver(chain, nearest=True,
                                                         nearest_keeps_position=True)
    bounds = [*zip(chain.lower, chain.upper)]
    for _ in range(samples(usual=5, nightly=40)):
        pin.framesForwardKinematics(model, data, robots.random_postures(
            chain, 1, int(rng.integers(1 << 30)))[0])
        T = data.oMf[tip].homogeneous
        T[:3, :3] = T[:3, :3] @ pin.exp3(rng.uniform(-0.5, 0.5, 3))
        given = keeping.solve(T, chain.middle)
        off, angle = errors(given.q, T)
        assert given.status is Reason.NEAREST and np.linalg.norm(off) < 2e-6
        assert given.orientation_error == pytest.approx(angle, abs=1e-6)
        assert plain.solve(T, chain.middle).position_error > 100.0 * np.linalg.norm(off)
        from scipy.optimize import minimize
        for q in robots.random_postures(chain, 6, int(rng.integers(1 << 30))):
            other = minimize(lambda q, T=T: errors(q, T)[1]**2, q, method='SLSQP', bounds=bounds,
                             constraints={'type': 'eq', 'fun': lambda q, T=T: errors(q, T)[0]})
            off, least = errors(other.x, T)
            assert np.linalg.norm(off) > 1e-5 or least > angle - 1e-3
    T[:3, 3] += [3.0, 0.0, 0.0]  # the nearest position then
    assert keeping.solve(T).position_error < plain.solve(T).position_error < 3.0


# ---- how long it searches ---------------------------------------------------

def column():
    """Return a pose inside the UR5's own column."""
    T = np.eye(4)
    T[:3, 3] = 0.01, 0.005, 0.3
    return T


def test_the_best_attempt_is_kept():
    """More attempts never end farther from an unreachable goal."""
    tables, seed = solver('ur5').tables, np.full((1, 1, 6), 0.3)
    errors = [tables.solve(column()[None], seed, 0, restarts)[0, SQUARED_ERROR]
              for restarts in (0, 1, 5, 20, 100, 150)]
    assert (np.diff(errors) <= 0.0).all() and errors[-1] < 0.9 * errors[0]
    for restarts in (0, 20, 300):
        result = solver('ur5', max_restarts=restarts).solve(column(), seed[0])
        assert_honest('ur5', column(), result)
        assert result.restarts >= restarts


@pytest.mark.fault('time and load', 'the solver does not come to an end',
                   'solver.deadline ends it: DEADLINE')
def test_the_deadline_ends_the_search():
    """When time runs out the reason is DEADLINE, with the nearest posture so far."""
    hasty = Solver(robots.chain('ur5'), deadline=1e-9, max_restarts=10**4)
    result = hasty.solve(column(), np.zeros(6))
    assert result.status is Reason.DEADLINE
    assert_honest('ur5', column(), result)
    assert result.restarts < 1000
    assert 'within the time allowed' in result.message and 'mm' in result.message
    # An answer found before the clock is read counts.
    for q, T in zip(*reachable('ur5', 20)):
        assert hasty.solve(T, q).success


def test_restarts_beyond_the_first_hundred_and_fifty():
    """They solve goals that fewer restarts did not, with few steps per attempt."""
    poses, seeds = reachable('panda', 60)[1], robots.random_postures(robots.chain('panda'), 60, 12)
    solved = [sum(solver('panda', max_iterations=1, max_restarts=restarts).solve(T, seed).success
                  for T, seed in zip(poses, seeds)) for restarts in (150, 3000)]
    assert solved[0] < solved[1]


@pytest.mark.parametrize('name', ['ur5', 'z1', 'panda'])
def test_a_failure_takes_little_time(name):
    """In about a millisecond; the fastest of a few runs, since the machine may be busy."""
    times = [min(solver(name).solve(T).time for _ in range(5)) for T in hopeless(name, 10)]
    assert np.median(times) < 4e-3


def test_free_axes_of_an_unreachable_goal():
    """The distance is measured from the box."""
    goal = Goal(column(), (0.002, 0.002, FREE, FREE, FREE, FREE), 'base')
    result = solver('ur5').solve(goal)
    assert_honest('ur5', goal, result)
    assert result.orientation_error == 0.0 and ' rad' not in result.message
