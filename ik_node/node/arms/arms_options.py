# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of ik_arms as one object."""

from __future__ import annotations

from dataclasses import dataclass

from ik_node.motion.change.monitor import MonitorOptions


@dataclass(frozen=True)
class MotionOptions:
    """What motions of several arms keep."""

    start_delay: float      # time (s) from sending until all controllers begin
    start_tolerance: float  # how far outside its limits a joint may be at the start, rad or m
    step_tolerance: float   # how far a joint may be from where it should be at the time, rad or m


@dataclass(frozen=True)
class ArmsOptions:
    """The fields that the rows of ``ros.parameters.IK_ARMS`` fill, and are described in."""

    robot_description: str
    urdf_file: str
    mesh_paths: tuple[str, ...]
    base_link: str
    tip_links: tuple[str, ...]
    controllers: tuple[str, ...]
    controller_joints: tuple[str, ...]
    controller_max_points: int
    deadline: float
    max_restarts: int
    velocity_scale: float
    joint_limits_file: str
    velocity_limits: tuple[float, ...]
    acceleration_limits: tuple[float, ...]
    jerk_limits: tuple[float, ...]
    detour_time: float
    collision_check: bool
    collision_strict: bool
    collision_padding: float
    collision_link_padding: tuple[str, ...]
    collision_other_joints: tuple[str, ...]
    collision_margin: float
    scene_file: str
    srdf_file: str
    ground: bool
    ground_height: float
    max_goal_age: float
    motion: MotionOptions
    monitor: MonitorOptions
