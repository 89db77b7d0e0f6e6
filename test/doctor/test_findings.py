# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What ik_doctor concludes from what it has observed."""

import json
from math import nan

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
import robots
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from ik_node.ros.controller_manager import LIST_SERVICE, prefix_of, service_of
from ik_node.tools.doctor import command
from ik_node.tools.doctor.command import diagnose, report
from ik_node.tools.doctor.observations import End, Heard, Observations, Topic

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


def health(**values):
    """Return a report of the node with these values."""
    return heard(DiagnosticArray(status=[DiagnosticStatus(
        name=f'{NAME}: health', message='ready',
        values=[KeyValue(key=key, value=value) for key, value in values.items()])]))


def stamped(message):
    """Return a message with a stamp."""
    message.header.stamp.sec = 1000
    return message


def listening(name, node='/joint_trajectory_controller'):
    """Return a topic on which a controller takes trajectories."""
    return Topic(name, (), (End(node, 'trajectory_msgs/msg/JointTrajectory',
                                QoSProfile(depth=1)),))


LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
VOLATILE = (End('/other', 'a/B', QoSProfile(depth=1)),)
OF_OTHERS = Topic('/t', VOLATILE, (End('/third', 'a/B', LATCHED),))
OF_THE_NODE = Topic('/u', VOLATILE, (End(NAME, 'a/B', LATCHED),))
DESCRIPTION = Topic('/robot_description')
GONE = {'values': None, 'state': ''}
BY_ACTION = {'values': {**ARM, 'output': 'action'}, 'action': '/arm/follow'}


@pytest.mark.parametrize('check, seen, level, words', [
    ('collisions', {'health': [health()]}, 'skipped', ('has not told',)),
    ('collisions', {'health': [health(not_checked='', contact='')]}, 'ok', ('every link',)),
    ('collisions', {'health': [health(
        not_checked="1 of 7 links is not checked: 'hand', because x", contact='')]}, 'warning',
     ("'hand'", 'mesh_paths')),
    ('collisions', {'health': [health(
        not_checked='', contact="'link_1' and 'table' overlap by 3.0 mm")]}, 'problem',
     ('where the arm stands', "'table' overlap by 3.0 mm", 'jog the arm out')),
    ('collisions', {'values': {**ARM, 'collision.check': False},  # which is no fault
                    'health': [health(not_checked='no link is checked')]}, 'skipped',
     ('no link is checked',)),
    ('node', {**GONE, 'nodes': ['/driver']}, 'problem', (
        'there is no node /ik_node', 'start it: ros2 run ik_node ik_node')),
    ('environment', {'nodes': [], 'domain': 7, 'domains': [3, 7, 12]}, 'problem', (
        'no node at all is heard (ROS_DOMAIN_ID 7', 'the domains 3, 12 are in use', 'RMW')),
    ('lifecycle', {'state': ''}, 'skipped', ('has not told its state',)),
    *(('lifecycle', {'state': state}, 'problem', (f'{NAME} is {state}', 'wait', 'start it again'))
      for state in ('finalized', 'activating', 'errorprocessing')),
    *(('health', seen, 'problem', ('nothing from the node on /diagnostics',
                                   'preparing its solver', 'log'))
      for seen in ({}, {'state': 'inactive'})),
    *(('health', seen, 'skipped', ('nothing from the node on /diagnostics',))
      for seen in ({'state': 'unconfigured'}, {'values': None})),
    # Earlier failures are no warning; goals under way are not counted.
    ('goals', {'statuses': [answer('rejected', 'OUT_OF_REACH'), answer('reached', 'NONE'),
                            answer('accepted', 'ACCEPTED')]}, 'ok',
     ('the last 2: 1 rejected, 1 reached',)),
    # An unknown reason is repeated as it is.
    *(('goals', {'statuses': [answer('reached', 'NONE'),
                              answer('failed', reason, 'as the node says it')]}, 'warning',
       (f'failed ({reason}): as the node says it', f'it means: {meaning}'))
      for reason, meaning in (('OUT_OF_REACH', 'the goal is farther'),
                              ('OF_A_NEWER_NODE', 'OF_A_NEWER_NODE'))),
    ('controller', BY_ACTION, 'problem', ('nobody serves the action /arm/follow',)),
    ('controller', {**BY_ACTION, 'servers': 1}, 'ok', ('the action /arm/follow is served',)),
    ('controller', {**BY_ACTION, 'servers': 3}, 'warning', (
        '3 serve the action /arm/follow; end all but one',)),
    ('controller', {**BY_ACTION, 'action': '/follow_joint_trajectory',
                    'other_actions': ['/arm_controller/follow_joint_trajectory']}, 'problem', (
        'nobody serves the action /follow_joint_trajectory, but '
        '/arm_controller/follow_joint_trajectory is served', 'set controller:=arm_controller')),
    # With a listener of its own, an arm has no finding about others.
    ('controller', {'trajectory_topic': listening('/joint_trajectory'),
                    'other_trajectory_topics': [listening('/arm/joint_trajectory')]}, 'ok',
     ('/joint_trajectory_controller listens on /joint_trajectory',)),
    ('QoS', {}, 'skipped', ('the topics of the node are not known',)),
    ('QoS', {'topics': [OF_OTHERS]}, 'ok', ('compatible on all 1 topics',)),
    ('QoS', {'topics': [OF_OTHERS, OF_THE_NODE]}, 'problem', (
        'nothing on /u gets from /other to /ik_node',)),
    ('clock', {}, 'skipped', ('nothing with a stamp was heard',)),
    ('clock', {'states': [heard(stamped(JointState()), 1000.1)]}, 'ok', ('system time',)),
    ('clock', {'health': [heard(stamped(DiagnosticArray()), 1002.0)]}, 'problem', (
        'the clock of the node is 2.0 s behind ours',)),
    # A node that does not answer may have its description from a parameter.
    ('description', {'values': None, 'description_topic': DESCRIPTION}, 'skipped', (
        'has not told where its description comes from',)),
    ('description', {'values': {}, 'description_topic': DESCRIPTION}, 'problem', (
        'no robot description on /robot_description', 'nobody publishes it')),
    ('description', {'values': {**ARM, 'robot_description': '<robot'}}, 'problem', (
        'the parameter robot_description (6 bytes) is not usable: not a URDF',)),
    ('description', {'values': {  # which has priority over the file
        **ARM, 'robot_description': SLIDE.format(0.5, 1.0), 'tip_link': 'tip'}}, 'ok', (
        "'slide' from the parameter robot_description", "'base' to 'tip' by 'slide', 'turn'")),
    ('joint states', {'states': [heard(JointState())], 'end': 0.1}, 'problem', (
        'the joint states name no joint', 'let them have the name and position of each'))])
def test_what_a_check_finds(check, seen, level, words):
    """One thing, with what to do if there is."""
    assert_only(found(check, **seen), level, *words)


def test_ik_node_of_another_name_is_suggested():
    """Only nodes that are an ik_node are suggested."""
    finding, = found('node', nodes=['/driver', '/left/ik_node'], values=None, state='')
    assert finding.remedy == 'name it: --node /left/ik_node'


@pytest.mark.parametrize('times, words', [
    ([], 'no time has arrived on /clock'), ([5], '/clock has come only once'),
    ([5, 5], '/clock stands at 5 s')])
def test_clock_that_does_not_run(times, words):
    """Simulated time needs a /clock that advances."""
    assert_only(found('clock', values=SIMULATED, clock=[
        heard(Clock(clock=Time(sec=sec))) for sec in times]), 'problem', words)


def test_late_messages_are_no_difference_of_clocks():
    """On a busy machine some come late; the one that was fastest shows the clock of its sender."""
    late = [heard(stamped(JointState()), 1000.0 + delay) for delay in (0.9, 0.1, 2.0)]
    assert_only(found('clock', states=late), 'ok', 'system time')
    assert_only(found('clock', states=late[::2]), 'warning', '0.9 s behind ours')


@pytest.mark.parametrize('kind, odd', [
    ('acceleration', 2000.0), ('acceleration', 0.001), ('jerk', 1e7), ('jerk', 0.01)])
def test_implausible_limits(kind, odd):
    """The joint and the parameter are named."""
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
    """A slide of half a metre is plausible, one of 500 m is not."""
    values = {'tip_link': 'tip', 'motion.acceleration_limits': [10.0],
              'motion.jerk_limits': [10.0]}
    assert_only(found('limits', values={
        **values, 'robot_description': SLIDE.format(0.5, 0.2)}), 'ok', 'plausible')
    assert_only(found('limits', values={
        **values, 'robot_description': SLIDE.format(upper, velocity)}), 'warning', words)


# ---- a controller elsewhere, and joint states of another robot -------------------------

@pytest.mark.parametrize('namespace, values, heard_on, remedy', [
    ('', {}, '/arm_controller/joint_trajectory', 'set controller:=arm_controller'),
    ('', {}, '/left/arm/joint_trajectory', 'set controller:=left/arm'),
    ('', {'controller': 'arm'}, '/joint_trajectory', 'set controller to an empty string'),
    ('/left', {}, '/left/arm/joint_trajectory', 'set controller:=arm'),
    ('/left', {}, '/right/arm/joint_trajectory', 'set controller:=/right/arm'),
    ('/left', {}, '/joint_trajectory', 'remap: -r /left/joint_trajectory:=/joint_trajectory'),
    ('', {}, '/trajectories', 'remap: -r /joint_trajectory:=/trajectories')])
def test_controller_listens_on_another_topic(namespace, values, heard_on, remedy):
    """The listener, its topic, and the value to set are named."""
    assert_only(found('controller', values={**ARM, **values}, namespace=namespace,
                      trajectory_topic=Topic(f'{namespace}/joint_trajectory'),
                      other_trajectory_topics=[listening(heard_on)]), 'problem',
                f'nobody takes trajectories on {namespace}/joint_trajectory, but '
                f'/joint_trajectory_controller listens on {heard_on}', remedy)


@pytest.mark.parametrize('controllers, states, words', [
    (['/left/arm'], {'arm': 'inactive', 'hand': 'active'},
     "'arm' is inactive, says /left/controller_manager: it moves nothing; ros2 control "
     'set_controller_state -c /left/controller_manager arm active'),
    ([], {'arm': 'unconfigured'}, 'arm inactive, then ros2 control')],
    ids=['inactive', 'unconfigured, so it does not listen'])
def test_controller_that_is_not_active(controllers, states, words):
    """What its manager says of it, and the commands that activate it."""
    findings = found('controller', values={**ARM, 'controller': '/left/arm/'},
                     controllers=controllers, has_manager=True, controller_states=states,
                     manager_service='/left/controller_manager/list_controllers',
                     trajectory_topic=listening('/left/arm/joint_trajectory', '/left/arm'))
    assert_only(findings[1:], 'problem', words)


def test_manager_that_cannot_be_asked():
    """Without its messages the states are not known, which is said."""
    findings = found('controller', has_manager=True, trajectory_topic=listening('/trajectories'),
                     manager_service='/controller_manager/list_controllers')
    assert_only(findings[1:], 'skipped', 'controller_manager_msgs is not installed here',
                'sudo apt install ros-')


@pytest.mark.parametrize('controller, prefix, service', [
    ('', '', 'controller_manager/list_controllers'), ('/', '', LIST_SERVICE),
    ('arm', 'arm/', LIST_SERVICE), ('arm/', 'arm/', LIST_SERVICE),
    ('left/arm', 'left/arm/', f'left/{LIST_SERVICE}'), ('/arm', '/arm/', f'/{LIST_SERVICE}')])
def test_names_of_a_controller(controller, prefix, service):
    """A leading / stays: the controller is not in the namespace of the node then."""
    assert (prefix_of(controller), service_of(prefix_of(controller))) == (prefix, service)


@pytest.mark.parametrize('names, hint', [
    (['shoulder_pan', 'elbow'], ''), (['A1', 'A2', 'A3', 'A4', 'A5', 'A6'], ''),
    ([f'left_joint_{k}' for k in range(1, 7)], " (the URDF lacks the prefix 'left_')")])
def test_joint_states_of_another_robot(names, hint):
    """Joints of both are named, and a common prefix; there is no second finding."""
    message = JointState(name=names, position=[0.0] * len(names))
    message.header.stamp.sec = 1
    seen = {'states': [heard(message, 0.02 * k) for k in range(100)],
            'states_topic': Topic('/joint_states', (End('/driver', '', QoSProfile(depth=1)),)),
            'end': 2.0}
    finding, = found('joint states', **seen)
    assert finding.level.value == 'problem'
    assert f"the joint states name '{names[0]}', '{names[1]}'" in finding.what
    assert f"none of the joints of the arm, 'joint_1', 'joint_2', 'joint_3', 'joint_4', " \
        f"'joint_5' and 1 more{hint} (/joint_states, from /driver)" in finding.what
    assert finding.remedy.startswith('load the URDF of the robot that runs')
    assert_only(found('state source', **seen), 'ok', '/driver, 50 Hz')


@pytest.mark.parametrize('rate, level, words', [
    (2.0, 'warning', 'joint states come 2.0 times a second'), (100.0, 'ok', '/driver, 100 Hz')])
def test_rate_of_joint_states(rate, level, words):
    """Too few are a warning."""
    message = JointState(name=['joint_1'], position=[0.0])
    message.header.stamp.sec = 1
    assert_only(found('state source', states=[heard(message, k / rate) for k in range(100)],
                      states_topic=Topic('/joint_states', (
                          End('/driver', '', QoSProfile(depth=1)),)), end=100.0 / rate),
                level, words)


def test_joint_states_with_one_joint_of_the_arm():
    """Other joints are missing, but it is not another robot."""
    message = JointState(name=['joint_1', 'finger'], position=[0.0, 0.0])
    finding, = found('joint states', states=[heard(message)], end=0.1)
    assert 'another robot' not in finding.what and "lack 'joint_2'" in finding.what


# ---- one thing wrong in a system that works ------------------------------------------------

NAMES = [f'joint_{k}' for k in range(1, 7)]
READY = [0.0, 0.3, -0.4, 0.0, 1.0, 0.0]
QOS = QoSProfile(depth=1)
# In this order the limits of the first joints of the arm.
ODD_LIMITS = ['<limit lower="-170" upper="170" velocity="180" effort="1"/>',
              '<limit lower="0" upper="0" velocity="1" effort="1"/>',
              '<limit lower="0" upper="0.0001" velocity="1" effort="1"/>',
              '<limit lower="-1" upper="1" velocity="0" effort="1"/>']


def states(positions=READY, names=NAMES, velocities=(), rate=50.0, ahead=0.0, stamped=True):
    """Return joint states of the last two seconds, whose stamps are so far ahead, s."""
    told = []
    for k in range(round(2.0 * rate)):
        message = JointState(name=list(names), position=list(map(float, positions)),
                             velocity=list(map(float, velocities)))
        if stamped:
            stamp = 1000.0 + k / rate + ahead
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(
                round(1e9 * stamp), 10**9)
        told.append(heard(message, 1000.0 + k / rate))
    return told


def from_nodes(name, *nodes):
    """Return a topic to which nodes publish."""
    return Topic(name, tuple(End(node, 'a', QOS) for node in nodes))


def taken(name, *nodes, kind='trajectory_msgs/msg/JointTrajectory', by=(NAME,)):
    """Return a topic of motions with those that listen and those that send."""
    return Topic(name, tuple(End(node, kind, QOS) for node in by),
                 tuple(End(node, kind, QOS) for node in nodes))


def system(**seen):
    """Return what is observed of a system that works, but for what is given."""
    return Observations(NAME, '', 6.0, **{
        'nodes': [NAME, '/driver'], 'values': ARM, 'state': 'active', 'states': states(),
        'states_topic': from_nodes('/joint_states', '/driver'), 'end': 1002.0,
        'trajectory_topic': taken('/joint_trajectory', '/driver'),
        'description_topic': Topic('/robot_description'), 'tf_knows': lambda frame: True,
        'topics': [Topic('/t')], 'health': [health(not_checked='', contact='')], **seen})


def everything(**seen):
    """Return all findings in it."""
    return diagnose(system(**seen))


def odd_arm():
    """Return the URDF of the arm with ODD_LIMITS."""
    text = robots.text('six_axis_arm').decode()
    lines = [line.strip() for line in text.splitlines() if '<limit' in line]
    for line, other in zip(lines, ODD_LIMITS):
        text = text.replace(line, other, 1)
    return text


def health_ahead(by):
    """Return a report of the node by a clock that is ahead, s."""
    report = health(not_checked='', contact='').message
    report.header.stamp.sec = 1000 + by
    return [heard(report, 1000.0)]


def told_health(level, message):
    """Return a report of the node that all is not well."""
    return [heard(DiagnosticArray(status=[
        DiagnosticStatus(name=f'{NAME}: health', level=level, message=message,
                         values=[KeyValue(key=key) for key in ('not_checked', 'contact')])]))]


def test_a_system_that_works():
    """Nothing is found, and it is said what there is."""
    findings = everything()
    assert {finding.level.value for found in findings.values() for finding in found} == {'ok'}
    for check, words in (('description', "'base_link' to 'tool0' by 'joint_1'"),
                         ('joint states', '6 joints on /joint_states from /driver'),
                         ('state source', '/driver, 50 Hz, by their stamps 0.0 ms old'),
                         ('controller', '/driver listens on /joint_trajectory'),
                         ('parameters', 'urdf_file'), ('environment', 'ROS_DOMAIN_ID'),
                         ('TF', "knows 'base_link'"), ('node', 'runs and answers')):
        assert words in findings[check][0].what


def with_values(**values):
    """Return parameters of the node, with . for __."""
    return {'values': {**ARM, **{name.replace('__', '.'): value for name, value in
                                 values.items()}}}


SILENT = {'states': []}
ODD = with_values(robot_description=odd_arm(), motion__acceleration_limits=[1.0, 2.0],
                  motion__jerk_limits=[0.01])
BARE = {'values': {}, 'description_topic': from_nodes('/robot_description', '/careless')}


@pytest.mark.parametrize('seen, check, level, words', [
    (SILENT, 'joint states', 'problem', ('nothing comes on /joint_states', '/driver may publish',
                                         'activate')),
    (SILENT, 'state source', 'skipped', ()),
    ({**SILENT, 'states_topic': Topic('/joint_states')}, 'joint states', 'problem',
     ('nobody publishes /joint_states', 'start')),
    ({'end': 1003.0}, 'joint states', 'problem', ('s old, at most 0.5 s are allowed', '/driver')),
    ({'states': states(READY[:5], NAMES[:5])}, 'joint states', 'problem',
     ("lack 'joint_6'", 'not only')),
    ({'states': states([nan, *READY[1:]])}, 'joint states', 'problem',
     ("lack 'joint_1' (left out: 'joint_1' is nan)", 'correct what /driver')),
    ({'states': states(READY[:4])}, 'joint states', 'problem',
     ('no joint state has arrived', '6 names and 4 positions')),
    ({'states': [*states(), *states([], ['finger'])]}, 'joint states', 'warning',
     ('make no sense: it has 1 names and 0 positions',)),
    ({'states_topic': from_nodes('/joint_states', '/a', '/b')}, 'state source', 'warning',
     ('2 publish /joint_states: /a, /b', 'one of them')),
    ({'states': states(stamped=False)}, 'state source', 'warning', ('no stamp',)),
    ({'states': states(rate=8.0)}, 'state source', 'warning', ('8.0 times a second',)),
    ({'states': states([0.0, 3.0, *READY[2:]])}, 'limits', 'problem',
     ("'joint_2' stands at 3", '[-1.9, 2.2]')),
    ({'states': states([0.0, 2.21, *READY[2:]])}, 'limits', 'warning',
     ("'joint_2' stands at 2.21", '0.01 outside')),
    ({'states': states(velocities=[0, 100, 0, 0, 0, 0])}, 'limits', 'problem',
     ("'joint_2' reports a velocity", '3.9')),
    ({'states': states(velocities=[0, 20, 0, 0, 0, 0]), **with_values(
        motion__velocity_limits=[20.0])}, 'limits', 'ok', ('plausible',)),
    ({'states': states(velocities=[0, 2, 0, 0, 0, 0]), **with_values(
        motion__velocity_limits=[1.0])}, 'limits', 'problem',
     ("'joint_2' reports a velocity of 2, its limit is 1",)),
    (ODD, 'limits', 'warning', ("'joint_1' turns from -170 to 170",)),
    (ODD, 'limits', 'warning', ("'joint_2' cannot move",)),
    (ODD, 'limits', 'warning', ("'joint_3' may move by 0.0001",)),
    (ODD, 'limits', 'warning', ("the velocity limit of joint 'joint_1' is 180",)),
    (ODD, 'limits', 'warning', ("the jerk limit of joint 'joint_1' is 0.01",)),
    (ODD, 'limits', 'problem', ("'joint_4' has no velocity limit",)),
    (ODD, 'limits', 'problem', ('acceleration_limits needs 1 or 6',)),
    (with_values(tip_link='tool_9'), 'description', 'problem', ("'tool_9' is not in the URDF",)),
    (with_values(urdf_file='/none/arm.urdf'), 'description', 'skipped', ('/none/arm.urdf',)),
    (BARE, 'description', 'problem', ('/careless may publish it', 'transient local')),
    ({'values': {}, 'descriptions': ['<robot name="a">', '<sdf/>']}, 'description', 'problem',
     ('/robot_description (', 'is not usable: ')),
    ({'values': {}, 'descriptions': ['<sdf/>', robots.text('six_axis_arm').decode()],
      'description_topic': from_nodes('/robot_description', '/a', '/b')}, 'description',
     'warning', ('2 different texts', '/a, /b')),
    ({'health': health_ahead(100)}, 'clock', 'problem',
     ('the clock of the node is 100.0 s ahead of ours', 'synchronise')),
    ({'states': states(ahead=-360.0)}, 'clock', 'warning',
     ('whoever stamps the joint states is 360.0 s behind ours',)),
    ({'clock_topic': from_nodes('/clock', '/gazebo')}, 'clock', 'warning',
     ('/gazebo publishes /clock', 'use_sim_time')),
    ({'trajectory_topic': taken('/joint_trajectory', '/a', '/b')}, 'controller', 'warning',
     ('2 listen on /joint_trajectory: /a, /b', 'all but one')),
    ({'trajectory_topic': taken('/joint_trajectory', '/a', by=(NAME, '/b'))}, 'controller',
     'warning', ('2 may send to /joint_trajectory: /b, /ik_node',)),
    ({**with_values(output='position'), 'trajectory_topic': Topic('/commands'),
      'other_trajectory_topics': [taken('/forward/commands', '/driver', kind='b')]},
     'controller', 'problem', ('nobody takes positions on /commands, but /driver listens on '
                               '/forward/commands', 'set controller:=forward')),
    ({'nodes': [NAME, '/gazebo', '/gazebo']}, 'node', 'warning', ('2 nodes are named /gazebo',)),
    ({'state': 'inactive'}, 'lifecycle', 'problem', (
        f'{NAME} is inactive', f'ros2 lifecycle set {NAME} activate')),
    ({'state': 'unconfigured', 'health': []}, 'lifecycle', 'problem', (
        f'{NAME} is unconfigured', f'ros2 lifecycle set {NAME} configure')),
    ({'health': told_health(DiagnosticStatus.ERROR, 'joint states are old')}, 'health', 'problem',
     ('health: joint states are old',)),
    ({'health': told_health(DiagnosticStatus.WARN, 'no robot description')}, 'health', 'warning',
     ('health: no robot description',)),
    ({'tf_knows': lambda frame: False}, 'TF', 'warning', ("not know the base link 'base_link'",)),
    ({'tf_knows': None}, 'TF', 'skipped', ('tf2_ros is not installed',)),
])
def test_each_fault_is_found(seen, check, level, words):
    """Each is named with what to do, and nothing else is found."""
    findings = everything(**seen)
    assert any(finding.level.value == level and all(
        word in f'{finding.what}; {finding.remedy}' for word in words)
        and (finding.remedy or level in ('ok', 'skipped')) for finding in findings[check]), (
            findings[check])
    others = {name for name, found in findings.items()
              if any(finding.level.value in ('warning', 'problem') for finding in found)}
    assert others <= {check, *({'joint states'} if 'states' in seen else set()),
                      *({'description'} if seen is ODD else set())}, findings


@pytest.mark.fault('joint states', 'two publishers of different values', 'ik_doctor names both')
def test_two_sources_that_contradict():
    """As joint_state_publisher beside the driver does."""
    both = [state for pair in zip(states(), states([0.0] * 6)) for state in pair]
    assert_only(everything(states=both, states_topic=from_nodes('/joint_states', '/a', '/b'))[
        'state source'], 'problem', "'joint_2' jumps to and fro", '/a, /b')


@pytest.mark.fault('start, end and middleware', 'a node is deaf: what is sent does not get to it',
                   'ik_doctor says so, and what to do')
def test_a_node_that_hears_nobody():
    """It is on /diagnostics but not in the graph."""
    assert_only(everything(nodes=['/driver'])['node'], 'problem', 'it hears nobody',
                'start it again', '/dev/shm/')


@pytest.mark.parametrize('seen, code', [
    ({}, 0), ({'nodes': [NAME, '/gazebo', '/gazebo']}, 0), ({'state': 'inactive'}, 1)])
def test_exit_code(seen, code, monkeypatch, capsys):
    """A warning may be intended: only problems count; --json has their numbers."""
    codes = []
    monkeypatch.setattr(command, 'observe', lambda *_: (None, system(**seen)))
    monkeypatch.setattr(command, 'leave', lambda node, code: codes.append(code))
    monkeypatch.setattr(command.rclpy, 'init', lambda **_: None)
    command.main(['--json'])
    told = json.loads(capsys.readouterr().out)
    assert codes == [code] == [told['problems']]
    assert told['warnings'] == ('nodes' in seen)


def test_texts_are_escaped():
    """Other nodes cannot control the terminal."""
    said = report(everything(health=told_health(DiagnosticStatus.WARN, 'ready\x1b[2J\nproblem')))
    assert 'health: ready\\x1b[2J\\nproblem; see' in said and '\x1b' not in said
