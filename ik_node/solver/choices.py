# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Names of the methods of a solver, and of the choices among its solutions.

The compiled method is part of the solver.  Packages above it register others when they are
imported; METHOD_PACKAGES are imported when another method is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

from ik_node.base.errors import Reason

COMPILED_METHOD = 'damped'
SOLUTION_CHOICES = ('first', 'nearest', 'centred', 'manipulable')
METHOD_PACKAGES = ('ik_node.textbook',)

# Arguments and result as of ik_node.textbook.solve.solve_by_method.
Solve = Callable[..., Reason]
_registered: dict[str, Solve] = {}


def register(names: Iterable[str], solve: Solve) -> None:
    """Register the function that solves by these methods."""
    _registered.update(dict.fromkeys(names, solve))


def methods() -> dict[str, Solve]:
    """Return the functions that solve by other methods than the compiled one, by name."""
    for package in METHOD_PACKAGES:
        import_module(package)
    return _registered
