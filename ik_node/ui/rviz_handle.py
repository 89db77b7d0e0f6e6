# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The node interactive_goal: the handle of the goal in RViz, with a menu."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import sqrt
from time import monotonic

from geometry_msgs.msg import Quaternion
from interactive_markers import InteractiveMarkerServer, MenuHandler
import numpy as np
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import (
    InteractiveMarker,
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    Marker,
)

from ik_node.base.errors import GoalError
from ik_node.base.se3 import distance
from ik_node.ros.messages.conversion import fill_pose, matrix_from_pose
from ik_node.ros.messages.markers import MARKER_COLOURS
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.qos import FEEDBACK_QOS
from ik_node.ros.parameters.node_parameters import declare, options_of
from ik_node.ros.parameters.tables import INTERACTIVE_GOAL
from ik_node.ui.handle import Handle, KEEP_PARAMETER, MENU_ENTRIES, NO_TOOL
from ik_node.ui.node_client import ParameterWatch
from ik_node.ui.options import InteractiveGoalOptions

MARKER_NAME = 'goal'
MENU_CONTROL = 'menu'      # the sphere
NAMED_LABEL = 'named poses'
TOOLS_LABEL = 'tool'
SPHERE_DIAMETER = 0.25     # times the scale of the handle
MIN_DRAG = 1e-5            # m and rad; RViz has single precision
CHECK_PERIOD_S = 1.0       # of RViz, and of a parameter
REPEAT_PERIOD_S = 5.0      # after which the same warning is logged again
SPHERE_COLOURS = {colour.value: ColorRGBA(r=r, g=g, b=b, a=1.0)
                  for colour, (r, g, b) in MARKER_COLOURS.items()}
UNKNOWN_SPHERE = ColorRGBA(r=0.6, g=0.7, b=0.9, a=1.0)


class InteractiveGoal(Node):
    """Shows the handle in RViz and passes drags and menu commands on to an ik_node."""

    def __init__(self) -> None:
        super().__init__('interactive_goal')
        options = options_of(InteractiveGoalOptions, declare(self, INTERACTIVE_GOAL),
                             INTERACTIVE_GOAL)
        self._complaint = '', 0.0  # the last one, and when (s)
        self._server = InteractiveMarkerServer(self, 'interactive_goal',
                                               feedback_sub_qos=FEEDBACK_QOS)
        self._marker = make_marker(options.scale)
        self._menu = MenuHandler()
        self._entries = {entry: self._menu.insert(entry.label, callback=self._chosen(entry.do))
                         for entry in MENU_ENTRIES}
        # Menus, and by their labels the entries below them, also hidden ones.
        self._named_menu, self._named = self._hidden_menu(NAMED_LABEL), {}
        self._tools_menu, self._tools = self._hidden_menu(TOOLS_LABEL), {}
        self._handle = Handle(self, options.ik_node, self, self._say)
        watch = ParameterWatch(self, options.ik_node, [KEEP_PARAMETER], self._handle.take_keep)
        for look in (self._release_if_alone, watch.refresh):
            self.create_timer(CHECK_PERIOD_S, look, clock=steady_clock())

    def _hidden_menu(self, label: str) -> int:
        """Return a menu of its own, which is hidden while it has no entries."""
        menu = self._menu.insert(label, callback=lambda _feedback: None)
        self._menu.setVisible(menu, False)
        return menu

    # ---- the View of a handle -----------------------------------------------

    def show_pose(self, frame: str, T_frame_tip: np.ndarray) -> None:
        """Move the handle to a pose (4, 4) in `frame`."""
        fill_pose(self._marker.pose, T_frame_tip)
        if frame == self._marker.header.frame_id:
            self._server.setPose(MARKER_NAME, self._marker.pose)
            self._server.applyChanges()
            return
        self._marker.header.frame_id = frame
        self._server.insert(self._marker, feedback_callback=self._on_feedback)
        self.show_checks()

    def show_colour(self, colour: str, _sentence: str) -> None:
        """Colour the sphere; the sentence is in the markers of the ik_node."""
        sphere = self._marker.controls[0].markers[0]
        paint = SPHERE_COLOURS.get(colour, UNKNOWN_SPHERE)
        if paint != sphere.color:
            sphere.color = paint
            self._show_anew()

    def show_checks(self) -> None:
        """Set the check marks of the menu, once there is one."""
        if not self._marker.header.frame_id:
            return
        for entry, number in self._entries.items():
            if entry.checked is not None:
                self._menu.setCheckState(number, MenuHandler.CHECKED if entry.checked(self._handle)
                                         else MenuHandler.UNCHECKED)
        self._menu.apply(self._server, MARKER_NAME)
        self._server.applyChanges()

    def show_named(self, names: Sequence[str]) -> None:
        """Show named poses in a menu of their own."""
        for name in names:
            if name not in self._named:
                self._named[name] = self._menu.insert(
                    name, parent=self._named_menu,
                    callback=self._chosen(partial(Handle.named, name=name)))
        # Entries are hidden, not removed: a menu that is still open has their numbers.
        for name, number in self._named.items():
            self._menu.setVisible(number, name in names)
        self._menu.setVisible(self._named_menu, bool(names))
        self.show_checks()

    def show_tools(self, names: Sequence[str], mounted: str) -> None:
        """Show named tools in a menu of their own, with a check mark at the one in use."""
        options = {NO_TOOL: '', **{name: name for name in names}}
        for label, name in options.items():
            if label not in self._tools:
                self._tools[label] = self._menu.insert(
                    label, parent=self._tools_menu,
                    callback=self._chosen(partial(Handle.mount, name=name)))
        for label, number in self._tools.items():  # hidden, as named poses are
            self._menu.setVisible(number, label in options)
            self._menu.setCheckState(number, MenuHandler.CHECKED if options.get(label) == mounted
                                     else MenuHandler.UNCHECKED)
        self._menu.setVisible(self._tools_menu, bool(names))
        self.show_checks()

    def _show_anew(self) -> None:
        fill_pose(self._marker.pose, self._handle.T)
        self._server.insert(self._marker)
        self._server.applyChanges()

    def _say(self, good: bool, sentence: str) -> None:
        if good:
            self.get_logger().info(sentence)
            return
        said, when = self._complaint
        if sentence != said or monotonic() > when + REPEAT_PERIOD_S:
            self._complaint = sentence, monotonic()
            self.get_logger().warning(sentence)

    # ---- feedback of RViz ---------------------------------------------------

    def _on_feedback(self, feedback: InteractiveMarkerFeedback) -> None:
        if feedback.event_type == InteractiveMarkerFeedback.MOUSE_UP:
            self._handle.release()
        if feedback.event_type != InteractiveMarkerFeedback.POSE_UPDATE:
            return
        try:
            T = matrix_from_pose(feedback.pose)
        except GoalError as error:
            self._say(False, f'ignored a pose of the handle: {error}')
            self._show_anew()  # the server has taken it already
            return
        # RViz sends the pose at a mere click, too.
        moved = max(distance(T, self._handle.T)) > MIN_DRAG
        if feedback.control_name == MENU_CONTROL:
            if moved:
                self._show_anew()
        elif moved or self._handle.dragging:
            self._handle.drag(feedback.header.frame_id, T)

    def _chosen(self, do: Callable[[Handle], None]):
        def choose(_feedback: InteractiveMarkerFeedback) -> None:
            do(self._handle)

        return choose

    def _release_if_alone(self) -> None:
        """Release the handle if the RViz that held it is gone."""
        if self._handle.dragging and not self.count_publishers('interactive_goal/feedback'):
            self._say(False, 'RViz closed while the handle was dragged; the handle was released')
            self._handle.release()

    def close(self) -> None:
        """Release and remove the handle."""
        self._handle.release()
        self._server.clear()
        self._server.applyChanges()


def make_marker(scale: float) -> InteractiveMarker:
    """Return the handle: a sphere with the menu, an arrow and a ring for each axis."""
    sphere = Marker(type=Marker.SPHERE)
    sphere.scale.x = sphere.scale.y = sphere.scale.z = SPHERE_DIAMETER * scale
    sphere.color = UNKNOWN_SPHERE
    marker = InteractiveMarker(name=MARKER_NAME, scale=scale, controls=[InteractiveMarkerControl(
        name=MENU_CONTROL, interaction_mode=InteractiveMarkerControl.MENU, always_visible=True,
        markers=[sphere])])
    half = sqrt(0.5)
    # A control acts along its own x axis, which these turn to each axis of the tip.
    turns = {'x': Quaternion(w=1.0), 'y': Quaternion(w=half, z=half),
             'z': Quaternion(w=half, y=-half)}
    for axis, turn in turns.items():
        for what, mode in (('move', InteractiveMarkerControl.MOVE_AXIS),
                           ('turn', InteractiveMarkerControl.ROTATE_AXIS)):
            marker.controls.append(InteractiveMarkerControl(
                name=f'{what}_{axis}', orientation=turn, interaction_mode=mode))
    return marker


def main(args: list[str] | None = None) -> None:
    """Run the handle; exit code 0 after SIGINT or SIGTERM, 1 if it cannot start."""
    from ik_node.ros.middleware.process import run
    run('interactive_goal', InteractiveGoal, args)
