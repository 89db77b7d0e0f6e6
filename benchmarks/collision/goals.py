# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Goals one after the other among the ground and boxes, answered as the node answers them.

Each goal is the pose of a random posture that is free by the raw meshes.  The arm starts where it
arrived before.  The settings are the node's by default, with the ground.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from time import thread_time
from typing import NamedTuple

import numpy as np

from benchmarks.arms import ARMS, PACKAGES
from benchmarks.collision import ompl_planner
from benchmarks.collision.judge import Judge
from ik_node.base.errors import GoalError, IkNodeError, Reason, TrajectoryError
from ik_node.base.se3 import pose, rotation_about
from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.motion import detour
from ik_node.motion.detour import plan_detour
from ik_node.motion.direct import point_to_point
from ik_node.motion.direct.point_to_point import plan_point_to_point, require_free, StartState
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.node.robot.settings import make_settings, Settings
from ik_node.ros.parameters.tables import IK_NODE
from ik_node.solver.goal import Goal

GOAL_ARMS = 'ur5', 'panda', 'xarm7', 'six_axis', 'parallel_axes'
BOX_COUNT = 20
BOX_EDGES_M = 0.05, 0.25
GOALS_PER_SCENE = 100
REACH_SAMPLES = 1000
INNER_SHARE = 0.4  # of the reach, within which no box comes: it would lock the first joints


class GoalRobot:
    """
    An arm of the packages of benchmarks.ik, with its meshes.

    Attributes
    ----------
    chain : Chain
    urdf : str
    folder : Path
    disabled : set of frozenset of str
        Links that are drawn into each other.

    """

    def __init__(self, name: str) -> None:
        arm = next(each for each in ARMS if each.name == name)
        self.name, self.folder = name, PACKAGES['example-robot-data'].parents[1]
        self.urdf = arm.path.read_text()
        self.tree = parse_urdf(self.urdf)
        self.chain = make_chain(self.tree, arm.base, arm.tip)
        self.model = CollisionModel(self.chain, self.tree,
                                    arm_bodies(self.tree, self.resolve, strict=True).bodies)
        self.disabled = {frozenset(pair.links) for pair in self.model.report if pair.reason}

    def resolve(self, uri: str) -> tuple[Path | None, str]:
        """Return the file of a mesh."""
        path = self.folder / uri.removeprefix('package://')
        return (path, '') if path.is_file() else (None, f'{uri} is missing')

    def random_posture(self, random: np.random.Generator) -> np.ndarray:
        """Return a posture (n,) inside the limits."""
        return random.uniform(self.chain.lower, self.chain.upper)

    def settings(self, scene: Scene) -> Settings:
        """Return the node's settings by default, with the ground, in a scene."""
        values = {row.name: row.default for row in IK_NODE} | {'collision.ground': True}
        return make_settings(values, self.chain, self.model, scene)

    def random_scene(self, random: np.random.Generator) -> Scene:
        """Return a scene of boxes all over where the arm reaches, above the ground."""
        tips = [forward_kinematics(self.chain, self.random_posture(random))[:3, 3]
                for _ in range(REACH_SAMPLES)]
        reach, scene = np.linalg.norm(tips, axis=1).max(), Scene(self.chain.base_link)
        while len(scene.objects) < BOX_COUNT:
            place, edges = reach * random.uniform((-1, -1, 0), 1), random.uniform(*BOX_EDGES_M, 3)
            distance = np.linalg.norm(place)
            if distance < reach and distance - 0.5 * np.linalg.norm(edges) > INNER_SHARE * reach:
                axis = random.normal(size=3)
                T = pose(rotation_about(axis / np.linalg.norm(axis), random.uniform(0.0, np.pi)),
                         place)
                scene.add_box(f'box_{len(scene.objects)}', tuple(edges.tolist()), T)
        return scene


def answered(settings: Settings, goal: Goal, q: np.ndarray,
             seeds: list[np.ndarray]) -> tuple[Trajectory, bool]:
    """
    Return the motion from rest at q (n,) to a goal, and whether it goes round something.

    Raises
    ------
    IkNodeError
        If the goal is refused.

    """
    solver, planning, period = settings.solver, settings.planning, settings.sample_period
    result = solver.solve(goal, np.array(seeds))
    if not result.success:
        raise GoalError(result.message, result.status)
    start, chain = StartState.from_state(MotionState.at_rest(q)), solver.chain
    try:
        trajectory = plan_point_to_point(chain.joint_names, start,
                                         chain.nearest_turns(result.q, q), planning, period,
                                         chain)
        require_free(solver.collisions, trajectory)
        return trajectory, False
    except TrajectoryError as error:
        if error.reason is not Reason.COLLISION:
            raise
    end = thread_time() + settings.detour_time
    goals = [result.q, *(posture.q for posture in solver.free_postures(goal, q))]
    return plan_detour(solver.collisions, start,
                       np.array([chain.nearest_turns(each, q) for each in goals]), planning,
                       period, lambda: thread_time() < end), True


class Count(NamedTuple):
    """
    What became of goals.

    Attributes
    ----------
    ends : Counter
        How many ended in which way.
    times : list of float
        Processor time of each goal with a motion, ms.
    refused : list of str
        Why each of the others was refused, and whether OMPL finds a way.

    """

    ends: Counter
    times: list[float]
    refused: list[str]


def judged(robot: GoalRobot, scene: Scene, count: int, random: np.random.Generator,
           sums: Count) -> None:
    """Answer goals in a scene, and judge the motions; adds to the sums."""
    settings = robot.settings(scene)
    model, margin = settings.solver.collisions, settings.surroundings.margin
    judge = Judge(robot, model.objects)
    is_free = judge.free(margin)

    def free_posture() -> np.ndarray:
        q = robot.random_posture(random)
        while not is_free(q):
            q = robot.random_posture(random)
        return q

    q = free_posture()
    while not model.check_many(q[None])[0]:
        q = free_posture()
    seeds = [q]
    for _ in range(count):
        known = free_posture()
        goal = Goal(forward_kinematics(robot.chain, known))
        begin = thread_time()
        try:
            trajectory, detour = answered(settings, goal, q, [q, *seeds])
        except IkNodeError as error:
            sums.ends['refused'] += 1
            found = ompl_planner.plan(robot.chain, q, known, is_free)
            sums.ends['refused, and OMPL finds a way'] += found is not None
            sums.refused.append(f'{error.reason}: {error}; OMPL: '
                                + ('no way' if found is None else f'{found[0]:.0f} ms'))
            continue
        sums.times.append(1e3 * (thread_time() - begin))
        sums.ends['round something' if detour else 'direct'] += 1
        touching, looked = judge.collisions(trajectory)
        sums.ends['postures'] += looked
        sums.ends['postures in collision'] += touching
        sums.ends['motions in collision'] += touching > 0
        q = trajectory.end
        seeds = [q]


def measure_goals(robot: GoalRobot, count: int, seed: int = 0) -> Count:
    """Return what became of goals, with another scene after every GOALS_PER_SCENE."""
    random, sums = np.random.default_rng(seed), Count(Counter(), [], [])
    settings, q = robot.settings(Scene(robot.chain.base_link)), robot.chain.middle
    settings.solver.solve_all(Goal(forward_kinematics(robot.chain, q)), q)
    point_to_point.warm_up(robot.chain, settings.planning)
    detour.warm_up(settings.solver.collisions, settings.planning)
    for first in range(0, count, GOALS_PER_SCENE):
        judged(robot, robot.random_scene(random), min(GOALS_PER_SCENE, count - first), random,
               sums)
    return sums


def goals_row(robot: GoalRobot, sums: Count) -> str:
    """Return a line of the table."""
    ends = sums.ends
    middle, most, worst = np.percentile(sums.times, [50, 95, 100])
    return (f'{robot.name:15s} {ends["direct"]:6d} {ends["round something"]:6d} '
            f'{ends["refused"]:6d} {ends["refused, and OMPL finds a way"]:6d} '
            f'{middle:8.1f} {most:8.1f} {worst:8.1f} {ends["postures"]:10d} '
            f'{ends["motions in collision"]:6d}')
