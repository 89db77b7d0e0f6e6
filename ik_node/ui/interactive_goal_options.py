# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the handle in RViz as one object."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InteractiveGoalOptions:
    """The fields that the rows of ``ros.parameters.INTERACTIVE_GOAL`` fill."""

    ik_node: str
    scale: float
