# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Which of two messages was sent first, against the true time that no clock shows."""

from dataclasses import dataclass

from hypothesis import given, settings, strategies as st
from nightly import samples
import pytest

from ik_node.node.state import send_order
from ik_node.node.state.send_order import (
    MAX_HOSTS,
    MEMORY_NS,
    Precedence,
    SendLine,
    SendOrder,
    SendTime,
)

MS, S = 10**6, 10**9
SHORTEST_NS = 5 * MS  # delay of the first message of each host, at most
OURS_NS = 10**18      # what our clock showed at the true time 0
HOSTS = b'abc'


@dataclass(frozen=True)
class Sent:
    """A message: the host and the true time (ns) at which it was sent, and its delay (ns)."""

    host: int
    at: int
    delay: int

    def seen(self, offsets):
        """Return what the middleware says of it."""
        name = HOSTS[self.host:self.host + 1]
        return SendTime(OURS_NS + self.at + self.delay,
                        OURS_NS + self.at + offsets[self.host], name)


def sent(first, last):
    """Draw messages of a time (ns), some late because they were sent again, in any order."""
    return st.builds(Sent, st.integers(0, len(HOSTS) - 1), st.integers(first, last),
                     st.one_of(st.integers(0, SHORTEST_NS), st.integers(0, 10 * S)))


@settings(max_examples=int(samples(usual=500, nightly=50_000)))
@given(st.lists(st.integers(-10**17, 10**17), min_size=3, max_size=3),
       st.lists(st.integers(0, SHORTEST_NS), min_size=3, max_size=3),
       st.lists(sent(S, 20 * S), max_size=6), st.lists(sent(S, 20 * S), max_size=6))
def test_the_true_order_within_the_shortest_delay(offsets, shortest, stops, goals):
    """
    No goal is taken that was sent before a stop that has arrived, and no other is refused.

    On one host always; on two, but for what was sent within the shortest delay of a host.
    """
    order = SendOrder()
    line = SendLine(order)
    for host, delay in enumerate(shortest):
        order.see(Sent(host, 0, delay).seen(offsets))
    come = []
    for message in sorted((*stops, *goals), key=lambda each: each.at + each.delay):
        time = message.seen(offsets)
        order.see(time)
        if any(message is stop for stop in stops):
            line.draw(time)
            come.append(message)
            continue
        leads = [stop.at - message.at for stop in come if stop.host == message.host]
        other = [stop.at - message.at for stop in come if stop.host != message.host]
        if max([*leads, *(lead - SHORTEST_NS for lead in other)], default=0) > 0:
            assert line.is_after(time)
        if all(lead <= 0 for lead in leads) and all(lead < -SHORTEST_NS for lead in other):
            assert not line.is_after(time)


@given(st.integers(-10**17, 10**17), st.integers(-10**17, 10**17), st.integers(0, 10 * S))
def test_one_host_needs_no_message_before(offset, other, delay):
    """The very first goal of a host comes after the very first stop of it, by seconds."""
    order, offsets = SendOrder(), (offset, other, 0)
    line = SendLine(order)
    stop, goal = Sent(0, 20 * MS, 0), Sent(0, 0, 20 * MS + delay)
    after = Sent(0, 20 * MS + 1, delay)
    for each in (stop, goal, after):
        order.see(each.seen(offsets))
    line.draw(stop.seen(offsets))
    assert line.is_after(goal.seen(offsets)) and not line.is_after(after.seen(offsets))
    assert not line.is_after(stop.seen(offsets))  # nothing is sent before itself


def test_an_older_stop_does_not_move_the_line_back():
    """A repeated stop that comes late leaves the line where it is."""
    order = SendOrder()
    line = SendLine(order)
    for stop in (Sent(0, 50 * MS, 0), Sent(0, 10 * MS, 80 * MS)):
        order.see(stop.seen((0, 0, 0)))
        line.draw(stop.seen((0, 0, 0)))
    assert line.is_after(Sent(0, 30 * MS, S).seen((0, 0, 0)))


@pytest.mark.parametrize('times', [
    (SendTime(5), SendTime(6)), (SendTime(5, 9, b''), SendTime(6, 1, b'')),
    (SendTime(5, 0, b'a'), SendTime(6, 0, b'a')), (SendTime(5, 900, b'a'), SendTime(6))])
def test_without_times_of_sending_the_arrival_counts(times):
    """Where the middleware does not say who sent a message, or when."""
    order = SendOrder()
    for time in times:
        order.see(time)
    assert order.before(*times) and not order.before(*times[::-1])


def test_a_clock_that_was_set_is_known_again_after_a_while():
    """The offset from before is forgotten: goals of the host are late for two minutes at most."""
    order = SendOrder()
    line = SendLine(order)
    hour = 3600 * S
    order.see(Sent(0, 0, MS).seen((hour, 0, 0)))
    at = 0
    for _ in range(4):  # its clock is an hour slower from now on
        at += MEMORY_NS + S
        order.see(Sent(0, at, MS).seen((0, 0, 0)))
    stop, goal = Sent(1, at, MS), Sent(0, at + S, MS)
    for each in (stop, goal):
        order.see(each.seen((0, 0, 0)))
    line.draw(stop.seen((0, 0, 0)))
    assert not line.is_after(goal.seen((0, 0, 0)))


def test_hosts_are_forgotten():
    """Nothing grows with the hosts that come and go."""
    order = SendOrder()
    line = SendLine(order)
    for k in range(1, 3 * MAX_HOSTS):
        time = SendTime(k * S, k * S, k.to_bytes(4, 'big'))
        order.see(time)
        line.draw(time)
    assert len(order._offsets) == len(line._latest) == MAX_HOSTS


@pytest.mark.parametrize('step', [7, 60, 3600])
def test_a_clock_that_is_set_back_hides_no_stop(step):
    """A stop counts, and so do goals after it if the step is longer than any message takes."""
    precedence, second = Precedence(), 10**9
    goal, stop, later = (SendTime(at * second, (at - back) * second, b'h')
                         for at, back in ((5000, 0), (5001, step), (5002, step)))
    for time in (goal, stop, later):
        precedence.order.see(time)
    assert precedence.is_before(goal, stop)
    precedence.stopped(stop)
    precedence.began(goal)
    assert bool(precedence.why_late(later)) == (step == 7)


class Clocks:
    """Our clocks, one of which may be set."""

    def __init__(self, monkeypatch):
        self.ns, self.system = 5000 * S, OURS_NS
        monkeypatch.setattr(send_order, 'monotonic_ns', lambda: self.ns)
        monkeypatch.setattr(send_order, 'time_ns', lambda: self.ns + self.system)

    def message(self, waits=0, host=b'h', offset=0):
        """Return what the middleware says of a message, sent a millisecond before it came."""
        now = self.ns + self.system
        self.ns += MS + waits
        return {'source_timestamp': now + offset, 'received_timestamp': now + MS, 'host': host}


@pytest.mark.parametrize('step', [-3600 * S, 3600 * S])
def test_our_own_clock_is_set(monkeypatch, step):
    """Goals of this machine that are sent after a stop are not refused for an hour."""
    clocks, precedence = Clocks(monkeypatch), Precedence()
    goal, stop = (precedence.of_message(clocks.message()) for _ in range(2))
    assert precedence.is_before(goal, stop)
    precedence.stopped(stop)
    clocks.system += step
    later = precedence.of_message(clocks.message(waits=20 * MS))
    assert not precedence.why_late(later) and precedence.why_late(goal)


def test_a_clock_that_is_set_after_a_stop(monkeypatch):
    """Goals of other hosts are not refused until the clock of the stop has come that far."""
    clocks, precedence = Clocks(monkeypatch), Precedence()
    precedence.of_message(clocks.message(host=b'other'))
    precedence.stopped(precedence.of_message(clocks.message()))
    precedence.of_message(clocks.message(offset=-3600 * S))
    assert not precedence.why_late(precedence.of_message(clocks.message(host=b'other')))


@pytest.mark.parametrize('offset', [0, 3600 * S])
def test_a_request_that_several_hosts_may_have_sent(monkeypatch, offset):
    """A stop that comes 3 s late is for what was sent before it, by whichever of them."""
    clocks, precedence = Clocks(monkeypatch), Precedence()
    for host, set_by in ((b'a', 0), (b'b', offset)):
        precedence.of_message(clocks.message(host=host, offset=set_by))
    before = precedence.of_message(clocks.message())
    clocks.ns += S
    request = clocks.ns + clocks.system
    clocks.ns += S
    after = precedence.of_message(clocks.message())
    clocks.ns += S
    stop = precedence.of_request(request, [b'a', b'b'])
    assert precedence.is_before(before, stop) and not precedence.is_before(after, stop)
    home = precedence.of_request(request, [b'a', b'b'], early=True)
    precedence.stopped(after)
    assert precedence.why_late(home)
    assert precedence.of_request(request, [b'a', b'unknown']).received == clocks.ns
    assert precedence.of_request(0, []).received == clocks.ns


@pytest.mark.parametrize('offset', [-10 * S, 10 * S])
@pytest.mark.parametrize('slow', [None, MS, 3 * S])
def test_the_sender_of_a_request_counts_as_now_if_it_is_hardly_known(monkeypatch, offset, slow):
    """
    Another host, whose clock makes the request seem 10 s old or not yet sent, does not prevail.

    The sender was never heard before, or once, by a message as quick as the request or slower.
    """
    clocks, precedence = Clocks(monkeypatch), Precedence()
    precedence.of_message(clocks.message(host=b'other', offset=offset))
    if slow is not None:
        precedence.of_message(clocks.message(host=b'sender') | {
            'source_timestamp': clocks.ns + clocks.system - slow})
    goal = precedence.of_message(clocks.message(host=b'third'))
    clocks.ns += S
    request = clocks.ns + clocks.system
    clocks.ns += MS
    stop = precedence.of_request(request, [b'other', b'sender'])
    assert stop.received == clocks.ns and precedence.is_before(goal, stop)
