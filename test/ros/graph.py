# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
What a node has on the ROS graph, as a process tells it that has just come.

A participant may keep an ended node on its graph for good, and of two nodes of one name it shows
either (rmw_dds_common); who has just come knows none that has ended.
"""

from contextlib import contextmanager
import json
import subprocess
import sys

import rclpy
from rclpy.node import NodeNameNonExistentError

KINDS = 'publisher', 'subscriber', 'service', 'client'


@contextmanager
def graph():
    """
    Yield a function of a node's name.

    It returns what this node in the root namespace has as {(kind, name): type}, None if there is
    no such node.
    """
    running = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(name):
        running.stdin.write(f'{name}\n')
        running.stdin.flush()
        told = json.loads(running.stdout.readline())
        return told and {(kind, topic): type_ for kind, topic, type_ in told}

    with running:
        try:
            yield ask
        finally:
            running.kill()


def all_of(probe, name):
    """Return what a node has, as `graph` does, once it has something and no more is discovered."""
    with graph() as ask:
        probe.wait(lambda: ('service', f'/{name}/list_parameters') in (ask(name) or ()), 60.0)
        before, now = None, ask(name)
        while before != now:
            probe.spin_for(1.0)
            before, now = now, ask(name)
    return now


def main():
    """Answer each line."""
    rclpy.init()
    node = rclpy.create_node('_graph', start_parameter_services=False)
    for line in sys.stdin:
        try:
            told = [(kind, topic, types[0]) for kind in KINDS for topic, types in getattr(
                node, f'get_{kind}_names_and_types_by_node')(line.strip(), '/')]
        except NodeNameNonExistentError:
            told = None
        print(json.dumps(told), flush=True)


if __name__ == '__main__':
    main()
