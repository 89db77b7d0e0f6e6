# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Measure motions with a level tool beside OMPL's constrained state spaces.

    python -m benchmarks.constraints FOLDER [FOLDER ...] [--seconds 60] [--count 30]
        [--ompl 30] [--sets table_pick] [--free 100] [--ompl-free 20] [--each]
    python -m benchmarks.constraints FOLDER [FOLDER ...] --make

Each FOLDER is one of VAMP's repository, ``resources/panda`` or ``ur5``, as for
``benchmarks.collision``.  An axis of the tool stays within 5 degrees of up, at the start, at the
goal and on the way, in scenes of MotionBenchMaker and in free space.  All planners have the same
kinematics and the same check of a posture.  Times are processor times of this thread: ours of
search, shortening, rounding, timing and proof, OMPL's of search and simplification.  A problem is
valid if one of the planners solves it.  To a pose, any posture with the tip there is the goal, the
same for all planners.  Each of our motions is judged: its tilt by Pinocchio each millisecond,
collisions by the raw meshes in coal.  ``--make`` makes the problems again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import thread_time

import numpy as np
import pinocchio as pin
from scipy.interpolate import BPoly

from benchmarks.collision.judge import Judge
from benchmarks.collision.problems import Problem, ProblemRobot
from benchmarks.constraints import ompl_spaces
from benchmarks.constraints.problems import (
    free_problems,
    goals_at_pose,
    KEPT_COUNT,
    level,
    limits_of,
    make,
    MARGIN_M,
    problems,
    SETS,
    TILT,
    UP_AXES,
)
from ik_node.base.errors import TrajectoryError
from ik_node.collision.distances.model import CollisionModel
from ik_node.motion.constrained_motion import plan_constrained
from ik_node.motion.detour import for_seconds
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory

PERIOD_S = 0.1
JUDGE_STEP_S = 1e-3
OURS = 'ik_node'
PLANNERS = OURS, *ompl_spaces.SPACES


@dataclass
class Found:
    """What was found for problems."""

    # Of each: time (ms) and length (rad) by each planner that was given it; None if there is none.
    ways: list[dict[str, tuple[float, float] | None]] = field(default_factory=list)
    excess: float = -np.inf  # largest tilt beyond the constraint of our motions, rad
    touching: int = 0        # of our motions, postures in collision by the raw meshes
    judged: int = 0          # and all that were looked at

    def add(self, other: Found) -> None:
        """Add what was found for other problems."""
        self.ways += other.ways
        self.excess = max(self.excess, other.excess)
        self.touching += other.touching
        self.judged += other.judged


def planned(robot: ProblemRobot, model: CollisionModel, q_start: np.ndarray, goals: np.ndarray,
            seconds: float) -> Trajectory:
    """Return our motion from a posture (n,) to one of several (g, n)."""
    return plan_constrained(
        robot.chain, model, [level(robot.name)],
        StartState.from_state(MotionState.at_rest(q_start)), goals, limits_of(robot), PERIOD_S,
        for_seconds(seconds))


def largest_excess(robot: ProblemRobot, trajectory: Trajectory) -> float:
    """Return the largest tilt beyond the constraint (rad), by Pinocchio each millisecond."""
    start = trajectory.start
    states = np.concatenate([[[start.q, start.qd, start.qdd]], np.stack(
        [trajectory.q, trajectory.qd, trajectory.qdd], axis=1)])
    times = np.append(0.0, trajectory.times)
    Q = BPoly.from_derivatives(times, states)(np.append(
        np.arange(0.0, times[-1], JUDGE_STEP_S), times[-1]))
    model = pin.buildModelFromXML(robot.urdf)
    data, q = model.createData(), pin.neutral(model)
    columns = [model.joints[model.getJointId(name)].idx_q for name in robot.chain.joint_names]
    base, tip = (model.getFrameId(link)
                 for link in (robot.chain.base_link, robot.chain.tip_link))
    most = -np.inf
    for posture in Q:
        q[columns] = posture
        pin.framesForwardKinematics(model, data, q)
        axis = (data.oMf[base].rotation.T @ data.oMf[tip].rotation) @ UP_AXES[robot.name]
        most = max(most, np.arctan2(np.hypot(axis[0], axis[1]), axis[2]) - TILT)
    return most


def measured(robot: ProblemRobot, those: Iterable[Problem], options: argparse.Namespace,
             ompl_count: int, to_pose: bool = False) -> Found:
    """
    Return what was found for problems, of which OMPL is given the first.

    To a pose, any posture with the tip there is the goal, else the one of the problem.
    """
    found = Found()
    for number, problem in enumerate(those):
        model, ways = robot.model.with_objects(problem.scene.bodies, MARGIN_M), {}
        goals = goals_at_pose(robot, model, problem) if to_pose else problem.q_goal[None]
        begin = thread_time()
        try:
            trajectory = planned(robot, model, problem.q_start, goals, options.seconds)
        except TrajectoryError as error:
            print(f'    {problem.name}: {error}', flush=True)
            ways[OURS] = None
        else:
            spent = 1e3 * (thread_time() - begin)
            q = np.vstack([problem.q_start, trajectory.q])
            ways[OURS] = spent, float(np.linalg.norm(np.diff(q, axis=0), axis=1).sum())
            found.excess = max(found.excess, largest_excess(robot, trajectory))
            touching, looked = Judge(robot, problem.scene.bodies).collisions(trajectory)
            found.touching += touching
            found.judged += looked
        for space in ompl_spaces.SPACES if number < ompl_count else ():
            ways[space] = ompl_spaces.plan(
                space, robot.chain, [level(robot.name)],
                lambda q, model=model: bool(model.check_many(q[None])[0]),
                problem.q_start, goals, options.seconds)
        found.ways.append(ways)
        if options.each:
            print(f'    {problem.name}: ' + '; '.join(
                f'{planner} ' + ('none' if way is None else f'{way[0]:.1f} ms {way[1]:.2f} rad')
                for planner, way in ways.items()), flush=True)
    return found


def rows(name: str, found: Found) -> list[str]:
    """Return the lines of the table for a set."""
    valid = [ways for ways in found.ways if any(ways.values())]
    lines, middles = [], []
    for planner in PLANNERS:
        given = [ways for ways in valid if planner in ways]
        solved = [ways for ways in given if ways[planner]]
        if not solved:
            lines += [f'| {name} | {planner} | 0 of {len(given)} | | | | | | |'] if given else []
            continue
        times, lengths = np.transpose([ways[planner] for ways in solved])
        middle, high, worst = np.percentile(times, [50, 95, 100])
        line = f'| {name} | {planner} | {len(solved)} of {len(given)} | {middle:,.1f} ' \
            f'| {high:,.1f} | {worst:,.1f} | {lengths.mean():.2f} |'
        both = [ways for ways in solved if ways[OURS]]
        if planner != OURS and both:
            line += f' {np.mean([ways[OURS][1] / ways[planner][1] for ways in both]):.3f} | |'
            middles.append(middle / np.median([ways[OURS][0] for ways in given if ways[OURS]]))
        lines.append(line)
    if middles:
        lines[0] += f' | {min(middles):,.0f} times |'
    return lines


def measure(folder: Path, options: argparse.Namespace) -> None:
    """Print the table of an arm."""
    robot, every = ProblemRobot(folder), Found()
    first = next(problems(robot, SETS[0], 1))
    planned(robot, robot.model, first.q_start, first.q_goal[None], options.seconds)  # compiles
    print(f'{robot.name}\n\n| scene | planner | solved of valid | median, ms | 95 %, ms | most, '
          'ms | length, rad | ours to theirs | ours is faster |\n' + '|---' * 9 + '|', flush=True)
    for name in options.sets:
        found = measured(robot, problems(robot, name, options.count), options, options.ompl)
        print(*rows(name, found), sep='\n', flush=True)
        every.add(found)
    print(*rows('**all**', every), sep='\n', flush=True)
    for name, to_pose in (('free space', False), ('free space, to poses', True)):
        found = measured(robot, free_problems(robot, options.free), options, options.ompl_free,
                         to_pose)
        print(*rows(name, found), sep='\n', flush=True)
        every.add(found)
    print(f'\nOf {sum(bool(ways[OURS]) for ways in every.ways)} motions the tilt is at most '
          f'{every.excess:.1e} rad above the bound, and {every.touching} of {every.judged:,} '
          'postures collide.', flush=True)


def main() -> None:
    """Print a table for each arm, or make the problems."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('folders', nargs='+', type=Path)
    parser.add_argument('--make', action='store_true', help='make the problems again')
    parser.add_argument('--seconds', type=float, default=60.0, help='of each planner')
    parser.add_argument('--sets', nargs='*', default=list(SETS), choices=SETS)
    parser.add_argument('--count', type=int, default=KEPT_COUNT, help='problems of each set')
    parser.add_argument('--ompl', type=int, default=KEPT_COUNT,
                        help='problems of each set for OMPL')
    parser.add_argument('--free', type=int, default=100, help='motions in free space')
    parser.add_argument('--ompl-free', type=int, default=20, help='of these for OMPL')
    parser.add_argument('--each', action='store_true', help='a line for each problem, too')
    options = parser.parse_args()
    if options.make:
        make(options.folders)
    else:
        for folder in options.folders:
            measure(folder, options)


if __name__ == '__main__':
    main()
