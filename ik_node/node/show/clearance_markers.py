# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Markers of the two links or objects that are nearest to each other."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from visualization_msgs.msg import Marker

from ik_node.base.se3 import pose
from ik_node.collision.distances.model import Clearance
from ik_node.ros.messages.conversion import fill_pose
from ik_node.ros.messages.markers import (
    marker,
    MARKER_COLOURS,
    paint,
    points_of_array,
    scale,
    text_marker,
)
from ik_node.solver.reachability import Colour

CLEARANCE_NAMESPACE = 'clearance'
LINE_WIDTH_M, POINT_WIDTH_M, TEXT_HEIGHT_M = 0.004, 0.012, 0.03
TEXT_LIFT_M = 0.04  # above the middle of the line


def clearance_markers(clearances: Iterable[Clearance], frame: str) -> list[Marker]:
    """
    Return for each clearance a line between the nearest points, both points, and a sentence.

    They are red if the two do not keep their margin.  Of bodies that are drawn into each other
    there is only the sentence, at the base.

    Parameters
    ----------
    frame : str
        The base link.

    """
    return [each for number, clearance in enumerate(clearances)
            for each in _of_one(clearance, 4 * number, frame)]


def _of_one(clearance: Clearance, number: int, frame: str) -> list[Marker]:
    points = clearance.points
    middle = np.zeros(3) if points is None else points.mean(axis=0)
    sentence = text_marker(CLEARANCE_NAMESPACE, number, clearance_text(clearance),
                           middle + [0.0, 0.0, TEXT_LIFT_M], frame, TEXT_HEIGHT_M)
    if points is None:
        return [sentence]
    line = marker(CLEARANCE_NAMESPACE, number + 1, frame, Marker.LINE_LIST)
    line.points = points_of_array(points)
    scale(line, LINE_WIDTH_M)
    ends = [marker(CLEARANCE_NAMESPACE, number + k, frame, Marker.SPHERE) for k in (2, 3)]
    for end, point in zip(ends, points):
        fill_pose(end.pose, pose(np.eye(3), point))
        scale(end, *[POINT_WIDTH_M] * 3)
    for each in (line, *ends):
        paint(each, MARKER_COLOURS[Colour.GREEN if clearance.kept else Colour.RED])
    return [sentence, line, *ends]


def clearance_text(clearance: Clearance) -> str:
    """Return which two are nearest to each other, and how near, as far as links are checked."""
    first, second = clearance.names
    if clearance.distance <= 0.0:
        return f'No clearance: {first} and {second} touch'
    return f'Clearance {1e3 * clearance.distance:.0f} mm: {first} and {second}' \
        + (f' ({clearance.unchecked.brief})' if clearance.unchecked else '')
