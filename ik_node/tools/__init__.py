# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The commands, such as ik_demo and send_goal: one file or folder each.

    echo            Print the messages of a topic
    entry           The executables of setup.py, and the commands of `ik_node COMMAND`
    jog             Move the tip by a keyboard, a gamepad or a SpaceMouse
    param           Read and set parameters of a running node
    pose_files      Files of poses: YAML as in examples/goals.yaml, and CSV
    replay          Repeat the calls of a recording, and say what differs
    send_goal       Send one goal to a running node, wait, and print its answer
    simulated_arms  ik_arms with simulated controllers
    stop            Bring the arm to rest
    teach           Keep waypoints, record motions of an arm, and play them back
    arguments/      What each command takes; read before anything heavy is imported
    compare/        compare_methods
    demo/           ik_demo
    doctor/         ik_doctor
    plots/          plot_trajectory
    workspace/      ik_workspace
"""
