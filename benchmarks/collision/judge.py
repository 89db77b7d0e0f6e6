# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Looks at finished motions with the raw meshes, by Pinocchio and coal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import product
from pathlib import Path
from typing import Protocol

import coal
import numpy as np
import pinocchio as pin

from ik_node.collision.bodies.parts import Body, ConvexPart
from ik_node.model.chain import Chain
from ik_node.motion.trajectory.interpolation import segments
from ik_node.motion.trajectory.trajectory import Trajectory

STEP_M = 1e-3  # of the fastest point of the arm, from one posture that is judged to the next
SPEED_SAMPLE_S = 0.02  # within which the speed is taken as constant
BLOCK_STEPS = 32  # that are looked at together first
HALF_SPACE_M = 100.0  # edge of the box that stands for a half-space


class JudgedRobot(Protocol):
    """
    What a judge needs of an arm.

    Attributes
    ----------
    chain : Chain
    urdf : str
    folder : Path
        In which the packages of its meshes are.
    disabled : collection of frozenset of str
        Links that may touch.

    """

    chain: Chain
    urdf: str
    folder: Path
    disabled: Collection[frozenset[str]]


class Judge:
    """
    Pinocchio's model of an arm with the meshes of its URDF, among objects.

    Joints that are not of the chain stand still.

    Parameters
    ----------
    robot : JudgedRobot
    bodies : iterable of Body
        The objects; all in the base link, which does not move.

    """

    def __init__(self, robot: JudgedRobot, bodies: Iterable[Body]) -> None:
        model = pin.buildModelFromXML(robot.urdf)
        arm = pin.buildGeomFromUrdfString(model, robot.urdf, pin.COLLISION,
                                          package_dirs=[str(robot.folder)])
        still = [k for k in range(1, model.njoints)
                 if model.names[k] not in robot.chain.joint_names]
        self._model, self._geometry = pin.buildReducedModel(model, arm, still, pin.neutral(model))
        self._q = [self._model.joints[self._model.getJointId(name)].idx_q
                   for name in robot.chain.joint_names]
        self._arm = self._geometry.ngeoms
        base = self._model.frames[self._model.getFrameId(robot.chain.base_link)].placement
        self._add_pairs(bodies, base, robot.disabled)
        self._corners = np.array([_corners(each.geometry)
                                  for each in self._geometry.geometryObjects])
        self._pairs = np.array([(pair.first, pair.second)
                                for pair in self._geometry.collisionPairs])
        self._data, self._full = self._model.createData(), pin.neutral(self._model)
        self._look_data = pin.GeometryData(self._geometry)

    def free(self, margin: float = 0.0) -> Callable[[np.ndarray], bool]:
        """Return a function that says whether a posture (n,) keeps a margin (m) from objects."""
        look = pin.GeometryData(self._geometry)
        for pair, request in zip(self._geometry.collisionPairs, look.collisionRequests):
            request.security_margin = margin if pair.second >= self._arm else 0.0

        def is_free(q: np.ndarray) -> bool:
            self._full[self._q] = q
            return not pin.computeCollisions(self._model, self._data, self._geometry, look,
                                             self._full, True)

        return is_free

    def collisions(self, trajectory: Trajectory) -> tuple[int, int]:
        """
        Return in how many postures of a motion something touches, and of how many.

        The postures are STEP_M apart.  Several are looked at together: what is farther apart in
        the middle one than any two points can move towards each other is apart in all of them.
        """
        Q, moved = self._postures(trajectory)
        return sum(self._touching(Q, moved, begin, min(begin + BLOCK_STEPS, len(Q)))
                   for begin in range(0, len(Q), BLOCK_STEPS)), len(Q)

    def _touching(self, Q: np.ndarray, moved: np.ndarray, begin: int, end: int,
                  pairs: np.ndarray | None = None) -> int:
        """Return how many of the postures from begin to before end touch in one of the pairs."""
        middle, look = (begin + end) // 2, self._look_data
        needed = np.maximum(moved[middle] - moved[begin], moved[end - 1] - moved[middle])
        T = self._place(Q[middle], look)
        if pairs is None:
            corners = _moved_corners(T, self._corners)
            least, most = corners.min(axis=1), corners.max(axis=1)
            one, other = self._pairs.T
            room = needed[:, None]
            pairs = np.flatnonzero(((least[one] <= most[other] + room)
                                    & (least[other] <= most[one] + room)).all(axis=1))
        near = []
        for k in pairs.tolist():
            look.collisionRequests[k].security_margin = needed[k]
            if pin.computeCollision(self._geometry, look, k):
                near.append(k)
        if not near or end - begin == 1:
            return int(bool(near))
        return self._touching(Q, moved, begin, middle, np.array(near)) \
            + self._touching(Q, moved, middle, end, np.array(near))

    def _postures(self, trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
        """
        Return postures (N, n), and how far (m) the shapes of each pair have moved to each, (N, K).

        Towards each other: no point of one is faster, as the other sees it.
        """
        begins, _, c = segments(trajectory)
        times = np.linspace(0.0, trajectory.duration,
                            int(np.ceil(trajectory.duration / SPEED_SAMPLE_S)) + 1)

        def positions(t: np.ndarray) -> np.ndarray:
            k = np.clip(np.searchsorted(begins, t, side='right') - 1, 0, len(begins) - 1)
            return np.einsum('jkn,kj->kn', c[:, k], (t - begins[k])[:, None] ** np.arange(6))

        T = np.array([self._place(q, self._look_data) for q in positions(times)])
        by_pair = {}
        for one, other in self._pairs.tolist():
            # Objects do not move, so it is the same for all of them.
            seen_from = None if other >= self._arm else other
            if (one, seen_from) not in by_pair:
                relative = T[:, one] if seen_from is None \
                    else np.linalg.inv(T[:, other]) @ T[:, one]
                steps = np.diff(_moved_corners(relative, self._corners[one]), axis=0)
                by_pair[one, seen_from] = np.append(
                    0.0, np.cumsum(np.linalg.norm(steps, axis=2).max(axis=1)))
        fastest = np.append(0.0, np.cumsum(np.max([
            np.diff(moved) for (_, other), moved in by_pair.items() if other is None], axis=0)))
        wanted = np.append(np.arange(0.0, fastest[-1], STEP_M), fastest[-1])
        at = np.interp(wanted, fastest, times)
        moved = {key: np.interp(at, times, each) for key, each in by_pair.items()}
        return positions(at), np.column_stack([
            moved[one, None if other >= self._arm else other]
            for one, other in self._pairs.tolist()])

    def _place(self, q: np.ndarray, look: pin.GeometryData) -> np.ndarray:
        """Place all shapes at q (n,); return their poses (K, 4, 4)."""
        self._full[self._q] = q
        pin.updateGeometryPlacements(self._model, self._data, self._geometry, look, self._full)
        return np.array([each.homogeneous for each in look.oMg])

    def _add_pairs(self, bodies: Iterable[Body], base: pin.SE3,
                   disabled: Collection[frozenset[str]]) -> None:
        """Add the objects, and the pairs that may not touch."""
        geometry, arm = self._geometry, self._arm
        for body in bodies:
            for k, part in enumerate(body.parts):
                shape, T = _shape(part)
                geometry.addGeometryObject(pin.GeometryObject(
                    f'{body.name}/{k}', 0, 0, base * pin.SE3(T[:3, :3], T[:3, 3]), shape))
        geometry.removeAllCollisionPairs()
        objects, frames = geometry.geometryObjects, self._model.frames
        links = [frames[each.parentFrame].name for each in objects]
        joints = [each.parentJoint for each in objects]
        for j in range(geometry.ngeoms):
            for i in range(min(j, arm)):
                near = {joints[i], self._model.parents[joints[i]]} & {
                    joints[j], self._model.parents[joints[j]]} & {joints[i], joints[j]}
                apart = joints[i] != joints[j] and (j >= arm and joints[i] > 0 or not near)
                if apart and (j >= arm or frozenset((links[i], links[j])) not in disabled):
                    geometry.addCollisionPair(pin.CollisionPair(i, j))


def _moved_corners(T: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return corners (..., 8, 3) that are moved by poses (..., 4, 4)."""
    return corners @ T[..., :3, :3].swapaxes(-1, -2) + T[..., None, :3, 3]


def _corners(shape: coal.CollisionGeometry) -> np.ndarray:
    """Return the corners (8, 3) of the box round a shape, in its frame."""
    shape.computeLocalAABB()
    box = shape.aabb_local
    return np.array([*product(*zip(np.ravel(box.min_), np.ravel(box.max_)))])


def _shape(part: ConvexPart) -> tuple[coal.CollisionGeometry, np.ndarray]:
    """Return coal's form of a part, and its pose."""
    if part.kind == 'plane':
        below = np.eye(4)
        below[2, 3] = -0.5 * HALF_SPACE_M
        return coal.Box(HALF_SPACE_M, HALF_SPACE_M, HALF_SPACE_M), part.T @ below
    kinds = {'box': coal.Box, 'cylinder': coal.Cylinder, 'sphere': coal.Sphere}
    return kinds[part.kind](*part.size), part.T
