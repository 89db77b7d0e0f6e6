# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A tool on the tip link: all poses are those of its centre point."""

import pickle

import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node import Goal, load_urdf, Solver
from ik_node.base.errors import ParameterError
from ik_node.kinematics.arm import forward_kinematics, jacobian
from ik_node.model.tool import tool_pose

TOOL = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.8, 2.0), np.array([0.04, -0.06, 0.15]))
T_TOOL = TOOL.homogeneous
ARMS = 'ur5', 'panda', 'kinova', 'six_axis_arm'


def link_pose(name, q):
    """Return the pose of the tip link by Pinocchio."""
    return pin.SE3(robots.tip_pose(name, q))


@pytest.mark.parametrize('name', ARMS)
def test_kinematics(name):
    """Pose and Jacobian are those of Pinocchio for a frame on the tip link."""
    chain = robots.chain(name).with_tool(T_TOOL)
    for q in robots.random_postures(chain, 10, 7):
        T_base_tip = link_pose(name, q) * TOOL
        assert np.allclose(forward_kinematics(chain, q), T_base_tip.homogeneous, atol=1e-12)
        J = jacobian(chain, q)
        for k in range(chain.n):
            step = np.zeros(chain.n)
            step[k] = 1e-6
            ends = [link_pose(name, q + sign * step) * TOOL for sign in (1.0, -1.0)]
            v = (ends[0].translation - ends[1].translation) / 2e-6
            w = T_base_tip.rotation @ pin.log3(ends[1].rotation.T @ ends[0].rotation) / 2e-6
            assert np.allclose(J[:, k], np.concatenate([v, w]), atol=1e-6)
        assert np.linalg.norm(forward_kinematics(chain, q)[:3, 3]
                              - chain.offsets[0, 9:]) <= chain.reach


@pytest.mark.parametrize('name', ARMS)
def test_solutions(name):
    """The tool comes to the goal, by as many branches as the tip link to its own pose."""
    chain = robots.chain(name)
    solver = Solver(chain.with_tool(T_TOOL))
    for q in robots.random_postures(chain, 20, 8):
        T_base_link = link_pose(name, q)
        result = solver.solve(Goal((T_base_link * TOOL).homogeneous))
        assert result.success
        assert np.linalg.norm(pin.log6(
            T_base_link.actInv(link_pose(name, result.q))).vector) < 1e-5
        if chain.n == 6:
            alone = Solver(chain).solve_all(Goal(T_base_link.homogeneous), q)
            assert len(solver.solve_all(Goal((T_base_link * TOOL).homogeneous), q)) == len(alone)


def test_one_tool_replaces_another():
    """And without any the chain is what it was, to the last bit."""
    chain = robots.chain('ur5')
    again = chain.with_tool(T_TOOL).with_tool(np.eye(4))
    assert np.array_equal(again.table, chain.table) and not again.has_tool
    assert chain.with_tool(np.eye(4)) is chain
    long = tool_pose((0.0, 0.0, 0.3), (0.0, 0.0, 0.0))
    assert np.array_equal(chain.with_tool(T_TOOL).with_tool(long).table,
                          chain.with_tool(long).table)
    kept = pickle.loads(pickle.dumps(chain.with_tool(long)))
    assert np.array_equal(kept.table, chain.with_tool(long).table) and kept.has_tool
    assert repr(kept) == "Chain('base_link' -> the tool on 'tool0', 6 joints)"


def test_the_arm_of_the_library():
    """The tip is the tool; the tip link, if named, is itself."""
    arm = load_urdf(robots.ARMS['six_axis_arm'].path)
    tooled, q = arm.with_tool(T_TOOL), robots.random_postures(arm, 1, 9)[0]
    assert np.allclose(tooled.fk(q), arm.fk(q) @ T_TOOL, atol=1e-12)
    assert np.allclose(tooled.fk(q[None])[0], tooled.fk(q), atol=1e-15)
    assert np.allclose(tooled.link_pose(q, 'tool0'), arm.fk(q), atol=1e-12)
    assert np.allclose(tooled.jacobian(q), arm.jacobian(q, point=TOOL.translation), atol=1e-12)
    assert np.allclose(tooled.jacobian(q, 'tool0'), arm.jacobian(q), atol=1e-12)
    rotate = np.kron(np.eye(2), (arm.fk(q)[:3, :3] @ TOOL.rotation).T)
    assert np.allclose(tooled.jacobian(q, 'tool0', frame='tool'), rotate @ arm.jacobian(q),
                       atol=1e-12)


def test_numbers_of_parameters():
    """Roll, pitch and yaw as in a URDF, by Pinocchio."""
    T = tool_pose((0.1, 0.2, 0.3), (0.4, -0.5, 2.5))
    assert np.allclose(T[:3, :3], pin.rpy.rpyToMatrix(0.4, -0.5, 2.5), atol=1e-15)
    assert T[:3, 3].tolist() == [0.1, 0.2, 0.3]
    for position, orientation, words in (
            ((0.1, 0.2), (0.0,) * 3, r'tool.position \(x, y, z\) needs three finite numbers'),
            ((0.0,) * 3, (0.0, float('nan'), 0.0), 'tool.orientation .* three finite numbers')):
        with pytest.raises(ParameterError, match=words):
            tool_pose(position, orientation)


@pytest.mark.parametrize('T, words', [
    (np.diag([1.0, 1.0, -1.0, 1.0]), 'a rotation and a position'),
    (2.0 * np.eye(4), 'a rotation and a position'),
    (np.eye(3), 'a rotation and a position'),
    ('tool0', 'a rotation and a position'),
    (np.full((4, 4), np.nan), 'a rotation and a position'),
    (tool_pose((150.0, 0.0, 0.0), (0.0,) * 3), 'is 150 m long; at most 10 m .* millimetres')])
def test_invalid_tools_are_refused(T, words):
    """Says so, and how it must be."""
    with pytest.raises(ParameterError, match=words):
        robots.chain('ur5').with_tool(T)
