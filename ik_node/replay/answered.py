# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Requests to the solver and the planners with what came of them."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any, NamedTuple

from ik_node.base.errors import IkNodeError, PathError, Reason
from ik_node.motion.requests import Request
from ik_node.solver.solver import Solver


class Raised(NamedTuple):
    """
    An exception: its class, reason and sentence, and for a path how much of it can be followed.

    It keeps none of the frames that the exception came through.
    """

    type: str
    reason: str
    message: str
    fraction: float | None = None

    @classmethod
    def by(cls, error: Exception) -> Raised:
        """Return the record of an exception."""
        reason = error.reason if isinstance(error, IkNodeError) else Reason.INTERNAL
        return cls(type(error).__name__, reason.value, str(error),
                   error.fraction if isinstance(error, PathError) else None)


class AnsweredRequest(NamedTuple):
    """A request, the solver that it was made to, and what its plan returned, or Raised."""

    request: Request
    solver: Solver
    outcome: Any


def answered(request: Request, solver: Solver, log: MutableSequence[AnsweredRequest]) -> Any:
    """
    Return what a request plans, and note it in a log.

    Raises
    ------
    Exception
        What the request raises; it is noted, too.

    """
    try:
        outcome = request.plan(solver)
    except Exception as error:
        log.append(AnsweredRequest(request, solver, Raised.by(error)))
        raise
    log.append(AnsweredRequest(request, solver, outcome))
    return outcome
