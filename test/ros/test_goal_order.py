# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Of two goals the newer stays, whatever the older one does; of many only the newest is solved."""

from collections import Counter
from itertools import pairwise
import math
from time import sleep
from types import SimpleNamespace

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PointStamped, PoseStamped
from harness import DOWN, FINAL, once_each, stamped
from nightly import samples
import pytest
from rclpy.qos import HistoryPolicy, QoSProfile

from ik_node.base.errors import GoalError, Reason
from ik_node.node.goals.queue import GoalQueue
from ik_node.node.intake.goal_starter import GoalStarter
from ik_node.node.intake.goal_subscriptions import GoalSubscriptions
from ik_node.ros.messages.status_messages import GoalState

BURST = samples(usual=2000, nightly=3000)


def nothing() -> None:
    """Do nothing."""


def waiting():
    """Have a goal wait for ever."""
    while True:
        yield


STARTER = GoalStarter(None, None, None, None, SimpleNamespace(begin=None))


def goals_of(probe, **given) -> GoalQueue:
    """Return the goals of an active node without a robot."""
    return GoalQueue(probe, SimpleNamespace(robot=None), SimpleNamespace(require=nothing),
                     SimpleNamespace(require_none=nothing, another_answers=lambda: False), **given)


def test_an_older_goal_does_not_displace_a_newer_one(probe):
    """One that is sent again takes no place from one that waits; if it has to wait, it ends."""
    goals = goals_of(probe)
    older, newer = goals.new(Time()), goals.new(Time())
    goals.under_way(older, 'sent')
    goals.attempt(newer, waiting)
    assert not goals.gives_way(newer)
    goals.under_way(older, 'sent again')
    assert goals.open() == [older, newer] and newer.state is None
    assert goals.gives_way(older)
    assert older.state is GoalState.SUPERSEDED and goals.open() == [newer]
    goals.under_way(newer, 'sent')
    assert goals.open() == [newer] and goals.current is newer


def test_a_goal_goes_on_where_it_has_waited(probe):
    """Before it is under way and after; a newer one meanwhile, and the end, leave it there."""
    goals, done = goals_of(probe), []

    def steps():
        done.append('waits')
        yield
        goals.under_way(task, 'on its way')
        done.append('moves')
        yield
        done.append('arrives')
        goals.end(task, GoalState.REACHED, Reason.REACHED, 'there')

    task = goals.new(Time())
    goals.attempt(task, steps)
    assert done == ['waits'] and goals.open() == [task] and goals.current is None
    probe.wait(lambda: task.final)
    assert done == ['waits', 'moves', 'arrives'] and task.state is GoalState.REACHED
    done.clear()
    task = goals.new(Time())
    goals.attempt(task, steps)
    newer = goals.new(Time())
    goals.attempt(newer, waiting)
    probe.spin_for(0.1)
    assert done == ['waits'] and task.state is GoalState.SUPERSEDED
    assert goals.open() == [newer] and newer.state is None


@pytest.mark.parametrize('accepted', [False, True])
def test_what_steps_raise_is_the_answer(probe, accepted):
    """Of a goal that is not under way yet as a refusal; and they are left."""
    goals, left = goals_of(probe), []

    def steps():
        try:
            yield
            if accepted:
                goals.under_way(task, 'on its way')
                yield
            raise GoalError('no', Reason.OUT_OF_REACH)
        finally:
            left.append(task.number)

    task = goals.new(Time())
    goals.attempt(task, steps)
    probe.wait(lambda: task.final)
    assert task.state is (GoalState.FAILED if accepted else GoalState.REJECTED)
    assert left == [task.number] and goals.status.outcomes == Counter(OUT_OF_REACH=1)


def test_the_newest_that_can_be_taken_is_taken(probe):
    """The newer ones are refused each for its reason, the older ones not even looked at."""
    goals = goals_of(probe)
    tried = []

    def step(task, fails):
        def run():
            tried.append(task.number)
            if fails:
                raise GoalError('no', Reason.OUT_OF_REACH)
            goals.under_way(task, 'on its way')

        return run

    tasks = [goals.new(Time()) for _ in range(5)]
    for task, fails in zip(tasks, (False, True, False, True, True)):
        goals.arrived(task, step(task, fails))
    goals.process()
    probe.wait(lambda: goals.current is not None)  # on a slow machine it takes several slices
    goals.finish(0.5)
    assert tried == [5, 4, 3] and goals.current is tasks[2]
    assert [task.state.value for task in tasks] == [
        'superseded', 'superseded', 'accepted', 'rejected', 'rejected']


def test_older_goals_are_kept_until_the_newer_one_that_waits_is_decided(probe):
    """Rejected, it leaves the arm to them."""
    goals = goals_of(probe)
    older, newer = goals.new(Time()), goals.new(Time())
    goals.arrived(older, lambda: goals.under_way(older, 'on its way'))
    goals.attempt(newer, waiting)
    goals.process()
    assert older.state is None
    goals.end(newer, GoalState.REJECTED, Reason.FRAME_UNKNOWN, 'no')
    goals.process()
    assert goals.current is older


@pytest.mark.fault('goals', 'a stop comes while goals wait to be looked at',
                   'they are answered STOPPED, and none is begun')
def test_a_stop_answers_queued_goals(probe):
    """In whatever topic it waits; nothing of it is begun afterwards."""
    goals = goals_of(probe)
    # The messages are never looked at, so nobody else is needed.
    intake = GoalSubscriptions(probe, None, STARTER, goals, None, None)
    senders = [probe.create_publisher(PoseStamped, '~/goal_pose', 1000),
               probe.create_publisher(PointStamped, '~/goal_position', 1000)]
    probe.wait(lambda: all(sender.get_subscription_count() for sender in senders))
    for sender in senders:
        for _ in range(100):
            sender.publish(sender.msg_type())
    while goals.count < 200:
        intake.stop(Reason.STOPPED, 'stopped')
    goals.finish(0.5)
    assert goals.status.states == Counter(stopped=200) and not goals.open()


@pytest.mark.fault('start, end and middleware', 'a reader of ~/answers does not read when the '
                   'node is to end', 'all goals are answered, and it is waited for half a second')
@pytest.mark.nightly
def test_a_reader_without_progress_does_not_delay_shutdown(probe):
    """Once for all of them, not for each 500."""
    goals = goals_of(probe)
    waited = []

    def flush(seconds):
        waited.append(seconds)
        sleep(seconds)

    for _ in range(3000):
        goals.arrived(goals.new(Time()), nothing)
    goals.status.flush, goals.status.keeps_up = flush, lambda: False
    goals.dismiss(GoalState.STOPPED, Reason.SHUTDOWN, 'the node is shut down')
    goals.finish(0.5)
    assert goals.status.states == Counter(stopped=3000) and 0.4 < sum(waited) < 0.6


@pytest.mark.nightly
def test_shutdown_waits_for_a_slow_reader(probe):
    """Longer than the half second in all: none of the answers is overwritten."""
    unread, flushes = [0], []

    def flush(seconds):
        flushes.append(seconds)
        sleep(seconds)
        if len(flushes) % 3 == 0:
            unread.append(0)
        return not unread[-1]

    def count(*_answer):
        unread[-1] += 1

    goals = goals_of(probe, listeners=[count])
    for _ in range(3000):
        goals.arrived(goals.new(Time()), nothing)
    goals.status.flush, goals.status.keeps_up = flush, lambda: unread[-1] < 400
    goals.dismiss(GoalState.STOPPED, Reason.SHUTDOWN, 'the node is shut down')
    goals.finish(0.5)
    assert goals.status.states == Counter(stopped=3000) and max(unread) == 400, unread
    assert sum(flushes) > 1.0


def test_timers_run_between_goals(probe):
    """While each takes long and more come: no two are looked at in one round of the executor."""
    log, senders = [], []

    def look():
        log.append('goal')
        if len(log) - log.count('tick') < 20:
            for sender in senders:
                sender.publish(sender.msg_type())
        sleep(0.015)  # a timer is due, and what was sent has come
        raise GoalError('no', Reason.OUT_OF_REACH)

    goals = goals_of(probe)
    GoalSubscriptions(probe, SimpleNamespace(require=look), STARTER, goals, None, None)
    senders += [probe.create_publisher(PoseStamped, '~/goal_pose', 1000),
                probe.create_publisher(PointStamped, '~/goal_position', 1000)]
    probe.wait(lambda: all(sender.get_subscription_count() for sender in senders))
    timer = probe.create_timer(0.001, lambda: log.append('tick'))
    senders[0].publish(PoseStamped())
    probe.wait(lambda: log.count('goal') >= 39)
    probe.destroy_timer(timer)
    assert all('goal' not in (a, b) or a != b for a, b in pairwise(log)), log


def counted(system) -> Counter:
    """Return how many goals ended in which state so far, as /diagnostics says from now on."""
    system.health.clear()
    system.wait(lambda: '/ik_node: health' in system.health)
    return Counter({pair.key: int(pair.value) for pair in system.health['/ik_node: health'].values
                    if pair.key in FINAL})


@pytest.mark.fault('time and load', 'thousands of goals at once',
                   'each is answered once, the last one is reached; /diagnostics counts them')
def test_a_burst_is_answered_once_each_and_ends_at_its_newest(shared_system):
    """Thousands at once: the last one is reached, not refused as too old; few are solved."""
    system, heard = shared_system, []
    # A busy machine takes longer for the burst than a goal may be old by default.
    assert system.set_parameters('/ik_node', {'goal.max_age': 60.0}).successful
    # The queue of the probe is shorter than the burst.
    answers = system.create_subscription(
        DiagnosticStatus, '/ik_node/answers',
        lambda message: heard.append({pair.key: pair.value for pair in message.values}),
        QoSProfile(history=HistoryPolicy.KEEP_ALL))
    burst = system.create_publisher(PoseStamped, '/ik_node/goal_pose', QoSProfile(depth=4000))
    system.wait(burst.get_subscription_count)
    system.final(system.send((0.4, 0.0, 0.45), DOWN))
    system.wait(lambda: heard)  # it is connected
    before = counted(system)
    stamps = []
    for k in range(BURST):
        goal = PoseStamped()
        p, o = goal.pose.position, goal.pose.orientation
        p.x, p.y, p.z = (math.nan if k % 3 == 0 else 0.4), 0.0001 * k - 0.15, 0.4
        o.x, o.y, o.z, o.w = map(float, DOWN)
        stamps.append(stamped(system, goal))
        burst.publish(goal)
    assert len({*stamps}) == BURST

    left, seen = {*stamps}, 0

    def all_answered() -> bool:
        nonlocal seen
        left.difference_update(each['stamp'] for each in heard[seen:] if each['state'] in FINAL)
        seen = len(heard)
        return not left

    system.wait(all_answered, 120.0, 'all answers')
    system.spin_for(0.3)
    once_each(heard, stamps)
    known = {*stamps}
    ends = Counter(each['state'] for each in heard if each['state'] in FINAL
                   and each['stamp'] in known)
    assert counted(system) - before == ends and ends['superseded'] > BURST / 3, ends
    assert next(each for each in reversed(heard) if each['stamp'] == stamps[-1])[
        'reason'] == 'REACHED'
    solved = sum('solve_time_ms' in each for each in heard)
    assert solved < 600, solved
    system.destroy_subscription(answers)
    system.destroy_publisher(burst)
