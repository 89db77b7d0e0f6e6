# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The arguments of the commands; they are read before anything heavy is imported.

    compare_methods  The arguments of compare_methods
    demo             The arguments of ik_demo
    doctor           The arguments of ik_doctor
    echo             The arguments of ik_node echo
    jog              The arguments of ik_jog
    param            The arguments of ik_node param
    plot_trajectory  The arguments of plot_trajectory
    replay           The arguments of ik_replay
    send_goal        The arguments of send_goal; its options of goals are in goal_kinds
    stop             The arguments of ik_node stop
    teach            The arguments of ik_teach
    workspace        The arguments of ik_workspace
"""
