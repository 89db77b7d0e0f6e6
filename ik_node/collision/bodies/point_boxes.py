# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Few boxes that contain many points, such as a depth camera sends.

The space is divided into cubes.  Each cube with a point in it is solid as a whole.  Cubes
beside each other along x become one box; boxes of the same extent along x and z beside each
other along y become one; then the same along z.  The union of the boxes is that of the cubes,
so nothing solid is lost and nothing is added beyond the cubes.
"""

from __future__ import annotations

import numpy as np

from ik_node.base.errors import ParameterError

MAX_CELL_INDEX = 2**40  # cubes from the origin; farther ones are no longer exact in float


def boxes_of_points(points: np.ndarray, voxel: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the lower and upper corners (b, 3) of boxes that contain all points, m.

    Parameters
    ----------
    points : (n, 3) array
        Finite, m; at least one.
    voxel : float
        Edge of a cube, m.  The cubes meet at the origin.

    Raises
    ------
    ParameterError
        If the cubes are too small for points as far away.

    """
    with np.errstate(over='ignore'):
        cells = np.floor(points / voxel)
    if not np.abs(cells).max(initial=0.0) < MAX_CELL_INDEX:
        raise ParameterError(f'a voxel of {voxel:g} m is too small for points '
                             f'{np.abs(points).max():g} m away; give a larger one')
    lower = np.unique(cells.astype(np.int64), axis=0)
    boxes = np.hstack([lower, lower + 1])
    for axis in range(3):
        boxes = _merged(boxes, axis)
    return boxes[:, :3] * voxel, boxes[:, 3:] * voxel


def _merged(boxes: np.ndarray, axis: int) -> np.ndarray:
    """Return boxes (b, 6), in cells, after joining those that meet along an axis."""
    others = [column for column in range(6) if column % 3 != axis]
    boxes = boxes[np.lexsort([boxes[:, axis], *boxes[:, others].T])]
    joined = (boxes[1:, others] == boxes[:-1, others]).all(axis=1) \
        & (boxes[1:, axis] == boxes[:-1, axis + 3])
    first = np.append(True, ~joined)
    last = np.append(~joined, True)
    result = boxes[first]
    result[:, axis + 3] = boxes[last, axis + 3]
    return result
