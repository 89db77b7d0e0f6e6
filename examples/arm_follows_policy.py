# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Have an arm do what a policy says, one chunk of timed poses after another.

``python3 arm_follows_policy.py``, with a node and a controller running, here for the arm of this
package.  The policy is a recording, demonstration.csv; put your own in place of `infer`.
"""

from pathlib import Path
from time import sleep

import numpy as np

from ik_node.client import Arm

# Rows of t, x, y, z, qx, qy, qz, qw, gripper: s, m in the base link, and the opening in m.
DEMONSTRATION = np.loadtxt(Path(__file__).with_name('demonstration.csv'), delimiter=',',
                           skiprows=1)
PERIOD_S = 0.05     # between two rows
HORIZON = 20        # rows of a chunk
INFERENCE_S = 0.15  # that a policy takes
EXECUTED_S = 0.3    # until the next inference begins


def infer(seconds: float) -> np.ndarray:
    """Return the next HORIZON rows after some time, as a policy does by what it sees."""
    sleep(INFERENCE_S)
    first = int(seconds / PERIOD_S) + 1
    return DEMONSTRATION[first:first + HORIZON, 1:]


def main() -> None:
    """Move to the start, then follow the policy to its end."""
    with Arm() as arm:
        arm.move(DEMONSTRATION[0, 1:8]).wait()
        with arm.chunks() as chunks:
            begin = chunks.now
            # What is due while it is inferred is past then; the last poses were sent before.
            while len(actions := infer((seen := chunks.now) - begin)) * PERIOD_S > EXECUTED_S:
                chunks.send(actions[:, :7], period=PERIOD_S, since=seen, gripper=actions[:, 7])
                sleep(EXECUTED_S)
        print(chunks.wait())


if __name__ == '__main__':
    main()
