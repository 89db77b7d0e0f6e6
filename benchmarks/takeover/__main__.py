# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
New goals sent into a motion: what the controller's own output does, cycle by cycle.

    python -m benchmarks.takeover              # the real joint_trajectory_controller
    python -m benchmarks.takeover --simulated  # ours

The real one runs on mock hardware that mirrors what it is commanded, so joint_states shows
each of its commands.  It needs ros2_control, ros2_controllers and, for the action,
control_msgs.  Beside the steps it measures how long after a goal the new motion begins.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
import os
from pathlib import Path
import sys
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from benchmarks.takeover.controllers import (
    MissingController,
    real_controller,
    ROOT,
    ros_program,
    simulated_controller,
    spin_for,
)
from benchmarks.takeover.judge import Findings, judge, judge_states, UnseenError
from ik_node.kinematics.arm import load_urdf
from ik_node.motion.trajectory.sampling import states_at
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.ros.middleware.handshake import greet
from ik_node.ros.middleware.process import leave

URDF = ROOT / 'urdf/six_axis_arm.urdf'
READY = [0.0, 0.3, -0.4, 0.0, 1.0, 0.0]
SPREAD = (1.2, 0.25, 0.25, 0.8, 0.5, 0.8)  # rad, of the goals about READY
ACCELERATION = 2.0                         # rad/s^2, as config/ik_node.yaml has it
COLD_START_S = 300.0                       # the first node of a machine compiles
SAME_MOTION_RAD = 1e-3                     # nearer to it, the arm is still on a motion
BEGIN_SPAN_S = 0.15                        # a controller begins so much earlier or later at most
BEGIN_STEP_S = 5e-4


class Recorder(Node):
    """
    Sends goals, and keeps what the controller commands and is sent.

    Attributes
    ----------
    cycles : list of (float, list, list)
        Stamp (s), positions and velocities of each joint state.
    sent : list of (float, JointTrajectory)
        Trajectories on the topic, and when they came (s).

    """

    def __init__(self, joints: tuple[str, ...]) -> None:
        super().__init__('takeover')
        self._joints = joints
        self.cycles: list[tuple[float, list[float], list[float]]] = []
        self.sent: list[tuple[float, JointTrajectory]] = []
        self.goals = self.create_publisher(JointState, '/ik_node/goal_joints', 10)
        self.create_subscription(JointState, 'joint_states', self._on_state, QoSProfile(
            depth=10_000))

    def listen(self, controller: str) -> None:
        """Keep the trajectories of a controller, too."""
        self.create_subscription(JointTrajectory, f'{controller}/joint_trajectory',
                                 lambda message: self.sent.append((self.now(), message)), 10)

    def now(self) -> float:
        """Return the time (s) of the system's clock."""
        return 1e-9 * self.get_clock().now().nanoseconds

    def _on_state(self, message: JointState) -> None:
        order = [message.name.index(name) for name in self._joints]
        stamp = message.header.stamp
        self.cycles.append((stamp.sec + 1e-9 * stamp.nanosec,
                            [message.position[k] for k in order],
                            [message.velocity[k] for k in order]))

    def go(self, q: np.ndarray) -> float:
        """Send a goal for the joints (n,); return when (s)."""
        message = JointState(name=list(self._joints), position=q.tolist())
        message.header.stamp = self.get_clock().now().to_msg()
        self.goals.publish(message)
        return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def measured(recorder: Recorder, goals: int) -> tuple[list[Findings], list[float]]:
    """
    Send goals, each into the motion of the one before; return findings and delays (s).

    Motions of which nothing was recorded have no findings.
    """
    # Ours shows at a stamp where the arm is; the real one what it commanded in the cycle before.
    judged = judge if recorder.simulated else judge_states
    random = np.random.default_rng(0)
    recorder.go(np.add(READY, SPREAD))
    spin_for(recorder, 0.8)
    asked = []
    for side in np.resize([1.0, -1.0], goals):
        asked.append(recorder.go(np.array(READY)
                                 - side * random.uniform(0.5, 1.0) * np.array(SPREAD)))
        spin_for(recorder, random.uniform(0.4, 0.8))
    stamps, q, qd = map(np.array, zip(*recorder.cycles))
    found, delays = [], []
    for begin, end in zip(asked, [*asked[1:], np.inf]):
        chosen = (stamps >= begin) & (stamps < end)
        with suppress(UnseenError):
            found.append(judged(stamps[chosen], q[chosen], qd[chosen], recorder.rate,
                                ACCELERATION))
        before = [sent for sent in recorder.sent if sent[0] < begin]
        if before:
            chosen = (stamps > before[-1][0]) & (stamps < end)
            delays.append(leaves(*before[-1], stamps[chosen], q[chosen], begin) - begin)
    return found, delays


def leaves(came: float, message: JointTrajectory, stamps: np.ndarray, q: np.ndarray,
           asked: float) -> float:
    """
    Return when (s) the arm leaves a motion for the one that was asked for.

    Parameters
    ----------
    came : float
        When its trajectory came (s).
    message : JointTrajectory
        The trajectory of the motion that is left.
    stamps, q : (N,) and (N, n) arrays
        What was measured since then.
    asked : float
        When the new goal was sent (s).

    """
    trajectory = as_trajectory(message)
    stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec

    def apart(begin: float) -> np.ndarray:
        there = states_at(trajectory, np.clip(stamps - begin, 0.0, trajectory.duration))
        return np.abs(there[:, 0] - q).max(axis=1)

    # Where on the motion the controller was before the goal came tells when it began it.
    followed = (stamps > stamps[0] + BEGIN_SPAN_S) & (stamps < asked)
    begin = min((stamp or came) + np.arange(-BEGIN_SPAN_S, BEGIN_SPAN_S, BEGIN_STEP_S),
                key=lambda t: apart(t)[followed].max())
    on_it = np.flatnonzero((apart(begin) < SAME_MOTION_RAD) & (stamps > asked))
    return stamps[on_it[-1]] if len(on_it) else asked


def as_trajectory(message: JointTrajectory) -> Trajectory:
    """Return a message as a Trajectory."""
    q, qd, qdd = (np.array([getattr(point, name) for point in message.points])
                  for name in ('positions', 'velocities', 'accelerations'))
    times = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec
                      for p in message.points])
    return Trajectory(tuple(message.joint_names), MotionState(q[0], qd[0], qdd[0]), times, q, qd,
                      qdd)


@contextmanager
def system(options: argparse.Namespace, rate: float, output: str) -> Iterator[Recorder]:
    """Run controller, node and recorder."""
    joints = load_urdf(URDF).joint_names
    recorder = Recorder(joints)
    recorder.rate, recorder.simulated = rate, options.simulated
    run = simulated_controller if options.simulated else real_controller
    try:
        with TemporaryDirectory() as name, \
                run(recorder, Path(name), URDF, joints, READY, rate) as controller, \
                ros_program('ik_node', Path(name), {
                    'urdf_file': URDF, 'controller': controller, 'output': output},
                    package=options.package):
            recorder.listen(controller)
            if not greet(recorder, '/ik_node', COLD_START_S, recorder.goals):
                raise MissingController('ik_node does not start: '
                                        + Path(name, 'ik_node.log').read_text())
            # Beside the compiler, in a fresh tree, little would be recorded.
            end = monotonic() + COLD_START_S
            while 'all kernels are compiled' not in Path(name, 'ik_node.log').read_text() \
                    and monotonic() < end:
                spin_for(recorder, 0.2)
            spin_for(recorder, 1.0)
            yield recorder
    finally:
        recorder.destroy_node()


def row(rate: float, output: str, found: list[Findings], delays: list[float]) -> str:
    """Return a row of the table."""
    steps = sorted((f.step for f in found), reverse=True)
    allowed = max(f.allowed for f in found)
    begins = f'{1e3 * np.median(delays):.0f} / {1e3 * max(delays):.0f}' if delays else '-'
    return (f'| {rate:g} Hz, {output} | '
            + ', '.join(f'{1e3 * step:.3f}' for step in steps[:3])
            + f' | {1e3 * allowed:.3f} | {sum(f.backward for f in found)} | '
            f'{max(f.velocity_step for f in found):.2f} | {sum(f.cycles for f in found)} | '
            f'{begins} |')


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.takeover', description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--simulated', action='store_true', help='our simulated controller')
    parser.add_argument('--rates', type=float, nargs='+', default=[100.0, 500.0], metavar='HZ')
    parser.add_argument('--outputs', nargs='+', choices=('topic', 'action'),
                        default=['topic', 'action'])
    parser.add_argument('--goals', type=int, default=14)
    parser.add_argument('--package', type=Path, default=ROOT,
                        help='a tree whose ik_node is measured, instead of this one')
    options = parser.parse_args()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    rclpy.init()
    print('| update rate, output | largest steps beyond velocity x cycle, mrad | allowed, mrad | '
          'cycles backwards | largest step of a velocity, rad/s^2 | cycles judged | '
          'goal to begin, ms: median / longest |\n' + '|---' * 7 + '|')
    code = 0
    for rate in options.rates:
        for output in options.outputs:
            if output == 'action' and find_spec('control_msgs') is None:
                print(f'| {rate:g} Hz, action | control_msgs is not installed |' + ' |' * 5)
                continue
            try:
                with system(options, rate, output) as recorder:
                    found, delays = measured(recorder, options.goals)
            except MissingController as error:
                sys.exit(str(error))
            unseen = options.goals - len(found)
            if found:
                print(row(rate, output, found, delays), flush=True)
            if unseen:
                print(f'of {unseen} of {options.goals} motions nothing was recorded: the machine '
                      'is too busy', file=sys.stderr)
            code |= unseen > 0 or any(f.faults(ACCELERATION) for f in found)
    node = rclpy.create_node('takeover_end')
    leave(node, code)


if __name__ == '__main__':
    main()
