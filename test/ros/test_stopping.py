# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Stops and halts end what was sent before them, and nothing else."""

import os
from signal import SIGCONT, SIGSTOP
from threading import Event, Thread
from time import monotonic, sleep, time_ns
from types import SimpleNamespace
import uuid

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from harness import FINAL, latest, NOT_BUILT, READY, seconds
import numpy as np
import pytest
import rclpy
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from std_msgs.msg import Empty, String
from std_srvs.srv import Trigger
from test_goal_order import goals_of, waiting
from unique_identifier_msgs.msg import UUID

from ik_node.node.state.send_order import Precedence
from ik_node.ros import repeated_stop
from ik_node.ros.messages.status_messages import GoalState
from ik_node.ros.middleware.clocks import (
    goal_origin,
    host_of,
    OneCopy,
    request_origin,
    tell_origin,
    timed_goal_id,
)
from ik_node.ros.middleware.executor import make_executor
from ik_node.ros.repeated_stop import HALT_PERIOD_S, NO_ANSWER_S, RepeatedStop

NODE_LIMITS = {}  # a ramp takes a while
FAR = [1.5, *READY[1:]]


@pytest.fixture
def halt(shared_system):
    """Return what halts the arm, and the probe."""
    probe = shared_system
    halts = probe.publisher(Empty, 'halt')
    assert probe.final(probe.send_joints(READY))['state'] == 'reached'
    probe.trajectories.clear()
    probe.states.clear()
    probe.said = len(probe.node.output)
    return lambda: halts.publish(Empty()), probe


def fast(probe):
    """Wait until the arm is fast."""
    probe.wait(lambda: probe.states and probe.states[-1][1].velocity[0] > 0.5)


def needed_one_ramp(probe):
    """
    Return whether the arm was sent no ramp that it did not need.

    A ramp may be repeated as it is, and be replaced once if the controller got it too late.
    """
    ramps = {str((each.header.stamp, each.points)) for each in probe.trajectories[1:]}
    late = probe.node.output[probe.said:].count('it is still on it')
    return late <= 1 and len(ramps) == 1 + late


def test_repeated_halts_are_one_stop(halt):
    """At 50 Hz and more for all of the ramp: one ramp, as long as announced, and one answer."""
    halt, probe = halt
    stamp = probe.send_joints(FAR)
    fast(probe)
    began = monotonic()
    while monotonic() < began + 2.0:
        halt()
        probe.spin_for(0.01)
    answer = probe.final(stamp)
    probe.wait(lambda: not any(probe.states[-1][1].velocity), what='rest')
    assert answer['reason'] == 'STOPPED' and needed_one_ramp(probe)
    ramp = probe.trajectories[-1].points[-1]
    assert np.abs(latest(probe) - ramp.positions).max() < 1e-6
    moving = [at for at, state in probe.states if any(state.velocity)]
    assert moving[-1] - began < seconds(ramp.time_from_start) + 1.0  # of a busy machine
    assert [each['state'] in FINAL for each in probe.answers(stamp)].count(True) == 1


def test_a_stop_leaves_a_ramp_alone(halt):
    """It is answered with what is left of it."""
    halt, probe = halt
    stamp = probe.send_joints(FAR)
    fast(probe)
    halt()
    assert probe.final(stamp)['reason'] == 'STOPPED'
    response = probe.call(probe.stop)
    assert response.success and 'comes to rest already' in response.message, response
    probe.wait(lambda: not any(probe.states[-1][1].velocity))
    assert needed_one_ramp(probe)


def test_a_goal_after_the_last_halt_is_reached(halt):
    """Also if it is sent while the arm still comes to rest."""
    halt, probe = halt
    stamp = probe.send_joints(FAR)
    fast(probe)
    for _ in range(3):
        halt()
    assert probe.final(stamp)['reason'] == 'STOPPED'
    assert probe.final(probe.send_joints(READY))['state'] == 'reached'


# ---- the goal queue ---------------------------------------------------------

def sent_at(milliseconds, late=0):
    """Return when something was sent by a host, and arrived so much later."""
    return Precedence().of_message({
        'received_timestamp': (100 + milliseconds + late) * 10**6,
        'source_timestamp': (5 + milliseconds) * 10**6, 'host': b'host'})


def late_goal(probe, before):
    """Try a goal that was sent at 10 ms and comes at 3 s; return its task and whether it began."""
    goals, began = goals_of(probe), []
    before(goals)
    task = goals.new(Time(), 'pose', sent_at(10, 3000))
    goals.attempt(task, lambda: began.append(task))
    return task, began


def test_a_goal_from_before_a_stop(probe):
    """It is answered once, and not begun; one from after it is begun."""
    task, began = late_goal(probe, lambda goals: goals.precedence.stopped(sent_at(30)))
    assert task.state is GoalState.STOPPED and not began
    task, began = late_goal(probe, lambda goals: goals.precedence.stopped(sent_at(5)))
    assert task.state is None and began == [task]


@pytest.mark.parametrize('waits', [False, True])
def test_a_goal_from_before_the_one_that_has_its_place(probe, waits):
    """It is superseded, though it comes last; also by one that has still to wait."""
    def begin(goals):
        newer = goals.new(Time(), 'pose', sent_at(30))
        if waits:
            goals.attempt(newer, waiting)
        else:
            goals.under_way(newer, 'on its way')

    task, began = late_goal(probe, begin)
    assert task.state is GoalState.SUPERSEDED and not began


# ---- where a message came from ----------------------------------------------

@pytest.fixture
def pair(context):
    """Return two nodes in one executor, and what spins until a condition holds."""
    executor = make_executor()
    nodes = [rclpy.create_node(name) for name in ('hearer', 'speaker')]
    for node in nodes:
        executor.add_node(node)

    def until(condition, seconds=10.0):
        end = monotonic() + seconds
        while not condition():
            assert monotonic() < end
            executor.spin_once(timeout_sec=0.05)

    yield (*nodes, until)
    executor.shutdown()
    for node in nodes:
        node.destroy_node()


@pytest.mark.parametrize('raw', [False, True])
def test_the_host_of_a_message(pair, raw):
    """It begins the identifier of its publisher; the message is whole, however long."""
    hearer, speaker, until = pair
    seen = []
    tell_origin(hearer.create_subscription(
        String, 'words', lambda message, info: seen.append((message, info)), 10, raw=raw))
    made = [speaker.create_publisher(String, 'words', 10) for _ in range(2)]
    until(lambda: all(publisher.get_subscription_count() for publisher in made))
    words = ['', 'short', 'long' * 50_000, 'short again']
    began = time_ns()
    for k, text in enumerate(words):
        made[k % 2].publish(String(data=text))
    until(lambda: len(seen) == len(words))
    for text, (message, info) in zip(words, sorted(
            seen, key=lambda each: each[1]['source_timestamp'])):
        assert (text.encode() in message) if raw else message.data == text
        assert began <= info['source_timestamp'] <= info['received_timestamp'] <= time_ns()
        assert info['host'] == host_of(bytes(
            hearer.get_publishers_info_by_topic('/words')[0].endpoint_gid)) and info['host']


def test_hosts():
    """Of Fast DDS vendor and host, of others the participant."""
    assert host_of(bytes.fromhex('010f78fd331c30fc0000000000001403')) == b'\x01\x0f\x78\xfd'
    assert host_of(bytes(range(16, 32))) == bytes(range(16, 28))


def test_the_origin_of_a_request(pair):
    """When it was sent and by which host; nothing of a request that is not being answered."""
    hearer, speaker, until = pair
    seen = []

    def answer(request, response):
        seen.append(request_origin(hearer, request))
        return response

    hearer.create_service(Trigger, 'asked', answer)
    client = speaker.create_client(Trigger, 'asked')
    until(client.service_is_ready)
    began = time_ns()
    asked = client.call_async(Trigger.Request())
    until(asked.done)
    (sent, hosts), = seen
    assert began <= sent <= time_ns()
    assert hosts == {host_of(bytes(hearer.get_publishers_info_by_topic(
        'rq/askedRequest', no_mangle=True)[0].endpoint_gid))}
    assert request_origin(hearer, Trigger.Request()) == (0, set())


def test_one_copy_of_each_message():
    """Of two subscriptions, and nothing older; of each publisher by itself."""
    copies = OneCopy()

    def is_new(writer, number):
        return copies.is_new({'writer': writer, 'publication_sequence_number': number})

    assert [is_new(b'a', 3), is_new(b'a', 3), is_new(b'b', 1), is_new(b'a', 2), is_new(b'a', 4)] \
        == [True, False, True, False, True]
    assert copies.is_new({}) and copies.is_new({})  # of a middleware that does not tell


# ---- who stops --------------------------------------------------------------

@pytest.fixture
def stopper(pair):
    """Return a RepeatedStop, the times (ns) at which its halts were sent, and the nodes."""
    hearer, speaker, until = pair
    halts, posted = [], []
    hearer.create_subscription(Empty, '/arm/halt', lambda _message, info: halts.append(
        info['source_timestamp']), QoSProfile(
            depth=100, reliability=ReliabilityPolicy.BEST_EFFORT))
    stop = RepeatedStop(speaker, '/arm', posted.append)
    until(stop._halts.get_subscription_count)
    return SimpleNamespace(stop=stop, halts=halts, posted=posted, until=until, hearer=hearer,
                           taken=[])


def post(stopper):
    """Run what the caller left to the executor of the stop."""
    while stopper.posted:
        stopper.posted.pop(0)()


def nothing_more(stopper):
    """Return whether no halt is sent for ten periods from now on."""
    now, end = time_ns(), monotonic() + 10 * HALT_PERIOD_S
    post(stopper)
    stopper.until(lambda: monotonic() > end)
    return all(sent <= now for sent in stopper.halts)


def serve(stopper, answers):
    """Serve the stop: `answers` says which request of how many succeeds; return the requests."""
    requests = []

    def answer(request, response):
        requests.append(request)
        response.success, response.message = answers(len(requests)), str(len(requests))
        return response

    stopper.hearer.create_service(Trigger, '/arm/stop', answer)
    return requests


@pytest.mark.parametrize('refusals', [0, 3])
def test_a_stop_is_repeated_until_it_succeeds(stopper, refusals):
    """From the first moment; the answer is given once, and then nothing is sent any more."""
    stopper.stop.begin(stopper.taken.append)
    stopper.until(lambda: stopper.halts)  # before all else
    post(stopper)
    stopper.until(lambda: len(stopper.halts) > 4)  # nobody answers yet
    serve(stopper, lambda count: count > refusals)
    stopper.until(lambda: stopper.taken)
    assert nothing_more(stopper)
    assert len(stopper.taken) == 1 and stopper.taken[0].success


@pytest.mark.parametrize('answers, words', [
    (lambda _count: False, ''), (None, 'nobody offers /arm/stop')])
def test_a_stop_that_fails(stopper, monkeypatch, answers, words):
    """It is repeated for the patience; then there is one failure, and nothing is sent."""
    monkeypatch.setattr(repeated_stop, 'REFUSED_PATIENCE_S', 0.5)
    monkeypatch.setattr(stopper.stop, '_search_time', 0.5)
    if answers is not None:
        serve(stopper, answers)
        stopper.until(stopper.stop.client.service_is_ready)
    began = monotonic()
    stopper.stop.begin(stopper.taken.append)
    post(stopper)
    stopper.until(lambda: stopper.taken)
    assert monotonic() - began >= 0.5 and len(stopper.halts) > 2  # busy: few
    assert nothing_more(stopper)
    assert len(stopper.taken) == 1 and not stopper.taken[0].success
    assert stopper.taken[0].message.startswith(words)


def test_a_stop_without_an_answer(stopper, monkeypatch):
    """It is repeated for the longer patience, as by a node that hangs."""
    monkeypatch.setattr(repeated_stop, 'REFUSED_PATIENCE_S', 0.1)
    monkeypatch.setattr(repeated_stop, 'PATIENCE_S', 0.5)
    asleep = Node('asleep', start_parameter_services=False)
    asleep.create_service(Trigger, '/arm/stop', lambda _request, response: response)
    stopper.until(stopper.stop.client.service_is_ready)
    stopper.stop.begin(stopper.taken.append)
    post(stopper)
    stopper.until(lambda: stopper.taken)
    assert stopper.taken[0].message == '/arm/stop did not answer within 0.5 s'
    asleep.destroy_node()


def test_a_node_has_time_to_answer(stopper, monkeypatch):
    """A request is repeated only when it may be lost: a whole stop takes a node a while."""
    asked, call = [], stopper.stop.client.call_async
    monkeypatch.setattr(stopper.stop.client, 'call_async', lambda request: (
        asked.append(monotonic()), call(request))[1])
    stopper.stop.begin(stopper.taken.append)
    post(stopper)
    end = monotonic() + 3.5 * NO_ANSWER_S
    stopper.until(lambda: monotonic() > end)
    assert 2 <= len(asked) <= 4 and min(np.diff(asked)) >= NO_ANSWER_S
    assert len(stopper.halts) > 2 * len(asked)


def test_an_answer_that_is_there_at_once_is_taken(stopper, monkeypatch):
    """A future that is done calls back at once, in the thread that adds the callback."""
    answered = Future()
    answered.set_result(Trigger.Response(success=True))
    monkeypatch.setattr(stopper.stop.client, 'call_async', lambda _request: answered)
    monkeypatch.setattr(stopper.stop.client, 'remove_pending_request', lambda _future: None)
    stopper.stop.begin(stopper.taken.append)
    thread = Thread(target=post, args=(stopper,), daemon=True)
    thread.start()
    thread.join(5.0)
    assert [each.success for each in stopper.taken] == [True]


@pytest.mark.parametrize('spun', [False, True])
def test_nothing_is_sent_after_a_new_goal(stopper, spun):
    """Or the goal would be stopped, too; whether the stop was repeated before or not."""
    requests = serve(stopper, lambda _count: True)
    stopper.until(stopper.stop.client.service_is_ready)
    stopper.stop.begin(stopper.taken.append)
    if spun:
        post(stopper)
    stopper.stop.cease()
    known = [*requests]
    assert nothing_more(stopper)
    assert len(requests) - len(known) == spun and len(stopper.taken) == spun


def test_a_goal_of_another_thread_waits_for_a_halt(stopper):
    """One that is being sent at this moment: it is out when the goal may be sent."""
    sending, ends = Event(), []

    def publish(_message):
        sending.set()
        sleep(0.1)
        ends.append('halt')

    def send():
        assert sending.wait(10.0)
        stopper.stop.cease()
        ends.append('goal')

    stopper.stop.begin(stopper.taken.append)
    stopper.stop._halts = SimpleNamespace(publish=publish)
    sender = Thread(target=send)
    sender.start()
    post(stopper)
    sender.join()
    assert nothing_more(stopper) and ends == ['halt', 'goal']


@pytest.mark.parametrize('goal_first', [False, True])
def test_the_node_orders_what_waits_for_it(halt, goal_first):
    """By when it was sent: it is held up, and then has a halt and a goal at once."""
    halt, probe = halt
    probe.node.send(SIGSTOP)
    try:
        if not goal_first:
            halt()
        stamp = probe.send_joints(FAR)
        if goal_first:
            halt()
        sleep(0.3)
    finally:
        probe.node.send(SIGCONT)
    answer = probe.final(stamp)
    assert (answer['state'] == 'stopped') == goal_first, answer
    assert goal_first or answer['state'] == 'reached', answer


def test_goals_without_a_time_are_taken(probe):
    """Those of actions: when they were sent is not told."""
    goals, began = goals_of(probe), []
    goals.precedence.stopped(sent_at(30))
    task = goals.new(Time(), 'moveit')
    goals.attempt(task, lambda: began.append(PoseStamped))
    assert began and task.state is None


def test_when_the_goal_of_an_action_was_sent(pair):
    """Its identifier says it, and on which host; those of others say nothing."""
    hearer, speaker, until = pair
    kind = pytest.importorskip('control_msgs.action', reason=NOT_BUILT).GripperCommand
    client = ActionClient(speaker, kind, 'acts')
    until(lambda: len(hearer.get_publishers_info_by_topic(
        'rq/acts/_action/send_goalRequest', no_mangle=True)) == 1)
    before = time_ns()
    ids = [timed_goal_id(speaker, 'acts') for _ in range(100)]
    after = time_ns()
    assert {uuid.UUID(bytes=bytes(each.uuid)).version for each in ids} == {7}
    assert len({bytes(each.uuid) for each in ids}) == len(ids)
    times, hosts = zip(*(goal_origin(hearer, 'acts', each) for each in ids))
    assert list(times) == sorted(times) and before - 1000 < times[0] and times[-1] <= after
    own = hearer.get_publishers_info_by_topic('rq/acts/_action/send_goalRequest', no_mangle=True)
    assert {*map(frozenset, hosts)} == {frozenset([host_of(bytes(own[0].endpoint_gid))])}
    for _ in range(500):  # also of clients that set no version: one in 16 has this one
        assert goal_origin(hearer, 'acts', UUID(uuid=[*os.urandom(16)])) == (0, set())
    client.destroy()
