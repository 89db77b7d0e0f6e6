# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a user of the library writes; `mypy --strict` accepts it, and it runs."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import ik_node
from ik_node import Arm, Goal, Solver

Vector = NDArray[np.float64]


def shortest_motion(arm: Arm, solver: Solver, position: Vector, q: Vector) -> tuple[Vector, float]:
    """Return the nearest joint positions with the tip at a position, and how far they are."""
    result = solver.solve(Goal.position(position), seed=q)
    if not result.success:
        raise ValueError(f'{result.status.value}: {result.message}')
    return result.q, float(np.abs(arm.difference(result.q, q)).max())


def main(urdf: Path) -> None:
    """Reach a few positions, and count the postures for the first."""
    arm = ik_node.load_urdf(urdf)
    solver = ik_node.Solver(arm, max_restarts=20)
    q: Vector = arm.middle
    T: Vector = arm.fk(q)
    for height in (0.0, 0.1):
        q, moved = shortest_motion(arm, solver, T[:3, 3] - [0.2, 0.0, height], q)
        print(f'{", ".join(arm.joint_names)}: moved {moved:.3f}, det {arm.jacobian(q).shape}')
    postures = solver.solve_all(arm.fk(q), q)
    version: str = ik_node.__version__
    print(version, len(postures), [posture.manipulability for posture in postures][:1])


if __name__ == '__main__':
    main(Path(__file__).parents[1] / 'urdf/six_axis_arm.urdf')
