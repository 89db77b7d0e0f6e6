# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Trajectories as data: limits, times, values between points, the last check.

    constant_jerk     Points of a motion between which the jerk of each joint is constant
    controller_rules  What a joint_trajectory_controller accepts, and how often it runs
    interpolation     How a joint_trajectory_controller interpolates between points
    limits            All limits of motions, of joints and of the tip; each planner reads them here
    quintic           Quintic polynomials: coefficients from two end states, values and derivatives
    sampling          Compiled states, tip positions and speeds at given times
    timed_curve       A smooth curve through joint positions at given times
    tip_speed         Compiled peaks of the speed of the tip, between the points, too
    trajectory        A state of the joints, and a trajectory
    validate          The last check: finite, continuous, within every limit
"""
