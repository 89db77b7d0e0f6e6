# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The panels beside the scene: controls to the right, plots and goals to the left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from time import monotonic

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
import viser

from ik_node.model.chain import Chain
from ik_node.ros.messages.status_messages import values_of
from ik_node.ui.viewer.drawing.robot_view import Colour
from ik_node.ui.viewer.drawing.scene import Scene
from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.panels.collision_panel import CollisionPanel
from ik_node.ui.viewer.panels.goal_list import GoalList, summary
from ik_node.ui.viewer.panels.handle_view import HandleView
from ik_node.ui.viewer.panels.joint_sliders import JogPanel, JointPanel
from ik_node.ui.viewer.panels.plots import Plots
from ik_node.ui.viewer.panels.posture_panel import PosturePanel
from ik_node.ui.viewer.panels.settings_panel import SettingsPanel
from ik_node.ui.viewer.style import add_page_style, add_title, CSS_AMBER, title_html

PANEL_WIDTH_PX = 300
PROGRAM_NAME = 'ik_node'
NOTICE_CSS = (f'margin:0.4em 0.75em;padding:0.4em 0.6em;border-left:4px solid {CSS_AMBER};'
              f'background:{CSS_AMBER}20;font-size:0.85em;overflow-wrap:anywhere')


class Panels:
    """All panels of the page."""

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox,
                 scene: Scene) -> None:
        self._server, self._inbox, self._scene = server, inbox, scene
        add_page_style(server)
        self._title = add_title(server)
        self._notice = server.gui.add_html('', visible=False)
        self.handle = HandleView(node, target, server, inbox)
        self.jog = JogPanel(node, target, server, inbox, lambda: self.handle.handle.frame,
                            self.handle.say)
        self.postures = PosturePanel(node, target, server, inbox, self.handle.handle,
                                     self.handle.say, self._choose)
        self._joints_place = server.gui.add_folder(None)
        self.settings = SettingsPanel(node, target, server, inbox,
                                      self.handle.handle.commands, self.handle.say)
        self.collisions = CollisionPanel(node, target, server, inbox, scene,
                                         lambda: self.handle.handle.frame, self.handle.say)
        workspace = server.gui.add_checkbox(
            'Show workspace', True, visible=False,
            hint='Points that the tip can reach; their colour says in how many orientations.')
        inbox.on_change(workspace, scene.show_cloud)
        self._workspace = workspace
        side = server.gui.add_panel()
        with side.add_tab('Motion and goals'):
            self._plots_place = server.gui.add_folder(None)
            with server.gui.add_folder('Last goals'):
                self.goals = GoalList(server)
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(PANEL_WIDTH_PX)
        side.dock_left()
        side.set_width(PANEL_WIDTH_PX)
        self._chain: Chain | None = None
        self.joints: JointPanel | None = None
        self.plots: Plots | None = None  # None before there is a robot

    def take_chain(self, chain: Chain, robot_name: str) -> None:
        """Show the controls and plots of these joints, and the name of the robot."""
        self._chain = chain
        self._title.content = title_html(f'{robot_name} - {PROGRAM_NAME}')
        self._server.gui.set_panel_label(robot_name)
        self.handle.set_reach(chain.reach)
        self.collisions.boxes.set_reach(chain.reach)
        for old in (self.joints, self.plots):
            if old is not None:
                old.remove()
        with self._joints_place:
            self.joints = JointPanel(self._server, self._inbox, chain, self._scene.show_ghost,
                                     self.handle.handle.commands.joints, self.handle.say)
        with self._plots_place:
            self.plots = Plots(self._server, chain)
        self.settings.take_chain(chain)
        self.jog.take_chain(chain)

    def _choose(self, q: Sequence[float], colour: Colour) -> None:
        """Set the joint sliders to a posture (n,), rad or m, and show it in a colour."""
        if self._chain is not None and self.joints is not None and len(q) == self._chain.n:
            self.joints.choose(q)
            self._scene.show_ghost(dict(zip(self._chain.joint_names, q)), colour)

    def take_status(self, message: DiagnosticStatus) -> None:
        """Take a message of ~/answers: an answer to a goal."""
        values = values_of(message)
        self.goals.take(message)
        self.handle.say(message.level != DiagnosticStatus.ERROR, summary(message))
        if self.joints is not None:
            self.joints.take_answer(values.get('stamp', ''), values.get('state', ''))

    def show_workspace(self) -> bool:
        """Show the check box for the workspace; return whether it is checked."""
        self._workspace.visible = True
        return self._workspace.value

    def draw(self, missing: list[str], positions: Mapping[str, float]) -> None:
        """
        Update the panels.

        Parameters
        ----------
        missing : list of str
            A sentence for each thing that is missing.
        positions : mapping of joint name to position
            Measured, rad or m.

        """
        self.settings.refresh()
        self.collisions.take_check(self.settings.collision_check)
        self.jog.take_unit(self.settings.command_in_type)
        self.handle.hide_old_answer()
        self.postures.refresh()
        if self.joints is not None and self.plots is not None:
            self.joints.take_positions(positions)
            self.plots.draw(monotonic())
        self._note([*missing, *self.settings.missing()])

    def _note(self, sentences: list[str]) -> None:
        self._notice.visible = bool(sentences)
        self._notice.content = ''.join(f'<div style="{NOTICE_CSS}">{escape(sentence)}</div>'
                                       for sentence in sentences)
