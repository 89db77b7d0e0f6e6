# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A cache of hulls that belongs to the tests."""

import pytest


@pytest.fixture(scope='session')
def hull_folder(tmp_path_factory):
    """Return the cache folder of the user for all tests of a process."""
    return tmp_path_factory.mktemp('cache')


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, hull_folder):
    """Keep hulls away from the cache of the user, and from what other tests left there."""
    monkeypatch.delenv('NUMBA_CACHE_DIR', raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(hull_folder))
