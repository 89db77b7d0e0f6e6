# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Where people move the arm by hand: RViz, a web page, a phone or a headset.

    call_queue    Hands events over from other threads to the thread of the node
    handle        The handle by which a goal is dragged
    node_client   Non-blocking client for one ik_node
    options       The parameters of the handle in RViz
    page_access   Where a page is served, and whose requests it answers
    robot_shapes  The shapes of a robot that can be drawn
    rviz_config   Adapts config/ik_node.rviz to a namespace, a frame prefix and a base link
    rviz_handle   The node interactive_goal
"""
