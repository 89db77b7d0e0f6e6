# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The result of a solve, for one tip or for several, and the metrics of a posture."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from math import isfinite, pi
from typing import NamedTuple

import numpy as np

from ik_node.base.errors import Reason
from ik_node.base.text import length_text, quote
from ik_node.kinematics.arm import forward_kinematics, singular_values
from ik_node.kinematics.kernels import joint_frames
from ik_node.kinematics.tree.kinematic_tree import KinematicTree
from ik_node.model.chain import Chain
from ik_node.model.joint_space import JointSpace
from ik_node.solver.descent.layout import (
    BIAS_STEP_COUNT,
    JOINT_VALUES,
    LAST_ATTEMPT,
    ORIENTATION_ERROR,
    POSITION_ERROR,
    SOLVED_FLAG,
    STEP_COUNT,
)
from ik_node.solver.goal import Goal

ALIGNMENT_TOLERANCE = 1e-3  # sine of the angle between parallel axes; m between meeting axes


def branch_labels(chain: Chain, q: np.ndarray) -> dict[str, str]:
    """
    Return the labels of the branch of a posture; empty for arms without such labels.

    Arms with labels have six revolute joints.  Their second and third axes are
    parallel, and either the fourth is parallel too (UR), or the last three meet in a
    point.  Let f be the vector from the first joint to the point where the last two
    axes meet.

    - shoulder: 'left' or 'right', the side of f to which the second axis points;
    - elbow: 'up' or 'down', whether it is above the line from the shoulder to the
      fourth axis (or to the wrist centre, if there is one), seen along that line with
      the first axis up;
    - wrist: 'plus' or 'minus', the sign of ``a_5 . (a_4 x a_6)``.

    A label changes where the arm passes the singularity of that name.  At the shoulder
    singularity the label of the elbow changes too, because f reverses.

    Parameters
    ----------
    q : (n,) array
        Joint positions, rad.

    """
    if chain.n != 6 or len(chain.joints) != 6 or not chain.revolute.all():
        return {}
    frames = np.empty((7, 12))
    joint_frames(chain.table, np.ascontiguousarray(q, dtype=float), frames)
    a, p = frames[:6, [2, 5, 8]], frames[:6, 9:]
    if np.linalg.norm(np.cross(a[1], a[2])) > ALIGNMENT_TOLERANCE:
        return {}
    wrist, gap = _meeting(p[4], a[4], p[5], a[5])
    if np.linalg.norm(np.cross(a[2], a[3])) < ALIGNMENT_TOLERANCE:
        arm = p[3] - p[1]
    else:
        arm = wrist - p[1]
        gap = max(gap, np.linalg.norm(np.cross(wrist - p[3], a[3])))
    if gap > ALIGNMENT_TOLERANCE:
        return {}
    forward = wrist - p[0]
    side = np.cross(a[0], forward - (forward @ a[0]) * a[0])
    above = np.cross(p[2] - p[1], arm) @ a[1] * np.sign(side @ a[1])
    return {
        'shoulder': 'left' if side @ a[1] > 0.0 else 'right',
        'elbow': 'up' if above > 0.0 else 'down',
        'wrist': 'plus' if a[4] @ np.cross(a[3], a[5]) > 0.0 else 'minus',
    }


def _meeting(p: np.ndarray, a: np.ndarray, r: np.ndarray,
             b: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the middle of the shortest segment between two lines, and its length (m)."""
    normal = np.cross(a, b)
    square = normal @ normal
    if square < 1e-12:
        return p, float('inf')
    s = np.cross(r - p, b) @ normal / square
    t = np.cross(r - p, a) @ normal / square
    ends = p + s * a, r + t * b
    return 0.5 * (ends[0] + ends[1]), float(np.linalg.norm(ends[0] - ends[1]))


SUCCESS_REASONS = (Reason.SOLVED, Reason.NEAREST)


class TipError(NamedTuple):
    """How far a tip is from its goal, by forward kinematics."""

    position: float
    """m; of a goal with tolerances what is outside them, 0 where it is free."""
    orientation: float
    """rad; of a goal with tolerances what is outside them, 0 where it is free."""
    met: bool
    """Whether both are within the tolerances of the solver."""

    def __str__(self) -> str:
        """Return both errors, those that are zero left out, in words."""
        parts = [length_text(self.position)] * (self.position > 0.0) \
            + [f'{self.orientation:.3g} rad'] * (self.orientation > 0.0)
        return ' and '.join(parts) or '0 mm'


class JointMetrics:
    """Metrics of joint positions `q` of a chain or tree, the `space`, computed on access."""

    __slots__ = ()
    space: JointSpace
    q: np.ndarray
    seed: np.ndarray

    @property
    def joint_positions(self) -> dict[str, float]:
        """Return `q` by the names of the joints, rad or m."""
        return dict(zip(self.space.joint_names, self.q.tolist()))

    @property
    def limit_margin(self) -> float:
        """Return the smallest distance of a joint to its limits (rad or m)."""
        return float(self._margins.min())

    @property
    def limiting_joints(self) -> tuple[str, ...]:
        """Return the names of the joints at a limit."""
        return self.space.at_limit(self.q)

    @property
    def tightest_joint(self) -> str:
        """Return the joint with the smallest distance to its limits."""
        return self.space.joint_names[int(self._margins.argmin())]

    @property
    def centredness(self) -> float:
        """Return the smallest limit margin as a share of half the range: 1 middle, 0 limit."""
        half = 0.5 * (self.space.upper - self.space.lower)
        share = np.divide(self._margins, half, out=np.ones_like(half),
                          where=np.isfinite(half) & (half > 0.0))
        return float(share.min())

    @property
    def distance(self) -> float:
        """Return the largest change of a joint from the seed (rad or m)."""
        return float(np.abs(self.q - self.seed).max())

    @property
    def turns(self) -> np.ndarray:
        """Return `q` and its whole turns inside the limits, (k, n), nearest to the seed first."""
        space = self.space
        choices = []
        for k in range(space.n):
            values = [self.q[k]]
            if space.revolute[k] and isfinite(space.lower[k]) and isfinite(space.upper[k]):
                first = np.ceil((space.lower[k] - self.q[k]) / (2.0 * pi))
                last = np.floor((space.upper[k] - self.q[k]) / (2.0 * pi))
                values = list(self.q[k] + 2.0 * pi * np.arange(first, last + 1.0))
            choices.append(values)
        every = np.array(list(product(*choices)))
        distance = np.abs(every - self.seed)
        return every[np.lexsort((distance.sum(axis=1), distance.max(axis=1)))]

    @property
    def _margins(self) -> np.ndarray:
        return np.minimum(self.q - self.space.lower, self.space.upper - self.q)

    @property
    def _at_limit(self) -> str:
        """Return how a sentence ends that tells which joints are at a limit."""
        limits = self.limiting_joints
        return f', with {", ".join(map(quote, limits))} at the limit' if limits else ''


class PostureMetrics(JointMetrics):
    """The same of a `chain`, and what depends on its one tip."""

    __slots__ = ()
    chain: Chain

    @property
    def space(self) -> JointSpace:
        """Return the chain."""
        return self.chain

    @property
    def singular_values(self) -> np.ndarray:
        """Return the singular values of the Jacobian at `q`, largest first (m, rad)."""
        return singular_values(self.chain, self.q)

    @property
    def smallest_singular_value(self) -> float:
        """Return the smallest singular value of the Jacobian; 0 at a singularity."""
        return float(self.singular_values[-1])

    @property
    def manipulability(self) -> float:
        """Return Yoshikawa's (1985) measure, the product of the singular values."""
        return float(np.prod(self.singular_values))

    @property
    def T_base_tip(self) -> np.ndarray:
        """Return the pose (4, 4) of the tip at `q`."""
        return forward_kinematics(self.chain, self.q)

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels of the branch: :func:`~ik_node.solver.result.branch_labels`."""
        return branch_labels(self.chain, self.q)


class Posture(PostureMetrics):
    """
    Joint positions of a chain.

    Attributes
    ----------
    chain : Chain
    q : (n,) array
        Joint positions, rad or m.
    seed : (n,) array
        Where the search started.

    """

    __slots__ = ('chain', 'q', 'seed')

    def __init__(self, chain: Chain, q: np.ndarray, seed: np.ndarray) -> None:
        self.chain, self.q, self.seed = chain, q, seed

    def __repr__(self) -> str:
        """Return the joint positions, rounded."""
        return f'Posture(q={_rounded(self.q)})'


class Result(PostureMetrics):
    """
    Result of one solve for one tip.

    Attributes
    ----------
    status : Reason
        SOLVED; NEAREST (the nearest pose within reach, with the option `nearest`); or
        why there is no solution: OUT_OF_REACH, INNER_VOID, ORIENTATION_OUT_OF_REACH,
        BEYOND_LIMIT, OTHER_BRANCH, COLLISION, NO_SOLUTION, DEADLINE.
    q : (n,) array
        The solution; on failure the posture that came nearest.
    time : float
        Seconds.
    excess : dict of joint name to float
        For BEYOND_LIMIT: how far beyond its limit each joint would have to go (rad or m).
    contact : str
        For COLLISION: which bodies are too near to each other at `q`, and how near.

    """

    __slots__ = ('chain', 'status', 'time', 'excess', 'contact', '_packed', '_goal')

    def __init__(self, chain: Chain, status: Reason, packed: np.ndarray,
                 goal: Goal | np.ndarray, time: float,
                 excess: dict[str, float] | None = None, contact: str = '') -> None:
        self.chain, self.status, self.time = chain, status, time
        self.excess, self.contact = excess, contact
        # The row as the compiled code left it (:func:`solve_rows`), read on access.
        self._packed, self._goal = packed, goal

    def __repr__(self) -> str:
        """Return status, success, errors and joint positions, rounded."""
        return (f'Result({self.status.value}, success={self.success}, '
                f'position_error={self.position_error:.1e} m, '
                f'orientation_error={self.orientation_error:.1e} rad, q={_rounded(self.q)})')

    @property
    def q(self) -> np.ndarray:
        """Return the solution (n,), rad or m; on failure the posture that came nearest."""
        return self._packed[-self.chain.n:]

    @property
    def seed(self) -> np.ndarray:
        """Return where the first attempt started, (n,), rad or m."""
        return self._packed[16:16 + self.chain.n]

    @property
    def seeds(self) -> np.ndarray:
        """Return all seeds that were given, (s, n), rad or m."""
        end = len(self._packed) - JOINT_VALUES - self.chain.n
        return self._packed[16:end].reshape(-1, self.chain.n)

    @property
    def answer(self) -> np.ndarray:
        """Return the answer as the compiled code writes it, (7 + n,)."""
        return self._packed[-JOINT_VALUES - self.chain.n:]

    @property
    def success(self) -> bool:
        """Return whether `q` is inside the limits and an answer: SOLVED or NEAREST."""
        return self.status in SUCCESS_REASONS

    @property
    def goal(self) -> Goal:
        """Return the goal."""
        return (self._goal if isinstance(self._goal, Goal)
                else Goal(self._packed[:16].reshape(4, 4)))

    @property
    def position_error(self) -> float:
        """Return the distance (m) from the goal, by forward kinematics at `q`."""
        return float(self.answer[POSITION_ERROR])

    @property
    def orientation_error(self) -> float:
        """Return the angle (rad) from the goal, by forward kinematics at `q`."""
        return float(self.answer[ORIENTATION_ERROR])

    @property
    def errors(self) -> dict[str, TipError]:
        """Return both errors by the tip link."""
        return {self.chain.tip_link: TipError(self.position_error, self.orientation_error,
                                              bool(self.answer[SOLVED_FLAG] == 1.0))}

    @property
    def iterations(self) -> int:
        """Return the number of damped steps of all attempts."""
        return int(self.answer[STEP_COUNT])

    @property
    def restarts(self) -> int:
        """Return the number of attempts after the first."""
        return int(self.answer[LAST_ATTEMPT])

    @property
    def bias_iterations(self) -> int:
        """Return the number of null-space steps after the solution was found."""
        return int(self.answer[BIAS_STEP_COUNT])

    @property
    def message(self) -> str:
        """Return the outcome in one sentence."""
        return _MESSAGE_MAKERS[self.status](self)

    @property
    def _nearest(self) -> str:
        away, = self.errors.values()
        return f'the nearest posture found is {away} away{self._at_limit}'

    @property
    def _goal_distance(self) -> float:
        return float(np.linalg.norm(self.goal.T_base_tip[:3, 3] - self.chain.offsets[0, 9:]))


@dataclass(frozen=True, eq=False)
class TreeResult(JointMetrics):
    """Result of one solve for several tips."""

    space: KinematicTree
    status: Reason
    """SOLVED; OUT_OF_REACH, ORIENTATION_OUT_OF_REACH or NO_SOLUTION of `unreachable`; COLLISION;
    DEADLINE."""
    q: np.ndarray
    """(n,), joint positions, rad or m, inside the limits; on failure the posture that came
    nearest, in the least squares of the weighted errors."""
    errors: dict[str, TipError]
    """By tip link."""
    seed: np.ndarray
    """(n,), where the search started, rad or m."""
    time: float
    """Seconds."""
    secondary: tuple[str, ...] = ()
    """Tips that were to come as near as possible only."""
    unreachable: tuple[str, ...] = ()
    """On failure the tips that cannot be brought to their goals: one that cannot by itself, or of
    those that cannot together each without which the others can, else all."""
    cause: str = field(default='', repr=False)
    attempts: int = 0
    """Starts that were tried."""
    iterations: int = 0
    """Damped steps of all starts, those for the reason not counted."""

    def __repr__(self) -> str:
        """Return status, success and errors, rounded."""
        errors = ', '.join(f'{tip}: {error}' for tip, error in self.errors.items())
        return f'TreeResult({self.status.value}, success={self.success}, {errors})'

    @property
    def success(self) -> bool:
        """Return whether all tips but the secondary ones are at their goals."""
        return self.status is Reason.SOLVED

    @property
    def position_error(self) -> float:
        """Return the largest distance (m) of a tip from its goal, the secondary ones left out."""
        return max((error.position for error in self._required), default=0.0)

    @property
    def orientation_error(self) -> float:
        """Return the largest angle (rad) of a tip from its goal, the secondary ones left out."""
        return max((error.orientation for error in self._required), default=0.0)

    @property
    def _required(self) -> list[TipError]:
        return [error for tip, error in self.errors.items() if tip not in self.secondary]

    @property
    def message(self) -> str:
        """Return the outcome in one sentence."""
        if self.status is Reason.COLLISION:
            return self.cause
        if not self.success:
            away = ', '.join(f'{quote(tip)} is {error} away' for tip, error in self.errors.items()
                             if not error.met and tip not in self.secondary)
            return f'{self.cause}; in the nearest posture found {away}{self._at_limit}'
        rest = ', '.join(f'; {quote(tip)}, which comes second, is {error} away'
                         for tip, error in self.errors.items()
                         if tip in self.secondary and not error.met)
        count = len(self._required)
        return solved_text(self, f' for {count} tip{"s" * (count != 1)}') + rest


def _rounded(q: np.ndarray) -> str:
    return f'[{", ".join(f"{value:.4f}" for value in q)}]'


def solved_text(result: JointMetrics, whom: str = '') -> str:
    """Return the message of a solution."""
    return (f'solved{whom} to {result.position_error:.1e} m and {result.orientation_error:.1e} '
            f'rad in {1e3 * result.time:.2f} ms')


def _out_of_reach(r: Result) -> str:
    hint = '; are its units millimetres?' if r._goal_distance > 10.0 * r.chain.reach else ''
    bound = f'{r.chain.tip_text} reaches at most {r.chain.reach:.4g} m' \
        if r._goal_distance > r.chain.reach else f'too far for {r.chain.tip_text} there'
    return (f'out of reach: the goal is {r._goal_distance:.4g} m from the first joint, '
            f'{bound}{hint}; {r._nearest}')


def _beyond_limit(r: Result) -> str:
    parts = []
    for k, name in enumerate(r.chain.joint_names):
        if name in r.excess:
            unit = 'rad' if r.chain.revolute[k] else 'm'
            parts.append(f'{quote(name)} by {r.excess[name]:.3g} {unit}')
    return ('no posture inside the joint limits puts '
            f'{r.chain.tip_text} there; it would take {", ".join(parts)} beyond the limit; '
            f'{r._nearest}')


_MESSAGE_MAKERS = {
    Reason.SOLVED: solved_text,
    Reason.NEAREST: lambda r: f'the goal is not within reach; {r._nearest}',
    Reason.OUT_OF_REACH: _out_of_reach,
    Reason.INNER_VOID: lambda r: (
        f'the goal is {r._goal_distance:.4g} m from the first joint, too close for '
        f'{r.chain.tip_text}; {r._nearest}'),
    Reason.ORIENTATION_OUT_OF_REACH: lambda r: (
        f'{r.chain.tip_text} gets to that position, but not in that orientation; '
        f'{r._nearest}'),
    Reason.BEYOND_LIMIT: _beyond_limit,
    Reason.OTHER_BRANCH: lambda r: (
        f'solved only with a joint moved by {r.distance:.3g} (rad or m), more than max_jump '
        'allows'),
    Reason.COLLISION: lambda r: f'every posture that reaches the goal collides: {r.contact}',
    Reason.NO_SOLUTION: lambda r: (
        f'no posture inside the joint limits puts {r.chain.tip_text} there; {r._nearest}'),
    Reason.DEADLINE: lambda r: (
        f'no solution within the time allowed ({1e3 * r.time:.0f} ms); {r._nearest}'),
}
