# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Files of waypoints and recorded motions, and the thinning of noisy samples."""

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
import yaml

from ik_node.base.errors import ParameterError
from ik_node.motion.joint_path.taught_path import MOVED_DISTANCE, path_of, TaughtPath
from ik_node.motion.trajectory.timed_curve import curve_at, kept_samples, MIN_KEPT_SPACING_S

NAMES = 'joint_1', 'joint_2', 'on'
TOLERANCE = 2e-3
PAUSE_S, MOTION_S = 1.5, 8.0
GOOD = {'joints': ['a', 'b'], 'units': {'positions': 'rad or m', 'times': 's'},
        'points': [{'name': 'one', 'positions': [0.0, 1]}, {'positions': [0.5, -1.0]}]}


def by_hand(t):
    """Return positions (N, 3) of a motion from rest to rest with pauses at its ends."""
    share = np.clip((t - PAUSE_S) / MOTION_S, 0.0, 1.0)
    u = 8.0 * (share - np.sin(2.0 * np.pi * share) / (2.0 * np.pi))
    return np.column_stack([0.6 * np.sin(0.9 * u), 0.4 * np.cos(1.7 * u) + 0.05 * np.sin(5.0 * u),
                            0.1 * u])


@pytest.mark.parametrize('rate, noise, jitter', [
    (25.0, 0.0, 0.0), (25.0, 1e-4, 0.0), (100.0, 1e-4, 0.0), (100.0, 1e-4, 5e-4),
    (500.0, 0.0, 0.0), (500.0, 1e-4, 5e-4)])
def test_recorded(rate, noise, jitter):
    """A few points; the curve through them is near the true motion, and as smooth."""
    t, rng = np.arange(0.0, MOTION_S + 2.0 * PAUSE_S, 1.0 / rate), np.random.default_rng(3)
    q = by_hand(t + jitter * rng.normal(size=len(t)))
    q += noise * rng.normal(size=q.shape)
    path = TaughtPath.recorded(NAMES, t + 1e9, q, TOLERANCE)
    assert path.joint_names == NAMES and path.times[0] == 0.0
    assert len(path.q) < 40 and MOTION_S - 1.5 < path.duration < MOTION_S
    # Where it begins is not told.
    inside = np.arange(0.0, path.duration, 0.01)
    curve = curve_at(path.times, path.q, inside)
    begin, away = min(((b, np.abs(curve - by_hand(b + inside)).max())
                       for b in PAUSE_S + np.arange(0.0, 1.5, 2e-3)), key=lambda pair: pair[1])
    assert away < TOLERANCE + 5.0 * noise + jitter
    assert np.abs(by_hand(np.arange(0.0, begin, 0.01)) - path.q[0]).max() \
        <= MOVED_DISTANCE + 10.0 * noise
    fine = np.arange(0.0, path.duration, 1e-3)
    curve = curve_at(path.times, path.q, fine)
    most, least = (np.abs(np.diff(values, 2, axis=0)).max() / 1e-3**2 for values in (
        curve, by_hand(np.arange(0.0, 12.0, 1e-3))))
    assert most < 1.2 * least, 'the noise is in the accelerations'


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 400), st.floats(1e-4, 0.1), st.integers(0, 2**31))
def test_any_samples(count, tolerance, seed):
    """What is kept are samples, both ends among them; the others are near the curve."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.5, 1.5, count)) * MIN_KEPT_SPACING_S
    q = np.cumsum(rng.normal(size=(count, 2)), axis=0) * 0.01
    kept, away = kept_samples(times, q, tolerance)
    assert kept[0] == 0 and kept[-1] == count - 1 and (np.diff(kept) > 0).all()
    assert np.isclose(np.abs(curve_at(times[kept], q[kept], times) - q).max(), away)
    assert count < 3 or (np.diff(times[kept]) >= MIN_KEPT_SPACING_S - 1e-12).all()
    if away > tolerance:  # no more could be kept
        k = int(np.abs(curve_at(times[kept], q[kept], times) - q).max(axis=1).argmax())
        a, b = times[kept[kept <= k][-1]], times[kept[kept >= k][0]]
        inside = times[(times > a) & (times < b)]
        assert not ((inside - a >= MIN_KEPT_SPACING_S) & (b - inside >= MIN_KEPT_SPACING_S)).any()


def test_the_curve():
    """It passes its points, is smooth, begins and ends at rest, and stands in a pause."""
    times = np.array([0.0, 1.0, 1.7, 5.0, 6.0, 8.0])
    q = np.array([[0.0, 1.0], [0.4, 0.8], [1.0, 0.0], [1.0, 0.0], [0.7, 0.1], [0.0, 0.0]])
    assert np.allclose(curve_at(times, q, times), q, rtol=0.0, atol=1e-12)
    assert np.abs(curve_at(times, q, np.linspace(1.7, 5.0, 50)) - q[2]).max() < 1e-12
    h = 1e-4
    for t in (0.0, 1.7, 5.0, 8.0 - h):
        assert np.abs(np.diff(curve_at(times, q, np.array([t, t + h])), axis=0)).max() / h < 1e-3
    for t in (1.0, 6.0):  # the second derivative is the same on both sides
        bends = [np.diff(curve_at(times, q, t + side * h * np.arange(1.0, 4.0)), 2, axis=0) / h**2
                 for side in (1.0, -1.0)]
        assert np.abs(bends[0] - bends[1]).max() < 1e-2


def test_recordings_without_motion_are_refused():
    """Too little, or too short."""
    t = np.arange(0.0, 2.0, 0.01)
    still = 1e-4 * np.random.default_rng(0).normal(size=(len(t), 3))
    with pytest.raises(ParameterError, match='no joint has moved by more than 0.001 rad or m'):
        TaughtPath.recorded(NAMES, t, still, TOLERANCE)
    jump = still.copy()
    jump[50:, 0] += 1.0
    with pytest.raises(ParameterError, match='the arm has moved for 0.0'):
        TaughtPath.recorded(NAMES, t, jump, TOLERANCE)


def test_files(tmp_path):
    """What is written is read again, and is YAML for others; waypoints and a motion."""
    file = tmp_path / 'a path.yaml'
    path = TaughtPath(NAMES, np.empty((0, 3)))
    for name, q in (('above', 0.1), ('über', -0.2), ('yes', 1e-9), ('above', 0.4)):
        path = path.kept(name, dict.fromkeys((*NAMES, 'gripper'), q))
    path.write(file)
    again = TaughtPath.read(file)
    assert again.names == ('above', 'über', 'yes') and again.times is None
    assert again.joint_names == NAMES and np.array_equal(again.q[:, 0], [0.4, -0.2, 0.0])
    content = yaml.safe_load(file.read_bytes())['joint_path']
    assert content['points'][1] == {'name': 'über', 'positions': [-0.2] * 3}
    assert content['joints'] == [*NAMES]
    motion = TaughtPath(NAMES, np.round(np.random.default_rng(1).normal(size=(9, 3)), 6),
                        times=0.5 * np.arange(9.0))
    motion.write(file)
    again = TaughtPath.read(file)
    assert np.array_equal(again.q, motion.q) and np.array_equal(again.times, motion.times)
    small = TaughtPath(NAMES, np.array([[-9e-5, 4e-7, -4e-7], [1e-6, 1234.5, -2.0]]))
    small.write(file)
    assert np.array_equal(TaughtPath.read(file).q, [[-9e-5, 0.0, 0.0], [1e-6, 1234.5, -2.0]])
    assert '[-0.00009, 0.0, 0.0]' in file.read_text()
    assert again.duration == 4.0 and path.duration == 0.0
    assert again.at_speed(0.5).duration == 8.0
    two = again.of_joints(['on', 'joint_1'])
    assert np.array_equal(two.q, motion.q[:, [2, 0]])
    for wrong, words in ((lambda: again.kept('a', {}), 'a recorded motion'),
                         (lambda: path.at_speed(0.5), 'motion.velocity_scale'),
                         (lambda: again.at_speed(-1.0), 'must be positive'),
                         (lambda: path.kept('a', {'joint_1': 0.0}), "no positions of 'joint_2'"),
                         (lambda: path.kept(' a', {}), 'not allowed'),
                         (lambda: path.of_joints(['x']), "no positions of 'x'"),
                         (lambda: path.write(tmp_path / 'no' / 'file'), 'cannot write'),
                         (lambda: TaughtPath.read(tmp_path), 'is no file'),
                         (lambda: TaughtPath.read(tmp_path / 'none'), 'No such file')):
        with pytest.raises(ParameterError, match=words):
            wrong()


def changed(**changes):
    """Return the text of a file that differs from a good one."""
    content = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    return yaml.safe_dump({'joint_path': content}).encode()


def points(*rows):
    """Return the text of a file with other points."""
    return changed(points=[*rows])


@pytest.mark.parametrize('data, words', [
    (b'{', 'is not plain YAML'), (b'joint_paths: {}', 'must have one key, joint_path'),
    (b'joint_path: []', 'must map joints, units and points'),
    (changed(joint=1), "has 'joint'; known are joints, units, points"),
    (changed(joints=['a', 'a']), 'each once'), (changed(joints=[]), 'must be a list of the names'),
    (changed(joints=None), 'joints is None'), (changed(joints=[1, 2]), 'must be a list'),
    (changed(units={'positions': 'deg'}), 'positions are in rad'),
    (changed(points=[]), 'must be a list of points'), (changed(points=None), 'points is None'),
    (points(3), 'point 1 of .* is 3'), (points({}), 'its positions are None'),
    (points({'positions': [0.0]}), 'must be 2 finite numbers'),
    (points({'positions': [0.0, float('nan')]}), 'must be 2 finite numbers'),
    (points({'positions': [0.0, True]}), 'must be 2 finite numbers'),
    (points({'positions': [0.0, 10**400]}), 'must be 2 finite numbers'),
    (points({'positions': [0.0, 1.0], 'velocity': 2}), "has 'velocity'"),
    (points({'positions': [0.0, 1.0], 'name': 'a\nb'}), 'is not allowed'),
    (points({'positions': [0.0, 1.0], 'time': 'x'}), "its time is 'x'"),
    (points({'positions': [0.0, 1.0], 'time': 0.5}), 'point 1 has the time 0.5 s'),
    (points({'positions': [0.0, 1.0], 'time': 0}, {'positions': [0.0, 1.0], 'time': 0}),
     'point 2 has the time 0 s; times must increase'),
    (points({'positions': [0.0, 1.0], 'time': 0}, {'positions': [0.0, 1.0]}),
     'point 2 has no time, others have')])
@pytest.mark.fault('clients', 'a file of waypoints that is none',
                   'refused in a sentence that names the point')
def test_files_that_are_none(data, words):
    """Each in one sentence."""
    with pytest.raises(ParameterError, match=words):
        path_of(data, 'the file')


def test_a_good_file():
    """Without units, too; numbers may be whole."""
    for data in (changed(), changed(units=None)):
        path = path_of(data, 'the file')
        assert path.names == ('one', '') and np.array_equal(path.q, [[0.0, 1.0], [0.5, -1.0]])
