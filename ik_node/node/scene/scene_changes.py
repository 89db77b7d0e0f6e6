# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Changes of the scene while the node runs, and what becomes of a motion among them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
import gc
from threading import Thread
from time import monotonic
import traceback
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from rclpy.task import Future

from ik_node.base.errors import IkNodeError, ParameterError, Reason
from ik_node.collision.distances.certificate import Contact
from ik_node.motion.change.active_trajectory import ActiveTrajectory
from ik_node.node.execution.ramps import Ramps
from ik_node.node.goals.goal import GoalTask
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.scene.scene_draft import (
    Abandoned,
    build_scene,
    BuiltScene,
    contact_ahead,
    MakeSettings,
    SceneMessage,
    SceneServices,
    SceneTopic,
)
from ik_node.node.state.arm_state import OtherJoints
from ik_node.ros.messages.status_messages import JOG_KIND, STREAM_KIND
from ik_node.ros.middleware.clocks import (
    MessageInfo,
    OneCopy,
    steady_clock,
    take_message,
    tell_origin,
)

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks

SMALL_SCENE_PARTS = 50  # of new messages and of all objects; more are added in a thread
SMALL_MESSAGE_BYTES = 16_000  # longer ones are read in a thread
GATHER_TIME_S = 0.01  # for which messages that wait are taken together
BRAKE_PERIOD_S = 0.02  # between two attempts to bring the arm to rest before a contact
# A service has no times of its request: it is as old as it can be.
NO_TIMES: MessageInfo = {'source_timestamp': 0, 'received_timestamp': 0}
SCENE_PATIENCE_S = 30.0  # for which a goal waits for the scene that came before it
# What makes the scene anew as it is.
SCENE_RENEWAL = SceneTopic(type(None), lambda _message: ('nothing', lambda _draft: None),
                           lambda _message: 0.0, replaces_earlier=True)


class SceneChanges:
    """
    Changes the scene of the robot by messages, each as a whole or not at all.

    A small scene is made at once, a larger one in a thread, so that all else goes on; what comes
    meanwhile is made after it, together.  A goal waits for the messages that came before it.
    With each scene the rest of an active motion is checked, and the arm is brought to
    rest if it would collide.

    Parameters
    ----------
    make : callable
        Makes the settings of a robot with a scene.
    show : callable
        Shows the scene of the robot.
    others : OtherJoints
        As they move, the motion is checked anew, too.

    """

    def __init__(self, node: Node, robot_slot: RobotSlot, services: SceneServices,
                 ramps: Ramps, make: MakeSettings,
                 show: Callable[[], None], others: OtherJoints) -> None:
        self._node = node
        self._robot_slot = robot_slot
        self._services = services
        self._ramps = ramps
        self._make, self._show, self._others, self._seat = make, show, others, others.seat
        self._topics: dict[Subscription, SceneTopic] = {}
        self._copies = OneCopy()
        self._waiting: deque[SceneMessage] = deque()
        self._count = self._finished = 0
        self._under_way: list[SceneMessage] = []
        self._built: BuiltScene | None = None
        self._closed = False
        self._settled: list[tuple[int, Future]] = []
        self._guard = node.create_guard_condition(self._on_built)
        self._meets: tuple[ActiveTrajectory, Contact, str] | None = None  # and why
        self._timer = node.create_timer(BRAKE_PERIOD_S, self._brake, clock=steady_clock())
        self._timer.cancel()
        self._watch = node.create_timer(others.period, self._on_watch, clock=steady_clock())

    # ---- what comes ---------------------------------------------------------

    def subscribe(self, name: str, topic: SceneTopic, qos: QoSProfile,
                  events: SubscriptionEventCallbacks | None = None) -> None:
        """
        Take the messages of a topic; those that wait together, together.

        Of several subscriptions to it, each message once.
        """
        def on_message(data: bytes, info: MessageInfo) -> None:
            self._note(topic, data, info)
            self._gather(monotonic() + GATHER_TIME_S)
            self._go_on()

        subscription = tell_origin(self._node.create_subscription(
            topic.kind, name, on_message, qos, raw=True, event_callbacks=events))
        self._topics[subscription] = topic

    def take(self, topic: SceneTopic, message: Any, info: MessageInfo) -> None:
        """Take a message that came otherwise."""
        self._note(topic, message, info)
        self._go_on()

    def renew(self) -> None:
        """Make the scene anew as it is, since the robot has changed."""
        self._note(SCENE_RENEWAL, None, NO_TIMES)
        self._go_on()

    def _on_watch(self) -> None:
        """Look whether joints beside the arm have moved, and what other arms do."""
        self._look(self._ramps.streams)
        active = self._ramps.motion_of_goal
        contact = None if active is None else self._seat.contact_now(active)
        if contact is not None:
            self._brake_before(active, contact, 'another arm moves otherwise')
        if self._watch.timer_period_ns != round(1e9 * self._others.period):
            self._watch.timer_period_ns = round(1e9 * self._others.period)

    def _look(self, streams: bool) -> None:
        robot = self._robot_slot.robot
        model = None if robot is None else self._others.look(robot, robot.tree, robot.collisions,
                                                             streams)
        if model is None:
            return
        robot.collisions = model
        if self._under_way or self._waiting or robot.scene.part_count > SMALL_SCENE_PARTS:
            self.renew()
            return
        robot.settings = robot.settings.with_others(model.others)
        active = self._ramps.motion_to_recheck
        contact = contact_ahead(robot.settings, active, self._seat)
        if contact is not None:
            self._brake_before(active, contact, 'the scene changed')

    def waits(self, task: GoalTask) -> bool:
        """
        Return whether a goal has to wait for a scene that came before it.

        Raises
        ------
        IkNodeError
            SCENE_PENDING, after SCENE_PATIENCE_S.

        """
        if task.after_scene is None:
            self._look(task.kind in (STREAM_KIND, JOG_KIND))
            self._others.warn()
            # The middleware may have messages that came before the goal.
            end = monotonic() + GATHER_TIME_S
            if self._gather(end):
                self._go_on()
                if monotonic() > end:
                    return True  # it may have more
            task.after_scene = self._count, monotonic()
        number, since = task.after_scene
        if self._finished >= number:
            return False
        if monotonic() - since > SCENE_PATIENCE_S:
            raise IkNodeError(f'the scene that came before the goal is not ready after '
                              f'{SCENE_PATIENCE_S:g} s; send the goal again when the scene is '
                              'answered', Reason.SCENE_PENDING)
        return True

    async def settled(self) -> None:
        """Return when all that has come so far counts."""
        if self._gather(monotonic() + GATHER_TIME_S):
            self._go_on()
        if self._finished < self._count:
            settled = Future()
            self._settled.append((self._count, settled))
            await settled

    def close(self) -> None:
        """Answer and drop the pending messages."""
        self._closed = True
        left = [*self._under_way, *self._waiting]
        self._waiting.clear()
        for message in left:
            message.complaint = 'a message of the scene changed nothing: the node is cleaned up'
        self._end(left)

    def _gather(self, end: float) -> bool:
        """Take messages that wait, until a monotonic time (s); return whether there are any."""
        found = False
        for subscription, topic in self._topics.items():
            while monotonic() < end and (taken := take_message(subscription)) is not None:
                self._note(topic, *taken)
                found = True
        return found

    def _note(self, topic: SceneTopic, given: Any, info: MessageInfo) -> None:
        if topic.replaces_earlier and not self._copies.is_new(info):
            return
        self._count += 1
        if topic.replaces_earlier:
            for message in [each for each in self._waiting if each.topic is topic]:
                self._waiting.remove(message)
        self._waiting.append(SceneMessage(
            self._count, topic, given, dict(self._services.joint_positions),
            self._services.stamps.age(info)))

    # ---- what becomes of it -------------------------------------------------

    def _go_on(self) -> None:
        """Make the scene of what waits: at once if it is small, else in a thread."""
        if self._under_way or not self._waiting or self._closed:
            return
        messages, robot = [*self._waiting], self._robot_slot.robot
        self._waiting.clear()
        if robot is None:
            for message in messages:
                message.complaint = 'a message of the scene changed nothing: there is no robot ' \
                                    f'description yet: {self._robot_slot.why()}'
            self._end(messages)
        elif self._are_small(messages, robot):
            self._finish(self._build(messages, robot), messages)
        else:
            self._under_way = messages
            Thread(target=self._build_beside, args=(messages, robot), daemon=True).start()

    def _are_small(self, messages: list[SceneMessage], robot: Robot) -> bool:
        """Return whether a scene with messages is made so quickly that all else can wait."""
        parts = float(robot.scene.part_count)
        if sum(len(message.given) for message in messages
               if isinstance(message.given, bytes)) > SMALL_MESSAGE_BYTES:
            return False
        for message in messages:
            try:
                parts += message.topic.parts(message.read())
            except ParameterError:
                continue  # the complaint follows
        return parts <= SMALL_SCENE_PARTS

    def _build(self, messages: list[SceneMessage], robot: Robot) -> BuiltScene | None:
        """Return the scene of messages; None, with complaints, if something unforeseen fails."""
        try:
            return build_scene(messages, robot, self._services, self._make, lambda: self._closed,
                               self._ramps.motion_to_recheck, self._seat)
        except Abandoned:
            return None
        except ParameterError as error:  # of the model, such as a plane that would move
            for message in messages:
                message.complaint = f'a message of the scene changed nothing: {error}'
            return None
        except Exception as error:  # noqa: BLE001 - a message never goes without an answer
            self._node.get_logger().error(traceback.format_exc())
            for message in messages:
                message.complaint = f'a message of the scene changed nothing: internal error: ' \
                                    f'{type(error).__name__}: {error}'
            return None

    def _build_beside(self, messages: list[SceneMessage], robot: Robot) -> None:
        """Make a scene, in a thread of its own; a collection of garbage would hold all others."""
        gc.disable()
        try:
            self._built = self._build(messages, robot)
        finally:
            gc.freeze()  # or the first collection would look at all of it
            gc.enable()
        self._wake()

    def _check_beside(self, built: BuiltScene) -> None:
        """Check the present motion in a scene, in a thread of its own."""
        active = built.robot.active
        self._built = built.checked(active, contact_ahead(built.settings, active, self._seat))
        self._wake()

    def _wake(self) -> None:
        if not self._closed:
            with suppress(InvalidHandle):  # cleaned up since
                self._guard.trigger()

    def _on_built(self) -> None:
        """Take over what was made in a thread, or make it again if the robot has changed."""
        if not self._under_way or self._closed:
            return
        built, messages = self._built, self._under_way
        self._built = None
        if built is not None and self._is_outdated(built):
            self._under_way = []
            self._waiting.extendleft(reversed(messages))
        elif built is not None and built.settings is not None \
                and self._ramps.motion_to_recheck not in (None, built.active):
            Thread(target=self._check_beside, args=(built,), daemon=True).start()
            return
        else:
            self._under_way = []
            self._finish(built, messages)
        self._go_on()

    def _is_outdated(self, built: BuiltScene) -> bool:
        """Return whether the robot or its settings have changed since a scene was begun."""
        return self._robot_slot.robot is not built.robot or built.robot.settings is not built.basis

    def _finish(self, built: BuiltScene | None, messages: list[SceneMessage]) -> None:
        """Use a scene from now on, if it was made, and answer its messages."""
        if built is not None:
            self._take_over(built)
        self._end(messages)

    def _take_over(self, built: BuiltScene) -> None:
        robot, logger = built.robot, self._node.get_logger()
        for note in built.draft.notes:
            logger.info(note)
        for failure in built.draft.failures:
            logger.error(failure)
        if built.settings is not None:
            before = robot.scene.snapshot
            robot.scene, robot.received_objects = built.draft.scene, built.draft.told
            robot.settings = built.settings
            self._show()
            if built.contact is not None:
                self._brake_before(built.active, built.contact, 'the scene changed')
            owners = *before.objects.values(), *before.bodies
            things = [*owners, *(part for owner in owners for part in owner.parts)]
            if len(things) > SMALL_SCENE_PARTS:
                Thread(target=release, args=(things,), daemon=True).start()

    def _brake_before(self, active: ActiveTrajectory, contact: Contact, why: str) -> None:
        """Bring the arm to rest before what its motion meets, as soon as that is possible."""
        self._meets = active, contact, why
        self._timer.reset()
        self._brake()

    def _brake(self) -> None:
        active, contact, why = self._meets
        if self._ramps.motion_to_recheck is not active or self._ramps.brake_before(contact, why):
            self._timer.cancel()

    def _end(self, messages: list[SceneMessage]) -> None:
        for message in messages:
            if message.complaint:
                self._node.get_logger().warning(message.complaint)
            message.answer()
            self._finished = max(self._finished, message.number)
        for number, settled in [*self._settled]:
            if self._finished >= number or self._closed:
                settled.set_result(None)
                self._settled.remove((number, settled))


def release(things: list[Any]) -> None:
    """Free things one by one; all at once would hold the other threads for longer."""
    while things:
        things.pop()
