# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The geometry of tool paths against closed forms, differences, and Pinocchio's rotations."""

from math import nan, pi

from hypothesis import given, settings, strategies as st
from nightly import samples
import numpy as np
import pinocchio as pin
import pytest

from ik_node.base.errors import ParameterError, PathError, Reason
from ik_node.motion.tool_path.path import MAX_PATH_POSES, ToolPath
from ik_node.motion.tool_path.segments import METRES_PER_RADIAN


def pose(position, rotation_vector=(0.0, 0.0, 0.0)):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = pin.exp3(np.array(rotation_vector, dtype=float)), position
    return T


def apart(T_a, T_b):
    """Return distance (m) and angle (rad) between two poses."""
    return (np.linalg.norm(T_a[:3, 3] - T_b[:3, 3]),
            np.linalg.norm(pin.log3(T_a[:3, :3].T @ T_b[:3, :3])))


def random_poses(seed, count):
    rng = np.random.default_rng(seed)
    return [pose(rng.uniform(-0.5, 0.5, 3), rng.uniform(-0.8, 0.8, 3)) for _ in range(count)]


@given(st.integers(0, 10**6), st.floats(0.0, 1.0))
@settings(max_examples=200, deadline=None)
def test_a_line_is_straight_and_turns_the_shortest_way(seed, share):
    a, b = random_poses(seed, 2)
    path = ToolPath.lines([a, b])
    w = pin.log3(b[:3, :3] @ a[:3, :3].T)
    expected = pose((1.0 - share) * a[:3, 3] + share * b[:3, 3])
    expected[:3, :3] = pin.exp3(share * w) @ a[:3, :3]
    assert max(apart(path.poses([share * path.length])[0], expected)) < 1e-12
    assert path.length == pytest.approx(max(
        np.linalg.norm(b[:3, 3] - a[:3, 3]), METRES_PER_RADIAN * np.linalg.norm(w)))


def test_without_a_radius_it_stops_at_every_corner_and_goes_through_it():
    poses = random_poses(1, 6)
    path = ToolPath.lines(poses)
    assert len(path.stops) == 6
    for T, expected in zip(path.poses(path.stops), poses):
        assert max(apart(T, expected)) < 1e-12


def differences(path, order, count=40001):
    """Return the differences of positions and rotation matrices by s, of an order."""
    T = path.poses(np.linspace(0.0, path.length, count))[:, :3]
    h = path.length / (count - 1)
    return np.diff(T, n=order, axis=0) / h**order


@pytest.mark.parametrize('radius', (0.01, 0.05, 10.0))
def test_a_blend_is_smooth_near_its_corner_and_ends_in_the_poses(radius):
    poses = random_poses(2, 7)
    path = ToolPath.lines(poses, radius)
    assert list(path.stops) == [0.0, path.length]
    assert max(apart(path.poses([0.0])[0], poses[0])) < 1e-12
    assert max(apart(path.poses([path.length])[0], poses[-1])) < 1e-12
    s = np.linspace(0.0, path.length, 20001)
    p = path.poses(s)[:, :3, 3]
    a, b = (np.array([T[:3, 3] for T in part]) for part in (poses[:-1], poses[1:]))
    share = np.clip(((p[:, None] - a) * (b - a)).sum(-1) / ((b - a)**2).sum(-1), 0.0, 1.0)
    off = np.linalg.norm(p[:, None] - a - share[..., None] * (b - a), axis=-1).min(axis=1)
    from_corner = np.linalg.norm(p[:, None] - a[1:], axis=-1).min(axis=1)
    lengths = np.linalg.norm(b - a, axis=1)
    assert off.max() > 0.1 * min(radius, 0.2 * lengths.min())
    assert (off[from_corner > radius] < 1e-12).all()
    # Curvature is continuous: its steps shrink with the distance of the samples.
    coarse, fine = (np.abs(np.diff(differences(path, 2, count), axis=0)).max()
                    for count in (10001, 40001))
    assert fine < 0.35 * coarse
    assert np.abs(differences(path, 1)[:, :, 3]).max() <= 1.0 + 1e-9


def test_half_of_the_shorter_neighbour_bounds_a_blend():
    """The corners of a short segment are blended up to its middle, which stays on the path."""
    path = ToolPath.lines([pose([0, 0, 0]), pose([1, 0, 0]), pose([1, 0.02, 0]),
                           pose([0, 0.02, 0])], 0.3)
    assert apart(path.poses([1.01])[0], pose([1, 0.01, 0]))[0] < 1e-12
    assert apart(path.poses([0.99])[0], pose([0.99, 0, 0]))[0] < 1e-12
    assert apart(path.poses([1.0])[0], pose([1.0, 0, 0]))[0] > 1e-3


def test_equal_poses_and_poses_on_the_line_are_left_out():
    poses = [pose([x, 0, 0], [0, 0, 0.5 * x]) for x in (0.0, 0.0, 0.2, 0.2, 0.7, 1.0, 1.0)]
    path = ToolPath.lines(poses)
    assert len(path.table) == 1 and path.length == pytest.approx(1.0)
    bent = ToolPath.lines([*poses, pose([1, 1, 0], [0, 0, 0.5])])
    assert len(bent.table) == 2
    # A pose that is passed at another share of the rotation is a corner.
    assert len(ToolPath.lines([poses[0], pose([0.2, 0, 0]), poses[-1]]).table) == 2
    # So is one where the line turns back.
    assert len(ToolPath.lines([poses[0], poses[-1], poses[2]]).table) == 2


def test_lines_may_begin_elsewhere():
    a, b, c = random_poses(3, 3)
    path = ToolPath.lines([b, c], start=a)
    assert max(apart(path.poses([0.0])[0], a)) < 1e-12 and len(path.stops) == 3
    assert len(ToolPath.lines([a, b, c], start=a).stops) == 3


@given(st.integers(0, 10**6))
@settings(max_examples=samples(usual=60, nightly=200), deadline=None)
def test_an_arc_goes_through_its_three_poses_on_a_circle(seed):
    poses = random_poses(seed, 3)
    path = ToolPath.arc(*poses)
    s = np.linspace(0.0, path.length, 2001)
    T = path.poses(s)
    assert max(apart(T[0], poses[0])) < 1e-9 and max(apart(T[-1], poses[2])) < 1e-9
    row = path.table[0]
    centre, radius = row[:3], np.linalg.norm(row[6:9])
    assert np.allclose(np.linalg.norm(T[:, :3, 3] - centre, axis=1), radius, rtol=1e-9)
    # It meets the second pose on the way, and goes round less than once.
    k = int(np.linalg.norm(T[:, :3, 3] - poses[1][:3, 3], axis=1).argmin())
    near = path.poses(np.linspace(s[max(k - 1, 0)], s[min(k + 1, 2000)], 4001))
    far = min(np.linalg.norm(t[:3, 3] - poses[1][:3, 3]) for t in near)
    assert far < 1e-3 * path.length
    best = min(near, key=lambda t: np.linalg.norm(t[:3, 3] - poses[1][:3, 3]))
    assert apart(best, poses[1])[1] < 2e-3 * (1.0 + path.length)
    chords = np.linalg.norm(np.diff(T[:, :3, 3], axis=0), axis=1).sum()
    assert chords < 2.0 * pi * radius


def test_a_tool_that_rotates_with_the_circle_rotates_evenly():
    poses = [pose([np.cos(a), np.sin(a), 0], [0, 0, a]) for a in (0.0, 0.7, 2.1)]
    path = ToolPath.arc(*poses)
    for a in np.linspace(0.0, 2.1, 30):
        expected = pose([np.cos(a), np.sin(a), 0], [0, 0, a])
        assert max(apart(path.poses([path.length * a / 2.1])[0], expected)) < 1e-9


@pytest.mark.parametrize('angle', (2.0 * pi, -0.5 * pi, 4.5 * pi))
@pytest.mark.parametrize('turning', (True, False))
def test_an_arc_about_an_axis(angle, turning):
    begin = pose([1.3, 0.2, 0.4], [0.3, 0.1, -0.2])
    path = ToolPath.arc_about(begin, [0.5, 0.2, 9.0], [0, 0, 3.0], angle, turning)
    for share in (0.0, 0.3, 1.0):
        R = pin.exp3(np.array([0, 0, share * angle]))
        expected = np.eye(4)
        expected[:3, 3] = [0.5, 0.2, 0.4] + R @ [0.8, 0, 0]
        expected[:3, :3] = (R if turning else np.eye(3)) @ begin[:3, :3]
        assert max(apart(path.poses([share * path.length])[0], expected)) < 1e-9


def test_paths_are_joined_where_they_meet():
    begin = pose([0.5, 0, 0])
    arc = ToolPath.arc_about(begin, [0, 0, 0], [0, 0, 1], pi / 2)
    line = ToolPath.lines([pose([0.5, -0.3, 0]), begin])
    for radius, stops in ((0.0, 3), (0.05, 2)):
        path = ToolPath.joined([line, arc], radius)
        assert len(path.stops) == stops
        assert max(apart(path.poses([path.length])[0], arc.poses([arc.length])[0])) < 1e-12
    with pytest.raises(PathError, match='path 1 begins'):
        ToolPath.joined([arc, line])
    with pytest.raises(PathError, match='no path'):
        ToolPath.joined([])


def test_samples_are_even():
    path = ToolPath.lines([pose([0, 0, 0]), pose([1, 0, 0])])
    assert np.allclose(path.sampled(5)[:, 0, 3], [0, 0.25, 0.5, 0.75, 1.0])
    with pytest.raises(ParameterError):
        path.sampled(1)


GOOD = [pose([0, 0, 0]), pose([1, 0, 0])]
SKEWED = np.diag([1.0, 1.0, 1.1, 1.0])


@pytest.mark.parametrize('make, reason, words', (
    (lambda: ToolPath.lines([]), Reason.PATH_INVALID, 'the path is empty'),
    (lambda: ToolPath.lines(None), Reason.PATH_INVALID, 'the path is empty'),
    (lambda: ToolPath.lines(GOOD[:1]), Reason.ALREADY_THERE, 'goes nowhere'),
    (lambda: ToolPath.lines(GOOD[:1] * 5), Reason.ALREADY_THERE, 'goes nowhere'),
    (lambda: ToolPath.lines(GOOD[:1], start=GOOD[0]), Reason.ALREADY_THERE, 'goes nowhere'),
    (lambda: ToolPath.lines([*GOOD, pose([nan, 0, 0])]), Reason.GOAL_NOT_FINITE,
     'pose 2 of the path.*not finite'),
    (lambda: ToolPath.lines([*GOOD, SKEWED]), Reason.GOAL_ORIENTATION_NOT_UNIT, 'pose 2'),
    (lambda: ToolPath.lines([*GOOD, np.eye(3)]), Reason.GOAL_NOT_FINITE, 'pose 2'),
    (lambda: ToolPath.lines([*GOOD, pose([1, 1, 0], [pi, 0, 0])]), Reason.PATH_INVALID,
     'from pose 1 to pose 2.*either way'),
    (lambda: ToolPath.lines([pose([1, 1, 0], [pi - 1e-5, 0, 0])], start=GOOD[0]),
     Reason.PATH_INVALID, 'from the start to pose 0'),
    (lambda: ToolPath.lines([GOOD[0]] * (MAX_PATH_POSES + 1)), Reason.PATH_INVALID, 'split it'),
    (lambda: ToolPath.arc(*GOOD, pose([2, 0, 0])), Reason.PATH_INVALID, 'on one line'),
    (lambda: ToolPath.arc(*GOOD, GOOD[1]), Reason.PATH_INVALID, 'the same'),
    (lambda: ToolPath.arc(*GOOD, GOOD[0]), Reason.PATH_INVALID, 'the same'),
    (lambda: ToolPath.arc(*GOOD, pose([0, 1, 0], [0, pi, 0])), Reason.PATH_INVALID, 'either way'),
    (lambda: ToolPath.arc(*GOOD, pose([0, nan, 0])), Reason.GOAL_NOT_FINITE, 'pose 2'),
    (lambda: ToolPath.arc_about(GOOD[0], [0, 0, 1], [0, 0, 1], 1.0), Reason.PATH_INVALID,
     'on its own axis'),
    (lambda: ToolPath.arc_about(GOOD[0], [0, 1, 1], [0, 0, 0], 1.0), Reason.PATH_INVALID,
     'may not be zero'),
    (lambda: ToolPath.arc_about(GOOD[0], [0, 1, 1], [0, 0, 1], nan), Reason.PATH_INVALID,
     'finite'),
    (lambda: ToolPath.arc_about(GOOD[0], [0, 1], [0, 0, 1], 1.0), Reason.PATH_INVALID,
     'three finite numbers'),
))
def test_bad_input_is_refused_in_one_sentence(make, reason, words):
    with pytest.raises(PathError, match=words) as caught:
        make()
    assert caught.value.reason is reason and caught.value.fraction == 0.0
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize('radius', (-0.1, nan, float('inf'), 'wide', None))
def test_an_invalid_blend_radius_is_refused(radius):
    with pytest.raises(ParameterError, match='blend radius'):
        ToolPath.lines(GOOD, radius)
