# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The simulated controller beside the real one: the same trajectories, cycle by cycle.

    python -m benchmarks.takeover.compare

The real joint_trajectory_controller runs on mock hardware.  In each case it is given a motion
and, during it, another trajectory.  What its joint_states show in each cycle is compared with
what our simulated controller does in the same cycles; in which cycle the real one took each
message is not known, so the one that fits best is taken.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
import os
from pathlib import Path
import sys
from tempfile import TemporaryDirectory

from builtin_interfaces.msg import Duration
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from benchmarks.takeover.controllers import MissingController, real_controller, ROOT, spin_for
from ik_node.kinematics.arm import load_urdf
from ik_node.motion.action_goal import Tolerances
from ik_node.ros.middleware.process import leave
from ik_node.simulation.controller import ControllerOptions, SimulatedController

URDF = ROOT / 'urdf/six_axis_arm.urdf'
READY = [0.0, 0.3, -0.4, 0.0, 1.0, 0.0]
RATE_HZ = 100.0
TOLERANCE_RAD = 0.1
SEARCHED_CYCLES = 12   # after a message was sent, in which it may have been taken
SAME_RAD = 1e-4        # the cycles of the real one are not exact, and its stamps are rounded


@dataclass(frozen=True)
class Case:
    """
    One second trajectory.

    `stamp` (s) is relative to the time of sending, None for 0; `first` (s) is the time of its
    first point, `jump` (rad) how far from the present motion its points are; `carries` says
    what its points have: p, v, a.
    """

    name: str
    stamp: float | None = None
    first: float = 0.2
    jump: float = 0.0
    carries: str = 'pva'


CASES = (
    Case('stamp 0'),
    Case('stamp 0, positions and velocities', carries='pv'),
    Case('stamp 0, positions', carries='p'),
    Case('stamp 0, first point at 0', first=0.0),
    Case('stamp 50 ms ago', -0.05),
    Case('stamp 50 ms ago, first point at 0', -0.05, 0.0),
    Case('stamp 200 ms ahead', 0.2),
    Case('stamp 0, jump of 0.3 rad within 20 ms', first=0.02, jump=0.3),
    Case('stamp 0, jump of 0.3 rad at 0', first=0.0, jump=0.3),
    Case('stamp 50 ms ago, jump of 0.3 rad at 0', -0.05, 0.0, 0.3),
)


class Witness(Node):
    """Sends trajectories, and keeps what the controller commands."""

    def __init__(self, joints: tuple[str, ...]) -> None:
        super().__init__('takeover_compare')
        self.joints = joints
        self.cycles: list[tuple[float, list[float], list[float]]] = []
        self.create_subscription(JointState, 'joint_states', self._on_state,
                                 QoSProfile(depth=10_000))

    def _on_state(self, message: JointState) -> None:
        order = [message.name.index(name) for name in self.joints]
        stamp = message.header.stamp
        self.cycles.append((stamp.sec + 1e-9 * stamp.nanosec,
                            [message.position[k] for k in order],
                            [message.velocity[k] for k in order]))

    def trajectory(self, points: list[tuple[float, float]], case: Case) -> JointTrajectory:
        """Return a trajectory of joint 1 through points (s, rad); it comes to rest at each."""
        message = JointTrajectory(joint_names=list(self.joints))
        for t, q in points:
            point = JointTrajectoryPoint(
                positions=[q, *READY[1:]],
                time_from_start=Duration(sec=int(t), nanosec=round(1e9 * (t % 1.0))))
            if 'v' in case.carries:
                point.velocities = [0.0] * len(self.joints)
            if 'a' in case.carries:
                point.accelerations = [0.0] * len(self.joints)
            message.points.append(point)
        if case.stamp is not None:
            time = self.get_clock().now().nanoseconds + round(1e9 * case.stamp)
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(time, 10**9)
        return message


def recorded(witness: Witness, publisher, case: Case):
    """Run a case on the real controller; return the cycles and the messages with their times."""
    home = witness.trajectory([(0.8, 0.0)], Case(''))
    publisher.publish(home)
    spin_for(witness, 1.2)
    witness.cycles.clear()
    spin_for(witness, 0.1)  # the last command before counts
    sent = []
    for points, options, wait in (
            ([(2.0, 1.0)], Case(''), 0.9),
            ([(case.first, case.jump + 0.4), (case.first + 1.0, case.jump + 0.6)], case, 1.8)):
        message = witness.trajectory(points, options)
        sent.append((1e-9 * witness.get_clock().now().nanoseconds, message))
        publisher.publish(message)
        spin_for(witness, wait)
    return witness.cycles[:], sent


def simulated(joints, stamps, q, desired, taken) -> np.ndarray:
    """Return the positions (N, n) of our controller; `taken` has the message of a cycle."""
    controller = SimulatedController(
        joints, np.zeros(len(joints), dtype=bool), q,
        ControllerOptions(interpolate_from_desired_state=desired))
    controller.tolerances = Tolerances(np.full(len(joints), TOLERANCE_RAD),
                                       np.zeros(len(joints)), 0.0)
    found = []
    for k, stamp in enumerate(stamps):
        if k in taken:
            why = controller.offer(taken[k], stamp)
            if why:
                sys.exit(f'ours refuses a trajectory: {why}')
        found.append(controller.update(stamp, 1.0 / RATE_HZ).q)
    return np.array(found)


def compared(joints, cycles, sent, desired) -> float:
    """Return the largest difference (rad) between what both commanded."""
    stamps, q, qd = map(np.array, zip(*cycles))
    # What the real one shows was due a period after the cycle before, ours is at its stamp.
    q[1:] += qd[1:] * (np.diff(stamps) - 1.0 / RATE_HZ)[:, None]
    chosen: dict[int, JointTrajectory] = {}
    for number, (time, message) in enumerate(sent):
        until = sent[number + 1][0] if number + 1 < len(sent) else np.inf
        first = int(np.searchsorted(stamps, time))
        errors = {}
        for k in range(first, min(first + SEARCHED_CYCLES, len(stamps))):
            way = simulated(joints, stamps, q[0], desired, {**chosen, k: message})
            inside = stamps < until
            errors[k] = np.abs(way - q)[inside].max()
        best = min(errors, key=errors.get)
        chosen[best] = message
    return errors[best]


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(prog='python -m benchmarks.takeover.compare', description=__doc__,
                            formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    rclpy.init()
    joints = load_urdf(URDF).joint_names
    code = 0
    print('| begins at | second trajectory | largest difference, rad |\n|---|---|---|')
    for desired in (False, True):
        witness = Witness(joints)
        try:
            with TemporaryDirectory() as folder, real_controller(
                    witness, Path(folder), URDF, joints, READY, RATE_HZ,
                    interpolate_from_desired_state=desired, constraints={
                        name: {'trajectory': TOLERANCE_RAD} for name in joints}) as controller:
                publisher = witness.create_publisher(
                    JointTrajectory, f'{controller}/joint_trajectory', 10)
                spin_for(witness, 1.0)
                for case in CASES:
                    difference = compared(joints, *recorded(witness, publisher, case), desired)
                    print(f'| {"last command" if desired else "measured state"} | {case.name} | '
                          f'{difference:.1e} |', flush=True)
                    code |= difference > SAME_RAD
        except MissingController as error:
            sys.exit(str(error))
        finally:
            witness.destroy_node()
    leave(rclpy.create_node('takeover_compare_end'), int(code))


if __name__ == '__main__':
    main()
