# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The presets whose descriptions are on this machine.

They are found as for users: in the folders of IK_NODE_DESCRIPTIONS, and in the ament index.
"""

from __future__ import annotations

import pytest

from ik_node.base.errors import UrdfError
from ik_node.model.user_files.presets import description_file, preset_names, read_preset


def is_here(name: str) -> bool:
    """Return whether the description of a preset is found."""
    try:
        return bool(description_file(read_preset(name)))
    except UrdfError:
        return False


FOUND = [name for name in preset_names() if is_here(name)]
# All presets, for pytest; those whose description is missing are skipped with the reason.
EACH_PRESET = [pytest.param(name, marks=pytest.mark.skipif(
    name not in FOUND, reason='some descriptions are not here; install them or name their folder '
                              'in IK_NODE_DESCRIPTIONS')) for name in preset_names()]
