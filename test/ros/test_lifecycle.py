# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The life of the node, led over DDS as a lifecycle manager does."""

from contextlib import contextmanager, suppress
import os
from pathlib import Path
import re
import signal

from geometry_msgs.msg import PoseStamped
from graph import graph
from harness import (
    ARM,
    DOWN,
    FINAL,
    latest,
    NAMES,
    narrow_arm,
    pose,
    positions_of,
    Process,
    process,
    QUICK,
    READY,
    run_sim,
    stamped,
    tip,
)
from nightly import usual_first
import numpy as np
import pinocchio as pin
import pytest
import rclpy
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from ik_node.base.errors import GoalError, IkNodeError, Reason
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory
from ik_node.node.execution.outputs import Commands, make_output
from ik_node.node.goals.queue import ActiveFlag
from ik_node.node.robot.settings import start_options
from ik_node.ros.parameters.tables import IK_NODE

# What a node has in every state.
OWN = '^/rosout|parameter|transition|type_description|(change|get|available)_states?$'
GOAL = 0.3, 0.4, 0.3
TOPIC_OUTPUT = start_options({row.name: row.default for row in IK_NODE} | {'output': 'topic'})
HERE = tip(READY)
TURNED = pin.Quaternion(HERE.rotation).coeffs()
CYCLES = int(os.environ.get('IK_NODE_TEST_CYCLES', 60))
SOME = 30       # cycles, of which
KINDS = {0: 'reached', 10: 'motion', 20: 'stream'}  # these have a goal
SETTLED = 30    # cycles, after which the memory stays as it is
ROOM = 1.5      # MB, and
LEFT = 0.003    # MB a cycle; 0.4 MB were seen in 150 cycles, and 2 in 950


@contextmanager
def managed(folder, probe, **parameters):
    """Run a simulated arm, and a node that waits to be led."""
    with graph() as probe.graph, \
            process('sim_controller', folder, {'urdf_file': ARM, 'initial_positions': READY}), \
            process('ik_node', folder, {**QUICK, 'autostart': False, **parameters}) as node:
        probe.watch_motion()
        probe.node = node
        assert probe.state() == 'unconfigured'
        probe.wait(lambda: '/ik_node/get_state' in names(probe), 30.0)
        yield probe


def lead(probe, *labels):
    """Make transitions, all of which succeed."""
    for label in labels:
        assert probe.change_state(label), (label, probe.node.output)


def names(probe):
    """Return the topics and services of the node, as others see them."""
    return {name for _, name in probe.graph('ik_node') or ()}


def entities(probe):
    """Return those that it has as long as it is configured."""
    return {name for name in names(probe) if not re.search(OWN, name)}


def wait_until_bare(probe):
    """Wait until the node has nothing but its own."""
    probe.wait(lambda: not entities(probe), what='the end of what was configured')


def rest(probe):
    """Wait until the arm is where the last trajectory ends, and assert that it stays there."""
    end = np.array(probe.trajectories[-1].points[-1].positions)
    probe.wait(lambda: np.abs(positions_of(probe.states[-1][1]) - end).max() < 1e-9)
    probe.spin_for(0.3)
    assert np.abs(latest(probe) - end).max() < 1e-9
    return end


def refusal(probe, goal=GOAL):
    """Return why a goal is refused; the arm is where it was."""
    before, sent = latest(probe), len(probe.trajectories)
    probe.wait_for_node()
    answer = probe.final(probe.send(goal, DOWN))
    assert answer['state'] == 'rejected'
    assert len(probe.trajectories) == sent and np.abs(latest(probe) - before).max() < 1e-6
    return answer['reason'], answer['message']


INACTIVE = 'INACTIVE', 'the node is inactive: ros2 lifecycle set /ik_node activate'


def test_one_whole_life(tmp_path, probe):
    """What is there in each state, and what is not; a transition that there is not is refused."""
    with managed(tmp_path, probe, urdf_file=ARM):
        assert not entities(probe)
        for label in ('activate', 'deactivate', 'cleanup', 'nonsense'):
            assert not probe.change_state(label)
        assert probe.state() == 'unconfigured' and 'preparing' not in probe.node.output

        lead(probe, 'configure')
        assert probe.state() == 'inactive'
        assert refusal(probe) == INACTIVE
        assert {'/joint_trajectory', '/ik_node/stop', '/joint_states'} <= entities(probe)
        assert refusal(probe, (9.0, 0.0, 0.0)) == INACTIVE, 'it was looked at'
        probe.wait(lambda: '/ik_node: health' in probe.health)
        assert probe.health['/ik_node: health'].message == INACTIVE[1]
        probe.wait(lambda: probe.tip_poses)

        for _ in range(2):
            lead(probe, 'activate')
            assert probe.state() == 'active'
            probe.wait_until_ready()
            assert probe.final(probe.send(GOAL, DOWN))['state'] == 'reached'
            lead(probe, 'deactivate')
            assert probe.state() == 'inactive' and refusal(probe) == INACTIVE

        lead(probe, 'cleanup')
        assert probe.state() == 'unconfigured'
        wait_until_bare(probe)

        lead(probe, 'shutdown')
        assert probe.state() == 'finalized' and probe.node.running()
        assert probe.node.stop(signal.SIGTERM) == 0


@pytest.mark.fault('start, end and middleware', 'the node is deactivated in motion',
                   'the arm comes to rest, the goal is answered INACTIVE')
def test_deactivated_in_motion(tmp_path, probe):
    """The arm comes to rest by one ramp, the goal has its answer, and nothing more is sent."""
    slow = {'motion.acceleration_limits': '[0.4]'}  # the ramp is long
    with managed(tmp_path, probe, urdf_file=ARM, **slow):
        lead(probe, 'configure', 'activate')
        probe.wait_until_ready()
        stamp = probe.send(GOAL, DOWN)
        probe.wait(lambda: probe.trajectories)
        moving = probe.trajectories[0]
        probe.wait(lambda: np.abs(latest(probe) - READY).max() > 0.1, what='a motion')
        lead(probe, 'deactivate')
        answer = probe.final(stamp)
        assert (answer['state'], answer['reason']) == ('stopped', 'INACTIVE')
        assert answer['message'].startswith('the node was deactivated; at rest in ')
        # The ramp is still under way, and left alone.
        stopped = probe.call(probe.stop)
        assert stopped.success and 'comes to rest already' in stopped.message, stopped
        probe.wait(lambda: len(probe.trajectories) == 2)
        assert np.abs(rest(probe) - moving.points[-1].positions).max() > 0.1
        home = probe.call(probe.home)
        assert not home.success and refusal(probe) == INACTIVE
        assert len(probe.trajectories) == 2

        lead(probe, 'activate')
        probe.wait_until_ready()
        assert probe.final(probe.send(GOAL, DOWN))['state'] == 'reached'
        leaves_the_graph(probe)


def leaves_the_graph(probe):
    """Assert that the node is gone when it ends, not with its participant's lease, 20 s later."""
    assert probe.node.stop() == 0
    probe.wait(lambda: probe.graph('ik_node') is None, 8.0, 'the end of the node')


@pytest.mark.parametrize('path', usual_first(1, [['configure', 'activate'], [], ['configure']]),
                         ids=['active', 'unconfigured', 'inactive'])
def test_shut_down_from_each_state(tmp_path, probe, path):
    """All is let go; a motion is brought to rest; the process waits for its signal."""
    with managed(tmp_path, probe, urdf_file=ARM):
        lead(probe, *path)
        if 'activate' in path:
            probe.wait_until_ready()
            stamp = probe.send(GOAL, DOWN)
            probe.wait(lambda: np.abs(latest(probe) - READY).max() > 0.1, what='a motion')
        lead(probe, 'shutdown')
        assert probe.state() == 'finalized'
        if 'activate' in path:
            answer = probe.final(stamp)
            assert (answer['state'], answer['reason']) == ('stopped', 'SHUTDOWN')
            rest(probe)
            assert len(probe.trajectories) == 2
        wait_until_bare(probe)
        assert probe.node.running() and probe.node.stop() == 0


@pytest.mark.nightly
@pytest.mark.parametrize('labels', [[], ['configure']])
def test_it_leaves_the_graph(tmp_path, probe, labels):
    """Before it is active, too."""
    with managed(tmp_path, probe, urdf_file=ARM):
        lead(probe, *labels)
        leaves_the_graph(probe)


@pytest.mark.fault('start, end and middleware', 'the node is configured with a description that '
                   'cannot be used', 'the transition fails with the sentence; once it is good, it '
                   'succeeds')
@pytest.mark.nightly
def test_bad_description_by_file(tmp_path, probe):
    """Configuring fails with the one sentence, leaves nothing, and works once it is good."""
    path = tmp_path / 'arm.urdf'
    path.write_text(ARM.read_text().replace('<axis', '<axes', 1)[:1000])
    with managed(tmp_path, probe, urdf_file=path):
        assert not probe.change_state('configure')
        assert probe.state() == 'unconfigured'
        told = [line for line in probe.node.output.splitlines() if 'ERROR' in line]
        assert len(told) == 1 and 'not a URDF' in told[0], probe.node.output
        wait_until_bare(probe)
        path.write_text(ARM.read_text())
        lead(probe, 'configure', 'activate')
        probe.wait_until_ready()
        assert probe.final(probe.send(GOAL, DOWN))['state'] == 'reached'


def test_configured_anew_for_another_arm(tmp_path, probe):
    """What is fixed while it is configured may be changed before; nothing of the old is left."""
    other = tmp_path / 'other.urdf'
    other.write_text(narrow_arm())
    with managed(tmp_path, probe, urdf_file=ARM):
        lead(probe, 'configure', 'activate')
        probe.wait_until_ready()
        refused = probe.set_parameters('/ik_node', {'urdf_file': str(other)})
        assert not refused.successful and 'clean it up' in refused.reason
        assert probe.final(probe.send_joints([0.3, *READY[1:]]))['state'] == 'reached'
        assert probe.final(probe.send_joints(READY))['state'] == 'reached'
        lead(probe, 'deactivate', 'cleanup')
        wait_until_bare(probe)
        probe.health.clear()
        assert probe.set_parameters('/ik_node', {'urdf_file': str(other)}).successful
        lead(probe, 'configure', 'activate')
        assert "'narrow_arm'" in probe.node.output
        probe.wait_until_ready()
        probe.wait(probe.goal_publishers['joints'].get_subscription_count)
        answer = probe.final(probe.send_joints([0.3, *READY[1:]]))
        assert (answer['state'], answer['reason']) == ('rejected', 'BEYOND_LIMIT'), answer


@pytest.mark.parametrize('order', usual_first(1, [
    ['configure', 'activate', 'description'], ['configure', 'description', 'activate'],
    ['description', 'configure', 'activate']]), ids=lambda order: order[0] + '-' + order[1])
def test_description_by_topic(tmp_path, probe, order):
    """Whenever it comes: configuring does not wait for it."""
    with managed(tmp_path, probe):
        for step in order:
            if step == 'description':
                probe.descriptions.publish(String(data=ARM.read_text()))
            else:
                lead(probe, step)
        probe.wait_for_node()
        probe.wait_until_ready()
        assert probe.final(probe.send(GOAL, DOWN))['state'] == 'reached'


def hold():
    """Return a trajectory that stays at READY."""
    q = np.array([READY])
    return Trajectory(tuple(NAMES), MotionState.at_rest(READY),
                      np.array([1.0]), q, 0.0 * q, 0.0 * q)


def test_messages_are_acknowledged_at_once(tmp_path):
    """Who ends in motion waits for that, and not for a heartbeat of DDS up to 3 s later."""
    with run_sim(tmp_path) as probe:
        active_flag = ActiveFlag(probe)
        active_flag.is_set = True
        output = make_output(probe, TOPIC_OUTPUT, active_flag)
        probe.wait(lambda: output.listeners() > 1)
        acknowledged = 0
        for _ in range(5):
            output.send(hold())
            acknowledged += output.flush(0.5)
        assert acknowledged > 2


@pytest.mark.parametrize('kind', ['trajectory', 'command'])
def test_nothing_leaves_through_a_shut_gate(probe, kind):
    """Whoever asks for it: there is an error, and no message."""
    node, came = rclpy.create_node('ik_node'), []
    active_flag = ActiveFlag(node)
    if kind == 'command':
        commands = Commands(node, '', active_flag)
        probe.create_subscription(Float64MultiArray, 'commands', came.append, 10)
        ready, send = commands.require_listener, lambda: commands.send(np.array(READY))
    else:
        output = make_output(node, TOPIC_OUTPUT, active_flag)
        probe.create_subscription(JointTrajectory, 'joint_trajectory', came.append, 10)
        ready, send = output.listeners, lambda: output.send(hold())

    def heard():
        with suppress(GoalError):
            return ready() != 0
        return False

    probe.wait(heard)
    probe.spin_for(0.5)
    with pytest.raises(IkNodeError, match='ros2 lifecycle set /ik_node activate') as shut:
        send()
    assert shut.value.reason is Reason.INACTIVE
    probe.spin_for(0.3)
    assert not came
    active_flag.is_set = True
    send()
    probe.wait(lambda: came)
    node.destroy_node()


BROKEN = """
from ik_node.node.execution.ramps import Ramps
def stop(self, reason, sentence):
    raise ZeroDivisionError('of the test')
Ramps.stop = stop
"""


@pytest.mark.fault('start, end and middleware', 'an unforeseen error within a transition',
                   'on the log; goals are answered; the node is unconfigured')
@pytest.mark.nightly
def test_fault_within_a_transition(tmp_path, probe):
    """It is told with its traceback, goals are answered, and the node begins again."""
    node = Process('ik_node', tmp_path / 'broken.log', {'urdf_file': ARM}, script=BROKEN)
    try:
        with process('sim_controller', tmp_path, {
                'urdf_file': ARM, 'initial_positions': READY}):
            probe.watch_motion()
            probe.node = node
            probe.wait_for_node()
            probe.wait_until_ready()
            stamp = probe.send(GOAL, DOWN)
            probe.wait(lambda: probe.trajectories)
            assert not probe.change_state('deactivate')
            answer = probe.final(stamp)
            assert (answer['state'], answer['reason']) == ('stopped', 'INACTIVE')
            assert 'goes on to its end, because: of the test' in answer['message']
            assert probe.state() == 'unconfigured'
            assert node.output.count('a transition failed:') == 1
            assert 'ZeroDivisionError' in node.output
            lead(probe, 'configure', 'activate')
            probe.wait_until_ready()
            assert probe.final(probe.send((0.4, 0.1, 0.4), DOWN))['state'] == 'reached'
    finally:
        node.kill()


def measure(process):
    """Return memory (MB), open files and threads of a process."""
    folder = Path(f'/proc/{process.pid}')
    pages = int((folder / 'statm').read_text().split()[1])
    return (1e-6 * pages * os.sysconf('SC_PAGE_SIZE'), len(os.listdir(folder / 'fd')),
            len(os.listdir(folder / 'task')))


def work(probe, stream, kind):
    """Have a goal reached, or begin a motion or a stream; return its end, to be waited for."""
    probe.wait_for_node()
    probe.wait(stream.get_subscription_count, what='goal_stream')
    stamps, sent = set(), len(probe.trajectories)
    side = -np.sign(tip(latest(probe)).translation[1]) or 1.0  # where it is not yet
    away = HERE.translation + [0.0, 0.01 if kind == 'reached' else 0.2 * side, 0.0]

    def moves():
        if kind == 'stream':
            message = PoseStamped(pose=pose(away, HERE.rotation))
            stamps.add(stamped(probe, message))
            stream.publish(message)
        return len(probe.trajectories) > sent

    def end():
        return [answer['state'] for answer in probe.statuses
                if answer['stamp'] in stamps and answer['state'] in FINAL]

    if kind != 'stream':
        stamps.add(probe.send(away, TURNED))
    probe.wait(end if kind == 'reached' else moves, what=kind)
    return end


@pytest.mark.fault('start, end and middleware', 'a hundred lives and more in one process, in '
                   'some of which goals are reached, or end with the life',
                   'memory, files, threads, topics and services stay')
@pytest.mark.nightly
def test_many_lives(tmp_path, probe):
    """Nothing is left of any: memory, files, threads, topics and services stay as they are."""
    probe.watch_motion()
    stream = probe.create_publisher(PoseStamped, '/ik_node/goal_stream', 10)
    with graph() as probe.graph, \
            process('sim_controller', tmp_path, {'urdf_file': ARM, 'initial_positions': READY}), \
            process('ik_node', tmp_path, {'autostart': False, 'urdf_file': ARM},
                    arguments=['--log-level', 'warn']) as node:
        probe.node = node
        assert probe.state() == 'unconfigured'
        probe.wait(lambda: names(probe), 30.0, 'the node on the graph')

        def live(cycles):
            for k in range(cycles):
                lead(probe, 'configure', 'activate')
                kind = KINDS.get(k % SOME)
                end = kind and work(probe, stream, kind)
                lead(probe, 'deactivate')
                if kind:
                    probe.wait(end, what=f'the answer to a {kind}')
                    assert end() == ['reached' if kind == 'reached' else 'stopped']
                lead(probe, 'cleanup')
            wait_until_bare(probe)
            return measure(node)

        memory, files, threads = live(SETTLED)
        more, *later = live(CYCLES - SETTLED)
        assert later == [files, threads]
        assert more - memory < ROOM + LEFT * (CYCLES - SETTLED)
        print(f'memory {memory:.1f} MB after {SETTLED}, {more:.1f} MB after {CYCLES}; {files} '
              f'files, {threads} threads')
