# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Looks at finished motions with the raw meshes, by Pinocchio and coal."""

from __future__ import annotations

from collections.abc import Callable

import coal
import numpy as np
import pinocchio as pin

from benchmarks.collision.problems import Problem, ProblemRobot
from ik_node.motion.interpolation import sample_segments
from ik_node.motion.trajectory import Trajectory

STEP_M = 1e-3  # that no point of the arm moves farther between two looks
SAMPLES_PER_SEGMENT = 200


class Judge:
    """Pinocchio's model of a robot with the meshes of its URDF."""

    def __init__(self, robot: ProblemRobot) -> None:
        self._robot = robot
        self._model = pin.buildModelFromXML(robot.urdf)
        self._arm = pin.buildGeomFromUrdfString(self._model, robot.urdf, pin.COLLISION,
                                                package_dirs=[str(robot.folder)])
        self._q = [self._model.joints[self._model.getJointId(name)].idx_q
                   for name in robot.chain.joint_names]

    def free(self, problem: Problem) -> Callable[[np.ndarray], bool]:
        """Return a function that says whether a posture (n,) is free among the objects."""
        geometry, data = self._among(problem), self._model.createData()
        geometry_data, full = pin.GeometryData(geometry), pin.neutral(self._model)

        def is_free(q: np.ndarray) -> bool:
            full[self._q] = q
            return not pin.computeCollisions(self._model, data, geometry, geometry_data, full,
                                             True)

        return is_free

    def collisions(self, problem: Problem, trajectory: Trajectory) -> tuple[int, int]:
        """Return in how many postures of a motion something touches, and of how many."""
        is_free, postures = self.free(problem), self._postures(trajectory)
        return sum(not is_free(q) for q in postures), len(postures)

    def _postures(self, trajectory: Trajectory) -> list[np.ndarray]:
        """Return postures between which no point moves farther than STEP_M."""
        _, Q, _, _ = sample_segments(trajectory, SAMPLES_PER_SEGMENT)
        reach = self._robot.model.pairs.group_reaches.max(axis=1)
        moved = np.append(0.0, np.cumsum(np.abs(np.diff(Q, axis=0)) @ reach))
        steps = np.arange(0.0, moved[-1], STEP_M)
        return [*Q[np.unique(np.searchsorted(moved, steps))], Q[-1]]

    def _among(self, problem: Problem) -> pin.GeometryModel:
        """Return the geometry of the arm among the objects, with the pairs that may not touch."""
        geometry = self._arm.copy()
        arm = geometry.ngeoms
        for body in problem.scene.bodies:
            for part in body.parts:
                geometry.addGeometryObject(pin.GeometryObject(
                    body.name, 0, 0, pin.SE3(part.T[:3, :3], part.T[:3, 3]), _shape(part)))
        objects, frames = geometry.geometryObjects, self._model.frames
        links = [frames[each.parentFrame].name for each in objects]
        joints = [each.parentJoint for each in objects]
        for j in range(geometry.ngeoms):
            for i in range(min(j, arm)):
                near = {joints[i], self._model.parents[joints[i]]} & {
                    joints[j], self._model.parents[joints[j]]} & {joints[i], joints[j]}
                apart = joints[i] != joints[j] and (j >= arm and joints[i] > 0 or not near)
                if apart and frozenset((links[i], links[j])) not in self._robot.disabled:
                    geometry.addCollisionPair(pin.CollisionPair(i, j))
        return geometry


def _shape(part: object) -> coal.CollisionGeometry:
    if part.kind == 'box':
        return coal.Box(*part.size)
    return coal.Cylinder(*part.size) if part.kind == 'cylinder' else coal.Sphere(*part.size)
