# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The handle by which a goal is dragged, in RViz or in the browser, and its menu."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import acos, inf
from time import monotonic
from typing import Protocol

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
import numpy as np
from rclpy.node import Node

from ik_node.base.errors import GoalError
from ik_node.base.se3 import distance
from ik_node.base.text import shown
from ik_node.ros.messages.conversion import matrix_from_pose
from ik_node.ros.messages.motion_primitives import mounted_tool
from ik_node.ros.messages.status_messages import values_of
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.qos import LATCHED_QOS
from ik_node.ui.node_client import Answer, Commands, Kind

STREAM_PERIOD_S = 0.02  # must be shorter than stream.timeout of the ik_node
STILL_TIME_S = 0.04     # after which a held handle stands still; RViz and pages draw at 30 Hz
# The tip is at rest if it moves less than this during REST_TIME_S.
REST_TIME_S = 0.4
REST_SHIFT_M, REST_TURN_RAD = 1e-3, 0.004
START_TIME_S = 1.0      # from a drag on, within which the tip begins to follow
# It has moved if it is farther than this from where it last rested.
MOVED_SHIFT_M, MOVED_TURN_RAD = 5e-3, 0.025
NO_TOOL = '(none)'  # the entry for no tool
KEEP_PARAMETER = 'motion.keep'
LEVEL = '{upright: 0.0873}'  # of that parameter: within 5 degrees
FREE_AXES = {Kind.POSE: [''], Kind.POSITION: ['rx', 'ry', 'rz'], Kind.POINTING: ['rz']}


class View(Protocol):
    """Displays a handle."""

    def show_pose(self, frame: str, T_frame_tip: np.ndarray) -> None:
        """Move the handle to a pose (4, 4) in `frame`."""

    def show_colour(self, colour: str, sentence: str) -> None:
        """Show how reachable the pose is (green, amber, red; '' if unknown), and why."""

    def show_checks(self) -> None:
        """Show the check marks of the menu as they are now."""

    def show_named(self, names: Sequence[str]) -> None:
        """Offer named poses, in place of those before."""

    def show_tools(self, names: Sequence[str], mounted: str) -> None:
        """Offer named tools, in place of those before, and show which is mounted; '' = none."""


class Handle:
    """
    A goal pose that a person drags, and the commands of its menu.

    It starts at the tip and returns there after each motion, unless it was dragged during
    the motion.  Dragging previews the goal, or streams it if `following`; then it says when the
    tip stays behind, and returns to the tip once that rests.

    Parameters
    ----------
    node : Node
        Publishes, subscribes and calls services.
    target : str
        Name of the ik_node, as for :class:`Commands`.
    view : View
        Displays the handle.
    say : callable
        Takes the outcome of a command: whether it succeeded, and a sentence.

    """

    def __init__(self, node: Node, target: str, view: View, say: Answer) -> None:
        self.commands, self._say = Commands(node, target, say), say
        self.kind = Kind.POSE   # which part of the pose the arm must reach
        self.following = False  # whether the arm follows while the handle is dragged
        self.dragging = False   # whether somebody is dragging it
        self.keep = ''          # motion.keep of the ik_node: what every motion keeps
        self.frame = ''         # frame of the pose; empty before the first pose of the tip
        self.T = np.eye(4)      # (4, 4), the pose, in `frame`
        self._view = view
        self._tip = TipWatch()
        self._T_tip = np.eye(4)  # latest pose of the tip, in _tip_frame
        self._tip_frame = ''
        self._kept = False       # dragged during a motion: does not return to the tip after it
        self._let_go = inf       # when a handle that was followed was released (monotonic, s)
        self._grasped = 0.0      # when the drag began (monotonic, s)
        self._behind = ''        # that the tip stays behind the handle, as it was said
        self._tools: tuple[Sequence[str], str] = (), ''  # names, and which is mounted
        self._previews: deque[str] = deque(maxlen=100)  # stamps of the previews asked for
        self._plans = ''         # stamp of the preview after which to plan
        # Stamp of the list of postures that was asked for; '' if the handle has moved since.
        self.listed = ''
        self._lists = False      # whether the list waits for the answer to its preview
        node.create_subscription(PoseStamped, f'{target}/tip_pose', self._on_tip_pose, 1)
        node.create_subscription(DiagnosticStatus, f'{target}/preview', self._on_preview, 1)
        node.create_subscription(DiagnosticArray, f'{target}/named_poses', self._on_named_poses,
                                 LATCHED_QOS)
        node.create_subscription(DiagnosticArray, f'{target}/tools', self._on_tools, LATCHED_QOS)
        self._pulled = 0.0       # time of the last drag (monotonic, s)
        self._timer = node.create_timer(STREAM_PERIOD_S, self._hold,
                                        clock=steady_clock())
        self._timer.cancel()

    # ---- dragging -----------------------------------------------------------

    def drag(self, frame: str, T_frame_tip: np.ndarray) -> None:
        """Start or continue dragging the handle to a pose (4, 4) in `frame`."""
        self.frame, self.T, self.listed = frame, T_frame_tip, ''
        self._let_go = inf
        self._kept = self._tip.moves and not self.following
        if not self.following:
            self.dragging = True
            self._show()
            return
        self.commands.stream(frame, T_frame_tip)
        self._pulled = monotonic()
        if not self.dragging:
            self.dragging, self._grasped = True, self._pulled
            self._forget()
            self._timer.reset()

    def release(self) -> None:
        """Stop dragging; the handle stays where it is."""
        if not self.dragging:
            return
        self.dragging = False
        self._timer.cancel()
        if self.following:
            self._let_go = monotonic()
        else:
            self._show()

    def _hold(self) -> None:
        # While the handle moves, repeated poses would make the target stop and go.
        if monotonic() - self._pulled > STILL_TIME_S:
            self.commands.stream(self.frame, self.T)

    def _show(self) -> None:
        self._previews.append(self.commands.preview(self.kind, self.frame, self.T))

    def _forget(self) -> None:
        """Ignore the answers to all earlier previews."""
        self._previews.clear()
        self._behind = ''
        self._view.show_colour('', '')

    # ---- the menu -----------------------------------------------------------

    def plan(self) -> None:
        """Plan the motion to the handle and show it; nothing moves."""
        self._show()
        self._plans = self._previews[-1]

    def list_postures(self) -> None:
        """Ask for all postures that reach the handle; nothing moves."""
        self._show()
        self.listed, self._lists = self._previews[-1], True

    def move(self) -> None:
        """Move the tip to the handle."""
        self._leave()
        self.commands.move(self.kind, self.frame, self.T)

    def line(self) -> None:
        """Move the tip to the full pose of the handle in a straight line."""
        self._leave()
        self.commands.line(self.frame, self.T)

    def home(self) -> None:
        """Move to the preferred posture."""
        self._leave()
        self.commands.home()

    def named(self, name: str) -> None:
        """Move to a named pose."""
        self._leave()
        self.commands.named(name)

    def mount(self, name: str) -> None:
        """Tell the node which of its tools is mounted; '' = none."""
        def answered(good: bool, sentence: str) -> None:
            self._say(good, f'the tool is {name or "none"}' if good else sentence)
            if not good:
                self._view.show_tools(*self._tools)

        self._leave()
        self.commands.mount(name, answered)

    def stop(self) -> None:
        """Bring the arm to rest."""
        self._leave()
        self.commands.stop()

    def pause(self) -> None:
        """Bring the arm to rest on its path."""
        self.commands.pause(True)

    def go_on(self) -> None:
        """Go on with the motion that was paused."""
        self.commands.pause(False)

    def to_tip(self) -> None:
        """Bring the handle back to the tip; nothing moves."""
        self._leave()
        self._move_to_tip()
        # Its answer is ignored; it replaces the ghost of the pose that was given up.
        self.commands.preview(self.kind, self.frame, self.T)

    def _leave(self) -> None:
        """Stop dragging before another command; the handle returns to the tip after it."""
        self.release()
        self._kept = False

    def toggle_following(self) -> None:
        """Switch between following the handle while it is dragged, and previews."""
        self._leave()
        self.following = not self.following
        self._view.show_checks()

    def toggle_position(self) -> None:
        """Switch between a free orientation and the full pose."""
        self._toggle(Kind.POSITION)

    def toggle_pointing(self) -> None:
        """Switch between a free rotation about the tool axis and the full pose."""
        self._toggle(Kind.POINTING)

    def _toggle(self, kind: Kind) -> None:
        self.kind = Kind.POSE if self.kind is kind else kind
        self.commands.set({'stream.free_axes': FREE_AXES[self.kind]})
        self._view.show_checks()
        if self._previews:
            self._show()

    def toggle_level(self) -> None:
        """Switch between motions that keep the tool level, and those that keep nothing."""
        keep = '' if self.keep else LEVEL

        def answered(good: bool, sentence: str) -> None:
            self._say(good, f'{KEEP_PARAMETER} is {keep or "empty"}' if good else sentence)
            if good:
                self.keep = keep
            self._view.show_checks()

        self.commands.set({KEEP_PARAMETER: keep}, answered)

    def take_keep(self, keep: str) -> None:
        """Take what every motion keeps, as the ik_node has it; others may have set that."""
        if keep != self.keep:
            self.keep = keep
            self._view.show_checks()

    # ---- messages of the ik_node --------------------------------------------

    def _on_tip_pose(self, message: PoseStamped) -> None:
        try:
            T = matrix_from_pose(message.pose)
        except GoalError:
            return
        now = monotonic()
        arrived = self._tip.take(T, now)
        self._T_tip, self._tip_frame = T, message.header.frame_id
        if self.dragging:
            self._look_behind(now)
        elif not self.frame or arrived and not self._kept \
                or now - self._let_go > REST_TIME_S and self._tip.rests(now):
            self._move_to_tip()
        if arrived:
            self._kept = False

    def _look_behind(self, now: float) -> None:
        """Say that the tip stays behind a handle that is followed, while it rests there."""
        if not self.following or self.frame != self._tip_frame:
            return
        shift, turn = distance(self._T_tip, self.T)
        if self.kind is Kind.POSITION:
            turn = 0.0
        elif self.kind is Kind.POINTING:
            turn = acos(np.clip(self._T_tip[:3, 2] @ self.T[:3, 2], -1.0, 1.0))
        sentence = ''
        if (shift > MOVED_SHIFT_M or turn > MOVED_TURN_RAD) \
                and now - self._grasped > START_TIME_S and self._tip.rests(now):
            off = f'{shift:.3f} m' if shift > MOVED_SHIFT_M else f'{turn:.2f} rad'
            sentence = f'The arm cannot follow: its tip stays {off} away from the handle.'
        if sentence != self._behind:
            self._behind = sentence
            self._view.show_colour('red' if sentence else '', sentence)

    def _move_to_tip(self) -> None:
        self._let_go = inf
        self.frame, self.T, self.listed = self._tip_frame, self._T_tip, ''
        self._view.show_pose(self.frame, self.T)
        self._forget()

    def _on_named_poses(self, message: DiagnosticArray) -> None:
        self._view.show_named([status.name for status in message.status])

    def _on_tools(self, message: DiagnosticArray) -> None:
        self._tools = [status.name for status in message.status], mounted_tool(message)
        self._view.show_tools(*self._tools)

    def _on_preview(self, message: DiagnosticStatus) -> None:
        values = values_of(message)
        stamp = values.get('stamp')
        if not stamp or stamp not in self._previews:
            return
        self._view.show_colour(values.get('colour', ''), message.message)
        if stamp == self._plans:
            self._plans = ''
            self.commands.plan()
        if stamp == self.listed and self._lists:
            self._lists = False
            self.commands.list_postures()


@dataclass(frozen=True)
class Entry:
    """One entry of the menu."""

    label: str
    do: Callable[[Handle], None]  # the command
    # Returns whether the entry is checked; None for entries without a check mark.
    checked: Callable[[Handle], bool] | None = None
    hint: str | None = None  # an explanation, shown when the mouse points at the entry
    # Returns what is shown in its place; '' = the hint.
    instead: Callable[[Handle], str] = lambda _handle: ''


MENU_ENTRIES = (
    Entry('plan', Handle.plan),
    Entry('move', Handle.move),
    Entry('move in a line', Handle.line),
    Entry('handle to tip', Handle.to_tip),
    Entry('follow while dragging', Handle.toggle_following, lambda handle: handle.following,
          'The arm moves while the handle is dragged.'),
    Entry('home', Handle.home),
    Entry('stop', Handle.stop),
    Entry('pause', Handle.pause),
    Entry('go on', Handle.go_on),
    Entry('position only', Handle.toggle_position, lambda handle: handle.kind is Kind.POSITION,
          'The orientation of the tool is free.'),
    Entry('free about the tool axis', Handle.toggle_pointing,
          lambda handle: handle.kind is Kind.POINTING,
          'The tool may rotate about its z axis.'),
    Entry('keep level', Handle.toggle_level, lambda handle: bool(handle.keep),
          'In every motion the axis of the tool that is nearest to the vertical stays within 5 '
          'degrees of it.',
          lambda handle: '' if handle.keep in ('', LEVEL)
          else f'Every motion keeps {shown(handle.keep)}'),
)


class TipWatch:
    """Detects from the poses of the tip when a motion has ended."""

    def __init__(self) -> None:
        self.moves = False  # whether the tip moves, or is away from where it last rested
        self._rested: np.ndarray | None = None
        # A pose within REST_SHIFT_M and REST_TURN_RAD of all poses since a time (s).
        self._about: np.ndarray | None = None
        self._since = 0.0

    def rests(self, now: float) -> bool:
        """Return whether the tip has rested for REST_TIME_S at a time (s)."""
        return self._about is not None and now - self._since >= REST_TIME_S

    def take(self, T: np.ndarray, now: float) -> bool:
        """Take the pose (4, 4) of the tip at a time (s); return whether a motion has ended."""
        if self._rested is None:
            self._rested = T
        if self._about is None or _apart(T, self._about, REST_SHIFT_M, REST_TURN_RAD):
            self._about, self._since = T, now
        self.moves = self.moves or _apart(T, self._rested, MOVED_SHIFT_M, MOVED_TURN_RAD)
        if not self.moves or not self.rests(now):
            return False
        self._rested, self.moves = T, False
        return True


def _apart(T: np.ndarray, other: np.ndarray, shift: float, turn: float) -> bool:
    position, angle = distance(T, other)
    return bool(position > shift or angle > turn)
