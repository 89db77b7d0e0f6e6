# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What stands beside the scene: to the right what can be done, to the left what was."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from time import monotonic

from rclpy.node import Node
import viser

from ik_node.model.chain import Chain
from ik_node.ui.viewer.event_queue import Inbox
from ik_node.ui.viewer.goal_table import GoalTable
from ik_node.ui.viewer.handle_view import HandleView
from ik_node.ui.viewer.joint_sliders import JointPanel
from ik_node.ui.viewer.plots import Plots
from ik_node.ui.viewer.scene import Scene
from ik_node.ui.viewer.settings_panel import SettingsPanel
from ik_node.ui.viewer.style import AMBER

WIDTH = 300  # pixels
NOTICE = (f'margin:0.4em 0.75em;padding:0.4em 0.6em;border-left:4px solid {AMBER};'
          f'background:{AMBER}20;font-size:0.85em')


class Panels:
    """
    All panels of the page.

    Attributes
    ----------
    handle : HandleView
    settings : SettingsPanel
    goals : GoalTable
    joints : JointPanel or None
    plots : Plots or None
        None before there is a robot.

    """

    def __init__(self, node: Node, target: str, server: viser.ViserServer, inbox: Inbox,
                 scene: Scene) -> None:
        self._server, self._inbox, self._scene = server, inbox, scene
        self._notice = server.gui.add_html('', visible=False)
        self.handle = HandleView(node, target, server, inbox)
        self._joints_place = server.gui.add_folder(None)
        self.settings = SettingsPanel(node, target, server, inbox,
                                      self.handle.handle.commands, self.handle.say)
        workspace = server.gui.add_checkbox('Workspace', True, visible=False)
        inbox.on_change(workspace, scene.show_cloud)
        self._workspace = workspace
        side = server.gui.add_panel()
        with side.add_tab('Goals and motion'):
            self.goals = GoalTable(server)
            self._plots_place = server.gui.add_folder(None)
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(WIDTH)
        side.dock_left()
        side.set_width(WIDTH)
        self.joints: JointPanel | None = None
        self.plots: Plots | None = None

    def take_chain(self, chain: Chain) -> None:
        """Have controls and plots for these joints."""
        for old in (self.joints, self.plots):
            if old is not None:
                old.remove()
        with self._joints_place:
            self.joints = JointPanel(self._server, self._inbox, chain, self._scene.stand_ghost,
                                     self.handle.handle.commands.joints)
        with self._plots_place:
            self.plots = Plots(self._server, chain)
        self.settings.take_chain(chain)

    def show_workspace(self) -> bool:
        """Offer the workspace, which is there; return whether it is to be seen."""
        self._workspace.visible = True
        return self._workspace.value

    def draw(self, missing: list[str], positions: Mapping[str, float]) -> None:
        """
        Renew what changes by itself.

        Parameters
        ----------
        missing : list of str
            A sentence for each thing that is not there.
        positions : mapping of joint name to position
            Where the joints are.

        """
        self.settings.refresh()
        if self.joints is not None and self.plots is not None:
            self.joints.take_positions(positions)
            self.plots.draw(monotonic())
        self._note([*missing, *self.settings.missing()])

    def _note(self, sentences: list[str]) -> None:
        self._notice.visible = bool(sentences)
        self._notice.content = ''.join(f'<div style="{NOTICE}">{escape(sentence)}</div>'
                                       for sentence in sentences)
