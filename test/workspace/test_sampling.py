# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The sampled workspace, against closed forms, Pinocchio's kinematics and single calls."""

from collections import Counter

from answers import solver, tip_jacobian, tip_pose
from closed_form import closed_form
from geometry_oracle import bodies_of, model_of, Oracle
from nightly import samples, usual_first
import numpy as np
import pinocchio as pin
import pytest
import robots

from ik_node.base.errors import GoalError, ParameterError
from ik_node.collision.bodies.ground import ground_body
from ik_node.collision.scene.scene import Scene
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.solver.goal import FREE_AXIS, Goal
from ik_node.tools.workspace import sampling
from ik_node.tools.workspace.sampling import (
    even_directions,
    even_orientations,
    Orientations,
    sample_workspace,
    Workspace,
)

LENGTHS = 0.5, 0.3, 0.1  # of the planar arm


def planar_arm():
    """Return three links in the plane z = 0.2 whose joints turn without limit."""
    links = ''.join(f'<link name="l{k}"/>' for k in range(5))
    joints = ''.join(
        f'<joint name="j{k}" type="{kind}"><origin xyz="{x} 0 {z}"/><parent link="l{k}"/>'
        f'<child link="l{k + 1}"/><axis xyz="0 0 1"/></joint>' for k, (kind, x, z) in enumerate(
            [('continuous', 0.1, 0.2), ('continuous', LENGTHS[0], 0.0),
             ('continuous', LENGTHS[1], 0.0), ('fixed', LENGTHS[2], 0.0)]))
    return make_chain(parse_urdf(f'<robot name="p">{links}{joints}</robot>'), 'l0', 'l4')


def quaternions(rotations):
    return np.array([pin.Quaternion(R).coeffs() for R in rotations])


def pose(point, quaternion):
    """Return a pose (4, 4)."""
    return pin.XYZQUATToSE3(np.concatenate([point, quaternion])).homogeneous


def sampled(name, **named):
    return sample_workspace(robots.chain(name), **named)


# ---- closed forms -----------------------------------------------------------

def test_a_planar_arm():
    """Cells and shares of three links are those of two rings, for each heading."""
    headings = np.linspace(0.0, 2.0 * np.pi, 9)[:-1]
    made = sample_workspace(
        planar_arm(), (-0.913, 1.1, -0.97, 1.0, 0.2, 0.2), 0.0407,
        quaternions([pin.rpy.rpyToMatrix(0.0, 0.0, heading) for heading in headings]))
    points = made.points - (0.1, 0.0, 0.2)
    distance = np.linalg.norm(points, axis=1)
    inner, outer = LENGTHS[0] - LENGTHS[1] - LENGTHS[2], sum(LENGTHS)
    assert (made.reachable.ravel() == ((distance >= inner) & (distance <= outer))).all()
    wrists = np.linalg.norm(points[:, None, :2] - LENGTHS[2] * np.stack(
        [np.cos(headings), np.sin(headings)], axis=1), axis=2)
    expected = (wrists >= LENGTHS[0] - LENGTHS[1]) & (wrists <= LENGTHS[0] + LENGTHS[1])
    assert made.share.ravel() == pytest.approx(expected.mean(axis=1), abs=1e-12)
    assert (made.dexterous.ravel() == expected.all(axis=1)).all()
    assert 0 < made.dexterous.sum() < (made.share > 0.0).sum() < made.share.size


def test_a_planar_arm_out_of_its_plane():
    """Nothing beside the plane, and nothing upside down."""
    arm = planar_arm()
    assert not sample_workspace(arm, (-1, 1, -1, 1, 0.25, 0.45), 0.1).reachable.any()
    up, down = np.array([[0.0, 0.0, 0.0, 1.0]]), np.array([[1.0, 0.0, 0.0, 0.0]])
    where = {'box': (-0.3, 0.5, -0.4, 0.4, 0.2, 0.2), 'spacing': 0.1}
    upward = sample_workspace(arm, orientations=Orientations(up, pointing=True), **where)
    downward = sample_workspace(arm, orientations=Orientations(down, pointing=True), **where)
    assert (upward.share == upward.reachable).all() and upward.reachable.sum() > 70
    assert (downward.reachable == upward.reachable).all() and not downward.share.any()


@pytest.mark.parametrize('name', ['six_axis_arm', 'ur5', 'panda'])
def test_nothing_beyond_full_stretch(name):
    """The default box contains the whole reach, and no cell beyond the reach is reached."""
    chain = robots.chain(name)
    made = sampled(name, spacing=0.25, orientations=even_orientations(4))
    postures = robots.random_postures(chain, 3000, 5)
    tips = np.array([tip_pose(name, q)[:3, 3] for q in postures])
    reference = robots.reference(name)
    base = reference.data.oMf[reference.frame(chain.base_link)].inverse()
    shoulder = (base * reference.data.oMi[
        reference.model.getJointId(chain.joint_names[0])]).translation
    farthest = np.linalg.norm(tips - shoulder, axis=1).max()
    distance = np.linalg.norm(made.points - shoulder, axis=1)
    assert made.reachable.any()
    assert distance[made.reachable.ravel()].max() <= chain.reach
    for axis, middles in enumerate((made.x, made.y, made.z)):
        assert middles[0] <= tips[:, axis].min() and middles[-1] >= tips[:, axis].max()
    assert farthest <= chain.reach


def test_shares_agree_with_closed_forms():
    """EAIK finds a solution for exactly the poses of a UR5 that were counted."""
    solve = closed_form('ur5')
    orientations = even_orientations(20)
    made = sampled('ur5', box=(-0.95, 0.95, -0.7, 0.8, -0.4, 0.9), spacing=0.27,
                   orientations=orientations)
    share = np.array([np.mean([bool(solve(pose(point, o))) for o in orientations])
                      for point in made.points])
    assert len(share) > 200 and 0.2 < share.mean() < 0.8
    assert made.share.ravel() == pytest.approx(share, abs=1e-12)


@pytest.mark.fault('goals', 'poses in a map of the workspace that only collisions reach',
                   'not counted')
def test_only_free_postures_count():
    """
    A pose counts exactly if one of EAIK's solutions is free, by Pinocchio and coal.

    A cell counts also if it is reached in an orientation that is not among those.
    """
    solve, orientations = closed_form('ur5'), even_orientations(8)
    scene = Scene('base_link', robots.tree('ur5').links)
    for name, x in (('post', 0.45), ('wall', -0.6)):
        scene.add_box(name, (0.1, 0.8, 1.2), pose((x, 0.0, 0.4), (0.0, 0.0, 0.0, 1.0)))
    model = model_of('ur5', margin=0.01).with_objects([*scene.bodies, ground_body(0.0)])
    oracle = Oracle('ur5', model, bodies_of('ur5'), model.objects)
    box, counts = (-0.5, 0.6, -0.7, 0.0, 0.1, 0.5), Counter()
    made = sampled('ur5', box=box, spacing=0.31, orientations=orientations, collisions=model)
    free = sampled('ur5', box=box, spacing=0.31, orientations=orientations)
    for point, share, reachable in zip(made.points, made.share.ravel(), made.reachable.ravel()):
        verdicts = []
        for orientation in orientations:
            distances = [oracle.distances(q) - model.margins
                         for q in solve(pose(point, orientation))]
            assert not any(abs(each.min()) < 1e-5 for each in distances)  # all are clear
            verdicts.append(any((each > 0.0).all() for each in distances))
            counts[verdicts[-1], bool(distances)] += 1
        assert share == pytest.approx(np.mean(verdicts), abs=1e-12)
        assert reachable >= any(verdicts)
    assert min(counts[True, True], counts[False, True]) > 20, counts
    assert made.share.sum() < free.share.sum() and (made.reachable <= free.reachable).all()
    alone = sampled('ur5', box=box, spacing=0.31, orientations=orientations[:1], collisions=model)
    assert (alone.reachable >= made.reachable).all() and (alone.share < alone.reachable).any()
    assert (made.collisions, free.collisions) == (
        'free of collisions by 10 mm', 'collisions not considered')


# ---- single calls and forward kinematics ------------------------------------

@pytest.mark.parametrize('name', usual_first(2, ['six_axis_arm', 'panda', 'kinova']))
@pytest.mark.parametrize('pointing', [False, True])
def test_shares_agree_with_single_calls(name, pointing):
    """Cell by cell and orientation by orientation."""
    one, rng = solver(name), np.random.default_rng(3)
    orientations = (even_directions if pointing else even_orientations)(12)
    made = sampled(name, spacing=samples(usual=0.2, nightly=0.17),
                   orientations=Orientations(orientations, pointing))
    some = rng.permutation(np.flatnonzero(made.reachable))[:samples(usual=8, nightly=25)]
    tolerance = (0, 0, 0, 0, 0, FREE_AXIS if pointing else 0)
    share = [np.mean([one.solve(Goal(pose(point, o), tolerance)).success for o in orientations])
             for point in made.points[some]]
    assert made.share.ravel()[some] == pytest.approx(share, abs=1e-12)
    assert 0.1 < np.mean(share) < 0.95
    others = rng.permutation(np.flatnonzero(~made.reachable))[:samples(usual=5, nightly=15)]
    assert not any(one.solve(Goal.position(point)).success for point in made.points[others])
    assert not made.share.ravel()[others].any()


@pytest.mark.parametrize('name', usual_first(1, ['six_axis_arm', 'panda', 'xarm7']))
def test_poses_of_random_postures_are_reached(name):
    """No pose of a cell that a posture reaches, by Pinocchio, is missed."""
    count = samples(usual=80, nightly=300)
    chain, orientations = robots.chain(name), even_orientations(30)
    made = sampled(name, spacing=samples(usual=0.22, nightly=0.15), orientations=orientations)
    middles, frames = made.points, [pin.Quaternion(o).matrix() for o in orientations]
    shares = np.rint(made.share.ravel() * len(orientations))
    met = {}
    for q in robots.random_postures(chain, count, 8):
        T = tip_pose(name, q)
        cell = np.linalg.norm(middles - T[:3, 3], axis=1).argmin()
        turn = int(np.argmax([np.trace(R.T @ T[:3, :3]) for R in frames]))
        goal = pose(middles[cell], orientations[turn])
        if walk(name, q, goal) is not None:
            met.setdefault(cell, set()).add(turn)
    assert sum(map(len, met.values())) > count // 4
    for cell, turns in met.items():
        assert made.reachable.ravel()[cell] and shares[cell] >= len(turns), (cell, turns)


def walk(name, q, T_goal):
    """Return a posture inside the limits at a pose, by Newton steps from near; None if none."""
    chain = robots.chain(name)
    for _ in range(30):
        T = tip_pose(name, q)
        error = np.concatenate([T_goal[:3, 3] - T[:3, 3],
                                T[:3, :3] @ pin.log3(T[:3, :3].T @ T_goal[:3, :3])])
        if np.abs(error).max() < 1e-8:
            return q
        J = tip_jacobian(name, q)
        step = J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), error)
        q = np.clip(q + step / max(1.0, np.abs(step).max() / 0.3), chain.lower, chain.upper)
    return None


def test_the_margin_narrows_the_limits():
    """The result is that of a URDF with narrower limits."""
    margin = 0.4
    where = {'box': (0.1, 0.8, -0.6, 0.6, 0.1, 1.0), 'spacing': 0.2,
             'orientations': even_orientations(20)}
    text = robots.text('six_axis_arm').decode()
    chain = robots.chain('six_axis_arm')
    for lower, upper in set(zip(chain.lower, chain.upper)):
        assert f'lower="{lower:g}" upper="{upper:g}"' in text
        text = text.replace(f'lower="{lower:g}" upper="{upper:g}"',
                            f'lower="{float(lower + margin)!r}" upper="{float(upper - margin)!r}"')
    narrow = sample_workspace(make_chain(parse_urdf(text)), **where)
    drawn_in = sampled('six_axis_arm', limit_margin=margin, **where)
    wide = sampled('six_axis_arm', **where)
    assert np.array_equal(drawn_in.share, narrow.share)
    assert (drawn_in.share <= wide.share).all() and drawn_in.share.sum() < 0.95 * wide.share.sum()
    assert (drawn_in.limit_margin, wide.limit_margin) == (margin, 0.0)


def test_missed_poses_are_found_from_neighbouring_cells(monkeypatch):
    """With one attempt per pose many are missed; neighbours find most of them."""
    where = {'spacing': 0.12, 'orientations': even_orientations(10),
             'box': (0.1, 0.9, -0.6, 0.6, 0.0, 0.9)}
    thorough = sampled('ur5', **where)
    monkeypatch.setattr(sampling, 'FIRST_ATTEMPTS', 0)
    hasty = sampled('ur5', **where)
    assert hasty.share.sum() > 0.95 * thorough.share.sum()
    monkeypatch.setattr(sampling, '_neighbours', lambda cells, shape: np.arange(len(cells))[None])
    alone = sampled('ur5', **where)
    assert alone.share.sum() < 0.9 * thorough.share.sum()


def test_the_result_does_not_depend_on_the_workers():
    """With one worker or three."""
    spacing = samples(usual=0.3, nightly=0.2)
    one, three = (sampled('panda', spacing=spacing, orientations=even_orientations(20),
                          workers=workers) for workers in (1, 3))
    assert np.array_equal(one.share, three.share)
    assert np.array_equal(one.reachable, three.reachable)


def test_progress_is_reported():
    """From 0 to all, first for the positions, then for the orientations."""
    told = []
    made = sampled('ur5', spacing=0.3, orientations=even_orientations(10),
                   progress=lambda *what: told.append(what))
    assert [what for what, *_ in told] == sorted((what for what, *_ in told), reverse=True)
    for what in ('positions', 'orientations'):
        done = [(done, of_all) for name, done, of_all in told if name == what]
        assert done == sorted(done) and done[0][0] == 0 and done[-1][0] == done[-1][1]
    assert told[-1] == ('orientations', 10 * made.reachable.sum(), 10 * made.reachable.sum())


# ---- grid, orientations, files ----------------------------------------------

def test_the_grid_covers_the_box():
    """From the lower bounds by the spacing up to the upper bounds."""
    made = sampled('ur5', box=(0.1, 0.4, -0.3, -0.3, 0.0, 0.29), spacing=0.1,
                   orientations=even_orientations(2))
    assert made.x == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert made.y == pytest.approx([-0.3]) and made.z == pytest.approx([0.0, 0.1, 0.2])
    assert made.share.shape == made.reachable.shape == (4, 1, 3)
    expected = [(x, -0.3, z) for x in made.x for z in made.z]
    assert made.points == pytest.approx(np.array(expected))


@pytest.mark.parametrize('count', [1, 2, 7, 60, 500])
def test_even_orientations(count):
    """Unit quaternions, distinct, with no large gap between them."""
    rng = np.random.default_rng(0)
    quaternion = even_orientations(count)
    assert quaternion.shape == (count, 4)
    assert np.linalg.norm(quaternion, axis=1) == pytest.approx(np.ones(count))
    random = rng.normal(size=(2000, 4))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    apart = 2.0 * np.arccos(np.clip(np.abs(random @ quaternion.T), 0.0, 1.0)).min(axis=1)
    # The volume of a ball of radius r in SO(3) is (r - sin r) / pi of the whole.
    even = (np.pi / count * 6.0) ** (1.0 / 3.0)
    assert np.median(apart) < 1.1 * even and apart.max() <= 2.2 * even


@pytest.mark.parametrize('count', [1, 2, 7, 60, 500])
def test_even_directions(count):
    """The z axes are spread over the sphere as discs of equal area would be."""
    rng = np.random.default_rng(0)
    quaternion = even_directions(count)
    assert np.linalg.norm(quaternion, axis=1) == pytest.approx(np.ones(count))
    axes = np.array([pin.Quaternion(q).matrix()[:, 2] for q in quaternion])
    random = rng.normal(size=(2000, 3))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    apart = np.arccos(np.clip(random @ axes.T, -1.0, 1.0)).min(axis=1)
    even = 2.0 / np.sqrt(count)  # a cap of this radius has a share 1 / count of the sphere
    assert np.median(apart) < even and apart.max() < 1.9 * even


def test_files(tmp_path):
    """A saved workspace is read again; other files are refused."""
    made = sampled('ur5', box=(0.1, 0.6, -0.3, 0.3, 0.0, 0.29), spacing=0.1,
                   orientations=even_orientations(5), limit_margin=0.1)
    path = tmp_path / 'a.npz'
    made.save(path)
    again = Workspace.load(path)
    for name, value in vars(made).items():
        assert np.array_equal(getattr(again, name), value), name
        assert type(getattr(again, name)) is type(value)
    with np.load(path) as stored:
        assert np.array_equal(stored['points'], made.points)
        values = {**stored}
    np.savez(tmp_path / 'old.npz', **{**values, 'version': 0})
    np.savez(tmp_path / 'other.npz', a=1)
    (tmp_path / 'rubbish.npz').write_bytes(b'rubbish')
    (tmp_path / 'empty.npz').write_bytes(b'')
    (tmp_path / 'cut.npz').write_bytes(path.read_bytes()[:-200])
    refusals = dict.fromkeys(('other', 'cut', 'rubbish', 'empty'), 'not a workspace')
    for name, words in {**refusals, 'old': 'version 0', 'absent': 'No such file'}.items():
        with pytest.raises(ParameterError, match=words):
            Workspace.load(tmp_path / f'{name}.npz')


@pytest.mark.parametrize('named, words', [
    ({'box': (1, 0, 0, 1, 0, 1)}, 'each pair rising'), ({'box': (0, 1)}, 'x0 x1 y0 y1 z0 z1'),
    ({'box': (0, np.nan, 0, 1, 0, 1)}, 'rising'), ({'spacing': 0.0}, 'spacing'),
    ({'spacing': -1.0}, 'spacing'), ({'spacing': np.nan}, 'spacing'),
    ({'spacing': 0.001}, 'larger spacing'), ({'box': (-1e9, 1e9) * 3}, 'larger spacing'),
    ({'orientations': even_orientations(300_000), 'spacing': 0.1}, 'fewer orientations'),
    ({'limit_margin': -0.1}, 'margin'), ({'limit_margin': 9.0}, 'no room'),
    ({'limit_margin': np.nan}, 'margin')])
def test_invalid_arguments(named, words):
    """One sentence, without starting hours of work."""
    with pytest.raises(ParameterError, match=words):
        sampled('six_axis_arm', **named)


def test_invalid_orientations():
    """Quaternions must have norm 1."""
    with pytest.raises(GoalError, match='norm'):
        sampled('ur5', orientations=np.array([[0.0, 0.0, 0.0, 2.0]]))
