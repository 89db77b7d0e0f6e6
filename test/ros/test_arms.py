# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms and two simulated controllers as processes: one clock, no collision, one answer."""

from arms_rig import begins_anew, READY, running, SIMULATED
from geometry_msgs.msg import Pose, PoseArray
from harness import once_each, reasons
import numpy as np
import pinocchio as pin
import pytest
from std_msgs.msg import Empty
from two_arms import both, model, oracle, TREE

# The hands cross on the direct way from one to the other.
LEFT_ABOVE, RIGHT_ABOVE = both(pan=-0.36), both(pan=-0.36)
for _posture, _sign in ((LEFT_ABOVE, 1.0), (RIGHT_ABOVE, -1.0)):
    _posture[TREE.joint_names.index('left_shoulder_lift')] = -0.45 * _sign
    _posture[TREE.joint_names.index('right_shoulder_lift')] = 0.45 * _sign
CLOCK_TOLERANCE_S = 1e-5
LONGEST_GAP_S = 0.03  # between two states
BETWEEN_STATES_M = 5e-5  # by which hands are elsewhere than on a line from state to state


@pytest.fixture(scope='module')
def arms(tmp_path_factory):
    """Return the probe of a running system, for all tests that leave it at rest."""
    with running(tmp_path_factory.mktemp('arms')) as probe:
        yield probe


def recorded(probe, joints):
    """Return stamps (k,), s, and positions (k, n) of joints in what was published."""
    rows = [(message.header.stamp.sec % 10_000 + 1e-9 * message.header.stamp.nanosec,
             [message.position[list(message.name).index(joint)] for joint in joints])
            for _, message in probe.states if joints[0] in message.name]
    return np.array([t for t, _ in rows]), np.array([q for _, q in rows])


def offsets(probe, name):
    """
    Return by how much the clock of a controller is behind the stamp of its trajectory, (k,), s.

    From the joint states: where the joints are on the straight way of the last trajectory.
    """
    message = probe.sent[name][-1]
    times = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec
                      for p in message.points])
    states = np.array([(p.positions, p.velocities, p.accelerations) for p in message.points])
    begin = message.header.stamp.sec % 10_000 + 1e-9 * message.header.stamp.nanosec
    way = states[-1, 0] - states[0, 0]
    stamps, q = recorded(probe, list(message.joint_names))
    share = (q - states[0, 0]) @ way / (way @ way)
    under_way = (share > 0.05) & (share < 0.95) & (stamps > begin)
    # The planned share on a fine grid, by the quintics between the points.
    shares = states @ way / (way @ way)
    shares[:, 0] -= states[0, 0] @ way / (way @ way)
    fine = np.linspace(times[0], times[-1], 50_001)
    from scipy.interpolate import BPoly
    planned = BPoly.from_derivatives(times, shares.tolist())(fine)
    return stamps[under_way] - begin - np.interp(share[under_way], planned, fine)


def assert_apart(probe, of=None):
    """Assert that the pairs of a model, by default all, keep their margin in what was recorded."""
    of = of or model()
    names = [[joint for joint in TREE.joint_names if ('right' in joint) == right]
             for right in (False, True)]
    (times, left), (others, right) = (recorded(probe, joints) for joints in names)
    after = np.clip(np.searchsorted(others, times), 1, len(others) - 1)
    inside = (times >= others[0]) & (times <= others[-1]) \
        & (others[after] - others[after - 1] < LONGEST_GAP_S)
    Q = np.empty((int(inside.sum()), TREE.n))
    for joints, values in ((names[0], left[inside]), (names[1], np.column_stack(
            [np.interp(times[inside], others, column) for column in right.T]))):
        Q[:, [TREE.joint_names.index(joint) for joint in joints]] = values
    assert len(Q) > 20
    judge = oracle(of)
    lacking = [(of.margins - judge.distances(q)).max()
               for q in (*Q[~of.check_many(Q)], *Q[::max(1, len(Q) // 15)])]
    assert max(lacking) < BETWEEN_STATES_M, max(lacking)


def test_both_controllers_move_on_one_clock(arms):
    """One stamp, the same times, and the recorded commands show the same clock."""
    begins_anew(arms)
    goal = both(pan=0.5, lift=0.2, elbow=-0.4, torso=0.3)
    stamp = arms.send_posture(goal)
    assert reasons(arms, stamp) == ['ACCEPTED', 'REACHED']
    left, right = (arms.sent[name] for name in SIMULATED)
    assert len(left) == len(right) == 1
    assert left[0].header.stamp == right[0].header.stamp
    assert [p.time_from_start for p in left[0].points] == \
        [p.time_from_start for p in right[0].points]
    every = [offsets(arms, name) for name in SIMULATED]
    assert min(map(len, every)) > 5
    both_clocks = np.concatenate(every)
    print('largest difference of the clocks:', np.ptp(both_clocks), 's')
    assert np.ptp(both_clocks) < CLOCK_TOLERANCE_S, np.ptp(both_clocks)
    assert_apart(arms)
    T, reached = TREE.fk(arms.positions()), TREE.fk(goal)
    for tip in TREE.tip_links:
        assert np.abs(T[tip] - reached[tip]).max() < 1e-4
    accepted = arms.answers(stamp)[0]
    assert accepted['kind'] == 'goal_poses' and float(accepted['duration_s']) > 0.3


def test_arms_that_would_meet_go_round_each_other(arms):
    """The hands change places, one above the other; nothing touches in what was recorded."""
    for posture in (LEFT_ABOVE, RIGHT_ABOVE, LEFT_ABOVE, READY):
        begins_anew(arms)
        stamp = arms.send_posture(posture)
        assert reasons(arms, stamp) == ['ACCEPTED', 'REACHED'], arms.answers(stamp)
        assert_apart(arms)


def test_goals_that_cannot_be_are_refused_once_each(arms):
    """With the tip, or the two links; nothing is sent."""
    begins_anew(arms)
    left, right = TREE.fk(READY).values()
    far = left.copy()
    far[0, 3] = 3.0
    same = left.copy()
    same[:3, 3] = 0.5, 0.0, 1.0
    for poses, frame, reason, words in (
            ([far, right], 'base_link', 'OUT_OF_REACH', "'left_tool' cannot be brought"),
            ([same, same], 'base_link', 'COLLISION', 'collides: '),
            ([left], 'base_link', 'PATH_INVALID', "has 1 poses; it needs 2, of 'left_tool'"),
            ([left, right], '', 'FRAME_MISSING', 'empty'),
            ([left, right], 'table', 'FRAME_UNKNOWN', "'table' is not a link")):
        stamp = arms.send_poses(poses, frame)
        assert reasons(arms, stamp) == [reason]
        assert words in arms.answers(stamp)[0]['message'], arms.answers(stamp)
    unset = PoseArray(poses=[Pose(), Pose()])
    unset.poses[1].orientation.w = 0.0
    unset.header.frame_id, unset.header.stamp = 'base_link', arms.get_clock().now().to_msg()
    arms.poses.publish(unset)
    assert reasons(arms, f'{unset.header.stamp.sec}.{unset.header.stamp.nanosec:09d}') == [
        'GOAL_ORIENTATION_UNSET']
    old = PoseArray(poses=[Pose(), Pose()])
    old.header.frame_id, old.header.stamp.sec = 'base_link', 1
    arms.poses.publish(old)
    assert reasons(arms, '1.000000000') == ['GOAL_STALE']
    assert not any(arms.sent.values())


def test_goals_may_be_given_in_the_frame_of_a_link(arms):
    """Of the torso, wherever that is now."""
    begins_anew(arms)
    assert reasons(arms, arms.send_posture(both(pan=0.2, lift=0.5, torso=0.3)))[-1] == 'REACHED'
    angle = arms.positions()[TREE.joint_names.index('torso_joint')]
    goal = TREE.fk(both(pan=0.2, lift=0.4, elbow=-0.9, pitch=0.2, torso=0.3))
    T_base_torso = pin.SE3(pin.exp3(np.array([0.0, 0.0, angle])),
                           np.array([0.0, 0.0, 0.62])).homogeneous
    stamp = arms.send_poses([np.linalg.inv(T_base_torso) @ T for T in goal.values()], 'torso')
    assert reasons(arms, stamp)[-1] == 'REACHED'
    for tip, T in TREE.fk(arms.positions()).items():
        assert np.abs(T - goal[tip]).max() < 1e-4


def test_each_of_many_goals_is_answered_once(arms):
    """One is under way, one waits, the others give way."""
    begins_anew(arms)
    stamps = [arms.send_posture(both(pan=0.2 + 0.02 * k, lift=0.6, elbow=-1.2, pitch=0.3))
              for k in range(8)]
    arms.final(stamps[0])
    arms.final(stamps[-1])
    for stamp in stamps:
        arms.final(stamp)
    arms.spin_for(0.3)
    once_each(arms.statuses, stamps)
    ends = [arms.answers(stamp)[-1]['reason'] for stamp in stamps]
    assert ends == ['REACHED', *['SUPERSEDED'] * 6, 'REACHED']


@pytest.mark.real_time
@pytest.mark.parametrize('by', ['stop', 'halts'])
def test_a_stop_brings_both_arms_to_rest_together(arms, by):
    """Along their way, with one stamp; the goal says so, and the next one begins there."""
    halts = arms.publisher(Empty, 'halt')
    begins_anew(arms)
    stamp = arms.send_posture(both(pan=1.4, lift=-0.6, elbow=0.5, torso=1.0))
    arms.wait(lambda: arms.answers(stamp))
    start = arms.positions()
    arms.wait(lambda: np.abs(arms.positions() - start).max() > 0.1, what='motion')
    if by == 'stop':
        assert arms.call(arms.stopping).success
    for _ in range(20 * (by == 'halts')):
        halts.publish(Empty())
        arms.spin_for(0.02)
    assert arms.final(stamp)['reason'] == 'STOPPED'
    arms.spin_for(0.1)
    for sent in arms.sent.values():  # one ramp, repeated until it begins
        _, *ramps = sent
        assert len(ramps) > 1 and all(each == ramps[0] for each in ramps)
    left, right = (arms.sent[name][-1] for name in SIMULATED)
    assert left.header.stamp == right.header.stamp
    assert [p.time_from_start for p in left.points] == [p.time_from_start for p in right.points]
    arms.wait(lambda: np.abs(np.array(left.points[-1].positions)
                             - [arms.positions()[TREE.joint_names.index(name)]
                                for name in left.joint_names]).max() < 1e-6, what='rest')
    assert_apart(arms)
    again = arms.send_posture(READY)
    assert reasons(arms, again) == ['ACCEPTED', 'REACHED'], arms.answers(again)
