# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is proved about trajectories, against dense samples by Pinocchio and coal."""

from geometry_oracle import bodies_of, model_of, Oracle
from nightly import samples
import numpy as np
import pytest
import robots

from ik_node.base.errors import ParameterError
from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.certificate import (
    certify,
    certify_edge,
    LEAST_DOUBT_M,
    START_SLACK_M,
)
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf

MARGIN_M = 0.01
SAMPLES = 250
ARMS = 'six_axis_arm', 'ur5', 'panda'


def among_boxes(name, seed):
    """Return a model among boxes, and the oracle for it."""
    chain, rng = robots.chain(name), np.random.default_rng(seed)
    scene = Scene(chain.base_link, robots.tree(name).links)
    for k in range(4):
        T = np.eye(4)
        T[:3, 3] = rng.uniform(-0.8, 0.8, 3) + [0.0, 0.0, 0.5]
        scene.add_box(f'box_{k}', tuple(rng.uniform(0.05, 0.2, 3)), T)
    model = model_of(name, margin=MARGIN_M).with_objects(scene.bodies)
    return model, Oracle(name, model, bodies_of(name), scene.bodies)


def swing(name, rng):
    """Return a quintic from rest to rest between random postures, with a bend."""
    a, b = robots.random_postures(robots.chain(name), 2, int(rng.integers(1 << 30)))
    duration = rng.uniform(0.3, 2.0)
    b = a + 0.4 * (b - a)
    middle = rng.normal(size=len(a)) * 0.2
    c = np.zeros((6, 1, len(a)))
    s = np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0]) / duration ** np.arange(6)
    c[:, 0] = s[:, None] * (b - a)
    c[0, 0] = a
    c[2, 0] += middle / duration**2
    c[3, 0] -= middle / duration**3
    return np.zeros(1), np.array([duration]), c


def at(c, t):
    """Return the positions (n,) at a time."""
    return (c[:, 0] * t ** np.arange(6)[:, None]).sum(axis=0)


@pytest.mark.parametrize('name', ARMS)
def test_proved_motions_are_free_and_refused_ones_are_not(name):
    """At every sampled instant; a refusal names a pair, a time and the distance then."""
    rng = np.random.default_rng(1)
    proved = refused = 0
    for seed in range(3):
        model, oracle = among_boxes(name, seed)
        for _ in range(samples(usual=15, nightly=40)):
            begins, lengths, c = swing(name, rng)
            if not model.check_many(at(c, 0.0)[None])[0]:
                continue
            contact = certify(model, begins, lengths, c)
            times = np.linspace(0.0, lengths[0], SAMPLES)
            if contact is None:
                proved += 1
                for t in times[::25]:
                    assert (oracle.distances(at(c, t)) > model.margins - 3e-6).all()
                assert model.check_many(np.array([at(c, t) for t in times])).all()
            else:
                refused += 1
                k = next(k for k in range(len(model.pairs.pairs))
                         if model.names_of(k) == contact.names
                         and model.distance_of(k, at(c, contact.time)) == contact.distance)
                there = oracle.distances(at(c, contact.time))[k]
                assert there < model.margins[k] + LEAST_DOUBT_M + 3e-6
                assert there < 0.0 or abs(there - contact.distance) < 3e-6
                before = times[times < contact.time - 2e-3]
                if len(before):
                    assert model.check_many(np.array([at(c, t) for t in before])).all()
    assert proved > 2 and refused > 2


def test_nothing_is_skipped_between_samples():
    """A thin sheet that a fast motion crosses within a millisecond."""
    name = 'six_axis_arm'
    chain = robots.chain(name)
    scene = Scene(chain.base_link, robots.tree(name).links)
    q = np.array([0.6, 0.3, -0.4, 0.0, 1.0, 0.0])
    there = robots.tip_pose(name, q)
    T = np.eye(4)
    T[:3, 3] = there[:3, 3]
    scene.add_box('sheet', (1e-4, 1e-4, 0.01), T)
    model = model_of(name).with_objects(scene.bodies)
    start, end = q - [0.5, 0, 0, 0, 0, 0], q + [0.5, 0, 0, 0, 0, 0]
    contact = certify_edge(model, start, end)
    assert contact is not None and 'sheet' in contact.names
    assert contact.time < 0.5
    assert certify_edge(model, start, q - [0.3, 0, 0, 0, 0, 0]) is None


def test_a_start_that_is_too_near_may_move_out_and_not_in():
    """By no more than the slack nearer or deeper; one that touches may leave."""
    name = 'six_axis_arm'
    chain = robots.chain(name)
    q = np.array([0.0, 0.3, -0.4, 0.0, 1.0, 0.0])
    bare = model_of(name)
    for distance, name_of in ((0.004, 'near'), (-0.01, 'touching')):
        scene = Scene(chain.base_link, robots.tree(name).links)
        tip = robots.tip_pose(name, q)
        # A half-space beside the tip: in its way as the first joint turns on.
        side = CollisionModel(chain, robots.tree(name), [
            body for body in bodies_of(name) if body.name == 'link_6'])
        T = np.eye(4)
        T[:3, :3] = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
        T[1, 3] = tip[1, 3] + 0.2
        scene.add_plane('wall', T)
        gap = side.with_objects(scene.bodies).distance(q)[0]
        T[1, 3] -= gap - distance
        scene.add_plane('wall', T)
        model = CollisionModel(chain, robots.tree(name), [
            body for body in bodies_of(name) if body.name == 'link_6'], scene.bodies, MARGIN_M)
        assert abs(model.distance(q)[0] - distance) < 1e-6
        out, further_in = q.copy(), q.copy()
        out[0], further_in[0] = -0.3, 0.3
        assert certify_edge(model, q, out) is None, name_of
        contact = certify_edge(model, q, further_in)
        assert contact.distance == pytest.approx(distance, abs=3e-4)
        assert contact.at_start == pytest.approx(distance, abs=1e-6)
        assert contact.distance < distance - START_SLACK_M + LEAST_DOUBT_M
    assert bare.check_many(q[None])[0]


def test_several_segments_are_one_trajectory():
    """The time is that since the start of all."""
    name = 'six_axis_arm'
    rng = np.random.default_rng(7)
    model, _ = among_boxes(name, 0)
    for _ in range(200):
        begins, lengths, c = swing(name, rng)
        alone = certify(model, begins, lengths, c)
        if alone is not None and model.check_many(at(c, 0.0)[None])[0]:
            break
    half = 0.5 * lengths[0]
    shifted = np.zeros_like(c)
    for k in range(6):  # Taylor series at the half
        for j in range(k, 6):
            shifted[k] += _binomial(j, k) * c[j] * half ** (j - k)
    both = np.concatenate([c, shifted], axis=1)
    parted = certify(model, np.array([0.0, half]), np.array([half, half]), both)
    assert abs(parted.time - alone.time) < 5e-3


def _binomial(n, k):
    return np.prod([(n - i) / (i + 1) for i in range(k)])


def test_a_start_outside_the_limits_of_a_slide():
    """What swings with the slide is farther from the axis than the limits say."""
    ball = '<collision><geometry><sphere radius="0.05"/></geometry></collision>'
    tree = parse_urdf(f'''
<robot name="turning_slide">
  <link name="base"/><link name="arm"/><link name="hand">{ball}</link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>
    <axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
  <joint name="slide" type="prismatic"><parent link="arm"/><child link="hand"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="0.2" effort="1" velocity="1"/></joint>
</robot>''')
    chain, scene = make_chain(tree, 'base', 'hand'), Scene('base')
    T = np.eye(4)
    T[:3, 3] = 0.0, 0.6, 0.0
    scene.add_sphere('ball', 0.005, T)
    model = CollisionModel(chain, tree, arm_bodies(tree).bodies, scene.bodies)
    for slide, hits in ((0.62, True), (0.5, False)):
        q = np.array([0.0, slide])
        contact = certify_edge(model, q, q + [2.0, 0.0])
        assert (contact is not None) == hits


def test_a_plane_on_a_moving_link_is_refused():
    """One that does not move with the arm is taken."""
    tree = robots.tree('six_axis_arm')
    scene = Scene('base_link', tree.links)
    scene.add_plane('floor')
    assert model_of('six_axis_arm').with_objects(scene.bodies).objects
    scene.add_plane('palm', np.eye(4), 'link_6')
    with pytest.raises(ParameterError, match="the plane of 'palm' is in the frame 'link_6'"):
        model_of('six_axis_arm').with_objects(scene.bodies)
