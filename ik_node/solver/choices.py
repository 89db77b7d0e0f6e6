# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What a solver can be asked for by name: a method, and which of the solutions.

The compiled method is part of the solver.  Packages above it register others when they are
imported, and those of ELSEWHERE are imported once another method is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

from ik_node.errors import Reason

COMPILED = 'damped'
SELECTIONS = ('first', 'nearest', 'centred', 'manipulable')
ELSEWHERE = ('ik_node.textbook',)

# Arguments and result are those of ik_node.textbook.solve.solve_by_method.
Solve = Callable[..., Reason]
_registered: dict[str, Solve] = {}


def register(names: Iterable[str], solve: Solve) -> None:
    """Have a function solve where one of these methods is asked for."""
    _registered.update(dict.fromkeys(names, solve))


def methods() -> dict[str, Solve]:
    """Return by name what solves by another method than the compiled one."""
    for package in ELSEWHERE:
        import_module(package)
    return _registered
