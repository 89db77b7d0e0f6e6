# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the sim_controller as one object."""

from __future__ import annotations

from dataclasses import dataclass

from ik_node.simulation.controller import ControllerOptions
from ik_node.simulation.joints import Following, Measuring


@dataclass(frozen=True)
class SimulationOptions:
    """
    The fields that the rows of ``ros.parameters.SIM_CONTROLLER`` fill, and are described in.

    Attributes
    ----------
    robot_description, urdf_file, base_link, tip_link : str
    rate : float
        Hz.
    initial_positions : tuple of float
        Rad or m; () = the middle of each joint range.
    fixed_joints : bool
        Whether joints outside the chain are published, too.
    physics : bool
        Whether MuJoCo simulates the arm.
    path_tolerance, goal_tolerance : tuple of float
        Rad or m, one value or one per joint; 0 = no check.
    goal_time : float
        s; 0 = no limit.
    blocked_joints : tuple of str
        '' names none.
    seed : int
        Of the noise and the losses.
    controller : ControllerOptions
    following : Following
    measuring : Measuring

    """

    robot_description: str
    urdf_file: str
    base_link: str
    tip_link: str
    rate: float
    initial_positions: tuple[float, ...]
    fixed_joints: bool
    physics: bool
    path_tolerance: tuple[float, ...]
    goal_tolerance: tuple[float, ...]
    goal_time: float
    blocked_joints: tuple[str, ...]
    seed: int
    controller: ControllerOptions
    following: Following
    measuring: Measuring
