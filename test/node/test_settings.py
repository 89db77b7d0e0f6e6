# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Each row of the table of parameters names a field that there is."""

from dataclasses import fields, replace
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

from ik_node.base.errors import ParameterError
from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.distances.other_joints import OtherJoint
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.node.robot.settings import (
    make_settings,
    start_options,
    StartOptions,
    VALUE_CONVERSIONS,
)
from ik_node.ros.parameters.tables import IK_NODE

CHAIN = make_chain(read_urdf(Path(__file__).parents[2] / 'urdf/six_axis_arm.urdf'))
TWO_ARMS = Path(__file__).parents[2] / 'urdf/two_arms.urdf'
DEFAULTS = {row.name: row.default for row in IK_NODE}


def test_every_parameter_has_a_field():
    """But those that are read before there are settings."""
    assert [row.name for row in IK_NODE if not row.fills] == ['autostart']
    assert {row.convert for row in IK_NODE} == {'', *VALUE_CONVERSIONS}
    assert {field.name for field in fields(StartOptions)} == {
        row.fills.partition('.')[0] for row in IK_NODE if row.fills and not row.live}


def test_start_options():
    """Each by its own name."""
    values = {**DEFAULTS, **{row.name: f'value of {row.name}' for row in IK_NODE if not row.live}}
    for row in IK_NODE:
        if row.fills and not row.live:
            assert attrgetter(row.fills)(start_options(values)) == f'value of {row.name}'


def test_limits_of_a_file_are_not_widened():
    """Velocities that are set replace those of the URDF; those of a file hold beside them."""
    speeds = [make_settings({**DEFAULTS, 'motion.velocity_limits': (5.0,),
                             'motion.joint_limits_file': file}, CHAIN).limits.velocity.tolist()
              for file in ('', 'joint_limits.yaml')]  # which the chain has by now
    assert speeds == [[5.0] * 6, np.minimum(CHAIN.velocity, 5.0).tolist()] != [[5.0] * 6] * 2


@pytest.mark.parametrize('name, value, words', [
    ('motion.jerk_limits', (0.0,), 'must be positive'),
    ('stream.null_space_gains', (-1.0,), 'may be negative'),
    ('watch.path_tolerance', (0.1, 0.1), 'needs 1 or 6'),
    ('solver.deadline', 0.5, 'must be shorter than state.timeout')])
def test_a_value_that_is_refused(name, value, words):
    """With the name of the parameter."""
    with pytest.raises(ParameterError, match=words) as caught:
        make_settings({**DEFAULTS, name: value}, CHAIN)
    assert name in str(caught.value)


def test_settings_that_differ_in_the_collision_model_alone():
    """A stream goes on with these as it is; others need what is made of them anew."""
    tree = read_urdf(TWO_ARMS)
    chain = make_chain(tree, 'base_link', 'left_tool')
    model = CollisionModel(chain, tree, arm_bodies(tree))
    before = make_settings(DEFAULTS, chain, model)
    others = {name: OtherJoint(0.5) for name in model.other_joints}
    moved = before.with_others(others)
    assert moved.solver.collisions.others == others
    assert moved.solver.collisions is not before.solver.collisions
    assert moved.differ_in_collisions_alone(before) and before.differ_in_collisions_alone(moved)
    assert not replace(moved, stream_rate=200.0).differ_in_collisions_alone(before)
    tool = make_settings({**DEFAULTS, 'tool.position': (0.0, 0.0, 0.1)}, chain, model)
    assert not tool.differ_in_collisions_alone(before)
