# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Lines about whose axes the tip may be turned, by Pinocchio."""

from pathlib import Path

from motion_checker import Bounds, dense, faults, path_of
from motions import at_rest, limits_of
import numpy as np
import pinocchio as pin
import pytest

from ik_node.base.errors import ParameterError, PathError, Reason
from ik_node.kinematics.arm import forward_kinematics
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.motion.tool_path.options import PathOptions
from ik_node.motion.tool_path.path import ToolPath
from ik_node.motion.tool_path.plan import plan_path
from ik_node.solver.solver import Solver

ARM = Path(__file__).parents[3] / 'urdf/six_axis_arm.urdf'
TREE = read_urdf(ARM)
MODEL = pin.buildModelFromUrdf(str(ARM))
DATA = MODEL.createData()
READY = np.array([0.0, 0.3, -0.4, 0.0, 1.0, 0.0])
ALLOWED = 1e-4


def planned(tip, step, free, turn=(0.0, 0.0, 0.0), **options):
    """Return the motion along a line from READY by a step (m) and a turn (rad), and its ends."""
    chain = make_chain(TREE, 'base_link', tip)
    limits = limits_of(chain)
    q = READY[:chain.n]
    begin = forward_kinematics(chain, q)
    end = begin.copy()
    end[:3, 3] += step
    end[:3, :3] = end[:3, :3] @ pin.exp3(np.array(turn))
    plan = plan_path(Solver(chain, **options), at_rest(q),
                     [end], limits, PathOptions(free_axes=free))
    assert not faults(plan.trajectory, Bounds(
        limits.lower, limits.upper, limits.velocity, limits.acceleration, None))
    return plan, begin, end


def off(plan, tip, begin, end, axis):
    """Return how far (m) the tip is off the line, and how far (rad) an axis is turned at most."""
    _, values = dense(path_of(plan.trajectory), 9)
    frame, worst = MODEL.getFrameId(tip), np.zeros(2)
    direction = (end - begin)[:3, 3]
    turn = pin.log3(begin[:3, :3].T @ end[:3, :3])
    for q in values[0].reshape(len(values[0].reshape(-1, plan.trajectory.q.shape[1])), -1):
        whole = np.append(q, READY[len(q):])
        pin.framesForwardKinematics(MODEL, DATA, whole)
        T = DATA.oMf[frame]
        away = T.translation - begin[:3, 3]
        share = away @ direction / (direction @ direction)
        wanted = begin[:3, :3] @ pin.exp3(share * turn)
        cosine = wanted[:, axis] @ T.rotation[:, axis]
        worst = np.maximum(worst, [np.linalg.norm(away - share * direction),
                                   np.arccos(min(cosine, 1.0))])
    return worst


@pytest.mark.parametrize('axis, turn', [(2, (0.0, 0.0, 0.0)), (2, (0.3, 0.2, 0.4)),
                                        (0, (0.0, 0.3, 0.0))])
def test_the_line_is_kept(axis, turn):
    """The position and the axis that is not free about itself are those of the line."""
    plan, begin, end = planned('tool0', [0.05, -0.2, -0.1], ('rx', 'ry', 'rz')[axis:axis + 1],
                               turn)
    position, angle = off(plan, 'tool0', begin, end, axis)
    assert position < ALLOWED and angle < ALLOWED + 1e-6
    assert max(plan.deviation) < ALLOWED


def test_an_arm_of_five_axes():
    """It follows what it cannot with the orientation of the line."""
    with pytest.raises(PathError, match='unless path.free_axes frees it'):
        planned('link_5', [0.0, -0.2, 0.0], ())
    plan, begin, end = planned('link_5', [0.0, -0.2, 0.0], ('rz',))
    position, angle = off(plan, 'link_5', begin, end, 2)
    assert plan.fraction == 1.0 and position < ALLOWED and angle < ALLOWED + 1e-6


@pytest.mark.parametrize('way', ['arc', 'path'])
def test_arcs_and_corners(way):
    """On each the position is kept, and the axis about which an arm of five axes is turned."""
    chain = make_chain(TREE, 'base_link', 'link_5')
    limits = limits_of(chain)
    q = READY[:5]
    poses = [forward_kinematics(chain, q) for _ in range(3)]
    poses[1][:3, 3] += 0.0, -0.08, 0.03
    poses[2][:3, 3] += 0.0, -0.15, 0.0
    path = ToolPath.arc(*poses) if way == 'arc' else poses
    start = at_rest(q)
    with pytest.raises(PathError, match='unless path.free_axes frees it'):
        plan_path(Solver(chain), start, path, limits)
    plan = plan_path(Solver(chain), start, path, limits, PathOptions(free_axes=('rz',)))
    assert plan.fraction == 1.0 and not faults(plan.trajectory, Bounds(
        limits.lower, limits.upper, limits.velocity, limits.acceleration, None))
    begin, between, end = (T[:3, 3] for T in poses)
    # The circle through the three, in the plane of them.
    a, b = between - begin, end - begin
    normal = np.cross(a, b) / np.linalg.norm(np.cross(a, b))
    centre = begin + np.cross(b @ b * a - a @ a * b, -np.cross(a, b)) / (
        2.0 * np.cross(a, b) @ np.cross(a, b))
    radius, nearest = np.linalg.norm(centre - begin), []
    assert np.linalg.norm(np.array([between, end]) - centre, axis=1) == pytest.approx(radius)
    _, values = dense(path_of(plan.trajectory), 9)
    for each in values[0].reshape(-1, 5):
        pin.framesForwardKinematics(MODEL, DATA, np.append(each, 0.0))
        T = DATA.oMf[MODEL.getFrameId('link_5')]
        assert np.arccos(min(T.rotation[:, 2] @ poses[0][:3, 2], 1.0)) < ALLOWED + 1e-6
        away = T.translation - centre
        off_lines = [np.linalg.norm(np.cross(T.translation - one, other - one))
                     / np.linalg.norm(other - one) for one, other in ((begin, between),
                                                                      (between, end))]
        nearest.append(np.hypot(away @ normal, np.linalg.norm(
            away - (away @ normal) * normal) - radius) if way == 'arc' else min(off_lines))
    assert max(nearest) < ALLOWED
    assert np.linalg.norm(T.translation - end) < ALLOWED


@pytest.mark.parametrize('free', [('rz',), ('rx', 'ry', 'rz')])
@pytest.mark.parametrize('where', ['first', 'first of an arc', 'between', 'last', 'each'])
def test_turns_about_free_axes_alone(where, free):
    """They are no motion, and nothing of the path is lost with them."""
    chain = make_chain(TREE, 'base_link', 'tool0')
    limits = limits_of(chain)
    begin = forward_kinematics(chain, READY)

    def pose(step, turn):
        T = begin.copy()
        T[:3, 3] += step
        T[:3, :3] = T[:3, :3] @ pin.exp3(np.array(turn))
        return T

    turn = (0.0, 0.0, 0.3) if free == ('rz',) else (0.2, -0.1, 0.3)
    one, other = (0.0, -0.08, 0.03), (0.0, -0.15, 0.0)
    poses = {'first': [pose((0.0, 0.0, 0.0), turn), pose(one, turn)],
             'first of an arc': [pose((0.0, 0.0, 0.0), turn), pose(one, turn), pose(other, turn)],
             'between': [pose(one, (0.0, 0.0, 0.0)), pose(one, turn), pose(other, turn)],
             'last': [pose(one, (0.0, 0.0, 0.0)), pose(one, turn)],
             'each': [pose(place, turned) for place in ((0.0, 0.0, 0.0), one, other)
                      for turned in (turn, (0.0, 0.0, 0.0), turn)]}[where]
    path = ToolPath.arc(*poses) if where == 'first of an arc' else poses
    start = at_rest(READY)
    plan = plan_path(Solver(chain), start, path, limits, PathOptions(blend_radius=0.01,
                                                                     free_axes=free))
    assert plan.fraction == 1.0 and max(plan.deviation) < ALLOWED
    assert not faults(plan.trajectory, Bounds(
        limits.lower, limits.upper, limits.velocity, limits.acceleration, None))
    _, values = dense(path_of(plan.trajectory), 20)
    tips = [forward_kinematics(chain, q) for q in values[0].reshape(-1, 6)]
    for T in poses:  # each is passed, but for what is free
        away = min(max(np.linalg.norm(at[:3, 3] - T[:3, 3]), 0.0 if len(free) == 3 else np.arccos(
            min(at[:3, 2] @ T[:3, 2], 1.0))) for at in tips)
        assert away < 2e-4, away


def test_a_path_that_only_turns_about_free_axes():
    """The arm is there already."""
    with pytest.raises(PathError, match='goes nowhere') as told:
        planned('tool0', [0.0, 0.0, 0.0], ('rz',), (0.0, 0.0, 0.3))
    assert told.value.reason is Reason.ALREADY_THERE


def test_a_joint_that_is_at_its_limit():
    """A turn about the tool that no joint can make is left out."""
    locked = {'locked': ('joint_6',)}
    with pytest.raises(PathError):
        planned('tool0', [0.0, -0.15, 0.0], (), (0.0, 0.0, 1.0), **locked)
    plan, *_ = planned('tool0', [0.0, -0.15, 0.0], ('rz',), (0.0, 0.0, 1.0), **locked)
    assert np.ptp(plan.trajectory.q[:, 5]) == 0.0 and plan.fraction == 1.0


def test_an_unknown_axis():
    """Those that there are."""
    with pytest.raises(ParameterError, match="'x' is no axis .* rx, ry, rz"):
        PathOptions(free_axes=('x',))
    with pytest.raises(ParameterError, match="'rz' is among the free axes more than once"):
        PathOptions(free_axes=('rz', 'rz'))
