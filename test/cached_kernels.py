# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled functions of tests, kept from run to run."""

from ik_node.base.compilation import cached_njit
from ik_node.collision.bodies import shapes
from ik_node.collision.distances import check, distance, sweeps
from ik_node.kinematics import kernels
from ik_node.solver.warm_up import KERNEL_MODULES

CALLED = (*KERNEL_MODULES, check, distance, shapes, sweeps)


def compiled(function):
    """Compile a function that calls inner ones, which have no wrapper for Python."""
    made = cached_njit()(function)
    kernels.forget_stale([made], CALLED)
    return made
