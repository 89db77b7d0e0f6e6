# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether the inverse kinematics of an arm has a closed form, and the numbers for it.

Of an arm with seven axes it is that of six, for each position of the first or the last joint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_node.kinematics.kernels import joint_frames
from ik_node.model.chain import Chain, COORDINATE_COLUMN, FACTOR_COLUMN
from ik_node.solver.closed_form.closed_form import (
    FOURTH_JOINT,
    GEOMETRY_SIZE,
    MEETING_SHOULDER,
    PARALLEL_SHOULDER,
    SEARCHED_JOINT,
    SIXTH_JOINT,
    THREE_PARALLEL,
)

# Axes that are parallel or meet to this are so by design, of a calibrated arm for example; the
# polish of each branch does the rest.
PARALLEL_SINE = 5e-3
MEETING_DISTANCE_M = 2e-3
SEVEN_AXES_MEETING_DISTANCE_M = 0.02  # of seven axes, from where a descent begins anyhow
EXACT_ERROR = 1e-9  # m and rad, of the geometry that the closed form assumes


class ClosedForm(NamedTuple):
    """The geometry of an arm whose inverse kinematics has a closed form."""

    geometry: np.ndarray  # (50,), see :mod:`ik_node.solver.closed_form.closed_form`
    # False if axes miss each other, or are not quite parallel; then a branch may be missing.
    exact: bool

    @property
    def searched(self) -> bool:
        """Return whether one joint is searched: the arm has an offset wrist."""
        return bool(self.geometry[SEARCHED_JOINT])


def closed_form_of(chain: Chain) -> ClosedForm | None:
    """
    Return the closed form of an arm, or None if there is none.

    There is one for six revolute joints with a spherical wrist whose axes 2 and 3 are parallel
    or whose axes 1 and 2 meet, and with parallel axes 2, 3, 4 and axes 5 and 6 that meet.  If
    only two axes of the wrist meet, it is closed but for a search along one joint.  There is none
    if axes 1, 2 and 3 meet in one point, or axes 3, 4 and 5 of an offset wrist: joint 3 does not
    change how far the wrist is from axes 1 and 2 then.  Nor if axes 1, 2 and 3 are parallel.
    """
    frames = _frames(chain, 6)
    if frames is None:
        return None
    axes, points = frames[:6, 2:9:3].copy(), frames[:6, 9:].copy()
    arm_class, searched, error = _classify(axes, points)
    if arm_class is None:
        return None
    return ClosedForm(_geometry(axes, points, frames[6], arm_class, searched), error < EXACT_ERROR)


def seven_axes_form(chain: Chain) -> np.ndarray:
    """
    Return the form of an arm with seven axes, (FORM_SIZE,); without entries if there is none.

    See :mod:`ik_node.solver.closed_form.seven_axes`.  There is one for seven revolute joints of
    which the last six have a closed form, or the first six seen from the tip, without a search:
    with a spherical wrist whose arm begins with two axes that meet (iiwa, PR2), or a spherical
    shoulder and two axes of the wrist that meet (Panda, xArm7).
    """
    frames = _frames(chain, 7)
    best, least = np.zeros(0), np.inf
    for from_tip in (False, True) if frames is not None else ():
        six, seventh = (slice(5, None, -1), 6) if from_tip else (slice(1, 7), 0)
        axes, points = frames[six, 2:9:3].copy(), frames[six, 9:].copy()
        if from_tip:
            axes = -axes
        tip = np.append(np.eye(3).ravel(), np.zeros(3)) if from_tip else frames[7]
        arm_class, searched, error = _classify(axes, points, SEVEN_AXES_MEETING_DISTANCE_M)
        if arm_class in (PARALLEL_SHOULDER, MEETING_SHOULDER) and not searched and error < least:
            least = error
            best = np.concatenate([
                _geometry(axes, points, tip, arm_class, searched), frames[seventh, 2:9:3],
                frames[seventh, 9:], frames[7], [float(from_tip)],
                *_numbers_of_six(axes, points, arm_class == PARALLEL_SHOULDER)])
    return best


def _numbers_of_six(axes: np.ndarray, points: np.ndarray, parallel: bool) -> list[np.ndarray]:
    """Return the last entries of a form: see :mod:`ik_node.solver.closed_form.seven_axes`."""
    def frames(a: int, b: int) -> tuple[np.ndarray, np.ndarray, float, float]:
        """Return frames of two axes with a common y, and cosine and sine between them."""
        y = np.cross(axes[b], axes[a])
        sine = float(np.linalg.norm(y))
        y /= sine
        return (np.array([np.cross(y, axes[a]), y, axes[a]]),
                np.array([np.cross(y, axes[b]), y, axes[b]]), float(axes[a] @ axes[b]), sine)
    first, second, *upper = frames(0, 1)
    fourth, fifth, *middle = frames(3, 4)
    last, other, *lower = frames(5, 4)
    p12, p23, p34 = np.diff(points[:4], axis=0)
    side = p23 - (p23 @ axes[2]) * axes[2]
    x = side / np.linalg.norm(side)
    third = np.array([x, np.cross(axes[2], x), axes[2]])
    plane = second if parallel else third
    along = (p12 + p23 + p34) @ axes[1] if parallel else (p23 + p34) @ axes[2]
    squares = p23 @ p23 + p34 @ p34 + 2.0 * (p23 @ axes[2]) * (p34 @ axes[2])
    sense = 1.0 if axes[1] @ axes[2] > 0.0 else -1.0
    return [first.ravel(), last.ravel(), (second @ third.T).ravel(), (fourth @ third.T).ravel(),
            np.array([*upper, *middle, *lower, *(fifth[:2] @ other[0]), *(plane[:2] @ p23),
                      *(plane[:2] @ p34), along, squares, *(second[:2] @ p12), sense])]


def _frames(chain: Chain, n: int) -> np.ndarray | None:
    """Return the frames of n revolute joints and of the tip at q = 0, or None of other chains."""
    table = chain.table
    if len(table) != n + 1 or chain.n != n or not chain.revolute.all() \
            or (table[:n, COORDINATE_COLUMN] != np.arange(n)).any() \
            or (table[:n, FACTOR_COLUMN] != 1.0).any():
        return None
    frames = np.empty((n + 1, 12))
    joint_frames(table, np.zeros(n), frames)
    return frames


def _geometry(axes: np.ndarray, points: np.ndarray, tip: np.ndarray, arm_class: float,
              searched: float) -> np.ndarray:
    through = np.vstack([np.zeros(3), points, tip[9:]])
    geometry = np.concatenate([axes.ravel(), np.diff(through, axis=0).ravel(),
                               tip[:9].reshape(3, 3).T.ravel(), [arm_class, searched]])
    assert len(geometry) == GEOMETRY_SIZE
    return geometry


def _classify(axes: np.ndarray, points: np.ndarray, meeting: float = MEETING_DISTANCE_M
              ) -> tuple[float | None, float, float]:
    """
    Return the class of an arm, or None, the joint to search, and its error (m and rad).

    Points on axes that meet to a distance (m), (6, 3), are moved to where they do.
    """
    wrist, wrist_error = _meeting(axes, points, (3, 4, 5), meeting)
    shoulder, shoulder_error = _meeting(axes, points, (0, 1), meeting)
    elbow, elbow_error = _meeting(axes, points, (3, 4), meeting)
    hand, hand_error = _meeting(axes, points, (4, 5), meeting)
    sines = [np.linalg.norm(np.cross(axes[k], axes[k + 1])) for k in range(5)]
    if sines[0] < PARALLEL_SINE:  # with axis 3 parallel, too: joints 1 to 3 move in one plane
        return None, 0.0, np.inf
    if wrist is None and hand is not None and max(sines[1:3]) < PARALLEL_SINE:
        points[4:] = hand
        return THREE_PARALLEL, 0.0, max(hand_error, *sines[1:3])
    if sines[1] < PARALLEL_SINE and _off_axis(points[1], axes[2], points[2]) > meeting:
        arm_class, error = PARALLEL_SHOULDER, sines[1]
    elif sines[1] >= PARALLEL_SINE and shoulder is not None \
            and _meeting(axes, points, (0, 1, 2), meeting)[0] is None:
        arm_class, error = MEETING_SHOULDER, shoulder_error
        points[:2] = shoulder
    else:
        return None, 0.0, np.inf
    if wrist is not None and _off_axis(wrist, axes[2], points[2]) > meeting:
        points[3:] = wrist
        return arm_class, 0.0, max(wrist_error, error)
    if hand is not None:
        points[4:] = hand
        return arm_class, FOURTH_JOINT, max(hand_error, error)
    if elbow is not None and _off_axis(elbow, axes[2], points[2]) > meeting:
        points[3:5] = elbow
        return arm_class, SIXTH_JOINT, max(elbow_error, error)
    return None, 0.0, np.inf


def _off_axis(point: np.ndarray, axis: np.ndarray, on_axis: np.ndarray) -> float:
    """Return the distance (m) of a point from an axis."""
    return float(np.linalg.norm(np.cross(point - on_axis, axis)))


def _meeting(axes: np.ndarray, points: np.ndarray,
             joints: tuple[int, ...], distance: float) -> tuple[np.ndarray | None, float]:
    """Return the point (3,) nearest to these axes, or None, and the distance to the farthest."""
    if any(np.linalg.norm(np.cross(axes[a], axes[b])) < PARALLEL_SINE
           for a, b in zip(joints, joints[1:])):
        return None, np.inf
    across = [np.eye(3) - np.outer(axes[k], axes[k]) for k in joints]
    point = np.linalg.solve(sum(across), sum(P @ points[k] for P, k in zip(across, joints)))
    error = max(np.linalg.norm(P @ (point - points[k])) for P, k in zip(across, joints))
    return (point, error) if error < distance else (None, np.inf)
