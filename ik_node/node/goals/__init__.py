# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Goals, their order and their answers, and what they ask of the solver and the planners.

    conversion   Messages become goals in the base link, and goals postures
    goal_queue   The order of goals, from arrival to exactly one final answer
    goal_status  What is known of one goal, and its answers on ~/status
    plans        Which request each kind of motion makes, and what is noted of it
    preparation  Kernels that are loaded beside the first goals, and torques
"""
