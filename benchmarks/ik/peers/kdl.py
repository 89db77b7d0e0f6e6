# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Orocos KDL through PyKDL, which Debian and Ubuntu package (python3-pykdl)."""

from __future__ import annotations

from math import tau

import numpy as np
import PyKDL as kdl

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import MIDDLE, Peer, POSE, random_starts

STEPS = 100
# KDL weighs a radian like 0.01 m, so that its norm must be that much smaller.
EPSILON = 1e-8


class KdlLma(Peer):
    """
    ``ChainIkSolverPos_LMA`` with random restarts.

    KDL's Levenberg-Marquardt knows no limits: an answer outside them, whole
    turns taken off, counts as a failed start.
    """

    name = 'KDL LMA'
    package = 'PyKDL'
    call = 'ChainIkSolverPos_LMA.CartToJnt(q, frame, out), a Python loop of restarts'
    tasks = (POSE, MIDDLE)

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        self.chain = kdl.Chain()
        frames = [_frame(frame) for frame in model.frames]
        self.chain.addSegment(kdl.Segment(kdl.Joint(), frames[0]))
        for axis, frame in zip(model.axes, frames[1:]):
            joint = kdl.Joint(kdl.Vector(), kdl.Vector(*axis), kdl.Joint.RotAxis)
            self.chain.addSegment(kdl.Segment(joint, frame))
        self.solver = kdl.ChainIkSolverPos_LMA(self.chain, EPSILON, STEPS)
        self.forward = kdl.ChainFkSolverPos_recursive(self.chain)
        self.starts = [_joints(q) for q in random_starts(model)]
        self.limits = [(k, float(model.lower[k]), float(model.upper[k]))
                       for k in range(model.n) if not model.continuous[k]]

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        frame = kdl.Frame()
        self.forward.JntToCart(_joints(q), frame)
        T = np.eye(4)
        for i in range(3):
            T[i] = [frame.M[i, 0], frame.M[i, 1], frame.M[i, 2], frame.p[i]]
        return T

    def inputs(self, T: np.ndarray, seed: np.ndarray) -> tuple:
        """See :meth:`Peer.inputs`."""
        return _frame(T), _joints(seed), kdl.JntArray(self.model.n)

    def solve(self, goal: kdl.Frame, seed: kdl.JntArray,
              out: kdl.JntArray) -> kdl.JntArray | None:
        """See :meth:`Peer.solve`."""
        for start in self.starts:
            if self.solver.CartToJnt(seed, goal, out) == 0 and self._fits(out):
                return out
            seed = start
        return None

    def _fits(self, out: kdl.JntArray) -> bool:
        for k, lower, upper in self.limits:
            value = out[k]
            if not lower <= value <= upper:
                value = (value - lower) % tau + lower
                if value > upper:
                    return False
                out[k] = value
        return True

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        return [] if returned is None else [np.array([returned[k] for k in range(self.model.n)])]


def _frame(T: np.ndarray) -> kdl.Frame:
    return kdl.Frame(kdl.Rotation(*map(float, T[:3, :3].ravel())),
                     kdl.Vector(*map(float, T[:3, 3])))


def _joints(q: np.ndarray) -> kdl.JntArray:
    joints = kdl.JntArray(len(q))
    for k, value in enumerate(q):
        joints[k] = float(value)
    return joints


PEERS = (KdlLma,)
