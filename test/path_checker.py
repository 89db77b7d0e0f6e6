# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A second opinion on the tip's way in a motion: shares no code with what plans it.

The tip comes from Pinocchio, its speeds from differences of its poses, or from its Jacobian.
"""

from __future__ import annotations

from motion_checker import dense, path_of
import numpy as np
import pinocchio as pin
import robots


def sampled(trajectory, per_segment=8):
    """Return times and q, qd, qdd, qddd (4, N, n) between the points too."""
    times, values = dense(path_of(trajectory), per_segment + 1)
    return times.ravel(), values.reshape(4, times.size, -1)


def check_limits(trajectory, limits, slack=1e-6, jerk_slack=1e-2, per_segment=8):
    """Assert that a motion is finite, continuous, within its limits, and ends at rest."""
    for array in (trajectory.times, trajectory.q, trajectory.qd, trajectory.qdd):
        assert np.isfinite(array).all()
    assert (np.diff(trajectory.times, prepend=0.0) > 1e-4).all()
    assert not trajectory.qd[-1].any() and not trajectory.qdd[-1].any()
    times, (q, qd, qdd, qddd) = sampled(trajectory, per_segment)
    assert (q >= np.minimum(limits.lower, trajectory.start.q) - slack).all()
    assert (q <= np.maximum(limits.upper, trajectory.start.q) + slack).all()
    assert (np.abs(qd) <= limits.velocity * (1.0 + slack)).all()
    assert (np.abs(qdd) <= limits.acceleration * (1.0 + slack)).all()
    assert (np.abs(qddd) <= limits.jerk * (1.0 + jerk_slack)).all()
    return times, q, qd, qdd


def tip_poses(reference, robot, Q):
    """Return the poses (N, 4, 4) of the tip at Q (N, n) by Pinocchio."""
    return np.array([reference.pose(robot.base_link, robot.tip_link,
                                    dict(zip(robot.joint_names, map(float, q)))) for q in Q])


def off_line(poses, T_a, T_b):
    """
    Return how far poses are off the line from T_a to T_b: (m, rad).

    Against the pose at one place of the line: where the position is nearest, or
    where the turned angle is, whichever is nearer in units of 0.1 mm and 0.1 mrad.
    """
    a, b = T_a[:3, 3], T_b[:3, 3]
    w = pin.log3(T_b[:3, :3] @ T_a[:3, :3].T)
    d = b - a
    worst = np.zeros(2)
    for T in poses:
        shares = []
        if d @ d > 1e-12:
            shares.append((T[:3, 3] - a) @ d / (d @ d))
        if w @ w > 1e-12:
            shares.append(pin.log3(T[:3, :3] @ T_a[:3, :3].T) @ w / (w @ w))
        off = [(np.linalg.norm(T[:3, 3] - a - share * d),
                np.linalg.norm(pin.log3((pin.exp3(share * w) @ T_a[:3, :3]).T @ T[:3, :3])))
               for share in np.clip(shares or [0.0], 0.0, 1.0)]
        worst = np.maximum(worst, min(off, key=max))
    return worst


def tool_speeds(times, poses):
    """Return speed (m/s) and turning speed (rad/s) of the tip between neighbouring samples."""
    keep = np.append(True, np.diff(times) > 1e-9)
    times, poses = times[keep], poses[keep]
    steps = np.diff(times)
    turns = [np.linalg.norm(pin.log3(a[:3, :3].T @ b[:3, :3]))
             for a, b in zip(poses[:-1], poses[1:])]
    return (np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1) / steps,
            np.array(turns) / steps)


def fastest(name, trajectory, per_segment=8):
    """Return the largest speed (m/s) and angular speed (rad/s) of the tip, between the points."""
    (_, (Q, Qd, *_)), chain = sampled(trajectory, per_segment), robots.chain(name)
    twists = np.array([robots.reference(name).jacobian(
        chain.base_link, chain.tip_link, robots.positions(chain, q)) @ qd for q, qd in zip(Q, Qd)])
    return np.linalg.norm(twists.reshape(-1, 2, 3), axis=2).max(axis=0)
