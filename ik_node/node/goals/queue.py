# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The goal queue: from arrival to exactly one final answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from time import monotonic
import traceback
from typing import Any, NamedTuple

from builtin_interfaces.msg import Time
from rclpy.node import Node

from ik_node.base.errors import IkNodeError, Reason
from ik_node.node.goals.answers import Listener, StatusReporter
from ik_node.node.goals.goal import GoalTask, Steps
from ik_node.node.robot.robot import Slot
from ik_node.node.state.duplicate_names import DuplicateNames
from ik_node.node.state.frames import NotYet
from ik_node.node.state.send_order import AFTER_GOAL, AFTER_STOP, Precedence, SendTime
from ik_node.node.state.team import PAUSED_KIND
from ik_node.ros.messages.status_messages import GoalState
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.solver.remedies.remedy import remedy_values, with_best

Slice = Callable[[], None]
Begin = Callable[[], Steps | None]


class WorkQueue:
    """
    One slice of work for each round of the executor.

    An executor runs all ready callbacks before it looks for new ones, timers among them: slices
    in three callbacks of one round would delay a timer by all three.
    """

    def __init__(self, node: Node) -> None:
        self._guard = node.create_guard_condition(self._next_round)
        self._waiting: dict[Slice, None] = {}  # in the order in which they came
        self._free = True

    def now(self, work: Slice) -> None:
        """Run a slice now, or in a later round if this round has had one."""
        if not self._free:
            self.later(work)
            return
        self._free = False
        self._guard.trigger()
        work()

    def later(self, work: Slice) -> None:
        """Run a slice, once, in a later round."""
        self._waiting[work] = None
        self._guard.trigger()

    def _next_round(self) -> None:
        self._free = True
        if self._waiting:
            work = next(iter(self._waiting))
            del self._waiting[work]
            self.now(work)


class ActiveFlag:
    """Set while the node is active; nothing is sent to the arm while it is not."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.is_set = False

    def require(self) -> None:
        """
        Raise an error unless it is set.

        Raises
        ------
        IkNodeError
            INACTIVE, with the command that activates the node.

        """
        if not self.is_set:
            raise IkNodeError('the node is inactive: ros2 lifecycle set '
                              f'{self._node.get_fully_qualified_name()} activate', Reason.INACTIVE)


WATCH_PERIOD_S = 0.02  # while a goal is active
WORK_SLICE_S = 0.01  # for which goals are worked off before other callbacks run
START_GRACE_S = 2.0  # after the model arrived, in which goals wait for missing parts
STARTUP_REASONS = Reason.STATE_MISSING, Reason.STATE_INCOMPLETE, Reason.STATE_OTHER_JOINTS, \
    Reason.NO_LISTENER
UNREACHABLE_REASONS = (
    Reason.OUT_OF_REACH, Reason.INNER_VOID, Reason.ORIENTATION_OUT_OF_REACH, Reason.BEYOND_LIMIT,
    Reason.OTHER_BRANCH, Reason.NO_SOLUTION, Reason.NEAREST, Reason.COLLISION, Reason.TOO_HEAVY,
    Reason.DEADLINE, Reason.PATH_INVALID, Reason.PATH_INTERRUPTED, Reason.TRAJECTORY_INVALID)
# To a goal that was sent before what came before it.
LATE_ANSWERS = {
    AFTER_STOP: (GoalState.STOPPED, Reason.STOPPED,
                 'it was sent before a stop, and came after it'),
    AFTER_GOAL: (GoalState.SUPERSEDED, Reason.SUPERSEDED,
                 'it was sent before a newer goal, and came after it')}
DONE, NO_STEPS = object(), iter(())
POSE_NUMBER = 'pose_number'  # which of several poses, in the answer
MAX_TOLD_REFUSALS = 5  # of the ways to do a goal


class RefusedGoal(NamedTuple):
    """A refused goal whose remedies another thread looks for."""

    task: GoalTask
    error: IkNodeError
    remedies: Future


class GoalQueue:
    """
    Holds at most one active goal and one that waits.

    When several goals arrive at once the newest is tried first.  If it is accepted the others
    are superseded without being solved; if it is rejected the next newest is tried.  Whatever is
    raised by what is done for a goal becomes its answer.  While there are goals, a timer goes on
    with the waiting one and with the active one.

    Parameters
    ----------
    waits_for_scene : callable
        Returns whether a goal has to wait for a scene that came before it.
    not_checked, listeners
        As for :class:`ik_node.node.goals.answers.StatusReporter`.

    """

    outdated = 'before it could begin'  # when a newer goal came, in the answer to one that waited

    def __init__(self, node: Node, robot_slot: Slot, active_flag: ActiveFlag,
                 duplicates: DuplicateNames | None = None,
                 waits_for_scene: Callable[[GoalTask], bool] = lambda _task: False,
                 not_checked: Callable[[], str] = lambda: '',
                 listeners: Sequence[Listener] = ()) -> None:
        self._node = node
        self._robot_slot = robot_slot
        self._active_flag = active_flag
        self._duplicates = duplicates
        self._waits_for_scene = waits_for_scene
        self._current: GoalTask | None = None
        self._waiting: GoalTask | None = None
        self._arrived: list[GoalTask] = []
        self._refused: list[RefusedGoal] = []
        self._answers: deque[Callable[[], None]] = deque()
        # Of stops and of goals that began, over what was sent before them.
        self.precedence = Precedence()
        # Runs long work in slices, here and in the subscriptions.
        self.work_queue = WorkQueue(node)
        self.count = 0
        self.status = StatusReporter(
            node, duplicates.another_answers if duplicates is not None else lambda: False,
            not_checked, listeners)
        self._timer = node.create_timer(WATCH_PERIOD_S, self.go_on,
                                        clock=steady_clock())
        self._timer.cancel()

    # ---- the life of a goal -------------------------------------------------

    def new(self, stamp: Time, kind: str = '', sent_at: SendTime | None = None,
            **given: Any) -> GoalTask:
        """Return the task of a goal that has arrived; `kind` as in its answers."""
        self.count += 1
        return GoalTask(self.count, stamp, kind, sent_at, **given)

    def arrived(self, task: GoalTask, begin: Begin) -> None:
        """Keep what begins a goal for :meth:`process`."""
        task.begin = begin
        self._arrived.append(task)

    def process(self) -> None:
        """
        Try arrived goals, the newest first, and answer the superseded ones.

        One slice of work; the rest is done in the next slice.
        """
        end = monotonic() + WORK_SLICE_S
        while self._turn():
            if monotonic() > end:
                self.work_queue.later(self.process)
                return
        if (self._arrived or self._answers) and self._timer.is_canceled():
            self._timer.reset()

    def finish(self, seconds: float) -> None:
        """Publish the remaining answers; wait at most `seconds` for a reader without progress."""
        left = seconds
        while self._answers:
            while left > 0.0 and not self.status.keeps_up():
                began = monotonic()
                come = self.status.flush(min(0.1, left))
                left = seconds if come else left - (monotonic() - began)
            self._answers.popleft()()

    def _turn(self) -> bool:
        """Try one goal or publish one answer; return whether there was any."""
        waiting = 0 if self._waiting is None else self._waiting.number
        newest = self._arrived[-1].number if self._arrived else 0
        if newest > waiting and (len(self._arrived) == 1 or self.status.keeps_up()):
            task = self._arrived.pop()
            self.attempt(task, task.begin)
        elif self._answers and self.status.keeps_up():
            self._answers.popleft()()
        else:
            return False
        return True

    def attempt(self, task: GoalTask, begin: Begin) -> None:
        """
        Do for a goal what `begin` does.

        If that returns steps, the goal goes on with the next of them whenever they have yielded,
        until it ends.  A goal that has to wait for a transform, for parts of a robot that has
        just arrived, or for joint states that a late node has to take, is begun again.
        """
        task.begin, task.steps, task.patience = begin, None, None
        self._go_on(task)

    def _go_on(self, task: GoalTask) -> None:
        """Begin a goal, or go on with its next step."""
        if task.state is None and self._answer_late(task):
            return
        with self.answered(task):
            if task.state is None and self._duplicates is not None:
                self._duplicates.require_none()
            self._active_flag.require()
            if task.steps is None:
                if task.state is None and self._waits_for_scene(task):
                    self._hold(task)
                    return
                task.steps = task.begin() or NO_STEPS
            if next(task.steps, DONE) is not DONE and not task.final \
                    and task is not self._current:
                self._hold(task)

    @contextmanager
    def answered(self, task: GoalTask) -> Iterator[None]:
        """Make what is raised the answer of a goal, unless it may still begin later."""
        try:
            yield
        except NotYet as error:
            if task.patience is None:
                task.patience = monotonic() + self._robot_slot.require().settings.tf_timeout
            if task.state is None and monotonic() < task.patience:
                self._begin_again(task)
            else:
                self._fail(task, Reason.FRAME_UNKNOWN, str(error))
        except IkNodeError as error:
            robot = self._robot_slot.robot
            grace_end = robot.since + START_GRACE_S if robot else 0.0
            if task.state is None and (error.reason is Reason.NODE_LATE  # the rest is being taken
                                       or error.reason in STARTUP_REASONS
                                       and monotonic() < grace_end):
                self._begin_again(task)
            else:
                self._fail(task, error.reason, str(error))
        except Exception as error:  # noqa: BLE001 - a goal never goes without an answer
            self._node.get_logger().error(traceback.format_exc())
            self._fail(task, Reason.INTERNAL, f'internal error: {type(error).__name__}: {error}; '
                       'please report it with the log')

    def _begin_again(self, task: GoalTask) -> None:
        task.steps = None
        self._hold(task)

    def _answer_late(self, task: GoalTask) -> bool:
        """Answer a goal that was sent before a stop, or before a goal that has its place."""
        why, waiting = self.precedence.why_late(task.sent_at), self._waiting
        if not why and waiting is not None and waiting.number < task.number \
                and self._sent_before(task, waiting):
            why = AFTER_GOAL
        if why:
            self.end(task, *LATE_ANSWERS[why])
        return bool(why)

    def _sent_before(self, one: GoalTask, other: GoalTask) -> bool:
        """Return whether a goal is known to have been sent before another."""
        return one.sent_at is not None and other.sent_at is not None \
            and self.precedence.order.before(one.sent_at, other.sent_at)

    def _hold(self, task: GoalTask) -> None:
        """Go on with a goal at the next tick; of two waiting goals the older is superseded."""
        if self.gives_way(task):
            return
        if self._waiting is not None and self._waiting is not task:
            self._end_before(self._waiting, task)
        self._waiting = task
        self._timer.reset()

    def gives_way(self, task: GoalTask) -> bool:
        """End a goal that would have to wait while a newer one does; return whether it did."""
        newer = self._waiting
        if newer is None or newer.number <= task.number:
            return False
        self._end_before(task, newer)
        return True

    def _end_before(self, older: GoalTask, newer: GoalTask) -> None:
        older.superseded_by = newer.kind
        self.end(older, GoalState.SUPERSEDED, Reason.SUPERSEDED,
                 f'goal {newer.number} came {self.outdated}')

    def under_way(self, task: GoalTask, sentence: str) -> None:
        """Make a goal the active one, superseding older ones."""
        self.supersede(task)
        self._current = task
        self._timer.reset()
        if task.state is None:
            self.status.report(task, GoalState.ACCEPTED, Reason.ACCEPTED, sentence)

    def end(self, task: GoalTask, state: GoalState, reason: Reason, sentence: str) -> None:
        """Give the final answer, and forget the goal."""
        if self._current is task:
            self._current = None
        if self._waiting is task:
            self._waiting = None
        task.steps = None  # with all that they hold
        self._refused = [held for held in self._refused if held.task is not task]
        self.status.report(task, state, reason, sentence)

    def _fail(self, task: GoalTask, reason: Reason, sentence: str) -> None:
        if task.final:
            self._node.get_logger().error(f'after the answer to goal {task.number}: {sentence}')
            return
        if task.state is None and reason in UNREACHABLE_REASONS:
            task.refusals.append((reason, sentence))
            if task.alternatives:
                task.begin, task.patience = task.alternatives.pop(0), None
                self._begin_again(task)
                return
            if len(task.refusals) > 1:
                reason, sentence = task.refusals[0][0], _none_of(task.refusals)
                task.values.pop(POSE_NUMBER, None)  # of the last that was tried
        self.end(task, GoalState.REJECTED if task.state is None else GoalState.FAILED, reason,
                 sentence)

    def refuse(self, task: GoalTask, error: IkNodeError, remedies: Future) -> None:
        """Refuse a goal as soon as the remedies are known that another thread looks for."""
        self._refused.append(RefusedGoal(task, error, remedies))
        self._timer.reset()

    def _answer_refused(self, which: Callable[[GoalTask], bool] = lambda _task: False) -> None:
        """Answer goals whose remedies are known, and those of which `which` is true."""
        for task, error, remedies in [*self._refused]:
            if remedies.done() or which(task):
                failure = remedies.exception() if remedies.done() else None
                if failure is not None:
                    self._node.get_logger().error(
                        f'goal {task.number}: the search for remedies failed: {failure!r}')
                found = remedies.result() if remedies.done() and failure is None else ()
                task.values |= remedy_values(found)
                self.end(task, GoalState.REJECTED, error.reason, with_best(str(error), found))

    # ---- all goals ----------------------------------------------------------

    @property
    def others_wait(self) -> bool:
        """Return whether there are goals that are not active, besides one that is tried."""
        return bool(self._waiting or self._arrived or self._refused)

    def open(self) -> list[GoalTask]:
        """Return the goals without a final answer: the active and the waiting one."""
        return [task for task in (self._current, self._waiting) if task is not None]

    def dismiss(self, state: GoalState, reason: Reason, sentence: str,
                which: Callable[[GoalTask], bool] = lambda _task: True) -> None:
        """Give a final answer to all goals, or to those of which `which` is true."""
        self._answer_refused(which)
        for task in self.open():
            if which(task):
                self.end(task, state, reason, sentence)
        # Possibly thousands: answered in slices.
        gone = [task for task in self._arrived if which(task)]
        if gone:
            self._answers.extend(partial(self.end, task, state, reason, sentence)
                                 for task in gone)
            self._arrived = [task for task in self._arrived if not which(task)]
        if self._arrived or self._answers:  # also goals that came with a stop, and are newer
            self.work_queue.later(self.process)

    def stop(self, to_rest: Callable[[], str], reason: Reason, sentence: str,
             stops: Callable[[GoalTask], bool], of_others: str = '') -> str:
        """
        Bring the arm to rest, and answer the goals of which `stops` is true; say what was done.

        If that raises an IkNodeError the active goal stays open; those that wait are answered,
        with `of_others` at the end of the sentence.
        """
        current = self._current
        try:
            done = to_rest() if current is None or stops(current) \
                else 'the goal that was sent after it goes on'
        except IkNodeError:  # what waits must not begin all the same
            self.dismiss(GoalState.STOPPED, reason, sentence + of_others,
                         lambda task: task is not current and stops(task))
            raise
        self.dismiss(GoalState.STOPPED, reason, f'{sentence}; {done}', stops)
        return done

    def kind_under_way(self) -> str | None:
        """Return of what kind the active goal is, PAUSED_KIND of a paused one; None without."""
        if self._current is None:
            return None
        return self._current.kind if self._current.execution.paused is None else PAUSED_KIND

    @property
    def current(self) -> GoalTask | None:
        """Return the active goal."""
        return self._current

    def supersede(self, task: GoalTask) -> None:
        """Answer older open goals as superseded by `task`."""
        self.precedence.began(task.sent_at)
        for older in self.open():
            if older.number < task.number:
                older.superseded_by = task.kind
        self.dismiss(GoalState.SUPERSEDED, Reason.SUPERSEDED,
                     f'goal {task.number} took its place', lambda each: each.number < task.number)
        if self._waiting is task:
            self._waiting = None

    def go_on(self) -> None:
        """Go on with the waiting goal and with the active one."""
        begun = self._current
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self._go_on(waiting)
        if begun is not None and begun is self._current:
            self._go_on(begun)
        self._answer_refused()
        if self._arrived or self._answers:
            self.work_queue.now(self.process)
        if not (self._current or self._waiting or self._refused or self._arrived
                or self._answers):
            self._timer.cancel()


def _none_of(refusals: list[tuple[Reason, str]]) -> str:
    """Return why none of several poses can be reached, the first of them in words."""
    told = [f'{number}: {sentence}' for number, (_, sentence) in enumerate(refusals, 1)]
    more = len(told) - MAX_TOLD_REFUSALS
    return (f'none of the {len(told)} poses can be reached: ' + '; '.join(told[:MAX_TOLD_REFUSALS])
            + (f'; and {more} more' if more > 0 else ''))
