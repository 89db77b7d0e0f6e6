# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Each row of the table of parameters names a field that there is."""

from dataclasses import fields
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

from ik_node.base.errors import ParameterError
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
