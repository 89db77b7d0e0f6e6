# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A planar arm of two links whose answers are known in closed form."""

from math import acos, atan2, cos, hypot, sin

import numpy as np
import robots

FIRST_LINK_M, SECOND_LINK_M = 0.5, 0.4
PLANAR = f"""<robot name="planar"><link name="base"/><link name="upper"/><link name="lower"/>
<link name="tip"/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
<origin xyz="{FIRST_LINK_M} 0 0"/><axis xyz="0 0 1"/>
<limit lower="0" upper="2.8" velocity="1" effort="1"/></joint>
<joint name="hand" type="fixed"><parent link="lower"/><child link="tip"/>
<origin xyz="{SECOND_LINK_M} 0 0"/></joint></robot>"""


def tip_position(chain, q):
    """Return the pose (4, 4) of the tip, by Pinocchio."""
    return robots.Reference(PLANAR).pose('base', 'tip', robots.positions(chain, q))


def closed_form_distance(place, q):
    """Return how far (rad) a joint of q (2,) is from the posture with the elbow to the left."""
    x, y = place
    elbow = acos((hypot(x, y)**2 - FIRST_LINK_M**2 - SECOND_LINK_M**2)
                 / (2.0 * FIRST_LINK_M * SECOND_LINK_M))
    shoulder = atan2(y, x) - atan2(SECOND_LINK_M * sin(elbow),
                                   FIRST_LINK_M + SECOND_LINK_M * cos(elbow))
    away = np.array([shoulder, elbow]) - q
    return float(np.abs(np.arctan2(np.sin(away), np.cos(away))).max())
