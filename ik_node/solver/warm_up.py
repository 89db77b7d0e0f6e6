# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Loads or compiles the kernels of the solver before they are needed, once per process."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ik_node.base.compilation import compilation_told, direct
from ik_node.kinematics.kernels import tip_poses
from ik_node.kinematics.tree.tree_kernels import tree_columns, tree_frames, tree_poses
from ik_node.solver.closed_form import closed_form
from ik_node.solver.closed_form.closed_form import branch_rows
from ik_node.solver.closed_form.offset_wrist import searched_rows
from ik_node.solver.closed_form.self_motions import nearest_of_curves, nearest_row
from ik_node.solver.closed_form.seven_axes import FORM_SIZE
from ik_node.solver.closed_form.solution_search import find_all
from ik_node.solver.descent.entry import bias_rows, fill_row, solve_rows
from ik_node.solver.descent.layout import (
    GOAL_SIZE,
    JOINT_VALUES,
    JointRows,
    POSE_SIZE,
    SETTINGS_SIZE,
)
from ik_node.solver.descent.nearest import walk
from ik_node.solver.descent.tree_damped import attempt_tree, TipGoals, TreeProblem, WalkRule


@lru_cache(maxsize=None)
def warm_up() -> tuple[Callable, Callable]:
    """
    Load or compile what every solver needs; say so if it has to be compiled.

    Return :func:`ik_node.solver.descent.entry.fill_row` and ``solve_rows``, to be called
    directly.
    """
    table, joints, postures, settings, packed = _blank_arrays(1)
    row = np.zeros((4, 4)), np.zeros(1), packed  # a goal that is refused
    arguments = table, joints, settings, postures, *row, np.array([1, 0, 0])
    of_chain = table.copy()
    of_chain.setflags(write=False)
    with compilation_told():
        fill_row(*row)
        solve_rows(*arguments)
        tip_poses(of_chain, np.zeros((0, 1)), np.empty((0, 12)))
    return direct(fill_row, *row), direct(solve_rows, *arguments)


@lru_cache(maxsize=None)
def warm_up_search() -> None:
    """Load or compile the search for all solutions (arms and goals without a closed form)."""
    table, joints, postures, settings, _ = _blank_arrays(1)
    with compilation_told():
        find_all(table, joints, settings, postures, np.eye(4).ravel(), np.zeros(1), 0, 0.0,
                 np.empty((1, 1)))


@lru_cache(maxsize=None)
def warm_up_bias() -> None:
    """Load or compile the null-space bias (redundant arms, and goals with free axes)."""
    table, joints, postures, settings, packed = _blank_arrays(1)
    with compilation_told():
        bias_rows(table, joints, settings, postures, packed, 1)


@lru_cache(maxsize=None)
def warm_up_closed_form(searched: bool) -> Callable:
    """
    Load or compile a closed form: of spherical or, if searched, of offset wrists.

    Return :func:`ik_node.solver.closed_form.closed_form.branch_rows`, or what does the same for an
    offset wrist, to be called directly.
    """
    rows = searched_rows if searched else branch_rows
    arguments = (np.zeros(closed_form.SETUP_SIZE), np.zeros((4, 4)), np.zeros(6),
                 np.empty(POSE_SIZE + 6 + closed_form.ANSWER_SIZE), 1)
    with compilation_told():
        rows(*arguments)
    return direct(rows, *arguments)


@lru_cache(maxsize=None)
def warm_up_nearest() -> Callable:
    """
    Load or compile the search for the nearest posture (redundant arms).

    Return :func:`ik_node.solver.closed_form.self_motions.nearest_row`, to be called directly.
    """
    table, joints, _, settings, packed = _blank_arrays(1)
    with compilation_told():
        nearest_row(table, joints, settings, np.zeros(0), packed)
    return direct(nearest_row, table, joints, settings, np.zeros(0), packed)


@lru_cache(maxsize=None)
def warm_up_self_motion() -> None:
    """Load or compile the self-motion kernels (redundant arms with collision checking)."""
    table, joints, _, settings, _ = _blank_arrays(1)
    with compilation_told():
        walk(table, joints, settings, np.zeros(16), np.zeros(1), 0.1, np.zeros((1, 1)))
        table, joints, _, settings, _ = _blank_arrays(7)
        nearest_of_curves(table, joints, settings, np.zeros(FORM_SIZE), np.zeros(POSE_SIZE + 7),
                          np.empty((0, 7)))


@lru_cache(maxsize=None)
def warm_up_tree() -> None:
    """Do the same for several tips of a tree."""
    table, parents, tips = np.zeros((1, 16)), np.full(1, -1), np.zeros(1, dtype=np.int64)
    for array in (table, parents, tips):
        array.setflags(write=False)
    none, frames = np.zeros((0, 1)), np.zeros((1, 12))
    problem = TreeProblem(table, parents, JointRows(*np.zeros((7, 1))), np.zeros(2), 1.0)
    goals = TipGoals(np.zeros((1, GOAL_SIZE)), np.zeros(1, dtype=np.int64), np.zeros(1),
                     np.zeros(1, dtype=np.int64), np.zeros((1, 1), dtype=bool))
    with compilation_told():
        attempt_tree(problem, goals, none, np.zeros(1), WalkRule(0, False),
                     np.zeros(1, dtype=bool), np.zeros(9))
        tree_frames(table, parents, np.zeros(1), frames)
        tree_columns(table, parents, frames, 0, 1.0, np.zeros((1, 6)))
        tree_poses(table, parents, none, tips, frames, np.zeros((0, 1, 12)))


def _blank_arrays(n: int) -> tuple[np.ndarray, ...]:
    """Return table, joints, postures, settings and a row of a goal."""
    return (np.zeros((n + 1, 16)), np.zeros((7, n)), np.zeros((n + 12, 1)),
            np.zeros(SETTINGS_SIZE), np.zeros(POSE_SIZE + n + JOINT_VALUES + n))
