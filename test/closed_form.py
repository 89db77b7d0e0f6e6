# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""All solutions of six-axis arms by EAIK's closed forms, and how solutions are compared."""

from answers import errors_of, tip_jacobian, tip_pose
import numpy as np
import pytest
import robots


def apart(a, b):
    """Return the largest difference of two postures, but for whole turns."""
    return np.abs((a - b + np.pi) % (2.0 * np.pi) - np.pi).max()


def every_turn(chain, q):
    """Return all equals of `q` inside the limits, by enumeration."""
    ways = [angle + 2.0 * np.pi * np.arange(-3, 4) for angle in q]
    ways = [way[(way >= low - 1e-9) & (way <= high + 1e-9)]
            for way, low, high in zip(ways, chain.lower, chain.upper)]
    return np.array(np.meshgrid(*ways, indexing='ij')).reshape(len(q), -1).T


def closed_form(name):
    """Return EAIK's solver of an arm, made from Pinocchio's axes and origins at q = 0."""
    eaik = pytest.importorskip('eaik.IK_HP')
    chain, reference = robots.chain(name), robots.reference(name)
    start = tip_pose(name, np.zeros(6))
    data = reference.data  # at q = 0 now
    base = data.oMf[reference.frame(chain.base_link)].inverse()
    origins = [(base * data.oMi[reference.model.getJointId(joint)]).translation
               for joint in chain.joint_names] + [start[:3, 3]]
    axes = tip_jacobian(name, np.zeros(6))[3:].T
    robot = eaik.HPRobot(axes, np.diff(origins, axis=0, prepend=np.zeros((1, 3))))
    assert robot.hasKnownDecomposition()

    def solve(T):
        T_flange = T.copy()
        T_flange[:3, :3] = T[:3, :3] @ start[:3, :3].T
        answers = robot.IK(T_flange)
        return [np.array(q) for q, approximate in zip(answers.Q, answers.is_LS)
                if not approximate and max(errors_of(name, T, np.array(q))) < 1e-6]
    return solve
