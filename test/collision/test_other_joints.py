# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Links that move beside the arm, with its joints or with others, by Pinocchio and coal."""

from geometry_oracle import Oracle
import numpy as np
from palletiser import following, joint, LIMIT, PALLETISER
import pytest
import robots
from two_arms import TWO_ARMS

from ik_node.collision import arm_bodies, Scene
from ik_node.collision.distances.certificate import certify_edge
from ik_node.collision.distances.model import ADJACENT_REASON, CollisionModel
from ik_node.collision.distances.other_joints import (
    MOTION_HORIZON_S,
    OtherJoint,
    OtherJointTracker,
    REST_ROOM,
)
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf


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


def test_another_arm_that_stands_in_the_way_at_zero_is_checked():
    """A bar whose joint is at 0 covers a ball that turns about itself; a cap lies on it always."""
    def link(name, shape, at='0 0 0'):
        return f'<link name="{name}"><collision><origin xyz="{at}"/><geometry>{shape}</geometry>' \
            '</collision></link>'

    def joint_of(name, parent, child, at):
        return f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link=' \
            f'"{child}"/><origin xyz="{at}"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" ' \
            'velocity="1" effort="1"/></joint>'

    sphere, bar = '<sphere radius="0.1"/>', '<box size="0.8 0.02 0.02"/>'
    tree = parse_urdf(
        '<robot name="bar"><link name="base"/>' + link('ball', sphere) + link('lid', sphere)
        + link('bar', bar, '0.4 0 0') + '<link name="tool"/>'
        + joint_of('turn', 'base', 'ball', '0.5 0 0') + joint_of('more', 'ball', 'tool', '0 0 0')
        + joint_of('swing', 'base', 'bar', '0 0 0') + joint_of('cap', 'base', 'lid', '0.5 0 0.05')
        + '</robot>')
    model = CollisionModel(make_chain(tree, 'base', 'tool'), tree, arm_bodies(tree).bodies)
    left_out = {pair.links for pair in model.report if pair.reason}
    assert left_out == {('ball', 'lid')}
    assert not model.check_many(np.zeros((1, 2)))[0]
    aside = model.with_others({'swing': OtherJoint(1.0)})
    assert aside.check_many(np.zeros((1, 2)))[0]


@pytest.mark.parametrize('tilt', [0.0, 0.3])
def test_a_wheel_that_turns_stays_where_it_is(tilt):
    """Round parts on the axis need no room; others, and tilted ones, do."""
    rng, parts = np.random.default_rng(11), {
        'wheel': f'<origin xyz="0 0 0.1" rpy="{tilt} 0 0"/><geometry>'
                 '<cylinder radius="0.1" length="0.05"/></geometry>',
        'rim': '<origin xyz="0.01 0 0"/><geometry><sphere radius="0.02"/></geometry>'}
    text = ('<robot name="mobile"><link name="base"/><link name="arm"/><link name="tool">'
            '<collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision></link>'
            + ''.join(f'<link name="{name}"><collision>{part}</collision></link>'
                      for name, part in parts.items())
            + joint('a', 'base', 'arm', 'xyz="0 0 0.1"')
            + joint('b', 'arm', 'tool', 'xyz="0.3 0 0.1"', '0 1 0')
            + joint('spin', 'base', 'wheel', 'xyz="0.5 0.1 0" rpy="0.4 0.2 0"', kind='continuous')
            + joint('roll', 'base', 'rim', 'xyz="0.6 0.1 0" rpy="0.4 0.2 0"', kind='continuous')
            + '</robot>')
    tree = parse_urdf(text)
    bodies = arm_bodies(tree).bodies
    model = CollisionModel(make_chain(tree, 'base', 'tool'), tree, bodies)
    wide = model.with_others({name: OtherJoint(0.2, np.pi) for name in model.other_joints})
    room = {names: float(wide.margins[k] - model.margins[k])
            for k in range(len(model.margins)) for names in model.names_of(k)}
    assert (room['wheel'] == 0.0) == (tilt == 0.0) == (not wide.swept.all())
    assert room['rim'] == pytest.approx(0.06)
    oracle = Oracle(robots.Reference(text), model, bodies)
    for q in rng.uniform(-1.0, 1.0, (20, 2)):
        middle, moved = (oracle.distances(q, dict.fromkeys(model.other_joints, at))
                         for at in (0.2, rng.uniform(-3.0, 3.0)))
        assert (middle - moved < wide.margins - model.margins + 1e-5)[middle > 1e-5].all()


# With the torso as the base its joint is crossed upwards.
@pytest.mark.parametrize('base', ['base_link', 'torso'])
@pytest.mark.parametrize('room', [1e-3, 0.1, 0.5, 3.0])
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


# Beside an arm: a joint with limits, one without, and one that slides.
BESIDE = parse_urdf(('<robot name="beside">' + ''.join(
    f'<link name="{name}"/>' for name in ('base', 'l1', 'l2', 'l3'))
    + joint('r', 'base', 'l1', 'xyz="0 0 0"') + joint('c', 'base', 'l2', 'xyz="0 0 0"',
                                                      kind='continuous')
    + joint('p', 'base', 'l3', 'xyz="0 0 0"', kind='prismatic') + '</robot>').replace(
        LIMIT, '<limit lower="-7" upper="7" effort="1" velocity="1"/>'))


class Watched:
    """A tracker of one joint, and what was measured of it."""

    def __init__(self, name, assumed=None):
        self.name, self.tracker = name, OtherJointTracker(BESIDE, (name,), assumed or {})
        self.positions, self.velocities, self.stamps, self.heard = {}, {}, {}, {}
        self.told, self.count = self.tracker.look(self, 0.0), 0

    def take(self, now, position, velocity=0.0, stamp=0.0):
        """Take a joint state at a time."""
        for values, value in ((self.positions, position), (self.velocities, velocity),
                              (self.stamps, stamp), (self.heard, now)):
            values[self.name] = value

    def look(self, now):
        """Return where the joint is said to be."""
        found = self.tracker.look(self, now)
        self.told, self.count = found or self.told, self.count + (found is not None)
        return self.told[self.name]


def test_what_is_assumed_until_a_state_comes():
    """What is given, else 0; only that is complained of."""
    given, other = Watched('r', {'r': 0.7}), Watched('r')
    assert given.look(0.1) == OtherJoint(0.7) and not given.tracker.complaint
    assert other.look(0.1) == OtherJoint(0.0) and other.tracker.unknown == ('r',)
    assert "'r' at 0" in other.tracker.complaint
    other.take(0.2, 0.3)
    assert other.look(0.2) == OtherJoint(0.3, REST_ROOM) and not other.tracker.complaint


@pytest.mark.parametrize('stamped', [True, False])
@pytest.mark.parametrize('measured', [True, False])
@pytest.mark.parametrize('rate', [2.0, 5.0, 8.0, 20.0, 125.0])
def test_a_joint_that_moves_has_room_at_any_rate(rate, measured, stamped):
    """Before, while and after it moves, it is where it is said to be, and gets no farther."""
    for name, speed in (('r', 0.5), ('c', -2.0), ('p', 0.1)):
        watched, rng, count = Watched(name), np.random.default_rng(3), 0

        def place(t, speed=speed):
            return 0.4 + speed * np.clip(t - 2.0, 0.0, 3.0)

        for now in np.arange(0.0, 9.0, 0.02):
            while count / rate < now:
                t, count = count / rate, count + 1
                velocity = speed if 2.0 < t < 5.0 else 0.0
                # It is heard later than it was measured, by some milliseconds.
                watched.take(min(t + 0.005 * rng.uniform(), now), place(t),
                             velocity if measured else 0.0, 1000.0 + t if stamped else 0.0)
            told = watched.look(now)
            if now > 0.02 and not 2.0 < now < 2.0 + 2.0 / rate + 0.2:
                assert told.holds(place(now)), now
            if 2.0 + 2.0 / rate + 0.2 < now < 5.0:  # it is seen twice, and 0.1 s apart
                assert told.holds(place(now) + 0.4 * speed * MOTION_HORIZON_S)
                assert told.room < 1.2 * abs(speed) * MOTION_HORIZON_S + REST_ROOM
        assert told == OtherJoint(pytest.approx(place(9.0)), REST_ROOM)
        assert watched.count < 30 and not watched.tracker.complaint


@pytest.mark.parametrize('noise', [0.003, 0.01])
def test_a_noisy_velocity_is_no_motion(noise):
    """The position says that the joint rests, for 20 s at 50 Hz."""
    watched, rng = Watched('p'), np.random.default_rng(1)
    for now in np.arange(0.0, 20.0, 0.02):
        watched.take(now, 0.02 + 1e-6 * rng.standard_normal(), noise * rng.standard_normal(), now)
        assert watched.look(now).room == REST_ROOM
    assert watched.count == 1


@pytest.mark.parametrize('name', ['r', 'c'])
def test_a_whole_turn_is_no_motion(name):
    """A sensor that begins anew after a turn, in rest and while the joint moves."""
    for speed in (0.0, 0.3):
        watched = Watched(name)
        for now in np.arange(0.0, 4.0, 0.02):
            position = 2.9 + speed * now - (2.0 * np.pi if now > 2.0 else 0.0)
            watched.take(now, position, stamp=now)
            told = watched.look(now)
            assert told.holds(position)
            if now > 0.2:
                assert told.room < 0.5 * speed * (MOTION_HORIZON_S + 0.1) + REST_ROOM + 1e-9


def test_a_joint_that_comes_to_rest_at_its_limit():
    """It has the room of one at rest, though it had little more before."""
    watched = Watched('p')
    for now in np.arange(0.0, 5.0, 0.02):
        watched.take(now, min(6.95 + 0.02 * now, 7.0), stamp=now)
        told = watched.look(now)
        assert told.holds(min(6.95 + 0.02 * now, 7.0))
    assert told == OtherJoint(7.0, REST_ROOM)


def test_a_joint_whose_states_end():
    """In rest it stays there; while it moves it goes on, may be anywhere, and is found again."""
    rested = Watched('r')
    for now in np.arange(0.0, 10.0, 0.02):
        if now < 1.0:
            rested.take(now, 0.5, stamp=now)
        assert rested.look(now).holds(0.5) and not rested.tracker.complaint
    assert rested.look(10.0).room == REST_ROOM
    for name, room in (('r', 7.0), ('c', np.pi), ('p', 7.0)):
        watched = Watched(name)
        for now in np.arange(0.0, 6.0, 0.02):
            if now < 1.0 or now > 4.0:
                watched.take(now, 0.4 * min(now, 1.0), stamp=now)
            told = watched.look(now)
            if 0.2 < now < 1.9:
                assert told.holds(0.4 * now) and told.room < 0.5 and not watched.tracker.lost
            elif 2.02 < now < 4.0:
                assert told.room == pytest.approx(room, abs=2.0 * REST_ROOM)
                assert watched.tracker.lost == (name,)
                assert f"'{name}' may be anywhere" in watched.tracker.complaint
        assert told == OtherJoint(pytest.approx(0.4), REST_ROOM) and not watched.tracker.complaint


def assert_same(one, other):
    """Arrays, and tuples of arrays, are equal up to rounding."""
    for a, b in zip(one, other, strict=True):
        if isinstance(a, tuple):
            assert_same(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(('base', 'tip'), [
    ('base_link', 'left_tool'),  # the right arm is on the torso, which is a frame of the chain
    ('torso', 'left_tool'), ('torso', 'right_tool')])
def test_joints_that_move_change_no_more_than_they_carry(base, tip):
    """A model that is moved is the one that is made with the joints there, objects and all."""
    tree, rng = parse_urdf(TWO_ARMS.read_text(encoding='utf-8')), np.random.default_rng(5)
    chain, bodies, scene = make_chain(tree, base, tip), arm_bodies(tree), Scene(base, tree.links)
    for frame in ('left_tool', 'right_tool', base):
        scene.add_box(f'box of {frame}', (0.1, 0.2, 0.3), frame=frame)
    moved = CollisionModel(chain, tree, bodies, margin=0.01).with_objects(scene.bodies)
    for _ in range(6):
        others = {name: OtherJoint(float(rng.uniform(-1.0, 1.0)),
                                   float(rng.choice([0.0, REST_ROOM, 0.2, 4.0])))
                  for name in moved.other_joints if rng.random() < 0.8}
        before, moved = moved, moved.with_others(others)
        made = moved.with_objects(scene.bodies)
        assert moved.is_alike(before) and not moved.is_alike(made)
        assert_same(moved.pairs, made.pairs)
        assert_same([moved.margins, moved.swept], [made.margins, made.swept])
        assert moved.widest_margin == pytest.approx(made.widest_margin, abs=1e-12)
        assert np.abs(moved.pairs.shapes.poses - before.pairs.shapes.poses).max() > 0.01


def test_a_plane_and_a_wheel_beside_the_arm_move_as_they_are_made():
    """Groups with a plane have no ball, and a wheel that turns about its axis needs no room."""
    rng, scene = np.random.default_rng(6), Scene('base')
    tree = parse_urdf(
        '<robot name="cart"><link name="base"/><link name="arm"/>'
        + ''.join(f'<link name="{name}"><collision>{at}<geometry>{shape}</geometry></collision>'
                  '</link>' for name, at, shape in (
                      ('tool', '', '<box size="0.1 0.2 0.3"/>'),
                      ('wheel', '<origin xyz="0 0 0.1"/>',
                       '<cylinder radius="0.1" length="0.05"/>'),
                      ('slide', '', '<sphere radius="0.1"/>')))
        + joint('a', 'base', 'arm', 'xyz="0 0 0.1"')
        + joint('b', 'arm', 'tool', 'xyz="0.3 0 0.1"', '0 1 0')
        + joint('spin', 'slide', 'wheel', 'xyz="0.5 0.1 0" rpy="0.4 0.2 0"', kind='continuous')
        + joint('push', 'base', 'slide', 'xyz="0.6 0.1 0"', kind='prismatic') + '</robot>')
    scene.add_plane('lid', frame='slide')
    model = CollisionModel(make_chain(tree, 'base', 'tool'), tree, arm_bodies(tree).bodies,
                           margin=0.01).with_objects(Scene('base', tree.links).bodies)
    model = model.with_objects(scene.bodies)
    for rooms in ((0.3, 0.0), (0.0, 0.2), (0.3, 0.2)):
        moved = model.with_others({name: OtherJoint(float(rng.uniform(-0.5, 0.5)), room)
                                   for name, room in zip(('spin', 'push'), rooms)})
        made = moved.with_objects(scene.bodies)
        assert_same(moved.pairs, made.pairs)
        assert_same([moved.margins, moved.swept], [made.margins, made.swept])
        assert (moved.margins > 0.01).any() == (rooms[1] > 0.0)


def test_joints_that_move_together_are_told_together():
    """All anew as soon as what was told of one does not hold; too much room for a while only."""
    names = 'right_shoulder_pan', 'right_elbow'
    tree = parse_urdf(TWO_ARMS.read_text(encoding='utf-8'))
    states, told = Watched('r'), []
    states.tracker = OtherJointTracker(tree, names, {})
    for k in range(300):
        now, moves = 0.01 * k, k < 200
        for name, speed in zip(names, (0.4, 0.25) if moves else (0.0, 0.0)):
            states.name = name
            states.take(now, speed * min(now, 2.0) if moves else states.positions[name], speed,
                        1.0 + now)
        found = states.tracker.look(states, now)
        if found is not None:
            told.append((now, found))
        for name in names:
            assert told[-1][1][name].holds(states.positions[name])
    for name in names:
        assert told[-1][1][name] == OtherJoint(states.positions[name], REST_ROOM)
        first, second = (each[name].position for _, each in told[1:3])
        assert first != second
    assert 4 <= len(told) <= 9 and told[-1][0] < 2.4
