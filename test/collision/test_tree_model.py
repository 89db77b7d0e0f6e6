# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms of one robot against each other, by Pinocchio and coal."""

import numpy as np
import robots
from two_arms import LEFT, MARGIN_M, model, oracle, RIGHT, TREE, TWO_ARMS

from ik_node import load_tree
from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.certificate import certify_edge
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.model.chain import make_chain

SAMPLES = 200


def among_objects():
    """Return the model of the arms over a table."""
    scene = Scene(TREE.base_link, TREE.tree.links)
    T = np.eye(4)
    T[:3, 3] = 0.6, 0.0, 0.7
    scene.add_box('table', (0.4, 1.2, 0.05), T)
    scene.add_plane('floor')
    return model().with_objects(scene.bodies), scene.bodies


def test_which_pairs_are_checked():
    """Neighbours on each branch are not, the two arms are, link by link."""
    reasons = {frozenset(pair.links): pair.reason for pair in model().report}
    for side in ('left', 'right'):
        assert reasons[frozenset(('torso', f'{side}_shoulder'))] == 'one joint connects them'
        assert reasons[frozenset((f'{side}_hand', f'{side}_flange'))] == 'one joint connects them'
    arms = [[body.name for body in model().bodies if body.name.startswith(side)]
            for side in ('left', 'right')]
    assert len(arms[0]) == len(arms[1]) == 6
    assert all(reasons[frozenset((one, other))] == '' for one in arms[0] for other in arms[1])


def test_distances_are_those_of_coal():
    """Of links to each other and to objects, at random postures."""
    among, objects = among_objects()
    judge, verdicts, met = oracle(among, objects), set(), set()
    for q in robots.random_postures(TREE, 12, 5):
        expected = judge.distances(q)
        for k in np.argsort(expected)[:12]:
            found = among.distance_of(k, q)
            if expected[k] > 1e-5:
                assert abs(found - expected[k]) < 3e-6, among.names_of(k)
            elif expected[k] < -1e-5:
                assert found <= 1e-6, among.names_of(k)
                met.add(frozenset(name.partition('_')[0] for name in among.names_of(k)))
        free = bool(among.check_many(q[None])[0])
        assert free == (expected > among.margins).all()
        verdicts.add(free)
    assert verdicts == {True, False} and len(met) > 2


def test_a_tree_of_one_tip():
    """Its rows are one behind the other, as those of a chain, but not in aligned frames."""
    tree = load_tree(TWO_ARMS, 'base_link', [LEFT])
    alone = CollisionModel(tree, tree.tree, arm_bodies(tree.tree), margin=MARGIN_M)
    judge = oracle(alone)
    for q in robots.random_postures(tree, 12, 5):
        expected = judge.distances(q)
        found = np.array([alone.distance_of(k, q) for k in range(len(expected))])
        apart = expected > 1e-5
        assert np.abs(found - expected)[apart].max() < 3e-6


def test_what_is_proved_is_free_and_what_is_refused_is_not():
    """Straight motions of all joints, against samples."""
    among, objects = among_objects()
    judge, proved, refused = oracle(among, objects), 0, 0
    Q = robots.random_postures(TREE, 120, 3)
    Q = Q[among.check_many(Q)]
    for a, b in zip(Q[:-1], Q[1:]):
        b = a + 0.3 * (b - a)
        contact = certify_edge(among, a, b)
        share = np.linspace(0.0, 1.0, SAMPLES)
        line = a + share[:, None] * (b - a)
        if contact is None:
            proved += 1
            assert among.check_many(line).all()
            for q in line[::80]:
                assert (judge.distances(q) > among.margins - 3e-6).all()
        else:
            refused += 1
            assert among.check_many(line[share < contact.time - 2e-3]).all()
            there = a + contact.time * (b - a)
            names = [among.names_of(k) for k in range(len(among.pairs.pairs))]
            least = min(distance for distance, name in zip(judge.distances(there), names)
                        if name == contact.names)
            assert least < MARGIN_M + 3e-4
    assert proved > 10 and refused > 5


def test_a_mobile_base_moves_the_arms_among_objects():
    """The links keep their distances to each other, and the post is met where it stands."""
    text = TWO_ARMS.read_text(encoding='utf-8').replace('</robot>', (
        '<link name="floor"/><joint name="drive" type="planar"><parent link="floor"/>'
        '<child link="base_link"/><axis xyz="0 0 1"/></joint></robot>'))
    tree = load_tree(text, 'floor', TREE.tip_links, {'drive': {
        'x': (-3.0, 3.0), 'y': (-3.0, 3.0), 'yaw': (-np.inf, np.inf)}})
    scene, T = Scene('floor', tree.tree.links), np.eye(4)
    T[:3, 3] = 2.0, 1.0, 0.9
    scene.add_cylinder('post', (0.05, 1.8), T)
    mobile = CollisionModel(tree, tree.tree, arm_bodies(tree.tree).bodies, scene.bodies)
    q, = robots.random_postures(TREE, 1, 8)
    for x, y, yaw, free in ((0.0, 0.0, 0.0, True), (2.0, 1.0, 0.7, False),
                            (2.0, -0.5, -3.0, True)):
        at = tree.positions({'drive/x': x, 'drive/y': y, 'drive/yaw': yaw,
                             **robots.positions(TREE, q)})
        links = mobile.with_objects(()).distance(at)
        assert abs(links[0] - model().distance(q)[0]) < 1e-6
        names = mobile.distance(at)[1:]
        assert ('post' in names and mobile.distance(at)[0] <= 0.0) == (not free)
    ends = [tree.positions({'drive/x': x, 'drive/y': 1.0, 'drive/yaw': 0.0,
                            **robots.positions(TREE, np.zeros(TREE.n))}) for x in (0.0, 3.0)]
    contact = certify_edge(mobile, *ends)
    assert contact is not None and 'post' in contact.names


def test_objects_of_all_arms():
    """Each once; of one that an arm has elsewhere, both; the widest margin, and what may touch."""
    arms = [CollisionModel(make_chain(TREE.tree, 'torso', tip), TREE.tree,
                           arm_bodies(TREE.tree).bodies) for tip in (LEFT, RIGHT)]
    place, other = np.eye(4), np.eye(4)
    other[:3, 3] = 0.3, 0.0, 0.0
    scenes = [Scene('torso', TREE.tree.links) for _ in arms]
    for scene, T in zip(scenes, (place, other)):
        scene.add_box('table', (0.1, 0.1, 0.1))
        scene.add_box('crate', (0.1, 0.1, 0.1), T)
    among = [arm.with_objects(scene.bodies, margin, {'table': [link]}) for arm, scene, margin, link
             in zip(arms, scenes, (0.02, 0.05), ('left_hand', 'right_hand'))]
    whole = model().with_objects_of(among)
    assert [body.name for body in whole.objects] == ['table', 'crate', f'crate of {RIGHT}']
    assert {body.frame for body in whole.objects} == {'torso'} and whole.margin == 0.05
    assert whole.touch_links['table'] == {'left_hand', 'right_hand'}
    q = TREE.middle
    assert len(whole.distances(q)) > len(model().distances(q))
    assert whole.with_objects_of(among).margin == 0.05 \
        and len(whole.with_objects_of(among).objects) == 3
