# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Move an arm: a pose, a straight line, joints, and what cannot be reached.

``python3 arm_moves.py``, with a node and a controller running, here for the arm of this package.
"""

from math import pi

from ik_node.client import Arm, GoalNotReachedError

DOWN = (pi, 0.0, 0.0)  # roll, pitch, yaw of a tool that points down, rad


def main() -> None:
    """Move four times."""
    with Arm() as arm:
        print(arm.move([0.4, 0.1, 0.4], rpy=DOWN).wait().message)
        print(arm.line([0.4, -0.1, 0.4], rpy=DOWN).wait().message)
        print(arm.joints({'joint_1': 0.0, 'joint_5': 0.8}).wait().message)
        try:
            arm.move([4.0, 0.0, 0.4], rpy=DOWN).wait()
        except GoalNotReachedError as error:
            print(error)


if __name__ == '__main__':
    main()
