# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""How much of a random test `make test` runs, and how much `make nightly`."""

import os

NIGHTLY = bool(os.environ.get('IK_NODE_TEST_NIGHTLY'))


def samples(*, usual: int, nightly: int) -> int:
    """Return how many samples a test draws in this run."""
    return nightly if NIGHTLY else usual
