# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Recordings of goals, and their repetition without robot and ROS.

    answered     Requests to the solver and the planners with what came of them
    json_values  Values as JSON, exact to the last bit, and outcomes to be compared
    reading      Robots, solvers and requests from the values of a recording, with checks
    recording    One file for each goal: written, loaded, repeated

>>> from ik_node.replay import load
>>> recording = load('goal-mwy10y6f-3.json.gz')

See :mod:`ik_node.replay.recording`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ik_node.replay.recording import (
        load as load,
        RecordedRequest as RecordedRequest,
        Recording as Recording,
    )

__all__ = ['RecordedRequest', 'Recording', 'load']


def __getattr__(name: str) -> object:
    """Import a public name from its module on first use."""
    if name not in __all__:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module('ik_node.replay.recording'), name)
