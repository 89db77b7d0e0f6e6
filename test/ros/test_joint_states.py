# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states and controllers that misbehave: the test plays them itself."""

from contextlib import contextmanager
import math
from time import monotonic

from harness import ARM, DOWN, once_each, process, READY, seconds
from nightly import usual_first
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ik_node.node.execution.motion import MAX_PLANS
from ik_node.node.goals.goal_queue import START_GRACE_S
from ik_node.ros.messages.joint_states import JointStates, MAX_JOINT_NAMES

NAMES = [f'joint_{k}' for k in range(1, 7)]
GOAL = (0.4, 0.1, 0.4)


@contextmanager
def node(folder, probe, **parameters):
    """Run the node alone."""
    parameters = {'urdf_file': ARM, **{key.replace('__', '.'): value
                                       for key, value in parameters.items()}}
    with process('ik_node', folder, parameters) as running:
        probe.wait_for_node()
        yield running


def listen(probe) -> list[JointTrajectory]:
    """Take trajectories like a controller that then does nothing with them."""
    taken: list[JointTrajectory] = []
    probe.create_subscription(JointTrajectory, 'joint_trajectory', taken.append, 10)
    return taken


def keep_publishing(probe, names, positions, velocities=None):
    """Publish the same state at 50 Hz while the probe spins."""
    return probe.create_timer(0.02, lambda: probe.publish_state(names, positions, velocities))


def ask(probe, xyz=GOAL):
    return probe.final(probe.send(xyz, DOWN))


@pytest.mark.fault('goals', 'a goal before joint states',
                   'refused, with the topic and its publishers; never run later')
@pytest.mark.fault('joint states', 'none arrive',
                   'goals are refused with the topic and how many publish there')
def test_no_joint_state(tmp_path, probe):
    """Never planned from an assumed state: the answer names the topic and its publishers."""
    with node(tmp_path, probe):
        taken = listen(probe)
        answer = ask(probe)
        assert (answer['state'], answer['reason']) == ('rejected', 'STATE_MISSING')
        assert 'no joint state' in answer['message']
        assert '1 publisher on /joint_states' in answer['message']  # the probe's, silent
        other = probe.create_publisher(JointState, 'joint_states', 10)
        probe.wait(lambda: '2 publishers on /joint_states' in ask(probe)['message'])
        probe.destroy_publisher(other)
        keep_publishing(probe, NAMES, READY)
        probe.wait_until_ready()
        probe.spin_for(START_GRACE_S + 0.5)  # longer than a goal waits for what is missing
        assert not taken
        assert {answer['state'] for answer in probe.statuses} == {'rejected'}
        once_each(probe.statuses, [answer['stamp'] for answer in probe.statuses])
        # It is not that nothing could have begun.
        stamp = probe.send(GOAL, DOWN)
        probe.wait(lambda: taken and probe.answers(stamp), what='a trajectory')
        assert probe.answers(stamp)[0]['state'] == 'accepted'


@pytest.mark.fault('joint states',
                   'joints missing, twice or of other names, NaN, names and positions of other '
                   'lengths, far outside the limits, impossible velocity',
                   'goals are refused with what is wrong until good ones come')
@pytest.mark.parametrize('names, positions, velocities, reason, words', usual_first(3, [
    (NAMES[:5], READY[:5], None, 'STATE_INCOMPLETE', "'joint_6'"),
    ([f'A{k}' for k in range(1, 7)], READY, None, 'STATE_OTHER_JOINTS',
     "the joint states name 'A1', 'A2', 'A3', 'A4', 'A5' and 1 more, and none of the joints of "
     "the arm, 'joint_1', "),
    (NAMES, [math.nan, *READY[1:]], None, 'STATE_INVALID', "'joint_1' is nan"),
    ([f'left_{name}' for name in NAMES], READY, None, 'STATE_OTHER_JOINTS',
     "(the URDF lacks the prefix 'left_'); load the URDF of the robot that runs"),
    ([], [], None, 'STATE_OTHER_JOINTS', 'the joint states name no joint'),
    (NAMES, READY, [0.0] * 5 + [math.inf], 'STATE_INVALID', "'joint_6' is inf"),
    (NAMES, READY[:4], None, 'STATE_INVALID', '4 positions'),
    ([*NAMES[:5], 'joint_1'], READY, None, 'STATE_INVALID', 'twice'),
    (NAMES, [0.0, 3.0, *READY[2:]], None, 'START_OUT_OF_LIMITS', "'joint_2'"),
    (NAMES, READY, [0.0, 100.0, *[0.0] * 4], 'STATE_INVALID', "'joint_2' reports a velocity"),
]))
def test_bad_joint_states(tmp_path, probe, names, positions, velocities, reason, words):
    """Each is answered with what is wrong; good states afterwards are taken."""
    with node(tmp_path, probe) as running:
        taken = listen(probe)
        timer = keep_publishing(probe, names, positions, velocities)
        probe.wait(lambda: probe.count_subscribers('joint_states'))
        probe.spin_for(0.5)
        answer = ask(probe)
        assert (answer['state'], answer['reason']) == ('rejected', reason)
        assert words in answer['message']
        probe.wait(lambda: reason in running.output)
        assert not taken
        probe.destroy_timer(timer)
        timer = keep_publishing(probe, NAMES, READY)
        probe.spin_for(1.2)  # until the complaint is old
        stamp = probe.send(GOAL, DOWN)
        probe.wait(lambda: taken and probe.answers(stamp), what='a trajectory')
        assert probe.answers(stamp)[0]['state'] == 'accepted'


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


@pytest.mark.fault('joint states', 'a message of twenty thousand names',
                   'left out unread, with a warning; those of the arm count')
@pytest.mark.nightly
def test_a_message_of_too_many_names(tmp_path, probe):
    """The node has one thread, which to read it would take."""
    with node(tmp_path, probe) as running:
        taken = listen(probe)
        keep_publishing(probe, NAMES, READY)
        names = [f'other_{k}' for k in range(20_000)]
        many = JointState(name=names, position=[0.0] * len(names))
        # So large a message may be lost on its way.
        timer = probe.create_timer(0.2, lambda: probe.joint_states.publish(many))
        probe.wait(lambda: 'is left out in whole or part: it has ' in running.output)
        assert 'bytes, at most 262144 are read' in running.output
        probe.destroy_timer(timer)
        probe.send(GOAL, DOWN)
        probe.wait(lambda: taken)


@pytest.mark.fault('joint states', 'hundreds of messages that make no sense',
                   'left out and counted, with a warning that is not on the log each time')
@pytest.mark.parametrize('names, positions, words', usual_first(1, [
    (NAMES, [math.nan, *READY[1:]], "'joint_1' is nan"),
    (NAMES, READY[:4], 'it has 6 names and 4 positions'),
    (NAMES, [], 'it has 6 names and 0 positions'),
    ([*NAMES[:5], 'joint_1'], READY, 'it names a joint twice'),
]))
def test_dropped_messages_are_reported_periodically(tmp_path, probe, names, positions, words):
    """200 of them: one line, or two if 5 s were over."""
    def left_out() -> int:
        health = probe.health.get('/ik_node: health')
        return int(next(pair.value for pair in health.values
                        if pair.key == 'joint_state_messages_left_out')) if health else 0

    with node(tmp_path, probe) as running:
        probe.create_timer(0.005, lambda: probe.publish_state(names, positions))
        start = monotonic()
        probe.wait(lambda: left_out() >= 200, 60.0, 'messages that are left out')
        said = running.output.count('is left out in whole or part: ' + words)
        assert 1 <= said <= 1 + (monotonic() - start) / 5.0


@pytest.mark.fault('joint states', 'a joint beside the arm has no position (NaN), as wheels have',
                   'those of the arm count; one that the robot does not have is not spoken of')
@pytest.mark.parametrize('there', [True, False])
def test_a_joint_without_a_position(tmp_path, probe, there):
    """The pose of the tip is published, and goals are taken."""
    path = tmp_path / 'arm.urdf'
    path.write_text(ARM.read_text().replace('</robot>', (
        '<link name="hub"/><joint name="wheel" type="continuous"><parent link="base_link"/>'
        '<child link="hub"/><axis xyz="0 0 1"/></joint>' if there else '') + '</robot>'))
    with node(tmp_path, probe, urdf_file=path) as running:
        probe.watch_motion()
        keep_publishing(probe, ['wheel', *NAMES], [math.nan, *READY])
        probe.wait(lambda: len(probe.tip_poses) > 5, what='poses of the tip')
        probe.send(GOAL, DOWN)
        probe.wait(lambda: probe.trajectories)
        assert ("part: 'wheel' is nan" in running.output) == there


@pytest.mark.nightly
def test_dropped_messages_do_not_move_the_tip(tmp_path, probe):
    """No pose has the stamp of a message whose joints were not taken."""
    with node(tmp_path, probe, state__timeout=5.0):
        probe.watch_motion()
        timer = keep_publishing(probe, NAMES, READY)
        probe.wait(lambda: len(probe.tip_poses) > 5, what='poses of the tip')
        probe.destroy_timer(timer)
        probe.spin_for(0.2)
        count = len(probe.tip_poses)
        timer = keep_publishing(probe, NAMES, READY[:4])
        probe.spin_for(0.5)
        assert len(probe.tip_poses) == count
        probe.destroy_timer(timer)
        keep_publishing(probe, NAMES, READY)
        probe.wait(lambda: len(probe.tip_poses) > count, what='poses of the tip again')


@pytest.mark.fault('joint states', 'half of the joints stop coming',
                   'goals are refused with a joint of them and its age')
def test_half_of_the_joints_stop(tmp_path, probe):
    """Two publish, one goes: its joints are old, however new the others are."""
    with node(tmp_path, probe):
        taken = listen(probe)
        keep_publishing(probe, NAMES[:3], READY[:3])
        timer = keep_publishing(probe, NAMES[3:], READY[3:])
        probe.wait_until_ready()
        probe.destroy_timer(timer)
        probe.wait(lambda: 'missing or old' in probe.health['/ik_node: health'].message)
        answer = ask(probe)
        assert (answer['state'], answer['reason']) == ('rejected', 'STATE_STALE')
        assert any(f'the joint state of {name!r} is' in answer['message'] for name in NAMES[3:])
        assert 's old, at most 0.5 s' in answer['message'] and not taken
        keep_publishing(probe, NAMES[3:], READY[3:])
        probe.wait_until_ready()
        stamp = probe.send(GOAL, DOWN)
        probe.wait(lambda: taken and probe.answers(stamp), what='a trajectory')
        assert probe.answers(stamp)[0]['state'] == 'accepted'


@pytest.mark.fault('joint states', 'other order, extra joints, split over two messages',
                   'joints are known by their names')
def test_any_order_extra_joints_and_two_messages(tmp_path, probe):
    """Joints are known by name, wherever they stand and whoever publishes them."""
    with node(tmp_path, probe):
        taken = listen(probe)
        by_name = dict(zip(NAMES, READY))
        keep_publishing(probe, ['finger', 'joint_3', 'joint_1'],
                        [0.5, by_name['joint_3'], by_name['joint_1']])
        rest = ['joint_6', 'joint_2', 'joint_5', 'joint_4']
        keep_publishing(probe, rest, [by_name[name] for name in rest])
        probe.wait_until_ready()
        probe.send(GOAL, DOWN)
        probe.wait(lambda: taken)
        first = taken[0].points[0].positions
        assert max(abs(a - b) for a, b in zip(first, READY)) < 0.01


@pytest.mark.fault('joint states', 'they stop arriving',
                   'goals are refused with their age; /diagnostics is STALE')
def test_stale_joint_states(tmp_path, probe):
    """A state older than the timeout is not used, and the answer says how old it is."""
    with node(tmp_path, probe, state__timeout=0.3):
        taken = listen(probe)
        timer = keep_publishing(probe, NAMES, READY)
        probe.spin_for(0.5)
        probe.destroy_timer(timer)
        probe.spin_for(0.6)
        answer = ask(probe)
        assert answer['reason'] == 'STATE_STALE' and 's old' in answer['message']
        assert not taken
        probe.wait(lambda: '/ik_node: health' in probe.health
                   and probe.health['/ik_node: health'].level == b'\x03', 5.0, 'STALE')


@pytest.mark.fault('joint states', 'a joint slightly outside its limits',
                   'it moves inward, with a warning')
def test_start_slightly_outside_moves_inward(tmp_path, probe):
    """A joint a little past its stop starts there and never goes further out."""
    outside = [READY[0], 2.21, *READY[2:]]  # joint_2 ends at 2.2
    with node(tmp_path, probe) as running:
        taken = listen(probe)
        keep_publishing(probe, NAMES, outside)
        probe.spin_for(0.5)
        probe.send(GOAL, DOWN)
        probe.wait(lambda: taken)
        path = [point.positions[1] for point in taken[0].points]
        assert max(path) <= 2.21 and path[-1] < 2.2
        probe.wait(lambda: 'outside its limits' in running.output)


@pytest.mark.fault('start, end and middleware', 'no controller',
                   'goals are refused with the topic')
@pytest.mark.nightly
def test_nobody_listens(tmp_path, probe):
    """Without a controller the goal is refused, and the topic is named."""
    with node(tmp_path, probe):
        keep_publishing(probe, NAMES, READY)
        probe.spin_for(0.5)
        answer = ask(probe)
        assert (answer['state'], answer['reason']) == ('rejected', 'NO_LISTENER')
        assert '/joint_trajectory' in answer['message']


def test_controller_name(tmp_path, probe):
    """The parameter controller names the topic."""
    with node(tmp_path, probe, controller='arm_controller'):
        taken: list[JointTrajectory] = []
        probe.create_subscription(JointTrajectory, 'arm_controller/joint_trajectory',
                                  taken.append, 10)
        keep_publishing(probe, NAMES, READY)
        probe.spin_for(0.5)
        probe.send(GOAL, DOWN)
        probe.wait(lambda: taken)


@pytest.mark.fault('controller', 'a trajectory is refused without a word',
                   'sent again, then the goal has failed: NOT_MOVING')
def test_arm_that_does_not_move_is_noticed(tmp_path, probe):
    """A trajectory after which nothing moves is sent again, then the goal has failed."""
    with node(tmp_path, probe):
        taken = listen(probe)
        keep_publishing(probe, NAMES, READY)
        probe.spin_for(0.5)
        stamp = probe.send(GOAL, DOWN)
        answer = probe.final(stamp)
        assert (answer['state'], answer['reason']) == ('failed', 'NOT_MOVING')
        assert [a['state'] for a in probe.answers(stamp)] == ['accepted', 'failed']
        assert 1 < len(taken) <= MAX_PLANS


@pytest.mark.fault('joint states', 'a continuous joint at forty turns', 'it goes the short way')
def test_home_does_not_unwind_turns(tmp_path, probe):
    """A joint that turns without limit goes home by the short way, forty turns up."""
    urdf = tmp_path / 'arm.urdf'
    text = ARM.read_text()
    urdf.write_text(text.replace('name="joint_6" type="revolute"',
                                 'name="joint_6" type="continuous"'))
    assert urdf.read_text() != text
    with process('ik_node', tmp_path, {'urdf_file': urdf}):
        probe.wait_for_node()
        taken = listen(probe)
        keep_publishing(probe, NAMES, [*READY[:5], 40 * 2 * math.pi + 0.5])
        probe.spin_for(0.5)
        assert probe.call(probe.home).success
        probe.wait(lambda: taken)
        assert abs(taken[0].points[-1].positions[5] - 40 * 2 * math.pi) < 1e-9


def play(probe, taken, share):
    """Follow each trajectory's points at their times, over a share of its way only."""
    began: dict[int, float] = {}
    position = list(READY)

    def step():
        nonlocal position
        if taken:
            message = taken[-1]
            t = monotonic() - began.setdefault(id(message), monotonic())
            due = [point for point in message.points
                   if point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec <= t]
            if due and len(due) <= share * len(message.points):
                position = list(due[-1].positions)
        probe.publish_state(NAMES, position)

    return probe.create_timer(0.02, step)


@pytest.mark.nightly
def test_held_arm_does_not_leap(tmp_path, probe):
    """An arm that is held during its motion is met where it is, by a goal and by a stop."""
    with node(tmp_path, probe, watch__start_timeout=30.0):
        taken = listen(probe)
        keep_publishing(probe, NAMES, READY, [0.0] * 6)
        probe.spin_for(0.5)
        probe.send((0.3, 0.4, 0.3), DOWN)
        probe.wait(lambda: taken)
        probe.spin_for(0.8)
        second = probe.send(GOAL, DOWN)
        probe.wait(lambda: probe.answers(second))
        probe.spin_for(0.8)
        first_points = [point.positions for message in taken for point in message.points[:3]]
        assert max(abs(a - b) for point in first_points for a, b in zip(point, READY)) < 0.02
        response = probe.call(probe.stop)
        assert response.success and 'at rest' in response.message
        assert probe.final(second)['state'] == 'stopped'
        probe.wait(lambda: all(abs(a - b) < 1e-9 for point in taken[-1].points
                               for a, b in zip(point.positions, READY)),
                   what='the trajectory that holds the arm')


@pytest.mark.nightly
def test_stop_of_an_arm_that_is_slower_than_planned(tmp_path, probe):
    """Past the planned end a slow arm still moves, and is stopped from where it is."""
    with node(tmp_path, probe, watch__settle_timeout=20.0):
        taken = listen(probe)
        began: list[float] = []
        state = [np.array(READY), np.zeros(6)]

        def step():
            if len(taken) == 1:
                began.append(monotonic())
                times = [seconds(point.time_from_start) for point in taken[0].points]
                path = np.array([point.positions for point in taken[0].points])
                t = (monotonic() - began[0]) / 3.0
                q, later = (np.array([np.interp(u, times, column) for column in path.T])
                            for u in (t, t + 0.01))
                state[:] = q, (later - q) / 0.03
            probe.publish_state(NAMES, *state)

        probe.create_timer(0.01, step)
        probe.spin_for(0.5)
        stamp = probe.send((0.3, 0.4, 0.3), DOWN)
        probe.wait(lambda: taken)
        duration = seconds(taken[0].points[-1].time_from_start)
        probe.wait(lambda: began and monotonic() - began[0] > 1.3 * duration)
        response = probe.call(probe.stop)
        assert response.success and 'at rest' in response.message
        assert probe.final(stamp)['reason'] == 'STOPPED'
        probe.wait(lambda: len(taken) == 2)
        assert np.abs(np.array(taken[1].points[0].positions) - state[0]).max() < 0.1
        assert not any(taken[1].points[-1].velocities)


@pytest.mark.nightly
def test_arm_that_stops_short(tmp_path, probe):
    """A motion that ends before its goal is told with the joint and the distance."""
    with node(tmp_path, probe, watch__settle_timeout=0.5):
        taken = listen(probe)
        play(probe, taken, share=0.5)
        probe.spin_for(0.5)
        answer = ask(probe)
        assert (answer['state'], answer['reason']) == ('failed', 'OFF_TARGET')
        assert 'joint_' in answer['message']
        assert float(answer['measured_position_error_m']) > 0.01


def test_joint_states_lost_in_motion(tmp_path, probe):
    """If nobody knows where the arm ended, that is what is said."""
    with node(tmp_path, probe, watch__settle_timeout=0.5):
        taken = listen(probe)
        timer = play(probe, taken, share=1.0)
        probe.spin_for(0.5)
        stamp = probe.send(GOAL, DOWN)
        probe.wait(lambda: taken)
        probe.spin_for(0.4)
        probe.destroy_timer(timer)
        answer = probe.final(stamp)
        assert (answer['state'], answer['reason']) == ('failed', 'STATE_LOST')
