# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compare planned motions: ``python -m benchmarks.motion [--quick]``, from the root of this tree.

Writes docs/explanation/motion_benchmark.md.  Every motion is looked at by test/path_checker.py,
which shares no code with the planner, with Pinocchio's forward kinematics.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
import sys
from time import process_time

import numpy as np

from benchmarks.ik import machine
from benchmarks.motion import others

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / 'test'))
import path_checker as checker  # noqa: E402
import robots  # noqa: E402

from ik_node.base.errors import PathError  # noqa: E402
from ik_node.base.se3 import pose, rotation_about  # noqa: E402
from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState  # noqa: E402
from ik_node.motion.tool_path.options import PathOptions  # noqa: E402
from ik_node.motion.tool_path.path import ToolPath  # noqa: E402
from ik_node.motion.tool_path.plan import plan_path  # noqa: E402
from ik_node.motion.trajectory.limits import MotionLimits  # noqa: E402
from ik_node.motion.trajectory.trajectory import MotionState  # noqa: E402
from ik_node.solver.solver import Solver  # noqa: E402

ARMS = {'six_axis_arm': (0.2, -0.5, 0.9, 0.3, 0.9, -0.2),
        'ur5': (0.3, -1.2, 1.5, -1.0, -1.3, 0.2),
        'panda': (0.1, -0.3, 0.2, -1.9, 0.1, 1.7, 0.5),
        'xarm7': (0.1, -0.3, 0.2, 1.3, 0.1, 1.5, 0.3)}
WAYPOINTS = 50
PERIOD = 0.02
REPEATS = 10
STIFF = 2000.0  # rad/s^3: hardly a limit, as toppra knows none

TEXT = """# Motion benchmark

{processor}, {cores} cores, one used; {system}, Python {python}, numpy {numpy}, numba {numba},
ruckig {ruckig}, toppra {toppra}, Robotics Toolbox {rtb}; {date}. The command:

    {command}

Joint limits: velocity at most 2 rad/s, acceleration 2 rad/s^2, jerk 20 rad/s^3; points at most
20 ms apart. Every motion is checked by `test/path_checker.py`, which shares no code with the
planner: 5 instants between any two points, tip by Pinocchio. Planning time is processor time
of the whole call, single-threaded, with warm caches, the least of {repeats} calls.

## Lines and paths

**Line**: 10 to 25 cm with up to 0.4 rad. **Stops**, **blends**: a zigzag of {waypoints} waypoints,
2 cm wide and 20 cm long, with a stop at each corner, and with blends of 5 mm. **Random**:
{waypoints} waypoints within 8 cm and 0.3 rad around the start, blended by 10 mm. **Circle**:
radius 6 cm.

*to toppra* is our duration over that of toppra on the same path with the same limits of velocity
and acceleration. Toppra knows no jerk limit: its acceleration jumps. *stiff* is the same ratio
where we have a jerk limit of {stiff:g} rad/s^3, which leaves ramps of 36 ms at each stop.
Deviation is the largest between points too. The last three columns are the largest share of each
limit that is used.

{paths}

## Point to point

Random goals within the limits, from rest to rest; medians. *to ruckig* is the largest ratio of
our duration to ruckig's own optimum. *to jtraj* is the median ratio to the Toolbox's `jtraj`, a
quintic made as short as the same limits allow. The Toolbox's `mstraj` has no limit of
acceleration and its `ctraj` gives poses without a time law for the joints, so neither is
comparable.

{goals}
"""


def main() -> None:
    """Run, and write the report."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.motion', description=__doc__)
    parser.add_argument('--quick', action='store_true', help='few lines and goals')
    parser.add_argument('--output', type=Path,
                        default=ROOT / 'docs/explanation/motion_benchmark.md')
    options = parser.parse_args()
    machine.pin_to_one_core()
    paths, goals = [], []
    for name in ARMS:
        paths += _paths(name, 3 if options.quick else 20)
        goals.append(_goals(name, 20 if options.quick else 300))
        print(name, flush=True)
    command = 'python -m benchmarks.motion' + ' --quick' * options.quick
    options.output.write_text(TEXT.format(
        **machine.describe(), ruckig=_version('ruckig'), toppra=_version('toppra'),
        rtb=_version('roboticstoolbox-python'), command=command, repeats=REPEATS,
        waypoints=WAYPOINTS, stiff=STIFF,
        paths=_table(['arm', 'path', 'planned in, ms', 'duration, s', 'to toppra', 'stiff',
                      'off, mm', 'off, mrad', 'velocity', 'acceleration', 'jerk'], paths),
        goals=_table(['arm', 'planned in, ms', 'ruckig alone, ms', 'to ruckig', 'to jtraj',
                      'acceleration'], goals)))
    print(options.output.read_text())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return '(not installed)'


def _limits(name: str) -> MotionLimits:
    robot = robots.chain(name)
    velocity = np.minimum(np.where(np.isfinite(robot.velocity), robot.velocity, 2.0), 2.0)
    return MotionLimits(robot.lower, robot.upper, velocity, np.full(robot.n, 2.0),
                        np.full(robot.n, 20.0))


def _timed(call: Callable[[], object]) -> tuple[object, float]:
    """Return what a call returns, and its shortest processor time (s)."""
    times = []
    for _ in range(REPEATS):
        began = process_time()
        result = call()
        times.append(process_time() - began)
    return result, min(times)


def _paths(name: str, lines: int) -> list[list[str]]:
    """Return the rows of an arm."""
    random = np.random.default_rng(7)
    solver, q = Solver(robots.chain(name)), np.array(ARMS[name])
    T = checker.tip_poses(robots.reference(name), robots.chain(name), [q])[0]

    def around(offset: np.ndarray, angle: float = 0.0) -> np.ndarray:
        axis = random.normal(size=3)
        return pose(T[:3, :3] @ rotation_about(axis / np.linalg.norm(axis), angle),
                    T[:3, 3] + offset)

    def line() -> list[np.ndarray]:
        direction = random.normal(size=3)
        return [around(random.uniform(0.1, 0.25) * direction / np.linalg.norm(direction),
                       random.uniform(-0.4, 0.4))]

    def zigzag() -> list[np.ndarray]:
        return [around(np.array([-0.1 + 0.2 * k / WAYPOINTS, 0.02 * (k % 2), 0.0]))
                for k in range(WAYPOINTS)]

    def cloud() -> list[np.ndarray]:
        return [around(random.uniform(-0.08, 0.08, 3), random.uniform(-0.3, 0.3))
                for _ in range(WAYPOINTS)]

    circle = ToolPath.arc_about(T, T[:3, 3] + [0.06, 0.0, 0.0], [0, 0, 1], 2.0 * np.pi, False)
    rows = []
    for label, make, radius, count in (
            ('line', line, 0.0, lines), ('stops', zigzag, 0.0, 1), ('blends', zigzag, 0.005, 1),
            ('random', cloud, 0.01, 1), ('circle', lambda: circle, 0.0, 1)):
        found = []
        for _ in range(20 * count):
            try:
                found.append(_path(name, solver, q, make(), radius))
            except PathError:  # it leaves the workspace; another is drawn
                continue
            if len(found) == count:
                break
        if not found:
            rows.append([name, label, 'not within reach', *[''] * 8])
            continue
        table = np.array(found)
        time, duration, ratio, stiff = np.median(table[:, :4], axis=0)
        off, angle, v, a, j = table[:, 4:].max(axis=0)
        rows.append([name, label, f'{1e3 * time:.1f}', f'{duration:.2f}', f'{ratio:.3f}',
                     f'{stiff:.3f}', f'{1e3 * off:.4f}', f'{1e3 * angle:.4f}', f'{v:.3f}',
                     f'{a:.3f}', f'{j:.3f}'])
    return rows


def _path(name: str, solver: Solver, q: np.ndarray, path: object,
          radius: float) -> tuple[float, ...]:
    """Plan one path; return its figures in the order of the table."""
    limits, options = _limits(name), PathOptions(blend_radius=radius, period=PERIOD)
    start_state = StartState.from_state(MotionState.at_rest(q))
    plan, time = _timed(lambda: plan_path(solver, start_state, path, limits, options))
    stiff = plan_path(solver, start_state, path,
                      replace(limits, jerk=np.full(solver.chain.n, STIFF)), options)
    optimum = others.by_toppra(others.joint_path(solver, plan.path, q), limits) \
        if others.toppra else np.nan
    checker.check_limits(plan.trajectory, limits)
    _, (Q, Qd, Qdd, Qddd) = checker.sampled(plan.trajectory, 5)
    poses = checker.tip_poses(robots.reference(name), robots.chain(name), Q)
    off = _off(poses, plan.path)
    return (time, plan.trajectory.duration, plan.trajectory.duration / optimum,
            stiff.trajectory.duration / optimum, *off,
            *((np.abs(x) / limit).max() for x, limit in (
                (Qd, limits.velocity), (Qdd, limits.acceleration), (Qddd, limits.jerk))))


def _off(poses: np.ndarray, path: ToolPath) -> tuple[float, float]:
    """Return how far poses are off the nearest place on a path, looked for in order."""
    s = np.union1d(np.linspace(0.0, path.length, int(path.length / 2e-5) + 2), path.stops)
    ideal = path.poses(s)
    worst, k, window = np.zeros(2), 0, int(0.02 / 2e-5)
    for T in poses:
        near = slice(max(k - 50, 0), k + window)
        gap = ((ideal[near, :3, 3] - T[:3, 3])**2).sum(axis=1) \
            + 0.045 * ((ideal[near, :3, :3] - T[:3, :3])**2).sum(axis=(1, 2))
        k = near.start + int(gap.argmin())
        # Between two samples the path is straight.
        worst = np.maximum(worst, np.min([
            checker.off_line([T], a, b)
            for a, b in zip(ideal[max(k - 2, 0):k + 2], ideal[max(k - 1, 1):k + 3])], axis=0))
    return float(worst[0]), float(worst[1])


def _goals(name: str, count: int) -> list[str]:
    """Return the row of an arm."""
    robot, limits = robots.chain(name), _limits(name)
    postures = robots.random_postures(robot, 2 * count, 3)
    rows = []
    for start, goal in zip(postures[::2], postures[1::2]):
        start_state = StartState.from_state(MotionState.at_rest(start))
        motion, time = _timed(lambda d=start_state, g=goal: plan_point_to_point(
            robot.joint_names, d, g, limits, PERIOD))
        optimum, alone = _timed(lambda a=start, b=goal: others.by_ruckig(a, b, limits))
        checker.check_limits(motion, limits, jerk_slack=np.inf)
        _, (_, _, Qdd, _) = checker.sampled(motion)
        toolbox = others.by_jtraj(start, goal, limits) if others.jtraj else np.nan
        rows.append((time, alone, motion.duration / optimum, motion.duration / toolbox,
                     (np.abs(Qdd) / limits.acceleration).max()))
    table = np.array(rows)
    time, alone, _, toolbox, _ = np.median(table, axis=0)
    return [name, f'{1e3 * time:.2f}', f'{1e3 * alone:.3f}', f'{table[:, 2].max():.4f}',
            f'{toolbox:.3f}', f'{table[:, 4].max():.3f}']


def _table(header: list[str], lines: list[list[str]]) -> str:
    return '\n'.join('| ' + ' | '.join(row) + ' |'
                     for row in (header, ['---'] * len(header), *lines))


if __name__ == '__main__':
    main()
