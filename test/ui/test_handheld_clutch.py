# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The clutch of a phone or a headset: where the tip goes, and when it lets go."""

from dataclasses import replace
from math import cos, pi, sin

from hypothesis import given, strategies as st
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ik_node.base.errors import GoalError
from ik_node.base.se3 import pose
from ik_node.ui.handheld.clutch import (
    Clutch,
    ClutchOptions,
    HandSample,
    heading_of,
    SAMPLE_TIMEOUT_S,
    SampleClock,
)
from ik_node.ui.handheld.open_pages import OpenPages
from ik_node.ui.handheld.page_messages import FollowSettings, Heading

PERIOD = 1.0 / 50.0  # s, of the frames
OFFSET = 1234.5      # s, by which its clock is behind ours
RIGHT, UP, BACK = np.eye(3)  # the axes of WebXR
T_TIP = pose(Rotation.from_euler('xyz', [3.0, 0.2, -0.4]).as_matrix(), [0.4, -0.1, 0.5])
small = st.floats(-0.02, 0.02)
angles = st.floats(-pi, pi)
vectors = st.tuples(small, small, small).map(np.array)
rotations = st.tuples(angles, angles, angles).map(
    lambda euler: Rotation.from_euler('xyz', euler).as_matrix())


class Hand:
    """A hand at a page, whose samples arrive as they are made unless told otherwise."""

    def __init__(self, options=None, rotation=None):
        self.clutch = Clutch(options or ClutchOptions())
        self.time, self.late = 10.0, 0.0
        self.position = np.array([0.1, 1.2, -0.3])
        self.rotation = np.eye(3) if rotation is None else rotation
        self.send(False)

    def send(self, held, tracked=True, refusal='', T_tip=T_TIP):
        """Send where it is a frame later; return the target."""
        self.time += PERIOD
        return self.clutch.take(HandSample(self.time, self.position, self.rotation, held, tracked),
                                self.time + OFFSET + self.late, T_tip, refusal)

    def move(self, shift, R=None):
        """Move within a frame; return the target."""
        self.position = self.position + shift
        self.rotation = self.rotation if R is None else R @ self.rotation
        return self.send(True)


def grasped(**options):
    """Return a hand that has just pressed."""
    hand = Hand(ClutchOptions(**options))
    assert hand.send(True) is not None
    return hand


# ---- where the tip goes -----------------------------------------------------

@given(rotations, st.floats(0.1, 2.0), st.booleans(), angles)
def test_nothing_jumps_at_a_press(rotation, scale, turns, heading):
    """The first target is the pose of the tip, however hand and page are."""
    hand = Hand(ClutchOptions(scale, turns, heading), rotation)
    assert np.allclose(hand.send(True), T_TIP, atol=1e-12)
    assert np.allclose(hand.send(True), T_TIP, atol=1e-12)


@pytest.mark.parametrize('hand_axis, base_axis', [
    (-BACK, [1, 0, 0]), (-RIGHT, [0, 1, 0]), (UP, [0, 0, 1])])
def test_axes(hand_axis, base_axis):
    """Forward, left and up of the user are x, y and z of the base, also as axes of rotation."""
    hand = grasped()
    T = hand.move(0.03 * hand_axis, Rotation.from_rotvec(0.2 * hand_axis).as_matrix())
    assert np.allclose(T[:3, 3] - T_TIP[:3, 3], 0.03 * np.array(base_axis))
    turn = Rotation.from_matrix(T[:3, :3] @ T_TIP[:3, :3].T).as_rotvec()
    assert np.allclose(turn, 0.2 * np.array(base_axis))


@given(vectors, st.floats(0.1, 2.0), angles)
def test_scale_and_heading(shift, scale, heading):
    """The way is scaled; a user who faces to his left is at a base that is turned so."""
    plain, other = grasped(), grasped(scale=scale, heading=heading)
    way = plain.move(shift)[:3, 3] - T_TIP[:3, 3]
    seen = other.move(shift)[:3, 3] - T_TIP[:3, 3]
    assert np.allclose(seen, scale * Rotation.from_euler('z', -heading).apply(way))


@given(angles, st.floats(-1.2, 1.2), angles)
def test_forward_is_where_the_device_looks(yaw, pitch, roll):
    """With the heading of its look, the way along this look is x and z of the base alone."""
    rotation = Rotation.from_euler('YXZ', [yaw, pitch, roll]).as_matrix()
    hand = grasped(heading=heading_of(rotation))
    way = hand.move(rotation @ [0.0, 0.0, -0.03])[:3, 3] - T_TIP[:3, 3]
    assert np.allclose(way, [0.03 * cos(pitch), 0.0, 0.03 * sin(pitch)], atol=1e-9)


@pytest.mark.parametrize('pitch', [-pi / 2, pi / 2, 1.4])
def test_no_heading_of_a_steep_look(pitch):
    with pytest.raises(GoalError, match='hold it upright'):
        heading_of(Rotation.from_euler('x', pitch).as_matrix())


@given(rotations, st.tuples(small, small, small))
def test_turns(rotation, turn):
    """The tip turns as the hand does, from wherever both began; or not, if that is off."""
    R = Rotation.from_rotvec(turn).as_matrix()
    for turns in (True, False):
        hand = Hand(ClutchOptions(turns=turns), rotation)
        hand.send(True)
        T = hand.move(np.zeros(3), R)
        angle = Rotation.from_matrix(T[:3, :3] @ T_TIP[:3, :3].T).magnitude()
        assert angle == pytest.approx(np.linalg.norm(turn) if turns else 0.0, abs=1e-7)
        assert np.allclose(T[:3, 3], T_TIP[:3, 3])


@given(st.lists(st.tuples(vectors, rotations), min_size=1, max_size=8))
def test_ways_add_up(moves):
    """The target depends on where the hand is, not on how it came there."""
    hand, straight = grasped(), grasped()
    straight.rotation = hand.rotation
    for shift, R in moves:
        R = Rotation.from_rotvec(0.1 * Rotation.from_matrix(R).as_rotvec() / pi).as_matrix()
        T = hand.move(shift, R)
    one = straight.clutch._grasp.target(HandSample(0.0, hand.position, hand.rotation, True))
    assert np.allclose(T, one)


def test_options_count_from_the_next_press_on():
    """A slider that is moved meanwhile does not move the arm."""
    hand = grasped()
    before = hand.move(0.02 * UP)
    hand.clutch.options = ClutchOptions(2.0, False, 1.0)
    assert np.allclose(hand.send(True), before)
    hand.send(False)
    assert np.allclose(hand.send(True), T_TIP)
    assert np.allclose(hand.move(0.02 * UP)[:3, 3], T_TIP[:3, 3] + [0.0, 0.0, 0.04])


# ---- when it lets go --------------------------------------------------------

def test_a_hand_that_comes_with_a_pressed_button():
    """Nothing begins without a fresh press: neither on a new page nor after a release."""
    clutch = Clutch()
    for k in range(5):
        sample = HandSample(k * PERIOD, np.zeros(3), np.eye(3), True)
        assert clutch.take(sample, k * PERIOD, T_TIP) is None
    hand = grasped()
    hand.clutch.release('why')
    assert hand.send(True) is None and not hand.clutch.holding
    assert hand.clutch.notice == 'why; press again to go on'
    assert hand.send(False) is None and hand.send(True) is not None and not hand.clutch.notice


def test_the_button_is_let_go():
    hand = grasped()
    assert hand.send(False) is None and not hand.clutch.holding and not hand.clutch.notice


@given(vectors, st.floats(0.0, 0.15))
def test_a_fast_hand_lets_go(direction, dt):
    """Up to 3 m/s it is followed; the target is never faster than that, times the scale."""
    if np.linalg.norm(direction) < 1e-6:
        return
    direction = direction / np.linalg.norm(direction)
    for speed, holds in ((2.9, True), (3.5, False)):
        hand = grasped(scale=2.0)
        hand.time += dt
        way = speed * (dt + PERIOD) + 0.005
        T = hand.move(way * direction)
        assert hand.clutch.holding == (T is not None) == holds
        if holds:
            assert np.linalg.norm(T[:3, 3] - T_TIP[:3, 3]) < 2.0 * (3.0 * (dt + PERIOD) + 0.005)
        else:
            assert 'jumped by' in hand.clutch.notice
            assert hand.send(True) is None


def test_frames_that_come_in_pairs():
    """A busy device makes two soon after each other; the way between them is that of a frame."""
    hand = grasped()
    for dt in (2.0 * PERIOD - 1e-3, 1e-3) * 5:
        hand.time += dt - PERIOD
        assert hand.move(PERIOD * UP) is not None


def test_a_fast_turn_lets_go():
    hand = grasped()
    assert hand.move(np.zeros(3), Rotation.from_euler('y', 0.2).as_matrix()) is not None
    assert hand.move(np.zeros(3), Rotation.from_euler('y', 0.5).as_matrix()) is None
    assert 'jumped by 0.5 rad' in hand.clutch.notice


def test_lost_tracking_lets_go():
    hand = grasped()
    assert hand.send(True, tracked=False) is None
    assert 'lost its position' in hand.clutch.notice
    assert hand.send(True) is None
    hand.send(False)
    assert hand.send(True, tracked=False) is None and not hand.clutch.holding


def test_samples_that_stop_let_go():
    """By the watch at any time, and by the next sample if that was late in coming."""
    hand = grasped()
    now = hand.time + OFFSET
    hand.clutch.check(now + 0.9 * SAMPLE_TIMEOUT_S)
    assert hand.clutch.holding
    hand.clutch.check(now + 1.1 * SAMPLE_TIMEOUT_S)
    assert not hand.clutch.holding and 'nothing came' in hand.clutch.notice
    hand = grasped()
    hand.time += 0.25
    assert hand.send(True) is None and 'told nothing of the hand' in hand.clutch.notice


def test_late_samples_let_go():
    """Samples that the network held back are those of a hand that may be elsewhere by now."""
    hand = grasped()
    hand.late = 0.15
    assert hand.send(True) is not None
    assert hand.clutch.delay == pytest.approx(0.15)
    hand.late = 0.25
    assert hand.send(True) is None and 'late' in hand.clutch.notice


def test_old_samples_count_for_nothing():
    """One that is no newer than the last moves nothing, and keeps nothing alive."""
    hand = grasped()
    now = hand.time + OFFSET
    for k in range(30):
        sample = HandSample(hand.time - 0.01 * k, hand.position + k, hand.rotation, True)
        assert hand.clutch.take(sample, now + 0.005 * k) is None
    hand.clutch.check(now + 0.21)
    assert not hand.clutch.holding


@given(st.lists(st.floats(0.0, 0.1), min_size=1, max_size=300), st.floats(-1e-4, 1e-4))
def test_delays_are_those_of_the_network(delays, drift):
    """The fastest of the last seconds tells the difference of the clocks, which may drift."""
    clock, seen, real = SampleClock(), [], []
    for k, late in enumerate(delays):
        time = 0.1 * k
        now = OFFSET + time * (1.0 + drift) + late
        seen.append(clock.delay(time, now))
        real.append(late)
        window = real[max(0, k - 49):]
        assert -1e-9 <= seen[-1] <= late - min(real) + 1e-3 * (1 + abs(drift))
        assert seen[-1] >= late - min(window) - 1e-3


def test_a_clock_that_slept():
    """After a pause without samples the clocks are compared anew."""
    clock = SampleClock()
    assert clock.delay(0.0, 100.0) == 0.0
    assert clock.delay(0.5, 160.0) == 0.0
    assert clock.delay(0.6, 160.2) == pytest.approx(0.1)


def test_a_press_that_is_refused():
    """It is not tried again until the next press, which may be taken."""
    hand = Hand()
    assert hand.send(True, refusal='not now') is None and hand.clutch.notice == 'not now'
    assert hand.send(True) is None
    hand.send(False)
    assert hand.send(True) is not None


# ---- several pages ----------------------------------------------------------

def sample(hand, held, k):
    return replace(HandSample(0.0, hand, np.eye(3), held), time=k * PERIOD)


def test_one_page_holds_the_clutch():
    """Others are told of it, and can press once it lets go, or is closed."""
    pages, hand = OpenPages(), np.zeros(3)
    for number in (1, 2):
        pages.open(number, f'page {number}')
        assert pages.take(number, sample(hand, False, 0), 0.0) is None
    pages.set(2, FollowSettings(0.5, False))
    assert pages.presses(1, sample(hand, True, 1))
    assert pages.take(1, sample(hand, True, 1), PERIOD, T_TIP) is not None
    assert pages.holder == 1 and 'page 1 moves the arm' in pages.states('', '', '')[2].refusal
    assert pages.take(2, sample(hand, True, 1), PERIOD, T_TIP) is None
    assert 'page 1 moves the arm' in pages.states('', '', '')[2].notice
    assert pages.states('', 'well', 'green')[1].holding
    pages.close(1)
    assert pages.holder is None and [*pages.states('', '', '')] == [2]
    assert pages.take(2, sample(hand, True, 2), 2 * PERIOD, T_TIP) is None  # no fresh press
    pages.take(2, sample(hand, False, 3), 3 * PERIOD)
    pages.take(2, sample(hand, True, 4), 4 * PERIOD, T_TIP)
    T, _ = pages.take(2, sample(hand + 0.02 * UP, True, 5), 5 * PERIOD)
    assert np.allclose(T[:3, 3], T_TIP[:3, 3] + [0.0, 0.0, 0.01])


def test_sentences_on_a_page():
    pages = OpenPages()
    pages.open(1, 'page 1')
    pages.set(1, Heading(Rotation.from_euler('x', -pi / 2).as_matrix()))
    assert 'hold it upright' in pages.states('', '', '')[1].notice
    pages.set(1, Heading(np.eye(3)))
    assert pages.states('', '', '')[1].notice == ''
    # An answer that comes late takes the place of no newer sentence.
    pages.note(1, 'asked')
    pages.note(2, 'of a page that is closed')
    pages.note(1, 'answered', instead_of='asked')
    pages.note(1, 'late', instead_of='asked')
    assert pages.states('', '', '')[1].notice == 'answered'
