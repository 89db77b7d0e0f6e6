# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What the node knows of the robot: its settings, its solver, its bodies.

    collisions  The collision model of a robot description
    robot       The robot: all that depends on one robot description
    settings    The node's settings for one chain, made from the values of its parameters
"""
