# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Quaternions at the boundary: x, y, z, w, by whichever library is there."""

import importlib
import sys

import numpy as np
import pinocchio as pin
import pytest

from ik_node.ros.messages import conversion as rotations


@pytest.fixture(params=['transforms3d', 'tf_transformations'])
def library(request, monkeypatch):
    """Return the module with one of its two libraries underneath."""
    if request.param == 'transforms3d':
        monkeypatch.setitem(sys.modules, 'tf_transformations', None)
    else:
        pytest.importorskip('tf_transformations', reason='tf_transformations is not on PyPI')
    module = importlib.reload(rotations)
    assert module.BACKEND == request.param
    yield module
    monkeypatch.undo()
    importlib.reload(rotations)


def test_agrees_with_pinocchio(library):
    """From rotation matrices, and from fixed-axis roll, pitch, yaw."""
    random = np.random.default_rng(0)
    for _ in range(200):
        xyzw = random.normal(size=4)
        xyzw /= np.linalg.norm(xyzw)
        R = pin.Quaternion(xyzw).matrix()
        back = library.quaternion_from_rotation(R)
        assert min(np.abs(back - xyzw).max(), np.abs(back + xyzw).max()) < 1e-7
        rpy = random.uniform(-3, 3, 3)
        q = pin.Quaternion(pin.rpy.rpyToMatrix(*rpy)).coeffs()
        found = library.quaternion_from_rpy(*rpy)
        assert min(np.abs(found - q).max(), np.abs(found + q).max()) < 1e-12
