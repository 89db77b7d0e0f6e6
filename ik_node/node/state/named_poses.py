# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Named poses of the SRDF and of a file, to which ``~/save_named`` adds, and named tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import traceback

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ik_node.base.errors import GoalError, IkNodeError, ParameterError, Reason
from ik_node.base.text import quote
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.srdf import (
    GroupState,
    parse_group_states,
    parse_srdf,
    read_group_states,
)
from ik_node.collision.scene.tool_file import read_tools, Tool
from ik_node.model.chain import Chain
from ik_node.model.description.urdf import Tree
from ik_node.model.user_files.named_poses import named_poses, NamedPoses, NamedPosesFile, PoseEntry
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.robot.settings import StartOptions
from ik_node.node.state.arm_state import ArmState
from ik_node.ros.messages.motion_primitives import MOUNTED_TEXT, tool_values
from ik_node.ros.middleware.qos import LATCHED_QOS

SEMANTIC_TOPIC = 'robot_description_semantic'


class SemanticDescription:
    """
    Leaves out the pairs of links that an SRDF on the topic disables, and has its named poses.

    The topic is not looked at if the parameter collision.srdf_file is set.  A text that cannot
    be used is logged and changes nothing.

    Parameters
    ----------
    changed : callable
        Called with the robot after each new text.

    """

    def __init__(self, node: Node, robot_slot: RobotSlot, options: StartOptions,
                 changed: Callable[[Robot], None]) -> None:
        self._logger = node.get_logger()
        self._robot_slot = robot_slot
        self._changed = changed
        self._file = options.srdf_file
        self._text: str | None = None
        self._topic = node.resolve_topic_name(SEMANTIC_TOPIC)
        if not self._file:
            node.create_subscription(String, SEMANTIC_TOPIC, self._on_text, LATCHED_QOS)

    def apply(self, model: CollisionModel | None, tree: Tree) -> CollisionModel | None:
        """Return a model without the pairs that the latest text disables, if there is one."""
        if model is None or self._text is None:
            return model
        disabled = parse_srdf(self._text, tree.links)
        for note in disabled.notes:
            self._logger.warning(f'{self._topic}: {note}')
        self._logger.info(f'{self._topic}: {len(disabled)} pairs of links are not checked '
                          'against each other')
        return model.with_disabled_pairs(disabled.reasons)

    def states(self) -> tuple[GroupState, ...]:
        """
        Return the named poses of the SRDF; none if there is no SRDF.

        Raises
        ------
        UrdfError
            If the file cannot be used.

        """
        if self._file:
            return read_group_states(Path(self._file))
        return () if self._text is None else parse_group_states(self._text)

    def _on_text(self, message: String) -> None:
        if message.data == self._text:
            return
        try:
            parse_srdf(message.data)
        except IkNodeError as error:
            self._logger.error(f'{self._topic}: {error}; it changed nothing')
            return
        self._text, robot = message.data, self._robot_slot.robot
        if robot is not None:  # else it is applied to the robot that comes
            robot.collisions = self.apply(robot.collisions, robot.tree)
            self._changed(robot)


MAX_TOLD_NAMES = 20  # known names in the refusal of a goal
NO_FILE_ADVICE = ('no file of named poses is set; start the node with the parameter '
                  'named_poses_file')


class PoseTable:
    """
    The named poses of the present arm; ``~/named_poses`` has them all.

    Each pose is an entry with its name, where it is from, and a value for each joint.

    Raises
    ------
    ParameterError
        If the parameter named_poses_file names a package that there is not.

    """

    def __init__(self, node: Node, options: StartOptions,
                 semantics: SemanticDescription) -> None:
        self._node = node
        self._semantics = semantics
        self._group = options.moveit_group
        self._file = NamedPosesFile(options.named_poses_file) if options.named_poses_file \
            else None
        self._table = NamedPoses({}, {}, ())
        self._publisher = node.create_publisher(DiagnosticArray, '~/named_poses', LATCHED_QOS)

    def load(self, chain: Chain) -> None:
        """
        Read the named poses again, for a chain, and publish them.

        A pose that cannot be used is logged; the others stay.

        Raises
        ------
        IkNodeError
            If the SRDF or the file cannot be used as a whole; then nothing changes.

        """
        # Of several with one name the last counts: that of the group of this arm.
        states = sorted(self._semantics.states(), key=lambda state: state.group == self._group)
        table = named_poses(
            [PoseEntry(state.name, state.positions, f'SRDF, line {state.line}')
             for state in states],
            self._file.entries() if self._file is not None else (), chain)
        for note in table.notes:
            if note not in self._table.notes:
                self._node.get_logger().warning(note)
        self._table = table
        self._node.get_logger().info(
            f'named poses: {", ".join(map(quote, table.poses)) or "none"}')
        self._publish(chain)

    def _publish(self, chain: Chain) -> None:
        message = DiagnosticArray(status=[DiagnosticStatus(
            name=pose.name, message=pose.source,
            values=[KeyValue(key=joint, value=repr(float(position)))
                    for joint, position in zip(chain.joint_names, pose.q)])
            for pose in self._table.poses.values()])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def positions(self, message: JointState) -> np.ndarray:
        """
        Return the positions (n,) of the pose that a goal names.

        Raises
        ------
        GoalError
            GOAL_JOINTS if it does not have one name alone, NAME_UNKNOWN.

        """
        if len(message.name) != 1 or message.position or message.velocity or message.effort:
            raise GoalError(f'the goal has {len(message.name)} names and {len(message.position)} '
                            'positions; give the name of one pose, and nothing else',
                            Reason.GOAL_JOINTS)
        name, = message.name
        pose = self._table.poses.get(name)
        if pose is not None:
            return pose.q.copy()
        if name in self._table.refused:
            raise GoalError(self._table.refused[name], Reason.NAME_UNKNOWN)
        known = [*self._table.poses]
        told = ', '.join(map(quote, known[:MAX_TOLD_NAMES])) \
            + (', ...' if len(known) > MAX_TOLD_NAMES else '')
        raise GoalError(f'there is no named pose {quote(name)}; '
                        + (f'there are {told}' if known else 'there is none at all: give an SRDF '
                           'with group states, or save one by ~/save_named'),
                        Reason.NAME_UNKNOWN)

    def save(self, name: str, q: np.ndarray, chain: Chain) -> str:
        """
        Write positions (n,) under a name into the file; return a sentence.

        Raises
        ------
        ParameterError
            If no file is set, the name is not allowed, or the file cannot be written.

        """
        if self._file is None:
            raise ParameterError(NO_FILE_ADVICE)
        self._file.save(name, dict(zip(chain.joint_names, q.tolist())))
        self.load(chain)
        return f'{quote(name)} is saved in {quote(self._file.path, 300)}'


class PoseSaver:
    """Saves where the arm is under a name, by the service ``~/save_named``."""

    def __init__(self, node: Node, robot_slot: RobotSlot, arm: ArmState, table: PoseTable) -> None:
        self._node = node
        self._robot_slot = robot_slot
        self._arm = arm
        self._table = table
        node.create_service(SetParametersAtomically, '~/save_named', self._on_save)

    def _on_save(self, request: SetParametersAtomically.Request,
                 response: SetParametersAtomically.Response) -> SetParametersAtomically.Response:
        try:
            response.result.reason = self._save(request)
            response.result.successful = True
            self._node.get_logger().info(response.result.reason)
        except Exception as error:  # noqa: BLE001 - a request never goes without an answer
            known = isinstance(error, IkNodeError)
            response.result.successful = False
            response.result.reason = str(error) if known else \
                f'internal error: {type(error).__name__}: {error}; please report it with the log'
            self._node.get_logger().error(
                f'save_named: {error if known else traceback.format_exc()}')
        return response

    def _save(self, request: SetParametersAtomically.Request) -> str:
        if len(request.parameters) != 1 or request.parameters[0].value.type \
                != ParameterType.PARAMETER_NOT_SET:
            raise ParameterError('give one parameter, whose name is that of the pose, without a '
                                 'value: the arm is saved where it is')
        robot = self._robot_slot.require()
        q, _ = self._arm.startable(robot)
        # It may stand outside a limit by less than motion.start_tolerance.
        return self._table.save(request.parameters[0].name,
                                np.clip(q, robot.chain.lower, robot.chain.upper), robot.chain)


class ToolList:
    """
    Reads the file of tools, and tells of them on ``~/tools``, which has them all.

    Each tool is an entry with its name; its message is 'mounted' if that is so.
    """

    def __init__(self, node: Node, options: StartOptions) -> None:
        self._node = node
        self._path, self._mesh_paths = options.tools_file, options.mesh_paths
        self._publisher = node.create_publisher(DiagnosticArray, '~/tools', LATCHED_QOS)

    def read(self, tree: Tree, chain: Chain) -> dict[str, Tool]:
        """
        Return the tools of the file by their names; none without a file.

        Raises
        ------
        ParameterError
            If the file cannot be used.

        """
        tools = read_tools(self._path, tree, chain, self._mesh_paths) if self._path else {}
        for tool in tools.values():
            for name in sorted(tool.touch.difference(tree.links)):
                self._node.get_logger().info(
                    f'the tool {quote(tool.name)} may touch {quote(name)}, which is no link; it '
                    'may touch an object that has this id')
        return tools

    def show(self, robot: Robot) -> None:
        """Publish the tools of a robot, and which is mounted."""
        mounted = robot.settings.tool
        message = DiagnosticArray(status=[DiagnosticStatus(
            name=tool.name, message=MOUNTED_TEXT if tool is mounted else '',
            values=[KeyValue(key=key, value=value) for key, value in tool_values(tool).items()])
            for tool in robot.tools.values()])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def warn_of_contact(self, robot: Robot, arm: ArmState) -> None:
        """Warn if the tool that is mounted does not keep its margin where the arm is."""
        tool, model, (q, _) = robot.settings.tool, robot.settings.solver.collisions, \
            arm.last(robot)
        if tool is None or tool.body is None or model is None or q is None:
            return
        near = np.flatnonzero(model.distances(q, model.widest_margin) <= model.margins)
        others = {name for k in near for name in model.names_of(k)
                  if tool.name in model.names_of(k)} - {tool.name}
        if others:
            self._node.get_logger().warning(
                f'the tool {quote(tool.name)} touches, or is too near to, '
                f'{", ".join(map(quote, sorted(others)))} where the arm is; motions out of that '
                'are possible, and none that leads back')
