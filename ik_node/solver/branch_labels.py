# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Names for the branches of six-axis arms: shoulder, elbow, wrist."""

from __future__ import annotations

import numpy as np

from ik_node.kinematics.kernels import joint_frames
from ik_node.model.chain import Chain

ALIKE = 1e-3  # sine of the angle between axes that count as parallel; m between those that meet


def branch_labels(chain: Chain, q: np.ndarray) -> dict[str, str]:
    """
    Name the branch that a posture belongs to; empty for an arm that has no such names.

    It has them if it has six turning axes of which the second and third are
    parallel, and either the fourth too (UR) or the last three meet in a point.

    - shoulder: 'left' or 'right', to which side of the way from the first axis to
      the point where the last two axes meet the second axis points;
    - elbow: 'up' or 'down', whether it lies above the line from the shoulder to the
      fourth axis (to the wrist's centre, if there is one), seen along that way with
      the first axis up;
    - wrist: 'plus' or 'minus', the sign of ``a_5 . (a_4 x a_6)``.

    A label changes where the arm passes the singularity of that name, and at that
    of the shoulder the elbow's too, since the way turns about.

    Parameters
    ----------
    q : (n,) array
        Joint positions, rad.

    """
    if chain.n != 6 or len(chain.joints) != 6 or not chain.turning.all():
        return {}
    frames = np.empty((7, 12))
    joint_frames(chain.table, np.ascontiguousarray(q, dtype=float), frames)
    a, p = frames[:6, [2, 5, 8]], frames[:6, 9:]
    if np.linalg.norm(np.cross(a[1], a[2])) > ALIKE:
        return {}
    wrist, gap = _meeting(p[4], a[4], p[5], a[5])
    if np.linalg.norm(np.cross(a[2], a[3])) < ALIKE:
        way = p[3] - p[1]
    else:
        way = wrist - p[1]
        gap = max(gap, np.linalg.norm(np.cross(wrist - p[3], a[3])))
    if gap > ALIKE:
        return {}
    forward = wrist - p[0]
    side = np.cross(a[0], forward - (forward @ a[0]) * a[0])
    above = np.cross(p[2] - p[1], way) @ a[1] * np.sign(side @ a[1])
    return {
        'shoulder': 'left' if side @ a[1] > 0.0 else 'right',
        'elbow': 'up' if above > 0.0 else 'down',
        'wrist': 'plus' if a[4] @ np.cross(a[3], a[5]) > 0.0 else 'minus',
    }


def _meeting(p: np.ndarray, a: np.ndarray, r: np.ndarray,
             b: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the middle of the shortest way between two lines, and its length (m)."""
    normal = np.cross(a, b)
    square = normal @ normal
    if square < 1e-12:
        return p, float('inf')
    s = np.cross(r - p, b) @ normal / square
    t = np.cross(r - p, a) @ normal / square
    ends = p + s * a, r + t * b
    return 0.5 * (ends[0] + ends[1]), float(np.linalg.norm(ends[0] - ends[1]))
