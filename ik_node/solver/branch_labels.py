# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Names of the branches of six-axis arms: shoulder, elbow, wrist."""

from __future__ import annotations

import numpy as np

from ik_node.kinematics.kernels import joint_frames
from ik_node.model.chain import Chain

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
