# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How a client finds its node, and how both talk.

    connection   The connection of a client to one node: a node and a thread of its own
    description  The model of the arm that the node uses, for the solver in the client
    discovery    How a client finds its node; the ROS context of a script, Ctrl-C and the end
"""
