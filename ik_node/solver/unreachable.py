# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Why a goal has no solution, and which posture comes nearest to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ik_node.base.checks import check_numbers, NOT_NEGATIVE_OR_INF
from ik_node.base.errors import Reason
from ik_node.base.text import quote
from ik_node.model.chain import Chain
from ik_node.model.joint_space import AT_LIMIT
from ik_node.solver.branches import distinct_solutions, nearest_inside, without_limits
from ik_node.solver.descent.layout import (
    BOX_AXES,
    BOX_WIDTHS,
    EXACT_POSE,
    JOINT_VALUES,
    JointRows,
    LAST_ATTEMPT,
    MAX_BIAS_STEPS,
    MAX_STEPS,
    SAME_SOLUTION,
    SOLVED_FLAG,
    STEP_COUNT,
    TIP_AXES,
    WALK_TO_REST,
)
from ik_node.solver.result import PostureMetrics, Result
from ik_node.solver.tables import Query

SETTLING_STEPS = 300.0           # to the nearest posture
UNLIMITED_QUIET_ATTEMPTS = 40    # attempts without a new solution beyond the limits
MAX_UNLIMITED_SOLUTIONS = 16     # solutions beyond the limits
POSITION_RESTARTS = 6            # to reach the position alone
BEHIND_RESTARTS = 2              # to reach a point behind it
BEHIND_SHARES = (0.2, 0.5)       # how far behind the goal these points are, of its distance


def settle_nearest(query: Query, others: Iterable[np.ndarray] = ()) -> None:
    """Walk on from the best answer, and others (n,), to the smallest error; write the answer."""
    answer = query.answer
    walk = query.with_settings({MAX_STEPS: SETTLING_STEPS, WALK_TO_REST: 1.0})
    for start in (query.q.copy(), *others):
        trial = walk.solve(np.array([query.seed, start]), 1, 0)
        if query.improves(trial):
            trial[STEP_COUNT] += answer[STEP_COUNT]
            trial[LAST_ATTEMPT] = answer[LAST_ATTEMPT]
            answer[:] = trial


def last_attempt(query: Query) -> np.ndarray:
    """
    Attempt from the solutions without the limits of revolute joints; write an answer found.

    Returns
    -------
    (k, n) array
        Those solutions.

    """
    answer, seed = query.answer, query.seed
    search = query.with_settings({MAX_BIAS_STEPS: 0.0}).with_joints(
        without_limits(query.chain, query.joints))
    if query.closed:
        found = search.branches(query.q.copy())[:, JOINT_VALUES:].copy()
    else:
        found = distinct_solutions(search, query.q.copy(), UNLIMITED_QUIET_ATTEMPTS, SAME_SOLUTION,
                                   MAX_UNLIMITED_SOLUTIONS)
    if len(found):
        starts, _ = nearest_inside(query.chain, found, seed, query.joints)
        trial = query.solve(np.concatenate([seed[None], starts]), 1, 0)
        if trial[SOLVED_FLAG] == 1.0:
            trial[STEP_COUNT] += answer[STEP_COUNT]
            trial[LAST_ATTEMPT] += answer[LAST_ATTEMPT] + 1.0
            answer[:] = trial
    return found


def explain(query: Query, unlimited: np.ndarray,
            nearest: np.ndarray) -> tuple[Reason, dict[str, float] | None]:
    """
    Return why no posture inside the limits meets a goal.

    If there are solutions without the limits of revolute joints, the limits are the
    reason, and the solution that breaks them least tells by how much.  Otherwise, if
    the position can be reached with another orientation, the orientation is.
    Otherwise the goal is too far away or, if points behind it can be reached, too close.

    Parameters
    ----------
    query : Query
    unlimited : (k, n) array
        From :func:`last_attempt`.
    nearest : (n,) array
        The posture inside the limits that came nearest.

    Returns
    -------
    Reason, dict of joint name to float or None
        For BEYOND_LIMIT how far beyond its limit each joint would be (rad or m).

    """
    chain, joints = query.chain, query.joints
    free = without_limits(chain, joints)
    settings = query.settings.copy()
    settings[MAX_BIAS_STEPS] = 0.0

    def solve(limits: np.ndarray, T: np.ndarray, restarts: int) -> np.ndarray | None:
        answer = query.tables.solve(T, nearest.reshape(1, 1, -1), 0, restarts, settings=settings,
                                    joints=limits)[0]
        return answer[JOINT_VALUES:] if answer[SOLVED_FLAG] == 1.0 else None

    if len(unlimited):
        return _limits_broken(chain, joints, [*unlimited, *(
            q for k in np.flatnonzero(_stuck(joints, nearest))
            if (q := solve(_open(joints, free, k), query.T, 0)) is not None)])
    if np.isinf(settings[BOX_WIDTHS:BOX_WIDTHS + 3]).all():
        return Reason.NO_SOLUTION, None
    settings[BOX_WIDTHS + 3:BOX_AXES] = np.inf
    if settings[BOX_AXES] == EXACT_POSE:
        settings[BOX_AXES] = TIP_AXES
    q = solve(free, query.T, POSITION_RESTARTS)
    if q is not None:
        if solve(joints, query.T, POSITION_RESTARTS) is not None:
            return Reason.ORIENTATION_OUT_OF_REACH, None
        return _limits_broken(chain, joints, [q])
    for offset in _outward(chain, query.T[0, :3, 3]):
        behind = query.T.copy()
        behind[0, :3, 3] += offset
        if solve(free, behind, BEHIND_RESTARTS) is not None:
            return Reason.INNER_VOID, None
    return Reason.OUT_OF_REACH, None


def _outward(chain: Chain, p: np.ndarray) -> list[np.ndarray]:
    """Return offsets (3,) from p to points behind it, away from the first joint and its axis."""
    out, axis = p - chain.offsets[0, 9:], chain.offsets[0, [2, 5, 8]]
    aside = out - (out @ axis) * axis
    if np.linalg.norm(aside) < AT_LIMIT:
        aside = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    aside *= chain.reach / np.linalg.norm(aside)
    return [share * offset for share in BEHIND_SHARES for offset in (out, aside)]


def _open(joints: np.ndarray, free: np.ndarray, k: int) -> np.ndarray:
    """Return the joint table (7, n) without the limits of joint k."""
    opened = joints.copy()
    opened[:, k] = free[:, k]
    return opened


def _stuck(joints: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return which joints are at a limit and not locked, (n,) bool."""
    rows = JointRows(*joints)
    at_limit = np.minimum(q - rows.lower, rows.upper - q) < AT_LIMIT
    return at_limit & (rows.lower < rows.upper)


def _limits_broken(chain: Chain, joints: np.ndarray, postures: list[np.ndarray]
                   ) -> tuple[Reason, dict[str, float] | None]:
    """Return by how much each joint breaks its limits, in the posture that does so least."""
    turns = 2.0 * np.pi * np.arange(-2.0, 3.0)[:, None, None] * chain.revolute
    values = np.array(postures) + turns
    rows = JointRows(*joints)
    beyond = np.maximum(rows.lower - values, values - rows.upper)
    excess = np.maximum(beyond, 0.0).min(axis=0)
    least = excess[np.argmin(excess.max(axis=1))]
    named = {name: float(x) for name, x in zip(chain.joint_names, least) if x > 0.0}
    return (Reason.BEYOND_LIMIT, named) if named else (Reason.NO_SOLUTION, None)


class Colour(str, Enum):
    """Colour in which a goal is drawn."""

    GREEN = 'green'  # reachable
    AMBER = 'amber'  # reachable, with a warning
    RED = 'red'      # not reachable


@dataclass(frozen=True)
class Thresholds:
    """
    When a reachable posture gets a warning.

    Raises
    ------
    ParameterError
        If one is negative or NaN.

    """

    far: float = 1.6  # a joint that would move farther than this (rad or m) is on another branch
    limit_margin: float = 0.05  # a joint nearer to a limit than this (rad or m) is close to it
    singular_value: float = 0.03  # an arm with a smaller singular value is close to a singularity

    def __post_init__(self) -> None:
        check_numbers(vars(self), NOT_NEGATIVE_OR_INF, *vars(self), what='the threshold {}')


@dataclass(frozen=True)
class ReachabilityReport:
    """Whether a goal can be reached, and how well."""

    colour: Colour
    reason: Reason  # SOLVED, or why the goal is not reachable
    sentence: str  # the same in words
    limit_margin: float  # smallest distance of a joint to its limits (rad or m)
    smallest_singular_value: float  # of the Jacobian
    jump: float  # largest change of a joint from its present position (rad or m)
    # The joint close to its limit; if the goal is not reachable, the joint at its limit, or the
    # one that would be farthest beyond it; empty if there is none.
    limiting_joint: str


def judge(found: PostureMetrics, thresholds: Thresholds) -> ReachabilityReport:
    """
    Judge a posture; its seed is the present posture of the arm.

    Parameters
    ----------
    found : Result or Posture
        A result that is not SOLVED is red, with its own message; so is a result with
        the nearest pose within reach.

    """
    margin, smallest = found.limit_margin, found.smallest_singular_value
    if isinstance(found, Result) and found.status is not Reason.SOLVED:
        beyond = max(found.excess, key=found.excess.get) if found.excess else ''
        limiting = beyond or next(iter(found.limiting_joints), '')
        return ReachabilityReport(Colour.RED, found.status, found.message, margin, smallest,
                                  found.distance, limiting)
    limiting = found.tightest_joint if margin < thresholds.limit_margin else ''
    warnings = []
    if found.distance > thresholds.far:
        k = int(np.abs(found.q - found.seed).argmax())
        warnings.append(f'on a far branch: {quote(found.chain.joint_names[k])} would move by '
                        f'{found.distance:.3g} {_unit(found, k)}')
    if limiting:
        k = found.chain.joint_names.index(limiting)
        warnings.append(f'close to a limit: {quote(limiting)} would stand {max(margin, 0.0):.2g} '
                        f'{_unit(found, k)} from it')
    if smallest < thresholds.singular_value:
        warnings.append('close to a singularity: the smallest singular value would be '
                        f'{smallest:.2g}')
    sentence = f'reachable, but {", and ".join(warnings)}' if warnings else 'reachable'
    colour = Colour.AMBER if warnings else Colour.GREEN
    return ReachabilityReport(colour, Reason.SOLVED, sentence, margin, smallest, found.distance,
                              limiting)


def _unit(found: PostureMetrics, k: int) -> str:
    return 'rad' if found.chain.revolute[k] else 'm'
