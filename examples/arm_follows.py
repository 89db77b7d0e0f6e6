# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Have an arm follow a moving target: half a circle in front of it.

``python3 arm_follows.py``, with a node and a controller running, here for the arm of this package.
"""

from math import cos, pi, sin
from time import monotonic, sleep

from ik_node.client import Arm

CENTRE_M = (0.45, 0.0, 0.4)  # in the base link
RADIUS_M = 0.05
DURATION_S = 3.0
PERIOD_S = 0.01
DOWN = (pi, 0.0, 0.0)        # roll, pitch, yaw, rad


def target_at(share: float) -> tuple[float, float, float]:
    """Return where the target is after a share of the time, m; it begins and ends at rest."""
    angle = pi * 0.5 * (1.0 - cos(pi * share))
    return CENTRE_M[0], CENTRE_M[1] + RADIUS_M * sin(angle), CENTRE_M[2] + RADIUS_M * cos(angle)


def main() -> None:
    """Move to the start, then follow."""
    with Arm() as arm:
        arm.move(target_at(0.0), rpy=DOWN).wait()
        with arm.stream() as stream:
            begin = monotonic()
            while (share := (monotonic() - begin) / DURATION_S) < 1.0:
                stream.send(target_at(share), rpy=DOWN)
                sleep(PERIOD_S)
        print(stream.wait())


if __name__ == '__main__':
    main()
