# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""ik_doctor against real nodes over DDS: each thing that it finds, and a system without fault."""

from contextlib import ExitStack, suppress
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
from time import monotonic

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from harness import ARM, COLD_START, FINAL, Probe, process, READY
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import NodeNameNonExistentError
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from ik_node.ros.action import ACTION
from ik_node.ros.parameters import declare, IK_NODE

NAMES = [f'joint_{k}' for k in range(1, 7)]
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PATIENCE = '30'  # s, for what ends earlier; for what does not, the default is enough


COMMAND = [sys.executable, '-c', 'from ik_node.entry import ik_doctor; ik_doctor()']


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
    """Start it."""
    return subprocess.Popen([*COMMAND, '--json', *arguments], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, **environment})


def ask(*arguments, nodes=()):
    """Run it while nodes are spun; return its answer."""
    running = start(*arguments)
    spin(nodes, lambda: running.poll() is not None)
    return Answer(running)


def spin(nodes, condition, seconds=60.0):
    """Spin nodes until a condition holds."""
    executor, end = SingleThreadedExecutor(), monotonic() + seconds
    for node in nodes:
        executor.add_node(node)
    while not condition():
        assert monotonic() < end
        executor.spin_once(timeout_sec=0.02)
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


def tell_states(node, names=NAMES, positions=READY, velocities=(), rate=50.0, age=0):
    """Publish joint states; their stamps are so old, s, or 0 for `age` None."""
    publisher = node.create_publisher(JointState, 'joint_states', 10)

    def tell():
        message = JointState(name=list(names), position=list(map(float, positions)),
                             velocity=list(map(float, velocities)))
        if age is not None:
            message.header.stamp = node.get_clock().now().to_msg()
            message.header.stamp.sec -= age
        publisher.publish(message)

    return node.create_timer(1.0 / rate, tell)


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
    """Run three ik_nodes: with a robot, without, and in simulated time; all without an arm."""
    probe = onlooker('/ik_node')
    with ExitStack() as stack:
        for space, parameters in (('', {'urdf_file': ARM}), ('/bare', {}),
                                  ('/sim', {'urdf_file': ARM, 'use_sim_time': True})):
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

    Return the answer about it, what ik_doctor publishes and calls, and what has come from
    the node meanwhile.
    """
    remap, graph, came = {'__ns': '/left', 'joint_states': 'measured'}, set(), []
    probe = onlooker('/left/ik_node')
    with process('sim_controller', tmp_path_factory.mktemp('sim'), {
            'urdf_file': ARM, 'initial_positions': READY},
            {**remap, 'joint_trajectory': 'arm/joint_trajectory'}), \
            process('ik_node', tmp_path_factory.mktemp('node'), {
                'urdf_file': ARM, 'controller': 'arm'}, remap):
        probe.wait_for_node()
        probe.wait_until_ready()
        probe.create_subscription(JointTrajectory, '/left/arm/joint_trajectory', came.append, 10)
        running = start('--node', 'left/ik_node', '--timeout', PATIENCE)

        def ended():
            if ('_ik_doctor', '/') in probe.get_node_names_and_namespaces():
                with suppress(NodeNameNonExistentError):
                    for of in (probe.get_publisher_names_and_types_by_node,
                               probe.get_client_names_and_types_by_node):
                        graph.update(name for name, _ in of('_ik_doctor', '/'))
            return running.poll() is not None

        probe.wait(ended, 60.0)
    probe.destroy_node()
    return Answer(running), graph, came + probe.statuses


def test_a_system_without_fault(healthy):
    """Exit code 0, by the names that its topics really have."""
    answer, *_ = healthy
    assert answer.code == 0
    for check, words in (('description', "'base_link' to 'tool0' by 'joint_1'"),
                         ('joint states', '6 joints on /left/measured from /left/sim_controller'),
                         ('state source', 'Hz'), ('limits', 'plausible'), ('health', 'ready'),
                         ('QoS', 'compatible'), ('clock', 'system time'), ('goals', 'none'),
                         ('parameters', "controller 'arm'"), ('environment', 'ROS_DOMAIN_ID')):
        answer.has(check, 'ok', words)
    # We listen, too.
    answer.has('controller', 'warning', '/left/arm/joint_trajectory', '/left/sim_controller')
    assert {finding['level'] for finding in answer.findings
            if finding['check'] not in ('TF', 'controller')} == {'ok'}


def test_nothing_is_sent(healthy):
    """No goal, no trajectory; it asks for parameters, and has no publisher but rclpy's own."""
    _, graph, came = healthy
    assert not came
    assert graph == {'/parameter_events', *(f'/left/ik_node/{name}' for name in (
        'list_parameters', 'get_parameter_types', 'get_parameters'))}


def test_tf_is_not_looked_at_without_tf2_ros(healthy):
    """It says so; with tf2_ros it says that nobody publishes the base link."""
    answer, *_ = healthy
    if importlib.util.find_spec('tf2_ros') is None:
        answer.has('TF', 'skipped', 'tf2_ros is not installed')
    else:
        answer.has('TF', 'warning', "does not know the base link 'base_link'")


def test_base_link_in_tf(nodes, play):
    """A base link that TF knows is said to be known."""
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
    running = {
        'alone': start(), 'bare': start('--node', '/bare/ik_node'),
        'sim': start('--node', '/sim/ik_node'),
        'nowhere': start('--node', '/nowhere/ik_node', '--timeout', '2'),
        'elsewhere': start('--timeout', '2', ROS_DOMAIN_ID=OTHER_DOMAIN)}
    spin([nodes], lambda: all(one.poll() is not None for one in running.values()))
    return {name: Answer(one) for name, one in running.items()}


def test_no_joint_states(without):
    """Nobody publishes them."""
    without['alone'].has('joint states', 'problem', 'nobody publishes /joint_states', 'start')
    assert without['alone'].of('state source') == ['skipped']


def test_no_controller(without):
    """Nobody listens."""
    without['alone'].has('controller', 'problem', 'nobody takes trajectories on /joint_trajectory')


def test_not_ready(without):
    """What the node says of itself is told, and what it has is well."""
    without['alone'].has('health', 'problem', 'joint states are missing or old')
    for check in ('environment', 'node', 'description', 'limits', 'QoS', 'clock'):
        assert without['alone'].of(check) == ['ok'], without['alone'].findings


def test_no_description(without):
    """Nobody publishes it."""
    without['bare'].has('description', 'problem', '/bare/robot_description',
                        'nobody publishes it', 'robot_state_publisher')
    without['bare'].has('health', 'warning', 'no robot description')
    assert without['bare'].of('limits') == ['skipped']


def test_no_clock(without):
    """Simulated time without a simulation."""
    without['sim'].has('clock', 'problem', 'no time has arrived on /clock', 'use_sim_time')


def test_no_node_of_that_name(without):
    """Those that there are are named."""
    without['nowhere'].has('node', 'problem', 'no node /nowhere/ik_node', '--node /bare/ik_node')
    assert without['nowhere'].of('parameters') == ['skipped']


def test_nobody_in_this_domain(without):
    """The domains that are in use here are named."""
    answer = without['elsewhere']
    answer.has('environment', 'problem', f'ROS_DOMAIN_ID {OTHER_DOMAIN}', 'RMW')
    told = answer.findings[0]['what'].partition('the domains ')[2]
    assert os.environ['ROS_DOMAIN_ID'] in told.replace(',', '').split() or 'more' in told, told


def test_the_words(nodes):
    """Without --json a line for each finding, and the exit code is the same."""
    done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    line, = [line for line in done.stdout.splitlines() if line.startswith('problem  controller:')]
    assert '/joint_trajectory; start or activate the controller' in line
    assert done.stdout.splitlines()[-1].endswith('0 warnings')


def test_node_that_does_not_answer(play):
    """One that hangs is there, but silent."""
    play('ik_node', '/played')
    about().has('node', 'problem', '/played/ik_node is there, but does not answer', 'it hangs')


# ---- description ------------------------------------------------------------

def test_description_that_is_not_latched(nodes, play):
    """A volatile publisher is not heard by the node, and named."""
    publisher = play('careless', '/bare')
    publisher.create_publisher(String, 'robot_description', 1).publish(
        String(data=ARM.read_text()))
    answer = ask('--node', '/bare/ik_node', nodes=[nodes])
    answer.has('description', 'problem', '/bare/careless may publish it', 'transient local')
    answer.has('QoS', 'problem', '/bare/robot_description gets from /bare/careless to '
               '/bare/ik_node', 'durability')


def test_description_that_is_no_urdf(nodes, play):
    """Why not is told, and that there are two."""
    for name, text in (('one', '<robot name="a">'), ('two', '<sdf/>')):
        publisher = play(name, '/bare').create_publisher(String, 'robot_description', LATCHED)
        publisher.publish(String(data=text))
        nodes.wait(lambda text=text: '/bare/robot_description: not' in nodes.bare.output)
    answer = ask('--node', '/bare/ik_node', nodes=[nodes])
    answer.has('description', 'problem', '/bare/robot_description (', 'is not usable: ')
    answer.has('description', 'warning', '2 different texts', '/bare/one, /bare/two')


@pytest.fixture
def actor(play):
    """Return what makes a node that answers as an ik_node with such parameters would."""
    def make(parameters, **health):
        node = play('ik_node', '/played', cli_args=['--ros-args', *(
            word for name, value in parameters.items() for word in ('-p', f'{name}:={value}'))])
        declare(node, IK_NODE)
        publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)

        def tell():
            array = DiagnosticArray(status=[DiagnosticStatus(
                name='/played/ik_node: health', message='played')])
            array.header.stamp = node.get_clock().now().to_msg()
            array.header.stamp.sec += health.get('ahead', 0)
            publisher.publish(array)

        node.create_timer(0.2, tell)
        node.create_subscription(JointState, 'joint_states', lambda message: None, 10)
        tell_states(node)
        take(node)
        return node
    return make


def about(*nodes):
    """Return the answer about an actor."""
    return ask('--node', '/played/ik_node', nodes=nodes)


def test_odd_limits(actor, tmp_path):
    """Degrees for radians, no way to go, hardly any, no velocity limit, a list too short."""
    text = ARM.read_text()
    lines = [line for line in text.splitlines() if '<limit' in line]
    odd = ['<limit lower="-170" upper="170" velocity="180" effort="1"/>',
           '<limit lower="0" upper="0" velocity="1" effort="1"/>',
           '<limit lower="0" upper="0.0001" velocity="1" effort="1"/>',
           '<limit lower="-1" upper="1" velocity="0" effort="1"/>']
    for line, other in zip(lines, odd):
        text = text.replace(line, other, 1)
    file = tmp_path / 'odd.urdf'
    file.write_text(text)
    answer = about(actor({'urdf_file': file, 'motion.acceleration_limits': '[1.0, 2.0]',
                          'motion.jerk_limits': '[0.01]'}))
    for words in ("'joint_1' turns from -170 to 170", "'joint_2' cannot move",
                  "'joint_3' may move by 0.0001", "the jerk limit of joint 'joint_1' is 0.01",
                  "the velocity limit of joint 'joint_1' is 180"):
        answer.has('limits', 'warning', words)
    for words in ("'joint_4' has no velocity limit", 'acceleration_limits needs 1 or 6'):
        answer.has('limits', 'problem', words)


def test_no_such_tip(actor):
    """The chain that the node was told of is not in the description."""
    answer = about(actor({'urdf_file': ARM, 'tip_link': 'tool_9'}))
    answer.has('description', 'problem', "the tip_link 'tool_9' is not in the URDF")


def test_a_file_of_another_machine(actor):
    """Cannot be judged here."""
    answer = about(actor({'urdf_file': '/none/arm.urdf'}))
    answer.has('description', 'skipped', '/none/arm.urdf')


# ---- joint states -----------------------------------------------------------

@pytest.mark.parametrize('check, told, words', [
    ('joint states', dict(names=NAMES[:5], positions=READY[:5]), ("lack 'joint_6'", 'not only')),
    ('joint states', dict(positions=[math.nan, *READY[1:]]), ("'joint_1' is nan", 'no sense')),
    ('joint states', dict(positions=READY[:4]), ('6 names and 4 positions', 'no sense')),
    ('limits', dict(positions=[0.0, 3.0, *READY[2:]]), ("'joint_2' stands at 3", '[-1.9, 2.2]')),
    ('limits', dict(velocities=[0.0, 100.0, 0, 0, 0, 0]), ("'joint_2' reports a velocity", '3.9')),
], ids=['a joint is missing', 'NaN', 'lengths', 'outside', 'velocity'])
def test_bad_joint_states(nodes, play, check, told, words):
    """Each is named, with the publisher or the joint."""
    driver = play('driver')
    tell_states(driver, **told)
    take(driver)
    answer = ask(nodes=[nodes, driver])
    answer.has(check, 'problem', *words)
    assert 'ok' not in answer.of(check)


def test_joint_states_of_nobody(nodes, play):
    """A publisher that is silent is named."""
    driver = play('driver')
    driver.create_publisher(JointState, 'joint_states', 10)
    take(driver)
    ask(nodes=[nodes, driver]).has('joint states', 'problem', 'nothing comes on /joint_states',
                                   '/driver may publish it', 'activate')


def test_joint_states_that_stop(nodes, play):
    """How old the last are is told."""
    driver = play('driver')
    timer = tell_states(driver)
    take(driver)
    running = start()
    spin([nodes, driver], lambda: any(
        end.node_name == '_ik_doctor'
        for end in driver.get_subscriptions_info_by_topic('/joint_states')))
    end = monotonic() + 0.5
    spin([nodes, driver], lambda: monotonic() > end)
    driver.destroy_timer(timer)
    spin([nodes, driver], lambda: running.poll() is not None)
    Answer(running).has('joint states', 'problem', 's old, at most 0.5 s are allowed', '/driver')


def test_two_sources_that_contradict(nodes, play):
    """As joint_state_publisher beside the driver does."""
    driver, other = play('driver'), play('joint_state_publisher')
    tell_states(driver)
    tell_states(other, positions=[0.0] * 6, rate=20.0)
    take(driver)
    answer = ask(nodes=[nodes, driver, other])
    answer.has('state source', 'problem', "'joint_2' jumps to and fro",
               '/driver, /joint_state_publisher')
    assert not any("'joint_1'" in f['what'] for f in answer.findings
                   if f['check'] == 'state source')


@pytest.fixture(scope='module')
def odd(nodes):
    """Return the answer about a system that works, with all that a user may not have meant."""
    with ExitStack() as stack:
        parts = [rclpy.create_node(name) for name in ('driver', 'other', 'gazebo', 'gazebo')]
        for part in parts:
            stack.callback(part.destroy_node)
        driver, other, gazebo, _ = parts
        # joint_2 ends at 2.2
        tell_states(driver, NAMES[:3], [READY[0], 2.21, READY[2]], age=3600, rate=5.0)
        tell_states(other, NAMES[3:], READY[3:], age=3600, rate=5.0)
        take(driver)
        take(other)
        other.create_publisher(JointTrajectory, 'joint_trajectory', 10)
        gazebo.create_publisher(Clock, '/clock', 10)
        answered = nodes.send((9.0, 0.0, 0.4))
        spin([nodes, *parts], lambda: any(
            status['state'] in FINAL for status in nodes.answers(answered)))
        return ask('--timeout', PATIENCE, nodes=[nodes, *parts])


@pytest.mark.parametrize('check, words', [
    ('clock', ('whoever stamps the joint states is 360', 'behind ours', 'synchronise')),
    ('clock', ('/gazebo publishes /clock', 'use_sim_time')),
    ('state source', ('2 publish /joint_states: /driver, /other', 'one of them')),
    ('state source', ('times a second',)),
    ('limits', ("'joint_2' stands at 2.21", '0.01 outside')),
    ('controller', ('2 listen on /joint_trajectory: /driver, /other', 'all but one')),
    ('controller', ('2 may send to /joint_trajectory: /ik_node, /other',)),
    ('goals', ('rejected (', 'it means: ')),
    ('node', ('2 nodes are named /gazebo',)),
], ids=['old stamps', 'clock that is not used', 'two publishers', 'slow', 'slightly outside',
        'two controllers', 'two senders', 'last goal', 'two of a name'])
def test_warnings(odd, check, words):
    """What may be meant is a warning, and the exit code stays 0."""
    odd.has(check, 'warning', *words)
    assert odd.code == 0
    odd.has('joint states', 'ok', '6 joints')


def test_no_stamps(nodes, play):
    """Joint states without a time."""
    driver = play('driver')
    tell_states(driver, age=None)
    take(driver)
    answer = ask(nodes=[nodes, driver])
    answer.has('state source', 'warning', 'no stamp')
    assert answer.of('clock') == ['ok'] and answer.code == 0, answer.findings


# ---- controller, QoS, names -------------------------------------------------

OTHER_TYPE = '''
from ik_node.ros.process import run
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


@pytest.mark.parametrize('words', [
    ('/joint_trajectory gets from /ik_node to /late', 'ransient local sub'),
    ('/joint_trajectory gets from /ik_node to /other',
     'trajectory_msgs/msg/JointTrajectory is not std_msgs/msg/String'),
    ('/ik_node/goal_pose gets from /sender to /ik_node', 'eliab')],
    ids=['controller', 'type', 'sender of goals'])
def test_what_cannot_be_heard(deaf, words):
    """Both ends are named, and why."""
    deaf.has('QoS', 'problem', *words)


def test_who_cannot_hear_is_no_controller(deaf):
    """It does not count."""
    deaf.has('controller', 'problem', 'nobody takes trajectories', '/late, /other cannot')


def test_two_nodes_of_a_name(nodes, play):
    """Neither can be told from the other."""
    play('ik_node', start_parameter_services=False)
    ask(nodes=[nodes]).has('node', 'problem', '2 nodes are named /ik_node', 'end one')


def test_action(actor):
    """By the parameter output: nobody serves the action, then one does."""
    node = actor({'urdf_file': ARM, 'output': 'action', 'controller': 'arm'})
    about(node).has('controller', 'problem', '/played/arm/follow_joint_trajectory')
    node.create_service(Trigger, f'arm/{ACTION}/_action/send_goal', lambda request, answer: answer)
    about(node).has('controller', 'ok', '/played/arm/follow_joint_trajectory')


# ---- time -------------------------------------------------------------------

def test_simulated_time(nodes, play):
    """With a /clock that stands, and with one that runs."""
    arguments = '--node', '/sim/ik_node'
    gazebo, time = play('gazebo'), [100.0, 0.0]
    publisher = gazebo.create_publisher(Clock, '/clock', 10)

    def tell():
        time[0] += time[1]
        publisher.publish(Clock(clock=Time(sec=int(time[0]), nanosec=int(time[0] % 1 * 1e9))))

    gazebo.create_timer(0.05, tell)
    ask(*arguments, nodes=[nodes, gazebo]).has('clock', 'problem', '/clock stands at 100 s')
    time[1] = 0.05
    answer = ask(*arguments, nodes=[nodes, gazebo])
    answer.has('clock', 'ok', '/clock, alike')


def test_clock_of_the_node(actor):
    """A machine whose clock is wrong."""
    answer = about(actor({'urdf_file': ARM}, ahead=100))
    answer.has('clock', 'problem', 'the clock of the node is', 'ahead of ours', 'synchronise')


# ---- the command ------------------------------------------------------------

@pytest.mark.parametrize('arguments, words', [
    (('--timeout', '0'), 'more than 0'), (('--timeout', 'x'), 'invalid float'),
    (('--nod',), 'expected one argument'), (('now',), 'unrecognized')])
def test_usage(arguments, words):
    """Wrong usage is explained, with exit code 2."""
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and words in done.stderr, done.stderr


def test_interrupted(nodes):
    """Ctrl-C ends it without a trace."""
    running = subprocess.Popen([*COMMAND, '--timeout', PATIENCE, '--node', '/none'], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    spin([nodes], lambda: ('_ik_doctor', '/') in nodes.get_node_names_and_namespaces())
    running.send_signal(signal.SIGINT)
    text, _ = running.communicate(timeout=30.0)
    assert (running.returncode, text) == (130, '')
