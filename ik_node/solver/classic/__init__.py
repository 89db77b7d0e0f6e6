# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The textbook methods of inverse kinematics, readable, one step formula each."""

from ik_node.solver.classic.attempt import Attempt, descend, Ending
from ik_node.solver.classic.methods import Method, METHODS
from ik_node.solver.classic.options import ClassicOptions, Limits

__all__ = ['Attempt', 'ClassicOptions', 'Ending', 'Limits', 'METHODS', 'Method', 'descend']
