# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How much of a random test `make test` runs, and how much `make nightly`."""

import os

NIGHTLY = bool(os.environ.get('IK_NODE_TEST_NIGHTLY'))


def samples(*, usual: float, nightly: float) -> float:
    """Return how many samples a test draws in this run, or for how long it goes on."""
    return nightly if NIGHTLY else usual
