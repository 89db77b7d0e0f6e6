# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
One table of parameters for each node, and how a node has them.

    node_parameters  The parameters of a node: declared, read, changed, unknown ones
    tables           One row for each parameter; the field that it fills is in node/robot/settings
"""
