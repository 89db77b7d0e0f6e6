# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""VAMP's RRT-Connect with simplification, as its own evaluation of these problems runs it."""

from __future__ import annotations

from time import thread_time

import numpy as np

from benchmarks.collision.problems import Problem
from ik_node.collision.bodies.parts import ConvexPart

BOX_FOR_CYLINDER_SET = 'box'  # where VAMP puts a box for a cylinder, a capsule elsewhere


class VampPlanner:
    """
    VAMP's arm of a name, with the balls that VAMP has for its links.

    Raises
    ------
    ImportError
        If VAMP is not installed.

    """

    def __init__(self, name: str) -> None:
        import vamp
        self._vamp = vamp
        self._arm, self._plan, self._settings, self._simplify = \
            vamp.configure_robot_and_planner_with_kwargs(name, 'rrtc')
        self._sampler = self._arm.halton()

    def plan(self, problem: Problem) -> tuple[float, float] | None:
        """
        Plan and simplify; None if VAMP finds no way, or an end is in collision for it.

        Returns
        -------
        (float, float) or None
            Processor time (ms) and length (rad) of the path.

        """
        surroundings = self._vamp.Environment()
        for body in problem.scene.bodies:
            for part in body.parts:
                self._add(surroundings, problem.name.split()[0], part)
        ends = problem.q_start, problem.q_goal
        if not all(self._arm.validate(q, surroundings) for q in ends):
            return None
        self._sampler.reset()
        begin = thread_time()
        found = self._plan(*ends, surroundings, self._settings, self._sampler)
        if not found.solved:
            return None
        path = self._arm.simplify(found.path, surroundings, self._simplify, self._sampler).path
        elapsed = 1e3 * (thread_time() - begin)
        q = path.numpy()
        return elapsed, float(np.linalg.norm(np.diff(q, axis=0), axis=1).sum())

    def _add(self, surroundings: object, set_name: str, part: ConvexPart) -> None:
        vamp, place, turn = self._vamp, part.T[:3, 3].tolist(), _euler_angles(part.T)
        if part.kind == 'sphere':
            surroundings.add_sphere(vamp.Sphere(place, part.size[0]))
        elif part.kind == 'box':
            surroundings.add_cuboid(vamp.Cuboid(place, turn, [0.5 * x for x in part.size]))
        elif set_name == BOX_FOR_CYLINDER_SET:
            radius, length = part.size
            surroundings.add_cuboid(vamp.Cuboid(place, turn, [radius, radius, 0.5 * length]))
        else:
            surroundings.add_capsule(vamp.Cylinder(place, turn, *part.size))


def _euler_angles(T: np.ndarray) -> list[float]:
    """Return the angles about x, y and z, in this order about fixed axes, of a pose (4, 4)."""
    R = T[:3, :3]
    return [float(np.arctan2(R[2, 1], R[2, 2])), float(-np.arcsin(np.clip(R[2, 0], -1.0, 1.0))),
            float(np.arctan2(R[1, 0], R[0, 0]))]
