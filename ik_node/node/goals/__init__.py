# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Goals, their order and their answers, and what they ask of the solver and the planners.

    answers      Answers on ~/answers and ~/status, one of them final
    conversion   Messages become goals in the base link, and goals postures
    goal         One goal: what was asked for, what is planned, what is under way
    plans        Which request each kind of motion makes, within torques, and what is noted of it
    preparation  Kernels that are loaded beside the first goals
    queue        The order of goals, from arrival to exactly one final answer
"""
