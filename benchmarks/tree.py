# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Several tips at once: how many goals are solved, and how long it takes.

    python -m benchmarks.tree [--goals 1000] [--seed 1]

Goals are the poses of all tips in random postures inside the limits, so each can be reached; the
search starts from the middle of the limits and knows nothing of the posture.  Every answer is
checked by Pinocchio's forward kinematics (1e-6 m, 1e-6 rad) and the limits.  Time is of one call
of ``solve``, by perf_counter, failures included.  Collisions are not looked at.

An arm with one tip is measured as a tree and as a chain, by descent and in closed form: what the
kernels for one tip are for.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
import gc
from time import perf_counter

import numpy as np
import pinocchio as pin

from benchmarks.arms import PACKAGES
from ik_node import KinematicTree, load_tree, Solver
from ik_node.model.chain import make_chain

ROBOTS, OWN = 'example-robot-data', 'ik_node'
TOLERANCE = 1e-6  # m and rad


@dataclass(frozen=True)
class Case:
    """One robot and its tips."""

    name: str
    package: str
    file: str
    base: str
    tips: tuple[str, ...]
    options: dict[str, bool] | None = None  # of the solver of a chain; None: of the tree


TALOS = 'talos_data/robots/talos_full_v2.urdf'
HANDS = 'gripper_left_base_link', 'gripper_right_base_link'
ARM = ROBOTS, 'ur_description/urdf/ur5_robot.urdf', 'base_link', ('tool0',)
CASES = (
    Case('ur5, one tip', *ARM),
    Case('ur5, as a chain by descent', *ARM, {'closed_form': False}),
    Case('ur5, as a chain', *ARM, {}),
    Case('two_arms', OWN, 'two_arms.urdf', 'base_link', ('left_tool', 'right_tool')),
    Case('baxter', ROBOTS, 'baxter_description/urdf/baxter.urdf', 'torso',
         ('left_gripper', 'right_gripper')),
    Case('pr2', ROBOTS, 'pr2_description/urdf/pr2.urdf', 'base_link',
         ('l_gripper_tool_frame', 'r_gripper_tool_frame')),
    Case('tiago_pro', ROBOTS, 'tiago_pro_description/robots/tiago_pro.urdf', 'base_link',
         ('arm_left_tool_link', 'arm_right_tool_link')),
    Case('centauro', ROBOTS, 'centauro_description/urdf/centauro.urdf', 'pelvis',
         ('arm1_8', 'arm2_8')),
    Case('talos, hands and feet', ROBOTS, TALOS, 'base_link',
         (*HANDS, 'left_sole_link', 'right_sole_link')),
    Case('talos on one foot', ROBOTS, TALOS, 'left_sole_link', (*HANDS, 'right_sole_link')),
    Case('g1, hands and feet', ROBOTS, 'g1_description/urdf/g1_29dof_rev_1_0.urdf', 'pelvis',
         ('left_rubber_hand', 'right_rubber_hand', 'left_ankle_roll_link',
          'right_ankle_roll_link')),
)


class Judge:
    """Pinocchio's opinion of an answer."""

    def __init__(self, tree: KinematicTree) -> None:
        self.tree = tree
        self.model = pin.buildModelFromXML(tree.tree.source.decode())
        self.data = self.model.createData()

    def poses(self, q: np.ndarray) -> dict[str, pin.SE3]:
        """Return the pose of each tip in the base link."""
        full = pin.neutral(self.model)
        for name, value in zip(self.tree.joint_names, q):
            joint = self.model.joints[self.model.getJointId(name)]
            full[joint.idx_q:joint.idx_q + joint.nq] = \
                value if joint.nq == 1 else (np.cos(value), np.sin(value))
        pin.framesForwardKinematics(self.model, self.data, full)
        base = self.data.oMf[self.model.getFrameId(self.tree.base_link)].inverse()
        return {tip: base * self.data.oMf[self.model.getFrameId(tip)]
                for tip in self.tree.tip_links}

    def right(self, q: np.ndarray, goals: dict[str, pin.SE3]) -> bool:
        """Return whether the tips are at the goals, and the joints inside the limits."""
        if not ((q >= self.tree.lower) & (q <= self.tree.upper)).all():
            return False
        return all(np.linalg.norm(T.translation - goals[tip].translation) < TOLERANCE
                   and np.linalg.norm(pin.log3(T.rotation @ goals[tip].rotation.T)) < TOLERANCE
                   for tip, T in self.poses(q).items())


def measure(case: Case, goals: int, seed: int) -> str:
    """Return the line of one robot."""
    tree = load_tree(PACKAGES[case.package] / case.file, case.base, case.tips)
    judge, chain = Judge(tree), case.options is not None
    solver = Solver(make_chain(tree.tree, case.base, case.tips[0]), **case.options) if chain \
        else Solver(tree)
    lower = np.where(np.isfinite(tree.lower), tree.lower, -np.pi)
    upper = np.where(np.isfinite(tree.upper), tree.upper, np.pi)
    times, right, attempts = [], 0, []
    for q in np.random.default_rng(seed).uniform(lower, upper, (goals, tree.n)):
        wanted = judge.poses(q)
        matrices = {tip: T.homogeneous for tip, T in wanted.items()}
        goal = matrices[case.tips[0]] if chain else matrices
        began = perf_counter()
        result = solver.solve(goal)
        times.append(perf_counter() - began)
        right += result.success and judge.right(result.q, wanted)
        attempts.append(result.restarts + 1 if chain else result.attempts)
    return (f'| {case.name} | {len(case.tips)} | {tree.n} | {100.0 * right / goals:.1f} % '
            f'| {1e3 * np.median(times):.3f} ms | {1e3 * np.percentile(times, 99):.1f} ms '
            f'| {np.mean(attempts):.1f} |')


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--goals', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    gc.disable()
    print('| robot | tips | joints | solved | median | 99 % | attempts |\n'
          '|---|---|---|---|---|---|---|')
    for case in CASES:
        print(measure(case, options.goals, options.seed), flush=True)


if __name__ == '__main__':
    main()
