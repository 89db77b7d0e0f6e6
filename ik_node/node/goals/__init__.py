# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Goals, their order and their answers, and what they ask of the solver and the planners.

    conversion   Conversion of goal messages: to goals in the base link, and to solutions
    goal_queue   The goal queue: from arrival to exactly one final answer
    goal_status  Status of each goal: accepted, then exactly one final answer
    plans        The planners of goals
    preparation  Loads or compiles, beside the first goals to poses, what other goals need
"""
