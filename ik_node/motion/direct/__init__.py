# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The direct motion between two postures.

    double_s        Jerk-limited motions of all joints in closed form
    point_to_point  Time-optimal, jerk-limited trajectories from any state to rest
    ruckig_motion   Time-optimal, jerk-limited motions of all joints, by ruckig
    torque_limits   Motions whose torques stay within the effort limits of the joints
"""
