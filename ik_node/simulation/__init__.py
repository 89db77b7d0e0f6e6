# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A joint_trajectory_controller on simulated joints.

    controller       A joint_trajectory_controller on simulated joints, without ROS
    joints           Simulated joints: how they follow their commands, and how they are measured
    node             The node sim_controller: a simulated joint_trajectory_controller and arm
    physics          The joints of a URDF with gravity and position servos, simulated by MuJoCo
    pytest_fixtures  The simulated controller for the tests of other packages
"""
