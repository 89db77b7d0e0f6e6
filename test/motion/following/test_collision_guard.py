# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A stream never brings the arm nearer to something than the margin, judged by coal."""

from following import Checker, HOMES, limits_of, shifted, tip
from geometry_oracle import bodies_of, model_of, Oracle
import numpy as np
import pytest
import robots

from ik_node.collision.certificate import START_SLACK_M
from ik_node.collision.scene import Scene
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.options import Phase
from ik_node.motion.trajectory import MotionState

MARGIN_M = 0.01
PERIOD_S = 0.01
STEPS = 600
ARMS = 'six_axis_arm', 'ur5', 'panda'


def wall(name, distance):
    """Return a scene with a wall, at a distance (m) in front of the tip at home."""
    scene = Scene(robots.chain(name).base_link, robots.tree(name).links)
    T = np.eye(4)
    T[0, 3] = tip(name, HOMES[name])[0, 3] + distance + 0.05
    scene.add_box('wall', (0.1, 3.0, 3.0), T)
    return scene


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
        away = 0.15 * t if t < 3.0 else max(0.45 - 0.3 * (t - 3.0), 0.0)
        return shifted(T, x=away)

    states, found = followed(name, model, target)
    oracle = Oracle(name, model, bodies_of(name), scene.bodies)
    distances = np.array([oracle.distances(q).min() for q in states[::5, 0]])
    assert distances.min() > MARGIN_M - 1e-5
    assert model.check_many(states[:, 0]).all()
    held = [out for out in found if out.contact is not None]
    assert held and all('wall' in out.contact.names for out in held)
    assert all(out.phase is Phase.FOLLOWING for out in found)
    stopped = states[290]
    assert model.distance(stopped[0])[0] < MARGIN_M + 0.02 and np.abs(stopped[1]).max() < 0.05
    assert found[-1].contact is None and found[-1].position_error < 1e-3
    # Without the guard it goes through.
    through, _ = followed(name, None, target)
    assert not model.check_many(through[:, 0]).all()


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


def test_a_start_that_is_too_near_does_not_come_nearer():
    """By no more than the slack in all, though the target pulls for seconds; it may leave."""
    name = 'six_axis_arm'
    bare = model_of(name)
    T = tip(name, HOMES[name])
    distance = 0.15
    for _ in range(40):  # until the arm at home is half the margin from the wall
        model = bare.with_objects(wall(name, distance).bodies, MARGIN_M)
        distance -= model.distance(HOMES[name])[0] - 0.5 * MARGIN_M
    near = model.distance(HOMES[name])[0]
    assert abs(near - 0.5 * MARGIN_M) < 1e-4
    states, found = followed(name, model, lambda t: shifted(T, x=0.3), 300)
    assert min(model.distance(q)[0] for q in states[:, 0]) > near - START_SLACK_M - 1e-6
    assert found[-1].contact is not None
    states, found = followed(name, model, lambda t: shifted(T, x=-0.1), 300)
    assert found[-1].contact is None and found[-1].position_error < 1e-3
    assert model.check_many(states[-1:, 0])[0]


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
