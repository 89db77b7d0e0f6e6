# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
ROS without an arm: what every node and client of this package shares.

    action_client       A thin client of the action follow_joint_trajectory
    answer_publisher    Answers on two topics: the newest for people, all for programs
    controller_manager  What ros2_control says of its controllers
    description         The robot description: from a parameter, a file, or the latched topic
    repeated_stop       A stop that is asked for until it is answered
    state_recorder      Joint states of a motion by hand
    messages/           Messages to and from values
    middleware/         Processes, quality of service, and where and when messages were sent
    parameters/         One table of parameters for each node, and how a node has them
"""
