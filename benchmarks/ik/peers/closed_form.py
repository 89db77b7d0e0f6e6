# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Closed forms by subproblem decomposition: EAIK and ik-geo.

Each call returns all solutions without regard to limits, some of them marked as
least-squares approximations; at singular postures those are often right.  The
goal is handed over as they take it, for a tip parallel to the base at q = 0.
"""

from __future__ import annotations

import os

from eaik.IK_HP import HPRobot
import ik_geo
import numpy as np

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import ALL, base_frame_axes, BATCH, Peer, POSE, Refused

PARALLEL = 1e-6   # sine of the angle between axes
MEETING = 1e-8    # m
# The most special first: it is the fastest.
IK_GEO_CLASSES = ('spherical_two_parallel', 'spherical_two_intersecting', 'spherical',
                  'three_parallel_two_intersecting', 'three_parallel')


class Eaik(Peer):
    """EAIK finds the decomposition by itself."""

    name = 'EAIK'
    package = 'EAIK'
    kind = 'closed form'
    call = 'HPRobot.IK(T), then its Q and is_LS'
    tasks = (POSE, ALL, BATCH)

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        axes, points, self.R_zero = base_frame_axes(model)
        if model.n != 6:
            raise Refused('takes six axes')
        self.robot = HPRobot(axes, np.diff(points, axis=0, prepend=np.zeros((1, 3))))
        if not self.robot.hasKnownDecomposition():
            raise Refused(f'"{self.robot.getKinematicFamily()}"')

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        T = np.array(self.robot.fwdKin(q))
        T[:3, :3] = T[:3, :3] @ self.R_zero
        return T

    def inputs(self, T: np.ndarray, seed: np.ndarray) -> tuple:
        """See :meth:`Peer.inputs`."""
        goal = T.copy()
        goal[..., :3, :3] = T[..., :3, :3] @ self.R_zero.T
        return (list(goal) if self.task == BATCH else goal,)

    def solve(self, goal: np.ndarray) -> object:
        """See :meth:`Peer.solve`."""
        if self.task == BATCH:
            return [(one.Q, one.is_LS) for one in self.robot.IK_batched(goal, os.cpu_count())]
        solutions = self.robot.IK(goal)
        return solutions.Q, solutions.is_LS

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        if self.task == BATCH:
            return [self._marked(*one, False) for one in returned]
        return self._marked(*returned, False)

    def hints(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.hints`."""
        return self._marked(*returned, True)

    def _marked(self, Q: np.ndarray, marks: np.ndarray, approximate: bool) -> list[np.ndarray]:
        return [self.model.wrap(q) for q, mark in zip(Q, marks) if mark == approximate]


class IkGeo(Peer):
    """
    ik-geo is told its class, and wants points of the axes where axes meet.

    The classes that search (two_parallel, two_intersecting, gen_six_dof) take
    milliseconds and found no solution of these arms; they are left out.
    """

    name = 'ik-geo'
    package = 'ik-geo'
    kind = 'closed form'
    call = 'Robot.get_ik(R, t) of the class that fits'
    tasks = (POSE, ALL)

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        if model.n != 6:
            raise Refused('takes six axes')
        axes, points, self.R_zero = base_frame_axes(model)
        offsets = np.diff(_points_where_axes_meet(axes, points), axis=0,
                          prepend=np.zeros((1, 3)))
        random = np.random.default_rng(0)
        trials = [model.fk(q) for q in random.uniform(model.lower, model.upper, (20, 6))]
        for name in IK_GEO_CLASSES:
            self.robot = getattr(ik_geo.Robot, name)(axes, offsets)
            if all(any(model.right(q, T, 1e-6) for q in
                       self.answers(self.solve(*self.inputs(T, None)))) for T in trials):
                self.decomposition = name
                return
        raise Refused('no class of it solves this arm')

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        T = np.eye(4)
        R, T[:3, 3] = self.robot.forward_kinematics(q)
        T[:3, :3] = np.array(R).T @ self.R_zero
        return T

    def inputs(self, T: np.ndarray, seed: np.ndarray) -> tuple:
        """See :meth:`Peer.inputs`."""
        return (T[:3, :3] @ self.R_zero.T).T.tolist(), T[:3, 3].tolist()

    def solve(self, R: list, t: list) -> object:
        """See :meth:`Peer.solve`."""
        return self.robot.get_ik(R, t)

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        return [self.model.wrap(np.array(q)) for q, approximate in returned if not approximate]

    def hints(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.hints`."""
        return [self.model.wrap(np.array(q)) for q, approximate in returned if approximate]


def _meeting(points: np.ndarray, axes: np.ndarray, a: int, b: int) -> np.ndarray | None:
    """Return where two axes meet, or None."""
    normal = np.cross(axes[a], axes[b])
    size = np.linalg.norm(normal)
    across = points[b] - points[a]
    if size < PARALLEL or abs(across @ normal) / size > MEETING:
        return None
    return points[a] + axes[a] * (np.cross(across, axes[b]) @ normal) / size**2


def _points_where_axes_meet(axes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Move the points along their axes to the wrist centre and to where axes 1 and 2 meet."""
    moved = points.copy()
    wrist, wrist_45 = _meeting(points, axes, 4, 5), _meeting(points, axes, 3, 4)
    if wrist is not None:
        moved[4] = moved[5] = wrist
        if wrist_45 is not None and np.linalg.norm(wrist - wrist_45) < MEETING:
            moved[3] = wrist
    shoulder = _meeting(points, axes, 0, 1)
    if shoulder is not None:
        moved[0] = moved[1] = shoulder
    return moved


PEERS = (Eaik, IkGeo)
