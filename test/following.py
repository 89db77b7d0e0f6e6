# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of following share: targets, a stream that is not perfect, and a checker."""

import numpy as np
import pinocchio as pin
import pytest
import robots
import ruckig

from ik_node.collision.scene.scene import Scene
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.options import FollowOptions
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState

tip = robots.tip_pose
STATE_SLACK = 1e-7  # SI units, for rounding
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
    return (np.linalg.norm(a[:3, 3] - b[:3, 3]), np.linalg.norm(pin.log3(a[:3, :3].T @ b[:3, :3])))


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
        a, b = states[:-1, 1:], states[1:, 1:]
        steps, *_ = turns = np.nonzero(a * b < 0.0)
        t = np.array(instants)
        instants.extend((t[steps] + np.diff(t)[steps] * a[turns] / (a - b)[turns]).tolist())
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
        self._lowest = np.array([self.lower, -self.speed, -self.most]) - STATE_SLACK
        self._highest = np.array([self.upper, self.speed, self.most]) + STATE_SLACK
        self._rates = np.array([self.speed, self.most, self.jerk])
        self._seen = np.array([start.q, start.qd, start.qdd])

    def see(self, time, state):
        """Check the state commanded for a time (s), which is one of whole nanoseconds."""
        time, seen = round(time, 9), np.array([state.q, state.qd, state.qdd])
        dt, change = time - self.time, seen - self._seen
        assert np.isfinite(seen).all()
        assert (seen >= self._lowest).all() and (seen <= self._highest).all()
        if dt > 0.0:
            # no step in position, velocity or acceleration
            assert (np.abs(change) <= self._rates * dt + STATE_SLACK).all()
            by_rates = change[:2] - 0.5 * dt * (seen[1:] + self._seen[1:])
            assert (np.abs(by_rates) <= np.multiply.outer(
                (dt**3 / 6.0, dt**2 / 4.0), self.jerk) + STATE_SLACK).all()
        self.time, self.state, self._seen = time, state, seen


def wall(name, distance):
    """Return a scene with a wall, at a distance (m) in front of the tip at home."""
    scene = Scene(robots.chain(name).base_link, robots.tree(name).links)
    T = np.eye(4)
    T[0, 3] = tip(name, HOMES[name])[0, 3] + distance + 0.05
    scene.add_box('wall', (0.1, 3.0, 3.0), T)
    return scene


def quintic_extremes(trajectory):
    """Return lowest and highest q, highest |qd| and |qdd| from the first point to the end."""
    T = np.diff(trajectory.times)[:, None, None]
    states = np.stack([trajectory.q, trajectory.qd, trajectory.qdd], axis=1)
    powers, s = np.arange(6), np.linspace(0.0, 1.0, 33)[:, None]
    rows = np.array([0.0**powers, [0, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0], np.ones(6), powers,
                     powers * (powers - 1)], dtype=float)
    scale = np.concatenate([T**0, T, T**2], axis=1)
    c = np.linalg.inv(rows) @ np.concatenate([states[:-1] * scale, states[1:] * scale], axis=1)
    q = s**powers @ c
    qd = powers * s**np.maximum(powers - 1, 0) @ c / T
    qdd = powers * (powers - 1) * s**np.maximum(powers - 2, 0) @ c / T**2
    return (q.min((0, 1)), q.max((0, 1)), np.abs(qd).max((0, 1)), np.abs(qdd).max((0, 1)))


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
