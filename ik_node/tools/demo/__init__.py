# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The demonstration: ik_demo.

    command     Run ik_node and a simulated controller as two processes, and send goals to them
    demo_goals  Goals for any arm, and what is seen of them on the ROS graph
"""
