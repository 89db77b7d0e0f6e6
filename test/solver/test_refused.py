# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments that are not finite numbers are refused and never reach compiled code."""

from answers import PATIENT, reachable, solver
from hypothesis import example, given, settings, strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest
import robots

from ik_node.base.errors import GoalError, IkNodeError, ParameterError, Reason
from ik_node.solver import tables
from ik_node.solver.descent.entry import ROW_COUNT
from ik_node.solver.descent.layout import JOINT_VALUES, UNSOUND
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver
from ik_node.solver.warm_up import warm_up

pytestmark = pytest.mark.filterwarnings('error')
SEED = np.array([0.1, -1.0, 1.5, 0.3, 0.8, 0.0])
NUMBERS = st.one_of(
    st.floats(-7.0, 7.0), st.floats(), st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -1e308,
                                                        1e155, 1e30, 1e7, 1e-308, 5e-324, 0.0]))


@pytest.fixture(autouse=True)
def entered(monkeypatch):
    """Record the arguments of the compiled function: they must be plain, finite arrays."""
    fill_row, solve_row = warm_up()
    calls = []

    def record(table, joints, settings_, postures, T, seed, packed, counts):
        n, count = joints.shape[1], counts[ROW_COUNT]
        assert (T.shape, seed.shape) in (((4, 4), (n,)), ((0, 0), (0,)))
        for array in (T, seed, packed):
            assert type(array) is np.ndarray and array.dtype == np.float64
            assert array.flags.c_contiguous and array.flags.aligned
        flag = solve_row(table, joints, settings_, postures, T, seed, packed, counts)
        if flag != UNSOUND:
            calls.append(count)
            given = packed.reshape(count, -1)[:, :-(JOINT_VALUES + n)]
            assert given.shape[1] >= 16 + n and np.isfinite(given).all()
        assert not np.isnan(joints).any() and not np.isnan(settings_).any()
        return flag
    monkeypatch.setattr(tables, 'warm_up', lambda: (fill_row, record))
    monkeypatch.setattr(tables, 'solve_rows', record)
    monkeypatch.setattr(solver('ur5').tables, 'solve_row', record)
    return calls


def pose(value=None, where=(0, 3)):
    """Return a reachable pose of the UR5, one number replaced."""
    T = reachable('ur5', 1)[1][0].copy()
    if value is not None:
        T[where] = value
    return T


def broken(shape):
    """Return values that are not arrays of finite numbers of a shape."""
    size = int(np.prod(shape))
    holed = np.full(shape, None, dtype=object)
    return [None, 'abc', b'abc', '1', [], {}, object, 3.0, np.zeros(0), np.zeros(size + 1),
            np.zeros((2, 2, *shape)), holed, ['a'] * size, [[1.0, 2.0], [3.0]],
            np.zeros(shape, dtype=complex) + 1j,
            np.full(shape, 'x')]


def refused(error, ask, *given):
    """Return the error by which a call is refused, in a short sentence."""
    try:
        ask(*given)
    except error as caught:
        assert len(str(caught)) < 300
        return caught
    raise AssertionError(f'{ask} has taken {given!r}')


def test_goals_that_are_not_matrices(entered):
    """A GoalError from every method, and the compiled function is not called."""
    one = Solver(robots.chain('ur5'), **PATIENT)
    for T in broken((4, 4)):
        for ask in (one.solve, one.solve_all, Goal, lambda T: one.solve(T, select='nearest'),
                    lambda T: one.solve(T, locked=('elbow_joint',))):
            refused(GoalError, ask, T)
    assert not entered


def test_goals_with_a_number_that_is_not_finite(entered):
    """At any place of the matrix."""
    for place in np.ndindex(4, 4):
        for value in (np.nan, np.inf, -np.inf):
            T = pose(value, place)
            for ask in (solver('ur5').solve, solver('ur5').solve_all):
                assert refused(GoalError, ask, T).reason is Reason.GOAL_NOT_FINITE, (place, value)
            batch = np.array([pose(), pose(), T])
            assert 'goal 2' in str(refused(GoalError, solver('ur5').solve_batch, batch))
    assert not entered


def test_seeds_that_are_refused(entered):
    """A seed has as many finite numbers as the arm has joints."""
    for seed in [*broken((6,))[1:], np.zeros(5), np.zeros(7), np.zeros((2, 7)), np.zeros((0, 6)),
                 np.full(6, np.nan), [0, 0, 0, 0, 0, np.inf],
                 [[0.0] * 6, [0, 0, 0, 0, 0, -np.inf]],
                 np.array([[0.0] * 6, [np.nan] * 6])]:
        for ask, T in ((solver('ur5').solve, pose()), (solver('ur5').solve_all, pose()),
                       (solver('ur5').solve_batch, pose()[None])):
            assert '6 finite numbers' in str(refused(ParameterError, ask, T, seed))
    assert not entered


def test_batches_that_are_refused(entered):
    """An array of matrices, or of positions and unit quaternions."""
    for goals in [*broken((4, 4)), np.eye(4), np.zeros((2, 3, 3)), np.zeros((2, 6)),
                  np.full((2, 7), np.nan), np.zeros((1, 7)), [[0, 0, 0, 0, 0, 0, 1.01]],
                  [[0.0] * 7, [None] * 7]]:
        refused(GoalError, solver('ur5').solve_batch, goals)
    assert not entered


@pytest.mark.parametrize('turn', [
    lambda a: a.tolist(), lambda a: np.asfortranarray(a), lambda a: a.astype('>f8'),
    lambda a: np.repeat(a, 2, axis=0)[::2], lambda a: a.astype(object),
    lambda a: a.astype(np.longdouble), lambda a: np.ma.masked_invalid(a)],
    ids=['list', 'fortran', 'big endian', 'strided', 'object', 'long', 'masked'])
def test_every_memory_layout_has_the_same_answer(turn):
    """Bit for bit."""
    expected = solver('ur5').solve(pose(), SEED)
    for T, seed in ((turn(pose()), SEED), (pose(), turn(SEED)), (turn(pose()), turn(SEED))):
        assert np.array_equal(solver('ur5').solve(T, seed).q, expected.q)
        assert len(solver('ur5').solve_all(T, seed)) == 8
        assert np.array_equal(solver('ur5').solve(Goal(T), seed).q, expected.q)
    frozen, still = pose(), SEED.copy()
    frozen.setflags(write=False)
    still.setflags(write=False)
    assert np.array_equal(solver('ur5').solve(frozen, still).q, expected.q)


def test_integers_and_single_precision_are_accepted():
    """Integers are accepted; a rotation of single precision is orthonormal to 1e-6."""
    T = pose().astype(np.float32)
    single, double = (solver('ur5').solve(t, SEED) for t in (T, T.astype(float)))
    assert single.success and np.array_equal(single.q, double.q)
    whole = [solver('ur5').solve(pose(), seed).q for seed in (np.zeros(6, int), np.zeros(6))]
    assert np.array_equal(*whole)
    with pytest.raises(GoalError, match='orthonormal'):
        solver('ur5').solve(pose().astype(np.float16))


@pytest.mark.parametrize('name, far', [
    ('ur5', 1e3), ('kinova', 1e9), ('panda', 1e30), ('ur5', 1e155), ('kinova', 1e200),
    ('panda', 1e308), ('kinova', 1e3), ('panda', 1e3)])
def test_goals_at_any_distance(name, far):
    """Out of reach, or refused; the posture is inside the limits and its distance true."""
    chain = robots.chain(name)
    T = reachable(name, 1)[1][0].copy()
    T[:3, 3] = far, -far, far
    try:
        result = solver(name).solve(T)
    except GoalError:
        assert far > 1e6
        return
    assert result.status is Reason.OUT_OF_REACH and not result.success
    assert np.isfinite(result.q).all()
    assert (result.q >= chain.lower).all() and (result.q <= chain.upper).all()
    assert result.position_error == pytest.approx(np.sqrt(3.0) * far, rel=0.01)
    assert result.message.startswith('out of reach')


@pytest.mark.parametrize('name, far', [
    ('ur5', 1e3), ('kinova', -1e3), ('panda', 1e3), ('panda', -1e6), ('ur5', 1e9),
    ('kinova', 1e30), ('ur5', -1e308)])
def test_seeds_at_any_distance(name, far):
    """Solved or refused, quickly."""
    for T in reachable(name, 3)[1]:
        try:
            result = solver(name).solve(T, np.full(robots.chain(name).n, far))
        except ParameterError as error:
            assert abs(far) > 1e5 and 'seed' in str(error)
            continue
        assert result.success and result.time < 0.1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(T=arrays(float, (4, 4), elements=NUMBERS), seed=arrays(float, 6, elements=NUMBERS),
       rigid=st.booleans())
@example(T=np.eye(4), seed=np.zeros(6), rigid=False)
def test_any_numbers(T, seed, rigid):
    """A result inside the limits or one of our errors, never anything else."""
    if rigid:
        T[:3, :3], T[3] = pose()[:3, :3], (0.0, 0.0, 0.0, 1.0)
    finite = np.isfinite(T).all() and np.isfinite(seed).all()
    try:
        result = solver('ur5').solve(T, seed)
    except IkNodeError as error:
        assert isinstance(error, GoalError if not np.isfinite(T).all() else IkNodeError)
        assert not finite or not rigid or np.abs(T).max() > 1e6 or np.abs(seed).max() > 1e5
        return
    assert finite
    assert (np.abs(result.q) <= robots.chain('ur5').upper).all()
    assert result.success == (max(result.position_error, result.orientation_error) <= 1e-6)
    assert result.message
