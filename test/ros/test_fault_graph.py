# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Who else is there, when they come, and what is too large: the ROS graph as it should not be."""

from contextlib import ExitStack
from itertools import permutations

from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from harness import (
    ARM,
    DOWN,
    FINAL,
    FORGET_S,
    free_port,
    goes_on_from_here,
    LATCHED,
    latest,
    NAMES,
    once_each,
    path_of,
    pose,
    Probe,
    process,
    QUICK,
    READY,
    reasons,
)
from nightly import usual_first
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

AWAY = np.array([1.2, 0.1, -0.6, 0.3, 1.2, 0.5])


# ---- who comes when ----------------------------------------------------------

@pytest.mark.fault('start, end and middleware',
                   'node, controller and description come in any order, goals before all are '
                   'there',
                   'those goals are refused with what is missing; when all are there the same '
                   'goal is reached alike')
@pytest.mark.parametrize('order', usual_first(2, map(
    list, permutations(['node', 'controller', 'description']))), ids=', '.join)
def test_any_order(tmp_path, probe, order):
    """The last one makes it ready, whichever it is."""
    probe.watch_motion()
    with ExitStack() as stack:
        def come(who: str) -> None:
            if who == 'description':
                probe.descriptions.publish(String(data=ARM.read_text()))
            elif who == 'controller':
                stack.enter_context(process('sim_controller', tmp_path,
                                            {'initial_positions': READY}))
            else:
                stack.enter_context(process('ik_node', tmp_path, QUICK))
                probe.wait_for_node()

        for k, who in enumerate(order):
            come(who)
            if k < 2 and 'node' in order[:k + 1]:
                reason = probe.final(probe.send((0.4, 0.2, 0.4), DOWN))['reason']
                assert reason in (['MODEL_MISSING'] if 'description' not in order[:k + 1]
                                  else ['STATE_MISSING', 'MODEL_MISSING', 'GOAL_STALE']), reason
        probe.wait_until_ready()
        assert not probe.trajectories
        goes_on_from_here(probe, AWAY)


@pytest.mark.fault('start, end and middleware',
                   'robot_state_publisher starts anew with the same description in motion',
                   'nothing is forgotten, the goal is reached')
@pytest.mark.nightly
def test_the_same_description_again(tmp_path, probe):
    """From another publisher, as the latched message of the new one comes."""
    with process('sim_controller', tmp_path, {'urdf_file': ARM, 'initial_positions': READY}), \
            process('ik_node', tmp_path, QUICK) as node:
        probe.watch_motion()
        probe.wait_for_node()
        probe.descriptions.publish(String(data=ARM.read_text()))
        probe.wait_until_ready()
        probe.wait(lambda: probe.states, what='joint states')
        stamp = probe.send_joints(AWAY)
        probe.wait(lambda: probe.states and probe.states[-1][1].velocity[0] > 0.5)
        probe.destroy_publisher(probe.descriptions)
        again = probe.create_publisher(String, 'robot_description', LATCHED)
        again.publish(String(data=ARM.read_text()))
        assert reasons(probe, stamp) == ['ACCEPTED', 'REACHED']
        assert node.output.count('ready for goals') == 1
        assert 'during a motion' not in node.output


@pytest.mark.fault('start, end and middleware', 'two nodes of one name',
                   'each warns of the other, and a motion under way goes on; new goals are '
                   'refused: DUPLICATE_NAME, with one answer each; when one has ended, the other '
                   'takes goals again')
def test_two_nodes_of_one_name(tmp_path, system):
    """A node that was forgotten in another terminal."""
    (tmp_path / 'second').mkdir()
    assert system.set_parameters('/ik_node', {'motion.velocity_scale': 0.2}).successful
    before = system.send_joints(AWAY)
    system.wait(lambda: system.answers(before))
    with process('ik_node', tmp_path / 'second', {'urdf_file': ARM, **QUICK}) as second:
        for node in system.node, second:
            system.wait(lambda node=node: '2 nodes are named /ik_node' in node.output
                        and 'ready for goals' in node.output, 120.0)
        assert reasons(system, before) == ['ACCEPTED', 'REACHED']
        system.wait(lambda: system.count_subscribers('/ik_node/goal_joints') == 2, FORGET_S)
        first = []

        def second_hears() -> bool:
            first.append(system.send((0.4, 0.2, 0.4), DOWN))
            system.final(first[-1])
            return '(DUPLICATE_NAME)' in second.output

        system.wait(second_hears)
        system.spin_for(0.2)
        known = second.output.count('(DUPLICATE_NAME)')
        stamps = [system.send((0.4, 0.2, 0.4), DOWN) for _ in range(20)]
        stamps.append(system.send((0.4, 0.2, 0.4), DOWN, stamp=Time()))
        for stamp in stamps:
            answer = system.final(stamp)
            assert (answer['state'], answer['reason']) == ('rejected', 'DUPLICATE_NAME'), answer
            assert f'process {second.pid} on ' in answer['message'], answer
        # The younger one has looked at each of them, too, and said nothing.
        system.wait(lambda: second.output.count('(DUPLICATE_NAME)') == known + len(stamps))
        system.spin_for(0.3)
        assert [len(system.answers(stamp)) for stamp in stamps] == [1] * len(stamps)
        system.wait_for_health(DiagnosticStatus.ERROR, '2 nodes are named /ik_node')
        assert len(system.trajectories) == 1
    system.health.clear()
    system.wait_until_ready()
    goes_on_from_here(system, READY)
    assert system.node.output.count('2 nodes are named') == len(first) + len(stamps) + 1


@pytest.mark.fault('start, end and middleware',
                   'a node is killed, and started anew under its name',
                   'the new one takes goals at once, though the ROS graph shows the old one for '
                   'up to 20 s more')
def test_a_killed_node_is_no_duplicate(tmp_path, system):
    """It says nothing more."""
    system.node.kill()
    (tmp_path / 'second').mkdir()
    with process('ik_node', tmp_path / 'second', {'urdf_file': ARM, **QUICK}) as second:
        system.wait(lambda: 'ready for goals' in second.output, 120.0)
        system.wait(lambda: system.goals.get_subscription_count() > 1)
        system.health.clear()
        system.wait_until_ready()
        stamp = system.send((0.4, 0.2, 0.4), DOWN)
        assert reasons(system, stamp) == ['ACCEPTED', 'REACHED'], system.answers(stamp)


@pytest.mark.fault('start, end and middleware', 'QoS profiles that do not fit',
                   'a warning with the topic, both ends and their profiles; so says `ik_doctor`')
def test_profiles_that_do_not_fit(tmp_path, probe):
    """A volatile description, a goal sent best effort, and a controller that wants old motions."""
    with process('ik_node', tmp_path) as node:
        probe.create_publisher(String, 'robot_description', 1)
        probe.create_publisher(PoseStamped, '/ik_node/goal_pose', QoSProfile(
            depth=1, reliability=ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.VOLATILE))
        probe.create_subscription(JointTrajectory, 'joint_trajectory', print, QoSProfile(
            depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        for sentence in (
                'nothing on /robot_description comes from /probe: it offers reliable, volatile; '
                '/ik_node asks for reliable, transient local',
                'nothing on /ik_node/goal_pose comes from /probe: it offers best effort, '
                'volatile; /ik_node asks for reliable, volatile',
                'nothing on /joint_trajectory gets to /probe: it asks for reliable, transient '
                'local; /ik_node offers reliable, volatile'):
            probe.wait(lambda said=sentence: said in node.output, what=sentence)
        first = node.output
        # It is gone before its name is known; the others are not named again.
        late = probe.create_publisher(PoseStamped, '/ik_node/goal_pose', QoSProfile(
            depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
        # More, if those of a process that was killed are still remembered.
        probe.wait(lambda: probe.count_publishers('/ik_node/goal_pose') >= 3)
        probe.spin_for(0.5)
        probe.destroy_publisher(late)
        probe.wait(lambda: len(node.output) > len(first))
        said, = node.output[len(first):].splitlines()
        assert 'what was on /ik_node/goal_pose for a moment did not fit /ik_node (RELIAB' in said


@pytest.mark.parametrize('name', usual_first(1, ['sim_controller', 'viewer']))
def test_profiles_that_do_not_fit_other_nodes(tmp_path, probe, name):
    """The simulated controller and the page tell the same of a volatile description."""
    with process(name, tmp_path, {'port': free_port()} if name == 'viewer' else {}) as node:
        probe.create_publisher(String, 'robot_description', 1)
        probe.wait(lambda: 'nothing on /robot_description comes from /probe: it offers reliable, '
                           'volatile; ' in node.output)


# ---- too much ------------------------------------------------------------------

@pytest.mark.fault('robot description', 'a description of 100 MB on the topic',
                   'refused with the cap; another one is waited for')
@pytest.mark.nightly
def test_a_large_description(tmp_path, probe):
    """Most of it is a comment."""
    with process('ik_node', tmp_path) as node:
        probe.wait_for_node()
        long = f'<!--{"x" * 100_000_000}--></robot>'
        probe.descriptions.publish(String(data=ARM.read_text().replace('</robot>', long)))
        probe.wait(lambda: '16 MiB' in node.output, 60.0)
        probe.descriptions.publish(String(data=ARM.read_text()))
        probe.wait(lambda: 'ready for goals' in node.output, 60.0)


@pytest.mark.fault('goals', 'a path of 100 000 poses',
                   'refused unread, with how many are taken; nothing waits for it')
@pytest.mark.nightly
def test_a_long_path(arm):
    """In the midst of a motion, which goes on."""
    goal = path_of(*[pose((0.4, 0.2, 0.4))] * 100_000)
    # The way of so many poses from process to process takes seconds on a busy machine.
    arm.change('/ik_node', motion__velocity_scale=0.2, goal__max_age=60.0)
    under_way = arm.send_joints(AWAY)
    stamp = arm.send_goal('path', goal)
    answer = arm.final(stamp, 60.0)
    assert answer['reason'] == 'PATH_INVALID' and '(2000 poses' in answer['message'], answer
    assert reasons(arm, under_way) == ['ACCEPTED', 'REACHED']


# ---- others ----------------------------------------------------------------------

@pytest.mark.fault('goals', 'two senders who know nothing of one another',
                   'the latest counts; each goal of each has one final answer')
def test_two_senders(arm):
    """In turn, until both have had enough; the arm is mostly too slow to be there in between."""
    arm.change('/ik_node', motion__velocity_scale=0.1)
    other = Probe('other')
    other.wait_for_node()
    places = {arm: (0.4, 0.2, 0.4), other: (0.4, -0.2, 0.4)}
    sent = []
    for _ in range(10):
        for sender, xyz in places.items():
            sent.append(sender.send(xyz, DOWN))
            arm.spin_for(0.05)
    arm.change('/ik_node', motion__velocity_scale=0.5)
    assert arm.final(sent[-1])['state'] == 'reached'
    once_each(arm.statuses, sent)
    finals = [arm.final(stamp)['reason'] for stamp in sent[:-1]]
    assert set(finals) <= {'SUPERSEDED', 'REACHED'} and finals.count('SUPERSEDED') > 9, finals
    other.destroy_node()


@pytest.mark.fault('goals', 'a quaternion and its negative', 'the same orientation: there already')
def test_a_quaternion_and_its_negative(arm):
    """Both stand for one rotation."""
    assert arm.final(arm.send((0.4, 0.2, 0.4), DOWN))['state'] == 'reached'
    answer = arm.final(arm.send((0.4, 0.2, 0.4), -np.array(DOWN)))
    assert answer['reason'] == 'ALREADY_THERE', answer


@pytest.mark.fault('controller', 'another sender takes over by the topic in motion',
                   'the goal has failed, with how far off the arm is; the next goal begins '
                   'where it is')
@pytest.mark.nightly
def test_another_sender_takes_over(arm):
    """The controller says nothing of it."""
    stamp = arm.send_joints(AWAY)
    arm.wait(lambda: arm.states and arm.states[-1][1].velocity[0] > 0.5)
    arm.commands.publish(JointTrajectory(joint_names=NAMES, points=[JointTrajectoryPoint(
        positions=[-0.5, *READY[1:]], velocities=[0.0] * 6, accelerations=[0.0] * 6,
        time_from_start=Duration(sec=2))]))
    accepted, ended = reasons(arm, stamp)
    assert accepted == 'ACCEPTED' and ended == 'OFF_TARGET', arm.answers(stamp)
    assert latest(arm)[0] == pytest.approx(-0.5, abs=1e-6)
    goes_on_from_here(arm, AWAY)


# ---- parameters ------------------------------------------------------------------

@pytest.mark.fault('parameters', 'changed under load, contradictory pairs among them',
                   'each is taken or refused as a whole, and each goal meanwhile has its answer')
def test_parameters_under_load(arm):
    """What is taken counts from the next goal on; what contradicts is refused."""
    sent = [arm.send_joints(READY)]

    def send() -> None:
        share = 0.1 + 0.8 * (len(sent) % 7) / 7
        sent.append(arm.send_joints(AWAY * share))

    timer = arm.create_timer(0.05, send)
    changes = [({'motion.velocity_scale': 0.3}, True), ({'state.timeout': 0.05}, False),
               ({'solver.deadline': 0.6}, False),
               ({'solver.deadline': 0.6, 'state.timeout': 0.7}, True),
               ({'state.timeout': 0.5}, False), ({'motion.jerk_limits': [1.0, 2.0]}, False),
               ({'solver.deadline': 0.1, 'state.timeout': 0.5}, True),
               ({'motion.velocity_scale': 0.5, 'motion.no_such': 1.0}, False),
               ({'motion.velocity_scale': 0.5}, True)]
    while len(sent) < 20:
        for values, taken in changes:
            assert arm.set_parameters('/ik_node', values).successful == taken, values
    arm.destroy_timer(timer)
    assert arm.final(sent[-1])['state'] == 'reached'
    once_each(arm.statuses, sent)
    for stamp in sent[:-1]:
        final, = [each for each in arm.answers(stamp) if each['state'] in FINAL]
        # Joint states of half a second ago are too old: a busy machine has such.
        assert final['state'] in ('superseded', 'reached') or final['reason'] in (
            'STATE_STALE', 'NODE_LATE'), final['message']


@pytest.mark.fault('parameters', 'a parameter file for a node of another name',
                   'a warning, and the effective values are on the log at the start')
def test_a_file_for_another_node(tmp_path, probe):
    """It has no effect, and one can see that."""
    file = tmp_path / 'parameters.yaml'
    for name, words in (('ik_nod', 'all others have their defaults'),
                        ('ik_node', "motion.velocity_scale: '0.3'")):
        file.write_text(f'{name}:\n  ros__parameters:\n    motion.velocity_scale: 0.3\n')
        with process('ik_node', tmp_path, {'urdf_file': ARM},
                     arguments=['--params-file', str(file)]) as node:
            probe.wait(lambda node=node: 'ready for goals' in node.output)
            line, = [line for line in node.output.splitlines() if 'parameters of' in line]
            assert 'urdf_file' in line and words in line
            assert ('velocity_scale' in line) == (name == 'ik_node')
            assert ('is for /ik_node, but for /ik_nod\n' in node.output) == (name == 'ik_nod')
