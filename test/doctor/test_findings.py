# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What ik_doctor concludes from observations that are hard to come by over DDS."""

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
import robots
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from ik_node.doctor.command import diagnose
from ik_node.doctor.observations import End, Heard, Observations, Topic

NAME = '/ik_node'
ARM = {'urdf_file': str(robots.ARMS['six_axis_arm'].path)}
SIMULATED = {**ARM, 'use_sim_time': True}
# A slide and a joint that turns; upper and velocity limit of the slide are for the test to give.
SLIDE = """
<robot name="slide">
  <link name="base"/><link name="carriage"/><link name="tip"/>
  <joint name="slide" type="prismatic">
    <parent link="base"/><child link="carriage"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="{}" velocity="{}" effort="1"/>
  </joint>
  <joint name="turn" type="revolute">
    <parent link="carriage"/><child link="tip"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/>
  </joint>
</robot>"""


def found(check, namespace='', **seen):
    """Return what one check finds in observations of an active node, which has a robot."""
    return diagnose(Observations(NAME, namespace, 6.0, **{
        'nodes': [NAME], 'values': ARM, 'state': 'active', **seen}))[check]


def assert_only(findings, level, *words):
    """Assert that one thing was found, with these words, and what to do if there is."""
    finding, = findings
    assert finding.level.value == level, finding
    assert all(word in f'{finding.what}; {finding.remedy}' for word in words), finding
    assert bool(finding.remedy) == (level in ('warning', 'problem')), finding


def answer(state, reason, sentence=''):
    """Return what a node says about a goal."""
    return DiagnosticStatus(message=sentence, values=[
        KeyValue(key='state', value=state), KeyValue(key='reason', value=reason)])


def heard(message, at=0.0):
    """Return a message that came at some time."""
    return Heard(message, at, at, None)


# ---- the node ---------------------------------------------------------------

def test_no_ik_node_at_all():
    """There is none to name, so it is to be started."""
    assert_only(found('node', nodes=['/driver'], values=None, state=''), 'problem',
                'there is no node /ik_node', 'start it: ros2 run ik_node ik_node')


def test_another_ik_node():
    """It is named, and what is no ik_node is not."""
    finding, = found('node', nodes=['/driver', '/left/ik_node'], values=None, state='')
    assert finding.remedy == 'name it: --node /left/ik_node'


def test_no_state_was_told():
    """Nothing is concluded from it."""
    assert_only(found('lifecycle', state=''), 'skipped', 'has not told its state')


@pytest.mark.parametrize('state', ['finalized', 'activating', 'errorprocessing'])
def test_other_states(state):
    """To wait, or to start it again."""
    assert_only(found('lifecycle', state=state), 'problem', f'{NAME} is {state}',
                'wait', 'start it again')


@pytest.mark.parametrize('seen, level', [
    ({}, 'problem'), ({'state': 'inactive'}, 'problem'), ({'state': 'unconfigured'}, 'skipped'),
    ({'values': None}, 'skipped')], ids=['active', 'inactive', 'unconfigured', 'no answer'])
def test_nothing_on_diagnostics(seen, level):
    """From a node that would say something it is a problem."""
    words = ['preparing its solver', 'log'] if level == 'problem' else []
    assert_only(found('health', **seen), level, 'nothing from the node on /diagnostics', *words)


# ---- the last goals ---------------------------------------------------------

def test_the_last_goal_was_reached():
    """It is well, whatever came before; goals under way are not counted."""
    assert_only(found('goals', statuses=[
        answer('rejected', 'OUT_OF_REACH'), answer('reached', 'NONE'),
        answer('accepted', 'ACCEPTED')]), 'ok', 'the last 2: 1 rejected, 1 reached')


@pytest.mark.parametrize('reason, meaning', [
    ('OUT_OF_REACH', 'the goal is farther'), ('OF_A_NEWER_NODE', 'OF_A_NEWER_NODE')])
def test_the_last_goal_failed(reason, meaning):
    """A reason that is not known here is told as it came."""
    assert_only(found('goals', statuses=[
        answer('reached', 'NONE'), answer('failed', reason, 'as the node says it')]), 'warning',
        f'failed ({reason}): as the node says it', f'it means: {meaning}')


# ---- controller, QoS, time --------------------------------------------------

@pytest.mark.parametrize('servers, level, words', [
    (0, 'problem', 'nobody serves the action /arm/follow'),
    (1, 'ok', 'the action /arm/follow is served'),
    (3, 'warning', '3 serve the action /arm/follow; end all but one')])
def test_servers_of_the_action(servers, level, words):
    """One is as it should be."""
    assert_only(found('controller', values={**ARM, 'output': 'action'}, action='/arm/follow',
                      servers=servers), level, words)


def test_qos():
    """What does not fit is told of the topics of the node alone; none are known at times."""
    assert_only(found('QoS'), 'skipped', 'the topics of the node are not known')
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    ends = (End('/other', 'a/B', QoSProfile(depth=1)),), (End('/third', 'a/B', latched),)
    assert_only(found('QoS', topics=[Topic('/t', *ends)]), 'ok', 'compatible on all 1 topics')
    mine = (End('/other', 'a/B', QoSProfile(depth=1)),), (End(NAME, 'a/B', latched),)
    assert_only(found('QoS', topics=[Topic('/t', *ends), Topic('/u', *mine)]), 'problem',
                'nothing on /u gets from /other to /ik_node')


@pytest.mark.parametrize('times, words', [
    ([], 'no time has arrived on /clock'), ([5], '/clock has come only once'),
    ([5, 5], '/clock stands at 5 s')])
def test_a_clock_that_does_not_run(times, words):
    """Simulated time needs a clock that goes on."""
    assert_only(found('clock', values=SIMULATED, clock=[
        heard(Clock(clock=Time(sec=sec))) for sec in times]), 'problem', words)


def test_nothing_with_a_stamp():
    """Clocks cannot be compared; with one message they can."""
    assert_only(found('clock'), 'skipped', 'nothing with a stamp was heard')
    state = JointState()
    state.header.stamp.sec = 1000
    assert_only(found('clock', states=[heard(state, 1000.1)]), 'ok', 'system time')
    health = DiagnosticArray()
    health.header.stamp.sec = 1000
    assert_only(found('clock', health=[heard(health, 1002.0)]), 'problem',
                'the clock of the node is 2.0 s behind ours')


# ---- description and limits -------------------------------------------------

def test_a_description_whose_source_is_not_known():
    """A node that does not answer may have it from a parameter."""
    topic = Topic('/robot_description')
    assert_only(found('description', values=None, description_topic=topic), 'skipped',
                'has not told where its description comes from')
    assert_only(found('description', values={}, description_topic=topic), 'problem',
                'no robot description on /robot_description', 'nobody publishes it')


def test_a_bad_description_in_a_parameter():
    """Its size and why are told; it goes before the file, as in the node."""
    assert_only(found('description', values={**ARM, 'robot_description': '<robot'}), 'problem',
                'the parameter robot_description (6 bytes) is not usable: not a URDF')
    assert_only(found('description', values={
        **ARM, 'robot_description': SLIDE.format(0.5, 1.0), 'tip_link': 'tip'}), 'ok',
        "'slide' from the parameter robot_description", "'base' to 'tip' by 'slide', 'turn'")


@pytest.mark.parametrize('kind, odd', [
    ('acceleration', 2000.0), ('acceleration', 0.001), ('jerk', 1e7), ('jerk', 0.01)])
def test_odd_limits(kind, odd):
    """Of one joint; it is named, and the parameter."""
    name = f'motion.{kind}_limits'
    plausible = [100.0] * 6
    assert_only(found('limits', values={**ARM, name: plausible}), 'ok', 'plausible')
    assert_only(found('limits', values={**ARM, name: [*plausible[:5], odd]}), 'warning',
                f"the {kind} limit of joint 'joint_6' is {odd:g}", f'or by {name}')


@pytest.mark.parametrize('upper, velocity, words', [
    (500, 0.2, "joint 'slide' slides from 0 to 500 m; give its limits in m"),
    (0.5, 200, "the velocity limit of joint 'slide' is 200; give rad or m")],
    ids=['position', 'velocity'])
def test_limits_in_millimetres(upper, velocity, words):
    """Half a metre is well, 500 m are not."""
    values = {'tip_link': 'tip', 'motion.acceleration_limits': [10.0],
              'motion.jerk_limits': [10.0]}
    assert_only(found('limits', values={
        **values, 'robot_description': SLIDE.format(0.5, 0.2)}), 'ok', 'plausible')
    assert_only(found('limits', values={
        **values, 'robot_description': SLIDE.format(upper, velocity)}), 'warning', words)


# ---- a controller elsewhere, and joint states of another robot -------------------------

def listening(name, node='/joint_trajectory_controller'):
    """Return a topic on which a controller takes trajectories."""
    return Topic(name, (), (End(node, 'trajectory_msgs/msg/JointTrajectory',
                                QoSProfile(depth=1)),))


@pytest.mark.parametrize('namespace, values, heard_on, remedy', [
    ('', {}, '/arm_controller/joint_trajectory', 'set controller:=arm_controller'),
    ('', {}, '/left/arm/joint_trajectory', 'set controller:=left/arm'),
    ('', {'controller': 'arm'}, '/joint_trajectory', 'set controller to an empty string'),
    ('/left', {}, '/left/arm/joint_trajectory', 'set controller:=arm'),
    ('/left', {}, '/right/arm/joint_trajectory',
     'remap: -r /left/joint_trajectory:=/right/arm/joint_trajectory'),
    ('', {}, '/trajectories', 'remap: -r /joint_trajectory:=/trajectories')])
def test_a_controller_listens_elsewhere(namespace, values, heard_on, remedy):
    """Who listens, on which topic, and what to set so that it gets the trajectories."""
    assert_only(found('controller', values={**ARM, **values}, namespace=namespace,
                      trajectory_topic=Topic(f'{namespace}/joint_trajectory'),
                      other_trajectory_topics=[listening(heard_on)]), 'problem',
                f'nobody takes trajectories on {namespace}/joint_trajectory, but '
                f'/joint_trajectory_controller listens on {heard_on}', remedy)


def test_other_topics_are_not_told_where_a_controller_listens():
    """Of two arms each has its own."""
    assert_only(found('controller', trajectory_topic=listening('/joint_trajectory'),
                      other_trajectory_topics=[listening('/arm/joint_trajectory')]), 'ok',
                '/joint_trajectory_controller listens on /joint_trajectory')


def test_an_action_is_served_elsewhere():
    """The parameter that names its controller."""
    assert_only(found('controller', values={**ARM, 'output': 'action'},
                      action='/follow_joint_trajectory',
                      other_actions=['/arm_controller/follow_joint_trajectory']), 'problem',
                'nobody serves the action /follow_joint_trajectory, but '
                '/arm_controller/follow_joint_trajectory is served',
                'set controller:=arm_controller')


@pytest.mark.parametrize('names, hint', [
    (['shoulder_pan', 'elbow'], 'of this arm'),
    ([f'left_joint_{k}' for k in range(1, 7)], "; the URDF lacks the prefix 'left_'")])
def test_joint_states_of_another_robot(names, hint):
    """Both are named, and a prefix by which they differ; it is told once."""
    message = JointState(name=names, position=[0.0] * len(names))
    message.header.stamp.sec = 1
    seen = {'states': [heard(message, 0.02 * k) for k in range(100)],
            'states_topic': Topic('/joint_states', (End('/driver', '', QoSProfile(depth=1)),)),
            'end': 2.0}
    finding, = found('joint states', **seen)
    assert finding.level.value == 'problem' and finding.remedy.endswith(hint)
    assert f"are those of another robot: they name '{names[0]}', '{names[1]}'" in finding.what
    assert "the arm has 'joint_1', 'joint_2'" in finding.what
    assert 'load the URDF of the robot that runs' in finding.remedy
    assert_only(found('state source', **seen), 'ok', '/driver, 50 Hz')


def test_one_joint_of_the_arm_is_enough():
    """Then others are missing, and the robot is not another one."""
    message = JointState(name=['joint_1', 'finger'], position=[0.0, 0.0])
    finding, = found('joint states', states=[heard(message)], end=0.1)
    assert 'another robot' not in finding.what and "lack 'joint_2'" in finding.what
