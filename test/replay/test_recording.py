# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A recording gives the same calls again, and these the same outcomes, bit for bit."""

from dataclasses import replace
import gzip
import json

from geometry_oracle import bodies_of, model_of
from motions import at_rest, limits_of
import numpy as np
import pytest
import robots

from ik_node.base.errors import IkNodeError, PathError, Reason, TrajectoryError
from ik_node.base.se3 import pose, rotation_from_rpy
from ik_node.collision.bodies.ground import ground_body
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion import requests as every
from ik_node.motion.chunk import TimedPoses
from ik_node.motion.constrained.constraint import PathConstraint
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.following.options import FollowOptions
from ik_node.motion.joint_path.motion_sequence import SequencedMotion
from ik_node.motion.requests import (
    ArcPoses,
    ChunkRequest,
    ConstrainedRequest,
    DetourRequest,
    DirectRequest,
    JointPathRequest,
    MotionRemedyRequest,
    PathRequest,
    PauseRequest,
    RateRequest,
    ReceivedRequest,
    RemedyRequest,
    ResumeRequest,
    Rounds,
    SequenceRequest,
    SolveRequest,
    WithinRequest,
)
from ik_node.motion.tool_path.options import PathOptions
from ik_node.replay import load, recording
from ik_node.replay.answered import answered, AnsweredRequest, Raised
from ik_node.replay.json_values import outcome_values
from ik_node.replay.recording import AnsweredGoal, recording_bytes
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver
from ik_node.tools.replay import report

NAME = 'six_axis_arm'
TREE = robots.tree(NAME)
T_TOOL = pose(rotation_from_rpy(0.1, -0.2, 0.3), (0.01, 0.02, 0.1))
LEFT = np.array([0.9, 0.6, 0.4, 0.0, 0.6, 0.0])
RIGHT = np.array([-0.9, 0.6, 0.4, 0.0, 0.6, 0.0])
PERIOD_S = 0.02
VALUES = {'number': 7, 'kind': 'pose', 'stamp': '1.5', 'state': 'reached', 'reason': 'REACHED',
          'message': 'reached'}


def limits(chain, velocity=2.0, **tip):
    """Return limits that are equal for all joints."""
    return limits_of(chain, velocity, 4.0, 40.0, **tip)


def written(path, log, tree=TREE, parameters=None):
    """Write a recording; return its path."""
    path.write_bytes(recording_bytes(AnsweredGoal('t0-7', VALUES, tree, log, parameters or {})))
    return path


def attempted(call, solver, log):
    """Make a call that may raise what a node would answer."""
    try:
        return answered(call, solver, log)
    except (TrajectoryError, PathError):
        return None


def assert_exact(one, other, where='call'):
    """Check that all numbers, arrays and words of two calls are equal, and of one type."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.shape == other.shape, where
        assert one.tobytes() == other.tobytes(), where
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other), where
        for k, pair in enumerate(zip(one, other)):
            assert_exact(*pair, f'{where}[{k}]')
    elif isinstance(one, Rounds):
        return  # how long there was to search, as other tests look at
    elif hasattr(one, '__dict__') and not isinstance(one, type):
        for name in vars(one):
            assert_exact(getattr(one, name), getattr(other, name), f'{where}.{name}')
    else:
        assert one == other, where


@pytest.fixture(scope='module')
def log():
    """Return calls of every kind and outcome: of an arm with a tool among objects."""
    scene, T = Scene('base_link', TREE.links), np.eye(4)
    T[:3, 3] = 0.45, 0.0, 0.7
    scene.add_box('post', (0.1, 0.1, 1.4), T)
    scene.add_sphere('ball', 0.03, pose(np.eye(3), (0.1 / 3.0, 0.0, 0.05)), 'tool0', 0.001)
    scene.attach('ball', 'tool0', ('link_6', 'link_5'))
    model = model_of(NAME).with_disabled_pairs([('link_1', 'link_4')]).with_objects(
        (*scene.bodies, ground_body(-0.5)), 0.005, scene.snapshot.touch_links)
    chain = robots.chain(NAME).with_tool(T_TOOL)
    solver = Solver(chain, model.with_tool(T_TOOL), select='nearest', gains=(1.0,))
    allowed, log = limits(chain, angular_speed=3.0), []
    T_left, T_right = forward_kinematics(chain, LEFT), forward_kinematics(chain, RIGHT)
    near = T_left.copy()
    near[:3, 3] += 0.02, -0.03, -0.04

    solved = answered(SolveRequest(Goal(near), np.array([LEFT, RIGHT])), solver, log)
    assert solved.status is Reason.SOLVED
    away = LEFT + np.array([1.8, 0.0, 0.2, 0.0, 0.0, 0.5])
    motion = answered(DirectRequest(at_rest(LEFT), away, allowed, PERIOD_S, '; go'), solver, log)
    T_post = forward_kinematics(chain, 0.5 * (LEFT + RIGHT))
    for goal, reason in ((Goal.position((3.0, 0.0, 0.0)), Reason.OUT_OF_REACH),
                         (Goal.pointing(T_post), Reason.COLLISION),
                         (Goal(near, (0.0, 0.0, 0.0, 0.1, np.inf, 0.2), 'base'), Reason.SOLVED)):
        result = answered(SolveRequest(goal, LEFT.copy()), solver, log)
        assert result.status is reason
        if not result.success:
            call = RemedyRequest(goal, result.seeds.copy(), reason, result.q.copy(), Rounds())
            assert answered(call, solver, log), reason
            cut = Rounds.at_most(1)
            answered(replace(call, rounds=Rounds(cut)), solver, log)
            assert cut.ended and log[-1].request.rounds.ended
    blocked = DirectRequest(at_rest(LEFT), RIGHT, allowed, PERIOD_S, '; lower the margin')
    assert attempted(blocked, solver, log) is None
    way_round = DetourRequest(at_rest(LEFT), RIGHT, Goal(T_right), allowed, PERIOD_S, Rounds())
    assert attempted(way_round, solver, log) is not None
    ended = DetourRequest(at_rest(LEFT), RIGHT, None, allowed, PERIOD_S, Rounds.at_most(0))
    assert attempted(replace(ended, rounds=Rounds(lambda: False)), solver, log) is not None \
        or log[-1].outcome.reason == 'COLLISION'
    upright = PathConstraint.upright(0.05, T_left[2, :3])
    box = PathConstraint(T_left, (0.5, np.inf, 0.3), (0.4, 0.4, np.inf), 'xyz', distance=2.0)
    level = LEFT + np.array([0.8, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert attempted(WithinRequest(DirectRequest(at_rest(LEFT), level, allowed, PERIOD_S),
                                   (upright, box)), solver, log) is not None
    assert attempted(WithinRequest(blocked, (upright,)), solver, log) is None
    assert attempted(ConstrainedRequest(at_rest(LEFT), level, None, (upright,), allowed, PERIOD_S,
                                        Rounds()), solver, log) is not None
    moving = StartState.from_motion(motion, 0.1, 0.05)
    assert len(moving.states) and attempted(replace(blocked, start=moving, q_goal=LEFT),
                                            solver, log) is not None
    options = PathOptions(partial=True)
    line = answered(PathRequest(at_rest(LEFT), (near, T_left), allowed, PathOptions()),
                    solver, log)
    assert line.fraction == 1.0
    part = answered(PathRequest(at_rest(LEFT), (T_right,), allowed, options), solver, log)
    assert part.interruption is not None
    assert attempted(PathRequest(moving, (T_post,), allowed, PathOptions()), solver, log) is None
    assert attempted(PathRequest(at_rest(LEFT), (near,), allowed, PathOptions(), (upright,)),
                     solver, log) is not None
    between = near.copy()
    between[:3, 3] += 0.01, 0.0, 0.0
    arc = PathRequest(at_rest(LEFT), ArcPoses(T_left, between, near), allowed, options)
    assert attempted(arc, solver, log) is not None
    far, remedied = near.copy(), []
    far[:3, 3] *= 2.0
    for refused in (PathRequest(at_rest(LEFT), (near, far), allowed, PathOptions()),
                    PathRequest(at_rest(LEFT), (T_right,), allowed, options),
                    replace(arc, path=ArcPoses(T_left, between, far), options=PathOptions())):
        assert attempted(replace(refused, options=PathOptions()), solver, log) is None
        remedied.append(len(answered(MotionRemedyRequest(refused, 1, Rounds()), solver, log)))
        cut = Rounds.at_most(2)
        answered(MotionRemedyRequest(refused, 1, Rounds(cut)), solver, log)
        assert log[-1].request.rounds.ended
    assert any(remedied)
    straight = replace(arc, path=ArcPoses(T_left, T_left, near))
    assert attempted(straight, solver, log) is None
    chunk = ChunkRequest(moving, TimedPoses(np.array([0.3, 0.4]), np.array([T_left, near])),
                         allowed, FollowOptions(free=('rz',)), (upright,))
    assert attempted(chunk, solver, log) is not None
    bend = LEFT + 0.1 * np.array([[1.0, 0, 0, 0, 0, 0], [1, -1, 0, 0, 0, 0], [0, -1, 1, 0, 0, 0]])
    points = JointPathRequest(at_rest(LEFT), bend, None, allowed, PERIOD_S, 0.01)
    assert attempted(points, solver, log) is not None
    assert attempted(replace(points, q=np.vstack([LEFT, bend]), times=np.arange(4.0)), solver,
                     log) is not None
    assert attempted(replace(points, q=RIGHT[None]), solver, log) is None
    pause = PauseRequest(StartState.from_motion(motion, 0.1, 0.05), motion, allowed, PERIOD_S)
    stop = attempted(pause, solver, log)
    assert stop is not None
    assert attempted(ResumeRequest(at_rest(stop.trajectory.end), motion, stop.place, allowed,
                                   PERIOD_S), solver, log) is not None
    rate = RateRequest(StartState.from_motion(motion, 0.1, 0.05), motion, 0.5, limits(chain, 3.0),
                       PERIOD_S)
    assert attempted(rate, solver, log) is not None
    assert attempted(replace(rate, ratio=9.0, limits=allowed), solver, log) is None
    wide = limits(chain, 3.0)
    wide = replace(wide, acceleration=2.0 * wide.acceleration, jerk=2.0 * wide.jerk)
    assert attempted(ReceivedRequest(at_rest(LEFT + 1e-3), motion, 0.01, wide),
                     solver, log) is not None
    sequence = SequenceRequest(at_rest(LEFT), (
        SequencedMotion(LEFT + 0.1, allowed), SequencedMotion(Goal.pointing(T_left), allowed),
        SequencedMotion(Goal(near), allowed, True, None, 0.01),
        SequencedMotion(Goal(T_left), allowed, True, between)), PERIOD_S, PathOptions())
    assert len(answered(sequence, solver, log).ends) == 4
    too_far = SequencedMotion(Goal.position((3.0, 0.0, 0.0)), allowed)
    assert attempted(replace(sequence, motions=(*sequence.motions, too_far)), solver, log) is None
    answered(MotionRemedyRequest(replace(sequence, motions=(too_far,)), 5, Rounds()), solver, log)
    blended = (SequencedMotion(Goal(near), allowed, True, None, 0.01),
               SequencedMotion(Goal(far), allowed, True, between))
    found = answered(MotionRemedyRequest(replace(sequence, motions=blended), 2, Rounds()),
                     solver, log)
    assert found[0].name == 'motion 3, the end of the arc'
    assert attempted(ReceivedRequest(at_rest(RIGHT), motion, 0.01, allowed), solver, log) is None
    free = Solver(chain, select='first')
    assert answered(SolveRequest(Goal(T_right), LEFT[None]), free, log).success
    return log


def test_every_call_again(log, tmp_path, capsys):
    """Calls, solvers and outcomes are the same, whatever came of them; two solvers are kept."""
    again = load(written(tmp_path / 'goal.json.gz', log,
                         parameters={'a': (1.0, 2.5), 'b': 'text', 'c': True}))
    assert {type(each.request) for each in log} == {*every.Request.__args__}
    assert len(again.requests) == len(log) and len({each.solver for each in again.requests}) == 2
    for one, other in zip(log, again.requests):
        assert_exact(one.request, other.request)
        assert_exact(one.solver.chain, other.solver.chain)
        assert_exact(replace(one.solver.options, deadline=1.0),
                     replace(other.solver.options, deadline=1.0))
        assert other.differences() == [], one
    arms = [each.solver.collisions for each in (log[0], again.requests[0])]
    assert_exact(arms[0].bodies, arms[1].bodies)
    assert_exact(arms[0].objects, arms[1].objects)
    assert arms[0].touch_links == arms[1].touch_links and arms[0].report == arms[1].report
    assert again.id == 't0-7' and again.goal == VALUES
    assert again.parameters == {'a': [1.0, 2.5], 'b': 'text', 'c': True}
    assert report(again) == 0
    told = capsys.readouterr().out
    assert told.startswith('goal t0-7, pose: reached (REACHED): reached\nrecorded by ik_node ')
    assert told.splitlines()[1].endswith(', as here') and told.count('the same\n') == len(log)
    assert told.endswith(f'all {len(log)} calls are the same, bit for bit\n')


def test_a_search_that_was_ended_ends_again(tmp_path):
    """After as many rounds, though there is time; and one that was not ended has no end."""
    scene, T = Scene('base_link', TREE.links), np.eye(4)
    for side in (-1.0, 1.0):
        T[:3, 3] = 1.22 * side, 0.0, 1.0
        scene.add_box(f'wall_{side:.0f}', (2.0, 0.02, 2.0), T)
    model = model_of(NAME).with_objects(scene.bodies, 0.005)
    solver, log, asked = Solver(robots.chain(NAME), model), [], []

    def goes_on():
        asked.append(1)
        return len(asked) <= 3

    call = DetourRequest(at_rest(LEFT), RIGHT, None, limits(solver.chain), PERIOD_S,
                         Rounds(goes_on))
    assert attempted(call, solver, log) is None and 'no detour' in log[0].outcome.message
    assert call.rounds.ended and call.rounds.count == 3
    again = load(written(tmp_path / 'goal.json.gz', log)).requests[0]
    assert again.differences() == []
    assert again.request.rounds.ended and again.request.rounds.count == 3


@pytest.mark.parametrize('name, options', [
    ('panda', {'locked': ('panda_joint3',), 'select': 'first'}), ('kinova', {'select': 'nearest'}),
    ('ur5', {'method': 'damped_least_squares', 'deadline': 30.0}),
    ('panda', {'nearest': True, 'max_jump': 0.5})])
def test_other_arms_and_methods(name, options, tmp_path):
    """Joints without end, a seventh joint, a textbook method, the nearest pose."""
    chain = robots.chain(name)
    solver, log = Solver(chain, **options), []
    for q in robots.random_postures(chain, 5, 3):
        answered(SolveRequest(Goal(forward_kinematics(chain, q)), chain.middle[None]), solver, log)
    again = load(written(tmp_path / 'goal.json.gz', log, robots.tree(name)))
    assert_exact(chain, again.chain)
    assert [each.differences() for each in again.requests] == [[]] * 5


def test_narrower_position_limits(tmp_path):
    """Those of the parameters are recorded with the robot."""
    chain = robots.chain(NAME).with_limits(upper=robots.chain(NAME).upper - 0.3)
    log = []
    answered(SolveRequest(Goal(forward_kinematics(chain, LEFT)), RIGHT), Solver(chain), log)
    assert_exact(load(written(tmp_path / 'goal.json.gz', log)).requests[0].solver.chain, chain)


@pytest.mark.parametrize('change, sentence', [
    (lambda call: call['outcome']['qdd'][3].__setitem__(2, np.nextafter(
        call['outcome']['qdd'][3][2], 9.0)), 'qdd[3, 2] by '),
    (lambda call: call['outcome']['times'].pop(), 'times had the shape '),
    (lambda call: call['outcome'].__setitem__('lead_points', 1), 'lead_points by 1'),
    (lambda call: call['q_goal'].__setitem__(0, call['q_goal'][0] + 1e-12), 'qd['),
    (lambda call: call['limits']['jerk'].__setitem__(0, 39.0), 'times '),
    (lambda call: call['outcome'].__setitem__('raised', {}), "raised was {}, is None")])
def test_a_changed_number_is_found(log, change, sentence, tmp_path, capsys):
    """One bit of one number of the outcome, or of what was given; exit code 1."""
    path = written(tmp_path / 'goal.json.gz', log[1:3])
    content = json.loads(gzip.decompress(path.read_bytes()))
    change(content['calls'][0])
    path.write_text(json.dumps(content))
    assert report(load(path)) == 1
    told = capsys.readouterr().out
    assert sentence in told and 'differs\n' in told and '1 of 2 calls differ\n' in told


def test_sentences_and_reasons_are_compared(log, tmp_path):
    """What went wrong, and how it was said."""
    path = written(tmp_path / 'goal.json.gz', [each for each in log
                                               if isinstance(each.outcome, Raised)][:1])
    content = json.loads(gzip.decompress(path.read_bytes()))
    raised = content['calls'][0]['outcome']['raised']
    raised['message'] = raised['message'][:-1]
    path.write_text(json.dumps(content))
    [told] = load(path).requests[0].differences()
    assert told.startswith('raised.message was ')


def test_odd_numbers_that_a_call_refuses(log, tmp_path):
    """They are recorded as they came, NaN and infinity, too, and refused again."""
    solver = log[0].solver
    kinds = PathRequest, DirectRequest, ReceivedRequest
    path, direct, received = (
        next(each.request for each in log if isinstance(each.request, kind)) for kind in kinds)
    far, odd = path.path[0].copy(), received.trajectory.q.copy()
    far[0, 3], odd[0, :2] = 1e300, (np.nan, -np.inf)
    calls = (replace(path, path=(far,)), replace(direct, q_goal=np.full(6, 1e300)),
             replace(received, trajectory=replace(received.trajectory, q=odd)))
    again = []
    for call in calls:
        assert attempted(call, solver, again) is None
    recorded = load(written(tmp_path / 'goal.json.gz', again)).requests
    for call, each in zip(calls, recorded):
        assert_exact(call, each.request)
        assert each.differences() == []


def test_a_fault_of_a_planner_is_recorded(monkeypatch, tmp_path):
    """It is what a maintainer wants to see; once it is mended, the call differs."""
    def faulty(*_):
        raise ZeroDivisionError('a fault')

    solver, log = Solver(robots.chain(NAME)), []
    with monkeypatch.context() as patched:
        patched.setattr(every, 'plan_point_to_point', faulty)
        with pytest.raises(ZeroDivisionError):
            answered(DirectRequest(at_rest(LEFT), RIGHT, limits(solver.chain), PERIOD_S),
                     solver, log)
        assert log[0].outcome == Raised('ZeroDivisionError', 'INTERNAL', 'a fault')
        path = written(tmp_path / 'goal.json.gz', log)
        assert load(path).requests[0].differences() == []
    assert load(path).requests[0].differences()[0].startswith("raised was {'type': 'ZeroDiv")


def test_the_time_of_a_solve_is_not_compared(log, tmp_path, capsys):
    """A deadline is said to be why there is another outcome; sentences with times are left out."""
    path = written(tmp_path / 'goal.json.gz', log[:1])
    content = json.loads(gzip.decompress(path.read_bytes()))
    assert content['calls'][0]['outcome']['message'] is None
    content['calls'][0]['outcome']['status'] = 'DEADLINE'
    path.write_text(json.dumps(content))
    assert report(load(path)) == 1
    assert 'solver.deadline was over there' in capsys.readouterr().out


def test_another_machine_is_named(log, tmp_path, capsys):
    """As a reason for other last bits."""
    path = written(tmp_path / 'goal.json.gz', log[:1])
    content = json.loads(gzip.decompress(path.read_bytes()))
    content['made_with']['numpy'] = '0.1'
    path.write_text(json.dumps(content))
    assert report(load(path)) == 0
    assert 'here are numpy ' in capsys.readouterr().out


def test_odd_texts_and_bytes_survive(tmp_path):
    """A description in another encoding, and a sentence with odd letters."""
    tree = robots.tree(NAME)
    text = tree.source.replace(b'<link name="link_1"', '<!-- \xfc -->'.encode('latin-1')
                               + b'<link name="link_1"', 1)
    text = b'<?xml version="1.0" encoding="latin-1"?>' + text.partition(b'?>')[2] \
        if text.startswith(b'<?xml') else b'<?xml version="1.0" encoding="latin-1"?>' + text
    from ik_node.model.description.urdf import parse_urdf
    chain = robots.chain(NAME)
    log = [AnsweredRequest(SolveRequest(Goal(np.eye(4)), chain.middle), Solver(chain),
                           Raised('ValueError', 'INTERNAL', 'odd \ud800 \x1b[31m "'))]
    again = load(written(tmp_path / 'goal.json.gz', log, parse_urdf(text)))
    assert again.tree.source == text
    assert again.requests[0].outcome['raised']['message'] == 'odd \ud800 \x1b[31m "'


def test_shared_data_of_goals_is_written_once(log, monkeypatch, tmp_path):
    """Robot and scene are turned into text for the first goal only."""
    written(tmp_path / 'one.json.gz', log)
    sizes = []
    text = recording.json_text
    monkeypatch.setattr(recording, 'json_text',
                        lambda value: sizes.append(len(text(value))) or text(value))
    path = written(tmp_path / 'two.json.gz', log)
    assert len(sizes) == 1
    assert path.read_bytes() == (tmp_path / 'one.json.gz').read_bytes()
    other = log[0].solver.collisions.with_objects((), 0.01)
    written(path, [log[0]._replace(solver=Solver(log[0].solver.chain, other))])
    assert len(sizes) == 3


def test_a_recording_that_is_too_large_is_refused(log, monkeypatch, tmp_path):
    """Nothing is written that cannot be read."""
    monkeypatch.setattr(recording, 'MAX_RECORDING_BYTES', 1000)
    with pytest.raises(IkNodeError, match='at most 1000 are read; it is not written'):
        written(tmp_path / 'goal.json.gz', log)


def test_collision_models_are_made_from_the_bodies_alone(log, tmp_path):
    """No mesh is looked for: what was checked is in the file."""
    model = CollisionModel(robots.chain(NAME), TREE, bodies_of(NAME))
    assert len(model.bodies)
    q = np.array([0.3, 0.5, 0.2, 0.1, 0.4, 0.0])
    again = load(written(tmp_path / 'goal.json.gz', log)).requests[0].solver.collisions
    assert np.array_equal(again.distances(q), log[0].solver.collisions.distances(q))
    assert outcome_values(log[0].outcome)['status'] == 'SOLVED'
