# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Every parameter fills the field that its row names, and no other."""

from dataclasses import fields
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from ik_node.errors import ParameterError
from ik_node.model.chain import make_chain
from ik_node.model.urdf import read_urdf
from ik_node.node.settings import make_settings, start_options, StartOptions, VALUE_CONVERSIONS
from ik_node.ros.parameters import IK_NODE

CHAIN = make_chain(read_urdf(Path(__file__).parents[2] / 'urdf/six_axis_arm.urdf'))
DEFAULTS = {row.name: row.default for row in IK_NODE}
LIVE = [row for row in IK_NODE if row.live]
CHOICES = {'solver.method': 'damped_least_squares', 'solver.select': 'first',
           'solver.locked_joints': ('joint_3',), 'stream.free_axes': ('rz',),
           'solver.preferred_positions': (0.1,) * 6, 'motion.velocity_limits': (3.0,)}
# What a field is used for besides; the limits of the joints and of the tip have other names.
ALSO = {
    'solver.metres_per_radian': {'following.metres_per_radian'},
    'solver.preferred': {'following.preferred'},
    'sample_period': {'paths.period'},
    'joints.velocity': {'limits.velocity', 'planning.velocity'},
    'joints.acceleration': {'limits.acceleration', 'planning.acceleration'},
    'joints.jerk': {'limits.jerk', 'planning.jerk'},
    'scales.velocity': {'planning.velocity'},
    'scales.acceleration': {'planning.acceleration'},
    **{f'tip.{name}': {'limits.tip', 'planning.tip'} for name in (
        'speed', 'angular_speed', 'acceleration', 'angular_acceleration')},
}


def leaves(settings):
    """Return all fields of settings, those of groups as ``group.field``."""
    found = {}
    for name in (field.name for field in fields(settings)):
        value = getattr(settings, name)
        if name == 'solver':
            value = value.options
        if hasattr(value, '__dataclass_fields__'):
            found |= {f'{name}.{field}': getattr(value, field)
                      for field in value.__dataclass_fields__ if field != 'chain'}
        else:
            found[name] = value
    return found


@lru_cache
def default_leaves():
    """Return the fields of the settings that follow from the defaults."""
    return leaves(make_settings(DEFAULTS, CHAIN))


def other(row):
    """Return a value of a parameter that is not its default."""
    if row.name in CHOICES:
        return CHOICES[row.name]
    if isinstance(row.default, bool):
        return not row.default
    if isinstance(row.default, int):
        return row.default + 1
    if isinstance(row.default, float):
        return 0.9 * row.default if row.default else min(0.03, row.high)
    return tuple(0.9 * value if value else 0.03 for value in row.default)


@pytest.mark.parametrize('row', LIVE, ids=[row.name for row in LIVE])
def test_a_parameter_fills_its_field(row):
    """Nothing else changes but what follows from it."""
    value = other(row)
    assert value != row.default
    before = default_leaves()
    after = leaves(make_settings({**DEFAULTS, row.name: value}, CHAIN))
    changed = {name for name in before.keys() | after.keys()
               if not np.array_equal(before.get(name), after.get(name))}
    expected = ALSO.get(row.fills, set())
    group, _, field = row.fills.rpartition('.')
    if group not in ('joints', 'scales', 'tip'):
        expected = expected | {row.fills}
    if group == 'tip':
        assert vars(after['limits.tip']) == {**vars(before['limits.tip']), field: value}
    assert changed == expected
    if row.fills in after and not row.convert:
        assert np.array_equal(np.array(after[row.fills]), np.array(value))


def test_every_parameter_has_a_field():
    """But the one that is read before there are settings."""
    assert [row.name for row in IK_NODE if not row.fills] == ['autostart']
    assert {row.convert for row in IK_NODE} == {'', *VALUE_CONVERSIONS}
    assert {field.name for field in fields(StartOptions)} == {
        row.fills for row in IK_NODE if row.fills and not row.live}


def test_start_options():
    """Each by its own name."""
    values = {**DEFAULTS, **{row.name: f'value of {row.name}' for row in IK_NODE if not row.live}}
    for row in IK_NODE:
        if row.fills and not row.live:
            assert getattr(start_options(values), row.fills) == f'value of {row.name}'


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
