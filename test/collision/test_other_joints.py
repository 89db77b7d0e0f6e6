# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Links that move beside the arm, with its joints or with others, by Pinocchio and coal."""

from geometry_oracle import Oracle
import numpy as np
import pytest
import robots
from two_arms import TWO_ARMS

from ik_node.collision import arm_bodies, Scene
from ik_node.collision.certificate import certify_edge
from ik_node.collision.model import ADJACENT_REASON, CollisionModel
from ik_node.collision.other_joints import (
    MOTION_HORIZON_S,
    OtherJoint,
    OtherJointTracker,
    REST_ROOM,
)
from ik_node.model.chain import make_chain
from ik_node.model.urdf import parse_urdf

BAR = ("<collision><origin xyz='0.25 0 0'/><geometry><box size='0.5 0.02 0.02'/></geometry>"
       "</collision>")
LIMIT = '<limit lower="-3" upper="3" effort="1" velocity="1"/>'


def joint(name, parent, child, origin, axis='0 0 1', kind='revolute', mimic=''):
    """Return a joint of a URDF."""
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin {origin}/><axis xyz="{axis}"/>{LIMIT}{mimic}</joint>')


# A palletiser: rods on the base and on the arm follow its joints, one of them a rod that follows.
PALLETISER = ('<robot name="palletiser"><link name="base"/><link name="tool"/>' + ''.join(
    f'<link name="{name}">{BAR}</link>' for name in ('l1', 'l2', 'rod', 'slider', 'hung', 'last'))
    + joint('a', 'base', 'l1', 'xyz="0 0 0.1"')
    + joint('b', 'l1', 'l2', 'xyz="0.5 0 0.1"', '0 1 0')
    + joint('c', 'l2', 'tool', 'xyz="0.5 0 0"')
    + joint('m', 'base', 'rod', 'xyz="0 0 0.4" rpy="0.1 0 0.2"', '0 0.6 0.8',
            mimic='<mimic joint="a" multiplier="-1.5" offset="0.3"/>')
    + joint('s', 'rod', 'slider', 'xyz="0.5 0 0.1"', '1 0 0', 'prismatic',
            '<mimic joint="b" multiplier="0.1"/>')
    + joint('h', 'l1', 'hung', 'xyz="0.2 0 0.3"', '0 1 0', mimic='<mimic joint="c"/>')
    + joint('f', 'hung', 'last', 'xyz="0.5 0 0"', mimic='<mimic joint="m"/>') + '</robot>')


def following(q):
    """Return the positions of the joints that mimic, by the sentence of the URDF format."""
    m = -1.5 * q[0] + 0.3
    return {'m': m, 's': 0.1 * q[1], 'h': q[2], 'f': m}


def palletiser():
    """Return its model among objects, and the oracle."""
    tree = parse_urdf(PALLETISER)
    chain, scene = make_chain(tree, 'base', 'tool'), Scene('base', tree.links)
    rng = np.random.default_rng(1)
    for k in range(4):
        T = np.eye(4)
        T[:3, 3] = rng.uniform(-0.7, 0.7, 3) + [0.0, 0.0, 0.4]
        scene.add_box(f'box_{k}', (0.1, 0.1, 0.1), T)
    bodies = arm_bodies(tree).bodies
    model = CollisionModel(chain, tree, bodies, scene.bodies, 0.005)
    return model, Oracle(robots.Reference(PALLETISER), model, bodies, scene.bodies)


def test_links_that_mimic_move():
    """Their distances are those of coal, and what is proved of a motion holds of them."""
    model, oracle = palletiser()
    assert model.other_joints == ()
    rng, proved, refused = np.random.default_rng(2), 0, 0
    for _ in range(60):
        q, to = rng.uniform(-3.0, 3.0, (2, 3))
        expected, found = oracle.distances(q, following(q)), model.distances(q)
        apart = expected > 1e-5
        assert np.abs(found - expected)[apart].max() < 3e-6 and (found[~apart] < 1e-5).all()
        if not model.check_many(q[None])[0]:
            continue
        to = q + 0.15 * (to - q)
        line = [q + t * (to - q) for t in np.linspace(0.0, 1.0, 40)]
        free = all((oracle.distances(p, following(p)) > model.margins).all() for p in line)
        contact = certify_edge(model, q, to)
        assert contact is not None or free
        proved, refused = proved + (contact is None), refused + (contact is not None)
    assert proved > 5 and refused > 5


def left_arm(margin=0.0, base='base_link'):
    """Return the model of the left one of two arms, the right one beside it, and the oracle."""
    text = TWO_ARMS.read_text(encoding='utf-8')
    tree = parse_urdf(text)
    chain, bodies = make_chain(tree, base, 'left_tool'), arm_bodies(tree).bodies
    model = CollisionModel(chain, tree, bodies, margin=margin)
    return model, Oracle(robots.Reference(text), model, bodies)


def somewhere(model, rng):
    """Return positions of the joints beside the arm."""
    return {name: float(rng.uniform(-1.0, 1.0)) for name in model.other_joints}


def test_another_arm_is_where_it_is_measured():
    """Its distances are those of coal."""
    model, oracle = left_arm()
    assert len(model.other_joints) == 6 and all('right' in name for name in model.other_joints)
    rng, touching = np.random.default_rng(3), 0
    for q in robots.random_postures(model.chain, 15, 4):
        others = somewhere(model, rng)
        there = model.with_others({name: OtherJoint(value) for name, value in others.items()})
        expected, found = oracle.distances(q, others), there.distances(q)
        apart = expected > 1e-5
        assert np.abs(found - expected)[apart].max() < 3e-6 and (found[~apart] < 1e-5).all()
        assert np.abs(model.distances(q) - expected).max() > 0.01  # than at rest
        touching += (expected < 0.0).any()
    assert 0 < touching


def test_the_first_link_is_checked_against_another_arm():
    """All that stands beside the chain is in one frame, also what the joint does not connect."""
    model, _ = left_arm(base='torso')
    beside = {frozenset(pair.links) for pair in model.report
              if any('right' in link for link in pair.links)}
    first = {link for link, (frame, _) in model._moving.places.items() if frame == 1}
    assert any(pair & first for pair in beside)
    assert not [pair for pair in model.report if pair.reason == ADJACENT_REASON
                and any('right' in link for link in pair.links)]


# With the torso as the base its joint is crossed upwards.
@pytest.mark.parametrize('base', ['base_link', 'torso'])
@pytest.mark.parametrize('room', [1e-3, 0.1, 0.5])
def test_what_a_joint_may_do_is_kept_apart(room, base):
    """No distance is less by more than the margin is wider, wherever in its room each joint is."""
    model, oracle = left_arm(0.005, base)
    rng, widest = np.random.default_rng(5), 0.0
    for q in robots.random_postures(model.chain, 6, 6):
        others = somewhere(model, rng)
        wide = model.with_others({name: OtherJoint(value, room * rng.uniform(0.0, 1.0))
                                  for name, value in others.items()})
        middle = oracle.distances(q, others)
        for _ in range(8):
            moved = oracle.distances(q, {
                name: other.position + other.room * rng.choice([-1.0, 1.0, rng.uniform(-1.0, 1.0)])
                for name, other in wide.others.items()})
            lost = middle - moved
            assert (lost < wide.margins - model.margins + 3e-6)[middle > 1e-5].all()
            widest = max(widest, (lost / (wide.margins - model.margins + 1e-6)).max())
    assert widest > 0.3  # it is not wider than it need be


def test_what_is_proved_holds_wherever_a_joint_goes():
    """By coal, all over the rooms; from within what it may sweep no motion is proved."""
    model, oracle = left_arm(0.005)
    rng, proved, refused = np.random.default_rng(7), 0, 0
    postures = robots.random_postures(model.chain, 200, 8)
    for q, other in zip(postures[::2], postures[1::2]):
        wide = model.with_others({name: OtherJoint(value, 0.2 * rng.uniform())
                                  for name, value in somewhere(model, rng).items()})
        to = q + 0.1 * (other - q)
        begun, contact = wide.distances(q) > wide.margins, certify_edge(wide, q, to)
        if not begun[~wide.swept].all():
            continue
        if not begun.all():
            assert contact is not None and contact.time < 1e-3 and contact.swept
            assert contact.words.endswith('as joints beside the arm move (wait until these rest)')
            refused += 1
        if contact is not None:
            continue
        proved += 1
        for _ in range(20):
            place = {name: there.position + there.room * rng.choice([-1.0, 1.0, rng.uniform()])
                     for name, there in wide.others.items()}
            found = oracle.distances(q + rng.uniform() * (to - q), place)
            assert (found > model.margins - 3e-6)[wide.swept].all()
    assert refused > 5 and proved > 5


def test_where_joints_are_is_told_when_it_matters():
    """A joint that rests, moves, with and without a velocity, and rests again."""
    model, _ = left_arm()
    tree, name = model._tree, model.other_joints[0]
    tracker = OtherJointTracker(tree, (name, model.other_joints[1]), {name: 0.7})
    first = tracker.look({}, {}, 0.0)
    assert first == {name: OtherJoint(0.7), model.other_joints[1]: OtherJoint(0.0)}
    assert tracker.unknown == (name, model.other_joints[1])
    told, count, positions = first, 0, {model.other_joints[1]: 0.0}
    for measured in (0.4, 0.0):
        position, velocity = 0.0, 0.0
        for t in np.arange(0.0, 4.0, 0.02):
            velocity = 0.0 if t < 1.0 or t > 2.5 else 0.4 * min(1.0, 4.0 * (t - 1.0))
            position += 0.02 * velocity
            found = tracker.look({**positions, name: position},
                                 {name: velocity if measured else 0.0}, t - 100.0 * measured)
            told, count = found or told, count + (found is not None)
            assert told[name].holds(position)
            if 1.5 < t < 2.4:
                assert told[name].holds(position + 0.4 * MOTION_HORIZON_S * velocity)
        assert told[name] == OtherJoint(pytest.approx(position), REST_ROOM)
    assert tracker.unknown == () and 4 <= count < 40
