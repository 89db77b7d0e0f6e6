# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What runs on the hosts of lossy_network: a client that stops what it began, and a witness."""

import json
from random import Random
import sys
from time import monotonic, sleep

import numpy as np
import rclpy
from sensor_msgs.msg import JointState

from ik_node.client import Arm, ClientError, GoalHandle, GoalNotReachedError

POSTURES = [0.0, 0.3, -0.4, 0.0, 1.0, 0.0], [1.0, -0.2, -0.2, 0.5, 0.6, 0.5]
PATIENCE_S = 60.0
RAMP_S = 0.6  # until every ramp is over


def connected() -> Arm:
    """Return the arm, once the processor is free to start the node."""
    end = monotonic() + PATIENCE_S
    while True:
        try:
            return Arm(timeout=PATIENCE_S)
        except ClientError:
            if monotonic() > end:
                raise


def begin(arm: Arm) -> list[float]:
    """Move to the first posture, once the controller is there; return another."""
    end = monotonic() + PATIENCE_S
    while True:
        try:
            arm.joints(POSTURES[0]).wait(PATIENCE_S)
            return farther(arm)
        except GoalNotReachedError:
            if monotonic() > end:
                raise
            sleep(0.2)


def client(tries: int, seed: int, patience: int) -> None:
    """
    Send goals, stop each of them soon after, and say when and what was answered.

    The answer to a goal may come after `patience` (s): then it is not waited for.
    """
    draw = Random(seed)
    with connected() as arm:
        begin(arm)
        print(json.dumps('ready'), flush=True)
        sys.stdin.readline()
        for _ in range(tries):
            after = draw.choice([0.02, 0.02, draw.uniform(0.02, 1.0)])
            sent, goal = sent_goal(arm)
            sleep(after)
            asked = monotonic()
            stop = arm.stop()
            stop.wait(PATIENCE_S)
            answered = monotonic()
            while not goal.done and monotonic() < answered + patience:
                sleep(0.01)
            print(json.dumps({
                'sent': sent, 'stop': asked, 'answered': answered,
                'state': goal.result.state if goal.done else '',
                'sentence': goal.result.message if goal.done else stop.result}), flush=True)
            sleep(RAMP_S)


def sent_goal(arm: Arm) -> tuple[float, GoalHandle]:
    """Send a goal; return when, and the goal.  The client may miss its node for a while."""
    end = monotonic() + PATIENCE_S
    while True:
        try:
            sent = monotonic()
            return sent, arm.joints(farther(arm))
        except ClientError:
            if monotonic() > end:
                raise


def farther(arm: Arm) -> list[float]:
    """Return the posture to which the way is longer."""
    return max(POSTURES, key=lambda posture: np.abs(arm.q - posture).max())


def witness() -> None:
    """Write when each joint state came, and how fast the fastest joint was."""
    rclpy.init()
    node = rclpy.create_node('witness')

    def take(message: JointState) -> None:
        print(f'{monotonic():.4f} {max(map(abs, message.velocity)):.5f} '
              + ' '.join(f'{value:.5f}' for value in message.position))

    node.create_subscription(JointState, 'joint_states', take, 1000)
    rclpy.spin(node)


if __name__ == '__main__':
    {'client': lambda: client(*map(int, sys.argv[2:])), 'witness': witness}[sys.argv[1]]()
