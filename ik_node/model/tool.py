# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The pose and the centre of mass of a tool, from the numbers of parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ik_node.base.checks import check_three
from ik_node.base.errors import ParameterError
from ik_node.base.se3 import pose, rotation_from_rpy
from ik_node.base.text import shown
from ik_node.model.chain import MAX_TOOL_LENGTH_M
from ik_node.model.joints import require_radians


def check_center_of_mass(center_of_mass: Sequence[float]) -> None:
    """
    Refuse a centre of mass that is not three finite numbers, or is far from the tip link.

    Parameters
    ----------
    center_of_mass : three float
        Of a tool, in the tip link, m.

    Raises
    ------
    ParameterError
        If it is none, or further away than MAX_TOOL_LENGTH_M.

    """
    check_three(center_of_mass, 'tool.center_of_mass (x, y, z)')
    if max(map(abs, center_of_mass)) > MAX_TOOL_LENGTH_M:
        raise ParameterError(f'tool.center_of_mass is {shown(list(center_of_mass))} m; at most '
                             f'{MAX_TOOL_LENGTH_M:g} m are possible (are its units '
                             'millimetres?)')


def tool_pose(position: Sequence[float], orientation: Sequence[float]) -> np.ndarray:
    """
    Return the pose of a tool centre point in the tip link, (4, 4).

    Parameters
    ----------
    position : three float
        x, y, z, m.
    orientation : three float
        Roll, pitch, yaw, rad: rotations about the fixed x, y and z axes, as in a URDF.

    Raises
    ------
    ParameterError
        If there are not three finite numbers each.

    """
    check_three(position, 'tool.position (x, y, z)')
    check_three(orientation, 'tool.orientation (roll, pitch, yaw)')
    require_radians(orientation, 'tool.orientation')
    return pose(rotation_from_rpy(*orientation), np.array(position, dtype=float))
