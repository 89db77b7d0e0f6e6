# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What every textbook method promises on real arms, judged by Pinocchio's kinematics."""

from dataclasses import fields, replace

from answers import deviation
from nightly import samples, usual_first
import numpy as np
import pytest
import robots
from robots import tip_pose

from ik_node.base.errors import ParameterError
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.solver.goal import Goal
from ik_node.textbook.attempt import descend, Ending
from ik_node.textbook.methods import Method, TEXTBOOK_METHODS
from ik_node.textbook.options import ClassicOptions, Limits
from ik_node.textbook.problem import Problem
from ik_node.textbook.task import hold, Task

INF = np.inf
ANY_ARM = [method for method, entry in TEXTBOOK_METHODS.items() if not entry.arms]
NEAR = 0.2  # rad or m, from the seed to a posture that meets the goal
# Share of the goals that are met from there; measured: docs/explanation/textbook_methods.md.
SHARES = {'transpose': 0.5, 'extended_square': 0.7, 'extended_pairwise': 0.8, 'ccd': 0.5,
          'adjusted_adjoint': 0.8, 'neural_network': 0.8, 'key_postures': 0.8}
SLOW = ('transpose', 'ccd')
TRAINED = ('neural_network',)  # for a second or two for each arm
TOLERANCES = {
    'pose': ((0.0,) * 6, 'tip'),
    'position': ((0.0, 0.0, 0.0, INF, INF, INF), 'base'),
    'orientation': ((INF, INF, INF, 0.0, 0.0, 0.0), 'base'),
    'free tool axis': ((0.0, 0.0, 0.0, 0.0, 0.0, INF), 'tip'),
    'box': ((0.01, 0.0, 0.005, 0.05, 0.0, INF), 'tip'),
    'base box': ((0.0, 0.01, INF, INF, 0.0, 0.1), 'base'),
}


def outside(goal, T):
    """Return how far (m, rad) a pose is outside the goal's tolerances."""
    over = np.maximum(0.0, np.abs(deviation(goal, T)) - np.array(goal.tolerance))
    return np.linalg.norm(over[:3]), np.linalg.norm(over[3:])


def near_pairs(name, count, seed):
    """Return reachable postures and seeds near to them, all inside the limits."""
    chain = robots.chain(name)
    postures = robots.random_postures(chain, count, seed)
    away = np.random.default_rng(seed).uniform(-NEAR, NEAR, postures.shape)
    seeds = postures + away
    beyond = (seeds < chain.lower) | (seeds > chain.upper)
    return zip(postures, np.where(beyond, postures - away, seeds))


def one_each(taken):
    """Return each method with each that is taken for it; in daily runs with one, in turn."""
    of = {method: taken(method) for method in ANY_ARM}
    usual = [(method, values[k % len(values)]) for k, (method, values) in enumerate(of.items())]
    others = [(method, value) for method, values in of.items() for value in values
              if (method, value) not in usual]
    return usual_first(len(usual), [*usual, *others])


@pytest.mark.parametrize('method, name', one_each(lambda method: [
    name for name in ('ur5', 'kinova', 'panda')
    if (TEXTBOOK_METHODS[method].most_spare > 0 or name != 'panda')
    and (method not in TRAINED or name == 'ur5')
    and (method, name) != ('key_postures', 'panda')]))  # test_key_postures.py
def test_most_goals_are_reached_from_near(method, name):
    """Attempts that report convergence are within tolerance and limits."""
    chain = robots.chain(name)
    count = samples(usual=2, nightly=4) if method in SLOW else samples(usual=6, nightly=12)
    met = 0
    for q, seed in near_pairs(name, count, 21):
        goal = Goal(tip_pose(name, q))
        attempt = descend(method, chain, goal, seed)
        assert (attempt.q >= chain.lower).all() and (attempt.q <= chain.upper).all()
        position, orientation = outside(goal, tip_pose(name, attempt.q))
        assert attempt.converged == (position <= 1e-6 and orientation <= 1e-6)
        assert attempt.converged == (attempt.ending is Ending.CONVERGED)
        assert attempt.trace[-1] == pytest.approx([position, orientation], abs=1e-9)
        assert len(attempt.trace) == attempt.iterations + 1
        met += attempt.converged
    assert met >= SHARES.get(method, 0.85) * count


@pytest.mark.parametrize('method, kind', one_each(lambda method: [
    kind for kind, (tolerance, _) in TOLERANCES.items()
    if TEXTBOOK_METHODS[method].most_spare >= 6 - np.isfinite(tolerance).sum()]))
def test_goals_of_every_kind(method, kind):
    tolerance, frame = TOLERANCES[kind]
    chain = robots.chain('ur5')
    count, met = 3 if method in SLOW else samples(usual=4, nightly=7), 0
    within = 1e-4 if method in SLOW else 1e-6
    options = ClassicOptions(position_tolerance=within, orientation_tolerance=within)
    for q, seed in near_pairs('ur5', count, 22):
        goal = Goal(tip_pose('ur5', q), tolerance, frame)
        attempt = descend(method, chain, goal, seed, options)
        position, orientation = outside(goal, tip_pose('ur5', attempt.q))
        assert not attempt.converged or (position <= within and orientation <= within)
        if attempt.converged and 'box' in kind:  # aimed at by the tolerance inside
            boxed = [i for i, t in enumerate(tolerance) if 0.0 < t < INF]
            assert (np.abs(deviation(goal, tip_pose('ur5', attempt.q)))[boxed]
                    <= np.array(tolerance)[boxed] + 1e-12).all()
        met += attempt.converged
    # Inside a box J^T J of the left pseudo-inverse has lost rows, so there it gives up.
    assert met >= (0.5 if method in ('transpose', 'ccd') else 0.7) * count \
        or (method, kind) == ('left_pseudo_inverse', 'box')


@pytest.mark.parametrize('method', ANY_ARM)
def test_a_chain_with_sliding_and_mimic_joints(method):
    """Four coordinates, six joints, six task rows."""
    chain = robots.skew_chain()
    reference = robots.Reference(robots.SKEW)
    if TEXTBOOK_METHODS[method].least_spare == 0:
        with pytest.raises(ParameterError, match='4 joints and 6 rows; .*left_pseudo_inverse'):
            descend(method, chain, Goal(np.eye(4)), np.zeros(4))
        return
    met, count = 0, 3
    for q, away in zip(robots.random_postures(chain, count, 2),
                       np.random.default_rng(1).uniform(-0.1, 0.1, (count, 4))):
        goal = Goal(reference.pose('base', 'tip', robots.skew_positions(q)))
        attempt = descend(method, chain, goal, q + away)
        T = reference.pose('base', 'tip', robots.skew_positions(attempt.q))
        position, orientation = outside(goal, T)
        assert attempt.converged == (position <= 1e-6 and orientation <= 1e-6)
        met += attempt.converged
    assert met >= (1 if method in SLOW else 2)


# ---- posture --------------------------------------------------------------------------

def test_null_space_control_moves_the_joints_to_the_middle():
    """The normalised distance to the middle falls, the residual does not rise."""
    chain = robots.chain('panda')
    width = chain.upper - chain.lower
    gained = 0
    for q, seed in near_pairs('panda', 15, 5):
        goal = Goal(tip_pose('panda', q))
        without = descend('null_space', chain, goal, seed, ClassicOptions(gains=(0.0,)))
        drawn = descend('null_space', chain, goal, seed)
        if not (without.converged and drawn.converged):
            continue
        gain = np.linalg.norm((without.q - chain.middle) / width) \
            - np.linalg.norm((drawn.q - chain.middle) / width)
        assert gain > -1e-3
        gained += gain > 0.01
    assert gained > 8


def test_null_space_control_continues_until_rest():
    """At the end no free joint would move further within the null space."""
    chain = robots.chain('panda')
    resting = 0
    for q, seed in near_pairs('panda', 10, 5):
        attempt = descend('null_space', chain, Goal(tip_pose('panda', q)), seed)
        if not attempt.converged:
            continue
        J = robots.reference('panda').jacobian(chain.base_link, chain.tip_link,
                                               robots.positions(chain, attempt.q))
        free = (attempt.q > chain.lower) & (attempt.q < chain.upper)
        wish = (chain.middle - attempt.q) / (chain.upper - chain.lower) ** 2
        along = wish[free] - np.linalg.pinv(J[:, free]) @ J[:, free] @ wish[free]
        resting += np.abs(along).max() < 1e-6
    assert resting >= 9


def test_a_higher_gain_is_a_stiffer_joint():
    chain = robots.chain('panda')
    preferred = tuple(chain.middle + 0.3)
    nearer = 0
    for q, seed in near_pairs('panda', 10, 6):
        goal = Goal.position(tip_pose('panda', q)[:3, 3])
        distances = []
        for gains in ((1.0,), (1.0, 1.0, 50.0, 1.0, 1.0, 1.0, 1.0)):
            options = ClassicOptions(gains=gains, preferred=preferred)
            attempt = descend('null_space', chain, goal, seed, options)
            distances.append(abs(attempt.q[2] - preferred[2]) if attempt.converged else np.nan)
        nearer += distances[1] < 0.5 * distances[0]
    assert nearer >= 7


def test_the_bias_stops_after_its_iterations():
    """With fewer bias steps the joints move less, and the goal is still reached."""
    chain = robots.chain('panda')
    q, seed = next(near_pairs('panda', 1, 5))
    goal = Goal.position(tip_pose('panda', q)[:3, 3])
    far, near = (descend('null_space', chain, goal, seed, ClassicOptions(max_bias_iterations=n))
                 for n in (2, 100))
    assert far.converged and near.converged
    assert far.iterations < near.iterations
    assert np.linalg.norm(far.q - chain.middle) > np.linalg.norm(near.q - chain.middle) + 0.1


def test_the_correction_of_the_square_extended_jacobian():
    chain = robots.chain('panda')
    ends = []
    for correction in (0.0, 1.0):
        q, seed = next(near_pairs('panda', 1, 5))
        attempt = descend('extended_square', chain, Goal(tip_pose('panda', q)), seed,
                          ClassicOptions(correction=correction))
        ends.append(attempt.q)
    assert np.abs(ends[0] - ends[1]).max() > 1e-3


def test_wishes_for_the_elements():
    """On a long way of the tip most postures end nearer to the preferred one, at the goal."""
    chain, shares = robots.chain('panda'), []
    away = np.random.default_rng(1).uniform(-0.8, 0.8, chain.n)
    for q in robots.random_postures(chain, 8, 5):
        goal = Goal.position(tip_pose('panda', q)[:3, 3])
        preferred = np.clip(q + 0.5, chain.lower, chain.upper)
        ends = [descend('extended_pairwise', chain, goal, q + away, ClassicOptions(
            correction=correction, preferred=tuple(preferred), error_step=0.02))
            for correction in (0.0, 1.0)]
        assert all(end.converged for end in ends)
        distances = [np.linalg.norm(end.q - preferred) for end in ends]
        shares.append(distances[1] / distances[0])
    assert np.mean(np.array(shares) < 1.0) > 0.7 and np.median(shares) < 0.9


SLACK_METHODS = [method for method, entry in TEXTBOOK_METHODS.items()
                 if Limits.SLACK in entry.limits]


@pytest.mark.parametrize('method', SLACK_METHODS)
def test_slack_variables(method):
    """Each limit is an equation; also with goals at limits the result is inside all of them."""
    chain, met, count = robots.chain('panda'), 0, 6
    for k, (q, seed) in enumerate(near_pairs('panda', count, 23)):
        q = q.copy()
        q[k] = (chain.lower, chain.upper)[k % 2][k]
        goal = Goal(tip_pose('panda', q))
        attempt = descend(method, chain, goal, seed, ClassicOptions(limits='slack'))
        assert (attempt.q >= chain.lower).all() and (attempt.q <= chain.upper).all()
        position, orientation = outside(goal, tip_pose('panda', attempt.q))
        assert attempt.converged == (position <= 1e-6 and orientation <= 1e-6)
        met += attempt.converged
    assert met >= 0.5 * count


def test_the_jacobian_with_slack_variables():
    """By central differences of the residual, with a joint that has no limits."""
    chain = robots.chain('kinova')
    assert not np.isfinite(chain.lower).all() and np.isfinite(chain.lower).any()
    problem = Problem(Task(chain, Goal(np.eye(4)), 0.3), Limits.SLACK, ClassicOptions())
    for q in robots.random_postures(chain, 3, 4):
        x = problem.unknowns(q) + 0.05
        point = problem.at(x)
        assert point.J.shape == (len(point.e), len(x)) and len(x) == chain.n \
            + 2 * np.isfinite(chain.lower).sum()
        for k in range(len(x)):
            step = 1e-6 * (np.arange(len(x)) == k)
            change = (problem.at(x + step).e - problem.at(x - step).e) / 2e-6
            assert change == pytest.approx(-point.J[:, k], abs=1e-5)
        assert np.abs(problem.at(problem.unknowns(q)).e[6:]).max() < 1e-12


def test_the_pair_weight():
    """Heavier pairs share the motion more evenly and take longer."""
    chain = robots.chain('six_axis_arm')
    q, seed = next(near_pairs('six_axis_arm', 1, 5))
    goal = Goal(tip_pose('six_axis_arm', q))
    light, heavy, paper = (descend('extended_pairwise', chain, goal, seed,
                                   ClassicOptions(pair_weight=w)) for w in (0.03, 0.3, 1.0))
    assert light.converged and heavy.converged and paper.converged
    assert 2 * light.iterations <= heavy.iterations and 4 * heavy.iterations < paper.iterations


# ---- the loop -----------------------------------------------------------------------------

@pytest.mark.parametrize('method', ANY_ARM)
def test_attempts_are_deterministic(method):
    chain = robots.chain('ur5')
    q, seed = next(near_pairs('ur5', 1, 7))
    options = ClassicOptions(max_iterations=15)
    first, second = [], []
    a = descend(method, chain, Goal(tip_pose('ur5', q)), seed, options, first)
    b = descend(method, chain, Goal(tip_pose('ur5', q)), seed, options, second)
    assert np.array_equal(first, second) and np.array_equal(a.q, b.q)
    assert len(first) == a.iterations + 1
    assert np.array_equal(first[-1], a.q)
    # scipy's way to keep limits begins off them, and takes the arcsine and back.
    assert first[0] == pytest.approx(seed, abs=1e-12)
    assert a.iterations <= 15


def test_the_iteration_limit():
    chain = robots.chain('ur5')
    q, seed = list(near_pairs('ur5', 2, 7))[1]
    attempt = descend('pseudo_inverse', chain, Goal(tip_pose('ur5', q)), seed,
                      ClassicOptions(max_iterations=1))
    assert attempt.iterations == 1 and attempt.ending is Ending.ITERATIONS
    assert not attempt.converged


@pytest.mark.parametrize('method', ['right_pseudo_inverse', 'left_pseudo_inverse',
                                    'pseudo_inverse_lu', 'extended_square'])
def test_a_singular_matrix_ends_the_attempt(method):
    """Two links, stretched along x: the row of x is 0."""
    chain = make_chain(parse_urdf(STRETCHED), 'a', 'c')
    attempt = descend(method, chain, Goal(np.eye(4), (0.0, 0.0, INF, INF, INF, INF), 'base'),
                      np.zeros(2))
    assert attempt.ending is Ending.SINGULAR and attempt.iterations == 0
    assert attempt.q.tolist() == [0.0, 0.0] and attempt.trace.shape == (1, 2)


STRETCHED = b"""<robot name="stretched"><link name="a"/><link name="b"/><link name="b2"/>
<link name="c"/>
<joint name="one" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
<joint name="two" type="continuous"><parent link="b"/><child link="b2"/><origin xyz="1 0 0"/>
<axis xyz="0 0 1"/></joint>
<joint name="tool" type="fixed"><parent link="b2"/><child link="c"/><origin xyz="1 0 0"/></joint>
</robot>"""


def test_numbers_that_are_not_finite_end_the_attempt(monkeypatch):
    def broken(problem, point, options):
        yield problem.at(point.x + 0.1)
        yield replace(point, x=np.full(6, np.nan))

    monkeypatch.setitem(TEXTBOOK_METHODS, 'broken', Method(broken, '', ''))
    record = []
    attempt = descend('broken', robots.chain('ur5'), Goal(np.eye(4)), np.zeros(6), record=record)
    assert attempt.ending is Ending.SINGULAR and not attempt.converged
    assert np.array_equal(attempt.q, np.full(6, 0.1)) and len(record) == 2


def test_unreachable_goals_stall():
    chain = robots.chain('ur5')
    goal = Goal.position((0.5, 0.4, 2.0))
    endings = set()
    for method in ANY_ARM:
        if TEXTBOOK_METHODS[method].most_spare == 0:
            continue
        attempt = descend(method, chain, goal, np.array([0.3, -1.0, 0.5, 0.2, 0.4, 0.1]),
                          ClassicOptions(max_iterations=400))
        assert not attempt.converged
        endings.add(attempt.ending)
    assert Ending.STALLED in endings and Ending.CONVERGED not in endings


def test_tolerances_are_checked_separately():
    chain = robots.chain('ur5')
    q, seed = next(near_pairs('ur5', 1, 7))
    goal = Goal(tip_pose('ur5', q))
    tight = descend('transpose', chain, goal, seed)
    loose_position = descend('transpose', chain, goal, seed,
                             ClassicOptions(position_tolerance=0.05, orientation_tolerance=1e-3))
    loose_angle = descend('transpose', chain, goal, seed,
                          ClassicOptions(position_tolerance=1e-3, orientation_tolerance=0.5))
    assert loose_position.iterations < tight.iterations
    assert loose_position.trace[-1, 1] <= 1e-3
    assert loose_angle.trace[-1, 0] <= 1e-3 < loose_angle.trace[-1, 1]


def test_the_weight_of_the_orientation():
    """In metres per radian: with a larger weight, less angle remains after a step."""
    chain = robots.chain('ur5')
    q, seed = next(near_pairs('ur5', 1, 7))
    left = [descend('transpose', chain, Goal(tip_pose('ur5', q)), seed,
                    ClassicOptions(max_iterations=5, metres_per_radian=w)).trace[-1, 1]
            for w in (0.1, 1.0)]
    assert left[1] < 0.5 * left[0]


def test_a_seed_beyond_the_limits_is_clipped():
    chain = robots.chain('panda')
    record = []
    descend('pseudo_inverse', chain, Goal(np.eye(4)), chain.upper + 1.0,
            ClassicOptions(max_iterations=1), record)
    assert np.array_equal(record[0], chain.upper)


@pytest.mark.parametrize('method', ANY_ARM)
def test_locked_joints_do_not_move(method):
    """The other joints reach the goal, with their own gains."""
    chain = robots.skew_chain()
    reference = robots.Reference(robots.SKEW)
    rng = np.random.default_rng(1)
    met = 0
    for locked in ((1,), (2,), (0, 2)):  # sliding; turning with two mimics; two
        free = np.setdiff1d(np.arange(4), locked)
        q = robots.random_postures(chain, 1, 2)[0]
        seed = q.copy()
        seed[free] += rng.uniform(-0.1, 0.1, len(free))
        T = reference.pose('base', 'tip', robots.skew_positions(q))
        goal = Goal(T, (0.0,) * len(free) + (INF,) * (6 - len(free)), 'base')
        record = []
        options = ClassicOptions(locked=tuple(chain.joint_names[k] for k in locked),
                                 gains=(1.0, 2.0, 3.0, 4.0))
        attempt = descend(method, chain, goal, seed, options, record)
        assert (np.array(record)[:, list(locked)] == seed[list(locked)]).all()
        assert len(record) == attempt.iterations + 1
        T = reference.pose('base', 'tip', robots.skew_positions(attempt.q))
        assert attempt.trace[-1] == pytest.approx(outside(goal, T), abs=1e-9)
        met += attempt.converged
    assert met >= (1 if method in ('ccd', 'alternative_jacobian') else 2)


def test_a_chain_with_locked_joints_has_the_same_kinematics():
    chain = robots.skew_chain()
    reference = robots.Reference(robots.SKEW)
    for q in robots.random_postures(chain, 3, 2):
        for k in range(4):
            free = np.arange(4) != k
            held = hold(chain, q, free)
            assert held.n == 3 and held.joint_names == tuple(np.array(chain.joint_names)[free])
            assert np.array_equal(held.lower, chain.lower[free])
            assert np.array_equal(held.continuous, chain.continuous[free])
            other = robots.random_postures(chain, 1, 5)[0]
            other[k] = q[k]
            row = Task(held, Goal(np.eye(4)), 1.0).frames(other[free])[-1]
            T = reference.pose('base', 'tip', robots.skew_positions(other))
            assert row[:9] == pytest.approx(T[:3, :3].ravel())
            assert row[9:] == pytest.approx(T[:3, 3])


# ---- what is refused ------------------------------------------------------------------------

@pytest.mark.parametrize('seed', [np.zeros(5), np.full(6, np.nan), np.full(6, INF)])
def test_seeds_that_are_refused(seed):
    with pytest.raises(ParameterError, match='6 finite numbers'):
        descend('ccd', robots.chain('ur5'), Goal(np.eye(4)), seed)


def test_unknown_methods():
    with pytest.raises(ParameterError, match="'newton'; there are pseudo_inverse, "):
        descend('newton', robots.chain('ur5'), Goal(np.eye(4)), np.zeros(6))


def test_joints_that_cannot_be_locked():
    chain = robots.chain('ur5')
    with pytest.raises(ParameterError, match="'elbow' is not in the chain.*'elbow_joint'"):
        descend('ccd', chain, Goal(np.eye(4)), np.zeros(6), ClassicOptions(locked=('elbow',)))
    with pytest.raises(ParameterError, match='all joints are locked'):
        descend('ccd', chain, Goal(np.eye(4)), np.zeros(6),
                ClassicOptions(locked=chain.joint_names))


def test_the_left_pseudo_inverse_of_a_redundant_arm():
    with pytest.raises(ParameterError, match='7 joints and 6 rows; .*right_pseudo_inverse'):
        descend('left_pseudo_inverse', robots.chain('panda'), Goal(np.eye(4)), np.zeros(7))


def test_limits_that_a_method_does_not_support():
    with pytest.raises(ParameterError, match='ccd cannot keep limits by penalty; .* clamp'):
        descend('ccd', robots.chain('ur5'), Goal(np.eye(4)), np.zeros(6),
                ClassicOptions(limits='penalty'))
    with pytest.raises(ParameterError, match='variables or penalty'):
        descend('conjugate_gradient', robots.chain('ur5'), Goal(np.eye(4)), np.zeros(6),
                ClassicOptions(limits='clamp'))


MAY_BE_0 = {'max_iterations', 'cutoff', 'damping', 'singular_damping', 'gains', 'preferred',
            'max_bias_iterations', 'correction'}


@pytest.mark.parametrize('name', [field.name for field in fields(ClassicOptions)])
def test_options_that_are_refused(name):
    if name == 'limits':
        with pytest.raises(ParameterError, match='clamp, penalty, slack, variables'):
            ClassicOptions(limits='hard')
        return
    sequence = name in ('gains', 'preferred')
    if name == 'locked':
        return  # needs the chain: test_joints_that_cannot_be_locked
    bad = [np.nan] + ([] if name in MAY_BE_0 else [0.0])
    bad += [] if name == 'preferred' else [-1.0]
    bad += [1.5] if name in ('step_fraction', 'correction') else []
    for value in bad:
        with pytest.raises(ParameterError, match=name):
            ClassicOptions(**{name: (value,) if sequence else value})


@pytest.mark.parametrize('name', ['gains', 'preferred'])
def test_one_number_per_joint(name):
    with pytest.raises(ParameterError, match=f'{name} .* 1 or 6 .* got 2'):
        descend('null_space', robots.chain('ur5'), Goal(np.eye(4)), np.zeros(6),
                ClassicOptions(**{name: (0.1, 0.2)}))
