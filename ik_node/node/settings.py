# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What follows from the values of the parameters for one chain: solver and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ik_node.errors import ParameterError
from ik_node.model.chain import Chain
from ik_node.model.joint_values import one_per_joint
from ik_node.motion.following.options import FollowOptions
from ik_node.motion.limits import MotionLimits, TipLimits
from ik_node.motion.tool_path.options import PathOptions
from ik_node.solver.reachability import Thresholds
from ik_node.solver.solver import Solver
from ik_node.text import quote
import ik_node.textbook  # noqa: F401  at the start, not once solver.method asks for it


@dataclass(frozen=True, eq=False)
class Settings:
    """A checked, unchanging snapshot of what may change while the node runs."""

    values: Mapping[str, Any]
    solver: Solver
    limits: MotionLimits
    planning: MotionLimits
    paths: PathOptions
    following: FollowOptions
    path_tolerance: np.ndarray | None
    thresholds: Thresholds

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


def make_settings(values: Mapping[str, Any], chain: Chain) -> Settings:
    """
    Check the values of the node's parameters, by their names, against a chain.

    ``limits`` are the hard limits, ``planning`` those with the scales; ``paths``,
    ``following`` and ``path_tolerance`` (n,) are what planner, follower and monitor take,
    ``thresholds`` what decides on colours.

    Raises
    ------
    ParameterError
        If a list has the wrong length, a number does not suit, or a joint has
        no velocity limit.

    """
    solver = Solver(
        chain, method=values['solver.method'],
        position_tolerance=values['solver.position_tolerance'],
        orientation_tolerance=values['solver.orientation_tolerance'],
        metres_per_radian=values['solver.metres_per_radian'],
        max_iterations=values['solver.max_iterations'],
        max_restarts=values['solver.max_restarts'],
        deadline=values['solver.deadline'],
        select=values['solver.select'],
        max_jump=values['solver.max_jump'] or float('inf'),
        nearest=values['solver.nearest'],
        weights=values['solver.joint_weights'],
        locked=tuple(name for name in values['solver.locked_joints'] if name),
        gains=values['solver.null_space_gains'],
        preferred=values['solver.preferred_positions'],
        manipulability_gain=values['solver.manipulability_gain'])
    if values['solver.deadline'] >= values['state.timeout']:
        raise ParameterError(f'solver.deadline ({values["solver.deadline"]:g} s) must be shorter '
                             f'than state.timeout ({values["state.timeout"]:g} s)')
    velocity = chain.velocity
    if values['motion.velocity_limits']:
        velocity = _positive(chain, values, 'motion.velocity_limits')
    for name, limit in zip(chain.joint_names, velocity):
        if not np.isfinite(limit):
            raise ParameterError(f'joint {quote(name)} has no velocity limit in the URDF; set '
                                 'the parameter motion.velocity_limits')
    acceleration = _positive(chain, values, 'motion.acceleration_limits')
    jerk = _positive(chain, values, 'motion.jerk_limits')
    tip = TipLimits(*(values[name] or np.inf for name in (
        'motion.tool_speed', 'motion.tool_turn', 'path.tool_acceleration',
        'path.tool_turn_acceleration')))
    hard = MotionLimits(chain.lower, chain.upper, velocity, acceleration, jerk, tip)
    planning = hard.scaled(values['motion.velocity_scale'], values['motion.acceleration_scale'])
    paths = PathOptions(
        blend_radius=values['path.blend_radius'],
        max_joint_step=values['path.max_joint_step'],
        period=values['motion.sample_period'], partial=values['path.partial'])
    bias = _not_negative(chain, values, 'stream.null_space_gains')
    following = FollowOptions(
        look_ahead=values['stream.lead'], timeout=values['stream.timeout'],
        gain=values['stream.gain'],
        memory=values['stream.memory'], metres_per_radian=values['solver.metres_per_radian'],
        free=tuple(axis for axis in values['stream.free_axes'] if axis),
        bias=tuple(bias), preferred=tuple(solver.preferred))
    tolerance = _not_negative(chain, values, 'watch.path_tolerance')
    return Settings(dict(values), solver, hard, planning, paths, following,
                    np.where(tolerance > 0.0, tolerance, np.inf) if tolerance.any() else None,
                    Thresholds(values['markers.far'], values['markers.limit_margin'],
                               values['markers.singular_value']))


def _not_negative(chain: Chain, values: Mapping[str, Any], name: str) -> np.ndarray:
    array = one_per_joint(chain, values[name], f'the parameter {name}')
    if (array < 0.0).any():
        raise ParameterError(f'the parameter {name} is {list(values[name])}; none of its numbers '
                             'may be negative')
    return array


def _positive(chain: Chain, values: Mapping[str, Any], name: str) -> np.ndarray:
    array = one_per_joint(chain, values[name], f'the parameter {name}')
    if (array <= 0.0).any():
        raise ParameterError(f'the parameter {name} is {list(values[name])}; '
                             'all its numbers must be positive')
    return array
