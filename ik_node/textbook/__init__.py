# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The textbook methods of inverse kinematics: readable code, one formula per step."""

from ik_node.solver.choices import register
from ik_node.textbook.attempt import Attempt, descend, Ending
from ik_node.textbook.methods import Method, TEXTBOOK_METHODS
from ik_node.textbook.options import ClassicOptions, Limits
from ik_node.textbook.solve import solve_by_method

__all__ = ['Attempt', 'ClassicOptions', 'Ending', 'Limits', 'METHODS', 'Method', 'descend']

register(TEXTBOOK_METHODS, solve_by_method)
