# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What tests keep from run to run; `make clean` removes it."""

from pathlib import Path

KEPT = Path(__file__).parents[1] / '.build/kept'


def kept(name: str) -> Path:
    """Return a folder of this name."""
    folder = KEPT / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
