# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The checker finds what it should, and nothing in a motion whose peaks are known."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from hypothesis import given, strategies as st
from motion_checker import begins_on, Bounds, bounds_of, faults
import numpy as np
import pytest

ZERO = np.zeros(2)
# Rest to rest in one quintic: peaks of a motion over 1 in 1 s.
PEAKS = 1.875, 10.0 / np.sqrt(3.0), 60.0
ALL = 'position', 'velocity', 'acceleration', 'jerk'


def state(s):
    """Return position, velocity and acceleration at s of the motion over 1 in 1 s."""
    return (s**3 * (10.0 + s * (6.0 * s - 15.0)), 30.0 * s**2 * (1.0 - s)**2,
            60.0 * s * (1.0 - s) * (1.0 - 2.0 * s))


def message(times, rows, names=('a', 'b')):
    """Return what looks like a JointTrajectory."""
    stamps = [divmod(round(t * 1e9), 10**9) for t in times]
    return SimpleNamespace(joint_names=list(names), points=[
        SimpleNamespace(time_from_start=SimpleNamespace(sec=s, nanosec=n),
                        positions=list(q), velocities=list(qd), accelerations=list(qdd))
        for (s, n), (q, qd, qdd) in zip(stamps, rows)])


def motion(distance, duration, cuts=(1.0,)):
    """Return that motion from 0, cut into points; joint b goes half the way back."""
    scale = distance * np.array([1.0, -0.5])
    return message([c * duration for c in cuts], [
        [value * scale / duration**k for k, value in enumerate(state(c))] for c in cuts])


def bounds(distance, duration, share):
    """Return bounds of so large a share of the motion's peaks."""
    v, a, j = (np.full(2, share * peak * distance / duration**(k + 1))
               for k, peak in enumerate(PEAKS))
    return Bounds(np.array([-0.01, -0.6 * distance]), np.array([1.1 * distance, 0.1]), v, a, j)


@given(st.floats(0.01, 3.0), st.floats(0.05, 20.0),
       st.lists(st.integers(1, 99), max_size=6, unique=True))
def test_known_peaks_between_the_points(distance, duration, cuts):
    """However it is cut, bounds just above the peaks are kept and just below are not."""
    moved = motion(distance, duration, [*(0.01 * c for c in sorted(cuts)), 1.0])
    start = (ZERO, ZERO, ZERO)
    goal = distance * np.array([1.0, -0.5])
    assert faults(moved, bounds(distance, duration, 1.002), start, goal) == []
    tight = bounds(distance, duration, 1.002)
    below = bounds(distance, duration, 0.997)
    for name in ALL[1:]:
        if name == 'jerk' and 0.01 * duration < 2.2e-3:
            continue  # judged by its mean over so short a step
        found = faults(moved, replace(tight, **{name: getattr(below, name)}), start)
        slack = 1e-6 < 3e-4 * getattr(below, name)[0]
        assert not slack or (len(found) == 1 and found[0].startswith(f'{name} ')), (name, found)
    inside = replace(tight, upper=np.array([0.995 * distance, 0.1]))
    assert [f.split()[0] for f in faults(moved, inside, start)] == ['position']


CUTS = (0.2, 0.45, 0.5, 0.8, 1.0)


def mutations():
    """Yield what is done to a good message, and the word of the fault."""
    def point(k, **fields):
        def change(moved):
            for name, value in fields.items():
                array = list(getattr(moved.points[k], name))
                array[1] = value if isinstance(value, float) else value(array[1])
                setattr(moved.points[k], name, array)
        return change

    yield 'nan', point(2, positions=float('nan')), 'finite'
    yield 'infinite', point(1, velocities=float('inf')), 'finite'
    yield 'a jump in position', point(2, positions=lambda v: v + 0.05), 'velocity'
    yield 'a step in velocity', point(2, velocities=lambda v: v + 0.2), 'acceleration'
    yield 'a step in acceleration', point(2, accelerations=lambda v: v + 2.0), 'jerk'
    yield 'moving at the end', point(-1, velocities=1e-9), 'rest'
    yield 'accelerated at the end', point(-1, accelerations=1e-9), 'rest'
    yield 'elsewhere at the end', point(-1, positions=lambda v: v + 1e-6), 'goal'
    yield 'same times', lambda m: setattr(m.points[2], 'time_from_start',
                                          m.points[1].time_from_start), 'times'
    yield 'a column is missing', lambda m: m.points[1].positions.pop(), 'numbers for 2'
    yield 'no accelerations', lambda m: m.points[1].accelerations.clear(), 'numbers for 2'
    yield 'a name twice', lambda m: setattr(m, 'joint_names', ['a', 'a']), 'twice'
    yield 'no points', lambda m: m.points.clear(), 'no points'


@pytest.mark.parametrize('change, word', [pytest.param(change, word, id=name)
                                          for name, change, word in mutations()])
def test_a_faulty_motion_is_found(change, word):
    """Each fault of a message is reported by its own word."""
    moved = motion(0.5, 1.0, CUTS)
    goal = 0.5 * np.array([1.0, -0.5])
    limits = bounds(0.5, 1.0, 1.01)
    assert faults(moved, limits, (ZERO, ZERO, ZERO), goal) == []
    change(moved)
    found = faults(moved, limits, None if 'points' in word else (ZERO, ZERO, ZERO), goal)
    assert any(word in fault for fault in found), found


def test_a_start_outside_may_only_go_inward():
    """A joint beyond its limit comes back; one that goes further out first is found."""
    limits = Bounds(np.array([-9.0, -9.0]), np.array([0.5, 9.0]), *np.full((3, 2), 99.0))
    back = motion(-0.4, 1.0)
    start = (np.array([0.6, 0.0]), ZERO, ZERO)
    back.points[0].positions = [0.2, 0.2]
    assert faults(back, limits, start) == []
    swung = faults(back, limits, (start[0], np.array([0.5, 0.0]), ZERO))
    assert len(swung) == 1 and swung[0].startswith('position')


def test_where_a_motion_continues():
    """The first point of one motion is found on the other, at the right time only."""
    old = motion(0.5, 1.0, CUTS)
    scale = 0.5 * np.array([1.0, -0.5])
    rows = [[value * scale for value in state(0.6)], [scale, ZERO, ZERO]]
    new = message([0.1, 0.9], rows)
    start, gaps = begins_on(new, old, elapsed=0.48, room=0.05)
    assert gaps.max() < 1e-6
    for ours, expected in zip(start, state(0.5)):
        assert np.abs(ours - expected * scale).max() < 1e-6
    assert begins_on(new, old, elapsed=0.3, room=0.05)[1][0] > 1e-3
    rows[0][1] = rows[0][1] + 0.01
    assert begins_on(message([0.1, 0.9], rows), old, 0.48, 0.05)[1][1] > 5e-3


def test_where_a_reversing_motion_continues():
    """The same positions come twice, the second time with opposite velocities."""
    scale = np.array([1.0, -0.5])
    there = [[0.5 * t**2 * scale, t * scale, scale] for t in (-0.1, -0.05, 0.0, 0.05, 0.1)]
    old = message([0.0, 0.05, 0.1, 0.15, 0.2, 0.5], [*there, [scale, ZERO, ZERO]])
    for t in (-0.03, 0.03):
        new = message([0.02, 0.9], [[0.5 * t**2 * scale, t * scale, scale], [scale, ZERO, ZERO]])
        for elapsed in (0.05, 0.08, 0.11, 0.14):
            start, gaps = begins_on(new, old, elapsed, room=0.2)
            assert gaps.max() < 1e-9
            assert np.abs(start[1] - (t - 0.02) * scale).max() < 1e-9


def test_bounds_come_from_the_urdf():
    """Limits by name, in the order asked for; a continuous joint has none."""
    arm = Path(__file__).parents[1] / 'urdf/six_axis_arm.urdf'
    some = bounds_of(arm, ['joint_2', 'joint_1'], acceleration=(1.0, 3.0))
    assert some.upper[0] == 2.2 and some.acceleration.tolist() == [1.0, 3.0]
    assert some.jerk.tolist() == [20.0, 20.0] and (some.lower < 0.0).all()
