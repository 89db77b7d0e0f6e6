# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Odd messages on every topic that a node hears: it lives, answers once, and goes on working."""

from collections import Counter

from fuzz.messages import like
from geometry_msgs.msg import PointStamped, PoseArray, PoseStamped
from harness import FINAL, latest, path_of, pose, READY, tip
from hypothesis import given, HealthCheck, Phase, settings, strategies as st
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

NAMES = [f'joint_{k}' for k in range(1, 7)]
# What is found is sent again as it is; over DDS, smaller examples are not looked for.
ONCE = settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck))
BATCH = 8


def stamped(message, frame='base_link'):
    """Return a message in a frame, without a stamp."""
    message.header.frame_id = frame
    return message


AHEAD = [pose(tip(READY).translation + [0.0, 0.02 * k, 0.0]) for k in (1, 2)]
POSE = stamped(PoseStamped(pose=AHEAD[0]))
POINT = stamped(PointStamped(point=AHEAD[0].position))
GOALS = {
    'goal_pose': POSE, 'goal_pointing': POSE, 'goal_position': POINT,
    'goal_joints': JointState(name=NAMES, position=READY),
    'goal_path': stamped(path_of(*AHEAD)), 'goal_arc': stamped(PoseArray(poses=AHEAD)),
}
OTHERS = {'goal_stream': POSE, 'preview_pose': POSE, 'preview_pointing': POSE,
          'preview_position': POINT}
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
    made = {name: shared_system.publisher(type(good), name)
            for name, good in (GOALS | OTHERS).items()}
    heard = {name for name, _ in shared_system.get_subscriber_names_and_types_by_node(
        'ik_node', '/')}
    assert heard <= {*(made[name].topic_name for name in made), '/joint_states', '/clock',
                     '/parameter_events'}, heard
    return made


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
        lambda name: st.tuples(st.just(name), like(topics[name]))), min_size=BATCH,
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
    assert set(ends.values()) == {1}
    assert probe.final(probe.send_joints(READY))['state'] == 'reached'


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
    probe.spin_for(0.5)  # until what we published ourselves has come
    latest(probe)
    assert probe.final(probe.send_joints([0.1, *READY[1:]]))['state'] in ('reached', 'failed')
    assert probe.final(probe.send_joints(READY))['state'] == 'reached'


@pytest.mark.fault('controller', 'any well-typed trajectory',
                   'the simulated controller takes or refuses it, and goes on')
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
