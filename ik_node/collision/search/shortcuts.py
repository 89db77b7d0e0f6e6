# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiled shortening of a path between postures.

First waypoints are left out, then random chords between two points of the path replace what
is between them (Geraerts and Overmars 2007, "Creating high-quality paths for motion planning").
"""

from __future__ import annotations

from math import sqrt

from ik_node.collision.search.edges import edge_free
from ik_node.collision.search.rrt_connect import random, step_towards
from ik_node.kinematics.kernels import copy, inner

MAX_FUTILE_CHORDS = 12   # in sequence; then the path counts as short
MIN_SHORTENING = 0.01    # share of the path's length that a chord must save
CHORD_POINTS = 2         # that a chord adds to a path at most


@inner
def shorten(edge, path, count, chords, generator, rows):
    """
    Shorten a path in place.

    Parameters
    ----------
    edge : EdgeCheck
    path : (N, n) array, changed
        Postures, of which the first `count` are the path; N is count + CHORD_POINTS at least.
    chords : int
        How many random chords are tried at most.
    generator : (1,) uint64 array, changed
    rows : (2, n) array
        Workspace.

    Returns
    -------
    int
        How many postures are left.

    """
    # From each waypoint straight to the farthest that can be reached.
    i = 0
    while i < count - 2:
        j = count - 1
        while j > i + 1:
            if edge_free(edge, path[i], path[j]):
                count = replace_between(path, count, i, j, rows, 0)
                break
            j = i + 1 + (j - i - 1) // 2 if j - i > 4 else j - 1
        i += 1
    futile = 0
    for _ in range(chords):
        if count < 3 or futile > MAX_FUTILE_CHORDS:
            break
        length = path_length(path, count)
        begin, end = length * random(generator), length * random(generator)
        if begin > end:
            begin, end = end, begin
        i = point_along(path, count, begin, rows[0])
        j = point_along(path, count, end, rows[1])
        futile += 1
        if i == j or end - begin - distance(rows[0], rows[1]) < MIN_SHORTENING * length \
                or count + CHORD_POINTS > path.shape[0] \
                or not edge_free(edge, rows[0], rows[1]):
            continue
        futile = 0
        count = replace_between(path, count, i, j + 1, rows, CHORD_POINTS)
        i = 1
        while i < count - 1:
            if edge_free(edge, path[i - 1], path[i + 1]):
                count = replace_between(path, count, i - 1, i + 1, rows, 0)
            else:
                i += 1
    return count


@inner
def replace_between(path, count, i, j, rows, new):
    """Replace the waypoints between i and j by the first `new` of rows; return the count."""
    shift = new - (j - i - 1)
    if shift < 0:
        for k in range(j, count):
            copy(path[k], path[k + shift])
    elif shift > 0:
        for k in range(count - 1, j - 1, -1):
            copy(path[k], path[k + shift])
    for k in range(new):
        copy(rows[k], path[i + 1 + k])
    return count + shift


@inner
def point_along(path, count, length, q):
    """Write the posture at a length along the path; return the edge that it is on."""
    for k in range(count - 1):
        step = distance(path[k], path[k + 1])
        if length <= step or k == count - 2:
            step_towards(path[k], path[k + 1], min(1.0, length / max(step, 1e-12)), q)
            return k
        length -= step
    return 0


@inner
def path_length(path, count):
    """Return the length (rad, or m) of the first `count` postures of a path."""
    length = 0.0
    for k in range(count - 1):
        length += distance(path[k], path[k + 1])
    return length


@inner
def distance(a, b):
    """Return the distance (rad, or m) of two postures."""
    square = 0.0
    for i in range(a.shape[0]):
        square += (a[i] - b[i]) ** 2
    return sqrt(square)
