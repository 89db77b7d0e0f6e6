# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Joint goals, paths and arcs that cannot be: one sentence each, and nothing is sent."""

from geometry_msgs.msg import PoseArray, PoseStamped, Quaternion, Transform, Twist
from harness import latest, path_of, pose, READY, tip
from nav_msgs.msg import Path
import numpy as np
import pinocchio as pin
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import MultiDOFJointTrajectory

from ik_node.ros.messages.conversion import free_path

HERE = tip(READY)
KINDS = {Path: 'path', PoseArray: 'arc', MultiDOFJointTrajectory: 'free_path'}


def freed(*axes, **others):
    """Return a path that leaves axes free, with other fields of its one point."""
    message = free_path(path_of(pose(HERE.translation + [0.0, 0.1, 0.0])), axes)
    for name, value in others.items():
        setattr(message.points[0], name, value)
    return message


@pytest.mark.fault('goals', 'a joint goal with wrong names, lengths, NaN or beyond limits',
                   'refused with the joint')
@pytest.mark.parametrize('goal, reason, words', [
    (JointState(name=['joint_1']), 'GOAL_JOINTS', '1 names'),
    (JointState(), 'GOAL_JOINTS', '0 names'),
    (JointState(name=['joint_1', 'joint_1'], position=[0.0, 0.1]), 'GOAL_JOINTS', '1 different'),
    (JointState(name=['elbow'], position=[0.0]), 'GOAL_JOINTS', "'elbow'"),
    (JointState(name=['joint_1'], position=[float('nan')]), 'GOAL_NOT_FINITE', 'nan'),
    (JointState(name=['joint_2'], position=[50.0]), 'BEYOND_LIMIT', 'limits')])
def test_joint_goals_that_cannot_be(shared_system, goal, reason, words):
    """One sentence each, and nothing is sent."""
    sent = len(shared_system.trajectories)
    answer = shared_system.final(shared_system.send_goal('joints', goal, ''))
    assert (answer['state'], answer['reason']) == ('rejected', reason) and words in \
        answer['message'], answer
    assert len(shared_system.trajectories) == sent


@pytest.mark.fault('goals', 'a path of no poses, of NaN, of turns that are ambiguous',
                   'refused with one sentence')
@pytest.mark.parametrize('goal, reason, words', [
    (Path(), 'PATH_INVALID', ''),
    (path_of(pose([np.nan, 0.0, 0.0])), 'GOAL_NOT_FINITE', 'position.x'),
    (path_of(pose(HERE.translation + [0.0, 0.1, 0.0], HERE.rotation @ pin.exp3(
        np.array([np.pi, 0.0, 0.0])))), 'PATH_INVALID', ''),
    (Path(poses=[PoseStamped()] * 2001), 'PATH_INVALID', '2001 poses'),
    (PoseArray(poses=[pose([0.4, 0.0, 0.4])]), 'PATH_INVALID', '1 poses'),
    (PoseArray(poses=[pose(HERE.translation + [0.0, 0.1 * k, 0.0]) for k in (1, 2)]),
     'PATH_INVALID', ''),
    (MultiDOFJointTrajectory(joint_names=['rz']), 'PATH_INVALID', ''),
    (freed('rz', 'x'), 'GOAL_TOLERANCE', "'x' is no axis that a path can leave free"),
    (freed('rz', 'rz'), 'GOAL_TOLERANCE', "'rz' is among the free axes more than once"),
    (freed('rz', transforms=[Transform()] * 2), 'PATH_INVALID',
     'point 1 of 1 of the path has 2 transforms'),
    (freed('rz', velocities=[Twist()]), 'PATH_INVALID', 'has a velocity'),
    (freed('rz', transforms=[Transform(rotation=Quaternion(w=0.0))]), 'GOAL_ORIENTATION_UNSET',
     'all zeros')])
def test_paths_that_make_no_sense(shared_system, goal, reason, words):
    """One sentence each, and nothing is sent."""
    sent = len(shared_system.trajectories)
    answer = shared_system.final(shared_system.send_goal(KINDS[type(goal)], goal))
    assert (answer['state'], answer['reason']) == ('rejected', reason), answer
    assert words in answer['message'] and len(shared_system.trajectories) == sent


def test_a_path_that_goes_nowhere_is_answered_at_once(shared_system):
    """The arm is there already."""
    goal = path_of(pose(tip(latest(shared_system)).translation))
    answer = shared_system.final(shared_system.send_goal('path', goal))
    assert (answer['state'], answer['reason']) == ('reached', 'ALREADY_THERE'), answer
