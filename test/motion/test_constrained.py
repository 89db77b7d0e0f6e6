# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Path constraints: their rows, the proof of a trajectory, and motions within them."""

from functools import cache
from itertools import islice
from math import inf

from geometry_oracle import model_of
from motion_checker import path_of, states_at
from motions import at_rest, limits_of
import numpy as np
import pytest
import robots
from scipy.spatial.transform import Rotation

from ik_node.base.errors import ConstraintError, PathError, Reason, TrajectoryError
from ik_node.base.se3 import pose
from ik_node.collision.scene.scene import Scene
from ik_node.kinematics.arm import forward_kinematics
from ik_node.kinematics.kernels import (
    compiled,
    jacobian_columns,
    joint_frames,
    pose_matrix,
    tip_poses,
)
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.motion import constrained_motion
from ik_node.motion.change.path_pace import plan_free_stop, StopWishes
from ik_node.motion.constrained.constraint import EXACT_WIDTH, PathConstraint
from ik_node.motion.constrained.keep import (
    keeps_text,
    path_constraints,
    read_keeps,
    upright,
)
from ik_node.motion.constrained.proof import certify_constraints, is_kept
from ik_node.motion.constrained.rows import (
    constraint_rows,
    constraint_work,
    outside,
    write_gradient,
    write_values,
)
from ik_node.motion.constrained.search import find_constrained_path
from ik_node.motion.constrained_motion import nearest_kept, plan_constrained, require_kept
from ik_node.motion.direct.point_to_point import (
    plan_point_to_point,
    plan_stop,
    StartState,
)
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.jog import JogCommand
from ik_node.motion.requests import ConstrainedRequest, Rounds
from ik_node.motion.tool_path.plan import plan_path
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.motion.trajectory.validate import validate
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver

SKEW = make_chain(parse_urdf(robots.SKEW.encode()), 'base', 'tip')
PERIOD_S = 0.1
KINDS = ('position', 'rotation vector', 'two of a vector', 'angles', 'two angles', 'other angles',
         'one angle', 'tilt', 'ball', 'tube', 'several')


def random_constraint(kind, rng, T_base_tip):
    """Return a constraint around a pose of the tip."""
    near = np.eye(4)
    near[:3, :3] = Rotation.from_rotvec(rng.normal(0.0, 0.15, 3)).as_matrix()
    near[:3, 3] = rng.normal(0.0, 0.05, 3)
    T_tip_point = np.eye(4)
    T_tip_point[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    T_tip_point[:3, 3] = rng.normal(0.0, 0.1, 3)
    T = T_base_tip @ near @ T_tip_point
    widths = tuple(rng.uniform(0.02, 0.4, 3))
    fields = {'position': {'position': (widths[0], inf, widths[2])},
              'rotation vector': {'rotation': widths},
              'angles': {'rotation': widths, 'angles': 'xyz'},
              'two angles': {'rotation': (*widths[:2], inf), 'angles': 'xyz'},
              'one angle': {'rotation': (widths[0], inf, inf), 'angles': 'xyz'},
              'other angles': {'rotation': (inf, *widths[:2]), 'angles': 'xyz'},
              'two of a vector': {'rotation': (inf, *widths[:2])},
              'tilt': {'tilt': widths[0]}, 'ball': {'distance': widths[0]},
              'tube': {'axis_distance': widths[0]},
              'several': {'position': (inf, inf, widths[0]), 'tilt': widths[1]}}[kind]
    return PathConstraint(T, T_tip_point=T_tip_point, **fields)


def outside_at(constraint, T_base_tip):
    """Return by how much poses (..., 4, 4) are outside, by SciPy."""
    T = np.linalg.inv(constraint.T_base_frame) @ T_base_tip @ constraint.T_tip_point
    R, p = Rotation.from_matrix(T[..., :3, :3]), T[..., :3, 3]
    angles = R.as_rotvec() if constraint.angles == 'rotation vector' else R.as_euler('XYZ')
    return np.max([*np.moveaxis(np.abs(p) - constraint.position, -1, 0),
                   *np.moveaxis(np.abs(angles) - constraint.rotation, -1, 0),
                   np.arccos(np.clip(T[..., 2, 2], -1.0, 1.0)) - constraint.tilt,
                   np.linalg.norm(p, axis=-1) - constraint.distance,
                   np.linalg.norm(p[..., :2], axis=-1) - constraint.axis_distance], axis=0)


def poses_of(chain, Q):
    """Return the poses (k, 4, 4) of the tip at postures (k, n)."""
    rows = np.empty((len(Q), 12))
    tip_poses(chain.table, np.ascontiguousarray(Q), rows)
    return np.array([pose_matrix(row) for row in rows])


@pytest.mark.parametrize('kind', KINDS)
def test_rows_and_excess_say_what_scipy_says(kind):
    """All agree whether a pose is inside, and the excess by how much it is outside."""
    rng, seen = np.random.default_rng(3), set()
    for q in robots.random_postures(SKEW, 200, 1):
        T = forward_kinematics(SKEW, q)
        constraint = random_constraint(kind, rng, T)
        rows = constraint_rows([constraint])
        values = np.empty((1, len(rows.kinds)))
        outside(SKEW.table, rows, q[None], values, constraint_work(rows, SKEW.table, SKEW.n))
        expected = outside_at(constraint, T)
        seen.add(expected > 0.0)
        assert (values.max() > 0.0) == (expected > 0.0)
        assert constraint.excess(T)[1] == pytest.approx(expected, abs=1e-7)
    assert seen == {False, True}


@compiled
def gradients_of(table, rows, q, found, work):
    """Write the rows and their derivatives by the joints, (r, n + 1)."""
    joint_frames(table, q, work.frames)
    write_values(rows, work.frames[-1], work)
    jacobian_columns(table, work.frames, 1.0, work.columns)
    for j in range(rows.kinds.shape[0]):
        write_gradient(rows, j, work, found[j, 1:])
        found[j, 0] = work.values[j]


@pytest.mark.parametrize('kind', KINDS)
def test_gradients_are_finite_differences(kind):
    """Of all kinds of rows, also with joints that slide and joints that follow others."""
    rng = np.random.default_rng(5)
    for q in robots.random_postures(SKEW, 20, 2):
        rows = constraint_rows([random_constraint(kind, rng, forward_kinematics(SKEW, q))])
        work = constraint_work(rows, SKEW.table, SKEW.n)

        def at(q, rows=rows, work=work):
            found = np.empty((len(rows.kinds), SKEW.n + 1))
            gradients_of(SKEW.table, rows, q, found, work)
            return found

        for i in range(SKEW.n):
            step = 1e-6 * np.eye(SKEW.n)[i]
            numeric = (at(q + step)[:, 0] - at(q - step)[:, 0]) / 2e-6
            np.testing.assert_allclose(at(q)[:, i + 1], numeric, atol=2e-7)


@pytest.mark.parametrize('kind', KINDS)
def test_what_is_proved_is_kept_at_every_instant(kind):
    """Random motions: proved ones never leave by samples; most of those that stay are proved."""
    rng, proved, stay = np.random.default_rng(7), 0, 0
    for q in robots.random_postures(SKEW, 150, 3):
        constraint = random_constraint(kind, rng, forward_kinematics(SKEW, q))
        c = np.zeros((6, 2, SKEW.n))
        c[0, 0] = q
        c[1:, 0] = rng.normal(0.0, 0.15, (5, SKEW.n)) * rng.choice([1.0, 0.2])
        c[0, 1], c[1, 1] = c[:, 0].sum(axis=0), rng.normal(0.0, 0.1, SKEW.n)
        t = np.linspace(0.0, 1.0, 300)[:, None, None]
        motion = (t ** np.arange(6)[:, None] * c[:, 0]).sum(axis=1)
        after = (t ** np.arange(6)[:, None] * c[:, 1]).sum(axis=1)
        most = outside_at(constraint, poses_of(SKEW, np.vstack([motion, after])))
        if most[0] > 0.0:
            continue
        leaving = certify_constraints(SKEW, [constraint], np.array([0.0, 1.0]), np.ones(2), c)
        stay += most.max() < -1e-4
        proved += leaving is None
        assert (leaving is None) >= (most.max() < -1e-4)
        if leaving is None:
            assert most.max() < 1e-6
        else:
            first = np.append(np.linspace(0, 1, 300), np.linspace(1, 2, 300))[most > 1e-6]
            assert leaving.time == pytest.approx(first[0], abs=0.05)
    assert proved >= 5 and stay >= 5


def limits(chain):
    """Return limits that are high enough for short motions."""
    return limits_of(chain, 2.0, 8.0, 80.0)


def planned(chain, model, constraints, begin, *ends):
    """Return the motion between postures."""
    return plan_constrained(chain, model, constraints, at_rest(begin), np.array(ends),
                            limits(chain), PERIOD_S)


@cache
def level(name):
    """Return the constraint that an axis of the tip stays within 5 degrees of level."""
    axis = {'ur5': (1.0, 0.0, 0.0), 'panda': (0.0, 0.0, -1.0)}.get(name, (0.0, 0.0, 1.0))
    return PathConstraint.upright(np.radians(5.0), axis)


def kept_postures(name, constraint, model, seed):
    """Yield random free postures within a constraint."""
    chain = robots.chain(name)
    for q in robots.random_postures(chain, 10_000, seed):
        near = nearest_kept(chain, [constraint], np.clip(q, -np.pi, np.pi), limits(chain))
        if near is not None and (model is None or model.check_many(near[None])[0]):
            yield near


def each_step(trajectory):
    """Return the positions (k, n) at each millisecond, as a controller interpolates them."""
    path = path_of(trajectory)
    return states_at(path, np.arange(0.0, path.times[-1], 1e-3))[:, 0]


def require_kept_by_pinocchio(name, constraints, trajectory):
    """Look at a trajectory each millisecond, by Pinocchio."""
    chain = robots.chain(name)
    T = np.array([robots.reference(name).pose(
        chain.base_link, chain.tip_link, robots.positions(chain, q))
        for q in each_step(trajectory)])
    assert max(outside_at(each, T).max() for each in constraints) < 1e-6


@pytest.mark.parametrize('name', robots.cases(['ur5', 'panda', 'six_axis_arm', 'xarm7']))
def test_the_tool_stays_level(name):
    """Random motions among themselves are free, keep their limits, and the tool level."""
    model, chain, count = model_of(name, 0.001), robots.chain(name), 0
    constraint = level(name)
    postures = kept_postures(name, constraint, model, 11)
    for _ in range(6):
        begin, end = next(postures), next(postures)
        try:
            trajectory = planned(chain, model, [constraint], begin, end)
        except ConstraintError:
            continue
        count += 1
        validate(trajectory, limits(chain))
        np.testing.assert_allclose(trajectory.end, end, atol=1e-9)
        require_kept_by_pinocchio(name, [constraint], trajectory)
        assert model.check_many(each_step(trajectory)).all()
    assert count >= 4


Q_LEVEL = np.array([0.5, -1.2, 1.6, -1.97, -np.pi / 2, 0.3])  # of the UR5: its tool points down


def test_the_tip_slides_in_a_plane_and_along_a_line():
    """Exact constraints are kept to EXACT_WIDTH, and the box that is free is made use of."""
    chain = robots.chain('ur5')
    T, q_end = forward_kinematics(chain, Q_LEVEL), None
    frame = np.eye(4)
    frame[:3, 3] = T[:3, 3]
    for free, shift in (((inf, inf, 0.0), (0.1, 0.2, 0.0)), ((0.0, inf, 0.0), (0.0, 0.25, 0.0))):
        constraint = PathConstraint(frame, position=free)
        goal = T.copy()
        goal[:3, 3] += shift
        q_end = solved(chain, goal, Q_LEVEL)
        trajectory = planned(chain, None, [constraint], Q_LEVEL, q_end)
        require_kept_by_pinocchio('ur5', [constraint], trajectory)
        with pytest.raises(ConstraintError, match='of the position is outside by .* mm after'):
            require_kept(chain, [constraint], plan_point_to_point(
                chain.joint_names, at_rest(Q_LEVEL), q_end,
                limits(chain), PERIOD_S))


def test_an_exact_goal_may_be_off_as_far_as_solutions_are():
    """Within EXACT_WIDTH of an exact constraint it is none that is refused."""
    chain = robots.chain('ur5')
    frame, off = np.eye(4), Q_LEVEL + [0.5, 0.0, 2e-5, 0.0, 0.0, 0.0]
    frame[2, 3] = forward_kinematics(chain, Q_LEVEL)[2, 3]
    plane = PathConstraint(frame, position=(inf, inf, 0.0))
    assert 5e-6 < abs(forward_kinematics(chain, off)[2, 3] - frame[2, 3]) < EXACT_WIDTH
    np.testing.assert_allclose(planned(chain, None, [plane], Q_LEVEL, off).end, off, atol=1e-9)


def solved(chain, T_base_tip, q):
    """Return the posture near q for a pose."""
    result = Solver(chain).solve(T_base_tip, q)
    assert result.success
    return chain.nearest_turns(result.q, q)


def test_a_start_outside_comes_in_and_never_farther_out():
    """A tool that is tilted too much is brought level on its way."""
    chain, constraint = robots.chain('ur5'), PathConstraint.upright(0.1, (0.0, 0.0, -1.0))
    begin = Q_LEVEL + [0.0, 0.0, 0.0, 0.35, 0.0, 0.0]
    end = Q_LEVEL + [0.9, 0.0, 0.0, 0.0, 0.0, 0.0]
    trajectory = planned(chain, None, [constraint], begin, end)
    tilts = outside_at(constraint, poses_of(chain, each_step(trajectory)))
    assert tilts[0] > 0.2 and tilts[-1] < 0.0
    assert (np.diff(np.maximum(tilts, 0.0)) < 1e-5).all()
    # The other way is refused: with by how much, and with a pose that is within.
    with pytest.raises(ConstraintError, match=r'the goal is outside of the path constraint: the '
                       r'tilt is outside by 14\.\d\d deg; the nearest pose within is \['):
        planned(chain, None, [constraint], end, begin)


def test_a_rotation_vector_of_half_a_turn():
    """Free about x, a motion may begin where the components change their signs."""
    chain, (low, high) = robots.chain('panda'), ([1.57, -1.57, 0.0, -1.57, 0.0, 1.57, 0.7854], [
        1.1967, -1.3974, 0.1343, -2.5086, -2.4121, 0.5267, 1.3027])
    frame = pose(Rotation.from_quat([0.5, -0.5, 0.5, 0.5]).as_matrix(), np.zeros(3))
    constraint = PathConstraint(frame, rotation=(np.pi, 0.55, 0.55))
    trajectory = planned(chain, None, [constraint], low, high)
    require_kept_by_pinocchio('panda', [constraint], trajectory)
    turned = Rotation.from_matrix((frame.T @ poses_of(chain, each_step(trajectory)))[:, :3, :3])
    assert turned.magnitude()[0] > np.pi - 1e-3 and turned.magnitude()[-1] < 0.1


def test_a_moving_arm_is_brought_to_rest_first_if_it_has_to():
    """The ramp is part of what is proved."""
    chain, constraint = robots.chain('ur5'), PathConstraint.upright(0.1, (0.0, 0.0, -1.0))
    allowed, zero = limits(chain), np.zeros(6)
    state = MotionState(Q_LEVEL, np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.2]), zero)
    end = Q_LEVEL + [1.8, 0.3, -0.5, 0.2, 0.0, 0.0]
    trajectory = plan_constrained(chain, None, [constraint], StartState.from_state(state),
                                  end[None], allowed, PERIOD_S)
    validate(trajectory, allowed)
    require_kept_by_pinocchio('ur5', [constraint], trajectory)
    np.testing.assert_allclose(trajectory.end, end, atol=1e-9)


ROUND_POST = Q_LEVEL + [1.4, 0.0, 0.0, 0.0, 0.0, 0.0]


@cache
def model_with_post():
    """Return the UR5 with a post halfway from Q_LEVEL to ROUND_POST."""
    chain = robots.chain('ur5')
    T_post = np.eye(4)
    T_post[:2, 3] = forward_kinematics(chain, Q_LEVEL + [0.7, 0, 0, 0, 0, 0])[:2, 3]
    T_post[2, 3] = 0.1
    scene = Scene(chain.base_link, robots.tree('ur5').links)
    scene.add_box('post', (0.08, 0.08, 0.5), T_post)
    return model_of('ur5', 0.005).with_objects(scene.bodies)


def test_it_goes_round_a_post():
    """Level and free at once, where the direct way is neither."""
    chain, constraint = robots.chain('ur5'), PathConstraint.upright(0.1, (0.0, 0.0, -1.0))
    model = model_with_post()
    trajectory = planned(chain, model, [constraint], Q_LEVEL, ROUND_POST)
    require_kept_by_pinocchio('ur5', [constraint], trajectory)
    assert model.check_many(each_step(trajectory)).all()
    with pytest.raises(TrajectoryError, match="'post'") as caught:
        planned(chain, model, [constraint], Q_LEVEL, Q_LEVEL + [0.7, 0, 0, 0, 0, 0])
    assert caught.value.reason is Reason.COLLISION


def test_a_long_way_is_searched_for_again(monkeypatch):
    """The shortest of several is taken, and a way about straight at once."""
    chain = robots.chain('ur5')
    postures = kept_postures('ur5', level('ur5'), None, 11)
    pairs = [(next(postures), next(postures)) for _ in range(6)]
    searched = []
    monkeypatch.setattr(constrained_motion, 'find_constrained_path', lambda *given: (
        searched.append(given[-1].seed), find_constrained_path(*given))[1])

    def lengths():
        return np.array([np.linalg.norm(np.diff(each_step(planned(
            chain, None, [level('ur5')], *pair)), axis=0), axis=1).sum() for pair in pairs])

    best = lengths()
    assert searched.count(0) > searched.count(1) > 0
    monkeypatch.setattr(constrained_motion, 'MAX_SEARCHES', 1)
    first = lengths()
    assert (best < 1.02 * first).all() and best.sum() < 0.95 * first.sum()


def test_another_way_is_taken_if_the_first_cannot_be_followed(monkeypatch):
    """Here it is through a post."""
    given = robots.chain('ur5'), model_with_post(), [PathConstraint.upright(0.1, (0.0, 0.0, -1.0))]
    monkeypatch.setattr(constrained_motion, 'find_constrained_path', lambda *given: (
        find_constrained_path(*given) if given[-1].seed else np.array([Q_LEVEL, ROUND_POST])))
    trajectory = planned(*given, Q_LEVEL, ROUND_POST)
    assert model_with_post().check_many(each_step(trajectory)).all()
    monkeypatch.setattr(constrained_motion, 'MAX_SEARCHES', 1)
    with pytest.raises(TrajectoryError, match="'post'"):
        planned(*given, Q_LEVEL, ROUND_POST)


def test_constraints_that_exclude_each_other():
    """No goal is within two boxes that do not overlap."""
    chain = robots.chain('ur5')
    there = forward_kinematics(chain, Q_LEVEL)
    apart = there.copy()
    apart[2, 3] += 0.2
    both = [PathConstraint(T, position=(inf, inf, 0.01)) for T in (there, apart)]
    with pytest.raises(ConstraintError, match='z of the position is outside by 190 mm; no '
                                              'posture near it is within'):
        planned(chain, None, both, Q_LEVEL, Q_LEVEL)


@pytest.mark.parametrize('fields, sentence', [
    ({}, 'constrains nothing'),
    ({'position': (0.1, 0.1)}, 'the position of a path constraint is 3 numbers'),
    ({'position': (0.1, 0.1, np.nan)}, 'from 0 .exact. to inf .free., got'),
    ({'rotation': (0.1, -0.1, 0.1)}, 'from 0 .exact. to inf .free., got'),
    ({'tilt': 'level'}, 'the tilt of a path constraint is a number'),
    ({'tilt': 0.1, 'angles': 'rpy'}, "'rotation vector' or 'xyz'"),
    ({'rotation': (1.6, 0.1, inf), 'angles': 'xyz'}, 'those about x and z stay below 1.570'),
    ({'distance': -1.0}, 'the distance of a path constraint is a number'),
    ({'tilt': 0.1, 'T_tip_point': np.ones((4, 4))}, 'the pose of a path constraint cannot be'),
    ({'tilt': 0.1, 'T_base_frame': np.eye(3)}, 'a frame is a 4x4 matrix'),
])
def test_what_cannot_be_used_is_refused(fields, sentence):
    """Each with a sentence of its own."""
    with pytest.raises(ConstraintError, match=sentence) as caught:
        PathConstraint(**{'T_base_frame': np.eye(4), **fields})
    assert caught.value.reason is Reason.CONSTRAINT


@pytest.mark.parametrize('text, sentence', [
    ('upright', 'is a mapping such as'), ('[' * 10_001, '10001 characters'),
    ('[' * 5_000, 'not valid YAML'), ('{upright: &a 1, distance: *a}', 'aliases'),
    ('!!int ""', 'tags'), ('[1]', 'has no 1; it has upright'), ('{uprigt: 1}', 'has no uprigt'),
    ('{upright: [1]}', 'the upright of what is kept is a number'),
    ('{position: 3}', 'the position of what is kept is a list'),
    ('{axis: [0, 0, 1], distance: 1}', 'axis of what is kept belong to upright'),
    ('{upright: 1, pose: [1, 0, 0, 0, 0, 0, 1]}', 'pose of what is kept belong to'),
    ('{distance: 1, frame: 3}', 'the frame of what is kept is a name'),
    ('{distance: 1, pose: [1, 2, 3]}', 'a pose of what is kept cannot be used')])
def test_texts_that_cannot_be_kept(text, sentence):
    """Hostile ones, and those that would say less than their writer thinks."""
    with pytest.raises(ConstraintError, match=sentence):
        read_keeps(text)


def test_what_is_kept_is_read_as_it_is_written():
    """Frames become known later; of the tip's axes the one that points up is kept upright."""
    keeps = read_keeps([upright(0.1), {'position': [inf, inf, 0.01], 'frame': 'start'}])
    assert read_keeps(keeps_text(keeps)) == keeps and read_keeps('') == ()
    T = forward_kinematics(robots.chain('ur5'), Q_LEVEL)
    level, box = path_constraints([(keeps[0], np.eye(4)), (keeps[1], None)], T)
    assert level.excess(T)[1] == pytest.approx(-0.1, abs=5e-3)
    np.testing.assert_allclose(level.T_tip_point[:3, 2], [0.0, 0.0, -1.0])
    np.testing.assert_allclose(box.T_base_frame, T, atol=1e-12)


@pytest.mark.parametrize('axis', [(0.0, 0.0, 0.0), (0.0, 1.0), (np.nan, 0.0, 1.0), 'z'])
def test_an_axis_that_is_none_is_refused(axis):
    """Of the tip, and of the base."""
    with pytest.raises(ConstraintError, match='an axis is three finite numbers'):
        PathConstraint.upright(0.1, axis)


def followed(chain, feed, constraints, seconds=4.0, q=Q_LEVEL):
    """Return the postures (k, n) of a follower at 100 Hz; `feed` is called before each cycle."""
    made, found = Follower(chain, limits(chain), constraints=constraints), []
    made.begin(MotionState.at_rest(q), 0.0)
    for now in np.arange(0.01, seconds, 0.01):
        feed(made, now)
        found.append(made.step(now).state.q)
        trajectory = made.trajectory(now)
    return np.array(found), trajectory


@pytest.mark.parametrize('constraint', [
    {'tilt': 0.05, 'T_tip_point': np.diag([1.0, -1.0, -1.0, 1.0])}, {'position': (inf, inf, 5e-3)},
    {'distance': 0.05}])
@pytest.mark.parametrize('jogs', [False, True])
def test_streams_and_jogs_stay_within(constraint, jogs):
    """A target that leads out is followed as far as it goes: along the bound, never across it."""
    chain = robots.chain('ur5')
    T = forward_kinematics(chain, Q_LEVEL)
    frame = np.eye(4)
    frame[:3, 3] = T[:3, 3]
    constraint = PathConstraint(frame, **constraint)

    def feed(made, now):
        if jogs:
            made.jog(JogCommand(np.array([0.1, 0.1, 0.05, 0.3, 0.0, 0.0])
                                * np.sign(np.sin(1.5 * now))), now)
            return
        goal = T.copy()
        goal[:3, 3] += 0.1 * np.sin(now), 0.15 * (1.0 - np.cos(now)), 0.08 * np.sin(2.0 * now)
        goal[:3, :3] = goal[:3, :3] @ Rotation.from_euler('x', 0.3 * np.sin(1.5 * now)).as_matrix()
        made.feed(goal, now, now)

    free, _ = followed(chain, feed, ())
    assert outside_at(constraint, poses_of(chain, free)).max() > 3e-3
    kept, trajectory = followed(chain, feed, (constraint,))
    assert outside_at(constraint, poses_of(chain, kept)).max() < 1e-6
    assert outside_at(constraint, poses_of(chain, each_step(trajectory))).max() < 1e-6
    moved = np.abs(poses_of(chain, kept)[:, :3, 3] - T[:3, 3]).max()
    assert moved > 0.015


def test_a_stream_from_outside_comes_in():
    """Never farther out; the tool is brought level by the target."""
    chain, constraint = robots.chain('ur5'), PathConstraint.upright(0.1, (0.0, 0.0, -1.0))
    begin, T = Q_LEVEL + [0.0, 0.0, 0.0, 0.35, 0.0, 0.0], forward_kinematics(chain, Q_LEVEL)
    kept, _ = followed(chain, lambda made, now: made.feed(T, now, now), (constraint,), q=begin)
    tilts = outside_at(constraint, poses_of(chain, kept))
    assert tilts[0] > 0.2 and tilts[-1] < 0.0
    assert (np.diff(np.maximum(tilts, 0.0)) < 1e-5).all()


def test_a_stop_stays_within():
    """The fastest ramp would tilt the tool: the one on the path is taken."""
    chain, constraint = robots.chain('ur5'), PathConstraint.upright(0.004, (0.0, 0.0, -1.0))
    end = Q_LEVEL + [1.8, 0.3, -0.5, 0.2, 0.0, 0.0]
    active, left = planned(chain, None, [constraint], Q_LEVEL, end), 0
    for share in np.linspace(0.1, 0.8, 8):
        start = StartState.from_motion(active, share * active.duration, 0.02)
        fastest, chosen = (plan_free_stop(None, chain.joint_names, active, start, limits(chain),
                                          PERIOD_S, StopWishes(kept)) for kept in (
            lambda _: True, lambda ramp: is_kept(chain, [constraint], ramp)))
        left += not is_kept(chain, [constraint], fastest)
        assert outside_at(constraint, poses_of(chain, each_step(chosen))).max() < 1e-6
    assert left >= 2


@pytest.mark.parametrize('constraint, begin', [
    ({'position': (inf, inf, 0.01)}, (0.0, 0.0, 0.3)), ({'distance': 0.05}, (0.2, 0.0, 0.0))])
def test_a_motion_that_stays_outside_is_none(constraint, begin):
    """A start that is outside has to come in; beside the region it cannot go on."""
    chain, frame = robots.chain('ur5'), np.eye(4)
    T = forward_kinematics(chain, Q_LEVEL)
    frame[:3, 3] = T[:3, 3] - begin
    there = T.copy()
    there[:3, 3] += (0.0, 0.05, 0.0) if 'position' in constraint else (-0.01, 0.0, 0.0)
    constraint = PathConstraint(frame, **constraint)
    with pytest.raises(PathError, match='of its length') as caught:
        plan_path(Solver(chain), at_rest(Q_LEVEL), [there], limits(chain),
                  constraints=[constraint])
    assert caught.value.reason is Reason.CONSTRAINT


def test_successive_rotations_are_not_entered_from_outside():
    """Their rows say by how much an angle is outside only near their bounds."""
    chain = robots.chain('panda')
    q = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.5, 0.0])
    constraint = PathConstraint(forward_kinematics(chain, q), rotation=(0.1, 0.1, inf),
                                angles='xyz')
    c = np.zeros((6, 1, 7))
    for angle, change, kept in ((0.05, -0.1, True), (0.5, -0.4, False), (1.8, 0.4, False),
                                (2.8, 0.3, False)):
        c[0, 0], c[1, 0, 5] = q + [0.0, 0.0, 0.0, 0.0, 0.0, angle, 0.0], change
        assert (certify_constraints(chain, [constraint], np.zeros(1), np.ones(1), c, False)
                is None) == kept
    with pytest.raises(ConstraintError, match='the start is outside of the path constraint'):
        planned(chain, None, [constraint], q + 0.5 * np.eye(7)[5], q)


def test_a_goal_with_free_axes_is_reached_within():
    """A position whose nearest posture is not level is reached by one that is."""
    chain, constraint = robots.chain('panda'), level('panda')
    solver, count = Solver(chain), 0
    for q in islice(kept_postures('panda', constraint, None, 5), 6):
        goal = Goal.position(forward_kinematics(chain, q)[:3, 3])
        result = solver.solve(goal, np.clip(chain.middle, chain.lower, chain.upper))
        if not result.success or constraint.excess(result.T_base_tip)[1] < 0.0:
            continue
        request = ConstrainedRequest(at_rest(q + 0.3 * (np.arange(7) == 0)), result.q, goal,
                                     (constraint,), limits(chain), PERIOD_S, Rounds())
        trajectory = request.plan(solver)
        count += 1
        assert goal.error(forward_kinematics(chain, trajectory.end))[0] < 2e-6
        assert outside_at(constraint, poses_of(chain, each_step(trajectory))).max() < 1e-6
    assert count >= 2


def test_a_ramp_that_ends_at_the_goal_is_the_motion():
    """And what is no question is told so."""
    chain, constraint = robots.chain('ur5'), PathConstraint.upright(0.3, (0.0, 0.0, -1.0))
    state = MotionState(Q_LEVEL, np.array([0.3, 0.0, 0.2, 0.0, 0.0, 0.2]), np.zeros(6))
    start = StartState.from_state(state)
    end = plan_stop(chain.joint_names, start, limits(chain), PERIOD_S).end
    trajectory = plan_constrained(chain, None, [constraint], start, end, limits(chain), PERIOD_S)
    np.testing.assert_allclose(trajectory.end, end, atol=1e-9)
    for constraints, goals in (([], end), ([constraint], np.empty((0, 6)))):
        with pytest.raises(ConstraintError, match='needs a constraint and a goal'):
            plan_constrained(chain, None, constraints, start, goals, limits(chain), PERIOD_S)
