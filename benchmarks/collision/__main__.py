# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Measure the planning of motions among obstacles on the problems of MotionBenchMaker.

    python -m benchmarks.collision FOLDER [FOLDER ...] [--count 100] [--sets cage box] [--judge 3]
        [--ompl 5]

Each FOLDER is one of VAMP's repository, ``resources/panda`` or ``resources/ur5``, with
``problems.tar.bz2`` unpacked.  Times are processor times of this thread, from the question to the
trajectory: search, shortening, timing and proof.  Not in them: the model of the scene.  The first
motions of each set are judged by Pinocchio and coal with the raw meshes, in steps of 1 mm; the
first problems are given to OMPL's RRT-Connect, too, which is in benchmarks/requirements.txt.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import thread_time
from typing import NamedTuple

import numpy as np

from benchmarks.collision import ompl_planner
from benchmarks.collision.judge import Judge
from benchmarks.collision.problems import Problem, ProblemRobot, SETS
from ik_node.collision.model import CollisionModel
from ik_node.errors import TrajectoryError
from ik_node.motion.detour import plan_detour
from ik_node.motion.limits import MotionLimits
from ik_node.motion.start_state import StartState
from ik_node.motion.trajectory import MotionState, Trajectory

MARGIN_M = 1e-3
ACCELERATION_PER_S2 = 10.0  # rad/s^2 of all joints
JERK_PER_S3 = 100.0
PERIOD_S = 0.1


def limits_of(robot: ProblemRobot) -> MotionLimits:
    """Return the limits of the motions."""
    chain, ones = robot.chain, np.ones(robot.chain.n)
    return MotionLimits(chain.lower, chain.upper, chain.velocity, ACCELERATION_PER_S2 * ones,
                        JERK_PER_S3 * ones)


def planned(robot: ProblemRobot, model: CollisionModel, problem: Problem) -> Trajectory:
    """Return the motion that solves a problem."""
    start = StartState.from_state(MotionState.at_rest(problem.q_start))
    return plan_detour(model, start, problem.q_goal[None], limits_of(robot), PERIOD_S)


class Found(NamedTuple):
    """Times (ms) and lengths (rad) of the motions of a set, and how many have no solution."""

    times: list[float]
    lengths: list[float]
    invalid: int


def measure(robot: ProblemRobot, name: str, options: argparse.Namespace) -> tuple[Found, Found]:
    """Return what was found for the problems of a set, by ik_node and by OMPL."""
    ours, theirs, invalid = Found([], [], 0), Found([], [], 0), 0
    judge = Judge(robot)
    for number, problem in enumerate(robot.problems((name,), options.count)):
        model = robot.model.with_objects(problem.scene.bodies, MARGIN_M)
        ends = np.array([problem.q_start, problem.q_goal])
        inside = (ends >= robot.chain.lower) & (ends <= robot.chain.upper)
        if not (inside.all() and model.check_many(ends).all()):
            print(f'    {problem.name} has no solution: at the start {model.describe(ends[0])}, '
                  f'at the goal {model.describe(ends[1])}; inside limits: {bool(inside.all())}')
            invalid += 1
            continue
        if number < options.ompl and (path := ompl_planner.plan(robot, problem,
                                                                judge.free(problem))):
            theirs.times.append(path[0])
            theirs.lengths.append(path[1])
        begin = thread_time()
        try:
            trajectory = planned(robot, model, problem)
        except TrajectoryError as error:
            print(f'    {problem.name}: {error}')
            continue
        ours.times.append(1e3 * (thread_time() - begin))
        q = np.vstack([problem.q_start, trajectory.q])
        ours.lengths.append(float(np.linalg.norm(np.diff(q, axis=0), axis=1).sum()))
        if number < options.judge:
            found, looked = judge.collisions(problem, trajectory)
            print(f'    {problem.name}: {found} of {looked} postures collide by the raw meshes')
    return ours._replace(invalid=invalid), theirs._replace(invalid=invalid)


def row(name: str, count: int, found: Found) -> str:
    """Return a line of the table."""
    middle, most, worst = np.percentile(found.times, [50, 95, 100])
    return (f'{name:18s} {len(found.times):4d} of {count:4d}  {middle:8.1f} {most:8.1f} '
            f'{worst:8.1f}  {np.mean(found.lengths):6.2f}')


def main() -> None:
    """Print a table for each robot."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('folders', nargs='+', type=Path)
    parser.add_argument('--count', type=int, default=100, help='problems of each set')
    parser.add_argument('--judge', type=int, default=0, help='motions of each set to judge')
    parser.add_argument('--ompl', type=int, default=0, help='problems of each set for OMPL')
    parser.add_argument('--sets', nargs='+', default=list(SETS), choices=SETS)
    options = parser.parse_args()
    for folder in options.folders:
        robot = ProblemRobot(folder)
        warm = next(robot.problems(count=1))
        planned(robot, robot.model.with_objects(warm.scene.bodies, MARGIN_M), warm)
        print(f'{robot.name}: solved, ms at the median, 95 % and at most, rad in the mean')
        sums = [Found([], [], 0), Found([], [], 0)]
        for name in options.sets:
            counts = options.count, min(options.ompl, options.count)
            for k, (who, found, count) in enumerate(zip(('', ' OMPL'),
                                                        measure(robot, name, options), counts)):
                if found.times:
                    print(row(name + who, count - (0 if who else found.invalid), found))
                sums[k] = Found(sums[k].times + found.times, sums[k].lengths + found.lengths,
                                sums[k].invalid + found.invalid)
        for who, found, count in zip(('all', 'all OMPL'), sums, counts):
            if found.times:
                print(row(who, count * len(options.sets) - (0 if 'O' in who else found.invalid),
                          found))


if __name__ == '__main__':
    main()
