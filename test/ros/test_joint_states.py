# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint states that are missing, wrong, odd or contradict one another, and arms that do not move.

The test publishes them, and takes trajectories as a controller that does nothing with them.
"""

from itertools import cycle
import math
from math import pi
from time import monotonic
from types import SimpleNamespace

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from harness import ARM, DOWN, NAMES, once_each, positions_of, Probe, process, READY, seconds
from hypothesis import given, strategies as st
import numpy as np
import pytest
from rclpy.duration import Duration
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from ik_node.base.errors import StateError
from ik_node.model.chain import make_chain
from ik_node.model.description.urdf import read_urdf
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.node.goals.queue import START_GRACE_S
from ik_node.node.state.arm_state import ArmState
from ik_node.ros.messages import joint_states
from ik_node.ros.messages.joint_states import (
    joint_state_message,
    JointStates,
    MAX_JOINT_NAMES,
    read_joint_state,
)

ERROR, STALE = DiagnosticStatus.ERROR, DiagnosticStatus.STALE
LEAPT = np.array(READY) + [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
THERE = np.array(READY) + 0.3
GOAL = (0.4, 0.1, 0.4)


# ---- what is made of them, without a node ---------------------------------------------------

def test_a_message_is_read_once_for_all_nodes_of_a_process():
    """Each gets the same; another message is another one."""
    data = [serialize_message(JointState(name=NAMES, position=[x] * 6)) for x in (0.1, 0.2)]
    first = read_joint_state(data[0])
    assert read_joint_state(bytes(bytearray(data[0]))) is first and first.position[0] == 0.1
    assert read_joint_state(data[1]).position[0] == 0.2
    with pytest.raises(RuntimeError):
        read_joint_state(data[0][:9])


TEXTS = st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=9)
VALUES = st.lists(st.floats(), max_size=4)


@given(st.integers(-2**31, 2**31 - 1), st.integers(0, 2**32 - 1), TEXTS,
       st.lists(TEXTS, max_size=4), VALUES, VALUES, VALUES)
def test_messages_are_read_as_the_middleware_does(sec, nanosec, frame, names, position, velocity,
                                                  effort):
    """The first of a sender, and the next ones, for which the middleware is not asked."""
    message = JointState(header=Header(stamp=Time(sec=sec, nanosec=nanosec), frame_id=frame),
                         name=names, position=position, velocity=velocity, effort=effort)
    for k in range(2):
        message.header.stamp.sec = (sec + k) // 2
        data = serialize_message(message)
        with pytest.MonkeyPatch.context() as patch:
            if k:
                patch.delattr(joint_states, 'deserialize_message')
            read = read_joint_state(data)
        assert (read.header.stamp.sec, read.header.stamp.nanosec) == ((sec + k) // 2, nanosec)
        assert [*read.name] == names
        np.testing.assert_array_equal(read.position, position)
        np.testing.assert_array_equal(read.velocity, velocity)


def test_messages_that_are_like_others_but_for_what_is_read():
    """Another name of the same length, or numbers that are cut off, are seen."""
    message = JointState(name=['a', 'b'], position=[1.0, 2.0], velocity=[3.0, 4.0])
    assert read_joint_state(serialize_message(message)).name == ('a', 'b')
    message.name[1] = 'c'
    data = serialize_message(message)
    assert read_joint_state(data).name == ('a', 'c')
    with pytest.raises(RuntimeError):
        read_joint_state(data[:-16])
    assert not read_joint_state(serialize_message(JointState(
        name=['a', 'c'], position=[1.0, 2.0], velocity=[], effort=[3.0, 4.0]))).velocity


def test_messages_are_written_as_the_middleware_does(monkeypatch):
    """Serialized, and as a message where the middleware has another encoding."""
    given = 1_500_000_001, ('joint', 'b'), [0.5, math.nan], [-1.0, math.inf]
    data = joint_state_message(*given)
    assert isinstance(data, bytes)
    monkeypatch.setattr(joint_states, '_middleware_reads_it', lambda: False)
    message = joint_state_message(*given)
    assert message.header.stamp == Time(sec=1, nanosec=500_000_001)
    assert repr(deserialize_message(data, JointState)) == repr(message)  # which has a NaN


@pytest.mark.parametrize('names, positions, velocities, reason, words', [
    (NAMES[:5], READY[:5], [], 'STATE_INCOMPLETE', "lack 'joint_6'"),
    ([f'A{k}' for k in range(1, 7)], READY, [], 'STATE_OTHER_JOINTS',
     "the joint states name 'A1', 'A2', 'A3', 'A4', 'A5' and 1 more, and none of the joints of "
     "the arm, 'joint_1', "),
    ([f'left_{name}' for name in NAMES], READY, [], 'STATE_OTHER_JOINTS',
     "(the URDF lacks the prefix 'left_'); load the URDF of the robot that runs"),
    ([], [], [], 'STATE_OTHER_JOINTS', 'the joint states name no joint'),
    (NAMES, [math.nan, *READY[1:]], [], 'STATE_INVALID', "'joint_1' is nan"),
    (NAMES, READY, [0.0] * 5 + [math.inf], 'STATE_INVALID', "'joint_6' is inf"),
    (NAMES, READY[:4], [], 'STATE_INVALID', '6 names and 4 positions'),
    (NAMES, [], [], 'STATE_INVALID', '6 names and 0 positions'),
    (NAMES, READY, [0.0], 'STATE_INVALID', '6 names and 1 velocities'),
    ([*NAMES[:5], 'joint_1'], READY, [], 'STATE_INVALID', 'names a joint twice')])
def test_what_is_wrong(names, positions, velocities, reason, words):
    """Each has its reason and its sentence, until good ones come."""
    joints = JointStates()
    taken = joints.take(JointState(name=names, position=[*map(float, positions)],
                                   velocity=velocities), 1.0, frozenset(NAMES))
    assert taken == (reason != 'STATE_INVALID')
    with pytest.raises(StateError) as caught:
        joints.state(NAMES, 1.1, 0.5)
    assert caught.value.reason == reason and words in str(caught.value)
    assert joints.take(JointState(name=NAMES, position=READY), 3.0, frozenset(NAMES))
    assert joints.state(NAMES, 3.1, 0.5)[0].tolist() == READY
    with pytest.raises(StateError) as caught:
        joints.state(NAMES, 4.1, 0.5)
    assert caught.value.reason == 'STATE_STALE' and 'is 1.10 s old, at most 0.5' in str(
        caught.value)


@pytest.mark.fault('joint states', 'ever new names of joints',
                   'nothing is remembered of joints that the robot does not have; before there '
                   'is a robot, of 5,000 at most')
def test_ever_new_names():
    """The memory does not grow with them, and the joints of the arm are known all the same."""
    joints = JointStates()
    for k in range(3):
        names = [f'{k}_{j}' for j in range(MAX_JOINT_NAMES)]
        assert joints.take(JointState(name=names, position=[0.0] * MAX_JOINT_NAMES), float(k))
    assert len(joints.positions) == MAX_JOINT_NAMES
    state = JointState(name=[*NAMES, 'finger'], position=[*READY, 0.5])
    assert joints.take(state, 3.0, frozenset(NAMES))
    q, _ = joints.state(NAMES, 3.0, 0.5)
    assert q.tolist() == READY and len(joints.positions) == MAX_JOINT_NAMES + len(NAMES)
    assert not joints.take(JointState(name=[*names, 'one_more']), 4.0)
    assert 'it has 5001 names, at most 5000' in joints.complaint


# ---- a node of its own, which comes before the one that all others share ---------------------

def ask(probe):
    """Send a goal; return its final answer."""
    return probe.final(probe.send(GOAL, DOWN))


@pytest.mark.fault('goals', 'a goal before joint states',
                   'refused, with the topic and its publishers; never run later')
@pytest.mark.fault('joint states', 'none arrive',
                   'goals are refused with the topic and how many publish there')
def test_no_joint_state(tmp_path, probe):
    """Never planned from an assumed state: the answer names the topic and its publishers."""
    with process('ik_node', tmp_path, {'urdf_file': ARM}):
        probe.wait_for_node()
        answer = ask(probe)
        assert (answer['state'], answer['reason']) == ('rejected', 'STATE_MISSING')
        assert 'no joint state' in answer['message']
        assert '1 publisher on /joint_states' in answer['message']  # the probe's, silent
        other = probe.create_publisher(JointState, 'joint_states', 10)
        probe.wait(lambda: '2 publishers on /joint_states' in ask(probe)['message'])
        probe.destroy_publisher(other)
        probe.create_timer(0.02, lambda: probe.publish_state(NAMES, READY))
        probe.watch_motion()
        probe.wait_until_ready()
        probe.spin_for(START_GRACE_S + 0.5)  # longer than a goal waits for what is missing
        assert not probe.trajectories
        assert {answer['state'] for answer in probe.statuses} == {'rejected'}
        once_each(probe.statuses, [answer['stamp'] for answer in probe.statuses])
        # It is not that nothing could have begun.
        stamp = probe.send(GOAL, DOWN)
        probe.wait(lambda: probe.trajectories and probe.answers(stamp), what='a trajectory')
        assert probe.answers(stamp)[0]['state'] == 'accepted'


@pytest.mark.fault('start, end and middleware', 'no controller',
                   'goals are refused with the topic')
@pytest.mark.nightly
def test_nobody_listens(tmp_path, probe):
    """Without a controller the goal is refused, and the topic is named."""
    with process('ik_node', tmp_path, {'urdf_file': ARM}):
        probe.wait_for_node()
        probe.create_timer(0.02, lambda: probe.publish_state(NAMES, READY))
        probe.spin_for(0.5)
        answer = ask(probe)
        assert (answer['state'], answer['reason']) == ('rejected', 'NO_LISTENER')
        assert '/joint_trajectory' in answer['message']


# ---- one node, to which the test is driver and controller -----------------------------------

@pytest.fixture(scope='module')
def shared(tmp_path_factory, recorded):
    """Run the node alone; joint_6 turns without limit, and there is a wheel beside the arm."""
    folder = tmp_path_factory.mktemp('node')
    urdf = folder / 'arm.urdf'
    urdf.write_text(ARM.read_text().replace(
        'name="joint_6" type="revolute"', 'name="joint_6" type="continuous"').replace(
        '</robot>', '<link name="hub"/><joint name="wheel" type="continuous"><parent '
        'link="base_link"/><child link="hub"/><axis xyz="0 0 1"/></joint></robot>'))
    probe = Probe()
    probe.watch_motion()
    with process('ik_node', folder, {'urdf_file': urdf}) as probe.node:
        probe.wait_for_node()
        yield probe
    probe.destroy_node()


@pytest.fixture
def alone(shared):
    """Lend it when what was told of the joints before is forgotten."""
    shared.spin_for(1.2)
    for seen in (shared.trajectories, shared.statuses):
        seen.clear()
    shared.timers_made = []
    yield shared
    shared.call(shared.stop)
    for timer in shared.timers_made:
        shared.destroy_timer(timer)
    shared.set_back()


def tell(probe, q, stamp=None, velocities=True, publisher=None, names=NAMES):
    """
    Publish a posture from now on, and return the timer.

    `stamp` gives the time of a message, `q` its positions and maybe velocities.
    """
    def once() -> None:
        positions = q() if callable(q) else q
        speeds = [0.0] * len(names)
        if isinstance(positions, tuple):
            positions, speeds = positions
        message = JointState(name=names, position=[*map(float, positions)],
                             velocity=[*map(float, speeds)] if velocities else [])
        message.header.stamp = stamp() if stamp else probe.get_clock().now().to_msg()
        (publisher or probe.joint_states).publish(message)

    probe.timers_made.append(probe.create_timer(0.02, once))
    return probe.timers_made[-1]


def cease(probe, timer):
    """Publish a posture no more."""
    probe.timers_made.remove(timer)
    probe.destroy_timer(timer)


def begins_at(probe, q) -> None:
    """Send a goal, and see that its trajectory begins at q."""
    probe.send_joints(THERE)
    probe.wait(lambda: probe.trajectories, what='a trajectory')
    assert np.abs(np.array(probe.trajectories[0].points[0].positions) - q).max() < 2e-3
    assert probe.call(probe.stop).success


@pytest.mark.fault('joint states',
                   'joints missing, twice or of other names, NaN, names and positions of other '
                   'lengths, far outside the limits, impossible velocity',
                   'goals are refused with what is wrong until good ones come')
@pytest.mark.parametrize('positions, velocities, reason', [
    ([0.0, 3.0, *READY[2:]], [0.0] * 6, 'START_OUT_OF_LIMITS'),
    (READY, [0.0, 100.0, *[0.0] * 4], 'STATE_INVALID')], ids=['outside', 'velocity'])
def test_bad_joint_states(alone, positions, velocities, reason):
    """A goal is refused; with good states it is taken."""
    timer = tell(alone, lambda: (positions, velocities))
    alone.spin_for(1.2)  # a leap of what was told before is remembered for a second
    answer = ask(alone)
    assert (answer['state'], answer['reason']) == ('rejected', reason)
    assert not alone.trajectories
    cease(alone, timer)
    tell(alone, READY)
    alone.spin_for(1.5)
    begins_at(alone, READY)


@pytest.mark.fault('joint states', 'a message of twenty thousand names',
                   'left out unread, with a warning; those of the arm count')
@pytest.mark.nightly
def test_a_message_of_too_many_names(alone):
    """The node has one thread, which to read it would take."""
    tell(alone, READY)
    names = [f'other_{k}' for k in range(20_000)]
    many = JointState(name=names, position=[0.0] * len(names))
    # So large a message may be lost on its way.
    alone.timers_made.append(alone.create_timer(0.2, lambda: alone.joint_states.publish(many)))
    alone.wait(lambda: 'bytes, at most 262144 are read' in alone.node.output)
    cease(alone, alone.timers_made[-1])
    begins_at(alone, READY)


@pytest.mark.fault('joint states', 'hundreds of messages that make no sense',
                   'left out and counted, with a warning that is not on the log each time')
def test_dropped_messages_are_reported_periodically(alone):
    """200 of them: one line, or two if 5 s were over."""
    def left_out() -> int:
        health = alone.health.get('/ik_node: health')
        return int(next(pair.value for pair in health.values
                        if pair.key == 'joint_state_messages_left_out')) if health else 0

    alone.wait(lambda: '/ik_node: health' in alone.health)
    tips = len(alone.tip_poses)
    before, said, start = left_out(), alone.node.output.count('is left out in whole or part'), \
        monotonic()
    alone.timers_made.append(alone.create_timer(
        0.005, lambda: alone.publish_state(NAMES, READY[:4])))
    alone.wait(lambda: left_out() >= before + 200, 60.0, 'messages that are left out')
    alone.wait(lambda: 'part: it has 6 names and 4 positions' in alone.node.output)
    assert alone.node.output.count('is left out in whole or part') - said \
        <= 1 + (monotonic() - start) / 5.0
    assert len(alone.tip_poses) == tips  # no pose of joints that were not taken


@pytest.mark.fault('joint states', 'a joint beside the arm has no position (NaN), as wheels have',
                   'those of the arm count; one that the robot does not have is not spoken of')
def test_a_joint_without_a_position(alone):
    """The pose of the tip is published, and goals are taken."""
    count = len(alone.tip_poses)
    tell(alone, [math.nan, math.nan, *READY], names=['castor', 'wheel', *NAMES])
    alone.wait(lambda: len(alone.tip_poses) > count + 5, what='poses of the tip')
    begins_at(alone, READY)
    # Once in 5 s, whatever it is about.
    alone.wait(lambda: "part: 'wheel' is nan" in alone.node.output, what='the wheel')
    assert 'castor' not in alone.node.output


@pytest.mark.fault('joint states', 'two publish at the same moment, each of other joints',
                   'both are taken')
def test_two_publish_at_the_same_moment(alone):
    """What comes right before others, as of a gripper, is not replaced by these."""
    told, heard = [], len(alone.tip_poses)
    tell(alone, lambda: told.append(True) or READY[:2], names=NAMES[:2])
    for _ in range(10):  # no time to take one before the next comes
        tell(alone, READY[2:], names=NAMES[2:])
    alone.spin_for(2.0)
    # Each that has the first joint makes a pose, at half of their rate at most.
    assert len(alone.tip_poses) - heard > 0.3 * len(told)
    begins_at(alone, READY)


@pytest.mark.fault('joint states', 'half of the joints stop coming',
                   'goals are refused with a joint of them and its age')
@pytest.mark.fault('joint states', 'they stop arriving',
                   'goals are refused with their age; /diagnostics is STALE')
@pytest.mark.fault('joint states', 'other order, extra joints, split over two messages',
                   'joints are known by their names')
def test_half_of_the_joints_stop(alone):
    """Two publish, one goes: its joints are old, however new the others are; then all are."""
    by_name = dict(zip(NAMES, READY))
    first = tell(alone, [0.5, by_name['joint_3'], by_name['joint_1']],
                 names=['finger', 'joint_3', 'joint_1'])
    rest = ['joint_6', 'joint_2', 'joint_5', 'joint_4']
    timer = tell(alone, [by_name[name] for name in rest], names=rest)
    alone.spin_for(0.5)
    begins_at(alone, READY)
    cease(alone, timer)
    alone.wait_for_health(STALE, 'missing or old')
    alone.trajectories.clear()
    answer = ask(alone)
    assert (answer['state'], answer['reason']) == ('rejected', 'STATE_STALE')
    assert any(f'the joint state of {name!r} is' in answer['message'] for name in rest)
    cease(alone, first)
    alone.spin_for(0.6)
    assert ask(alone)['reason'] == 'STATE_STALE' and not alone.trajectories
    tell(alone, [by_name['joint_3'], by_name['joint_1']], names=['joint_3', 'joint_1'])
    tell(alone, [by_name[name] for name in rest], names=rest)
    alone.spin_for(0.5)
    begins_at(alone, READY)


@pytest.mark.fault('joint states', 'a joint slightly outside its limits',
                   'it moves inward, with a warning')
def test_start_slightly_outside_moves_inward(alone):
    """A joint a little past its stop starts there and never goes further out."""
    tell(alone, [READY[0], 2.21, *READY[2:]])  # joint_2 ends at 2.2
    alone.spin_for(1.5)
    alone.send(GOAL, DOWN)
    alone.wait(lambda: alone.trajectories)
    path = [point.positions[1] for point in alone.trajectories[0].points]
    assert max(path) <= 2.21 and path[-1] < 2.2
    alone.wait(lambda: 'outside its limits' in alone.node.output)


@pytest.mark.nightly
def test_held_arm_does_not_leap(alone):
    """An arm that is held during its motion is met where it is, by a goal and by a stop."""
    alone.change('/ik_node', watch__start_timeout=30.0)
    tell(alone, READY)
    alone.spin_for(0.5)
    alone.send((0.3, 0.4, 0.3), DOWN)
    alone.wait(lambda: alone.trajectories)
    alone.spin_for(0.8)
    second = alone.send(GOAL, DOWN)
    alone.wait(lambda: alone.answers(second))
    alone.spin_for(0.8)
    first_points = [point.positions for message in alone.trajectories
                    for point in message.points[:3]]
    assert max(abs(a - b) for point in first_points for a, b in zip(point, READY)) < 0.02
    response = alone.call(alone.stop)
    assert response.success and 'at rest' in response.message
    assert alone.final(second)['state'] == 'stopped'
    alone.wait(lambda: all(abs(a - b) < 1e-9 for point in alone.trajectories[-1].points
                           for a, b in zip(point.positions, READY)),
               what='the trajectory that holds the arm')


@pytest.mark.nightly
def test_stop_of_an_arm_that_is_slower_than_planned(alone):
    """Past the planned end a slow arm still moves, and is stopped from where it is."""
    alone.change('/ik_node', watch__settle_timeout=20.0)
    began: list[float] = []
    state = [np.array(READY), np.zeros(6)]

    def q():
        if len(alone.trajectories) == 1:
            began.append(monotonic())
            times = [seconds(point.time_from_start) for point in alone.trajectories[0].points]
            path = np.array([point.positions for point in alone.trajectories[0].points])
            t = (monotonic() - began[0]) / 3.0
            now, later = (np.array([np.interp(u, times, column) for column in path.T])
                          for u in (t, t + 0.01))
            state[:] = now, (later - now) / 0.03
        return tuple(state)

    tell(alone, q)
    alone.spin_for(0.5)
    stamp = alone.send((0.3, 0.4, 0.3), DOWN)
    alone.wait(lambda: alone.trajectories)
    duration = seconds(alone.trajectories[0].points[-1].time_from_start)
    alone.wait(lambda: began and monotonic() - began[0] > 1.3 * duration)
    response = alone.call(alone.stop)
    assert response.success and 'at rest' in response.message
    assert alone.final(stamp)['reason'] == 'STOPPED'
    alone.wait(lambda: len(alone.trajectories) == 2)
    ramp = alone.trajectories[1].points
    assert np.abs(np.array(ramp[0].positions) - state[0]).max() < 0.1
    assert not any(ramp[-1].velocities)


@pytest.mark.fault('joint states', 'two publishers of different values',
                   'a warning with how many there are; goals are refused, and /diagnostics is '
                   'ERROR, as long as they contradict one another')
def test_two_publishers(alone):
    """As joint_state_publisher beside the driver does."""
    other = alone.create_publisher(JointState, 'joint_states', 10)
    alone.wait(other.get_subscription_count)
    tell(alone, READY)
    tell(alone, LEAPT, publisher=other)
    alone.wait(lambda: "joint 'joint_1' leapt by 1 within" in alone.node.output)
    answer = alone.final(alone.send_joints(THERE))
    assert (answer['state'], answer['reason']) == ('rejected', 'STATE_INVALID')
    assert '2 publishers on /joint_states' in answer['message'] and not alone.trajectories
    alone.wait_for_health(ERROR, 'leapt by 1 within', '2 publishers on /joint_states')
    alone.destroy_timer(alone.timers_made.pop())
    alone.destroy_publisher(other)
    alone.spin_for(1.5)
    begins_at(alone, READY)


@pytest.mark.fault('joint states', 'a joint leaps by 1 rad between two messages',
                   'a warning; goals are refused, and /diagnostics is ERROR, for a second, then '
                   'they are taken from where it is')
def test_a_leap(alone):
    """Its old state does not count any more."""
    tell(alone, READY)
    alone.spin_for(0.5)
    said = alone.node.output.count('leapt')
    alone.health.clear()
    alone.wait(lambda: '/ik_node: health' in alone.health)
    alone.spin_for(0.4)  # the next comes while it counts as a leap
    alone.destroy_timer(alone.timers_made.pop())
    tell(alone, LEAPT)
    alone.spin_for(0.2)
    assert alone.final(alone.send_joints(THERE))['reason'] == 'STATE_INVALID'
    alone.wait(lambda: alone.node.output.count('leapt') > said)
    alone.wait_for_health(ERROR, 'leapt by 1 within')
    alone.spin_for(1.5)
    begins_at(alone, LEAPT)


def test_a_state_that_waited_longer_than_the_one_before():
    """It may be older, and is no leap."""
    chain = make_chain(read_urdf(ARM))
    robot = SimpleNamespace(
        chain=chain, joint_names=frozenset(NAMES), fastest=chain.velocity,
        settings=SimpleNamespace(limits=MotionLimits.of_joints(chain)))
    said = []
    node = SimpleNamespace(
        create_publisher=lambda *_: None, get_logger=lambda: SimpleNamespace(
            warning=lambda text, **_: said.append(text)), count_publishers=lambda _: 1,
        create_subscription=lambda *_, **__: SimpleNamespace(topic_name='/joint_states'))
    arm = ArmState(node, SimpleNamespace(robot=robot), SimpleNamespace(
        tip_pose_rate=10.0, frame_prefix=''), None, SimpleNamespace(
            longest=lambda age: age, since=lambda _: 0.0))
    for now in (10.0, 9.0):
        assert arm._take(JointState(name=NAMES, position=[*map(float, READY)]), now)
    assert not said


@pytest.mark.fault('joint states',
                   'states that were held up arrive together, with their own stamps',
                   'no leap: the time between their stamps counts')
def test_states_that_arrive_together(alone):
    """As from a process or a network that stood still while the arm moved."""
    said, now = alone.node.output.count('leapt'), alone.get_clock().now()
    alone.wait(alone.joint_states.get_subscription_count)
    for k in range(4):
        message = JointState(name=NAMES, position=[READY[0] + 0.5 * k, *READY[1:]])
        message.header.stamp = (now - Duration(seconds=3.0 - k)).to_msg()
        alone.joint_states.publish(message)
    tell(alone, [READY[0] + 1.5, *READY[1:]])
    alone.spin_for(0.2)
    answer = alone.final(alone.send_joints(THERE))
    assert answer['reason'] != 'STATE_INVALID', answer
    assert alone.node.output.count('leapt') == said


@pytest.mark.fault('joint states', 'a continuous joint at forty turns', 'it goes the short way')
@pytest.mark.fault('joint states', 'a joint without limits is counted from another turn on',
                   'no leap; the goal is the nearest turn')
def test_another_turn(alone):
    """A driver that wraps its angles, and one that has turned forty times."""
    turns = [0.0, 0.0, 0.0, 0.0, 0.0, 80.0 * pi]
    tell(alone, READY)
    alone.spin_for(0.5)
    alone.destroy_timer(alone.timers_made.pop())
    tell(alone, np.array(READY) + turns)
    alone.spin_for(0.2)
    alone.send_joints(THERE)
    alone.wait(lambda: alone.trajectories)
    assert np.allclose(alone.trajectories[0].points[-1].positions, THERE + turns, atol=1e-6)
    assert alone.call(alone.stop).success
    alone.trajectories.clear()
    assert alone.call(alone.home).success
    alone.wait(lambda: alone.trajectories)
    assert abs(alone.trajectories[-1].points[-1].positions[5] - turns[5]) < 1e-9


@pytest.mark.fault('joint states',
                   'stamps that are zero, of the past, of the future, or go backwards',
                   'the time of receipt counts; goals are taken')
@pytest.mark.fault('joint states', 'published best effort, as sensors are, or reliable',
                   'both are heard')
def test_odd_stamps_and_best_effort(alone):
    """It is known when they came; all other tests tell them reliably."""
    q = np.array(READY) - 0.3  # away from old plans
    publisher = alone.create_publisher(JointState, 'joint_states', QoSProfile(
        depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
    alone.wait(publisher.get_subscription_count)
    stamps = cycle([Time(), Time(sec=1), Time(sec=2**31 - 1)])
    timer = tell(alone, q, stamp=lambda: next(stamps), publisher=publisher)
    alone.spin_for(0.5)
    begins_at(alone, q)
    cease(alone, timer)
    alone.destroy_publisher(publisher)


@pytest.mark.fault('joint states', 'no velocities',
                   'a new goal in motion goes on from the planned state')
def test_no_velocities(alone):
    """The arm follows its trajectory; what it tells are positions alone."""
    began = []

    def q() -> np.ndarray:
        if not alone.trajectories:
            return np.array(READY)
        began.append(monotonic())
        points = alone.trajectories[0].points
        times = [0.0, *(seconds(point.time_from_start) for point in points)]
        path = np.array([READY, *(point.positions for point in points)])
        return np.array([np.interp(began[-1] - began[0], times, column) for column in path.T])

    tell(alone, q, velocities=False)
    alone.spin_for(0.5)
    alone.send_joints(THERE + 0.5)
    alone.wait(lambda: alone.trajectories and positions_of(alone.states[-1][1])[0] > 0.2)
    alone.send_joints(READY)
    alone.wait(lambda: len(alone.trajectories) > 1)
    first = alone.trajectories[1].points[0]
    assert np.min(first.velocities) > 0.2
    assert np.abs(np.array(first.positions) - positions_of(alone.states[-1][1])).max() < 0.5
    assert alone.call(alone.stop).success
