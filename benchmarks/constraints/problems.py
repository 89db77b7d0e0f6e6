# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Problems of MotionBenchMaker with the tool level at both ends, kept in ``problems.json``."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path

import numpy as np

from benchmarks.collision.problems import Problem, ProblemRobot
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.constrained_motion import nearest_kept
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.solver.solver import Solver

FILE = Path(__file__).with_name('problems.json')
SETS = ('table_pick', 'table_under_pick', 'bookshelf_small', 'bookshelf_tall', 'bookshelf_thin')
# Of the tip, that is up where the hand grasps from the side.
UP_AXES = {'panda': (-1.0, 0.0, 0.0), 'ur5': (0.0, -1.0, 0.0)}
TILT = np.radians(5.0)
MARGIN_M = 1e-3
PLACE_M = 0.02         # by which the tip may be beside where the problem has it
OUT_OF_REACH_M = 50.0
KEPT_COUNT = 30        # problems of each set
TRIES = 300            # to find a posture
SPREADS = 0.0, 2.0     # rad, of the first and the last try
DIGITS = 6
ACCELERATION_PER_S2 = 10.0  # rad/s^2 of all joints
JERK_PER_S3 = 100.0


def level(name: str) -> PathConstraint:
    """Return that the tool of an arm is level."""
    return PathConstraint.upright(TILT, UP_AXES[name])


def limits_of(robot: ProblemRobot) -> MotionLimits:
    """Return the limits of the motions."""
    chain, ones = robot.chain, np.ones(robot.chain.n)
    return MotionLimits(chain.lower, chain.upper, chain.velocity, ACCELERATION_PER_S2 * ones,
                        JERK_PER_S3 * ones)


def level_posture(robot: ProblemRobot, model: CollisionModel, q: np.ndarray,
                  random: np.random.Generator) -> np.ndarray | None:
    """Return a free posture (n,) with the tool level and the tip where it is at q; or None."""
    T = np.eye(4)
    T[:3, 3] = forward_kinematics(robot.chain, q)[:3, 3]
    kept = [level(robot.name), PathConstraint(T, position=(PLACE_M,) * 3)]
    chain, limits = robot.chain, limits_of(robot)
    for spread in np.linspace(*SPREADS, TRIES):
        near = nearest_kept(chain, kept, np.clip(random.normal(q, spread), chain.lower,
                                                 chain.upper), limits)
        if near is not None:
            near = np.clip(np.round(near, DIGITS), chain.lower, chain.upper)
            if model.check_many(near[None])[0]:
                return near
    return None


def goals_at_pose(robot: ProblemRobot, model: CollisionModel, problem: Problem) -> np.ndarray:
    """Return the free postures (g, n) with the tip where the goal has it, the nearest first."""
    T = forward_kinematics(robot.chain, problem.q_goal)
    found = np.array([problem.q_goal, *(
        result.q for result in Solver(robot.chain).solve_all(T, problem.q_start))])
    found = found[model.check_many(found)]
    return found[np.argsort(np.abs(found - problem.q_start).max(axis=1))]


def free_problems(robot: ProblemRobot, count: int) -> Iterator[Problem]:
    """Yield pairs of random level postures in which the arm does not touch itself."""
    model, random = robot.model.with_objects([], MARGIN_M), np.random.default_rng(0)
    scene, T_far = Scene(robot.chain.base_link), np.eye(4)
    T_far[2, 3] = OUT_OF_REACH_M
    scene.add_sphere('out of reach', MARGIN_M, T_far)  # the judge needs an object

    def posture() -> np.ndarray:
        while True:
            near = nearest_kept(robot.chain, [level(robot.name)], random.uniform(
                robot.chain.lower, robot.chain.upper), limits_of(robot))
            if near is not None and model.check_many(near[None])[0]:
                return near

    for number in range(count):
        yield Problem(f'free space {number}', posture(), posture(), scene)


def make(folders: list[Path]) -> None:
    """Make the problems of arms again, and say how many have no level posture."""
    found = json.loads(FILE.read_text()) if FILE.exists() else {}
    for folder in folders:
        robot = ProblemRobot(folder)
        for name in SETS:
            random, kept, without = np.random.default_rng(0), {}, 0
            for problem in robot.problems((name,)):
                model = robot.model.with_objects(problem.scene.bodies, MARGIN_M)
                ends = [level_posture(robot, model, q, random)
                        for q in (problem.q_start, problem.q_goal)]
                if any(q is None for q in ends):
                    without += 1
                    continue
                kept[problem.name] = [q.tolist() for q in ends]
                if len(kept) == KEPT_COUNT:
                    break
            found.setdefault(robot.name, {})[name] = kept
            print(f'{robot.name} {name}: {len(kept)} problems, {without} without', flush=True)
    FILE.write_text(json.dumps(found).replace('{', '{\n').replace(']], ', ']],\n')
                    .replace(']]}', ']]\n}') + '\n')


def problems(robot: ProblemRobot, name: str, count: int) -> Iterator[Problem]:
    """Yield the first problems of a set, with a level tool at both ends."""
    kept = json.loads(FILE.read_text())[robot.name][name]
    left = min(count, len(kept))
    for problem in robot.problems((name,)):
        if problem.name in kept:
            yield Problem(problem.name, *np.array(kept[problem.name]), problem.scene)
            left -= 1
        if not left:
            return
