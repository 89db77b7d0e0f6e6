# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
New goals and stops in four phases of a motion, on both kinds of controllers, with lag.

A kick is measured by the joint states.  The motion is planned with 2 rad/s^2, and so is
what is seen of it, but for what a Python process that is late to take a trajectory adds;
the commands of one that is in time are looked at in test_update_period.py.  Without a hand-over it
is 18 and up at speed and in braking.
"""

from harness import latest, lent, READY, reasons
from kicks import no_kick
from nightly import usual_first
import numpy as np
import pytest

pytestmark = pytest.mark.real_time
NODE_LIMITS = {}  # those of the node by default

SIM = '/sim_controller'
AWAY = np.array([1.8, 0.1, -0.6, 0.3, 1.2, 0.5])
# How the velocity of joint_1 is when the phase is met: fastest until then, now.
PHASES = {
    'accelerating': lambda fastest, now: 0.2 < now,
    'fast': lambda fastest, now: now > 1.2,
    'braking': lambda fastest, now: fastest > 1.0 and now < 0.7 * fastest,
    'arriving': lambda fastest, now: fastest > 1.0 and now < 0.1 * fastest}


@pytest.fixture
def arm(shared_system):
    """Lend the system of this module at READY."""
    with lent(shared_system) as probe:
        yield probe


@pytest.fixture(params=[False, True], ids=['from measured', 'from desired'])
def controller(request, arm):
    """Let it begin where the lagging arm is measured, or where it was commanded."""
    arm.change(SIM, interpolate_from_desired_state=request.param, following__lag=0.1)


@pytest.fixture(params=usual_first(2, PHASES))
def moving(request, arm, controller):
    """Bring the arm into a phase of a motion; return the stamp of its goal."""
    stamp, fastest = arm.send_joints(AWAY), 0.0

    def met() -> bool:
        nonlocal fastest
        now = arm.states[-1][1].velocity[0] if arm.states else 0.0
        fastest = max(fastest, now)
        return PHASES[request.param](fastest, now)

    arm.wait(met)
    return stamp


@pytest.mark.fault('goals', 'a new goal in one of four phases of the motion of a lagging arm',
                   'the joints are accelerated with less than 8 rad/s^2, where 2 are planned')
def test_a_new_goal(arm, moving):
    """Back to where it came from."""
    second = arm.send_joints(READY)
    assert reasons(arm, second) == ['ACCEPTED', 'REACHED']
    assert reasons(arm, moving)[-1] in ('SUPERSEDED', 'REACHED')
    assert np.abs(latest(arm) - READY).max() < 2e-3
    no_kick(arm)


def test_stop(arm, moving):
    """Rest within its limits, and stays."""
    response = arm.call(arm.stop)
    assert response.success
    assert reasons(arm, moving)[-1] in ('STOPPED', 'REACHED')
    speeds = [np.abs(message.velocity).max() for _, message in arm.states]
    arm.wait(lambda: np.abs(arm.states[-1][1].velocity).max() < 1e-3)
    assert max(speeds) < 0.51 * 4.4
    no_kick(arm)
    before = latest(arm)
    arm.spin_for(0.3)
    assert np.abs(latest(arm) - before).max() < 1e-3
