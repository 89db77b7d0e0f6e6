# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The viewer node: the arm on a web page, where it can be moved without RViz."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from sensor_msgs.msg import JointState, PointCloud2
from visualization_msgs.msg import MarkerArray

from ik_node.base.errors import ParameterError, StateError
from ik_node.kinematics.arm import singular_values
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.mesh_files import mesh_search
from ik_node.model.description.urdf import Tree
from ik_node.ros.description import Description, DESCRIPTION_TOPIC
from ik_node.ros.messages.joint_states import JointStates
from ik_node.ros.messages.status_messages import values_of
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.qos import ANSWERS_QOS, LATCHED_QOS, QosLog, STATES_QOS
from ik_node.ros.parameters.node_parameters import declare, options_of
from ik_node.ros.parameters.tables import VIEWER_NODE
from ik_node.ui.options import ViewerOptions
from ik_node.ui.page_access import is_loopback
from ik_node.ui.viewer.drawing.robot_view import link_bodies
from ik_node.ui.viewer.drawing.scene import Scene
from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.page import Page
from ik_node.ui.viewer.panels.panels import Panels

FRAME_PERIOD_S = 1.0 / 30.0
PANEL_PERIOD_S = 0.25
MAX_STATE_AGE_S = 1.0  # joint states older than this are reported as missing


class Viewer(QosLog, Node):
    """
    Serves one page; commands given there go out by public topics and services.

    Nothing is drawn while no window is open.
    """

    def __init__(self) -> None:
        super().__init__('viewer')
        options = options_of(ViewerOptions, declare(self, VIEWER_NODE), VIEWER_NODE)
        if not is_loopback(options.host):
            self.get_logger().warning(
                f'the page is open to the network, on {options.host}: whoever has its address '
                'with the token can move the arm; set host to 127.0.0.1 to keep it to this '
                'machine')
        self._base_link, self._tip_link = options.base_link, options.tip_link
        self._mesh_paths = options.mesh_paths
        self._chain: Chain | None = None
        self._joint_names: frozenset[str] | None = None
        self._states = JointStates()
        self._news: dict[Callable[[Any], None], Any] = {}  # handler -> latest message
        self._page = Page(options.host, options.port)
        self._scene = Scene(self._page)
        inbox = Inbox(self)
        self._panels = Panels(self, options.ik_node, self._page, inbox, self._scene)
        if options.follow:
            self._panels.handle.handle.toggle_following()
        self._not_checked = ''  # which links the node does not check for collisions
        self._listen(options.ik_node)
        steady = steady_clock()
        self._redraws = (self.create_timer(FRAME_PERIOD_S, self._draw, clock=steady),
                         self.create_timer(PANEL_PERIOD_S, self._draw_panels, clock=steady))
        self._on_windows()
        self._page.on_windows(partial(inbox.put, self._on_windows))
        self._description = Description(self, options, self._take_model)
        port = self._page.get_port()
        if port != options.port:
            self.get_logger().warning(f'somebody else has port {options.port}; the page is at '
                                      f'{port}')
        if is_loopback(options.host):
            self.get_logger().info(f'open {self._page.address}')
        else:  # not by the log: that is kept in files, and published
            print(f'open {self._page.address}', flush=True)

    def _listen(self, ik_node: str) -> None:
        self.create_subscription(JointState, 'joint_states', self._on_joint_states, STATES_QOS)
        self.create_subscription(DiagnosticStatus, f'{ik_node}/answers', self._panels.take_status,
                                 ANSWERS_QOS)
        self._health_name = f'{self.resolve_topic_name(ik_node)}: health'
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        for kind, topic, show in ((MarkerArray, f'{ik_node}/markers', self._scene.take_markers),
                                  (MarkerArray, f'{ik_node}/scene_markers',
                                   self._panels.collisions.take_objects),
                                  (JointState, f'{ik_node}/ghost', self._scene.take_ghost),
                                  (PointCloud2, 'workspace', self._take_cloud)):
            self.create_subscription(kind, topic, partial(self._news.__setitem__, show),
                                     LATCHED_QOS)

    def _take_model(self, tree: Tree) -> None:
        chain = make_chain(tree, self._base_link, self._tip_link)
        singular_values(chain, chain.middle)  # compiled now, not during a motion
        bodies, warnings = link_bodies(tree, mesh_search(tree, self._mesh_paths))
        for warning in warnings:
            self.get_logger().warning(warning)
        self._chain = chain
        self._joint_names = frozenset(joint.name for joint in tree.joints)
        self._scene.take_robot(tree, chain, bodies)
        self._panels.take_chain(chain, tree.name)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self._health_name:
                self._not_checked = values_of(status).get('not_checked', '')

    def _take_cloud(self, message: PointCloud2) -> None:
        try:
            self._scene.take_cloud(message, self._panels.show_workspace())
        except ParameterError as error:
            self.get_logger().warning(f'workspace: {error}; it is not drawn')

    # ---- timers and events --------------------------------------------------

    def _on_windows(self) -> None:
        self._panels.collisions.take_windows(bool(self._page.get_clients()))
        for timer in self._redraws:
            if self._page.get_clients():
                timer.reset()
            else:
                timer.cancel()

    def _draw(self) -> None:
        self._panels.handle.tick()
        self._panels.collisions.boxes.tick()
        self._panels.jog.tick()
        while self._news:
            show, message = self._news.popitem()
            show(message)
        self._scene.draw_robot(self._states.positions)

    def _draw_panels(self) -> None:
        self._scene.frame(self._page.get_clients())
        told = [self._not_checked] if self._not_checked and self._panels.settings.collision_check \
            else []  # else the panel of collisions says it
        self._panels.draw([*self._missing(), *told], self._states.positions)

    def _missing(self) -> list[str]:
        """Return why the arm cannot be shown: a sentence for each thing that is missing."""
        if self._chain is None:
            return [f'waiting for {DESCRIPTION_TOPIC}: {self._description.complaint}']
        try:
            self._states.state(self._chain.joint_names, monotonic(), MAX_STATE_AGE_S)
        except StateError as error:
            return [f'the arm is not shown as it is: {error}']
        return []

    def _on_joint_states(self, message: JointState) -> None:
        now = monotonic()
        self._states.take(message, now, self._joint_names)
        if self._chain is not None and self._panels.plots.due(now):
            try:
                q, _ = self._states.state(self._chain.joint_names, now, MAX_STATE_AGE_S)
            except StateError:
                return
            self._panels.plots.record(q, now)

    def close(self) -> None:
        """Close the page."""
        self._page.stop()


def main(args: list[str] | None = None) -> None:
    """Run the view; exit code 0 after SIGINT or SIGTERM, 1 if it cannot start."""
    from ik_node.ros.middleware.process import run
    run('viewer', Viewer, args)
