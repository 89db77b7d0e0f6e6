# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""follow_joint_trajectory: the client alone, and over DDS where control_msgs is installed."""

import importlib.util
from types import SimpleNamespace

from builtin_interfaces.msg import Duration
from harness import latest, NAMES, NOT_BUILT, READY, run_sim
import numpy as np
import pytest
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ik_node.base.errors import ParameterError, Reason, TrajectoryError
from ik_node.motion.action_goal import GoalStatus, Stage
from ik_node.ros import action_client
from ik_node.ros.action_client import ACTION_NAME, TrajectoryAction

THERE = np.array(READY) + 0.3
SIM = '/sim_controller'


def trajectory(q, seconds=0.5) -> JointTrajectory:
    """Return a smooth motion to `q`."""
    return JointTrajectory(joint_names=NAMES, points=[JointTrajectoryPoint(
        positions=[float(value) for value in q], velocities=[0.0] * 6, accelerations=[0.0] * 6,
        time_from_start=Duration(sec=int(seconds), nanosec=int(seconds % 1 * 1e9)))])


def told(name, *errors):
    """Return a message of feedback."""
    return SimpleNamespace(feedback=SimpleNamespace(
        name=name, error=SimpleNamespace(positions=list(errors))))


# ---- the client alone -------------------------------------------------------

class FakeServer:
    """Stands in for rclpy's ActionClient and its server; answers when a test says so."""

    def __init__(self) -> None:
        self.ready = True
        self.goals: list[SimpleNamespace] = []

    def server_is_ready(self) -> bool:
        """Return whether it is there."""
        return self.ready

    def send_goal_async(self, goal, feedback_callback) -> Future:
        """Keep the goal; return the future of its acceptance."""
        sent = SimpleNamespace(goal=goal, feedback=feedback_callback, answer=Future(),
                               result=Future(), cancelled=0)
        self.goals.append(sent)
        return sent.answer

    @staticmethod
    def answer(sent, accepted=True) -> None:
        """Accept or refuse."""
        def cancel():
            sent.cancelled += 1
        sent.answer.set_result(SimpleNamespace(
            accepted=accepted, get_result_async=lambda: sent.result, cancel_goal_async=cancel))

    @staticmethod
    def end(sent, status=GoalStatus.SUCCEEDED, code=0, text='') -> None:
        """Send the result."""
        sent.result.set_result(SimpleNamespace(status=status, result=SimpleNamespace(
            error_code=code, error_string=text)))


@pytest.fixture
def server(monkeypatch):
    """Return a server without DDS."""
    fake = FakeServer()
    monkeypatch.setattr(action_client, 'ActionClient', lambda *_: fake)
    return fake


@pytest.fixture
def ends():
    """Return the list of verdicts told."""
    return []


@pytest.fixture
def client(server, ends, probe):
    """Return a client of the fake server."""
    return TrajectoryAction(probe, ACTION_NAME, ends.append, SimpleNamespace(Goal=SimpleNamespace))


def test_goal_accepted_and_reached(client, server, ends):
    """Sent as it is, without tolerance of its own; one end."""
    message = trajectory(THERE)
    execution = client.send(message)
    assert execution.stage is Stage.SENT
    sent, = server.goals
    assert sent.goal.trajectory is message
    assert sent.goal.goal_time_tolerance == Duration()
    server.answer(sent)
    assert execution.stage is Stage.ACCEPTED and not ends
    server.end(sent)
    assert execution.stage is Stage.ENDED
    assert [verdict.reason for verdict in ends] == [Reason.REACHED]


def test_goal_time(client, server):
    """The time for the end is passed on."""
    client.send(trajectory(THERE), 2.5)
    assert server.goals[0].goal.goal_time_tolerance == Duration(sec=2, nanosec=500_000_000)


def test_goal_refused(client, server, ends):
    """The end follows at once."""
    client.send(trajectory(THERE))
    server.answer(server.goals[0], accepted=False)
    assert [verdict.reason for verdict in ends] == [Reason.REFUSED]


@pytest.mark.parametrize('status, code, reason', [
    (GoalStatus.ABORTED, -4, Reason.OFF_TRACK), (GoalStatus.ABORTED, -5, Reason.OFF_TARGET),
    (GoalStatus.ABORTED, -1, Reason.INTERRUPTED), (GoalStatus.CANCELED, 0, Reason.INTERRUPTED)])
def test_goal_given_up(client, server, ends, status, code, reason):
    """With the reason, and the controller's words."""
    client.send(trajectory(THERE))
    server.answer(server.goals[0])
    server.end(server.goals[0], status, code, 'because')
    assert [verdict.reason for verdict in ends] == [reason]
    assert 'because' in ends[0].sentence


def test_no_server(client, server):
    """One sentence with the name of the action; nothing is sent."""
    server.ready = False
    with pytest.raises(TrajectoryError, match='/follow_joint_trajectory') as caught:
        client.send(trajectory(THERE))
    assert caught.value.reason is Reason.NO_LISTENER and not server.goals


def test_no_control_msgs(monkeypatch, probe):
    """One sentence that says what is missing."""
    monkeypatch.setattr(action_client, 'action_type', lambda: None)
    with pytest.raises(ParameterError, match='control_msgs'):
        TrajectoryAction(probe, ACTION_NAME, print)


def test_a_newer_goal_silences_the_older(client, server, ends):
    """Its late acceptance, feedback and end are not told, in whatever order they come."""
    client.send(trajectory(THERE))
    client.send(trajectory(READY))
    old, new = server.goals
    server.answer(new)
    server.answer(old)
    old.feedback(told('old'))
    assert client.feedback is None
    new.feedback(told('new'))
    server.end(old, GoalStatus.ABORTED, -1, 'preempted')
    assert not ends and client.feedback.name == 'new'
    client.cancel()
    assert (old.cancelled, new.cancelled) == (0, 1)
    server.end(new)
    assert [verdict.reason for verdict in ends] == [Reason.REACHED]


def test_feedback_of_an_older_goal_is_forgotten(client, server):
    """A new goal begins without."""
    client.send(trajectory(THERE))
    server.goals[0].feedback(told('old', 0.1, -0.3))
    server.goals[0].feedback(told('older', 0.2, 0.0))
    assert client.feedback.name == 'older' and client.largest_error == 0.3
    client.send(trajectory(READY))
    assert client.feedback is None and client.largest_error is None


@pytest.mark.parametrize('early', [False, True])
def test_cancel(client, server, ends, early):
    """Asked for once, after the acceptance if it comes before; the end tells."""
    assert not client.cancel()
    client.send(trajectory(THERE))
    sent, = server.goals
    if early:
        assert client.cancel()
    server.answer(sent)
    assert client.cancel() and client.cancel()
    assert sent.cancelled == 1
    server.end(sent, GoalStatus.CANCELED)
    assert len(ends) == 1 and not client.cancel()


# ---- over DDS -----------------------------------------------------------------

over_dds = pytest.mark.skipif(importlib.util.find_spec('control_msgs') is None, reason=NOT_BUILT)


@pytest.fixture(scope='module')
def shared(tmp_path_factory):
    """Run one simulated controller for the tests of this module."""
    with run_sim(tmp_path_factory.mktemp('sim')) as running:
        yield running


@pytest.fixture
def arm(shared):
    """Lend the controller at rest at its posture, with a client that it hears."""
    shared.ends = []
    shared.client = TrajectoryAction(shared, ACTION_NAME, shared.ends.append)
    shared.wait(shared.client.server_is_ready)
    shared.states.clear()
    yield shared
    shared.client._client.destroy()
    assert shared.set_parameters(SIM, {
        'following.lag': 0.0, 'constraints.trajectory': [0.0], 'silent': False}).successful
    # By way of elsewhere: at READY already, a message that comes late would end the next goal.
    for q in (np.add(READY, 0.02), np.array(READY)):
        shared.commands.publish(trajectory(q, 0.1))
        shared.wait(lambda q=q: np.array_equal(latest(shared), q))


def reasons(arm):
    """Wait for the end; return all that was told."""
    arm.wait(lambda: arm.ends, what='the end')
    arm.spin_for(0.1)
    return [verdict.reason for verdict in arm.ends]


@over_dds
def test_real_goal_is_reached(arm):
    """Feedback on the way, one end, and the arm is there."""
    execution = arm.client.send(trajectory(THERE))
    arm.wait(lambda: arm.client.feedback is not None and execution.stage is Stage.ACCEPTED)
    feedback = arm.client.feedback
    assert list(feedback.joint_names) == NAMES and len(feedback.desired.positions) == 6
    assert np.allclose(feedback.error.positions, np.subtract(
        feedback.desired.positions, feedback.actual.positions))
    assert reasons(arm) == [Reason.REACHED]
    assert latest(arm) == pytest.approx(THERE)


@over_dds
def test_real_goal_is_preempted(arm):
    """By another client: the first is told so, the second arrives."""
    arm.client.send(trajectory(THERE, 5.0))
    arm.wait(lambda: arm.client.feedback is not None)
    others = []
    other = TrajectoryAction(arm, ACTION_NAME, others.append)
    arm.wait(other.server_is_ready)
    other.send(trajectory(READY))
    assert reasons(arm) == [Reason.INTERRUPTED]
    assert 'preempted' in arm.ends[0].sentence
    arm.wait(lambda: others)
    assert others[0].reason is Reason.REACHED and latest(arm) == pytest.approx(READY)
    other._client.destroy()


@over_dds
@pytest.mark.parametrize('early', [False, True])
def test_real_goal_is_cancelled(arm, early):
    """The arm holds, and the end says cancelled, however early it was."""
    arm.client.send(trajectory(THERE, 5.0))
    if not early:
        arm.wait(lambda: arm.states and arm.states[-1][1].position[0] > READY[0] + 0.01)
    assert arm.client.cancel()
    assert reasons(arm) == [Reason.INTERRUPTED]
    assert 'cancelled' in arm.ends[0].sentence
    held = latest(arm)
    arm.spin_for(0.3)
    assert np.array_equal(latest(arm), held) and held[0] < THERE[0] - 0.05
