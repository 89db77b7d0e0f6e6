# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the solver promises, judged by Pinocchio's kinematics."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.errors import GoalError, ParameterError, Reason
from ik_node.model.chain import make_chain
from ik_node.model.urdf import parse_urdf
from ik_node.solver.damped import _limited_step
from ik_node.solver.goal import Goal
from ik_node.solver.solver import low_discrepancy, one_per_joint, Solver, SolverOptions

COUNT = 1000
PATIENT = SolverOptions(deadline=60.0)  # so that no answer depends on the machine's load
SEVEN_AXES = ('panda', 'xarm7', 'pr2', 'baxter')


def tip_pose(name, q):
    """Return the pose of the tip by Pinocchio."""
    chain = robots.chain(name)
    return robots.reference(name).pose(chain.base_link, chain.tip_link,
                                       robots.positions(chain, q))


@lru_cache(maxsize=None)
def reachable(name, count, seed=11):
    """Return postures inside the limits and their goals."""
    postures = robots.random_postures(robots.chain(name), count, seed)
    return postures, [Goal(tip_pose(name, q)) for q in postures]


def errors_of(name, goal, q):
    """Return position (m) and orientation error (rad) by Pinocchio."""
    T = tip_pose(name, q)
    return (float(np.linalg.norm(T[:3, 3] - goal.T_base_tip[:3, 3])),
            float(np.linalg.norm(pin.log3(T[:3, :3].T @ goal.T_base_tip[:3, :3]))))


def assert_solves(name, goal, result):
    """Check an answer that is called solved."""
    chain = robots.chain(name)
    assert result.solved and result.reason is Reason.SOLVED
    assert (result.q >= chain.lower).all() and (result.q <= chain.upper).all()
    position, orientation = errors_of(name, goal, result.q)
    assert position <= 1e-6 + 1e-9
    assert result.position_error == pytest.approx(position, abs=1e-9)
    if not goal.position_only:
        assert orientation <= 1e-6 + 1e-9
        assert result.orientation_error == pytest.approx(orientation, abs=1e-9)


# ---- the promise ------------------------------------------------------------

@pytest.mark.parametrize('name', robots.ARMS)
def test_every_reachable_pose_is_solved(name):
    """From a random seed: solved, inside the limits, within tolerance."""
    chain = robots.chain(name)
    solver = Solver(chain, PATIENT)
    _, goals = reachable(name, COUNT)
    for goal, seed in zip(goals, robots.random_postures(chain, COUNT, 12)):
        result = solver.solve(goal, seed)
        assert_solves(name, goal, result)
        assert np.array_equal(result.seed, seed) and result.goal is goal


@pytest.mark.parametrize('name', robots.ARMS)
def test_every_reachable_position_is_solved(name):
    """With the orientation free: solved, inside the limits, within tolerance."""
    chain = robots.chain(name)
    solver = Solver(chain, PATIENT)
    _, goals = reachable(name, COUNT)
    for goal, seed in zip(goals[:200], robots.random_postures(chain, 200, 13)):
        goal = replace(goal, position_only=True)
        assert_solves(name, goal, solver.solve(goal, seed))


@pytest.mark.parametrize('name', robots.ARMS)
def test_restarts_are_needed(name):
    """Without restarts far fewer poses are solved from far seeds, and never wrongly."""
    chain = robots.chain(name)
    solver = Solver(chain, replace(PATIENT, max_restarts=0))
    _, goals = reachable(name, COUNT)
    solved = 0
    for goal, seed in zip(goals[:300], robots.random_postures(chain, 300, 12)):
        result = solver.solve(goal, seed)
        assert result.restarts == 0
        assert (result.q >= chain.lower).all() and (result.q <= chain.upper).all()
        position, orientation = errors_of(name, goal, result.q)
        assert result.solved == (position <= 1e-6 and orientation <= 1e-6)
        solved += result.solved
    assert 30 < solved < 290


def test_restarts_come_from_the_seeds_first():
    """The seeds are tried in their order before the fixed sequence."""
    chain = robots.chain('ur5')
    postures, goals = reachable('ur5', 50)
    alone = Solver(chain, replace(PATIENT, max_restarts=0))
    tried = 0
    for goal, q, seed in zip(goals, postures, robots.random_postures(chain, 50, 12)):
        if alone.solve(goal, seed).solved:
            continue
        result = alone.solve(goal, np.array([seed, q]))
        assert_solves('ur5', goal, result)
        assert result.restarts == 1
        assert np.array_equal(result.seed, seed)
        tried += 1
    assert tried > 5


@pytest.mark.parametrize('name', ['ur5', 'panda', 'kinova', 'baxter'])
def test_the_same_question_has_the_same_answer(name):
    """Bit for bit, whatever was solved in between and by another solver object."""
    chain = robots.chain(name)
    _, goals = reachable(name, 50)
    seeds = robots.random_postures(chain, 50, 12)
    first = [Solver(chain, PATIENT).solve(goal, seed) for goal, seed in zip(goals, seeds)]
    solver = Solver(chain, PATIENT)
    for goal, seed, before in reversed(list(zip(goals, seeds, first))):
        again = solver.solve(goal, seed)
        assert again.q.tobytes() == before.q.tobytes()
        assert (again.iterations, again.restarts, again.bias_iterations, again.position_error) \
            == (before.iterations, before.restarts, before.bias_iterations, before.position_error)


def test_q_and_minus_q_orientations_and_copies_are_the_same_goal():
    """A goal is copied and frozen, so later changes of the array do not reach it."""
    chain = robots.chain('ur5')
    T = tip_pose('ur5', np.array([0.1, -1.0, 1.5, 0.3, 0.8, 0.0]))
    goal = Goal(T)
    before = Solver(chain, PATIENT).solve(goal, np.zeros(6))
    T[0, 3] += 0.1
    assert np.array_equal(Solver(chain, PATIENT).solve(goal, np.zeros(6)).q, before.q)
    with pytest.raises(ValueError, match='read-only'):
        goal.T_base_tip[0, 0] = 2.0


# ---- branches and turns -----------------------------------------------------

@pytest.mark.parametrize('name', robots.ARMS)
def test_near_seeds_stay_near(name):
    """A seed within 0.1 rad of a solution is not left for another branch (median, 95 %)."""
    chain = robots.chain(name)
    # The bias moves redundant arms on purpose.
    solver = Solver(chain, replace(PATIENT, gains=(0.0,)))
    postures, goals = reachable(name, COUNT)
    noise = np.random.default_rng(14).uniform(-0.1, 0.1, postures.shape)
    distances = []
    for goal, seed in zip(goals, np.clip(postures + noise, chain.lower, chain.upper)):
        result = solver.solve(goal, seed)
        assert result.solved
        distances.append(np.abs(result.q - seed).max())
    assert np.median(distances) <= 0.1
    assert np.quantile(distances, 0.95) <= (0.25 if chain.n == 7 else 0.1 + 1e-3)


@pytest.mark.parametrize('name', ['ur5', 'ur5_limited', 'panda', 'kinova', 'pr2'])
def test_angles_are_the_nearest_turn_inside_the_limits(name):
    """No equivalent of an angle inside the limits is nearer to the seed."""
    chain = robots.chain(name)
    solver = Solver(chain, replace(PATIENT, gains=(0.0,)))  # the bias comes after the turns
    _, goals = reachable(name, 300)
    seeds = robots.random_postures(chain, 300, 15)
    seeds[:, chain.continuous] += 2.0 * np.pi * np.random.default_rng(16).integers(
        -40, 40, (300, int(chain.continuous.sum())))
    moved = 0
    for goal, seed in zip(goals, seeds):
        q = solver.solve(goal, seed).q
        for k in range(chain.n):
            turns = q[k] + 2.0 * np.pi * np.arange(-60, 61)
            inside = turns[(turns >= chain.lower[k]) & (turns <= chain.upper[k])]
            nearest = np.abs(inside - seed[k]).min() if len(inside) else np.inf
            assert abs(q[k] - seed[k]) <= nearest + 1e-9
            moved += abs(q[k]) > np.pi
    if name in ('ur5', 'kinova', 'pr2'):
        assert moved > 20


def test_a_whole_turn_is_taken_towards_the_seed():
    """On a UR5 (limits of two turns) the same pose is met one turn on, if the seed is there."""
    chain = robots.chain('ur5')
    q = np.array([0.5, -1.0, 1.2, 0.4, 0.9, 0.3])
    goal = Goal(tip_pose('ur5', q))
    for turns in (np.array([0, 0, 0, 0, 0, -1]), np.array([-1, 1, 0, -1, -1, 0])):
        seed = q + 2.0 * np.pi * turns
        assert np.abs(Solver(chain, PATIENT).solve(goal, seed + 0.01).q - seed).max() < 1e-5
    # A seed beyond the limits is drawn to the last turn inside.
    seed = q + 2.0 * np.pi * np.array([2, 0, 0, 0, 0, 0])
    answer = Solver(chain, PATIENT).solve(goal, seed)
    assert_solves('ur5', goal, answer)


def test_continuous_joints_have_no_false_limits():
    """A joint that turns without limit is solved where it stands, 40 turns on."""
    chain = robots.chain('kinova')
    assert chain.continuous.sum() == 3
    solver = Solver(chain, PATIENT)
    postures, goals = reachable('kinova', 100)
    far = 2.0 * np.pi * 40.0 * chain.continuous
    for goal, q in zip(goals, postures):
        result = solver.solve(goal, q + far + 0.01 * ~chain.continuous * (q < chain.middle))
        assert_solves('kinova', goal, result)
        assert np.abs(result.q - q - far)[chain.continuous].max() < np.pi + 1e-6
        assert np.isfinite(result.limit_margin)


# ---- limits -----------------------------------------------------------------

@pytest.mark.parametrize('name', ['ur5_limited', 'panda', 'z1', 'baxter'])
def test_limits_are_hard(name):
    """Goals made beyond the limits are met inside them or not at all."""
    chain = robots.chain(name)
    rng = np.random.default_rng(17)
    solver = Solver(chain, replace(PATIENT, max_restarts=5))
    outcomes, named = set(), 0
    for _ in range(150):
        q = rng.uniform(chain.lower, chain.upper)
        beyond = rng.integers(chain.n)
        q[beyond] = rng.choice([chain.lower[beyond] - 0.3, chain.upper[beyond] + 0.3])
        goal = Goal(tip_pose(name, q))
        seed = q + rng.normal(scale=3.0, size=chain.n)  # outside the limits as well
        result = solver.solve(goal, seed)
        assert (result.q >= chain.lower).all() and (result.q <= chain.upper).all()
        outcomes.add(result.reason)
        margin = np.minimum(result.q - chain.lower, chain.upper - result.q)
        assert result.limit_margin == margin.min() >= 0.0
        assert result.limiting_joints == tuple(
            joint for joint, room in zip(chain.joint_names, margin) if room < 1e-6)
        if result.solved:
            assert_solves(name, goal, result)
        else:
            position, orientation = errors_of(name, goal, result.q)
            assert position > 1e-6 or orientation > 1e-6
            for joint in result.limiting_joints:
                assert f"'{joint}'" in result.sentence
                assert 'at the limit' in result.sentence
                named += 1
    assert outcomes == {Reason.SOLVED, Reason.NO_SOLUTION}
    assert named > 10


@pytest.mark.parametrize('name', ['ur5_limited', 'panda', 'z1', 'baxter'])
def test_postures_at_the_limits_are_found(name):
    """A goal whose posture has joints exactly on their limits is solved, from near and far."""
    chain = robots.chain(name)
    rng = np.random.default_rng(18)
    solver = Solver(chain, PATIENT)
    near = 0
    for _ in range(60):
        q = rng.uniform(chain.lower, chain.upper)
        for k in rng.choice(chain.n, 2, replace=False):
            q[k] = rng.choice([chain.lower[k], chain.upper[k]])
        goal = Goal(tip_pose(name, q))
        assert_solves(name, goal, solver.solve(goal, chain.middle))
        seed = np.clip(q + rng.uniform(-0.05, 0.05, chain.n), chain.lower, chain.upper)
        result = solver.solve(goal, seed)
        assert_solves(name, goal, result)
        near += result.restarts == 0
    assert near >= 54


def test_a_joint_at_its_limit_gives_way_to_the_others():
    """What a joint cannot do because of its limit, the others do in the same step."""
    rng = np.random.default_rng(19)
    limited = released = 0
    for _ in range(300):
        J, e = rng.normal(size=(6, 7)), np.zeros(6)
        q, lower, upper = np.zeros(7), np.full(7, -1.0), np.full(7, 1.0)
        e[:3] = 0.05 * rng.normal(size=3)
        stuck = rng.choice(7, 2, replace=False)
        for k in stuck:  # on a limit or just before it
            room = rng.choice([0.0, 1e-3])
            lower[k], upper[k] = (-room, 1.0) if rng.random() < 0.5 else (-1.0, room)
        dq, active = np.empty(7), np.empty(7, dtype=bool)
        assert _limited_step(J, e, q, lower, upper, 3, 1e-14, active, np.empty((6, 6)),
                             np.empty(6), dq)
        assert (dq >= lower).all() and (dq <= upper).all()
        # With at least five joints free, three coordinates are met in full.
        assert np.abs(J[:3] @ dq - e[:3]).max() < 1e-9
        assert np.abs(dq[~active]).max(initial=0.0) <= 1e-3
        limited += not active.all()
        released += bool(np.abs(dq[stuck]).max() > 2e-3)
    assert limited > 100 and released > 30


# ---- the bias towards the preferred posture ---------------------------------

def cost(chain, solver, q, gains=1.0):
    """Return the weighted squared distance to the preferred posture."""
    width = np.where(chain.continuous, 2.0 * np.pi, chain.upper - chain.lower)
    return float((gains * ((q - solver.preferred) / width)**2).sum())


BIASED = [('panda', False), ('xarm7', False), ('baxter', False), ('ur5', True), ('z1', True)]


@pytest.mark.parametrize('name, position_only', BIASED)
def test_the_bias_works_and_costs_no_accuracy(name, position_only):
    """The distance to the preferred posture falls; the residual stays within tolerance."""
    chain = robots.chain(name)
    on = Solver(chain, PATIENT)
    off = Solver(chain, replace(PATIENT, gains=(0.0,)))
    _, goals = reachable(name, COUNT)
    # Seeds within a quarter turn of the middle: turns are chosen near the seed.
    noise = np.random.default_rng(20).uniform(-0.25 * np.pi, 0.25 * np.pi, (200, chain.n))
    seeds = np.clip(chain.middle + noise, chain.lower, chain.upper)
    ratios, moved = [], 0
    for goal, seed in zip(goals[:200], seeds):
        goal = replace(goal, position_only=position_only)
        with_bias, without = on.solve(goal, seed), off.solve(goal, seed)
        assert_solves(name, goal, with_bias)
        assert_solves(name, goal, without)
        assert without.bias_iterations == 0
        assert with_bias.restarts == without.restarts
        moved += with_bias.bias_iterations > 0
        ratios.append(cost(chain, on, with_bias.q) / cost(chain, on, without.q))
    assert moved > 180
    assert np.mean(np.array(ratios) <= 1.0) > 0.95
    assert np.median(ratios) < 0.98 and np.quantile(ratios, 0.25) < 0.95


@pytest.mark.parametrize('name, position_only', BIASED[:4])
def test_the_bias_ends_where_nothing_is_left_to_gain(name, position_only):
    """No motion that keeps the goal lowers the bias further (first-order optimality)."""
    chain = robots.chain(name)
    solver = Solver(chain, replace(PATIENT, max_bias_iterations=1000))
    _, goals = reachable(name, COUNT)
    width = chain.upper - chain.lower
    residues = []
    for goal in goals[:200]:
        result = solver.solve(replace(goal, position_only=position_only), chain.middle)
        if result.limiting_joints or (np.abs(result.q) > np.pi).any():
            continue  # at a limit or a turn away the optimum is another
        J = robots.reference(name).jacobian(chain.base_link, chain.tip_link,
                                            robots.positions(chain, result.q))
        J = J[:3] if position_only else J
        null = np.linalg.svd(J)[2][len(J):]
        pull = (result.q - solver.preferred) / width**2
        residues.append(np.linalg.norm(null @ pull) / np.linalg.norm(pull))
    assert len(residues) > 20
    assert np.median(residues) < 1e-3
    if name != 'xarm7':  # whose wide limits leave room for other turns
        assert np.quantile(residues, 0.9) < 1e-3


def test_a_preferred_posture_that_meets_the_goal_is_found():
    """With its preferred posture at the goal, a redundant arm ends there."""
    chain = robots.chain('panda')
    postures, goals = reachable('panda', 60)
    near = 0
    for goal, q in zip(goals, postures):
        solver = Solver(chain, replace(PATIENT, preferred=tuple(q), max_bias_iterations=1000))
        assert np.array_equal(solver.preferred, q)
        null = np.linalg.svd(robots.reference('panda').jacobian(
            chain.base_link, chain.tip_link, robots.positions(chain, q)))[2][-1]
        seed = np.clip(q + 0.3 * null, chain.lower, chain.upper)
        near += np.abs(solver.solve(goal, seed).q - q).max() < 1e-2
    assert near > 50


@pytest.mark.parametrize('name, position_only', BIASED[:4])
@pytest.mark.parametrize('joint', [0, 2, 3])
def test_a_higher_gain_holds_a_joint_nearer(name, position_only, joint):
    """The joint with the higher gain ends nearer to its preferred value."""
    chain = robots.chain(name)
    gains = np.ones(chain.n)
    gains[joint] = 100.0
    even, strong = (Solver(chain, replace(PATIENT, gains=tuple(g)))
                    for g in (np.ones(chain.n), gains))
    _, goals = reachable(name, COUNT)
    distances = []
    for goal in goals[:150]:
        goal = replace(goal, position_only=position_only)
        pair = [solver.solve(goal, chain.middle) for solver in (even, strong)]
        assert all(result.solved for result in pair)
        distances.append([abs(result.q[joint] - even.preferred[joint]) for result in pair])
    before, after = np.transpose(distances)
    assert np.median(after) < 0.95 * np.median(before)
    assert np.mean(after <= before + 1e-6) > 0.93


def test_the_bias_gains_from_any_turn_of_the_seed():
    """With seeds one or more turns away the bias still never ends worse than it began."""
    chain = robots.chain('ur5')
    on, off = (Solver(chain, replace(PATIENT, gains=(gain,))) for gain in (1.0, 0.0))
    seeds = np.random.default_rng(31).uniform(chain.lower, chain.upper, (300, 6))
    _, goals = reachable('ur5', 300)
    gained = 0
    for goal, seed in zip(goals, seeds):
        goal = Goal(goal.T_base_tip, position_only=True)
        biased, plain = on.solve(goal, seed), off.solve(goal, seed)
        cost = [np.sum(((result.q - on.preferred) / (chain.upper - chain.lower))**2)
                for result in (biased, plain)]
        assert biased.solved and cost[0] <= cost[1] + 1e-9
        gained += cost[0] < 0.9 * cost[1]
    assert gained > 150


def test_gain_zero_is_off():
    """With gain 0 the answer is the one without bias steps, bit for bit."""
    chain = robots.chain('panda')
    _, goals = reachable('panda', 30)
    zero = Solver(chain, replace(PATIENT, gains=(0.0,)))
    none = Solver(chain, replace(PATIENT, max_bias_iterations=0))
    for goal, seed in zip(goals, robots.random_postures(chain, 30, 22)):
        assert zero.solve(goal, seed).q.tobytes() == none.solve(goal, seed).q.tobytes()


def test_a_joint_of_gain_zero_moves_freely():
    """With gain on one joint alone, that joint is brought to its preferred value."""
    chain = robots.chain('panda')
    gains = tuple(np.eye(7)[2])
    on = Solver(chain, replace(PATIENT, gains=gains))
    _, goals = reachable('panda', 100)
    away = [abs(on.solve(goal, chain.middle).q[2]) for goal in goals]
    off = Solver(chain, replace(PATIENT, gains=(0.0,)))
    away_without = [abs(off.solve(goal, chain.middle).q[2]) for goal in goals]
    assert np.median(away) < 0.2 * np.median(away_without)


def test_a_full_pose_on_six_axes_has_no_bias():
    """Six axes and a full pose leave no null space."""
    chain = robots.chain('ur5')
    _, goals = reachable('ur5', 20)
    for goal in goals:
        assert Solver(chain, PATIENT).solve(goal, np.zeros(6)).bias_iterations == 0


# ---- awkward goals ----------------------------------------------------------

SINGULAR = [('ur5', {4: 0.0}), ('ur5', {2: 0.0}), ('ur5', {2: 0.0, 4: 0.0}), ('ur5', {4: np.pi}),
            ('ur5_limited', {4: 0.0}), ('z1', {4: 0.0}), ('panda', {1: 0.0, 5: 0.0}),
            ('xarm7', {1: 0.0, 5: 0.0}), ('kinova', {2: np.pi}), ('pr2', {3: -0.15}),
            ('six_axis_arm', {4: 0.0}), ('parallel_axes_arm', {4: 0.0})]


@pytest.mark.parametrize('name, joints', SINGULAR)
def test_singular_goals_are_solved(name, joints):
    """Goals exactly at a singularity are met within the same tolerance."""
    chain = robots.chain(name)
    solver = Solver(chain, PATIENT)
    postures = robots.random_postures(chain, 60, 23)
    for k, value in joints.items():
        postures[:, k] = value
    for q, seed in zip(postures, robots.random_postures(chain, 60, 24)):
        goal = Goal(tip_pose(name, q))
        assert_solves(name, goal, solver.solve(goal, seed))
        assert_solves(name, goal, solver.solve(goal, q))


@pytest.mark.parametrize('name', ['ur3', 'ur5', 'ur10'])
@pytest.mark.parametrize('axis', [0, 1, 2])
def test_an_orientation_half_a_turn_away_is_solved(name, axis):
    """The tip turned by exactly pi about one of its axes: solved, always the same way."""
    chain = robots.chain(name)
    solver = Solver(chain, PATIENT)
    turn = np.diag([1.0 if k == axis else -1.0 for k in range(3)])
    base = np.array([0.4, -1.2, 1.6, 0.3, 1.1, 0.2])
    for q in base + np.random.default_rng(25).uniform(-0.1, 0.1, (20, 6)):
        T = tip_pose(name, q)
        T[:3, :3] = T[:3, :3] @ turn
        goal = Goal(T)
        result = solver.solve(goal, q)
        assert_solves(name, goal, result)
        assert result.q.tobytes() == solver.solve(goal, q).q.tobytes()


def test_a_goal_that_is_met_already_takes_no_step():
    """The seed itself is the answer when it meets the goal."""
    chain = robots.chain('ur5')
    postures, goals = reachable('ur5', 20)
    for q, goal in zip(postures, goals):
        result = Solver(chain, PATIENT).solve(goal, q)
        assert result.solved and result.iterations == 0 and result.restarts == 0
        assert np.array_equal(result.q, q)


def test_an_arm_with_mimic_skew_and_sliding_joints_is_solved():
    """Fewer than six coordinates, prismatic and mimic joints: reachable poses are met."""
    chain = make_chain(parse_urdf(robots.SKEW), 'base', 'tip')
    reference = robots.Reference(robots.SKEW)
    solver = Solver(chain, PATIENT)
    seeds = robots.random_postures(chain, 200, 26)
    for q, seed in zip(robots.random_postures(chain, 200, 27), seeds):
        goal = Goal(reference.pose('base', 'tip', robots.skew_positions(q)))
        result = solver.solve(goal, seed)
        assert result.solved
        assert (result.q >= chain.lower).all() and (result.q <= chain.upper).all()
        T = reference.pose('base', 'tip', robots.skew_positions(result.q))
        assert np.abs(T - goal.T_base_tip).max() < 2e-6


# ---- goals that cannot be met -----------------------------------------------

def assert_honest(name, goal, result):
    """Check that a failure reports its best attempt with the true distance."""
    chain = robots.chain(name)
    assert not result.solved
    assert np.isfinite(result.q).all()
    assert (result.q >= chain.lower).all() and (result.q <= chain.upper).all()
    position, orientation = errors_of(name, goal, result.q)
    assert result.position_error == pytest.approx(position, rel=1e-6, abs=1e-9)
    assert result.orientation_error == pytest.approx(orientation, abs=1e-6)


@pytest.mark.parametrize('name', ['ur5', 'panda', 'kinova', 'pr2'])
@pytest.mark.parametrize('beyond', [1e-3, 1.0, 1e3, 1e9])
def test_out_of_reach(name, beyond):
    """Beyond the arm's length: OUT_OF_REACH at once, both distances said, units hinted at."""
    chain = robots.chain(name)
    T = tip_pose(name, chain.middle)
    direction = np.array([0.6, 0.0, 0.8])
    T[:3, 3] = chain.offsets[0, 9:] + direction * (chain.reach + beyond)
    goal = Goal(T)
    result = Solver(chain, PATIENT).solve(goal, chain.middle)
    assert result.reason is Reason.OUT_OF_REACH
    assert_honest(name, goal, result)
    assert result.restarts == 0
    assert result.sentence.startswith('out of reach')
    assert f'{chain.reach + beyond:.4g} m' in result.sentence
    assert f'{chain.reach:.4g} m' in result.sentence and f"'{chain.tip_link}'" in result.sentence
    assert ('millimetres' in result.sentence) == (beyond > 100.0)


@pytest.mark.parametrize('name', ['ur5', 'panda'])
@pytest.mark.parametrize('position_only', [False, True])
def test_just_inside_the_bound_is_not_called_out_of_reach(name, position_only):
    """Nearer than the arm is long, but not reachable: NO_SOLUTION with the nearest posture."""
    chain = robots.chain(name)
    T = tip_pose(name, chain.middle)
    T[:3, 3] = chain.offsets[0, 9:] + np.array([0.8, 0.6, 0.0]) * (chain.reach - 1e-3)
    goal = Goal(T, position_only)
    result = Solver(chain, PATIENT).solve(goal, chain.middle)
    assert result.reason is Reason.NO_SOLUTION
    assert_honest(name, goal, result)
    assert result.restarts == PATIENT.max_restarts
    assert f'{1e3 * result.position_error:.3g} mm' in result.sentence
    assert (' rad' in result.sentence) != position_only
    # The nearest posture is a stretched one.
    assert result.position_error < 0.4 * chain.reach


@pytest.mark.parametrize('name, point', [
    ('ur5', (0.0, 0.0, 0.09)), ('ur5', (0.02, 0.01, 0.3)), ('ur10', (0.0, 0.0, 0.1)),
    ('ur3', (0.0, 0.0, 0.2))])
def test_inside_the_body(name, point):
    """A goal inside the arm's own column ends in NO_SOLUTION and says how near it came."""
    chain = robots.chain(name)
    T = np.eye(4)
    T[:3, 3] = point
    goal = Goal(T)
    result = Solver(chain, PATIENT).solve(goal, chain.middle)
    assert result.reason is Reason.NO_SOLUTION
    assert_honest(name, goal, result)
    assert 'no posture inside the joint limits' in result.sentence
    assert f"'{chain.tip_link}'" in result.sentence
    assert f'{1e3 * result.position_error:.3g} mm' in result.sentence


def test_the_best_attempt_is_kept():
    """More restarts never end farther from a goal that cannot be met."""
    chain = robots.chain('ur5')
    T = np.eye(4)
    T[:3, 3] = 0.02, 0.01, 0.3
    goal = Goal(T)
    weighted = []
    for restarts in (0, 1, 5, 20, 100):
        solver = Solver(chain, replace(PATIENT, max_restarts=restarts))
        result = solver.solve(goal, np.full(6, 0.3))
        weighted.append(np.hypot(result.position_error, 0.3 * result.orientation_error))
    assert (np.diff(weighted) <= 0.0).all()
    assert weighted[-1] < weighted[0]


def test_the_deadline_ends_the_search():
    """When time runs out the reason is DEADLINE, with the nearest posture so far."""
    chain = robots.chain('ur5')
    T = np.eye(4)
    T[:3, 3] = 0.02, 0.01, 0.3
    goal = Goal(T)
    result = Solver(chain, SolverOptions(deadline=1e-9, max_restarts=10**5)).solve(
        goal, np.zeros(6))
    assert result.reason is Reason.DEADLINE
    assert_honest('ur5', goal, result)
    assert 0 <= result.restarts < 100
    assert 'within the time allowed' in result.sentence and 'mm' in result.sentence
    # An answer found before the clock is read counts.
    _, goals = reachable('ur5', 1)
    assert Solver(chain, SolverOptions(deadline=1e-9)).solve(
        goals[0], reachable('ur5', 1)[0][0]).solved


def test_the_figures_of_a_result():
    """The margins and singular values belong to the answer."""
    chain = robots.chain('ur5')
    _, goals = reachable('ur5', 1)
    result = Solver(chain, PATIENT).solve(goals[0], np.zeros(6))
    J = robots.reference('ur5').jacobian(chain.base_link, chain.tip_link,
                                         robots.positions(chain, result.q))
    values = np.linalg.svd(J, compute_uv=False)
    assert result.smallest_singular_value == pytest.approx(values[-1], abs=1e-9)
    assert result.manipulability == pytest.approx(abs(np.linalg.det(J)), abs=1e-9)
    assert result.sentence.startswith('solved to')
    assert f'{result.position_error:.1e} m' in result.sentence
    assert result.time > 0.0


# ---- what is refused --------------------------------------------------------

@pytest.mark.parametrize('option', ['position_tolerance', 'orientation_tolerance',
                                    'metres_per_radian', 'deadline'])
@pytest.mark.parametrize('value', [0.0, -1.0, np.nan, np.inf, -np.inf])
def test_options_that_must_be_positive(option, value):
    """Zero, negative and non-finite options are refused by name."""
    with pytest.raises(ParameterError, match=option) as caught:
        Solver(robots.chain('ur5'), SolverOptions(**{option: value}))
    assert caught.value.reason is Reason.PARAMETER_INVALID


@pytest.mark.parametrize('options, words', [
    ({'gains': (-1.0,)}, 'gains.*negative'),
    ({'gains': (1.0, 1.0, 1.0, 1.0, 1.0, -1e-9)}, 'gains.*negative'),
    ({'gains': ()}, 'gains needs 1 or 6'),
    ({'gains': (1.0, 2.0)}, 'gains needs 1 or 6'),
    ({'gains': (1.0,) * 7}, 'gains needs 1 or 6'),
    ({'gains': (np.nan,)}, 'gains needs 1 or 6 finite'),
    ({'gains': (np.inf,)}, 'gains needs 1 or 6 finite'),
    ({'preferred': (0.0,) * 5}, 'preferred positions needs 1 or 6'),
    ({'preferred': (np.nan,) * 6}, 'preferred positions needs 1 or 6 finite'),
    ({'preferred': (7.0,)}, 'preferred positions.*not inside the joint limits'),
    ({'preferred': (0.0, 0.0, 0.0, 0.0, 0.0, -6.3)}, 'not inside the joint limits'),
])
def test_gains_and_preferred_postures_that_are_refused(options, words):
    """Wrong counts, signs and positions beyond the limits are refused in words."""
    with pytest.raises(ParameterError, match=words):
        Solver(robots.chain('ur5'), SolverOptions(**options))


def test_one_number_serves_all_joints():
    """One number is given to each joint, n numbers to their own."""
    chain = robots.chain('ur5')
    assert one_per_joint(chain, (2.0,), 'x').tolist() == [2.0] * 6
    assert one_per_joint(chain, (1, 2, 3, 4, 5, 6), 'x').tolist() == [1, 2, 3, 4, 5, 6]
    assert Solver(chain, SolverOptions(preferred=(0.5,))).preferred.tolist() == [0.5] * 6


@pytest.mark.parametrize('seed', [np.zeros(5), np.zeros(7), np.zeros((2, 7)), np.full(6, np.nan),
                                  np.array([0, 0, 0, 0, 0, np.inf])])
def test_seeds_that_are_refused(seed):
    """A seed of the wrong length or without a finite number is refused."""
    _, goals = reachable('ur5', 1)
    with pytest.raises(ParameterError, match='6 finite numbers'):
        Solver(robots.chain('ur5')).solve(goals[0], seed)


def bent(row, column, value):
    """Return the identity pose with one number replaced."""
    T = np.eye(4)
    T[row, column] = value
    return T


@pytest.mark.parametrize('T, reason, words', [
    (np.eye(3), Reason.GOAL_NOT_FINITE, '4x4'),
    (bent(0, 3, np.nan), Reason.GOAL_NOT_FINITE, 'not finite'),
    (bent(2, 3, np.inf), Reason.GOAL_NOT_FINITE, 'not finite'),
    (bent(1, 1, np.nan), Reason.GOAL_NOT_FINITE, 'not finite'),
    (bent(0, 0, 1.00001), Reason.GOAL_ORIENTATION_NOT_UNIT, 'orthonormal'),
    (bent(0, 1, 0.001), Reason.GOAL_ORIENTATION_NOT_UNIT, 'orthonormal'),
    (bent(2, 2, -1.0), Reason.GOAL_ORIENTATION_NOT_UNIT, 'right-handed'),
    (np.diag([0.0, 0.0, 0.0, 1.0]), Reason.GOAL_ORIENTATION_NOT_UNIT, 'orthonormal'),
])
def test_goals_that_are_refused(T, reason, words):
    """A goal must be a finite, right-handed rigid pose."""
    with pytest.raises(GoalError, match=words) as caught:
        Goal(T)
    assert caught.value.reason is reason


# ---- the fixed sequence -----------------------------------------------------

@pytest.mark.parametrize('n', [1, 6, 7])
def test_the_sequence_fills_the_cube_evenly(n):
    """Inside the cube, the same each time, a longer one begins alike, no region left out."""
    points = low_discrepancy(100, n)
    assert points.shape == (100, n)
    assert (points >= 0.0).all() and (points < 1.0).all()
    assert np.array_equal(points, low_discrepancy(100, n))
    assert np.array_equal(points[:10], low_discrepancy(10, n))
    assert low_discrepancy(0, n).shape == (0, n)
    for column in points.T:
        counts = np.histogram(column, 10, (0.0, 1.0))[0]
        assert counts.min() >= 6 and counts.max() <= 15
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + np.eye(100)
    assert distances.min() > 0.5 / 100
