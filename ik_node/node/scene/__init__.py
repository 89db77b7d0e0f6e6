# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Objects that come by topic or from MoveIt become the scene of the collision check.

    message_reader         Messages read from their bytes by Python
    moveit_scene_messages  Objects of a scene from and to the messages of MoveIt, moveit_msgs
    scene_changes          Changes of the scene while the node runs
    scene_draft            A scene that messages change
    scene_topics           Objects around the arm that are told by markers and point clouds
"""
