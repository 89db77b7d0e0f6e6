# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The options of a solver.

Names of the methods of a solver, and of the choices among its solutions.

The compiled method is part of the solver.  Packages above it register others when they are
imported; METHOD_PACKAGES are imported when another method is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import inf
from typing import Any, TypedDict

import numpy as np

from ik_node.base.checks import (
    between,
    check_counts,
    check_flags,
    check_numbers,
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_OR_INF,
    SHARE,
)
from ik_node.base.errors import ParameterError, Reason
from ik_node.base.text import shown


def other_options(options: SolverOptions) -> str:
    """Return the options that are not the defaults, each after a comma."""
    default = type(options)()
    return ''.join(f', {name}={value!r}' for name, value in vars(options).items()
                   if value != getattr(default, name))


COMPILED_METHOD = 'damped'
SOLUTION_CHOICES = ('first', 'nearest', 'centred', 'manipulable')
METHOD_PACKAGES = ('ik_node.textbook',)

# Arguments and result as of ik_node.textbook.attempt.solve_by_method.
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


# Options that textbook methods do not know, those that only they know, and those of a tree.
DAMPED_ONLY = 'weights', 'posture', 'posture_gains', 'manipulability_gain'
TEXTBOOK_ONLY = ('step_fraction',)
TREE_OPTIONS = ('position_tolerance', 'orientation_tolerance', 'metres_per_radian',
                'max_iterations', 'max_restarts', 'deadline', 'random_seed', 'weights')
LARGEST_OPTION = 10**6  # iterations or restarts; m per rad, or rad per m


@dataclass(frozen=True)
class SolverOptions:
    """Options of a solver; each is also a keyword of ``Solver`` and of ``Solver.solve``."""

    method: str = 'damped'
    """'damped', or one of :data:`ik_node.textbook.TEXTBOOK_METHODS`."""
    position_tolerance: float = 1e-6
    """m, tested by itself."""
    orientation_tolerance: float = 1e-6
    """rad, tested by itself."""
    metres_per_radian: float = 0.3
    """Weight of orientation against position in the damped step and in `nearest`."""
    max_iterations: int = 0
    """Most steps of one attempt; 0 = the default of the method, 60 for 'damped'."""
    step_fraction: float = 1.0
    """Fraction of the error that one step of a textbook method along the Jacobian removes, the
    ``dt`` of Euler integration, (0, 1]."""
    max_restarts: int = 100
    """Most attempts after the given seeds, from a fixed table of postures.  If it is not 0, a few
    more attempts follow before a goal is given up.  With 0, the 'first' solution is found by
    descent from the seeds or not at all."""
    deadline: float = 0.1
    """Seconds, on the monotonic clock."""
    random_seed: int = 0
    """Of the shift of the postures from which restarts begin; 0 = none."""
    weights: tuple[float, ...] | dict[str, float] = (1.0,)
    """Cost of moving each joint, one for all, one per joint, or by the names of some joints: a
    joint of weight 4 takes a quarter of the motion of one of weight 1."""
    locked: tuple[str, ...] = ()
    """Joints that keep their positions of the seed."""
    gains: tuple[float, ...] = (0.0,)
    """Strength of the bias towards the preferred positions, one for all joints or one per joint; 0
    = off."""
    preferred: tuple[float, ...] = ()
    """Preferred joint positions (rad or m); empty = the middle of each range."""
    posture: tuple[float, ...] = ()
    """A second posture to stay close to."""
    posture_gains: tuple[float, ...] = (0.0,)
    """Strength of that bias; it adds to that of `gains`."""
    manipulability_gain: float = 0.0
    """Bias away from singularities: the gain of ``-log m``, m = Yoshikawa's measure."""
    max_bias_iterations: int = 50
    """Most null-space steps after the goal is met, from each starting posture."""
    explore: bool = True
    """Start from other postures as well, instead of only descending from the first solution."""
    closed_form: bool = True
    """Solve in closed form where the arm has one; else all is done by descent."""
    select: str | Callable[..., float] = 'first'
    """Which solution is returned: the 'first' one found, from one seed and in closed form the
    nearest, else by descent from the seeds; or, of all solutions, the 'nearest' to the first seed,
    the most 'centred' between the limits, the most 'manipulable', or the one with the smallest
    ``select(solution)``."""
    max_jump: float = float('inf')
    """Largest change of a joint from the seed, rad or m; if only a solution farther away meets the
    goal, the status is OTHER_BRANCH."""
    nearest: bool = False
    """If the goal is out of reach, return the nearest pose within reach."""
    nearest_keeps_position: bool = False
    """That pose has the position of the goal, if the position alone is within reach; then only the
    orientation differs, as little as it can."""

    _deadlines = POSITIVE  # not a field

    def __post_init__(self) -> None:
        for name in ('weights', 'locked', 'gains', 'preferred', 'posture', 'posture_gains'):
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value = value.tolist()
            object.__setattr__(self, name, (value,) if isinstance(value, (str, float, int))
                               else dict(value) if isinstance(value, Mapping)
                               else tuple(value) if isinstance(value, Iterable) else value)
        values = vars(self)
        check_numbers(values, POSITIVE, 'position_tolerance', 'orientation_tolerance')
        check_numbers(values, self._deadlines, 'deadline')
        check_numbers(values, between(1.0 / LARGEST_OPTION, LARGEST_OPTION), 'metres_per_radian')
        check_numbers(values, POSITIVE_OR_INF, 'max_jump')
        check_numbers(values, SHARE, 'step_fraction')
        check_numbers(values, NOT_NEGATIVE, 'manipulability_gain')
        check_counts(values, LARGEST_OPTION, 'max_iterations', 'max_restarts',
                     'max_bias_iterations')
        check_counts(values, inf, 'random_seed')
        check_flags(values, 'explore', 'closed_form', 'nearest', 'nearest_keeps_position')
        if not isinstance(self.method, str) \
                or self.method != COMPILED_METHOD and self.method not in methods():
            raise ParameterError(f'there is no method {shown(self.method)}; there are '
                                 f'{", ".join((COMPILED_METHOD, *methods()))}')
        names, methods_of = (TEXTBOOK_ONLY, 'textbook methods') \
            if self.method == COMPILED_METHOD else (DAMPED_ONLY, "the method 'damped'")
        self._refuse(names, f'works with {methods_of} only, not with {shown(self.method)}')
        if not (callable(self.select)
                or isinstance(self.select, str) and self.select in SOLUTION_CHOICES):
            raise ParameterError(f'select is {shown(self.select)}; it must be one of '
                                 f'{", ".join(SOLUTION_CHOICES)}, or a function of a solution')
        for name in ('max_iterations', 'max_restarts', 'max_bias_iterations'):
            object.__setattr__(self, name, int(getattr(self, name)))

    def _refuse(self, names: Iterable[str], why: str) -> None:
        for name in names:
            if getattr(self, name) != SolverOptions.__dataclass_fields__[name].default:
                raise ParameterError(f'{name} {why}')


def make_options(kind: type[SolverOptions], values: Mapping[str, Any]) -> SolverOptions:
    """Return the options of a kind; ParameterError if it lacks one of the values."""
    fields = kind.__dataclass_fields__
    if unknown := values.keys() - fields.keys():
        raise ParameterError(f'the solver has no option {", ".join(sorted(unknown))}; it has '
                             f'{", ".join(fields)}')
    return kind(**values)


@dataclass(frozen=True)
class TreeOptions(SolverOptions):
    """Options of a solver for a tree: those of TREE_OPTIONS, two of them with other defaults."""

    max_restarts: int = 200
    deadline: float = inf
    """Seconds; by default none."""

    _deadlines = POSITIVE_OR_INF

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse([name for name in vars(self) if name not in TREE_OPTIONS],
                     f'is an option for a chain; a tree has {", ".join(TREE_OPTIONS)}')


class OptionValues(TypedDict, total=False):
    """The fields of :class:`SolverOptions` as keywords, for editors and type checkers."""

    method: str
    position_tolerance: float
    orientation_tolerance: float
    metres_per_radian: float
    max_iterations: int
    step_fraction: float
    max_restarts: int
    deadline: float
    random_seed: int
    weights: float | Sequence[float] | np.ndarray | dict[str, float]
    locked: str | Sequence[str]
    gains: float | Sequence[float] | np.ndarray
    preferred: float | Sequence[float] | np.ndarray
    posture: float | Sequence[float] | np.ndarray
    posture_gains: float | Sequence[float] | np.ndarray
    manipulability_gain: float
    max_bias_iterations: int
    explore: bool
    closed_form: bool
    select: str | Callable[..., float]
    max_jump: float
    nearest: bool
    nearest_keeps_position: bool
