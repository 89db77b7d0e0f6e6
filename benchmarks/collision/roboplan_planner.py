# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Roboplan's RRT-Connect with shortcuts, as it is set by default, on the raw meshes."""

from __future__ import annotations

from itertools import combinations
from time import thread_time

import numpy as np

from benchmarks.collision.problems import Problem, ProblemRobot
from ik_node.collision.bodies.parts import ConvexPart

GROUP_NAME = 'arm'
MAX_TIME_S = 5.0
MAX_NODES = 100_000
OBJECT_COLOUR = np.array([0.5, 0.5, 0.5, 1.0])


class RoboplanPlanner:
    """
    Roboplan's scene of an arm.

    Raises
    ------
    ImportError
        If roboplan is not installed.

    """

    def __init__(self, robot: ProblemRobot) -> None:
        from roboplan import core, rrt
        self._core, self._rrt, self._robot = core, rrt, robot

    def plan(self, problem: Problem) -> tuple[float, float] | None:
        """
        Plan and shorten; None if roboplan finds no way in MAX_TIME_S.

        Returns
        -------
        (float, float) or None
            Processor time (ms) and length (rad) of the path.

        """
        core, rrt, chain = self._core, self._rrt, self._robot.chain
        scene = self._scene(problem)
        planner = rrt.RRT(scene, rrt.RRTOptions(
            group_name=GROUP_NAME, max_nodes=MAX_NODES, max_planning_time=MAX_TIME_S,
            rrt_connect=True))
        planner.setRngSeed(0)
        shortcutter = core.PathShortcutter(scene, core.PathShortcuttingOptions(
            group_name=GROUP_NAME))
        names = list(chain.joint_names)
        begin = thread_time()
        try:
            path = planner.plan(core.JointConfiguration(names, problem.q_start),
                                core.JointConfiguration(names, problem.q_goal))
            path = shortcutter.shortcut(path)
        except RuntimeError:
            return None
        elapsed = 1e3 * (thread_time() - begin)
        q = np.array(path.positions)
        return elapsed, float(np.linalg.norm(np.diff(q, axis=0), axis=1).sum())

    def _scene(self, problem: Problem) -> object:
        """Return roboplan's scene of a problem."""
        core, robot = self._core, self._robot
        scene = core.Scene(robot.name, core.loadUrdfSceneDescriptionFromXml(
            robot.urdf, [str(robot.folder)]))
        scene.addGroup(GROUP_NAME, list(robot.chain.joint_names))
        scene.allowAdjacentLinkCollisions()
        scene.setCollisions([tuple(sorted(pair)) for pair in robot.disabled], False)
        names = []
        for body in problem.scene.bodies:
            for number, part in enumerate(body.parts):
                names.append(f'{body.name} {number}')
                self._add(scene, names[-1], part)
        scene.setCollisions([*combinations(names, 2)], False)
        return scene

    def _add(self, scene: object, name: str, part: ConvexPart) -> None:
        core, frame = self._core, self._robot.chain.base_link
        T = np.asfortranarray(part.T)
        if part.kind == 'sphere':
            scene.addSphereGeometry(name, frame, core.Sphere(*part.size), T, OBJECT_COLOUR)
        elif part.kind == 'box':
            scene.addBoxGeometry(name, frame, core.Box(*part.size), T, OBJECT_COLOUR)
        else:
            scene.addCylinderGeometry(name, frame, core.Cylinder(*part.size), T, OBJECT_COLOUR)
