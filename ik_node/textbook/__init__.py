# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The textbook methods of inverse kinematics: readable code, one formula per step.

    attempt      One attempt of a method from one seed, and a solve of several
    ccd          Cyclic coordinate descent: one joint at a time, from the tip to the base
    iterations   From steps to iterates: Euler steps, line search, minimisers
    lagrange     The best posture at a goal by Lagrange multipliers
    methods      The textbook methods by name
    options      Options of the textbook methods
    problem      A task with joint limits: unknowns x, residual e(x) and Jacobian J(x)
    steps        Steps by inverses of the Jacobian, and by extended Jacobians
    task         The error of a posture and its exact Jacobian, used by all methods
    two_link     The arm of two links in a plane, in closed form by the law of cosines
    by_example/  Methods that learn from poses that were solved beforehand
"""

from ik_node.solver.options import register
from ik_node.textbook.attempt import Attempt, descend, Ending, solve_by_method
from ik_node.textbook.methods import Method, TEXTBOOK_METHODS
from ik_node.textbook.options import ClassicOptions, Limits

__all__ = ['Attempt', 'ClassicOptions', 'Ending', 'Limits', 'Method', 'TEXTBOOK_METHODS',
           'descend']

register(TEXTBOOK_METHODS, solve_by_method)
