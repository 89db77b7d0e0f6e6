# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
ROS without an arm: what every node and client of this package shares.

    action_client       A thin client of the action follow_joint_trajectory
    answer_publisher    Answers of a node
    controller_manager  Names of controllers, and what their manager of ros2_control says of them
    description         The robot description: from a parameter, a file, or the latched topic
    repeated_stop       A stop that is asked for until the arm is being stopped
    state_recorder      Takes joint states down while an arm is moved by hand
"""
