# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Objects that come by topic or from MoveIt become the scene of the collision check.

    moveit_scene_messages  Objects from and to the messages of MoveIt
    scene_changes          A changed scene is made, checked against the motion under way, and used
    scene_draft            The scene that messages would make
    scene_topics           ~/scene and ~/scene_points: markers and point clouds
"""
