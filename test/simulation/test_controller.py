# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated controller behaves as the real one, on perfect joints and on others."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from ik_node.motion.action_goal import ActiveGoal, GoalStatus, ResultCode, Tolerances
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.simulation.controller import ControllerOptions, SimulatedController
from ik_node.simulation.joints import Following, LaggingPlant, Measuring, Sensors

JOINTS = ('a', 'b', 'c')
HOME = np.array([0.1, 0.2, 0.3])
PERIOD = 0.01
NOW = 20.0


def stamp(time):
    """Return a builtin_interfaces Time or Duration."""
    whole = math.floor(time)
    return SimpleNamespace(sec=whole, nanosec=round(1e9 * (time - whole)))


def message(points, names=JOINTS, start=0.0):
    """Return a JointTrajectory of (time, positions[, velocities[, accelerations]])."""
    made = []
    for time, *fields in points:
        fields = [list(field) for field in fields] + [[]] * (3 - len(fields))
        made.append(SimpleNamespace(time_from_start=stamp(time), positions=fields[0],
                                    velocities=fields[1], accelerations=fields[2], effort=[]))
    return SimpleNamespace(header=SimpleNamespace(stamp=stamp(start)), joint_names=list(names),
                           points=made)


def controller(**options):
    """Return a controller at rest at home that has run for a while."""
    made = SimulatedController(JOINTS, np.array([False, False, True]), HOME, **options)
    made.update(NOW - PERIOD, PERIOD)
    return made


def run(simulated, begin, end):
    """Return times and measured states of the cycles from `begin` to before `end`."""
    times = begin + PERIOD * np.arange(round((end - begin) / PERIOD))
    return times, [simulated.update(t, PERIOD) for t in times]


LINE = message([(1.0, HOME + 1.0)])


def test_it_holds_until_commanded():
    """Without a trajectory it holds."""
    _, states = run(controller(), NOW, NOW + 0.1)
    for state in states:
        assert np.array_equal(state.q, HOME) and not state.qd.any()


def test_stamp_zero_starts_at_the_first_update_after_arrival():
    """The line begins when the update sees it, not when it was offered."""
    simulated = controller()
    assert simulated.offer(LINE, NOW - 5.0) is None
    times, states = run(simulated, NOW, NOW + 1.2)
    for t, state in zip(times[1:], states[1:]):
        assert np.allclose(state.q, HOME + min(t - NOW, 1.0), atol=1e-9)
    assert np.array_equal(states[0].q, HOME)


@pytest.mark.parametrize('scale', [1.0, 0.4])
def test_the_state_is_that_of_its_time(scale):
    """Though cycles come early, late, or some periods after one another."""
    random, way = np.random.default_rng(3), np.array([1.0, -2.0, 0.5])
    simulated = controller(options=ControllerOptions(speed_scaling=scale))
    simulated.offer(message([(1.0, HOME + way, np.zeros(3), np.zeros(3))]), NOW)
    simulated.update(NOW, PERIOD)
    now = NOW
    for step in random.choice([0.1, 0.7, 1.0, 1.3, 1.49, 3.2, 7.0], 150):
        now += step * PERIOD
        simulated.update(now, PERIOD)
        # The period for which a command is sampled ahead is not scaled.
        s = min(scale * (now - NOW) + (1.0 - scale) * PERIOD, 1.0)
        assert np.allclose(simulated.state.q - HOME,
                           (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5) * way, atol=1e-9)
        assert np.allclose(simulated.state.qd,
                           scale * (30.0 * s**2 - 60.0 * s**3 + 30.0 * s**4) * way, atol=1e-9)
    assert s == 1.0


def test_the_command_is_sampled_one_period_ahead():
    """After the update at t the joints reach at t + period where they are due then."""
    simulated = controller()
    simulated.offer(LINE, NOW)
    simulated.update(NOW, PERIOD)
    assert np.array_equal(simulated.state.q, HOME)
    simulated.update(NOW + PERIOD, PERIOD)
    assert np.allclose(simulated.state.q, HOME + PERIOD, atol=1e-9)


def test_stamp_in_the_future_waits_by_moving_slowly():
    """The path runs from the arrival to the first point at stamp + its time."""
    simulated = controller()
    late = message([(0.0, HOME, np.zeros(3), np.zeros(3)),
                    (1.0, HOME + 1.0, np.zeros(3), np.zeros(3))], start=NOW + 0.5)
    assert simulated.offer(late, NOW) is None
    times, states = run(simulated, NOW, NOW + 2.0)
    for t, state in zip(times, states):
        s = np.clip(t - NOW - 0.5, 0.0, 1.0)
        expected = HOME + 10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5
        assert np.allclose(state.q, expected, atol=1e-8)


def test_stamp_in_the_past_joins_in_the_middle():
    """Points that are past are passed over."""
    simulated = controller()
    early = message([(0.0, HOME), (1.0, HOME + 1.0), (2.0, HOME)], start=NOW - 0.5)
    assert simulated.offer(early, NOW) is None
    times, states = run(simulated, NOW, NOW + 2.0)
    for t, state in zip(times[1:], states[1:]):
        assert np.allclose(state.q, HOME + np.interp(t - NOW + 0.5, [0, 1, 2], [0, 1, 0]),
                           atol=1e-9)


def test_joints_may_come_in_any_order():
    """Positions are assigned to joints by name."""
    simulated = controller()
    assert simulated.offer(message([(0.1, [30.0, 10.0, 20.0])], ('c', 'a', 'b')), NOW) is None
    _, states = run(simulated, NOW, NOW + 0.3)
    assert states[-1].q.tolist() == [10.0, 20.0, 30.0]


def test_missing_joints_hold():
    """A partial trajectory moves its joints, the others stay."""
    simulated = controller(options=ControllerOptions(allow_partial_joints_goal=True))
    zero = np.zeros(2)
    assert simulated.offer(message([(0.2, [5.0, 7.0], zero, zero)], ('c', 'a')), NOW) is None
    _, states = run(simulated, NOW, NOW + 0.4)
    assert states[-1].q.tolist() == [7.0, HOME[1], 5.0]
    for state in states:
        assert state.q[1] == pytest.approx(HOME[1], abs=1e-12) and state.qd[1] == 0.0


def test_it_holds_at_the_end():
    """After the last point: last position, no velocity."""
    simulated = controller()
    simulated.offer(LINE, NOW)
    _, states = run(simulated, NOW, NOW + 3.0)
    for state in states[102:]:
        assert np.array_equal(state.q, HOME + 1.0)
        assert not state.qd.any() and not state.qdd.any()


def test_continuous_joints_take_the_short_way():
    """Only the joint without limits is taken round by the short way."""
    simulated = controller()
    goal = HOME + np.array([0.0, 2.0 * np.pi, 2.0 * np.pi])
    simulated.offer(message([(1.0, goal)]), NOW)
    _, states = run(simulated, NOW, NOW + 0.5)
    assert states[-1].q[1] > HOME[1] + 2.0
    assert np.allclose([state.q[2] for state in states[1:]], goal[2])


MOVING = message([(1.0, HOME + 1.0, np.zeros(3), np.zeros(3))])
BACK = message([(0.5, HOME, np.zeros(3), np.zeros(3))])


def quintic_from(q, qd, qdd, T):
    """Return the coefficients of the quintic from a state to rest at home."""
    rows = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0],
                     [T**k for k in range(6)], [k * T**max(k - 1, 0) for k in range(6)],
                     [k * (k - 1) * T**max(k - 2, 0) for k in range(6)]], dtype=float)
    zero = np.zeros(3)
    return np.linalg.solve(rows, np.array([q, qd, qdd, HOME, zero, zero]))


@pytest.mark.parametrize('from_desired', [False, True])
def test_preemption(from_desired):
    """A new path starts from the measured state, or from the last command with acceleration."""
    simulated = controller(options=ControllerOptions(interpolate_from_desired_state=from_desired))
    simulated.offer(MOVING, NOW)
    _, states = run(simulated, NOW, NOW + 0.3)
    last = states[-1]  # measured at NOW + 0.29, where the command for NOW + 0.3 was made
    assert simulated.offer(BACK, NOW + 0.3) is None
    times, states = run(simulated, NOW + 0.3, NOW + 1.0)
    arrival = states[0]
    assert arrival.q[0] > last.q[0] and arrival.qdd[0] != 0.0
    if from_desired:
        # The command of the cycle before belongs to its time, one period earlier.
        begin, T, qdd = times[0] - PERIOD, 0.5 + PERIOD, arrival.qdd
    else:
        begin, T, qdd = times[0], 0.5, np.zeros(3)
    c = quintic_from(arrival.q, arrival.qd, qdd, T)
    for t, state in zip(times[1:], states[1:]):
        s = t - begin
        expected = sum(c[k] * s**k for k in range(6)) if s < T else HOME
        assert np.allclose(state.q, expected, atol=1e-8)


def test_a_new_trajectory_replaces_the_old_at_once():
    """Only the newest trajectory counts, also when two come between updates."""
    simulated = controller()
    simulated.offer(MOVING, NOW)
    run(simulated, NOW, NOW + 0.3)
    simulated.offer(MOVING, NOW + 0.3)
    simulated.offer(BACK, NOW + 0.3)
    _, states = run(simulated, NOW + 0.3, NOW + 3.0)
    assert np.array_equal(states[-1].q, HOME)


@pytest.mark.parametrize('bad', [
    message([(1.0, HOME)], ('a', 'b', 'x')), message([]), message([(1.0, HOME[:2])]),
    message([(1.0, HOME)], ('a',)), message([(1.0, HOME, np.ones(3))]),
    message([(1.0, HOME)], start=NOW - 10.0), message([(1.0, HOME), (1.0, HOME)])])
def test_a_refusal_leaves_the_motion_alone(bad):
    """A refused message changes nothing and says why."""
    undisturbed, disturbed = controller(), controller()
    for simulated in (undisturbed, disturbed):
        simulated.offer(MOVING, NOW)
        run(simulated, NOW, NOW + 0.3)
    assert disturbed.offer(bad, NOW + 0.3)
    for a, b in zip(run(undisturbed, NOW + 0.3, NOW + 1.2)[1],
                    run(disturbed, NOW + 0.3, NOW + 1.2)[1]):
        assert np.array_equal(a.q, b.q) and np.array_equal(a.qd, b.qd)


def test_options_reach_the_rules():
    """The switches of the controller are those of the acceptance."""
    moving_end = message([(1.0, HOME, np.ones(3))])
    assert 'last point' in controller().offer(moving_end, NOW)
    kind = controller(options=ControllerOptions(allow_nonzero_velocity_at_trajectory_end=True))
    assert kind.offer(moving_end, NOW) is None


def test_integrated_positions_start_from_the_present_state():
    """With integration a message of velocities moves on from where the arm is."""
    simulated = controller(options=ControllerOptions(allow_integration_in_goal_trajectories=True))
    zero = np.zeros(3)
    only_velocities = message([(1.0, [], np.ones(3)), (2.0, [], zero)])
    assert simulated.offer(only_velocities, NOW) is None
    _, states = run(simulated, NOW, NOW + 2.5)
    assert np.allclose(states[-1].q, HOME + 1.0)


# ---- section 3: where the path begins ---------------------------------------

def test_a_first_point_at_zero_is_a_jump():
    """It is commanded there in the next cycle, however far it is."""
    simulated = controller()
    simulated.offer(message([(0.0, HOME + 1.0)]), NOW)
    _, states = run(simulated, NOW, NOW + 0.05)
    assert np.array_equal(states[1].q, HOME + 1.0)


def lagging(lag=0.2, order=1, **options):
    """Return a controller whose joints lag."""
    plant = LaggingPlant(HOME, Following(lag, order))
    return controller(plant=plant, options=ControllerOptions(**options))


def test_new_paths_start_from_the_measured_state_of_a_lagging_arm():
    """A backward kick of the command by default; none from the desired state."""
    kicks = {}
    for desired in (False, True):
        simulated = lagging(interpolate_from_desired_state=desired)
        simulated.offer(MOVING, NOW)
        run(simulated, NOW, NOW + 0.5)
        before = simulated.feedback.desired.q[0]
        simulated.offer(MOVING, NOW + 0.5)
        simulated.update(NOW + 0.5, PERIOD)
        kicks[desired] = simulated.feedback.desired.q[0] - before
    assert kicks[False] < -0.1
    assert 0.0 < kicks[True] < 0.05


# ---- section 4: tolerances and the end ----------------------------------------

def smooth(s):
    """Return the quintic from rest at 0 to rest at 1, as MOVING has it."""
    return 10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5


def tolerances(path=0.0, goal=0.0, goal_time=0.0):
    """Return the same tolerances for each joint."""
    return Tolerances(np.full(3, path), np.full(3, goal), goal_time)


def test_path_tolerance_holds_at_the_measured_position():
    """A trajectory from the topic ends where the arm is; its sender gets no answer."""
    simulated = lagging()
    simulated.tolerances = tolerances(path=0.05)
    simulated.offer(MOVING, NOW)
    times, states = run(simulated, NOW, NOW + 2.0)
    held = states[-1].q
    k = next(k for k, state in enumerate(states) if np.abs(state.q - held).max() < 0.05)
    assert 0.0 < held[0] - HOME[0] < 0.5, 'it went on'
    assert 'path tolerance' in simulated.complaint and 'joint' in simulated.complaint
    assert simulated.feedback is None
    # Within a cycle of the violation, by the closed form of the desired path.
    s = times[k:] - NOW
    desired = HOME[0] + smooth(s)
    errors = desired - [state.q[0] for state in states[k:]]
    assert abs(errors[0]) < 0.06 < errors[-1]


@pytest.mark.parametrize('joint', range(3))
def test_each_joint_has_its_path_tolerance(joint):
    """Zero is none; only the joint with a tolerance can violate it."""
    simulated = lagging()
    limit = np.zeros(3)
    limit[joint] = 0.01
    simulated.tolerances = Tolerances(limit, np.zeros(3))
    simulated.offer(MOVING, NOW)
    run(simulated, NOW, NOW + 2.0)
    assert repr(JOINTS[joint]) in simulated.complaint


def test_no_tolerance_is_enforced_by_default():
    """A blocked arm causes no complaint."""
    simulated = controller()
    simulated.plant.blocked[:] = True
    simulated.offer(MOVING, NOW)
    run(simulated, NOW, NOW + 5.0)
    assert not simulated.complaint and simulated.feedback.error == pytest.approx(np.ones(3))


def test_the_first_sample_is_compared_with_the_path_tolerance_too():
    """Also where the first point is the last one, and due at once."""
    for first in (0.0, 0.5):
        simulated = controller()
        simulated.tolerances = tolerances(path=0.1)
        simulated.offer(message([(first, HOME + 1.0)]), NOW)
        simulated.update(NOW, PERIOD)
        assert bool(simulated.complaint) == (first == 0.0)


def test_errors_are_taken_at_the_time_of_the_measurement():
    """Not against the command, which is one period ahead: perfect joints have none."""
    simulated = controller()
    simulated.tolerances = tolerances(path=1e-9)
    simulated.offer(message([(1.0, HOME + 100.0)]), NOW)
    _, states = run(simulated, NOW, NOW + 1.5)
    assert not simulated.complaint and np.array_equal(states[-1].q, HOME + 100.0)


def test_errors_of_continuous_joints_are_normalised():
    """A whole turn is no error for the joint without limits, and one for the others."""
    for joint, violated in ((0, True), (2, False)):
        simulated = controller()
        simulated.tolerances = tolerances(path=0.1)
        turn = 2.0 * np.pi * np.eye(3)[joint]
        simulated.offer(message([(0.5, HOME)]), NOW)
        simulated.update(NOW, PERIOD)
        simulated.plant.state = MotionState.at_rest(HOME + turn)
        simulated.plant.blocked[:] = True
        simulated.update(NOW + PERIOD, PERIOD)
        assert bool(simulated.complaint) == violated


@pytest.mark.parametrize('goal_time, gives_up', [(0.0, False), (0.3, True), (5.0, False)])
def test_goal_tolerance_and_goal_time(goal_time, gives_up):
    """After the end the joints have goal_time to arrive; 0 waits for ever."""
    simulated = controller(plant=LaggingPlant(HOME, Following(friction=0.05)))
    simulated.tolerances = tolerances(goal=0.02, goal_time=goal_time)
    simulated.offer(MOVING, NOW)
    run(simulated, NOW, NOW + 1.29)
    assert not simulated.complaint
    _, states = run(simulated, NOW + 1.29, NOW + 4.0)
    assert ('goal_time_tolerance' in simulated.complaint) == gives_up
    assert np.allclose(states[-1].q, HOME + 0.95)


def test_success_keeps_commanding_the_last_point():
    """The joints go on to the end after the goal's tolerance is met."""
    simulated = lagging()
    goal = ActiveGoal(follow(MOVING, goal=[('a', 0.1), ('b', 0.1), ('c', 0.1)]))
    assert simulated.offer(MOVING, NOW, goal) is None
    while goal.outcome is None:
        _, (state,) = run(simulated, simulated._last + PERIOD, simulated._last + 2 * PERIOD)
    assert 0.01 < HOME[0] + 1.0 - state.q[0] < 0.1
    _, states = run(simulated, simulated._last + PERIOD, simulated._last + 3.0)
    assert states[-1].q == pytest.approx(HOME + 1.0, abs=1e-6)


# ---- the goals of an action ---------------------------------------------------

def follow(trajectory, path=(), goal=(), goal_time=0.0):
    """Return a FollowJointTrajectory goal with tolerances (joint, position)."""
    def rows(pairs):
        return [SimpleNamespace(name=name, position=value, velocity=0.0, acceleration=0.0)
                for name, value in pairs]
    return SimpleNamespace(trajectory=trajectory, path_tolerance=rows(path),
                           goal_tolerance=rows(goal), goal_time_tolerance=stamp(goal_time))


def send(simulated, trajectory, now, **tolerance):
    """Offer an action goal that is taken; return it."""
    goal = ActiveGoal(follow(trajectory, **tolerance))
    assert simulated.offer(trajectory, now, goal) is None
    return goal


def test_a_goal_succeeds_at_the_end_of_its_path():
    """Not before; once."""
    simulated = controller()
    goal = send(simulated, MOVING, NOW)
    run(simulated, NOW, NOW + 0.99)
    assert goal.outcome is None
    run(simulated, NOW + 0.99, NOW + 1.03)
    assert goal.outcome[:2] == (GoalStatus.SUCCEEDED, ResultCode.SUCCESSFUL)


def test_a_goal_is_refused_as_a_message_is():
    """With the same words, and the goal before it goes on."""
    simulated = controller()
    first = send(simulated, MOVING, NOW)
    bad = message([(1.0, HOME)], ('a', 'b', 'x'))
    assert simulated.offer(bad, NOW, ActiveGoal(follow(bad))) == simulated.offer(bad, NOW)
    run(simulated, NOW, NOW + 1.1)
    assert first.outcome[0] is GoalStatus.SUCCEEDED


@pytest.mark.parametrize('tolerance, code', [
    ({'path': [('b', 0.01)]}, ResultCode.PATH_TOLERANCE_VIOLATED),
    ({'goal': [('c', 0.01)], 'goal_time': 0.1}, ResultCode.GOAL_TOLERANCE_VIOLATED)])
def test_a_goal_brings_its_tolerances(tolerance, code):
    """Violated, it is aborted with its code, and the arm holds where it was measured."""
    simulated = lagging()
    goal = send(simulated, MOVING, NOW, **tolerance)
    _, states = run(simulated, NOW, NOW + 6.0)
    assert goal.outcome[:2] == (GoalStatus.ABORTED, code)
    assert 0.0 < states[-1].q[0] - HOME[0] < 0.99


def test_goal_time_zero_waits_for_ever():
    """The action may never return."""
    simulated = controller(plant=LaggingPlant(HOME, Following(friction=0.05)))
    goal = send(simulated, MOVING, NOW, goal=[('a', 0.01)])
    run(simulated, NOW, NOW + 30.0)
    assert goal.outcome is None


def test_a_new_goal_preempts_the_old_one():
    """The old one is aborted as invalid, with the text of the real controller."""
    simulated = controller()
    first = send(simulated, MOVING, NOW)
    run(simulated, NOW, NOW + 0.3)
    second = send(simulated, BACK, NOW + 0.3)
    assert first.outcome[:2] == (GoalStatus.ABORTED, ResultCode.INVALID_GOAL)
    assert 'preempted' in first.outcome[2]
    _, states = run(simulated, NOW + 0.3, NOW + 1.0)
    assert second.outcome[0] is GoalStatus.SUCCEEDED
    assert np.array_equal(states[-1].q, HOME)


def test_a_message_on_the_topic_replaces_the_path_of_a_goal_silently():
    """The goal succeeds at the end of a path that is not its own."""
    simulated = controller()
    goal = send(simulated, MOVING, NOW)
    run(simulated, NOW, NOW + 0.3)
    assert simulated.offer(BACK, NOW + 0.3) is None
    assert goal.outcome is None
    _, states = run(simulated, NOW + 0.3, NOW + 0.9)
    assert goal.outcome[0] is GoalStatus.SUCCEEDED
    assert np.array_equal(states[-1].q, HOME)


def test_cancel_holds_at_the_measured_position():
    """At once, from full speed; the result is canceled."""
    simulated = lagging()
    goal = send(simulated, MOVING, NOW)
    run(simulated, NOW, NOW + 0.5)
    measured = simulated.state
    assert measured.qd[0] > 0.5
    simulated.cancel(goal)
    assert goal.outcome[0] is GoalStatus.CANCELED
    _, states = run(simulated, NOW + 0.5, NOW + 4.0)
    assert states[-1].q == pytest.approx(measured.q, abs=1e-6)


def test_cancel_drops_waiting_trajectories():
    """A goal that was not begun yet, now or later, does not begin."""
    for trajectory in (BACK, LATER):
        simulated = controller(options=ControllerOptions(allow_trajectory_replacement=True))
        simulated.offer(MOVING, NOW)
        run(simulated, NOW, NOW + 0.3)
        goal = send(simulated, trajectory, NOW + 0.3)
        if trajectory is LATER:
            simulated.update(NOW + 0.3, PERIOD)
        simulated.cancel(goal)
        held = simulated.state.q
        _, states = run(simulated, NOW + 0.31, NOW + 1.5)
        assert np.array_equal(states[-1].q, held)


def test_a_violation_does_not_cancel_deferred_trajectories():
    """The arm holds, until the time of the deferred trajectory has come."""
    simulated = lagging(allow_trajectory_replacement=True)
    simulated.tolerances = tolerances(path=0.05)
    simulated.offer(MOVING, NOW)
    run(simulated, NOW, NOW + 0.05)
    simulated.offer(LATER, NOW + 0.05)
    _, states = run(simulated, NOW + 0.05, NOW + 0.6)
    assert simulated.complaint and states[-1].q[0] < HOME[0] + 0.3
    run(simulated, NOW + 0.6, NOW + 0.63)
    assert simulated.feedback is not None


def test_after_success_nothing_is_judged():
    """An arm that is pushed away later is not held there."""
    simulated = controller()
    goal = send(simulated, MOVING, NOW, goal=[('a', 0.01)], goal_time=0.1)
    run(simulated, NOW, NOW + 1.1)
    assert goal.outcome[0] is GoalStatus.SUCCEEDED
    simulated.plant.state = MotionState.at_rest(HOME)
    simulated.plant.blocked[:] = True
    run(simulated, NOW + 1.1, NOW + 2.0)
    assert not simulated.complaint


def test_cancelling_an_old_goal_leaves_the_present_one_alone():
    """Only the active goal can be cancelled."""
    simulated = controller()
    first = send(simulated, MOVING, NOW)
    second = send(simulated, BACK, NOW)
    simulated.cancel(first)
    assert first.outcome[0] is GoalStatus.ABORTED
    run(simulated, NOW, NOW + 1.0)
    assert second.outcome[0] is GoalStatus.SUCCEEDED


def test_feedback_of_each_cycle():
    """Desired, measured, and their difference; none while it just holds."""
    simulated = lagging()
    assert simulated.feedback is None
    send(simulated, MOVING, NOW)
    for t in NOW + PERIOD * np.arange(100):
        state = simulated.update(t, PERIOD)
        s = t - NOW
        assert simulated.feedback.desired.q == pytest.approx(HOME + smooth(s))
        assert simulated.feedback.actual is state
        assert np.allclose(simulated.feedback.error, simulated.feedback.desired.q - state.q)


# ---- section 5: replacement, silence, speed --------------------------------------

LATER = message([(0.5, HOME, np.zeros(3), np.zeros(3))], start=NOW + 0.6)


@pytest.mark.parametrize('waits', [False, True])
def test_a_trajectory_stamped_ahead(waits):
    """It replaces at once, or lets the present one go on until its time."""
    undisturbed = controller()
    simulated = controller(options=ControllerOptions(allow_trajectory_replacement=waits))
    for each in (undisturbed, simulated):
        each.offer(MOVING, NOW)
        run(each, NOW, NOW + 0.3)
    assert simulated.offer(LATER, NOW + 0.3) is None
    same = [np.array_equal(a.q, b.q) for a, b in zip(
        run(undisturbed, NOW + 0.3, NOW + 0.6)[1], run(simulated, NOW + 0.3, NOW + 0.6)[1])]
    assert all(same) if waits else not any(same[5:])
    _, states = run(simulated, NOW + 0.6, NOW + 1.3)
    assert np.array_equal(states[-1].q, HOME)


def test_only_the_newest_deferred_trajectory_counts():
    """A later one, or one for now, takes its place."""
    elsewhere = message([(0.5, HOME + 5.0, np.zeros(3), np.zeros(3))], start=NOW + 0.7)
    for newer, end in ((elsewhere, HOME + 5.0), (MOVING, HOME + 1.0)):
        simulated = controller(options=ControllerOptions(allow_trajectory_replacement=True))
        for offered in (MOVING, LATER, newer):
            simulated.offer(offered, NOW)
            simulated.update(simulated._last + PERIOD, PERIOD)
        _, states = run(simulated, NOW + 0.1, NOW + 3.0)
        assert states[-1].q == pytest.approx(end)


def test_a_deferred_goal_is_not_judged_before_its_time():
    """It aborts the older goal at once, and then waits without feedback of its own."""
    simulated = controller(options=ControllerOptions(allow_trajectory_replacement=True))
    first = send(simulated, MOVING, NOW)
    run(simulated, NOW, NOW + 0.3)
    second = send(simulated, LATER, NOW + 0.3)
    assert 'preempted' in first.outcome[2]
    run(simulated, NOW + 0.3, NOW + 0.58)
    assert second.outcome is None and not simulated.is_judging(second)
    run(simulated, NOW + 0.58, NOW + 0.7)
    assert simulated.is_judging(second)
    run(simulated, NOW + 0.7, NOW + 1.3)
    assert second.outcome[0] is GoalStatus.SUCCEEDED


def test_a_silent_controller_holds_and_accepts_nothing():
    """As if deactivated: the goal is aborted, the arm stands, messages are not heard."""
    simulated = controller()
    goal = send(simulated, MOVING, NOW)
    run(simulated, NOW, NOW + 0.3)
    simulated.options = ControllerOptions(silent=True)
    _, states = run(simulated, NOW + 0.3, NOW + 0.6)
    assert goal.outcome[:2] == (GoalStatus.ABORTED, ResultCode.INVALID_GOAL)
    assert 'deactivate' in goal.outcome[2]
    assert simulated.offer(BACK, NOW + 0.6)
    _, later = run(simulated, NOW + 0.6, NOW + 1.5)
    assert np.array_equal(states[2].q, later[-1].q)
    simulated.options = ControllerOptions()
    assert simulated.offer(BACK, NOW + 1.5) is None
    _, states = run(simulated, NOW + 1.5, NOW + 2.5)
    assert np.array_equal(states[-1].q, HOME)


def test_silence_drops_waiting_trajectories():
    """An accepted trajectory that has not started does not start afterwards."""
    simulated = controller()
    goal = send(simulated, MOVING, NOW)
    simulated.options = ControllerOptions(silent=True)
    run(simulated, NOW, NOW + 0.1)
    assert goal.outcome[0] is GoalStatus.ABORTED
    simulated.options = ControllerOptions()
    _, states = run(simulated, NOW + 0.1, NOW + 1.5)
    assert np.array_equal(states[-1].q, HOME)


def test_scaled_speed():
    """The same path, slower, with the actual velocities."""
    simulated = controller(options=ControllerOptions(speed_scaling=0.25))
    simulated.offer(MOVING, NOW)
    times, states = run(simulated, NOW, NOW + 5.0)
    # The command is still one whole period ahead on the path, as in the real controller.
    s = np.clip(0.25 * (times[2:] - NOW) + 0.75 * PERIOD, 0.0, 1.0)
    q = np.array([state.q[0] for state in states[2:]])
    assert q == pytest.approx(HOME[0] + smooth(s), abs=1e-9)
    qd = np.array([state.qd[0] for state in states[2:]])
    assert np.gradient(q, PERIOD)[1:-1] == pytest.approx(qd[1:-1], abs=2e-3)


def test_the_speed_scale_may_change_in_motion():
    """At 0 it rests on its path; then it continues from there."""
    simulated = controller()
    simulated.offer(MOVING, NOW)
    run(simulated, NOW, NOW + 0.5)
    simulated.options = ControllerOptions(speed_scaling=0.0)
    _, states = run(simulated, NOW + 0.5, NOW + 1.5)
    assert np.array_equal(states[2].q, states[-1].q) and not states[-1].qd.any()
    simulated.options = ControllerOptions()
    _, states = run(simulated, NOW + 1.5, NOW + 2.1)
    assert np.abs(np.diff([state.q[0] for state in states])).max() < 0.02
    assert np.array_equal(states[-1].q, HOME + 1.0)


def test_it_is_busy_until_a_trajectory_has_ended():
    """From when it is offered, and while it is paused; one who leaves gives its goal up."""
    simulated = controller()
    assert not simulated.busy
    goal = send(simulated, MOVING, NOW)
    assert simulated.busy
    run(simulated, NOW, NOW + 0.5)
    simulated.options = ControllerOptions(speed_scaling=0.0)
    run(simulated, NOW + 0.5, NOW + 5.5)
    assert simulated.busy and goal.outcome is None
    simulated.options = ControllerOptions()
    run(simulated, NOW + 5.5, NOW + 5.8)
    assert simulated.busy
    simulated.leave('another one comes')
    assert goal.outcome[0] is GoalStatus.ABORTED and goal.outcome[2] == 'another one comes'
    run(simulated, NOW + 5.8, NOW + 7.0)
    assert not simulated.busy


def test_trajectories_start_from_the_noisy_measurement():
    """A path from the measured state begins with its noise; the seed fixes it."""
    first = []
    for seed in (1, 1, 2):
        simulated = controller(sensors=Sensors(seed, Measuring(noise=0.01)))
        simulated.offer(LINE, NOW)
        simulated.update(NOW, PERIOD)
        first.append(simulated.feedback.desired.q)
        assert simulated.feedback.desired.q == pytest.approx(simulated.state.q, abs=1e-12)
    assert np.array_equal(first[0], first[1]) and not np.allclose(first[0], first[2], atol=1e-5)


@pytest.mark.fault('time and load', 'the process of the simulated controller is late',
                   'it makes up the cycles that it missed')
@pytest.mark.parametrize('late', [0.02, 0.043, 0.08, 0.4])
def test_a_late_process_makes_up_missed_cycles(late):
    """The joints are where those of a real controller, which is on time, would be."""
    punctual, tardy = lagging(lag=0.1), lagging(lag=0.1)
    for simulated in (punctual, tardy):
        simulated.offer(MOVING, NOW)
        run(simulated, NOW, NOW + 0.5)
    run(punctual, NOW + 0.5, NOW + 0.5 + late)
    expected = punctual.update(NOW + 0.5 + late, PERIOD)
    found = tardy.update(NOW + 0.5 + late, PERIOD)
    assert np.abs(found.q - expected.q).max() < 1e-4
    assert np.abs(found.qd - expected.qd).max() < 1e-3


@pytest.mark.fault('time and load', 'a goal of the action comes while the process of the '
                   'simulated controller is late',
                   'it is judged by its own trajectory, not by the one before')
def test_missed_cycles_do_not_judge_a_goal_that_has_not_started():
    """A trajectory of the topic is over; the goal after it comes late, and takes its time."""
    simulated = controller()
    simulated.offer(MOVING, NOW)
    run(simulated, NOW, NOW + 1.5)
    goal = send(simulated, message([(5.0, HOME)]), NOW + 1.5)
    simulated.update(NOW + 1.6, PERIOD)
    assert goal.outcome is None and simulated.is_judging(goal)
    run(simulated, NOW + 1.61, NOW + 6.7)
    assert goal.outcome[0] is GoalStatus.SUCCEEDED


@pytest.mark.fault('time and load', 'the clock of the simulated controller jumps in motion',
                   'the arm continues its trajectory from where it was, no faster than before')
@pytest.mark.parametrize('lag', [0.0, 0.1])
@pytest.mark.parametrize('jump', [-60.0, 1.5, 3.0, 100.0])
def test_a_jump_of_the_clock_is_not_a_leap_of_the_arm(jump, lag):
    """Nothing was simulated meanwhile; the goal of the action succeeds later."""
    simulated = lagging(lag=lag)
    goal = send(simulated, MOVING, NOW)
    _, before = run(simulated, NOW, NOW + 0.5)
    _, after = run(simulated, NOW + 0.5 + jump, NOW + 0.8 + jump)
    assert goal.outcome is None
    q = np.array([state.q for state in [*before, *after]])
    speed = np.abs(np.diff(q, axis=0)).max(axis=1) / PERIOD
    assert speed.max() < 1.01 * 15.0 / 8.0  # the peak of MOVING
    assert (after[-1].q - before[-1].q > 0.2).all()  # it went on
    run(simulated, NOW + 0.8 + jump, NOW + 3.0 + jump)
    assert goal.outcome[0] is GoalStatus.SUCCEEDED
    assert simulated.state.q == pytest.approx(HOME + 1.0, abs=1e-3)
