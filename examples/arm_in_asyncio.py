# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Move an arm from a program that does other things at the same time.

``python3 arm_in_asyncio.py``, with a node and a controller running, here for the arm of this
package.
"""

import asyncio

from ik_node.client import Arm

LOOK_PERIOD_S = 0.2


async def watch(arm: Arm) -> None:
    """Print where the tip is, until the task is cancelled."""
    while True:
        print('tip', arm.tip_pose[:3, 3].round(3))
        await asyncio.sleep(LOOK_PERIOD_S)


async def main() -> None:
    """Move there and back."""
    with Arm() as arm:
        watching = asyncio.create_task(watch(arm))
        for angle in (0.5, 0.0):
            answer = await arm.joints({'joint_1': angle})
            print(answer.message)
        watching.cancel()


if __name__ == '__main__':
    asyncio.run(main())
