# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What all tests of the textbook methods use."""

import os

import pytest


@pytest.fixture(autouse=True, scope='module')
def no_variables_of_libraries():
    """Take back what scikit-learn sets: nodes that later tests start would inherit it."""
    before = {*os.environ}
    yield
    for name in {*os.environ} - before:
        del os.environ[name]
