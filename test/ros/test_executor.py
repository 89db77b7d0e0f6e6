# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The executor of the nodes: what rclpy's own does, with fewer rounds."""

from itertools import pairwise
import threading
from time import monotonic, sleep

from builtin_interfaces.msg import Time
import pytest
from rcl_interfaces.srv import GetParameters
import rclpy
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
from std_srvs.srv import Trigger

from ik_node.ros.middleware import executor as module
from ik_node.ros.middleware.clocks import steady_clock
from ik_node.ros.middleware.executor import (
    LOOK_PERIOD_S,
    make_executor,
    NodeExecutor,
    TASK_PERIOD_S,
)


class Spun:
    """A node and the executor that runs it."""

    def __init__(self, executor):
        self.node = rclpy.create_node('spun')
        self.executor = executor
        executor.add_node(self.node)

    def until(self, condition, seconds=10.0):
        """Spin until a condition holds."""
        end = monotonic() + seconds
        while not condition():
            assert monotonic() < end
            self.executor.spin_once(timeout_sec=0.1)


@pytest.fixture(params=['ours', 'ours without notifier', 'ours with few files', 'of rclpy'])
def spun(request, context, monkeypatch):
    """Run a test with our executor and, to know that it asks nothing else, with rclpy's."""
    if request.param == 'ours with few files':
        monkeypatch.setattr(module.resource, 'getrlimit', lambda _: (4, 4))
    if request.param == 'ours without notifier':
        monkeypatch.delattr(module.select, 'epoll')
    spun = Spun(SingleThreadedExecutor() if request.param == 'of rclpy' else make_executor())
    assert isinstance(spun.executor, NodeExecutor) == (request.param != 'of rclpy')
    yield spun
    spun.executor.remove_node(spun.node)
    spun.node.destroy_node()


def test_all_kinds_of_callbacks_run(spun):
    """Timers, messages with and without info, services, futures, guard conditions, events."""
    node, came = spun.node, []
    publisher = node.create_publisher(String, 'words', 10)
    node.create_subscription(String, 'words', lambda message: came.append(message.data), 10)
    node.create_subscription(String, 'words', lambda message, info: came.append(
        type(info['source_timestamp'])), 10)
    node.create_subscription(String, 'words', lambda data: came.append(type(data)), 10, raw=True)
    node.create_service(Trigger, 'asked', lambda request, response: response)
    client = node.create_client(Trigger, 'asked')
    node.create_timer(0.01, lambda: came.append('timer'))
    guard = node.create_guard_condition(lambda: came.append('guard'))
    best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    node.create_publisher(String, 'others', best_effort)
    node.create_subscription(String, 'others', lambda message: None, 10,
                             event_callbacks=SubscriptionEventCallbacks(
                                 incompatible_qos=lambda info: came.append('event')))
    spun.until(lambda: publisher.get_subscription_count() == 3 and client.service_is_ready())
    publisher.publish(String(data='hello'))
    guard.trigger()
    answer = client.call_async(Trigger.Request())
    answer.add_done_callback(lambda future: came.append('answer'))
    spun.until(lambda: {'hello', int, bytes, 'timer', 'guard', 'answer', 'event'} <= set(came))
    assert answer.done()


def test_each_message_comes_once_and_in_order(spun):
    """Also those that wait while a callback runs."""
    came = []
    publisher = spun.node.create_publisher(String, 'words', 100)
    spun.node.create_subscription(String, 'words', lambda message: came.append(message.data), 100)
    spun.until(publisher.get_subscription_count)
    for k in range(100):
        publisher.publish(String(data=str(k)))
    spun.until(lambda: len(came) == 100)
    spun.executor.spin_once(timeout_sec=0.1)
    assert came == [str(k) for k in range(100)]


def test_each_runs_once_before_all_wait_again(spun):
    """A guard condition that was triggered several times, and a subscription with messages."""
    came = []
    publisher = spun.node.create_publisher(String, 'words', 10)
    spun.node.create_subscription(String, 'words', lambda message: came.append('word'), 10)
    guard = spun.node.create_guard_condition(lambda: came.append('guard'))
    spun.node.create_timer(0.001, lambda: (came.append('timer'), sleep(0.005)),
                           clock=steady_clock())
    spun.until(publisher.get_subscription_count)
    came.clear()
    for _ in range(3):
        for _ in range(3):
            guard.trigger()
            publisher.publish(String())
        sleep(0.01)
        spun.executor.spin_once(timeout_sec=0.1)
    spun.until(lambda: came.count('word') == 9)
    assert 1 <= came.count('guard') <= 3
    assert not any(a == b == 'word' for a, b in pairwise(came)), came


def test_callbacks_destroyed_by_a_callback_do_not_run(spun):
    """Of two timers that are ready together the first destroys the other."""
    came, timers = [], []

    def end(k):
        came.append(k)
        for timer in timers:
            spun.node.destroy_timer(timer)

    timers += [spun.node.create_timer(0.05, lambda k=k: end(k)) for k in range(2)]
    begin = monotonic()
    while monotonic() < begin + 0.1:
        pass  # so that both are ready
    for _ in range(5):
        spun.executor.spin_once(timeout_sec=0.1)
    assert len(came) == 1


def test_entities_created_and_destroyed_while_it_spins(spun):
    """Nodes and what they have are known from the next round on, and no longer when destroyed."""
    came = []
    publisher = spun.node.create_publisher(String, 'words', 10)
    spun.executor.spin_once(timeout_sec=0.0)
    other = rclpy.create_node('other')
    spun.executor.add_node(other)
    for node, label in ((spun.node, 'first'), (other, 'second')):
        spun.executor.spin_once(timeout_sec=0.0)
        node.create_subscription(String, 'words', lambda message, label=label: came.append(label),
                                 10)
    spun.until(lambda: publisher.get_subscription_count() == 2)
    publisher.publish(String())
    spun.until(lambda: len(came) == 2)
    spun.executor.remove_node(other)
    publisher.publish(String())
    spun.until(lambda: len(came) == 3)
    spun.executor.spin_once(timeout_sec=0.1)
    assert sorted(came) == ['first', 'first', 'second']
    spun.node.destroy_subscription(next(iter(spun.node.subscriptions)))
    publisher.publish(String())
    spun.executor.spin_once(timeout_sec=0.1)
    assert len(came) == 3
    other.destroy_node()


def test_a_timer_that_is_cancelled_and_reset(spun):
    """It runs only when it was reset, also by another thread while the executor waits."""
    came = []
    timer = spun.node.create_timer(0.01, lambda: (came.append('timer'), timer.cancel()),
                                   clock=steady_clock())
    spun.until(lambda: came)
    for _ in range(5):
        spun.executor.spin_once(timeout_sec=0.02)
    assert len(came) == 1
    threading.Timer(0.1, timer.reset).start()
    begin = monotonic()
    while len(came) == 1:
        spun.executor.spin_once(timeout_sec=0.5)
    assert 0.1 < monotonic() - begin < 5.0


def test_a_timer_of_simulated_time(spun):
    """It runs when its time has come on /clock, and not before."""
    came = []
    publisher = spun.node.create_publisher(Clock, '/clock', 10)
    spun.node.set_parameters([Parameter('use_sim_time', value=True)])
    spun.until(publisher.get_subscription_count)
    publisher.publish(Clock(clock=Time(sec=100)))
    spun.until(lambda: spun.node.get_clock().now().nanoseconds)
    spun.node.create_timer(1.0, lambda: came.append('timer'))
    for nanosec in (0, 10**8, 9 * 10**8):
        publisher.publish(Clock(clock=Time(sec=100, nanosec=nanosec)))
        spun.executor.spin_once(timeout_sec=0.1)
        spun.executor.spin_once(timeout_sec=0.1)
    assert not came
    publisher.publish(Clock(clock=Time(sec=101)))
    spun.until(lambda: came)


def test_a_node_that_moves_to_another_executor(spun):
    """It is served there, also after the one before has looked again."""
    came = []
    publisher = spun.node.create_publisher(String, 'words', 10)
    spun.node.create_subscription(String, 'words', lambda message: came.append(message.data), 10)
    guard = spun.node.create_guard_condition(lambda: came.append('guard'))
    spun.until(publisher.get_subscription_count)
    before, spun.executor = spun.executor, make_executor()
    spun.executor.add_node(spun.node)
    spun.executor.spin_once(timeout_sec=0.0)
    before.spin_once(timeout_sec=0.0)
    before.shutdown()
    publisher.publish(String(data='hello'))
    guard.trigger()
    spun.until(lambda: {*came} == {'hello', 'guard'}, LOOK_PERIOD_S / 2)


def test_what_has_nothing_is_not_looked_at(context, monkeypatch):
    """Of messages and timers the wait sets take no part; all are looked at now and then."""
    looks, came, spun = [], [], Spun(make_executor())
    look = NodeExecutor._look
    monkeypatch.setattr(NodeExecutor, '_look',
                        lambda self, *given: (looks.append(monotonic()), look(self, *given))[1])
    publisher = spun.node.create_publisher(String, 'words', 10)
    spun.node.create_subscription(String, 'words', lambda message: came.append(message.data), 10)
    spun.node.create_timer(0.01, lambda: publisher.publish(String()), clock=steady_clock())
    spun.until(lambda: came)
    looks.clear()
    came.clear()
    begin = monotonic()
    spun.until(lambda: len(came) == 100)
    assert len(looks) <= (monotonic() - begin) / LOOK_PERIOD_S + 1
    spun.executor.remove_node(spun.node)
    spun.node.destroy_node()


def test_an_error_reaches_the_caller_and_the_next_callback_runs(spun):
    came = []

    def fail():
        came.append('failed')
        raise ValueError('on purpose')

    spun.node.create_timer(0.01, fail)
    spun.node.create_timer(0.01, lambda: came.append('other'))
    with pytest.raises(ValueError, match='on purpose'):
        spun.until(lambda: False)
    for _ in range(10):
        try:
            spun.executor.spin_once(timeout_sec=0.1)
        except ValueError:
            pass
    assert came.count('failed') > 1 and came.count('other') > 1


def test_events_that_come_together(spun):
    """None is lost: some are ready only once."""
    node, came = spun.node, []
    best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    node.create_service(Trigger, 'asked', lambda request, response: response)
    client = node.create_client(Trigger, 'asked')
    spun.until(client.service_is_ready)
    for k in range(5):
        node.create_subscription(String, f'others_{k}', lambda message: None, 10,
                                 event_callbacks=SubscriptionEventCallbacks(
                                     incompatible_qos=lambda info, k=k: came.append(k)))
    other = rclpy.create_node('other')
    for k in range(5):
        other.create_publisher(String, f'others_{k}', best_effort)
    answers = [client.call_async(Trigger.Request()) for _ in range(5)]
    spun.until(lambda: sorted(came) == [*range(5)] and all(each.done() for each in answers))
    other.destroy_node()


def test_a_future_that_is_done_while_others_wait(spun):
    """Its callback is not left behind by the services that are ready as well."""
    node, done = spun.node, []
    node.create_service(Trigger, 'asked', lambda request, response: response)
    clients = [node.create_client(Trigger, 'asked') for _ in range(3)]
    other = node.create_client(GetParameters, 'spun/get_parameters')
    spun.until(lambda: all(client.service_is_ready() for client in (*clients, other)))
    for k in range(20):
        for client in clients:
            client.call_async(Trigger.Request()).add_done_callback(done.append)
        other.call_async(GetParameters.Request(names=['use_sim_time'])).add_done_callback(
            done.append)
        spun.until(lambda k=k: len(done) == 4 * (k + 1), 5.0)


def test_a_task_of_another_thread_wakes_it(spun):
    came = []
    threading.Timer(0.2, lambda: spun.executor.create_task(lambda: came.append('task'))).start()
    begin = monotonic()
    while not came:
        spun.executor.spin_once(timeout_sec=10.0)
    assert monotonic() - begin < 5.0


def test_a_service_that_awaits(spun):
    """Its answer comes when the other thread is done; meanwhile our executor does not spin."""
    done, rounds = Future(), []

    async def answer(request, response):
        await done
        response.message = done.result()
        return response

    spun.node.create_service(Trigger, 'later', answer)
    client = spun.node.create_client(Trigger, 'later')
    spun.until(client.service_is_ready)
    answered, end = client.call_async(Trigger.Request()), monotonic() + 0.5
    while monotonic() < end:
        spun.executor.spin_once(timeout_sec=0.1)
        rounds.append(monotonic())
    assert not answered.done()
    if isinstance(spun.executor, NodeExecutor):
        assert len(rounds) < 0.5 / TASK_PERIOD_S + 20
    thread = threading.Thread(target=done.set_result, args=['there'])
    thread.start()
    spun.until(answered.done)
    thread.join()
    assert answered.result().message == 'there'


def test_other_versions_of_rclpy_keep_their_own_executor(monkeypatch, context):
    monkeypatch.delattr(module.Subscription, 'CallbackType')
    assert type(make_executor()) is SingleThreadedExecutor
