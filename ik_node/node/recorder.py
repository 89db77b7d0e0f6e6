# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of goals, for ik_replay: written beside the other work of the node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import os
from pathlib import Path
from queue import Full, Queue
from threading import Thread
import traceback
from typing import Any, NamedTuple

from rclpy.node import Node

from ik_node.base.errors import IkNodeError, Reason
from ik_node.base.text import quote
from ik_node.node.goals.goal import GoalTask
from ik_node.node.robot.robot import RobotSlot
from ik_node.replay.recording import AnsweredGoal, recording_bytes
from ik_node.ros.messages.status_messages import stamp_text

MAX_WAITING_RECORDINGS = 20  # for the disk; goals that end meanwhile are not recorded
RECORDING_PATTERN = 'goal-*.json.gz'
UNTOLD_PARAMETERS = ('robot_description',)  # the text of the URDF is there anyhow


class Writing(NamedTuple):
    """A recording to be written: of what, where, and how many are kept there."""

    goal: AnsweredGoal
    folder: str
    count: int


class Recorder:
    """
    Writes a file for each goal, while the parameter record.folder is set.

    A goal for which neither the solver nor a planner was asked has nothing to be repeated, and
    gets none.

    Parameters
    ----------
    values : callable
        Returns the present values of the node's parameters.

    """

    def __init__(self, node: Node, robot_slot: RobotSlot,
                 values: Callable[[], Mapping[str, Any]]) -> None:
        self._logger = node.get_logger()
        self._robot_slot = robot_slot
        self._values = values
        self._waiting: Queue[Writing | None] = Queue(MAX_WAITING_RECORDINGS)
        self._thread: Thread | None = None
        self._told: set[tuple[str, type[Exception]]] = set()

    def on_answer(self, goal_id: str, task: GoalTask, reason: Reason, sentence: str) -> None:
        """Record a goal that has ended."""
        robot = self._robot_slot.robot
        if not (task.final and robot and task.requests and robot.settings.record_folder):
            return
        values = {'number': task.number, 'kind': task.kind, 'stamp': stamp_text(task.stamp),
                  'state': task.state.value, 'reason': reason.value, 'message': sentence}
        parameters = {name: value for name, value in self._values().items()
                      if name not in UNTOLD_PARAMETERS}
        goal = AnsweredGoal(goal_id, values, robot.tree, tuple(task.requests),
                            parameters)
        folder = robot.settings.record_folder
        if self._thread is None:
            self._thread = Thread(target=self._work, name='record', daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(Writing(goal, folder, robot.settings.record_count))
        except Full:
            self._tell(folder, Full, 'goals end faster than they can be recorded; some are not')

    def _work(self) -> None:
        while (writing := self._waiting.get()) is not None:
            try:
                write_recording(writing)
            except OSError as error:
                self._tell(writing.folder, OSError,
                           f'goals cannot be recorded in {quote(writing.folder, 200)}: '
                           f'{error.strerror or error}; set record.folder to a folder that can '
                           "be written, or to '' to record none")
            except IkNodeError as error:
                self._tell(writing.folder, IkNodeError, str(error))
            except Exception:  # noqa: BLE001 - the next ones are written, perhaps
                self._logger.error(traceback.format_exc())

    def _tell(self, folder: str, what: type[Exception], sentence: str) -> None:
        """Warn, once for each folder and kind of fault."""
        if (folder, what) not in self._told:
            self._told.add((folder, what))
            self._logger.warning(sentence)

    def close(self, seconds: float) -> None:
        """Wait at most `seconds` until what waits is written."""
        if self._thread is None:
            return
        try:
            self._waiting.put(None, timeout=seconds)
            self._thread.join(seconds)
        except Full:
            pass
        if self._thread.is_alive():
            self._logger.warning('the last recordings of goals are not written: the disk is too '
                                 'slow')
        self._thread = None


def write_recording(writing: Writing) -> Path:
    """Write a recording, delete the oldest ones beyond the count, and return its path."""
    try:
        folder = Path(writing.folder).expanduser()
    except RuntimeError:  # ~ of an unknown user
        raise FileNotFoundError('there is no such user') from None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f'goal-{writing.goal.id}.json.gz'
    part = path.with_name(f'{path.name}.part')
    data = recording_bytes(writing.goal)
    file = part.open('xb')  # new: a link of this name is not followed
    try:
        with file:
            file.write(data)
        os.replace(part, path)  # a reader sees all of it or nothing
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    known = []
    for other in folder.glob(f'{RECORDING_PATTERN}*'):  # with parts of a node that was killed
        try:
            known.append((other.stat().st_mtime_ns, other))
        except OSError:
            pass  # another node has just deleted it
    for _, other in sorted(known)[:-writing.count]:
        other.unlink(missing_ok=True)
    return path
