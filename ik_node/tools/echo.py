# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The command ik_node echo: print the messages of a topic."""

from __future__ import annotations

import argparse
from functools import partial
import json
import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
import yaml

from ik_node.ros.messages.conversion import message_class
from ik_node.ros.messages.kept_goals import plain_message
from ik_node.ros.messages.status_messages import plain_values, values_of
from ik_node.ros.middleware.handshake import wait_for
from ik_node.ros.middleware.process import run_tool
from ik_node.tools.arguments.echo import parse

QUEUE_DEPTH = 1000
SETTLE_S = 0.5  # until all kept messages of a topic are here


def main() -> None:
    """Run the command."""
    options = parse(sys.argv[1:])
    run_tool('echo', partial(_run, options=options))


def _run(node: Node, options: argparse.Namespace) -> int:
    topic = node.resolve_topic_name(
        options.topic if options.topic.startswith('/') else f'{options.node}/{options.topic}')

    def types() -> list[str]:
        return next((kinds for name, kinds in node.get_topic_names_and_types() if name == topic),
                    [])

    if not wait_for(node, lambda: types() and node.count_publishers(topic), options.timeout):
        print(f'echo: nobody publishes {topic}; is its node running, in this ROS_DOMAIN_ID and '
              'namespace (--node)?', file=sys.stderr)
        return 1
    heard: list[Any] = []
    node.create_subscription(message_class(types()[0].replace('/msg/', '/')), topic,
                             heard.append, _matching_qos(node, topic))
    if not wait_for(node, lambda: heard, options.timeout):
        print(f'echo: nothing came on {topic} within {options.timeout:g} s', file=sys.stderr)
        return 1
    wait_for(node, lambda: False, SETTLE_S)
    del heard[:-1]  # older ones that were kept
    while True:
        while heard:
            _print(heard.pop(0), options.json)
            if options.once:
                return 0
        wait_for(node, lambda: heard, options.timeout)


def _matching_qos(node: Node, topic: str) -> QoSProfile:
    """Return the QoS that every publisher of a topic offers."""
    offered = [end.qos_profile for end in node.get_publishers_info_by_topic(topic)]
    return QoSProfile(
        depth=QUEUE_DEPTH,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if all(
            qos.durability == DurabilityPolicy.TRANSIENT_LOCAL for qos in offered)
        else DurabilityPolicy.VOLATILE,
        reliability=ReliabilityPolicy.RELIABLE if all(
            qos.reliability == ReliabilityPolicy.RELIABLE for qos in offered)
        else ReliabilityPolicy.BEST_EFFORT)


def _print(message: Any, as_json: bool) -> None:
    if isinstance(message, DiagnosticStatus):
        plain = {'message': message.message, **plain_values(values_of(message))}
    else:
        plain = plain_message(message)
    if as_json:
        print(json.dumps(plain), flush=True)
    else:
        print(yaml.safe_dump(plain, sort_keys=False, default_flow_style=None, width=10_000)
              + '---', flush=True)
