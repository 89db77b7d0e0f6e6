# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Starting with bad input, starting in any order, and ending cleanly."""

from contextlib import contextmanager
import signal

from harness import ARM, DOWN, LATCHED, latest, narrow_arm, process, READY, run_system
from nightly import usual_first
import numpy as np
import pytest
from std_msgs.msg import String

from ik_node.ros.description import RETRY_PERIOD_S
from ik_node.ros.messages.status_messages import values_of

LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
LINKS = '<link name="a"/><link name="b"/>'
JOINT = ('<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
         '<axis xyz="0 0 1"/>{limit}</joint>')
GOOD = f'<robot name="r">{LINKS}{JOINT.format(limit=LIMIT)}</robot>'

NO_VELOCITY = GOOD.replace(' velocity="1"', '')
BAD_TEXTS = {'cut off': (GOOD[:60], 'not a URDF'),
             'no limits': (GOOD.replace(LIMIT, ''), "'j' is revolute and has no <limit>")}


@pytest.mark.fault('robot description', 'a faulty description, given by parameter or file',
                   'the process ends with exit code 1 and one sentence')
@pytest.mark.fault('robot description', 'no velocity limit from anywhere',
                   'exit code 1, and the parameter that gives one is named')
@pytest.mark.parametrize('name, text, words', [
    ('ik_node', None, 'cannot read'), ('sim_controller', *BAD_TEXTS['no limits']),
    ('ik_node', NO_VELOCITY, 'motion.velocity_limits')])
def test_bad_urdf_at_start(tmp_path, name, text, words):
    """One sentence, exit code 1, no traceback; what is said of a text is tested in test_urdf."""
    path = tmp_path / 'arm.urdf'
    if text is not None:
        path.write_text(text)
    with process(name, tmp_path, {'urdf_file': path, 'base_link': 'a', 'tip_link': 'b'}) as run:
        assert run.wait() == 1
        assert words in run.output
        assert len([line for line in run.output.splitlines()
                    if not line.startswith('[WARN]')]) == 1


@pytest.mark.fault('parameters', 'a bad value at start', 'exit code 1, with what is allowed')
@pytest.mark.parametrize('parameters, words', usual_first(3, [
    ({'tip_link': 'tool1'}, "did you mean 'tool0'"),
    ({'motion.velocity_scale': 2.0}, 'from 0.001 to 1'),
    ({'motion.tool_speed': '[]'}, '1.0, not 1'),
    ({'motion.lower_limits': '[0.5]', 'motion.upper_limits': '[0.2]'},
     "leave joint 'joint_1' no range: [0.5, 0.2]"),
    ({'solver.max_restarts': 'many'}, 'whole number')]))
def test_bad_parameter_at_start(tmp_path, parameters, words):
    """A value that cannot be used is named, with what is allowed."""
    with process('ik_node', tmp_path, {'urdf_file': ARM, **parameters}) as run:
        assert run.wait() == 1
        assert words in run.output


@pytest.mark.fault('start, end and middleware', 'SIGINT or SIGTERM while nothing happens',
                   'exit code 0, no traceback')
@pytest.mark.parametrize('name, number', usual_first(2, [
    ('ik_node', signal.SIGINT), ('sim_controller', signal.SIGTERM), ('ik_node', signal.SIGTERM),
    ('sim_controller', signal.SIGINT)]))
def test_signal_ends_idle_process(tmp_path, probe, name, number):
    """A signal ends the process with code 0 and no traceback, whatever it waits for."""
    with process(name, tmp_path) as run:
        probe.wait(lambda: 'waiting for /robot_description' in run.output)
        assert run.stop(number) == 0
        assert 'Traceback' not in run.output


# Tells at the very end whether the hidden node still lives that keeps the DDS participant.
PARTICIPANT_WATCH = """
import os, weakref
import rclpy
create, end, hidden = rclpy.create_node, os._exit, []
def create_node(*given, **named):
    node = create(*given, **named)
    hidden.append(weakref.ref(node))
    return node
def told(code):
    print('the participant is', 'kept' if hidden and hidden[-1]() else 'destroyed', flush=True)
    end(code)
rclpy.create_node, os._exit = create_node, told
"""


@pytest.mark.fault('start, end and middleware', 'other processes leave at the same moment',
                   'a process does not destroy its DDS participant, which may never end then '
                   '(eProsima/Fast-DDS#6513)')
@pytest.mark.parametrize('name', usual_first(1, ['ik_node', 'sim_controller']))
def test_the_participant_is_not_destroyed(tmp_path, probe, name):
    """A node that nobody refers to would be destroyed at once, and the participant with it."""
    with process(name, tmp_path, script=PARTICIPANT_WATCH, fresh=True) as run:
        assert probe.set_parameters(f'/{name}', {}).successful  # it spins
        assert run.stop() == 0
        assert 'the participant is kept' in run.output


@pytest.mark.fault('start, end and middleware', 'SIGINT or SIGTERM before the first message',
                   'exit code 0, no traceback')
@pytest.mark.parametrize('number', usual_first(1, [signal.SIGTERM, signal.SIGINT]))
def test_signal_during_start(tmp_path, probe, number):
    """A signal before the first message ends the process too."""
    with process('ik_node', tmp_path, {'urdf_file': ARM}, fresh=True) as run:
        probe.wait(lambda: run.catches(signal.SIGTERM), 60.0, 'handlers')
        assert 'ready for goals' not in run.output
        assert run.stop(number) == 0
        assert 'Traceback' not in run.output


@pytest.mark.fault('start, end and middleware', 'SIGINT or SIGTERM in motion',
                   'the arm ramps down, the goal is answered SHUTDOWN, exit code 0')
@pytest.mark.parametrize('number', usual_first(1, [signal.SIGINT, signal.SIGTERM]))
def test_signal_in_motion_stops_the_arm(system, number):
    """The arm is brought to rest, the goal is answered, the code is 0."""
    stamp = system.send((0.3, 0.4, 0.3), DOWN)
    system.wait(lambda: system.trajectories)
    system.spin_for(0.6)
    assert system.node.stop(number) == 0
    answer = system.final(stamp)
    assert (answer['state'], answer['reason']) == ('stopped', 'SHUTDOWN')
    system.wait(lambda: len(system.trajectories) == 2)
    system.spin_for(1.5)
    assert not any(system.states[-1][1].velocity)


@pytest.mark.fault('robot description', 'faulty descriptions on the topic, before a good one and '
                   'after it',
                   'it is said what is wrong, goals are refused with that sentence, and '
                   'another one is waited for; a robot that is there stays')
def test_description_from_topic(tmp_path, probe):
    """A latched description is taken whenever it comes; a bad one is said and waited over."""
    goal = (0.4, 0.1, 0.4), DOWN
    with process('sim_controller', tmp_path, {'initial_positions': READY}) as sim, \
            process('ik_node', tmp_path) as node:

        def refused(text, words, end):
            before = [run.output.count(end) for run in (sim, node)]
            probe.descriptions.publish(String(data=text))
            for run, count in zip((sim, node), before):
                probe.wait(lambda run=run, count=count: run.output.count(end) == count + 1,
                           what=words)
                assert words in run.output.rpartition(end)[0].splitlines()[-1]

        probe.wait_for_node()
        answer = probe.final(probe.send(*goal))
        assert answer['reason'] == 'MODEL_MISSING' and 'none has arrived' in answer['message']
        for text, words in BAD_TEXTS.values():
            refused(text, words, 'waiting for another')
            answer = probe.final(probe.send(*goal))
            assert answer['reason'] == 'MODEL_MISSING' and words in answer['message'], answer
        probe.descriptions.publish(String(data=ARM.read_text()))
        probe.wait(lambda: 'ready for goals' in node.output and 'simulates' in sim.output)
        probe.wait_until_ready()
        assert probe.final(probe.send(*goal))['state'] == 'reached'
        for k, (text, words) in enumerate(BAD_TEXTS.values()):
            refused(text, words, 'the robot stays as it is')
            answer = probe.final(probe.send((0.4, 0.1, 0.41 + 0.01 * (k % 2)), DOWN))
            assert answer['state'] == 'reached', answer
        assert node.output.count('ready for goals') == sim.output.count('simulates') == 1


@pytest.mark.fault('parameters', 'a parameter that the robot description needs comes later',
                   'the description is tried again')
def test_parameter_that_was_missing_is_enough(tmp_path, probe):
    """A description that was refused for want of a parameter is taken once it is set."""
    text = ARM.read_text().replace(' velocity="', ' was="')
    with process('ik_node', tmp_path) as node:
        probe.wait_for_node()
        probe.descriptions.publish(String(data=text))
        probe.wait(lambda: 'set the parameter motion.velocity_limits' in node.output)
        assert probe.set_parameters('/ik_node', {'motion.velocity_limits': [2.0]}).successful
        probe.wait(lambda: 'ready for goals' in node.output)


def counts_of_trajectories(probe):
    """Return how many the simulated controller has accepted and refused, as it says."""
    return values_of(probe.health['/sim_controller: trajectories'])


@contextmanager
def arm_and_node(folder, probe):
    """Run a simulated arm at READY, and a node that is given its description by topic."""
    with process('sim_controller', folder, {'urdf_file': ARM, 'initial_positions': READY}), \
            process('ik_node', folder) as node:
        probe.watch_motion()
        probe.wait_for_node()
        probe.descriptions.publish(String(data=ARM.read_text()))
        probe.wait(lambda: 'ready for goals' in node.output)
        probe.wait_until_ready()
        yield node


@pytest.mark.fault('robot description', 'another description while the arm moves',
                   'said, and taken once the arm rests')
def test_description_change_waits_for_rest(tmp_path, probe):
    """The same description again changes nothing; another one in motion is taken at rest."""
    with arm_and_node(tmp_path, probe) as node:
        probe.descriptions.publish(String(data=ARM.read_text()))
        assert probe.final(probe.send_joints([0.3, *READY[1:]]))['state'] == 'reached'
        stamp = probe.send_joints([0.0, 0.8, *READY[2:]])
        probe.wait(lambda: len(probe.trajectories) == 2)
        probe.descriptions.publish(String(data=narrow_arm()))
        probe.wait(lambda: 'came during a motion' in node.output)
        assert probe.final(stamp)['state'] == 'reached'
        probe.wait(lambda: node.output.count('ready for goals') == 2, what='the other arm')
        assert node.output.index('goal 2 reached') < node.output.index("'narrow_arm'")
        # Its limits count.
        answer = probe.final(probe.send_joints([0.3, *READY[1:]]))
        assert (answer['state'], answer['reason']) == ('rejected', 'BEYOND_LIMIT'), answer
        assert probe.final(probe.send_joints([0.05, *READY[1:]]))['state'] == 'reached'


@pytest.mark.fault('robot description', 'another description after a motion was given up, which '
                   'the controller may still have', '~/stop tells it to hold all the same')
@pytest.mark.nightly
def test_description_change_after_a_motion_was_given_up(tmp_path, probe):
    """It does not go on when a protective stop is released."""
    with arm_and_node(tmp_path, probe) as node:
        assert probe.set_parameters('/sim_controller', {'speed_scaling': 0.0}).successful
        stamp = probe.send_joints([0.0, 0.8, *READY[2:]])
        assert probe.final(stamp)['reason'] == 'NOT_MOVING'
        probe.descriptions.publish(String(data=narrow_arm()))
        probe.wait(lambda: node.output.count('ready for goals') == 2, what='the other arm')
        before = len(probe.trajectories)
        response = probe.call(probe.stop)
        assert response.success and 'at rest' in response.message, response
        probe.wait(lambda: len(probe.trajectories) > before and counts_of_trajectories(
            probe)['accepted'] == str(len(probe.trajectories)), what='the ramp')
        probe.spin_for(0.1)  # it begins with the next update
        held = latest(probe)  # a goal that came late has had a first command away from READY
        assert probe.set_parameters('/sim_controller', {'speed_scaling': 1.0}).successful
        probe.spin_for(1.0)
        assert np.abs(latest(probe) - held).max() < 1e-3


@pytest.mark.fault('robot description', 'another description while the arm moves, then the '
                   'present one again', 'the newest counts: nothing changes')
@pytest.mark.nightly
def test_description_change_that_is_taken_back(tmp_path, probe):
    """At rest a description that is not the newest any more is not taken."""
    with arm_and_node(tmp_path, probe) as node:
        stamp = probe.send_joints([0.0, 0.8, *READY[2:]])
        probe.wait(lambda: probe.trajectories)
        probe.descriptions.publish(String(data=narrow_arm()))
        probe.wait(lambda: 'came during a motion' in node.output)
        probe.descriptions.publish(String(data=ARM.read_text()))
        assert probe.final(stamp)['state'] == 'reached'
        probe.spin_for(2 * RETRY_PERIOD_S)
        assert 'narrow_arm' not in node.output
        assert probe.final(probe.send_joints([0.3, *READY[1:]]))['state'] == 'reached'


@pytest.mark.fault('goals', 'a goal from before the node was there', 'not run')
def test_old_goal_of_a_latched_publisher_is_not_run(tmp_path, probe):
    """A goal from before the node was there never runs."""
    from geometry_msgs.msg import PoseStamped
    latched = probe.create_publisher(PoseStamped, '/ik_node/goal_pose', LATCHED)
    goal = PoseStamped()
    goal.header.frame_id = 'base_link'
    goal.pose.position.x, goal.pose.position.z, goal.pose.orientation.w = 0.4, 0.5, 1.0
    latched.publish(goal)
    with process('sim_controller', tmp_path, {'urdf_file': ARM, 'initial_positions': READY}), \
            process('ik_node', tmp_path, {'urdf_file': ARM}):
        probe.watch_motion()
        probe.wait_for_node()
        probe.spin_for(1.0)
        assert not probe.statuses and not probe.trajectories


def test_limits_of_the_description_a_file_and_parameters(tmp_path, probe):
    """Those of URDF 1.2 hold, narrowed by the others; the log says whose they are."""
    urdf, file = tmp_path / 'arm.urdf', tmp_path / 'joint_limits.yaml'
    urdf.write_text(ARM.read_text().replace('<robot ', '<robot version="1.2" ', 1).replace(
        '<limit ', '<limit acceleration="0.8" deceleration="0.6" jerk="5" '))
    file.write_text('joint_limits:\n  joint_1:\n    has_acceleration_limits: true\n'
                    '    max_acceleration: 0.2\n')
    with run_system(tmp_path, probe, {'urdf_file': urdf, 'motion.joint_limits_file': file,
                                      'motion.lower_limits': '[-0.5]'}):
        answer = probe.final(probe.send_joints([0.5, 0.8, 0.1, 0.0, 1.0, 0.5]))
        assert answer['state'] == 'reached', answer
        points = probe.trajectories[-1].points
        fastest = np.abs([point.accelerations for point in points]).max(axis=0)
        assert 0.15 < fastest[0] <= 0.2 and 0.4 < fastest[1] <= 0.6
        assert 'acceleration [0.2, 0.6, 0.6, 0.6, 0.6, 0.6] (of the URDF), jerk [5.0,' \
            in probe.node.output
        answer = probe.final(probe.send_joints([-0.6, *READY[1:]]))
        assert (answer['state'], answer['reason']) == ('rejected', 'BEYOND_LIMIT'), answer
        assert 'motion.lower_limits' in probe.node.output
