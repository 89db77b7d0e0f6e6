# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Put objects around an arm, which then moves round them.

``python3 arm_and_objects.py``, with a node and a controller running, here for the arm of this
package.
"""

from ik_node.client import Arm, GoalNotReachedError

LEFT, RIGHT = ([side, 0.6, 0.4, 0.0, 0.6, 0.0] for side in (0.9, -0.9))


def main() -> None:
    """Move from the left to the right, past a post in between."""
    with Arm() as arm:
        arm.joints(LEFT).wait()
        arm.scene.add_box('post', [0.1, 0.1, 1.4], [0.45, 0.0, 0.7]).wait()
        try:
            print(arm.joints(RIGHT).wait(60.0).message)
        except GoalNotReachedError as error:  # there is no detour, or it may not be planned
            print(error)
        finally:
            arm.scene.remove('post').wait()


if __name__ == '__main__':
    main()
