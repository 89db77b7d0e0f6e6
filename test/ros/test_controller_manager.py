# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller manager says of a controller that does nothing stands in the answers."""

from importlib.util import find_spec

from harness import lent, NOT_BUILT, Probe, READY, reasons, run_system, tool
from managers import Manager
import numpy as np
import pytest

THERE = np.array(READY) + 0.3
SIM = '/sim_controller'

pytestmark = pytest.mark.skipif(find_spec('controller_manager_msgs') is None, reason=NOT_BUILT)


@pytest.fixture(scope='module')
def shared(tmp_path_factory, recorded):
    """Run a system with a manager for the tests of this module."""
    probe = Probe()
    probe.manager = Manager(probe)
    with run_system(tmp_path_factory.mktemp('managed'), probe):
        yield probe
    probe.destroy_node()


@pytest.fixture
def arm(shared):
    """Lend the system, whose controller is inactive."""
    with lent(shared) as probe:
        probe.manager.states = {'joint_state_broadcaster': 'active', 'sim_controller': 'inactive'}
        probe.change(SIM, silent=True)
        probe.change('/ik_node', watch__start_timeout=0.2)
        yield probe
        probe.change(SIM, silent=False)


@pytest.mark.fault('controller', 'it is inactive', 'the answer says so, as its manager does, and '
                   'so does ik_doctor')
def test_inactive_controller(arm):
    """The state, and the command that activates it; of no other controller."""
    stamp = arm.send_joints(THERE)
    assert reasons(arm, stamp) == ['ACCEPTED', 'NOT_MOVING']
    sentence = arm.final(stamp)['message']
    assert sentence.endswith(
        "; /controller_manager says: 'sim_controller' is inactive; activate it: ros2 control "
        'set_controller_state -c /controller_manager sim_controller active'), sentence


def test_active_controller(arm):
    """That it is active is told, too: then it is something else."""
    arm.manager.states['sim_controller'] = 'active'
    stamp = arm.send_joints(THERE)
    assert reasons(arm, stamp) == ['ACCEPTED', 'NOT_MOVING']
    assert arm.final(stamp)['message'].endswith("says: 'sim_controller' is active")


def test_controller_of_nobody(arm):
    """A manager that does not have it says nothing."""
    del arm.manager.states['sim_controller']
    stamp = arm.send_joints(THERE)
    assert reasons(arm, stamp) == ['ACCEPTED', 'NOT_MOVING']
    assert 'says' not in arm.final(stamp)['message'].replace('why it refused', '')


def test_doctor_of_an_inactive_controller(arm):
    """A problem with the command."""
    for state, level in (('inactive', 'problem'), ('active', 'ok')):
        arm.manager.states['sim_controller'] = state
        asked = tool('ik_doctor')
        arm.wait(lambda asked=asked: asked.poll() is not None, 60.0)
        lines = [line for line in asked.stdout.read().splitlines() if 'controller_manager' in line]
        assert len(lines) == 1 and lines[0].startswith(level), lines
        assert f"'sim_controller' is {state}, says /controller_manager" in lines[0]
        assert ('set_controller_state' in lines[0]) == (level == 'problem')
