# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Streaming: follows poses, or jog commands, with short trajectories or commands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic, sleep
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
import numpy as np

from ik_node.base.errors import GoalError, IkNodeError, ParameterError, Reason
from ik_node.base.text import quote, shown
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.change.active_trajectory import ActiveTrajectory
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.jog import JogCommand
from ik_node.motion.following.options import FollowerOutput, Phase
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.motion.trajectory.validate import validate
from ik_node.node.execution.outputs import Commands
from ik_node.node.goals.goal import GoalTask, Steps
from ik_node.node.goals.preparation import Kernels
from ik_node.node.intake.context import NodeContext
from ik_node.node.robot.robot import Robot
from ik_node.node.robot.settings import Settings
from ik_node.node.state.frames import NotYet
from ik_node.node.state.send_order import SendTime
from ik_node.ros.messages.status_messages import (
    GoalState,
    JOG_KIND,
    stamp_text,
    STREAM_KIND,
    STREAM_PAUSE_S,
)
from ik_node.ros.middleware.clocks import MessageInfo, seconds_of, steady_clock, tell_origin
from ik_node.ros.middleware.qos import BEST_EFFORT_QOS

STREAM_OUTPUTS = 'trajectory', 'position', 'velocity'
MAX_TRACKING_ERROR = 0.1  # rad or m, from the command, lag allowed for
MAX_LOOK_AHEAD_S = 0.5
RETRY_DELAY_S = 1.0  # after a rejection, until a stream that continues is tried again
WARNING_PERIOD_S = 5.0
DELIVERY_MARGIN_S = 5e-3  # for a trajectory that is delivered later than expected
# Of which they consist.
MESSAGE_UNITS = {STREAM_KIND: ('pose', 'poses'), JOG_KIND: ('command', 'commands')}

Feed = Callable[[Follower, float], None]


@dataclass(frozen=True)
class StreamedMessage:
    """A message of which a stream or a jog consists."""

    kind: str  # STREAM_KIND or JOG_KIND
    stamp: Time
    # Checks the message; returns what hands it to a follower at a monotonic time (s).  Raises
    # IkNodeError or NotYet if it cannot be used.
    read: Callable[[], Feed]
    sent_at: SendTime
    received: float = field(default_factory=monotonic)  # monotonic time (s)


@dataclass
class Sender:
    """The sender of messages of a kind."""

    last: float = -np.inf  # monotonic time (s) of the last message
    # Monotonic time (s) of the last message that was sent before a stop or a goal that came before
    # it.
    late: float = -np.inf
    rejected: float = np.inf  # monotonic time (s) at which the last goal was rejected
    task: GoalTask | None = None  # the last goal
    message: StreamedMessage | None = None  # the latest


class Session:
    """One stream or jog, from its first pose or command to the last."""

    def __init__(self, task: GoalTask, robot: Robot, begin: MotionState, time: float,
                 lead: float, stamped: bool, before: ActiveTrajectory | None = None) -> None:
        self.task = task
        self.held = frozenset[str]()  # joints that carry another arm, which is under way
        self.lead = lead  # look-ahead (s)
        self.stamped = stamped  # whether its trajectories have stamps
        self.count = 0  # poses or commands that were taken
        self.last_stamp = task.stamp  # of the last pose or command
        self.last: FollowerOutput | None = None  # output of the last cycle with a target
        # Monotonic times (s): when the arm was last on its commanded motion, and when the session
        # leaves the previous motion.
        self.last_on_track = self.begin = time
        self.rest = np.inf              # monotonic time (s) from which on it is commanded to rest
        self.settings = robot.settings  # of the follower
        self.follower = self._made(robot, begin.q)
        self.follower.begin(begin, time, before)

    def _made(self, robot: Robot, q: np.ndarray) -> Follower:
        constraints = self.task.plan.constraints_from(forward_kinematics(robot.chain, q)) \
            if self.task.plan.is_constrained else ()
        return Follower(robot.chain, robot.settings.planning,
                        replace(robot.settings.following, look_ahead=self.lead,
                                joins=self.stamped,
                                locked=(*robot.settings.following.locked, *self.held)),
                        robot.settings.solver.collisions, constraints)

    def renew(self, robot: Robot, lead: float, stamped: bool) -> None:
        """Continue with the present settings."""
        self.lead, self.stamped = lead, stamped
        follower = self._made(robot, self.follower.commanded_q)
        follower.take_over(self.follower)
        self.settings, self.follower = robot.settings, follower

    def use_collisions(self, settings: Settings) -> None:
        """Continue with settings that differ in the collision model alone."""
        self.settings = settings
        self.follower.use_collisions(settings.solver.collisions)

    def join(self, other: Session) -> None:
        """Continue the motion of a session of another kind, without its target."""
        self.follower.take_over(other.follower)
        self.follower.halt()
        self.begin = other.begin

    def halt(self) -> None:
        """Forget the target."""
        self.follower.halt()

    @property
    def units(self) -> tuple[str, str]:
        """Return what it consists of, in the singular and the plural."""
        return MESSAGE_UNITS[self.task.kind]

    @property
    def values(self) -> dict[str, Any]:
        """Return values for the answer."""
        values = {'last_stamp': stamp_text(self.last_stamp), self.units[1]: self.count}
        if self.task.kind == STREAM_KIND:
            values |= {'poses_out_of_order': self.follower.out_of_order,
                       'poses_apart': self.follower.jumps}
        if self.last is not None and np.isfinite(self.last.smallest):
            if self.task.kind == STREAM_KIND:
                values |= {'position_error_m': f'{self.last.position_error:.3e}',
                           'orientation_error_rad': f'{self.last.orientation_error:.3e}'}
            values['smallest_singular_value'] = f'{self.last.smallest:.4f}'
        return values


class Stream:
    """
    Follows the latest pose of a stream, or the latest command of a jog.

    One session is one goal, with one final answer.  Its answers have the stamp of the first pose
    or command that was taken, and `last_stamp` is that of the last one: a sender finds them by
    ros.status_messages.answers_stream, whichever of its messages were overwritten before they
    were taken.  A jog takes the place of a stream, and a stream that of a jog.

    After the end of a session, also by ~/stop or another goal, the next one starts only after
    a pause of the stream, so that a sender that continues does not undo it.

    Raises
    ------
    ParameterError
        If stream.output is none of STREAM_OUTPUTS.

    """

    def __init__(self, context: NodeContext) -> None:
        options = context.options
        self._node = node = context.node
        self._robot_slot = context.robot_slot
        self._arm = context.arm
        self._conversion = context.conversion
        self._goals = context.goals
        self._preparation, self._sender = context.preparation, context.sender
        self._ramps, self._seat = context.ramps, context.seat
        self._stamps = context.stamps
        self._output = context.output
        self._active_flag = context.active_flag
        self._kind = options.stream_output
        if self._kind not in STREAM_OUTPUTS:
            raise ParameterError(f'the parameter stream.output is {shown(self._kind)}; it must be '
                                 f'{", ".join(STREAM_OUTPUTS[:-1])} or {STREAM_OUTPUTS[-1]}')
        if options.output == 'position' and self._kind != 'trajectory':
            raise ParameterError('with output position, streams become positions too; leave '
                                 f'stream.output at trajectory, not {self._kind}')
        self._commands = None if self._kind == 'trajectory' \
            else Commands(node, options.controller, context.active_flag)
        self._session: Session | None = None
        self._warned_at: dict[str, float] = {}  # monotonic, s
        self._timer = node.create_timer(
            1.0, self._cycle, clock=steady_clock())
        self._timer.cancel()
        self._senders: defaultdict[str, Sender] = defaultdict(Sender)
        tell_origin(node.create_subscription(PoseStamped, '~/goal_stream', self._on_pose,
                                             BEST_EFFORT_QOS))

    # ---- messages -----------------------------------------------------------

    def _on_pose(self, message: PoseStamped, info: MessageInfo) -> None:
        self.take(StreamedMessage(STREAM_KIND, message.header.stamp,
                                  partial(self._read, message, info),
                                  self._goals.precedence.of_message(info)))

    def _read(self, message: PoseStamped, info: MessageInfo) -> Feed:
        robot = self._robot_slot.require()
        self._stamps.checked(message.header.stamp, robot.settings.max_goal_age, info)
        T, stamp = self._conversion.pose(message.header, message.pose, robot), \
            seconds_of(message.header.stamp) or None
        return lambda follower, now: follower.feed(T, now, stamp)

    def take(self, message: StreamedMessage) -> None:
        """Follow a message: in the present session, or in a new one if it may begin."""
        now, robot = message.received, self._robot_slot.robot
        timeout = robot.settings.following.timeout if robot is not None else 1.0
        sender, pause = self._senders[message.kind], max(timeout, STREAM_PAUSE_S)
        if self._goals.precedence.why_late(message.sent_at):
            self._leave_out(message, sender, pause)
            return
        sender.message = message
        paused, sender.last = now - sender.last > pause, now
        # A goal may be rejected after it waited.
        if sender.task is not None and sender.task.state is GoalState.REJECTED:
            sender.task, sender.rejected = None, now
        session = self._session
        if session is not None and session.task.kind == message.kind:
            if not session.task.final:
                self._feed(session, message)
        elif paused or now > sender.rejected + RETRY_DELAY_S:
            sender.rejected = np.inf
            task = sender.task = self._goals.new(message.stamp, message.kind, message.sent_at)
            task.values['last_stamp'] = stamp_text(message.stamp)
            self._goals.attempt(task, lambda: self._run(task, sender))

    def _leave_out(self, message: StreamedMessage, sender: Sender, pause: float) -> None:
        """Answer what comes late as a goal, unless it belongs to what was answered already."""
        if message.received - max(sender.last, sender.late) > pause:
            task = self._goals.new(message.stamp, message.kind, message.sent_at)
            task.values['last_stamp'] = stamp_text(message.stamp)
            self._goals.attempt(task, lambda: None)
        sender.late = message.received

    def release(self, message: StreamedMessage) -> None:
        """Bring a jog to rest at once; its sender has paused."""
        if self._goals.precedence.why_late(message.sent_at):
            return
        self._senders[JOG_KIND].last = -np.inf
        session = self._session
        if session is not None and session.task.kind == JOG_KIND:
            session.follower.jog(JogCommand(), monotonic())

    def _feed(self, session: Session, message: StreamedMessage) -> None:
        try:
            message.read()(session.follower, message.received)
            session.count += 1
            session.last_stamp = message.stamp
        except (IkNodeError, NotYet) as error:
            self._node.get_logger().warning(
                f'a {session.units[0]} of the {message.kind} is left out: {error}',
                throttle_duration_sec=5.0)

    # ---- a session ----------------------------------------------------------

    def _run(self, task: GoalTask, sender: Sender) -> Steps:
        """Begin a session as soon as it can, and judge it until its end."""
        while not self._begin(task, sender):
            yield
        while True:
            yield
            self._judge()

    def _begin(self, task: GoalTask, sender: Sender) -> bool:
        """Begin a session; return False if it has to wait."""
        robot, now, message = self._robot_slot.require(), monotonic(), sender.message
        self._preparation.require(Kernels.STREAMS)
        self._keep(task, robot)
        message.read()  # refused before anything moves
        if self._seat.in_step:
            return False
        self._seat.require_still_base()
        q, qd = self._arm.measured(robot)
        if not self._ready(now):
            return False
        other = self._session
        if other is not None and (not other.task.final or self._commands is not None):
            session = Session(task, robot, MotionState.at_rest(q), now, self._lead(robot),
                              self._stamped(robot))
            session.join(other)
        elif self._commands is None and self._ramps.must_rest_first(task, robot, qd):
            return False
        else:
            session = self._session_from(task, robot, q, qd, now)
        if self._commands is not None:
            task.execution.halt = session.halt
        task.execution.ends_alone = self._commands is None  # as each of its trajectories does
        if robot.settings.stream_stamped and self._commands is None \
                and not self._arm.clocks_agree():
            self._node.get_logger().warning(
                'the stamps of the joint states do not show that the controller has our clock; '
                f'this {task.kind} is sent without stamps, which is rougher',
                throttle_duration_sec=60.0)
        self._feed(session, message)
        self._set_rate(session)
        self._timer.reset()
        self._session = session
        self._goals.under_way(task, 'follows the stream' if task.kind == STREAM_KIND else 'jogs')
        return True

    def _keep(self, task: GoalTask, robot: Robot) -> None:
        """Note what the tip is to keep; require the code for it."""
        self._conversion.keep(task.plan, robot)
        if task.plan.is_constrained:
            self._preparation.require(Kernels.CONSTRAINTS)

    def _keep_anew(self, session: Session, robot: Robot) -> None:
        """Note what a session keeps from now on; it goes on as before where that is not known."""
        if session.settings.keep == robot.settings.keep:
            return
        before = session.task.plan.framed, session.task.plan.constraints
        try:
            self._keep(session.task, robot)
        except (IkNodeError, NotYet) as error:
            session.task.plan.framed, session.task.plan.constraints = before
            self._node.get_logger().warning(
                f'the {session.task.kind} keeps what it kept before, not motion.keep as it is '
                f'now: {error}')

    def _session_from(self, task: GoalTask, robot: Robot, q: np.ndarray, qd: np.ndarray,
                      now: float) -> Session:
        """Return a session that leaves the present motion, or starts at the measured state."""
        self._sender.detect_missed_join(robot, q)
        start_state = self._sender.start_state(robot, q, qd, self._arm.instant())
        lead, stamped = self._lead(robot), self._stamped(robot)
        if not len(start_state.times):
            # The controller may hold the arm slightly off; the look-ahead covers that.
            begin = now + lead if self._commands is None else now
            return Session(task, robot, start_state.splice, begin, lead, stamped)
        begin = now - start_state.backdating + float(start_state.times[-1])
        return Session(task, robot, start_state.splice, begin, lead, stamped, robot.active)

    def _lead(self, robot: Robot) -> float:
        """Return the look-ahead (s), long enough for trajectories to arrive in time."""
        lead = robot.settings.following.look_ahead
        if self._commands is not None:
            return lead
        needed = 1.0 / robot.settings.stream_rate + self._arm.cycle + self._arm.delivery()
        return min(max(lead, needed + DELIVERY_MARGIN_S), MAX_LOOK_AHEAD_S)

    def _set_rate(self, session: Session) -> None:
        self._timer.timer_period_ns = int(1e9 / session.settings.stream_rate)

    def _ready(self, now: float) -> bool:
        """Return whether a controller is ready; raise if none listens, or none can follow."""
        if self._commands is not None:
            self._commands.require_listener()
            return True
        if not self._output.steady:
            raise GoalError('a stream is not sent as goals of an action; set output to topic, or '
                            'stream.output to position or velocity', Reason.PARAMETER_INVALID)
        return self._output.ready(now)

    def _cycle(self) -> None:
        session = self._session
        if not session.task.final:
            with self._goals.answered(session.task):
                self._active_flag.require()
                self._command()
        elif self._commands is None:
            self._close()  # the goal that superseded it moves the arm
        else:
            session.follower.halt()
            try:
                self._command()
            except IkNodeError as error:
                self._node.get_logger().error(f'the ramp to rest is given up: {error}')
                self._close()

    def _command(self) -> None:
        """Command the state at the look-ahead."""
        session, robot, now = self._session, self._robot_slot.require(), monotonic()
        held = self._seat.joints_in_use()
        if session.task.final or session.settings is robot.settings and held == session.held:
            pass
        elif held == session.held and robot.settings.differ_in_collisions_alone(session.settings):
            session.use_collisions(robot.settings)
        else:
            session.held = held
            self._keep_anew(session, robot)
            session.renew(robot, self._lead(robot), self._stamped(robot))
            self._set_rate(session)
        stamp = None
        if self._commands is None and not session.stamped:
            now = self._arm.next_update()  # when the controller starts a trajectory sent now
        if now + session.lead <= session.begin:
            return  # still on the previous motion
        found = session.follower.step(now)
        begin = now - self._arm.past if session.stamped else now
        trajectory = session.follower.trajectory(begin)
        contact = self._seat.contact(
            trajectory, begin if self._commands is None else begin - session.lead, session.stamped)
        if contact is not None:  # the other arms are proved against what was sent before
            found = session.follower.take_back(contact)
            trajectory = session.follower.trajectory(begin)
        if not session.task.final:
            validate(from_handover(trajectory), robot.settings.limits)
        if self._commands is None:
            stamp = self._arm.stamp_of(begin) if session.stamped else None
            self._output.send(trajectory, stamp)
        else:
            wanted = found.state.q if self._kind == 'position' else found.state.qd
            self._commands.send(wanted)
            begin -= session.lead  # commands are executed immediately
            stamp = self._arm.stamp_of(begin)
        robot.active = ActiveTrajectory(trajectory, begin, robot.settings.limits, stamp)
        if found.contact is not None:
            first, second = map(quote, found.contact.names)
            self._warn('contact', f'the {session.task.kind} leads into a collision: the arm '
                       f'slides along it or stops before it, so that {first} and {second} come no '
                       'nearer')
        if found.leaves:
            self._warn('constraint', f'the {session.task.kind} leads out of its path constraint '
                       '(motion.keep): the arm stays within')
        if found.phase is Phase.FOLLOWING:
            session.last = found
        if found.phase is Phase.FOLLOWING or not found.state.rests:
            session.rest = np.inf
        else:
            session.rest = min(session.rest, begin + trajectory.duration)
            self._come_to_rest(session, robot, trajectory.end)

    def _warn(self, what: str, text: str) -> None:
        """Say now and then what holds in many cycles; a throttle of rclpy costs 0.6 ms."""
        now = monotonic()
        if now > self._warned_at.get(what, -np.inf) + WARNING_PERIOD_S:
            self._warned_at[what] = now
            self._node.get_logger().warning(text)

    def _come_to_rest(self, session: Session, robot: Robot, end: np.ndarray) -> None:
        """End a session when the arm rests at `end` (n,), or after watch.settle_timeout."""
        if session.task.final:
            self._close()
            return
        rested = monotonic() - session.rest
        q, age = self._arm.last(robot)
        if age < rested and (np.abs(robot.chain.difference(q, end))
                             <= robot.settings.monitor.joint_tolerance).all():
            seen = 'is'
        elif rested > robot.settings.monitor.settle_timeout:
            seen = 'was not seen'
        else:
            return
        self._close()
        self._senders[session.task.kind].last = -np.inf  # counts as the pause
        one, many = session.units
        self._end(session, GoalState.STOPPED, Reason.STREAM_ENDED, f'no {one} came for '
                  f'{session.settings.following.timeout:g} s; the arm {seen} at rest after '
                  f'{session.count} {many}')

    def _stamped(self, robot: Robot) -> bool:
        """Return whether trajectories are stamped; steps of simulated time are too long."""
        return (self._commands is None and robot.settings.stream_stamped
                and self._arm.clocks_agree() and not self._node.get_clock().ros_time_is_active)

    def _judge(self) -> None:
        """End a session if joint states stop, or the arm does not follow."""
        session, robot, now = self._session, self._robot_slot.require(), monotonic()
        q, age = self._arm.last(robot)
        if self._arm.own_delay(robot):
            return  # joint states are still to be taken
        if q is None or age > robot.settings.monitor.state_timeout:
            self._give_up(session, Reason.STATE_LOST, f'the joint states stopped {age:.1f} s ago')
            return
        active = robot.active
        if active is None or active.followed(robot.chain, q, now, MAX_TRACKING_ERROR):
            session.last_on_track = now
        elif now - session.last_on_track > robot.settings.monitor.start_timeout:
            jump = self._arm.jumped_since(session.last_on_track)
            if jump:
                self._give_up(session, Reason.TIME_JUMPED,
                              f'simulated time jumped forward by {jump:.1f} s')
                return
            self._give_up(session, Reason.OFF_TRACK, 'the arm does not follow its commands; is '
                          'the controller active, and does its log say why it refused?')

    def _give_up(self, session: Session, reason: Reason, sentence: str) -> None:
        session.follower.halt()
        if self._commands is None:  # else a ramp of commands follows
            self._robot_slot.require().abandon()
        self._end(session, GoalState.FAILED, reason, f'{sentence}; it is brought to rest')

    def _end(self, session: Session, state: GoalState, reason: Reason, sentence: str) -> None:
        session.task.values |= session.values
        self._goals.end(session.task, state, reason, sentence)

    def close(self) -> None:
        """Finish a ramp to rest that is made of commands."""
        while self._session is not None and self._commands is not None:
            self._cycle()
            sleep(1e-9 * self._timer.timer_period_ns)

    def _close(self) -> None:
        self._timer.cancel()
        self._session = None


def from_handover(trajectory: Trajectory) -> Trajectory:
    """Return a trajectory without the points of the previous ones, already validated."""
    k = trajectory.lead_points - 1
    start = MotionState(trajectory.q[k], trajectory.qd[k], trajectory.qdd[k])
    k += 1
    return replace(trajectory, start=start, times=trajectory.times[k:] - trajectory.times[k - 1],
                   q=trajectory.q[k:], qd=trajectory.qd[k:], qdd=trajectory.qdd[k:], lead_points=0)
