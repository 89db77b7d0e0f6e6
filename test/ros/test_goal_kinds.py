# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Goals other than a pose: regions, choices, lines and paths, in real processes.

Simple ones, and arcs, are sent in test_node_client.py and test_client.py.
"""

import math
from time import monotonic

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from harness import (
    DOWN,
    latest,
    NAMES,
    off_line,
    off_sent_way,
    once_each,
    path_of,
    pose,
    positions_of,
    READY,
    sent_way,
    tip,
    way,
)
import numpy as np
import pinocchio as pin
import pytest

from ik_node.base.errors import GoalError, Reason
from ik_node.ros.messages.conversion import tolerance_from_covariance

HERE = tip(READY)


@pytest.fixture(scope='module')
def sim():
    """Have more joint states than usual: tests look at ways."""
    return {'rate': 40.0}


def off(goal, there):
    """Return the deviation (6,) of the tip from a pose, in the axes of the pose: m, rad."""
    return np.array([*goal.rotation.T @ (there.translation - goal.translation),
                     *pin.log3(goal.rotation.T @ there.rotation)])


def test_a_region(arm):
    """The tip ends within each tolerance, in the axes of the pose; what is exact is exact."""
    def go(goal, *tolerance):
        message = PoseWithCovarianceStamped()
        message.pose.pose = pose(goal.translation, goal.rotation)
        message.pose.covariance = np.diag(np.square(tolerance)).ravel()
        answer = arm.final(arm.send_goal('region', message))
        assert answer['kind'] == 'region'
        return answer, off(goal, tip(latest(arm)))

    # 1 cm farther than the arm can reach, along z of the pose.
    far = pin.SE3(pin.rpy.rpyToMatrix(0.0, math.pi / 2, 0.0), np.array([1.0072, 0.0, 0.5]))
    answer, _ = go(far, 0.03, 0.03, 0.0, 0.0, 0.0, 0.0)
    assert (answer['state'], answer['reason']) == ('rejected', 'OUT_OF_REACH'), answer
    answer, there = go(far, 0.0, 0.0, 0.03, 0.0, 0.0, 0.5)
    assert answer['state'] == 'reached', answer
    assert -0.03 - 1e-5 < there[2] < -0.01 + 1e-3 and np.abs(there[[0, 1, 3, 4]]).max() < 1e-5
    assert float(answer['measured_position_error_m']) < 1e-5


@pytest.mark.parametrize(('entries', 'words'), [
    ({0: -1.0}, 'each must be the square'), ({7: math.nan}, 'each must be the square'),
    ({1: 0.1}, 'beside its diagonal'), ({0: 0.01, 35: 0.1, 5: math.nan}, 'beside its diagonal'),
    ({k: math.inf for k in range(0, 36, 7)}, 'at least one tolerance finite')])
@pytest.mark.fault('goals', 'a region with tolerances that make no sense',
                   'rejected, with the tolerance that is wrong')
def test_invalid_goal_regions(entries, words):
    """Of a covariance, each reason is one sentence."""
    covariance = np.zeros(36)
    covariance[[*entries]] = [*entries.values()]
    with pytest.raises(GoalError, match=words) as error:
        tolerance_from_covariance(covariance)
    assert error.value.reason is Reason.GOAL_TOLERANCE


def test_the_first_pose_that_can_be_reached(arm):
    """Whatever keeps the arm from those before: reach, or an obstacle; each is tried alone."""
    below, far = [*HERE.translation[:2], 0.02], HERE.translation + [3.0, 0.0, 0.0]
    near, other = HERE.translation + [0.0, 0.1, 0.05], HERE.translation + [0.0, -0.1, 0.0]

    def go(*wanted):
        return arm.final(arm.send_goal('first', path_of(*map(pose, wanted))))

    arm.change('/ik_node', collision__ground=True)
    answer = go(far, below, near, other)
    assert (answer['state'], answer['kind'], answer['pose_number']) == ('reached', 'first', '3')
    assert np.linalg.norm(tip(latest(arm)).translation - near) < 1e-5
    assert go(other, near)['pose_number'] == '1'
    # The nearest pose to one out of reach is second to one that can be reached.
    arm.change('/ik_node', solver__nearest=True)
    assert go(far, near)['pose_number'] == '2'
    answer = go(far, far + [1.0, 0.0, 0.0])
    assert (answer['reason'], answer['pose_number']) == ('NEAREST', '2')
    arm.change('/ik_node', solver__nearest=False)
    known = len(arm.trajectories)
    answer = go(far, below, *(far,) * 4)
    assert (answer['state'], answer['reason']) == ('rejected', 'OUT_OF_REACH')
    assert 'pose_number' not in answer
    assert answer['message'].startswith('none of the 6 poses can be reached: 1: out of reach')
    assert answer['message'].count('; 2: ') == 1 and answer['message'].endswith('and 1 more')
    for count in (0, 51):
        answer = go(*(near,) * count)
        assert answer['reason'] == 'PATH_INVALID'
    assert len(arm.trajectories) == known


@pytest.mark.nightly
def test_a_choice_of_poses_is_stopped_and_replaced(arm):
    """While they are tried, each of which takes a look of the queue: one answer for each goal."""
    # What sends joints has found the node then.
    assert arm.final(arm.send_joints(READY))['state'] == 'reached'
    far = HERE.translation + [3.0, 0.0, 0.0]

    def begin():
        stamps.append(arm.send_goal('first', path_of(*[pose(far)] * 50)))
        return stamps[-1]

    stamps: list[str] = []
    first = begin()
    assert arm.final(arm.send_joints(np.add(READY, 0.05)))['state'] == 'reached'
    assert arm.final(first)['state'] == 'superseded'
    known, second = len(arm.trajectories), begin()
    assert arm.call(arm.stop).success
    assert arm.final(second)['reason'] == 'STOPPED'
    arm.spin_for(0.1)
    assert [len(arm.answers(stamp)) for stamp in stamps] == [1, 1]
    assert len(arm.trajectories) == known


def long_path(count=2000):
    """Return a line of 0.2 m with as many poses as a path may have."""
    return path_of(*(pose(HERE.translation + [0.0, 0.2 * k / count, 0.0])
                     for k in range(1, count + 1)))


def test_a_long_path_is_planned_beside_other_work(arm):
    """Requests are answered meanwhile; the first motion of the arm is that of the path."""
    stamp = arm.send_goal('path', long_path())
    times = [monotonic()]
    while not arm.answers(stamp):
        assert arm.state() == 'active'
        times.append(monotonic())
    assert arm.answers(stamp)[0]['state'] == 'accepted', arm.answers(stamp)
    # Planned between two requests it would take most of the time.
    assert np.diff(times).max() < 0.3 * (times[-1] - times[0])
    assert arm.final(stamp)['state'] == 'reached'


def test_a_stop_before_a_long_path_is_planned(arm):
    """It is never begun."""
    stamp = arm.send_goal('path', long_path())
    assert arm.call(arm.stop).success
    assert [answer['state'] for answer in arm.answers(stamp)] == ['stopped']
    sent = len(arm.trajectories)
    arm.spin_for(1.0)
    assert len(arm.trajectories) == sent


def test_a_long_path_takes_over_a_moving_arm(arm):
    """The arm comes to rest first; one that cannot be followed leaves the motion alone."""
    arm.change('/ik_node', motion__velocity_scale=0.2)
    first = arm.send_joints(np.array(READY) + [1.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    arm.wait(lambda: arm.answers(first))
    goal = long_path(200)
    goal.poses[150].pose.position.x = 5.0
    assert arm.final(arm.send_goal('path', goal))['state'] == 'rejected'
    assert [answer['state'] for answer in arm.answers(first)] == ['accepted']
    second = arm.send_goal('path', long_path(200))
    arm.wait(lambda: arm.answers(second))
    assert arm.final(first)['reason'] == 'SUPERSEDED'
    assert arm.answers(second)[0]['state'] == 'accepted', arm.answers(second)
    assert arm.call(arm.stop).success


def test_the_nearest_pose_is_not_called_the_goal(arm):
    """With solver.nearest: reached, but for the reason NEAREST, with the distance that is left."""
    arm.change('/ik_node', solver__nearest=True)
    answer = arm.final(arm.send((2.0, 0.0, 0.5), DOWN))
    assert (answer['state'], answer['reason']) == ('reached', 'NEAREST'), answer
    left = np.linalg.norm(tip(latest(arm)).translation - [2.0, 0.0, 0.5])
    assert float(answer['measured_position_error_m']) == pytest.approx(left, rel=1e-3)
    assert left > 0.5 and 'as near as it can be' in answer['message']


def test_a_pose_by_a_straight_line(arm):
    """With motion.straight; off it a motion of the joints bends by centimetres."""
    target = HERE.translation + [0.05, -0.25, -0.1]
    arm.change('/ik_node', motion__straight=True)
    answer = arm.final(arm.send(target, pin.Quaternion(HERE.rotation).coeffs()))
    assert answer['state'] == 'reached', answer
    assert float(answer['path_fraction']) == 1.0 and float(answer['path_deviation_m']) < 1e-4
    points, rotations = way(arm)
    assert off_line(points, HERE.translation, target).max() < 1e-4
    assert max(np.linalg.norm(pin.log3(HERE.rotation.T @ R)) for R in rotations) < 1e-4
    assert np.linalg.norm(points[-1] - target) < 1e-5


def test_a_path_goes_through_its_corners(arm):
    """Straight from pose to pose, at rest in each corner; quaternions are normalised."""
    corners = [HERE.translation + d for d in ([0.0, -0.1, 0.0], [0.0, -0.1, -0.1],
                                              [0.0, 0.05, -0.1])]
    goal = path_of(*map(pose, corners))
    for corner in goal.poses:
        for name in 'xyzw':
            number = getattr(corner.pose.orientation, name)
            setattr(corner.pose.orientation, name, 1.01 * number)
    answer = arm.final(arm.send_goal('path', goal))
    assert answer['state'] == 'reached', answer
    assert 'has norm 1.01; it is normalised' in arm.node.output
    assert float(answer['path_m']) == pytest.approx(0.35, abs=1e-3)
    points, _ = way(arm)
    legs = list(zip([HERE.translation, *corners], corners))
    assert np.min([off_line(points, a, b) for a, b in legs], axis=0).max() < 1e-4
    sent, _ = sent_way(arm)
    for corner in corners:
        assert np.linalg.norm(sent - corner, axis=1).min() < 1e-4


def test_a_blended_path_does_not_stop(arm):
    """It passes by its corner within the radius, and is there sooner."""
    corners = [HERE.translation + d for d in ([0.0, -0.15, 0.0], [0.0, -0.15, -0.15])]
    durations = []
    for radius in (0.0, 0.04):
        arm.change('/ik_node', path__blend_radius=radius)
        began = len(arm.trajectories)
        for targets in (corners, [HERE.translation]):
            answer = along(arm, *targets)
            assert answer['state'] == 'reached', answer
            if targets is corners:
                durations.append(float(answer['duration_s']))
    assert durations[1] < 0.95 * durations[0]
    assert off_sent_way(arm) < 5e-3
    # The nearest that the second way came to the corner.
    nearest = np.linalg.norm(sent_way(arm, began)[0] - corners[0], axis=1).min()
    assert 1e-3 < nearest < 0.04


@pytest.mark.fault('goals', 'a line that leaves the reach on its way',
                   'refused as a whole with how far it could be; path.partial goes so far')
def test_a_path_that_cannot_be_followed(arm):
    """Nothing is sent, and the answer says how far it could be; path.partial goes so far."""
    answer = along(arm, HERE.translation + [0.9, 0.0, 0.0])
    assert answer['state'] == 'rejected' and not arm.trajectories
    fraction = float(answer['path_fraction'])
    assert 0.05 < fraction < 0.95
    arm.change('/ik_node', path__partial=True)
    answer = along(arm, HERE.translation + [0.9, 0.0, 0.0])
    assert answer['state'] == 'failed' and 'as far as it could' in answer['message'], answer
    assert float(answer['path_fraction']) == pytest.approx(fraction, abs=0.01)
    gone = np.linalg.norm(tip(latest(arm)).translation - HERE.translation)
    assert gone == pytest.approx(0.9 * fraction, abs=0.01)


def along(arm, *positions, R=HERE.rotation):
    """Send a path; return its answer."""
    return arm.final(arm.send_goal('path', path_of(
        *(pose(position, R) for position in positions))))


def shift_of(answer):
    """Return the shift (3,), m, that an answer names."""
    return np.array(answer['remedy_shift_m'].split(), dtype=float)


def test_a_refused_line_has_a_remedy(arm):
    """With the shift of its end that is told, it is followed to its end."""
    far = HERE.translation + [0.9, 0.0, 0.0]
    answer = along(arm, far)
    assert answer['state'] == 'rejected' and not arm.trajectories
    answer = along(arm, far + shift_of(answer))
    assert answer['state'] == 'reached' and float(answer['path_fraction']) == 1.0, answer
    assert 'remedy_shift_m' not in answer


def test_one_pose_of_a_refused_path_has_a_remedy(arm):
    """It is named; so long a path is planned beside, as its remedy is."""
    count = 120
    way_there = HERE.translation + np.linspace([0.0, -0.05, 0.0], [0.0, 0.05, 0.05], count)
    way_there[count // 2, 0] += 0.9
    answer = along(arm, *way_there)
    assert answer['state'] == 'rejected' and not arm.trajectories
    assert answer['remedy_of'] == f'pose {count // 2 + 1} of {count}'
    way_there[count // 2] += shift_of(answer)
    answer = along(arm, *way_there[:count // 2 + 1])
    assert answer['state'] == 'reached', answer


def test_a_refused_way_has_another_begin(arm):
    """A joint would meet its limit on the line; from the posture that is told it does not."""
    q = [1.0, -0.8, -2.1, 1.9, 0.7, 0.2]
    assert arm.final(arm.send_joints(q))['state'] == 'reached'
    begin = tip(q)
    end = begin.translation + [0.0, 0.25, 0.0]
    answer = along(arm, end, R=begin.rotation)
    assert answer['state'] == 'rejected'
    assert answer['remedy_way'] == 'joints'
    assert answer['remedy_start_joints'].split() == NAMES
    start = np.array(answer['remedy_start'].split(), dtype=float)
    assert arm.final(arm.send_joints(start))['state'] == 'reached'
    assert np.abs(tip(latest(arm)).homogeneous - begin.homogeneous).max() < 1e-3
    answer = along(arm, end, R=begin.rotation)
    assert answer['state'] == 'reached', answer


def test_a_refusal_stays_one(arm):
    """Whatever comes while its remedies are sought: a goal, and many more that are refused."""
    stamps = []
    for k in range(30):
        stamps.append(arm.send_goal('path', path_of(
            pose(HERE.translation + [0.9, 0.001 * k, 0.0]))))
        arm.spin_for(0.01 * (k % 3))
    reached = arm.send_joints(READY)
    answers = [arm.final(stamp) for stamp in stamps]
    assert {answer['state'] for answer in answers} <= {'rejected', 'superseded'}
    refused = [answer for answer in answers if answer['state'] == 'rejected']
    assert refused and all('path_fraction' in answer for answer in refused)
    assert arm.final(reached)['state'] == 'reached'
    once_each(arm.statuses, [*stamps, reached])


def test_a_line_during_a_motion(arm):
    """The arm is first brought to rest, then goes straight."""
    arm.change('/ik_node', motion__velocity_scale=0.25)
    first = arm.send((0.3, 0.4, 0.3), DOWN)
    arm.wait(lambda: arm.trajectories)
    arm.spin_for(0.5)
    before = len(arm.states)
    answer = along(arm, HERE.translation)
    assert answer['state'] == 'reached', answer
    assert [a['state'] for a in arm.answers(first)] == ['accepted', 'superseded']
    rest, _ = (point for point in arm.trajectories[-1].points if not any(point.velocities))
    way = np.array([positions_of(m) for _, m in arm.states[before:]])
    still = int(np.abs(way - rest.positions).max(axis=1).argmin())
    assert np.abs(way[still] - rest.positions).max() < 0.02  # between two joint states
    points = np.array([tip(q).translation for q in way[still + 1:]])
    assert off_line(points, tip(rest.positions).translation, HERE.translation).max() < 1e-4


def test_pointing_goals(arm):
    """Reached with whatever turn about z: that is no error, and another turn is there already."""
    for k, turn in enumerate((0.0, 2.0)):
        R = pin.Quaternion(np.array(DOWN)).matrix() @ pin.exp3(np.array([0.0, 0.0, turn]))
        answer = arm.final(arm.send_goal('pointing', PoseStamped(pose=pose((0.45, 0.1, 0.4), R))))
        assert answer['state'] == 'reached', answer
        assert answer['reason'] == ('ALREADY_THERE' if k else 'REACHED')
        there = tip(latest(arm))
        assert np.linalg.norm(there.translation - [0.45, 0.1, 0.4]) < 1e-5
        assert np.allclose(there.rotation[:, 2], [0.0, 0.0, -1.0], atol=1e-5)
        assert float(answer['measured_position_error_m']) < 1e-5
        assert float(answer['measured_orientation_error_rad']) < 1e-5
