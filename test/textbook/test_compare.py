# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The comparison tool: its numbers against a second computation, its files, its refusals."""

import json
import sys

import numpy as np
import pinocchio as pin
import pytest
import robots
from robots import tip_pose

from ik_node.textbook.methods import TEXTBOOK_METHODS
from ik_node.textbook.options import ClassicOptions
from ik_node.tools.compare import compare_runs
from ik_node.tools.compare.command import ALL_METHODS, main
from ik_node.tools.compare.compare_runs import (
    compare,
    PRODUCTION_METHOD,
    reachable_goals,
    RESTARTS_METHOD,
    Runner,
)

FAST = ['pseudo_inverse', 'damped_least_squares']


# ---- goals and runs -----------------------------------------------------------------

@pytest.mark.parametrize('near', [0.3, np.inf])
def test_goals_are_reachable_and_seeds_are_near(near):
    chain = robots.chain('panda')
    goals, seeds = reachable_goals(chain, 30, 4, near)
    again, same = reachable_goals(chain, 30, 4, near)
    others, _ = reachable_goals(chain, 30, 5, near)
    assert np.array_equal(seeds, same)
    assert np.array_equal(goals[3].T_base_tip, again[3].T_base_tip)
    assert not np.array_equal(goals[3].T_base_tip, others[3].T_base_tip)
    # Not on the limits, where many arms are singular.
    assert (seeds > chain.lower).all() and (seeds < chain.upper).all()
    # The postures are those of the same generator, the poses Pinocchio's.
    postures = np.random.default_rng(4).uniform(chain.lower, chain.upper, (30, 7))
    for goal, q in zip(goals, postures):
        assert goal.T_base_tip == pytest.approx(tip_pose('panda', q), abs=1e-9)
    assert (np.abs(seeds - postures).max() <= 0.3) == (near == 0.3)
    assert np.abs(seeds - postures).max() > 0.2


@pytest.mark.parametrize('method', ['pseudo_inverse', 'ccd', 'bfgs', PRODUCTION_METHOD,
                                    RESTARTS_METHOD])
def test_a_run_records_the_motion(method):
    """Errors and tip position at each posture of the path agree with Pinocchio."""
    chain = robots.chain('ur5')
    goals, seeds = reachable_goals(chain, 3, 1, 0.3)
    for goal, seed in zip(goals, seeds):
        run = Runner(chain).run(method, goal, seed)
        assert run.method == method and run.time > 0.0
        assert run.path[0] == pytest.approx(seed, abs=1e-12)
        for q, tip, (position, orientation) in zip(run.path, run.tip, run.errors):
            T = tip_pose('ur5', q)
            assert tip == pytest.approx(T[:3, 3], abs=1e-9)
            assert position == pytest.approx(
                np.linalg.norm(T[:3, 3] - goal.T_base_tip[:3, 3]), abs=1e-9)
            cosine = 0.5 * (np.trace(T[:3, :3].T @ goal.T_base_tip[:3, :3]) - 1.0)
            assert np.cos(orientation) == pytest.approx(cosine, abs=1e-9)
        assert run.met == (run.errors[-1] <= 1e-6).all()
        assert run.at[0] == 0 and run.at[-1] == run.steps and len(run.at) == len(run.path)
        if method == RESTARTS_METHOD:
            assert np.isnan(run.largest_jump)
        else:
            assert run.at.tolist() == list(range(run.steps + 1))
            assert run.largest_jump == pytest.approx(
                max(np.abs(b - a).max() for a, b in zip(run.path, run.path[1:])))
        assert run.distance(0.5) == pytest.approx(
            np.sqrt(run.errors[:, 0] ** 2 + 0.25 * run.errors[:, 1] ** 2))


def test_the_production_solver_alone_and_with_restarts():
    """A single attempt from anywhere often fails; with restarts none does."""
    chain = robots.chain('ur5')
    goals, seeds = reachable_goals(chain, 30, 2)
    (alone, restarted), _ = compare(Runner(chain), [PRODUCTION_METHOD, RESTARTS_METHOD],
                                    goals, seeds)
    assert alone.met < 30 == restarted.met


def test_the_path_of_the_production_solver():
    """Its errors decrease and no joint jumps."""
    chain = robots.chain('ur5')
    goals, seeds = reachable_goals(chain, 20, 2, 0.1)
    _, runs = compare(Runner(chain), [PRODUCTION_METHOD], goals, seeds)
    met = [run for run in runs[PRODUCTION_METHOD] if run.met]
    assert len(met) >= 18
    for run in met:
        distance = run.distance(0.3)
        assert distance[-1] < 1e-5 < distance[0] and (np.diff(distance) < 0.0).all()
        assert run.largest_jump < 0.5 and run.steps > 1
        # A step that does not come nearer, and is made good by the next, is not seen.
        assert (run.at[0], run.at[-1]) == (0, run.steps) and (np.diff(run.at) > 0).all()


def test_metrics_summarise_the_runs():
    chain = robots.chain('panda')
    goals, seeds = reachable_goals(chain, 8, 3, 0.5)
    methods = ['damped_least_squares', 'left_pseudo_inverse', 'transpose']
    metrics, runs = compare(Runner(chain, ClassicOptions(max_iterations=30)), methods, goals,
                            seeds)
    assert [row.method for row in metrics] == methods
    damped, left, transpose = metrics
    met = [run for run in runs['damped_least_squares'] if run.met]
    assert damped.met == len(met) >= 6 and damped.goals == 8
    assert damped.median_steps == np.median([run.steps for run in met])
    assert damped.most_steps == max(run.steps for run in met)
    assert damped.median_time == 1e3 * np.median([run.time for run in met])
    assert damped.median_jump == np.median([run.largest_jump for run in met])
    assert damped.largest_jump == max(run.largest_jump for run in met)
    assert 'right_pseudo_inverse' in left.note and left.method not in runs
    assert transpose.met == 0 and np.isnan(transpose.median_steps)  # in 30 steps


# ---- pictures -----------------------------------------------------------------------------

@pytest.fixture
def figures(monkeypatch):
    """Keep what would be written."""
    kept = {}
    monkeypatch.setattr(compare_runs, 'save', lambda figure, file: kept.update({file: figure}))
    return kept


def panels_of(figure):
    return {axes.get_title(): axes for axes in figure.get_axes() if axes.get_visible()}


def test_the_plots_show_the_runs(figures):
    chain = robots.chain('panda')
    goals, seeds = reachable_goals(chain, 3, 3, 0.3)
    _, runs = compare(Runner(chain), FAST, goals, seeds)
    compare_runs.convergence(runs, 0.3, 1e-6, 'a')
    compare_runs.joint_motion(runs, chain, 'b')
    compare_runs.tip_path(runs, goals[0].T_base_tip[:3, 3], 'c')
    for name in FAST:
        lines = panels_of(figures['a'])[name].get_lines()
        assert lines[1].get_ydata() == pytest.approx(
            np.maximum(runs[name][1].distance(0.3), compare_runs.MIN_PLOTTED_ERROR_M))
        joints = panels_of(figures['b'])[name].get_lines()
        assert len(joints) == 7
        path = runs[name][0].path
        assert joints[6].get_ydata() == pytest.approx(path[:, 6] - path[0, 6])
        along, off = panels_of(figures['c'])[name].get_lines()[0].get_data()
        away = 1e3 * np.linalg.norm(runs[name][0].tip - goals[0].T_base_tip[:3, 3], axis=1)
        assert np.hypot(along, off) == pytest.approx(away)
        assert off[0] == pytest.approx(0.0, abs=1e-9) and along[-1] == pytest.approx(0.0, abs=1e-2)


# ---- the command -----------------------------------------------------------------------------

def run(tmp_path, *arguments):
    main([*arguments, '--output', str(tmp_path)])
    return json.loads((tmp_path / 'numbers.json').read_text())


def test_the_command_writes_table_numbers_and_pictures(tmp_path, capsys):
    numbers = run(tmp_path, '--methods', *FAST, PRODUCTION_METHOD, '--goals', '3')
    printed = capsys.readouterr().out
    assert (tmp_path / 'table.md').read_text() == printed
    assert numbers['arm']['tip_link'] == 'tool0'  # the arm of this package
    names = [row['method'] for row in numbers['methods']]
    assert names == [*FAST, PRODUCTION_METHOD, RESTARTS_METHOD]
    for row in numbers['methods']:
        assert f'| {row["method"]} ' in printed
        assert row['met'] == sum(each['met'] for each in numbers['runs'][row['method']])
        assert len(numbers['runs'][row['method']]) == 3
    assert len(numbers['first_goal'][FAST[0]]['path'][0]) == 6
    for name in ('convergence.png', 'tip_path.png', 'joint_motion.png'):
        picture = (tmp_path / name).read_bytes()
        assert picture.startswith(b'\x89PNG') and 5_000 < len(picture) < 100_000


def test_answers_learned_beforehand_stand_beside_their_steps(tmp_path, capsys):
    """Alone they are one step, whose error the table tells; with more steps goals are met."""
    numbers = run(tmp_path, '--methods', 'key_postures', 'pseudo_inverse', '--goals', '6',
                  '--near', 'inf', '--no-pictures')
    printed = capsys.readouterr().out
    with_steps, alone, local = numbers['methods']
    assert [with_steps['method'], alone['method'], local['method']] \
        == ['key_postures', 'key_postures, alone', 'pseudo_inverse']
    ends = numbers['runs']['key_postures, alone']
    assert {each['steps'] for each in ends} == {1} and alone['met'] == 0 < with_steps['met']
    errors = np.array([(each['position_error_m'], each['orientation_error_rad']) for each in ends])
    found = alone['median_position_error'], alone['median_orientation_error']
    assert found == pytest.approx(tuple(np.median(errors, axis=0)))
    assert 'error left (mm) | (°)' in printed and f'{1e3 * found[0]:.3g}' in printed
    chain = robots.chain('six_axis_arm')
    assert all((chain.lower <= each['q']).all() and (each['q'] <= chain.upper).all()
               for each in ends)


def test_nan_is_written_as_null(tmp_path, capsys):
    run(tmp_path, '--methods', 'transpose', '--goals', '2', '--max-iterations', '1',
        '--no-pictures')
    row = json.loads((tmp_path / 'numbers.json').read_text(), parse_constant=pytest.fail)
    assert row['methods'][0]['met'] == 0 and row['methods'][0]['median_steps'] is None
    assert '| transpose | 0 of 2    | -     |' in capsys.readouterr().out


def test_a_single_goal(tmp_path):
    """Quaternion and angles give the same result; a position alone leaves the orientation free."""
    seed = ['--seed', '0.1', '-0.3', '0.4', '0.2', '0.5', '0.1']
    goal = tip_pose('six_axis_arm', np.array([0.4, -0.1, 0.3, 0.5, 0.8, -0.3]))
    R, p = goal[:3, :3], goal[:3, 3]
    rpy = ['--rpy', *map(str, pin.rpy.matrixToRpy(R))]
    common = ['--methods', 'damped_least_squares', '--xyz', *map(str, p), '--no-pictures', *seed]
    angles = run(tmp_path, *common, *rpy)
    quaternion = run(tmp_path, *common, '--quat', *map(str, 2.0 * pin.Quaternion(R).coeffs()))
    alone = run(tmp_path, *common)
    free = run(tmp_path, *common, *rpy, '--free', 'rz')
    ends = [each['runs']['damped_least_squares'][0]['q']
            for each in (angles, quaternion, alone, free)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)
    T = [tip_pose('six_axis_arm', np.array(q)) for q in ends]
    assert T[0][:3, :3] == pytest.approx(R, abs=1e-5)
    assert np.abs(T[2][:3, :3] - R).max() > 0.1
    assert T[3][:3, 2] == pytest.approx(R[:, 2], abs=1e-5)
    assert np.abs(T[3][:3, :3] - R).max() > 1e-2
    for each in T:
        assert each[:3, 3] == pytest.approx(p, abs=1e-5)
    path = angles['first_goal']['damped_least_squares']['path']
    assert path[0] == pytest.approx([0.1, -0.3, 0.4, 0.2, 0.5, 0.1])


@pytest.mark.nightly
def test_options_of_the_command_change_the_outcome(tmp_path):
    def ends(*arguments, method='pseudo_inverse'):
        numbers = run(tmp_path, '--methods', method, '--goals', '3', '--no-pictures', *arguments)
        return numbers, np.array([each['q'] for each in numbers['runs'][method]])

    numbers, q = ends()
    _, again = ends()
    assert np.array_equal(q, again)
    _, others = ends('--seed-number', '7')
    assert not np.array_equal(q, others)
    _, free = ends('--free', 'rx', 'ry', 'rz')
    assert np.abs(q - free).max() > 1e-3
    far, q_far = ends('--near', 'inf')
    assert far['methods'][0]['met'] < numbers['methods'][0]['met']
    short, _ = ends('--max-iterations', '1')
    assert all(each['steps'] <= 1 for each in short['runs']['pseudo_inverse'])
    parts, _ = ends('--step-fraction', '0.3')
    assert all(many['steps'] > each['steps'] for many, each in zip(
        parts['runs']['pseudo_inverse'], numbers['runs']['pseudo_inverse']))
    panda = str(robots.ARMS['panda'].path)
    arm = ['--urdf', panda, '--near', 'inf', '--max-iterations', '50']
    clamped, q_clamped = ends(*arm)
    assert clamped['arm']['tip_link'] == 'panda_hand_tcp'
    assert ends(*arm, '--tip-link', 'panda_link8')[0]['arm']['tip_link'] == 'panda_link8'
    assert ends(*arm, '--base-link', 'panda_link1',
                '--tip-link', 'panda_link8')[0]['arm']['base_link'] == 'panda_link1'
    assert not np.array_equal(q_clamped, ends(*arm, '--limits', 'variables')[1])
    # What a method cannot do is left to its own way.
    assert np.array_equal(ends(*arm, method='ccd')[1],
                          ends(*arm, '--limits', 'penalty', method='ccd')[1])


@pytest.mark.parametrize('arguments, sentence', [
    (['--seed', '1', '2'], '2 numbers; the arm has the 6 joints'),
    (['--rpy', '0', '0', '0'], 'without --xyz'),
    (['--xyz', '0', '0', '1', '--quat', '0', '0', '0', '0'], 'has no direction'),
    (['--urdf', '/nowhere/arm.urdf'], 'arm.urdf'),
    (['--tip-link', 'hand'], "'hand' is not in the URDF"),
    (['--step-fraction', '1.5'], 'step_fraction is 1.5; it must be above 0 and at most 1'),
])
def test_arguments_that_the_command_refuses(tmp_path, capsys, arguments, sentence):
    with pytest.raises(SystemExit) as exit_:
        main([*arguments, '--no-pictures', '--output', str(tmp_path)])
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith('compare_methods: ') and sentence in error


@pytest.mark.parametrize('arguments', [['--goals', '0'], ['--methods', 'newton'],
                                       ['--max-iterations', '-1'], ['--limits', 'hard']])
def test_arguments_that_the_parser_refuses(tmp_path, capsys, arguments):
    with pytest.raises(SystemExit) as exit_:
        main([*arguments, '--output', str(tmp_path)])
    assert exit_.value.code == 2 and 'usage: compare_methods' in capsys.readouterr().err


def test_pictures_without_matplotlib(tmp_path, capsys, monkeypatch):
    for name in [*(each for each in sys.modules if each.startswith('matplotlib')), 'matplotlib']:
        monkeypatch.setitem(sys.modules, name, None)
    arguments = ['--methods', 'pseudo_inverse', '--goals', '1', '--output', str(tmp_path)]
    with pytest.raises(SystemExit):
        main(arguments)
    assert 'pip install matplotlib' in capsys.readouterr().err
    main([*arguments, '--no-pictures'])
    assert not list(tmp_path.glob('*.png'))


def test_every_method_is_offered():
    assert set(ALL_METHODS) == {PRODUCTION_METHOD, *TEXTBOOK_METHODS}
