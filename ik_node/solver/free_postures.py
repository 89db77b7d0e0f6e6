# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The choice among the solutions of a goal that are free of collisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import degrees, inf
from typing import Protocol

import numpy as np

from ik_node.solver.branches import (
    all_solutions,
    distinct_solutions,
    leaves_freedom,
    QUIET_ATTEMPTS,
    SELECTION_KEYS,
)
from ik_node.solver.compiled.layout import BOX_AXES, EXACT_POSE
from ik_node.solver.goal import Goal
from ik_node.solver.result import Posture
from ik_node.solver.tables import Query

FINE_SAMPLE_DISTANCE = 0.1  # rad or m, between samples of a continuum if none so far is free
MAX_FINE_SAMPLES = 200
TURN_TOLERANCES = {'x': (0.0, 0.0, 0.0, inf, 0.0, 0.0), 'y': (0.0, 0.0, 0.0, 0.0, inf, 0.0),
                   'z': (0.0, 0.0, 0.0, 0.0, 0.0, inf)}


class PostureCheck(Protocol):
    """What a solver asks about collisions; see :class:`ik_node.collision.model.CollisionModel`."""

    def check_many(self, Q: np.ndarray) -> np.ndarray:
        """Return which of the postures (K, n) are free, (K,) bool."""

    def describe(self, q: np.ndarray) -> str:
        """Return which bodies are too near to each other at q (n,), and how near."""


def free_solutions(query: Query, check: PostureCheck,
                   reference: np.ndarray | None = None) -> tuple[Posture, ...]:
    """
    Return the solutions inside the limits that are free, the nearest to the seed first.

    If the goal leaves the arm free, by a free axis or a seventh joint, and no sample of the
    continuum is free, finer samples are looked at.

    Parameters
    ----------
    query, reference :
        As in :func:`ik_node.solver.branches.all_solutions`.
    check : PostureCheck

    """
    found = only_free(all_solutions(query, reference), check)
    if found or not leaves_freedom(query):
        return found
    samples = distinct_solutions(query, query.seed, QUIET_ATTEMPTS, FINE_SAMPLE_DISTANCE,
                                 MAX_FINE_SAMPLES)
    fine = [Posture(query.chain, q.copy(), query.seed) for q in samples]
    return only_free(tuple(sorted(fine, key=SELECTION_KEYS['nearest'])), check)


def only_free(postures: tuple[Posture, ...], check: PostureCheck) -> tuple[Posture, ...]:
    """Return the postures that are free, in their order."""
    if not postures:
        return ()
    free = check.check_many(np.array([posture.q for posture in postures]))
    return tuple(posture for posture, ok in zip(postures, free) if ok)


def choose_free(query: Query, check: PostureCheck,
                key: Callable[[Posture], float], reference: np.ndarray | None) -> bool:
    """
    Replace the answer of a query by the free solution with the least `key`.

    Returns whether there is one.
    """
    found = free_solutions(query, check, reference)
    if not found:
        return False
    query.answer[:] = query.check(min(found, key=key).q)
    return True


def free_turn(query: Query, check: PostureCheck) -> str:
    """Return a turn of the tool about one of its axes that would be free, in words, or ''."""
    if query.settings[BOX_AXES] != EXACT_POSE:
        return ''
    exact, turns = Goal(query.T[0]), []
    for axis, tolerance in TURN_TOLERANCES.items():
        turned = Goal(query.T[0], tolerance=tolerance)
        found = free_solutions(replace(query, settings=query.tables.of(turned)), check)
        turns += [(exact.error(posture.T_base_tip)[1], axis) for posture in found]
    if not turns:
        return ''
    angle, axis = min(turns)
    return f'the tool turned by {degrees(angle):.0f} degrees about its {axis} axis would be free'
