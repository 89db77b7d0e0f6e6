# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Links that are not checked for collisions are told of, and nothing else is claimed."""

from geometry_oracle import bodies_of, Oracle
import numpy as np
import pytest
import robots

import ik_node
from ik_node.collision import arm_bodies, CollisionModel, Scene
from ik_node.collision.bodies.links import Unchecked
from ik_node.model.description.urdf import parse_urdf, read_urdf
from ik_node.solver.solver import Solver

REAL_ARMS = 'panda', 'ur5', 'xarm7'
NINE = '9 of 11 links are not checked'


def without_folder(name):
    """Return an arm whose description came as text, so that its meshes are not found."""
    return ik_node.load_urdf(robots.text(name))


def overlap(name, least):
    """Return a posture in which links overlap, by coal, by about 10 to 60 mm, but not others."""
    model = CollisionModel.of(ik_node.load_urdf(robots.ARMS[name].path))
    for q in robots.random_postures(model.chain, 500, 5):
        worst = model.worst_pair(q)
        if worst.distance < -least:
            oracle = Oracle(name, model, bodies_of(name))
            assert (oracle.distances(q) <= 0.0).any()
            return model, q
    raise AssertionError('no overlap')


@pytest.mark.parametrize('name', REAL_ARMS)
def test_meshes_are_found_beside_the_urdf(name, monkeypatch):
    """By the defaults, wherever the process runs; of a text nobody knows where it is from."""
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    arm = ik_node.load_urdf(robots.ARMS[name].path)
    for robot in (arm, arm.tree, read_urdf(str(robots.ARMS[name].path))):
        made = arm_bodies(robot)
        assert not made.faults and not made.unchecked and str(made.unchecked) == ''
        assert {body.name for body in made.bodies} == {body.name for body in bodies_of(name)}
    model = CollisionModel.of(arm, margin=0.005)
    assert not model.unchecked and model.margin == 0.005
    lost = arm_bodies(parse_urdf(robots.text(name)))
    assert len(lost.faults) >= 5 and lost.unchecked


def test_an_overlap_is_not_called_free(monkeypatch):
    """What the file's own meshes show is refused; without them every sentence says so."""
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    model, q = overlap('panda', 0.02)
    arm = model.chain
    refused = Solver(arm, model).solve(arm.fk(q), q)
    assert not np.allclose(refused.q, q, atol=1e-3) or not refused.success
    assert 'overlap by' in model.describe(q) and 'not checked' not in model.describe(q)

    blind = CollisionModel.of(without_folder('panda'))
    assert blind.check_many(q[None])[0]  # nothing is known of nine links
    assert str(blind.unchecked).startswith(f"{NINE}: 'panda_link0', 'panda_link1', ")
    assert "package://example-robot-data/robots/panda_description/meshes" in str(blind.unchecked)
    assert 'name the folder that has it in mesh_paths' in str(blind.unchecked)
    assert f'; {NINE}: ' in blind.describe(q)
    for clearance in blind.clearances(q):
        assert clearance.unchecked is blind.unchecked and clearance.unchecked.brief == NINE
    for clearance in model.clearances(q):
        assert not clearance.unchecked


def test_bodies_that_are_left_out_are_noticed():
    """The model sees it by the description; in every model that is made from it."""
    arm = ik_node.load_urdf(robots.ARMS['six_axis_arm'].path)
    bodies = arm_bodies(arm).bodies
    whole = CollisionModel(arm, arm.tree, bodies)
    assert not whole.unchecked
    part = CollisionModel(arm, arm.tree, bodies[1:])
    scene = Scene(arm.base_link, arm.tree.links)
    scene.add_plane('ground')
    for model in (part, part.with_objects(scene.bodies, 0.01), part.with_others({}),
                  part.with_disabled_pairs([])):
        assert str(model.unchecked) == (
            f"1 of {len(bodies)} links is not checked: '{bodies[0].name}', because no body of it "
            'is given')


def test_an_arm_without_geometry_is_told():
    """Nothing at all is checked; that is no freedom."""
    arm = ik_node.load_urdf(robots.FOUR_AXES, 'foot', 'grip')
    model = CollisionModel.of(arm)
    assert model.unchecked and str(model.unchecked) == \
        'no link has geometry, so none is checked for collisions'
    assert model.describe(arm.middle).endswith(f'; {model.unchecked}')


def test_links_beyond_a_floating_joint_are_told():
    """Their pose is not known, so they are left out, not in silence."""
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    text = robots.FOUR_AXES.replace('</robot>', (
        f'<link name="drone">{ball}</link><link name="crate">{ball}</link>'
        '<joint name="air" type="floating"><parent link="foot"/><child link="drone"/></joint>'
        '<joint name="bolt" type="fixed"><parent link="foot"/><child link="crate"/>'
        '<origin xyz="5 0 0"/></joint></robot>'))
    model = CollisionModel.of(ik_node.load_urdf(text, 'foot', 'grip'))
    assert [body.name for body in model.bodies] == ['crate']
    assert str(model.unchecked).startswith("1 of 2 links is not checked: 'drone', because a joint")


def test_one_sentence():
    """How many, which, and why the first is; long lists are cut."""
    assert not Unchecked({}, 7) and str(Unchecked({}, 7)) == Unchecked({}, 7).brief == ''
    many = Unchecked({f'l{k}': 'it is gone' for k in range(7)}, 9)
    assert str(many) == "7 of 9 links are not checked: 'l0', 'l1', 'l2', 'l3', 'l4' and 2 more, " \
                        'the first because it is gone'
    assert many.brief == '7 of 9 links are not checked'
