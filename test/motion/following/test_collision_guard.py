# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A stream never brings the arm nearer to something than the margin, judged by coal."""

from following import Checker, distances, HOMES, limits_of, shifted, tip, wall
from geometry_oracle import bodies_of, model_of, Oracle
import numpy as np
import pytest
import robots

from ik_node.collision.distances.certificate import certify, START_SLACK_M
from ik_node.collision.scene.scene import Scene
from ik_node.motion.following import collision_guard
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.jog import JogCommand
from ik_node.motion.following.options import FollowOptions, Phase
from ik_node.motion.trajectory.trajectory import MotionState

MARGIN_M = 0.01
PERIOD_S = 0.01
STEPS = 600
ARMS = 'six_axis_arm', 'ur5', 'panda'


def followed(name, model, target, steps=STEPS, random=None):
    """Return the commanded states (K, 3, n) and the outputs on the way to a target."""
    limits = limits_of(robots.chain(name), 1.0, 4.0, 60.0)
    made = Follower(robots.chain(name), limits, collisions=model)
    made.begin(MotionState.at_rest(HOMES[name]), 0.0)
    checker = Checker(MotionState.at_rest(HOMES[name]), limits)
    found, now = [], 0.0
    for _ in range(steps):
        now += PERIOD_S if random is None else PERIOD_S * random.uniform(0.5, 1.5)
        made.feed(target(now), now, now)
        found.append(made.step(now))
        checker.see(now + made.options.look_ahead, found[-1].state)
    states = np.array([(out.state.q, out.state.qd, out.state.qdd) for out in found])
    return states, found


@pytest.mark.parametrize('name', ARMS)
def test_the_arm_stops_before_a_wall_and_goes_on(name):
    """It comes near, says what it would touch, and follows when the target comes back."""
    scene = wall(name, 0.15)
    model = model_of(name, margin=MARGIN_M).with_objects(scene.bodies)
    T = tip(name, HOMES[name])

    def target(t):
        return shifted(T, x=min(0.15 * t, 0.3) if t < 4.0 else max(0.3 - 0.3 * (t - 4.0), 0.0))

    states, found = followed(name, model, target)
    oracle = Oracle(name, model, bodies_of(name), scene.bodies)
    distances = np.array([oracle.distances(q).min() for q in states[::5, 0]])
    assert distances.min() > MARGIN_M - 1e-5
    assert model.check_many(states[:, 0]).all()
    held = [out for out in found if out.contact is not None]
    assert held and all('wall' in out.contact.names for out in held)
    assert all(out.phase is Phase.FOLLOWING for out in found)
    stopped = states[390]
    assert model.distance(stopped[0])[0] < MARGIN_M + 0.02 and np.abs(stopped[1]).max() < 0.05
    assert found[-1].contact is None and found[-1].position_error < 1e-3
    # Without the guard it goes through.
    through, _ = followed(name, None, target)
    assert not model.check_many(through[:, 0]).all()


@pytest.mark.parametrize('name', ARMS)
def test_the_arm_slides_along_a_wall(name):
    """A target that moves behind the wall is followed before it, without a stop."""
    scene = wall(name, 0.08)
    model = model_of(name, margin=MARGIN_M).with_objects(scene.bodies)
    T = tip(name, HOMES[name])

    def target(t):
        return shifted(T, x=min(0.1 * t, 0.15), y=min(max(0.2 * (t - 2.0), 0.0), 0.25))

    states, found = followed(name, model, target)
    oracle = Oracle(name, model, bodies_of(name), scene.bodies)
    assert min(oracle.distances(q).min() for q in states[::5, 0]) > MARGIN_M - 1e-5
    tips = np.array([tip(name, q)[:3, 3] for q in states[:, 0]])
    assert np.abs(tips[-1] - target(6.0)[:3, 3])[1:].max() < 0.02
    sideways = np.diff(tips[230:320, 1]) / PERIOD_S
    assert sideways.min() > 0.1, 'it stopped on the way'
    assert all(out.contact is not None and 'wall' in out.contact.names for out in found[200:])


def test_the_arm_rests_at_the_free_pose_nearest_to_the_target():
    """No posture nearby that is as far from the wall is nearer to the target, by coal."""
    name = 'ur5'
    scene = wall(name, 0.08)
    model = model_of(name, margin=MARGIN_M).with_objects(scene.bodies)
    goal = shifted(tip(name, HOMES[name]), x=0.15, y=0.1)
    states, found = followed(name, model, lambda t: goal, 1500)
    q, length = states[-1, 0], FollowOptions().metres_per_radian
    oracle = Oracle(name, model, bodies_of(name), scene.bodies)

    def error(q):
        return np.hypot(*np.multiply(distances(tip(name, q), goal), (1.0, length)))

    kept, least = oracle.distances(q).min(), error(q)
    assert found[-1].contact is not None and np.abs(states[-1, 1]).max() < 1e-3
    random = np.random.default_rng(5)
    nearer = [q + dq for dq in 10.0 ** random.uniform(-4.0, -1.0, (3000, 1))
              * random.normal(size=(3000, 6)) if error(q + dq) < least - 1e-3]
    assert len(nearer) > 100  # if the wall were not there
    assert all(oracle.distances(q).min() < kept - 1e-4 for q in nearer)


def test_the_null_space_gives_way_first():
    """An elbow that the bias moves into a ball stays before it, and the tip on its target."""
    name = 'panda'
    bare = model_of(name, margin=MARGIN_M)
    T, limits = tip(name, HOMES[name]), limits_of(robots.chain(name), 1.0, 4.0, 60.0)
    options = FollowOptions(bias=(3.0,), preferred=(*HOMES[name][:2], 1.5, *HOMES[name][3:]))

    def ends(model):
        made = Follower(robots.chain(name), limits, options, model)
        made.begin(MotionState.at_rest(HOMES[name]), 0.0)
        states, off = [], []
        for i in range(1, 501):
            goal = shifted(T, z=0.02 * PERIOD_S * i)
            made.feed(goal, PERIOD_S * i, PERIOD_S * i)
            out = made.step(PERIOD_S * i)
            states.append(out.state.q)
            off.append(distances(tip(name, out.state.q), goal))
        return np.array(states), np.max(off, axis=0)

    freely, _ = ends(bare)
    chain = robots.chain(name)
    begin, elbow = (robots.reference(name).pose(chain.base_link, 'panda_link4',
                                                robots.positions(chain, q))
                    for q in (freely[0], freely[-1]))
    way = elbow[:3, 3] - begin[:3, 3]
    scene = Scene(chain.base_link, robots.tree(name).links)
    scene.add_sphere('ball', 0.05, shifted(elbow, *(0.14 / np.linalg.norm(way) * way)))
    model = bare.with_objects(scene.bodies)
    assert model.check_many(freely[:1])[0] and not model.check_many(freely[-1:])[0]
    states, off = ends(model)
    assert model.check_many(states).all() and (off < 5e-3).all()
    assert np.abs(states[-1] - states[0]).max() > 0.1, 'it did not move'


@pytest.mark.parametrize('name', ARMS)
def test_targets_that_jump_about(name):
    """In irregular cycles, between boxes."""
    random = np.random.default_rng(2)
    scene = wall(name, 0.2)
    for k in range(4):
        T = np.eye(4)
        T[:3, 3] = tip(name, HOMES[name])[:3, 3] + random.uniform(-0.5, 0.5, 3)
        scene.add_box(f'box_{k}', (0.1, 0.1, 0.1), T)
    model = model_of(name, margin=MARGIN_M).with_objects(scene.bodies)
    if not model.check_many(HOMES[name][None])[0]:
        scene.clear()
        model = model_of(name, margin=MARGIN_M)
    places = [tip(name, q) for q in robots.random_postures(robots.chain(name), 12, 7)]

    def target(t):
        return places[int(t / 0.5) % len(places)]

    states, found = followed(name, model, target, random=random)
    assert model.check_many(states[:, 0]).all()
    assert any(out.contact is not None for out in found)


@pytest.mark.parametrize('gap', [0.5 * MARGIN_M, 0.0, -1e-4, -5e-3])
def test_a_start_that_is_too_near_does_not_come_nearer(gap):
    """Or deeper, by no more than the slack in all, though the target pulls for seconds."""
    name = 'six_axis_arm'
    bare = model_of(name)
    T = tip(name, HOMES[name])
    distance = 0.15
    for _ in range(40):  # until the arm at home is as near to the wall
        scene = wall(name, distance)
        model = bare.with_objects(scene.bodies, MARGIN_M)
        distance -= model.signed_distances(HOMES[name]).min() - gap
    oracle = Oracle(name, model, bodies_of(name), scene.bodies)
    assert oracle.distances(HOMES[name]).min() == pytest.approx(gap, abs=1e-5)
    states, found = followed(name, model, lambda t: shifted(T, x=0.3), 300)
    assert min(oracle.distances(q).min() for q in states[::5, 0]) > gap - START_SLACK_M - 1e-5
    assert found[-1].contact is not None
    states, found = followed(name, model, lambda t: shifted(T, x=-0.1), 300)
    assert found[-1].contact is None and found[-1].position_error < 1e-3
    assert model.check_many(states[-1:, 0])[0]


def test_each_cycle_is_proved_once(monkeypatch):
    """Also from within boxes, on the way out of which the arm may come nearer by a little."""
    name, random, proofs = 'six_axis_arm', np.random.default_rng(0), []
    monkeypatch.setattr(collision_guard, 'certify', lambda *a: proofs.append(1) or certify(*a))
    for _ in range(8):
        scene = Scene(robots.chain(name).base_link, robots.tree(name).links)
        for k in range(5):
            T = np.eye(4)
            T[:3, 3] = tip(name, HOMES[name])[:3, 3] + random.uniform(-0.25, 0.25, 3)
            scene.add_box(f'box_{k}', (0.15, 0.15, 0.15), T)
        made = Follower(robots.chain(name), limits_of(robots.chain(name), 1.0, 4.0, 60.0),
                        collisions=model_of(name, margin=MARGIN_M).with_objects(scene.bodies))
        made.begin(MotionState.at_rest(HOMES[name]), 0.0)
        rates = random.uniform(-0.6, 0.6, (5, 6))
        for step in range(1, 100):
            made.jog(JogCommand(rates=rates[step // 20]), step * PERIOD_S)
            before = len(proofs)
            made.step(step * PERIOD_S)
            assert len(proofs) <= before + 1
    assert len(proofs) > 100


@pytest.mark.parametrize('approach', [0.02, 0.05, 0.1, 0.2, 0.4])
def test_it_always_finds_out_again(approach):
    """However it came to rest before the wall, it follows a target that leads away."""
    name = 'six_axis_arm'
    model = model_of(name, margin=MARGIN_M).with_objects(wall(name, 0.05).bodies)
    T = tip(name, HOMES[name])
    turn = 0.15 / approach + 2.0

    def target(t):
        return shifted(T, x=min(approach * t, 0.15) if t < turn else -0.05)

    steps = int((turn + 3.0) / PERIOD_S)
    states, found = followed(name, model, target, steps, np.random.default_rng(3))
    assert model.check_many(states[:, 0]).all()
    assert any(out.contact is not None for out in found)
    assert found[-1].contact is None and found[-1].position_error < 1e-3
