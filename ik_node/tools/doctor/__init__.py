# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What is wrong with a running system: ik_doctor.

    arm_checks    Checks of the arm: robot description, joint states, limits, TF
    command       Observe a running system, and report problems with their remedies
    node_checks   Checks of the node, the machine, the controller and the clock
    observations  Observations of a running system from outside, as plain data
    observer      Gathers observations of a running system over DDS; publishes nothing
"""
