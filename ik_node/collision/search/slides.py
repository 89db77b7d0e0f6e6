# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled slides: a hand moves on in one direction and hardly turns, as out of a shelf.

Of the straight lines in joint space from a hand between boards hardly any is free; of the
directions in which the hand may move without turning some mostly are.  Searches for the Fetch with
its hand in a shelf take half of the time, or a third.  The steps are rough: more sweeps did not
make the searches faster.
"""

from __future__ import annotations

from math import sqrt

from ik_node.collision.distances.check import place_frames
from ik_node.collision.search.edges import edge_free
from ik_node.kinematics.kernels import add_column, inner

SLIDE_STEP_M = 0.1
SLIDE_STEPS = 5          # at most
MAX_SLIDE_CHANGE = 0.4   # rad or m, of a joint in a step
SLIDE_SWEEPS = 8         # over the equations of a step


@inner
def slide(edge, direction, path, columns):
    """
    Write where a link that carries no other comes to as it moves on in a direction.

    Parameters
    ----------
    edge : EdgeCheck
    direction : (4,) array
        Three numbers, not all 0; and which of the links, as a share of them.
    path : (SLIDE_STEPS + 1, n) array
        First where it begins; the others are written.
    columns : (n, 6) array
        Workspace.

    Returns
    -------
    int
        How many steps are free.

    """
    check, n = edge.check, path.shape[1]
    serial, rows = check.parents.shape[0] == 0, check.table.shape[0]
    last = rows - 1 if serial else int(direction[3] * rows)
    if not serial:
        for row in range(last + 1, rows):
            last = row if check.parents[row] == last else last
    x, y, z = direction[0], direction[1], direction[2]
    length = SLIDE_STEP_M / sqrt(x * x + y * y + z * z)
    for k in range(SLIDE_STEPS):
        q, new = path[k], path[k + 1]
        place_frames(check, q, edge.work)
        columns[:] = 0.0
        tip, row = edge.work.frames[last + 1], last
        while row >= 0:
            t = check.table[row]
            add_column(t, edge.work.frames[row + 1], tip, 1.0, columns[int(t[13])])
            row = row - 1 if serial else check.parents[row]
        # The least change of the joints that moves the tip so, nearly, by Kaczmarz's sweeps.
        for j in range(n):
            new[j] = 0.0
        for i in range(6 * SLIDE_SWEEPS):
            i %= 6
            square, lack = 1e-6, length * direction[i] if i < 3 else 0.0
            for j in range(n):
                square += columns[j, i] ** 2
                lack -= columns[j, i] * new[j]
            for j in range(n):
                new[j] += lack / square * columns[j, i]
        most = MAX_SLIDE_CHANGE
        for j in range(n):
            most = max(most, abs(new[j]))
        for j in range(n):
            new[j] = q[j] + MAX_SLIDE_CHANGE / most * new[j]
            if not edge.lower[j] <= new[j] <= edge.upper[j]:
                return k
        if not edge_free(edge, q, new):
            return k
    return SLIDE_STEPS
