# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the viewer as one object."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ViewerOptions:
    """The fields that the rows of ``ros.parameters.VIEWER_NODE`` fill, and are described in."""

    robot_description: str
    urdf_file: str
    base_link: str
    tip_link: str
    ik_node: str
    mesh_paths: tuple[str, ...]
    follow: bool
    host: str
    port: int
