# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The clocks of a node and the stamps of messages; when, and by which host, a message was sent.

rclpy says of a message only when it was sent, of the goal of an action nothing.  The global
identifier of a writer begins with that of its participant, and with Fast DDS this with that of
its vendor and its host.  For messages it comes from rcl, whose function takes the message and all
that the middleware says of it.  For requests the graph tells who may have sent it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
import ctypes
from functools import cache
from random import getrandbits
import sys
from threading import get_ident
from time import monotonic, time_ns
from typing import Any
from weakref import WeakSet
from zlib import crc32

from builtin_interfaces.msg import Duration, Time
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo
from unique_identifier_msgs.msg import UUID

CLOCK_READINGS = 3  # of both clocks at most, of which the closest pair is used
CLOSE_READINGS_S = 2e-5  # a pair within this time is good enough


def nanoseconds_of(stamp: Time) -> int:
    """Return a builtin_interfaces/Time in ns."""
    return stamp.sec * 10**9 + stamp.nanosec


def seconds_of(stamp: Time | Duration) -> float:
    """Return a builtin_interfaces/Time or Duration in s."""
    return stamp.sec + 1e-9 * stamp.nanosec


def both_clocks(clock: Clock) -> tuple[float, int]:
    """Return one instant on the monotonic clock (s) and on the clock of a node (ns)."""
    looks = []
    for _ in range(CLOCK_READINGS):
        before = monotonic()
        stamp = clock.now().nanoseconds
        after = monotonic()
        looks.append((after - before, 0.5 * (before + after), stamp))
        if after - before < CLOSE_READINGS_S:
            break
    _, now, stamp = min(looks)  # the shortest interval was interrupted least
    return now, stamp


def steady_clock() -> Clock:
    """Return a clock for timers that the time of day, if it is set, does not move."""
    return Clock(clock_type=ClockType.STEADY_TIME)


MessageInfo = Mapping[str, Any]  # what the middleware says of a message

PREFIX_BYTES = 12     # of the participant in the identifier of a writer; DDSI-RTPS 2.5, 8.2.4
FAST_DDS = b'\x01\x0f'  # the vendor
FAST_DDS_HOST_BYTES = 4  # the vendor and the host
GID_BYTES = 24        # rmw_gid_t: 16, and 24 in Humble
UNKNOWN_NUMBER = 2**64 - 1  # of a middleware that does not count messages
MAX_WRITERS = 256
RCL_OK = 0
TIME_VERSION, VARIANT = 7, 0b10  # of a UUID with the time since 1970; RFC 9562, 5.7


def host_of(gid: bytes) -> bytes:
    """
    Return what the identifiers of writers on one host have in common.

    Where it does not show the host it is that of the process: its clock is one, too.
    """
    return gid[:FAST_DDS_HOST_BYTES if gid.startswith(FAST_DDS) else PREFIX_BYTES]


class OneCopy:
    """Takes each message of a publisher once, and none that was published before."""

    def __init__(self) -> None:
        self._latest: OrderedDict[bytes, int] = OrderedDict()

    def is_new(self, info: MessageInfo) -> bool:
        """Return whether a message is newer than all of its publisher; True if that is unknown."""
        writer, number = info.get('writer'), info.get('publication_sequence_number')
        if writer is None or number is None or number >= UNKNOWN_NUMBER:
            return True
        if number <= self._latest.get(writer, 0):
            return False
        self._latest[writer] = number
        self._latest.move_to_end(writer)
        while len(self._latest) > MAX_WRITERS:
            self._latest.popitem(last=False)
        return True


class _Allocator(ctypes.Structure):
    """An rcutils_allocator_t: four functions and their argument."""

    _fields_ = [(name, ctypes.c_void_p) for name in (
        'allocate', 'deallocate', 'reallocate', 'zero_allocate', 'state')]


class _Bytes(ctypes.Structure):
    """An rcutils_uint8_array_t."""

    _fields_ = [('buffer', ctypes.c_void_p), ('length', ctypes.c_size_t),
                ('capacity', ctypes.c_size_t), ('allocator', _Allocator)]


class _Info(ctypes.Structure):
    """An rmw_message_info_t, and room for what it may become."""

    _fields_ = [('source_timestamp', ctypes.c_int64), ('received_timestamp', ctypes.c_int64),
                ('publication_sequence_number', ctypes.c_uint64),
                ('reception_sequence_number', ctypes.c_uint64),
                ('implementation', ctypes.c_void_p), ('gid', ctypes.c_ubyte * GID_BYTES),
                ('more', ctypes.c_ubyte * 64)]


class _Taker:
    """Takes serialized messages by rcl, into a buffer that it keeps."""

    def __init__(self) -> None:
        # The compiled module of rclpy finds what it is linked against.
        library = ctypes.CDLL(sys.modules[InvalidHandle.__module__].__file__)
        library.rcutils_get_default_allocator.restype = _Allocator
        self._bytes, self._info = _Bytes(), _Info()
        # With types and addresses it takes half of the time to see that nothing waits.
        self._take = library.rcl_take_serialized_message
        self._take.argtypes = [ctypes.c_void_p] * 4
        self._into = ctypes.addressof(self._bytes), ctypes.addressof(self._info), None
        allocator = library.rcutils_get_default_allocator()
        if library.rcutils_uint8_array_init(ctypes.byref(self._bytes), ctypes.c_size_t(0),
                                            ctypes.byref(allocator)) != RCL_OK:
            raise OSError('rcl gives no buffer')

    def take(self, subscription: Subscription) -> tuple[bytes, MessageInfo] | None:
        with subscription.handle:
            if self._take(subscription.handle.pointer, *self._into) != RCL_OK:
                return None
        info = self._info
        return ctypes.string_at(self._bytes.buffer, self._bytes.length), {
            'source_timestamp': info.source_timestamp,
            'received_timestamp': info.received_timestamp,
            'publication_sequence_number': info.publication_sequence_number,
            'writer': bytes(info.gid), 'host': host_of(bytes(info.gid))}


@cache
def _taker_of(_thread: int) -> _Taker | None:
    try:
        return _Taker()
    except (OSError, AttributeError):  # another implementation of rclpy
        return None


_with_origin: WeakSet[Subscription] = WeakSet()
_requests: dict[int, tuple[Service, Any]] = {}  # those that are being answered


def tell_origin(subscription: Subscription) -> Subscription:
    """Have ``writer`` and ``host`` in what the callback of a subscription is told of messages."""
    _with_origin.add(subscription)
    return subscription


def take_message(subscription: Subscription) -> tuple[Any, MessageInfo] | None:
    """Return the next message that waits and can be read, and what the middleware says of it."""
    taker = _taker_of(get_ident()) if subscription in _with_origin else None
    if taker is None:
        with subscription.handle:
            return subscription.handle.take_message(subscription.msg_type, subscription.raw)
    while (taken := taker.take(subscription)) is not None and not subscription.raw:
        with suppress(RuntimeError):  # bytes that are no such message: dropped, as by rclpy
            return deserialize_message(taken[0], subscription.msg_type), taken[1]
    return taken


@contextmanager
def being_answered(request: Any, service: Service, header: Any) -> Iterator[None]:
    """Have :func:`request_origin` know a request inside the block."""
    _requests[id(request)] = service, header
    try:
        yield
    finally:
        del _requests[id(request)]


def request_origin(node: Node, request: Any) -> tuple[int, set[bytes]]:
    """
    Return when a request was sent, by the clock of its sender (ns), and which hosts may have.

    0 and none where that is not known.
    """
    service, header = _requests.get(id(request), (None, None))
    sent = getattr(header, 'source_timestamp', 0)
    if sent <= 0:
        return 0, set()
    return sent, {host_of(bytes(writer.endpoint_gid)) for writer in
                  node.get_publishers_info_by_topic(f'rq{service.service_name}Request',
                                                    no_mangle=True)}


def timed_goal_id(node: Node, action: str) -> UUID:
    """
    Return an identifier for the goal of an action, which says when and on which host it was made.

    Of a request the server is told when it was sent, of the goal of an action it is not.  The
    host is there by a checksum, as other clients have random numbers in all places.
    """
    own = [host_of(bytes(writer.endpoint_gid)) for writer in _clients(node, action)
           if (writer.node_name, writer.node_namespace) == (node.get_name(), node.get_namespace())]
    ms, ns = divmod(time_ns(), 10**6)
    return UUID(uuid=[*(ms << 80 | TIME_VERSION << 76 | (ns << 12) // 10**6 << 64 | VARIANT << 62
                        | getrandbits(30) << 32 | crc32(own[0] if own else b'')
                        ).to_bytes(16, 'big')])


def goal_origin(node: Node, action: str, goal_id: UUID) -> tuple[int, set[bytes]]:
    """Return what :func:`request_origin` does, of the goal of an action that has a timed id."""
    number = int.from_bytes(bytes(goal_id.uuid), 'big')
    if number >> 76 & 0xf != TIME_VERSION or number >> 62 & 0b11 != VARIANT:
        return 0, set()
    hosts = {host for writer in _clients(node, action)
             if crc32(host := host_of(bytes(writer.endpoint_gid))) == number & 0xffffffff}
    sent = (number >> 80) * 10**6 + ((number >> 64 & 0xfff) * 10**6 >> 12)
    return (sent, hosts) if hosts else (0, set())


def _clients(node: Node, action: str) -> list[TopicEndpointInfo]:
    """Return who may send goals of an action."""
    name = node.resolve_service_name(f'{action}/_action/send_goal')
    return node.get_publishers_info_by_topic(f'rq{name}Request', no_mangle=True)
