# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The command ik_node stop: bring the arm to rest."""

from __future__ import annotations

import argparse
from functools import partial
import sys

from rclpy.node import Node

from ik_node.base.text import printable
from ik_node.ros.middleware.handshake import wait_for
from ik_node.ros.middleware.process import run_tool
from ik_node.ros.repeated_stop import PATIENCE_S, RepeatedStop
from ik_node.tools.arguments.stop import parse


def main() -> None:
    """Run the command."""
    options = parse(sys.argv[1:])
    run_tool('stop', partial(_run, options=options))


def _run(node: Node, options: argparse.Namespace) -> int:
    answers: list = []
    RepeatedStop(node, options.node, search_time=PATIENCE_S).begin(answers.append)
    wait_for(node, lambda: answers, PATIENCE_S + 1.0)
    if answers and answers[0].success:
        print(printable(answers[0].message))
        return 0
    why = printable(answers[0].message) if answers else 'no answer came'
    print(f'the arm may still move: {why}', file=sys.stderr)
    return 1
