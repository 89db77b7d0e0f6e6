# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The distances of an arm to itself and to objects, by Pinocchio and coal."""

import pickle

from geometry_oracle import bodies_of, model_of, Oracle
from nightly import samples
import numpy as np
import pytest
import robots
import two_arms

from ik_node.base.errors import ParameterError
from ik_node.collision.distances import model as model_module
from ik_node.collision.distances.certificate import certify_edge
from ik_node.collision.distances.depth import DEPTH_ERROR_M
from ik_node.collision.distances.model import CollisionModel, NEAR_LINKS_HINT
from ik_node.collision.scene.scene import Scene

ARMS = 'six_axis_arm', 'parallel_axes_arm', 'ur5', 'panda', 'xarm7'


def scene_of(name, seed=0):
    """Return some objects of each kind around an arm, with a ground below it."""
    chain, rng = robots.chain(name), np.random.default_rng(seed)
    scene = Scene(chain.base_link, robots.tree(name).links)

    def somewhere():
        T = np.eye(4)
        T[:3, 3] = rng.uniform(-0.9, 0.9, 3) + [0.0, 0.0, 0.5]
        return T

    for k in range(3):
        scene.add_box(f'box_{k}', tuple(rng.uniform(0.05, 0.3, 3)), somewhere())
        scene.add_cylinder(f'cylinder_{k}', (0.1, 0.3), somewhere())
        scene.add_sphere(f'sphere_{k}', 0.08, somewhere())
        scene.add_capsule(f'capsule_{k}', (0.05, 0.3), somewhere())
    scene.add_plane('ground', np.eye(4))
    return scene.bodies


@pytest.mark.parametrize('name', robots.cases(ARMS))
def test_distances_are_those_of_coal(name):
    """Of each pair at random postures; free is what keeps the margin."""
    objects = scene_of(name)
    model = model_of(name, margin=0.01).with_objects(objects)
    oracle = Oracle(name, model, bodies_of(name), objects)
    verdicts, depths = set(), []
    for q in robots.random_postures(robots.chain(name), samples(usual=4, nightly=12), 5):
        expected = oracle.distances(q)
        for k in np.argsort(expected)[:8]:
            found = model.distance_of(k, q)
            if expected[k] > 1e-5:
                assert abs(found - expected[k]) < 3e-6, model.names_of(k)
            elif expected[k] < -1e-5:
                assert found <= 1e-6, model.names_of(k)
        free = bool(model.check_many(q[None])[0])
        assert free == (expected > model.margins).all()
        verdicts.add(free)
        least, first, second = model.distance(q)
        nearest = model.names_of(int(expected.argmin()))
        assert expected.min() <= 0.0 or {first, second} == set(nearest)
        worst = model.worst_pair(q)
        if least <= 0.0:
            depths.append(worst.distance)
            assert str(worst) == model.describe(q) and 'overlap' in str(worst)
            assert abs(worst.distance - worst.required - (expected - model.margins).min()) < 1e-3
    assert False in verdicts and min(depths) < -0.01


@pytest.mark.parametrize('name', robots.cases(ARMS))
def test_clearance_is_that_of_coal(name):
    """The least distance of links, and of links and objects, and the way between the two."""
    objects = scene_of(name, 3)
    model = model_of(name, margin=0.02).with_objects(objects)
    every = {body.name: body for body in (*bodies_of(name), *objects)}
    oracle = Oracle(name, model, bodies_of(name), objects)
    named = {body.name for body in objects}
    of_objects = np.array([bool(named & {*model.names_of(k)})
                           for k in range(len(model.pairs.pairs))])
    apart = 0
    for q in robots.random_postures(robots.chain(name), samples(usual=30, nightly=90), 7):
        expected = oracle.distances(q)
        for found, those in zip(model.clearances(q), (~of_objects, of_objects), strict=True):
            k = int(np.where(those, expected, np.inf).argmin())
            if expected[k] <= 1e-5:
                assert found.distance <= 1e-5 and not found.kept
                continue
            apart += 1
            assert abs(found.distance - expected[k]) < 3e-6
            assert found.kept == (expected[k] > model.margins[k])
            assert found.names == model.names_of(k)
            first, second = found.points
            for share in (0.25, 0.75):
                off = [oracle.distance_of_point(q, first + share * (second - first), every[each])
                       for each in found.names]
                assert np.allclose(off, expected[k] * np.array([share, 1.0 - share]), atol=5e-6)
    assert apart > 10


def test_nothing_has_no_clearance():
    """Of an arm without bodies; and what is drawn into each other has no nearest points."""
    chain, tree = robots.chain('ur5'), robots.tree('ur5')
    assert CollisionModel(chain, tree, ()).clearances(np.zeros(6)) == ()
    scene = Scene(chain.base_link, tree.links)
    scene.add_box('all', (3.0, 3.0, 3.0))
    _, found = model_of('ur5').with_objects(scene.bodies).clearances(np.zeros(6))
    assert found.points is None and found.distance <= 0.0 and 'all' in found.names


@pytest.mark.parametrize('name', ARMS)
def test_which_pairs_are_checked(name):
    """Not those that one joint connects or that cannot move against each other; all others."""
    model = model_of(name)
    chain, tree = robots.chain(name), robots.tree(name)
    checked = {frozenset(each.links) for each in model.report if not each.reason}
    some, others = robots.random_postures(chain, 2, 1)
    for one in bodies_of(name):
        for two in bodies_of(name):
            if one is two:
                continue
            poses = [robots.reference(name).pose(one.frame, two.frame, robots.positions(chain, q))
                     for q in (some, others)]
            rigid = np.allclose(*poses, atol=1e-9)
            if rigid:
                assert frozenset((one.name, two.name)) not in checked
    for each in model.report:
        assert each.reason in ('', 'one joint connects them') or 'in contact' in each.reason
    for joint in tree.joints:
        assert frozenset((joint.parent, joint.child)) not in checked


def test_the_depth_among_many_parts(monkeypatch):
    """Of a link in a cloud not all depths are computed, but no deeper one is missed."""
    name, looked = 'six_axis_arm', []
    chain = robots.chain(name)
    least_shift = model_module.least_shift
    monkeypatch.setattr(model_module, 'least_shift',
                        lambda *given: looked.append(None) or least_shift(*given))
    objects = Scene(chain.base_link, robots.tree(name).links)
    objects.add_points('cloud', np.random.default_rng(0).uniform(-0.5, 0.5, (4000, 3))
                       + [0.3, 0.0, 0.5], 0.03)
    among = model_of(name).with_objects(objects.bodies, 0.005)
    worst = among.worst_pair(chain.middle)
    assert 0 < len(looked) < model_module.MAX_DEPTHS and 'cloud' in worst.names
    assert among.worst_pair(chain.middle) is worst  # it is asked for again by displays
    most = model_module.MAX_DEPTHS
    monkeypatch.setattr(model_module, 'MAX_DEPTHS', 100_000)
    every = among.signed_distances(chain.middle)
    assert len(looked) > 3 * most
    assert every.min() - 2.0 * DEPTH_ERROR_M < worst.distance < every.min() + 2.0 * DEPTH_ERROR_M


def test_the_ball_round_a_hull_is_kept():
    """It contains all vertices, is hardly larger than the least one, and is computed once."""
    hulls = [part for body in bodies_of('ur5') for part in body.parts if part.kind == 'hull']
    for part in hulls:
        centre, radius = part.vertex_ball
        assert np.linalg.norm(part.vertices - centre, axis=1).max() == pytest.approx(radius)
        apart = np.linalg.norm(part.vertices[:, None] - part.vertices, axis=2).max()
        assert radius < 1.01 * np.sqrt(0.375) * apart  # Jung 1901
        assert part.vertex_ball[0] is centre
    assert len(hulls) > 6


def test_pairs_that_are_named_are_left_out():
    """As an SRDF names them."""
    name = 'six_axis_arm'
    before = model_of(name)
    pair = next(each.links for each in before.report if not each.reason)
    after = model_of(name, disabled_pairs=(pair[::-1],))
    assert len(after.pairs.pairs) < len(before.pairs.pairs)
    assert next(each for each in after.report if each.links == pair).reason == 'disabled'


def test_pairs_of_links_can_be_changed():
    """Those that are disabled are checked again, and others are not; neighbours stay."""
    name, one, other = 'six_axis_arm', ('link_1', 'link_4'), ('base_link', 'link_4')
    disabled = model_of(name, disabled_pairs=(one,))
    changed = disabled.with_link_pairs({frozenset(one): False, frozenset(other): True,
                                        frozenset(('link_2', 'link_3')): False})
    reasons = {each.links: each.reason for each in changed.report}
    assert reasons[one] == '' and reasons[other] == 'disabled'
    assert reasons['link_2', 'link_3'] == 'one joint connects them'
    wanted = model_of(name, disabled_pairs=(other,))
    Q = robots.random_postures(robots.chain(name), 500, 3)
    assert np.array_equal(changed.check_many(Q), wanted.check_many(Q))
    assert not np.array_equal(changed.check_many(Q), disabled.check_many(Q))
    kept = disabled.with_link_pairs({frozenset(other): True})
    assert {each.reason for each in kept.report if each.links in (one, other)} == {'disabled'}


def test_a_model_can_be_pickled():
    """For batches in other processes."""
    model = model_of('six_axis_arm').with_objects(scene_of('six_axis_arm'))
    Q = robots.random_postures(robots.chain('six_axis_arm'), 50, 2)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).check_many(Q), model.check_many(Q))


def test_objects_on_a_link_move_with_it():
    """An attached object is checked against the other links and against the scene."""
    name = 'six_axis_arm'
    chain = robots.chain(name)
    scene = Scene(chain.base_link, robots.tree(name).links)
    T = np.eye(4)
    T[2, 3] = 0.3
    scene.add_box('stick', (0.02, 0.02, 0.6), T, frame=chain.tip_link)
    objects = scene.bodies
    model = model_of(name).with_objects(objects)
    oracle = Oracle(name, model, bodies_of(name), objects)
    assert any('stick' in model.names_of(k) for k in range(len(model.pairs.pairs)))
    for q in robots.random_postures(chain, 20, 3):
        assert (oracle.distances(q).min() > 0.0) == model.check_many(q[None])[0]


def test_bad_arguments_are_refused():
    """With what is allowed."""
    with pytest.raises(ParameterError, match='margin is -0.1'):
        model_of('six_axis_arm', margin=-0.1)
    with pytest.raises(ParameterError, match='not a link'):
        scene = Scene('elsewhere', ['elsewhere'])
        scene.add_sphere('ball', 0.1, np.eye(4), frame='elsewhere')
        model_of('six_axis_arm').with_objects(scene.bodies)


def test_an_arm_without_bodies_is_always_free():
    """There is nothing to check."""
    model = CollisionModel(robots.chain('ur5'), robots.tree('ur5'), ())
    assert model.check_many(np.zeros((3, 6))).all()
    assert model.distance(np.zeros(6)) == (np.inf, '', '')


@pytest.mark.parametrize('name', robots.cases(
    ['parallel_axes_arm', 'pr2', 'baxter', 'ur5', 'panda']))
def test_most_postures_are_free(name):
    """Also of arms whose links are near each other, or drawn into each other, by design."""
    model = model_of(name, margin=0.005)
    Q = robots.random_postures(robots.chain(name), samples(usual=50, nightly=200), 1)
    assert model.check_many(Q).mean() > 0.4
    assert (model.margins <= 0.005).all() and (model.margins > 0.0).all()
    left_out = [each for each in model.report if 'in contact in' in each.reason]
    assert bool(left_out) == (name in ('pr2', 'baxter')), left_out
    # A link and an object keep the margin itself.
    scene = Scene(robots.chain(name).base_link, robots.tree(name).links)
    scene.add_sphere('ball', 0.1)
    among = model.with_objects(scene.bodies)
    of_ball = [k for k in range(len(among.margins)) if 'ball' in among.names_of(k)]
    assert len(of_ball) and (among.margins[of_ball] == 0.005).all()


def test_a_tool_changes_the_moved_frame_not_the_checked_pairs():
    """The point that goals are about is no body; without a change the model is the same."""
    model, T = model_of('six_axis_arm', margin=0.01).with_objects(scene_of('six_axis_arm')), \
        np.eye(4)
    T[2, 3] = 0.2
    tooled = model.with_tool(T)
    assert tooled.chain.has_tool and not model.chain.has_tool
    assert model.with_tool(np.eye(4)) is model
    for q in robots.random_postures(model.chain, 5, 6):
        assert np.array_equal(tooled.distances(q), model.distances(q))
    assert tooled.with_objects(()).chain.has_tool


def nearly(model, chain, wanted, count=4000):
    """Return postures in which the worst pair is of a kind, and too near without a touch."""
    found = []
    for q in robots.random_postures(chain, count, 11):
        worst = None if model.check_many(q[None])[0] else model.worst_pair(q)
        if worst is not None and worst.distance > 1e-4 and wanted(worst):
            found.append((q, worst))
    return found


def test_links_that_are_near_by_design():
    """The sentence names two remedies, with each of which these two are no fault any more."""
    chain = robots.chain('six_axis_arm')
    model = model_of('six_axis_arm', margin=0.03)
    found = nearly(model, chain, lambda worst: True)
    assert len(found) > 5
    for q, worst in found[:20]:
        assert str(worst).endswith(f' mm are required{NEAR_LINKS_HINT}')
        for other in (model.with_disabled_pairs([worst.names]),
                      model.with_objects((), margin=0.9 * worst.distance)):
            left = None if other.check_many(q[None])[0] else other.worst_pair(q)
            assert left is None or {*left.names} != {*worst.names}
    # On the way there it is the same two, or others that are reached before.
    ways = [certify_edge(model, np.zeros(6), q) for q, _ in found]
    near = [way for way in ways if way is not None and 0.0 < way.distance]
    assert near and all(NEAR_LINKS_HINT in way.words for way in near)
    assert all(NEAR_LINKS_HINT not in way.words for way in ways
               if way is not None and way.distance <= 0.0)


def test_what_is_not_near_by_design():
    """An object, links of two arms, what overlaps, and what is far enough."""
    chain = robots.chain('six_axis_arm')
    model = model_of('six_axis_arm', margin=0.03).with_objects(scene_of('six_axis_arm'))
    names = {body.name for body in model.objects}
    found = nearly(model, chain, lambda worst: names & {*worst.names}, 1000)
    assert found and all(str(worst).endswith('mm are required') for _, worst in found)
    seen = set()
    for q in robots.random_postures(chain, 500, 12):
        worst = model.worst_pair(q)
        if worst.distance <= 0.0 or worst.distance > worst.required:
            assert NEAR_LINKS_HINT not in str(worst)
            seen.add(worst.distance <= 0.0)
    assert seen == {True, False}
    two = two_arms.model().with_objects((), margin=0.1)
    seen = set()
    for _, worst in nearly(two, two_arms.TREE, lambda worst: True, 3000):
        across = {'left', 'right'} == {name.split('_')[0] for name in worst.names}
        assert (NEAR_LINKS_HINT in str(worst)) is not across
        seen.add(across)
    assert seen == {True, False}
