# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Libraries of differential kinematics: mink, pink and placo.

They give one step, a quadratic programme within the limits; the loop is their
examples' loop, with a test of convergence and with restarts.
"""

from __future__ import annotations

import mink
import mujoco
import numpy as np
import pink
import pinocchio as pin
import placo

from benchmarks.ik.model import Model
from benchmarks.ik.peers.base import MIDDLE, Peer, POSE, POSITION, random_starts, TOLERANCE

STEPS = 30
STARTS = 10
PLACO_STEPS = 20  # with a hundred starts: its steps are in C++
LM_DAMPING, DAMPING = 0.01, 1e-9  # the best of those tried, with the solver quadprog
POSTURE_COST = 1e-2               # for the task MIDDLE, then taken off to settle


class Mink(Peer):
    """mink on MuJoCo's kinematics."""

    name = 'mink'
    package = 'mink'
    call = 'a loop of solve_ik(quadprog, ConfigurationLimit) and integrate_inplace'
    tasks = (POSE, POSITION, MIDDLE)
    slow = True

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        compiler = '<mujoco><compiler fusestatic="false"/></mujoco>'
        text = model.urdf.read_text().replace('<link', compiler + '<link', 1)
        self.mujoco = mujoco.MjModel.from_xml_string(text)
        self.configuration = mink.Configuration(self.mujoco)
        self.frame = mink.FrameTask(
            model.tip, 'body', position_cost=1.0, lm_damping=LM_DAMPING,
            orientation_cost=0.0 if task == POSITION else 1.0)
        self.posture = mink.PostureTask(self.mujoco, cost=POSTURE_COST)
        self.posture.set_target(0.5 * (model.lower + model.upper))
        self.limits = [mink.ConfigurationLimit(self.mujoco)]
        self.starts = random_starts(model, STARTS)
        self.rows = 3 if task == POSITION else 6

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        self.configuration.update(q)
        return self.configuration.get_transform_frame_to_world(self.model.tip,
                                                               'body').as_matrix()

    def inputs(self, T: np.ndarray, seed: np.ndarray) -> tuple:
        """See :meth:`Peer.inputs`."""
        return mink.SE3.from_matrix(T), seed

    def solve(self, goal: mink.SE3, q: np.ndarray) -> np.ndarray | None:
        """See :meth:`Peer.solve`."""
        configuration, frame = self.configuration, self.frame
        frame.set_target(goal)
        for start in self.starts:
            configuration.update(q)
            for step in range(STEPS):
                with_posture = self.task == MIDDLE and step < STEPS // 2
                tasks = [frame, self.posture] if with_posture else [frame]
                try:
                    velocity = mink.solve_ik(configuration, tasks, 1.0, 'quadprog',
                                             damping=DAMPING, limits=self.limits)
                except mink.NoSolutionFound:
                    break
                configuration.integrate_inplace(velocity, 1.0)
                e = frame.compute_error(configuration)[:self.rows]
                if e @ e < (0.5 * TOLERANCE)**2 and not with_posture:
                    return configuration.q
            q = start
        return None

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        return [] if returned is None else [np.array(returned)]


class Pink(Peer):
    """pink on Pinocchio's kinematics."""

    name = 'pink'
    package = 'pin-pink'
    call = 'a loop of solve_ik(quadprog) and integrate_inplace'
    tasks = (POSE, POSITION, MIDDLE)
    slow = True

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        self.pin = pin.buildModelFromUrdf(str(model.windowed_urdf))
        self.data = self.pin.createData()
        self.frame = pink.tasks.FrameTask(
            model.tip, position_cost=1.0, lm_damping=LM_DAMPING,
            orientation_cost=0.0 if task == POSITION else 1.0)
        self.posture = pink.tasks.PostureTask(cost=POSTURE_COST)
        self.posture.set_target(0.5 * (model.lower + model.upper))
        self.starts = random_starts(model, STARTS)
        self.rows = 3 if task == POSITION else 6

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        configuration = pink.Configuration(self.pin, self.data, q)
        return configuration.get_transform_frame_to_world(self.model.tip).homogeneous

    def inputs(self, T: np.ndarray, seed: np.ndarray) -> tuple:
        """See :meth:`Peer.inputs`."""
        return pin.SE3(T), seed

    def solve(self, goal: pin.SE3, q: np.ndarray) -> np.ndarray | None:
        """See :meth:`Peer.solve`."""
        self.frame.set_target(goal)
        for start in self.starts:
            configuration = pink.Configuration(self.pin, self.data, q)
            for step in range(STEPS):
                with_posture = self.task == MIDDLE and step < STEPS // 2
                tasks = [self.frame, self.posture] if with_posture else [self.frame]
                try:
                    velocity = pink.solve_ik(configuration, tasks, 1.0, solver='quadprog',
                                             damping=DAMPING, safety_break=False)
                except pink.exceptions.PinkError:
                    break
                configuration.integrate_inplace(velocity, 1.0)
                e = self.frame.compute_error(configuration)[:self.rows]
                if e @ e < (0.5 * TOLERANCE)**2 and not with_posture:
                    return configuration.q
            q = start
        return None

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        return [] if returned is None else [np.array(returned)]


class Placo(Peer):
    """placo on Pinocchio's kinematics, its quadratic programme in C++."""

    name = 'placo'
    package = 'placo'
    call = 'a loop of KinematicsSolver.solve(True), update_kinematics and error_norm'
    tasks = (POSE, MIDDLE)

    def __init__(self, model: Model, task: str) -> None:
        super().__init__(model, task)
        self.robot = placo.RobotWrapper(str(model.windowed_urdf), placo.Flags.ignore_collisions)
        self.solver = placo.KinematicsSolver(self.robot)
        self.solver.mask_fbase(True)
        self.frame = self.solver.add_frame_task(model.tip, np.eye(4))
        self.frame.configure('tip', 'soft', 1.0, 1.0)
        self.position, self.orientation = self.frame.position(), self.frame.orientation()
        self.solver.enable_joint_limits(True)
        self.starts = random_starts(model).tolist()

    def fk(self, q: np.ndarray) -> np.ndarray:
        """See :meth:`Peer.fk`."""
        self._place(q)
        return np.array(self.robot.get_T_world_frame(self.model.tip))

    def _place(self, q: list | np.ndarray) -> None:
        for name, value in zip(self.model.names, q):
            self.robot.set_joint(name, value)
        self.robot.update_kinematics()

    def inputs(self, T: np.ndarray, seed: np.ndarray) -> tuple:
        """See :meth:`Peer.inputs`."""
        return T, seed.tolist()

    def solve(self, T: np.ndarray, q: list) -> list | None:
        """See :meth:`Peer.solve`."""
        solver, robot = self.solver, self.robot
        self.frame.T_world_frame = T
        for start in self.starts:
            self._place(q)
            try:
                for _ in range(PLACO_STEPS):
                    solver.solve(True)
                    robot.update_kinematics()
                    if self.position.error_norm() < TOLERANCE \
                            and self.orientation.error_norm() < TOLERANCE:
                        return [robot.get_joint(name) for name in self.model.names]
            except RuntimeError:  # the quadratic programme has no solution
                pass
            q = start
        return None

    def answers(self, returned: object) -> list[np.ndarray]:
        """See :meth:`Peer.answers`."""
        return [] if returned is None else [np.array(returned)]


PEERS = (Mink, Pink, Placo)
