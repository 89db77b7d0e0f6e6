# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The messages of goals that programs send, from poses in every form."""

import numpy as np
import pinocchio as pin
import pytest

pytest.importorskip('rclpy')

from ik_node.client.answers import ClientError  # noqa: E402
from ik_node.client.goals import GoalMethods  # noqa: E402
from ik_node.ros.messages.conversion import pose_stamped  # noqa: E402

NEAR = pin.SE3(pin.rpy.rpyToMatrix(0.1, -0.4, 2.0), np.array([0.4, -0.1, 0.5]))
QUAT = pin.Quaternion(NEAR.rotation).coeffs()
RPY = pin.rpy.matrixToRpy(NEAR.rotation)


class Recorder(GoalMethods):
    """Returns kind and message of what would be sent."""

    def _send(self, kind, message, keeps):
        return (kind, message, keeps) if keeps else (kind, message)

    def _base_frame(self):
        return 'base'


ARM = Recorder()
# A pose as one argument and with others, and the frame that it then has.
FORMS = [
    ((pose_stamped(NEAR.homogeneous, 'table'),), {}, 'table'),
    ((pose_stamped(NEAR.homogeneous, 'table').pose,), {}, 'base'),
    ((NEAR.homogeneous,), {}, 'base'), (([*NEAR.translation, *QUAT],), {}, 'base'),
    ((NEAR.translation, QUAT), {}, 'base'), ((NEAR.translation,), {'rpy': RPY}, 'base'),
    ((NEAR.homogeneous,), {'frame': 'tool0'}, 'tool0')]


def assert_near(message):
    """Check that a Pose is NEAR."""
    p, o = message.position, message.orientation
    found = pin.XYZQUATToSE3(np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w]))
    assert np.linalg.norm(pin.log6(NEAR.actInv(found)).vector) < 1e-9


@pytest.mark.parametrize('given, named, frame', FORMS)
def test_poses_in_every_form(given, named, frame):
    """The same pose from each, in the frame that it names, or in that of the base."""
    for send, kind, pose_of in (
            (ARM.move, 'pose', lambda message: message.pose),
            (ARM.point, 'pointing', lambda message: message.pose),
            (ARM.line, 'path', lambda message: message.poses[0].pose)):
        sent, message = send(*given, **named)
        assert sent == kind and message.header.frame_id == frame
        assert_near(pose_of(message))
    if len(given) == 1 and 'rpy' not in named:
        for send in (ARM.path, ARM.first):
            _, message = send([*given, *given], **named)
            assert [each.header.frame_id for each in message.poses] == [frame] * 2
            assert_near(message.poses[1].pose)
        _, message = ARM.arc(given[0], given[0], **named)
        assert message.header.frame_id == frame and len(message.poses) == 2
        assert_near(message.poses[0])


def test_a_frame_is_for_poses_without_one():
    """A path may have both."""
    stamped = pose_stamped(NEAR.homogeneous, 'table')
    for send in (ARM.path, ARM.first):
        _, message = send([stamped, NEAR.homogeneous], frame='tool0')
        assert [each.header.frame_id for each in message.poses] == ['table', 'tool0']


def test_tolerances_are_squared_in_the_covariance():
    """Of a region, and of a line with free rotations."""
    kind, message = ARM.move(NEAR.homogeneous, position_tolerance=[0.0, 0.01, 0.0],
                             orientation_tolerance=0.5)
    assert kind == 'region'
    assert np.allclose(np.reshape(message.pose.covariance, (6, 6)),
                       np.diag([0.0, 1e-4, 0.0, 0.25, 0.25, 0.25]))
    kind, message = ARM.line(NEAR.homogeneous, free=['rz'])
    free = np.diag(np.reshape(message.pose.covariance, (6, 6)))
    assert kind == 'line' and not free[:5].any() and free[5] >= np.pi**2
    other = pose_stamped(NEAR.homogeneous, 'table')
    with pytest.raises(ClientError, match='the poses of the arc are in the frames base, table'):
        ARM.arc(NEAR.homogeneous, other)
    with pytest.raises(ClientError, match='of the path are in the frames base, table'):
        ARM.path([other, NEAR.homogeneous], free=['rz'])


@pytest.mark.parametrize('send', [
    ARM.line, lambda pose, free: ARM.path([pose], free=free),
    lambda pose, free: ARM.arc(pose, pose, free=free)], ids=['line', 'path', 'arc'])
@pytest.mark.parametrize('free, words', [(['x'], "'x' is no axis"),
                                         (['rz', 'rz'], 'more than once')])
def test_free_axes_that_are_none(send, free, words):
    """It is said at once, and nothing is sent."""
    with pytest.raises(ClientError, match=words):
        send(NEAR.homogeneous, free=free)
