# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What `ros2` gives others, without ROS: parameters, messages and a stop by `ik_node`."""

import json
import signal

from harness import latest, READY, rests, tool
import numpy as np
import pytest
import rclpy
from std_msgs.msg import Int64MultiArray
import yaml

FAR = np.array(READY) + 0.8


def ran(system, *arguments):
    """Run a command of ik_node; return its exit code, and what it wrote and said."""
    running = tool('ik_node', *arguments, errors=True)
    system.wait(lambda: running.poll() is not None, 60.0, f'the end of {arguments}')
    return running.returncode, running.stdout.read(), running.stderr.read()


def test_parameters(shared_system):
    """They are read and set, whole numbers as well; what is refused says why."""
    code, listed, _ = ran(shared_system, 'param', 'list')
    values = yaml.safe_load(listed)
    assert code == 0 and values['solver.deadline'] == 0.1 and values['tool.frame'] == 'tcp'
    assert values['solver.preferred_positions'] is None
    for name, given, value in (('motion.tool_speed', '0', 0.0), ('tool.frame', 'tip', 'tip'),
                               ('tool.position', '[0, 0, 0]', [0.0, 0.0, 0.0]),
                               ('goal.max_age', '6e0', 6.0), ('path.partial', 'false', False)):
        code, shown, _ = ran(shared_system, 'param', 'set', name, given)
        assert code == 0 and yaml.safe_load(shown) == value
    assert yaml.safe_load(ran(shared_system, 'param', 'get', 'goal.max_age')[1]) == 6.0


@pytest.mark.parametrize('arguments, code, words', [
    (('set', 'motion.velocity_scale', '7'), 1, 'motion.velocity_scale'),
    (('set', 'motion.velocity_scale', 'fast'), 2, "is a double; 'fast' is none"),
    (('get', 'velocity_scale'), 2, "did you mean 'motion.velocity_scale'"),
    (('list', '--node', '/none', '--timeout', '1'), 2, '/none does not answer within 1 s')])
def test_parameters_that_are_refused(shared_system, arguments, code, words):
    """One sentence."""
    ended, _, said = ran(shared_system, 'param', *arguments)
    assert ended == code and words in said and 'Traceback' not in said


def test_the_newest_answer(shared_system):
    """Of all that are kept, with numbers as numbers; then each that comes."""
    for turned in (0.1, 0.2):
        stamp = shared_system.send_joints([turned, *READY[1:]])
        shared_system.final(stamp)
    code, text, _ = ran(shared_system, 'echo', '--once')
    answer = next(yaml.safe_load_all(text))
    assert code == 0 and (answer['stamp'], answer['state']) == (stamp, 'reached')
    assert answer['q'] == [0.2, *READY[1:]] and isinstance(answer['duration_s'], float)
    running = tool('ik_node', 'echo', '--json')
    lines = []
    shared_system.wait(lambda: 'echo' in ' '.join(
        name for name, _ in shared_system.get_node_names_and_namespaces()))
    lines.append(json.loads(running.stdout.readline()))
    stamp = shared_system.send_joints(READY)
    shared_system.final(stamp)
    lines += [json.loads(running.stdout.readline()) for _ in range(2)]
    running.send_signal(signal.SIGINT)
    shared_system.wait(lambda: running.poll() is not None)
    assert running.returncode == 130
    assert [(line['stamp'] == stamp, line['state']) for line in lines] == [
        (False, 'reached'), (True, 'accepted'), (True, 'reached')]


def test_other_topics(shared_system):
    """Of the node by their last part, and any other; also messages without a name."""
    _, text, _ = ran(shared_system, 'echo', 'tip_pose', '--once')
    assert next(yaml.safe_load_all(text))['header']['frame_id'] == 'base_link'
    _, text, _ = ran(shared_system, 'echo', '/joint_states', '--once', '--json')
    assert np.abs(np.array(json.loads(text)['position']) - READY).max() < 1e-3
    other = rclpy.create_node('other')
    publisher = other.create_publisher(Int64MultiArray, '/numbers', 1)
    timer = shared_system.create_timer(0.1, lambda: publisher.publish(
        Int64MultiArray(data=[1, 2**40])))
    _, text, _ = ran(shared_system, 'echo', '/numbers', '--once')
    assert next(yaml.safe_load_all(text))['data'] == [1, 2**40]
    shared_system.destroy_timer(timer)
    other.destroy_node()
    code, _, said = ran(shared_system, 'echo', 'nothing', '--timeout', '1')
    assert code == 1 and 'nobody publishes /ik_node/nothing' in said


def test_stop(shared_system):
    """A moving arm comes to rest, which is said; without a node it may still move."""
    shared_system.final(shared_system.send_joints(READY))
    shared_system.change('/ik_node', motion__velocity_scale=0.02)  # the command takes its time
    stamp = shared_system.send_joints(FAR)
    shared_system.wait(lambda: shared_system.states[-1][1].velocity[0] > 0.02)
    code, said, _ = ran(shared_system, 'stop')
    # Its halts may have brought the arm to rest before the service is found.
    assert code == 0 and ('at rest in' in said or said == 'nothing moves\n')
    assert shared_system.final(stamp)['state'] == 'stopped'
    shared_system.wait(lambda: rests(shared_system))
    assert np.abs(latest(shared_system) - FAR).max() > 0.05
    code, _, said = ran(shared_system, 'stop', '--node', '/none')
    assert code == 1 and said.startswith('the arm may still move: nobody offers /none/stop')
