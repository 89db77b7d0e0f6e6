# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Odd messages on every topic that a node hears: it lives, answers once, and goes on working."""

from collections import Counter
from dataclasses import fields
from importlib.util import find_spec
from time import monotonic

from fuzz.messages import DOUBLES, like, spoilt, TEXTS
from geometry_msgs.msg import (
    PointStamped,
    PoseArray,
    PoseStamped,
    PoseWithCovariance,
    PoseWithCovarianceStamped,
    QuaternionStamped,
    TwistStamped,
    Vector3,
)
from graph import all_of
from harness import (
    ARM,
    COLD_START,
    FINAL,
    latest,
    NAMES,
    path_of,
    pose,
    Probe,
    process,
    READY,
    tip,
)
from hypothesis import given, HealthCheck, Phase, settings, strategies as st
from nightly import samples
import numpy as np
import pinocchio as pin
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from test_scene_messages import cloud_of
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.motion.constrained.keep import flow_text, Keep, upright
from ik_node.node.stream.jog import joint_jog_type
from ik_node.ros.messages.conversion import chunk_message, free_path
from ik_node.ros.messages.kept_goals import kept_goal, KeptGoal, plain_message
from ik_node.ros.middleware.qos import LATCHED_QOS

# What is found is sent again as it is; over DDS, smaller examples are not looked for.
ONCE = settings(max_examples=samples(usual=12, nightly=25), deadline=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck))
BATCH = 8
TURNED = pin.Quaternion(tip(READY).rotation).coeffs()


def stamped(message, frame='base_link'):
    """Return a message in a frame, without a stamp."""
    message.header.frame_id = frame
    return message


AHEAD = [pose(tip(READY).translation + [0.0, 0.02 * k, 0.0]) for k in (1, 2)]
POSE = stamped(PoseStamped(pose=AHEAD[0]))
REGION = stamped(PoseWithCovarianceStamped(pose=PoseWithCovariance(
    pose=AHEAD[0], covariance=np.diag([0.0, 0.0, 1e-4, 0.0, 0.0, 0.1]).ravel())))
POINT = stamped(PointStamped(point=AHEAD[0].position))
GOALS = {
    'goal_pose': POSE, 'goal_pointing': POSE, 'goal_position': POINT, 'goal_region': REGION,
    'goal_orientation': stamped(QuaternionStamped(quaternion=AHEAD[0].orientation)),
    'goal_joints': JointState(name=NAMES, position=READY), 'goal_named': JointState(name=['home']),
    'goal_joint_path': JointTrajectory(joint_names=NAMES, points=[
        JointTrajectoryPoint(positions=[0.1 * k, *READY[1:]]) for k in (1, 2)]),
    'goal_kept': kept_goal(KeptGoal('pose', POSE, (upright(3.0),))),
    'goal_path': stamped(path_of(*AHEAD)), 'goal_first': stamped(path_of(*AHEAD)),
    'goal_line': stamped(PoseWithCovarianceStamped(pose=PoseWithCovariance(pose=AHEAD[0]))),
    'goal_arc': stamped(PoseArray(poses=AHEAD)),
    'goal_chunk': stamped(chunk_message(path_of(*AHEAD), [1.0, 2.0], [0.01, 0.02])),
    **{f'goal_free_{way}': stamped(free_path(path_of(*AHEAD), ['rz'])) for way in ('path', 'arc')},
}
BOX = stamped(Marker(type=Marker.CUBE, ns='far', scale=Vector3(x=0.1, y=0.1, z=0.1),
                     pose=pose((0.0, 0.0, 5.0))))
CLOUD, NO_CLOUD = (stamped(cloud_of(np.array([[0.0, 0.0, z]], dtype='f4'))) for z in (5.0, np.nan))
TWIST = stamped(TwistStamped())
TWIST.twist.linear.x = 0.1
OTHERS = {'goal_stream': POSE, 'delta_twist_cmds': TWIST, 'preview_pose': POSE,
          'preview_pointing': POSE, 'preview_position': POINT,
          'scene': MarkerArray(markers=[BOX]), 'scene_points': CLOUD}
if find_spec('moveit_msgs') is not None:  # not on PyPI
    from moveit_kit import attached_object, box, collision_object, scene_of
    THING = collision_object('thing', box(0.1, 0.1, 0.1), place=(0.0, 0.0, 5.0))
    HELD = attached_object('tool0', collision_object('held', box(0.01, 0.01, 0.01),
                                                     frame='tool0'), 'link_6')
    OTHERS |= {'/collision_object': THING, '/attached_collision_object': HELD,
               '/planning_scene': scene_of(THING, attached=[HELD])}
JOINT_JOG = joint_jog_type()
if JOINT_JOG is not None:
    OTHERS['delta_joint_cmds'] = JOINT_JOG(joint_names=NAMES, velocities=[0.1] * 6)
STATE = JointState(name=NAMES, position=READY, velocity=[0.0] * 6)
TRAJECTORY = JointTrajectory(joint_names=NAMES, points=[
    JointTrajectoryPoint(positions=READY, velocities=[0.0] * 6, accelerations=[0.0] * 6)])
TRAJECTORY.points[0].time_from_start.sec = 1


def sound(process):
    """Check that a process lives, and that none of its callbacks has met what is unforeseen."""
    assert process.running(), process.output[-3000:]
    assert 'Traceback' not in process.output, \
        process.output[max(0, process.output.index('Traceback') - 300):][:4000]


@pytest.fixture(scope='module')
def publishers(shared_system):
    """Return a publisher to every topic of the node that takes messages."""
    made = {name: shared_system.create_publisher(type(good), name, 10) if name[0] == '/'
            else shared_system.publisher(type(good), name)
            for name, good in (GOALS | OTHERS).items()}
    for publisher in made.values():
        shared_system.wait(publisher.get_subscription_count, what=publisher.topic_name)
    heard = {name for kind, name in all_of(shared_system, 'ik_node') if kind == 'subscriber'}
    assert heard <= {*(made[name].topic_name for name in made), '/joint_states', '/clock',
                     '/robot_description_semantic', '/parameter_events',
                     '/ik_node/instance', '/ik_node/halt'}, heard  # a halt has no fields
    return made


ODD_KEEPS = st.dictionaries(
    st.sampled_from([field.name for field in fields(Keep)]),
    st.one_of(DOUBLES, TEXTS, st.lists(DOUBLES, max_size=7)), max_size=3)


def odd(name, good):
    """Return the strategy for odd messages of a topic; of goals as text the text is odd inside."""
    if name != 'goal_kept':
        return like(good)
    return st.one_of(like(good), st.builds(
        lambda message, keep: String(data=flow_text(
            {'goal': 'pose', 'message': plain_message(message), 'keep': keep})),
        spoilt(POSE), ODD_KEEPS))


def answered(probe, count):
    """Return whether so many goals, at least, came, and each of them has its final answer."""
    ends = Counter(answer['goal'] for answer in probe.statuses if answer['state'] in FINAL)
    numbers = {answer['goal'] for answer in probe.statuses}
    return len(numbers) >= count and all(ends[number] for number in numbers)


@pytest.mark.fault('goals', 'any well-typed message',
                   'each goal is answered once, and the next good one is reached')
def test_goals_and_previews(shared_system, publishers):
    """Every goal has exactly one final answer, and a plain one is reached afterwards."""
    probe, topics = shared_system, {**GOALS, **OTHERS}
    sent = 0
    before = {answer['goal'] for answer in probe.statuses}

    @ONCE
    @given(st.lists(st.sampled_from(list(topics)).flatmap(
        lambda name: st.tuples(st.just(name), odd(name, topics[name]))), min_size=BATCH,
        max_size=BATCH))
    def send(batch):
        nonlocal sent
        for name, message in batch:
            publishers[name].publish(message)
            sent += name in GOALS
        probe.wait(lambda: answered(probe, len(before) + sent), 60.0, f'all answers to {batch}')
        sound(probe.node)

    send()
    ends = Counter(answer['goal'] for answer in probe.statuses if answer['state'] in FINAL)
    assert set(ends.values()) == {1}, 'a goal was answered twice'
    publishers['scene'].publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
    publishers['scene_points'].publish(NO_CLOUD)
    probe.spin_for(0.3)
    assert probe.final(probe.send_joints(READY))['state'] == 'reached'


@pytest.mark.fault('goals', 'bytes that are no message',
                   'nothing is lost beside them; of a path or an arc it is said')
def test_bytes_that_are_no_message(shared_system, publishers):
    """
    On every topic, for goals between true ones, each of which is answered.

    At least one byte: of a publisher that has sent none, Fast DDS brings nothing more.
    """
    probe, unread = shared_system, 'cannot be read as a'
    for garbage in (b'x', b'no message', b'\0\1\0\0' + 7 * b'\0', b'\0\1\0\0' + 60 * b'\xff'):
        since = len(probe.statuses)
        for name, good in GOALS.items():
            for message in (good, garbage, garbage, good):
                publishers[name].publish(message)
        for name in OTHERS:
            publishers[name].publish(garbage)
        for message in (garbage, STATE, garbage):
            probe.joint_states.publish(message)
        probe.wait(lambda since=since: 2 * len(GOALS) == sum(
            answer['state'] in FINAL and unread not in answer['message']
            for answer in probe.statuses[since:]), 60.0, 'all answers to what can be read')
    said = [answer for answer in probe.statuses if unread in answer['message']]
    assert {(answer['state'], answer['reason']) for answer in said} == {
        ('rejected', 'PATH_INVALID')}
    sound(probe.node)
    assert probe.final(probe.send_joints(READY))['state'] == 'reached'


@pytest.mark.fault('start, end and middleware', 'announcements of other nodes that are none',
                   'they are not heeded, and the next goal is reached')
def test_announcements(shared_system):
    """What is no announcement makes no second node of this name."""
    probe = shared_system
    publisher = probe.create_publisher(String, '/ik_node/instance', LATCHED_QOS)
    probe.wait(publisher.get_subscription_count)
    for odd in (String(), String(data='x' * 100_000), String(data='0' * 20), b'x', b'\xff' * 60,
                *(String(data=text) for text in ('\x1b[2J\x07', 'ÄÖ\u202e', '%s{0}$(x)'))):
        publisher.publish(odd)
    assert probe.final(probe.send_joints(READY))['state'] == 'reached'
    sound(probe.node)
    assert 'nodes are named' not in probe.node.output
    publisher.publish(String(data=f'{"9" * 20} {0:032x} process 1 on nowhere'))
    probe.wait(lambda: '2 nodes are named' in probe.node.output, what='a true one')
    probe.destroy_publisher(publisher)

    def taken() -> bool:
        return probe.final(probe.send_joints(READY))['state'] == 'reached'

    probe.wait(taken, 20.0, 'a goal that is taken again')


@pytest.mark.fault('joint states', 'any well-typed message between true ones',
                   'the node lives, and the next goal is reached')
def test_joint_states(shared_system):
    """Odd joint states between the true ones; the arm is where it says afterwards."""
    probe = shared_system

    @ONCE
    @given(st.lists(like(STATE), min_size=BATCH, max_size=BATCH))
    def send(batch):
        for message in batch:
            probe.joint_states.publish(message)
        stamp = probe.send_joints(READY)
        probe.final(stamp, 60.0)
        sound(probe.node)

    send()
    # What we published ourselves may still be on its way to the node.
    end, states = monotonic() + 20.0, []
    while states[-2:] != ['reached', 'reached'] and monotonic() < end:
        states += [probe.final(probe.send_joints(q))['state'] for q in ([0.1, *READY[1:]], READY)]
    assert states[-2:] == ['reached', 'reached'], probe.statuses[-1]


@pytest.mark.fault('controller', 'any well-typed trajectory',
                   'the simulated controller takes or refuses it, and goes on')
@pytest.mark.nightly
def test_simulated_controller(shared_system):
    """Odd trajectories: taken or refused, and it goes on."""
    probe = shared_system

    @ONCE
    @given(st.lists(like(TRAJECTORY), min_size=BATCH, max_size=BATCH))
    def send(batch):
        for message in batch:
            probe.commands.publish(message)
        latest(probe)
        sound(probe.sim)

    send()
    probe.wait(lambda: abs(latest(probe) - latest(probe)).max() == 0.0, 60.0, 'rest')
    assert probe.final(probe.send_joints(READY))['state'] == 'reached'


URDF = ARM.read_text()
# Of the real one at least the end is missing.
CUT = st.one_of(st.integers(0, len(URDF.rstrip()) - 1), st.integers(0, 400)).map(
    lambda length: URDF[:length])


@pytest.mark.fault('robot description', 'any text on the topic, and a real one that is cut off',
                   'each is refused in a sentence; with a good one the next goal is reached')
def test_robot_description(tmp_path, recorded):
    """A node without a robot says of each text what is wrong, waits for another, and takes it."""
    space, probe = {'__ns': '/bare'}, Probe('looks_at_bare', '/bare/ik_node')
    descriptions = probe.create_publisher(String, '/bare/robot_description', LATCHED_QOS)
    with process('sim_controller', tmp_path, {
            'urdf_file': ARM, 'initial_positions': READY}, space), \
            process('ik_node', tmp_path, {}, space) as node:
        probe.wait(lambda: descriptions.get_subscription_count()
                   and 'waiting for /bare/robot_description' in node.output,
                   COLD_START, 'who hears it')

        @ONCE
        @given(st.one_of(st.text(), TEXTS, CUT))
        def send(text):
            before = len(node.output)
            descriptions.publish(String(data=text))
            probe.wait(lambda: 'waiting for another' in node.output[before:], 60.0,
                       f'what is wrong with {text!r}')
            lines = node.output[before:].splitlines()
            assert len(lines) == 1, lines
            said = lines[0]
            assert '[ERROR]' in said and '/bare/robot_description: ' in said, said
            assert said.isprintable() and len(said) < 700, said
            sound(node)

        send()
        descriptions.publish(String(data=URDF))
        probe.wait_for_node()
        probe.wait_until_ready()
        away = tip(READY).translation + [0.0, 0.02, 0.0]
        assert probe.final(probe.send(away, TURNED))['state'] == 'reached'
        sound(node)
    probe.destroy_node()
