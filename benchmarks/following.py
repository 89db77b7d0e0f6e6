# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How well the arm follows a moving target: a circle of 0.2 m radius at 0.25 m/s.

    python3 -m benchmarks.following [--urdf FILE] [--memory 0.03] [--gain 10]

The poses come late by a random time, some are lost, some overtake each other.
Trajectories are sent at 100 Hz, 0 to 2 ms late, to a simulated controller of each
kind (500 Hz), to be joined, or with --on-arrival with stamp zero.  Errors are between
the tip and the target at the same instant: of the commands as planned, and of what the
controllers make of them.
"""

import argparse
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace

import numpy as np

from ik_node.base.se3 import distance
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.options import FollowOptions
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.simulation.controller import ControllerOptions, SimulatedController

RADIUS, SPEED = 0.2, 0.25      # m, m/s
PERIOD, CONTROL = 0.01, 0.002  # s, of the trajectories and of the controller
SETTLE, END = 3.0, 13.0        # s
LATENCY = 0.002                # s, at most, of a trajectory
STREAMS = (                    # rate (Hz), jitter (s), share lost, noise (m), stamped
    (100.0, 0.0, 0.0, 0.0, True), (250.0, 0.0, 0.0, 0.0, True), (500.0, 0.0, 0.0, 0.0, True),
    (100.0, 0.008, 0.1, 0.0, True), (250.0, 0.008, 0.1, 0.0, True),
    (500.0, 0.008, 0.1, 0.0, True), (100.0, 0.008, 0.1, 0.0, False),
    (500.0, 0.008, 0.1, 0.0, False), (100.0, 0.008, 0.1, 2e-4, True),
    (500.0, 0.008, 0.1, 2e-4, True), (30.0, 0.008, 0.1, 0.0, True))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--urdf', type=Path,
                        default=Path(__file__).parents[1] / 'urdf/six_axis_arm.urdf')
    parser.add_argument('--home', type=float, nargs='+', default=[0.0, 0.8, 0.4, 0.0, -1.5, 0.0])
    parser.add_argument('--gain', type=float, default=FollowOptions.gain)
    parser.add_argument('--memory', type=float, default=FollowOptions.memory)
    parser.add_argument('--lead', type=float, default=FollowOptions.look_ahead)
    parser.add_argument('--on-arrival', action='store_true')
    given = parser.parse_args()
    chain = make_chain(read_urdf(given.urdf))
    options = FollowOptions(gain=given.gain, memory=given.memory, look_ahead=given.lead,
                            joins=not given.on_arrival)
    print('| rate, Hz | jitter, ms | lost, % | noise, mm | stamps | command: rms, mm | worst, mm '
          '| rms, mrad | rms qdd | rms qdd excess | measured: worst, mm | largest step of qd '
          '| desired: worst, mm | largest step of qd | cycle, us: median | 99 % |')
    print('|' + 16 * '---|')
    for rate, jitter, lost, noise, stamped in STREAMS:
        figures = follow(chain, np.array(given.home), options, rate, jitter, lost, noise, stamped)
        print(f'| {rate:g} | {1e3 * jitter:g} | {100 * lost:g} | {1e3 * noise:g} '
              f'| {"yes" if stamped else "no"} | ' + ' | '.join(f'{f:.3g}' for f in figures)
              + ' |')


def follow(chain: Chain, home: np.ndarray, options: FollowOptions, rate: float, jitter: float,
           lost: float, noise: float, stamped: bool) -> list[float]:
    """Return the figures of one line of the table."""
    random = np.random.default_rng(0)
    T_home = forward_kinematics(chain, home)

    def target(t: float) -> np.ndarray:
        T, angle = T_home.copy(), SPEED / RADIUS * t
        T[1:3, 3] += RADIUS * np.sin(angle), RADIUS * (np.cos(angle) - 1.0)
        return T

    def noisy(T: np.ndarray) -> np.ndarray:
        T[:3, 3] += noise * random.standard_normal(3)
        return T

    messages = sorted(((k / rate + jitter * random.random(), k / rate, noisy(target(k / rate)))
                       for k in range(int(END * rate)) if random.random() >= lost),
                      key=lambda message: message[0])
    limits = MotionLimits(chain.lower, chain.upper, 0.5 * chain.velocity, np.full(chain.n, 2.0),
                          np.full(chain.n, 20.0))
    follower = Follower(chain, limits, options)
    follower.begin(MotionState.at_rest(home), 0.0)
    controllers = [SimulatedController(
        chain.joint_names, chain.continuous, home,
        ControllerOptions(interpolate_from_desired_state=desired)) for desired in (False, True)]
    commands, joints, costs = [], ([], []), []
    taken, sent, arrival = 0, None, np.inf
    for i in range(int(END / CONTROL)):
        now = i * CONTROL
        while taken < len(messages) and messages[taken][0] <= now:
            received, stamp, T = messages[taken]
            follower.feed(T, received, stamp if stamped else None)
            taken += 1
        if i % round(PERIOD / CONTROL) == 0:
            begin = perf_counter()
            state = follower.step(now).state
            trajectory = follower.trajectory(now)
            costs.append(1e6 * (perf_counter() - begin))
            commands.append((now + options.look_ahead, state))
            sent = message(trajectory, now if options.joins else 0.0)
            arrival = now + LATENCY * random.random()
        for controller, states in zip(controllers, joints):
            if now >= arrival:
                controller.offer(sent, now)
            states.append((now, controller.update(now, CONTROL)))
        if now >= arrival:
            arrival = np.inf
    e = np.array([distance(forward_kinematics(chain, state.q), target(t))
                  for t, state in commands if t > SETTLE])
    qdd = np.array([state.qdd for t, state in commands if t > SETTLE])
    smooth = np.array([np.convolve(column, np.hanning(41) / np.hanning(41).sum(), 'same')
                       for column in qdd.T]).T
    figures = [1e3 * np.sqrt((e[:, 0]**2).mean()), 1e3 * e[:, 0].max(),
               1e3 * np.sqrt((e[:, 1]**2).mean()), np.sqrt((qdd**2).mean()),
               np.sqrt(((qdd - smooth)[40:-40]**2).mean())]
    for states in joints:
        figures.append(1e3 * max(distance(forward_kinematics(chain, state.q), target(t))[0]
                                 for t, state in states if t > SETTLE))
        qd = np.array([state.qd for t, state in states if t > SETTLE])
        figures.append(np.abs(np.diff(qd, axis=0)).max())
    return [*figures, *np.percentile(costs, (50, 99))]


def message(trajectory: Trajectory, stamp: float) -> SimpleNamespace:
    """Return a trajectory as the fields of a trajectory_msgs/JointTrajectory."""
    points = [SimpleNamespace(time_from_start=split(t), positions=q, velocities=qd,
                              accelerations=qdd, effort=())
              for t, q, qd, qdd in zip(trajectory.times, trajectory.q.tolist(),
                                       trajectory.qd.tolist(), trajectory.qdd.tolist())]
    return SimpleNamespace(header=SimpleNamespace(stamp=split(stamp)),
                           joint_names=trajectory.joint_names, points=points)


def split(t: float) -> SimpleNamespace:
    """Return a time (s) as the fields of a builtin_interfaces/Time."""
    sec, nanosec = divmod(round(1e9 * t), 10**9)
    return SimpleNamespace(sec=sec, nanosec=nanosec)


if __name__ == '__main__':
    main()
