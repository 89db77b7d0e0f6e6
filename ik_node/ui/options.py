# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the handle in RViz, of the viewer and of the handheld page as objects."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InteractiveGoalOptions:
    """The fields that the rows of ``ros.parameters.INTERACTIVE_GOAL`` fill."""

    ik_node: str
    scale: float


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


@dataclass(frozen=True)
class HandheldOptions:
    """The fields that the rows of ``ros.parameters.HANDHELD_NODE`` fill, and are described in."""

    ik_node: str
    arms: tuple[str, ...]
    host: str
    port: int
    tls: bool
    certificate: str
    key: str
    sample_timeout: float
