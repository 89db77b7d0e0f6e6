# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Methods that learn from poses that were solved beforehand.

    key_postures    The answer interpolated between postures that were solved beforehand
    neural_network  A neural network that answers goals, trained on the spot for the arm
"""
