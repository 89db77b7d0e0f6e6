# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Why a goal has no answer, and which posture comes nearest to it."""

from __future__ import annotations

import numpy as np

from ik_node.errors import Reason
from ik_node.model.chain import Chain
from ik_node.solver.branches import find_all, nearest_inside, SAME, without_limits
from ik_node.solver.compiled.damped import (
    ATTEMPT,
    BIAS_ITERATIONS,
    BOX,
    ERROR,
    ITERATIONS,
    LOWER,
    PERSISTENT,
    Q,
    SOLVED,
    STEPS,
    UPPER,
)
from ik_node.solver.compiled.entry import solve_goals
from ik_node.solver.compiled.residual import PLAIN, TIP
from ik_node.solver.options import Tables
from ik_node.solver.result import AT_LIMIT

SETTLING_STEPS = 300.0  # to the nearest posture
QUIET = 40              # attempts without a new solution beyond the limits
SOLUTIONS = 16          # beyond the limits, at most
ATTEMPTS = 6            # to reach the position alone
FEW_ATTEMPTS = 2        # to reach a point behind it
BEHIND = (0.2, 0.5)     # points so far behind a goal, as shares of its distance, tell a void


def settle_nearest(tables: Tables, T: np.ndarray, settings: np.ndarray, joints: np.ndarray,
                   seeds: np.ndarray, answers: np.ndarray) -> None:
    """Walk on from the best attempt in `answers` (1, Q + n) to where its error is smallest."""
    settings = settings.copy()
    settings[ITERATIONS] = SETTLING_STEPS
    settings[PERSISTENT] = 1.0
    trial = solve_goals(tables.table, joints, settings, tables.postures, T,
                        np.array([[seeds[0, 0], answers[0, Q:]]]), 1, 0)
    if trial[0, SOLVED] == 1.0 or trial[0, ERROR] < answers[0, ERROR]:
        trial[0, STEPS] += answers[0, STEPS]
        trial[0, ATTEMPT] = answers[0, ATTEMPT]
        answers[:] = trial


def last_attempt(chain: Chain, tables: Tables, T: np.ndarray, settings: np.ndarray,
                 joints: np.ndarray, seeds: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """
    Attempt from the solutions that there are without the limits of the joints that turn.

    Parameters
    ----------
    T : (1, 4, 4) array
    answers : (1, Q + n) array
        The best attempt so far; the answer, if it is found.

    Returns
    -------
    (k, n) array
        Those solutions.

    """
    search = settings.copy()
    search[BIAS_ITERATIONS] = 0.0
    found = np.empty((SOLUTIONS, chain.n))
    count = find_all(tables.table, without_limits(chain, joints), search, tables.postures,
                     T[0].ravel(), answers[0, Q:].copy(), QUIET, SAME, found)
    if count:
        starts, _ = nearest_inside(chain, found[:count], seeds[0, 0], joints)
        trial = solve_goals(tables.table, joints, settings, tables.postures, T,
                            np.concatenate([seeds[0, :1], starts])[None], 1, 0)
        if trial[0, SOLVED] == 1.0:
            trial[0, STEPS] += answers[0, STEPS]
            trial[0, ATTEMPT] += answers[0, ATTEMPT] + 1.0
            answers[:] = trial
    return found[:count]


def explain(chain: Chain, tables: Tables, T: np.ndarray, settings: np.ndarray,
            joints: np.ndarray, unlimited: np.ndarray, nearest: np.ndarray
            ) -> tuple[Reason, dict[str, float] | None]:
    """
    Say why no posture inside the limits meets a goal.

    If there are solutions without the limits of the joints that turn, the limits
    are the reason, and the solution that breaks them least says by how much.  If
    not, but one without the orientation, that is.  If not, the goal is too far or,
    if points behind it are within reach, too close.

    Parameters
    ----------
    T : (1, 4, 4) array
    joints : (7, n) array
        With the limits and the locked joints.
    unlimited : (k, n) array
        From :func:`last_attempt`.
    nearest : (n,) array
        The posture inside the limits that came nearest.

    Returns
    -------
    Reason, dict of joint name to float or None
        For BEYOND_LIMIT how far beyond its limit each joint would be (rad or m).

    """
    settings = settings.copy()
    settings[BIAS_ITERATIONS] = 0.0
    free = without_limits(chain, joints)

    def solve(limits: np.ndarray, T: np.ndarray, picks: int) -> np.ndarray | None:
        answer = solve_goals(tables.table, limits, settings, tables.postures, T,
                             nearest.reshape(1, 1, -1), 0, picks)[0]
        return answer[Q:] if answer[SOLVED] == 1.0 else None

    if len(unlimited):
        return _limits_broken(chain, joints, [*unlimited, *(
            q for k in np.flatnonzero(_stuck(joints, nearest))
            if (q := solve(_open(joints, free, k), T, 0)) is not None)])
    if np.isinf(settings[BOX:BOX + 3]).all():
        return Reason.NO_SOLUTION, None
    settings[BOX + 3:BOX + 6] = np.inf
    if settings[BOX + 6] == PLAIN:
        settings[BOX + 6] = TIP
    q = solve(free, T, ATTEMPTS)
    if q is not None:
        if solve(joints, T, ATTEMPTS) is not None:
            return Reason.ORIENTATION_OUT_OF_REACH, None
        return _limits_broken(chain, joints, [q])
    for way in _outward(chain, T[0, :3, 3]):
        behind = T.copy()
        behind[0, :3, 3] += way
        if solve(free, behind, FEW_ATTEMPTS) is not None:
            return Reason.INNER_VOID, None
    return Reason.OUT_OF_REACH, None


def _outward(chain: Chain, p: np.ndarray) -> list[np.ndarray]:
    """Return ways (3,) from p to points behind it, from the first joint and from its axis."""
    out, axis = p - chain.offsets[0, 9:], chain.offsets[0, [2, 5, 8]]
    aside = out - (out @ axis) * axis
    if np.linalg.norm(aside) < AT_LIMIT:
        aside = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    aside *= chain.reach / np.linalg.norm(aside)
    return [share * way for share in BEHIND for way in (out, aside)]


def _open(joints: np.ndarray, free: np.ndarray, k: int) -> np.ndarray:
    """Return the table of joints without the limits of joint k."""
    opened = joints.copy()
    opened[[LOWER, UPPER], k] = free[[LOWER, UPPER], k]
    return opened


def _stuck(joints: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return which joints stand at a limit and are not locked, (n,) bool."""
    at = np.minimum(q - joints[LOWER], joints[UPPER] - q) < AT_LIMIT
    return at & (joints[LOWER] < joints[UPPER])


def _limits_broken(chain: Chain, joints: np.ndarray, postures: list[np.ndarray]
                   ) -> tuple[Reason, dict[str, float] | None]:
    """Return how far the posture that breaks the limits least does so, joint by joint."""
    turns = 2.0 * np.pi * np.arange(-2.0, 3.0)[:, None, None] * chain.turning
    values = np.array(postures) + turns
    beyond = np.maximum(joints[LOWER] - values, values - joints[UPPER])
    excess = np.maximum(beyond, 0.0).min(axis=0)
    least = excess[np.argmin(excess.max(axis=1))]
    named = {name: float(x) for name, x in zip(chain.joint_names, least) if x > 0.0}
    return (Reason.BEYOND_LIMIT, named) if named else (Reason.NO_SOLUTION, None)
