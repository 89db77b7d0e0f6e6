# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A scene that messages change, and what follows from it, made in any thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
import traceback
from typing import Any

import numpy as np
from rclpy.clock import ClockType
from rclpy.serialization import deserialize_message
from rclpy.time import Time
from std_msgs.msg import Header

from ik_node.base.errors import IkNodeError, ParameterError
from ik_node.collision.distances.certificate import Contact
from ik_node.collision.scene.scene import Scene
from ik_node.model.description.mesh_files import mesh_search
from ik_node.motion.change.active_trajectory import ActiveTrajectory
from ik_node.node.robot.robot import Robot
from ik_node.node.robot.settings import Settings
from ik_node.node.state.clocks import StampCheck
from ik_node.node.state.frames import Frames, NotYet
from ik_node.node.state.team import Seat


class Abandoned(Exception):
    """The node is being cleaned up, and nobody waits for the scene any more."""


@dataclass(frozen=True, eq=False)
class SceneServices:
    """What changes of a scene need of the node."""

    # frames, stamps, clock_type: for any thread
    frames: Frames
    stamps: StampCheck
    clock_type: ClockType
    joint_positions: Mapping[str, float]  # now, rad or m; not for other threads
    mesh_paths: tuple[str, ...] = ()  # folders that are searched first for meshes


@dataclass(eq=False)
class SceneDraft:
    """A scene that is being changed, and the services for reading messages."""

    robot: Robot  # only what never changes of it, and its settings, are used
    scene: Scene
    told: set[str]  # ids of objects that came by messages
    services: SceneServices
    is_abandoned: Callable[[], bool]  # returns whether the scene is needed no more
    joint_positions: Mapping[str, float] = field(default_factory=dict)  # then, rad or m
    received: float = 0.0  # monotonic time (s) at which the message came
    age: float = 0.0       # how long before (s) it was sent
    # notes, failures: what the log shall say; what was unforeseen
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    remark: str = ''  # what the answer to the present message shall say, besides that it counts

    def check_stamp(self, header: Header) -> None:
        """
        Raise a GoalError if a message was too old when it came, or of the future.

        How long it waited until this node could take it does not count where nothing moves
        meanwhile: in the base link, or without a frame.
        """
        if self.is_abandoned():
            raise Abandoned
        since = monotonic() - self.received
        oldest = self.robot.settings.max_goal_age + since
        if self.link_of(header.frame_id) == self.robot.chain.base_link or not header.frame_id:
            oldest += self.age
        self.services.stamps.checked_by_age(header.stamp, oldest, self.age + since)

    def link_of(self, frame: str) -> str | None:
        """Return the link of the robot that a frame is; None if it is none."""
        return self.services.frames.link_of(frame, self.robot.tree)

    def find_mesh(self, uri: str) -> tuple[Path | None, str]:
        """Return the file of a mesh, or None and why it was not found."""
        return mesh_search(self.robot.tree, self.services.mesh_paths)(uri)

    def place(self, header: Header) -> tuple[str, np.ndarray]:
        """Return a link, with which an object moves, and the pose of a header's frame in it."""
        link = self.link_of(header.frame_id)
        return (self.robot.chain.base_link, self.pose(header)) if link is None \
            else (link, np.eye(4))

    def pose(self, header: Header) -> np.ndarray:
        """Return ``T_base_frame`` (4, 4) of a header; errors as :meth:`Frames.pose_of`."""
        stamp = Time.from_msg(header.stamp, clock_type=self.services.clock_type)
        return self.services.frames.pose_of(header.frame_id, stamp, self.robot.tree,
                                            self.robot.chain.base_link, self.joint_positions)


Change = tuple[str, Callable[[SceneDraft], None]]  # the message, and its change of the draft


@dataclass(frozen=True, eq=False)
class SceneTopic:
    """A kind of messages that change a scene."""

    kind: type  # of the messages
    # Returns, of a message, a name for the log, and what changes a draft; an IkNodeError or NotYet
    # that this raises says why it cannot.
    change: Callable[[Any], Change]
    # Returns about how many parts a message has, infinity if it may take long otherwise.
    parts: Callable[[Any], float]
    # Called with a message, once it counts, '' and a remark; or with why it changed nothing.
    answer: Callable[[Any, str, str], None] = lambda _message, _complaint, _remark: None
    replaces_earlier: bool = False  # whether a message makes the earlier ones of the topic void


@dataclass(eq=False)
class SceneMessage:
    """A message that shall change the scene, as a whole or not at all."""

    number: int  # counts them, from 1
    topic: SceneTopic
    given: Any  # its bytes, until it is read
    # joint_positions, received, age: as in :class:`SceneDraft`
    joint_positions: Mapping[str, float]
    age: float
    received: float = field(default_factory=monotonic)
    # complaint, remark: why it changed nothing; what its answer says besides that it counts
    complaint: str = ''
    remark: str = ''

    def read(self) -> Any:
        """Return the message; raise ParameterError if its bytes are none."""
        if isinstance(self.given, bytes):
            try:
                self.given = deserialize_message(self.given, self.topic.kind)
            except Exception:  # noqa: BLE001 - rclpy names no errors of its own
                raise ParameterError(
                    f'it cannot be read as a {self.topic.kind.__name__}; is its sender built for '
                    'this version of the message?') from None
        return self.given

    def answer(self) -> None:
        """Answer it; one that cannot be read is answered as an empty one."""
        try:
            message = self.read()
        except ParameterError:
            message = self.topic.kind()
        self.topic.answer(message, self.complaint, self.remark)


@dataclass(frozen=True, eq=False)
class BuiltScene:
    """A scene that messages have changed, and what follows from it."""

    robot: Robot
    basis: Settings  # of the robot when it was begun; with others it has to be made again
    draft: SceneDraft
    settings: Settings | None        # those with the new scene; None if nothing was changed
    active: ActiveTrajectory | None  # the motion that was checked, of those that run at the time
    contact: Contact | None          # what it would meet

    def checked(self, active: ActiveTrajectory | None, contact: Contact | None) -> BuiltScene:
        """Return the same with another motion that was checked."""
        return replace(self, active=active, contact=contact)


MakeSettings = Callable[[Robot, Scene], Settings]


def build_scene(messages: Sequence[SceneMessage], robot: Robot, services: SceneServices,
                make: MakeSettings, is_abandoned: Callable[[], bool],
                active: ActiveTrajectory | None, seat: Seat) -> BuiltScene:
    """
    Make a scene anew with the changes of messages, and check the motion that runs.

    Parameters
    ----------
    make : callable
        Makes the settings of a robot with a scene.
    is_abandoned : callable
        As in :class:`SceneDraft`.
    active : ActiveTrajectory or None
        That motion; a stream looks after itself.
    seat : Seat
        What other arms of the robot do.

    """
    basis = robot.settings
    draft = SceneDraft(robot, robot.scene.copy(), set(robot.received_objects), services,
                       is_abandoned)
    for message in messages:
        message.complaint = _complaint(draft, message)
    settings = None
    if not all(message.complaint for message in messages):
        settings = make(robot, draft.scene)
    return BuiltScene(robot, basis, draft, settings, active,
                      contact_ahead(settings, active, seat))


def contact_ahead(settings: Settings | None, active: ActiveTrajectory | None,
                  seat: Seat) -> Contact | None:
    """
    Return what the rest of a motion would meet; None if it is free, or over.

    What other arms do is looked at by :meth:`Seat.contact_now`.
    """
    model = None if settings is None else settings.solver.collisions
    return None if model is None or active is None else active.contact_ahead(
        seat.without_others(model), monotonic())


def _complaint(draft: SceneDraft, message: SceneMessage) -> str:
    """Change a draft by a message; return why it was not changed, or ''."""
    draft.joint_positions = message.joint_positions
    draft.received, draft.age = message.received, message.age
    before, told, notes = draft.scene.snapshot, set(draft.told), len(draft.notes)
    what, why, draft.remark = 'a message', '', ''
    try:
        what, change = message.topic.change(message.read())
        if draft.robot.collisions is None:
            raise ParameterError('collisions are not checked, so there is no scene; set '
                                 'collision.check')
        change(draft)
        message.remark = draft.remark
        return ''
    except Abandoned:
        raise
    except (IkNodeError, NotYet) as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001 - a message never goes without an answer
        why = f'internal error: {type(error).__name__}: {error}; please report it with the log'
        draft.failures.append(traceback.format_exc())
    draft.scene.restore(before)
    draft.told = told
    del draft.notes[notes:]
    return f'{what} of the scene changed nothing: {why}'
