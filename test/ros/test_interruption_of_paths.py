# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""New goals and stops on lines and on long motions, and what a new goal is sent with."""

from harness import path_of, pose, READY, reasons, seconds, stamp_of, tip
from kicks import no_kick
import numpy as np
import pytest

pytestmark = pytest.mark.real_time
NODE_LIMITS = {}  # those of the node by default

AWAY = np.array([1.8, 0.1, -0.6, 0.3, 1.2, 0.5])
HERE = tip(READY).translation


@pytest.fixture(params=[False, True], ids=['from measured', 'from desired'])
def controller(request, arm):
    """Let it begin where the lagging arm is measured, or where it was commanded."""
    arm.change('/sim_controller', interpolate_from_desired_state=request.param, following__lag=0.1)


@pytest.mark.fault('goals', 'in motion, a goal whose trajectory has hundreds of points',
                   'it begins on the motion all the same, and so does a stop of it')
@pytest.mark.nightly
def test_a_long_motion(arm, controller):
    """One of a minute, planned with a scale lowered in motion, takes over, and is stopped."""
    arm.send_joints(AWAY)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 1.0)
    arm.change('/ik_node', motion__velocity_scale=0.01)
    second = arm.send_joints(READY)
    arm.wait(lambda: arm.answers(second))
    arm.spin_for(0.25)
    assert arm.call(arm.stop).success
    assert reasons(arm, second) == ['ACCEPTED', 'STOPPED']
    arm.wait(lambda: np.abs(arm.states[-1][1].velocity).max() < 1e-3)
    no_kick(arm)


def test_the_present_motion_is_sent_along(arm):
    """A takeover has a stamp in the past, and the present motion's own points since then."""
    arm.change('/ik_node', motion__sample_period=0.002)  # so that it has points since then
    arm.send_joints(AWAY)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 1.0)
    seen = len(arm.trajectories)
    assert reasons(arm, arm.send_joints(READY)) == ['ACCEPTED', 'REACHED']
    before, after = arm.trajectories[seen - 1:seen + 1]
    between = stamp_of(after) - stamp_of(before)
    times = np.array([seconds(point.time_from_start) for point in after.points])
    assert 0.5 < between < 5.0 and times[0] < 2e-3
    own = {round(seconds(point.time_from_start) - between, 6) for point in before.points}
    assert sum(round(t, 6) in own for t in times[times < 0.1]) >= 3


@pytest.mark.nightly
def test_clocks_that_do_not_agree(arm):
    """Joint states are too old to show it: a goal in motion waits for rest, and says why."""
    arm.change('/sim_controller', measuring__delay=0.2)
    arm.wait(lambda: len(arm.states) > 400)  # twice as many as the node remembers
    first = arm.send_joints(AWAY)
    arm.wait(lambda: arm.answers(first))
    second = arm.send_joints(READY)
    assert reasons(arm, first) == ['ACCEPTED', 'REACHED']
    assert reasons(arm, second) == ['ACCEPTED', 'REACHED']
    accepted = arm.answers(second)[0]
    assert 'wait for rest' in accepted['message'] and 'clock' in accepted['began_at_rest_because']
    for stamp in (first, second):
        assert arm.answers(stamp)[-1]['state'] == 'reached'
    assert all(stamp_of(message) == 0.0 for message in arm.trajectories)


def test_motions_that_take_long_to_plan(arm):
    """A path of so many poses that the arm would be elsewhere: it is brought to rest first."""
    arm.send_joints(AWAY)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 1.0)
    turns = np.linspace(0.0, 10.0 * np.pi, 399)
    circles = HERE + 0.05 * np.array([0.0 * turns, np.sin(turns), 1.0 - np.cos(turns)]).T
    goal = path_of(pose(HERE), *map(pose, circles))
    stamp = arm.send_goal('path', goal)
    # The ramp may be sent several times.
    arm.wait(lambda: arm.answers(stamp) and len(
        {str(sent.header.stamp) for sent in arm.trajectories}) == 3)
    ramp, *_, motion = arm.trajectories[1:]
    assert len(motion.points) > 3000 > 500 > len(ramp.points)
    # Each begins where the arm is then, as conftest.py looks at.
    assert not np.any(ramp.points[-1].velocities)
    assert np.allclose(motion.points[0].positions, ramp.points[-1].positions, atol=1e-3)
    arm.wait(lambda: arm.call(arm.stop).success, what='a stop')  # not by a node that is late
    assert reasons(arm, stamp) == ['ACCEPTED', 'STOPPED']
