# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the node takes of MoveIt's messages where its services are not asked for."""

from harness import QUICK, run_system
from moveit_kit import box, collision_object, msg, srv


def test_without_the_services(tmp_path, probe):
    """They are offered only where they are asked for: a move_group has the same."""
    with run_system(tmp_path, probe, QUICK) as system:
        assert probe.count_subscribers('/collision_object') == 1
        assert not probe.count_services('/get_planning_scene')
        topic = probe.create_publisher(msg.CollisionObject, 'collision_object', 10)
        probe.wait(topic.get_subscription_count)
        topic.publish(collision_object('post', box(0.1, 0.1, 0.1), frame='nowhere'))
        probe.wait(lambda: "the collision object 'post' of the scene changed nothing"
                   in system.node.output)


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
