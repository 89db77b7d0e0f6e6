# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""compute_ik and compute_fk of MoveIt; judged by Pinocchio."""

from ast import literal_eval

from builtin_interfaces.msg import Duration
from documents import program_of
from geometry_msgs.msg import PoseStamped
from harness import DATA, latest, MODEL, NAMES, pose, QUICK, ran, READY, se3, tip
from moveit_kit import (
    at,
    attached_object,
    box,
    CODES,
    collision_object,
    ELSEWHERE,
    msg,
    scene_of,
    srv,
)
import numpy as np
import pinocchio as pin
import pytest
from std_msgs.msg import Header

NODE_LIMITS = {**QUICK, 'moveit.services': True, 'moveit.group': 'arm'}


class Kinematics:
    """Asks the node."""

    def __init__(self, probe) -> None:
        self.probe = probe
        self._ik = probe.create_client(srv.GetPositionIK, 'compute_ik')
        self._fk = probe.create_client(srv.GetPositionFK, 'compute_fk')
        self._apply = probe.create_client(srv.ApplyPlanningScene, 'apply_planning_scene')

    def ik(self, goal, frame='base_link', seed=None, **fields):
        """Return the name of the error code, and the positions of the joints, or the sentence."""
        query = msg.PositionIKRequest(group_name='arm', pose_stamped=PoseStamped(
            header=Header(frame_id=frame), pose=goal))
        if seed is not None:
            query.robot_state = state(seed)
        for name, value in fields.items():
            setattr(query, name, value)
        response = self.probe.call(self._ik, srv.GetPositionIK.Request(ik_request=query))
        code = CODES[response.error_code.val]
        if code != 'SUCCESS':
            assert not response.solution.joint_state.name
            return code, getattr(response.error_code, 'message', '')
        joints = response.solution.joint_state
        found = dict(zip(joints.name, joints.position))
        return code, np.array([found[name] for name in NAMES])

    def fk(self, links, frame='', **robot_state):
        """Return the name of the error code, and the poses by link."""
        request = srv.GetPositionFK.Request(fk_link_names=links, **robot_state)
        request.header.frame_id = frame
        response = self.probe.call(self._fk, request)
        poses = {}
        for name, made in zip(response.fk_link_names, response.pose_stamped):
            poses[name] = se3(made.pose)
            assert made.header.frame_id == (frame or 'base_link')
        return CODES[response.error_code.val], poses

    def apply(self, scene):
        """Apply a planning scene."""
        assert self.probe.call(self._apply, srv.ApplyPlanningScene.Request(scene=scene)).success


def state(q, names=NAMES):
    """Return a robot state."""
    made = msg.RobotState()
    made.joint_state.name, made.joint_state.position = [*names], [*map(float, q)]
    return made


def goal_of(T):
    """Return an SE3 as a message."""
    return pose(T.translation, T.rotation)


def placed(q):
    """Return the poses of all links in the base link, by Pinocchio."""
    pin.framesForwardKinematics(MODEL, DATA, np.array(q))
    return {MODEL.frames[k].name: DATA.oMf[k].copy() for k in range(MODEL.nframes)
            if MODEL.frames[k].type == pin.FrameType.BODY}


@pytest.fixture(scope='module')
def kinematics(shared_system):
    """Return a client of the services."""
    return Kinematics(shared_system)


def test_the_tip_is_at_the_goal(kinematics):
    """For random postures, by the seed that was given, which is taken if it is a solution."""
    random = np.random.default_rng(0)
    for _ in range(20):
        q = random.uniform(0.8 * MODEL.lowerPositionLimit, 0.8 * MODEL.upperPositionLimit)
        code, found = kinematics.ik(goal_of(tip(q)))
        assert code == 'SUCCESS', found
        assert np.allclose(tip(found), tip(q), atol=1e-5)
        code, found = kinematics.ik(goal_of(tip(q)), seed=q)
        assert code == 'SUCCESS' and np.allclose(found, q, atol=1e-4)


def test_a_tool(kinematics):
    """A link that is named is itself; without a name, or by that of its frame, it is the tool."""
    probe, T_tool = kinematics.probe, pin.SE3(np.eye(3), np.array([0.0, 0.05, 0.2]))
    probe.change('/ik_node', tool__position=[0.0, 0.05, 0.2])
    for link, T in (('tool0', tip(ELSEWHERE)), ('link_6', placed(ELSEWHERE)['link_6']),
                    ('', tip(ELSEWHERE) * T_tool), ('tcp', tip(ELSEWHERE) * T_tool)):
        code, found = kinematics.ik(goal_of(T), seed=ELSEWHERE, ik_link_name=link)
        if link:
            poses = kinematics.fk([link], robot_state=state(ELSEWHERE))[1]
            assert np.allclose(poses[link], T, atol=1e-6), (link, poses)
        assert code == 'SUCCESS' and np.allclose(found, ELSEWHERE, atol=1e-4), (link, found)


def test_links_and_frames(kinematics):
    """Another link that is fixed to the tip, by one name or a list; a pose in any frame."""
    q = latest(kinematics.probe)
    link = goal_of(placed(ELSEWHERE)['link_6'])
    stamped = PoseStamped(header=Header(frame_id='base_link'), pose=link)
    for fields in ({'ik_link_name': 'link_6'},
                   {'ik_link_names': ['link_6'], 'pose_stamped_vector': [stamped]}):
        code, found = kinematics.ik(link, **fields)
        assert code == 'SUCCESS', found
        assert np.allclose(tip(found), tip(ELSEWHERE), atol=1e-5)
    of_two = state([*q, float('nan')], [*NAMES, 'joint_of_another_robot'])
    code, found = kinematics.ik(at(0.0, 0.0, 0.0), frame='tool0', robot_state=of_two)
    assert code == 'SUCCESS' and np.allclose(found, q, atol=1e-4)


def test_the_document(kinematics, tmp_path):
    """The program of the how-to prints joint positions with the tip at its goal."""
    printed, _ = ran(program_of('docs/how_to/moveit_clients.md'), tmp_path)
    solved, positions = printed.splitlines()
    assert solved.strip() == 'True'
    T = tip([literal_eval(positions)[name] for name in NAMES])
    assert np.allclose(T.translation, [0.4, 0.0, 0.4], atol=1e-5)
    assert np.allclose(T.rotation, np.diag([-1.0, 1.0, -1.0]), atol=1e-5)


def test_collisions(kinematics):
    """Only if they are to be avoided, with what is in the hand, too."""
    goal, T = goal_of(tip(ELSEWHERE)), tip(ELSEWHERE)
    kinematics.apply(scene_of(collision_object('block', box(0.1, 0.1, 0.1), place=T.translation)))
    try:
        assert kinematics.ik(goal)[0] == 'SUCCESS'
        code, why = kinematics.ik(goal, avoid_collisions=True)
        assert code == 'NO_IK_SOLUTION' and (not why or "'block'" in why), why
        kinematics.apply(scene_of(diff=False))
        assert kinematics.ik(goal, avoid_collisions=True)[0] == 'SUCCESS'
        ahead = T * pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.3]))
        rod = collision_object('rod', box(0.02, 0.02, 0.4), place=(0.0, 0.0, 0.2), frame='tool0')
        kinematics.apply(scene_of(
            collision_object('ball', box(0.05, 0.05, 0.05), place=ahead.translation),
            attached=[attached_object('tool0', rod, 'link_6')]))
        assert kinematics.ik(goal, avoid_collisions=True)[0] == 'NO_IK_SOLUTION'
    finally:
        kinematics.apply(scene_of(diff=False))


def test_no_answer(kinematics):
    """Each request that has none gets its code, and one sentence."""
    nan, here = float('nan'), goal_of(tip(ELSEWHERE))
    far = at(5.0, 0.0, 0.0)
    stamped = PoseStamped(header=Header(frame_id='base_link'), pose=here)
    held = state(ELSEWHERE)
    held.attached_collision_objects = [msg.AttachedCollisionObject()]
    bound = msg.Constraints(joint_constraints=[msg.JointConstraint(joint_name='joint_1')])
    for expected, goal, fields in (
            ('NO_IK_SOLUTION', far, {}),
            ('NO_IK_SOLUTION', far, {'avoid_collisions': True}),
            ('NO_IK_SOLUTION', far, {'timeout': Duration(sec=-1)}),
            ('INVALID_GROUP_NAME', here, {'group_name': 'other'}),
            ('INVALID_GROUP_NAME', here, {'group_name': ''}),
            ('INVALID_LINK_NAME', here, {'ik_link_name': 'link_3'}),
            ('INVALID_LINK_NAME', here, {'ik_link_name': 'nobody'}),
            ('INVALID_LINK_NAME', here, {'ik_link_names': ['tool0', 'link_3']}),
            ('INVALID_LINK_NAME', here, {'pose_stamped_vector': [stamped, stamped]}),
            ('FRAME_TRANSFORM_FAILURE', here, {'frame': 'nowhere'}),
            ('FRAME_TRANSFORM_FAILURE', here, {'frame': ''}),
            ('INVALID_GOAL_CONSTRAINTS', here, {'constraints': bound}),
            ('INVALID_GOAL_CONSTRAINTS', at(nan, 0.0, 0.0), {}),
            ('INVALID_GOAL_CONSTRAINTS', pose((0.5, 0.0, 0.5), np.full((3, 3), nan)), {}),
            ('INVALID_ROBOT_STATE', here, {'robot_state': state(ELSEWHERE, NAMES[:5])}),
            ('INVALID_ROBOT_STATE', here, {'robot_state': state([nan] * 6)}),
            ('INVALID_ROBOT_STATE', here, {'robot_state': state([1e300] * 6)}),
            ('INVALID_ROBOT_STATE', here, {'robot_state': state([0.0, 0.0], ['joint_1'] * 2)}),
            ('INVALID_ROBOT_STATE', here, {'robot_state': held})):
        code, why = kinematics.ik(goal, **fields)
        assert code == expected, (expected, fields, code, why)
        assert '\n' not in why and len(why) < 500
    assert kinematics.ik(here)[0] == 'SUCCESS'


def test_the_time_is_over(kinematics):
    """A method that searches gives up in time."""
    kinematics.probe.change('/ik_node', solver__method='transpose', solver__max_restarts=10_000)
    code, _ = kinematics.ik(at(0.85, 0.0, 0.9), timeout=Duration(nanosec=1_000_000))
    assert code == 'TIMED_OUT'


def test_poses_of_links(kinematics):
    """Of all of them, at the positions that are given, or as measured."""
    expected = placed(ELSEWHERE)
    code, found = kinematics.fk([*expected], robot_state=state(ELSEWHERE))
    assert code == 'SUCCESS' and found.keys() == expected.keys()
    assert all(np.allclose(found[name], expected[name], atol=1e-9) for name in expected)
    q = latest(kinematics.probe)
    code, found = kinematics.fk(['tool0'])
    assert code == 'SUCCESS' and np.allclose(found['tool0'], tip(q), atol=1e-6)
    code, found = kinematics.fk(['link_2'], frame='tool0', robot_state=state(ELSEWHERE))
    assert code == 'SUCCESS'
    assert np.allclose(found['link_2'], tip(q).inverse() * expected['link_2'], atol=1e-6)


def test_poses_that_are_not_known(kinematics):
    """Their codes; the links that are known are told."""
    assert kinematics.fk([]) == ('INVALID_LINK_NAME', {})
    code, found = kinematics.fk(['tool0', 'nobody'])
    assert code == 'INVALID_LINK_NAME' and [*found] == ['tool0']
    assert kinematics.fk(['tool0'], frame='nowhere') == ('FRAME_TRANSFORM_FAILURE', {})
    code, found = kinematics.fk(['tool0'], robot_state=state(READY, NAMES[:5]))
    assert (code, found) == ('INVALID_ROBOT_STATE', {})
