# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Each parameter of the other nodes fills its field of their options, and nothing else."""

from dataclasses import fields, is_dataclass

import pytest

from ik_node.ros.parameters.node_parameters import options_of
from ik_node.ros.parameters.tables import (
    HANDHELD_NODE,
    INTERACTIVE_GOAL,
    SIM_CONTROLLER,
    VIEWER_NODE,
)
from ik_node.simulation.node import SimulationOptions
from ik_node.ui.options import HandheldOptions, InteractiveGoalOptions, ViewerOptions

NODES = ((SimulationOptions, SIM_CONTROLLER), (ViewerOptions, VIEWER_NODE),
         (HandheldOptions, HANDHELD_NODE), (InteractiveGoalOptions, INTERACTIVE_GOAL))


def flat(options, group=''):
    """Return the values of a dataclass by their paths."""
    found = {}
    for field in fields(options):
        value = getattr(options, field.name)
        found |= flat(value, f'{group}{field.name}.') if is_dataclass(value) \
            else {f'{group}{field.name}': value}
    return found


@pytest.mark.parametrize('kind, table', NODES, ids=lambda each: getattr(each, '__name__', ''))
def test_a_row_fills_its_own_field(kind, table):
    """Another value is found there, as it is; and no field is filled by two rows, or by none."""
    defaults = {row.name: row.default for row in table}
    before = flat(options_of(kind, defaults, table))
    assert sorted(before) == sorted(row.fills for row in table)
    for row in table:
        after = flat(options_of(kind, {**defaults, row.name: f'other {row.name}'}, table))
        assert {path: value for path, value in after.items() if value != before[path]} == {
            row.fills: f'other {row.name}'}
