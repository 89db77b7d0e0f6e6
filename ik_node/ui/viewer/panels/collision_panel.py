# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Collision checking: bodies of the links, the clearance, and boxes of the page."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from rclpy.node import Node
from rclpy.subscription import Subscription
import viser
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.ros.middleware.qos import LATCHED_QOS
from ik_node.ui.node_client import Answer
from ik_node.ui.viewer.drawing.scene import BASE_NODE, Scene
from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.panels.box_panel import BoxPanel
from ik_node.ui.viewer.style import CSS_AMBER, line

CLEARANCE_ROWS = 2
BOXES_NODE = f'{BASE_NODE}/boxes'


class Watch:
    """A topic of markers that is subscribed to only while it is looked at."""

    def __init__(self, node: Node, topic: str, take: Callable[[MarkerArray], None]) -> None:
        self._node, self._topic, self._take = node, topic, take
        self._subscription: Subscription | None = None

    def look(self, wanted: bool) -> None:
        """Begin or cease to look; the last markers go when nobody looks."""
        if wanted and self._subscription is None:
            self._subscription = self._node.create_subscription(
                MarkerArray, self._topic, self._take, LATCHED_QOS)
        elif not wanted and self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
            self._take(MarkerArray())


class CollisionPanel:
    """
    Shows what an ik_node keeps away from what.

    Nothing is asked of the node that no window shows.
    """

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox,
                 scene: Scene, frame: Callable[[], str], say: Answer) -> None:
        self._target, self._scene = target, scene
        self._checked = True  # whether the node checks collisions
        self._windows = False
        self._bodies = Watch(node, f'{target}/body_markers', scene.take_bodies)
        self._clearance = Watch(node, f'{target}/clearance_markers', self._take_clearance)
        with server.gui.add_folder('Collisions'):
            self._notice = server.gui.add_html(line(
                f'<span style="color:{CSS_AMBER}">Collisions are not checked: '
                f'{escape(target)} has collision.check false.</span>'), visible=False)
            self._lines = server.gui.add_html('')
            self._show_clearance = server.gui.add_checkbox(
                'Show clearance', True,
                hint='Which two links or objects are nearest to each other, and how near.')
            self._show_bodies = server.gui.add_checkbox(
                'Show what is checked', False,
                hint='The bodies of the links as they are checked for collisions.')
            self.boxes = BoxPanel(node, target, server, inbox, BOXES_NODE, frame, say)
        inbox.on_change(self._show_clearance, lambda _value: self._look())
        inbox.on_change(self._show_bodies, lambda _value: self._look())

    def take_windows(self, windows: bool) -> None:
        """Take whether a window is open."""
        self._windows = windows
        self._look()

    def take_check(self, checked: bool) -> None:
        """Take whether the node checks collisions; say it if it does not."""
        if checked == self._checked:
            return
        self._checked = checked
        self._notice.visible = not checked
        for control in (self._show_clearance, self._show_bodies):
            control.visible = checked
        self.boxes.show(checked)
        self._look()

    def _look(self) -> None:
        looks = self._windows and self._checked
        self._clearance.look(looks and self._show_clearance.value)
        self._bodies.look(looks and self._show_bodies.value)

    def take_objects(self, message: MarkerArray) -> None:
        """Take the objects around the arm; the boxes of the page are drawn by themselves."""
        self._scene.take_objects(self.boxes.take(message.markers))

    def _take_clearance(self, message: MarkerArray) -> None:
        self._scene.take_clearance(message)
        texts = [each.text for each in message.markers if each.type == Marker.TEXT_VIEW_FACING]
        self._lines.content = ''.join(line(escape(text), CLEARANCE_ROWS) for text in texts)
