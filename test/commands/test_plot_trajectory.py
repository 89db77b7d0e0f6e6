# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers that plot_trajectory draws, against Pinocchio; what it refuses."""

from pathlib import Path
import sys

import numpy as np
import pinocchio as pin
import pytest
import yaml

from ik_node.tools.plots import command as plot_trajectory
from ik_node.tools.plots.command import main

ARM = Path(__file__).parents[2] / 'urdf/six_axis_arm.urdf'
MODEL = pin.buildModelFromUrdf(str(ARM))
DATA = MODEL.createData()
TIP = MODEL.getFrameId('tool0')
NAMES = [f'joint_{k}' for k in range(1, 7)]
START = [0.0, 0.3, -0.4, 0.0, 1.0, 0.0]
LATER = [value + 0.5 for value in START]
ZERO = [0.0] * 6
GOAL = ['--xyz', '0.4', '0.3', '0.3', '--rpy', '3.14', '0', '0', '--start', *map(str, START)]


def test_file_is_written(tmp_path):
    """As the format that its name says."""
    output = tmp_path / 'motion.png'
    main([*GOAL, '--output', str(output)])
    assert output.read_bytes().startswith(b'\x89PNG')


@pytest.fixture
def drawn(monkeypatch):
    """
    Return a function that runs the command and gives its panels by their titles.

    No file is written, which takes most of the time.
    """
    figures = []
    monkeypatch.setattr(plot_trajectory, 'save', lambda figure, _file: figures.append(figure))

    def run(*arguments):
        main([*map(str, arguments), '--output', 'motion.png'])
        panels = {}
        for axes in figures[-1].get_axes():
            panels[axes.get_title() or axes.get_ylabel()] = axes
            panels[axes.get_ylabel()] = axes
        return panels

    return run


def columns(axes, count=6):
    """Return times (k,) and the values (k, n) of the first lines of a panel."""
    lines = axes.get_lines()[:count]
    return lines[0].get_xdata(), np.column_stack([line.get_ydata() for line in lines])


def jacobians(Q):
    """Return the Jacobians of tool0 in base axes, by Pinocchio."""
    return [pin.computeFrameJacobian(MODEL, DATA, q, TIP, pin.LOCAL_WORLD_ALIGNED).copy()
            for q in Q]


def assert_numbers(panels):
    """Check every panel against what its joint positions say."""
    times, q = columns(panels['position q'])
    _, qd = columns(panels['velocity qd'])
    _, qdd = columns(panels['acceleration qdd'])
    J = jacobians(q)
    rates = np.array([j @ v for j, v in zip(J, qd)])
    for label, expected in (
            ('speed (m/s)', np.linalg.norm(rates[:, :3], axis=1)),
            ('turn (rad/s)', np.linalg.norm(rates[:, 3:], axis=1)),
            ('manipulability', [np.sqrt(max(np.linalg.det(j @ j.T), 0.0)) for j in J]),
            ('smallest singular value', [np.linalg.svd(j)[1][-1] for j in J])):
        assert columns(panels[label], 1)[1][:, 0] == pytest.approx(np.array(expected), abs=1e-8)
    margin = np.minimum(q - MODEL.lowerPositionLimit, MODEL.upperPositionLimit - q)
    assert columns(panels['distance to the nearer position limit'])[1] == pytest.approx(margin)
    assert columns(panels['share of the velocity limit'])[1] == pytest.approx(
        np.abs(qd) / MODEL.velocityLimit)
    assert columns(panels['share of the acceleration limit'])[1] == pytest.approx(
        np.abs(qdd) / 2.0)
    return times, q, qd, qdd


@pytest.mark.nightly
def test_straight_line(drawn):
    """With --line the tip stays on the segment; without, it leaves it by centimetres."""
    goal = ['--xyz', '0.4', '-0.25', '0.4', '--rpy', '2.6', '0', '0', '--start', *map(str, START)]
    off = []
    for options in ([], ['--line']):
        panels = drawn(*goal, *options)
        assert_numbers(panels)
        points = []
        for q in columns(panels['position q'])[1]:
            pin.framesForwardKinematics(MODEL, DATA, q)
            points.append(DATA.oMf[TIP].translation.copy())
        points = np.array(points)
        way = [0.4, -0.25, 0.4] - points[0]
        assert np.linalg.norm(points[-1] - points[0] - way) < 1e-5
        off.append(np.linalg.norm(np.cross(points - points[0], way / np.linalg.norm(way)),
                                  axis=1).max())
    assert off[0] > 0.01 and off[1] < 1e-4


def test_goal_is_planned_as_by_the_node(drawn):
    """From rest at the start to rest at the goal, at half the velocity limits."""
    times, q, qd, qdd = assert_numbers(drawn(*GOAL))
    assert times[0] == 0.0 and np.array_equal(q[0], START)
    pin.framesForwardKinematics(MODEL, DATA, q[-1])
    assert DATA.oMf[TIP].translation == pytest.approx([0.4, 0.3, 0.3], abs=2e-6)
    assert not qd[0].any() and np.abs(qd[-1]).max() < 1e-9
    assert 0.99 * 2.0 < np.abs(qdd).max() <= 2.0
    assert (np.abs(qd) <= 0.5 * MODEL.velocityLimit).all()
    moved = np.cumsum(0.5 * (qd[1:] + qd[:-1]) * np.diff(times)[:, None], axis=0)
    assert q[1:] - q[0] == pytest.approx(moved, abs=1e-4)


def test_parameters_come_from_a_file(drawn, tmp_path):
    """Acceleration scale and tool speed limit are taken from it; the limit is drawn."""
    config = tmp_path / 'mine.yaml'
    config.write_text('/**/ik_node:\n  ros__parameters:\n    motion.tool_speed: 0.1\n'
                      '    motion:\n      acceleration_scale: 0.25\n')
    panels = drawn(*GOAL, '--config', config)
    _, _, _, qdd = assert_numbers(panels)
    assert np.abs(qdd).max() <= 0.5
    speed, limit = panels['speed (m/s)'].get_lines()
    assert limit.get_ydata()[0] == 0.1
    assert 0.098 < speed.get_ydata().max() <= 0.1


def echo(points, names=NAMES):
    """Return what ros2 topic echo --once prints of a message."""
    fields = [{'positions': p[0], 'velocities': p[1], 'accelerations': p[2], 'effort': [],
               'time_from_start': {'sec': int(t), 'nanosec': round(1e9 * (t % 1.0))}}
              for t, *p in points]
    return yaml.safe_dump({'header': {'stamp': {'sec': 0, 'nanosec': 0}, 'frame_id': ''},
                           'joint_names': list(names), 'points': fields}) + '---\n'


def status(**values):
    """Return what ros2 topic echo prints of an answer of the node."""
    pairs = [{'key': key, 'value': value} for key, value in values.items()]
    return yaml.safe_dump({'level': 0, 'name': 'goal', 'message': '', 'values': pairs}) + '---\n'


def words_of(numbers):
    return ' '.join(f'{number:.9f}' for number in numbers)


def test_recorded_status_is_planned_again(drawn, tmp_path):
    """From its start state, also a moving one; the last status counts."""
    moving = [0.1, 0.0, -0.2, 0.0, 0.0, 0.0]
    file = tmp_path / 'status.yaml'
    file.write_text(
        status(goal='1', q_start=words_of(ZERO), qd_start=words_of(ZERO), q=words_of(START))
        + status(goal='2', q_start=words_of(START), qd_start=words_of(moving),
                 q=words_of(LATER))
        + status(goal='3', path_m='0.3'))
    _, q, qd, _ = assert_numbers(drawn('--status', file))
    assert q[0] == pytest.approx(START) and q[-1] == pytest.approx(LATER)
    assert qd[0] == pytest.approx(moving) and np.abs(qd[-1]).max() < 1e-9


@pytest.mark.parametrize('text, words', [
    ('', 'none of its 0 statuses'), (status(goal='3', path_m='0.3'), 'record their points'),
    ('a: 1\n', 'not what ros2 topic echo prints'), ('a: [1\n', 'not what ros2 topic echo prints'),
    (status(goal='1', q_start='0 0', qd_start='0 0', q='0 0'), '6 finite numbers'),
    (status(goal='1', q_start='a', qd_start='0', q='0'), '6 finite numbers')])
def test_bad_statuses_are_one_sentence(tmp_path, capsys, text, words):
    """The error in one sentence, and no picture."""
    file = tmp_path / 'status.yaml'
    file.write_text(text)
    refused(tmp_path, capsys, ['--status', file], words)


@pytest.mark.parametrize('what, middle', [
    ('positions', (0.25, 0.25, 0.0)), ('velocities', (0.25, 0.375, 0.0)),
    ('accelerations', (0.25, 0.46875, 0.0))])
def test_recorded_points_are_interpolated_as_by_the_controller(drawn, tmp_path, what, middle):
    """Line, cubic or quintic over 2 s: known position, velocity, acceleration at half time."""
    qd = [] if what == 'positions' else ZERO
    qdd = ZERO if what == 'accelerations' else []
    names = NAMES[::-1]  # in any order
    file = tmp_path / 'points.yaml'
    file.write_text(echo([(0.5, START[::-1], qd, qdd), (2.5, LATER[::-1], qd, qdd)], names))
    times, *values = assert_numbers(drawn('--points', file))
    assert (times[0], times[-1]) == (0.5, pytest.approx(2.5))
    for drawn_values, begin, expected in zip(values, (np.array(START), 0.0, 0.0), middle):
        at_half = [np.interp(1.5, times, column) for column in drawn_values.T]
        assert np.array(at_half) - begin == pytest.approx(np.full(6, expected), abs=2e-3)


def test_csv_and_yaml_draw_the_same(drawn, tmp_path):
    """Both kinds of file give the same curves; joints of others are ignored."""
    points = [(0.0, START, ZERO, ZERO), (1.0, LATER, [0.1] * 6, ZERO), (2.0, START, ZERO, ZERO)]
    text, table = tmp_path / 'points.yaml', tmp_path / 'points.csv'
    text.write_text(echo(points))
    head = ['time', 'finger', *NAMES, *(f'{n}.velocity' for n in NAMES),
            *(f'{n}.acceleration' for n in NAMES)]
    table.write_text('\n'.join(','.join(map(str, row)) for row in [
        head, *([t, 9.0, *q, *qd, *qdd] for t, q, qd, qdd in points)]) + '\n')
    text_panels = drawn('--points', text)
    with pytest.raises(SystemExit):
        drawn('--points', table)  # the finger has no velocity
    rows = [line.split(',') for line in table.read_text().splitlines()]
    table.write_text('\n'.join(','.join(row[:1] + row[2:]) for row in rows))
    for title, axes in drawn('--points', table).items():
        for ours, theirs in zip(axes.get_lines(), text_panels[title].get_lines()):
            assert np.array_equal(ours.get_ydata(), theirs.get_ydata(), equal_nan=True)


GOOD = echo([(0.0, START, ZERO, ZERO), (1.0, LATER, ZERO, ZERO)])
CSV = 'time,' + ','.join(NAMES) + '\n0,' + '0,' * 5 + '0\n'


@pytest.mark.parametrize('name, text, words', [
    ('a.yaml', None, 'No such file'),
    ('a.yaml', '', 'no joint_names and points'),
    ('a.yaml', 'time,a\n0,1\n', 'no joint_names and points'),
    ('a.yaml', 'a: [1\nb: 2\n', 'not YAML in line 2'),
    ('a.yaml', GOOD.replace('joint_6', 'wrist'), "the arm also has 'joint_6'"),
    ('a.yaml', "joint_names: [a]\npoints: [{}, '...']\n", '--full-length'),
    ('a.yaml', 'joint_names: [a]\npoints: [{positions: [1.0]}, {}]\n', 'lacks time_from_start'),
    ('a.yaml', echo([(0.0, START, ZERO, ZERO)]), 'at least 2 points'),
    ('a.yaml', echo([(1.0, START, [], []), (1.0, LATER, [], [])]), 'must increase'),
    ('a.yaml', echo([(0.0, START, [], []), (1.0, [float('nan')] * 6, [], [])]), 'not finite'),
    ('a.yaml', echo([(0.0, START, [], []), (1.0, ['x'] * 6, [], [])]), 'made of numbers'),
    ('a.yaml', echo([(0.0, START, [], []), (1.0, LATER[1:], [], [])]), '5 numbers'),
    ('a.yaml', echo([(0.0, START, [], []), (1.0, [], ZERO, [])]), 'point 2 has no positions'),
    ('a.csv', '', 'no column "time"'),
    ('a.csv', CSV + '1,0\n', 'row 3: 2 cells'),
    ('a.csv', CSV + '1,x,0,0,0,0,0\n', 'row 3'),
    ('a.csv', CSV, 'at least 2 points'),
])
def test_bad_files_are_one_sentence(tmp_path, capsys, name, text, words):
    """The error and its place in one sentence, and no picture."""
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    refused(tmp_path, capsys, ['--points', file], words)


@pytest.mark.parametrize('arguments, words', [
    (['--xyz', '5', '0', '0'], 'out of reach'),
    (['--xyz', 'nan', '0', '0'], 'finite'),
    (['--xyz', '.4', '0', '.4', '--quat', '0', '0', '0', '0'], 'no direction'),
    (['--xyz', '.4', '0', '.4', '--start', '0', '0'], '2 numbers; the arm has the 6 joints'),
    (['--xyz', '.4', '0', '.4', '--start', *'090000'], "'joint_2' at 9, outside its limits"),
    (['--xyz', '.4', '0', '.4', '--urdf', '/nowhere.urdf'], 'nowhere.urdf'),
    (['--xyz', '.4', '0', '.4', '--tip-link', 'hand'], "'hand' is not in the URDF"),
    (['--xyz', '.4', '0', '.4', '--config', str(ARM)], 'no ros__parameters of ik_node'),
    (['--xyz', '.4', '.3', '.3', '--rpy', '3.1', '0', '0', '--show'], 'no display'),
])
def test_refused_arguments(tmp_path, capsys, monkeypatch, arguments, words):
    """One sentence and exit code 2."""
    monkeypatch.setenv('MPLBACKEND', 'agg')
    refused(tmp_path, capsys, arguments, words)


def refused(tmp_path, capsys, arguments, words):
    output = tmp_path / 'none.png'
    with pytest.raises(SystemExit) as exit_:
        main([*map(str, arguments), '--output', str(output)])
    error = capsys.readouterr().err
    assert exit_.value.code == 2 and not output.exists()
    assert error.startswith('plot_trajectory: ') and words in error and error.count('\n') == 1


def test_wrong_usage(capsys):
    """No input, two inputs, or an orientation without a goal."""
    for arguments in ([], ['--points', 'a', '--listen'], ['--listen', '--rpy', '0', '0', '0']):
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code == 2 and 'usage: plot_trajectory' in capsys.readouterr().err


@pytest.mark.parametrize('module, arguments, words', [
    ('matplotlib', GOAL, 'pip install matplotlib"\n'), ('rclpy', ['--listen'], 'source your ROS')])
def test_missing_packages_are_named(tmp_path, capsys, monkeypatch, module, arguments, words):
    """Without matplotlib or ROS: how to install it."""
    for name in [*(each for each in sys.modules if each.split('.')[0] == module), module]:
        monkeypatch.setitem(sys.modules, name, None)
    refused(tmp_path, capsys, arguments, words)
