# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions that are paused and go on; judged by joint states."""

from types import SimpleNamespace

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, Vector3
from harness import (
    FINAL,
    LATCHED,
    latest,
    lent,
    off_line,
    path_of,
    pose,
    READY,
    reasons,
    seconds,
    stamped,
    tip,
    way,
)
import motion_checker
import numpy as np
import pytest
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray

from ik_node.node.execution.pace import Pace
from ik_node.node.goals.goal import GoalTask
from ik_node.ros.messages.status_messages import values_of

AWAY = [READY[0] + 1.5, READY[1] + 0.2, READY[2] - 0.1, *READY[3:]]
SLOW = {'motion__velocity_scale': 0.3}


@pytest.fixture
def system(shared_system):
    with lent(shared_system) as probe:
        probe.pauser = probe.create_client(SetBool, '/ik_node/pause')
        probe.wait(lambda: probe.states, what='joint states')
        yield probe
        probe.destroy_client(probe.pauser)


def pause(system, data=True):
    """Pause, or go on; return whether it was done, and the sentence."""
    response = system.call(system.pauser, SetBool.Request(data=data))
    return response.success, response.message


def rests(system):
    """Wait until the node has seen the arm come to rest; return where it is."""
    system.wait(lambda: pause(system) == (True, 'it rests already'), what='rest')
    return latest(system)


def under_way(system, stamp, share=0.3):
    """Wait until a joint goal to AWAY is some way on its way."""
    system.wait(lambda: abs(system.states[-1][1].position[0] - READY[0])
                > share * abs(AWAY[0] - READY[0]), what='the way')
    assert not any(answer['state'] in FINAL for answer in system.answers(stamp))


def test_a_joint_goal(system):
    """It rests on its way, for as long as it takes, and goes on along the same way to its end."""
    system.change('/ik_node', **SLOW)
    count = len(system.trajectories)
    stamp = system.send_joints(AWAY)
    under_way(system, stamp)
    done, sentence = pause(system)
    assert done and 'at rest in' in sentence
    assert pause(system) == (True, 'it is coming to rest')
    here = rests(system)
    assert 0.3 < (here[0] - READY[0]) / (AWAY[0] - READY[0]) < 0.95
    system.spin_for(0.5)
    assert np.abs(latest(system) - here).max() < 1e-6
    assert [answer['reason'] for answer in system.answers(stamp)] == ['ACCEPTED', 'PAUSED']
    done, sentence = pause(system, False)
    assert done and sentence.startswith('goes on, ')
    assert reasons(system, stamp) == ['ACCEPTED', 'PAUSED', 'ACCEPTED', 'REACHED']
    assert np.abs(latest(system) - AWAY).max() < 1e-5
    # The way is that of the first trajectory, which is without a pause.
    first, *others = map(motion_checker.path_of, system.trajectories[count:])
    planned = np.array([q for q, _, _ in motion_checker.states_at(
        first, np.linspace(first.times[0], first.times[-1], 2000))])
    assert len(others) > 1
    for path in others:
        for q, _, _ in motion_checker.states_at(
                path, np.linspace(path.times[0], path.times[-1], 50)):
            assert np.abs(planned - q).max(axis=1).min() < 2e-3


def test_a_line_goes_on_where_it_was(system):
    """The tip stays on the line, and does not go back to its start."""
    system.change('/ik_node', motion__tool_speed=0.1)
    begin = tip(READY)
    end = begin.translation + [0.0, 0.15, -0.1]
    message = path_of(pose(begin.translation), pose(end))
    stamp = system.send_goal('path', message)
    system.wait(lambda: np.linalg.norm(tip(system.states[-1][1].position).translation
                                       - begin.translation) > 0.05, what='the way')
    assert pause(system)[0], system.node.output
    middle = tip(rests(system)).translation
    assert np.linalg.norm(middle - end) > 0.03
    assert pause(system, False)[0]
    assert system.final(stamp)['state'] == 'reached'
    points, _ = way(system)
    assert off_line(points, begin.translation, end).max() < 2e-4
    along = (points - begin.translation) @ (end - begin.translation)
    assert np.diff(along).min() > -1e-6 and np.allclose(points[-1], end, atol=1e-5)


def test_slower_after_a_pause(system):
    """A lower scale of the velocities holds for the rest of the motion."""
    system.change('/ik_node', motion__velocity_scale=0.3)
    stamp = system.send_joints(AWAY)
    under_way(system, stamp, 0.1)
    assert pause(system)[0], system.node.output
    rests(system)
    system.change('/ik_node', motion__velocity_scale=0.1)
    fastest = 0.1 * np.abs([point.velocities[0] for message in system.trajectories
                            for point in message.points]).max() / 0.3
    count = len(system.trajectories)
    assert pause(system, False)[0]
    assert system.final(stamp)['state'] == 'reached'
    speeds = [abs(point.velocities[0]) for message in system.trajectories[count:]
              for point in message.points]
    assert 0.0 < max(speeds) < 1.3 * fastest


@pytest.mark.fault('goals', 'a stop, a newer goal, or a hand on the arm while a motion is paused',
                   'the goal ends as stopped or superseded; a motion that was left does not go on')
def test_events_that_end_a_pause(system):
    """Each goal has one final answer, and the arm can be moved afterwards."""
    system.change('/ik_node', **SLOW)
    for end in ('stop', 'goal'):
        stamp = system.send_joints(AWAY)
        under_way(system, stamp)
        assert pause(system)[0], system.node.output
        rests(system)
        if end == 'stop':
            assert system.call(system.stop).success
            assert reasons(system, stamp)[-1] == 'STOPPED'
        else:
            assert system.final(system.send_joints(READY))['state'] == 'reached'
            assert reasons(system, stamp)[-1] == 'SUPERSEDED'
        assert pause(system, False) == (False, 'nothing is paused')
        assert system.final(system.send_joints(READY))['state'] == 'reached'
    stamp = system.send_joints(AWAY)
    under_way(system, stamp)
    assert pause(system)[0], system.node.output
    elsewhere = rests(system) + 0.1
    move = JointTrajectory(joint_names=system.states[-1][1].name, points=[JointTrajectoryPoint(
        positions=elsewhere.tolist(), velocities=[0.0] * 6)])
    move.points[0].time_from_start.nanosec = 500_000_000
    system.commands.publish(move)
    system.wait(lambda: np.abs(np.array(system.states[-1][1].position) - elsewhere).max() < 1e-4)
    done, sentence = pause(system, False)
    assert not done and 'no longer where the motion was paused' in sentence, sentence
    assert not any(answer['state'] in FINAL for answer in system.answers(stamp))
    assert system.final(system.send_joints(READY))['state'] == 'reached'
    assert reasons(system, stamp)[-1] == 'SUPERSEDED'


def test_an_object_that_came_in_the_pause(system):
    """It stays paused, and says why, until the object is gone."""
    system.change('/ik_node', **SLOW)
    scene = system.publisher(MarkerArray, 'scene')
    end = tip(AWAY).translation
    wall = Marker(type=Marker.CUBE, ns='cell', id=1, pose=pose(end, np.eye(3)),
                  scale=Vector3(x=0.2, y=0.2, z=0.2))
    stamp = system.send_joints(AWAY)
    under_way(system, stamp, 0.1)
    assert pause(system)[0], system.node.output
    here = rests(system)
    taken = []
    system.create_subscription(DiagnosticStatus, '/ik_node/scene_answers', taken.append, LATCHED)
    stamp_of_wall = stamped(system, wall)
    scene.publish(MarkerArray(markers=[wall]))
    system.wait(lambda: taken and values_of(taken[-1])['stamp'] == stamp_of_wall, what='the wall')
    done, sentence = pause(system, False)
    assert not done and "'cell/1'" in sentence
    assert np.abs(latest(system) - here).max() < 1e-6
    scene.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
    system.wait(lambda: pause(system, False)[0], what='the way to be free again')
    assert system.final(stamp)['state'] == 'reached'


@pytest.mark.nightly
def test_motions_that_cannot_be_paused(system):
    """The answer says why: rest, a stream; and going on at once is going on after the ramp."""
    assert pause(system) == (False, 'no goal is on its way, so nothing can be paused')
    system.change('/ik_node', **SLOW)
    stamp = system.send_joints(AWAY)
    under_way(system, stamp)
    assert pause(system)[0], system.node.output
    assert pause(system, False) == (True, 'it goes on as soon as it rests')
    assert reasons(system, stamp) == ['ACCEPTED', 'PAUSED', 'ACCEPTED', 'REACHED']
    assert system.final(system.send_joints(READY))['state'] == 'reached'
    stream, T = system.publisher(PoseStamped, 'goal_stream'), tip(READY)
    begin = system.get_clock().now().nanoseconds
    target = PoseStamped()
    while system.get_clock().now().nanoseconds < begin + 400_000_000:
        shift = 1e-10 * (system.get_clock().now().nanoseconds - begin)
        target.pose = pose(T.translation + [0.0, shift, 0.0], T.rotation)
        stamp = stamped(system, target)
        stream.publish(target)
        system.spin_for(0.02)
    done, sentence = pause(system)
    assert not done and 'a stream is paused by its sender' in sentence
    system.wait(lambda: any(status['reason'] == 'STREAM_ENDED' for status in system.statuses))
    assert seconds(target.header.stamp) > 0.0


def test_what_is_not_the_motion_of_the_goal():
    """Such as the motion before, while the goal is planned again, or a ramp to rest."""
    task = GoalTask(1, Time(), 'pose')
    robot = SimpleNamespace(moves=True, active=SimpleNamespace(trajectory=object()))
    offered = []
    context = SimpleNamespace(
        node=SimpleNamespace(create_service=lambda _kind, _name, call: offered.append(call)),
        robot_slot=SimpleNamespace(require=lambda: robot), arm=None, sender=None,
        goals=SimpleNamespace(current=task))
    Pace(context, None, None, None)
    response = offered[0](SetBool.Request(data=True), SetBool.Response())
    assert not response.success and 'planned again' in response.message
    assert task.execution.paused is None
