# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Measure the planning of motions among obstacles.

    python -m benchmarks.collision FOLDER [FOLDER ...] [--count 100] [--sets cage box] [--judge 3]
        [--ompl 5] [--roboplan 100] [--vamp]
    python -m benchmarks.collision --goals 1000 [--arms ur5 panda]
    python -m benchmarks.collision --stream
    python -m benchmarks.collision --checks
    python -m benchmarks.collision --thickness [--arms ur5 xarm7]
    python -m benchmarks.collision --compile

Each FOLDER is one of VAMP's repository, ``resources/panda``, ``ur5`` or ``fetch``, with
``problems.tar.bz2`` unpacked: the problems of MotionBenchMaker.  Times are processor times of this
thread, from the question to the trajectory: search, shortening, timing and proof.  Not in them:
the model of the scene.  The first motions of each set are judged by Pinocchio and coal with the
raw meshes, in steps of 1 mm; the first problems are given to OMPL's and to roboplan's
RRT-Connect, too, and all of them to VAMP's.  With ``--goals`` arms go to random goals among the
ground and boxes, every motion is judged, and OMPL looks for a way to each goal that is refused.
``--stream`` measures what the cycle of a stream costs, ``--checks`` what the check of a posture
and the proof of a direct motion cost, ``--thickness`` how much thicker than its meshes an arm is
checked, ``--compile`` what it costs to compile all kernels.  OMPL and VAMP
are in benchmarks/requirements.txt; roboplan needs another Pinocchio, so an environment of its own.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from time import thread_time
from typing import NamedTuple

import numpy as np

from benchmarks.collision import ompl_planner
from benchmarks.collision.checks import checks_row
from benchmarks.collision.compile_time import compile_row
from benchmarks.collision.goals import GOAL_ARMS, GoalRobot, goals_row, measure_goals
from benchmarks.collision.judge import Judge
from benchmarks.collision.problems import Problem, ProblemRobot, SETS
from benchmarks.collision.roboplan_planner import RoboplanPlanner
from benchmarks.collision.stream import STREAM_ARMS, stream_rows
from benchmarks.collision.thickness import thickness_rows
from benchmarks.collision.vamp_planner import VampPlanner
from ik_node.base.errors import TrajectoryError
from ik_node.collision.distances.model import CollisionModel
from ik_node.motion.detour import plan_detour
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory

MARGIN_M = 1e-3
ACCELERATION_PER_S2 = 10.0  # rad/s^2 of all joints
JERK_PER_S3 = 100.0
PERIOD_S = 0.1
PLANNERS = '', ' OMPL', ' roboplan', ' VAMP'  # after the name of a set, in the table


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
    """
    What was found for problems.

    Attributes
    ----------
    times, lengths : lists of float
        Of the motions, ms and rad.
    invalid : int
        How many problems have no solution.
    ratios : list of float
        Length of each motion by that of ik_node.

    """

    times: list[float]
    lengths: list[float]
    invalid: int
    ratios: list[float]

    def __add__(self, other: Found) -> Found:
        """Return what was found for the problems of both."""
        return Found(*(one + more for one, more in zip(self, other)))


def nothing() -> list[Found]:
    """Return that nothing is found yet, for each of PLANNERS."""
    return [Found([], [], 0, []) for _ in PLANNERS]


def measure(robot: ProblemRobot, name: str, options: argparse.Namespace,
            roboplan: RoboplanPlanner | None, vamp: VampPlanner | None) -> list[Found]:
    """Return what was found for the problems of a set, by each of PLANNERS."""
    found = nothing()
    for number, problem in enumerate(robot.problems((name,), options.count)):
        model = robot.model.with_objects(problem.scene.bodies, MARGIN_M)
        ends = np.array([problem.q_start, problem.q_goal])
        inside = (ends >= robot.chain.lower) & (ends <= robot.chain.upper)
        if not (inside.all() and model.check_many(ends).all()):
            print(f'    {problem.name} has no solution: at the start {model.describe(ends[0])}, '
                  f'at the goal {model.describe(ends[1])}; inside limits: {bool(inside.all())}')
            found = [each._replace(invalid=each.invalid + 1) for each in found]
            continue
        judge = Judge(robot, problem.scene.bodies) \
            if number < max(options.ompl, options.judge) else None
        others = [
            ompl_planner.plan(robot.chain, *ends, judge.free()) if number < options.ompl else None,
            roboplan.plan(problem) if number < options.roboplan else None,
            vamp and vamp.plan(problem)]
        begin = thread_time()
        try:
            trajectory = planned(robot, model, problem)
        except TrajectoryError as error:
            print(f'    {problem.name}: {error}')
            continue
        found[0].times.append(1e3 * (thread_time() - begin))
        q = np.vstack([problem.q_start, trajectory.q])
        found[0].lengths.append(float(np.linalg.norm(np.diff(q, axis=0), axis=1).sum()))
        for each, path in zip(found[1:], others):
            if path is not None:
                each.times.append(path[0])
                each.lengths.append(path[1])
                each.ratios.append(found[0].lengths[-1] / path[1])
        if number < options.judge:
            touching, looked = judge.collisions(trajectory)
            print(f'    {problem.name}: {touching} of {looked} postures collide by the raw meshes')
    return found


def rows(name: str, count: int, found: list[Found], options: argparse.Namespace) -> list[str]:
    """Return the lines of the table for `count` problems of each set that was measured."""
    lines = []
    for planner, these in zip(PLANNERS, found):
        if not these.times:
            continue
        tried = {' OMPL': options.ompl, ' roboplan': options.roboplan}.get(planner, options.count)
        most = count // options.count * tried - (these.invalid if tried == options.count else 0)
        middle, high, worst = np.percentile(these.times, [50, 95, 100])
        lines.append(
            f'{name + planner:18s} {len(these.times):4d} of {most:4d}  {middle:8.1f} {high:8.1f} '
            f'{worst:8.1f}  {np.mean(these.lengths):6.2f}'
            + (f'  ours {np.mean(these.ratios):.3f} times as long' if these.ratios else ''))
    return lines


def measure_problems(folder: Path, options: argparse.Namespace) -> None:
    """Print the table of a robot of MotionBenchMaker."""
    robot = ProblemRobot(folder)
    vamp = VampPlanner(robot.name) if options.vamp else None
    roboplan = RoboplanPlanner(robot) if options.roboplan else None
    warm = next(robot.problems(count=1))
    with suppress(TrajectoryError):  # of a problem without a solution; what it compiles, stays
        planned(robot, robot.model.with_objects(warm.scene.bodies, MARGIN_M), warm)
    print(f'{robot.name}: solved, ms at the median, 95 % and at most, rad in the mean')
    sums = nothing()
    for name in options.sets:
        found = measure(robot, name, options, roboplan, vamp)
        print(*rows(name, options.count, found, options), sep='\n', flush=True)
        sums = [one + more for one, more in zip(sums, found)]
    print(*rows('all', options.count * len(options.sets), sums, options), sep='\n')


def main() -> None:
    """Print a table for each robot."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('folders', nargs='*', type=Path)
    parser.add_argument('--count', type=int, default=100, help='problems of each set')
    parser.add_argument('--judge', type=int, default=0, help='motions of each set to judge')
    parser.add_argument('--ompl', type=int, default=0, help='problems of each set for OMPL')
    parser.add_argument('--roboplan', type=int, default=0,
                        help='problems of each set for roboplan')
    parser.add_argument('--vamp', action='store_true', help='all problems for VAMP, too')
    parser.add_argument('--sets', nargs='+', default=list(SETS), choices=SETS)
    parser.add_argument('--goals', type=int, default=0, help='goals of each arm, in a row')
    parser.add_argument('--arms', nargs='+', default=list(GOAL_ARMS), choices=GOAL_ARMS)
    parser.add_argument('--stream', action='store_true', help='time of the cycle of a stream')
    parser.add_argument('--checks', action='store_true',
                        help='time of the check of a posture and of a direct motion')
    parser.add_argument('--thickness', action='store_true',
                        help='how much thicker than the meshes the hulls are')
    parser.add_argument('--compile', action='store_true', help='time of the first compilation')
    options = parser.parse_args()
    if not (options.folders or options.goals or options.stream or options.checks
            or options.thickness or options.compile):
        parser.error('give a folder, --goals, --stream, --checks, --thickness or --compile')
    options.ompl = min(options.ompl, options.count)
    options.roboplan = min(options.roboplan, options.count)
    for folder in options.folders:
        measure_problems(folder, options)
    if options.goals:
        print('goals: direct, round something, refused, of these with a way by OMPL; ms at the '
              'median, 95 % and at most; postures that were judged, motions in collision')
        for name in options.arms:
            robot = GoalRobot(name)
            sums = measure_goals(robot, options.goals)
            print(goals_row(robot, sums), *sums.refused, sep='\n    ', flush=True)
    if options.checks:
        print('checks: us a posture of many, us of one alone at the median, ms of the proof of a '
              'free direct motion at the median and at 95 %, of so many motions')
        for name in STREAM_ARMS:
            print(checks_row(GoalRobot(name)), flush=True)
    if options.thickness:
        print('thickness: triangles, hulls; mm beyond the mesh of one hull, and of these; s')
        for name in options.arms:
            print(*thickness_rows(name), sep='\n', flush=True)
    if options.compile:
        print('compiled for the first time, s: solver, then check of postures, then proof, then '
              'all that a node needs')
        print(compile_row(), flush=True)
    if options.stream:
        print('cycle of a stream: us at the median, in the mean, at 99 %')
        for name in STREAM_ARMS:
            print(*stream_rows(GoalRobot(name)), sep='\n', flush=True)


if __name__ == '__main__':
    main()
