# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Every branch in closed form: random arms of each class, singular poses, calibrated arms."""


from answers import assert_inside, assert_solves, errors_of, PATIENT, reachable, solver
from closed_form import apart
from hypothesis import given, settings, strategies as st
from nightly import samples
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.base.se3 import distance
from ik_node.kinematics.arm import forward_kinematics
from ik_node.kinematics.kernels import compiled, joint_frames
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.solver import branches
from ik_node.solver.arm_geometry import closed_form_of
from ik_node.solver.closed_form import closed_form as kernels, subproblems
from ik_node.solver.solver import Solver

SIX_AXES = [name for name, arm in robots.ARMS.items() if arm.n == 6]
SAME = 1e-3  # rad
OFFSET_POSES = samples(usual=30, nightly=200)
CONTINUA = samples(usual=60, nightly=500)
CLASSES = {'parallel': kernels.PARALLEL_SHOULDER, 'meeting': kernels.MEETING_SHOULDER,
           'three_parallel': kernels.THREE_PARALLEL}
# Offset wrists: the shoulder, and the axes of the wrist that meet.
OFFSETS = {'parallel, 4 and 5': 5.0, 'parallel, 5 and 6': 3.0, 'meeting, 4 and 5': 5.0,
           'meeting, 5 and 6': 3.0}
# Axes and origins of arms as they are built: wrists bent by 90 degrees and by 60.
X, Y, Z = np.eye(3)
BENT = np.array([0.5, 0.75**0.5, 0.0])
BUILT = {
    'hand offset': ((Z, Y, Y, X, Y, X), [(0, 0, .3), (.05, 0, .1), (0, 0, .3), (.05, 0, .08),
                                         (.3, 0, 0), (0, 0, .08)]),
    'elbow offset': ((Z, Y, Y, X, Y, X), [(0, 0, .3), (.05, 0, .1), (0, 0, .3), (.05, 0, .08),
                                          (.3, 0, .07), (0, 0, 0)]),
    'bent wrist': ((Z, Y, Y, X, BENT, X), [(0, 0, .3), (0, .05, .1), (0, 0, .4), (.05, 0, .02),
                                           (.3, 0, 0), .08 * BENT]),
}


@compiled
def first(k, a, b):
    return subproblems.subproblem_1(k, a, b, 0.0, 1.0)


@compiled
def fourth(h, p, k, d):
    return subproblems.subproblem_4(h, p, k, d, 0.0, 1.0)


@compiled
def angle_of(sine, cosine):
    return subproblems.unit_angle(sine, cosine)


def directions(rng, count):
    return [v / np.linalg.norm(v) for v in rng.normal(size=(count, 3))]


def rotation(axis, angle):
    return pin.AngleAxis(angle, axis).matrix()


# ---- subproblems ------------------------------------------------------------

@settings(deadline=None)
@given(st.integers(0, 10**6), st.floats(-3.1, 3.1))
def test_subproblem_1(seed, angle):
    """The angle of a known rotation, and any if the vector is along the axis."""
    rng = np.random.default_rng(seed)
    k, = directions(rng, 1)
    a = rng.normal(size=3)
    s, c = first(tuple(k), tuple(a), tuple(rotation(k, angle) @ a))
    assert abs(np.arctan2(s, c) - angle) < 1e-9
    assert first(tuple(k), tuple(2.0 * k), tuple(2.0 * k)) == (0.0, 1.0)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.floats(-3.1, 3.1))
def test_subproblem_4(seed, angle):
    """Both angles solve the equation, and one of them is the known rotation; or there is none."""
    rng = np.random.default_rng(seed)
    h, k = directions(rng, 2)
    p = rng.normal(size=3)
    d = h @ rotation(k, angle) @ p
    count, *angles = fourth(tuple(h), tuple(p), tuple(k), d)
    found = [np.arctan2(*angles[:2]), np.arctan2(*angles[2:])]
    assert count in (1, 2)
    assert all(abs(h @ rotation(k, t) @ p - d) < 1e-7 for t in found)
    assert min(abs(t - angle) for t in found) < (1e-9 if count == 2 else 1e-6)
    assert fourth(tuple(h), tuple(p), tuple(k), 1.1 * np.linalg.norm(p))[0] == 0


def test_the_angle_of_a_unit_vector():
    """That of atan2, in every octant and on the axes, to the last digits."""
    for angle in np.concatenate([np.linspace(-np.pi, np.pi, 97), np.geomspace(1e-300, 1.0, 60),
                                 np.random.default_rng(0).uniform(-np.pi, np.pi, 1000)]):
        s, c = np.sin(angle), np.cos(angle)
        expected = np.arctan2(s, c)
        assert abs(angle_of(s, c) - expected) <= 4.0 * np.spacing(abs(expected))


# ---- which arms -------------------------------------------------------------

def random_arm(kind, seed, error=0.0):
    """Return the URDF of a random arm of a class; `error` is added to each origin (m, rad)."""
    rng = np.random.default_rng(seed)
    shoulder, _, wrist = kind.partition(', ')
    span = rng.uniform(0.1, 0.5, (8, 3)) * rng.choice((-1.0, 1.0), (8, 3))
    one, two, four, five, six = directions(rng, 5)
    zero = np.zeros(3)
    axes = {'parallel': (one, two, two, four, five, six),
            'meeting': (one, two, *directions(rng, 1), four, five, six),
            'three_parallel': (one, two, two, two, five, six)}[shoulder]
    origins = [span[0], span[1], span[2], span[3], zero, zero]
    if shoulder == 'meeting':
        origins[1] = zero
    if kind == 'three_parallel' or wrist == '5 and 6':
        origins[4] = span[4]
    if wrist == '4 and 5':
        origins[5] = span[5]
    return text_of(axes, origins, span[7], rng, error)


def text_of(axes, origins, tip, rng=None, error=0.0):
    """Return the URDF of an arm; random numbers up to `error` are added to its origins."""
    joints = ''
    for k, (origin, axis) in enumerate(zip(origins, axes)):
        off = error * rng.uniform(-1.0, 1.0, 6) if error else np.zeros(6)
        xyz, rpy = (' '.join(map(repr, map(float, v))) for v in (off[:3] + origin, off[3:]))
        joints += (
            f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
            f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{" ".join(map(repr, map(float, axis)))}"'
            f'/><limit lower="-6.2" upper="6.2" effort="1" velocity="1"/></joint>')
    tip = ' '.join(map(repr, map(float, tip)))
    links = ''.join(f'<link name="l{k}"/>' for k in range(8))
    return (f'<robot name="random">{links}{joints}<joint name="t" type="fixed">'
            f'<parent link="l6"/><child link="l7"/><origin xyz="{tip}" rpy="0.3 -1 2"/></joint>'
            '</robot>')


def chain_of(text):
    return make_chain(parse_urdf(text), 'l0', 'l7')


@pytest.mark.parametrize('kind', CLASSES)
@pytest.mark.parametrize('seed', range(5))
def test_the_class_of_an_arm(kind, seed):
    """By its axes, wherever they point."""
    geometry, exact = closed_form_of(chain_of(random_arm(kind, seed)))
    assert geometry[kernels.ARM_CLASS] == CLASSES[kind] and exact
    assert not closed_form_of(chain_of(random_arm(kind, seed, 1e-4))).exact
    assert closed_form_of(chain_of(random_arm(kind, seed, 0.05))) is None


@pytest.mark.parametrize('kind', OFFSETS)
@pytest.mark.parametrize('seed', range(3))
def test_the_class_of_an_offset_wrist(kind, seed):
    """The joint beyond the two axes that meet is searched."""
    closed = closed_form_of(chain_of(random_arm(kind, seed)))
    assert closed.geometry[kernels.ARM_CLASS] == CLASSES[kind.partition(',')[0]]
    assert closed.searched and closed.geometry[kernels.SEARCHED_JOINT] == OFFSETS[kind]
    assert closed.exact
    assert not closed_form_of(chain_of(random_arm(kind, seed, 1e-4))).exact
    assert closed_form_of(chain_of(random_arm(kind, seed, 0.05))) is None


def test_arms_without_a_closed_form():
    """Seven axes, sliding joints and mimic joints have none."""
    assert closed_form_of(robots.chain('panda')) is None
    text = random_arm('parallel', 0)
    assert closed_form_of(chain_of(text.replace('revolute', 'prismatic', 1))) is None
    mimic = text.replace('<limit', '<mimic joint="j0"/><limit').replace(
        '<mimic joint="j0"/><limit', '<limit', 5)
    assert closed_form_of(chain_of(mimic)) is None


X, Y, Z = np.eye(3)


@pytest.mark.parametrize('axes, origins', [
    ([Z, Z, Z, X, Y, X], [(0.0, 0.0, 0.2), (0.3, 0.0, 0.0), (0.3, 0.0, 0.0), (0.2, 0.0, 0.0),
                          (0.1, 0.0, 0.0), (0.0, 0.0, 0.15)]),
    ([Z, Z, Z, X, Y, X], [(0.0, 0.0, 0.2), (0.3, 0.0, 0.0), (0.3, 0.0, 0.0), (0.2, 0.0, 0.0),
                          (0.1, 0.1, 0.15), (0.0, 0.0, 0.0)]),
    ([Z, Y, Y, X, Z, Y], [(0.0, 0.0, 0.3), (0.1, 0.0, 0.1), (0.35, 0.0, 0.0), (0.0, 0.12, 0.0),
                          (0.0, 0.0, 0.0), (0.1, 0.0, 0.15)]),
], ids=['parallel 1 2 3, 4 and 5 meet', 'parallel 1 2 3, 5 and 6 meet', '3 4 5 meet'])
def test_an_offset_wrist_that_joint_3_brings_no_nearer(axes, origins):
    """The search along a joint would find nothing there: from near seeds all are found, too."""
    chain = chain_of(text_of(axes, origins, (0.1, 0.02, 0.05)))
    assert closed_form_of(chain) is None
    random, nearest = np.random.default_rng(0), Solver(chain, select='nearest')
    near = far = 0
    for _ in range(20):
        q = random.uniform(-3.0, 3.0, 6)
        T = forward_kinematics(chain, q)
        near += len(nearest.solve_all(T, q + random.normal(0.0, 0.02, 6)))
        far += len(nearest.solve_all(T, random.uniform(-3.0, 3.0, 6)))
    assert 60 < near < 1.1 * far < 1.3 * near


@pytest.mark.parametrize('last', [(0, 0, 0), (0.05, 0, 0)], ids=['spherical', 'offset wrist'])
def test_an_arm_with_a_spherical_shoulder(last):
    """Joint 3 does not move the centre of the wrist away from it: no closed form, but solved."""
    chain = chain_of(text_of((Z, Y, Z, Y, Z, Y), [(0, 0, .2), (0, 0, .1), (0, 0, .2), (.05, 0, .1),
                                                  (.02, 0, .3), last], (0, .02, .1)))
    assert closed_form_of(chain) is None
    solver = Solver(chain)
    for q in robots.random_postures(chain, 20, 5):
        T = forward_kinematics(chain, q)
        result = solver.solve(T, q + 0.1)
        assert result.success and max(distance(forward_kinematics(chain, result.q), T)) < 1.1e-6


# ---- every branch -----------------------------------------------------------

@pytest.mark.parametrize('kind', CLASSES)
@pytest.mark.parametrize('seed', range(4))
def test_every_branch_of_a_random_arm(kind, seed):
    """Those that the search from many postures finds, and each reaches the goal."""
    text = random_arm(kind, seed)
    chain, reference = chain_of(text), robots.Reference(text)
    every = Solver(chain)
    rng = np.random.default_rng(seed)
    known = 0
    for q, at in rng.uniform(-3.1, 3.1, (10, 2, 6)):
        T = reference.pose('l0', 'l7', robots.positions(chain, q))
        found = every.solve_all(T, at)
        for posture in found:
            T_found = reference.pose('l0', 'l7', robots.positions(chain, posture.q))
            assert np.abs(T_found - T).max() < 3e-6
        query = every._query(*every._pack(T, at))
        searched = branches.searched_solutions(query, None)
        for other in [*searched, q]:
            assert min(apart(other, posture.q) for posture in found) < SAME
        known += len(found)
        ways = [np.linalg.norm(posture.q - at) for posture in found]
        assert np.diff(ways).min(initial=0.0) >= -1e-6
    assert known >= 20


@pytest.mark.parametrize('opposite', [(2,), (3,), (2, 3)])
@pytest.mark.parametrize('kind', ['three_parallel', 'parallel', 'parallel, 5 and 6'])
def test_parallel_axes_that_point_opposite_ways(kind, opposite):
    """The posture that a pose was made from is found, among as many as without."""
    def arm(ways):
        rng = np.random.default_rng(1)
        span = rng.uniform(0.1, 0.5, (8, 3))
        one, two, four, five, six = directions(rng, 5)
        axes = np.array([one, two, two, two if kind == 'three_parallel' else four, five, six])
        axes[list(ways)] *= -1.0
        if kind == 'parallel':
            span[4] = 0.0
        span[5] = 0.0
        return Solver(chain_of(text_of(axes, span[:6], span[7])))
    turned, usual = arm(opposite), arm(())
    for q, at in np.random.default_rng(2).uniform(-3.1, 3.1, (20, 2, 6)):
        found = turned.solve_all(forward_kinematics(turned.chain, q), at)
        assert min(apart(q, posture.q) for posture in found) < SAME
        q[list(opposite)] *= -1.0
        assert len(found) == len(usual.solve_all(forward_kinematics(usual.chain, q), at))


@pytest.mark.parametrize('text, share', [
    *((text_of(*BUILT[name], (.1, 0, .02)), 0.998) for name in BUILT),
    *((random_arm(kind, 1), 0.97) for kind in OFFSETS)], ids=[*BUILT, *OFFSETS])
def test_the_branches_of_an_offset_wrist(text, share):
    """
    Almost all that the search from many postures finds; each reaches the goal.

    From a seed near the posture that the pose was made from, that one is found, or one beside it
    if two are about to become one.
    """
    chain, reference = chain_of(text), robots.Reference(text)
    every, nearest = Solver(chain), Solver(chain, select='nearest')
    rng = np.random.default_rng(7)
    known = missed = 0
    for q, at in rng.uniform(-3.1, 3.1, (OFFSET_POSES, 2, 6)):
        T = reference.pose('l0', 'l7', robots.positions(chain, q))
        found = every.solve_all(T, at)
        assert np.abs(nearest.solve(T, at).q - found[0].q).max() < SAME
        for k, posture in enumerate(found):
            T_found = reference.pose('l0', 'l7', robots.positions(chain, posture.q))
            assert np.abs(T_found - T).max() < 3e-6
            assert all(apart(posture.q, other.q) > 1e-5 for other in found[:k])
        others = [q, *branches.searched_solutions(every._query(*every._pack(T, at)), None)]
        missed += sum(min(apart(other, posture.q) for posture in found) > SAME for other in others)
        known += len(others)
        beside = q + rng.uniform(-0.1, 0.1, 6)
        way = np.linalg.norm(nearest.solve(T, beside).q - beside)
        assert way <= np.linalg.norm(q - beside) + 1e-2
    print(f'{missed} of {known} solutions are missed')
    assert known > 2.5 * OFFSET_POSES and missed <= (1.0 - share) * known


@pytest.mark.parametrize('name', BUILT)
def test_an_offset_wrist_at_a_quarter_turn(name):
    """The searched joint is sampled there, where the equation may be fulfilled exactly."""
    text = text_of(*BUILT[name], (.1, 0, .02))
    chain, reference = chain_of(text), robots.Reference(text)
    every = Solver(chain)
    rng = np.random.default_rng(8)
    quarters = np.pi / 2.0 * np.array([-1.0, 0.0, 1.0])
    for q, at in rng.uniform(-3.0, 3.0, (60, 2, 6)):
        q[[3, 5]] = rng.choice(quarters, 2)
        T = reference.pose('l0', 'l7', robots.positions(chain, q))
        assert min(apart(q, posture.q) for posture in every.solve_all(T, at)) < SAME


@pytest.mark.parametrize('name', robots.cases(SIX_AXES))
def test_the_nearest_of_all(name):
    """`select='nearest'` is the first of all solutions, no farther than what is found first."""
    chain = robots.chain(name)
    nearest, first_found = solver(name, select='nearest'), solver(name)
    for T, seed in zip(reachable(name, 50)[1], robots.random_postures(chain, 50, 62)):
        result = nearest.solve(T, seed)
        assert_solves(name, T, result)
        assert np.array_equal(result.q, nearest.solve_all(T, seed)[0].q)
        way = np.linalg.norm(first_found.solve(T, seed).q - seed)
        assert np.linalg.norm(result.q - seed) <= way + 1e-4


def test_the_nearest_within_a_jump():
    """A bound on the jump takes branches away; what is left is as before, or there is none."""
    chain = robots.chain('ur5')
    seeds = robots.random_postures(chain, 100, 63)
    free, bound = solver('ur5', select='nearest'), solver('ur5', select='nearest', max_jump=2.0)
    statuses = set()
    for T, seed in zip(reachable('ur5', 100)[1], seeds):
        near = [p for p in free.solve_all(T, seed) if np.abs(p.q - seed).max() < 2.0]
        result = bound.solve(T, seed)
        statuses.add(result.status.name)
        assert result.success == bool(near)
        if near:
            assert np.array_equal(result.q, near[0].q)
    assert statuses == {'SOLVED', 'OTHER_BRANCH'}


def test_a_seed_beyond_the_limits_by_more_than_the_jump():
    """What is inside the limits is too far away from it, and is called so."""
    chain = robots.chain('ur5')
    q = np.array([chain.upper[0], -1.0, 1.2, 0.3, 0.8, 0.1])
    seed = q + [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    bound = solver('ur5', select='nearest', max_jump=0.5)
    result = bound.solve(forward_kinematics(chain, q), seed)
    assert result.status.name == 'OTHER_BRANCH' and np.abs(result.q - q).max() < 1e-5


# ---- singular poses ---------------------------------------------------------

@pytest.mark.parametrize('name', robots.cases(SIX_AXES))
@pytest.mark.parametrize('wrist', [0.0, 1e-9, 1e-7, 1e-5, 1e-3])
def test_a_straight_wrist(name, wrist):
    """The nearest solution is no farther than the posture that the pose was made from."""
    chain = robots.chain(name)
    postures = robots.random_postures(chain, 30, 64)
    postures[:, 4] = np.clip(wrist, chain.lower[4], chain.upper[4])
    for q, offset in zip(postures, np.random.default_rng(65).uniform(-0.2, 0.2, (30, 6))):
        T = forward_kinematics(chain, q)
        seed = np.clip(q + offset, chain.lower, chain.upper)
        result = solver(name, select='nearest').solve(T, seed)
        assert result.success
        assert_inside(name, result.q)
        assert max(errors_of(name, T, result.q)) <= 1.1e-6
        assert np.linalg.norm(result.q - seed) <= np.linalg.norm(q - seed) + 1e-3
        assert len(solver(name).solve_all(T, seed)) <= kernels.MAX_BRANCHES


def postures_with_a_straight_wrist(chain, q, turns):
    """
    Return postures (k, 6) at the pose of `q`, whose axes 2, 3, 4 and 6 are parallel.

    Link 4 is turned about axis 2 by each of the angles; the circles about axes 2 and 4 meet in
    the elbow.  Joints 1 and 5 stay.
    """
    frames = np.empty((7, 12))
    joint_frames(chain.table, q, frames)
    axes, points = frames[:6, [2, 5, 8]], frames[:6, 9:]
    h = axes[1]
    ways = np.sign(axes @ h)
    u = np.cross(h, points[2] - points[1])
    u /= np.linalg.norm(u)
    # Complex numbers are points in the plane across the axes.
    shoulder, elbow, knuckle, _, wrist = points[1:] @ u + 1j * (points[1:] @ np.cross(h, u))
    moved = wrist + (knuckle - wrist) * np.exp(1j * turns)
    upper, lower = abs(elbow - shoulder), abs(knuckle - elbow)
    reach = abs(moved - shoulder)
    with np.errstate(invalid='ignore'):
        inner = np.arccos((upper**2 + reach**2 - lower**2) / (2.0 * upper * reach))
    found = []
    for bend in (inner, -inner):
        bent = shoulder + upper * np.exp(1j * bend) * (moved - shoulder) / reach
        second = np.angle((bent - shoulder) / (elbow - shoulder))
        third = np.angle((moved - bent) / (knuckle - elbow))
        change = np.column_stack([0 * turns, second, ways[2] * (third - second),
                                  ways[3] * (turns - third), 0 * turns, -ways[5] * turns])
        found.append((q + change)[np.isfinite(second)])
    return np.concatenate(found)


STRAIGHT = {'ur5': 0.0, 'ur5_limited': 0.0, 'parallel_axes_arm': -np.pi / 2.0}
# Axes of an arm as built, whose wrist is straight at 0; some of the parallel ones turned round.
TURNED = {'third axis': (Z, Y, -Y, Y, Z, Y), 'fourth axis': (Z, Y, Y, -Y, Z, Y),
          'third and sixth axis': (Z, Y, -Y, Y, Z, -Y)}
TURNED_ORIGINS = [(0, 0, .1), (0, .1, 0), (0, -.1, .4), (0, 0, .4), (0, .1, 0), (0, 0, .1)]


@pytest.mark.parametrize('name', [*STRAIGHT, *TURNED])
def test_the_nearest_of_a_continuum(name):
    """
    With axis 6 parallel to axes 2, 3 and 4: no farther than any of thousands of postures.

    But for 2 %, where another minimum was found.
    """
    chain = robots.chain(name) if name in STRAIGHT else \
        chain_of(text_of(TURNED[name], TURNED_ORIGINS, (0.0, 0.1, 0.0)))
    nearest = Solver(chain, select='nearest')
    assert nearest.tables.closed_form.exact
    postures, seeds = (robots.random_postures(chain, CONTINUA, seed) for seed in (67, 68))
    postures[:, 4] = STRAIGHT.get(name, 0.0)
    turns = np.linspace(-np.pi, np.pi, 3601)
    wraps = 2.0 * np.pi * np.arange(-2.0, 3.0)[:, None, None]
    farther = 0
    for q, seed in zip(postures, seeds):
        T = forward_kinematics(chain, q)
        there = postures_with_a_straight_wrist(chain, q, turns)
        for other in there[::600]:
            assert max(distance(forward_kinematics(chain, other), T)) < 1e-6
        ways = np.abs(there + wraps - seed)
        ways[(there + wraps < chain.lower) | (there + wraps > chain.upper)] = np.inf
        way = np.linalg.norm(ways.min(axis=0), axis=1).min()
        result = nearest.solve(T, seed)
        assert result.success and max(distance(forward_kinematics(chain, result.q), T)) < 1.1e-6
        assert (result.q >= chain.lower).all() and (result.q <= chain.upper).all()
        farther += np.linalg.norm(result.q - seed) > way + 1e-4
    print(f'{farther} of {len(seeds)} are farther')
    assert farther <= 0.02 * CONTINUA


# ---- calibrated arms --------------------------------------------------------

@pytest.mark.parametrize('kind', [*CLASSES, *OFFSETS])
@pytest.mark.parametrize('error', [1e-6, 1e-4, 1e-3])
def test_a_calibrated_arm(kind, error):
    """Axes that miss each other a little: branches are polished, and the search adds to them."""
    text = random_arm(kind, 3, error)
    chain, reference = chain_of(text), robots.Reference(text)
    closed = closed_form_of(chain)
    assert closed is not None and not closed.exact
    rng = np.random.default_rng(66)
    nearest, every = Solver(chain, select='nearest'), Solver(chain, **PATIENT)
    for q, offset in zip(rng.uniform(-3.1, 3.1, (30, 6)), rng.uniform(-0.1, 0.1, (30, 6))):
        T = reference.pose('l0', 'l7', robots.positions(chain, q))
        found = every.solve_all(T, q)
        assert min(apart(q, posture.q) for posture in found) < SAME
        for k, posture in enumerate(found):
            T_found = reference.pose('l0', 'l7', robots.positions(chain, posture.q))
            assert np.abs(T_found - T).max() < 3e-6
            assert all(apart(posture.q, other.q) > 1e-4 for other in found[:k])
        result = nearest.solve(T, q + offset)
        assert result.success
        assert np.linalg.norm(result.q - q - offset) <= np.linalg.norm(offset) + SAME


@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_a_straight_wrist_whose_nearest_sum_is_beyond_the_limits(side):
    """Joints 4 and 6 together take the sum a turn away, if only that is inside the limits."""
    chain = robots.chain('six_axis_arm')
    narrow = np.array([9.0, 9.0, 9.0, 2.0, 9.0, 2.0])
    chain = chain.with_limits(-narrow, narrow)
    arm = Solver(chain, select='nearest')
    q = np.array([0.3, -1.0, 1.2, -side, 0.0, -side])
    T = robots.tip_pose('six_axis_arm', q)
    seed = q + np.array([0.0, 0.0, 0.0, 3.0 * side, 0.0, 3.0 * side])
    found = arm.tables.branches(T, seed)[:, -6:]
    assert any(np.abs((other - q)[[0, 1, 2, 4]]).max() < SAME
               and abs((other - q)[[3, 5]].sum()) < SAME for other in found)
