# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Where people move the arm by hand: RViz, a web page, a phone or a headset.

    call_queue   Hands calls of other threads over to the thread of the node
    handle       The handle that is dragged, in RViz and on the page, and its menu
    node_client  A client of an ik_node that never waits
    options      The parameters of the three nodes
    page_access  Where a page is served, and whose requests it answers
    rviz_config  config/ik_node.rviz for a namespace, a frame prefix and a base link
    rviz_handle  The node interactive_goal: the handle in RViz
    handheld/    The page for a phone or a headset
    viewer/      The page in the browser
"""
