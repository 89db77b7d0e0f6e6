# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arm in a browser, as its joint states say: for machines without RViz."""

from __future__ import annotations

from functools import partial
import io
import ipaddress
import logging
from pathlib import Path
from time import monotonic

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
import viser
from viser.extras import ViserUrdf
import yourdfpy

from ik_node.errors import ParameterError
from ik_node.model.drawable import drawable
from ik_node.model.meshes import resolve
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
        from_file = values['urdf_file'] and not values['robot_description']
        self._resolve = partial(
            resolve, search_paths=values['mesh_paths'],
            urdf_folder=Path(values['urdf_file']).expanduser().parent if from_file else None)
        self._description = Description(self, values, self._take_model)
        self.get_logger().info(f'open http://{values["host"]}:{self._server.get_port()}')

    def _take_model(self, tree: Tree) -> None:
        if self._arm is not None:
            self._arm.remove()
        looks = drawable(tree, self._resolve)
        for warning in looks.warnings:
            self.get_logger().warning(warning)
        self._arm = ViserUrdf(self._server, yourdfpy.URDF.load(
            io.BytesIO(looks.urdf), load_collision_meshes=False,
            filename_handler=lambda fname: fname), root_node_name='/arm')
        self._names = self._arm.get_actuated_joint_names()
        self._drawn = None

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


def main(args: list[str] | None = None) -> None:
    """Run the view; exit code 0 after SIGINT or SIGTERM, 1 if it cannot start."""
    from ik_node.ros.process import run
    run('viewer', Viewer, args)
