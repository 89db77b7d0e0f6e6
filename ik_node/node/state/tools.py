# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The tools of the arm, from a file, and the mounted one."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from rclpy.node import Node

from ik_node.base.text import quote
from ik_node.collision.scene.tool_file import read_tools, Tool
from ik_node.model.chain import Chain
from ik_node.model.description.urdf import Tree
from ik_node.node.robot.robot import Robot
from ik_node.node.robot.settings import StartOptions
from ik_node.node.state.arm_state import ArmState
from ik_node.ros.messages.motion_primitives import MOUNTED_TEXT, tool_values
from ik_node.ros.middleware.qos import LATCHED_QOS


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
