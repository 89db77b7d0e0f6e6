# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a stream remembers of distances never calls a motion free that the full proof refuses."""

from following import HOMES, limits_of
from geometry_oracle import model_of
from nightly import samples, usual_first
import numpy as np
import pytest
import robots

from ik_node.base.se3 import pose, rotation_about
from ik_node.collision.bodies.ground import ground_body
from ik_node.collision.distances.certificate import certify
from ik_node.collision.scene.scene import Scene
from ik_node.motion.following import collision_guard
from ik_node.motion.following.collision_guard import CollisionGuard
from ik_node.motion.following.commanded import Segment
from ik_node.motion.following.cycle import CyclePlan, plan_states, plan_switches

MARGIN_M = 0.005
BOXES = 20
CYCLE_S = 0.01
CYCLES = samples(usual=400, nightly=800)
SAMPLES = 40  # of each motion


def among_boxes(name, random):
    """Return a model of an arm among boxes and the ground, free at home."""
    chain, bare = robots.chain(name), model_of(name)
    while True:
        scene = Scene(chain.base_link)
        for k in range(BOXES):
            axis = random.normal(size=3)
            scene.add_box(f'box_{k}', tuple(random.uniform(0.05, 0.25, 3).tolist()), pose(
                rotation_about(axis / np.linalg.norm(axis), random.uniform(0.0, np.pi)),
                random.uniform((-0.8, -0.8, 0.0), 0.8)))
        model = bare.with_objects([*scene.bodies, ground_body(0.0)], MARGIN_M)
        if model.check_many(HOMES[name][None])[0]:
            return model


def wandering(name, random, limits):
    """Yield motions of one cycle with the stop after it, each begun on the one before."""
    n = robots.chain(name).n
    state, rates = np.zeros((3, n)), np.zeros(n)
    state[0] = HOMES[name]
    for k in range(CYCLES):
        if k % 40 == 0:
            rates = random.uniform(-1.0, 1.0, n) * limits.velocity * random.choice([0.1, 1.0])
        jerk = np.clip((rates - state[1]) / 0.1 ** 2 - state[2] / 0.1, -limits.jerk, limits.jerk)
        plan = CyclePlan(jerk, random.uniform(0.5, 1.0, n) * CYCLE_S)
        segment = Segment(0, limits, state, plan)
        refused = yield segment
        states = np.empty((1, 3, n))
        plan_states(limits, state, plan, np.array([CYCLE_S]), states)
        # From a refusal it goes home, so that more is seen than one obstacle.
        state = np.array([HOMES[name], np.zeros(n), np.zeros(n)]) if refused else states[0]


def positions(segment):
    """Return positions (SAMPLES, n) all over a motion."""
    end = plan_switches(segment.limits, segment.state, segment.plan)[-1]
    states = np.empty((SAMPLES, *segment.state.shape))
    plan_states(segment.limits, segment.state, segment.plan, np.linspace(0.0, end, SAMPLES),
                states)
    return states[:, 0]


@pytest.mark.parametrize('name', usual_first(1, ['panda', 'six_axis_arm']))
def test_remembered_distances_prove_what_the_full_proof_does(name):
    """The verdict is the same in each cycle, and free motions keep what they must."""
    random = np.random.default_rng(7)
    model = among_boxes(name, random)
    limits = limits_of(robots.chain(name), 0.5, 4.0, 60.0).for_streams()
    guard = CollisionGuard(model, HOMES[name])
    motions, refused, verdicts, kept = wandering(name, random, limits), None, [], []
    while True:
        try:
            segment = motions.send(refused)
        except StopIteration:
            break
        before = guard._proof.postures.copy()
        refused = guard._first_contact(segment) is not None
        collision_guard.write_all_pieces(limits, segment.state, segment.plan, guard._proof)
        ends = guard._proof.ends
        full = certify(model, np.append(0.0, ends[:-1]), guard._proof.lengths, guard._proof.c,
                       allowed=guard._allowed)
        assert refused == (full is not None)
        verdicts.append(refused)
        kept.append(np.array_equal(before, guard._proof.postures))
        if not refused and len(verdicts) % 5 == 0:
            nearest = np.min([model.distances(q) for q in positions(segment)], axis=0)
            assert (nearest > guard._allowed).all()
    assert len(verdicts) == CYCLES and 0 < sum(verdicts) < 0.5 * CYCLES
    assert np.mean(kept) > 0.3, 'each cycle looks again'


def test_the_reach_of_a_motion_holds():
    """No joint leaves where it begins by more, and the bound is near."""
    name, random = 'panda', np.random.default_rng(8)
    limits = limits_of(robots.chain(name), 0.5, 4.0, 60.0).for_streams()
    proof = collision_guard.plan_proof(0, 7)
    model = model_of(name).with_disabled_pairs([pair.links for pair in model_of(name).report])
    guard, ratios = CollisionGuard(model, HOMES[name]), []
    for segment in wandering(name, random, limits):
        collision_guard.unproved_blocks(model.pairs, limits, segment.state, segment.plan,
                                   guard._allowed, proof, guard._work)
        gone = np.abs(positions(segment) - segment.state[0]).max(axis=0)
        assert (gone <= proof.moved + 1e-12).all()
        ratios += [*(gone / proof.moved)]
    assert np.median(ratios) > 0.9
