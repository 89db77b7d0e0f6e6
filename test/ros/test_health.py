# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What /diagnostics says of a real node: every level, at its threshold, and back."""

import math
import signal

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from harness import ARM, COLD_START, MODEL, NAMES, Probe, process, READY, ROOT
import numpy as np
import pytest
from rclpy.qos import QoSProfile
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from ik_node.node.state.health_checks import Check, verdict
from scripts.reference import with_checks

HEALTH = '/ik_node: health'
OK, WARN, ERROR, STALE = b'\x00', b'\x01', b'\x02', b'\x03'
AT_LIMIT = [*READY[:1], MODEL.upperPositionLimit[1] - 0.01, *READY[2:]]
OUTSIDE = [*READY[:1], MODEL.upperPositionLimit[1] + 0.1, *READY[2:]]
SINGULAR = [*READY[:4], 0.0, READY[5]]
LONG_NAME = 10_000 * 'x'  # 3,000 goals with it are more than a socket holds (loopback.xml)


class Arm(Probe):
    """Stands where it is told, as joint states say, and listens."""

    def __init__(self) -> None:
        super().__init__()
        self.posture: list[float] | None = None
        self.velocity = 0.0
        self.create_timer(0.05, self._publish)

    def _publish(self) -> None:
        if self.posture is not None:
            self.publish_state(NAMES, self.posture, [self.velocity, *[0.0] * 5])

    def says(self, level: bytes, *words: str, meanwhile=lambda: None) -> str:
        """Wait until the node says so; return the message."""
        def said() -> bool:
            meanwhile()
            status = self.health.get(HEALTH)
            return status is not None and status.level == level \
                and all(word in status.message for word in words)

        self.wait(said, 60.0, f'{level} with {words} (heard: {self.health.get(HEALTH)})')
        return self.health[HEALTH].message

    def figure(self, key: str) -> float:
        """Return a figure of the last report."""
        return float(next(pair.value for pair in self.health[HEALTH].values if pair.key == key))


@pytest.fixture(scope='module')
def arm(tmp_path_factory, recorded):
    """Run a node that has everything it needs, one after the other."""
    probe = Arm()
    with process('ik_node', tmp_path_factory.mktemp('health'),
                 {'diagnostics.heartbeat_late': 60.0}) as probe.node:
        probe.wait_for_node()
        probe.says(WARN, 'no robot description: ', 'robot_state_publisher')
        probe.descriptions.publish(String(data=ARM.read_text()))
        probe.wait(lambda: 'ready for goals' in probe.node.output, COLD_START)
        probe.says(STALE, 'missing or old', '1 publisher on /joint_states', 'broadcaster')
        probe.posture = READY
        probe.says(WARN, 'nobody listens on /joint_trajectory', 'start the controller')
        probe.create_subscription(JointTrajectory, 'joint_trajectory', lambda _: None, 10)
        assert probe.says(OK) == 'ready'
        yield probe
    probe.destroy_node()


@pytest.fixture
def ready(arm):
    """Return the arm at a good posture, and bring it back there."""
    yield arm
    arm.posture, arm.velocity = READY, 0.0
    assert arm.says(OK) == 'ready'


@pytest.mark.parametrize('posture, level, words, parameter, other', [
    (AT_LIMIT, WARN, ('ready, but', "'joint_2' stands 0.01 rad from its limit",
                      'threshold is 0.05 rad'), 'markers.limit_margin', 0.005),
    (SINGULAR, WARN, ('ready, but', 'singular', 'threshold is 0.03'),
     'markers.singular_value', 0.0),
    (OUTSIDE, ERROR, ("'joint_2' stands at 2.3, 0.1 rad outside", 'threshold is 0.02 rad',
                      'bring it back by hand'), 'motion.start_tolerance', 0.2)])
def test_a_posture_is_judged_by_its_thresholds(ready, posture, level, words, parameter, other):
    """The level changes with the posture, and with the threshold alone."""
    row = next(check for check in Check if check.threshold == parameter)
    assert row.level == level
    ready.posture = posture
    ready.says(level, *words)
    default = {'markers.limit_margin': 0.05, 'markers.singular_value': 0.03,
               'motion.start_tolerance': 0.02}[parameter]
    assert ready.set_parameters('/ik_node', {parameter: other}).successful
    if posture is OUTSIDE:
        ready.says(WARN, 'ready, but', 'from its limit')
    else:
        assert ready.says(OK) == 'ready'
    assert ready.set_parameters('/ik_node', {parameter: default}).successful
    ready.says(level, *words)


def test_home_is_no_warning(ready):
    """An arm that stands in its preferred posture is where it should be, also if singular."""
    ready.posture = SINGULAR
    ready.says(WARN, 'singular')
    assert ready.set_parameters('/ik_node', {'solver.preferred_positions': SINGULAR}).successful
    assert ready.says(OK) == 'ready' and ready.figure('smallest_singular_value') < 0.03
    ready.posture = [*SINGULAR[:5], SINGULAR[5] + 0.1]
    ready.says(WARN, 'singular')
    middle = (0.5 * (MODEL.lowerPositionLimit + MODEL.upperPositionLimit)).tolist()
    assert ready.set_parameters('/ik_node', {'solver.preferred_positions': middle}).successful


def test_readiness_is_reported_at_once(ready):
    """By the stamps of the reports, which are a second apart while nothing changes."""
    stamps = []
    listener = ready.create_subscription(
        DiagnosticArray, '/diagnostics', lambda array: stamps.append(
            array.header.stamp.sec + 1e-9 * array.header.stamp.nanosec), 100)
    for _ in range(3):
        ready.velocity = 100.0
        ready.says(ERROR, 'reports a velocity of 100')
        ready.velocity = 0.0
        ready.says(OK)
    ready.destroy_subscription(listener)
    assert np.diff(stamps).min() < 0.5


def test_joint_states_that_stop_are_stale(ready):
    """With their age, the threshold, and who should send them."""
    ready.posture = None
    ready.says(STALE, 's old, at most 0.5 s are allowed', '1 publisher on /joint_states')


def test_joint_states_without_sense_are_an_error(ready):
    """Left out at first, then there are none."""
    ready.posture = [math.nan, *READY[1:]]
    ready.says(ERROR, "'joint_1' is nan")
    assert ready.figure('joint_state_messages_left_out') > 0
    ready.posture, ready.velocity = READY, 100.0
    ready.says(ERROR, "'joint_1' reports a velocity of 100")


def test_a_message_left_out_is_a_warning(ready):
    """Until none has been for a second."""
    ready.says(WARN, 'ready, but', 'joint state messages were left out', '5 positions',
               meanwhile=lambda: ready.publish_state(NAMES, READY[:5]))


def test_slow_solves_are_a_warning(ready):
    """By the 99th percentile of the last minute."""
    assert ready.final(ready.send((0.3, 0.0, 0.02)))['state'] == 'rejected'
    assert ready.set_parameters('/ik_node', {'diagnostics.solve_time': 1e-4}).successful
    ready.says(WARN, 'ready, but', 'one in a hundred of the last', 'threshold is 0.1 ms')
    assert ready.figure('solve_time_ms_p99') > 0.1
    assert ready.set_parameters('/ik_node', {'diagnostics.solve_time': 10.0}).successful


def test_goals_that_fail_are_a_warning(ready):
    """Counted one after the other, until one is reached."""
    assert ready.set_parameters('/ik_node', {'watch.start_timeout': 0.1}).successful
    assert ready.figure('failed') == 0
    for _ in range(3):
        ready.health.clear()  # what was said before the last failure does not count
        ready.says(OK)
        answer = ready.final(ready.send_joints([0.5, *READY[1:]]))
        assert (answer['state'], answer['reason']) == ('failed', 'NOT_MOVING')
    ready.says(WARN, 'the last 3 goals', 'threshold is 3')
    assert ready.figure('failed') == 3
    assert ready.final(ready.send_joints(READY))['state'] == 'reached'
    assert ready.set_parameters('/ik_node', {'watch.start_timeout': 1.0}).successful


def test_a_node_that_is_not_active_is_a_warning(ready):
    """With the command that makes it active."""
    assert ready.change_state('deactivate')
    ready.says(WARN, 'ros2 lifecycle set /ik_node activate')
    assert ready.change_state('activate')


@pytest.mark.fault('time and load', 'the node is too busy',
                   'a warning on /diagnostics, with how late it was')
def test_late_callbacks_are_a_warning(ready):
    """A process that was stopped is as late as it was stopped."""
    # Meanwhile the joint states become old, too.
    changed = {'diagnostics.heartbeat_late': 0.25, 'state.timeout': 60.0}
    assert ready.set_parameters('/ik_node', changed).successful
    ready.node.send(signal.SIGSTOP)
    ready.spin_for(1.5)
    ready.node.send(signal.SIGCONT)
    ready.says(WARN, 'ready, but', 'ms late', 'threshold is 250 ms')
    assert ready.figure('heartbeat_late_ms_max') > 1000.0
    assert ready.set_parameters('/ik_node', {
        'diagnostics.heartbeat_late': 60.0, 'state.timeout': 0.5}).successful


@pytest.mark.fault('time and load', 'a sender overwrites its own goals, its queue being too short',
                   'counted as goals_lost, with an error on the log')
def test_goals_that_a_short_queue_loses_are_counted(ready):
    """What a sender overwrites before the node has it: as many as never came."""
    sender = ready.create_publisher(PoseStamped, '/ik_node/goal_pose', QoSProfile(depth=1))
    ready.wait(lambda: HEALTH in ready.health)
    # Old joint states would hide that, in the one report that says it.
    assert ready.set_parameters('/ik_node', {'state.timeout': 60.0}).successful
    came, lost = ready.figure('goals'), ready.figure('goals_lost')
    goal = PoseStamped()
    goal.pose.position.x = math.nan
    goal.header.frame_id = LONG_NAME
    early = 0

    def known() -> bool:
        nonlocal early
        early += 1
        sender.publish(goal)
        return ready.figure('goals') > came

    ready.wait(known, what='a node that knows the sender')
    ready.node.send(signal.SIGSTOP)
    for _ in range(3000):
        sender.publish(goal)
    ready.node.send(signal.SIGCONT)
    ready.says(WARN, 'ready, but', 'goals were lost', 'queue of greater depth')

    def there_or_lost() -> float:
        return ready.figure('goals') - came + ready.figure('goals_lost') - lost

    # Fast DDS itself counts a few too little.
    ready.wait(lambda: 2950 <= there_or_lost() <= 3000 + early, 30.0, 'all goals, there or lost')
    assert ready.figure('goals_lost') - lost > 0
    assert ready.set_parameters('/ik_node', {'state.timeout': 0.5}).successful
    ready.destroy_publisher(sender)


def test_the_worst_comes_first():
    """Its level counts; all sentences are there."""
    level, message = verdict([Check.SINGULAR.found('b'), Check.OUT_OF_LIMITS.found('a')])
    assert level == ERROR and message.index('a;') < message.index('b;')
    assert [check.refuses for check in Check] == sorted(
        (check.refuses for check in Check), reverse=True)


def test_the_document_is_made_from_the_table():
    """Every check, with its threshold as the parameters have it."""
    text = (ROOT / 'docs/reference/diagnostics.md').read_text()
    assert text == with_checks(text), 'run: python scripts/reference.py'
    assert all(check.when in text for check in Check)
