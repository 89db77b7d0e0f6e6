# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A tool that is set while the node runs; judged by joint states and Pinocchio."""

from geometry_msgs.msg import PointStamped, PoseStamped
from harness import latest, off_line, pose, positions_of, READY, same, tip
import numpy as np
import pinocchio as pin
import pytest

TOOL = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.4, 0.5), np.array([0.02, -0.03, 0.15]))
SET = {'tool__position': [0.02, -0.03, 0.15], 'tool__orientation': [0.3, -0.4, 0.5]}
HERE = tip(READY) * TOOL
NEAR = pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.0, 0.2) @ HERE.rotation,
               HERE.translation + [0.02, -0.1, -0.05])
STAYS = 'the tool cannot be changed while the arm moves or has a goal'


def reached(arm, stamp):
    """Wait until a goal is reached; return where the tool is."""
    assert arm.final(stamp)['state'] == 'reached', arm.answers(stamp)
    return tip(latest(arm)) * TOOL


def test_goals_are_poses_of_the_tool(arm):
    """Poses, positions, straight lines, and the pose that the node tells."""
    arm.change('/ik_node', **SET)
    message = PoseStamped(pose=pose(NEAR.translation, NEAR.rotation))
    assert same(reached(arm, arm.send_goal('pose', message)), NEAR)
    arm.wait(lambda: arm.tip_poses and np.allclose(
        [getattr(arm.tip_poses[-1].pose.position, axis) for axis in 'xyz'],
        NEAR.translation, atol=1e-5), what='the pose of the tool')
    point = PointStamped()
    point.point.x, point.point.y, point.point.z = map(float, HERE.translation)
    assert np.allclose(reached(arm, arm.send_goal('position', point)).translation,
                       HERE.translation, atol=1e-5)
    # 5 cm back along its own axis, as it is now, in a straight line.
    arm.change('/ik_node', motion__straight=True)
    begin, count = tip(latest(arm)) * TOOL, len(arm.trajectories)
    back = PoseStamped(pose=pose([0.0, 0.0, -0.05], np.eye(3)))
    end = reached(arm, arm.send_goal('pose', back, 'tcp'))
    assert same(end, begin * pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.05])))
    way = np.array([(tip(each.positions) * TOOL).translation
                    for each in arm.trajectories[count].points])
    assert off_line(way, begin.translation, end.translation).max() < 2e-4
    # In the frame of the tip link it is not where it was before the tool was set.
    inside = PoseStamped(pose=pose(TOOL.translation, TOOL.rotation))
    assert same(reached(arm, arm.send_goal('pose', inside, 'tool0')), end)


def test_another_frame_of_the_tool(arm):
    """The name is a parameter; a link of this name comes first."""
    arm.change('/ik_node', **SET, tool__frame='nozzle')
    answer = arm.final(arm.send((0.0, 0.0, 0.05), frame='tcp'))
    assert answer['reason'] == 'FRAME_UNKNOWN'
    begin = tip(latest(arm)) * TOOL
    assert same(reached(arm, arm.send((0.0, 0.0, -0.05), frame='nozzle')),
                begin * pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.05])))
    arm.change('/ik_node', tool__frame='tool0')
    q = latest(arm)
    stamp = arm.send(TOOL.translation, pin.Quaternion(TOOL.rotation).coeffs(), frame='tool0')
    assert arm.final(stamp)['reason'] == 'ALREADY_THERE'
    assert np.abs(latest(arm) - q).max() < 1e-5


@pytest.mark.fault('parameters', 'another tool during a motion',
                   'refused; the motion goes on to its end, and the tool can be changed then')
def test_not_during_a_motion(arm):
    """The poses of a goal that is under way are those of the tool that it was planned for."""
    target = [READY[0] + 1.0, *READY[1:]]
    stamp = arm.send_joints(target)
    arm.wait(lambda: any(answer['state'] == 'accepted' for answer in arm.answers(stamp)))
    for values in ({'tool.position': [0.0, 0.0, 0.1]}, {'tool.orientation': [0.1, 0.0, 0.0]}):
        result = arm.set_parameters('/ik_node', values)
        assert not result.successful and STAYS in result.reason
    assert arm.set_parameters('/ik_node', {'tool.position': [0.0, 0.0, 0.0]}).successful
    assert arm.final(stamp)['state'] == 'reached'
    assert np.abs(positions_of(arm.states[-1][1]) - target).max() < 1e-3
    arm.change('/ik_node', **SET)


@pytest.mark.fault('parameters', 'a tool that cannot be',
                   'refused with how it must be; the tool stays')
def test_invalid_tools_are_refused(arm):
    """Too few numbers, none at all, millimetres."""
    arm.change('/ik_node', **SET)
    for values, words in (
            ({'tool.position': [0.0, 0.1]}, 'tool.position (x, y, z) needs three finite numbers'),
            ({'tool.orientation': [0.0] * 4}, 'tool.orientation (roll, pitch, yaw) needs three'),
            ({'tool.position': [0.0, 0.0, float('nan')]}, 'three finite numbers'),
            ({'tool.position': [0.0, 0.0, 150.0]}, 'are its units millimetres?')):
        result = arm.set_parameters('/ik_node', values)
        assert not result.successful and words in result.reason, result.reason
    q = NEAR.translation
    assert same(reached(arm, arm.send(q, pin.Quaternion(NEAR.rotation).coeffs())), NEAR)
    answer = arm.final(arm.send((3.0, 0.0, 0.4)))
    assert answer['reason'] == 'OUT_OF_REACH' and "the tool on 'tool0'" in answer['message']
