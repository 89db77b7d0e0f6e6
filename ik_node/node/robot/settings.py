# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The node's settings for one chain, made from the values of its parameters.

Each row of ros.parameters.IK_NODE names the field that it fills, so a new parameter needs a row
there and a field here (or in the options that a group makes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableSequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from ik_node.base.errors import ConstraintError, ParameterError
from ik_node.base.text import quote
from ik_node.collision.bodies.ground import ground_body
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.other_joints import OtherJoint
from ik_node.collision.scene.scene import Scene, SceneSnapshot
from ik_node.collision.scene.tool_file import Tool
from ik_node.model.chain import Chain
from ik_node.model.joint_space import JointSpace
from ik_node.model.joints import one_per_joint
from ik_node.model.tool import tool_pose
from ik_node.motion.change.monitor import MonitorOptions
from ik_node.motion.change.thinning import require_max_points
from ik_node.motion.constrained.keep import Keep, read_keeps
from ik_node.motion.direct.torque_limits import TorqueOptions
from ik_node.motion.following.jog import JogOptions
from ik_node.motion.following.options import FollowOptions
from ik_node.motion.requests import Request
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.trajectory.limits import MotionLimits, PositionLimits, TipLimits
from ik_node.replay.answered import answered, AnsweredRequest
from ik_node.ros.parameters.tables import filled, IK_NODE
from ik_node.solver.solver import Solver
from ik_node.solver.unreachable import Thresholds

Values = Mapping[str, Any]
MAX_ARMS = 4  # of one process


@dataclass(frozen=True)
class RobotOptions:
    """What the nodes of one arm and of several are told of their robot; see ros.parameters."""

    robot_description: str
    urdf_file: str
    mesh_paths: tuple[str, ...]
    base_link: str
    joint_limits_file: str
    collision_check: bool
    scene_file: str
    srdf_file: str
    collision_strict: bool
    collision_padding: float
    collision_link_padding: tuple[str, ...]
    collision_other_joints: tuple[str, ...]


@dataclass(frozen=True)
class StartOptions(RobotOptions):
    """Parameters that are fixed while the node is configured."""

    tip_link: str
    frame_prefix: str
    named_poses_file: str
    tools_file: str
    controller: str
    output: str
    tip_pose_rate: float
    stream_output: str
    chunk_gripper: str
    moveit_services: bool
    moveit_group: str
    position_limits: PositionLimits


@dataclass(frozen=True)
class Surroundings:
    """What may change of the collision check."""

    margin: float  # least distance (m)
    ground: bool
    ground_height: float  # in the base link, m
    voxel: float          # edge of the cubes that are solid where a point of a cloud is, m


@dataclass(frozen=True, eq=False)
class Settings:
    """A checked, unchanging snapshot of what may change while the node runs."""

    solver: Solver  # with the collision model, if collisions are checked
    surroundings: Surroundings
    limits: MotionLimits    # hard limits of the joints and the tip
    planning: MotionLimits  # the same, times the scales
    paths: PathOptions
    following: FollowOptions
    jogging: JogOptions
    monitor: MonitorOptions
    thresholds: Thresholds
    torques: TorqueOptions  # with the mass of the tool that is mounted
    # controller_period, sample_period, handover_time: s
    controller_period: float
    controller_max_points: int  # of a trajectory; 0 = no limit
    sample_period: float
    handover_time: float
    start_tolerance: float  # rad or m
    # The tool of the file that is mounted; None if the parameter tool.name is empty.
    tool: Tool | None
    tool_frame: str    # which frame of goals is the present tool centre point
    whole_turns: bool  # whether joints without limits make the whole turns of a joint goal
    straight: bool     # whether ~/goal_pose is reached along a straight line
    keep: tuple[Keep, ...]  # what the tip keeps during every motion
    # Processor time (s) for the search for a detour around obstacles; 0 = none is planned.
    detour_time: float
    stream_rate: float  # Hz
    stream_stamped: bool
    # max_goal_age, tf_timeout: s
    max_goal_age: float
    tf_timeout: float
    # slow_solve, late_callback: thresholds of the health, s
    slow_solve: float
    late_callback: float
    failed_goals: int   # threshold of the health
    record_folder: str  # where goals are recorded; '' = they are not
    record_count: int   # how many recordings are kept there

    @property
    def speed(self) -> float:
        """Return the fraction of the velocity limits that is used."""
        return float(self.planning.velocity[0] / self.limits.velocity[0])

    def with_others(self, others: Mapping[str, OtherJoint]) -> Settings:
        """Return these settings with joints beside the arm elsewhere; collisions are checked."""
        return replace(self, solver=self.solver.with_collisions(
            self.solver.collisions.with_others(others)))

    def differ_in_collisions_alone(self, other: Settings) -> bool:
        """Return whether only the collision model may be another one than in other settings."""
        return self.solver.chain is other.solver.chain and all(
            getattr(self, each.name) is getattr(other, each.name)
            for each in fields(self) if each.name != 'solver')

    def plan(self, request: Request, log: MutableSequence[AnsweredRequest] | None = None) -> Any:
        """
        Return what a request to the solver or a planner gives.

        Parameters
        ----------
        log : sequence, optional
            Where the request is noted, if goals are recorded.

        Raises
        ------
        Exception
            What the request raises.

        """
        if log is None or not self.record_folder:
            return request.plan(self.solver)
        return answered(request, self.solver, log)


def start_options(values: Values) -> StartOptions:
    """Return the fixed parameters, from the values by parameter name."""
    groups = filled([row for row in IK_NODE if not row.live], values)
    return StartOptions(position_limits=PositionLimits(**groups['position_limits']), **groups[''])


def make_settings(values: Values, chain: Chain,
                  collisions: CollisionModel | None = None, scene: Scene | None = None,
                  tools: Mapping[str, Tool] | None = None) -> Settings:
    """
    Check the values of the node's parameters, by their names, against a chain.

    Parameters
    ----------
    chain : Chain
        Its tool is replaced by that of the values.
    collisions : CollisionModel, optional
        Of the arm; the margin, the ground and the shape of the tool follow from the values.
    scene : Scene, optional
        The other objects.
    tools : mapping of name to Tool, optional
        Those that the arm may have.

    Raises
    ------
    ParameterError
        If a list has the wrong length, a number does not suit, a joint has no velocity limit, or
        there is no such tool.

    """
    rows = [row for row in IK_NODE if row.live]
    groups = filled(rows, {row.name: VALUE_CONVERSIONS[row.convert](
        chain, row.name, values[row.name]) if row.convert else values[row.name] for row in rows})
    surroundings = Surroundings(**groups['surroundings'])
    tool, T_link_tool = _tool(tools or {}, **groups['tool'])
    chain = chain.with_tool(T_link_tool)
    if collisions is not None:
        collisions = _with_surroundings(collisions, scene, surroundings, tool).with_tool(
            chain.T_link_tool)
    solver = Solver(chain, collisions, **groups['solver'])
    monitor = MonitorOptions(**groups['monitor'])
    if solver.options.deadline >= monitor.state_timeout:
        raise ParameterError(f'solver.deadline ({solver.options.deadline:g} s) must be shorter '
                             f'than state.timeout ({monitor.state_timeout:g} s)')
    require_max_points(groups['']['controller_max_points'])
    limits = MotionLimits.of_joints(
        chain, tip=TipLimits(**groups['tip']), **groups['joints'],
        narrows=bool(values['motion.joint_limits_file']))
    plain = groups['']
    return Settings(
        solver=solver, surroundings=surroundings, limits=limits,
        planning=limits.scaled(**groups['scales']),
        paths=PathOptions(period=plain['sample_period'], **groups['paths']),
        following=FollowOptions(metres_per_radian=solver.options.metres_per_radian,
                                locked=solver.options.locked,
                                preferred=tuple(solver.preferred), **groups['following']),
        jogging=JogOptions(**groups['jogging']), monitor=monitor, tool=tool,
        torques=_with_mass(TorqueOptions(**groups['torques']), tool),
        thresholds=Thresholds(**groups['thresholds']), **plain)


def _tool(tools: Mapping[str, Tool], name: str, position: tuple[float, ...],
          orientation: tuple[float, ...]) -> tuple[Tool | None, np.ndarray]:
    """Return the tool that is named, if one is, and the pose (4, 4) of its centre point."""
    if not name:
        return None, tool_pose(position, orientation)
    if name not in tools:
        known = ', '.join(map(quote, tools))
        raise ParameterError(f'there is no tool {quote(name)}; ' + (
            f'there are {known}' if known else 'there is none at all: start the node with the '
            'parameter tools_file'))
    if np.any(position) or np.any(orientation):
        raise ParameterError(f'the tool {quote(name)} has a position and an orientation of its '
                             'own; set tool.position and tool.orientation to zeros, or tool.name '
                             "to ''")
    return tools[name], tools[name].T_link_tool


def _with_mass(options: TorqueOptions, tool: Tool | None) -> TorqueOptions:
    """Return the options with the mass of a tool, if it has one."""
    if tool is None or not tool.mass:
        return options
    if options.mass:
        raise ParameterError(f'the tool {quote(tool.name)} has a mass of its own; set tool.mass '
                             "to 0, or tool.name to ''")
    return replace(options, mass=tool.mass, center_of_mass=tool.center_of_mass)


def _with_surroundings(collisions: CollisionModel, scene: Scene | None,
                       surroundings: Surroundings, tool: Tool | None) -> CollisionModel:
    """Return the model with the objects, the margin, the ground and the tool that are set."""
    scene = Scene() if scene is None else scene
    return _model_among(collisions, scene.snapshot, scene.base_link, surroundings, tool)


@lru_cache(maxsize=MAX_ARMS)
def _model_among(collisions: CollisionModel, scene: SceneSnapshot, base_link: str,
                 surroundings: Surroundings, tool: Tool | None) -> CollisionModel:
    """
    Return the collision model of an arm among the objects of a scene.

    The latest of each arm is kept: most changes of parameters change nothing of it.
    """
    objects, touch_links = scene.bodies, scene.touch_links
    if scene.link_pairs:
        collisions = collisions.with_link_pairs(scene.link_pairs)
    if tool is not None and tool.body is not None:
        objects, touch_links = (*objects, tool.body), {**touch_links, tool.name: tool.touch}
    if surroundings.ground:
        objects = *objects, ground_body(surroundings.ground_height, base_link)
    return collisions.with_objects(objects, surroundings.margin, touch_links)


# ---- conversions ------------------------------------------------------------

def _unlimited(_chain: Chain, _name: str, value: float) -> float:
    return value or inf


def _names(_chain: Chain, _name: str, value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in value if name)  # [''] is how an empty list is written


def _not_negative(chain: Chain, name: str, value: tuple[float, ...]) -> tuple[float, ...]:
    array = one_per_joint(chain, value, f'the parameter {name}')
    if (array < 0.0).any():
        raise ParameterError(f'the parameter {name} is {list(value)}; none of its numbers may be '
                             'negative')
    return tuple(array)


def _unlimited_each(chain: Chain, name: str, value: tuple[float, ...]) -> np.ndarray | None:
    array = np.array(_not_negative(chain, name, value))
    return np.where(array > 0.0, array, inf) if array.any() else None


def positive_if_set(chain: JointSpace, name: str, value: tuple[float, ...]) -> np.ndarray | None:
    """Return a positive number for each joint, (n,); None if there is no value."""
    if not value:
        return None
    array = one_per_joint(chain, value, f'the parameter {name}')
    if (array <= 0.0).any():
        raise ParameterError(f'the parameter {name} is {list(value)}; all its numbers must be '
                             'positive')
    return array


def _keeps(_chain: Chain, name: str, value: str) -> tuple[Keep, ...]:
    try:
        return read_keeps(value)
    except ConstraintError as error:
        raise ParameterError(f'the parameter {name}: {error}') from None


VALUE_CONVERSIONS: dict[str, Callable[[Chain, str, Any], Any]] = {
    'keeps': _keeps,
    'names': _names,
    'not_negative': _not_negative,
    'positive_if_set': positive_if_set,
    'zero_is_unlimited': _unlimited,
    'zero_is_unlimited_each': _unlimited_each,
}
