# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The ROS context of clients in plain scripts.

It is none of rclpy's default context: rclpy's handlers of signals would end that one before the
arm could be stopped.  All clients of a process share it, and a hidden node keeps its DDS
participant, so that the second client need not discover anything again.
"""

from __future__ import annotations

import itertools
from threading import Lock

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

KEEPER_NAME = '_arm_client_keeper'

_context_lock = Lock()
_keepers: dict[Context, Node] = {}
_numbers = itertools.count(1)


def shared_context() -> Context:
    """Return the context of the clients that have no node of the caller."""
    with _context_lock:
        for context in _keepers:
            if context.ok():
                return context
        context = new_context()
        _keepers[context] = rclpy.create_node(KEEPER_NAME, context=context, enable_rosout=False,
                                              start_parameter_services=False)
        return context


def new_context() -> Context:
    """Return a context of its own, without handlers of signals."""
    context = Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    return context


def next_number() -> int:
    """Return a number that no other client of this process has."""
    return next(_numbers)
