# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Files that are no recordings: one sentence and exit code 2, whatever is in them."""

from functools import cache
import gzip
import json
import tracemalloc

from hypothesis import given, settings, strategies as st
from motions import at_rest, limits_of
from nightly import samples
import numpy as np
import pytest
import robots

from ik_node.base.errors import IkNodeError, ParameterError, Reason
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.direct.point_to_point import StartState
from ik_node.motion.joint_path.motion_sequence import SequencedMotion
from ik_node.motion.requests import (
    DirectRequest,
    MotionRemedyRequest,
    PathRequest,
    PauseRequest,
    RemedyRequest,
    Rounds,
    SequenceRequest,
    SolveRequest,
)
from ik_node.motion.tool_path.options import PathOptions
from ik_node.replay import load
from ik_node.replay.answered import answered
from ik_node.replay.recording import AnsweredGoal, MAX_RECORDING_BYTES, recording_bytes
from ik_node.solver.goal import Goal
from ik_node.solver.solver import Solver
from ik_node.tools.replay import main

CHAIN = robots.chain('six_axis_arm')
READY = np.array([0.0, 0.3, -0.4, 0.0, 1.0, 0.0])
DEEP = 200_000  # lists in lists


@cache
def good() -> str:
    """Return a recording of some calls."""
    solver, log = Solver(CHAIN), []
    start = at_rest(READY)
    limits = limits_of(CHAIN, 1.0, acceleration=1.0, jerk=10.0)
    answered(SolveRequest(Goal(forward_kinematics(CHAIN, READY)), READY[None]), solver, log)
    motion = answered(DirectRequest(start, READY + 0.5, limits, 0.1), solver, log)
    answered(PauseRequest(StartState.from_motion(motion, 0.1, 0.05), motion, limits, 0.1),
             solver, log)
    tip = Goal(forward_kinematics(CHAIN, READY))
    motions = SequencedMotion(READY + 0.2, limits), SequencedMotion(tip, limits, True)
    answered(SequenceRequest(start, motions, 0.1, PathOptions()), solver, log)
    away = Goal.position((3.0, 0.0, 0.0))
    answered(RemedyRequest(away, READY, Reason.OUT_OF_REACH, READY, Rounds()), solver, log)
    far = PathRequest(start, (tip.T_base_tip + np.eye(4, k=3),), limits, PathOptions())
    answered(MotionRemedyRequest(far, 1, Rounds()), solver, log)
    values = {'number': 1, 'kind': 'pose', 'state': 'reached', 'reason': 'REACHED',
              'message': 'reached'}
    packed = recording_bytes(AnsweredGoal('t0-1', values, robots.tree('six_axis_arm'), log, {}))
    return json.dumps(json.loads(gzip.decompress(packed)))


def refusal(path, capsys):
    """Return what the command says of a file that it refuses."""
    with pytest.raises(SystemExit) as end:
        main([str(path)])
    told = capsys.readouterr()
    assert end.value.code == 2 and not told.out
    [sentence] = [line for line in told.err.splitlines()
                  if not line.startswith('ik_replay: compil')]  # once on a machine
    assert sentence.startswith('ik_replay: ') and 'cannot be used: ' in sentence
    assert len(sentence) < 400 and sentence.isascii()
    return sentence


def changed(place, value):
    """Return the recording with another value at a place, of keys and numbers."""
    given = json.loads(good())
    *way, last = place.split('.')
    at = given
    for key in way:
        at = at[int(key)] if key.isdigit() else at[key]
    if value is KeyError:
        del at[last]
    else:
        at[int(last) if last.isdigit() else last] = value
    return json.dumps(given)


def test_the_unchanged_one_is_taken(tmp_path):
    """Otherwise the others would mean nothing."""
    (tmp_path / 'goal.json').write_text(good())
    assert [each.differences() for each in load(tmp_path / 'goal.json').requests] == [[]] * 6


def seeded(number):
    """Return the recording with another number as its first."""
    return good().replace('"seeds": [[0.0', f'"seeds": [[{number}', 1).encode()


@pytest.mark.parametrize('data, words', [
    (b'', 'no JSON'), (b'\x00\xff', 'no JSON'), (b'\x1f\x8b', 'cut short'),
    (lambda: gzip.compress(good().encode())[:-100], 'cut short'),
    (lambda: gzip.compress(good().encode())[:200] + b'damaged' * 200, 'damaged'),
    (lambda: good()[:-5].encode(), 'no JSON'),
    (b'[]', 'it must be an object with the key "format"'),
    (b'[' * DEEP + b']' * DEEP, 'nested too deep'), (b'{"a":' * DEEP, 'nested too deep'),
    (lambda: seeded('NaN'), 'NaN'), (lambda: seeded('Infinity'), 'Infinity'),
    (lambda: seeded('1e400'), 'seeds'), (lambda: seeded('9' * 400), 'seeds'),
    (lambda: seeded('9' * 5000), 'no JSON'),
    (b'{"format": "rosbag"}', "'rosbag'"),
    (b'{"format": "recording of ik_node", "version": 2}', 'use the ik_node that recorded it'),
    (b'{"format": "\\u001b[31m\\n", "version": 1}', '\\x1b[31m')])
def test_no_recording(data, words, tmp_path, capsys):
    """Empty, cut short, damaged, nested, not finite, huge, of another program or version."""
    path = tmp_path / 'goal.json.gz'
    path.write_bytes(data() if callable(data) else data)
    assert words in refusal(path, capsys)


def test_no_file(tmp_path, capsys):
    """One that is not there, a folder, and one that may not be read."""
    assert 'No such file' in refusal(tmp_path / 'none\x1b', capsys)
    assert 'directory' in refusal(tmp_path, capsys)


def test_a_bomb_is_not_unpacked(tmp_path, capsys):
    """A gigabyte of blanks in a file of a megabyte: no more than the limit is held."""
    path = tmp_path / 'goal.json.gz'
    path.write_bytes(gzip.compress(b' ' * 2**20) * 1024)
    tracemalloc.start()
    try:
        assert 'more than 64 MiB' in refusal(path, capsys)
        assert tracemalloc.get_traced_memory()[1] < 3 * MAX_RECORDING_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize('value', [b'[],', b'{"a":0},', b'0,'])
def test_a_bomb_of_values_is_not_made(value, tmp_path, capsys):
    """Tiny values would take twenty times the memory of their text: they are counted first."""
    path = tmp_path / 'goal.json.gz'
    path.write_bytes(gzip.compress(b'[' + 5_000_000 * value + b'0]'))
    tracemalloc.start()
    try:
        assert 'more than 4000000 values' in refusal(path, capsys)
        assert tracemalloc.get_traced_memory()[1] < 3 * MAX_RECORDING_BYTES
    finally:
        tracemalloc.stop()


def test_what_is_not_read_is_not_written(monkeypatch):
    """A recording with too many values is refused by the node that would write it."""
    monkeypatch.setattr('ik_node.replay.recording.MAX_RECORDING_VALUES', 100)
    with pytest.raises(ParameterError, match='values, at most 100 are read; it is not written'):
        good.__wrapped__()


@pytest.mark.parametrize('place, value, words', [
    ('robot.urdf', '<robot/>', 'has no name'),
    ('robot.urdf', 7, 'robot.urdf must be a string, got 7'),
    ('robot.tip_link', 'none', "'none'"), ('robot.lower', [0.0], 'robot.lower must be 6 numbers'),
    ('robot.lower', ['inf'] * 6, 'no range'), ('robot', KeyError, 'the key "robot"'),
    ('solvers.0.tool', np.zeros((4, 4)).tolist(), 'pose of a tool'),
    ('solvers.0.options.method', 'magic', "'magic'"),
    ('solvers.0.options.magic', 1, "solvers[0].options has 'magic'"),
    ('solvers.0.options.max_restarts', -1, 'max_restarts must be a whole number'),
    ('solvers.0.options.select', 'eval', "select is 'eval'"),
    ('solvers.0.surroundings', 0, 'solvers[0].surroundings is 0, there are 0'),
    ('calls', {}, 'calls must be a list'), ('calls.0', None, 'calls[0] must be an object'),
    ('calls.0.call', '__import__', "calls[0].call is '__import__'"),
    ('calls.0.solver', 9, 'calls[0].solver is 9, there are 1'),
    ('calls.0.solver', None, 'calls[0].solver must not be null'),
    ('calls.0.solver', True, 'a whole number'), ('calls.0.outcome', 3, 'must be an object'),
    ('calls.0.seeds', [[1.0]], 'calls[0].seeds must be n x 6 numbers'),
    ('calls.0.seeds', [[1.0], 2.0], 'calls[0].seeds must be'),
    ('calls.0.seeds', [['nan'] * 6], 'calls[0].seeds must be'),
    ('calls.0.seeds', [[None] * 6], 'calls[0].seeds must be'),
    ('calls.0.goal.T_base_tip', np.ones((4, 4)).tolist(), 'goal pose'),
    ('calls.0.goal.tolerance', [-1.0] * 6, 'tolerance'), ('calls.0.goal.frame', 'up', 'frame'),
    ('calls.1.limits.jerk', [0.0] * 6, 'rates of at least'),
    ('calls.1.limits.tip.speed', -1.0, 'positive'),
    ('calls.3.motions', [], 'motions must not be empty'),
    ('calls.3.motions.0.straight', True, 'its goal must be a pose'),
    ('calls.3.motions.0.goal', None, 'goal must be 6 numbers'),
    ('calls.3.motions.1.blend_radius', -1.0, 'blend_radius must be a number from 0'),
    ('calls.1.period', 0.0, 'calls[1].period must be a number from 0.001 to 10'),
    ('calls.1.period', 1e-300, 'period'), ('calls.1.q_goal', ['no'] * 6, 'q_goal must be 6'),
    ('calls.1.start.initial.q', [1e300] * 6, 'at most 1e+12'),
    ('calls.1.start.times', [0.1], 'start.times must be 0 numbers'),
    ('calls.1.start.initial.q', 'no', 'start.initial.q must be 6 numbers'),
    ('calls.2.start.times.1', 0.0, 'calls[2].start.times must increase'),
    ('calls.2.active.times', [-1.0], 'calls[2].active.times must be '),
    ('calls.4.status', 'REACHED', "calls[4].status is 'REACHED'; it must be one of OUT_OF_REACH"),
    ('calls.4.status', 'COLLISION', 'calls[4] is about a collision without a collision model'),
    ('calls.4.nearest', [0.0], 'calls[4].nearest must be 6 numbers'),
    ('calls.4.rounds', -1, 'calls[4].rounds must be a whole number'),
    ('calls.5.motion.call', 'solve', "calls[5].motion.call is 'solve'; this version knows path, "),
    ('calls.5.motion', None, 'calls[5].motion must be an object'),
    ('calls.5.first', -1, 'calls[5].first must be a whole number'),
    ('calls.5.rounds', -1, 'calls[5].rounds must be a whole number'),
    ('calls.2.active.q', [], 'as many points'), ('goal', [], 'goal must be an object'),
    ('id', None, 'id must be a string')])
def test_wrong_values(place, value, words, tmp_path, capsys):
    """The sentence says where, and what is wanted."""
    path = tmp_path / 'goal.json'
    path.write_text(changed(place, value))
    assert words in refusal(path, capsys)


def bodies(**values):
    """Return the bodies of a robot whose only part has other values."""
    part = {'kind': 'box', 'size': [0.1, 0.1, 0.1], 'T': np.eye(4).tolist(), 'vertices': []}
    return [{'name': 'link_3', 'frame': 'link_3', 'padding': 0.0, 'parts': [{**part, **values}]}]


@pytest.mark.parametrize('values, words', [
    ({'kind': 'cube'}, "the kind 'cube'"), ({'size': [0.0, 1.0, 1.0]}, 'above 0'),
    ({'size': 3}, 'size must be n numbers'), ({'T': np.zeros((4, 4)).tolist()}, 'not a rotation'),
    ({'kind': 'hull', 'size': []}, 'has 0 vertices'),
    ({'kind': 'hull', 'size': [], 'vertices': [[0.0] * 3] * 9999}, 'has 9999 vertices'),
    ({'kind': 'hull', 'size': [], 'vertices': [[1.0]]}, 'vertices must be n x 3 numbers')])
def test_wrong_bodies(values, words, tmp_path, capsys):
    """No part reaches the compiled check that it could not take."""
    path = tmp_path / 'goal.json'
    path.write_text(changed('robot.bodies', bodies(**values)))
    assert words in refusal(path, capsys)


@pytest.mark.parametrize('depth', [30, 70, 300, 600, 900])
def test_deep_values(depth, tmp_path, capsys):
    """Lists in lists that JSON takes, where numbers should be, and in what is compared."""
    path, deep = tmp_path / 'goal.json', '[' * depth + '1.0' + ']' * depth
    path.write_text(good().replace('"seeds": [[', f'"seeds": [[{deep}, ', 1))
    assert 'seeds must be' in (told := refusal(path, capsys)) or 'nested too deep' in told
    path.write_text(changed('calls.0.outcome.q', 'deep').replace('"deep"', deep))
    try:
        assert load(path).requests[0].differences()
    except IkNodeError as error:
        assert 'nested too deep' in str(error)


def test_bodies_of_no_robot(tmp_path, capsys):
    """Of one link two, or of something else: each would be checked against all others."""
    path = tmp_path / 'goal.json'
    path.write_text(changed('robot.bodies', 2 * bodies()))
    assert 'two bodies of the same name' in refusal(path, capsys)
    for name, frame in (('box', 'link_3'), ('link_3', 'link_2'), ('box', 'box')):
        given_bodies = bodies()
        given_bodies[0].update(name=name, frame=frame)
        path.write_text(changed('robot.bodies', given_bodies))
        assert 'the name and the frame of a link' in refusal(path, capsys)
    given_bodies = bodies()
    given_bodies[0]['parts'] *= 10_001
    path.write_text(changed('robot.bodies', given_bodies))
    assert 'more than 10000 parts' in refusal(path, capsys)


def test_unknown_frames_of_objects(tmp_path, capsys):
    """And a margin that is none."""
    path, given = tmp_path / 'goal.json', json.loads(changed('robot.bodies', bodies()))
    around = {'margin': 0.0, 'disabled_pairs': [], 'touch_links': {}, 'objects': bodies()}
    around['objects'][0].update(name='box', frame='nowhere')
    path.write_text(json.dumps({**given, 'surroundings': [around]}))
    assert "'nowhere'" in refusal(path, capsys)
    around.update(objects=[], margin=-1.0)
    path.write_text(json.dumps({**given, 'surroundings': [around]}))
    assert 'the margin is -1.0' in refusal(path, capsys)


def places(value, way=()):
    """Return where all values within a value are."""
    yield way
    items = value.items() if isinstance(value, dict) else enumerate(value) \
        if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*way, key))


PLACES = st.deferred(lambda: st.sampled_from(
    [place for place in places(json.loads(good())) if place]))
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just([]), st.just({}),
    st.floats(allow_nan=False, allow_infinity=False), st.lists(st.none(), max_size=7),
    st.sampled_from([0, -1, 10**18, -0.0, 1e-308, 1e12, [[]], [0.0] * 6, ['inf'] * 6]))


@settings(max_examples=samples(usual=25, nightly=2000), deadline=None)
@given(PLACES, ODD)
def test_any_value_anywhere(tmp_path_factory, place, value):
    """A recording, or one sentence; what is taken is repeated, and compared, without a fault."""
    given_value = json.loads(good())
    at = given_value
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    path = tmp_path_factory.getbasetemp() / 'odd.json'
    path.write_text(json.dumps(given_value))
    try:
        recording = load(path)
    except IkNodeError as error:
        assert '\n' not in str(error)
        return
    for each in recording.requests:
        assert all(isinstance(told, str) for told in each.differences())
