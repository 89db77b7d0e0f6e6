# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The arms that are led: one, or several at once, each by a hand of its own.

Each has a stream, a clutch for each page, and answers of its own: what happens to one of them
ends nothing of the others.
"""

from __future__ import annotations

from time import monotonic

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
import numpy as np
from rclpy.node import Node

from ik_node.base.errors import GoalError, Reason
from ik_node.base.text import printable
from ik_node.ros.messages.conversion import matrix_from_pose
from ik_node.ros.messages.status_messages import (
    answers_stream,
    is_final,
    STREAM_KIND,
    STREAM_PAUSE_S,
    values_of,
)
from ik_node.ros.middleware.qos import ANSWERS_QOS
from ik_node.ui.handheld.clutch import HandSample
from ik_node.ui.handheld.open_pages import OpenPages
from ik_node.ui.handheld.page_messages import ArmState
from ik_node.ui.node_client import Commands

MAX_TIP_AGE_S = 0.5       # of the pose of the tip at which the hand grasps it
UNANSWERED_TIME_S = 2.0   # after which a stream that nobody accepts is given up
GONE_TIME_S = 2.0         # without a pose of the tip, after which a stream is given up
# After another end of the stream it has to pause, or the ik_node would ignore it.
PRESS_PAUSE_S = STREAM_PAUSE_S + 0.1
STOPPING_TEXT = 'stop was pressed'
ANSWER_COLOURS = {DiagnosticStatus.OK: 'green', DiagnosticStatus.WARN: 'amber',
                  DiagnosticStatus.ERROR: 'red'}


class LedArm:
    """
    The arm of one ik_node: streams the poses that a hand gives while it holds the clutch.

    Parameters
    ----------
    node : Node
        All methods are called from its executor.
    target : str
        Name of the ik_node.
    timeout : float
        Of the clutches of its pages, s.

    """

    def __init__(self, node: Node, target: str, timeout: float) -> None:
        self.pages = OpenPages(timeout)
        self.target = target
        self._node = node
        self._tip: tuple[np.ndarray, str, float] | None = None  # T, frame, received (s)
        self._answer = '', ''  # the last one, and its colour
        self._followed = False  # whether the ik_node follows a stream
        self._streamed = -np.inf  # monotonic times (s): last pose, begin, earliest next press
        self._began, self._earliest = np.inf, -np.inf
        self._first = Time()  # stamp from which on poses are of this press
        self._commands = Commands(node, target, self._complain, only=('goal_stream', 'stop'))
        self._heard = (
            node.create_subscription(PoseStamped, f'{target}/tip_pose', self._on_tip_pose, 1),
            node.create_subscription(DiagnosticStatus, f'{target}/answers', self._on_status,
                                     ANSWERS_QOS))

    @property
    def was_there(self) -> bool:
        """Return whether the ik_node has ever told where its tip is."""
        return self._tip is not None

    # ---- from the pages -----------------------------------------------------

    def stop(self, number: int) -> None:
        """Bring the arm to rest, for a page."""
        self._end('the arm is being stopped')
        self.pages.note(number, STOPPING_TEXT)
        self._commands.stop(lambda _good, sentence: self.pages.note(
            number, sentence, instead_of=STOPPING_TEXT))

    def follow(self, number: int, sample: HandSample, now: float) -> None:
        """Take a sample of a page that was received at a monotonic time (s)."""
        presses = self.pages.presses(number, sample)
        T_tip, refusal = self._grasped(now) if presses else (None, '')
        found = self.pages.take(number, sample, now, T_tip, refusal)
        if found is None:
            return
        if presses:
            self._first, self._began = self._node.get_clock().now().to_msg(), now
        target, delay = found
        if self._commands.stream(self._tip[1], target, 0.0 if presses else delay):
            self._streamed = now

    def states(self, now: float) -> dict[int, ArmState]:
        """Release the clutch if it is held in vain; return what each page shows of the arm."""
        self.pages.check(now)
        if self.pages.holder is not None:
            if not self._followed and now > self._began + UNANSWERED_TIME_S:
                self._end('the ik_node does not follow')
            elif now > self._tip[2] + GONE_TIME_S:
                self._end(f'{self.target} has told nothing for {GONE_TIME_S:g} s')
        return self.pages.states(self._grasped(now)[1], *self._answer)

    def _grasped(self, now: float) -> tuple[np.ndarray | None, str]:
        """Return where the tip is (4, 4), or None and why it cannot be grasped."""
        if now < self._earliest:
            return None, 'the last motion is still being ended; let go, and press again'
        if self._tip is None:
            return None, f'no pose of the tip has come from {self.target}; is it running?'
        T, _, received = self._tip
        if now - received > MAX_TIP_AGE_S:
            return None, (f'the last pose of the tip is {now - received:.1f} s old; do joint '
                          'states still come, and is tip_pose_rate high enough?')
        return T, ''

    def _end(self, why: str) -> None:
        """Release the clutch where the stream does not just run out of poses; say why."""
        self._earliest, self._followed = self._streamed + PRESS_PAUSE_S, False
        self.pages.release(why)

    # ---- messages of the ik_node --------------------------------------------

    def _on_tip_pose(self, message: PoseStamped) -> None:
        try:
            T = matrix_from_pose(message.pose, 'the tip')
        except GoalError:
            return
        self._tip = T, message.header.frame_id, monotonic()

    def _on_status(self, message: DiagnosticStatus) -> None:
        values = values_of(message)
        if 'state' not in values or 'stamp' not in values:
            return
        self._answer = printable(message.message), ANSWER_COLOURS.get(message.level, '')
        if values.get('kind') != STREAM_KIND:
            return
        self._followed = not is_final(values)
        try:
            ours = answers_stream(values, self._first, self._node.get_clock().now().to_msg())
        except (KeyError, ValueError):  # of no ik_node
            return
        if not ours or not is_final(values):
            return
        if values.get('reason') == Reason.STREAM_ENDED.value:
            self.pages.release(printable(message.message))
        else:
            self._end(printable(message.message))

    def _complain(self, good: bool, sentence: str) -> None:
        if not good:
            self.pages.release(sentence)

    def destroy(self) -> None:
        """Leave the ROS graph."""
        for each in self._heard:
            self._node.destroy_subscription(each)
        self._commands.destroy()


def arms_beside(node: Node, robot: str) -> list[str]:
    """Return the full names of the arms of an ik_arms that take streams, sorted."""
    begin = f'{node.resolve_topic_name(robot)}/'
    topics = [topic for topic, _ in node.get_topic_names_and_types()
              if topic.startswith(begin) and topic.endswith('/goal_stream')
              and topic.count('/') == begin.count('/') + 1]
    return sorted(topic.rpartition('/')[0] for topic in topics if node.count_subscribers(topic))
