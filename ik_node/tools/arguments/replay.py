# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of ik_replay."""

from __future__ import annotations

import argparse
from pathlib import Path

REPLAY_DESCRIPTION = """
Repeat what ik_node asked of its solver and its planners for a goal, from the file that it
recorded, and compare the outcomes bit for bit. Neither a robot nor ROS is needed.
"""


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='ik_replay', description=REPLAY_DESCRIPTION,
        epilog='exit code: 0 all is the same, 1 something differs, 2 the file cannot be used')
    parser.add_argument('file', type=Path, metavar='FILE',
                        help='goal-ID.json.gz in the folder of the parameter record.folder; ID is '
                             'in each answer of the goal')
    return parser.parse_args(argv)
