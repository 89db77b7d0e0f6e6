# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The goal as something to take hold of: dragged in RViz or in the browser, with one menu."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
import numpy as np
from rclpy.node import Node

from ik_node.errors import GoalError
from ik_node.ros.clocks import steady_clock
from ik_node.ros.messages import matrix_from_pose
from ik_node.ros.status_messages import values_of
from ik_node.se3 import distance
from ik_node.ui.node_client import Answer, Commands, Kind

STREAM_PERIOD = 0.02           # s; the ik_node waits stream.timeout for the next pose
STILL = 0.04                   # s without being pulled on; pages and RViz draw 30 times a second
REST_TIME = 0.4                # s without more than this the tip is at rest:
REST_SHIFT, REST_TURN = 1e-3, 0.004     # m, rad
MOVED_SHIFT, MOVED_TURN = 5e-3, 0.025   # m, rad: so far from where it rested, it has moved
FREE_AXES = {Kind.POSE: [''], Kind.POSITION: ['rx', 'ry', 'rz'], Kind.POINTING: ['rz']}


class View(Protocol):
    """What shows a handle."""

    def show_pose(self, frame: str, T_frame_tip: np.ndarray) -> None:
        """Put the handle to a pose (4, 4) in `frame`."""

    def show_colour(self, colour: str, sentence: str) -> None:
        """Show how reachable the pose is: green, amber or red, and why; '' while not known."""

    def show_checks(self) -> None:
        """Show the check marks of the menu as they are now."""


class Handle:
    """
    A pose in a person's hand, and what the menu does with it.

    It starts at the tip, and goes there again after each motion, unless it was dragged
    meanwhile.  Dragging previews the goal, or streams it if `following`.

    Parameters
    ----------
    node : Node
        Ours.
    target : str
        Name of the ik_node, as for :class:`Commands`.
    view : View
        Shows the handle.
    say : callable
        Takes the outcome of what was chosen: whether it went well, and a sentence.

    Attributes
    ----------
    kind : Kind
        What of the pose counts.
    following : bool
        The arm follows while the handle is dragged.
    dragging : bool
        Somebody has it in hand.
    frame : str
        Frame of the pose; empty before the first pose of the tip.
    T : (4, 4) array
        The pose, in `frame`.

    """

    def __init__(self, node: Node, target: str, view: View, say: Answer) -> None:
        self.commands = Commands(node, target, say)
        self.kind = Kind.POSE
        self.following = False
        self.dragging = False
        self.frame = ''
        self.T = np.eye(4)
        self._view = view
        self._tip = TipWatch()
        self._kept = False      # dragged during a motion, which is not to take it away
        self._previews: deque[str] = deque(maxlen=100)  # stamps, of where it is or was dragged
        self._plans = ''        # stamp of the preview after which to plan
        node.create_subscription(PoseStamped, f'{target}/tip_pose', self._on_tip_pose, 1)
        node.create_subscription(DiagnosticStatus, f'{target}/preview', self._on_preview, 1)
        self._pulled = 0.0      # when it was last dragged, s
        self._timer = node.create_timer(STREAM_PERIOD, self._hold,
                                        clock=steady_clock())
        self._timer.cancel()

    # ---- the hand -----------------------------------------------------------

    def drag(self, frame: str, T_frame_tip: np.ndarray) -> None:
        """Take the handle, or pull it on, to a pose (4, 4) in `frame`."""
        self.frame, self.T = frame, T_frame_tip
        self._kept = self._tip.moves and not self.following
        if not self.following:
            self.dragging = True
            self._show()
            return
        self.commands.stream(frame, T_frame_tip)
        self._pulled = monotonic()
        if not self.dragging:
            self.dragging = True
            self._forget()
            self._timer.reset()

    def release(self) -> None:
        """Let the handle go where it is."""
        if not self.dragging:
            return
        self.dragging = False
        self._timer.cancel()
        if not self.following:
            self._show()

    def _hold(self) -> None:
        # The same pose again between two of a movement would be a target that stops and goes.
        if monotonic() - self._pulled > STILL:
            self.commands.stream(self.frame, self.T)

    def _show(self) -> None:
        self._previews.append(self.commands.preview(self.kind, self.frame, self.T))

    def _forget(self) -> None:
        """Let previews be of no more meaning."""
        self._previews.clear()
        self._view.show_colour('', '')

    # ---- the menu -----------------------------------------------------------

    def plan(self) -> None:
        """Plan the motion to where the handle is, and show it."""
        self._show()
        self._plans = self._previews[-1]

    def move(self) -> None:
        """Go to where the handle is."""
        self._leave()
        self.commands.move(self.kind, self.frame, self.T)

    def line(self) -> None:
        """Go to where the handle is by a straight line of the tip, in its full pose."""
        self._leave()
        self.commands.line(self.frame, self.T)

    def home(self) -> None:
        """Go to the preferred posture."""
        self._leave()
        self.commands.home()

    def stop(self) -> None:
        """Bring the arm to rest."""
        self._leave()
        self.commands.stop()

    def _leave(self) -> None:
        """End what the hand does: another command is to come, and the motion to be shown."""
        self.release()
        self._kept = False

    def toggle_following(self) -> None:
        """Have the arm follow while the handle is dragged, or no longer."""
        self._leave()
        self.following = not self.following
        self._view.show_checks()

    def toggle_position(self) -> None:
        """Leave the orientation free, or take the full pose again."""
        self._toggle(Kind.POSITION)

    def toggle_pointing(self) -> None:
        """Leave the turn about the tool axis free, or take the full pose again."""
        self._toggle(Kind.POINTING)

    def _toggle(self, kind: Kind) -> None:
        self.kind = Kind.POSE if self.kind is kind else kind
        self.commands.set({'stream.free_axes': FREE_AXES[self.kind]})
        self._view.show_checks()
        if self._previews:
            self._show()

    # ---- what the ik_node says ----------------------------------------------

    def _on_tip_pose(self, message: PoseStamped) -> None:
        try:
            T = matrix_from_pose(message.pose)
        except GoalError:
            return
        arrived = self._tip.take(T, monotonic())
        if not self.frame or arrived and not self.dragging and not self._kept:
            self.frame, self.T = message.header.frame_id, T
            self._view.show_pose(self.frame, T)
            self._forget()
        if arrived:
            self._kept = False

    def _on_preview(self, message: DiagnosticStatus) -> None:
        values = values_of(message)
        stamp = values.get('stamp')
        if not stamp or stamp not in self._previews:
            return
        self._view.show_colour(values.get('colour', ''), message.message)
        if stamp == self._plans:
            self._plans = ''
            self.commands.plan()


@dataclass(frozen=True)
class Entry:
    """One entry of the menu: what it says and does, and whether it is checked, if it can be."""

    label: str
    do: Callable[[Handle], None]
    checked: Callable[[Handle], bool] | None = None


MENU = (
    Entry('plan', Handle.plan),
    Entry('move', Handle.move),
    Entry('move in a line', Handle.line),
    Entry('follow while dragging', Handle.toggle_following, lambda handle: handle.following),
    Entry('home', Handle.home),
    Entry('stop', Handle.stop),
    Entry('position only', Handle.toggle_position,
          lambda handle: handle.kind is Kind.POSITION),
    Entry('free about the tool axis', Handle.toggle_pointing,
          lambda handle: handle.kind is Kind.POINTING),
)


class TipWatch:
    """
    When the tip has come to rest after a motion, by its poses alone.

    Attributes
    ----------
    moves : bool
        It is away from where it last rested, or on its way.

    """

    def __init__(self) -> None:
        self.moves = False
        self._rested: np.ndarray | None = None
        self._about: np.ndarray | None = None  # where it is, within REST_SHIFT and REST_TURN,
        self._since = 0.0                      # and since when (s)

    def take(self, T: np.ndarray, now: float) -> bool:
        """Take the pose (4, 4) of the tip at a time (s); return whether a motion has ended."""
        if self._rested is None:
            self._rested = T
        if self._about is None or _apart(T, self._about, REST_SHIFT, REST_TURN):
            self._about, self._since = T, now
        self.moves = self.moves or _apart(T, self._rested, MOVED_SHIFT, MOVED_TURN)
        if not self.moves or now - self._since < REST_TIME:
            return False
        self._rested, self.moves = T, False
        return True


def _apart(T: np.ndarray, other: np.ndarray, shift: float, turn: float) -> bool:
    position, angle = distance(T, other)
    return bool(position > shift or angle > turn)
