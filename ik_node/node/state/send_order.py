# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Which of two messages was sent first, though they arrive in any order and clocks differ.

The middleware stamps a message by the clock of its sender when it is sent; when it arrives is
told by our steady clock, which nobody sets.  Two messages of one host are compared by their
senders' stamps.  Of different hosts, each stamp is shifted to our clock by the smallest
difference of both times that was seen of its host: the offset of its clock and the shortest
delay.  So a message of a host whose shortest delay was d seems to be sent d later than it was,
and nothing depends on how the clocks are set.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from time import monotonic_ns, time_ns
from typing import Any

AFTER_STOP, AFTER_GOAL = 'stop', 'goal'  # that something was sent before, and came after
MAX_HOSTS = 256
MEMORY_NS = 60 * 10**9  # in which no clock drifts by more than milliseconds
CLOCK_STEP_NS = 30 * 10**9  # no message takes so long: the clock was set
DOUBTFUL_DELAY_NS = 5 * 10**9  # a stop that seems to have taken so long is for all before it


@dataclass(frozen=True)
class SendTime:
    """When a message was sent."""

    received: int      # by our steady clock (ns)
    source: int = 0    # by that of its sender (ns); 0 if that is not known
    host: bytes = b''  # whose clock that is; empty if it is not known

    @property
    def known(self) -> bool:
        """Return whether there is more than the time at which it was received."""
        return self.source > 0 and bool(self.host)

    @property
    def delay(self) -> int:
        """Return what both clocks differ by, and how long it was under way (ns)."""
        return self.received - self.source


@dataclass
class _Offset:
    """The smallest difference (ns) of received and source of a host in the last one to two
    MEMORY_NS.
    """

    since: int
    latest: int
    before: int | None = field(default=None)

    @property
    def smallest(self) -> int:
        return self.latest if self.before is None else min(self.latest, self.before)


class SendOrder:
    """Compares times of sending; it has to see each message that is compared."""

    def __init__(self) -> None:
        self._offsets: OrderedDict[bytes, _Offset] = OrderedDict()

    def see(self, time: SendTime) -> None:
        """Learn the offset of the clock of a host."""
        if not time.known:
            return
        offset, difference = self._offsets.get(time.host), time.received - time.source
        if offset is None:
            offset = self._offsets[time.host] = _Offset(time.received, difference)
        elif abs(difference - offset.latest) > CLOCK_STEP_NS:  # what was learned is of no use
            self._offsets[time.host] = _Offset(time.received, difference)
        elif abs(time.received - offset.since) > MEMORY_NS:
            offset.before, offset.latest, offset.since = offset.latest, difference, time.received
        else:
            offset.latest = min(offset.latest, difference)
        self._offsets.move_to_end(time.host)
        while len(self._offsets) > MAX_HOSTS:
            self._offsets.popitem(last=False)

    def before(self, one: SendTime, other: SendTime) -> bool:
        """Return whether `one` was sent before `other`."""
        if one.known and other.known and one.host == other.host:
            if abs(one.delay - other.delay) > CLOCK_STEP_NS:
                return one.received < other.received  # its clock was set in between
            return one.source < other.source
        return self.on_our_clock(one) < self.on_our_clock(other)

    def on_our_clock(self, time: SendTime) -> int:
        """Return when something was sent by our clock (ns), or by the shortest delay later."""
        return min(self.estimate(time), time.received)  # if the clock was set since

    def estimate(self, time: SendTime) -> int:
        """Return that, though it be after it was received: it was quicker than any, or not of
        that host.
        """
        offset = self._offsets.get(time.host) if time.known else None
        return time.received if offset is None else time.source + offset.smallest


class SendLine:
    """A line through all that is sent, at the latest of some messages: stops, say."""

    def __init__(self, order: SendOrder) -> None:
        self._order = order
        self._latest: OrderedDict[bytes, SendTime] = OrderedDict()

    def draw(self, time: SendTime) -> None:
        """Move the line to the time of another of them, unless it is there already."""
        host = time.host if time.known else b''
        latest = self._latest.get(host)
        if latest is None or self._order.before(latest, time):
            self._latest[host] = time
        self._latest.move_to_end(host)
        while len(self._latest) > MAX_HOSTS:
            self._latest.popitem(last=False)

    def is_after(self, time: SendTime) -> bool:
        """Return whether something was sent before one of them."""
        return any(self._order.before(time, each) for each in self._latest.values())


class Precedence:
    """What was sent before a stop, or before the goal that superseded it, moves nothing."""

    def __init__(self) -> None:
        self.order = SendOrder()
        self._stops, self._goals = SendLine(self.order), SendLine(self.order)

    def of_message(self, info: Mapping[str, Any]) -> SendTime:
        """Return when a message was sent that is just taken, by what the middleware says of it."""
        now = time_ns()
        waited = max(now - (info['received_timestamp'] or now), 0)
        return self._seen(SendTime(monotonic_ns() - waited, info['source_timestamp'],
                                   info.get('host', b'')))

    def of_request(self, source: int, hosts: Collection[bytes], early: bool = False) -> SendTime:
        """
        Return when a request was sent that has just arrived.

        Parameters
        ----------
        source : int
            By the clock of its sender (ns); 0 if that is not known.
        hosts : collection of bytes
            Which may have sent it.  Of several the one counts by which it was sent last ...
        early : bool
            ... or first.

        """
        now = monotonic_ns()
        if len(hosts) == 1:
            return self._seen(SendTime(now, source, *hosts))
        times = [self.order.estimate(SendTime(now, source, host)) for host in hosts]
        # All messages of its sender that were seen may have been slow.
        possible = [min(time, now) for time in times
                    if now - CLOCK_STEP_NS < time < now + DOUBTFUL_DELAY_NS]
        return SendTime((min if early else max)(possible, default=now))

    def _seen(self, time: SendTime) -> SendTime:
        self.order.see(time)
        return time

    def stopped(self, time: SendTime) -> None:
        """Note a stop."""
        self._stops.draw(time)

    def began(self, time: SendTime | None) -> None:
        """Note a goal that superseded those before it; not one of an unknown time."""
        if time is not None and time.known:
            self._goals.draw(time)

    def why_late(self, time: SendTime | None) -> str:
        """Return before what something was sent that it must not undo, '' if before nothing."""
        if time is None:
            return ''
        if self._stops.is_after(time):
            return AFTER_STOP
        return AFTER_GOAL if self._goals.is_after(time) else ''

    def is_before(self, time: SendTime | None, stop: SendTime) -> bool:
        """Return whether a stop is for what was sent at a time; also in doubt."""
        return time is None or self.order.before(time, stop) \
            or stop.received - self.order.on_our_clock(stop) > DOUBTFUL_DELAY_NS
