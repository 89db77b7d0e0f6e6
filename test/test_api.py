# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The public Python API, run as the documentation writes it."""

from importlib import import_module, metadata
from pathlib import Path
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
import robots

import ik_node
from ik_node.base.errors import Reason
from ik_node.model.chain import make_chain

ROOT = Path(__file__).parents[1]


def test_the_public_api():
    """Load an arm, compute its pose and its Jacobian."""
    path_or_text = robots.ARMS['ur5'].path
    arm = ik_node.load_urdf(path_or_text, base_link=None, tip_link=None)
    q = np.array([0.1, -1.0, 1.2, 0.3, 0.8, -0.4])
    T, J = arm.fk(q), arm.jacobian(q)
    assert T.shape == (4, 4) and J.shape == (6, 6)
    reference, at = robots.reference('ur5'), robots.positions(arm, q)
    assert np.abs(T - reference.pose('base_link', 'tool0', at)).max() < 1e-12
    assert np.abs(J - reference.jacobian('base_link', 'tool0', at)).max() < 1e-12

    solver = ik_node.Solver(arm)
    T_base_tip = reference.pose('base_link', 'tool0', at)
    q0 = q + 0.1
    r = solver.solve(T_base_tip, seed=q0)
    assert r.success and r.status is Reason.SOLVED and r.message.startswith('solved to')
    assert np.abs(r.q - q).max() < 1e-4
    rs = solver.solve_all(T_base_tip)
    assert len(rs) == 8 and min(np.abs(one.q - q).max() for one in rs) < 1e-4
    T = np.array([T_base_tip, reference.pose('base_link', 'tool0', robots.positions(arm, q0))])
    rb = solver.solve_batch(T, seeds=None)
    assert rb.success.all() and rb.q.shape == (2, 6)
    assert np.array_equal(rb.q[0], solver.solve(T_base_tip).q)


def test_importing_the_package_does_not_load_the_compiler():
    """The import is quick; the names are there all the same and load what they need."""
    code = ('import sys, ik_node\n'
            'heavy = {"numba", "numpy", "lxml"} & set(sys.modules)\n'
            'assert not heavy, heavy\n'
            'assert set(ik_node.__all__) <= set(dir(ik_node))\n'
            'from ik_node import Arm, load_urdf\n'
            'assert "numba" in sys.modules\n')
    ran = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_names_are_the_ones_of_the_modules():
    """Each public name leads to the class or function that is documented."""
    for name in ik_node.__all__:
        value = getattr(ik_node, name)
        assert value.__name__ == name and value.__module__ == ik_node._PUBLIC_MODULES[name]
    with pytest.raises(AttributeError, match="module 'ik_node' has no attribute 'Solvr'"):
        _ = ik_node.Solvr


@pytest.mark.parametrize('name', ['.'.join(path.relative_to(ROOT).parent.parts)
                                  for path in sorted((ROOT / 'ik_node').rglob('__init__.py'))
                                  if '__all__' in path.read_text()])
def test_all_names_can_be_imported(name):
    """`from ik_node.client import *` has each name that the package says it has."""
    module = import_module(name)
    assert [each for each in module.__all__ if not hasattr(module, each)] == []


@pytest.mark.parametrize('installed', [True, False])
def test_the_version(installed, monkeypatch):
    """It is that of the installed package; without installation, that of package.xml."""
    def version(name):
        if not installed:
            raise metadata.PackageNotFoundError(name)
        assert name == 'ik_node'
        return '7.8.9'

    monkeypatch.setattr(metadata, 'version', version)
    source = ElementTree.parse(ROOT / 'package.xml').findtext('version')
    assert ik_node.__version__ == ('7.8.9' if installed else source)
    assert '__version__' in dir(ik_node)


def test_an_arm_prints_as_one_line():
    """Robot, base, tip and number of joints; the chain alone knows no robot name."""
    arm = ik_node.load_urdf(robots.ARMS['ur5'].path)
    assert repr(arm) == "Arm('ur5': 'base_link' -> 'tool0', 6 joints)"
    chain = make_chain(arm.tree, 'forearm_link', 'wrist_1_link')
    assert repr(chain) == "Chain('forearm_link' -> 'wrist_1_link', 1 joint)"
