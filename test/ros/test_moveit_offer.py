# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the node takes of MoveIt's messages where its services are not asked for."""

from geometry_msgs.msg import PoseStamped
from harness import ARM, COLD_START, FORGET_S, NAMES, pose, process, QUICK, READY, run_system, tip
from moveit_kit import at, box, CODES, collision_object, ELSEWHERE, msg, srv
import numpy as np
import pytest
from std_msgs.msg import Header
from test_fault_process import COMPILES_LONG
from test_moveit_kinematics import goal_of, state
from test_moveit_motion import at_point, Client, joint_goal


def test_without_the_services(tmp_path, probe):
    """They are offered only where they are asked for: a move_group has the same."""
    with run_system(tmp_path, probe, QUICK) as system:
        probe.wait(lambda: probe.count_subscribers('/collision_object') == 1, FORGET_S)
        probe.wait(lambda: not probe.count_services('/get_planning_scene'), FORGET_S)
        topic = probe.create_publisher(msg.CollisionObject, 'collision_object', 10)
        probe.wait(topic.get_subscription_count)
        topic.publish(collision_object('post', box(0.1, 0.1, 0.1), frame='nowhere'))
        probe.wait(lambda: "the collision object 'post' of the scene changed nothing"
                   in system.node.output)


@pytest.mark.nightly
def test_another_server(tmp_path, probe):
    """The log says that a client gets the answer of one of them."""
    with run_system(tmp_path, probe, {**QUICK, 'moveit.services': True}) as system:
        probe.create_service(srv.GetPlanningScene, 'get_planning_scene',
                             lambda request, response: response)
        client = probe.create_client(srv.GetPlanningScene, 'get_planning_scene')

        def said():
            probe.call(client, srv.GetPlanningScene.Request())
            return '/get_planning_scene is served by another node, too' in system.node.output

        probe.wait(said)


def test_requests_of_the_kinematics_plugin(tmp_path, probe):
    """SrvKinematicsPlugin: the state whole, collisions avoided, tip and base named, no timeout."""
    with process('sim_controller', tmp_path, {'urdf_file': ARM, 'initial_positions': READY}), \
            process('ik_node', tmp_path, {'urdf_file': ARM, 'moveit.services': 'true'}, remap={
                '__ns': '/kinematics', 'joint_states': '/joint_states'}) as node:
        probe.wait(lambda: 'all kernels are compiled' in node.output, COLD_START)
        # Which may be another's.
        probe.wait(lambda: not probe.count_services('/compute_ik'), FORGET_S)
        client = probe.create_client(srv.GetPositionIK, '/kinematics/compute_ik')
        whole = state(READY)
        whole.joint_state.header.frame_id = 'base_link'
        whole.joint_state.velocity = whole.joint_state.effort = [0.0] * len(NAMES)
        query = msg.PositionIKRequest(
            group_name='arm', robot_state=whole, avoid_collisions=True, ik_link_name='tool0',
            pose_stamped=PoseStamped(header=Header(frame_id='base_link'),
                                     pose=goal_of(tip(ELSEWHERE))))
        response = probe.call(client, srv.GetPositionIK.Request(ik_request=query))
        assert CODES[response.error_code.val] == 'SUCCESS'
        found = response.solution.joint_state
        assert list(found.name) == NAMES and not response.solution.is_diff
        assert np.allclose(tip(found.position).homogeneous, tip(ELSEWHERE).homogeneous, atol=1e-5)
        query.pose_stamped.pose = at(0.0, 0.0, 5.0)
        response = probe.call(client, srv.GetPositionIK.Request(ik_request=query))
        assert CODES[response.error_code.val] == 'NO_IK_SOLUTION'


@pytest.mark.fault('time and load', 'MoveIt asks for plans while the node still compiles',
                   'plans to positions of the joints come at once, others as soon as they can')
def test_plans_while_the_node_still_compiles(tmp_path, probe):
    """A goal with free axes, and a path: neither is refused."""
    done = tmp_path / 'done'
    with run_system(tmp_path, probe, {'moveit.services': True}, script=COMPILES_LONG.format(done)):
        client = Client(probe)
        assert client.plan(joint_goal(ELSEWHERE))[0] == 'SUCCESS'
        free = client.asked(msg.Constraints(position_constraints=[at_point((0.4, 0.2, 0.4))]))
        path = client.asked_along(pose(tip(READY).translation + [0.0, 0.0, -0.1]))
        probe.spin_for(0.5)
        assert not free.done() and not path.done()
        assert client.plan(joint_goal(ELSEWHERE))[0] == 'SUCCESS'
        done.touch()
        probe.wait(lambda: free.done() and path.done(), COLD_START, 'both answers')
        assert free.result().motion_plan_response.error_code.val == msg.MoveItErrorCodes.SUCCESS
        assert path.result().error_code.val == msg.MoveItErrorCodes.SUCCESS
        assert path.result().fraction == 1.0
