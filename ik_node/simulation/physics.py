# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The joints of a URDF with gravity and position servos, simulated by MuJoCo.

The servos behave like industrial drives without integral action: they sag under load and lag
in motion.  There are no collisions; meshes are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ik_node.base.errors import ParameterError, UrdfError
from ik_node.base.se3 import pose, rotation_about, rotation_to_axis
from ik_node.model.chain import Chain
from ik_node.model.description.inertias import link_inertias
from ik_node.model.description.urdf import Joint, JointType, Tree
from ik_node.motion.trajectory.trajectory import MotionState

TIME_STEP_S = 1e-3
SERVO_BANDWIDTH_RAD_S = 80.0     # rad/s, critically damped: a lag of 2 / SERVO_BANDWIDTH_RAD_S
ROTOR_SHARE = 0.1          # of a joint's inertia; the rotor adds at least this ...
MIN_ROTOR_INERTIA = 0.02   # ... and this, kg m^2 or kg at the joint
ROD_DENSITY_KG_PER_M = 5.0  # of a link without inertial element, from its joint to the next
ROD_END_MASS_KG = 0.5
ROD_RADIUS_M = 0.05
STIFF_CONSTRAINT = 2.0 * TIME_STEP_S, 1.0  # time constant (s), damping of stops and mimic joints
SETTLE_DURATION_S = 1.0    # at the start, until the servos carry the arm
INERTIA_SAMPLES = 32       # configurations in which the inertia of each joint is computed


class PhysicsPlant:
    """
    An arm in MuJoCo; see :class:`ik_node.simulation.joints.Plant`.

    Parameters
    ----------
    tree : Tree
    chain : Chain
        Its joints are driven; mimic joints follow.
    q : (n,) array
        Positions that the servos hold at the start.
    fixed_joints : mapping
        Positions of the joints outside the chain, by name.

    """

    def __init__(self, tree: Tree, chain: Chain, q: np.ndarray,
                 fixed_joints: Mapping[str, float]) -> None:
        self._mujoco = mujoco = _mujoco()
        self.blocked = np.zeros(chain.n, dtype=bool)  # (n,) bool
        spec = _specification(mujoco, tree, fixed_joints)
        self.model = spec.compile()
        self._data = mujoco.MjData(self.model)
        joints = [self.model.joint(name) for name in chain.joint_names]
        self._q = np.array([joint.qposadr[0] for joint in joints])
        self._v = np.array([joint.dofadr[0] for joint in joints])
        inertia = self._largest_inertia(chain)
        rotor = np.maximum(ROTOR_SHARE * inertia, MIN_ROTOR_INERTIA)
        stiffness = SERVO_BANDWIDTH_RAD_S**2 * (inertia + rotor)
        damping = 2.0 * SERVO_BANDWIDTH_RAD_S * (inertia + rotor)
        for name, k, d, m in zip(chain.joint_names, stiffness, damping, rotor):
            spec.joint(name).armature = m
            servo = spec.add_actuator(name=name, target=name,
                                      trntype=mujoco.mjtTrn.mjTRN_JOINT)
            servo.set_to_position(kp=k, kv=d)
        self.model = spec.compile()
        self._data = mujoco.MjData(self.model)
        self._pose(q)
        self._data.ctrl[:] = q
        self._owed = 0.0
        self.state = MotionState.at_rest(q)
        self.step(self.state, SETTLE_DURATION_S)

    def step(self, command: MotionState, dt: float) -> None:
        """Move towards `command`, which is due in `dt` seconds, for that time."""
        data, before, begin = self._data, self.state, self._data.ctrl.copy()
        steps = int((self._owed + dt) / TIME_STEP_S)
        self._owed += dt - steps * TIME_STEP_S
        still = self.blocked
        end = np.where(still, before.q, command.q)
        begin[still] = before.q[still]
        for k in range(1, steps + 1):
            data.ctrl[:] = begin + (end - begin) * (k / steps)
            self._mujoco.mj_step(self.model, data)
            data.qpos[self._q[still]] = before.q[still]
            data.qvel[self._v[still]] = 0.0
        self.state = MotionState(data.qpos[self._q].copy(), data.qvel[self._v].copy(),
                                 data.qacc[self._v].copy())

    def _pose(self, q: np.ndarray) -> None:
        """Set the positions of the joints and of those that mimic them."""
        data, model = self._data, self.model
        data.qpos[self._q] = q
        placed = set(self._q.tolist())
        while len(placed) < model.nq:
            for k in range(model.neq):
                follower, leader = (model.jnt_qposadr[j] for j in (model.eq_obj1id[k],
                                                                   model.eq_obj2id[k]))
                if leader in placed:
                    offset, factor = model.eq_data[k, :2]
                    data.qpos[follower] = offset + factor * data.qpos[leader]
                    placed.add(int(follower))

    def _largest_inertia(self, chain: Chain) -> np.ndarray:
        """Return the largest inertia (kg m^2 or kg) of each joint over sampled configurations."""
        mujoco, model, data = self._mujoco, self.model, self._data
        lower = np.where(np.isfinite(chain.lower), chain.lower, -np.pi)
        upper = np.where(np.isfinite(chain.upper), chain.upper, np.pi)
        column = np.zeros(model.nv)
        largest = np.zeros(chain.n)
        for q in np.random.default_rng(0).uniform(lower, upper, (INERTIA_SAMPLES, chain.n)):
            self._pose(q)
            mujoco.mj_forward(model, data)
            for k, v in enumerate(self._v):
                mujoco.mj_mulM(model, data, column, np.eye(model.nv)[v])
                largest[k] = max(largest[k], column[v])
        return largest


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError:
        raise ParameterError('the parameter physics needs MuJoCo, which is not installed; '
                             'pip install mujoco, or set physics to false') from None
    return mujoco


def _specification(mujoco: Any, tree: Tree, fixed_joints: Mapping[str, float]) -> Any:
    """Return the mechanism without servos; gravity acts along -z of the root link."""
    # MuJoCo's own reading of URDF refuses links that move without inertia and meshes behind
    # package:// that it cannot open, and merges fixed links; here joints can be held as well.
    spec = mujoco.MjSpec()
    spec.option.timestep = TIME_STEP_S
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT
    spec.compiler.degree = False
    spec.compiler.autolimits = True
    spec.compiler.balanceinertia = True
    spec.compiler.boundmass = spec.compiler.boundinertia = 1e-6
    inertias = _inertias(tree)
    bodies = {tree.root: spec.worldbody}
    fixed = _with_mimics(tree, fixed_joints)
    for joint in tree.joints:
        T = joint.T_parent_joint
        if joint.name in fixed:
            T = T @ _displacement(joint, fixed[joint.name])
        body = bodies[joint.child] = bodies[joint.parent].add_body(
            name=joint.child, pos=T[:3, 3], quat=_quaternion(mujoco, T[:3, :3]))
        drives = joint.moves and joint.name not in fixed
        # A fixed link without inertia is a massless frame.
        inertia = inertias.get(joint.child) or (
            _rod(tree.joints_below(joint.child)) if drives else None)
        if inertia is not None:
            body.explicitinertial = True
            body.mass, body.ipos, R, body.inertia = inertia
            body.iquat = _quaternion(mujoco, R)
        if drives:
            slides = joint.type is JointType.PRISMATIC
            axis = body.add_joint(name=joint.name, axis=joint.axis, type=(
                mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE))
            if joint.type is not JointType.CONTINUOUS and joint.mimic is None:
                axis.range = joint.lower, joint.upper
                axis.solref_limit = STIFF_CONSTRAINT
    for joint in tree.joints:
        if joint.mimic is not None and joint.name not in fixed:
            ratio = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=joint.name,
                                      name2=joint.mimic.joint,
                                      objtype=mujoco.mjtObj.mjOBJ_JOINT)
            ratio.data[:] = 0.0
            ratio.data[:2] = joint.mimic.offset, joint.mimic.multiplier
            ratio.solref = STIFF_CONSTRAINT
    return spec


def _with_mimics(tree: Tree, fixed_joints: Mapping[str, float]) -> dict[str, float]:
    """Add the joints that mimic a fixed joint."""
    fixed = dict(fixed_joints)
    mimics = [joint for joint in tree.joints if joint.mimic is not None]
    for _ in mimics:  # each may mimic one that is fixed later
        fixed |= {joint.name: joint.mimic.multiplier * fixed[joint.mimic.joint]
                  + joint.mimic.offset for joint in mimics if joint.mimic.joint in fixed}
    return fixed


def _inertias(tree: Tree) -> dict[str, tuple[float, np.ndarray, np.ndarray, np.ndarray]]:
    """Return mass (kg), centre (m), axes (3, 3) and moments (kg m^2) of links by their names."""
    try:
        inertias = link_inertias(tree, complete=True)
    except UrdfError as error:
        raise UrdfError(f'{error}; correct it, or set physics to false') from None
    found = {}
    for link, inertia in inertias.items():
        moments, R = np.linalg.eigh(inertia.moments)
        if np.linalg.det(R) < 0.0:
            R = R * [1.0, 1.0, -1.0]
        if inertia.mass > 0.0:
            found[link] = inertia.mass, inertia.centre, R, np.maximum(moments, 0.0)
    return found


def _rod(below: list[Joint]) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return mass, centre, axes and moments of a rod from a joint to its child joints."""
    end = np.mean([joint.T_parent_joint[:3, 3] for joint in below], axis=0) if below \
        else np.zeros(3)
    length = float(np.linalg.norm(end))
    mass = ROD_DENSITY_KG_PER_M * length + ROD_END_MASS_KG
    across = mass * (length**2 / 12.0 + ROD_RADIUS_M**2 / 4.0)
    return (mass, end / 2.0, rotation_to_axis(end / length) if length else np.eye(3),
            np.array([across, across, mass * ROD_RADIUS_M**2 / 2.0]))


def _quaternion(mujoco: Any, R: np.ndarray) -> np.ndarray:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, R.ravel())
    return quaternion


def _displacement(joint: Joint, value: float) -> np.ndarray:
    """Return the pose (4, 4) of the child in the joint frame at a joint value."""
    if joint.type is JointType.PRISMATIC:
        return pose(np.eye(3), value * joint.axis)
    return pose(rotation_about(joint.axis, value), np.zeros(3))
