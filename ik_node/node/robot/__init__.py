# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What the node knows of the robot: its settings, its solver, its bodies.

    collisions  The bodies and the scene file of a description
    robot       All that depends on one robot description
    settings    The values of the parameters become settings; a new parameter fills a field here
"""
