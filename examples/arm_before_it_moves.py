# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Ask whether a pose can be reached, and by which postures; nothing moves.

``python3 arm_before_it_moves.py``, with a node and a controller running.
"""

from ik_node.client import Arm


def main() -> None:
    """Look at a pose 10 cm above the tip, and at one that is too far away."""
    with Arm() as arm:
        T = arm.tip_pose.copy()
        for height in (0.1, 5.0):
            T[2, 3] += height
            report = arm.preview(T).wait(10.0)
            print(f'{height} m up: {report.colour}, {report.message}')
        T[2, 3] -= 5.0
        for posture in arm.postures(T):
            print(posture.q.round(2), posture.labels)


if __name__ == '__main__':
    main()
