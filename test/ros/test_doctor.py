# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
ik_doctor against real nodes over DDS: what it observes, and a system without fault.

What it concludes from observations is tested in test/doctor.
"""

from contextlib import ExitStack
import json
import os
import signal
import subprocess
import sys
from time import monotonic

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from graph import graph
from harness import ARM, COLD_START, NAMES, Probe, process, READY, tool
import pytest
import rclpy
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from ik_node.ros.action_client import ACTION_NAME
from ik_node.ros.middleware.executor import make_executor
from ik_node.ros.parameters.node_parameters import declare
from ik_node.ros.parameters.tables import IK_NODE
from ik_node.tools.doctor.command import parse
from ik_node.tools.doctor.observer import LOOK_PERIOD_S, Observer

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PATIENCE = '30'  # s, for what ends earlier
BRIEF = '4'  # s, for what does not: something is missing

COMMAND = [sys.executable, '-c', 'from ik_node.tools.entry import ik_doctor; ik_doctor()',
           '--json']


class Answer:
    """What ik_doctor has said."""

    def __init__(self, running):
        self.code, told = running.returncode, json.loads(running.stdout.read())
        self.findings = told['findings']
        problems = [f for f in self.findings if f['level'] == 'problem']
        assert (len(problems), self.code) == (told['problems'], int(bool(problems)))

    def of(self, check):
        """Return the levels of a check."""
        return [finding['level'] for finding in self.findings if finding['check'] == check]

    def has(self, check, level, *words):
        """Assert that a check has found something, with these words, and says what to do."""
        for finding in self.findings:
            if (finding['check'], finding['level']) == (check, level) and all(
                    word in finding['what'] + '; ' + finding['remedy'] for word in words):
                assert finding['remedy'] or level in ('ok', 'skipped')
                return
        raise AssertionError(f'{check} {level} {words} not in {self.findings}')


def start(*arguments, **environment):
    """Start it; without a `--timeout` it looks for a while."""
    return tool('ik_doctor', '--json', '--timeout', BRIEF, *arguments, **environment)


def ask(*arguments, nodes=()):
    """Run it while nodes are spun; return its answer."""
    running = start(*arguments)
    spin(nodes, lambda: running.poll() is not None)
    return Answer(running)


def spin(nodes, condition, seconds=60.0):
    """Spin nodes until a condition holds."""
    executor, end = make_executor(), monotonic() + seconds
    for node in nodes:
        executor.add_node(node)
    while not condition():
        assert monotonic() < end
        executor.spin_once(timeout_sec=0.05)
    for node in nodes:
        executor.remove_node(node)


@pytest.fixture
def play():
    """Return what makes nodes, to play a part of the system for one test."""
    with ExitStack() as stack:
        def make(name, namespace='', **named):
            node = rclpy.create_node(name, namespace=namespace, **named)
            stack.callback(node.destroy_node)
            return node
        yield make


def tell_states(node, names=NAMES, positions=READY, stamped=True):
    """Publish joint states."""
    publisher = node.create_publisher(JointState, 'joint_states', 10)

    def tell():
        message = JointState(name=list(names), position=list(map(float, positions)))
        if stamped:
            message.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(message)

    return node.create_timer(0.05, tell)


def take(node, kind=JointTrajectory, qos=10):
    """Listen as a controller does."""
    node.create_subscription(kind, 'joint_trajectory', lambda message: None, qos)


def onlooker(target):
    """Return a probe that publishes nothing but goals."""
    probe = Probe(target=target)
    for publisher in (probe.joint_states, probe.descriptions, probe.commands):
        probe.destroy_publisher(publisher)
    return probe


@pytest.fixture(scope='module')
def nodes(tmp_path_factory, recorded):
    """Run two ik_nodes: with a robot, and without; both without an arm."""
    probe = onlooker('/ik_node')
    with ExitStack() as stack:
        for space, parameters in (('', {'urdf_file': ARM}), ('/bare', {})):
            running = stack.enter_context(process(
                'ik_node', tmp_path_factory.mktemp('node'), parameters,
                {'__ns': space} if space else None))
            probe.wait(lambda space=space: f'{space}/ik_node: health' in probe.health,
                       COLD_START, 'health')
            setattr(probe, space.strip('/') or 'node', running)
        yield probe
    probe.destroy_node()


# ---- a system without fault -------------------------------------------------

@pytest.fixture(scope='module')
def healthy(tmp_path_factory, recorded):
    """
    Run a system in a namespace, whose topics have other names.

    Return the answer about it, and what was told of goals and trajectories until its end.
    """
    remap = {'__ns': '/left', 'joint_states': 'measured'}
    probe = onlooker('/left/ik_node')
    with process('sim_controller', tmp_path_factory.mktemp('sim'), {
            'urdf_file': ARM, 'initial_positions': READY},
            {**remap, 'joint_trajectory': 'arm/joint_trajectory'}), \
            process('ik_node', tmp_path_factory.mktemp('node'), {
                'urdf_file': ARM, 'controller': 'arm'}, remap):
        probe.wait_for_node()
        probe.wait_until_ready()
        running = start('--node', 'left/ik_node', '--timeout', PATIENCE)
        probe.wait(lambda: running.poll() is not None, 60.0)
        probe.health.clear()
        probe.wait(lambda: '/left/sim_controller: trajectories' in probe.health)
    probe.destroy_node()
    counts = {pair.key: pair.value
              for pair in probe.health['/left/sim_controller: trajectories'].values}
    return Answer(running), (probe.statuses, counts)


def test_healthy_system(healthy):
    """Exit code 0, and all topics by their names after remapping."""
    answer, _ = healthy
    assert answer.code == 0
    for check, words in (('description', "'base_link' to 'tool0' by 'joint_1'"),
                         ('joint states', '6 joints on /left/measured from /left/sim_controller'),
                         ('state source', ' ms old'), ('limits', 'plausible'), ('health', 'ready'),
                         ('QoS', 'compatible'), ('clock', 'system time'), ('goals', 'none'),
                         ('lifecycle', 'active'),
                         ('controller', '/left/sim_controller listens on /left/arm/joint_traj'),
                         ('parameters', "controller 'arm'"), ('environment', 'ROS_DOMAIN_ID')):
        answer.has(check, 'ok', words)
    assert {finding['level'] for finding in answer.findings if finding['check'] != 'TF'} == {'ok'}


def test_no_goal_and_no_trajectory_is_sent(healthy):
    """The node gets no goal, the controller no trajectory."""
    _, came = healthy
    assert came == ([], {'accepted': '0', 'refused': '0'})


@pytest.mark.nightly
def test_there_is_no_publisher_to_send_with(nodes):
    """ik_doctor calls services of the node, and has no publisher but that of rclpy."""
    asked = {f'/ik_node/{name}' for name in ('list_parameters', 'get_parameter_types',
                                             'get_parameters', 'get_state')}
    with graph() as has:
        running, had = start('--timeout', PATIENCE), set()  # it waits for an arm

        def look():
            had.update(name for kind, name in has('_ik_doctor') or ()
                       if kind in ('publisher', 'client'))

        nodes.wait(lambda: look() or asked <= had, 30.0)
        nodes.spin_for(1.0)
        look()
        running.send_signal(signal.SIGINT)
        nodes.wait(lambda: running.poll() is not None, 30.0)
    assert had == {'/parameter_events', *asked}


def test_base_link_in_tf(nodes, play):
    """A base link that TF knows is ok."""
    tf2_ros = pytest.importorskip('tf2_ros', reason='tf2_ros is not on PyPI; it comes with ROS 2')
    from geometry_msgs.msg import TransformStamped
    broadcaster = play('robot_state_publisher')
    message = TransformStamped(child_frame_id='base_link')
    message.header.frame_id, message.transform.rotation.w = 'world', 1.0
    keep = tf2_ros.StaticTransformBroadcaster(broadcaster)
    keep.sendTransform(message)
    ask(nodes=[nodes, broadcaster]).has('TF', 'ok', "knows 'base_link'")


# ---- nothing there ----------------------------------------------------------

OTHER_DOMAIN = str(101 + int(os.environ['ROS_DOMAIN_ID']) % 100)


@pytest.fixture(scope='module')
def without(nodes):
    """Return answers about nodes without an arm, all asked for at once, by names."""
    running = {'alone': start(), 'bare': start('--node', '/bare/ik_node'),
               'elsewhere': start('--timeout', '1', ROS_DOMAIN_ID=OTHER_DOMAIN)}
    words = tool('ik_doctor', '--timeout', BRIEF)
    spin([nodes], lambda: all(one.poll() is not None for one in [words, *running.values()]))
    return {'words': (words.returncode, words.stdout.read()),
            **{name: Answer(one) for name, one in running.items()}}


def test_nodes_without_an_arm(without):
    """What is missing is named, and nothing else is found."""
    for name, check, level, *words in (
            ('alone', 'joint states', 'problem', 'nobody publishes /joint_states'),
            ('alone', 'controller', 'problem', 'nobody takes trajectories on /joint_trajectory'),
            ('alone', 'health', 'problem', 'joint states are missing or old'),
            ('bare', 'description', 'problem', '/bare/robot_description'),
            ('bare', 'health', 'warning', 'no robot description'),
            ('elsewhere', 'environment', 'problem', f'ROS_DOMAIN_ID {OTHER_DOMAIN}')):
        without[name].has(check, level, *words)
    for check in ('environment', 'node', 'lifecycle', 'description', 'limits', 'QoS', 'clock'):
        assert without['alone'].of(check) == ['ok'], without['alone'].findings
    told = without['elsewhere'].findings[0]['what'].partition('the domains ')[2]
    assert os.environ['ROS_DOMAIN_ID'] in told.replace(',', '').split() or 'more' in told, told


def test_output_as_text(without):
    """One line for each finding, with the exit code of --json."""
    code, text = without['words']
    assert code == 1
    line, = [line for line in text.splitlines() if line.startswith('problem  controller:')]
    assert '/joint_trajectory; start or activate the controller' in line
    assert text.splitlines()[-1].endswith('0 warnings')


# ---- other descriptions, another controller, another robot -----------------------------------

@pytest.fixture(scope='module')
def others(nodes):
    """Return the answers about the node without a robot, which gets two texts, and that with."""
    with ExitStack() as stack:
        parts = [rclpy.create_node(name, namespace=space, start_parameter_services=False)
                 for name, space in (
                     ('one', '/bare'), ('two', '/bare'), ('joint_trajectory_controller', ''),
                     ('driver', ''), ('ik_node', '/bare'))]
        for part in parts:
            stack.callback(part.destroy_node)
        one, two, controller, driver, _ = parts
        for node, text in ((one, '<robot name="a">'), (two, '<sdf/>')):
            node.create_publisher(String, 'robot_description', LATCHED).publish(String(data=text))
            nodes.wait(lambda: '/bare/robot_description: not' in nodes.bare.output)
        controller.create_subscription(JointTrajectory, '/arm_controller/joint_trajectory',
                                       lambda message: None, 10)
        tell_states(driver, ['shoulder', 'elbow'], [0.0, 0.0])
        running = start('--node', '/bare/ik_node'), start()
        spin([nodes, *parts], lambda: all(one.poll() is not None for one in running))
        return [*map(Answer, running)]


def test_two_descriptions(others):
    """Both texts have come, and who publishes them is known."""
    others[0].has('description', 'problem', '/bare/robot_description (', 'is not usable: ')
    others[0].has('description', 'warning', '/bare/one, /bare/two')


@pytest.mark.fault('start, end and middleware', 'two nodes of one name', 'ik_doctor says so')
def test_two_nodes_of_a_name(others):
    """They cannot be told apart."""
    others[0].has('node', 'problem', '2 nodes are named /bare/ik_node', 'end one')


def test_controller_on_another_topic_and_another_robot(others):
    """The listener and the value to set, and the joints of both robots."""
    answer = others[1]
    answer.has('controller', 'problem', 'set controller:=arm_controller')
    answer.has('joint states', 'problem', 'from /driver', "the joint states name 'shoulder'")
    assert answer.of('state source') == ['ok']


# ---- controller, QoS, names -------------------------------------------------

OTHER_TYPE = '''
from ik_node.ros.middleware.process import run
from rclpy.node import Node
from std_msgs.msg import String

class Other(Node):
    def __init__(self):
        super().__init__('other')
        self.create_subscription(String, 'joint_trajectory', print, 10)
    def close(self):
        pass

run('other', Other)
'''


@pytest.fixture(scope='module')
def deaf(nodes):
    """Return the answer about a system in which nobody can hear anybody."""
    with ExitStack() as stack:
        parts = [rclpy.create_node(name) for name in ('late', 'sender')]
        for part in parts:
            stack.callback(part.destroy_node)
        late, sender = parts
        take(late, qos=LATCHED)
        # In a process of its own: in one, a topic has one type.
        other = subprocess.Popen([sys.executable, '-c', OTHER_TYPE])
        stack.callback(other.wait, 30.0)
        stack.callback(other.send_signal, signal.SIGINT)
        spin(parts, lambda: late.count_subscribers('joint_trajectory') == 2)
        sender.create_publisher(PoseStamped, '/ik_node/goal_pose', QoSProfile(
            depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
        return ask(nodes=[nodes, *parts])


@pytest.mark.fault('start, end and middleware', 'QoS profiles that do not fit',
                   'ik_doctor names both ends, and why')
@pytest.mark.parametrize('words', [
    ('/joint_trajectory gets from /ik_node to /late', 'ransient local sub'),
    ('/joint_trajectory gets from /ik_node to /other',
     'trajectory_msgs/msg/JointTrajectory is not std_msgs/msg/String'),
    ('/ik_node/goal_pose gets from /sender to /ik_node', 'eliab')],
    ids=['controller', 'type', 'sender of goals'])
def test_topics_that_cannot_be_received(deaf, words):
    """Both ends and the reason are named."""
    deaf.has('QoS', 'problem', *words)


def test_subscription_that_does_not_match_is_no_controller(deaf):
    """It does not count as a listener."""
    deaf.has('controller', 'problem', 'nobody takes trajectories', '/late, /other cannot')


# ---- an ik_node that is played ----------------------------------------------

# Namespace: parameters, what else it does; all at once.
PLAYED = {
    'hangs': ({}, {'spins': False}),
    'elsewhere': ({'output': 'position', 'controller': 'arm'}, {'commanded': True}),
    'served': ({'output': 'action', 'controller': 'arm'},
               {'serves': f'arm/{ACTION_NAME}/_action/send_goal'}),
}


class Played(LifecycleNode):
    """A node that leaves the graph when it is destroyed."""

    def destroy_node(self):
        """Rclpy keeps the state machine, which would keep the node."""
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()


def act(space, parameters, serves='', commanded=False):
    """Return a node that answers as an ik_node would, with a driver in its namespace."""
    node = Played('ik_node', namespace=space, cli_args=['--ros-args', *(
        word for name, value in parameters.items() for word in ('-p', f'{name}:={value}'))])
    declare(node, IK_NODE)
    node.trigger_configure()
    node.trigger_activate()
    node.create_subscription(JointState, 'joint_states', lambda message: None, 10)
    if serves:
        node.create_service(Trigger, serves, lambda request, answer: answer)
    driver = rclpy.create_node('driver', namespace=space)
    if commanded:
        driver.create_subscription(Float64MultiArray, 'forward/commands', lambda message: None, 1)
    else:
        take(driver)
    tell_states(driver)
    return node, driver


@pytest.fixture(scope='module')
def played(nodes):
    """Return the answers about ik_nodes that are played, by namespace."""
    actors, spun, running = [], [nodes], {}
    for space, (parameters, named) in PLAYED.items():
        named = dict(named)
        spins = named.pop('spins', True)
        # A busy machine may keep this process waiting for longer than the default.
        actors += act(space, {'urdf_file': ARM, 'state.timeout': 10.0, **parameters}, **named)
        spun += actors[-2:] if spins else []
        running[space] = start('--node', f'/{space}/ik_node')
    spin(spun, lambda: all(one.poll() is not None for one in running.values()))
    for actor in actors:
        actor.destroy_node()
    return {space: Answer(one) for space, one in running.items()}


@pytest.mark.parametrize('space, check, level, words', [
    ('hangs', 'node', 'problem', ('/hangs/ik_node is there, but does not answer', 'it hangs')),
    ('served', 'controller', 'ok', ('/served/arm/follow_joint_trajectory',)),
    ('elsewhere', 'controller', 'problem', (
        'nobody takes positions on /elsewhere/arm/commands, but /elsewhere/driver listens on '
        '/elsewhere/forward/commands', 'set controller:=forward'))])
def test_what_a_node_sends_to_is_found(played, space, check, level, words):
    """By its parameters and the graph; a node that hangs has none to tell."""
    played[space].has(check, level, *words)


def test_the_graph_is_not_looked_at_for_each_message(monkeypatch):
    """But again once the last look is a while ago."""
    observer, looks = Observer('/nobody', 1.0), []
    monkeypatch.setattr(observer, 'look', lambda: looks.append(monotonic()))
    observer.seen.end = monotonic() + 60.0  # as if it had just ended, however slow the machine
    assert not observer.is_complete() and not looks
    observer.seen.end = monotonic() - 1.1 * LOOK_PERIOD_S
    assert not observer.is_complete() and len(looks) == 1
    observer.destroy_node()


def test_the_clock_is_heard(play):
    """For a node in simulated time; what follows from it is tested in test/doctor."""
    gazebo, observer = play('gazebo'), Observer('/nobody', 1.0)
    publisher = gazebo.create_publisher(Clock, '/clock', 10)
    gazebo.create_timer(0.05, lambda: publisher.publish(Clock(clock=Time(sec=7))))
    observer.listen()
    spin([observer, gazebo], lambda: observer.seen.clock)
    assert observer.seen.clock[0].message.clock.sec == 7
    observer.destroy_node()


# ---- the command ------------------------------------------------------------

@pytest.mark.parametrize('arguments, words', [
    (('--timeout', '0'), 'more than 0'), (('--timeout', 'x'), 'invalid float'),
    (('--nod',), 'expected one argument'), (('now',), 'unrecognized')])
def test_usage(arguments, words, capsys):
    """Wrong usage is explained, with exit code 2."""
    with pytest.raises(SystemExit) as ended:
        parse(list(arguments))
    assert ended.value.code == 2 and words in capsys.readouterr().err


def test_interrupted(nodes):
    """Ctrl-C ends it without a traceback."""
    spin([nodes], lambda: ('_ik_doctor', '/') not in nodes.get_node_names_and_namespaces())
    running = subprocess.Popen([*COMMAND, '--timeout', PATIENCE, '--node', '/none'], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    spin([nodes], lambda: ('_ik_doctor', '/') in nodes.get_node_names_and_namespaces())
    running.send_signal(signal.SIGINT)
    text, _ = running.communicate(timeout=30.0)
    assert (running.returncode, text) == (130, '')
