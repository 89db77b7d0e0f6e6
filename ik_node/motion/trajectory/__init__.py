# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Trajectories as data: limits, times, values between points, the last check.

    constant_jerk     Points of a motion between which the jerk of each joint is constant
    controller_rules  Which joint trajectories a joint_trajectory_controller accepts
    interpolation     How a joint_trajectory_controller interpolates between points
    limits            Limits of a motion, and the reduced limits that each planner works with
    quintic           Quintic polynomials: coefficients from two end states, values and derivatives
    sampling          Compiled samples of a trajectory, for what looks at it at every joint state
    timed_curve       A smooth curve through joint positions at given times
    trajectory        The data of a motion: a state and a trajectory
    validate          Final check of a trajectory: finite, continuous, within every limit
"""
