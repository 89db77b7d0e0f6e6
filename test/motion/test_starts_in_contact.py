# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Motions that begin in a contact: nothing goes deeper, and what can leave does; judged by coal.

From an overlap no motion is proved in which a depth grows by more than the slack; a pair that is
nearer than the margin comes no nearer; once apart, all keep the margin.
"""

from itertools import combinations
from time import thread_time

from geometry_oracle import bodies_of, model_of, Oracle
from motion_checker import dense, path_of
from motions import at_rest, limits_of
from nightly import each_once, samples
import numpy as np
import pytest
import robots
from two_arms import TWO_ARMS

from ik_node.base.errors import Reason, TrajectoryError
from ik_node.collision import arm_bodies
from ik_node.collision.bodies.parts import ConvexPart
from ik_node.collision.distances.certificate import START_SLACK_M
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.other_joints import OtherJoint, REST_ROOM
from ik_node.collision.scene.scene import Scene
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.motion.change.path_pace import plan_free_stop
from ik_node.motion.detour import plan_detour
from ik_node.motion.direct.point_to_point import plan_point_to_point, require_free, StartState
from ik_node.motion.following.follower import Follower
from ik_node.motion.following.jog import JogCommand
from ik_node.motion.trajectory.trajectory import MotionState

ARMS = 'six_axis_arm', 'ur5', 'panda'
SHAPES = 'box', 'mesh', 'plane'
MARGIN_M = 0.005
ORACLE_ERROR_M = 2e-5  # of coal's depth
SEARCH_S = 2.0
DEPTHS_M = 0.0, 1e-6, 1e-4, 1e-3, 5e-3, 0.02


def until(end):
    """Return what says whether this thread has had less processor time (s)."""
    return lambda: thread_time() < end


def facing(normal, point):
    """Return a pose at a point whose z axis is a normal."""
    T, across = np.eye(4), np.eye(3)[np.argmin(np.abs(normal))]
    x = np.cross(across, normal)
    T[:3, 0] = x / np.linalg.norm(x)
    T[:3, 1], T[:3, 2], T[:3, 3] = np.cross(normal, T[:3, 0]), normal, point
    return T


def touched(name, q, shape, depth, rng):
    """Return a model with a surface that the arm overlaps by a depth at q, where it may be."""
    chain, tree = robots.chain(name), robots.tree(name)
    bare = CollisionModel(chain, tree, bodies_of(name)).with_disabled_pairs(
        combinations(tree.links, 2))
    normal, scene, z = rng.normal(size=3), Scene(chain.base_link, tree.links), -2.0
    normal /= np.linalg.norm(normal)
    scene.add_plane('surface', facing(normal, z * normal))
    nearest, *names = bare.with_objects(scene.bodies).distance(q)
    T_link = robots.reference(name).pose(chain.base_link, names[names[0] == 'surface'],
                                         robots.positions(chain, q))
    height = z + nearest + depth - normal @ T_link[:3, 3]
    T = facing(normal, T_link[:3, 3] + height * normal)
    scene.clear()
    if shape == 'plane':
        scene.add_plane('surface', T)
    else:
        size = np.array([0.3, 0.2, 0.1])
        T[:3, 3] -= 0.05 * normal
        if shape == 'box':
            scene.add_box('surface', tuple(size), T)
        else:
            points = rng.uniform(-0.5, 0.5, (40, 3)) * size
            points[:8] = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3), -1).reshape(-1, 3) * size
            scene.add_parts('surface', [ConvexPart('hull', (), np.eye(4), points)], T)
    model = model_of(name, margin=MARGIN_M).with_objects(scene.bodies)
    return model, Oracle(name, model, bodies_of(name), scene.bodies)


def depths_kept(model, oracle, trajectory):
    """Assert that no pair comes nearer than at the start, or than the margin once it had that."""
    least = None
    for q in dense(path_of(trajectory), 3)[1][0].reshape(-1, trajectory.q.shape[1]):
        distances = oracle.distances(q)
        least = distances if least is None else least
        kept = np.minimum(least, model.margins) - START_SLACK_M - ORACLE_ERROR_M
        assert (distances > kept).all(), [model.names_of(k) for k in np.flatnonzero(
            distances <= kept)]
        least = np.where(distances > model.margins + 1e-3, np.maximum(least, distances), least)


def is_exit(model, oracle, q, q_free):
    """Return whether the straight line leads out of all contacts without going deeper, by coal."""
    if not (oracle.distances(q_free) > model.margins + 1e-3).all():
        return False
    before = oracle.distances(q)
    return all((oracle.distances(q + t * (q_free - q)) > np.minimum(before, model.margins)).all()
               for t in np.linspace(0.02, 1.0, 25))


@pytest.mark.parametrize('name, shape', each_once(ARMS, SHAPES))
def test_nothing_goes_deeper_and_exits_are_found(name, shape):
    """Direct motions and detours from starts that are 0 to 20 mm deep."""
    chain, rng = robots.chain(name), np.random.default_rng(ARMS.index(name))
    limits, found, exits, direct = limits_of(chain, 2.0, 4.0, 40.0), 0, 0, 0
    bare = model_of(name, margin=MARGIN_M)
    for trial in range(samples(usual=6, nightly=60)):
        q = robots.random_postures(chain, 1, 100 + trial)[0]
        if not bare.check_many(q[None])[0]:
            continue
        model, oracle = touched(name, q, shape, DEPTHS_M[trial % len(DEPTHS_M)], rng)
        near = q + rng.normal(size=(60, chain.n)) * 0.3
        goals = [g for g in np.clip(near, chain.lower, chain.upper)
                 if model.check_many(g[None])[0]][:2]
        for goal in goals:
            leads_out = is_exit(model, oracle, q, goal)
            straight = plan_point_to_point(chain.joint_names, at_rest(q), goal, limits, 0.05)
            try:
                require_free(model, straight)
                direct += 1
                depths_kept(model, oracle, straight)
            except TrajectoryError as error:
                assert error.reason is Reason.COLLISION
            try:
                detour = plan_detour(model, at_rest(q), goal[None], limits, 0.05,
                                     until(thread_time() + SEARCH_S))
            except TrajectoryError as error:
                assert error.reason is Reason.COLLISION and not leads_out, error
                continue
            found, exits = found + 1, exits + leads_out
            depths_kept(model, oracle, detour)
    assert exits > 1 and direct > 1


def gantry(gap, thickness=0.02):
    """Return the model of a ball of 50 mm on three slides with a wall before it, and limits."""
    names = ['base', 'lx', 'ly', 'lz']
    slides = ''.join(
        f'<joint name="{n}" type="prismatic"><parent link="{a}"/><child link="{b}"/>'
        f'<axis xyz="{axis}"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
        for n, a, b, axis in zip('xyz', names, names[1:], ('1 0 0', '0 1 0', '0 0 1')))
    tree = parse_urdf(
        '<robot name="gantry">' + ''.join(f'<link name="{n}"/>' for n in names) + slides
        + '<link name="tool"><collision><geometry><sphere radius="0.05"/></geometry></collision>'
          '</link><joint name="c" type="revolute"><parent link="lz"/><child link="tool"/>'
          '<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
          '</robot>')
    chain, T = make_chain(tree, 'base', 'tool'), np.eye(4)
    T[0, 3] = 0.05 + gap + 0.5 * thickness
    scene = Scene('base', tree.links)
    scene.add_box('wall', (thickness, 1.0, 1.0), T)
    return CollisionModel(chain, tree, arm_bodies(tree).bodies, scene.bodies, margin=MARGIN_M)


def straight(model, start, goal):
    """Return the direct motion between postures of the gantry."""
    return plan_point_to_point(model.chain.joint_names, at_rest(start), np.array(goal),
                               limits_of(model.chain), 0.02)


@pytest.mark.parametrize('thickness', [0.02, 0.3])
@pytest.mark.parametrize('gap', [6e-3, 3e-3, 1e-6, 0.0, -1e-6, -1e-4, -1e-3, -0.01])
def test_a_wall_is_not_passed_from_inside(gap, thickness):
    """Away from it, and along it, is free."""
    model, start = gantry(gap, thickness), np.zeros(4)
    for goal in ([1.0, 0.0, 0.0, 0.0], [2e-4 + max(gap - MARGIN_M, 0.0), 0.0, 0.0, 0.0]):
        with pytest.raises(TrajectoryError, match="'tool' and 'wall'") as error:
            require_free(model, straight(model, start, goal))
        assert error.value.reason is Reason.COLLISION
        assert ('overlap by' in str(error.value)) == (gap < 0.0)
    for goal in ([-1.0, 0.0, 0.0, 0.0], [0.0, 0.3, 0.0, 1.0]):
        require_free(model, straight(model, start, goal))
    back = straight(model, start, [-0.1, 0.0, 0.0, 0.0]).followed_by(
        straight(model, [-0.1, 0.0, 0.0, 0.0], [gap - MARGIN_M + 1e-4, 0.0, 0.0, 0.0]))
    with pytest.raises(TrajectoryError, match='only 5.0 mm apart'):  # it has left
        require_free(model, back)


@pytest.mark.parametrize('gap', [4e-3, 1e-3, 0.0, -2e-3])
def test_many_motions_do_not_add_up(gap):
    """Each goes as near as it is proved to."""
    model, q = gantry(gap), np.zeros(4)
    for _ in range(10):
        for step in (1e-3, 1e-4, 3e-5, 1.5e-5, 8e-6, 4e-6):
            goal = q + [step, 0.3, 0.0, 0.0]
            q_back = q + [step, 0.0, 0.0, 0.0]
            try:
                require_free(model, straight(model, q, goal))
            except TrajectoryError:
                continue
            q = q_back
            break
    assert q[0] <= 10.0 * START_SLACK_M


def test_a_joint_that_moves_nearby_is_waited_for():
    """From within what it may sweep no motion is proved; a jog leads away, and a stop is found."""
    tree = parse_urdf(TWO_ARMS.read_text(encoding='utf-8'))
    chain, rng = make_chain(tree, 'base_link', 'left_tool'), np.random.default_rng(9)
    model = CollisionModel(chain, tree, arm_bodies(tree).bodies, margin=MARGIN_M)
    limits, count = limits_of(chain, 2.0, 4.0, 40.0), 0
    for q in robots.random_postures(chain, 300, 10):
        others = {name: rng.uniform(-1.0, 1.0) for name in model.other_joints}
        wide, rest = (model.with_others({name: OtherJoint(value, room) for name, value
                                         in others.items()}) for room in (0.2, REST_ROOM))
        lacks = wide.distances(q) <= wide.margins
        if not rest.check_many(q[None])[0] or not lacks.any():
            continue
        goal = np.clip(q + 0.02, chain.lower, chain.upper)
        direct = plan_point_to_point(chain.joint_names, at_rest(q), goal, limits, 0.1)
        with pytest.raises(TrajectoryError, match='wait until these rest'):
            require_free(wide, direct)
        with pytest.raises(TrajectoryError, match='wait until these rest'):
            plan_detour(wide, at_rest(q), goal[None], limits, 0.1)
        follower = Follower(chain, limits, collisions=wide)
        follower.begin(MotionState.at_rest(q), 0.0)
        rates, least = rng.uniform(-0.5, 0.5, chain.n), wide.distances(q)[lacks]
        for now in np.arange(0.01, 0.3, 0.01):
            follower.jog(JogCommand(rates=rates), now)
            here = wide.distances(follower.step(now).state.q)[lacks]
            assert (here > np.minimum(least, wide.margins[lacks]) - START_SLACK_M - 1e-6).all()
            least = np.maximum(least, here)
        half = StartState.from_motion(direct, 0.3 * direct.duration, 0.02)
        stop = plan_free_stop(wide, chain.joint_names, direct, half, limits, 0.1)
        assert stop.duration < direct.duration
        count += 1
        if count == 6:
            return
    raise AssertionError(f'only {count} starts')
