# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a parameter of the node changes in a running system, where the library cannot show it."""

from types import SimpleNamespace

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from harness import ARM, DOWN, NAMES, pose, process, READY, seconds, stamp_of
from nightly import usual_first
import numpy as np
import pytest
from streams import HERE, stream_answer

from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.node.goals.queue import GoalQueue
from ik_node.node.robot.settings import make_settings
from ik_node.node.state.frames import NotYet
from ik_node.ros.parameters.tables import IK_NODE


@pytest.mark.parametrize('rate', usual_first(1, [5.0, 50.0]))
def test_tip_pose_rate(tmp_path, probe, rate):
    """As many tip poses arrive per second, by their stamps; before there is another node."""
    probe.watch_motion()
    with process('ik_node', tmp_path, {'urdf_file': ARM, 'tip_pose_rate': rate}):
        probe.wait_for_node()
        timer = probe.create_timer(0.005, lambda: probe.publish_state(NAMES, READY))
        probe.wait(lambda: len(probe.tip_poses) > 10, 30.0, 'tip poses')
        probe.destroy_timer(timer)
    gaps = np.diff([stamp_of(message) for message in probe.tip_poses])
    assert np.median(gaps) == pytest.approx(1.0 / rate, rel=0.5)


def test_goal_max_age(arm):
    """A goal of two seconds ago is taken by default, and with a lower bound it is not."""
    def answer(height):
        now = arm.get_clock().now().to_msg()
        return arm.final(arm.send((0.4, 0.1, height), DOWN, stamp=Time(
            sec=now.sec - 2, nanosec=now.nanosec)))['reason']

    assert answer(0.4) == 'REACHED'
    arm.change('/ik_node', goal__max_age=1.0)
    assert answer(0.42) == 'GOAL_STALE'


def kept(arm, handover_time) -> float:
    """Return how long (s) a motion is kept when another goal comes."""
    arm.change('/ik_node', motion__handover_time=handover_time)
    assert arm.final(arm.send_joints(READY))['state'] == 'reached'
    arm.trajectories.clear()
    arm.change('/ik_node', motion__velocity_scale=0.2)
    arm.send_joints(np.array(READY) + [1.2, 0.0, 0.0, 0.0, 0.0, 0.0])
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 0.3)
    stamp = arm.send_joints(READY)
    assert arm.final(stamp)['reason'] == 'REACHED'
    old, new = arm.trajectories[:2]
    times = np.array([seconds(point.time_from_start) for point in new.points])
    from scipy.interpolate import CubicHermiteSpline
    there = CubicHermiteSpline([seconds(point.time_from_start) for point in old.points],
                               [point.positions for point in old.points],
                               [point.velocities for point in old.points])
    beside = np.abs(there(times + stamp_of(new) - stamp_of(old))
                    - [point.positions for point in new.points]).max(1)
    return times[int(np.argmax(beside > 1e-3))]


def test_motion_handover_time(arm):
    """For so long the new trajectory is on the old one."""
    short, long = kept(arm, 0.05), kept(arm, 0.5)
    assert long > 0.5 and long - short > 0.3  # both are longer by the delivery that was measured


def test_stream_stamped(arm):
    """Trajectories of a stream say when they begin, or begin on arrival."""
    for stamps in (True, False):
        arm.change('/ik_node', stream__stamped=stamps, stream__timeout=1.0)
        arm.trajectories.clear()
        target = PoseStamped(pose=pose(HERE.translation + [0.0, 0.02, 0.0]))
        sent = []
        while len(arm.trajectories) < 10:
            sent.append(arm.send_goal('stream', target))
            arm.spin_for(0.02)
        assert all((message.header.stamp.sec > 0) is stamps for message in arm.trajectories)
        assert stream_answer(arm, sent)['reason'] == 'STREAM_ENDED'


@pytest.mark.nightly
def test_diagnostics_failures(arm):
    """Health warns after so many goals that were begun and not reached, and not before."""
    def fail():
        answer = arm.final(arm.send_joints(np.array(READY) + 0.1))
        assert answer['state'] == 'failed', answer

    arm.change('/sim_controller', silent=True)
    for allowed in (2, 1):
        arm.change('/ik_node', diagnostics__failures=3 * allowed)
        fail()
        arm.health.clear()
        arm.wait(lambda: '/ik_node: health' in arm.health)
        assert 'goals that were begun failed' not in arm.health['/ik_node: health'].message
    arm.change('/ik_node', diagnostics__failures=2)
    arm.wait_for_health(DiagnosticStatus.WARN, 'the last 2 goals that were begun failed',
                        'the threshold is 2')


@pytest.mark.parametrize('timeout', [0.0, 0.4])
def test_goal_tf_timeout(probe, timeout):
    """A goal in a frame that TF does not know is refused after so long."""
    chain = make_chain(read_urdf(ARM))
    settings = make_settings({**{row.name: row.default for row in IK_NODE},
                              'goal.tf_timeout': timeout}, chain)
    goals = GoalQueue(probe, SimpleNamespace(require=lambda: SimpleNamespace(settings=settings)),
                      SimpleNamespace(require=lambda: None),
                      SimpleNamespace(require_none=lambda: None, another_answers=lambda: False))
    task, clock, tries = goals.new(Time()), probe.get_clock(), 0

    def step():
        nonlocal tries
        tries += 1
        raise NotYet('TF cannot connect it')

    began = clock.now()
    goals.attempt(task, step)
    probe.wait(lambda: task.final, what='the refusal')
    assert timeout <= 1e-9 * (clock.now() - began).nanoseconds
    assert (tries == 1) == (timeout == 0.0)
