# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The arms of one robot in one process: where each is and what it does, for all others.

An arm is planned around the others as they will rest, and what it is sent is proved against what
they do meanwhile, as their controllers interpolate it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import NamedTuple, Protocol

import numpy as np

from ik_node.base.errors import Reason, StateError, TrajectoryError
from ik_node.base.text import quote
from ik_node.collision.distances.certificate import Contact
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.other_joints import MOTION_HORIZON_S, NOISE_SPEED
from ik_node.kinematics.links import path_between
from ik_node.model.joint_space import JointSpace
from ik_node.motion.change.active_trajectory import (
    ActiveTrajectory,
    SAME_POSITION,
    SETTLING_TIME_S,
)
from ik_node.motion.together import ArmMotion, contact_between
from ik_node.motion.trajectory.trajectory import Trajectory
from ik_node.node.robot.robot import Robot, RobotSlot
from ik_node.node.state.send_order import SendTime
from ik_node.ros.messages.goal_kinds import CHUNK_KIND
from ik_node.ros.messages.status_messages import JOG_KIND, STREAM_KIND

TIMING_ROOM_S = 0.01   # by which a controller may be late or early, besides one of its cycles
PAUSED_KIND = 'paused'  # in place of the kind of a goal
LATE_STEP_S = 0.05     # in which it counts how late an arm is
BESIDE = 0.02          # rad or m beside a motion, from which and in which steps that counts
PROOF_MEMORY = 0.9     # of the longest time of a proof, until the next one
MOVED = 1e-3           # rad or m, by which an arm that is not sent anything has moved


class Measured(Protocol):
    """What is known of an arm by its joint states."""

    @property
    def cycle(self) -> float:
        """Return the time (s) between two updates of its controller."""

    def delivery(self) -> float:
        """Return how long (s) a trajectory takes to the controller."""

    def last(self, robot: Robot) -> tuple[np.ndarray | None, float]:
        """Return its posture (n,), if it is known, and the age (s) of that."""

    def measured_ago(self, robot: Robot) -> float:
        """Return how long ago (s) that was measured, with the time that it took to us."""

    def fresh(self, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
        """Return q and qd (n,) as measured now; raise a StateError if that is not known."""


class OtherArmError(TrajectoryError):
    """A motion would meet another arm that is under way; it is free when that has passed."""


class Wait(NamedTuple):
    """A goal that waits until another arm has passed."""

    since: float  # monotonic, s
    is_over: Callable[[], bool]


class Seat:
    """What an arm is told of the other arms of its robot in this process: here there are none."""

    name = ''
    world_link: str | None = None
    """The link in which the ground is, and objects whose frame is not told; None: the base."""

    proof_time = 0.0
    """For how long (s) a motion is proved before it is sent."""

    def join(self, slot: RobotSlot, measured: Measured, kind: Callable[[], str | None]) -> None:
        """Tell the others of an arm, and what returns the kind of goal that it has."""

    def leave(self) -> None:
        """Tell the others that an arm is no longer known."""

    def ends(self) -> Mapping[str, float]:
        """Return where joints of other arms will rest, or do at the end of a motion."""
        return {}

    def without_others(self, model: CollisionModel) -> CollisionModel:
        """Return a model without the other arms, for a motion that is proved against theirs."""
        return model

    def contact(self, trajectory: Trajectory, began: float, stamped: bool = True
                ) -> Contact | None:
        """Return where a motion, begun at a monotonic time (s), would meet another arm's."""
        return None

    def require_apart(self, trajectory: Trajectory, began: float, stamped: bool = True) -> None:
        """
        Check that a motion, begun at a monotonic time (s), is proved to meet no other arm.

        Raises
        ------
        OtherArmError
            If it meets one that is under way, so that it is to wait.
        TrajectoryError
            COLLISION, if it meets one that rests.
        StateError
            JOINTS_IN_USE, if an arm moves that joints of the other one carry; as
            :meth:`Measured.fresh`, if it is not known where one is.

        """

    def contact_now(self, active: ActiveTrajectory) -> Contact | None:
        """Return what the motion under way meets, if an arm does what was not proved."""
        return None

    def forget_proof(self) -> None:
        """Note that a motion is not carried out when it was proved to be."""

    def require_still_base(self) -> None:
        """Raise a StateError, JOINTS_IN_USE, if another arm moves joints that carry this one."""

    def joints_in_use(self) -> frozenset[str]:
        """Return which joints of this arm carry another one that moves, or has a goal."""
        return frozenset()

    @property
    def in_step(self) -> bool:
        """Return whether there is a goal of all arms, which move in step or are about to."""
        return False

    def stop_in_step(self, sent_at: SendTime) -> str:
        """Stop a goal of all arms that was sent before that; return what was done; '' of none."""
        return ''

    def waits(self, is_over: Callable[[], bool]) -> None:
        """Note that a goal waits until another arm has passed, or `is_over`."""

    def begins(self) -> None:
        """Note that no goal waits any more."""

    def gives_way(self) -> bool:
        """Return whether another arm has waited for longer than this one, and is to begin."""
        return False


ALONE = Seat()


class TeamSeat(Seat):
    """
    What an arm is told of the other arms of its robot, and they of it.

    Parameters
    ----------
    name : str
    world_link : str
    others : sequence of TeamSeat
        All arms of the robot; this one may be among them, and some may come later.
    models : TeamModels
        Of all arms.
    in_step : callable
        Returns whether there is a goal of all arms.
    stop_in_step : callable
        Stops that; as :meth:`Seat.stop_in_step`.

    """

    def __init__(self, name: str, world_link: str, others: Sequence[TeamSeat], models: TeamModels,
                 in_step: Callable[[], bool], stop_in_step: Callable[[SendTime], str]) -> None:
        self.name, self.world_link = name, world_link
        self._others, self._models = others, models
        self._in_step, self._stop_in_step = in_step, stop_in_step
        self.leave()
        self._wait: Wait | None = None
        self._proved: Trajectory | None = None  # when it was sent, against the other arms
        self._deviations: list[object] = []  # of all arms, when they were looked at last
        self._without: tuple[CollisionModel, frozenset[str], CollisionModel] | None = None

    def join(self, slot: RobotSlot, measured: Measured, kind: Callable[[], str | None]) -> None:
        """Tell the others of an arm, and what returns the kind of goal that it has."""
        self._slot, self._measured, self._kind = slot, measured, kind

    def leave(self) -> None:
        """Tell the others that an arm is no longer known."""
        self._slot: RobotSlot | None = None
        self._measured: Measured | None = None
        self._kind: Callable[[], str | None] = lambda: None

    # ---- of this arm, for the others ----------------------------------------

    @property
    def robot(self) -> Robot | None:
        """Return the robot of the arm, once it is known."""
        return None if self._slot is None else self._slot.robot

    @property
    def active(self) -> ActiveTrajectory | None:
        """Return what the arm does, until it has settled; None if it rests."""
        active = None if self.robot is None else self.robot.active
        return active if active is not None and active.moves(monotonic() - SETTLING_TIME_S) \
            else None

    @property
    def busy(self) -> bool:
        """Return whether the arm moves, or has a goal."""
        return self.active is not None or self._kind() is not None

    def require_no_open_end(self) -> None:
        """Raise a StateError, ARM_HELD, if the arm has a goal that may never end by itself."""
        kind = self._kind()
        if kind in (STREAM_KIND, JOG_KIND, CHUNK_KIND, PAUSED_KIND):
            raise StateError(f'the arm {quote(self.name)} ' + (
                'is paused; let it go on, or stop it' if kind == PAUSED_KIND
                else f'follows a {kind}; end that first'), Reason.ARM_HELD)

    def _timing_room(self, stamped: bool) -> float:
        """Return by how much (s) a trajectory may be carried out late or early."""
        return TIMING_ROOM_S + (self._measured.cycle if stamped else self._measured.delivery())

    def _off(self, active: ActiveTrajectory) -> tuple[float, float]:
        """
        Return how late (s) an arm is on a motion, beyond :meth:`_timing_room`, and how far beside.

        A controller may scale its speed, and joints follow what they are commanded later.  In
        steps, upwards, rad or m.
        """
        q, _ = self._measured.last(self.robot)
        if q is None:
            return 0.0, 0.0
        lag, beside = active.lag(self.robot.chain, q,
                                 monotonic() - self._measured.measured_ago(self.robot))
        late = max(0.0, abs(lag) - self._timing_room(active.stamp is not None))
        return (LATE_STEP_S * float(np.ceil(late / LATE_STEP_S)),
                BESIDE * float(np.ceil(beside / BESIDE)) if beside > BESIDE else 0.0)

    def motion(self, space: JointSpace, now: float, other_room: float) -> ArmMotion | None:
        """
        Return what the arm does from a monotonic time (s) on; None if it is not known.

        `other_room`: by how much (s) the arm by whose clock that is may be late or early.
        """
        robot, active = self.robot, self.active
        if robot is None or not {*robot.chain.joint_names} <= {*space.joint_names}:
            return None
        columns = _columns(space, robot.chain.joint_names)
        if active is not None:
            late, beside = self._off(active)
            return ArmMotion(columns, active.trajectory, active.began - now, other_room
                             + self._timing_room(active.stamp is not None) + late, beside)
        rest = self.resting_place()
        if rest is not None:
            return ArmMotion(columns, rest)
        try:
            q, qd = self._measured.fresh(robot)
        except StateError:
            q, qd = self._measured.last(robot)[0], np.zeros(robot.chain.n)
        # One that moves otherwise may go on at its speed.
        room = np.where(np.abs(qd) > NOISE_SPEED, MOTION_HORIZON_S * np.abs(qd), 0.0)
        return None if q is None else ArmMotion(columns, q, room=room)

    def resting_place(self) -> np.ndarray | None:
        """Return where the arm will rest or rests, (n,), if that is the end of a motion."""
        robot = self.robot
        if robot is None or robot.active is None or self._kind() in (STREAM_KIND, JOG_KIND):
            return None
        end = robot.active.trajectory.end
        if self.active is None:
            q, _ = self._measured.last(robot)
            if q is None or np.abs(robot.chain.difference(q, end)).max() > MOVED:
                return None
        return end

    def _deviation(self) -> object:
        """
        Return what is not equal once the arm does what was not proved against the others.

        None: it is on a motion that was, or rests at its end.
        """
        robot, active = self.robot, self.active
        if robot is None:
            return None
        proved = robot.active is not None and robot.active.trajectory is self._proved
        if active is not None:
            off = self._off(active)
            return None if proved and not any(off) else (active, *off)
        q, _ = self._measured.last(robot)
        if q is None or proved and self.resting_place() is not None:
            return None
        return tuple(np.round(q / MOVED).tolist())

    # ---- of the others, for this arm ----------------------------------------

    @property
    def others(self) -> list[TeamSeat]:
        """Return the other arms."""
        return [other for other in self._others if other is not self]

    def ends(self) -> Mapping[str, float]:
        """Return where joints of other arms will rest, or do at the end of a motion."""
        return {name: value for other in self.others
                if (end := other.resting_place()) is not None
                for name, value in zip(other.robot.chain.joint_names, end.tolist())}

    def without_others(self, model: CollisionModel) -> CollisionModel:
        """Return a model without the other arms, for a motion that is proved against theirs."""
        joints = frozenset(name for other in self.others if other.robot is not None
                           for name in other.robot.chain.joint_names)
        known = self._without  # in any thread
        if known is None or known[1] != joints or not model.is_alike(known[0]):
            known = self._without = model, joints, model.without(joints)
        elif known[0] is not model:
            known = self._without = model, joints, known[2].with_others(model.others)
        return known[2]

    def contact(self, trajectory: Trajectory, began: float, stamped: bool = True,
                off: tuple[float, float] = (0.0, 0.0)) -> Contact | None:
        """
        Return where a motion, begun at a monotonic time (s), would meet another arm's.

        `off`: by how much more than one that was just sent it may be late (s), and how far the
        arm is beside it (rad or m).
        """
        model, now = self._models.between_arms(), monotonic()
        if model is None or not {*trajectory.joint_names} <= {*model.chain.joint_names}:
            return None
        # By the clock of this arm: whoever is late, only the difference matters.
        late, beside = off
        own = ArmMotion(_columns(model.chain, trajectory.joint_names), trajectory, began - now,
                        room=beside)
        room = self._timing_room(stamped) + late
        contact = contact_between(model, [own, *filter(None, (
            other.motion(model.chain, now, room) for other in self.others))])
        self.proof_time = max(PROOF_MEMORY * self.proof_time, monotonic() - now)
        return contact

    def contact_now(self, active: ActiveTrajectory) -> Contact | None:
        """Return what the motion under way meets, if an arm does what was not proved."""
        off = self._off(active)
        before, self._deviations = self._deviations, [
            off if seat is self else seat._deviation() for seat in self._others]
        if len(before) == len(self._deviations) and all(
                now in (None, (0.0, 0.0)) or now == then
                for now, then in zip(self._deviations, before)):
            return None
        return self.contact(active.trajectory, active.began, active.stamp is not None, off)

    def forget_proof(self) -> None:
        """Note that a motion is not carried out when it was proved to be."""
        self._proved, self._deviations = None, []

    def require_apart(self, trajectory: Trajectory, began: float, stamped: bool = True) -> None:
        """Check that a motion meets no other arm; raise as :meth:`Seat.require_apart`."""
        moving = [other for other in self.others
                  if other.active is not None and other.active.moves(monotonic())]
        for other in self.others:
            if other.robot is not None and other.active is None:
                other._require_known()
        for other in moving:
            other._require_not_carried(trajectory, self.name)
            self._require_not_carried(other.active.trajectory, other.name)
        contact = self.contact(trajectory, began, stamped)
        if contact is None:
            self._proved = trajectory
            self._deviations = [(0.0, 0.0) if seat is self else seat._deviation()
                                for seat in self._others]
            return
        names = ' and '.join(quote(other.name) for other in moving)
        sentence = f'{contact.words} in {contact.time:.2f} s'
        if moving:
            raise OtherArmError(f'{sentence}, as {names} moves', Reason.COLLISION)
        raise TrajectoryError(sentence, Reason.COLLISION)

    def _require_known(self) -> None:
        """Raise a StateError unless it is known where the arm is now."""
        try:
            self._measured.fresh(self.robot)
        except StateError as error:
            raise StateError(f'the arm {quote(self.name)} may be in the way: {error}',
                             error.reason) from None

    def require_still_base(self) -> None:
        """Raise a StateError, JOINTS_IN_USE, if another arm moves joints that carry this one."""
        for other in self.others if self.robot is not None else ():
            if other.active is not None and other.active.moves(monotonic()):
                self._require_not_carried(other.active.trajectory, other.name)

    def joints_in_use(self) -> frozenset[str]:
        """Return which joints of this arm carry another one that moves, or has a goal."""
        return frozenset(name for other in self.others if other.robot is not None and other.busy
                         for name in other._carriers() if name in self.robot.chain.joint_names)

    def _carriers(self) -> list[str]:
        """Return the joints that carry the arm."""
        robot = self.robot
        return [joint.name for joint, _ in path_between(robot.tree, self.world_link,
                                                        robot.chain.base_link)]

    def _require_not_carried(self, trajectory: Trajectory, by: str) -> None:
        """Raise a StateError if a motion of another arm moves joints that carry this one."""
        for joint in self._carriers():
            if joint in trajectory.joint_names and np.ptp(trajectory.with_start()[1][
                    0, :, trajectory.joint_names.index(joint)]) > SAME_POSITION:
                raise StateError(
                    f'the joint {quote(joint)}, which {quote(by)} moves, carries the arm '
                    f'{quote(self.name)}; only one of them can move', Reason.JOINTS_IN_USE)

    # ---- all arms in step ---------------------------------------------------

    @property
    def in_step(self) -> bool:
        """Return whether there is a goal of all arms, which move in step or are about to."""
        return self._in_step()

    def stop_in_step(self, sent_at: SendTime) -> str:
        """Stop a goal of all arms that was sent before that; return what was done; '' of none."""
        return self._stop_in_step(sent_at) if self._in_step() else ''

    # ---- who goes first -----------------------------------------------------

    def waits(self, is_over: Callable[[], bool]) -> None:
        """Note that a goal waits until another arm has passed, or `is_over`."""
        if self._wait is None or self._wait.is_over():
            self._wait = Wait(monotonic(), is_over)

    def begins(self) -> None:
        """Note that no goal waits any more."""
        self._wait = None

    def gives_way(self) -> bool:
        """Return whether another arm has waited for longer than this one, and is to begin."""
        if self._in_step():
            return True
        own = self._wait
        since = monotonic() if own is None or own.is_over() else own.since
        return any(wait is not None and not wait.is_over() and wait.since < since
                   for wait in (other._wait for other in self.others))


def _columns(space: JointSpace, names: Sequence[str]) -> np.ndarray:
    return np.array([space.joint_names.index(name) for name in names])


class TeamModels:
    """
    Collision models of a whole robot, with the objects of all its arms.

    Parameters
    ----------
    seats : sequence of TeamSeat
    model : callable
        Returns the model of the robot; None if collisions are not checked, or it is not known yet.

    """

    def __init__(self, seats: Sequence[TeamSeat],
                 model: Callable[[], CollisionModel | None]) -> None:
        self._seats, self._model = seats, model
        self._basis: tuple[object, ...] = ()
        self._whole: CollisionModel | None = None
        self._between: CollisionModel | None = None

    def whole(self) -> CollisionModel | None:
        """Return the model of the robot among the objects of all arms."""
        model = self._model()
        robots = [seat.robot for seat in self._seats if seat.robot is not None]
        if model is None or any(robot.settings.solver.collisions is None for robot in robots):
            return model
        # What makes the objects and the margin; where other joints are does not matter.
        basis = model, *((robot, robot.scene.version, robot.settings.surroundings,
                          id(robot.settings.tool)) for robot in robots)
        if basis != self._basis:
            self._basis, self._between = basis, None
            self._whole = model.with_objects_of(
                [robot.settings.solver.collisions for robot in robots])
        return self._whole

    def between_arms(self) -> CollisionModel | None:
        """Return the model of what arms may do to each other, with all that they hold."""
        whole = self.whole()
        robots = [seat.robot for seat in self._seats if seat.robot is not None]
        if whole is None or any(robot.settings.solver.collisions is None for robot in robots):
            return None
        if self._between is None:
            self._between = whole.between([robot.chain.joint_names for robot in robots])
        return self._between
