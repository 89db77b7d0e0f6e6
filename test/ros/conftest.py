# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests over DDS."""

from harness import environment, lent, Probe, QUICK, run_system, SIM_DEFAULTS
import pytest
import rclpy
from recorded import record_in, Recorded
from scenes import Eyes

environment()


@pytest.fixture(scope='session', autouse=True)
def context():
    """One ROS context for the session, kept to its end by a hidden node."""
    if not rclpy.ok():  # it is begun again when the last test is
        rclpy.init()
    keeper = rclpy.create_node('_keeper', start_parameter_services=False)
    yield
    del keeper


@pytest.fixture(scope='session')
def recorded(tmp_path_factory):
    """Return what the processes under test publish as trajectories."""
    folder = tmp_path_factory.mktemp('recorded')
    record_in(folder)
    return Recorded(folder)


@pytest.fixture(autouse=True)
def trajectories_are_sound(recorded):
    """Look at every trajectory that was published during a test."""
    yield
    found = recorded.faults()
    assert not found, found  # in full: pytest would cut off the words that count


@pytest.fixture(scope='module', autouse=True)
def sim_defaults(request, monkeypatch_module):
    """Run simulated controllers at the rate of a real one where tests judge motion."""
    marks = getattr(request.module, 'pytestmark', [])
    if 'real_time' in [mark.name for mark in (marks if isinstance(marks, list) else [marks])]:
        monkeypatch_module.delitem(SIM_DEFAULTS, 'rate')


@pytest.fixture(scope='module')
def monkeypatch_module():
    """Return a monkeypatch that lasts for a module."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture
def probe():
    """Return a fresh pair of eyes."""
    node = Probe()
    yield node
    node.destroy_node()


@pytest.fixture(scope='module')
def limits(request):
    """Return the limits of the nodes of a module: its NODE_LIMITS, or QUICK."""
    return getattr(request.module, 'NODE_LIMITS', QUICK)


@pytest.fixture(scope='module')
def sim():
    """Return the parameters of the simulated controllers of a module, besides SIM_DEFAULTS."""
    return {}


@pytest.fixture
def system(tmp_path, probe, recorded, limits, sim):
    """Run a system for one test."""
    with run_system(tmp_path, probe, limits, sim):
        yield probe


@pytest.fixture(scope='module')
def shared_system(tmp_path_factory, recorded, limits, sim):
    """Run one system for the tests of a module that leave it ready for the next."""
    probe = Probe()
    with run_system(tmp_path_factory.mktemp('system'), probe, limits, sim):
        yield probe
    probe.destroy_node()


@pytest.fixture
def arm(shared_system):
    """Lend the shared system at READY."""
    with lent(shared_system) as probe:
        yield probe


@pytest.fixture(autouse=True)
def changes_are_set_back(request):
    """Give a shared node the parameters of its start after each test."""
    probe = request.getfixturevalue('shared_system') \
        if 'shared_system' in request.fixturenames else None
    yield
    if probe is not None:
        probe.set_back()


@pytest.fixture
def eyes(system):
    """Look at what the system shows."""
    eyes = Eyes(system)
    yield eyes
    eyes.close()
