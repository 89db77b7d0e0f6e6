# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How straight and how fast the arm jogs: random lines and rotations of several arms.

    python3 -m benchmarks.jogging [--lines 200] [--arms ur5,panda] [--scales 0.2,4] [--stream]

A line counts if exact integration of ``qd = J^+ V`` follows it within the position limits, with
no singular value below SINGULAR_SHARE of the largest.  The follower gets the twist for 1.5 s, then
nothing.  *Off* is the distance of the commanded tip from the line, and its rotation; *speed* is
the time of toppra's optimum for the same way, by the limits of velocity and acceleration and the
commanded speed, over the follower's.  Half of the speed limits, 2 rad/s^2, 20 rad/s^3; a ramp of
the jerk limit, 0.1 s / 2, is added to toppra's time, which knows none.  With --stream the same
lines come as poses, and *off* counts while they come.  Scaled arms have all lengths scaled, and
the speeds of lines.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
import logging

import numpy as np
import toppra
from toppra import algorithm, constraint

from benchmarks.arms import ARMS
from ik_node.base.se3 import rotation_log
from ik_node.kinematics.arm import forward_kinematics, jacobian
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.jog import JogCommand
from ik_node.motion.following.options import FollowOptions
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState

SEVEN = 'six_axis,parallel_axes,ur5,z1,kinova,panda,xarm7'
LINEAR, ANGULAR = (0.05, 0.2, 0.4), (0.3, 0.8)  # m/s, rad/s
TIME, REST, PERIOD = 1.5, 1.5, 0.01             # s of command, until rest, of a cycle
ACCELERATION, JERK = 2.0, 20.0
SINGULAR_SHARE = 5e-3
LIMIT_ROOM = 1e-3                               # rad
STEP_RAD, STEP_SHARE = 0.02, 0.01               # of the integration, of a joint and of the way
BEYOND = 0.2                                    # of the way, that toppra has to brake
BAR_M, BAR_RAD, BAR_SPEED = 2e-4, 5e-4, 0.9


def scaled(chain: Chain, scale: float) -> Chain:
    """Return a chain with all lengths scaled."""
    offsets = chain.offsets.copy()
    offsets[:, 9:] *= scale
    return replace(chain, offsets=offsets)


def exact(chain: Chain, q: np.ndarray, V: np.ndarray,
          length: float) -> tuple[np.ndarray, np.ndarray]:
    """Return seconds of the twist (K,) and q (K, n) along it, by RK4, as far as it goes."""
    def rates(q: np.ndarray) -> np.ndarray:
        return np.linalg.pinv(jacobian(chain, q)) @ V

    s, found, seconds = 0.0, [q], [0.0]
    while s < length:
        values = np.linalg.svd(np.diag([1.0] * 3 + [0.3 * chain.reach] * 3)
                               @ jacobian(chain, q), compute_uv=False)
        if values[-1] < SINGULAR_SHARE * values[0] or (q < chain.lower + LIMIT_ROOM).any() \
                or (q > chain.upper - LIMIT_ROOM).any():
            break
        a = rates(q)
        h = min(STEP_SHARE * length, STEP_RAD / np.abs(a).max(), length - s + 1e-12)
        b = rates(q + 0.5 * h * a)
        c = rates(q + 0.5 * h * b)
        q = q + h / 6.0 * (a + 2.0 * b + 2.0 * c + rates(q + h * c))
        s += h
        found.append(q)
        seconds.append(s)
    return np.array(seconds), np.array(found)


def optimum(seconds: np.ndarray, Q: np.ndarray,
            limits: MotionLimits) -> tuple[np.ndarray, np.ndarray]:
    """Return times (K,) of toppra's optimum at seconds of the twist (K,), from rest to rest."""
    path = toppra.SplineInterpolator(seconds, np.column_stack([Q, seconds]))
    n = Q.shape[1]
    most = np.append(limits.velocity, 1.0)
    solver = algorithm.TOPPRA(
        [constraint.JointVelocityConstraint(np.array([-most, most]).T),
         constraint.JointAccelerationConstraint(
             np.full((n + 1, 2), [-1.0, 1.0]) * np.append(limits.acceleration, 1e3)[:, None])],
        path, gridpoints=seconds, solver_wrapper='seidel')
    _, rate, _ = solver.compute_parameterization(0.0, 0.0)
    if rate is None:
        return seconds, np.full(len(seconds), np.nan)
    return seconds, np.append(0.0, np.cumsum(2.0 * np.diff(seconds) / (rate[1:] + rate[:-1])))


def deviation(T: np.ndarray, T_begin: np.ndarray, V: np.ndarray) -> tuple[float, float, float]:
    """Return how far (m, rad) a pose is off the path of a twist, and how far along it is, s."""
    way, turn = T[:3, 3] - T_begin[:3, 3], rotation_log(T[:3, :3] @ T_begin[:3, :3].T)
    v, w = V[:3], V[3:]
    along = (way @ v + turn @ w) / (v @ v + w @ w)
    return np.linalg.norm(way - along * v), np.linalg.norm(turn - along * w), along


def follow(chain: Chain, q: np.ndarray, V: np.ndarray, limits: MotionLimits,
           stream: bool) -> tuple[float, float, float]:
    """Return how far the tip gets off (m, rad), and how far along it is after TIME, s."""
    follower = Follower(chain, limits, FollowOptions(bias=(0.0,)))
    follower.begin(MotionState.at_rest(q), 0.0)
    T = forward_kinematics(chain, q)
    off, along = np.zeros(2), 0.0
    for now in np.arange(0.0, TIME + REST, PERIOD):
        if now <= TIME and stream:
            goal = T.copy()
            goal[:3, 3] += now * V[:3]
            angle = now * np.linalg.norm(V[3:])
            if angle > 0.0:
                goal[:3, :3] = rotation(angle, V[3:] / np.linalg.norm(V[3:])) @ T[:3, :3]
            follower.feed(goal, now, now)
        elif now <= TIME:
            follower.jog(JogCommand(V), now)
        state = follower.step(now).state
        *found, seconds = deviation(forward_kinematics(chain, state.q), T, V)
        if now <= TIME or not stream:
            off = np.maximum(off, found)
        if now <= TIME:
            along = seconds
    return (*off, along)


def rotation(angle: float, axis: np.ndarray) -> np.ndarray:
    """Return a rotation matrix (Rodrigues)."""
    K = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def measure(chain: Chain, speed: float, linear: bool, count: int, seed: int,
            stream: bool) -> np.ndarray:
    """Return (count, 3): off (m, rad) and share of the speed, of random ways."""
    random = np.random.default_rng(seed)
    limits = MotionLimits(chain.lower, chain.upper, 0.5 * chain.velocity,
                          np.full(chain.n, ACCELERATION), np.full(chain.n, JERK))
    low, high = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    found = []
    while len(found) < count:
        q, d = random.uniform(low, high), random.standard_normal(3)
        V = speed * np.append(d, np.zeros(3)) / np.linalg.norm(d)
        V = V if linear else np.roll(V, 3)
        seconds, Q = exact(chain, q, V, TIME * (1.0 + BEYOND))
        if seconds[-1] < TIME:
            continue
        position, angle, along = follow(chain, q, V, limits, stream)
        ways, times = optimum(seconds, Q, limits)
        share = (np.interp(along, ways, times) + 0.5 * ACCELERATION / JERK) \
            / (TIME + FollowOptions.look_ahead)
        found.append((position, angle, share))
    return np.array(found)


def main() -> None:
    """Print the table."""
    logging.getLogger('toppra').setLevel(logging.CRITICAL)
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--lines', type=int, default=200)
    parser.add_argument('--arms', default=SEVEN)
    parser.add_argument('--scales', default='1')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--stream', action='store_true')
    given = parser.parse_args()
    print('| arm | scale | speed | off, mm: median | 95 % | worst | off, mrad: worst | within, % '
          '| speed, %: median | 5 % | least | fast enough, % |')
    print('|' + 12 * '---|')
    for arm in (arm for name in given.arms.split(',') for arm in ARMS if arm.name == name):
        for scale in map(float, given.scales.split(',')):
            chain = scaled(make_chain(read_urdf(arm.path), arm.base, arm.tip), scale)
            for linear, speed in [(True, v) for v in LINEAR] + [(False, w) for w in ANGULAR]:
                found = measure(chain, speed * (scale if linear else 1.0), linear, given.lines,
                                given.seed, given.stream)
                position, angle, share = found.T
                inside = (position < BAR_M * max(scale, 1.0)) & (angle < BAR_RAD)
                figures = [f'{1e3 * x:.3g}' for x in (
                    *np.percentile(position, (50, 95)), position.max(), angle.max())]
                figures += [f'{100 * x:.1f}' for x in (
                    inside.mean(), *np.nanpercentile(share, (50, 5)), np.nanmin(share),
                    np.mean(share[~np.isnan(share)] > BAR_SPEED))]
                print(f'| {arm.name} | {scale:g} | {speed:g} {"m/s" if linear else "rad/s"} | '
                      + ' | '.join(figures) + ' |', flush=True)


if __name__ == '__main__':
    main()
