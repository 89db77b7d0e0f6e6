# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Batches of goals have the answers of single calls, on every executor."""

from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

from answers import assert_inside, errors_of, FREE, PATIENT, reachable, solver
import numpy as np
import pinocchio as pin
import pytest
import robots

import ik_node
from ik_node.base.errors import GoalError, ParameterError, Reason
from ik_node.solver.batch import BatchResult
from ik_node.solver.solver import Solver

COUNT = 120


def some_goals(name):
    """Return poses, a tenth of them out of reach, and a seed each."""
    poses = reachable(name, COUNT)[1].copy()
    poses[::10, 0, 3] += 3.0
    return poses, robots.random_postures(robots.chain(name), COUNT, 12)


def assert_same(batch, results):
    """Check a batch against single calls, bit for bit."""
    assert len(batch) == len(results)
    assert batch.q.tobytes() == np.array([result.q for result in results]).tobytes()
    assert batch.status.tolist() == [result.status for result in results]
    assert batch.success.tolist() == [result.success for result in results]
    for name in ('position_error', 'orientation_error', 'iterations', 'restarts'):
        assert getattr(batch, name).tolist() == [getattr(result, name) for result in results]


def singly(one, poses, seeds):
    """Return the answers of single calls."""
    return [one.solve(T, seed) for T, seed in zip(poses, seeds)]


class AtOnce(Executor):
    """Executor that runs each task when it is submitted."""

    def __init__(self):
        self.count, self.closed = 0, False

    def submit(self, fn, *args, **kwargs):
        """Run it."""
        self.count += 1
        future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait=True, **kwargs):
        """Remember that it was asked."""
        self.closed = True


# ---- what comes out ---------------------------------------------------------

@pytest.mark.parametrize('name', ['ur5', 'kinova', 'panda'])
@pytest.mark.parametrize('how', [{}, {'workers': 1}, {'workers': 3, 'chunk': 7}, {'chunk': 1},
                                 {'chunk': 10 ** 6, 'workers': 1}], ids=str)
def test_the_answers_are_those_of_single_calls(name, how):
    """Bit for bit, for every chunk size."""
    poses, seeds = some_goals(name)
    one = solver(name)
    batch = one.solve_batch(poses, seeds, **how)
    assert_same(batch, singly(one, poses, seeds))
    assert (batch.success == (np.arange(COUNT) % 10 != 0)).all()
    for T, q in zip(poses[batch.success], batch.q[batch.success]):
        assert_inside(name, q)
        assert max(errors_of(name, T, q)) <= 1e-6


@pytest.mark.parametrize('options', [
    {'gains': (1.0,)}, {'locked': ('panda_joint1',)}, {'select': 'centred'}, {'max_jump': 1.0},
    {'nearest': True}, {'max_restarts': 0}, {'select': 'nearest', 'locked': ('panda_joint3',)}],
    ids=str)
def test_options_hold_in_a_batch(options):
    """Also options that need more than one compiled call per goal."""
    poses, seeds = some_goals('panda')
    one = solver('panda', **options)
    batch = one.solve_batch(poses[:40], seeds[:40], chunk=9)
    assert_same(batch, singly(one, poses[:40], seeds[:40]))
    plain = solver('panda').solve_batch(poses[:40], seeds[:40])
    assert batch.q.tobytes() != plain.q.tobytes() or (batch.status != plain.status).any()


@pytest.mark.parametrize('options', [
    {'select': 'nearest'}, {'closed_form': False}, {'max_restarts': 0}], ids=str)
def test_a_batch_of_an_arm_with_a_closed_form(options):
    """It is used where a single call uses it."""
    poses, seeds = some_goals('ur5')
    one = solver('ur5', **options)
    assert_same(one.solve_batch(poses, seeds), singly(one, poses, seeds))


def test_seeds():
    """One for all goals, one for each, or none: the middle of the limits."""
    poses, seeds = some_goals('six_axis_arm')
    one, chain = solver('six_axis_arm'), robots.chain('six_axis_arm')
    assert_same(one.solve_batch(poses, seeds[3]), singly(one, poses, [seeds[3]] * COUNT))
    assert_same(one.solve_batch(poses), [one.solve(T) for T in poses])
    assert_same(one.solve_batch(poses, seeds[3].tolist()), singly(one, poses, [seeds[3]] * COUNT))
    many = np.asfortranarray(np.repeat(seeds, 2, axis=0)[::2])
    assert_same(one.solve_batch(np.asfortranarray(poses), many), singly(one, poses, seeds))
    for bad in (np.zeros(5), np.zeros((COUNT, 5)), np.zeros((COUNT - 1, 6)), np.zeros((1, 6)),
                np.full((COUNT, 6), np.nan)):
        with pytest.raises(ParameterError, match=f'6 finite numbers, or {COUNT} rows'):
            one.solve_batch(poses, bad)
    assert np.array_equal(chain.middle, solver('six_axis_arm').solve(poses[1]).seed)


def test_quaternions():
    """Position and quaternion x, y, z, w, of either sign, of norm 1 to 1e-3."""
    poses, seeds = some_goals('ur5')
    rows = np.array([np.concatenate([T[:3, 3], pin.Quaternion(T[:3, :3]).coeffs()])
                     for T in poses])
    rows[::2, 3:] *= -1.0
    rows[::3, 3:] *= 1.0005
    batch = solver('ur5').solve_batch(rows, seeds)
    matrices = solver('ur5').solve_batch(poses, seeds)
    assert (batch.success == matrices.success).all() and batch.success.sum() == 108
    for T, q in zip(poses[batch.success], batch.q[batch.success]):
        assert max(errors_of('ur5', T, q)) <= 1.1e-6
    rows[17, 3:] *= 1.01
    with pytest.raises(GoalError, match='quaternion of goal 17 has norm 1.01') as caught:
        solver('ur5').solve_batch(rows, seeds)
    assert caught.value.reason is Reason.GOAL_ORIENTATION_NOT_UNIT


def test_a_single_quaternion():
    """`solve` and `solve_all` accept the same rows of position and quaternion, bit for bit."""
    one, (poses, seeds) = solver('ur5'), some_goals('ur5')
    rows = np.array([np.concatenate([T[:3, 3], 1.0005 * pin.Quaternion(T[:3, :3]).coeffs()])
                     for T in poses[:20]])
    assert_same(one.solve_batch(rows, seeds[:20]), singly(one, rows, seeds))
    result = one.solve(rows[1].tolist(), seeds[1])
    assert result.q.tobytes() == one.solve(rows[1], seeds[1]).q.tobytes()
    assert np.abs(result.goal.T_base_tip - poses[1]).max() < 1e-12
    assert [posture.q.tobytes() for posture in one.solve_all(rows[1], seeds[1])] == [
        posture.q.tobytes() for posture in one.solve_all(result.goal, seeds[1])] != []
    for bad, words in ((rows[1] * [1, 1, 1, 2, 2, 2, 2], 'quaternion of the goal has norm 2.001'),
                       (rows[1] * [1, 1, 1, 0, 0, 0, 0], 'has norm 0'),
                       (rows[1] * [np.nan, 1, 1, 1, 1, 1, 1], 'not finite'),
                       (rows[1] * [1e11, 1, 1, 1, 1, 1, 1], 'more than 1e.10 m away')):
        for call in (one.solve, one.solve_all):
            with pytest.raises(GoalError, match=words):
                call(bad)


@pytest.mark.parametrize('shape', [(0, 4, 4), (0, 7)])
def test_no_goals(shape):
    """Arrays of no rows, of the types of others."""
    calls = []
    batch = solver('ur5').solve_batch(np.zeros(shape), progress=lambda *done: calls.append(done))
    some = solver('ur5').solve_batch(reachable('ur5', 2)[1])
    assert isinstance(batch, BatchResult) and len(batch) == 0 and not calls
    for name in BatchResult.__dataclass_fields__:
        assert getattr(batch, name).shape == (0, *getattr(some, name).shape[1:])
        assert getattr(batch, name).dtype == getattr(some, name).dtype
    assert batch.success.shape == (0,) and batch.success.dtype == bool


def test_one_goal():
    """A batch of one, and the shapes of one."""
    poses, seeds = some_goals('panda')
    batch = solver('panda').solve_batch(poses[1:2], seeds[1:2])
    assert_same(batch, singly(solver('panda'), poses[1:2], seeds[1:2]))
    assert batch.q.shape == (1, 7) and batch.success.shape == (1,)


def test_a_batch_is_a_copy():
    """Changing one answer changes no other and no later one."""
    poses, seeds = some_goals('ur5')
    first = solver('ur5').solve_batch(poses, seeds)
    before = first.q.copy()
    first.q[:] = 0.0
    assert np.array_equal(solver('ur5').solve_batch(poses, seeds).q, before)


# ---- how it is run ----------------------------------------------------------

@pytest.mark.parametrize('chunk', [1, 7, 50, 1000])
def test_progress(chunk):
    """Called after each chunk, up to the number of all goals."""
    poses, seeds = some_goals('ur5')
    calls = []
    solver('ur5').solve_batch(poses, seeds, chunk=chunk, workers=2,
                              progress=lambda done, of: calls.append((done, of)))
    done = [call[0] for call in calls]
    assert done == sorted(done) and done[-1] == COUNT and {call[1] for call in calls} == {COUNT}
    assert len(calls) == -(-COUNT // min(chunk, COUNT // 2))


def test_the_callers_executor():
    """It gets every chunk and is not shut down."""
    poses, seeds = some_goals('ur5')
    results = singly(solver('ur5'), poses, seeds)
    executor = AtOnce()
    assert_same(solver('ur5').solve_batch(poses, seeds, executor=executor, chunk=25), results)
    assert executor.count == 5 and not executor.closed
    with ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            batch = solver('ur5').solve_batch(poses, seeds, executor=pool, chunk=11)
            assert_same(batch, results)


@pytest.mark.parametrize('how', [{'chunk': 0}, {'chunk': -5}, {'workers': 0}, {'workers': -1}])
def test_chunks_and_workers_that_are_refused(how):
    """Positive numbers."""
    with pytest.raises(ParameterError, match='must be positive'):
        solver('ur5').solve_batch(reachable('ur5', 2)[1], **how)


@pytest.mark.parametrize('executor', [None, AtOnce()], ids=['threads', 'executor'])
@pytest.mark.parametrize('options', [{}, {'select': 'nearest'}], ids=str)
def test_the_error_names_the_index_of_the_goal(executor, options):
    """In every chunk."""
    poses, seeds = some_goals('ur5')
    for index in (0, 63, COUNT - 1):
        bad = poses.copy()
        bad[index, 0, 0] += 0.01
        with pytest.raises(GoalError, match=f'goal {index}: .*orthonormal') as caught:
            solver('ur5', **options).solve_batch(bad, seeds, executor=executor, chunk=10)
        assert caught.value.reason is Reason.GOAL_ORIENTATION_NOT_UNIT
        bad = poses.copy()
        bad[index, 1, 3] = FREE
        with pytest.raises(GoalError, match=f'goal {index} is not finite'):
            solver('ur5', **options).solve_batch(bad, seeds, executor=executor, chunk=10)


# ---- other processes --------------------------------------------------------

def test_a_pool_of_processes():
    """Spawned processes; the chain and the options are pickled."""
    poses, seeds = some_goals('ur5')
    arm = ik_node.load_urdf(robots.ARMS['ur5'].path)
    plain, choosy = Solver(arm, **PATIENT), Solver(arm, **PATIENT, select='centred',
                                                   locked=('wrist_3_joint',))
    with ProcessPoolExecutor(2, mp_context=get_context('spawn')) as pool:
        for one in (plain, choosy):
            batch = one.solve_batch(poses, seeds, executor=pool, chunk=30)
            assert_same(batch, singly(one, poses, seeds))
        poses[70, 0, 0] += 0.01
        with pytest.raises(GoalError, match='goal 70: ') as caught:
            plain.solve_batch(poses, seeds, executor=pool, chunk=30)
    assert caught.value.reason is Reason.GOAL_ORIENTATION_NOT_UNIT


@pytest.mark.nightly
def test_a_dask_cluster():
    """The executor of a cluster's client; the worker is a process of its own."""
    distributed = pytest.importorskip('distributed', reason='dask.distributed is not installed')
    poses, seeds = some_goals('ur5')
    calls = []
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) \
            as cluster, cluster.get_client() as client:
        batch = solver('ur5').solve_batch(poses, seeds, executor=client.get_executor(), chunk=30,
                                          progress=lambda done, of: calls.append(done))
    assert_same(batch, singly(solver('ur5'), poses, seeds))
    assert calls == [30, 60, 90, 120]
