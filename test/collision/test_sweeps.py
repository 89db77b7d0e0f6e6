# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How far parts move in an interval of a motion at most, against sampled motions."""

from cached_kernels import compiled
from geometry_oracle import bodies_of, model_of
from nightly import samples
import numpy as np
import pytest
import robots
import two_arms

from ik_node.collision.bodies.parts import Body, ConvexPart
from ik_node.collision.distances import certificate
from ik_node.collision.distances.check import check_work, place_parts
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.sweeps import shift_along, sweep, write_twists
from ik_node.collision.scene.scene import Scene
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import parse_urdf

ROUNDING_M = 1e-9
INSTANTS = np.linspace(-1.0, 1.0, 41)


@compiled
def placed(check, q, work):
    """Place the parts at q."""
    place_parts(check, q, work)


@compiled
def bounds(check, q, motion, block, direction, work):
    """Return both bounds of a block, and the frame in which they hold."""
    place_parts(check, q, work)
    write_twists(check, motion[0], work)
    a, b = check.blocks[block, 0], check.blocks[block, 1]
    frames = check.group_frames[a], check.group_frames[b]
    moved, bend, common = sweep(check, motion, frames, (a, b), work)
    along = bend + shift_along(
        work, frames, common, (work.group_centres[a], work.group_centres[b]),
        (check.group_balls[a, 3], check.group_balls[b, 3]), direction)
    return moved, along, common


def skew_model(text=robots.SKEW):
    """Return the model of an arm with all kinds of joints, a ball on each link and one apart."""
    tree = parse_urdf(text)
    chain = make_chain(tree, 'base', 'tip')
    rng = np.random.default_rng(5)

    def ball(name, frame):
        T = np.eye(4)
        T[:3, 3] = rng.uniform(-0.15, 0.15, 3)
        return Body(name, frame, (ConvexPart('sphere', (rng.uniform(0.01, 0.05),), T,
                                             np.zeros((0, 3))),))

    return CollisionModel(chain, tree, [ball(link, link) for link in tree.links],
                          [ball('apart', '')])


MODELS = {'six_axis_arm': lambda: model_of('six_axis_arm'), 'panda': lambda: model_of('panda'),
          'skew': skew_model, 'two_arms': two_arms.model,
          'offset': lambda: skew_model(robots.SKEW.replace(
              'multiplier="0.1" offset="0.05"', 'multiplier="0" offset="0.7"'))}


def frames_at(model, q, work):
    """Return the poses of the moving frames, (m + 1, 4, 4)."""
    placed(model.pairs, q, work)
    T = np.tile(np.eye(4), (len(work.frames), 1, 1))
    T[:, :3, :3], T[:, :3, 3] = work.frames[:, :9].reshape(-1, 3, 3), work.frames[:, 9:]
    return T


@pytest.mark.parametrize('outside', [0.0, 0.4])
@pytest.mark.parametrize('name', MODELS)
def test_no_group_is_farther_from_an_axis_than_its_reach(name, outside):
    """At random postures, also outside the limits; some are nearly as far."""
    model = MODELS[name]()
    Q = robots.random_postures(model.chain, samples(usual=150, nightly=3000), 1)
    Q += outside * np.random.default_rng(2).choice([-1.0, 0.0, 1.0], Q.shape)
    check, work, nearest = model.pairs_from(Q), check_work(model.pairs), np.inf
    assert (check is model.pairs) == (outside == 0.0 or model.chain.revolute.all())
    for q in Q:
        T = frames_at(model, q, work)
        for k in range(len(check.table)):
            for group in np.flatnonzero(check.group_reaches[k]):
                if check.table[k, 12] != 0.0:
                    assert check.group_reaches[k, group] == abs(check.table[k, 14])
                    continue
                centre = np.linalg.inv(T[k + 1]) @ T[check.group_frames[group]] @ [
                    *check.group_balls[group, :3], 1.0]
                distance = np.hypot(centre[0], centre[1]) + check.group_balls[group, 3]
                reach = check.group_reaches[k, group] / abs(check.table[k, 14])
                assert distance < reach + ROUNDING_M
                nearest = min(nearest, reach - distance)
    assert nearest < (0.2 if outside else 0.05)


@pytest.mark.parametrize('name', MODELS)
def test_no_point_goes_farther_than_a_sweep(name):
    """At all, and along a direction, with joints that accelerate; the bounds are not idle."""
    model, rng = MODELS[name](), np.random.default_rng(2)
    check, work, n = model.pairs, check_work(model.pairs), model.chain.n
    shares = []
    for q in robots.random_postures(model.chain, samples(usual=20, nightly=400), 3):
        step = rng.normal(size=n) * 10.0 ** rng.uniform(-3.0, -0.5)
        bend = rng.normal(size=n) * rng.choice([0.0, 0.3]) * np.abs(step)
        motion = np.array([step, np.abs(step) + np.abs(bend)])
        poses = [frames_at(model, q + t * step + t * t * bend, work) for t in (*INSTANTS, 0.0)]
        for block in rng.choice(len(check.blocks), min(12, len(check.blocks)), replace=False):
            groups = check.blocks[block, :2]
            direction = rng.normal(size=3)
            moved, along, common = bounds(check, q, motion, block, direction, work)
            R = poses[-1][common][:3, :3]
            gone = []
            for group in groups:
                out = rng.normal(size=(30, 3))
                out *= check.group_balls[group, 3] / np.linalg.norm(out, axis=1)[:, None]
                points = np.c_[check.group_balls[group, :3] + out, np.ones(len(out))]
                there = np.array([(np.linalg.inv(T[common]) @ T[check.group_frames[group]]
                                   @ points.T)[:3].T @ R.T for T in poses])
                gone.append(there[:-1] - there[-1])
            apart = gone[0][:, :, None] - gone[1][:, None]
            assert np.linalg.norm(apart, axis=-1).max() < moved + ROUNDING_M
            went = np.abs(apart @ (direction / np.linalg.norm(direction))).max()
            assert went < along + ROUNDING_M
            if moved > 0.0:
                shares.append(went / along)
    assert max(shares) > 0.9 and np.median(shares) > 0.3


def test_a_motion_along_a_wall_is_proved_by_few_postures(monkeypatch):
    """The turn of the first joint goes along the ground, 2 mm above it; one into it does not."""
    name, works = 'six_axis_arm', []
    monkeypatch.setattr(certificate, 'check_work',
                        lambda pairs: works.append(check_work(pairs)) or works[-1])
    chain = robots.chain(name)
    q = np.array([0.0, 0.3, -0.4, 0.0, 1.0, 0.0])
    scene = Scene(chain.base_link, robots.tree(name).links)
    bodies = [body for body in bodies_of(name) if body.name == 'link_6']
    T = np.eye(4)
    T[2, 3] = CollisionModel(chain, robots.tree(name), bodies, ground(scene, T)).distance(q)[0] \
        - 0.002
    model = CollisionModel(chain, robots.tree(name), bodies, ground(scene, T))
    assert abs(model.distance(q)[0] - 0.002) < 1e-6
    assert certificate.certify_edge(model, q, q + [1.0, 0, 0, 0, 0, 0]) is None
    # By the reach of about 0.7 m alone, each posture would prove 0.006 rad of 1 rad.
    assert works[-1].placed[-1] < 60
    assert certificate.certify_edge(model, q, q + [0, 0.1, 0, 0, 0, 0]) is not None


def ground(scene, T):
    """Return the bodies of a scene with a plane at T (4, 4)."""
    scene.add_plane('ground', T)
    return scene.bodies
