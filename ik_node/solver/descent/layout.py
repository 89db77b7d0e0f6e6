# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Layout of the arrays that Python and the compiled solver exchange, and its named tuples.

n is the number of joints, m the number of joints on the path (mimic joints included), K the
number of postures in the table.  Named tuples cost nothing in compiled code if their fields
are bound to locals before a loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import allocating, inlined

# Columns of the chain's table, (m + 1, 16), behind the pose (12) of each joint frame: not 0 for a
# prismatic joint; index of the joint in q; factor of a mimic joint.
PRISMATIC_COLUMN, INDEX_COLUMN, FACTOR_COLUMN = 12, 13, 14

# Rows of the joint table, (7, n); compiled code reads them as JointRows.
(LOWER_ROW, UPPER_ROW, WRAP_ROW, REVOLUTE_ROW, SCALE_ROW, PREFERRED_ROW, PULL_ROW) = range(7)

# Entries of the settings, (16,).  Tolerances and arm reach in m and rad; the box as in a goal.
# WALK_TO_REST: not 0 to walk on until the error no longer falls, also if the goal is not met.
(METRES_PER_RADIAN, POSITION_TOLERANCE, ORIENTATION_TOLERANCE, MAX_STEPS, MAX_BIAS_STEPS,
 MANIPULABILITY_GAIN, EXPLORE_SELF_MOTION, ARM_REACH, WALK_TO_REST, BOX_WIDTHS) = range(10)
BOX_AXES = BOX_WIDTHS + 6
SETTINGS_SIZE = BOX_AXES + 1

# Entries of a goal, (19,): rotation (9, row by row), position (m), half-widths of the tolerance
# box (m, rad; 0 = exact, inf = free), and the axes that the box is along.
GOAL_POSITION, HALF_WIDTHS, TOLERANCE_AXES, GOAL_SIZE = 9, 12, 18, 19
# Values of goal[TOLERANCE_AXES]: no box (the whole pose, exactly), axes of the goal, of the base.
EXACT_POSE, TIP_AXES, BASE_AXES = 0, 1, 2

# Entries of an answer, (7 + n,): SOLVED_FLAG is 1 or 0; errors in m and rad, the
# weighted squared error in m^2; from JOINT_VALUES on, the joint positions.
(SOLVED_FLAG, POSITION_ERROR, ORIENTATION_ERROR, STEP_COUNT, LAST_ATTEMPT, SQUARED_ERROR,
 BIAS_STEP_COUNT, JOINT_VALUES) = range(8)
UNSOUND = -1.0  # in place of it: the goal is not rigid, or a number not finite or too large

# A row of a goal: its pose (16, row by row), seeds (s * n), answer (7 + n).
POSE_SIZE = 16
FARTHEST_SEED = 1e6  # rad or m: larger numbers have too few digits for a tolerance of 1e-6

BIAS_STARTS = 8      # postures from which a null-space bias starts besides the first solution
SAME_SOLUTION = 1e-4  # rad or m, solutions nearer to each other are one
LIMIT_TOUCH = 1e-7    # rad or m, a solution this far beyond a limit is on it


class JointRows(NamedTuple):
    """The rows of the joint table, each an (n,) array."""

    # lower, upper: limits, rad or m
    lower: np.ndarray
    upper: np.ndarray
    # Not 0 for a joint with a range of a turn or more, which may go round by 2 pi.
    wraps: np.ndarray
    revolute: np.ndarray   # not 0 for a revolute joint
    scale: np.ndarray      # roots of the inverse weights: how readily a joint moves
    preferred: np.ndarray  # posture that the bias pulls to, rad or m
    pull: np.ndarray       # strength of that pull, 1 / rad^2 or 1 / m^2


class Problem(NamedTuple):
    """What all goals of a call have in common."""

    table: np.ndarray  # (m + 1, 16), :attr:`ik_node.model.chain.Chain.table`
    joints: JointRows
    settings: np.ndarray  # (16,), entries METRES_PER_RADIAN to BOX_AXES
    postures: np.ndarray  # (n + 12, K), columns: joint positions, and the pose of the tip there


class ProblemArrays(NamedTuple):
    """
    A :class:`Problem` as Python hands it over, with the joint table (7, n).

    In compiled functions that Python calls the references to each array of a tuple are counted;
    these are fewer.
    """

    table: np.ndarray
    joints: np.ndarray
    settings: np.ndarray
    postures: np.ndarray


class StopRule(NamedTuple):
    """When an attempt is given up."""

    share: float  # the squared error must fall to this share of the lowest one ...
    steps: int    # ... within this many steps


class Attempt(NamedTuple):
    """How one attempt walks."""

    # For a distant goal without a box; see :func:`ik_node.solver.descent.damped.descend`.
    stop: StopRule
    longest_step: float  # largest change of a joint in one step, rad or m
    max_steps: float
    may_wrap: bool  # whether joints may go round by 2 pi when they meet a limit


class Descent(NamedTuple):
    """Where an attempt ended."""

    solved: bool  # both tolerances are met
    steps: int
    # position_error, orientation_error: m and rad
    position_error: float
    orientation_error: float
    squared_error: float  # weighted, m^2
    was_far: bool         # the goal was far away at the start


class Work(NamedTuple):
    """The arrays that an attempt works in."""

    frames: np.ndarray   # (m + 1, 12), poses of the joint frames and of the tip
    columns: np.ndarray  # (n, 6), J^T
    A: np.ndarray        # (6, 6), normal matrix ``J J^T + damping I``, upper triangle
    D: np.ndarray        # (6, 3), see :func:`ik_node.solver.descent.residual.residual`
    e: np.ndarray        # (6,), error of the tip
    y: np.ndarray        # (6,), solution of the normal equations
    # dq, bent: (n,), step, and its second-order part
    dq: np.ndarray
    bent: np.ndarray
    active: np.ndarray  # (n,) bool, joints that take part in the step


class GoalWork(NamedTuple):
    """The arrays that are needed for each goal."""

    goal: np.ndarray       # (19,)
    q: np.ndarray          # (n,), joint positions of the present attempt
    distances: np.ndarray  # (K,), how far the tip is from the goal at each posture of the table


class BiasWork(NamedTuple):
    """The arrays that the null-space bias works in."""

    gradient: np.ndarray  # (n,), of the bias
    wrench: np.ndarray    # (6,), multipliers of the goal as a force and a torque on the tip
    task: np.ndarray      # (n, 6), J^T with the rows of all axes of the goal
    B: np.ndarray         # (n, n), Hessian of the Lagrangian
    V: np.ndarray         # (6 + n, n), orthonormal bases of the row space and the null space
    H: np.ndarray         # (n, n), reduced Hessian
    s: np.ndarray         # (n,), step in the null space
    # walker, trial: (n,), postures
    walker: np.ndarray
    trial: np.ndarray
    pointed: np.ndarray  # (19,), the goal without a box, to measure where in its box the tip is
    starts: np.ndarray   # (BIAS_STARTS,) int64, columns of the postures to start from


@inlined
def joint_rows(joints):
    """Return the joint table (7, n) as JointRows."""
    return JointRows(joints[LOWER_ROW], joints[UPPER_ROW], joints[WRAP_ROW], joints[REVOLUTE_ROW],
                     joints[SCALE_ROW], joints[PREFERRED_ROW], joints[PULL_ROW])


@inlined
def problem_of(arrays):
    """Return ProblemArrays as a Problem."""
    return Problem(arrays.table, joint_rows(arrays.joints), arrays.settings, arrays.postures)


@allocating
def workspace(n, m):
    """Return the Work of an arm of n joints, m on the path."""
    f, c = 12 * (m + 1), 6 * n
    b = f + c + 66
    space = np.empty(b + 2 * n)
    return Work(space[:f].reshape((m + 1, 12)), space[f:f + c].reshape((n, 6)),
                space[f + c:f + c + 36].reshape((6, 6)),
                space[f + c + 36:f + c + 54].reshape((6, 3)),
                space[f + c + 54:f + c + 60], space[f + c + 60:b], space[b:b + n], space[b + n:],
                np.empty(n, dtype=np.bool_))


@allocating
def goal_workspace(n, K):
    """Return the GoalWork of an arm of n joints and K postures."""
    space = np.empty(GOAL_SIZE + n + K)
    return GoalWork(space[:GOAL_SIZE], space[GOAL_SIZE:GOAL_SIZE + n], space[GOAL_SIZE + n:])


@allocating
def bias_workspace(n):
    """Return the BiasWork of an arm of n joints."""
    rows = np.empty((6 + 3 * n, n))
    vectors = np.empty((4, n))
    return BiasWork(vectors[0], np.empty(6), np.empty((n, 6)), rows[6 + n:6 + 2 * n],
                    rows[:6 + n], rows[6 + 2 * n:], vectors[1], vectors[2], vectors[3],
                    np.empty(GOAL_SIZE), np.empty(BIAS_STARTS, dtype=np.int64))
