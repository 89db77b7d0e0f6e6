# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of following share: targets, a stream that is not perfect, and a checker."""

import numpy as np
import pinocchio as pin
import pytest
import robots
import ruckig

from ik_node.collision.scene import Scene
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.options import FollowOptions
from ik_node.motion.limits import MotionLimits
from ik_node.motion.trajectory import MotionState

# Postures in whose surroundings the tip can go round a circle of 0.2 m.
HOMES = {
    'ur5': np.array([0.0, -1.3, 1.5, -0.5, 1.2, 0.3]),
    'panda': np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8]),
    'xarm7': np.array([0.0, -0.3, 0.0, 1.2, 0.0, 1.3, 0.0]),
    'six_axis_arm': np.array([0.0, 0.8, 0.4, 0.0, -1.5, 0.0]),
}


def limits_of(chain, share=1.0, acceleration=2.0, jerk=20.0):
    """Return limits as the node has them by default, velocity scaled."""
    return MotionLimits(chain.lower, chain.upper, share * chain.velocity,
                        np.full(chain.n, acceleration), np.full(chain.n, jerk))


def follower(name, options=FollowOptions(), limits=None, q=None):
    """Return a follower at rest at the arm's home at time 0."""
    chain = robots.chain(name)
    made = Follower(chain, limits or limits_of(chain), options)
    made.begin(MotionState.at_rest(HOMES[name] if q is None else q), 0.0)
    return made


def tip(name, q):
    """Return the pose (4, 4) of the tip by Pinocchio."""
    chain = robots.chain(name)
    return robots.reference(name).pose(chain.base_link, chain.tip_link,
                                       robots.positions(chain, q))


def shifted(T, x=0.0, y=0.0, z=0.0):
    """Return a pose shifted in the base frame."""
    T = T.copy()
    T[:3, 3] += x, y, z
    return T


def circle(T, radius=0.2, speed=0.25):
    """Return the pose at a time on a vertical circle that begins at T."""
    def at(t):
        angle = speed / radius * t
        return shifted(T, 0.0, radius * np.sin(angle), radius * (np.cos(angle) - 1.0))
    return at


def stream(pose, rate, end, random, jitter=0.0, drop=0.0, noise=0.0):
    """
    Return what is received of a target, as (received, stamp, pose), first come first.

    Latencies are spread over `jitter` (s), a share `drop` is lost, positions carry
    white noise of `noise` (m).
    """
    messages = []
    for k in range(int(end * rate)):
        t = k / rate
        T = shifted(pose(t), *(noise * random.standard_normal(3)))
        received = t + jitter * random.random()
        if random.random() >= drop:
            messages.append((received, t, T))
    return sorted(messages, key=lambda message: message[0])


def run(made, messages, end, period, stamped=True):
    """Feed what comes and step at each period; yield (now, what the step returned)."""
    waiting = 0
    for i in range(int(round(end / period))):
        now = i * period
        while waiting < len(messages) and messages[waiting][0] <= now:
            received, stamp, T = messages[waiting]
            made.feed(T, received, stamp if stamped else None)
            waiting += 1
        yield now, made.step(now)


def distances(a, b):
    """Return how far two poses are apart: m, rad, by Pinocchio's logarithm."""
    return (np.linalg.norm(a[:3, 3] - b[:3, 3]),
            np.linalg.norm(pin.log3(a[:3, :3].T @ b[:3, :3])))


def stop_extremes(state, limits):
    """
    Return the lowest and highest q, the highest |qd| and |qdd| of ruckig's stop.

    Each joint stops by itself, in the shortest time, at the acceleration that is left
    when the controller's interpolation has got its room of 0.05 ms of jerk.
    """
    n = len(state.q)
    request = ruckig.InputParameter(n)
    request.control_interface = ruckig.ControlInterface.Velocity
    request.synchronization = ruckig.Synchronization.No
    request.current_position = list(state.q)
    request.current_velocity = list(state.qd)
    request.current_acceleration = list(state.qdd)
    request.max_velocity = list(limits.velocity)
    request.max_acceleration = list(limits.acceleration - np.minimum(
        0.00005 * limits.jerk, 0.5 * limits.acceleration))
    request.max_jerk = list(limits.jerk)
    motion = ruckig.Trajectory(n)
    ruckig.Ruckig(n).calculate(request, motion)
    instants = list(np.linspace(0.0, motion.duration, 300))
    for profile in motion.profiles[0]:
        instants.extend(np.cumsum([*profile.brake.t, *profile.t]))
    # Velocities peak where the acceleration is zero, positions turn where the velocity is.
    for _ in range(2):
        instants.sort()
        states = np.array([motion.at_time(t) for t in instants])
        for (t0, t1), (a, b) in zip(zip(instants[:-1], instants[1:]),
                                    zip(states[:-1, 1:], states[1:, 1:])):
            turns = a * b < 0.0
            instants.extend((t0 + (t1 - t0) * a[turns] / (a - b)[turns]).tolist())
    sampled = np.array([motion.at_time(t) for t in instants])
    return (sampled[:, 0].min(0), sampled[:, 0].max(0), np.abs(sampled[:, 1]).max(0),
            np.abs(sampled[:, 2]).max(0))


class Checker:
    """Judges the commanded states, by themselves and by their finite differences."""

    def __init__(self, start, limits):
        lower, upper, speed, most = stop_extremes(start, limits)
        self.lower = np.minimum(limits.lower, lower)
        self.upper = np.maximum(limits.upper, upper)
        self.speed = np.maximum(limits.velocity, 1.0001 * speed)
        self.most = np.maximum(limits.acceleration, most)
        self.jerk = limits.jerk
        self.time, self.state = 0.0, start

    def see(self, time, state):
        """Check the state commanded for a time (s), which is one of whole nanoseconds."""
        time = round(time, 9)
        dt, before = time - self.time, self.state
        for array in (state.q, state.qd, state.qdd):
            assert np.isfinite(array).all()
        slack = 1e-7
        assert (state.q >= self.lower - slack).all() and (state.q <= self.upper + slack).all()
        assert (np.abs(state.qd) <= self.speed + slack).all()
        assert (np.abs(state.qdd) <= self.most + slack).all()
        if dt > 0.0:
            # no step in position, velocity or acceleration
            assert (np.abs(state.q - before.q) <= self.speed * dt + slack).all()
            assert (np.abs(state.qd - before.qd) <= self.most * dt + slack).all()
            assert (np.abs(state.qdd - before.qdd) <= self.jerk * dt + slack).all()
            assert (np.abs(state.q - before.q - 0.5 * dt * (state.qd + before.qd))
                    <= self.jerk * dt**3 / 6.0 + slack).all()
            assert (np.abs(state.qd - before.qd - 0.5 * dt * (state.qdd + before.qdd))
                    <= self.jerk * dt**2 / 4.0 + slack).all()
        self.time, self.state = time, state


def wall(name, distance):
    """Return a scene with a wall, at a distance (m) in front of the tip at home."""
    scene = Scene(robots.chain(name).base_link, robots.tree(name).links)
    T = np.eye(4)
    T[0, 3] = tip(name, HOMES[name])[0, 3] + distance + 0.05
    scene.add_box('wall', (0.1, 3.0, 3.0), T)
    return scene


def quintic_extremes(trajectory):
    """Return lowest and highest q, highest |qd| and |qdd| from the first point to the end."""
    lows, highs, speeds, most = [], [], [], []
    powers = np.arange(6)
    rows = np.array([0.0**powers, [0, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0], np.ones(6), powers,
                     powers * (powers - 1)], dtype=float)
    s = np.linspace(0.0, 1.0, 33)[:, None]
    states = np.stack([trajectory.q, trajectory.qd, trajectory.qdd], axis=1)
    for T, a, b in zip(np.diff(trajectory.times), states[:-1], states[1:]):
        scale = np.array([[1.0], [T], [T**2]])
        c = np.linalg.solve(rows, np.vstack([a * scale, b * scale]))
        q = s**powers @ c
        lows.append(q.min(0))
        highs.append(q.max(0))
        speeds.append(np.abs(powers * s**np.maximum(powers - 1, 0) @ c / T).max(0))
        most.append(np.abs(powers * (powers - 1) * s**np.maximum(powers - 2, 0) @ c
                           / T**2).max(0))
    return np.min(lows, 0), np.max(highs, 0), np.max(speeds, 0), np.max(most, 0)


def check_alone(trajectory, now, checker):
    """Check that a trajectory is a whole motion: on time, continuous, within limits, to rest."""
    assert trajectory.times[0] > 0.0 and np.diff(trajectory.times).min() >= 0.99e-4
    assert not trajectory.qd[-1].any() and not trajectory.qdd[-1].any()
    # Times are whole nanoseconds.
    assert trajectory.times[0] == pytest.approx(checker.time - now, abs=2e-9)
    assert (np.abs(trajectory.q[0] - checker.state.q) <= 1e-8 * checker.speed).all()
    assert (np.abs(trajectory.qd[0] - checker.state.qd) <= 1e-8 * checker.most).all()
    low, high, speed, most = quintic_extremes(trajectory)
    slack = 1e-5 * np.maximum(1.0, checker.jerk / 100.0)
    assert (low >= checker.lower - slack).all() and (high <= checker.upper + slack).all()
    assert (speed <= checker.speed + slack).all()
    assert (most <= checker.most * 1.001 + slack).all()
