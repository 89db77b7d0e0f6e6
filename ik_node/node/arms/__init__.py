# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The node of several arms, which move on one clock.

    arms_motion   Goals of several arms on their way
    arms_node     The node ik_arms
    arms_options  The parameters of ik_arms as one object
    arms_robot    All that the node of several arms makes of one robot description and its ...
"""
