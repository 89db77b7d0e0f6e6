# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The direct motion between two postures.

    double_s        Jerk-limited motions of all joints in closed form
    point_to_point  The fastest motion from any state to rest, and whether it is free
    ruckig_motion   The same by ruckig, with which it is faster; double_s where it is missing
    torque_limits   Motions whose torques stay within the effort limits of the joints
"""
