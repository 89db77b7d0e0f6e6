# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A program that uses a running node by ik_node.client; judged by joint states and Pinocchio."""

import asyncio
from importlib.util import find_spec
from math import pi
import signal
import subprocess
import sys
from threading import current_thread, Event, Thread
from time import monotonic
from types import SimpleNamespace

from documents import program_of
from geometry_msgs.msg import PoseStamped
from harness import (
    latest,
    NAMES,
    NOT_BUILT,
    ran,
    READY,
    ROOT,
    same,
    SEQUENCE_MODULE,
    tip,
    way,
)
from nightly import usual_first
import numpy as np
import pinocchio as pin
import pytest
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from std_msgs.msg import Empty

from ik_node.base.errors import Reason
from ik_node.client import (
    AnswerTimeoutError,
    Arm,
    circ,
    ClientError,
    GoalNotReachedError,
    lin,
    NodeUnreachableError,
    ptp,
)
from ik_node.ros.messages.goal_kinds import GOAL_KINDS
from ik_node.ros.messages.status_messages import GoalState

HERE = tip(READY)
QUAT = pin.Quaternion(HERE.rotation).coeffs()
NEAR = pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.0, 0.2) @ HERE.rotation,
               HERE.translation + [0.02, -0.1, -0.05])
AWAY = [5.0, 0.0, 0.4]
SIDE = [-0.8, *READY[1:]]
BEGIN = """
import sys
import rclpy
from ik_node.client import Arm
{before}
arm = Arm({name})
goal = arm.joints([2.0, 0.3, -0.4, 0.0, 1.0, 0.0])
print('sent', flush=True)
"""
SEQUENCE = """
from ik_node.client import Arm, ptp
goal = Arm().sequence([ptp(joints=[2.0, 0.3, -0.4, 0.0, 1.0, 0.0]), ptp(joints=[0.0] * 6)])
print('sent', flush=True)
goal.wait()
"""
WAITING = BEGIN + 'goal.wait()\n'
SLEEPING = BEGIN + 'from time import sleep\nsleep(60.0)\n'
ASYNC = """
import asyncio
from ik_node.client import Arm

async def main():
    arm = Arm()
    goal = arm.joints([2.0, 0.3, -0.4, 0.0, 1.0, 0.0])
    print('sent', flush=True)
    await goal

asyncio.run(main())
"""

needs_sequences = pytest.mark.skipif(find_spec(SEQUENCE_MODULE) is None, reason=NOT_BUILT)


@pytest.fixture(scope='module')
def sim():
    """Have more joint states than usual: tests look at ways."""
    return {'rate': 40.0}


@pytest.fixture(scope='module')
def arm(shared_system):
    """Return the client of the module, which finds the only node."""
    with Arm(timeout=60.0) as made:
        yield made


@pytest.fixture
def system(shared_system, arm):
    """Return the system with the arm at READY."""
    there(shared_system, arm.joints(READY))
    shared_system.states.clear()
    return shared_system


def there(system, goal):
    """Wait for a goal while the probe looks on; return where the tip is."""
    system.wait(lambda: goal.done, 60.0, 'the end of the goal')
    assert goal.wait().reached and goal.result.reason in ('REACHED', 'ALREADY_THERE')
    return tip(latest(system))


def test_a_pose_in_the_frame_of_the_tip(system, arm):
    """As it is when the goal is taken; each form of a pose is tested in test/client."""
    assert same(there(system, arm.move((HERE.inverse() * NEAR).homogeneous, frame='tool0')), NEAR)
    assert arm.base_link == 'base_link' and arm.name == '/ik_node'


def test_every_kind_of_goal(system, arm):
    """Each method has its kind of the table, and the arm does that; how is tested of the node."""
    end = HERE.translation + [0.0, -0.1, -0.1]
    through = HERE.translation + [0.0, -0.1 * np.sin(pi / 4), 0.1 * np.cos(pi / 4) - 0.1]
    arc = [*through, *QUAT], [*end, *QUAT]
    there(system, arm.arc(*arc))
    points, _ = way(system)
    off = np.linalg.norm(points - HERE.translation - [0.0, 0.0, -0.1], axis=1) - 0.1
    assert np.abs(off).max() < 1e-4 and np.linalg.norm(points[-1] - end) < 1e-4
    kinds = {'arc'}
    for goal, kind, found_at in (
            (lambda: arm.line(HERE.homogeneous), 'path', HERE.translation),
            (lambda: arm.line(NEAR.homogeneous, free=['rz']), 'line', NEAR.translation),
            (lambda: arm.path([HERE.homogeneous], free=['rz']), 'free_path', HERE.translation),
            (lambda: arm.arc(*arc, free=['rz']), 'free_arc', end),
            (lambda: arm.first([[3.0, 0.0, 0.4, *QUAT], HERE.homogeneous]), 'first',
             HERE.translation),
            (lambda: arm.move(NEAR.homogeneous), 'pose', NEAR.translation),
            (lambda: arm.move(HERE.homogeneous, orientation_tolerance=0.2), 'region',
             HERE.translation),
            (lambda: arm.position([0.2, 0.5, 0.3]), 'position', [0.2, 0.5, 0.3]),
            (lambda: arm.point([0.45, 0.1, 0.4], rpy=[pi, 0.0, 2.0]), 'pointing',
             [0.45, 0.1, 0.4]),
            (lambda: arm.turn(rpy=[0.0, 0.0, 0.5], frame='tool0'), 'orientation',
             [0.45, 0.1, 0.4]),
            (lambda: arm.joints({'joint_5': 0.8}), 'joints', None),
            (lambda: arm.joint_path([{'joint_5': 0.9}, {'joint_5': 0.8}]), 'joint_path', None)):
        sent = goal()
        found = there(system, sent)
        assert sent.kind == kind
        assert found_at is None or np.linalg.norm(found.translation - found_at) < 1e-4, kind
        kinds.add(kind)
    assert abs(latest(system)[4] - 0.8) < 1e-5
    assert arm.named_poses() == {}  # test_named_poses.py has a node with some
    with pytest.raises(GoalNotReachedError, match='NAME_UNKNOWN'):
        arm.named('home').wait(20.0)
    # Of kept ones test_path_constraints.py, of chunks test_chunks.py.
    assert kinds | {'named', 'stream', 'kept', 'chunk'} == {kind.name for kind in GOAL_KINDS}
    goal = arm.home()
    there(system, goal)
    assert goal.result.values['kind'] == 'home'
    assert np.abs(latest(system) - arm.solver.preferred).max() < 1e-5


def test_goals_that_are_not_reached(system, arm):
    """The error has the state, the reason and the sentence of the node; the handle, too."""
    refused = arm.move(AWAY, QUAT)
    with pytest.raises(GoalNotReachedError, match='rejected .OUT_OF_REACH.: out of') as found:
        refused.wait(20.0)
    assert found.value.reason is Reason.OUT_OF_REACH and found.value is refused.exception
    assert refused.result.state is GoalState.REJECTED and not refused.accepted
    assert not refused.cancel()  # and the others go on
    # What the refusal names is reached; its sentence says so.
    told = found.value.answer.remedies
    assert 'shifted by [' in str(found.value) and told.keys() >= {'remedy_shift_m'}
    nearer = np.array(AWAY) + np.array(told['remedy_shift_m'])
    assert arm.move(nearer, QUAT).wait(20.0).reached
    first, second = arm.joints(SIDE), arm.joints(READY)
    with pytest.raises(GoalNotReachedError, match='superseded'):
        first.wait(20.0)
    assert second.wait(20.0).reached
    slow = arm.joints(SIDE)
    with pytest.raises(AnswerTimeoutError, match='no answer to the goal .joints. within 0.01 s; '):
        slow.wait(0.01)
    system.wait(lambda: slow.accepted)
    assert not slow.done and slow.result is None and slow.cancel()
    with pytest.raises(GoalNotReachedError, match='stopped .STOPPED.'):
        slow.wait(20.0)
    again = arm.joints(SIDE)
    system.wait(lambda: again.accepted or again.done)
    assert again.accepted, again.exception
    assert arm.stop().wait(10.0) and again.wait.__self__ is again
    with pytest.raises(GoalNotReachedError, match='STOPPED'):
        again.wait(20.0)


@pytest.mark.parametrize('call, words', [
    (lambda arm: arm.move([0.4, 0.0, 0.4]), 'is no pose; give a PoseStamped'),
    (lambda arm: arm.move(np.diag([1.0, 1.0, 2.0, 1.0])), 'is no rotation'),
    (lambda arm: arm.move(np.diag([1.0, 1.0, -1.0, 1.0])), 'is no rotation'),
    (lambda arm: arm.move([0, 0, 0], [0, 0, 1]), 'four numbers x, y, z, w'),
    (lambda arm: arm.move([0, 0, 0], QUAT, rpy=[0, 0, 0]), 'both quaternion and rpy'),
    (lambda arm: arm.move(np.eye(4), QUAT), 'orientation of its own'),
    (lambda arm: arm.move('there'), 'is no pose'),
    (lambda arm: arm.move(PoseStamped(), frame='tool0'), 'leave out frame'),
    (lambda arm: arm.position([1.0, 2.0]), 'three numbers, m'),
    (lambda arm: arm.move(np.eye(4), position_tolerance=[1.0, 2.0]), 'the position tolerance is'),
    (lambda arm: arm.move(np.eye(4), orientation_tolerance=-1.0), 'none of them negative'),
    (lambda arm: arm.turn(), 'give one of them'),
    (lambda arm: arm.turn([0.0, 0.0, 1.0]), 'four numbers'),
    (lambda arm: ptp(), 'leads to a pose or to joints=; give one of them'),
    (lambda arm: ptp(np.eye(4), joints=READY), 'give one of them'),
    (lambda arm: ptp(joints=READY, frame='tool0'), 'leave them out with joints'),
    (lambda arm: ptp(joints=READY, rpy=np.zeros(3)), 'leave them out with joints'),
    (lambda arm: ptp(joints={'joint_1': 'far'}), 'must be numbers in a row'),
    (lambda arm: lin([0.4, 0.0, 0.4]), 'is no pose; give a PoseStamped'),
    (lambda arm: lin(PoseStamped()), 'has no frame_id'),
    (lambda arm: circ(np.eye(4), np.diag([1.0, 1.0, 2.0, 1.0])), 'is no rotation'),
    (lambda arm: arm.preview(np.eye(4), kind='path'), 'no preview of'),
    (lambda arm: arm.scene.add_box('', [1, 1, 1], [0, 0, 0]), 'no name'),
    (lambda arm: arm.scene.add_box('a', [1, 1], [0, 0, 0]), 'three numbers'),
    (lambda arm: arm.scene.add_mesh('a', np.zeros((3, 3)), [0, 0, 0]), 'triangles'),
    (lambda arm: Arm('a b', timeout=0.1), 'is no name of a node')])
def test_invalid_arguments(arm, call, words):
    """It is said at once, and nothing is sent."""
    with pytest.raises(ClientError, match=words):
        call(arm)


@pytest.mark.fault('clients', 'a program sends 500 goals without waiting',
                   'each has its one final answer, and the last one is reached')
def test_many_goals_in_a_row(system, arm):
    """No answer is lost, though nobody waits meanwhile."""
    goals = [arm.joints([0.1 * np.sin(k), *READY[1:]]) for k in range(500)]
    assert goals[-1].wait(60.0).reached
    for goal in goals[:-1]:
        system.wait(lambda goal=goal: goal.done, what='an answer')
    states = [goal.result.state for goal in goals]
    assert {*states[:-1]} <= {GoalState.SUPERSEDED, GoalState.REACHED}
    assert len({goal.result.values['stamp'] for goal in goals}) == 500
    assert len({goal.result.id for goal in goals}) == 500 and goals[0].result.id


def test_a_stream(system, arm):
    """The arm follows, and rests at the end of the block; what ends it sooner is said."""
    end = HERE.translation + [0.0, 0.06, 0.0]
    system.change('/ik_node', stream__timeout=0.5)
    with arm.stream() as stream:
        for share in np.linspace(0.0, 1.0, 40):
            stream.send(HERE.translation + share * (end - HERE.translation), QUAT)
            system.spin_for(0.02)
        for _ in range(25):
            stream.send(end, QUAT)
            system.spin_for(0.02)
    assert stream.goal.result.reason == 'STREAM_ENDED'
    assert int(stream.goal.result.values['poses']) > 20
    assert np.linalg.norm(tip(latest(system)).translation - end) < 2e-3
    with pytest.raises(ClientError, match='begin another one'):
        stream.send(end, QUAT)
    with pytest.raises(GoalNotReachedError, match='superseded'):
        with arm.stream() as stream:
            limit = monotonic() + 20.0
            goal = None
            while monotonic() < limit:
                stream.send(end, QUAT)
                if goal is None and stream.goal.accepted:
                    goal = arm.joints(READY)
                system.spin_for(0.02)
    assert goal.wait(20.0).reached
    system.change('/ik_node', stream__timeout=1.0)
    with pytest.raises(ZeroDivisionError), arm.stream() as stream:
        while not stream.goal or not stream.goal.accepted:
            stream.send(HERE.homogeneous)
            system.spin_for(0.02)
        _ = 1 / 0
    with Arm() as other:  # another program, which does not know of the stop
        with pytest.raises(AnswerTimeoutError, match='took nothing of the stream'), \
                other.stream() as ignored:
            ignored.send(HERE.homogeneous)
        with pytest.raises(GoalNotReachedError, match='STOPPED'):
            stream.wait(20.0)
    again = arm.stream()
    began = monotonic()
    again.send(HERE.homogeneous)  # waits until the node begins another
    assert monotonic() - began < 1.5 and again.wait(30.0).reason == 'STREAM_ENDED'
    system.change('/ik_node', stream__timeout=0.1)
    with arm.stream() as stream:
        pass
    assert stream.wait() is None


def test_a_jog(system, arm):
    """The tip moves while commands are sent, and rests at the end of the block."""
    assert arm.joints(READY).wait(20.0).reached
    system.change('/ik_node', stream__timeout=0.5)
    began = monotonic()
    with arm.jog() as jog:
        for _ in range(30):
            jog.send(linear=(0.0, 0.25, 0.0))
            system.spin_for(0.02)
        sent = monotonic()
    assert jog.goal.result.reason == 'STREAM_ENDED' and jog.goal.kind == 'jog'
    assert int(jog.goal.result.values['commands']) > 3  # of 30; the last is what counts
    way = tip(latest(system)).translation - HERE.translation
    assert way[1] > 0.02 and np.abs(way[[0, 2]]).max() < 5e-3
    # It was released: the arm did not go on for the timeout.
    assert way[1] < 0.1 * (sent - began) + 0.03 and monotonic() - sent < 3.0
    with pytest.raises(ClientError, match='begin another one'):
        jog.send(linear=(0.0, 0.25, 0.0))
    with pytest.raises(GoalNotReachedError, match='nowhere'):
        with arm.jog() as jog:
            jog.send(angular=(0.0, 0.0, 0.1), frame='nowhere')
            system.wait(lambda: jog.goal.done, what='the refusal')  # the end of it sends zeros
    with pytest.raises(ClientError, match='three numbers'):
        arm.jog().send(linear=(1.0, 0.0))


def test_before_a_motion(system, arm):
    """The preview of the node and the solver of the client; nothing moves."""
    report = arm.preview(NEAR.homogeneous).wait(20.0)
    assert report.reachable and same(tip(report.q), NEAR)
    assert ' m of the tip' in arm.plan().wait(20.0)
    report = arm.preview(AWAY, kind='position').wait(20.0)
    assert (report.reachable, report.reason, report.q is None) == (False, 'OUT_OF_REACH', False)
    result = arm.ik(NEAR.homogeneous)
    assert result.success and same(tip(result.q), NEAR)
    assert np.abs(result.q - READY).max() < 1.0
    postures = arm.postures([*NEAR.translation, *pin.Quaternion(NEAR.rotation).coeffs()])
    assert len(postures) > 1 and all(same(tip(each.q), NEAR) for each in postures)
    far = PoseStamped()
    far.header.frame_id = 'tool0'
    with pytest.raises(ClientError, match='in the base link'):
        arm.ik(far)
    assert np.abs(latest(system) - READY).max() < 1e-6


def test_state(system, arm):
    """Joint positions by name and in order, and the pose of the tip."""
    assert arm.joint_names == tuple(NAMES)
    system.wait(lambda: np.abs(arm.q - READY).max() < 1e-6)
    assert [*arm.joint_positions] and arm.joint_positions['joint_5'] == pytest.approx(1.0)
    system.wait(lambda: np.abs(arm.tip_pose - HERE.homogeneous).max() < 1e-6)


def test_a_pause(system, arm):
    """The goal stays open, and is reached later; without one there is nothing to pause."""
    with pytest.raises(ClientError, match='no goal is on its way'):
        arm.pause().wait(10.0)
    with pytest.raises(ClientError, match='motion.velocity_scale'):
        arm.set_speed(2.0).wait(10.0)
    arm.set_speed(0.2).wait(10.0)
    goal = arm.joints([READY[0] + 1.0, *READY[1:]])
    system.wait(lambda: system.states and abs(system.states[-1][1].position[0] - READY[0]) > 0.1)
    assert 'at rest' in arm.pause().wait(10.0)
    arm.set_speed(1.0).wait(10.0)
    system.wait(lambda: not any(system.states[-1][1].velocity), what='rest')
    assert not goal.done and goal.latest.reason == 'PAUSED'
    assert abs(latest(system)[0] - READY[0] - 1.0) > 0.1
    assert 'goes on' in arm.resume().wait(10.0)
    there(system, goal)
    assert abs(latest(system)[0] - READY[0] - 1.0) < 1e-5


def test_a_tool(system, arm):
    """Goals, the pose of the tip and the solver of the program are those of the tool."""
    tool = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.4, 0.5), np.array([0.02, -0.03, 0.15]))
    arm.set_tool(tool.translation, [0.3, -0.4, 0.5]).wait(10.0)
    try:
        assert same(there(system, arm.move((NEAR * tool).homogeneous)), NEAR)
        for k in range(20):  # at once, however far the next joint state is
            longer = tool * pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.01 * (k % 3)]))
            arm.set_tool(longer.translation, [0.3, -0.4, 0.5]).wait(10.0)
            assert np.abs(arm.tip_pose - (NEAR * longer).homogeneous).max() < 1e-5
        arm.set_tool(tool.translation, [0.3, -0.4, 0.5]).wait(10.0)
        assert same(tip(arm.ik((NEAR * tool).homogeneous).q), NEAR)
        assert same(there(system, arm.move(np.eye(4), frame='tcp')), NEAR)
        with pytest.raises(ClientError, match='needs three finite numbers'):
            arm.set_tool([0.0, 0.1]).wait(10.0)
    finally:
        arm.set_tool([0.0, 0.0, 0.0]).wait(10.0)
    assert same(tip(arm.ik(NEAR.homogeneous).q), NEAR)


def test_scene(system, arm):
    """An object counts when its handle says so, until it is removed; a refusal is an error."""
    system.change('/ik_node', motion__detour_time=0.0)
    left, right = ([side, 0.6, 0.4, 0.0, 0.6, 0.0] for side in (0.9, -0.9))
    there(system, arm.joints(left))
    triangles = np.array([[[x, 0.0, 0.0], [x, 0.1, 0.0], [x, 0.0, 1.4]] for x in (0.0, 0.1)])
    for add in (lambda: arm.scene.add_box('post', [0.1, 0.1, 1.4], [0.45, 0.0, 0.7]),
                lambda: arm.scene.add_cylinder('post', 0.05, 1.4, [0.45, 0.0, 0.7]),
                lambda: arm.scene.add_sphere('post', 0.3, [0.45, 0.0, 0.4]),
                lambda: arm.scene.add_mesh('post', triangles, [0.42, 0.0, 0.1])):
        assert add().wait(20.0) == 'the scene has changed'
        with pytest.raises(GoalNotReachedError, match="COLLISION.*'post'"):
            arm.joints(right).wait(20.0)
    assert arm.scene.remove('posd').wait(20.0) == \
        "nothing has changed: there is no object 'posd'; did you mean 'post'?"
    assert arm.scene.remove('post').wait(20.0) == 'the scene has changed'
    assert arm.scene.remove('post').wait(20.0).endswith("'post'; the scene is empty")
    there(system, arm.joints(right))
    far = [0.0, 0.0, 3.0]
    for wrong, words in (
            (lambda: arm.scene.add_box('a', [0.0, 1.0, 1.0], far), 'must be positive'),
            (lambda: arm.scene.add_mesh('a', '/none.stl', far), 'none.stl'),
            (lambda: arm.scene.add_sphere('a', 1.0, far, frame='x'), 'not a link')):
        with pytest.raises(ClientError, match=words):
            wrong().wait(20.0)
    arm.scene.add_sphere('b', 0.1, [2.0, 0.0, 3.0]).wait(20.0)
    arm.scene.clear().wait(20.0)


def test_asyncio(system, arm):
    """Handles are awaited, also several at once, one with an error, one after its end."""
    async def program():
        first = await arm.joints(SIDE)
        report, posture = await asyncio.gather(arm.preview(NEAR.homogeneous), arm.joints(READY))
        with pytest.raises(GoalNotReachedError, match='OUT_OF_REACH'):
            await arm.move(AWAY, QUAT)
        goal = arm.joints(SIDE)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(awaited(goal), 0.01)
        assert (await goal).reached and await goal is goal.result
        return first.reached, report.reachable, posture.reached

    async def awaited(goal):
        return await goal

    assert asyncio.run(asyncio.wait_for(program(), 60.0)) == (True, True, True)


class Program:
    """A node of a user, spun in a thread, whose callbacks are run by a message."""

    def __init__(self, name):
        self.node = rclpy.create_node(name, namespace='/')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.thread = Thread(target=self._spin)
        self.ended = Event()

    def _spin(self):
        while not self.ended.is_set():
            try:
                self.executor.spin_once(timeout_sec=0.1)
            except ExternalShutdownException:
                return

    def run(self, probe, callback):
        """Have a callback run by a message; return when it has ended, with what it returned."""
        done = []

        def call(_message):
            done.append(callback())

        async def call_async(_message):
            done.append(await callback())

        subscription = self.node.create_subscription(
            Empty, '~/go', call_async if asyncio.iscoroutinefunction(callback) else call, 1)
        publisher = probe.create_publisher(Empty, f'{self.node.get_name()}/go', 1)
        if not self.thread.is_alive():
            self.thread.start()
        probe.wait(publisher.get_subscription_count)
        publisher.publish(Empty())
        probe.wait(lambda: done, 60.0, 'the callback')
        probe.destroy_publisher(publisher)
        self.node.destroy_subscription(subscription)
        return done[0]

    def close(self):
        """End it."""
        self.ended.set()
        self.thread.join()
        self.executor.shutdown()
        self.node.destroy_node()


def test_in_callbacks_of_a_node(system):
    """Of one thread: waiting there works, so does await, and so do its own callbacks."""
    program = Program('program')
    with Arm('ik_node', node=program.node) as arm:
        assert program.run(system, lambda: arm.joints(SIDE).wait(30.0)).reached
        assert program.run(system, lambda: Arm(node=program.node).name) == '/ik_node'

        async def move():
            with pytest.raises(GoalNotReachedError, match='OUT_OF_REACH'):
                await arm.move(AWAY, QUAT)
            return await arm.joints(READY)

        assert program.run(system, move).reached
        threads = []
        goal = arm.joints(READY)
        goal.add_done_callback(lambda each: threads.append((current_thread(), each)))
        system.wait(lambda: threads)
        assert threads == [(program.thread, goal)]
        goal.add_done_callback(lambda each: threads.append(current_thread()))  # after its end
        system.wait(lambda: len(threads) == 2)
    program.close()


def test_callbacks_without_a_node(system, arm):
    """The thread of the client runs them: waiting there is refused, sending is not."""
    said, chained = [], []

    def on_done(goal):
        try:
            arm.joints(READY).wait()
        except ClientError as error:
            said.append(str(error))
        chained.append(arm.joints(SIDE))
        raise ValueError('a fault of the user')  # the client goes on

    arm.joints(SIDE).add_done_callback(on_done)
    system.wait(lambda: chained)
    assert said and 'would never end' in said[0]
    assert chained[0].wait(20.0).reached


def test_two_threads_and_two_clients(system, arm):
    """Both wait at once; each has its own answer."""
    ends = {}
    with Arm('/ik_node') as other:
        def wait(name, goal):
            try:
                ends[name] = goal.wait(30.0).state
            except GoalNotReachedError as error:
                ends[name] = error.answer.state

        first, second = arm.joints(SIDE), other.joints(SIDE)
        system.wait(lambda: first.accepted or second.accepted or first.done)
        threads = [Thread(target=wait, args=pair) for pair in (('first', first),
                                                               ('second', second))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(state.value for state in ends.values()) in (
        ['reached', 'superseded'], ['reached', 'reached'])


def test_the_end_of_a_client(system):
    """Closed twice, used after; what is open ends, the arm goes on; an error stops the arm."""
    made = Arm()
    system.change('/ik_node', motion__velocity_scale=0.2)
    goal = made.joints(SIDE)
    system.wait(lambda: goal.accepted)
    assert not goal.done
    made.close()
    made.close()
    with pytest.raises(ClientError, match='was closed before an answer'):
        goal.wait()
    for call in (lambda: made.joints(READY), lambda: made.q, lambda: made.stop(), made.stream):
        with pytest.raises(ClientError, match='was closed; make another Arm'):
            given = call()
            given.send(HERE.homogeneous)
    system.wait(lambda: np.abs(latest(system) - SIDE).max() < 1e-5)
    with pytest.raises(ZeroDivisionError), Arm() as made:
        goal = made.joints(READY)
        system.wait(lambda: goal.accepted)
        _ = 1 / 0
    assert goal.result.state is GoalState.STOPPED


@pytest.mark.fault('clients', 'a program is interrupted (Ctrl-C, SIGTERM) during its goal',
                   'the arm is brought to rest before the program ends')
@pytest.mark.parametrize('script, before, number', usual_first(2, [
    (WAITING, '', signal.SIGINT), (SLEEPING, '', signal.SIGTERM), (ASYNC, '', signal.SIGINT),
    (SLEEPING, '', signal.SIGINT),
    (WAITING, 'rclpy.init()', signal.SIGINT),
    (WAITING, 'rclpy.init(); node = rclpy.create_node("script")', signal.SIGINT),
    pytest.param(SEQUENCE, '', signal.SIGINT, marks=needs_sequences)]),
    ids=['waiting', 'terminated', 'asyncio', 'sleeping', 'with_rclpy', 'with_a_node',
         'sequence'])
def test_ctrl_c(shared_system, tmp_path, script, before, number):
    """Wherever the program is at that moment; also if the handler of rclpy ends ROS."""
    system = shared_system
    assert system.final(system.send_joints(READY))['state'] == 'reached'
    system.change('/ik_node', motion__velocity_scale=0.1)
    if script not in (ASYNC, SEQUENCE):
        script = script.format(before=before, name='node=node' if 'node =' in before else '')
    system.statuses.clear()
    with (tmp_path / 'errors').open('w') as errors:
        running = subprocess.Popen([sys.executable, '-c', script], stdout=subprocess.PIPE,
                                   stderr=errors, text=True)
    assert running.stdout.readline() == 'sent\n', (tmp_path / 'errors').read_text()
    system.wait(lambda: latest(system)[0] > 0.02, 60.0, 'motion')
    running.send_signal(number)
    system.wait(lambda: running.poll() is not None, 30.0, 'the end of the program')
    said = (tmp_path / 'errors').read_text()
    assert running.stdout.read() == '' and running.returncode != 0, said
    assert 'may still move' not in said and 'Fatal' not in said
    system.wait(lambda: len(system.statuses) > 1, what=f'an answer; {said}')
    assert [status['reason'] for status in system.statuses] == ['ACCEPTED', 'STOPPED'], said
    system.wait(lambda: not any(system.states[-1][1].velocity))
    assert latest(system)[0] < 1.9


@pytest.mark.nightly
def test_a_program_that_ends_without_waiting(shared_system):
    """Without a signal and without an error the goal goes on, and the exit code is 0."""
    system = shared_system
    assert system.final(system.send_joints(READY))['state'] == 'reached'
    system.statuses.clear()
    script = BEGIN.format(before='', name='')
    script += 'import time\nwhile not goal.accepted:\n    time.sleep(0.01)\n'
    program = subprocess.Popen([sys.executable, '-c', script], stderr=subprocess.PIPE, text=True)
    system.wait(lambda: program.poll() is not None, 60.0)
    assert (program.returncode, program.stderr.read()) == (0, '')
    system.wait(lambda: len(system.statuses) > 1)
    assert system.statuses[-1]['reason'] == 'REACHED'


def test_a_gripper_without_its_package(arm, monkeypatch):
    """The sentence says how to get it."""
    monkeypatch.setitem(sys.modules, 'control_msgs', None)
    monkeypatch.setitem(sys.modules, 'control_msgs.action', None)
    with pytest.raises(ClientError, match='needs the ROS package control_msgs.*apt install'):
        arm.gripper()


@pytest.mark.parametrize('there', [None, SimpleNamespace()], ids=['missing', 'older'])
def test_a_sequence_without_its_package(shared_system, monkeypatch, there):
    """The sentence says what is missing, and how to get it."""
    monkeypatch.setitem(sys.modules, 'control_msgs', there)
    monkeypatch.setitem(sys.modules, 'control_msgs.action', there)
    with Arm('ik_node') as made, \
            pytest.raises(ClientError, match='need ExecuteMotionPrimitiveSequence of the ROS '
                          'package control_msgs.*apt install'):
        made.sequence([lin(np.eye(4))])


def test_a_gripper(system, arm):
    """Goals go to its controller, and where it came to rest comes back."""
    action = pytest.importorskip('control_msgs.action', reason=NOT_BUILT)
    if not hasattr(action, 'GripperCommand'):
        pytest.skip('control_msgs has no GripperCommand here')
    from rclpy.action import ActionServer, GoalResponse
    program = Program('gripper')

    def execute(goal):
        result = action.GripperCommand.Result(position=goal.request.command.position,
                                              effort=goal.request.command.max_effort)
        result.stalled = goal.request.command.position == 0.0
        result.reached_goal = not result.stalled
        goal.abort() if result.stalled else goal.succeed()
        return result

    server = ActionServer(
        program.node, action.GripperCommand, '/gripper_controller/gripper_cmd', execute,
        goal_callback=lambda goal: GoalResponse.REJECT if goal.command.position < 0.0
        else GoalResponse.ACCEPT)
    program.thread.start()
    hand = arm.gripper()
    state = hand.move(0.04, 10.0).wait(20.0)
    assert (state.position, state.effort, state.reached_goal) == (0.04, 10.0, True)
    with pytest.raises(ClientError, match='it is at 0 and stalled'):
        hand.move(0.0).wait(20.0)
    with pytest.raises(ClientError, match='refused'):
        hand.move(-1.0).wait(20.0)
    program.ended.set()
    program.thread.join()
    server.destroy()
    program.close()
    with pytest.raises(NodeUnreachableError, match='nobody serves the action /other'):
        from ik_node.client import gripper
        patience, gripper.SERVER_PATIENCE_S = gripper.SERVER_PATIENCE_S, 0.2
        try:
            arm.gripper('/other')
        finally:
            gripper.SERVER_PATIENCE_S = patience


def test_examples(system):
    """Each runs to its end; in one process, which loads what they need once."""
    files = sorted(map(str, (ROOT / 'examples').glob('arm_*.py')))
    code = ('import runpy, sys\n'
            'for file in sys.argv[1:]:\n'
            '    runpy.run_path(file, run_name="__main__")\n')
    written, _ = ran(code, ROOT, *files)
    assert len(files) == 6
    for words in ('reached', 'OUT_OF_REACH', 'STREAM_ENDED', 'tip [', '5.0 m up: red', 'shoulder'):
        assert words in written, (words, written)


@pytest.mark.nightly
@pytest.mark.parametrize('document, printed, logged', [
    ('docs/tutorials/python_client.md', (
        'OUT_OF_REACH - the goal was rejected', "{'remedy_shift_m': ", 'green reachable',
        '(6, 6)'), 'reached'),
    ('docs/how_to/goals.md', ("{'remedy_shift_m': [-0.1879, 0.0, -0.0157]", 'it can be reached'),
     ''),
    ('docs/how_to/path_constraints.md', ('33.3 and 2.6 degrees, 2.10 and 3.17 s',), ''),
    pytest.param('docs/how_to/motion_sequences.md', ('5 motions: ',), '', marks=needs_sequences)])
def test_the_documents(system, document, printed, logged):
    """The blocks of each are one program, which runs from the arm at rest to its end."""
    written, said = ran(program_of(document), ROOT)
    for words in printed:
        assert words in written, written
    assert logged in said  # by the node of the program
