# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
One table of parameters for each node, and how a node has them.

    node_parameters  Parameters of a table on a node: declared, read, changed
    tables           The parameters of the nodes, one table for each node
"""
