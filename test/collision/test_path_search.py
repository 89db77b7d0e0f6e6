# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Paths among obstacles: each connection is free, judged by dense samples and by coal."""

from cached_kernels import compiled
from geometry_oracle import bodies_of, model_of, Oracle
from nightly import samples
import numpy as np
import pytest
import robots

from ik_node.collision.distances.certificate import certify_edge
from ik_node.collision.scene.scene import Scene
from ik_node.collision.search import path_search, rrt_connect
from ik_node.collision.search.edges import edge_check, unchecked_edges
from ik_node.collision.search.path_search import find_path, SearchLimits
from ik_node.collision.search.slides import slide, SLIDE_STEP_M, SLIDE_STEPS
from ik_node.kinematics.arm import forward_kinematics

MARGIN_M = 0.005
SAMPLES = 80
ARMS = 'six_axis_arm', 'ur5', 'panda'


def scene_of(name, boxes):
    """Return a scene of boxes, each with its size and its place."""
    scene = Scene(robots.chain(name).base_link, robots.tree(name).links)
    for k, (size, place) in enumerate(boxes):
        T = np.eye(4)
        T[:3, 3] = place
        scene.add_box(f'box_{k}', size, T)
    return scene


def model_among(name, boxes):
    """Return a model among boxes."""
    return model_of(name, margin=MARGIN_M).with_objects(scene_of(name, boxes).bodies)


def random_boxes(rng, count=6):
    """Return boxes round the arm."""
    return [(tuple(rng.uniform(0.05, 0.25, 3)), rng.uniform(-0.8, 0.8, 3) + [0.0, 0.0, 0.6])
            for _ in range(count)]


def limits(name):
    """Return the joint limits of an arm."""
    chain = robots.chain(name)
    return chain.lower, chain.upper


def length(path):
    """Return the length of a path."""
    return np.linalg.norm(np.diff(path, axis=0), axis=1).sum()


@pytest.mark.parametrize('name', ARMS)
def test_each_connection_is_free(name):
    """For random starts and goals that no straight line joins."""
    rng = np.random.default_rng(4)
    searched = 0
    while searched < samples(usual=3, nightly=8):
        boxes = random_boxes(rng)
        model = model_among(name, boxes)
        Q = robots.random_postures(robots.chain(name), 20, int(rng.integers(1 << 30)))
        free = Q[model.check_many(Q)]
        if len(free) < 2 or certify_edge(model, *free[:2]) is None:
            continue
        path = find_path(model, free[0], free[1:2], *limits(name))
        if path is None:
            continue
        searched += 1
        assert np.array_equal(path[0], free[0]) and np.array_equal(path[-1], free[1])
        assert length(path) > np.linalg.norm(free[1] - free[0])
        oracle = Oracle(name, model, bodies_of(name), scene_of(name, boxes).bodies)
        for a, b in zip(path[:-1], path[1:]):
            Q = a + np.linspace(0.0, 1.0, SAMPLES)[:, None] * (b - a)
            assert model.check_many(Q).all()
            for q in Q[::20]:
                assert oracle.distances(q).min() > MARGIN_M - 3e-6


def post(name):
    """Return a post before an arm, and postures at its two sides."""
    model = model_among(name, [((0.1, 0.1, 1.4), (0.45, 0.0, 0.7))])
    left = np.array([0.9, 0.6, 0.4, 0.0, 0.6, 0.0])
    right = np.array([-0.9, 0.6, 0.4, 0.0, 0.6, 0.0])
    return model, left, right


def test_a_path_is_shortened_and_repeats():
    """Shorter than what the trees found, and the same for the same seed."""
    name = 'six_axis_arm'
    model, left, right = post(name)
    path = find_path(model, left, right[None], *limits(name))
    assert np.array_equal(path, find_path(model, left, right[None], *limits(name)))
    raw = []
    for seed in range(5):
        found = find_path(model, left, right[None], *limits(name), limits=SearchLimits(seed=seed))
        straight = find_path(model, left, right[None], *limits(name),
                             limits=SearchLimits(seed=seed, chords=0))
        raw.append(length(straight) / length(found))
    assert min(raw) >= 1.0 and np.mean(raw) > 1.02


def test_of_several_goals_one_is_reached():
    """A goal in a box is none; the trees meet at another one."""
    name = 'six_axis_arm'
    model, left, right = post(name)
    blocked = np.array([0.0, 0.6, 0.4, 0.0, 0.6, 0.0])
    assert not model.check_many(blocked[None])[0]
    others = np.array([blocked, right + 0.3, right])
    path = find_path(model, left, others, *limits(name))
    assert any(np.array_equal(path[-1], goal) for goal in others[1:])
    assert find_path(model, left, blocked[None], *limits(name),
                     limits=SearchLimits(iterations=500)) is None


def test_full_trees_grow(monkeypatch):
    """The path is found as with room from the start, if not the same."""
    name = 'six_axis_arm'
    model, left, right = post(name)
    monkeypatch.setattr(rrt_connect, 'FIRST_TREE_ROOM', 2)
    monkeypatch.setattr(path_search, 'BLOCK_ITERATIONS', 5)
    for seed in range(10):
        path = find_path(model, left, right[None], *limits(name), limits=SearchLimits(seed=seed))
        assert all(certify_edge(model, a, b) is None for a, b in zip(path[:-1], path[1:]))
        assert np.array_equal(path, find_path(model, left, right[None], *limits(name),
                                              limits=SearchLimits(seed=seed)))


@pytest.mark.parametrize('count', [3, 1000])
def test_a_search_ends_when_it_is_told(count):
    """It asks after each block; neither how often trees are extended nor their nodes end it."""
    name = 'six_axis_arm'
    model, left, _ = post(name)
    blocked = np.array([[0.0, 0.6, 0.4, 0.0, 0.6, 0.0]])
    asked = []

    def goes_on():
        asked.append(None)
        return len(asked) < count

    assert find_path(model, left, blocked, *limits(name),
                     limits=SearchLimits(goes_on=goes_on)) is None
    assert len(asked) == count


@pytest.mark.parametrize('seed', range(3))
def test_samples_are_not_wasted_in_wide_ranges(seed):
    """Nearly all are farther from blocked nodes than these are extended to."""
    name = 'six_axis_arm'
    model, left, right = post(name)
    wide = np.full(6, 30.0)
    path = find_path(model, left, right[None], -wide, wide,
                     limits=SearchLimits(iterations=50_000, seed=seed))
    assert path is not None
    assert all(certify_edge(model, a, b) is None for a, b in zip(path[:-1], path[1:]))


def test_a_start_that_is_too_near_may_leave():
    """A start within the margin, or in contact, is no reason for not finding a path."""
    name = 'six_axis_arm'
    model, left, right = post(name)
    for near in (0.3, 0.22, 0.15):
        q = left.copy()
        q[0] = near
        if not model.check_many(q[None])[0]:
            assert find_path(model, q, left[None], *limits(name)) is not None
            break
    else:
        pytest.fail('no start was too near')


def test_a_larger_margin_is_kept_where_it_can_be():
    """By all pairs but those that are nearer at the goal."""
    name = 'six_axis_arm'
    model, left, right = post(name)
    path = find_path(model, left, right[None], *limits(name), margin=0.05)
    from_post = [k for k in range(len(model.pairs.pairs)) if 'box_0' in model.names_of(k)]
    for a, b in zip(path[:-1], path[1:]):
        for share in np.linspace(0.0, 1.0, SAMPLES):
            assert model.distances(a + share * (b - a))[from_post].min() > 0.05
    assert model.distance(left)[0] < 0.02  # of two links, at both ends


def test_joints_without_limits():
    """They are searched within half a turn beyond start and goal."""
    name = 'six_axis_arm'
    model, left, right = post(name)
    path = find_path(model, left, right[None], np.full(6, -np.inf), np.full(6, np.inf))
    assert path is not None
    assert np.abs(path).max() <= np.abs(np.vstack([left, right])).max() + np.pi


@pytest.mark.parametrize('room', [1e-4, 5.1e-4, 7e-4])
def test_from_a_start_that_is_near_something(room):
    """A little more than the margin, by less than the search keeps or is sure of."""
    name, distance = 'six_axis_arm', 0.1
    start, goal = np.array([[0.0, 0.8, 0.4, 0.0, -1.5, 0.0], [1.5, 0.6, 0.4, 0.0, 0.6, 0.0]])
    bare = model_of(name, margin=MARGIN_M)
    reach = robots.reference(name).pose(
        robots.chain(name).base_link, robots.chain(name).tip_link,
        robots.positions(robots.chain(name), start))[0, 3]
    for _ in range(40):
        model = bare.with_objects(scene_of(name, [
            ((0.1, 1.0, 2.0), (reach + distance + 0.05, 0.0, 1.0))]).bodies)
        distance -= model.distance(start)[0] - MARGIN_M - room
    assert abs(model.distance(start)[0] - MARGIN_M - room) < 1e-6
    path = find_path(model, start, goal[None], *limits(name), margin=MARGIN_M + 5e-4,
                     limits=SearchLimits(iterations=2000))
    assert path is not None
    assert all(certify_edge(model, a, b) is None for a, b in zip(path[:-1], path[1:]))


@compiled
def slid(edge, direction, path, columns):
    """Return how many steps of a slide are free."""
    return slide(edge, direction, path, columns)


@pytest.mark.parametrize('name, home', [
    ('six_axis_arm', (0.3, 0.6, 0.6, 0.4, -1.2, 0.2)), ('ur5', (0.2, -1.2, 1.8, -0.9, 1.3, 0.3)),
    ('panda', (0.2, -0.5, 0.3, -2.0, 0.2, 1.7, 0.8))])
def test_a_slide_moves_the_tip_on_and_turns_it_little(name, home):
    """Along the direction by half of a step or more at first, and on to the limit of a joint."""
    chain, path = robots.chain(name), np.zeros((SLIDE_STEPS + 1, len(home)))
    edge, columns, taken = unchecked_edges(chain, *limits(name)), np.empty((len(home), 6)), 0
    for direction in np.vstack([np.eye(3), -np.eye(3)]):
        path[0] = home
        steps = slid(edge, np.append(direction, 0.0), path, columns)
        taken += steps
        before, after = (forward_kinematics(chain, q) for q in path[:2])
        assert (after[:3, 3] - before[:3, 3]) @ direction > 0.5 * SLIDE_STEP_M
        assert np.linalg.norm(after[:3, :3] - before[:3, :3]) < 0.2
    assert taken >= 12


def test_a_slide_ends_before_an_obstacle():
    """What it has come to is free."""
    home = np.array((0.2, -0.5, 0.3, -2.0, 0.2, 1.7, 0.8))
    tip = forward_kinematics(robots.chain('panda'), home)[:3, 3]
    model = model_among('panda', [((0.5, 0.5, 0.02), tip - [0.0, 0.0, 0.25])])
    edge = edge_check(model, home, home[None], *limits('panda'), MARGIN_M)
    path = np.tile(home, (SLIDE_STEPS + 1, 1))
    steps = slid(edge, np.array([0.0, 0.0, -1.0, 0.0]), path, np.empty((7, 6)))
    assert 1 <= steps < SLIDE_STEPS
    assert all(certify_edge(model, *ends) is None for ends in zip(path[:steps], path[1:]))
    assert certify_edge(model, *path[steps:steps + 2]) is not None
