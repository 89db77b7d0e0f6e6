# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint torques of an arm that moves, from the masses and inertias of its links.

By the recursion of Newton and Euler (Luh, Walker and Paul 1980): velocities and accelerations
from the base to the tip, forces and moments back.  All vectors are in the base frame.  Friction
and the inertia of motors are not part of a URDF, and so not of the torques.
"""

from __future__ import annotations

import numpy as np

from ik_node.base.errors import UrdfError
from ik_node.base.text import quote
from ik_node.kinematics.kernels import compiled, inner
from ik_node.kinematics.tree.kinematic_tree import moving_frames, MovingFrames
from ik_node.kinematics.tree.tree_kernels import tree_frames
from ik_node.model.chain import Chain
from ik_node.model.description.inertias import Inertia, link_inertias
from ik_node.model.description.urdf import Tree

STANDARD_GRAVITY_M_S2 = 0.0, 0.0, -9.81  # m/s^2, in a base link whose z axis points upward


class ArmDynamics:
    """
    The torques that the joints of a chain need for a motion.

    Links that hang on other joints move with the chain as if these joints stood still, unless
    they mimic joints of the chain.

    Parameters
    ----------
    chain : Chain
        Its tool does not matter.
    tree : Tree
        Of the same robot.
    load : Inertia, optional
        What the arm holds, in the frame of the tip link.
    gravity : (3,) array
        In the base link, m/s^2.

    Attributes
    ----------
    link_mass : float
        Of all links that move with the chain, without the load, kg.

    Raises
    ------
    UrdfError
        If an inertial element cannot be used, or is behind a joint that moves with the chain and
        whose fault leaves its place unknown.

    """

    def __init__(self, chain: Chain, tree: Tree, load: Inertia | None = None,
                 gravity: tuple[float, float, float] = STANDARD_GRAVITY_M_S2) -> None:
        chain = chain.with_tool(np.eye(4))
        moving = moving_frames(chain, tree, {})
        self._table, self._parents = moving.table, moving.parents
        self._gravity = np.array(gravity, dtype=float)
        bodies = [Inertia(0.0, np.zeros(3), np.zeros((3, 3)))] * (len(self._table) + 1)
        for link, inertia in link_inertias(tree).items():
            if link in moving.places:
                k, T_frame_link = moving.places[link]
                bodies[k] = bodies[k] + inertia.moved(T_frame_link)
            elif inertia.mass:
                _require_place(tree, moving, link)
        self.link_mass = sum(body.mass for body in bodies[1:])
        if load is not None:
            k, T_frame_tip = moving.places[chain.tip_link]
            bodies[k] = bodies[k] + load.moved(T_frame_tip)
        self._bodies = np.array([[body.mass, *body.centre, *body.moments.ravel()]
                                 for body in bodies[1:]])

    def torques(self, Q: np.ndarray, Qd: np.ndarray, Qdd: np.ndarray) -> np.ndarray:
        """
        Return the torques of the joints in many states, (K, n), N m or N.

        Parameters
        ----------
        Q, Qd, Qdd : (K, n) arrays
            Rad or m, per s, per s^2.

        """
        states = np.array([Q, Qd, Qdd], dtype=float)
        found = np.empty(states.shape[1:])
        joint_torques(self._table, self._parents, self._bodies, self._gravity, states, found)
        return found

    def holding_torques(self, Q: np.ndarray) -> np.ndarray:
        """Return the torques that hold the arm at postures (K, n), (K, n), N m or N."""
        rest = np.zeros(np.shape(Q))
        return self.torques(Q, rest, rest)


def _require_place(tree: Tree, moving: MovingFrames, link: str) -> None:
    """Refuse a mass that moves with the chain, and of which the URDF does not say where it is."""
    for joint in tree.path_from_root(link):
        if not joint.placed and moving.places.get(joint.parent, (0,))[0] > 0:
            raise UrdfError(f'{joint.fault}; where the mass of the link {quote(link)} is, and so '
                            'what torques the joints need, is not known')


@compiled
def joint_torques(table, parents, bodies, gravity, states, torques):
    """
    Write the torques of many states.

    Parameters
    ----------
    table : (m, 16) array
    parents : (m,) int array
        As :class:`ik_node.kinematics.tree.kinematic_tree.MovingFrames` has them.
    bodies : (m, 13) array
        What each moving frame carries, in it: mass (kg), centre of mass (m), inertia tensor
        about that (kg m^2, row-major).
    gravity : (3,) array
        In the base, m/s^2.
    states : (3, K, n) array
        Positions, velocities, accelerations: rad or m, per s, per s^2.
    torques : (K, n) array, written
        N m or N; that of a mimic joint, times its factor, is added to that of the joint that it
        follows.

    """
    frames = np.empty((table.shape[0], 12))
    motions = np.empty((table.shape[0], 15))
    for row in range(torques.shape[0]):
        tree_frames(table, parents, states[0, row], frames)
        body_forces(table, parents, bodies, gravity, frames, states[1:, row], motions)
        gather_torques(table, parents, frames, motions[:, 9:], torques[row])


@inner
def body_forces(table, parents, bodies, gravity, frames, rates, motions):
    """
    Write the force and the moment (about the origin of its frame) that move each body.

    `rates` (2, n): velocities and accelerations of the joints.  `motions` (m, 15), written:
    angular velocity and acceleration of each frame, the acceleration of its origin, force, moment.
    """
    qd, qdd = rates[0], rates[1]
    for k in range(motions.shape[0]):
        F, body, joint = frames[k], bodies[k], int(table[k, 13])
        w = u = p = 0.0, 0.0, 0.0
        a = -gravity[0], -gravity[1], -gravity[2]
        if parents[k] >= 0:
            M, before = motions[parents[k]], frames[parents[k]]
            w, u, a = (M[0], M[1], M[2]), (M[3], M[4], M[5]), (M[6], M[7], M[8])
            p = before[9], before[10], before[11]
        rate, rise = table[k, 14] * qd[joint], table[k, 14] * qdd[joint]
        z, origin = (F[2], F[5], F[8]), (F[9], F[10], F[11])
        a = plus(a, 1.0, accelerated(w, u, plus(origin, -1.0, p)))
        turn = cross(w, z)
        if table[k, 12] != 0.0:
            a = plus(plus(a, rise, z), 2.0 * rate, turn)
        else:
            u = plus(plus(u, rise, z), rate, turn)
            w = plus(w, rate, z)
        for i in range(3):
            motions[k, i], motions[k, 3 + i], motions[k, 6 + i] = w[i], u[i], a[i]
        # s: from the frame's origin to the centre of mass
        s = (F[0] * body[1] + F[1] * body[2] + F[2] * body[3],
             F[3] * body[1] + F[4] * body[2] + F[5] * body[3],
             F[6] * body[1] + F[7] * body[2] + F[8] * body[3])
        b = plus(a, 1.0, accelerated(w, u, s))
        f = body[0] * b[0], body[0] * b[1], body[0] * b[2]
        n = plus(plus(turned(F, body, u), 1.0, cross(w, turned(F, body, w))), 1.0, cross(s, f))
        for i in range(3):
            motions[k, 9 + i], motions[k, 12 + i] = f[i], n[i]


@inner
def plus(a, factor, b):
    """Return ``a + factor b`` of vectors."""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@inner
def cross(a, b):
    """Return ``a x b`` of vectors."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inner
def accelerated(w, u, r):
    """Return ``u x r + w x (w x r)``, by how much a point at r is accelerated more."""
    return plus(cross(u, r), 1.0, cross(w, cross(w, r)))


@inner
def turned(F, body, w):
    """Return the inertia tensor of a body in frame F times a vector, both in the base."""
    x = F[0] * w[0] + F[3] * w[1] + F[6] * w[2]
    y = F[1] * w[0] + F[4] * w[1] + F[7] * w[2]
    z = F[2] * w[0] + F[5] * w[1] + F[8] * w[2]
    a = body[4] * x + body[5] * y + body[6] * z
    b = body[7] * x + body[8] * y + body[9] * z
    c = body[10] * x + body[11] * y + body[12] * z
    return (F[0] * a + F[1] * b + F[2] * c, F[3] * a + F[4] * b + F[5] * c,
            F[6] * a + F[7] * b + F[8] * c)


@inner
def gather_torques(table, parents, frames, forces, torques):
    """
    Write what each joint carries of all bodies after it, along its axis, (n,).

    To `forces` (m, 6) of each row those of the rows that it carries are added.
    """
    for joint in range(torques.shape[0]):
        torques[joint] = 0.0
    for k in range(forces.shape[0] - 1, -1, -1):
        F, force, parent = frames[k], forces[k], parents[k]
        f, n = (force[0], force[1], force[2]), (force[3], force[4], force[5])
        carried = f if table[k, 12] != 0.0 else n
        torques[int(table[k, 13])] += table[k, 14] * (
            F[2] * carried[0] + F[5] * carried[1] + F[8] * carried[2])
        if parent >= 0:
            P = frames[parent]
            n = plus(n, 1.0, cross((F[9] - P[9], F[10] - P[10], F[11] - P[11]), f))
            for i in range(3):
                forces[parent, i] += f[i]
                forces[parent, 3 + i] += n[i]
