# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arm in a browser, as its joint states say: for machines without RViz."""

from __future__ import annotations

import io
import ipaddress
import logging
from pathlib import Path
from time import monotonic

from lxml import etree
import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
import viser
from viser.extras import ViserUrdf
import yourdfpy

from ik_node.errors import ParameterError, quote
from ik_node.model.urdf import Tree
from ik_node.ros.description import Description
from ik_node.ros.joint_states import JointStates
from ik_node.ros.parameters import declare, VIEWER

FRAME_PERIOD = 1.0 / 30.0  # s


class Viewer(Node):
    """Serves one page; draws, publishes nothing."""

    def __init__(self) -> None:
        super().__init__('viewer')
        values = declare(self, VIEWER)
        self._states = JointStates()
        self._arm: ViserUrdf | None = None
        self._drawn: np.ndarray | None = None
        if not _is_loopback(values['host']):
            self.get_logger().warning(
                f'the page is open to the network, on {values["host"]}; set host to 127.0.0.1 '
                'to keep it to this machine')
        logging.getLogger('websockets').setLevel(logging.ERROR)
        try:
            self._server = viser.ViserServer(host=values['host'], port=values['port'],
                                             verbose=False)
        except OSError as error:
            raise ParameterError(f'cannot listen on {values["host"]}:{values["port"]}: '
                                 f'{error.strerror}; choose another host or port') from None
        self._server.scene.set_up_direction('+z')
        self._server.scene.add_grid('/grid', width=2.0, height=2.0)
        self._server.initial_camera.position = (1.15, 0.95, 0.95)
        self._server.initial_camera.look_at = (0.2, 0.0, 0.42)
        self.create_subscription(
            JointState, 'joint_states', lambda message: self._states.take(message, monotonic()),
            QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
        self.create_timer(FRAME_PERIOD, self._draw, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._description = Description(self, values, self._take_model)
        self.get_logger().info(f'open http://{values["host"]}:{self._server.get_port()}')

    def _take_model(self, tree: Tree) -> None:
        if self._arm is not None:
            self._arm.remove()
        self._arm = ViserUrdf(self._server, self._drawable(tree), root_node_name='/arm')
        self._names = self._arm.get_actuated_joint_names()
        self._drawn = None

    def _drawable(self, tree: Tree) -> yourdfpy.URDF:
        """Return the robot with the meshes that are there; say which are not."""
        robot = etree.fromstring(tree.source)
        for shape in [*robot.iter('visual'), *robot.iter('collision')]:
            mesh = shape.find('geometry/mesh')
            if mesh is not None:
                path = _mesh_path(mesh.get('filename', ''))
                if shape.tag == 'collision' or path is None:
                    shape.getparent().remove(shape)
                if path is None and shape.tag == 'visual':
                    self.get_logger().warning(
                        f'the mesh {quote(mesh.get("filename"), 300)} is missing and not drawn')
        return yourdfpy.URDF.load(
            io.BytesIO(etree.tostring(robot)), load_collision_meshes=False,
            filename_handler=lambda name: str(_mesh_path(name) or name))

    def _draw(self) -> None:
        known = self._states.positions
        if self._arm is None or not known:
            return
        q = np.array([known.get(name, 0.0) for name in self._names])
        if self._drawn is None or not np.array_equal(q, self._drawn):
            self._arm.update_cfg(q)
            self._drawn = q

    def close(self) -> None:
        """Close the page."""
        self._server.stop()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == 'localhost'


def _mesh_path(name: str) -> Path | None:
    """Return the file of a mesh, by the ament index for ``package://``; None if there is none."""
    path = Path(name.removeprefix('file://'))
    if name.startswith('package://'):
        package, _, rest = name.removeprefix('package://').partition('/')
        try:
            from ament_index_python.packages import get_package_share_directory
            share = Path(get_package_share_directory(package)).resolve()
        except (ImportError, LookupError, OSError, ValueError):
            return None
        path = (share / rest).resolve()
        if not path.is_relative_to(share):
            return None
    return path if path.is_file() else None


def main(args: list[str] | None = None) -> None:
    """Run the view; exit code 0 after SIGINT or SIGTERM, 1 if it cannot start."""
    from ik_node.ros.process import run
    run('viewer', Viewer, args)
