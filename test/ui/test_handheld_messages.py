# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of the page for a phone or a headset: read, or refused in one sentence."""

import json

from hypothesis import given, strategies as st
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ik_node.base.errors import GoalError
from ik_node.ui.handheld.clutch import HandSample
from ik_node.ui.handheld.page_messages import (
    ArmState,
    FollowSettings,
    Heading,
    MAX_MESSAGE_BURST,
    MAX_MESSAGE_RATE,
    MessageLimit,
    PageState,
    read_message,
    Stop,
)

SAMPLE = {'type': 'sample', 'time': 1.5, 'position': [0.1, 1.2, -0.3],
          'orientation': [0.0, 0.0, 0.0, 1.0], 'held': True, 'tracked': True}
SETTINGS = {'type': 'settings', 'scale': 0.5, 'turns': False}
KINDS = HandSample, FollowSettings, Heading, Stop
numbers = st.floats(allow_nan=True) | st.integers()
texts = st.text('a0\n"\u00e9\ud800', max_size=8)
values = st.recursive(st.none() | st.booleans() | numbers | texts,
                      lambda inner: st.lists(inner, max_size=5)
                      | st.dictionaries(texts, inner, max_size=3), max_leaves=8)


def read(message, **changes):
    return read_message(json.dumps({**message, **changes}))


def test_each_message():
    sample = read(SAMPLE)
    assert sample.time == 1.5 and sample.held and sample.tracked and sample.arm == ''
    assert read(SAMPLE, arm='left').arm == 'left'
    assert np.array_equal(sample.position, SAMPLE['position'])
    assert np.array_equal(sample.rotation, np.eye(3))
    assert read(SETTINGS) == FollowSettings(0.5, False)
    assert read({'type': 'stop'}) == Stop()
    assert np.array_equal(read(SAMPLE, type='heading').rotation, np.eye(3))


@given(st.tuples(*4 * [st.floats(-1.0, 1.0)]).map(np.array)
       .filter(lambda q: np.linalg.norm(q) > 0.1), st.floats(0.91, 1.09))
def test_quaternions(q, norm):
    """x, y, z, w; q and -q are the same; the norm may be off by rounding."""
    q = norm * q / np.linalg.norm(q)
    one, other = (read(SAMPLE, orientation=(sign * q).tolist()).rotation for sign in (1.0, -1.0))
    assert np.allclose(one, Rotation.from_quat(q).as_matrix()) and np.allclose(one, other)


@pytest.mark.parametrize('changes, words', [
    ({'time': float('nan')}, 'time is'), ({'time': 'now'}, 'time is'), ({'time': True}, 'time is'),
    ({'time': 10**400}, 'time is'),
    ({'position': [0.0, float('inf'), 0.0]}, 'position is'), ({'position': [0.0, 1.0]}, '3 num'),
    ({'position': [0.0, 101.0, 0.0]}, 'within 100 m'), ({'position': None}, 'position is None'),
    ({'orientation': [0.0, 0.0, 0.0, 0.0]}, 'norm 0'), ({'orientation': [1.0] * 4}, 'norm 2'),
    ({'arm': 3}, 'arm is 3'), ({'arm': None}, 'arm is None'),
    ({'held': 1}, 'held is 1'), ({'tracked': None}, 'tracked is None'),
    ({'type': 'home'}, "'home', which is unknown"), ({'type': ['sample']}, 'which is unknown'),
    ({**SETTINGS, 'scale': 2.5}, 'from 0.1 to 2'), ({**SETTINGS, 'scale': -1.0}, 'from 0.1 to 2'),
    ({**SETTINGS, 'turns': 'yes'}, 'turns is')])
def test_invalid_fields_are_refused(changes, words):
    with pytest.raises(GoalError, match='^[^\n]*$') as refused:
        read(SAMPLE, **changes)
    assert words in str(refused.value)


@pytest.mark.parametrize('text', ['', '{', '[]', 'NaN', '"sample"', b'\xff', '[' * 900, '1' * 900])
def test_malformed_messages_are_refused(text):
    with pytest.raises(GoalError, match='a message of the page'):
        read_message(text)


@given(st.dictionaries(st.sampled_from([*SAMPLE, 'arm', 'scale', 'turns']), values))
def test_any_json(changes):
    """It is a message with finite numbers, or one sentence."""
    try:
        message = read(SAMPLE, **changes)
    except GoalError as error:
        assert '\n' not in str(error) and len(str(error)) < 300
        return
    assert isinstance(message, KINDS)
    if isinstance(message, HandSample):
        assert np.isfinite([message.time, *message.position, *message.rotation.ravel()]).all()


def test_a_flood_is_not_allowed():
    """A burst is, and a headset for ever."""
    limit = MessageLimit()
    assert all(limit.allows(100.0 + k / 240.0) for k in range(5000))  # 120 times, of two hands
    flood = [limit.allows(150.0 + k / 2000.0) for k in range(4000)]
    assert not all(flood) and sum(flood) <= MAX_MESSAGE_BURST + 2.0 * MAX_MESSAGE_RATE
    assert limit.allows(160.0)


def test_state():
    """The page reads it."""
    state = json.loads(PageState({'x': ArmState(True, 'a', 'b', 'c', 'red', 'left')}).text())
    assert state == {'arms': {'x': {'holding': True, 'notice': 'a', 'refusal': 'b', 'answer': 'c',
                                    'colour': 'red', 'hand': 'left'}}}
